/* test_model.c: a model of thirty lines (tiny_model.h), registered here, goes through everything that models go through: the list, options and sizes,
 * training, resuming, model files, prediction, diagnostics, all by the public API. */
#include "api.h"
#include "data/npy.h"
#include "tiny_model.h"
#include "run/config.h"
#include "run/runner.h"

#include <jansson.h>
#include <math.h>

static char dir[64], data[128], run[128], again[128];

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

static int open_world(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(data, dir, "data.st"), scratch_path(run, dir, "run"), scratch_path(again, dir, "again");
  dkho_generate_options g = {.resolution = "smoke", .samples = 24, .seed = 3, .threads = 1};
  return model_register(&tiny) == DKHO_OK && dkho_dataset_generate("heat", data, &g) == DKHO_OK ? 0 : -1;
}

static int close_world(void **state) {
  (void)state;
  api_remove(dir);
  return rmdir(dir);
}

static dkho_train_options tiny_training(const char *const *options) {
  dkho_train_options o;
  dkho_train_defaults(&o);
  o.model = "tiny", o.options = options, o.target = "q", o.epochs = 3, o.batch = 4, o.threads = 1;
  return o;
}

static void test_list(void **state) {
  (void)state;
  char *text;
  FINE(dkho_model_list(&text));
  json_t *list = json_loads(text, 0, NULL);
  dkho_text_free(text);
  json_t *last = json_array_get(list, json_array_size(list) - 1), *option = json_object_get(last, "options");
  assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "name")), "dkho");
  assert_string_equal(json_string_value(json_object_get(last, "name")), "tiny");
  assert_int_equal(json_array_size(option), 3);
  assert_string_equal(json_string_value(json_object_get(json_array_get(option, 0), "key")), "width");
  assert_int_equal(json_integer_value(json_object_get(json_array_get(option, 0), "default")), 8);
  assert_string_equal(json_string_value(json_object_get(json_array_get(option, 1), "default")), "off");
  json_decref(list);
  assert_int_equal(model_register(&tiny), DKHO_E_INPUT); /* a name is taken once */
}

static int stop_soon(void *count) {
  return ++*(int *)count >= 2;
}

/* Trained in one go, or stopped and resumed, on other threads: the same file, running moments of its norm included. Its options travel
 * with it. */
static void test_training(void **state) {
  (void)state;
  static const char *const wide[] = {"width=12", "skip=on", "norm=on", NULL};
  dkho_train_options o = tiny_training(wide);
  char one[160], two[160];
  int calls = 0;
  FINE(dkho_train(data, run, &o));
  o.stop = stop_soon, o.stop_user = &calls, o.threads = 2;
  REFUSED(DKHO_E_STOPPED, dkho_train(data, again, &o), "stopped");
  o.stop = NULL;
  FINE(dkho_train_resume(again, NULL, &o));
  assert_true(api_same_file(scratch_path(one, run, "best.st"), scratch_path(two, again, "best.st")));
  dkho_model *m;
  int64_t count;
  FINE(dkho_model_load(&m, run));
  FINE(dkho_parameter_count("heat", &o, &count));
  assert_int_equal(dkho_model_parameters(m), count);
  char *text;
  FINE(dkho_describe(run, &text));
  assert_non_null(strstr(text, "\"tiny\""));
  dkho_text_free(text);
  dkho_model_free(m);
}

