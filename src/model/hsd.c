/* hsd.c: the Hodge spectral network of the paper's comparison: a network on low spectral coefficients of three degrees, and a
 * residual on a grid, orthogonal to the spectral space.
 *   c_k = Φ_kᵀ (one learned channel of F_k)                                    plane
 *   c_0 = Φ_0ᵀ u, c_1 = Φ_1ᵀ d_0 u, c_2 = 0, u the first vertex channel        surface, volume
 *   E(c) = [c_0, Mᵀ_01 c_1, c_1, M_01 c_0, Mᵀ_12 c_2, c_2, M_12 c_1],  M_k,k+1 = Φ_{k+1}ᵀ d_k Φ_k
 *   base = Φ_q head gate2 gate1 E(gain ⊙ c),  gate(v) = out(a ñ ⊙ SiLU(b ñ)) (+ v where widths agree), ñ = norm(v)
 *   r = (spectral network on the grid of the vertex channels) + couple[point x, code E],  r⊥ = r - Φ_q Φ_qᵀ r
 *   û = base + scale · r⊥
 * code reads E of the gained coefficients in the plane, of the raw ones elsewhere. Elsewhere the loss has further terms: 0.01 mean|r⊥|,
 * and in a volume 0.3 of base's own relative error. */
#include "model/hsd_impl.h"

#include "model/grids.h"

#include <math.h>

enum { DEGREES = 3, BLOCKS = 7 };
enum { OPT_MODES, OPT_HIDDEN, OPT_WIDTH, OPT_LAYERS, OPT_GRID_MODES, OPT_FORM, OPT_BEHAVIOUR };
static const model_option options[] = {
    [OPT_MODES] = {"modes", OPTION_INT, 64, 1, 1024, NULL, "eigenvectors per degree"},
    [OPT_HIDDEN] = {"h", OPTION_INT, 32, 1, 4096, NULL,
                    "width of the spectral network; the coupling has twice as much"},
    [OPT_WIDTH] = {"w", OPTION_INT, 0, 0, 1024, NULL, "width on the grid; 0: 12, in a volume 14"},
    [OPT_LAYERS] = {"layers", OPTION_INT, 0, 0, 64, NULL, "layers on the grid; 0: 6, in a volume 4"},
    [OPT_GRID_MODES] = {"grid_modes", OPTION_INT, 0, 0, 9, NULL,
                        "modes of the grid kept per axis and sign; 0: 9 in the plane, else 4"},
    [OPT_FORM] = {"form", OPTION_CHOICE, FORM_AUTO, 0, 3, block_form_names, "how the network meets the complex"},
    [OPT_BEHAVIOUR] = {"behaviour", OPTION_CHOICE, GRID_REPAIRED, 0, 1, grid_behaviour_names,
                       "published: axes reversed on the way back (3-D), a fixed square (2-D), roughness along vertex "
                       "numbers in the loss (volume)"},
    {0},
};

static block_form form_of(const model_setup *s) {
  return block_form_of(s, model_int(s, OPT_FORM));
}
static grid_layers layers_of(const model_setup *s) {
  block_form f = form_of(s);
  return (grid_layers){"res.", f == FORM_PLANE ? 2 : 3, block_size(s, OPT_WIDTH, f, 12, 12, 14),
                       block_size(s, OPT_LAYERS, f, 6, 6, 4), block_size(s, OPT_GRID_MODES, f, 9, 4, 4)};
}

static int reads_three_degrees(int dim, int target) {
  (void)target;
  return dim < 2 ? dim + 1 : DEGREES;
}

/* In the plane it reads what is there for everybody, on three degrees. */
static const char *reader_of(const model_setup *s) {
  return form_of(s) == FORM_PLANE ? NULL : block_reader(s, (int)form_of(s));
}

static dkho_status hsd_check(const model_setup *s) {
  if (s->dim >= 2 && s->target < DEGREES) return DKHO_OK;
  return fail(DKHO_E_INPUT,
              "model hsd: a target of degree %d on complexes of dimension %d, expected degree 0 to 2 and "
              "dimension 2 or 3",
              s->target, s->dim);
}

static void declare_gate(params *p, const char *name, int in, int out) {
  block_label n;
  params_add_norm(p, block_name(n, "%s.norm", name), in);
  params_add_affine(p, block_name(n, "%s.a", name), in, out, 1);
  params_add_affine(p, block_name(n, "%s.b", name), in, out, 1);
  params_add_affine(p, block_name(n, "%s.out", name), out, out, 1);
}

