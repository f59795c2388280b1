/* geofno.c: the Fourier neural operator on a learned deformation, as in the paper's comparison.
 *   η(x) = sigmoid deform3 tanh deform2 tanh deform1 x ∈ (0,1)³        x raw
 *   f = lift [x, channels] at the vertices, put on the grid at η: by normalised trilinear weights (3-D), or into the nearest cell of
 *   the first two components (2-D, no gradient to η);  spectral layers (grids.h);
 *   û = head2 GELU head1 (the grid read multilinearly at η of a simplex's centroid)
 * η does not depend on the sample: it is computed once per step. */
#include "model/grids.h"

enum { HEAD = 64, OPT_WIDTH = 0, OPT_LAYERS, OPT_MODES, OPT_FORM, OPT_BEHAVIOUR };
static const model_option options[] = {
    [OPT_WIDTH] = {"w", OPTION_INT, 0, 0, 1024, NULL, "width; 0: 18 in the plane, 8 on a surface, 12 in a volume"},
    [OPT_LAYERS] = {"layers", OPTION_INT, 0, 0, 64, NULL, "layers; 0: 4, in a volume 2"},
    [OPT_MODES] = {"modes", OPTION_INT, 0, 0, 9, NULL, "modes kept per axis and sign; 0: 9 in the plane, else 6"},
    [OPT_FORM] = {"form", OPTION_CHOICE, FORM_AUTO, 0, 3, block_form_names, "how the network meets the complex"},
    [OPT_BEHAVIOUR] = {"behaviour", OPTION_CHOICE, GRID_REPAIRED, 0, 1, grid_behaviour_names,
                       "published: axes reversed where the grid is read (3-D)"},
    {0},
};

static grid_layers layers_of(const model_setup *s) {
  block_form f = block_form_of(s, model_int(s, OPT_FORM));
  return (grid_layers){"", f == FORM_PLANE ? 2 : 3, block_size(s, OPT_WIDTH, f, 18, 8, 12),
                       block_size(s, OPT_LAYERS, f, 4, 4, 2), block_size(s, OPT_MODES, f, 9, 6, 6)};
}

static const char *reader_of(const model_setup *s) {
  return block_reader(s, model_int(s, OPT_FORM));
}

static dkho_status geofno_declare(const model_setup *s, params *p) {
  grid_layers g = layers_of(s);
  if (g.dim == 2) params_add_affine(p, "adapter", s->features[0], 1, 1);
  params_add_affine(p, "deform1", 3, 64, 1);
  params_add_affine(p, "deform2", 64, 32, 1);
  params_add_affine(p, "deform3", 32, 3, 1);
  params_add_affine(p, "lift", 3 + (g.dim == 2 ? 1 : s->features[0]), g.width, 1);
  grid_layers_declare(&g, p);
  params_add_affine(p, "head1", g.width, HEAD, 1);
  params_add_affine(p, "head2", HEAD, s->channels, 1);
  return p->status;
}

static var deform_positions(tape *t, var x) {
  x = op_fn(t, FN_TANH, block_affine(t, "deform1", 1, &x));
  x = op_fn(t, FN_TANH, block_affine(t, "deform2", 1, &x));
  return op_fn(t, FN_SIGMOID, block_affine(t, "deform3", 1, &x));
}

/* Columns a, b, … of η in the order of the grid's axes. */
static var columns_of(tape *t, var at, int n, const int *column) {
  var part[3];
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) part[i] = op_slice(t, at, 0, t->var[at].rows, column[i], column[i] + 1);
  return op_concat(t, n, part);
}

static dkho_status geofno_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  static const int planar[2] = {1, 0}, turned[3] = {2, 1, 0}; /* rows of a planar grid are y */
  grid_layers g = layers_of(s);
  var points = block_points(t, v->c, 0), query = s->target ? block_points(t, v->c, s->target) : points;
  var x[2] = {points, block_feature(s, v, t, 0, net)};
  TRY(t->status);
  if (g.dim == 2) x[1] = block_affine(t, "adapter", 1, x + 1);
  var f = block_affine(t, "lift", 2, x), at = deform_positions(t, points),
      read = s->target ? deform_positions(t, query) : at;
  if (g.dim == 2) {
    at = columns_of(t, at, 2, planar);
    read = s->target ? columns_of(t, read, 2, planar) : at;
  } else if (model_int(s, OPT_BEHAVIOUR) == GRID_PUBLISHED)
    read = columns_of(t, read, 3, turned);
  f = g.dim == 2 ? op_nearest(t, f, GRID_POINTS, at) : op_splat(t, f, GRID_POINTS, at);
  f = op_sample(t, grid_layers_record(&g, t, f), GRID_POINTS, read);
  f = op_fn(t, FN_GELU, block_affine(t, "head1", 1, &f));
  block_finish(s, v, t, block_affine(t, "head2", 1, &f), net);
  return t->status;
}

const model_type model_geofno = {
    .name = "geofno",
    .summary = "Fourier neural operator on a learned deformation of the domain",
    .option = options,
    .profile = FEAT_NATIVE,
    .degrees = block_vertices_alone,
    .reader = reader_of,
    .declare = geofno_declare,
    .record = geofno_record,
};
