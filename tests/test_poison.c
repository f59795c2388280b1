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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_predict_inputs), cmocka_unit_test(test_predict_output),
                                     cmocka_unit_test(test_references)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
