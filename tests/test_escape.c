/* test_escape.c: names inside files lead nowhere. Containers, runs, specifications and meshes in which every name that could become a path is one, to a folder
 * `away` in which nothing may be opened, made or changed (inotify tells), whatever is done with the files; and nothing appears beside what the caller
 * named. What config.json and spec.json name to be read (docs/SECURITY.md) is not asked here. */
#include "poison.h"

#include "data/npy.h"

#include <errno.h>
#include <sys/inotify.h>

static world w;
static char away[128], spec[128], bad[128], run[160], absolute[PATH_MAX];
static int watch, tried, survived;

/* What a name may be: relative to the working directory, to the file, to the output; absolute; with characters that end a name or a line. */
enum { NAMES = 7 };
static char hostile[NAMES][512];

/* A specification for two triangles with these names of the problem, the label, and the input. */
static void write_spec(const char *problem, const char *label, const char *input) {
  char text[12000];
  snprintf(
      text, sizeof text,
      "{\"problem\":\"%s\",\"mesh\":\"m.off\",\"modes\":2,\"labels\":[{\"name\":\"%s\",\"box\":{\"min\":[-1,-1],\"max\":[0.1,2]}}],"
      "\"fields\":[{\"name\":\"%s\",\"role\":\"input\",\"degree\":0,\"file\":\"a.npy\"},"
      "{\"name\":\"u\",\"role\":\"target\",\"degree\":0,\"file\":\"a.npy\"}],\"split\":{\"train\":0.5,\"val\":0.25,\"test\":0.25}}",
      problem, label, input);
  poison_write(spec, text, strlen(text));
}

/* The smallest world: two triangles, six samples, a run of two epochs. */
static void make_world(void) {
  static const char mesh[] = "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n";
  char path[128];
  double value[24];
  scratch_make(w.dir);
  scratch_path(w.data, w.dir, "data.st");
  scratch_path(w.run, w.dir, "run");
  assert_int_equal(mkdirat(AT_FDCWD, scratch_path(w.out, w.dir, "out"), 0777), 0);
  scratch_path(spec, w.dir, "spec.json");
  poison_write(scratch_path(path, w.dir, "m.off"), mesh, sizeof mesh - 1);
  for (int i = 0; i < 24; i++) value[i] = i * 0.1;
  FINE(npy_save(scratch_path(path, w.dir, "a.npy"), 0, ST_F64, 2, (uint64_t[]){6, 4}, value));
  write_spec("mine", "side", "f");
  FINE(dkho_dataset_import(spec, w.data, 0));
  dkho_train_options o = api_options();
  o.target = "u", o.model = "dkho", o.modes = 2;
  FINE(dkho_train(w.data, w.run, &o));
}

static int setup(void **state) {
  (void)state;
  char path[128];
  make_world();
  scratch_path(bad, w.dir, "bad.st");
  snprintf(run, sizeof run, "%s/badrun", w.dir);
  assert_int_equal(mkdirat(AT_FDCWD, scratch_path(away, w.dir, "away"), 0777), 0);
  poison_write(scratch_path(path, away, "victim"), "mine", 4);
  poison_write(scratch_path(path, away, "victim.st"), "mine", 4);
  assert_non_null(realpath(away, absolute));
  snprintf(hostile[0], sizeof *hostile, "%s/victim", away);
  snprintf(hostile[1], sizeof *hostile, "away/victim");
  snprintf(hostile[2], sizeof *hostile, "../away/victim");
  snprintf(hostile[3], sizeof *hostile, "%.500s/victim", absolute);
  snprintf(hostile[4], sizeof *hostile, "../away/made\\n");
  snprintf(hostile[5], sizeof *hostile, "../away/made\\u0000");
  snprintf(hostile[6], sizeof *hostile, "..");
  watch = inotify_init1(IN_NONBLOCK);
  assert_true(watch >= 0);
  assert_true(inotify_add_watch(watch, away, IN_ALL_EVENTS) >= 0);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  close(watch);
  print_message("%d files with hostile names, %d of them fit for use all the same: nothing read or written elsewhere\n",
                tried, survived);
  world_remove(&w);
  return 0;
}

