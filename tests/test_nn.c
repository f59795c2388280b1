/* Learning in float: same bits for any number of threads and after a restart, AdamW against a hand-made reference,
 * parameter counts, and refusal of numbers that are not finite. */
#include "base/rng.h"
#include "mesh/generate.h"
#include "dkho_case.h"
#include "nn/engine.h"
#include "nn/optim.h"
#include "nn/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

/* A model on a torus of a few row blocks; sample i is noise from stream i. */
typedef struct {
  cx *c;
  dec *d;
  dec_basis basis;
  geometry *g;
  dkho_config f;
  params *p;
  tape *t;
  dkho_net net;
  pool *pool;
  engine *train, *predict;
  real *value, *grad;
  optim *o;
  int64_t spoiled; /* sample that holds a NaN, -1: none */
  real *out;       /* predictions of samples 0 … */
} setup;

static void setup_open(setup *s, dkho_variant variant, int threads) {
  memset(s, 0, sizeof *s);
  s->spoiled = -1;
  ok(pool_create(&s->pool, threads));
  ok(cx_torus_grid(&s->c, 1, 0.4, 20, 9, 0));
  ok(dec_create(&s->d, s->c, DEC_UNIT));
  ok(dec_harmonic(s->d, 1, &s->basis));
  ok(case_config("small", &s->f));
  s->f.h = 9;
  s->f.layers = 2;
  s->f.variant = variant;
  s->f.target = s->f.channels = 1;
  s->f.degrees = 3;
  for (int k = 0; k < 3; k++) s->f.features[k] = 5 + k;
  s->f.summary = 4;
  s->f.harmonic = 2;
  ok(geometry_create(&s->g, s->d, 2, 1, &s->basis));
  ok(params_create(&s->p));
  ok(dkho_declare(&s->f, s->p));
  ok(params_layout(s->p));
  ok(params_slab(s->p, &s->value));
  ok(params_slab(s->p, &s->grad));
  params_init(s->p, 42, s->value);
  ok(tape_create(&s->t, s->p));
  ok(case_record(&s->f, s->p, s->g, s->t, &s->net));
  ok(engine_create(&s->train, s->t, ENGINE_TRAIN, s->net.loss, s->pool));
  ok(engine_create(&s->predict, s->t, ENGINE_PREDICT, VAR_NONE, s->pool));
  optim_config oc = optim_defaults(OPTIM_ADAMW);
  oc.decay = 1e-2;
  oc.ema = 0.9;
  ok(optim_create(&s->o, s->p, &oc, s->value, NULL));
  s->out = mem_alloc((size_t)(4 * s->c->n[1]), sizeof *s->out);
}

static void setup_close(setup *s) {
  mem_free(s->out);
  optim_free(s->o);
  engine_free(s->train);
  engine_free(s->predict);
  tape_free(s->t);
  mem_free(s->value);
  mem_free(s->grad);
  params_free(s->p);
  geometry_free(s->g);
  dec_basis_free(&s->basis);
  dec_free(s->d);
  cx_free(s->c);
  pool_free(s->pool);
}

static void noise(const setup *s, const lane *l, var v, int64_t sample) {
  real *x = v == VAR_NONE ? NULL : lane_input(l, v);
  if (!x) return;
  rng r = rng_open(9, RNG_SAMPLE, (uint64_t)(100 * sample + v));
  for (int64_t i = 0; i < s->t->var[v].rows * s->t->var[v].cols; i++) x[i] = (real)rng_normal(&r);
  if (sample == s->spoiled) x[0] = (real)NAN;
}

static dkho_status fill(void *ctx, const lane *l, int64_t sample) {
  const setup *s = ctx;
  for (int k = 0; k < 3; k++) noise(s, l, s->net.feature[k], sample);
  noise(s, l, s->net.summary, sample);
  noise(s, l, s->net.target, sample);
  return DKHO_OK;
}

static dkho_status take(void *ctx, const lane *l, int64_t sample) {
  const setup *s = ctx;
  memcpy(s->out + sample * s->c->n[1], lane_value(l, s->net.predicted), (size_t)s->c->n[1] * sizeof(real));
  return DKHO_OK;
}

