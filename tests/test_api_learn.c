/* test_api_learn.c: data sets, training and evaluation through dkho.h; what is trained is put to use in test_api_predict.c. */
#include "darcy_world.h"

#include <math.h>

static void test_generate(void **state) {
  (void)state;
  static const char *const problems[] = {"darcy", "torus", "cavity", "heat", "reaction"};
  dkho_generate_options g = {.resolution = "smoke", .samples = 9, .seed = 1, .threads = 1};
  char path[128], again[128];
  for (int i = 0; i < 5; i++) {
    dkho_dataset *d;
    FINE(dkho_dataset_generate(problems[i], scratch_path(path, w.out, "a.st"), &g));
    g.threads = 3;
    FINE(dkho_dataset_generate(problems[i], scratch_path(again, w.out, "b.st"), &g));
    g.threads = 1;
    assert_true(api_same_file(path, again));
    FINE(dkho_dataset_open(&d, path));
    assert_int_equal(dkho_dataset_samples(d), 9);
    dkho_dataset_free(d);
    scratch_walk(w.out, 1);
  }
  REFUSED(DKHO_E_INPUT, dkho_dataset_generate("burgers", path, &g), "unknown problem 'burgers'");
  REFUSED(DKHO_E_EXISTS, dkho_dataset_generate("darcy", w.data, &g), "data.st");
  g.samples = 2;
  REFUSED(DKHO_E_INPUT, dkho_dataset_generate("darcy", path, &g), "2 samples");
  g.samples = -1;
  REFUSED(DKHO_E_INPUT, dkho_dataset_generate("darcy", path, &g), "-1 samples");
  g.samples = 0, g.resolution = "fine";
  REFUSED(DKHO_E_INPUT, dkho_dataset_generate("darcy", path, &g), "fine");
  g.resolution = "smoke", g.threads = 1 << 20;
  REFUSED(DKHO_E_INPUT, dkho_dataset_generate("darcy", path, &g), "threads");
  g.threads = 1;
  scratch_path(path, w.out, "no/where.st");
  REFUSED(DKHO_E_IO, dkho_dataset_generate("darcy", path, &g), "where.st");
  assert_int_equal(scratch_count(w.out), 0);
}

static void test_dataset(void **state) {
  (void)state;
  dkho_dataset *d;
  FINE(dkho_dataset_open(&d, w.data));
  /* the splits part the samples */
  int seen[12] = {0};
  static const char *const names[] = {"train", "val", "test"};
  int64_t count;
  for (int s = 0; s < 3; s++) {
    const int64_t *list = dkho_dataset_split(d, names[s], &count);
    assert_true(list && count > 0);
    for (int64_t i = 0; i < count; i++) {
      assert_true(i == 0 || list[i] > list[i - 1]);
      seen[list[i]]++;
    }
  }
  for (int i = 0; i < 12; i++) assert_int_equal(seen[i], 1);
  assert_null(dkho_dataset_split(d, "all", &count));
  assert_int_equal(count, 0);
  int inputs = 0, targets = 0, globals = 0;
  for (int i = 0; i < dkho_dataset_fields(d); i++) {
    dkho_field_info f;
    FINE(dkho_dataset_field(d, i, &f));
    assert_int_equal(dkho_dataset_find(d, f.name), i);
    int varies = strcmp(f.role, "static") != 0;
    assert_int_equal(dkho_dataset_value(d, i, 0) != NULL, varies);
    assert_null(dkho_dataset_value(d, i, -1));
    assert_null(dkho_dataset_value(d, i, 12));
    inputs += strcmp(f.role, "input") == 0, targets += strcmp(f.role, "target") == 0;
    globals += strcmp(f.role, "global") == 0;
  }
  assert_true(inputs == 1 && targets == 3 && globals == 1);
  /* physics: the circulation w is d q */
  dkho_complex *c;
  FINE(dkho_complex_read(&c, w.data));
  const float *q = dkho_dataset_value(d, dkho_dataset_find(d, "q"), 5),
              *curl = dkho_dataset_value(d, dkho_dataset_find(d, "w"), 5);
  for (int64_t i = 0; i < dkho_complex_count(c, 2); i++) {
    double sum = 0;
    for (int j = 0; j < 3; j++)
      sum += dkho_complex_signs(c, 2)[3 * i + j] * (double)q[dkho_complex_faces(c, 2)[3 * i + j]];
    assert_true(fabs(sum - (double)curl[i]) < 1e-5);
  }
  dkho_complex_free(c);
  dkho_field_info f;
  REFUSED(DKHO_E_INPUT, dkho_dataset_field(d, -1, &f), "field -1");
  REFUSED(DKHO_E_INPUT, dkho_dataset_field(d, 1000, &f), "field 1000");
  assert_int_equal(dkho_dataset_find(d, "nothing"), -1);
  assert_null(dkho_dataset_value(d, -1, 0));
  assert_null(dkho_dataset_value(d, 1000, 0));
  dkho_dataset_free(d);
  dkho_dataset_free(NULL);
  char *json, path[128];
  FINE(dkho_describe(w.data, &json));
  assert_non_null(strstr(json, "\"kind\": \"dataset\""));
  dkho_text_free(json);
  REFUSED(DKHO_E_IO, dkho_dataset_open(&d, scratch_path(path, w.dir, "none.st")), "none.st");
  assert_null(d);
  REFUSED(DKHO_E_FORMAT, dkho_dataset_open(&d, scratch_path(path, w.run, "best.st")), "best.st");
  REFUSED(DKHO_E_IO, dkho_dataset_import(scratch_path(path, w.dir, "none.json"), w.file, 0), "none.json");
}

