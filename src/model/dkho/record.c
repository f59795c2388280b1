/* record.c: records the model of dkho.h out of plain operations. Two exact rearrangements save work: nothing nonlinear
 * stands between the readout and the update's first map, so their matrices are multiplied once per step; and the
 * update's last map and the skip are one product of [u, z⁰]. What cannot reach the output is recorded all the same and
 * dropped by the tape. */
#include "model/dkho/extend.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const dkho_config *f;
  const geometry *g; /* as the layers hold it */
  tape *t;
  dkho_net *net;
  extension_maps maps;
} recorder;

/* What one layer derives from z_k: drive, gate and lag before any nonlinearity, and its scalars. */
typedef struct {
  var drive[CX_DEGREES], gate[CX_DEGREES], lag[CX_DEGREES];
  var tau, sigma[CX_DEGREES];
} controls;

static var tensor(recorder *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static var tensor(recorder *r, const char *fmt, ...) {
  char name[PARAM_NAME_MAX + 1];
  va_list args;
  va_start(args, fmt);
  vsnprintf(name, sizeof name, fmt, args);
  va_end(args);
  return tape_param(r->t, name);
}

static var map(recorder *r, int l, const char *what, int k, var x) {
  return op_affine(r->t, 1, &x, tensor(r, "layer%d.%s%d.w", l, what, k), tensor(r, "layer%d.%s%d.b", l, what, k));
}

/* Σ of the terms that are there; VAR_NONE when none is. */
static var sum_present(tape *t, int n, const double *a, const var *x) {
  double coef[4];
  var term[4];
  int m = 0;
  assert(n <= 4);
  for (int i = 0; i < n; i++) {
    if (x[i] == VAR_NONE) continue;
    coef[m] = a[i];
    term[m++] = x[i];
  }
  return m == 0 ? VAR_NONE : op_sum(t, m, coef, term);
}

static var mul_present(tape *t, var a, var b) {
  return a == VAR_NONE || b == VAR_NONE ? VAR_NONE : op_mul(t, a, b);
}

static controls layer_controls(recorder *r, int l, const var *z) {
  tape *t = r->t;
  controls c = {0};
  c.tau = op_unary(t, FN_SIGMOID, r->f->tau_range, r->f->tau_lo, tensor(r, "layer%d.t", l));
  var sigma = op_unary(t, FN_SOFTPLUS, 1, 1e-4, tensor(r, "layer%d.s", l));
  r->net->tau[l] = c.tau;
  for (int k = 0; k < r->f->degrees; k++) {
    r->net->sigma[l][k] = c.sigma[k] = op_slice(t, sigma, 0, 1, k, k + 1);
    r->net->drive[l][k] = c.drive[k] = map(r, l, "drive", k, z[k]);
    r->net->gate[l][k] = c.gate[k] = map(r, l, "gate", k, z[k]);
    r->net->lag[l][k] = c.lag[k] = map(r, l, "lag", k, z[k]);
  }
  return c;
}

/* sin(a + s·G_j ⊙ θ_j - Λ_j) on degree j */
static var response(tape *t, var a, double s, var gate, var theta, var lag) {
  const var term[3] = {a, mul_present(t, gate, theta), lag};
  return op_fn(t, FN_SIN, sum_present(t, 3, (const double[]){1, s, -1}, term));
}

/* Returned correction of degree k: c↑ + c↓ (also noted in the net), or sin(G θ - Λ) on the simplex alone. */
static var feedback(recorder *r, int l, int s, int k, const controls *c, const var *theta) {
  tape *t = r->t;
  if (r->f->variant == DKHO_NO_DIRAC) return response(t, VAR_NONE, 1, c->gate[k], theta[k], c->lag[k]);
  var *up = &r->net->up[l][s][k], *down = &r->net->down[l][s][k];
  if (k + 1 < r->f->degrees) {
    var a = geometry_d(r->g, t, k, theta[k]);
    *up = geometry_delta(r->g, t, k + 1, response(t, a, -1, c->gate[k + 1], theta[k + 1], c->lag[k + 1]));
  }
  if (k > 0) {
    var a = geometry_delta(r->g, t, k, theta[k]);
    *down = geometry_d(r->g, t, k - 1, response(t, a, 1, c->gate[k - 1], theta[k - 1], c->lag[k - 1]));
  }
  return *up == VAR_NONE ? *down : *down == VAR_NONE ? *up : op_axpy(t, 1, *up, *down);
}

/* R synchronous substeps; theta is overwritten. gate and lag arrive as plain maps. */
static void relate(recorder *r, int l, controls *c, var *theta) {
  tape *t = r->t;
  var drift[CX_DEGREES] = {0}, rate[CX_DEGREES] = {0};
  for (int k = 0; k < r->f->degrees; k++) {
    c->gate[k] = op_fn(t, FN_TANH, c->gate[k]);
    c->lag[k] = op_unary(t, FN_TANH, r->f->lag_scale, 0, c->lag[k]);
    drift[k] = op_scale(t, c->tau, c->drive[k]);
    rate[k] = op_mul(t, c->tau, c->sigma[k]);
  }
  memcpy(r->net->theta[l][0], theta, sizeof r->net->theta[l][0]);
  for (int s = 0; s < r->f->substeps; s++) {
    var next[CX_DEGREES] = {0};
    for (int k = 0; k < r->f->degrees; k++) {
      const var term[3] = {theta[k], drift[k], op_scale(t, rate[k], feedback(r, l, s, k, c, theta))};
      next[k] = sum_present(t, 3, (const double[]){1, -1, -1}, term);
    }
    for (int k = 0; k < r->f->degrees; k++) r->net->theta[l][s + 1][k] = theta[k] = next[k];
  }
}

/* The first affine map of the update on what it reads: z, the relation through the folded readout (unless p is VAR_NONE), and what the
 * extensions bring. */
static var update_input(recorder *r, int l, int k, var z, var p1, var p2, const carried *far) {
  tape *t = r->t;
  int h = r->f->h, n = 1;
  var x[EXTENSION_TERMS + 3] = {z}, w[EXTENSION_TERMS + 3];
  var lin1 = tensor(r, "layer%d.upd%d.lin1.w", l, k), bias = tensor(r, "layer%d.upd%d.lin1.b", l, k);
  w[0] = lin1;
  if (p1 != VAR_NONE) {
    var lower = op_slice(t, lin1, h, 2 * h, 0, h), read_b = tensor(r, "layer%d.read%d.b", l, k);
    w[0] = op_slice(t, lin1, 0, h, 0, h);
    w[n] = op_matmul(t, tensor(r, "layer%d.read%d.w", l, k), lower); /* of both p at once */
    x[n++] = p1, x[n] = p2;
    bias = op_affine(t, 1, &read_b, lower, bias);
  }
  int maps = n, reads = p1 == VAR_NONE ? n : n + 1;
  for (int i = 0; i < far->terms; i++) x[reads++] = far->x[i], w[maps++] = far->w[i];
  var u = op_affine(t, reads, x, maps > 1 ? op_stack(t, maps, w) : w[0], bias);
  return far->added == VAR_NONE ? u : op_axpy(t, 1, far->added, u);
}

/* norm(z + a·upd[z, read[p₁, p₂], …] + S z⁰); a = scale (1 × 1) or 1 when VAR_NONE. */
static var update(recorder *r, int l, int k, var z, var z0, var p1, var p2, var scale, const carried *far) {
  tape *t = r->t;
  var u = op_fn(t, FN_GELU, update_input(r, l, k, z, p1, p2, far));
  u = op_norm(t, u, tensor(r, "layer%d.upd%d.norm.g", l, k), tensor(r, "layer%d.upd%d.norm.b", l, k));
  var w = tensor(r, "layer%d.upd%d.lin2.w", l, k), b = tensor(r, "layer%d.upd%d.lin2.b", l, k);
  if (scale != VAR_NONE) {
    w = op_scale(t, scale, w);
    b = op_scale(t, scale, b);
  }
  w = op_stack(t, 2, (const var[]){w, tensor(r, "layer%d.skip%d.w", l, k)});
  var sum = op_axpy(t, 1, z, op_affine(t, 2, (const var[]){u, z0}, w, b));
  return op_norm(t, sum, tensor(r, "layer%d.norm%d.g", l, k), tensor(r, "layer%d.norm%d.b", l, k));
}

/* The states after a layer whose relation offers p to the update; p NULL: there is none. */
static void update_all(recorder *r, int l, var *z, const var *z0, var (*p)[2], var scale) {
  carried far[CX_DEGREES];
  extend_layer(r->f, r->t, &r->maps, l, z, far);
  for (int k = 0; k < r->f->degrees; k++)
    z[k] = update(r, l, k, z[k], z0[k], p ? p[k][0] : VAR_NONE, p ? p[k][1] : VAR_NONE, scale, &far[k]);
}

static void phase_layer(recorder *r, int l, var *z, const var *z0, var *theta) {
  controls c = layer_controls(r, l, z);
  var p[CX_DEGREES][2];
  relate(r, l, &c, theta);
  for (int k = 0; k < r->f->degrees; k++) {
    p[k][0] = op_fn(r->t, FN_COS, theta[k]);
    p[k][1] = op_fn(r->t, FN_SIN, theta[k]);
  }
  update_all(r, l, z, z0, p, VAR_NONE);
}

/* x = sigmoid(gate) ⊙ tanh(drive) + tanh(lag) */
static var carrier(tape *t, var drive, var gate, var lag) {
  var x = op_mul(t, op_fn(t, FN_SIGMOID, gate), op_fn(t, FN_TANH, drive));
  return op_axpy(t, 1, x, op_fn(t, FN_TANH, lag));
}

static void plain_layer(recorder *r, int l, var *z, const var *z0) {
  tape *t = r->t;
  controls c = layer_controls(r, l, z);
  var x[CX_DEGREES] = {0}, p[CX_DEGREES][2];
  for (int k = 0; k < r->f->degrees; k++) x[k] = carrier(t, c.drive[k], c.gate[k], c.lag[k]);
  for (int k = 0; k < r->f->degrees; k++) {
    const var term[2] = {k > 0 ? geometry_d(r->g, t, k - 1, x[k - 1]) : VAR_NONE,
                         k + 1 < r->f->degrees ? geometry_delta(r->g, t, k + 1, x[k + 1]) : VAR_NONE};
    p[k][0] = op_scale(t, c.sigma[k], sum_present(t, 2, (const double[]){1, 1}, term));
    p[k][1] = x[k];
  }
  update_all(r, l, z, z0, p, c.tau);
}

static var start_theta(recorder *r, int k, var z0) {
  if (r->f->start == DKHO_ZERO) return VAR_NONE;
  if (r->f->start == DKHO_LEARNABLE) return op_broadcast(r->t, tensor(r, "rel%d.theta", k), r->g->n[k]);
  var x = op_affine(r->t, 1, &z0, tensor(r, "rel%d.w", k), tensor(r, "rel%d.b", k));
  return op_unary(r->t, FN_TANH, 3.14159265358979323846, 0, x);
}

/* The decoder's two relation inputs of degree q. */
static void relation_view(recorder *r, var z, var theta, var view[2]) {
  tape *t = r->t;
  int q = r->f->target, last = r->f->layers - 1;
  if (r->f->variant == DKHO_NO_PHASE) {
    var gate = map(r, last, "gate", q, z);
    view[0] = carrier(t, map(r, last, "drive", q, z), gate, map(r, last, "lag", q, z));
    view[1] = op_fn(t, FN_TANH, gate);
  } else {
    view[0] = op_fn(t, FN_COS, theta);
    view[1] = op_fn(t, FN_SIN, theta);
  }
}

/* H (M H)ᵀ ũ, or H (s ⊙ (M H)ᵀ ũ): what the branch replaces. */
static var replaced_part(const dkho_config *f, const geometry *g, tape *t, var h, var u) {
  var own = op_coefficients(t, tape_const(t, g->n[f->target], f->harmonic, g->mh), u);
  if (f->branch == DKHO_BRANCH_WEIGHED)
    own = op_mul(t, own, op_reshape(t, tape_param(t, "harm.s"), f->harmonic, f->channels));
  return op_synthesis(t, h, own, f->channels);
}

/* û = ũ - H (M H)ᵀ ũ + H harm(g), with less of the second or without it, from ũ = net->local on. */
static void synthesise(const dkho_config *f, const geometry *g, tape *t, dkho_net *net) {
  net->predicted = net->local;
  if (!f->harmonic || f->variant == DKHO_NO_HARMONIC) return;
  var h = tape_const(t, g->n[f->target], f->harmonic, g->h);
  net->summary = tape_input(t, 1, f->summary);
  if (f->branch != DKHO_BRANCH_ADDED) net->local = op_axpy(t, -1, replaced_part(f, g, t, h, net->local), net->local);
  net->modes = op_synthesis(t, h, op_mlp(t, "harm", 1, &net->summary), f->channels);
  net->predicted = op_axpy(t, 1, net->local, net->modes);
}

static void judge_output(const dkho_config *f, const geometry *g, tape *t, dkho_net *net) {
  net->predicted = geometry_impose(g, t, net->predicted, &net->given);
  net->target = tape_input(t, g->n[f->target], f->channels);
  net->loss = op_rel_l2(t, net->predicted, net->target, f->loss_eps);
  tape_keep(t, net->predicted);
}

static dkho_status fits(const dkho_config *f, const geometry *g) {
  TRY(dkho_check(f));
  if (f->degrees != dkho_active_degrees(g->dim, f->target))
    return fail(DKHO_E_INPUT, "model: degrees: found %d, the complex has %d", f->degrees,
                dkho_active_degrees(g->dim, f->target));
  if (f->metric != g->metric) return fail(DKHO_E_INPUT, "model: its metric is not that of the geometry");
  if (f->harmonic && f->variant != DKHO_NO_HARMONIC && (f->harmonic != g->beta || f->target != g->degree))
    return fail(DKHO_E_INPUT, "model: harmonic: found %d modes of degree %d, the basis has %lld of degree %d",
                f->harmonic, f->target, (long long)g->beta, g->degree);
  return DKHO_OK;
}

/* The decoder's output ũ. */
static var decode(recorder *r, const var *z, const var *theta) {
  int q = r->f->target, related = r->f->relation == DKHO_KURAMOTO;
  var in[3] = {z[q]};
  if (related) relation_view(r, z[q], theta[q], in + 1);
  return extend_leave(&r->maps, r->t, q, op_mlp(r->t, "dec", related ? 3 : 1, in));
}

/* What diagnostics read, in the caller's order. */
static void leave_activations(recorder *r) {
  dkho_net *net = r->net;
  for (int l = 0; l <= r->f->layers; l++)
    for (int k = 0; k < r->f->degrees; k++) {
      net->z[l][k] = extend_leave(&r->maps, r->t, k, net->z[l][k]);
      if (l == r->f->layers) continue;
      net->drive[l][k] = extend_leave(&r->maps, r->t, k, net->drive[l][k]);
      for (int s = 0; s < r->f->substeps; s++) {
        net->up[l][s][k] = extend_leave(&r->maps, r->t, k, net->up[l][s][k]);
        net->down[l][s][k] = extend_leave(&r->maps, r->t, k, net->down[l][s][k]);
      }
      for (int s = 0; s <= r->f->substeps; s++)
        net->theta[l][s][k] = extend_leave(&r->maps, r->t, k, net->theta[l][s][k]);
    }
}

dkho_status dkho_record(const dkho_config *f, const dec *metric, const geometry *g, tape *t, dkho_net *net) {
  recorder r = {.f = f, .t = t, .net = net};
  var z[CX_DEGREES], z0[CX_DEGREES], theta[CX_DEGREES];
  TRY(fits(f, g));
  TRY(extend_prepare(f, metric, g, t, &r.maps));
  r.g = r.maps.g;
  memset(net, 0xff, sizeof *net); /* VAR_NONE everywhere */
  for (int k = 0; k < CX_DEGREES; k++) z[k] = z0[k] = theta[k] = VAR_NONE;
  for (int k = 0; k < f->degrees; k++) {
    char name[16];
    snprintf(name, sizeof name, "enc%d", k);
    net->feature[k] = tape_input(t, g->n[k], f->features[k]);
    var x = extend_enter(&r.maps, t, k, net->feature[k]);
    net->z[0][k] = z[k] = z0[k] = op_mlp(t, name, 1, &x);
    if (f->variant != DKHO_NO_PHASE && f->relation == DKHO_KURAMOTO) theta[k] = start_theta(&r, k, z0[k]);
  }
  for (int l = 0; l < f->layers; l++) {
    if (f->relation == DKHO_RELATION_NONE)
      update_all(&r, l, z, z0, NULL, VAR_NONE);
    else if (f->variant == DKHO_NO_PHASE)
      plain_layer(&r, l, z, z0);
    else
      phase_layer(&r, l, z, z0, theta);
    memcpy(net->z[l + 1], z, sizeof z);
  }
  net->local = net->decoded = decode(&r, z, theta);
  leave_activations(&r);
  synthesise(f, g, t, net);
  judge_output(f, g, t, net);
  return t->status;
}
