/* test_dataset_bad.c: data sets that are malformed, writers that are misused, full disks, failing allocations: each is refused, and no file
 * is left half-written. */
#include "dataset_feed.h"

#include <signal.h>
#include <sys/resource.h>

/* A file made from a good one: text of the description replaced, or a tensor left out or given another shape or type. */
static void tamper(const dataset *d, const char *path, const char *from, const char *to, const char *tensor,
                   const st_tensor *instead) {
  const st_file *f = dataset_file(d);
  st_tensor list[64];
  int n = 0;
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    if (!tensor || strcmp(t->name, tensor) != 0)
      list[n++] = *t;
    else if (instead) {
      list[n] = *instead;
      list[n++].name = t->name;
    }
  }
  char text[16384];
  const char *old = st_meta(f, "dkho.dataset"), *hit = from ? strstr(old, from) : old;
  assert_non_null(hit);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(hit - old), old, from ? to : "", hit + (from ? strlen(from) : 0));
  const char *meta[2][2] = {{"dkho.kind", "dataset"}, {"dkho.dataset", text}};
  assert_int_equal(st_save(path, 1, n, list, 2, meta), DKHO_OK);
}

static const struct {
  const char *from, *to, *expect;
} wrong_text[] = {
    {"{\"version\":1", "{\"version\":2", "dataset.version: found 2, expected 1 to 1"},
    {"{\"version\":1", "{\"version\":\"1\"", "dataset.version: found text, expected a whole number"},
    {"{\"version\":1", "[", "not JSON: line 1"},
    {"\"problem\":\"darcy\"", "\"problem\":7", "dataset.problem: found a whole number, expected text"},
    {"\"problem\":\"darcy\",", "", "dataset.problem: found nothing, expected text"},
    {"\"problem\":", "\"problems\":", "dataset.problems: unknown key"},
    {"\"seed\":\"18446744073709551615\"", "\"seed\":\"x\"", "provenance.seed: found \"x\", expected digits"},
    {"\"parameters\":{", "\"parameters\":[{}],\"x\":{", "provenance.x: unknown key"},
    {"\"mesh_hash\":\"", "\"mesh_hash\":\"0", "complexes[0].mesh_hash: the complex has"},
    {"\"samples\":7", "\"samples\":8", "c0/in/f"},
    {"\"samples\":7", "\"samples\":-7", "complexes[0].samples: found -7, expected 0 to"},
    {"\"name\":\"f\"", "\"name\":\"f-1\"", "field \"f-1\": a name has 1 to 63 letters, digits and _"},
    {"\"name\":\"f\"", "\"name\":\"g\"", "field g: two fields have this name"},
    {"\"role\":\"input\"", "\"role\":\"output\"", "fields[0].role: found \"output\", expected one of input, target"},
    {"\"role\":\"input\"", "\"role\":\"target\"", "f is a target; descriptors may not see targets"},
    {"\"role\":\"input\",\"degree\":0", "\"role\":\"input\",\"degree\":3",
     "field f: degree 3 on a complex of dimension 2"},
    {"\"degree\":0", "\"degree\":4", "fields[0].degree: found 4, expected 0 to 3"},
    {"\"channels\":1", "\"channels\":0", "fields[0].channels: found 0, expected 1 to 4096"},
    {"\"channels\":1", "\"channels\":2", "c0/in/f"},
    {"\"rule\":\"meanstd\"", "\"rule\":\"median\"", "fields[0].scaling.rule: found \"median\", expected one of none"},
    {"\"over\":\"train\"", "\"over\":\"test\"",
     "fields[0].scaling.over: found \"test\", expected one of train, train+val"},
    {"\"scale\":1", "\"scale\":0,\"x\":1", "scaling.x: unknown key"},
    {"\"scale\":1.0}", "\"scale\":0.0}", "expected finite numbers and a positive scale"},
    {"\"shift\":", "\"shift\":\"a\",\"scale\":", "not JSON: line 1: duplicate object key"},
    {"\"group\":\"native\"", "\"group\":\"foreign\"",
     "features.rows[0].group: found \"foreign\", expected one of native"},
    {"\"expr\":\"f\"", "\"expr\":\"f)\"", "descriptors: row 0 \"f\": expression \"f)\": unexpected text"},
    {"\"expr\":\"d(f)\"", "\"expr\":\"p\"", "p is a target; descriptors may not see targets"},
    {"\"recipes\":[", "\"recipes\":{},\"x\":[", "dataset.x: unknown key"},
    {"\"target\":\"p\"", "\"target\":\"f\"", "recipe 0: no target is called \"f\""},
    {"\"target\":\"p\"", "\"target\":\"q\"", "recipe 1: target q has one already"},
    {"\"epochs\":200", "\"epochs\":0", "recipes[0].epochs: found 0, expected 1 to 1000000"},
    {"\"lr\":0.001", "\"lr\":-1", "recipe p: lr is -1, expected a number ≥ 0"},
    {"\"harmonic\":0", "\"harmonic\":1", "target q has a harmonic head but c0/harmonic1 is missing"},
};

