/* test_poison.c: numbers that are not finite, put into every kind of file that holds numbers: each is refused by name, in the call
 * that meets it, and nothing is written. */
#include "poison.h"

#include "nn/optim.h"

#include <math.h>

static world w;
static char bad[128];

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  scratch_path(bad, w.dir, "bad.st");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

static void test_predict_inputs(void **state) {
  (void)state;
  char out[128];
  dkho_model *m;
  FINE(dkho_model_load(&m, w.run));
  static const char *const name[] = {"p.st", "p.vtu"};
  for (int i = 0; i < 2; i++) {
    scratch_path(out, w.out, name[i]);
    poison(w.data, bad, "c0/in/f", 7, NAN);
    REFUSED(DKHO_E_NONFINITE, dkho_predict_file(m, bad, NULL, out, 0, 2, 0),
            "bad.st: field f: sample 0: element 7 is not finite");
    poison(w.data, bad, "c0/in/f", -1, INFINITY);
    REFUSED(DKHO_E_NONFINITE, dkho_predict_file(m, bad, NULL, out, 0, 2, 0), "bad.st: field f: sample 11: element");
    poison(w.data, bad, "global/g", 3, -INFINITY);
    REFUSED(DKHO_E_NONFINITE, dkho_predict_file(m, bad, NULL, out, 0, 2, 0), "bad.st: global/g: element 3");
    assert_int_equal(scratch_count(w.out), 0);
  }
  /* a sample that is not asked for does no harm; neither does a reference that is not written */
  poison(w.data, bad, "c0/in/f", -1, NAN);
  FINE(dkho_predict_file(m, bad, NULL, scratch_path(out, w.out, "p.st"), 0, 1, 11));
  poison(w.data, bad, "c0/target/q", 0, NAN);
  FINE(dkho_predict_file(m, bad, NULL, out, 1, 1, 0));
  scratch_walk(w.out, 1);
  REFUSED(DKHO_E_NONFINITE, dkho_predict_file(m, bad, NULL, scratch_path(out, w.out, "p.vtu"), 0, 1, 2),
          "bad.st: field q: sample 0: element 0 is not finite");
  assert_int_equal(scratch_count(w.out), 0);
  dkho_model_free(m);
}

/* Weights that are finite and make the prediction overflow: the output is named, and no file stays, of several neither. */
static void test_predict_output(void **state) {
  (void)state;
  char best[128], out[128];
  dkho_model *m;
  poison_set(scratch_path(best, w.run, "best.st"), bad, "w/dec.lin2.w", 0, 3e38, 1);
  FINE(dkho_model_load(&m, bad));
  REFUSED(DKHO_E_NONFINITE, dkho_predict_file(m, w.data, NULL, scratch_path(out, w.out, "p.st"), 0, 2, 0),
          "p.st: prediction of 'q', sample 0: element");
  REFUSED(DKHO_E_NONFINITE, dkho_predict_file(m, w.data, NULL, scratch_path(out, w.out, "p.vtu"), 0, 2, 4),
          "p.vtu: prediction of 'q', sample 0: element");
  assert_int_equal(scratch_count(w.out), 0);
  dkho_model_free(m);
  /* the third of four files cannot be written: the two before it go, what was there stays */
  FINE(dkho_model_load(&m, w.run));
  char there[128];
  poison_write(scratch_path(there, w.out, "p-000002.vtu"), "mine", 4);
  REFUSED(DKHO_E_EXISTS, dkho_predict_file(m, w.data, NULL, out, 0, 1, 4), "p-000002.vtu");
  assert_int_equal(scratch_count(w.out), 1);
  assert_true(file_exists(there));
  scratch_walk(w.out, 1);
  dkho_model_free(m);
}

/* A reference that is not finite neither leaves a score silently nor enters a training; a sample outside the splits in use does no
 * harm. */