/* An option out of its range is refused before anything is written. */
static void test_bad_options(void **state) {
  (void)state;
  dkho_train_options o;
#define BAD(member, value, words)                                                                                      \
  o = api_options();                                                                                                   \
  o.member = value;                                                                                                    \
  REFUSED(DKHO_E_INPUT, dkho_train(w.data, w.file, &o), words);                                                        \
  assert_int_equal(scratch_count(w.out), 0)
  BAD(target, "z", "\"z\"");
  BAD(target, "3", "\"3\"");
  BAD(target, "f", "\"f\"");
  BAD(size, "huge", "huge");
  BAD(variant, "no_sense", "no_sense");
  BAD(metric, "flat", "flat");
  BAD(profile, "side", "side");
  BAD(model, "tree", "no model 'tree'");
#define BAD_OPTION(text, words) BAD(options, ((const char *const[]){text, NULL}), words)
  BAD_OPTION("h=-1", "h: found -1");
  BAD_OPTION("h=5000", "h: found 5000");
  BAD_OPTION("h=4.5", "h: found 4.5");
  BAD_OPTION("h=", "h: found ''");
  BAD_OPTION("h", "key=value");
  BAD_OPTION("=3", "key=value");
  BAD_OPTION("width=3", "no option 'width'");
  BAD_OPTION("c=-1", "c: found -1");
  BAD_OPTION("layers=-1", "layers: found -1");
  BAD_OPTION("layers=1000", "layers: found 1000");
  BAD_OPTION("substeps=1000", "substeps: found 1000");
  BAD_OPTION("start=warm", "warm");
  BAD_OPTION("tau_range=nan", "tau_range");
  BAD_OPTION("tau_range=inf", "tau_range");
  BAD_OPTION("lag_scale=nan", "lag_scale");
#undef BAD_OPTION
  BAD(modes, 100000, "modes: found 100000");
  BAD(modes, 0, "modes: found 0");
  BAD(epochs, -1, "epochs: found -1");
  BAD(minutes, -1, "minutes: found -1");
  BAD(minutes, NAN, "minutes");
  BAD(minutes, 1, "both given");
  BAD(batch, -1, "batch: found -1");
  BAD(lr, 0, "lr: found 0");
  BAD(lr, NAN, "lr");
  BAD(weight_decay, 2, "weight decay: found 2");
  BAD(clip, NAN, "clip");
  BAD(clip, INFINITY, "clip");
  BAD(ema, 1, "ema: found 1");
  BAD(warmup, -1, "warmup: found -1");
  BAD(train_samples, -1, "train samples: found -1");
  BAD(train_samples, 1000, "1000 training samples");
  BAD(threads, 1 << 20, "threads");
#undef BAD
  char path[128];
  o = api_options();
  REFUSED(DKHO_E_IO, dkho_train(scratch_path(path, w.dir, "none.st"), w.file, &o), "none.st");
  REFUSED(DKHO_E_EXISTS, dkho_train(w.data, w.run, &o), "holds a run already");
  REFUSED(DKHO_E_IO, dkho_train(w.data, w.data, &o), "data.st");
  REFUSED(DKHO_E_IO, dkho_train_resume(w.out, NULL, NULL), "config.json");
}

