/* batch_case.h: a small network with two batch norms, for the float and the double test. Sample i is noise from stream i. */
#ifndef TESTS_BATCH_CASE_H
#define TESTS_BATCH_CASE_H

#include "base/rng.h"
#include "nn/engine.h"
#include "nn/op.h"
#include "nn/optim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BC_ROWS = 530, BC_IN = 3, BC_WIDTH = 11 };

typedef struct {
  pool *threads;
  params *p;
  tape *t;
  var x, target, hidden, y, loss;
  engine *train, *predict;
  real *value, *g;
  optim *opt;
  real *out;     /* predictions, BC_ROWS per sample */
  real *g_input; /* of sample `moved`, BC_ROWS × BC_IN */
  int64_t moved; /* its input is displaced by h·dir */
  double h;
  const double *dir;
} batch_case;

static inline void bc_ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

static inline void bc_open(batch_case *c, int threads) {
  *c = (batch_case){.moved = -1};
  bc_ok(pool_create(&c->threads, threads));
  bc_ok(params_create(&c->p));
  params_add_affine(c->p, "in", BC_IN, BC_WIDTH, 1);
  params_add_batch_norm(c->p, "one", BC_WIDTH);
  params_add_affine(c->p, "mid", BC_WIDTH, 2, 1);
  params_add_batch_norm(c->p, "two", 2);
  params_add_affine(c->p, "out", 2, 1, 1);
  bc_ok(params_layout(c->p));
  bc_ok(params_slab(c->p, &c->value));
  bc_ok(params_slab(c->p, &c->g));
  params_init(c->p, 3, c->value);
  bc_ok(tape_create(&c->t, c->p));
  tape *t = c->t;
  c->x = tape_input(t, BC_ROWS, BC_IN);
  tape_want_grad(t, c->x);
  c->target = tape_input(t, BC_ROWS, 1);
  c->hidden = op_affine(t, 1, &c->x, tape_param(t, "in.w"), tape_param(t, "in.b"));
  var z = op_fn(t, FN_GELU, op_batch_norm(t, "one", c->hidden));
  z = op_affine(t, 1, &z, tape_param(t, "mid.w"), tape_param(t, "mid.b"));
  z = op_fn(t, FN_TANH, op_batch_norm(t, "two", z));
  c->y = op_affine(t, 1, &z, tape_param(t, "out.w"), tape_param(t, "out.b"));
  c->loss = op_rel_l2(t, c->y, c->target, 1e-10);
  tape_keep(t, c->y);
  tape_keep(t, c->hidden);
  bc_ok(tape_mark_live(t, c->loss, c->p));
  bc_ok(engine_create(&c->train, t, ENGINE_TRAIN, c->loss, c->threads));
  bc_ok(engine_create(&c->predict, t, ENGINE_PREDICT, VAR_NONE, c->threads));
  optim_config oc = optim_defaults(OPTIM_ADAMW);
  oc.ema = 0.9;
  bc_ok(optim_create(&c->opt, c->p, &oc, c->value, NULL));
  c->out = mem_alloc(20 * BC_ROWS, sizeof *c->out);
  c->g_input = mem_alloc(BC_ROWS * BC_IN, sizeof *c->g_input);
}

static inline void bc_close(batch_case *c) {
  optim_free(c->opt);
  engine_free(c->train);
  engine_free(c->predict);
  tape_free(c->t);
  params_free(c->p);
  mem_free(c->value);
  mem_free(c->g);
  mem_free(c->out);
  mem_free(c->g_input);
  pool_free(c->threads);
}

static inline void bc_noise(int64_t sample, int64_t n, real *x, int stream) {
  rng r = rng_open(5, RNG_TEST, (uint64_t)(2 * sample + stream));
  for (int64_t i = 0; i < n; i++) x[i] = (real)((double)sample + rng_normal(&r)); /* samples differ in their means */
}

static inline dkho_status bc_fill(void *ctx, const lane *l, int64_t i) {
  const batch_case *c = ctx;
  real *x = lane_input(l, c->x), *y = lane_input(l, c->target);
  if (x) bc_noise(i, BC_ROWS * BC_IN, x, 0);
  if (y) bc_noise(i, BC_ROWS, y, 1);
  for (int64_t k = 0; x && i == c->moved && c->dir && k < BC_ROWS * BC_IN; k++) x[k] += (real)(c->h * c->dir[k]);
  return DKHO_OK;
}

static inline dkho_status bc_take_gradient(void *ctx, const lane *l, int64_t i) {
  const batch_case *c = ctx;
  if (i == c->moved) memcpy(c->g_input, lane_grad(l, c->x), BC_ROWS * BC_IN * sizeof(real));
  return DKHO_OK;
}

static inline dkho_status bc_take(void *ctx, const lane *l, int64_t i) {
  const batch_case *c = ctx;
  memcpy(c->out + i * BC_ROWS, lane_value(l, c->y), BC_ROWS * sizeof(real));
  return DKHO_OK;
}

/* The mean loss of samples 0 … count-1; c->g is their gradient. */
static inline double bc_gradient(batch_case *c, int64_t count) {
  engine_batch b = {.count = count, .fill = bc_fill, .take = bc_take_gradient, .ctx = c};
  double mean;
  memset(c->g, 0, (size_t)c->p->size * sizeof *c->g);
  engine_bind(c->train, c->value);
  bc_ok(engine_gradient(c->train, &b, 1.0 / (double)count, NULL, &mean, c->g));
  return mean;
}

static inline double bc_step(batch_case *c, int64_t count) {
  double loss = bc_gradient(c, count);
  bc_ok(optim_step(c->opt, 1e-2, c->value, c->g, NULL));
  return loss;
}

static inline void bc_predict(batch_case *c, int64_t count) {
  engine_batch b = {.count = count, .fill = bc_fill, .take = bc_take, .ctx = c};
  engine_bind(c->predict, c->value);
  bc_ok(engine_predict(c->predict, &b));
}

static inline real *bc_tensor(const batch_case *c, real *slab, const char *name) {
  int i = params_find(c->p, name);
  assert_true(i >= 0);
  return slab + c->p->list[i].offset;
}

#endif
