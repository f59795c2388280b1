/* tno.c: the topological neural operator: every degree carries a state, and a layer mixes it with what comes from below and above by
 * bare incidence, and on the target's degree with its harmonic part.
 *   x_r = E_r F_r + b_r
 *   u_r = S_r x_r + s_r + D_r d_{r-1} x_{r-1} + U_r d_rᵀ x_{r+1} + [r = q] Q_r H Hᵀ M x_r
 *   x_r ← norm_r(x_r + GELU(u_r)), all degrees at once, `layers` times;   û = o x_q + o₀
 * Maps are applied on the side of d that has fewer simplices, and Q to the β coefficients. Two layers carry a value one neighbour
 * far, so four of them see two neighbours, and beyond that the harmonic part alone. */
#include "model/blocks.h"

#include <stdio.h>

enum { OPT_WIDTH, OPT_LAYERS };
static const model_option options[] = {
    [OPT_WIDTH] = {"w", OPTION_INT, 76, 1, 4096, NULL, "width of the states"},
    [OPT_LAYERS] = {"layers", OPTION_INT, 4, 1, 64, NULL, "layers"},
    {0},
};
static const model_size sizes[] = {{"small", "w=76"}, {"large", "w=170"}, {0}};

static int active_degrees(int dim, int target) {
  int top = dim < 2 ? dim : 2;
  return (target > top ? dim : top) + 1;
}

static dkho_status tno_declare(const model_setup *s, params *p) {
  int w = model_int(s, OPT_WIDTH);
  block_label n;
  for (int r = 0; r < s->degrees; r++) params_add_affine(p, block_name(n, "enc%d", r), s->features[r], w, 1);
  for (int l = 0; l < model_int(s, OPT_LAYERS); l++)
    for (int r = 0; r < s->degrees; r++) {
      params_add_affine(p, block_name(n, "layer%d.self%d", l, r), w, w, 1);
      if (r > 0) params_add_affine(p, block_name(n, "layer%d.below%d", l, r), w, w, 0);
      if (r + 1 < s->degrees) params_add_affine(p, block_name(n, "layer%d.above%d", l, r), w, w, 0);
      params_add_affine(p, block_name(n, "layer%d.harmonic%d", l, r), w, w, 0);
      params_add_norm(p, block_name(n, "layer%d.norm%d", l, r), w);
    }
  for (int r = 0; r < s->degrees; r++)
    params_add_affine(p, block_name(n, "head%d", r), w, r == s->target ? s->channels : 1, 1);
  return p->status;
}

static var layer_matrix(tape *t, int l, const char *what, int r) {
  block_label n;
  return tape_param(t, block_name(n, "layer%d.%s%d.w", l, what, r));
}

/* D_r d_{r-1} x_{r-1} (up) or U_r d_rᵀ x_{r+1}: the map where there are fewer simplices. */
static var pass_degree(const model_view *v, tape *t, int l, int r, int up, const var *x) {
  int from = up ? r - 1 : r + 1;
  var w = layer_matrix(t, l, up ? "below" : "above", r);
  const sparse *d = v->g->d[up ? r - 1 : r];
  if (v->c->n[from] < v->c->n[r]) return op_sparse(t, d, !up, op_matmul(t, x[from], w));
  return op_matmul(t, op_sparse(t, d, !up, x[from]), w);
}

/* H Q(Hᵀ M x) */
static var harmonic_part(const model_setup *s, const model_view *v, tape *t, int l, var x) {
  const geometry *g = v->g;
  var h = tape_const(t, g->n[s->target], g->beta, g->h), mh = tape_const(t, g->n[s->target], g->beta, g->mh);
  var c = op_matmul(t, op_coefficients(t, mh, x), layer_matrix(t, l, "harmonic", s->target));
  return op_synthesis(t, h, c, model_int(s, OPT_WIDTH));
}

static var tno_layer(const model_setup *s, const model_view *v, tape *t, int l, int r, const var *x) {
  static const double ones[4] = {1, 1, 1, 1};
  block_label n;
  var term[4] = {block_affine(t, block_name(n, "layer%d.self%d", l, r), 1, &x[r])};
  int terms = 1;
  if (r > 0) term[terms++] = pass_degree(v, t, l, r, 1, x);
  if (r + 1 < s->degrees) term[terms++] = pass_degree(v, t, l, r, 0, x);
  if (r == s->target && s->harmonic) term[terms++] = harmonic_part(s, v, t, l, x[r]);
  var u = op_fn(t, FN_GELU, op_sum(t, terms, ones, term));
  return block_norm(t, block_name(n, "layer%d.norm%d", l, r), op_axpy(t, 1, x[r], u));
}

static dkho_status tno_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  var x[CX_DEGREES], next[CX_DEGREES];
  block_label n;
  for (int r = 0; r < s->degrees; r++) {
    var f = block_feature(s, v, t, r, net);
    x[r] = block_affine(t, block_name(n, "enc%d", r), 1, &f);
  }
  for (int l = 0; l < model_int(s, OPT_LAYERS); l++) {
    for (int r = 0; r < s->degrees; r++) next[r] = tno_layer(s, v, t, l, r, x);
    for (int r = 0; r < s->degrees; r++) x[r] = next[r];
  }
  block_finish(s, v, t, block_affine(t, block_name(n, "head%d", s->target), 1, &x[s->target]), net);
  return t->status;
}

const model_type model_tno = {
    .name = "tno",
    .summary = "topological neural operator: states on all degrees, mixed by incidence and a harmonic projection",
    .option = options,
    .size = sizes,
    .profile = FEAT_SUMMARY,
    .harmonic = 1,
    .degrees = active_degrees,
    .declare = tno_declare,
    .record = tno_record,
};