static void test_parameter_count(void **state) {
  (void)state;
  static const struct {
    const char *problem, *target;
    int64_t small, large;
  } known[] = {{"darcy", "0", 64121, 242657}, {"darcy", "q", 64475, 243363}, {"darcy", "2", 64121, 242657},
               {"torus", "0", 63546, 241506}, {"torus", "1", 64347, 243107}, {"torus", "2", 64314, 243042},
               {"cavity", "0", 64542, 243494}};
  dkho_train_options o;
  dkho_train_defaults(&o);
  int64_t n;
  for (int i = 0; i < 7; i++) {
    o.target = known[i].target;
    o.size = "small";
    FINE(dkho_parameter_count(known[i].problem, &o, &n));
    assert_int_equal(n, known[i].small);
    o.size = "large";
    FINE(dkho_parameter_count(known[i].problem, &o, &n));
    assert_int_equal(n, known[i].large);
  }
  FINE(dkho_parameter_count("darcy", NULL, &n));
  assert_int_equal(n, 64121);
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("moon", &o, &n), "moon");
  o.target = "z";
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("darcy", &o, &n), "'z'");
  o.target = "7";
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("darcy", &o, &n), "'7'");
  o.target = "0", o.options = (const char *const[]){"h=-3", NULL};
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("darcy", &o, &n), "h: found -3");
  o.options = NULL, o.variant = "none";
  REFUSED(DKHO_E_INPUT, dkho_parameter_count("darcy", &o, &n), "none");
}

/* Every variant, start, metric and profile trains, and counts as many parameters as it says. */
static void test_choices(void **state) {
  (void)state;
  static const char *const choice[][2] = {{"variant", "no_dirac"},       {"variant", "no_phase"},
                                          {"variant", "no_harmonic"},    {"start", "deterministic"},
                                          {"start", "random_learnable"}, {"metric", "hodge"},
                                          {"profile", "native"},         {"profile", "boundary"},
                                          {"profile", "spectral"},       {"profile", "diffusion_spectral"}};
  for (size_t i = 0; i < sizeof choice / sizeof *choice; i++) {
    dkho_train_options o = api_options();
    o.target = "q", o.epochs = 1;
    char start[64];
    const char *const options[] = {"h=4", "c=2", "layers=2", "substeps=1", start, NULL};
    snprintf(start, sizeof start, "start=%s", choice[i][0][0] == 's' ? choice[i][1] : "zero");
    o.options = options;
    if (choice[i][0][0] == 'v') o.variant = choice[i][1];
    if (choice[i][0][0] == 'm') o.metric = choice[i][1];
    if (choice[i][0][0] == 'p') o.profile = choice[i][1];
    if (dkho_train(w.data, w.file, &o) != DKHO_OK) fail_msg("%s: %s", choice[i][1], dkho_error());
    dkho_model *m;
    int64_t n;
    FINE(dkho_model_load(&m, w.file));
    FINE(dkho_parameter_count("darcy", &o, &n));
    assert_int_equal(dkho_model_parameters(m), n);
    dkho_model_free(m);
    api_remove(w.out);
  }
}

/* Minutes decide how many epochs there are, one at least; the run remembers the number. */
static void test_minutes(void **state) {
  (void)state;
  dkho_train_options o = api_options();
  char *json;
  o.epochs = 0, o.minutes = 1e-6;
  FINE(dkho_train(w.data, w.file, &o));
  FINE(dkho_describe(w.file, &json));
  assert_non_null(strstr(json, "\"epochs\": 1,"));
  dkho_text_free(json);
  api_remove(w.out);
}

