/* reference.h: the model once more, written from the formulas alone: no tape, no folding, no shared products, operators of
 * dec. It gives the prediction that a recorded model must give. Memory is taken from an arena and dropped at the end. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include "f64/small.h"

typedef struct reference {
  const model *m;
  arena mem;
} reference;

static inline double *ref_new(reference *r, int64_t n) {
  return arena_take(&r->mem, (size_t)n, sizeof(double));
}
static inline const double *ref_param(const reference *r, const char *name, const char *suffix) {
  char full[256];
  snprintf(full, sizeof full, "%s%s", name, suffix);
  int i = params_find(r->m->c.p, full);
  return i < 0 ? NULL : r->m->c.value + r->m->c.p->list[i].offset;
}
static inline const char *ref_name(char *out, int l, const char *what, int k) {
  snprintf(out, 64, "layer%d.%s%d", l, what, k);
  return out;
}

static inline double *ref_affine(reference *r, const char *name, int64_t n, int in, int out, const double *x) {
  const double *w = ref_param(r, name, ".w"), *b = ref_param(r, name, ".b");
  double *y = ref_new(r, n * out);
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < out; j++) {
      y[i * out + j] = b ? b[j] : 0;
      for (int q = 0; q < in; q++) y[i * out + j] += x[i * in + q] * w[q * out + j];
    }
  return y;
}
static inline double *ref_norm(reference *r, const char *name, int64_t n, int w, const double *x) {
  const double *g = ref_param(r, name, ".g"), *b = ref_param(r, name, ".b");
  double *y = ref_new(r, n * w);
  for (int64_t i = 0; i < n; i++) {
    double mean = 0, square = 0;
    for (int j = 0; j < w; j++) mean += x[i * w + j] / w;
    for (int j = 0; j < w; j++) square += pow(x[i * w + j] - mean, 2) / w;
    for (int j = 0; j < w; j++) y[i * w + j] = g[j] * (x[i * w + j] - mean) / sqrt(square + 1e-5) + b[j];
  }
  return y;
}
static inline double *ref_mlp(reference *r, const char *name, int64_t n, int in, int w, int out, const double *x) {
  char part[128];
  snprintf(part, sizeof part, "%s.lin1", name);
  double *y = ref_affine(r, part, n, in, w, x);
  for (int64_t i = 0; i < n * w; i++) y[i] = 0.5 * y[i] * (1 + erf(y[i] / sqrt(2)));
  snprintf(part, sizeof part, "%s.norm", name);
  y = ref_norm(r, part, n, w, y);
  snprintf(part, sizeof part, "%s.lin2", name);
  return ref_affine(r, part, n, w, out, y);
}
/* [a | b] */
static inline double *ref_beside(reference *r, int64_t n, int wa, const double *a, int wb, const double *b) {
  double *y = ref_new(r, n * (wa + wb));
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < wa + wb; j++) y[i * (wa + wb) + j] = j < wa ? a[i * wa + j] : b[i * wb + j - wa];
  return y;
}
static inline double *ref_each(reference *r, int64_t n, double (*f)(double), const double *x) {
  double *y = ref_new(r, n);
  for (int64_t i = 0; i < n; i++) y[i] = f(x[i]);
  return y;
}
static inline double ref_sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* What a layer knows: maps of z on every degree, and the scalars. */
typedef struct ref_layer {
  double *drive[CX_DEGREES], *gate[CX_DEGREES], *lag[CX_DEGREES];
  double tau, sigma[CX_DEGREES];
} ref_layer;
static inline ref_layer ref_controls(reference *r, int l, double *const *z) {
  const dkho_config *f = &r->m->f;
  ref_layer y = {0};
  char name[64];
  snprintf(name, sizeof name, "layer%d", l);
  y.tau = f->tau_lo + f->tau_range * ref_sigmoid(ref_param(r, name, ".t")[0]);
  for (int k = 0; k < f->degrees; k++) {
    int64_t n = r->m->x->c->n[k];
    y.sigma[k] = log(1 + exp(ref_param(r, name, ".s")[k])) + 1e-4;
    if (!z[k]) continue;
    char map[64];
    y.drive[k] = ref_affine(r, ref_name(map, l, "drive", k), n, f->h, f->c, z[k]);
    y.gate[k] = ref_affine(r, ref_name(map, l, "gate", k), n, f->h, f->c, z[k]);
    y.lag[k] = ref_affine(r, ref_name(map, l, "lag", k), n, f->h, f->c, z[k]);
  }
  return y;
}