static void test_references(void **state) {
  (void)state;
  dkho_dataset *d;
  char path[128], *json = NULL;
  dkho_train_options o = api_options();
  o.target = "q";
  FINE(dkho_dataset_open(&d, w.data));
  static const char *const split[] = {"train", "val", "test"};
  for (int s = 0; s < 3; s++) {
    int64_t count, last = 0;
    const int64_t *sample = dkho_dataset_split(d, split[s], &count);
    char words[64];
    last = sample[count - 1];
    for (int input = 0; input < 2; input++) {
      dkho_field_info f;
      FINE(dkho_dataset_field(d, dkho_dataset_find(d, input ? "f" : "q"), &f));
      poison(w.data, bad, input ? "c0/in/f" : "c0/target/q", last * f.rows * f.channels + 5, s == 1 ? INFINITY : NAN);
      snprintf(words, sizeof words, "bad.st: field %s: sample %lld: element 5 is not finite", f.name, (long long)last);
      REFUSED(DKHO_E_NONFINITE, dkho_train(bad, scratch_path(path, w.out, "run"), &o), words);
      assert_int_equal(scratch_count(w.out), 0);
      dkho_dataset *damaged;
      FINE(dkho_dataset_open(&damaged, bad));
      int field = dkho_dataset_find(damaged, f.name);
      assert_null(dkho_dataset_value(damaged, field, last));
      assert_non_null(strstr(dkho_error(), words));
      assert_non_null(dkho_dataset_value(damaged, field, last == 0 ? 1 : 0));
      dkho_dataset_free(damaged);
      scratch_path(path, w.run, "best.st");
      REFUSED(DKHO_E_NONFINITE, dkho_evaluate(path, bad, split[s], 2, &json), words);
      assert_null(json);
      if (s == 2) REFUSED(DKHO_E_NONFINITE, dkho_honesty(path, bad, 1, &json), words);
      if (s == 2) REFUSED(DKHO_E_NONFINITE, dkho_phase(path, bad, 1, NULL, &json), words);
      FINE(dkho_evaluate(path, bad, split[(s + 1) % 3], 2, &json));
      dkho_text_free(json);
      json = NULL;
    }
  }
  dkho_dataset_free(d);
  poison(w.data, bad, "c0/target/p", 0, NAN); /* another target than the one in use */
  FINE(dkho_train(bad, scratch_path(path, w.out, "run"), &o));
  api_remove(path);
  scratch_walk(w.out, 1);
}

/* Every tensor of reals in a file but those that are left out: called with its name and number of elements. */
static int each_tensor(const char *path, const char *skip, void (*call)(const char *, int64_t)) {
  st_file *f;
  int count = 0;
  FINE(st_open(&f, path));
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    if ((t->dtype != ST_F32 && t->dtype != ST_F64) || !t->count || (skip && strncmp(t->name, skip, strlen(skip)) == 0))
      continue;
    call(t->name, (int64_t)t->count);
    count++;
  }
  st_close(f);
  return count;
}

static int count_of(const char *path, const char *tensor) {
  st_file *f;
  FINE(st_open(&f, path));
  const st_tensor *t = st_find(f, tensor);
  assert_non_null(t);
  int count = (int)t->count;
  st_close(f);
  return count;
}

static char source[128];
static int injected;

/* Coordinates in the plane: every number of every so many vertices, in the data set and in the model file. */
static void test_coordinates(void **state) {
  (void)state;
  static const double wrong[] = {NAN, INFINITY, -INFINITY};
  static const char *const printed[] = {"nan", "inf", "-inf"};
  char best[128], words[160], out[128];
  const char *const from[] = {w.data, scratch_path(best, w.run, "best.st")};
  injected = 0;
  for (int file = 0; file < 2; file++) {
    int count = count_of(from[file], "c0/x");
    for (int at = 0; at < count; at += at == 0 ? 1 : 1 + count / 60) {
      int how = injected++ % 3;
      dkho_dataset *d = NULL;
      dkho_model *m = NULL;
      poison(from[file], bad, "c0/x", at, wrong[how]);
      snprintf(words, sizeof words, "bad.st: c0/x: vertex %d: coordinate %s is not finite", at / 2, printed[how]);
      REFUSED(DKHO_E_FORMAT, file ? dkho_model_load(&m, bad) : dkho_dataset_open(&d, bad), words);
      assert_true(!d && !m);
    }
  }
  /* nothing is written by those who open it */
  poison(w.data, bad, "c0/x", 5, NAN);
  dkho_model *m;
  dkho_train_options o = api_options();
  o.target = "q";
  FINE(dkho_model_load(&m, w.run));
  REFUSED(DKHO_E_FORMAT, dkho_predict_file(m, bad, NULL, scratch_path(out, w.out, "p.st"), 0, 2, 0), "c0/x: vertex 2");
  REFUSED(DKHO_E_FORMAT, dkho_train(bad, scratch_path(out, w.out, "run"), &o), "c0/x: vertex 2");
  assert_int_equal(scratch_count(w.out), 0);
  dkho_model_free(m);
  assert_true(injected > 100);
  print_message("%d coordinates of data sets and models, all refused by file, field and vertex\n", injected);
}

static int last_vertex; /* of the complex */

