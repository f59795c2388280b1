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

enum { GC_INPUTS = 8, GC_EACH = 200 };

typedef struct gc {
  params *p;
  tape *t;
  engine *e, *forward;
  var loss;
  double seen;
  int by_training; /* 1: the loss is that of training, which is not that of prediction (batch norm) */
  double step;     /* of differences; 0: 3e-4. Smaller where the loss has kinks that a step might cross. */
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
  tape_keep(c->t, loss);
  gc_ok(engine_create(&c->e, c->t, ENGINE_TRAIN, loss, NULL));
  gc_ok(engine_create(&c->forward, c->t, ENGINE_PREDICT, VAR_NONE, NULL));
}
/* The usual end: relative error against a random target. */
static inline void gc_record_against_noise(gc *c, var y) {
  var target = gc_input(c, c->t->var[y].rows, c->t->var[y].cols, 1, 0);
  gc_record(c, op_rel_l2(c->t, y, target, 1e-10));
}
static inline void gc_close(gc *c) {
  engine_free(c->e);
  engine_free(c->forward);
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

/* Forward only. */
static inline dkho_status gc_take_loss(void *ctx, const lane *l, int64_t sample) {
  gc *c = ctx;
  (void)sample;
  c->seen = lane_value(l, c->loss)[0];
  return DKHO_OK;
}
static inline double gc_training_loss(gc *c) {
  engine_batch b = {.count = 1, .fill = gc_fill, .ctx = c};
  double mean;
  engine_bind(c->e, c->value);
  gc_ok(engine_gradient(c->e, &b, 1, NULL, &mean, NULL));
  return mean;
}
static inline double gc_loss(gc *c) {
  if (c->by_training) return gc_training_loss(c);
  engine_batch b = {.count = 1, .fill = gc_fill, .take = gc_take_loss, .ctx = c};
  engine_bind(c->forward, c->value);
  gc_ok(engine_predict(c->forward, &b));
  return c->seen;
}
/* Loss by the training engine; fills c->g and the inputs' gradients. */
static inline double gc_gradient(gc *c) {
  engine_batch b = {.count = 1, .fill = gc_fill, .take = gc_take, .ctx = c};
  double mean;
  memset(c->g, 0, (size_t)c->p->size * sizeof *c->g);
  engine_bind(c->e, c->value);
  gc_ok(engine_gradient(c->e, &b, 1, NULL, &mean, c->g));
  assert_true(mean == gc_loss(c));
  return mean;
}

/* Fourth-order central difference of the loss along dir (n numbers) at x. */
static inline double gc_difference(gc *c, int64_t n, real *x, const real *dir) {
  const double h = c->step > 0 ? c->step : 3e-4, at[4] = {1, -1, 2, -2};
  double f[4];
  real *start = mem_alloc((size_t)n, sizeof *start);
  memcpy(start, x, (size_t)n * sizeof *x);
  for (int i = 0; i < 4; i++) {
    for (int64_t k = 0; k < n; k++) x[k] = start[k] + h * at[i] * dir[k];
    f[i] = gc_loss(c);
  }
  memcpy(x, start, (size_t)n * sizeof *x);
  mem_free(start);
  return (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * h);
}

/* One tensor: along every entry when `each` and it is small, else along one random direction of unit length. */
static inline void gc_probe(gc *c, const char *name, int64_t n, real *x, const real *g, int each, double tolerance,
                            double floor) {
  rng r = rng_open(3, RNG_TEST, (uint64_t)n);
  real *dir = mem_alloc((size_t)n, sizeof *dir);
  double norm = 0;
  for (int64_t i = 0; i < n; i++) norm += g[i] * g[i];
  norm = fmax(sqrt(norm), floor);
  for (int64_t p = 0; p < (each && n <= GC_EACH ? n : 1); p++) {
    double slope = 0, size = 0;
    for (int64_t i = 0; i < n; i++) dir[i] = each && n <= GC_EACH ? i == p : rng_normal(&r);
    for (int64_t i = 0; i < n; i++) size += dir[i] * dir[i];
    for (int64_t i = 0; i < n; i++) slope += g[i] * (dir[i] /= sqrt(size));
    double error = fabs(gc_difference(c, n, x, dir) - slope);
    if (!(error <= tolerance * norm)) fail_msg("gradient of %s: error %.3g against %.3g", name, error, norm);
  }
  mem_free(dir);
}

/* Every tensor's gradient to `tolerance` of its norm (or of a thousandth of the largest entry of all). Dead tensors
 * have none, and the loss does not see them. */
static inline void gc_check(gc *c, int each, double tolerance) {
  gc_ok(tape_mark_live(c->t, c->loss, c->p));
  gc_gradient(c);
  double whole = 0;
  for (int64_t i = 0; i < c->p->size; i++) whole = fmax(whole, fabs(c->g[i]));
  for (int i = 0; i < c->p->count; i++) {
    const param *q = &c->p->list[i];
    if (q->state) continue;
    for (int64_t k = 0; !q->live && k < q->count; k++) assert_true(c->g[q->offset + k] == 0);
    gc_probe(c, q->name, q->count, c->value + q->offset, c->g + q->offset, each, q->live ? tolerance : 1e-30,
             1e-3 * whole);
  }
  for (int i = 0; i < c->inputs; i++) {
    const tape_var *v = &c->t->var[c->input[i]];
    if (c->grad[i]) gc_probe(c, "input", v->rows * v->cols, c->data[i], c->grad[i], each, tolerance, 1e-3 * whole);
  }
}

/* f(x + hp) - f(x) - h g·p falls as h²: the slope between h and h/2 along a random direction over all parameters. */
static inline double gc_taylor(gc *c, double h) {
  rng r = rng_open(11, RNG_TEST, 2);
  double f0 = gc_gradient(c), slope = 0, rest[2];
  real *dir, *start;
  gc_ok(params_slab(c->p, &dir));
  gc_ok(params_slab(c->p, &start));
  memcpy(start, c->value, (size_t)c->p->size * sizeof *start);
  for (int i = 0; i < c->p->count; i++)
    for (int64_t k = 0; k < c->p->list[i].count && !c->p->list[i].state; k++)
      dir[c->p->list[i].offset + k] = rng_normal(&r);
  for (int64_t i = 0; i < c->p->size; i++) slope += dir[i] * c->g[i];
  for (int k = 0; k < 2; k++) {
    double step = k ? h / 2 : h;
    for (int64_t i = 0; i < c->p->size; i++) c->value[i] = start[i] + step * dir[i];
    rest[k] = fabs(gc_loss(c) - f0 - step * slope);
  }
  memcpy(c->value, start, (size_t)c->p->size * sizeof *start);
  mem_free(dir);
  mem_free(start);
  return log2(rest[0] / rest[1]);
}

/* The operation that ends in y, alone: gradients against differences, and errors of the second order. */
static inline void gc_finish(gc *c, var y) {
  gc_record_against_noise(c, y);
  gc_check(c, 1, 1e-8);
  assert_true(fabs(gc_taylor(c, 1e-3) - 2) < 0.05);
  gc_close(c);
}

static inline void gc_matrix(gc *c, const char *name, int64_t rows, int64_t cols) {
  params_add(c->p, name, 2, (const int64_t[]){rows, cols}, INIT_NORMAL, 0.7);
}

#endif
