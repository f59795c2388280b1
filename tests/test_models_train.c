/* Every model through the public header: one thread straight through, or many threads, stopped and resumed, give the same file; it
 * loads, predicts, and is written again as it was. */
#include "api.h"

static world w;

static const struct {
  const char *model, *target;
  const char *options[6];
} cases[] = {
    {"dkho-x", "q", {"h=8", "layers=2", "spectral=4"}},
    {"dkho-x", "u", {"h=8", "layers=2", "spectral=4", "relation=kuramoto", "entrywise=modes"}},
    {"dkho-x", "m", {"h=6", "layers=2", "spectral=0", "relation=kuramoto", "exchange=unsigned"}},
    {"dkho-x", "q", {"h=8", "layers=2", "spectral=0", "latent=5"}},
    {"gno", "q", {"h=6", "project=5", "layers=2", "radius=0.4"}},
    {"mgn", "u", {"h=6", "steps=2"}},
    {"deeponet", "m", {"branch=6", "trunk=5", "last=4", "basis=5"}},
    {"fno", "q", {"w=3", "layers=2", "modes=3"}},
    {"fno", "u", {"w=3", "layers=2", "modes=2"}},
    {"geofno", "m", {"w=3", "layers=2", "modes=3"}},
    {"geofno", "u", {"w=3", "layers=2", "modes=2", "behaviour=published"}},
    {"hsd", "q", {"modes=8", "h=6", "w=3", "layers=2", "grid_modes=3"}},
    {"hsd", "u", {"modes=8", "h=6", "w=3", "layers=2", "grid_modes=2"}},
    {"tno", "q", {"w=8", "layers=2"}},
    {"attention", "m", {"w=8", "layers=2", "heads=2", "tokens=5"}},
    {"attention", "u", {"w=8", "layers=2", "heads=2", "tokens=5", "mixer=latent"}},
};

static int stop_after_a_step(void *count) {
  return ++*(int *)count >= 2;
}

static dkho_train_options case_options(size_t i) {
  dkho_train_options o = api_options();
  o.model = cases[i].model, o.target = cases[i].target, o.options = cases[i].options;
  return o;
}

static void same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dkho_train_options o = case_options(i);
    char straight[160], broken[160], a[200], b[200];
    int calls = 0;
    snprintf(straight, sizeof straight, "%s/one%zu", w.out, i);
    snprintf(broken, sizeof broken, "%s/many%zu", w.out, i);
    FINE(dkho_train(w.data, straight, &o));
    o.threads = 5, o.stop = stop_after_a_step, o.stop_user = &calls;
    REFUSED(DKHO_E_STOPPED, dkho_train(w.data, broken, &o), "checkpoint");
    o.threads = 2, o.stop = NULL;
    FINE(dkho_train_resume(broken, NULL, &o));
    snprintf(a, sizeof a, "%s/best.st", straight);
    snprintf(b, sizeof b, "%s/best.st", broken);
    if (!api_same_file(a, b)) fail_msg("%s for %s: other weights after a stop", cases[i].model, cases[i].target);
  }
}

static void loads_and_saves(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char run[160], kept[200], again[200], *json;
    dkho_model *m;
    snprintf(run, sizeof run, "%s/one%zu", w.out, i);
    snprintf(kept, sizeof kept, "%s/best.st", run);
    snprintf(again, sizeof again, "%s/again.st", w.out);
    FINE(dkho_model_load(&m, kept));
    FINE(dkho_model_save(m, again, 1));
    dkho_model_free(m);
    if (!api_same_file(kept, again)) fail_msg("%s: another file after loading and saving", cases[i].model);
    FINE(dkho_evaluate(run, w.data, "test", 1, &json));
    assert_non_null(strstr(json, "rel_l2"));
    dkho_text_free(json);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(loads_and_saves)};
  world_make(&w, "torus", "q");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  world_remove(&w);
  return failed;
}
