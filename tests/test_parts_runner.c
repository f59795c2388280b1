/* Data sets on meshes in parts: losses, gradients and predictions of a batch have the bits of one process, for samples × parts of
 * every kind. Ranks are threads. */
#include "comm_threads.h"
#include "data/dataset.h"
#include "mesh/exchange.h"
#include "run/config.h"
#include "run/runner.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3 };

/* A batch, and what one process finds for it. */
typedef struct {
  const dataset *d;
  run_config cfg;
  int target, parts;
  partition_method method;
  int64_t extent;
  double loss;
  real *g;
  float *out;
} whole_batch;

typedef struct {
  const whole_batch *w;
  float *out;
} rank_batch;

static void inputs(void *ctx, int64_t i, const float **in, const double **global) {
  dataset_inputs(((rank_batch *)ctx)->w->d, i, in, global);
}
static const float *target(void *ctx, int64_t i) {
  const whole_batch *w = ((rank_batch *)ctx)->w;
  return dataset_value(w->d, w->target, i);
}
static float *place(void *ctx, int64_t i) {
  const rank_batch *b = ctx;
  return b->out + i * b->w->extent;
}

/* Loss, gradient and predictions; samples are shared by `groups`, the mesh by the ranks of `share`. */
static dkho_status run_batch(const whole_batch *w, const mesh_share *share, comm *groups, double *loss, real **g,
                             float **out) {
  neural_operator *o;
  runner *train, *predict;
  rank_batch mine = {.w = w};
  TRY(operator_create(&o, w->d, &w->cfg.request));
  o->share = share;
  TRY(runner_create(&train, o, ENGINE_TRAIN, NULL));
  TRY(runner_create(&predict, o, ENGINE_PREDICT, NULL));
  TRY(params_slab(o->p, g));
  *out = mine.out = mem_alloc((size_t)(BATCH * w->extent), sizeof **out);
  runner_bind(train, o->value);
  runner_bind(predict, o->value);
  runner_batch b = {.count = BATCH, .ranks = groups, .inputs = inputs, .target = target, .ctx = &mine};
  TRY(runner_gradient(train, &b, 1.0 / BATCH, loss, *g));
  runner_batch q = {.count = BATCH, .inputs = inputs, .out = place, .ctx = &mine};
  TRY(runner_predict(predict, &q));
  runner_free(train), runner_free(predict);
  operator_free(o);
  return DKHO_OK;
}

/* Ranks r·parts … r·parts + parts-1 share a mesh; those with the same place in their group share the samples. */
static dkho_status run_rank(comm *c, void *ctx) {
  const whole_batch *w = ctx;
  mesh_share share = {NULL, w->method, 1};
  comm *groups;
  double loss;
  real *g;
  float *out;
  TRY(comm_split(c, c->rank / w->parts, c->rank, &share.ranks));
  TRY(comm_split(c, c->rank % w->parts, c->rank, &groups));
  TRY(run_batch(w, &share, groups, &loss, &g, &out));
  RANK_HOLDS(c, loss == w->loss);
  RANK_HOLDS(c, memcmp(out, w->out, (size_t)(BATCH * w->extent) * sizeof *out) == 0);
  neural_operator *o;
  TRY(operator_create(&o, w->d, &w->cfg.request));
  RANK_HOLDS(c, memcmp(g, w->g, (size_t)o->p->size * sizeof *g) == 0);
  operator_free(o);
  mem_free(g), mem_free(out);
  comm_free(share.ranks), comm_free(groups);
  return DKHO_OK;
}

static dataset *open_data(const char *problem, const char *resolution) {
  char path[256];
  dataset *d = NULL;
  snprintf(path, sizeof path, "parts_%s.st", problem);
  dkho_generate_options o = {.resolution = resolution, .samples = 12, .seed = 7, .force = 1};
  assert_int_equal(dkho_dataset_generate(problem, path, &o), DKHO_OK);
  assert_int_equal(dataset_open(&d, path), DKHO_OK);
  remove(path); /* the map keeps it */
  return d;
}

static void check_data(const char *problem, const char *resolution, const char *model, const char *const *small) {
  static const int ways[][2] = {{1, 2}, {1, 7}, {2, 2}, {2, 4}}; /* groups, parts */
  dataset *d = open_data(problem, resolution);
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.model = model, options.options = small;
  whole_batch w = {.d = d};
  assert_int_equal(config_resolve(&w.cfg, d, "data.st", &options), DKHO_OK);
  w.target = w.cfg.request.target;
  const data_field *t = &dataset_field(d)[w.target];
  w.extent = dataset_cx(d, 0)->n[t->degree] * t->channels;
  assert_int_equal(run_batch(&w, NULL, NULL, &w.loss, &w.g, &w.out), DKHO_OK);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    for (w.method = PARTITION_METIS; w.method <= PARTITION_RANDOM; w.method++) {
      w.parts = ways[i][1];
      if (ranks_run(ways[i][0] * w.parts, run_rank, &w) != DKHO_OK)
        fail_msg("%s on %s, %d x %d, method %d: %s", model, problem, ways[i][0], w.parts, (int)w.method, fail_text());
    }
  mem_free(w.g), mem_free(w.out);
  config_free(&w.cfg);
  dataset_free(d);
}

static void test_benchmarks(void **state) {
  (void)state;
  static const char *const small[] = {"h=16", "c=2", "layers=2", NULL};
  check_data("darcy", "main", "dkho", small);
  check_data("torus", "main", "dkho", small);
  check_data("cavity", "smoke", "dkho", small);
}

/* Content over links and low modes, without the relation and with it. */
static void test_extended(void **state) {
  (void)state;
  static const char *const small[] = {"h=12", "layers=2", "spectral=6", NULL}, *const phases[] = {
                                                                                   "h=12",       "layers=2",
                                                                                   "spectral=6", "relation=kuramoto",
                                                                                   "c=2",        NULL};
  check_data("darcy", "main", "dkho-x", small);
  check_data("torus", "main", "dkho-x", phases);
  check_data("cavity", "smoke", "dkho-x", phases);
}

/* Models that cannot say so before anything is sent. */
static void test_refusals(void **state) {
  (void)state;
  dataset *d = open_data("darcy", "smoke");
  static const char *const reaching[] = {"lag_scale=0", NULL};
  for (int i = 0; i < 2; i++) {
    dkho_train_options options;
    dkho_train_defaults(&options);
    options.model = i ? "dkho" : "mgn", options.options = i ? reaching : NULL;
    run_config cfg;
    neural_operator *o;
    runner *r;
    mesh_share share = {comm_serial(), PARTITION_METIS, 1};
    assert_int_equal(config_resolve(&cfg, d, "data.st", &options), DKHO_OK);
    assert_int_equal(operator_create(&o, d, &cfg.request), DKHO_OK);
    o->share = &share;
    assert_int_equal(runner_create(&r, o, ENGINE_TRAIN, NULL), DKHO_E_INPUT);
    assert_non_null(strstr(fail_text(), "does not run on a mesh in parts"));
    operator_free(o);
    config_free(&cfg);
  }
  dataset_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_benchmarks),
      cmocka_unit_test(test_extended),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
