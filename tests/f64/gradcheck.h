/* gradcheck.h: gradients of a recorded loss against differences, in double, for parameters and for inputs. */
#ifndef TESTS_GRADCHECK_H
#define TESTS_GRADCHECK_H

#include "base/rng.h"
#include "nn/engine.h"
#include "nn/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <math.h>

#include <cmocka.h>

enum { GC_INPUTS = 8, GC_PROBES = 24 };

typedef struct gc {
  params *p;
  tape *t;
  engine *e;
  var loss;
  int inputs;
  var input[GC_INPUTS];
  real *data[GC_INPUTS], *grad[GC_INPUTS]; /* grad: NULL when the input has none */
  real *value, *g;
} gc;

static inline void gc_ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

/* Declaring comes between gc_open and gc_params, recording between gc_params and gc_close_record. */
static inline void gc_open(gc *c) {
  *c = (gc){0};
  gc_ok(params_create(&c->p));
}
static inline void gc_params(gc *c) {
  if (c->p->count == 0) params_add_vector(c->p, "unused", 1, INIT_CONST, 0);
  gc_ok(params_layout(c->p));
  gc_ok(params_slab(c->p, &c->value));
  gc_ok(params_slab(c->p, &c->g));
  params_init(c->p, 1, c->value);
  gc_ok(tape_create(&c->t, c->p));
}
/* An input filled with scale·N(0,1). */
static inline void gc_track(gc *c, var v, double scale, int grad) {
  int i = c->inputs++;
  size_t n = (size_t)(c->t->var[v].rows * c->t->var[v].cols);
  rng r = rng_open(7, RNG_TEST, (uint64_t)i);
  c->input[i] = v;
  c->data[i] = mem_alloc(n, sizeof(real));
  for (size_t k = 0; k < n; k++) c->data[i][k] = scale * rng_normal(&r);
  if (!grad) return;
  tape_want_grad(c->t, v);
  c->grad[i] = mem_alloc(n, sizeof(real));
}
static inline var gc_input(gc *c, int64_t rows, int64_t cols, double scale, int grad) {
  var v = tape_input(c->t, rows, cols);
  gc_track(c, v, scale, grad);
  return v;
}
static inline void gc_record(gc *c, var loss) {
  c->loss = loss;
  gc_ok(engine_create(&c->e, c->t, ENGINE_TRAIN, loss, NULL));
}
/* The usual end: relative error against a random target. */
static inline void gc_record_against_noise(gc *c, var y) {
  var target = gc_input(c, c->t->var[y].rows, c->t->var[y].cols, 1, 0);
  gc_record(c, op_rel_l2(c->t, y, target, 1e-10));
}
static inline void gc_close(gc *c) {
  engine_free(c->e);
  tape_free(c->t);
  params_free(c->p);
  mem_free(c->value);
  mem_free(c->g);
  for (int i = 0; i < c->inputs; i++) {
    mem_free(c->data[i]);
    mem_free(c->grad[i]);
  }
}

static inline dkho_status gc_fill(void *ctx, const lane *l, int64_t sample) {
  const gc *c = ctx;
  (void)sample;
  for (int i = 0; i < c->inputs; i++) {
    const tape_var *v = &c->t->var[c->input[i]];
    real *to = lane_input(l, c->input[i]);
    if (to) memcpy(to, c->data[i], (size_t)(v->rows * v->cols) * sizeof *to);
  }
  return DKHO_OK;
}
static inline dkho_status gc_take(void *ctx, const lane *l, int64_t sample) {
  const gc *c = ctx;
  (void)sample;
  for (int i = 0; i < c->inputs; i++) {
    const tape_var *v = &c->t->var[c->input[i]];
    if (c->grad[i] && lane_grad(l, c->input[i]))
      memcpy(c->grad[i], lane_grad(l, c->input[i]), (size_t)(v->rows * v->cols) * sizeof(real));
  }
  return DKHO_OK;
}

