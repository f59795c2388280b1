/* test_runner.c: the fused kernels against the composed tape on real data sets: losses, every gradient tensor, predictions; and the
 * same bits for any number of threads and any grouping of a batch. */
#include "run/runner.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "model/dkho/fast.h"
#include "nn/optim.h"
#include "run/config.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 5 };
/* Rounding, grown by layer norms. Coupled phases in the hodge metric make stiff steps that multiply it by millions: they are
 * compared in double only, and less strictly. */
typedef struct {
  double loss, gradient, field; /* fields are stored as float */
} bounds;
static const bounds SINGLE = {2e-5, 5e-4, 1e-4}, DOUBLE = {1e-12, 1e-11, 1e-6}, STIFF = {1e-9, 1e-6, 1e-6};

typedef struct source {
  const dataset *d;
  int target;
  int64_t extent;
  float *out;
} source;

static void inputs(void *ctx, int64_t i, const float **in, const double **global) {
  dataset_inputs(((source *)ctx)->d, i, in, global);
}
static const float *target(void *ctx, int64_t i) {
  const source *s = ctx;
  return dataset_value(s->d, s->target, i);
}
static float *place(void *ctx, int64_t i) {
  const source *s = ctx;
  return s->out + i * s->extent;
}

static dataset *open_smoke(const char *problem) {
  char path[256];
  dataset *d = NULL;
  snprintf(path, sizeof path, "runner_%s.st", problem);
  dkho_generate_options o = {.resolution = "smoke", .samples = 12, .seed = 7, .force = 1};
  assert_int_equal(dkho_dataset_generate(problem, path, &o), DKHO_OK);
  assert_int_equal(dataset_open(&d, path), DKHO_OK);
  remove(path); /* the map keeps it */
  return d;
}

typedef struct outcome {
  const char *engine;
  double loss;
  real *g;
  float *out;
} outcome;

/* Loss, gradient and prediction of the first BATCH samples. */
static outcome run(const neural_operator *o, source *s, const char *wanted, int threads, int64_t batch) {
  outcome r = {0};
  pool *p = NULL;
  runner *train = NULL, *predict = NULL;
  if (wanted)
    setenv("DKHO_ENGINE", wanted, 1);
  else
    unsetenv("DKHO_ENGINE");
  assert_int_equal(pool_create(&p, threads), DKHO_OK);
  assert_int_equal(runner_create(&train, o, ENGINE_TRAIN, p), DKHO_OK);
  assert_int_equal(runner_create(&predict, o, ENGINE_PREDICT, p), DKHO_OK);
  r.engine = runner_engine(train);
  runner_bind(train, o->value);
  runner_bind(predict, o->value);
  assert_int_equal(params_slab(o->p, &r.g), DKHO_OK);
  s->out = r.out = mem_alloc((size_t)(batch * s->extent), sizeof *r.out);
  runner_batch b = {.count = batch, .inputs = inputs, .target = target, .ctx = s};
  uint64_t before = mem_calls();
  assert_int_equal(runner_gradient(train, &b, 1.0 / (double)batch, &r.loss, r.g), DKHO_OK);
  assert_int_equal(mem_calls(), before); /* a step allocates nothing */
  runner_batch q = {.count = batch, .inputs = inputs, .out = place, .ctx = s};
  assert_int_equal(runner_predict(predict, &q), DKHO_OK);
  assert_int_equal(mem_calls(), before);
  runner_free(train);
  runner_free(predict);
  pool_free(p);
  unsetenv("DKHO_ENGINE");
  return r;
}

static void outcome_free(outcome *r) {
  mem_free(r->g);
  mem_free(r->out);
}