static double train_step(setup *s, int64_t count) {
  engine_batch b = {.count = count, .fill = fill, .ctx = s};
  double mean;
  memset(s->grad, 0, (size_t)s->p->size * sizeof(real));
  engine_bind(s->train, s->value);
  ok(engine_gradient(s->train, &b, 1.0 / (double)count, NULL, &mean, s->grad));
  ok(optim_step(s->o, 1e-3, s->value, s->grad, NULL));
  return mean;
}

static void predict(setup *s, int64_t count) {
  engine_batch b = {.count = count, .fill = fill, .take = take, .ctx = s};
  engine_bind(s->predict, s->value);
  ok(engine_predict(s->predict, &b));
}

static void same_bits(void **state) {
  (void)state;
  static const int threads[3] = {1, 2, 5};
  for (int variant = DKHO_FULL; variant <= DKHO_NO_PHASE; variant += 2) {
    setup s[3];
    for (int i = 0; i < 3; i++) {
      setup_open(&s[i], (dkho_variant)variant, threads[i]);
      train_step(&s[i], 7);
      train_step(&s[i], 1);
      train_step(&s[i], 17);
      predict(&s[i], 3);
      if (i == 0) continue;
      assert_memory_equal(s[0].value, s[i].value, (size_t)s[0].p->size * sizeof(real));
      assert_memory_equal(s[0].out, s[i].out, (size_t)(3 * s[0].c->n[1]) * sizeof(real));
    }
    predict(&s[2], 1); /* over blocks now */
    assert_memory_equal(s[0].out, s[2].out, (size_t)s[0].c->n[1] * sizeof(real));
    for (int i = 0; i < 3; i++) setup_close(&s[i]);
  }
}

/* What is kept has a buffer of its own, what is not may have room for a few rows only: the numbers are the same. */
static void keeping_changes_nothing(void **state) {
  (void)state;
  setup s[2];
  for (int i = 0; i < 2; i++) setup_open(&s[i], DKHO_FULL, 2);
  for (var v = 0; v < s[1].t->vars; v++)
    if (s[1].t->var[v].kind == VAR_VALUE) tape_keep(s[1].t, v);
  engine_free(s[1].train);
  engine_free(s[1].predict);
  ok(engine_create(&s[1].train, s[1].t, ENGINE_TRAIN, s[1].net.loss, s[1].pool));
  ok(engine_create(&s[1].predict, s[1].t, ENGINE_PREDICT, VAR_NONE, s[1].pool));
  assert_true(engine_lane_bytes(s[1].train) > engine_lane_bytes(s[0].train));
  for (int i = 0; i < 2; i++) {
    train_step(&s[i], 3);
    train_step(&s[i], 1);
    predict(&s[i], 2);
  }
  assert_memory_equal(s[0].value, s[1].value, (size_t)s[0].p->size * sizeof(real));
  assert_memory_equal(s[0].out, s[1].out, (size_t)(2 * s[0].c->n[1]) * sizeof(real));
  for (int i = 0; i < 2; i++) setup_close(&s[i]);
}

static void learns_without_allocating(void **state) {
  (void)state;
  setup s;
  setup_open(&s, DKHO_FULL, 2);
  double first = train_step(&s, 2), last = 0;
  uint64_t calls = mem_calls();
  for (int i = 0; i < 25; i++) last = train_step(&s, 2);
  predict(&s, 2);
  assert_true(mem_calls() == calls);
  assert_true(last < 0.9 * first);
  setup_close(&s);
}

/* The prediction engine needs no cotangents, and both need far less than one buffer per variable. */
static void buffers_are_shared(void **state) {
  (void)state;
  setup s;
  setup_open(&s, DKHO_FULL, 1);
  size_t all = 0;
  for (var v = 0; v < s.t->vars; v++)
    if (s.t->var[v].level == LEVEL_SAMPLE) all += (size_t)(s.t->var[v].rows * s.t->var[v].cols) * sizeof(real);
  assert_true(engine_lane_bytes(s.train) < all);
  assert_true(engine_lane_bytes(s.predict) < all / 3);
  setup_close(&s);
}

