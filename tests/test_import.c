/* test_import.c: a user's mesh and arrays: the data set that comes of them, and what is refused. */
#include "scratch.h"

#include "data/import.h"
#include "data/npy.h"

#include <math.h>

enum { S = 10, N0 = 9, N1 = 16, N2 = 8 };

/* A 3 × 3 square grid in the plane z = 0, as .off: read as a planar complex. */
static void write_mesh(const char *path) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "OFF\n9 8 0\n");
  for (int i = 0; i < 9; i++) fprintf(f, "%d %d 0\n", i % 3, i / 3);
  for (int i = 0; i < 4; i++) {
    int a = i / 2 * 3 + i % 2;
    fprintf(f, "3 %d %d %d\n3 %d %d %d\n", a, a + 1, a + 3, a + 1, a + 4, a + 3);
  }
  fclose(f);
}

static void write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

typedef struct place {
  char dir[64], spec[128], out[128];
} place;

static place place_make(void) {
  place p;
  char path[128];
  double f[S * N0], kappa[N0];
  float q[S * N1 * 2];
  double re[S];
  scratch_make(p.dir);
  scratch_path(p.spec, p.dir, "spec.json");
  scratch_path(p.out, p.dir, "d.st");
  write_mesh(scratch_path(path, p.dir, "m.off"));
  for (int i = 0; i < S * N0; i++) f[i] = sin(i);
  for (int i = 0; i < N0; i++) kappa[i] = 1 + i;
  for (int i = 0; i < S * N1 * 2; i++) q[i] = (float)cos(i);
  for (int i = 0; i < S; i++) re[i] = i;
  const uint64_t sf[] = {S, N0}, sk[] = {N0}, sq[] = {S, N1, 2}, sr[] = {S};
  assert_int_equal(npy_save(scratch_path(path, p.dir, "f.npy"), 1, ST_F64, 2, sf, f), DKHO_OK);
  assert_int_equal(npy_save(scratch_path(path, p.dir, "kappa.npy"), 1, ST_F64, 1, sk, kappa), DKHO_OK);
  assert_int_equal(npy_save(scratch_path(path, p.dir, "q.npy"), 1, ST_F32, 3, sq, q), DKHO_OK);
  assert_int_equal(npy_save(scratch_path(path, p.dir, "re.npy"), 1, ST_F64, 1, sr, re), DKHO_OK);
  return p;
}

#define HEAD "{\"problem\":\"mine\",\"mesh\":\"m.off\",\"seed\":7,"
#define LABELS                                                                                                         \
  "\"labels\":[{\"name\":\"left\",\"box\":{\"min\":[-1,-9],\"max\":[0.1,9]}},"                                         \
  "{\"name\":\"corner\",\"ball\":{\"centre\":[2,2],\"radius\":0.5}},"                                                  \
  "{\"name\":\"rest\",\"box\":{\"min\":[-9,-9],\"max\":[9,9]}}],"
#define F "{\"name\":\"f\",\"role\":\"input\",\"degree\":0,\"file\":\"f.npy\"}"
#define Q "{\"name\":\"q\",\"role\":\"target\",\"degree\":1,\"file\":\"q.npy\"}"
#define OTHERS                                                                                                         \
  ",{\"name\":\"kappa\",\"role\":\"static\",\"degree\":0,\"file\":\"kappa.npy\"},"                                     \
  "{\"name\":\"re\",\"role\":\"global\",\"file\":\"re.npy\",\"scaling\":{\"rule\":\"maxabs\",\"eps\":0.5}}"
#define FIELDS "\"fields\":[" F "," Q OTHERS "],"
#define SPLIT "\"split\":{\"train\":0.6,\"val\":0.2,\"test\":0.2}"

static dkho_status spectral(void *user, const cx *c, int k, int modes, double *out) {
  (void)user;
  for (int64_t i = 0; i < c->n[k] * modes; i++) out[i] = (double)(i % 5);
  return DKHO_OK;
}

static dkho_status harmonic(void *user, const cx *c, int k, int64_t *count, double **columns) {
  *count = k == *(int *)user;
  if (!MEM_NEW(*columns, c->n[k])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < c->n[k]; i++) (*columns)[i] = 1;
  return DKHO_OK;
}

