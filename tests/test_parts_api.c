/* test_parts_api.c: the calls of the public header on meshes in parts: evaluation, consistency of two models and predictions into files
 * by ranks (threads of this process) are those of one process; a failure of the one that writes ends all of them; wrong numbers of parts
 * are refused. */
#include "comm_threads.h"
#include "api.h"

#include "data/dataset.h"
#include "data/npy.h"

enum { RANKS = 3, INPUTS = 8 };

static world w;
static char upper[160], input[INPUTS + 1][256];
static const char *inputs[INPUTS + 1];

/* A call, and what every rank got of it. */
typedef struct shared_call {
  const char *out;
  char *json[RANKS];
  double pair[RANKS];
  dkho_status found[RANKS];
} shared_call;

static dkho_status evaluate_call(comm *c, void *ctx) {
  shared_call *q = ctx;
  comm_set_world(c);
  dkho_status s = dkho_evaluate(w.run, NULL, "train", 1, &q->json[c->rank]);
  if (s == DKHO_OK) s = dkho_compatibility(w.run, upper, NULL, "train", 1, &q->pair[c->rank]);
  comm_set_world(NULL);
  return s;
}

/* Into a file named by q->out: from the data set, or from arrays. */
static dkho_status predict_call(comm *c, void *ctx) {
  shared_call *q = ctx;
  dkho_model *m = NULL;
  comm_set_world(c);
  TRY(dkho_model_load(&m, w.run));
  int64_t samples = 0;
  q->found[c->rank] = strstr(q->out, ".npy") ? dkho_predict_arrays(m, inputs, q->out, 0, 1, &samples)
                                             : dkho_predict_file(m, w.data, NULL, q->out, 0, 1, 0);
  dkho_model_free(m);
  comm_set_world(NULL);
  return DKHO_OK;
}

static void run_parts(int ranks, const char *parts, dkho_status (*fn)(comm *c, void *ctx), shared_call *q) {
  setenv("DKHO_PARTS", parts, 1);
  dkho_status s = ranks_run(ranks, fn, q);
  unsetenv("DKHO_PARTS");
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

static void test_evaluate(void **state) {
  (void)state;
  shared_call one = {0}, three = {0};
  run_parts(1, "1", evaluate_call, &one);
  run_parts(RANKS, "3", evaluate_call, &three);
  size_t n = (size_t)(strstr(one.json[0], "\"predict_seconds\"") - one.json[0]);
  for (int r = 0; r < RANKS; r++) {
    if (strncmp(one.json[0], three.json[r], n) != 0) fail_msg("%s\n%s", one.json[0], three.json[r]);
    assert_true(one.pair[0] == three.pair[r]);
    dkho_text_free(three.json[r]);
  }
  dkho_text_free(one.json[0]);
}

static void test_predict(void **state) {
  (void)state;
  static const char *const ending[] = {"npy", "st"};
  for (int i = 0; i < 2; i++) {
    char alone[192], together[192];
    snprintf(alone, sizeof alone, "%.128s/one.%s", w.out, ending[i]);
    snprintf(together, sizeof together, "%.128s/three.%s", w.out, ending[i]);
    shared_call one = {.out = alone}, three = {.out = together};
    run_parts(1, "1", predict_call, &one);
    run_parts(RANKS, "3", predict_call, &three);
    for (int r = 0; r < RANKS; r++) assert_int_equal(three.found[r], DKHO_OK);
    assert_true(api_same_file(alone, together));
    run_parts(RANKS, "3", predict_call, &three); /* the file is there already, which the first rank alone could know */
    for (int r = 0; r < RANKS; r++) assert_int_equal(three.found[r], DKHO_E_EXISTS);
    run_parts(2, "3", predict_call, &three);
    for (int r = 0; r < 2; r++) assert_int_equal(three.found[r], DKHO_E_INPUT);
  }
  assert_int_equal(scratch_count(w.out), 4);
}

/* Every input of the samples as an array of its own. */
static void save_inputs(void) {
  dataset *d;
  FINE(dataset_open(&d, w.data));
  int64_t samples = dataset_samples(d);
  int globals = 0, ins = 0, files = 0;
  for (int i = 0; i < dataset_fields(d); i++) {
    const data_field *f = &dataset_field(d)[i];
    int global = f->role == DATA_GLOBAL;
    if (!global && f->role != DATA_INPUT) continue;
    uint64_t rows = global ? 1 : (uint64_t)dataset_count(d, 0, f->degree), each = rows * (uint64_t)f->channels;
    uint64_t shape[3] = {(uint64_t)samples, rows, (uint64_t)f->channels}, flat[2] = {(uint64_t)samples, each};
    size_t size = global ? sizeof(double) : sizeof(float);
    char *values = mem_alloc((size_t)samples * each, size), path[200];
    for (int64_t s = 0; s < samples; s++) {
      const float *in[DATA_FIELDS_MAX];
      const double *global_of[DATA_FIELDS_MAX];
      dataset_inputs(d, s, in, global_of);
      memcpy(values + (size_t)s * each * size, global ? (const void *)global_of[globals] : (const void *)in[ins],
             each * size);
    }
    *(global ? &globals : &ins) += 1;
    snprintf(path, sizeof path, "%.100s/%.60s.npy", w.dir, f->name);
    snprintf(input[files], sizeof input[files], "%.50s=%s", f->name, path);
    FINE(npy_save(path, 1, global ? ST_F64 : ST_F32, global ? 2 : 3, global ? flat : shape, values));
    inputs[files] = input[files];
    files++;
    mem_free(values);
  }
  dataset_free(d);
}

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  dkho_train_options o = api_options();
  static const char *const content[] = {"h=4", "layers=2", "spectral=3", NULL};
  snprintf(upper, sizeof upper, "%.100s/upper", w.dir);
  o.target = "w", o.model = "dkho-x", o.options = content;
  FINE(dkho_train(w.data, upper, &o));
  save_inputs();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_evaluate), cmocka_unit_test(test_predict)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