static void not_finite(void **state) {
  (void)state;
  setup s;
  setup_open(&s, DKHO_FULL, 2);
  engine_batch b = {.count = 6, .fill = fill, .ctx = &s};
  double mean;
  s.spoiled = 4;
  engine_bind(s.train, s.value);
  assert_int_equal(engine_gradient(s.train, &b, 1, NULL, &mean, s.grad), DKHO_E_NONFINITE);
  assert_non_null(strstr(fail_text(), "loss of sample 4"));
  real *before = mem_alloc((size_t)s.p->size, sizeof *before);
  memcpy(before, s.value, (size_t)s.p->size * sizeof *before);
  memset(s.grad, 0, (size_t)s.p->size * sizeof *before);
  int i = params_find(s.p, "layer1.gate0.w");
  s.grad[s.p->list[i].offset + 3] = (real)INFINITY;
  assert_int_equal(optim_step(s.o, 1e-3, s.value, s.grad, NULL), DKHO_E_NONFINITE);
  assert_non_null(strstr(fail_text(), "layer1.gate0.w"));
  assert_memory_equal(before, s.value, (size_t)s.p->size * sizeof *before);
  assert_int_equal(s.o->step, 0);
  mem_free(before);
  setup_close(&s);
}

static dkho_status fill_steep(void *ctx, const lane *l, int64_t sample) {
  const var *v = ctx;
  lane_input(l, v[0])[0] = sample == 3 ? (real)1e38 : 1;
  lane_input(l, v[1])[0] = (real)1e-3;
  return DKHO_OK;
}

/* The loss is finite, its gradient is not: p = a x with a = 1e-38, x = 1e38, y = 1e-3. */
static void gradient_not_finite(void **state) {
  (void)state;
  params *p;
  tape *t;
  engine *e;
  real *value, *g;
  double mean;
  ok(params_create(&p));
  params_add_vector(p, "steep", 1, INIT_CONST, 1e-38);
  ok(params_layout(p));
  ok(params_slab(p, &value));
  ok(params_slab(p, &g));
  params_init(p, 1, value);
  ok(tape_create(&t, p));
  var v[2] = {tape_input(t, 1, 1), tape_input(t, 1, 1)};
  ok(engine_create(&e, t, ENGINE_TRAIN, op_rel_l2(t, op_scale(t, tape_param(t, "steep"), v[0]), v[1], 1e-6), NULL));
  engine_batch b = {.count = 5, .fill = fill_steep, .ctx = v};
  engine_bind(e, value);
  assert_int_equal(engine_gradient(e, &b, 1, NULL, &mean, g), DKHO_E_NONFINITE);
  assert_non_null(strstr(fail_text(), "steep"));
  assert_non_null(strstr(fail_text(), "sample 3"));
  engine_free(e);
  tape_free(t);
  mem_free(value);
  mem_free(g);
  params_free(p);
}