/* Directories above a run are made too. */
static void test_deep_run(void **state) {
  (void)state;
  dkho_train_options o = api_options();
  char deep[256];
  dkho_model *m;
  o.epochs = 1;
  snprintf(deep, sizeof deep, "%s/a//run/", w.file);
  FINE(dkho_train(w.data, deep, &o));
  FINE(dkho_model_load(&m, deep));
  dkho_model_free(m);
  REFUSED(DKHO_E_IO, dkho_train(w.data, "", &o), "directory");
  api_remove(w.out);
}

static int stop_at_once(void *count) {
  return ++*(int *)count >= 2;
}

static void test_stop_and_resume(void **state) {
  (void)state;
  dkho_train_options o = api_options();
  int calls = 0;
  char best[256], ours[256], *json;
  o.target = "q", o.stop = stop_at_once, o.stop_user = &calls;
  REFUSED(DKHO_E_STOPPED, dkho_train(w.data, w.file, &o), "the checkpoint is written");
  FINE(dkho_describe(w.file, &json));
  assert_non_null(strstr(json, "\"finished\": false"));
  dkho_text_free(json);
  dkho_model *m = NULL;
  REFUSED(DKHO_E_IO, dkho_model_load(&m, w.file), "best.st"); /* stopped inside the first epoch */
  assert_null(m);
  FINE(dkho_train_resume(w.file, NULL, NULL));
  snprintf(best, sizeof best, "%s/best.st", w.run);
  snprintf(ours, sizeof ours, "%s/best.st", w.file);
  assert_true(api_same_file(best, ours));
  FINE(dkho_train_resume(w.file, w.data, &o)); /* a finished run stays as it is */
  api_remove(w.out);
}

typedef struct heard {
  int lines, meters, ended;
} heard;
static void hear_log(void *user, const char *line) {
  ((heard *)user)->lines += line[0] != 0;
}
static void hear_progress(void *user, const char *label, uint64_t done, uint64_t total, const char *note) {
  heard *h = user;
  assert_true(label[0] && note && (total == 0 || done <= total));
  h->meters++;
  h->ended += total && done == total;
}

/* What the clock said comes last, and is not the same twice. */
static void drop_clock(char *json) {
  char *at = strstr(json, "\"predict_seconds\"");
  assert_non_null(at);
  assert_non_null(strstr(at, "\"judge_seconds\""));
  *at = 0;
}

static void test_evaluate(void **state) {
  (void)state;
  char *json, *again, path[128];
  heard h = {0};
  dkho_report sink = {&h, hear_log, hear_progress};
  dkho_report_set(&sink);
  FINE(dkho_evaluate(w.run, NULL, "test", 1, &json));
  dkho_report_set(NULL);
  assert_true(h.meters > 0 && h.ended == 1);
  FINE(dkho_evaluate(w.run, w.data, "test", 3, &again));
  drop_clock(json), drop_clock(again);
  assert_string_equal(json, again);
  assert_true(strstr(json, "\"rel_l2\"") && strstr(json, "\"rel_l2_each\""));
  dkho_text_free(json);
  dkho_text_free(again);
  REFUSED(DKHO_E_INPUT, dkho_evaluate(w.run, NULL, "holdout", 1, &json), "holdout");
  assert_null(json);
  REFUSED(DKHO_E_IO, dkho_evaluate(w.out, NULL, "test", 1, &json), "config.json");
  REFUSED(DKHO_E_IO, dkho_evaluate(w.run, scratch_path(path, w.dir, "none.st"), "test", 1, &json), "none.st");
}

