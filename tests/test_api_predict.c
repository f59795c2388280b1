/* test_api_predict.c: trained operators through dkho.h: predictions by array, by file, from threads and forked processes; model files that
 * are forged. */
#include "darcy_world.h"

#include "base/st.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>

/* The inputs of sample i, straight from the data set. */
static void inputs_of(const dkho_model *m, const dkho_dataset *d, int64_t sample, const void **in) {
  for (int i = 0; i < dkho_model_inputs(m); i++) {
    dkho_field_info f;
    FINE(dkho_model_input(m, i, &f));
    in[i] = dkho_dataset_value(d, dkho_dataset_find(d, f.name), sample);
  }
}

/* All samples of the data set in one call, by copies side by side. */
static float *predict_batch(dkho_model *m, const dkho_dataset *d, int threads, int64_t *count) {
  enum { INPUTS = 8 };
  int64_t samples = dkho_dataset_samples(d);
  dkho_field_info f;
  char *side[INPUTS] = {0};
  const void *in[INPUTS], *list[INPUTS];
  assert_true(dkho_model_inputs(m) <= INPUTS);
  for (int64_t s = 0; s < samples; s++) {
    inputs_of(m, d, s, in);
    for (int i = 0; i < dkho_model_inputs(m); i++) {
      FINE(dkho_model_input(m, i, &f));
      size_t bytes = (size_t)(f.rows * f.channels) * (strcmp(f.role, "global") ? sizeof(float) : sizeof(double));
      if (!side[i]) side[i] = malloc(bytes * (size_t)samples);
      memcpy(side[i] + bytes * (size_t)s, in[i], bytes);
      list[i] = side[i];
    }
  }
  FINE(dkho_model_output(m, &f));
  *count = f.rows * f.channels;
  float *out = malloc((size_t)(samples * *count) * sizeof *out);
  FINE(dkho_model_predict(m, threads, samples, list, out));
  for (int i = 0; i < INPUTS; i++) free(side[i]);
  return out;
}

static void test_predict(void **state) {
  (void)state;
  dkho_model *m, *copy;
  dkho_dataset *d;
  FINE(dkho_model_load(&m, w.run));
  FINE(dkho_dataset_open(&d, w.data));
  int64_t n, m_, samples = dkho_dataset_samples(d);
  float *batch = predict_batch(m, d, 1, &n), *one = malloc((size_t)n * sizeof *one);
  for (int64_t s = 0; s < samples; s++) {
    const void *in[8];
    inputs_of(m, d, s, in);
    FINE(dkho_model_predict(m, 1 + (int)(s % 3), 1, in, one));
    assert_memory_equal(one, batch + s * n, (size_t)n * sizeof *one);
  }
  float *wide = predict_batch(m, d, 4, &n);
  assert_memory_equal(wide, batch, (size_t)(samples * n) * sizeof *wide);
  /* saved and loaded, predictions keep their bits */
  FINE(dkho_model_save(m, w.file, 0));
  REFUSED(DKHO_E_EXISTS, dkho_model_save(m, w.file, 0), "file");
  FINE(dkho_model_save(m, w.file, 1));
  FINE(dkho_model_load(&copy, w.file));
  float *same = predict_batch(copy, d, 2, &m_);
  assert_true(m_ == n && memcmp(same, batch, (size_t)(samples * n) * sizeof *same) == 0);
  assert_int_equal(dkho_model_parameters(copy), dkho_model_parameters(m));
  dkho_model_free(copy);
  api_remove(w.out);
  /* what is wrong */
  const void *in[8];
  inputs_of(m, d, 0, in);
  FINE(dkho_model_predict(m, 1, 0, in, one));
  REFUSED(DKHO_E_INPUT, dkho_model_predict(m, 1, -1, in, one), "batch -1");
  REFUSED(DKHO_E_INPUT, dkho_model_predict(m, 1, 1, NULL, one), "inputs");
  REFUSED(DKHO_E_INPUT, dkho_model_predict(m, 1, 1, in, NULL), "prediction");
  REFUSED(DKHO_E_INPUT, dkho_model_predict(m, 1 << 20, 1, in, one), "threads");
  in[1] = NULL;
  REFUSED(DKHO_E_INPUT, dkho_model_predict(m, 1, 1, in, one), "is missing");
  dkho_field_info f;
  REFUSED(DKHO_E_INPUT, dkho_model_input(m, -1, &f), "input -1");
  REFUSED(DKHO_E_INPUT, dkho_model_input(m, dkho_model_inputs(m), &f), "expected 0");
  REFUSED(DKHO_E_FORMAT, dkho_model_load(&copy, w.data), "is a dataset, not a model");
  assert_null(copy);
  REFUSED(DKHO_E_IO, dkho_model_load(&copy, w.file), "file");
  REFUSED(DKHO_E_IO, dkho_model_load(&copy, w.out), "best.st");
  free(same), free(wide), free(one), free(batch);
  dkho_dataset_free(d);
  dkho_model_free(m);
  dkho_model_free(NULL);
}

