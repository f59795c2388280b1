/* test_study_models.c: a study over several models: equal budgets, a row per model and inputs, figures; what is finished stays; wrong
 * requests are refused before anything is made. */
#include "api.h"
#include "study/study.h"
#include "tiny_model.h"

#include <jansson.h>

static char dir[64], both[128], alone[128];

static model_type wide; /* tiny, made for the descriptors of DKHO */

static int open_world(void **state) {
  (void)state;
  wide = tiny, wide.name = "wide", wide.profile = FEAT_SUMMARY;
  scratch_make(dir);
  scratch_path(both, dir, "both"), scratch_path(alone, dir, "alone");
  return model_register(&tiny) == DKHO_OK && model_register(&wide) == DKHO_OK ? 0 : -1;
}

static int close_world(void **state) {
  (void)state;
  api_remove(dir);
  return rmdir(dir);
}

static dkho_reproduce_options tiny_study(const char *models, const char *inputs) {
  return (dkho_reproduce_options){.budget = "smoke",
                                  .target = "u",
                                  .models = models,
                                  .inputs = inputs,
                                  .samples = 20,
                                  .epochs = 1,
                                  .seed = 3,
                                  .threads = 1};
}

/* The rows of the study's only target, a new reference. */
static json_t *study_rows(const char *folder, const dkho_reproduce_options *o) {
  char *text = NULL;
  FINE(dkho_reproduce("heat", folder, o, &text));
  json_t *all = json_loads(text, 0, NULL);
  dkho_text_free(text);
  json_t *target = json_array_get(json_object_get(json_array_get(all, 0), "targets"), 0);
  json_t *rows = json_incref(json_object_get(target, "rows"));
  json_decref(all);
  return rows;
}

static const json_t *row_named(const json_t *rows, const char *name) {
  size_t i;
  json_t *row;
  json_array_foreach(rows, i, row)
    if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0) return row;
  return NULL;
}

static int is_there(const char *folder, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, R_OK) == 0;
}

static void test_rows(void **state) {
  (void)state;
  static const char *const names[] = {"DKHO-small", "tiny (N)", "tiny (F)"};
  dkho_reproduce_options o = tiny_study("dkho,tiny", "both");
  json_t *rows = study_rows(both, &o);
  const json_t *first = row_named(rows, names[0]);
  assert_non_null(first);
  for (int i = 0; i < 3; i++) {
    const json_t *row = row_named(rows, names[i]);
    assert_non_null(row);
    assert_true(json_number_value(json_object_get(json_object_get(row, "metrics"), "rel_l2")) > 0);
    assert_true(json_number_value(json_object_get(row, "seconds_per_training_sample")) > 0);
    assert_string_equal(json_string_value(json_object_get(row, "model")), i ? "tiny" : "dkho");
    const json_t *a = json_object_get(first, "training"), *b = json_object_get(row, "training");
    assert_true(json_equal(json_object_get(first, "epochs"), json_object_get(row, "epochs")));
    for (int k = 0; k < 4; k++) {
      static const char *const equal[] = {"optimizer", "schedule", "lr", "batch"};
      assert_true(json_equal(json_object_get(a, equal[k]), json_object_get(b, equal[k])));
    }
  }
  /* the same network on more columns */
  assert_true(json_integer_value(json_object_get(row_named(rows, names[2]), "parameters")) >
              json_integer_value(json_object_get(row_named(rows, names[1]), "parameters")));
  json_decref(rows);
  assert_true(is_there(both, "figures/heat-models-u.png") && is_there(both, "figures/heat-efficiency-u.svg"));
  assert_true(is_there(both, "heat/runs/u-tiny-native/best.st") && is_there(both, "heat/runs/u-tiny-matched/best.st"));
}

/* What is finished stays in the tables of a later call that does not ask for it. */
static void test_kept(void **state) {
  (void)state;
  dkho_reproduce_options o = tiny_study(NULL, NULL);
  o.figures = "training";
  json_t *rows = study_rows(both, &o);
  assert_non_null(row_named(rows, "tiny (F)"));
  json_decref(rows);
}

static void test_alone(void **state) {
  (void)state;
  dkho_reproduce_options o = tiny_study("tiny", NULL);
  json_t *rows = study_rows(alone, &o);
  assert_non_null(row_named(rows, "tiny (N)"));
  assert_null(row_named(rows, "tiny (F)"));
  assert_null(row_named(rows, "DKHO-small"));
  json_decref(rows);
  assert_true(is_there(alone, "figures/heat-fields.png") && !is_there(alone, "figures/heat-phase.png"));
}

/* A model that is made for the descriptors reads them whatever the others read: the same network as tiny with matched inputs. */
static void test_own_inputs(void **state) {
  (void)state;
  dkho_reproduce_options o = tiny_study("tiny,wide", "both");
  o.figures = "training";
  json_t *rows = study_rows(alone, &o);
  const json_t *own = row_named(rows, "wide"), *same = row_named(rows, "tiny (F)");
  assert_non_null(own);
  assert_null(row_named(rows, "wide (N)"));
  assert_true(json_equal(json_object_get(own, "metrics"), json_object_get(same, "metrics")));
  json_decref(rows);
}

