/* fno.c: the Fourier neural operator of the paper's comparison: vertices to a regular grid, the spectral network on it, and the
 * target's simplices read from the grid (grids.h). Nothing is appended to the channels but, in three dimensions, which cells hold
 * a vertex. */
#include "model/grids.h"

enum { OPT_WIDTH, OPT_LAYERS, OPT_MODES, OPT_FORM, OPT_BEHAVIOUR };
static const model_option options[] = {
    [OPT_WIDTH] = {"w", OPTION_INT, 0, 0, 1024, NULL, "width; 0: 21, on a surface 20"},
    [OPT_LAYERS] = {"layers", OPTION_INT, 0, 0, 64, NULL, "layers; 0: 3, in a volume 2"},
    [OPT_MODES] = {"modes", OPTION_INT, 0, 0, 9, NULL, "modes kept per axis and sign; 0: 9 in the plane, else 4"},
    [OPT_FORM] = {"form", OPTION_CHOICE, FORM_AUTO, 0, 3, block_form_names, "how the network meets the complex"},
    [OPT_BEHAVIOUR] = {"behaviour", OPTION_CHOICE, GRID_REPAIRED, 0, 1, grid_behaviour_names,
                       "published: axes reversed on the way back (3-D), a fixed square (2-D)"},
    {0},
};

static block_form form_of(const model_setup *s) {
  return block_form_of(s, model_int(s, OPT_FORM));
}
static grid_layers layers_of(const model_setup *s) {
  block_form f = form_of(s);
  return (grid_layers){"", f == FORM_PLANE ? 2 : 3, block_size(s, OPT_WIDTH, f, 21, 20, 21),
                       block_size(s, OPT_LAYERS, f, 3, 3, 2), block_size(s, OPT_MODES, f, 9, 4, 4)};
}

static const char *reader_of(const model_setup *s) {
  return block_reader(s, model_int(s, OPT_FORM));
}

static dkho_status fno_declare(const model_setup *s, params *p) {
  grid_layers g = layers_of(s);
  if (g.dim == 2) params_add_affine(p, "adapter", s->features[0], 2, 1);
  grid_net_declare(&g, g.dim == 2 ? 2 : s->features[0] + 1, s->channels, p);
  return p->status;
}

static dkho_status fno_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  grid_layers g = layers_of(s);
  var x = block_feature(s, v, t, 0, net);
  grid_maps m = grid_maps_make(t, v->c, s->target, g.dim, model_int(s, OPT_BEHAVIOUR));
  TRY(t->status);
  if (g.dim == 2) x = block_affine(t, "adapter", 1, &x);
  const var cells[2] = {op_sparse(t, m.there, 0, x), m.occupied};
  var y = grid_net_record(&g, t, g.dim == 2 ? 1 : 2, cells);
  block_finish(s, v, t, op_sparse(t, m.back, 0, y), net);
  return t->status;
}

const model_type model_fno = {
    .name = "fno",
    .summary = "Fourier neural operator on a regular grid",
    .option = options,
    .profile = FEAT_NATIVE,
    .degrees = block_vertices_alone,
    .reader = reader_of,
    .declare = fno_declare,
    .record = fno_record,
};