/* An input that is not a number is named, not predicted from. */
static void test_predict_nonfinite(void **state) {
  (void)state;
  dkho_model *m;
  dkho_dataset *d;
  dkho_field_info f;
  const void *in[8];
  FINE(dkho_model_load(&m, w.run));
  FINE(dkho_dataset_open(&d, w.data));
  inputs_of(m, d, 0, in);
  FINE(dkho_model_input(m, 0, &f));
  float *bad = malloc((size_t)(f.rows * f.channels) * sizeof *bad);
  memcpy(bad, in[0], (size_t)(f.rows * f.channels) * sizeof *bad);
  bad[3] = NAN;
  in[0] = bad;
  FINE(dkho_model_output(m, &f));
  float *out = malloc((size_t)(f.rows * f.channels) * sizeof *out);
  REFUSED(DKHO_E_NONFINITE, dkho_model_predict(m, 1, 1, in, out), "not finite");
  free(out), free(bad);
  dkho_dataset_free(d);
  dkho_model_free(m);
}

static void test_model_complex(void **state) {
  (void)state;
  dkho_model *m;
  dkho_complex *c, *reference;
  FINE(dkho_model_load(&m, w.run));
  FINE(dkho_model_complex(m, &c));
  FINE(dkho_complex_generate(&reference, "darcy", "smoke"));
  dkho_model_free(m); /* the copy lives on */
  assert_memory_equal(dkho_complex_points(c), dkho_complex_points(reference),
                      (size_t)(2 * dkho_complex_count(c, 0)) * sizeof(double));
  dkho_complex_free(c);
  dkho_complex_free(reference);
}

typedef struct seat {
  dkho_model *m;
  const dkho_dataset *d;
  const float *expected;
  int64_t n;
  int number, wrong;
} seat;

static void *predict_often(void *ctx) {
  seat *s = ctx;
  int64_t samples = dkho_dataset_samples(s->d);
  float *out = malloc((size_t)s->n * sizeof *out);
  for (int round = 0; round < 40; round++) {
    int64_t sample = (round * 5 + s->number * 3) % samples;
    const void *in[8];
    dkho_field_info f;
    for (int i = 0; i < dkho_model_inputs(s->m); i++) {
      s->wrong |= dkho_model_input(s->m, i, &f) != DKHO_OK;
      in[i] = dkho_dataset_value(s->d, dkho_dataset_find(s->d, f.name), sample);
    }
    s->wrong |= dkho_model_predict(s->m, 1 + (round + s->number) % 2, 1, in, out) != DKHO_OK;
    s->wrong |= memcmp(out, s->expected + sample * s->n, (size_t)s->n * sizeof *out) != 0;
  }
  free(out);
  return NULL;
}

static void test_predict_from_threads(void **state) {
  (void)state;
  enum { SEATS = 4 };
  dkho_model *m;
  dkho_dataset *d;
  FINE(dkho_model_load(&m, w.run));
  FINE(dkho_dataset_open(&d, w.data));
  int64_t n;
  float *expected = predict_batch(m, d, 1, &n);
  pthread_t thread[SEATS];
  seat s[SEATS];
  for (int i = 0; i < SEATS; i++) {
    s[i] = (seat){m, d, expected, n, i, 0};
    assert_int_equal(pthread_create(&thread[i], NULL, predict_often, &s[i]), 0);
  }
  for (int i = 0; i < SEATS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < SEATS; i++) assert_int_equal(s[i].wrong, 0);
  free(expected);
  dkho_dataset_free(d);
  dkho_model_free(m);
}

/* As Python's multiprocessing does it: load, predict, fork, predict. */
static void test_predict_forked(void **state) {
  (void)state;
  dkho_model *m;
  dkho_dataset *d;
  int64_t n;
  FINE(dkho_model_load(&m, w.run));
  FINE(dkho_dataset_open(&d, w.data));
  float *expected = predict_batch(m, d, 2, &n); /* the threads are there */
  pid_t child[2];
  for (int i = 0; i < 2; i++) {
    child[i] = fork();
    if (child[i]) continue;
    alarm(60);
    int64_t same;
    float *found = predict_batch(m, d, 2, &same);
    int wrong = same != n || memcmp(found, expected, (size_t)(n * dkho_dataset_samples(d)) * sizeof *found) != 0;
    free(found);
    dkho_model_free(m);
    _exit(wrong);
  }
  for (int i = 0; i < 2; i++) {
    int status = -1;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_int_equal(status, 0);
  }
  free(expected);
  dkho_dataset_free(d);
  dkho_model_free(m);
}

