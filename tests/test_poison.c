/* test_poison.c: numbers that are not finite, put into every kind of file that holds numbers: each is refused by name, in the call
 * that meets it, and nothing is written. */
#include "poison.h"

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

static char source[128];
static int injected;

/* Refused by name whatever stands in for the number, first and last element. */
static void load_poisoned(const char *tensor, int64_t count) {
  static const double wrong[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 2; i++) {
    char words[320];
    dkho_model *m;
    poison(source, bad, tensor, i ? count - 1 : 0, wrong[injected % 3]);
    snprintf(words, sizeof words, "bad.st: %s: element %lld is not finite", tensor, (long long)(i ? count - 1 : 0));
    if (strcmp(tensor, "c0/x") == 0) snprintf(words, sizeof words, "bad.st");
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
                                     cmocka_unit_test(test_data_proven)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