static void test_import(void **state) {
  (void)state;
  place p = place_make();
  int degree = 1;
  import_hooks hooks = {.user = &degree, .spectral = spectral, .harmonic = harmonic};
  dataset *d;
  write_text(p.spec,
             HEAD LABELS FIELDS SPLIT ",\"modes\":4,\"recipes\":[{\"target\":\"q\",\"epochs\":12,\"lr\":0.01}]}");
  assert_int_equal(data_import(p.spec, p.out, 0, &hooks), DKHO_OK);
  assert_int_equal(data_import(p.spec, p.out, 0, &hooks), DKHO_E_EXISTS);
  /* a basis makes the recipe ask for the harmonic branch; this one is none, and is found out */
  st_file *file;
  assert_int_equal(st_open(&file, p.out), DKHO_OK);
  assert_non_null(strstr(st_meta(file, "dkho.dataset"), "\"harmonic\":1"));
  st_close(file);
  assert_int_equal(dataset_open(&d, p.out), DKHO_E_FORMAT);
  assert_non_null(strstr(fail_text(), "d.st: c0/harmonic1: column 0 belongs to another complex"));
  degree = -1;
  assert_int_equal(data_import(p.spec, p.out, 1, &hooks), DKHO_OK);
  assert_int_equal(dataset_open(&d, p.out), DKHO_OK);
  const cx *c = dataset_cx(d, 0);
  assert_int_equal(c->n[1], N1);
  assert_int_equal(c->labels, 4);
  assert_string_equal(c->label_name[1], "left");
  int32_t left = 0, corner = 0;
  for (int i = 0; i < N0; i++) left += c->label[0][i] == 1, corner += c->label[0][i] == 2;
  assert_true(left == 3 && corner == 1);
  assert_true(c->label[0][1] == 3 && c->label[0][4] == 0); /* labels are for the boundary */
  left = 0;
  for (int i = 0; i < N1; i++) left += c->label[1][i] == 1;
  assert_int_equal(left, 2);
  assert_int_equal(dataset_samples(d), S);
  int64_t n;
  dataset_split(d, DATA_TRAIN, &n);
  assert_int_equal(n, 6);
  int f = dataset_find(d, "f"), re = dataset_find(d, "re"), kappa = dataset_find(d, "kappa");
  for (int s = 0; s < S; s++) {
    for (int i = 0; i < N0; i++) assert_true(dataset_value(d, f, s)[i] == (float)sin(s * N0 + i));
    assert_true(dataset_global(d, re, s)[0] == s);
  }
  assert_true(dataset_static(d, kappa, 0)[4] == 5);
  assert_true(dataset_field(d)[re].rule == DATA_SCALE_MAXABS && dataset_field(d)[re].eps == 0.5);
  assert_int_equal(dataset_field(d)[dataset_find(d, "q")].channels, 2);
  assert_true(dataset_find(d, "distance0") >= 0 && dataset_field(d)[dataset_find(d, "distance0")].channels == 3);
  const data_recipe *r = dataset_recipe(d, "q");
  assert_true(r->epochs == 12 && r->lr == 0.01 && r->batch == 16 && r->modes == 4 && r->harmonic == 0);
  features *x;
  assert_int_equal(dataset_features(&x, d, FEAT_SUMMARY, 4), DKHO_OK);
  /* f, re, kappa, position 2, label 4, distance 3, spectral 4, heat 3, summary 1 + 1 + 2 */
  assert_int_equal(features_width(x, 0), 1 + 1 + 1 + 2 + 4 + 3 + 4 + 3 + 4);
  features_free(x);
  dataset_free(d);
  scratch_remove(p.dir);
}

/* No hooks, explicit lists, a table of the user's own. */
static void test_plain(void **state) {
  (void)state;
  place p = place_make();
  dataset *d;
  write_text(p.spec, HEAD FIELDS "\"split\":{\"train\":[5,1,3],\"test\":[0]},\"features\":{\"rows\":[{\"name\":\"a\","
                                 "\"degree\":1,\"group\":\"native\",\"expr\":\"d(f)\"}],\"summary\":[]}}");
  assert_int_equal(data_import(p.spec, p.out, 0, NULL), DKHO_OK);
  assert_int_equal(dataset_open(&d, p.out), DKHO_OK);
  int64_t n;
  const int64_t *v = dataset_split(d, DATA_TRAIN, &n);
  assert_true(n == 3 && v[0] == 1 && v[1] == 3 && v[2] == 5);
  dataset_split(d, DATA_VAL, &n);
  assert_int_equal(n, 0);
  assert_int_equal(dataset_table(d)->rows, 1);
  assert_int_equal(dataset_recipe(d, "q")->harmonic, 0);
  dataset_free(d);
  scratch_remove(p.dir);
}