static void test_predict_file(void **state) {
  (void)state;
  dkho_model *m;
  dkho_dataset *d;
  char path[128], other[128], *json;
  FINE(dkho_model_load(&m, w.run));
  FINE(dkho_dataset_open(&d, w.data));
  int64_t n, samples = dkho_dataset_samples(d);
  scratch_path(path, w.out, "p.st");
  FINE(dkho_predict_file(m, w.data, NULL, path, 0, 1, 0));
  REFUSED(DKHO_E_EXISTS, dkho_predict_file(m, w.data, NULL, path, 0, 1, 0), "p.st");
  FINE(dkho_predict_file(m, w.data, NULL, scratch_path(other, w.out, "q.st"), 0, 3, 0));
  assert_true(api_same_file(path, other));
  /* the file ends with the predictions: the same bits as predict gives */
  size_t size, bytes;
  char *whole = api_bytes(path, &size);
  float *expected = predict_batch(m, d, 1, &n);
  bytes = (size_t)(samples * n) * sizeof *expected;
  assert_memory_equal(whole + size - bytes, expected, bytes);
  free(expected), free(whole);
  FINE(dkho_describe(path, &json));
  assert_non_null(strstr(json, "\"kind\": \"prediction\""));
  dkho_text_free(json);
  scratch_walk(w.out, 1);
  FINE(dkho_predict_file(m, w.data, "test", scratch_path(path, w.out, "p.vtu"), 0, 1, 2));
  assert_int_equal(scratch_count(w.out), 2);
  REFUSED(DKHO_E_EXISTS, dkho_predict_file(m, w.data, "test", path, 0, 1, 2), ".vtu");
  FINE(dkho_predict_file(m, w.data, "test", path, 1, 1, 2));
  scratch_walk(w.out, 1);
  REFUSED(DKHO_E_INPUT, dkho_predict_file(m, w.data, "holdout", path, 0, 1, 0), "holdout");
  dkho_generate_options g = {.resolution = "smoke", .samples = 9, .seed = 1, .threads = 1};
  FINE(dkho_dataset_generate("torus", scratch_path(other, w.out, "torus.st"), &g));
  REFUSED(DKHO_E_INPUT, dkho_predict_file(m, other, "test", path, 0, 1, 0), "is not the one the model was trained on");
  REFUSED(DKHO_E_IO, dkho_predict_file(m, w.out, "test", path, 0, 1, 0), "out");
  assert_int_equal(scratch_count(w.out), 1);
  scratch_walk(w.out, 1);
  dkho_dataset_free(d);
  dkho_model_free(m);
}

/* The run's model with member `key` of the JSON object in `meta`, or of the options in it, set to `value` (JSON). */
static void forge(const char *out, const char *meta, const char *key, const char *value) {
  static const char *const metas[] = {"dkho.kind", "dkho.version", "dkho.model", "dkho.training", "dkho.dataset"};
  char path[256];
  st_file *f;
  st_writer *o;
  snprintf(path, sizeof path, "%s/best.st", w.run);
  FINE(st_open(&f, path));
  FINE(st_create(&o, out, 1));
  for (int i = 0; i < 5; i++) {
    const char *text = st_meta(f, metas[i]);
    if (strcmp(metas[i], meta) != 0) {
      FINE(st_put_meta(o, metas[i], text));
      continue;
    }
    json_t *j = json_loads(text, 0, NULL);
    json_t *options = json_object_get(j, "options");
    json_object_set_new(json_object_get(options, key) ? options : j, key, json_loads(value, JSON_DECODE_ANY, NULL));
    char *changed = json_dumps(j, 0);
    FINE(st_put_meta(o, metas[i], changed));
    free(changed);
    json_decref(j);
  }
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    FINE(st_declare(o, t->name, t->dtype, t->rank, t->shape));
  }
  for (int i = 0; i < st_count(f); i++)
    FINE(st_write(o, st_at(f, i)->data, (size_t)st_at(f, i)->count * st_dtype_size(st_at(f, i)->dtype)));
  FINE(st_commit(o));
  st_close(f);
}

static void test_forged_models(void **state) {
  (void)state;
  static const struct {
    const char *meta, *key, *value, *words;
  } bad[] = {{"dkho.dataset", "complexes", "[]", "complexes: the list is empty"},
             {"dkho.model", "modes", "0", "modes"},
             {"dkho.model", "h", "4096", "w/"}, /* refused by its tensors, before there is room for such a model */
             {"dkho.model", "layers", "16", "w/"},
             {"dkho.model", "harmonic", "-1", "harmonic"}};
  dkho_model *m;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    forge(w.file, bad[i].meta, bad[i].key, bad[i].value);
    REFUSED(DKHO_E_FORMAT, dkho_model_load(&m, w.file), bad[i].words);
    assert_null(m);
  }
  forge(w.file, "dkho.model", "substeps", "2"); /* what fits is taken */
  FINE(dkho_model_load(&m, w.file));
  dkho_model_free(m);
  api_remove(w.out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_predict),        cmocka_unit_test(test_predict_nonfinite),
                                     cmocka_unit_test(test_model_complex),  cmocka_unit_test(test_predict_from_threads),
                                     cmocka_unit_test(test_predict_forked), cmocka_unit_test(test_predict_file),
                                     cmocka_unit_test(test_forged_models)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
