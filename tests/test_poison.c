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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_predict_inputs), cmocka_unit_test(test_predict_output)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