/* Nothing happened in `away`, and the directory of the world holds what it did. */
static void nothing_elsewhere(const char *what, int before) {
  char event[4096];
  ssize_t n = read(watch, event, sizeof event);
  if (n > 0) {
    const struct inotify_event *e = (const void *)event;
    fail_msg("%s: event %x of '%s' where nothing should happen", what, e->mask, e->len ? e->name : ".");
  }
  assert_int_equal(errno, EAGAIN);
  if (scratch_count(w.dir) != before) fail_msg("%s: a file appeared beside the output", what);
  api_remove(w.out);
}

/* Drawing, which takes long, is tried with the names that would lead to `away` from an output. */
static int may_reach(int h) {
  return h == 2 || h == 3;
}

/* Everything that takes a data set. */
static void use_data(const char *path, int draw) {
  char out[160], *text = NULL;
  dkho_dataset *d = NULL;
  dkho_complex *c = NULL;
  dkho_train_options o = api_options();
  o.epochs = 1, o.modes = 2;
  survived += dkho_dataset_open(&d, path) == DKHO_OK;
  dkho_dataset_free(d);
  if (dkho_dataset_check(path, &text) == DKHO_OK) dkho_text_free(text);
  if (dkho_describe(path, &text) == DKHO_OK) dkho_text_free(text);
  if (dkho_complex_read(&c, path) == DKHO_OK) dkho_complex_free(c);
  snprintf(out, sizeof out, "%s/run", w.out);
  dkho_train(path, out, &o);
  if (!draw) return;
  snprintf(out, sizeof out, "%s/page.html", w.out);
  dkho_view(path, out, &(dkho_view_options){.samples = 1, .threads = 1});
  snprintf(out, sizeof out, "%s/plots", w.out);
  dkho_plot(1, &path, out, &(dkho_plot_options){.format = "svg", .threads = 1}, NULL);
}

/* Everything that takes a model or a run. */
static void use_model(const char *path, int draw) {
  static const char *const kind[] = {"p.st", "p.vtu", "p.vtm", "p.pvd", "copy.st", "page.html", "plots"};
  char out[160], *text = NULL;
  dkho_model *m = NULL;
  if (dkho_model_load(&m, path) == DKHO_OK) survived++;
  for (int i = 0; i < 7; i++) {
    snprintf(out, sizeof out, "%s/%s", w.out, kind[i]);
    if (m && i < 4) dkho_predict_file(m, w.data, "test", out, 0, 1, 1);
    if (m && i == 4) dkho_model_save(m, out, 0);
    if (draw && i == 5) dkho_view(path, out, &(dkho_view_options){.data = w.data, .samples = 1, .threads = 1});
    if (draw && i == 6)
      dkho_plot(2, (const char *const[]){path, w.run}, out,
                &(dkho_plot_options){.data = w.data, .format = "svg", .threads = 1}, NULL);
  }
  dkho_model_free(m);
  if (dkho_describe(path, &text) == DKHO_OK) dkho_text_free(text);
  if (dkho_evaluate(path, w.data, "test", 1, &text) == DKHO_OK) dkho_text_free(text);
  if (dkho_model_check(path, 1, &text) == DKHO_OK) dkho_text_free(text);
}

static void test_containers(void **state) {
  (void)state;
  static const struct {
    const char *from, *before, *after;
    int model;
  } place[] = {
      {"\\\"name\\\":\\\"f\\\"", "\\\"name\\\":\\\"", "\\\"", 0},
      {"\\\"name\\\":\\\"u\\\"", "\\\"name\\\":\\\"", "\\\"", 0},
      {"\\\"problem\\\":\\\"mine\\\"", "\\\"problem\\\":\\\"", "\\\"", 0},
      {"\\\"generator\\\":\\\"dkho import\\\"", "\\\"generator\\\":\\\"", "\\\"", 0},
      {"\"c0/in/f\"", "\"", "\"", 0},
      {"\"c0/harmonic0\"", "\"", "\"", 0},
      {"\\\"name\\\":\\\"u\\\"", "\\\"name\\\":\\\"", "\\\"", 1},
      {"\\\"problem\\\":\\\"mine\\\"", "\\\"problem\\\":\\\"", "\\\"", 1},
      {"\\\"target\\\":\\\"u\\\"", "\\\"target\\\":\\\"", "\\\"", 1},
      {"\\\"metrics\\\":\\\"generic\\\"", "\\\"metrics\\\":\\\"", "\\\"", 1},
      {"\"w/enc0.lin1.w\"", "\"", "\"", 1},
  };
  char best[128], to[5000];
  poison_write(bad, "", 0);
  int before = scratch_count(w.dir);
  scratch_path(best, w.run, "best.st");
  for (size_t p = 0; p < sizeof place / sizeof *place; p++)
    for (int h = 0; h < NAMES; h++) {
      snprintf(to, sizeof to, "%s%s%s", place[p].before, hostile[h], place[p].after);
      if (!poison_rename(place[p].model ? best : w.data, bad, place[p].from, to, 1))
        fail_msg("%s stands nowhere", place[p].from);
      tried++;
      if (place[p].model)
        use_model(bad, may_reach(h));
      else
        use_data(bad, may_reach(h));
      nothing_elsewhere(to, before);
    }
}