static void compare(const neural_operator *o, const source *s, const outcome *fast, const outcome *plain) {
  dkho_config f = dkho_config_of(&o->setup);
  int stiff =
      f.metric == DEC_HODGE && f.relation == DKHO_KURAMOTO && (f.variant == DKHO_FULL || f.variant == DKHO_NO_HARMONIC);
  const bounds *most = sizeof(real) == 4 ? &SINGLE : stiff ? &STIFF : &DOUBLE;
  double largest = 0;
  if (!(fabs(fast->loss - plain->loss) < most->loss * plain->loss))
    print_message("loss %.9g, not %.9g\n", fast->loss, plain->loss);
  assert_true(fabs(fast->loss - plain->loss) < most->loss * plain->loss);
  for (int64_t i = 0; i < o->p->size; i++) largest = fmax(largest, fabs((double)plain->g[i]));
  for (int i = 0; i < o->p->count; i++) {
    const param *t = &o->p->list[i];
    double size = 0;
    for (int64_t j = 0; j < t->count; j++) size = fmax(size, fabs((double)plain->g[t->offset + j]));
    double bound = most->gradient * fmax(size, 1e-3 * largest), worst = 0;
    for (int64_t j = 0; j < t->count; j++)
      worst = fmax(worst, fabs((double)fast->g[t->offset + j] - (double)plain->g[t->offset + j]));
    if (worst > bound) print_message("%s: off by %g of %g\n", t->name, worst, size);
    assert_true(worst <= bound);
  }
  double worst = 0, size = 0;
  for (int64_t i = 0; i < BATCH * s->extent; i++) {
    worst = fmax(worst, fabs((double)fast->out[i] - (double)plain->out[i]));
    size = fmax(size, fabs((double)plain->out[i]));
  }
  assert_true(worst < most->field * size);
}

/* Maps that start at zero would hide what they carry. */
static void shake_zeros(const neural_operator *o) {
  rng r = rng_open(8, RNG_TEST, 2);
  for (int i = 0; i < o->p->count; i++) {
    const param *t = &o->p->list[i];
    int zero = t->count > 64;
    for (int64_t j = 0; j < t->count; j++) zero &= o->value[t->offset + j] == 0;
    for (int64_t j = 0; zero && j < t->count; j++) o->value[t->offset + j] = (real)(0.1 * rng_normal(&r));
  }
}

static void check_model(const dataset *d, const dkho_train_options *options, const char *way) {
  run_config cfg;
  neural_operator *o = NULL;
  assert_int_equal(config_resolve(&cfg, d, "data.st", options), DKHO_OK);
  assert_int_equal(operator_create(&o, d, &cfg.request), DKHO_OK);
  const data_field *t = &dataset_field(d)[o->target];
  source s = {d, o->target, dataset_cx(d, 0)->n[t->degree] * t->channels, NULL};
  shake_zeros(o);
  outcome plain = run(o, &s, "tape", 2, BATCH), fast = run(o, &s, NULL, 2, BATCH), one = run(o, &s, NULL, 1, BATCH),
          many = run(o, &s, NULL, 5, BATCH), single = run(o, &s, NULL, 3, 1);
  assert_string_equal(plain.engine, "tape");
  assert_string_equal(fast.engine, way);
  compare(o, &s, &fast, &plain);
  assert_memory_equal(fast.g, one.g, (size_t)o->p->size * sizeof(real));
  assert_memory_equal(fast.g, many.g, (size_t)o->p->size * sizeof(real));
  assert_memory_equal(fast.out, many.out, (size_t)(BATCH * s.extent) * sizeof(float));
  assert_memory_equal(fast.out, single.out, (size_t)s.extent * sizeof(float)); /* alone or in company */
  outcome_free(&plain), outcome_free(&fast), outcome_free(&one), outcome_free(&many), outcome_free(&single);
  operator_free(o);
  config_free(&cfg);
}

static void check(const char *problem, const char *wanted, const char *metric, const char *size) {
  dataset *d = open_smoke(problem);
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.target = wanted, options.metric = metric, options.size = size;
  static const char *const narrow[] = {"h=9", NULL};
  if (sizeof(real) == 8) options.options = narrow; /* the plain loops are slow */
  check_model(d, &options, "fused");
  dataset_free(d);
}

static void test_darcy(void **state) {
  (void)state;
  check("darcy", "0", "unit", "small");
  check("darcy", "1", "unit", "large");
  check("darcy", "2", "unit", "small");
}
static void test_torus(void **state) {
  (void)state;
  check("torus", "0", "unit", "small");
  if (sizeof(real) == 8) check("torus", "1", "hodge", "small");
  check("torus", "2", "unit", "small");
}
static void test_cavity(void **state) {
  (void)state;
  check("cavity", "0", "unit", "small");
}

/* Whole steps: gradient, AdamW, new weights into the kernels. They allocate nothing, and neither threads nor announcing the
 * data changes a bit. */