/* What the model file predicts is what evaluation scores, and a copy predicts the same. */
static void test_prediction(void **state) {
  (void)state;
  dkho_model *m, *copy;
  dkho_dataset *d;
  dkho_field_info out;
  char file[160];
  FINE(dkho_model_load(&m, run));
  FINE(dkho_model_save(m, scratch_path(file, dir, "copy.st"), 0));
  FINE(dkho_model_load(&copy, file));
  FINE(dkho_dataset_open(&d, data));
  FINE(dkho_model_output(m, &out));
  const void *input[8];
  for (int i = 0; i < dkho_model_inputs(m); i++) {
    dkho_field_info info;
    FINE(dkho_model_input(m, i, &info));
    input[i] = dkho_dataset_value(d, dkho_dataset_find(d, info.name), 0);
  }
  int64_t n = out.rows * out.channels;
  float *a = calloc((size_t)n, sizeof *a), *b = calloc((size_t)n, sizeof *b);
  FINE(dkho_model_predict(m, 1, 1, input, a));
  FINE(dkho_model_predict(copy, 2, 1, input, b));
  assert_memory_equal(a, b, (size_t)n * sizeof *a);
  double size = 0;
  for (int64_t i = 0; i < n; i++) size = fmax(size, fabs((double)a[i]));
  assert_true(size > 0);
  free(a), free(b);
  dkho_dataset_free(d);
  dkho_model_free(m), dkho_model_free(copy);
  char *text;
  FINE(dkho_evaluate(run, NULL, "test", 1, &text));
  assert_non_null(strstr(text, "rel_l2"));
  dkho_text_free(text);
}

/* An array with `extra` axes before rows × channels; all samples are sample 0. */
static void save_input(const char *path, const float *x, int64_t rows, int64_t samples, int axes) {
  uint64_t shape[3] = {(uint64_t)samples, (uint64_t)rows, 1};
  float *all = calloc((size_t)(rows * samples), sizeof *all);
  for (int64_t i = 0; i < rows * samples; i++) all[i] = x[i % rows];
  ok(npy_save(path, 1, ST_F32, axes, shape + (axes < 3 && samples == 1 ? 1 : 0), all));
  free(all);
}

/* The global beside it: channels numbers a sample. */
static void save_global(const char *path, const double *g, int64_t channels, int64_t samples, int axes) {
  uint64_t shape[2] = {(uint64_t)samples, (uint64_t)channels};
  double *all = calloc((size_t)(channels * samples), sizeof *all);
  for (int64_t i = 0; i < channels * samples; i++) all[i] = g[i % channels];
  ok(npy_save(path, 1, ST_F64, axes, shape + (axes == 1), all));
  free(all);
}

/* New inputs from files: one sample with one or two axes, many samples; what is wrong names file, field, found and expected. */
static void test_arrays(void **state) {
  (void)state;
  dkho_model *m;
  dkho_dataset *d;
  dkho_field_info in, side, out;
  char file[160], text[200], beside[160], also[200], one[160], two[160], many[160];
  int64_t samples;
  FINE(dkho_model_load(&m, run));
  FINE(dkho_dataset_open(&d, data));
  FINE(dkho_model_input(m, 0, &in)), FINE(dkho_model_output(m, &out));
  FINE(dkho_model_input(m, 1, &side));
  assert_true(dkho_model_inputs(m) == 2 && in.channels == 1 && strcmp(side.role, "global") == 0);
  const double *g = dkho_dataset_value(d, dkho_dataset_find(d, side.name), 0);
  const float *x = dkho_dataset_value(d, dkho_dataset_find(d, in.name), 0);
  scratch_path(file, dir, "in.npy"), snprintf(text, sizeof text, "%s=%s", in.name, file);
  scratch_path(beside, dir, "side.npy"), snprintf(also, sizeof also, "%s=%s", side.name, beside);
  save_global(beside, g, side.channels, 1, 1);
  const char *const inputs[] = {text, also, NULL};
  scratch_path(one, dir, "one.npy"), scratch_path(two, dir, "two.npy"), scratch_path(many, dir, "many.npy");
  save_input(file, x, in.rows, 1, 1);
  FINE(dkho_predict_arrays(m, inputs, one, 0, 1, &samples));
  assert_int_equal(samples, 1);
  save_input(file, x, in.rows, 1, 2);
  FINE(dkho_predict_arrays(m, inputs, two, 0, 2, NULL));
  assert_true(api_same_file(one, two));
  save_input(file, x, in.rows, 40, 3);
  REFUSED(DKHO_E_INPUT, dkho_predict_arrays(m, inputs, many, 0, 2, NULL), "has 1 samples");
  save_global(beside, g, side.channels, 40, 2);
  FINE(dkho_predict_arrays(m, inputs, many, 0, 2, &samples));
  assert_int_equal(samples, 40);
  npy a, b;
  ok(npy_open(&a, one)), ok(npy_open(&b, many));
  assert_true(a.rank == 2 && b.rank == 3 && b.count == 40 * a.count);
  for (uint64_t i = 0; i < b.count; i++) assert_true(npy_double(&b, i) == npy_double(&a, i % a.count));
  npy_close(&a), npy_close(&b);
  static const char *const endings[] = {"out.csv", "out.st", "out.vtu"};
  save_input(file, x, in.rows, 1, 1), save_global(beside, g, side.channels, 1, 1);
  for (int i = 0; i < 3; i++) FINE(dkho_predict_arrays(m, inputs, scratch_path(two, dir, endings[i]), 0, 1, NULL));
  REFUSED(DKHO_E_EXISTS, dkho_predict_arrays(m, inputs, one, 0, 1, NULL), "one.npy");
  REFUSED(DKHO_E_INPUT, dkho_predict_arrays(m, inputs, scratch_path(two, dir, "out.xyz"), 0, 1, NULL), "ends in .npy");
  REFUSED(DKHO_E_INPUT, dkho_predict_arrays(m, NULL, one, 1, 1, NULL), "is missing");
  REFUSED(DKHO_E_INPUT, dkho_predict_arrays(m, (const char *const[]){"z=z.npy", NULL}, one, 1, 1, NULL),
          "no input 'z'");
  REFUSED(DKHO_E_INPUT, dkho_predict_arrays(m, (const char *const[]){text, text, NULL}, one, 1, 1, NULL), "already");
  save_input(file, x, in.rows - 1, 1, 1);
  REFUSED(DKHO_E_INPUT, dkho_predict_arrays(m, inputs, one, 1, 1, NULL), "found shape [");
  float *bad = calloc((size_t)in.rows, sizeof *bad);
  bad[5] = NAN;
  save_input(file, bad, in.rows, 1, 1);
  free(bad);
  REFUSED(DKHO_E_NONFINITE, dkho_predict_arrays(m, inputs, scratch_path(two, dir, "none.npy"), 1, 1, NULL),
          "element 5");
  assert_false(file_exists(two));
  dkho_dataset_free(d);
  dkho_model_free(m);
}