/* Two tensors, one of them dead, five steps, against the formulas in double. */
static void adamw_reference(void **state) {
  (void)state;
  params *p;
  real *value, *g;
  optim *o;
  double x[5], m[5] = {0}, v[5] = {0}, average[5];
  ok(params_create(&p));
  params_add_vector(p, "a", 5, INIT_NORMAL, 1);
  params_add_vector(p, "dead", 3, INIT_NORMAL, 1);
  ok(params_layout(p));
  p->list[1].live = 0;
  ok(params_slab(p, &value));
  ok(params_slab(p, &g));
  params_init(p, 5, value);
  optim_config oc = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 0.1, .clip = 1, .ema = 0.75};
  ok(optim_create(&o, p, &oc, value, NULL));
  real dead[3];
  memcpy(dead, value + p->list[1].offset, sizeof dead);
  for (int i = 0; i < 5; i++) average[i] = x[i] = (double)value[i];
  rng r = rng_open(8, RNG_TEST, 0);
  for (int step = 1; step <= 5; step++) {
    double norm = 0, seen, lr = 1e-2 * step, scale = step == 2 ? 1e-3 : 1;
    for (int i = 0; i < 5; i++) {
      g[i] = (real)(scale * rng_normal(&r));
      norm += (double)g[i] * (double)g[i];
    }
    g[p->list[1].offset] = 100; /* must not count */
    norm = sqrt(norm);
    ok(optim_step(o, lr, value, g, &seen));
    assert_true(fabs(seen - norm) < 1e-12);
    for (int i = 0; i < 5; i++) {
      double gi = (double)g[i] * fmin(1, 1 / (norm + 1e-6));
      x[i] *= 1 - lr * 0.1;
      m[i] = 0.9 * m[i] + 0.1 * gi;
      v[i] = 0.999 * v[i] + 0.001 * gi * gi;
      x[i] -= lr * (m[i] / (1 - pow(0.9, step))) / (sqrt(v[i] / (1 - pow(0.999, step))) + 1e-8);
      average[i] = 0.75 * average[i] + 0.25 * x[i];
      assert_true(fabs(x[i] - (double)value[i]) < 2e-6);
      assert_true(fabs(average[i] - (double)o->average[i]) < 2e-6);
    }
  }
  assert_memory_equal(dead, value + p->list[1].offset, sizeof dead);
  optim_free(o);
  mem_free(value);
  mem_free(g);
  params_free(p);
}

static void schedules(void **state) {
  (void)state;
  assert_true(lr_cosine(1e-3, 0, 200) == 1e-3);
  assert_true(fabs(lr_cosine(1e-3, 100, 200) - 5e-4) < 1e-18);
  assert_true(fabs(lr_cosine(1e-3, 50, 200) - 0.5e-3 * (1 + sqrt(0.5))) < 1e-18);
  assert_true(lr_cosine(1e-3, 199, 200) > 0);
  assert_true(lr_warmup(0, 10) == 0.1 && lr_warmup(9, 10) == 1 && lr_warmup(10, 10) == 1 && lr_warmup(0, 0) == 1);
}

static int64_t count(dkho_config f, int64_t *live, const geometry *g) {
  params *p;
  tape *t;
  dkho_net net;
  ok(params_create(&p));
  ok(dkho_declare(&f, p));
  ok(params_layout(p));
  int64_t total = p->total;
  if (live) {
    ok(tape_create(&t, p));
    ok(case_record(&f, p, g, t, &net));
    *live = params_live(p);
    tape_free(t);
  }
  params_free(p);
  return total;
}

/* The fourteen published counts, the ablations', and what is trained in effect for Darcy. */
static void counts(void **state) {
  (void)state;
  static const struct {
    int d[3], summary, channels, target, harmonic;
    int64_t small, large, live_small, live_large;
  } row[] = {
      {{37, 39, 37}, 6, 1, 0, 0, 64121, 242657, 55159, 207709},
      {{37, 39, 37}, 6, 1, 1, 2, 64475, 243363, 55579, 208675},
      {{37, 39, 37}, 6, 1, 2, 0, 64121, 242657, 55159, 207709},
      {{27, 24, 28}, 12, 1, 0, 1, 63546, 241506, 0, 0},
      {{35, 32, 36}, 12, 1, 1, 2, 64347, 243107, 0, 0},
      {{35, 32, 36}, 12, 1, 2, 1, 64314, 243042, 0, 0},
      {{36, 39, 39}, 4, 3, 0, 1, 64542, 243494, 55580, 208546},
  };
  static const int64_t without_head[7] = {0, 64121, 0, 63033, 63801, 63801, 64219};
  cx *c;
  dec *d;
  ok(cx_torus_grid(&c, 1, 0.4, 5, 4, 0));
  ok(dec_create(&d, c, DEC_UNIT));
  for (int i = 0; i < 7; i++)
    for (int large = 0; large < 2; large++) {
      dkho_config f;
      dec_basis basis;
      geometry *g;
      int64_t live;
      ok(case_config(large ? "large" : "small", &f));
      f.degrees = 3;
      f.target = row[i].target;
      f.channels = row[i].channels;
      f.summary = row[i].summary;
      f.harmonic = row[i].harmonic;
      memcpy(f.features, row[i].d, sizeof row[i].d);
      ok(dec_harmonic(d, f.target, &basis));
      ok(geometry_create(&g, d, 2, f.target, &basis));
      assert_int_equal(count(f, &live, g), large ? row[i].large : row[i].small);
      if (row[i].live_small) assert_int_equal(live, large ? row[i].live_large : row[i].live_small);
      f.variant = DKHO_NO_DIRAC;
      assert_int_equal(count(f, NULL, g), large ? row[i].large : row[i].small);
      f.variant = DKHO_NO_PHASE;
      assert_int_equal(count(f, NULL, g), large ? row[i].large : row[i].small);
      f.variant = DKHO_NO_HARMONIC;
      if (!large && without_head[i]) assert_int_equal(count(f, NULL, g), without_head[i]);
      geometry_free(g);
      dec_basis_free(&basis);
    }
  dec_free(d);
  cx_free(c);
}