static void step_twice(const neural_operator *o, source *s, const char *engine_name, int threads, int announced,
                       real *value) {
  pool *p = NULL;
  runner *r = NULL;
  optim *opt = NULL;
  real *g = NULL;
  optim_config oc = optim_defaults(OPTIM_ADAMW);
  setenv("DKHO_ENGINE", engine_name, 1);
  assert_int_equal(pool_create(&p, threads), DKHO_OK);
  assert_int_equal(runner_create(&r, o, ENGINE_TRAIN, p), DKHO_OK);
  assert_int_equal(params_slab(o->p, &g), DKHO_OK);
  memcpy(value, o->value, (size_t)o->p->size * sizeof *value);
  assert_int_equal(optim_create(&opt, o->p, &oc, value, NULL), DKHO_OK);
  assert_string_equal(runner_engine(r), engine_name);
  runner_bind(r, value);
  uint64_t before = mem_calls();
  for (int step = 0; step < 2; step++) {
    double loss;
    runner_batch b = {.count = BATCH, .inputs = inputs, .target = target, .ctx = s};
    memset(g, 0, (size_t)o->p->size * sizeof *g);
    for (int64_t i = 0; announced && i < dataset_samples(s->d); i++) dataset_prefetch(s->d, s->target, i);
    assert_int_equal(runner_gradient(r, &b, 1.0 / BATCH, &loss, g), DKHO_OK);
    assert_int_equal(optim_step(opt, 1e-3, value, g, NULL), DKHO_OK);
    runner_bind(r, value);
  }
  assert_int_equal(mem_calls(), before);
  unsetenv("DKHO_ENGINE");
  optim_free(opt);
  mem_free(g);
  runner_free(r);
  pool_free(p);
}

static void test_steps(void **state) {
  (void)state;
  dataset *d = open_smoke("darcy");
  dkho_train_options options;
  run_config cfg;
  neural_operator *o = NULL;
  real *one = NULL, *two = NULL;
  dkho_train_defaults(&options);
  options.target = "1", options.options = (const char *const[]){"h=8", "layers=2", NULL};
  assert_int_equal(config_resolve(&cfg, d, "data.st", &options), DKHO_OK);
  assert_int_equal(operator_create(&o, d, &cfg.request), DKHO_OK);
  assert_true(params_slab(o->p, &one) == DKHO_OK && params_slab(o->p, &two) == DKHO_OK);
  source s = {d, o->target, 0, NULL};
  for (int i = 0; i < 2; i++) {
    step_twice(o, &s, i ? "fused" : "tape", 1, 0, one);
    step_twice(o, &s, i ? "fused" : "tape", 2, 1, two);
    assert_memory_not_equal(one, o->value, (size_t)o->p->size * sizeof *one);
    assert_memory_equal(one, two, (size_t)o->p->size * sizeof *one);
  }
  mem_free(one), mem_free(two);
  operator_free(o);
  config_free(&cfg);
  dataset_free(d);
}

/* Every variant from every start in both metrics. */
static void test_variants(void **state) {
  (void)state;
  static const char *const variants[] = {"no_dirac", "no_phase", "full", "no_harmonic"}, *const starts[] = {
                                                                                             "start=zero",
                                                                                             "start=deterministic",
                                                                                             "start=random_learnable"};
  dataset *d = open_smoke("darcy");
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.target = "1";
  for (int v = 0; v < 4; v++)
    for (int i = 0; i < 6; i++) {
      options.variant = variants[v], options.metric = i % 2 ? "hodge" : "unit";
      options.options = (const char *const[]){"h=6", "layers=2", starts[i / 2], NULL};
      if (v >= 2 && i % 2 && sizeof(real) == 4) continue;
      if (v == 1 && i > 2) continue; /* no_phase: any other start is the same network */
      check_model(d, &options, "fused");
    }
  options.variant = "full", options.metric = "unit";
  options.options = (const char *const[]){"h=6", "layers=2", "lag_scale=0", NULL};
  check_model(d, &options, "tape");
  dataset_free(d);
}