/* out += the correction returned to degree k from degree j = k ± 1. */
static inline void ref_correction(reference *r, const ref_layer *y, int k, int j, double *const *theta, double *out) {
  const dkho_config *f = &r->m->f;
  const dec *d = r->m->x->d;
  if (j < 0 || j >= f->degrees) return;
  int64_t n = d->c->n[j] * f->c;
  double *a = ref_new(r, n), *back = ref_new(r, d->c->n[k] * f->c), sign = j > k ? -1 : 1;
  (j > k ? dec_d : dec_delta)(d, k, f->c, theta[k], a);
  for (int64_t i = 0; i < n; i++)
    a[i] = sin(a[i] + sign * tanh(y->gate[j][i]) * theta[j][i] - f->lag_scale * tanh(y->lag[j][i]));
  (j > k ? dec_delta : dec_d)(d, j, f->c, a, back);
  for (int64_t i = 0; i < d->c->n[k] * f->c; i++) out[i] += back[i];
}

static inline void ref_substep(reference *r, const ref_layer *y, double **theta) {
  const dkho_config *f = &r->m->f;
  double *next[CX_DEGREES] = {NULL};
  for (int k = 0; k < f->degrees; k++) {
    int64_t n = r->m->x->c->n[k] * f->c;
    double *c = ref_new(r, n);
    next[k] = ref_new(r, n);
    if (f->variant == DKHO_NO_DIRAC)
      for (int64_t i = 0; i < n; i++) c[i] = sin(tanh(y->gate[k][i]) * theta[k][i] - f->lag_scale * tanh(y->lag[k][i]));
    else
      for (int j = k - 1; j <= k + 1; j += 2) ref_correction(r, y, k, j, theta, c);
    for (int64_t i = 0; i < n; i++) next[k][i] = theta[k][i] - y->tau * (y->drive[k][i] + y->sigma[k] * c[i]);
  }
  memcpy(theta, next, sizeof next);
}

static inline double *ref_carrier(reference *r, const ref_layer *y, int k) {
  int64_t n = r->m->x->c->n[k] * r->m->f.c;
  double *x = ref_new(r, n);
  for (int64_t i = 0; i < n; i++) x[i] = ref_sigmoid(y->gate[k][i]) * tanh(y->drive[k][i]) + tanh(y->lag[k][i]);
  return x;
}
/* σ_k (d x_{k-1} + δ x_{k+1}) */
static inline double *ref_hop(reference *r, const ref_layer *y, int k, double *const *x) {
  const dkho_config *f = &r->m->f;
  const dec *d = r->m->x->d;
  int64_t n = d->c->n[k] * f->c;
  double *m = ref_new(r, n), *part = ref_new(r, n);
  for (int j = k - 1; j <= k + 1; j += 2) {
    if (j < 0 || j >= f->degrees) continue;
    (j < k ? dec_d : dec_delta)(d, j, f->c, x[j], part);
    for (int64_t i = 0; i < n; i++) m[i] += y->sigma[k] * part[i];
  }
  return m;
}

