/* test_known.c: values of a target that are given by label: every model predicts them to the last bit, by the tape and by the fast
 * path, trained or not, from a data set or from arrays of a program; no gradient comes from their rows. */
#include "data/dataset.h"
#include "data/npy.h"
#include "problem/closed.h"
#include "problem/sheet.h"
#include "problems.h"
#include "run/config.h"
#include "run/runner.h"
#include "run/samples.h"
#include "scratch.h"

#include <math.h>

enum { W = 6, N0 = W * W, N1 = 2 * W * (W - 1) + (W - 1) * (W - 1), S = 12, BATCH = 5 };

/* A unit square of W × W vertices, as .off. */
static void write_square(const char *path) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "OFF\n%d %d 0\n", N0, 2 * (W - 1) * (W - 1));
  for (int i = 0; i < N0; i++) fprintf(f, "%g %g 0\n", i % W / (W - 1.0), i / W / (W - 1.0) + 0.01 * sin(i));
  for (int i = 0; i < (W - 1) * (W - 1); i++) {
    int a = i / (W - 1) * W + i % (W - 1);
    fprintf(f, "3 %d %d %d\n3 %d %d %d\n", a, a + 1, a + W, a + 1, a + W + 1, a + W);
  }
  fclose(f);
}

#define KNOWN                                                                                                          \
  "\"known\":[{\"target\":\"u\",\"label\":\"left\",\"value\":0.1},"                                                    \
  "{\"target\":\"u\",\"label\":[\"right\"],\"global\":\"T\",\"component\":1},"                                         \
  "{\"target\":\"u\",\"label\":[\"bottom\",\"right\"],\"input\":\"f\"},"                                               \
  "{\"target\":\"q\",\"label\":\"left\",\"value\":[1.5,-0.3]},"                                                        \
  "{\"target\":\"q\",\"label\":\"right\",\"input\":\"w\"},{\"target\":\"q\",\"label\":\"bottom\",\"global\":\"T\"},"   \
  "{\"target\":\"e\",\"of\":\"periods\",\"input\":\"b\"}]"
#define REST                                                                                                           \
  "\"problem\":\"square\",\"mesh\":\"m.off\",\"modes\":4,\"labels\":["                                                 \
  "{\"name\":\"left\",\"box\":{\"min\":[-1,-9],\"max\":[0.01,9]}},"                                                    \
  "{\"name\":\"right\",\"box\":{\"min\":[0.99,-9],\"max\":[2,9]}},"                                                    \
  "{\"name\":\"bottom\",\"box\":{\"min\":[-9,-9],\"max\":[9,0.1]}}],"                                                  \
  "\"fields\":[{\"name\":\"f\",\"role\":\"input\",\"degree\":0,\"file\":\"f.npy\"},"                                   \
  "{\"name\":\"u\",\"role\":\"target\",\"degree\":0,\"file\":\"u.npy\"},"                                              \
  "{\"name\":\"T\",\"role\":\"global\",\"file\":\"T.npy\"},"                                                           \
  "{\"name\":\"w\",\"role\":\"input\",\"degree\":1,\"file\":\"w.npy\"},"                                               \
  "{\"name\":\"q\",\"role\":\"target\",\"degree\":1,\"file\":\"q.npy\"},"                                              \
  "{\"name\":\"b\",\"role\":\"input\",\"degree\":1,\"file\":\"b.npy\"},"                                               \
  "{\"name\":\"e\",\"role\":\"target\",\"degree\":1,\"file\":\"e.npy\"}],"                                             \
  "\"split\":{\"train\":0.5,\"val\":0.25,\"test\":0.25}"

static struct {
  char dir[64], spec[128], data[128];
  dataset *plain, *d; /* without the given values; with them */
  dataset *iron;      /* lamination: periods are given */
} at;