static inline double gc_loss(gc *c, int keep_gradient) {
  engine_batch b = {.count = 1, .fill = gc_fill, .take = keep_gradient ? gc_take : NULL, .ctx = c};
  real *g;
  double mean;
  gc_ok(params_slab(c->p, &g));
  engine_bind(c->e, c->value);
  gc_ok(engine_gradient(c->e, &b, 1, NULL, &mean, g));
  if (keep_gradient) memcpy(c->g, g, (size_t)c->p->size * sizeof *g);
  mem_free(g);
  return mean;
}

/* Fourth-order central difference in one number. */
static inline double gc_difference(gc *c, real *x) {
  double x0 = *x, h = 1e-3, f[4];
  for (int i = 0; i < 4; i++) {
    *x = x0 + h * (double[]){1, -1, 2, -2}[i];
    f[i] = gc_loss(c, 0);
  }
  *x = x0;
  return (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * h);
}

/* Largest error of a tensor's gradient at up to GC_PROBES places, and its largest entry. */
static inline void gc_probe(gc *c, int64_t n, real *x, const real *g, rng *r, double *worst, double *largest) {
  for (int64_t i = 0; i < n; i++) *largest = fmax(*largest, fabs(g[i]));
  for (int64_t k = 0; k < (n < GC_PROBES ? n : GC_PROBES); k++) {
    int64_t i = n <= GC_PROBES ? k : (int64_t)rng_below(r, (uint64_t)n);
    *worst = fmax(*worst, fabs(gc_difference(c, x + i) - g[i]));
  }
}

/* Every tensor's gradient to `tolerance` of the largest entry met so far; dead tensors have none. */
static inline void gc_check(gc *c, double tolerance) {
  rng r = rng_open(3, RNG_TEST, 1);
  gc_ok(tape_mark_live(c->t, c->loss, c->p));
  gc_loss(c, 1);
  double whole = 0;
  for (int64_t i = 0; i < c->p->size; i++) whole = fmax(whole, fabs(c->g[i]));
  for (int i = 0; i < c->p->count; i++) {
    const param *q = &c->p->list[i];
    double worst = 0, largest = 1e-3 * whole;
    gc_probe(c, q->count, c->value + q->offset, c->g + q->offset, &r, &worst, &largest);
    if (!(worst <= tolerance * largest)) fail_msg("gradient of %s: error %.3g against %.3g", q->name, worst, largest);
    if (!q->live) assert_true(worst == 0);
  }
  for (int i = 0; i < c->inputs; i++) {
    const tape_var *v = &c->t->var[c->input[i]];
    double worst = 0, largest = 1e-3 * whole;
    if (!c->grad[i]) continue;
    gc_probe(c, v->rows * v->cols, c->data[i], c->grad[i], &r, &worst, &largest);
    if (!(worst <= tolerance * largest)) fail_msg("gradient of input %d: error %.3g against %.3g", i, worst, largest);
  }
}

/* f(x + hp) - f(x) - h g·p falls as h²: the slope between h and h/2 along a random direction over all parameters. */
static inline double gc_taylor(gc *c, double h) {
  rng r = rng_open(11, RNG_TEST, 2);
  double f0 = gc_loss(c, 1), slope = 0, rest[2];
  real *dir, *start;
  gc_ok(params_slab(c->p, &dir));
  gc_ok(params_slab(c->p, &start));
  memcpy(start, c->value, (size_t)c->p->size * sizeof *start);
  for (int i = 0; i < c->p->count; i++)
    for (int64_t k = 0; k < c->p->list[i].count; k++) dir[c->p->list[i].offset + k] = rng_normal(&r);
  for (int64_t i = 0; i < c->p->size; i++) slope += dir[i] * c->g[i];
  for (int k = 0; k < 2; k++) {
    double step = k ? h / 2 : h;
    for (int64_t i = 0; i < c->p->size; i++) c->value[i] = start[i] + step * dir[i];
    rest[k] = fabs(gc_loss(c, 0) - f0 - step * slope);
  }
  memcpy(c->value, start, (size_t)c->p->size * sizeof *start);
  mem_free(dir);
  mem_free(start);
  return log2(rest[0] / rest[1]);
}

#endif