static dkho_status save(const setup *s, const char *path) {
  st_writer *w;
  TRY(st_create(&w, path, 1));
  dkho_status r = state_declare(w, s->p, "");
  if (r == DKHO_OK) r = state_declare_optim(w, s->o);
  if (r == DKHO_OK) r = state_write(w, s->p, s->value);
  if (r == DKHO_OK) r = state_write_optim(w, s->o);
  if (r == DKHO_OK) return st_commit(w);
  st_abort(w);
  return r;
}

static void resume(void **state) {
  (void)state;
  setup a, b;
  st_file *f;
  const char *path = "test_nn_state.st";
  setup_open(&a, DKHO_FULL, 2);
  setup_open(&b, DKHO_FULL, 1);
  for (int i = 0; i < 2; i++) train_step(&a, 3);
  ok(save(&a, path));
  ok(st_open(&f, path));
  ok(state_read(f, b.p, "", b.value));
  ok(state_read_optim(f, b.o));
  for (int i = 0; i < 2; i++) {
    train_step(&a, 5);
    train_step(&b, 5);
  }
  size_t bytes = (size_t)a.p->size * sizeof(real);
  assert_memory_equal(a.value, b.value, bytes);
  assert_memory_equal(a.o->m, b.o->m, bytes);
  assert_memory_equal(a.o->v, b.o->v, bytes);
  assert_memory_equal(a.o->average, b.o->average, bytes);
  assert_int_equal(b.o->step, 4);
  params *other;
  ok(params_create(&other));
  a.f.h = 17;
  ok(dkho_declare(&a.f, other));
  ok(params_layout(other));
  real *slab;
  ok(params_slab(other, &slab));
  assert_int_not_equal(state_read(f, other, "", slab), DKHO_OK);
  assert_non_null(strstr(fail_text(), "enc0.lin1.w"));
  mem_free(slab);
  params_free(other);
  st_close(f);
  unlink(path);
  setup_close(&a);
  setup_close(&b);
}

static void bad_tables(void **state) {
  (void)state;
  params *p;
  ok(params_create(&p));
  params_add_vector(p, "a", 2, INIT_CONST, 0);
  params_add_vector(p, "a", 3, INIT_CONST, 0);
  assert_int_equal(params_layout(p), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "declared twice"));
  params_free(p);
  dkho_config f;
  ok(case_config("small", &f));
  assert_int_equal(dkho_check(&f), DKHO_E_INPUT);
  assert_int_equal(case_index(dkho_variant_names, "no_phase"), DKHO_NO_PHASE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits),
      cmocka_unit_test(keeping_changes_nothing),
      cmocka_unit_test(learns_without_allocating),
      cmocka_unit_test(buffers_are_shared),
      cmocka_unit_test(not_finite),
      cmocka_unit_test(gradient_not_finite),
      cmocka_unit_test(adamw_reference),
      cmocka_unit_test(schedules),
      cmocka_unit_test(counts),
      cmocka_unit_test(resume),
      cmocka_unit_test(bad_tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