static void expect_refused(const char *path, const char *expect) {
  dataset *d = NULL;
  size_t live = mem_live_blocks();
  dkho_status s = dataset_open(&d, path);
  assert_true(s == DKHO_E_FORMAT || s == DKHO_E_NONFINITE);
  assert_null(d);
  assert_int_equal(mem_live_blocks(), live);
  if (!strstr(fail_text(), expect) || !strstr(fail_text(), "bad.st: ")) {
    print_error("\"%s\": expected \"%s\"\n", fail_text(), expect);
    assert_true(0);
  }
}

static void test_wrong_text(void **state) {
  (void)state;
  place p = place_make();
  char path[128];
  scratch_path(path, p.dir, "bad.st");
  for (size_t i = 0; i < sizeof wrong_text / sizeof *wrong_text; i++) {
    tamper(p.set, path, wrong_text[i].from, wrong_text[i].to, NULL, NULL);
    expect_refused(path, wrong_text[i].expect);
  }
  const char *meta[2][2] = {{"dkho.kind", "model"}, {"dkho.dataset", "{}"}};
  assert_int_equal(st_save(path, 1, 0, NULL, 2, (const char *const(*)[2])meta), DKHO_OK);
  expect_refused(path, "dkho.kind: found \"model\", expected \"dataset\"");
  assert_int_equal(st_save(path, 1, 0, NULL, 1, (const char *const(*)[2])meta + 1), DKHO_OK);
  expect_refused(path, "dkho.kind");
  place_free(&p);
}

static void test_wrong_tensors(void **state) {
  (void)state;
  static const int64_t descending[] = {3, 2}, outside[] = {1, 99}, negative[] = {-1, 4}, twice[] = {4, 4};
  static const double bad_g[2 * S] = {[5] = INFINITY};
  static const struct {
    const char *name, *expect;
    st_tensor instead;
  } cases[] = {
      {"split/train", "split/train", {.rank = -1}},
      {"split/val", "split/val[1] is 2, not above the one before", {NULL, ST_I64, 1, {2}, 2, descending}},
      {"split/val", "split/val[1] is 99, expected 0 to 10", {NULL, ST_I64, 1, {2}, 2, outside}},
      {"split/val", "split/val[0] is -1, expected 0 to 10", {NULL, ST_I64, 1, {2}, 2, negative}},
      {"split/val", "split/val[1] is 4, not above", {NULL, ST_I64, 1, {2}, 2, twice}},
      {"split/train", "split/train is empty", {NULL, ST_I64, 1, {0}, 0, descending}},
      {"split/test", "split/test", {NULL, ST_F64, 1, {2}, 2, bad_g}},
      {"global/g", "global/g: element 5 is not finite", {NULL, ST_F64, 2, {S, 2}, 2 * S, bad_g}},
      {"global/g", "global/g", {NULL, ST_F64, 2, {2, S}, 2 * S, bad_g}},
      {"c1/in/f", "c1/in/f", {.rank = -1}},
      {"c0/static/spectral0", "c0/static/spectral0", {.rank = -1}},
      {"c1/harmonic0", "target p has a harmonic head but c1/harmonic0 is missing", {.rank = -1}},
      {"c0/x", "c0/x", {.rank = -1}},
  };
  place p = place_make();
  char path[128];
  scratch_path(path, p.dir, "bad.st");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tamper(p.set, path, NULL, NULL, cases[i].name, cases[i].instead.rank < 0 ? NULL : &cases[i].instead);
    expect_refused(path, cases[i].expect);
  }
  int64_t n, shared;
  shared = dataset_split(p.set, DATA_TRAIN, &n)[2];
  st_tensor one = {NULL, ST_I64, 1, {1}, 1, &shared};
  tamper(p.set, path, NULL, NULL, "split/test", &one);
  expect_refused(path, "is in split/train and in split/test");
  place_free(&p);
}