/* Exchange and low modes, with phases and without a relation; on the tape only with variants that leave out a part of the relation. */
static void test_extensions(void **state) {
  (void)state;
  static const char *const kinds[] = {"exchange=off", "exchange=signed", "exchange=unsigned", "exchange=both"};
  static const struct {
    const char *problem, *target, *metric;
  } on[] = {{"darcy", "0", "unit"}, {"darcy", "1", "hodge"}, {"torus", "2", "unit"}, {"cavity", "0", "unit"}};
  for (int i = 0; i < 4; i++) {
    dataset *d = open_smoke(on[i].problem);
    dkho_train_options options;
    dkho_train_defaults(&options);
    options.model = "dkho-x", options.target = on[i].target, options.metric = on[i].metric;
    for (int how = i % 2; how < 8; how += 2) {
      int phases = how >= 4 && (i != 1 || sizeof(real) == 8); /* stiff in hodge: float loses too many digits */
      options.options = (const char *const[]){kinds[how % 4],
                                              phases ? "relation=kuramoto" : "relation=none",
                                              how == 3 || how == 6 ? "spectral=0" : "spectral=9",
                                              sizeof(real) == 8 ? "h=5" : "h=32",
                                              sizeof(real) == 8 ? "layers=2" : "layers=3",
                                              NULL};
      check_model(d, &options, "fused");
    }
    options.options = (const char *const[]){"relation=kuramoto", "variant=no_phase", "h=8", "layers=1", NULL};
    if (i == 0) check_model(d, &options, "tape");
    dataset_free(d);
  }
}

/* Gradient and prediction of the first samples by this model with these options. */
static outcome run_model(const dataset *d, const char *model, const char *const *options, int64_t *count) {
  dkho_train_options o;
  run_config cfg;
  neural_operator *net = NULL;
  dkho_train_defaults(&o);
  o.model = model, o.target = "1", o.options = options;
  assert_int_equal(config_resolve(&cfg, d, "data.st", &o), DKHO_OK);
  assert_int_equal(operator_create(&net, d, &cfg.request), DKHO_OK);
  const data_field *t = &dataset_field(d)[net->target];
  source s = {d, net->target, dataset_cx(d, 0)->n[t->degree] * t->channels, NULL};
  outcome r = run(net, &s, NULL, 2, BATCH);
  *count = net->p->size;
  operator_free(net);
  config_free(&cfg);
  return r;
}

/* With every extension off, dkho-x is dkho, bit for bit. */
static void test_extensions_off(void **state) {
  (void)state;
  dataset *d = open_smoke("darcy");
  int64_t n, m;
  outcome plain = run_model(d, "dkho", (const char *const[]){"h=32", "c=2", NULL}, &n);
  outcome off = run_model(
      d, "dkho-x",
      (const char *const[]){"exchange=off", "relation=kuramoto", "spectral=0", "branch=alone", "h=32", "c=2", NULL},
      &m);
  assert_int_equal(n, m);
  assert_true(plain.loss == off.loss);
  assert_memory_equal(plain.g, off.g, (size_t)n * sizeof(real));
  outcome_free(&plain), outcome_free(&off);
  dataset_free(d);
}

/* A poisoned weight: the step is refused, and the text names a tensor or the loss, and the sample by its number. */
static void test_nonfinite(void **state) {
  (void)state;
  dataset *d = open_smoke("darcy");
  dkho_train_options options;
  run_config cfg;
  neural_operator *o = NULL;
  runner *r = NULL;
  real *g = NULL;
  double loss;
  dkho_train_defaults(&options);
  options.target = "1", options.options = (const char *const[]){"h=4", "layers=1", NULL};
  assert_int_equal(config_resolve(&cfg, d, "data.st", &options), DKHO_OK);
  assert_int_equal(operator_create(&o, d, &cfg.request), DKHO_OK);
  assert_int_equal(runner_create(&r, o, ENGINE_TRAIN, NULL), DKHO_OK);
  assert_int_equal(params_slab(o->p, &g), DKHO_OK);
  o->value[o->p->list[params_find(o->p, "enc0.lin1.w")].offset] = (real)INFINITY;
  runner_bind(r, o->value);
  source s = {d, o->target, 0, NULL};
  int64_t number[BATCH] = {100, 101, 102, 103, 104};
  runner_batch b = {.count = BATCH, .sample = number, .inputs = inputs, .target = target, .ctx = &s};
  assert_int_equal(runner_gradient(r, &b, 0.2, &loss, g), DKHO_E_NONFINITE);
  assert_non_null(strstr(dkho_error(), "sample 100"));
  mem_free(g);
  runner_free(r);
  operator_free(o);
  config_free(&cfg);
  dataset_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_darcy),      cmocka_unit_test(test_torus),
                                     cmocka_unit_test(test_cavity),     cmocka_unit_test(test_steps),
                                     cmocka_unit_test(test_variants),   cmocka_unit_test(test_nonfinite),
                                     cmocka_unit_test(test_extensions), cmocka_unit_test(test_extensions_off)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