/* Refused by name whatever stands in for the number, first and last element. */
static void load_poisoned(const char *tensor, int64_t count) {
  static const double wrong[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 2; i++) {
    char words[320];
    dkho_model *m;
    poison(source, bad, tensor, i ? count - 1 : 0, wrong[injected % 3]);
    snprintf(words, sizeof words, "bad.st: %s: element %lld is not finite", tensor, (long long)(i ? count - 1 : 0));
    if (strcmp(tensor, "c0/x") == 0)
      snprintf(words, sizeof words, "bad.st: c0/x: vertex %d: coordinate", i ? last_vertex : 0);
    assert_int_not_equal(dkho_model_load(&m, bad), DKHO_OK);
    assert_null(m);
    if (!strstr(dkho_error(), words)) fail_msg("%s: '%s' does not say '%s'", tensor, dkho_error(), words);
    injected++;
  }
}

/* Weights, statics and bases of a model file. */
static void test_model_file(void **state) {
  (void)state;
  scratch_path(source, w.run, "best.st");
  injected = 0;
  last_vertex = count_of(source, "c0/x") / 2 - 1;
  each_tensor(source, "c0/harmonic0", load_poisoned); /* of a degree that this model does not use */
  assert_true(injected > 200);
  print_message("%d numbers of a model file, all refused by name\n", injected);
}

static int stride; /* takes every stride-th tensor */
static void resume_poisoned(const char *tensor, int64_t count) {
  static const double wrong[] = {NAN, INFINITY, -INFINITY};
  static int met;
  char last[128], words[320];
  if (met++ % stride) return;
  int64_t at = strcmp(tensor, "numbers") == 0 ? 1 : injected % count;
  scratch_path(last, w.file, "last.st");
  poison(source, last, tensor, at, wrong[injected % 3]);
  snprintf(words, sizeof words, "last.st: %s: element %lld is not finite", tensor, (long long)at);
  size_t size, again;
  char *before = api_bytes(last, &size), best[128];
  scratch_path(best, w.file, "result.json");
  REFUSED(DKHO_E_NONFINITE, dkho_train_resume(w.file, NULL, NULL), words);
  char *after = api_bytes(last, &again);
  assert_true(size == again && memcmp(before, after, size) == 0 && !file_exists(best));
  free(before), free(after);
  injected++;
}

static int stop_soon(void *user) {
  return ++*(int *)user > 3;
}

/* A run of each optimiser, stopped in its second epoch; then every tensor of its checkpoint in turn. */
static void test_checkpoint(void **state) {
  (void)state;
  static const char *const optimizer[] = {"adamw", "muon", "soap"};
  injected = 0;
  for (int i = 0; i < 3; i++) {
    dkho_train_options o = api_options();
    int polls = 0;
    o.target = "q", o.optimizer = optimizer[i], o.ema = 0.9, o.stop = stop_soon, o.stop_user = &polls;
    REFUSED(DKHO_E_STOPPED, dkho_train(w.data, w.file, &o), "the checkpoint is written");
    char last[128], copy[128];
    size_t size;
    char *bytes = api_bytes(scratch_path(last, w.file, "last.st"), &size);
    poison_write(scratch_path(copy, w.dir, "last.st"), bytes, size);
    strcpy(source, copy);
    stride = i ? 6 : 1;
    each_tensor(source, NULL, resume_poisoned);
    /* any bit of the file, where the hash knows and nobody else */
    for (size_t at = 8; at < size; at += size / 23) {
      bytes[at] = (char)(bytes[at] ^ 4);
      poison_write(last, bytes, size);
      bytes[at] = (char)(bytes[at] ^ 4);
      REFUSED(DKHO_E_FORMAT, dkho_train_resume(w.file, NULL, NULL), "last.st");
    }
    poison_write(last, bytes, size);
    FINE(dkho_train_resume(w.file, NULL, NULL));
    free(bytes);
    api_remove(w.file);
    scratch_walk(w.out, 1);
  }
  assert_true(injected > 500);
  print_message("%d numbers of checkpoints, all refused by name\n", injected);
}

/* ---- gradients ---- */

/* An optimiser on two matrices, one too thin for it, and a vector, some steps old. */
typedef struct stepper {
  params *p;
  optim *o;
  real *value, *g;
} stepper;

static void draw_gradient(const stepper *b, uint64_t step) {
  for (int64_t i = 0; i < b->p->size; i++) b->g[i] = (real)sin((double)(i + 1) * (double)(step + 1));
}

