/* test_checkpoint.c: a run is continued from the checkpoint that belongs to it, or not at all: each rule that last.st can break is named, and nothing is
 * changed. Damage that the content hash finds, and numbers that are not finite, are in test_poison.c. */
#include "poison.h"

static world w;
static char last[160], kept[160];

static int stop_later(void *calls) {
  return ++*(int *)calls == 4; /* in the second epoch */
}

static int setup(void **state) {
  (void)state;
  char path[128];
  int calls = 0;
  world_make(&w, "darcy", "q");
  dkho_train_options o = api_options();
  o.target = "q", o.stop = stop_later, o.stop_user = &calls, o.optimizer = "muon";
  assert_int_equal(dkho_train(w.data, scratch_path(path, w.dir, "stopped"), &o), DKHO_E_STOPPED);
  snprintf(last, sizeof last, "%s/last.st", path);
  snprintf(kept, sizeof kept, "%s/kept.st", w.dir);
  assert_int_equal(rename(last, kept), 0);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

/* The run with the last.st that is there is refused with these words, and keeps it. */
static void refuse_resume(dkho_status status, const char *words) {
  char path[128];
  size_t size, after;
  char *bytes = api_bytes(last, &size);
  REFUSED(status, dkho_train_resume(scratch_path(path, w.dir, "stopped"), NULL, NULL), words);
  char *now = api_bytes(last, &after);
  assert_int_equal(size, after);
  assert_memory_equal(bytes, now, size);
  free(bytes);
  free(now);
}

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *words;
    dkho_status status;
  } list[] = {
      {"\"dkho.kind\":\"checkpoint\"", "\"dkho.kind\":\"model\"", "last.st: is a model, not a checkpoint",
       DKHO_E_FORMAT},
      {"\"dkho.kind\":", "\"dkho.kin\":", "dkho.kind", DKHO_E_FORMAT},
      {"\"dkho.data_hash\":\"", "\"dkho.data_hash\":\"0", "last.st: belongs to data with hash 0", DKHO_E_INPUT},
      {"\"dkho.data_hash\":", "\"dkho.data_has\":", "dkho.data_hash", DKHO_E_FORMAT},
      {"\"dkho.optimizer\":\"muon\"", "\"dkho.optimizer\":\"soap\"",
       "was written by soap, the run's config.json says muon", DKHO_E_INPUT},
      {"\"dkho.optimizer\":", "\"dkho.optimize\":", "was written by adamw, the run's config.json says muon",
       DKHO_E_INPUT},
      {"\"counters\"", "\"countera\"", "counters", DKHO_E_FORMAT},
      {"\"numbers\"", "\"numberb\"", "numbers", DKHO_E_FORMAT},
      {"\"history\"", "\"histori\"", "history", DKHO_E_FORMAT},
      {"\"w/enc0.lin1.w\"", "\"w/enc0.lin1.x\"", "w/enc0.lin1.", DKHO_E_FORMAT},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!poison_rename(kept, last, list[i].from, list[i].to, 1)) fail_msg("%s stands nowhere", list[i].from);
    refuse_resume(list[i].status, list[i].words);
  }
}

static void test_counters(void **state) {
  (void)state;
  static const struct {
    int at;
    double value;
  } list[] = {{0, -1}, {0, 3}, {1, -1}, {1, 1e6}, {2, -1}, {2, 2}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    poison(kept, last, "counters", list[i].at, list[i].value);
    refuse_resume(DKHO_E_FORMAT, "do not fit 2 epochs of");
  }
  poison(kept, last, "adam.step", 0, -1);
  refuse_resume(DKHO_E_FORMAT, "adam.step: found -1, expected a count");
  poison(kept, last, "counters", 0, 2); /* within the run, but the history is shorter */
  refuse_resume(DKHO_E_FORMAT, "history");
}

/* Without last.st a run that has a history is not begun again; with the right one it ends as the undisturbed run did. */
static void test_missing(void **state) {
  (void)state;
  char run[128], best[192], reference[192];
  remove(last);
  REFUSED(DKHO_E_INPUT, dkho_train_resume(scratch_path(run, w.dir, "stopped"), NULL, NULL),
          "but no checkpoint (last.st) to go on from");
  assert_int_equal(rename(kept, last), 0);
  FINE(dkho_train_resume(run, NULL, NULL));
  dkho_train_options o = api_options();
  o.target = "q", o.optimizer = "muon";
  snprintf(reference, sizeof reference, "%s/straight", w.dir);
  FINE(dkho_train(w.data, reference, &o));
  strcat(reference, "/best.st");
  snprintf(best, sizeof best, "%s/best.st", run);
  assert_true(api_same_file(best, reference));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_counters),
                                     cmocka_unit_test(test_missing)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