/* Arrays with a row for every point and element of the file, of which one point is not used and every element is cut in two. */
static void test_rows_of_the_file(void **state) {
  (void)state;
  place p = place_make();
  char path[128];
  dataset *d;
  write_text(scratch_path(path, p.dir, "m.off"), "OFF\n7 2 0\n0 0 0\n5 5 0\n1 0 0\n1 1 0\n0 1 0\n2 0 0\n2 1 0\n"
                                                 "4 0 2 3 4\n4 2 5 6 3\n");
  float u[3 * 7], kappa[2 * 2] = {1, 2, 3, 4};
  for (int i = 0; i < 21; i++) u[i] = (float)i;
  assert_int_equal(npy_save(scratch_path(path, p.dir, "u.npy"), 1, ST_F32, 2, (uint64_t[]){3, 7}, u), DKHO_OK);
  assert_int_equal(npy_save(scratch_path(path, p.dir, "k.npy"), 1, ST_F32, 2, (uint64_t[]){2, 2}, kappa), DKHO_OK);
#define ROWS(u, k)                                                                                                     \
  HEAD "\"fields\":[{\"name\":\"u\",\"role\":\"target\",\"degree\":0,\"file\":\"u.npy\"" u                             \
       "},{\"name\":\"k\",\"role\":\"static\",\"degree\":2,\"file\":\"k.npy\"" k "}],"                                 \
       "\"split\":{\"train\":[0],\"val\":[1],\"test\":[2]}}"
#define OF_FILE ",\"rows\":\"file\""
  write_text(p.spec, ROWS(OF_FILE, OF_FILE));
  if (data_import(p.spec, p.out, 0, NULL) != DKHO_OK) fail_msg("%s", dkho_error());
  assert_int_equal(dataset_open(&d, p.out), DKHO_OK);
  static const int point[6] = {0, 2, 3, 4, 5, 6};
  for (int s = 0; s < 3; s++)
    for (int i = 0; i < 6; i++) assert_true(dataset_value(d, dataset_find(d, "u"), s)[i] == (float)(7 * s + point[i]));
  for (int i = 0; i < 8; i++) assert_true(dataset_static(d, dataset_find(d, "k"), 0)[i] == kappa[i / 4 * 2 + i % 2]);
  dataset_free(d);
  write_text(p.spec, ROWS(OF_FILE, ""));
  assert_int_equal(data_import(p.spec, p.out, 1, NULL), DKHO_E_INPUT);
  assert_non_null(
      strstr(dkho_error(), "axis 0 has 2 entries, the mesh has 4 simplices of degree 2 (\"rows\": \"file\" says"));
  scratch_remove(p.dir);
}