static void open_stepper(stepper *b, optim_kind kind) {
  static const int64_t shape[3][2] = {{9, 14}, {16, 8}, {9, 3}};
  static const char *const names[] = {"wide", "tall", "thin"};
  optim_config c = optim_defaults(kind);
  c.decay = 0.1, c.ema = 0.9, c.refresh = 2;
  FINE(params_create(&b->p));
  for (int i = 0; i < 3; i++) params_add(b->p, names[i], 2, shape[i], INIT_NORMAL, 1);
  params_add_vector(b->p, "vector", 7, INIT_NORMAL, 1);
  FINE(params_layout(b->p));
  FINE(params_slab(b->p, &b->value));
  FINE(params_slab(b->p, &b->g));
  params_init(b->p, 3, b->value);
  FINE(optim_create(&b->o, b->p, &c, b->value, NULL));
  for (uint64_t step = 0; step < 3; step++) {
    draw_gradient(b, step);
    FINE(optim_step(b->o, 0.01, b->value, b->g, NULL));
  }
}

/* Weights, moments, average, covariances and bases, and the number of steps. */
static double *state_of(const stepper *b, size_t *count) {
  const real *slab[] = {b->value, b->o->m, b->o->v, b->o->average};
  double *all = malloc(1 << 20), *at = all;
  assert_non_null(all);
  for (int i = 0; i < 4; i++)
    for (int64_t j = 0; j < b->p->size; j++) *at++ = (double)slab[i][j];
  for (int i = 0; b->o->sides && i < b->p->count; i++)
    for (int k = 0; k < 2; k++) {
      int64_t n = b->p->list[i].shape[1 - k];
      for (int64_t j = 0; b->o->sides[i].cover[k] && j < n * n; j++)
        *at++ = b->o->sides[i].cover[k][j], *at++ = b->o->sides[i].basis[k][j];
    }
  *at++ = (double)b->o->step;
  *count = (size_t)(at - all);
  return all;
}

static void step_poisoned(stepper *b, const param *q, int64_t at, double wrong) {
  size_t n, m;
  char words[96];
  double *before = state_of(b, &n);
  draw_gradient(b, 9);
  b->g[q->offset + at] = (real)wrong;
  snprintf(words, sizeof words, "gradient of %s is not finite", q->name);
  REFUSED(DKHO_E_NONFINITE, optim_step(b->o, 0.01, b->value, b->g, NULL), words);
  double *after = state_of(b, &m);
  assert_true(n == m && memcmp(before, after, n * sizeof *before) == 0);
  free(before), free(after);
  injected++;
}

/* Every element of every tensor's gradient: the step names the tensor and touches nothing; so the next good step is as if it had not
 * been. */
static void test_gradients(void **state) {
  (void)state;
  static const double wrong[] = {NAN, INFINITY, -INFINITY};
  injected = 0;
  for (optim_kind kind = OPTIM_ADAMW; kind < OPTIM_KINDS; kind++) {
    stepper b, undisturbed;
    size_t n, m;
    open_stepper(&b, kind), open_stepper(&undisturbed, kind);
    for (int i = 0; i < b.p->count; i++)
      for (int64_t j = 0; j < b.p->list[i].count; j++) step_poisoned(&b, &b.p->list[i], j, wrong[injected % 3]);
    stepper *const both[] = {&b, &undisturbed};
    for (int i = 0; i < 2; i++) {
      draw_gradient(both[i], 10);
      FINE(optim_step(both[i]->o, 0.01, both[i]->value, both[i]->g, NULL));
    }
    double *x = state_of(&b, &n), *y = state_of(&undisturbed, &m);
    assert_true(n == m && memcmp(x, y, n * sizeof *x) == 0);
    free(x), free(y);
    for (int i = 0; i < 2; i++)
      optim_free(both[i]->o), mem_free(both[i]->value), mem_free(both[i]->g), params_free(both[i]->p);
  }
  assert_true(injected > 500);
  print_message("%d gradients, each refused by name in its step, weights and moments as before\n", injected);
}

/* A tensor of the checkpoint's weights so large, though finite, that what follows is not: the run ends in the step (or validation) that meets it,
 * which it names, and the checkpoint stays as it was. */
static void resume_overflowing(const char *tensor, int64_t count) {
  char last[128], best[128];
  size_t size, again;
  (void)count;
  if (strncmp(tensor, "w/", 2) != 0) return;
  poison_set(source, scratch_path(last, w.file, "last.st"), tensor, 0, 3e38, 1);
  char *before = api_bytes(last, &size);
  dkho_status s = dkho_train_resume(w.file, NULL, NULL);
  scratch_path(best, w.file, "result.json");
  if (s == DKHO_OK) { /* a norm, or a bounded function, stands behind it */
    unlink(best), free(before);
    return;
  }
  assert_int_equal(s, DKHO_E_NONFINITE);
  if (!strstr(dkho_error(), "epoch 2, step")) fail_msg("%s: '%s'", tensor, dkho_error());
  if (!strstr(dkho_error(), "gradient of ") && !strstr(dkho_error(), "loss of"))
    fail_msg("%s: '%s'", tensor, dkho_error());
  char *after = api_bytes(last, &again);
  assert_true(size == again && memcmp(before, after, size) == 0);
  assert_false(file_exists(best));
  free(before), free(after);
  injected++;
}