/* A list of optimisers: one for all, others for some; the place in the list does not matter. */
static void test_optimisers(void **state) {
  (void)state;
  const model_type *m;
  study_optimizer by;
  FINE(model_find("fno", &m));
  FINE(study_optimizer_of(NULL, m, &by));
  assert_true(by.kind == OPTIM_ADAMW && by.lr == 0);
  FINE(study_optimizer_of("muon", m, &by));
  assert_true(by.kind == OPTIM_MUON && by.lr == 0);
  FINE(study_optimizer_of("fno=soap:0.5,muon:0.01", m, &by));
  assert_true(by.kind == OPTIM_SOAP && by.lr == 0.5);
  FINE(study_optimizer_of("muon:0.01,fno=adamw", m, &by));
  assert_true(by.kind == OPTIM_ADAMW && by.lr == 0);
  FINE(study_optimizer_of("muon:0.01,fno=adamw", model_at(0), &by));
  assert_true(by.kind == OPTIM_MUON && by.lr == 0.01);
  REFUSED(DKHO_E_INPUT, study_optimizer_of("muon:fast", m, &by), "a rate above zero");
  REFUSED(DKHO_E_INPUT, study_optimizer_of("muon:-1", m, &by), "a rate above zero");
  REFUSED(DKHO_E_INPUT, study_optimizer_of("nobody=muon", m, &by), "no model 'nobody'");
  char none[128], *text = NULL;
  scratch_path(none, dir, "none");
  dkho_reproduce_options o = tiny_study("tiny", NULL);
  o.optimizer = "muon,tiny=best";
  REFUSED(DKHO_E_INPUT, dkho_reproduce("heat", none, &o, &text), "'best'");
  assert_false(is_there(dir, "none"));
}

/* Two problems, one with two targets, by hand: large halves the leading baseline's error of the first and of the second leaves 3/4
 * and 1/4 of it; so the mean is (1/2 + (1/4 + 3/4)/2)/2. */
static void test_headline(void **state) {
  (void)state;
#define ROW(n, e, p)                                                                                                   \
  "{\"name\": \"" n "\", \"source\": \"ours\", \"parameters\": " p ", \"metrics\": {\"rel_l2\": " e "}}"
#define OWN(small, large) ROW("DKHO-small", small, "10") "," ROW("DKHO-large", large, "40")
  static const char text[] =
      "[{\"problem\": \"a\", \"targets\": [{\"target\": \"u\", \"rows\": [" OWN("0.3", "0.1") "," ROW("gno (N)", "0.2", "100") "," ROW(
          "fno (N)", "0.4",
          "5") "," ROW("fno (F)", "0.05",
                       "50") "]}]},"
                             "{\"problem\": \"b\", \"targets\": [{\"target\": \"v\", \"rows\": [" OWN("0.3", "0.3") "," ROW(
                                 "gno (N)", "0.4",
                                 "25") "]}, {\"target\": \"w\", \"rows\": [" OWN("0.3", "0.1") "," ROW("hsd (N)", "0.4",
                                                                                                       "20") "]}]}]";
  json_t *problems = json_loads(text, 0, NULL), *found = study_headline(problems);
  assert_int_equal(json_array_size(found), 2); /* nothing printed: ours alone */
  const json_t *native = json_array_get(found, 0), *matched = json_array_get(found, 1);
  assert_string_equal(json_string_value(json_object_get(native, "inputs")), "native");
  assert_float_equal(json_number_value(json_object_get(native, "mean_reduction")), 0.5, 1e-12);
  assert_float_equal(json_number_value(json_object_get(native, "least_share")), 0.1, 1e-12);
  assert_float_equal(json_number_value(json_object_get(native, "most_share")), 0.5, 1e-12);
  assert_float_equal(json_number_value(json_object_get(matched, "mean_reduction")), -1, 1e-12); /* the baseline wins */
  json_decref(found);
  json_decref(problems);
}

static void test_refused(void **state) {
  (void)state;
  char none[128], *text = NULL;
  scratch_path(none, dir, "none");
  dkho_reproduce_options o = tiny_study("dkho,nobody", NULL);
  REFUSED(DKHO_E_INPUT, dkho_reproduce("heat", none, &o, &text), "no model 'nobody'");
  o = tiny_study("", NULL);
  REFUSED(DKHO_E_INPUT, dkho_reproduce("heat", none, &o, &text), "no model ''");
  o = tiny_study("tiny", "raw");
  REFUSED(DKHO_E_INPUT, dkho_reproduce("heat", none, &o, &text), "native, matched, both");
  o = tiny_study("tiny", NULL);
  o.figures = "phase";
  REFUSED(DKHO_E_INPUT, dkho_reproduce("heat", none, &o, &text), "has no figure 'phase'");
  assert_false(is_there(dir, "none"));
  o = tiny_study("tiny", NULL);
  o.sample = "20";
  REFUSED(DKHO_E_INPUT, dkho_reproduce("heat", alone, &o, &text), "a number below 20");
  o.sample = "first";
  REFUSED(DKHO_E_INPUT, dkho_reproduce("heat", alone, &o, &text), "best, median, worst");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),       cmocka_unit_test(test_kept),
                                     cmocka_unit_test(test_alone),      cmocka_unit_test(test_own_inputs),
                                     cmocka_unit_test(test_optimisers), cmocka_unit_test(test_headline),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, open_world, close_world);
}