static dkho_status hsd_declare(const model_setup *s, params *p) {
  int modes = model_int(s, OPT_MODES), h = model_int(s, OPT_HIDDEN), code = BLOCKS * modes,
      plane = form_of(s) == FORM_PLANE;
  grid_layers g = layers_of(s);
  block_label n;
  for (int k = 0; plane && k < DEGREES; k++) params_add_affine(p, block_name(n, "adapter%d", k), s->features[k], 1, 1);
  for (int k = 0; k < DEGREES; k++) params_add_vector(p, block_name(n, "gain%d", k), modes, INIT_RAMP, 1);
  declare_gate(p, "gate1", code, h);
  declare_gate(p, "gate2", h, h);
  if (plane)
    params_add_affine(p, "head", h, modes * s->channels, 1);
  else {
    params_add(p, "head.w", 2, (const int64_t[]){h, modes * s->channels}, INIT_ORTHOGONAL, 0.1);
    params_add_vector(p, "head.b", modes * s->channels, INIT_UNIFORM, 1 / sqrt(h));
  }
  if (plane) params_add_affine(p, "res.adapter", s->features[0], 2, 1);
  grid_net_declare(&g, plane ? 2 : s->features[0] + 1, s->channels, p);
  params_add_affine(p, "couple.point", 3, h, 1);
  params_add_affine(p, "couple.code", code, h, 1);
  params_add_affine(p, "couple.lin1", 2 * h, 2 * h, 1);
  params_add_affine(p, "couple.lin2", 2 * h, 2 * h, 1);
  params_add(p, "couple.out.w", 2, (const int64_t[]){2 * h, s->channels}, INIT_CONST, 0);
  params_add_vector(p, "couple.out.b", s->channels, INIT_CONST, 0);
  params_add_vector(p, "scale", 1, INIT_CONST, 0.1);
  return p->status;
}

static var record_gate(tape *t, const char *name, var v, int residual) {
  block_label n;
  var x = block_norm(t, block_name(n, "%s.norm", name), v);
  var a = block_affine(t, block_name(n, "%s.a", name), 1, &x), b = block_affine(t, block_name(n, "%s.b", name), 1, &x);
  var y = op_gate(t, a, b);
  y = block_affine(t, block_name(n, "%s.out", name), 1, &y);
  return residual ? op_axpy(t, 1, v, y) : y;
}

/* E(c), one row. */
static var enrich(const hsd_bases *b, tape *t, const var *c) {
  const var part[BLOCKS] = {
      c[0], op_matmul(t, c[1], b->down[0]), c[1], op_matmul(t, c[0], b->up[0]), op_matmul(t, c[2], b->down[1]),
      c[2], op_matmul(t, c[1], b->up[1])};
  return op_concat(t, BLOCKS, part);
}

static var coefficients_row(const hsd_bases *b, tape *t, var basis, var x) {
  return op_reshape(t, op_coefficients(t, basis, x), 1, b->modes);
}

/* The raw coefficients of the three degrees. */
static dkho_status find_coefficients(const model_setup *s, const hsd_bases *b, tape *t, const model_net *net, var *c) {
  block_label n;
  if (form_of(s) == FORM_PLANE) {
    for (int k = 0; k < DEGREES; k++)
      c[k] = coefficients_row(b, t, b->basis[k], block_affine(t, block_name(n, "adapter%d", k), 1, &net->feature[k]));
    return t->status;
  }
  real *zero;
  TRY(t->status);
  if (!ARENA_NEW(&t->mem, zero, b->modes)) return DKHO_E_MEMORY;
  var u = op_slice(t, net->feature[0], 0, t->var[net->feature[0]].rows, 0, 1);
  c[0] = coefficients_row(b, t, b->basis[0], u);
  c[1] = coefficients_row(b, t, b->gradient, u);
  c[2] = tape_const(t, 1, b->modes, zero);
  return t->status;
}