static int stop_in_second(void *user) {
  return ++*(int *)user > 2;
}

static void test_overflow(void **state) {
  (void)state;
  static const char *const optimizer[] = {"adamw", "muon", "soap"};
  for (int i = 0; i < 3; i++) {
    dkho_train_options o = api_options();
    int polls = 0;
    char last[128], copy[128];
    size_t size;
    injected = 0;
    o.target = "q", o.optimizer = optimizer[i], o.stop = stop_in_second, o.stop_user = &polls;
    REFUSED(DKHO_E_STOPPED, dkho_train(w.data, w.file, &o), "the checkpoint is written");
    char *bytes = api_bytes(scratch_path(last, w.file, "last.st"), &size);
    poison_write(scratch_path(copy, w.dir, "last.st"), bytes, size);
    free(bytes);
    strcpy(source, copy);
    each_tensor(source, NULL, resume_overflowing);
    print_message("%s: %d tensors of weights that overflow, each met in its step\n", optimizer[i], injected);
    assert_true(injected > 5);
    api_remove(w.file);
    scratch_walk(w.out, 1);
  }
}

/* Numbers of an absurd size in what a data set keeps beside its samples: refused on opening, a basis because it is none. */
static void open_absurd(const char *tensor, int64_t count) {
  dkho_dataset *d;
  char words[320];
  if (strncmp(tensor, "c0/static/", 10) != 0 && strncmp(tensor, "c0/harmonic", 11) != 0) return;
  int basis = tensor[3] == 'h';
  poison(w.data, bad, tensor, count / 2, 1e30);
  snprintf(words, sizeof words, basis ? "bad.st: %s: column" : "bad.st: %s: element", tensor);
  REFUSED(DKHO_E_FORMAT, dkho_dataset_open(&d, bad), words);
  if (basis) {
    poison(w.data, bad, tensor, count / 3, 0.5);
    REFUSED(DKHO_E_FORMAT, dkho_dataset_open(&d, bad), words);
  }
  poison(w.data, bad, tensor, count - 1, NAN);
  REFUSED(DKHO_E_NONFINITE, dkho_dataset_open(&d, bad), tensor);
  injected++;
}

static void test_data_proven(void **state) {
  (void)state;
  injected = 0;
  each_tensor(w.data, NULL, open_absurd);
  assert_true(injected > 15);
  /* the model file keeps copies */
  dkho_model *m;
  scratch_path(source, w.run, "best.st");
  poison(source, bad, "c0/static/K1", 7, 1e30);
  REFUSED(DKHO_E_FORMAT, dkho_model_load(&m, bad), "c0/static/K1: element 7 is 1e+30");
  poison(source, bad, "c0/harmonic1", 7, 0.5);
  REFUSED(DKHO_E_FORMAT, dkho_model_load(&m, bad), "c0/harmonic1: column 1");
}

/* A bit anywhere in a model file is noticed; the files of versions that wrote no hash are read. */
static void test_seal(void **state) {
  (void)state;
  size_t size;
  char *bytes = api_bytes(scratch_path(source, w.run, "best.st"), &size);
  dkho_model *m;
  for (size_t at = 8; at < size; at += 1 + size / 97) {
    bytes[at] = (char)(bytes[at] ^ 1);
    poison_write(bad, bytes, size);
    bytes[at] = (char)(bytes[at] ^ 1);
    REFUSED(DKHO_E_FORMAT, dkho_model_load(&m, bad), "bad.st");
  }
  char *key = memmem(bytes, size, "dkho.hash", 9);
  assert_non_null(key);
  memcpy(key, "dkho.hush", 9); /* as if there were none */
  poison_write(bad, bytes, size);
  FINE(dkho_model_load(&m, bad));
  dkho_model_free(m);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_predict_inputs), cmocka_unit_test(test_predict_output),
                                     cmocka_unit_test(test_references),     cmocka_unit_test(test_model_file),
                                     cmocka_unit_test(test_checkpoint),     cmocka_unit_test(test_seal),
                                     cmocka_unit_test(test_data_proven),    cmocka_unit_test(test_coordinates),
                                     cmocka_unit_test(test_gradients),      cmocka_unit_test(test_overflow)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