static const struct {
  const char *spec, *expect;
} bad[] = {
    {"[]", "import: found an array, expected an object"},
    {"{", "not JSON: line 1"},
    {"{}", "import.problem: found nothing, expected text"},
    {"{\"problem\":\"x\"}", "import.mesh: found nothing, expected text"},
    {HEAD "\"color\":1}", "import.color: unknown key"},
    {"{\"problem\":\"x\",\"mesh\":\"none.off\"}", "none.off"},
    {HEAD SPLIT "}", "import.fields: found nothing, expected an array"},
    {HEAD "\"fields\":[]," SPLIT "}", "fields: no array has samples"},
    {HEAD "\"fields\":[" F "]," SPLIT "}", "no field is a target"},
    {HEAD "\"fields\":[" F "," Q "," F "]," SPLIT "}", "field f: two fields have this name"},
    {HEAD "\"fields\":[{\"name\":\"f\",\"role\":\"input\",\"degree\":1,\"file\":\"f.npy\"}]," SPLIT "}",
     "f.npy: axis 1 has 9 entries, the mesh has 16 simplices of degree 1"},
    {HEAD "\"fields\":[{\"name\":\"f\",\"role\":\"input\",\"degree\":3,\"file\":\"f.npy\"}]," SPLIT "}",
     "fields[0].degree: found 3, expected 0 to 2"},
    {HEAD "\"fields\":[{\"name\":\"f\",\"role\":\"static\",\"degree\":0,\"file\":\"q.npy\"}]," SPLIT "}",
     "q.npy: 3 axes, expected simplices[, channels]"},
    {HEAD "\"fields\":[{\"name\":\"f\",\"role\":\"input\",\"degree\":0,\"file\":\"re.npy\"}]," SPLIT "}",
     "re.npy: 1 axes, expected samples, simplices[, channels]"},
    {HEAD "\"fields\":[{\"name\":\"weight\",\"role\":\"input\",\"degree\":0,\"file\":\"f.npy\"}," Q "]," SPLIT "}",
     "field weight: two fields have this name"},
    {HEAD "\"fields\":[" F "," Q ",{\"name\":\"g\",\"role\":\"global\",\"file\":\"kappa.npy\"}]," SPLIT "}",
     "kappa.npy: 9 samples, an array before it has 10"},
    {HEAD "\"fields\":[" F "," Q ",{\"name\":\"g\",\"role\":\"global\",\"file\":\"re.npy\",\"rows\":\"file\"}]," SPLIT
          "}",
     "rows"},
    {HEAD FIELDS SPLIT ",\"recipes\":[{\"target\":\"q\",\"epochs\":0}]}", "epochs"},
    {HEAD "\"labels\":[{\"name\":\"a\\nb\",\"box\":{\"min\":[0,0],\"max\":[1,1]}}]," FIELDS SPLIT "}",
     "label names: name 1 is not UTF-8 or holds control characters"},
    {HEAD "\"labels\":[{\"name\":\"a\"}]," FIELDS SPLIT "}", "labels[0]: expected either a box or a ball"},
    {HEAD "\"labels\":[{\"name\":\"a\",\"box\":{\"min\":[0,0,0],\"max\":[1,1,1]}}]," FIELDS SPLIT "}",
     "labels[0].box.min: 3 numbers, expected 2"},
    {HEAD FIELDS "\"split\":{\"train\":0.9,\"val\":0.2}}", "split: the fractions sum to 1.1"},
    {HEAD FIELDS "\"split\":{\"train\":-0.5}}", "split.train: found -0.5, expected a fraction"},
    {HEAD FIELDS "\"split\":{\"train\":[1,2],\"test\":[2]}}", "sample 2 is in split/train and in split/test"},
    {HEAD FIELDS "\"split\":{\"train\":[1.5]}}", "split.train[0]: expected a whole number"},
    {HEAD FIELDS "\"split\":{\"train\":[10]}}", "split.train[0]: found 10, there are samples 0 … 9"},
    {HEAD FIELDS "\"modes\":0," SPLIT "}", "import.modes: found 0"},
    {HEAD FIELDS SPLIT ",\"recipes\":[{\"target\":\"f\"}]}", "recipes: an entry names no target"},
    {HEAD FIELDS SPLIT ",\"recipes\":[{\"target\":\"q\",\"lrr\":1}]}", "recipes[0].lrr: unknown key"},
    {HEAD FIELDS SPLIT ",\"features\":{\"rows\":[{\"name\":\"a\",\"degree\":1,\"group\":\"native\",\"expr\":\"q\"}],"
                       "\"summary\":[]}}",
     "q is a target"},
};

static void test_refusals(void **state) {
  (void)state;
  place p = place_make();
  int before = scratch_count(p.dir) + 1;
  size_t live = mem_live_blocks();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_text(p.spec, bad[i].spec);
    assert_int_not_equal(data_import(p.spec, p.out, 0, NULL), DKHO_OK);
    if (!strstr(fail_text(), bad[i].expect)) {
      print_error("\"%s\": expected \"%s\"\n", fail_text(), bad[i].expect);
      assert_true(0);
    }
    assert_int_equal(mem_live_blocks(), live);
    assert_int_equal(scratch_count(p.dir), before);
  }
  scratch_remove(p.dir);
}

static void test_no_memory(void **state) {
  (void)state;
  place p = place_make();
  int degree = 1;
  import_hooks hooks = {.user = &degree, .spectral = spectral, .harmonic = harmonic};
  write_text(p.spec, HEAD LABELS FIELDS SPLIT "}");
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    mem_fail_at(n);
    s = data_import(p.spec, p.out, 0, &hooks);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(n < 5000);
  }
  scratch_remove(p.dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_import), cmocka_unit_test(test_plain),
                                     cmocka_unit_test(test_rows_of_the_file), cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