static void write_spec(const char *text) {
  FILE *f = fopen(at.spec, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static double T_of(int s, int c) {
  return sin(3 * s + c + 0.7);
}

/* Random arrays; u and q hold what KNOWN says. The labels are those of the complex of `plain`. */
static void write_arrays(void) {
  static double f[S][N0], u[S][N0], w[S][N1][2], q[S][N1][2], b[S][N1], e[S][N1], T[S][2];
  char path[128];
  const cx *c = at.plain ? dataset_cx(at.plain, 0) : NULL;
  for (int s = 0; s < S; s++) {
    for (int k = 0; k < 2; k++) T[s][k] = T_of(s, k);
    for (int i = 0; i < N0; i++) {
      f[s][i] = cos(s + 0.37 * i), u[s][i] = 0.4 + f[s][i] * f[s][i];
      int label = c ? c->label[0][i] : 0;
      u[s][i] = label == 1 ? 0.1 : label == 2 ? T[s][1] : label == 3 ? f[s][i] : u[s][i];
    }
    for (int i = 0; i < N1; i++) {
      b[s][i] = e[s][i] = 0.3 + sin(i * s);
      if (c) e[s][i] += u[s][c->vert[1][2 * i + 1]] - u[s][c->vert[1][2 * i]];
      for (int k = 0; k < 2; k++) {
        int label = c ? c->label[1][i] : 0;
        w[s][i][k] = sin(1.3 * i + k + s);
        q[s][i][k] = label == 1   ? (k ? -0.3 : 1.5)
                     : label == 2 ? w[s][i][k]
                     : label == 3 ? T[s][k]
                                  : 1 + w[s][i][k] * cos(i);
      }
    }
  }
#define SAVE(name, rank, array, ...)                                                                                   \
  assert_int_equal(npy_save(scratch_path(path, at.dir, name), 1, ST_F64, rank, (uint64_t[]){S, __VA_ARGS__}, array),   \
                   DKHO_OK)
  SAVE("f.npy", 2, f, N0);
  SAVE("u.npy", 2, u, N0);
  SAVE("w.npy", 3, w, N1, 2);
  SAVE("q.npy", 3, q, N1, 2);
  SAVE("b.npy", 2, b, N1);
  SAVE("e.npy", 2, e, N1);
  SAVE("T.npy", 2, T, 2);
}

static int make_data(void **state) {
  (void)state;
  char path[128];
  scratch_make(at.dir);
  scratch_path(at.spec, at.dir, "spec.json");
  scratch_path(at.data, at.dir, "d.st");
  write_square(scratch_path(path, at.dir, "m.off"));
  write_arrays();
  write_spec("{" REST "}");
  if (dkho_dataset_import(at.spec, at.data, 0) != DKHO_OK) fail_msg("%s", dkho_error());
  assert_int_equal(dataset_open(&at.plain, at.data), DKHO_OK);
  write_arrays(); /* now the labels are known */
  write_spec("{" REST "," KNOWN "}");
  if (dkho_dataset_import(at.spec, at.data, 1) != DKHO_OK) fail_msg("%s", dkho_error());
  assert_int_equal(dataset_open(&at.d, at.data), DKHO_OK);
  return 0;
}

static int drop_data(void **state) {
  (void)state;
  dataset_free(at.plain);
  dataset_free(at.d);
  scratch_remove(at.dir);
  return 0;
}

/* Counts the numbers on labelled simplices that are the reference, bit for bit, and fails on any that is not. */
static int64_t count_given(int target, int64_t sample, const float *p) {
  const data_field *t = &dataset_field(at.d)[target];
  const cx *c = dataset_cx(at.d, 0);
  const float *y = dataset_value(at.d, target, sample);
  int64_t found = 0;
  for (int64_t i = 0; i < c->n[t->degree]; i++)
    for (int k = 0; c->label[t->degree][i] && k < t->channels; k++, found++)
      assert_memory_equal(&p[i * t->channels + k], &y[i * t->channels + k], sizeof *p);
  return found;
}

/* The harmonic part of a prediction of H is the sample's, and its integral round each window is the current. */
static void check_periods(int64_t sample, const float *p) {
  const cx *c = dataset_cx(at.iron, 0);
  const float *y = dataset_value(at.iron, dataset_find(at.iron, "H"), sample);
  const double *current = dataset_global(at.iron, dataset_find(at.iron, "current"), sample);
  double angle[1024], off = 0, size = 0;
  int64_t count;
  const double *h = dataset_harmonic(at.iron, 0, 1, &count);
  assert_true(count == 3 && c->n[1] <= 1024);
  for (int j = 0; j < 3; j++) {
    double e = 0, r = 0, round = 0;
    closed_angles(c, sheet_hole[j], angle);
    for (int64_t i = 0; i < c->n[1]; i++) {
      e += h[3 * i + j] * ((double)p[i] - (double)y[i]), r += h[3 * i + j] * (double)y[i];
      if (c->label[1][i] == 2 + j) round += angle[i] > 0 ? (double)p[i] : -(double)p[i];
    }
    off += e * e, size += r * r;
    assert_between(round - current[j], -2e-6, 2e-6);
  }
  assert_true(sqrt(off) <= 1e-6 * sqrt(size));
}

/* The integral of a prediction of e round the square. */
static void check_loop(int64_t sample, const float *p) {
  const cx *c = dataset_cx(at.d, 0);
  const float *y = dataset_value(at.d, dataset_find(at.d, "e"), sample);
  double angle[N1], round = 0, given = 0;
  closed_angles(c, (const double[]){0.5, 0.5}, angle);
  for (int64_t i = 0; i < N1; i++)
    if (c->on_boundary[1][i])
      round += copysign((double)p[i], angle[i] * (double)p[i]),
          given += copysign((double)y[i], angle[i] * (double)y[i]);
  assert_between(round - given, -2e-6, 2e-6);
}

typedef struct outcome {
  double loss;
  real *g;
  const char *engine;
} outcome;

/* Gradient and prediction of the first samples; the given rows of the prediction are checked. */
static outcome run_model(const neural_operator *o, const char *wanted, int threads) {
  outcome r = {0};
  pool *p = NULL;
  runner *train = NULL, *predict = NULL;
  int64_t sample[BATCH] = {0, 3, 4, 7, 11}, extent = operator_extent(o, o->first);
  setenv("DKHO_ENGINE", wanted, 1);
  assert_int_equal(pool_create(&p, threads), DKHO_OK);
  assert_int_equal(runner_create(&train, o, ENGINE_TRAIN, p), DKHO_OK);
  assert_int_equal(runner_create(&predict, o, ENGINE_PREDICT, p), DKHO_OK);
  unsetenv("DKHO_ENGINE");
  r.engine = runner_engine(train);
  runner_bind(train, o->value);
  runner_bind(predict, o->value);
  assert_int_equal(params_slab(o->p, &r.g), DKHO_OK);
  float *out = mem_alloc((size_t)(BATCH * extent), sizeof *out);
  sample_list list = {at.iron ? at.iron : at.d, o->target, sample, out, extent};
  runner_batch b = samples_batch(&list, 0, BATCH);
  assert_int_equal(runner_gradient(train, &b, 1.0 / BATCH, &r.loss, r.g), DKHO_OK);
  b.target = NULL;
  assert_int_equal(runner_predict(predict, &b), DKHO_OK);
  int edges = operator_target(o)->degree == 1;
  for (int i = 0; i < BATCH; i++)
    if (at.iron)
      check_periods(sample[i], out + i * extent);
    else if (strcmp(operator_target(o)->name, "e") == 0)
      check_loop(sample[i], out + i * extent);
    else
      assert_int_equal(count_given(o->target, sample[i], out + i * extent), edges ? 2 * 3 * (W - 1) : 3 * W - 2);
  mem_free(out);
  runner_free(train);
  runner_free(predict);
  pool_free(p);
  return r;
}

/* Central differences of the loss along a fixed direction. */
static double slope(neural_operator *o, const real *direction, double step) {
  double loss[2];
  for (int side = 0; side < 2; side++) {
    for (int64_t i = 0; i < o->p->size; i++) o->value[i] += (real)((side ? -2 : 1) * step * (double)direction[i]);
    outcome r = run_model(o, "tape", 1);
    loss[side] = r.loss;
    mem_free(r.g);
  }
  for (int64_t i = 0; i < o->p->size; i++) o->value[i] += (real)(step * (double)direction[i]);
  return (loss[0] - loss[1]) / (2 * step);
}

static void check_gradient(neural_operator *o, const outcome *plain) {
  real *direction;
  double along = 0, size = 0;
  assert_int_equal(params_slab(o->p, &direction), DKHO_OK);
  for (int k = 0; k < o->p->count; k++) /* what is put into the place of a state's gradient is its change */
    for (int64_t i = 0; !o->p->list[k].state && i < o->p->list[k].count; i++)
      direction[o->p->list[k].offset + i] = (real)cos(0.7 * (double)i + k);
  for (int64_t i = 0; i < o->p->size; i++) {
    along += (double)direction[i] * (double)plain->g[i];
    size = fmax(size, fabs((double)plain->g[i]));
  }
  assert_true(size > 1e-4);                 /* the rest of the field does teach */
  double found = slope(o, direction, 1e-8); /* small: some models have kinks */
  if (!(fabs(found - along) < 1e-4 * fmax(fabs(along), 1)))
    fail_msg("%s: slope %.12g, gradient %.12g", o->setup.m->name, found, along);
  mem_free(direction);
}

static void check_model(const char *model, const char *target, const char *option) {
  const dataset *d = at.iron ? at.iron : at.d;
  dkho_train_options options;
  run_config cfg;
  neural_operator *o = NULL;
  dkho_train_defaults(&options);
  options.model = model, options.target = target, options.options = (const char *const[]){option, NULL};
  if (option && strcmp(option, "layers=1") == 0) options.metric = "hodge";
  assert_int_equal(config_resolve(&cfg, d, "data.st", &options), DKHO_OK);
  if (operator_create(&o, d, &cfg.request) != DKHO_OK) fail_msg("%s: %s", model, dkho_error());
  outcome plain = run_model(o, "tape", 2), fast = run_model(o, "fused", 2), one = run_model(o, "fused", 1);
  double bound = sizeof(real) == 4 ? 2e-3 : 1e-9, most = 0, worst = 0;
  for (int64_t i = 0; i < o->p->size; i++) {
    most = fmax(most, fabs((double)plain.g[i]));
    worst = fmax(worst, fabs((double)plain.g[i] - (double)fast.g[i]));
  }
  if (!(worst <= bound * most)) fail_msg("%s: fast path off by %g of %g", model, worst, most);
  assert_true(fabs(fast.loss - plain.loss) <= bound * plain.loss);
  assert_memory_equal(fast.g, one.g, (size_t)o->p->size * sizeof(real));
  if (strncmp(model, "dkho", 4) == 0) assert_string_equal(fast.engine, "fused");
  if (sizeof(real) == 8) check_gradient(o, &plain);
  mem_free(plain.g), mem_free(fast.g), mem_free(one.g);
  operator_free(o);
  config_free(&cfg);
}

static void test_every_model(void **state) {
  (void)state;
  for (int i = 0; model_at(i); i++) check_model(model_at(i)->name, "u", NULL);
  check_model("dkho", "q", NULL);
  check_model("tno", "q", NULL);
  check_model("dkho-x", "e", NULL);
  check_model("mgn", "e", NULL);
}

/* An operator whose target has known periods, with every allocation failing in turn. */
static void fail_memory(void) {
  dkho_train_options options;
  run_config cfg;
  dkho_train_defaults(&options);
  options.model = "mgn", options.target = "H";
  assert_ok(config_resolve(&cfg, at.iron, "data.st", &options));
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n += 1 + n / 50) {
    neural_operator *o = NULL;
    mem_fail_at(n);
    s = operator_create(&o, at.iron, &cfg.request);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    operator_free(o);
    assert_int_equal(mem_live_blocks(), live);
  }
  config_free(&cfg);
}

/* Periods are given by currents: exact for models without a harmonic branch and with each kind, fused and on the tape, in either metric. */
static void test_periods(void **state) {
  (void)state;
  char path[128];
  at.iron = smoke_file(&problem_lamination, scratch_path(path, at.dir, "iron.st"), S, 2);
  check_model("dkho", "H", "h=8");
  check_model("dkho", "H", "branch=added");
  check_model("dkho", "H", "layers=1"); /* and that in the hodge metric */
  check_model("dkho-x", "H", "h=8");
  check_model("mgn", "H", "h=8");
  check_model("tno", "H", "w=8");
  fail_memory();
  dataset_free(at.iron);
  at.iron = NULL;
  remove(path);
}

/* A run, its model file and a copy of it: the given values are those of this call's inputs. */
static void test_from_a_program(void **state) {
  (void)state;
  char run[128], copy[128];
  dkho_train_options options;
  dkho_model *m;
  static float f[2 * N0], w[2 * N1 * 2], b[2 * N1], u[2 * N0];
  double T[4] = {1, 1.0 / 3, 2, -1e-7};
  dkho_train_defaults(&options);
  options.target = "u", options.epochs = 1, options.options = (const char *const[]){"h=6", "layers=1", NULL};
  scratch_path(run, at.dir, "run");
  if (dkho_train(at.data, run, &options) != DKHO_OK) fail_msg("%s", dkho_error());
  for (int i = 0; i < 2 * N0; i++) f[i] = (float)sin(i);
  for (int i = 0; i < 4 * N1; i++) w[i] = (float)cos(i);
  assert_int_equal(dkho_model_load(&m, run), DKHO_OK);
  scratch_path(copy, at.dir, "copy.st");
  assert_int_equal(dkho_model_save(m, copy, 0), DKHO_OK);
  dkho_model_free(m);
  assert_int_equal(dkho_model_load(&m, copy), DKHO_OK);
  const void *in[4] = {f, w, b, T};
  if (dkho_model_predict(m, 2, 2, in, u) != DKHO_OK) fail_msg("%s", dkho_error());
  const int32_t *label = dataset_cx(at.d, 0)->label[0];
  int seen[4] = {0};
  for (int i = 0; i < 2 * N0; i++) {
    int l = label[i % N0];
    seen[l]++;
    if (l) assert_true(u[i] == (l == 1 ? (float)0.1 : l == 2 ? (float)T[i / N0 * 2 + 1] : f[i]));
  }
  assert_true(seen[1] == 2 * W && seen[2] == 2 * W && seen[3] == 2 * (W - 2));
  dkho_model_free(m);
  remove(copy);
  scratch_walk(run, 1);
  assert_int_equal(rmdir(run), 0);
}

/* What an untrained model says of target `name`, sample 3 of a problem's data. */
static const float *untrained(const dataset *d, const char *model, const char *name, int64_t n) {
  static float out[4096];
  dkho_train_options options;
  run_config cfg;
  neural_operator *o = NULL;
  pool *p = NULL;
  runner *r = NULL;
  int64_t sample = 3;
  assert_true(n <= 4096);
  dkho_train_defaults(&options);
  options.model = model, options.target = name;
  assert_ok(config_resolve(&cfg, d, "data.st", &options));
  assert_ok(operator_create(&o, d, &cfg.request));
  assert_ok(pool_create(&p, 1));
  assert_ok(runner_create(&r, o, ENGINE_PREDICT, p));
  runner_bind(r, o->value);
  sample_list list = {d, o->target, &sample, out, n};
  runner_batch b = samples_batch(&list, 0, 1);
  b.target = NULL;
  assert_ok(runner_predict(r, &b));
  runner_free(r), pool_free(p), operator_free(o), config_free(&cfg);
  return out;
}

static const char *const some_models[] = {"dkho", "dkho-x", "mgn", "hsd"};

/* The flow's circulation round each hole is what the walls' speeds say, nothing passes them, and pressures of wells are theirs: from the
 * inputs, before any training. */
static void test_walls(void **state) {
  (void)state;
  char path[128];
  dataset *flow = smoke_file(&problem_flow, scratch_path(path, at.dir, "flow.st"), 8, 2);
  const cx *c = dataset_cx(flow, 0);
  const double *rims = dataset_static(flow, dataset_find(flow, "rims"), 0),
               *speed = dataset_global(flow, dataset_find(flow, "speed"), 3);
  for (size_t m = 0; m < sizeof some_models / sizeof *some_models; m++) {
    const float *u = untrained(flow, some_models[m], "u", c->n[1]);
    double round[3] = {0}, given[3] = {0};
    for (int64_t e = 0; e < c->n[1]; e++) {
      int l = c->label[1][e], j = l - 2;
      if (l == 1) assert_true(u[e] == 0);
      if (j < 0) continue;
      double way = rims[3 * e + j] > 0 ? 1 : -1; /* counter-clockwise */
      round[j] += way * (double)u[e], given[j] += speed[j] * fabs(rims[3 * e + j]);
    }
    for (int j = 0; j < 3; j++) assert_between(round[j] - given[j], -1e-6, 1e-6);
    u = untrained(flow, some_models[m], "flux", c->n[1]);
    for (int64_t e = 0; e < c->n[1]; e++) assert_true((c->label[1][e] > 0) == (u[e] == 0));
  }
  dataset_free(flow);
  dataset *wells = smoke_file(&problem_wells, path, 8, 2);
  c = dataset_cx(wells, 0);
  speed = dataset_global(wells, dataset_find(wells, "pressure"), 3);
  for (size_t m = 0; m < sizeof some_models / sizeof *some_models; m++) {
    const float *p = untrained(wells, some_models[m], "p", c->n[0]);
    for (int64_t i = 0; i < c->n[0]; i++)
      if (c->label[0][i]) assert_true(p[i] == (c->label[0][i] == 1 ? 0 : (float)speed[c->label[0][i] - 2]));
  }
  dataset_free(wells);
  remove(path);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const char *known, *expect;
  } bad[] = {
      {"{\"target\":\"v\",\"label\":\"left\",\"value\":0}", "known[0].target: no target is called 'v'"},
      {"{\"target\":\"u\",\"label\":\"top\",\"value\":0}",
       "known[0].label: the mesh has no 'top' on simplices of degree 0"},
      {"{\"target\":\"u\",\"label\":\"left\"}", "known[0]: expected one of value, input, global"},
      {"{\"target\":\"u\",\"label\":\"left\",\"value\":0,\"input\":\"f\"}", "known[0]: expected one of value"},
      {"{\"target\":\"u\",\"label\":[],\"value\":0}", "known[0].label: expected the name of a label"},
      {"{\"target\":\"u\",\"label\":\"left\",\"value\":\"0\"}", "known[0].value: expected a finite number"},
      {"{\"target\":\"u\",\"label\":\"left\",\"value\":1e300}", "known[0].value: expected a finite number"},
      {"{\"target\":\"q\",\"label\":\"left\",\"value\":[1,2,3]}", "known[0].value: 3 numbers, the target 'q' has 2"},
      {"{\"target\":\"u\",\"label\":\"left\",\"input\":\"w\"}", "known[0].input: 'w' has degree 1"},
      {"{\"target\":\"u\",\"label\":\"left\",\"input\":\"T\"}", "known[0].input: no input is called 'T'"},
      {"{\"target\":\"u\",\"label\":\"left\",\"global\":\"T\"}", "\"component\" says which one"},
      {"{\"target\":\"u\",\"label\":\"left\",\"global\":\"T\",\"component\":2}", "known[0].component: found 2"},
      {"{\"target\":\"u\",\"label\":\"left\",\"value\":0,\"static\":\"label0\"}",
       "known[0].static: expected beside global"},
      {"{\"target\":\"u\",\"label\":\"left\",\"global\":\"T\",\"component\":0,\"static\":\"label0\"}",
       "known[0].static: expected beside global, without component"},
      {"{\"target\":\"u\",\"label\":\"left\",\"global\":\"T\",\"static\":\"f\"}",
       "known[0].static: no static is called 'f'"},
      {"{\"target\":\"u\",\"label\":\"left\",\"global\":\"T\",\"static\":\"label1\"}",
       "known[0].static: 'label1' has degree 1, the target 'u' has 0"},
      {"{\"target\":\"u\",\"label\":\"left\",\"global\":\"T\",\"static\":\"label0\"}",
       "known[0].static: 'label0' has 4 channels, 'T' 2, the target 1"},
      {"{\"target\":\"q\",\"label\":\"left\",\"global\":\"T\",\"static\":\"position1\"}",
       "known[0].static: 'position1' has 2 channels, 'T' 2, the target 2"},
      {"{\"target\":\"u\",\"of\":\"periods\",\"input\":\"f\"}", "known[0].of: target 'u' has degree 0 and 1 channels"},
      {"{\"target\":\"q\",\"of\":\"periods\",\"input\":\"w\"}", "known[0].of: target 'q' has degree 1 and 2 channels"},
      {"{\"target\":\"e\",\"of\":\"periods\",\"global\":\"T\"}", "known[0].global: periods need a static beside it"},
      {"{\"target\":\"e\",\"of\":\"periods\",\"value\":0}", "known[0].value: periods are those of an input"},
      {"{\"target\":\"e\",\"of\":\"all\",\"value\":0}", "known[0].of: found \"all\""},
      {"{\"target\":\"e\",\"of\":\"periods\",\"label\":\"left\",\"input\":\"b\"}",
       "known[0].label: periods are those of the whole mesh"},
      {"{\"target\":\"e\",\"of\":\"periods\",\"input\":\"b\"},{\"target\":\"e\",\"label\":\"left\",\"value\":0}",
       "known[0].of: values of 'e' are known by label, too"},
      {"{\"target\":\"e\",\"of\":\"periods\",\"global\":\"T\",\"static\":\"position1\"}",
       "known: the periods of target 'e' of sample 0 are not those"},
      {"{\"target\":\"u\",\"label\":\"left\",\"value\":0}",
       "known: label 'left': target 'u' of sample 0 is 0.1 on simplex 0, where it is said to be 0"},
  };
  char text[4096], out[128];
  scratch_path(out, at.dir, "none.st");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    snprintf(text, sizeof text, "{%s,\"known\":[%s]}", REST, bad[i].known);
    write_spec(text);
    size_t live = mem_live_blocks();
    assert_int_not_equal(dkho_dataset_import(at.spec, out, 0), DKHO_OK);
    if (!strstr(dkho_error(), bad[i].expect)) fail_msg("\"%s\": expected \"%s\"", dkho_error(), bad[i].expect);
    assert_int_equal(mem_live_blocks(), live);
  }
}

static void test_no_memory(void **state) {
  (void)state;
  char out[128];
  scratch_path(out, at.dir, "none.st");
  write_spec("{" REST "," KNOWN "}");
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n += 1 + n / 50) {
    mem_fail_at(n);
    s = dkho_dataset_import(at.spec, out, 1);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    assert_int_equal(mem_live_blocks(), live);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_model), cmocka_unit_test(test_from_a_program),
                                     cmocka_unit_test(test_walls),       cmocka_unit_test(test_periods),
                                     cmocka_unit_test(test_refusals),    cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, make_data, drop_data);
}