static void test_judging(void **state) {
  (void)state;
  char *json, upper[256];
  double gap, again;
  FINE(dkho_metric_list(w.run, NULL, &json));
  assert_true(strstr(json, "\"rel_l2\"") && strstr(json, "\"better\""));
  dkho_text_free(json);
  FINE(dkho_honesty(w.run, NULL, 1, &json));
  assert_true(strstr(json, "\"rows\"") && strstr(json, "\"cost\""));
  dkho_text_free(json);
  FINE(dkho_phase(w.run, NULL, 1, NULL, &json));
  assert_non_null(strstr(json, "\"population\""));
  dkho_text_free(json);
  dkho_train_options o = api_options();
  o.target = "w", o.epochs = 1;
  snprintf(upper, sizeof upper, "%s/upper", w.out);
  FINE(dkho_train(w.data, upper, &o));
  FINE(dkho_compatibility(w.run, upper, NULL, "test", 1, &gap));
  FINE(dkho_compatibility(w.run, upper, w.data, "test", 3, &again));
  assert_true(gap > 0 && isfinite(gap) && gap == again);
  json = upper;
  assert_int_equal(dkho_compatibility(upper, w.run, NULL, "test", 1, &gap), DKHO_E_INPUT);
  REFUSED(DKHO_E_INPUT, dkho_compatibility(w.run, upper, NULL, "holdout", 1, &gap), "holdout");
  api_remove(w.out);
  REFUSED(DKHO_E_IO, dkho_metric_list(w.out, NULL, &json), "config.json");
  assert_null(json);
  REFUSED(DKHO_E_IO, dkho_honesty(w.out, NULL, 1, &json), "config.json");
  REFUSED(DKHO_E_IO, dkho_phase(w.out, NULL, 1, NULL, &json), "config.json");
  dkho_phase_options p = {.q = 2};
  assert_int_equal(dkho_phase(w.run, NULL, 1, &p, &json), DKHO_E_INPUT);
  dkho_reproduce_options r = {.budget = "lavish", .seed = 42, .threads = 1};
  REFUSED(DKHO_E_INPUT, dkho_reproduce("darcy", w.file, &r, &json), "lavish");
  r.budget = "smoke";
  REFUSED(DKHO_E_INPUT, dkho_reproduce("moon", w.file, &r, &json), "moon");
  r.size = "huge";
  REFUSED(DKHO_E_INPUT, dkho_reproduce("darcy", w.file, &r, &json), "huge");
  r.size = NULL, r.target = "z";
  assert_int_equal(dkho_reproduce("darcy", w.file, &r, &json), DKHO_E_INPUT);
  assert_int_equal(scratch_count(w.out), 0);
  REFUSED(DKHO_E_INPUT, dkho_bench("moon", NULL, "smoke", 1, 0.01, &json), "moon");
  REFUSED(DKHO_E_INPUT, dkho_bench("darcy", "huge", "smoke", 1, 0.01, &json), "huge");
  REFUSED(DKHO_E_INPUT, dkho_bench("darcy", "small", "tiny", 1, 0.01, &json), "tiny");
}

static void test_describe(void **state) {
  (void)state;
  char path[256], *json;
  static const char *const kind[][2] = {{"best.st", "model"}, {"last.st", "checkpoint"}, {"", "run"}};
  for (int i = 0; i < 3; i++) {
    char expected[64];
    snprintf(path, sizeof path, "%s/%s", w.run, kind[i][0]);
    snprintf(expected, sizeof expected, "\"kind\": \"%s\"", kind[i][1]);
    FINE(dkho_describe(path, &json));
    assert_non_null(strstr(json, expected));
    dkho_text_free(json);
  }
  dkho_complex *c;
  snprintf(path, sizeof path, "%s/last.st", w.run);
  REFUSED(DKHO_E_FORMAT, dkho_complex_read(&c, path), "holds no complex");
  snprintf(path, sizeof path, "%s/best.st", w.run);
  FINE(dkho_complex_read(&c, path));
  dkho_complex_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_generate),    cmocka_unit_test(test_dataset),
                                     cmocka_unit_test(test_bad_options), cmocka_unit_test(test_parameter_count),
                                     cmocka_unit_test(test_choices),     cmocka_unit_test(test_minutes),
                                     cmocka_unit_test(test_deep_run),    cmocka_unit_test(test_stop_and_resume),
                                     cmocka_unit_test(test_evaluate),    cmocka_unit_test(test_judging),
                                     cmocka_unit_test(test_describe)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