/* The multiply-adds of the tape are those of the model's products. */
static void test_work(void **state) {
  (void)state;
  dataset *d;
  run_config cfg;
  neural_operator *o;
  runner *r;
  dkho_train_options options = tiny_training(NULL);
  ok(dataset_open(&d, data)), ok(config_resolve(&cfg, d, data, &options));
  ok(operator_create(&o, d, &cfg.request)), ok(runner_create(&r, o, ENGINE_PREDICT, NULL));
  int in = o->setup.features[1], out = o->setup.channels;
  double work;
  assert_int_equal(runner_work(r, &work), DKHO_OK);
  assert_true(work == (double)(o->first->c->n[1] * 8 * (in + out)));
  runner_free(r), operator_free(o), config_free(&cfg), dataset_free(d);
}

/* Sizes set options; what is wrong is said in the model's own words. */
static void test_choices(void **state) {
  (void)state;
  dkho_train_options o = tiny_training(NULL);
  int64_t small, large, wide;
  FINE(dkho_parameter_count("heat", &o, &small));
  o.size = "large";
  FINE(dkho_parameter_count("heat", &o, &large));
  o.options = (const char *const[]){"width=8", NULL}; /* an option wins over a size */
  FINE(dkho_parameter_count("heat", &o, &wide));
  assert_true(large > small && wide == small);
  o.size = "huge";
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("heat", &o, &wide), "small, large");
  o.size = NULL, o.options = (const char *const[]){"h=8", NULL};
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("heat", &o, &wide), "it has width, skip, norm");
  o.options = NULL, o.variant = "no_phase";
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("heat", &o, &wide), "no option 'variant'");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_list),       cmocka_unit_test(test_training),
                                     cmocka_unit_test(test_prediction), cmocka_unit_test(test_arrays),
                                     cmocka_unit_test(test_work),       cmocka_unit_test(test_choices)};
  return cmocka_run_group_tests(tests, open_world, close_world);
}