static void copy_run(void) {
  static const char *const file[] = {"config.json",   "best.st",     "last.st",
                                     "manifest.json", "metrics.csv", "result.json"};
  char from[192], to[192];
  api_remove(run);
  mkdirat(AT_FDCWD, run, 0777);
  for (int i = 0; i < 6; i++) {
    size_t size;
    snprintf(from, sizeof from, "%s/%s", w.run, file[i]);
    snprintf(to, sizeof to, "%s/%s", run, file[i]);
    char *bytes = api_bytes(from, &size);
    poison_write(to, bytes, size);
    free(bytes);
  }
}

/* The files of a run: whatever they say, it is continued, judged and drawn in its own folder or not at all. */
static void test_runs(void **state) {
  (void)state;
  static const struct {
    const char *file, *from, *key;
  } place[] = {{"config.json", "\"target\": \"u\"", "target"},
               {"config.json", "\"model\": \"dkho\"", "model"},
               {"config.json", "\"metrics\": \"generic\"", "metrics"},
               {"config.json", "\"profile\": \"conditioned\"", "profile"},
               {"result.json", "\"target\": \"u\"", "target"},
               {"result.json", "\"problem\": \"mine\"", "problem"},
               {"result.json", "\"model\": \"dkho\"", "model"}};
  char from[192], to[5000], path[192], *text = NULL;
  copy_run();
  int before = scratch_count(w.dir);
  for (size_t p = 0; p < sizeof place / sizeof *place; p++)
    for (int h = 0; h < NAMES; h++) {
      copy_run();
      snprintf(from, sizeof from, "%s/%s", w.run, place[p].file);
      snprintf(path, sizeof path, "%s/%s", run, place[p].file);
      snprintf(to, sizeof to, "\"%s\": \"%s\"", place[p].key, hostile[h]);
      if (!poison_rename(from, path, place[p].from, to, 0)) fail_msg("%s has no %s", from, place[p].from);
      tried++;
      use_model(run, may_reach(h));
      snprintf(path, sizeof path, "%s/packed.st", w.out);
      if (dkho_model_pack(run, w.data, path, 0, 1, &text) == DKHO_OK) dkho_text_free(text);
      if (h < 2) dkho_train_resume(run, w.data, NULL);
      nothing_elsewhere(to, before);
    }
}

/* Names in specifications: of problems, labels and fields. Labels may hold anything printable, and reach pages, figures and exports. */
static void test_specifications(void **state) {
  (void)state;
  char data[192];
  int before = scratch_count(w.dir);
  for (int p = 0; p < 3; p++)
    for (int h = 0; h < NAMES; h++) {
      write_spec(p == 0 ? hostile[h] : "mine", p == 1 ? hostile[h] : "side", p == 2 ? hostile[h] : "f");
      snprintf(data, sizeof data, "%s/data.st", w.out);
      char *found = NULL;
      if (dkho_dataset_check(spec, &found) == DKHO_OK) dkho_text_free(found);
      dkho_complex *c = NULL;
      tried++;
      if (dkho_dataset_import(spec, data, 0) == DKHO_OK) {
        use_data(data, may_reach(h));
        FINE(dkho_complex_read(&c, data)); /* what import takes can be opened */
        snprintf(data, sizeof data, "%s/shape.vtm", w.out);
        FINE(dkho_complex_export(c, data, 0, 0, NULL));
        dkho_complex_free(c);
      }
      nothing_elsewhere(hostile[h], before);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_containers), cmocka_unit_test(test_runs),
                                     cmocka_unit_test(test_specifications)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
