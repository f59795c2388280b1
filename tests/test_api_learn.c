/* test_api_learn.c: data sets, training, evaluation and trained operators through dkho.h. */
#include "api.h"

#include "base/st.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>

static world w;

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_generate),       cmocka_unit_test(test_dataset),
                                     cmocka_unit_test(test_bad_options),    cmocka_unit_test(test_parameter_count),
                                     cmocka_unit_test(test_choices),        cmocka_unit_test(test_minutes),
                                     cmocka_unit_test(test_deep_run),       cmocka_unit_test(test_stop_and_resume),
                                     cmocka_unit_test(test_evaluate),       cmocka_unit_test(test_judging),
                                     cmocka_unit_test(test_predict),        cmocka_unit_test(test_predict_nonfinite),
                                     cmocka_unit_test(test_model_complex),  cmocka_unit_test(test_predict_from_threads),
                                     cmocka_unit_test(test_predict_forked), cmocka_unit_test(test_predict_file),
                                     cmocka_unit_test(test_describe),       cmocka_unit_test(test_forged_models)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