/* A writer that fails leaves nothing: neither target nor temporary files. */
static void test_writer_refusals(void **state) {
  (void)state;
  feed d = feed_make();
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "d.st");
  size_t live = mem_live_blocks();
  dataset_writer *w;
  data_info bad_info = info;
  bad_info.params = "[1]";
  assert_int_equal(dataset_create(&w, path, 0, &bad_info), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "expected a JSON object"));

  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_OK);
  assert_int_equal(dataset_commit(w), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "a data set needs samples"));

  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_OK);
  assert_int_equal(fill(w, &d), DKHO_OK);
  assert_int_equal(dataset_split_random(w, 1, 6, 4, 2), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "split 6 + 4 + 2 of 11 samples"));
  const int64_t repeated[] = {3, 3};
  assert_int_equal(dataset_split_list(w, DATA_TEST, 2, repeated), DKHO_OK);
  assert_int_equal(dataset_commit(w), DKHO_E_FORMAT);

  d.p[1][5] = NAN;
  assert_int_equal(make(path, &d), DKHO_E_NONFINITE);
  assert_non_null(strstr(fail_text(), "d.st: field p: sample 7: element 5 is not finite"));
  d.p[1][5] = 0;

  /* a static without values on the second complex */
  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_OK);
  for (int i = 0; i < 2; i++) assert_int_equal(dataset_put_cx(w, d.c[i]), DKHO_OK);
  for (int i = 0; i < FIELDS; i++) assert_int_equal(dataset_put_field(w, &fields[i]), DKHO_OK);
  assert_int_equal(put_complex(w, &d, 0), DKHO_OK);
  assert_int_equal(dataset_put_static(w, 0, "g", d.g), DKHO_E_INPUT);
  assert_int_equal(dataset_put_table(w, &table), DKHO_OK);
  assert_int_equal(append(w, &d), DKHO_OK);
  assert_int_equal(dataset_split_random(w, 1, 6, 2, 3), DKHO_OK);
  assert_int_equal(dataset_commit(w), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "static field position0 has no values on complex 1"));
  assert_int_equal(scratch_count(dir), 0);

  assert_int_equal(make(path, &d), DKHO_OK);
  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_E_EXISTS);
  assert_int_equal(dataset_create(&w, "no such directory/d.st", 0, &info), DKHO_E_IO);
  assert_int_equal(dataset_create(&w, dir, 1, &info), DKHO_E_EXISTS);
  assert_int_equal(dataset_create(&w, "", 1, &info), DKHO_E_INPUT);
  assert_int_equal(scratch_count(dir), 1);
  assert_int_equal(mem_live_blocks(), live);
  feed_free(&d);
  scratch_remove(dir);
}

/* A full disk, in the samples and in the container: an error, and no file. */
static void test_no_room(void **state) {
  (void)state;
  static const rlim_t limits[] = {512, 6000};
  feed d = feed_make();
  char dir[64], path[128];
  struct rlimit old;
  scratch_make(dir);
  scratch_path(path, dir, "d.st");
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 2; i++) {
    struct rlimit tight = {limits[i], old.rlim_max};
    size_t live = mem_live_blocks();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    dkho_status s = make(path, &d);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(s, DKHO_E_IO);
    assert_non_null(strstr(fail_text(), i ? "d.st: cannot write: " : "d.st: cannot write beside it: "));
    assert_int_equal(scratch_count(dir), 0);
    assert_int_equal(mem_live_blocks(), live);
  }
  signal(SIGXFSZ, handler);
  feed_free(&d);
  scratch_remove(dir);
}

static void test_no_memory(void **state) {
  (void)state;
  feed d = feed_make();
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "d.st");
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    mem_fail_at(n);
    s = make(path, &d);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    assert_int_equal(scratch_count(dir), s == DKHO_OK);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(n < 2000);
  }
  s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    dataset *set = NULL;
    mem_fail_at(n);
    s = dataset_open(&set, path);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    dataset_free(set);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(n < 2000);
  }
  feed_free(&d);
  scratch_remove(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_wrong_text), cmocka_unit_test(test_wrong_tensors),
                                     cmocka_unit_test(test_writer_refusals), cmocka_unit_test(test_no_room),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