/* One layer: theta and z move on. */
static inline void ref_step(reference *r, int l, double **z, double *const *z0, double **theta) {
  const dkho_config *f = &r->m->f;
  ref_layer y = ref_controls(r, l, z);
  double *x[CX_DEGREES] = {NULL}, *fresh[CX_DEGREES];
  int plain = f->variant == DKHO_NO_PHASE;
  for (int s = 0; !plain && s < f->substeps; s++) ref_substep(r, &y, theta);
  for (int k = 0; plain && k < f->degrees; k++) x[k] = ref_carrier(r, &y, k);
  for (int k = 0; k < f->degrees; k++) {
    int64_t n = r->m->x->c->n[k];
    char name[64];
    double *a = plain ? ref_hop(r, &y, k, x) : ref_each(r, n * f->c, cos, theta[k]);
    double *b = plain ? x[k] : ref_each(r, n * f->c, sin, theta[k]);
    double *p = ref_affine(r, ref_name(name, l, "read", k), n, 2 * f->c, f->h, ref_beside(r, n, f->c, a, f->c, b));
    double *u = ref_mlp(r, ref_name(name, l, "upd", k), n, 2 * f->h, f->h, f->h, ref_beside(r, n, f->h, z[k], f->h, p));
    double *skip = ref_affine(r, ref_name(name, l, "skip", k), n, f->h, f->h, z0[k]);
    for (int64_t i = 0; i < n * f->h; i++) u[i] = z[k][i] + (plain ? y.tau : 1) * u[i] + skip[i];
    fresh[k] = ref_norm(r, ref_name(name, l, "norm", k), n, f->h, u);
  }
  memcpy(z, fresh, (size_t)f->degrees * sizeof *z);
}

static inline double *ref_start(reference *r, int k, const double *z0) {
  const dkho_config *f = &r->m->f;
  int64_t n = r->m->x->c->n[k];
  char name[16];
  snprintf(name, sizeof name, "rel%d", k);
  if (f->start == DKHO_DETERMINISTIC) {
    double *x = ref_affine(r, name, n, f->h, f->c, z0);
    for (int64_t i = 0; i < n * f->c; i++) x[i] = M_PI * tanh(x[i]);
    return x;
  }
  double *x = ref_new(r, n * f->c);
  for (int64_t i = 0; f->start == DKHO_LEARNABLE && i < n * f->c; i++) x[i] = ref_param(r, name, ".theta")[i % f->c];
  return x;
}

/* (I - H Hᵀ M) u + H c, in place */
static inline void ref_harmonic(const model *m, double *u, const double *c) {
  const small *s = m->x;
  int q = m->f.target, ch = m->f.channels;
  int64_t n = s->c->n[q];
  for (int64_t b = 0; b < s->basis[q].count; b++)
    for (int j = 0; j < ch; j++) {
      const double *h = s->basis[q].vec + b * n;
      double old = 0;
      for (int64_t i = 0; i < n; i++) old += h[i] * s->d->star[q][i] * u[i * ch + j];
      for (int64_t i = 0; i < n; i++) u[i * ch + j] += h[i] * (c[b * ch + j] - old);
    }
}

/* The prediction for the model's present inputs; the caller frees r->mem. Input k of the gradient check is F_k, the one
 * after them the summary. */
static inline double *ref_predict(reference *r) {
  const model *m = r->m;
  const dkho_config *f = &m->f;
  double *z[CX_DEGREES] = {NULL}, *z0[CX_DEGREES], *theta[CX_DEGREES] = {NULL};
  char name[16];
  for (int k = 0; k < f->degrees; k++) {
    snprintf(name, sizeof name, "enc%d", k);
    z[k] = z0[k] = ref_mlp(r, name, m->x->c->n[k], f->features[k], f->h, f->h, m->c.data[k]);
    if (f->variant != DKHO_NO_PHASE) theta[k] = ref_start(r, k, z0[k]);
  }
  for (int l = 0; l < f->layers; l++) ref_step(r, l, z, z0, theta);
  int q = f->target;
  int64_t n = m->x->c->n[q];
  double *a, *b;
  if (f->variant == DKHO_NO_PHASE) {
    ref_layer y = ref_controls(r, f->layers - 1, z);
    a = ref_carrier(r, &y, q);
    b = ref_each(r, n * f->c, tanh, y.gate[q]);
  } else {
    a = ref_each(r, n * f->c, cos, theta[q]);
    b = ref_each(r, n * f->c, sin, theta[q]);
  }
  double *in = ref_beside(r, n, f->h, z[q], 2 * f->c, ref_beside(r, n, f->c, a, f->c, b));
  double *u = ref_mlp(r, "dec", n, f->h + 2 * f->c, f->h, f->channels, in);
  if (f->harmonic && f->variant != DKHO_NO_HARMONIC)
    ref_harmonic(m, u, ref_mlp(r, "harm", 1, f->summary, f->h, f->harmonic * f->channels, m->c.data[f->degrees]));
  return u;
}

#endif