/* out GELU lin2 GELU lin1 [point x, code E]: what comes from the position is computed once per step. */
static var record_coupling(tape *t, int h, var points, var code) {
  var w = tape_param(t, "couple.lin1.w"), b = tape_param(t, "couple.lin1.b");
  var at = op_matmul(t, block_affine(t, "couple.point", 1, &points), op_slice(t, w, 0, h, 0, 2 * h));
  var row = block_affine(t, "couple.code", 1, &code);
  row = op_affine(t, 1, &row, op_slice(t, w, h, 2 * h, 0, 2 * h), b);
  if (t->status != DKHO_OK) return VAR_NONE;
  var y = op_fn(t, FN_GELU, op_axpy(t, 1, at, op_broadcast(t, row, t->var[points].rows)));
  y = op_fn(t, FN_GELU, block_affine(t, "couple.lin2", 1, &y));
  return block_affine(t, "couple.out", 1, &y);
}

static var record_residual(const model_setup *s, const model_view *v, const hsd_bases *b, tape *t, var f0, var code) {
  grid_layers g = layers_of(s);
  grid_maps m = grid_maps_make(t, v->c, s->target, g.dim, model_int(s, OPT_BEHAVIOUR));
  if (t->status != DKHO_OK) return VAR_NONE;
  if (g.dim == 2) f0 = block_affine(t, "res.adapter", 1, &f0);
  const var cells[2] = {op_sparse(t, m.there, 0, f0), m.occupied};
  var local = op_sparse(t, m.back, 0, grid_net_record(&g, t, g.dim == 2 ? 1 : 2, cells));
  var r = op_axpy(t, 1, local, record_coupling(t, model_int(s, OPT_HIDDEN), block_points(t, v->c, s->target), code));
  var inside = op_synthesis(t, b->basis[s->target], op_coefficients(t, b->basis[s->target], r), s->channels);
  return op_axpy(t, -1, inside, r);
}

/* a · the mean of all entries of x, [1 × 1] */
static var mean_of(tape *t, double a, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t cols = t->var[x].cols;
  var row = op_sum_rows(t, a / (double)(t->var[x].rows * cols), x);
  return op_sum_rows(t, 1, op_reshape(t, row, cols, 1));
}

static void add_loss_terms(const model_setup *s, tape *t, var base, var rest, model_net *net) {
  if (form_of(s) == FORM_PLANE || t->status != DKHO_OK) return;
  var term[4] = {net->loss, mean_of(t, 0.01, op_relu(t, -1, rest))};
  int n = 2;
  if (form_of(s) == FORM_VOLUME) {
    var own = op_rel_l2(t, base, net->target, s->loss_eps);
    term[n++] = op_sum(t, 1, (const double[]){0.3}, &own);
    int64_t rows = t->status == DKHO_OK ? t->var[net->predicted].rows : 2;
    if (model_int(s, OPT_BEHAVIOUR) == GRID_PUBLISHED) {
      var y = net->predicted, next = op_slice(t, y, 1, rows, 0, s->channels);
      var step = op_axpy(t, -1, op_slice(t, y, 0, rows - 1, 0, s->channels), next);
      term[n++] = mean_of(t, 0.05, op_mul(t, step, step));
    }
  }
  net->loss = op_sum(t, n, (const double[]){1, 1, 1, 1}, term);
}

static dkho_status hsd_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  hsd_bases b;
  block_label n;
  var c[DEGREES], gained[DEGREES];
  int plane = form_of(s) == FORM_PLANE;
  TRY(hsd_bases_make(&b, t, v->c, model_int(s, OPT_MODES), !plane));
  for (int k = 0; k < (plane ? s->degrees : 1); k++) block_feature(s, v, t, k, net);
  TRY(find_coefficients(s, &b, t, net, c));
  for (int k = 0; k < DEGREES; k++) gained[k] = op_mul(t, c[k], tape_param(t, block_name(n, "gain%d", k)));
  var code = enrich(&b, t, gained), hidden = record_gate(t, "gate2", record_gate(t, "gate1", code, 0), 1);
  var base = op_synthesis(t, b.basis[s->target], block_affine(t, "head", 1, &hidden), s->channels);
  var rest = record_residual(s, v, &b, t, net->feature[0], plane ? code : enrich(&b, t, c));
  block_finish(s, v, t, op_axpy(t, 1, base, op_scale(t, tape_param(t, "scale"), rest)), net);
  add_loss_terms(s, t, base, rest, net);
  return t->status;
}

const model_type model_hsd = {
    .name = "hsd",
    .summary = "Hodge spectral network: low modes of three degrees and an orthogonal residual on a grid",
    .option = options,
    .profile = FEAT_NATIVE,
    .degrees = reads_three_degrees,
    .reader = reader_of,
    .check = hsd_check,
    .declare = hsd_declare,
    .record = hsd_record,
};
