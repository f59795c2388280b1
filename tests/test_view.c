/* test_view.c: pages of dkho_view without a browser, and figures of dkho_plot: what they hold, what is refused, the n-th allocation
 * failing. Pages in a browser: sh_view.sh. */
#include "memory.h"

#include "data/dataset.h"
#include "mesh/generate.h"
#include "report/page.h"

static dkho_status view_run(void) {
  const dkho_view_options o = {.samples = 2, .threads = 1};
  return dkho_view(w.run, w.file, &o);
}
static dkho_status view_data(void) {
  return dkho_view(w.data, w.file, NULL);
}
static dkho_status view_mesh(void) {
  return dkho_view(TEST_DATA "/mesh/annulus_41_bin.msh", w.file, NULL);
}

static dkho_status plot_run(void) {
  const char *const path[2] = {w.run, w.run};
  const dkho_plot_options o = {.threads = 1, .force = 1};
  return dkho_plot(2, path, w.out, &o, &text);
}
static dkho_status plot_data(void) {
  const char *const path[1] = {w.data};
  return dkho_plot(1, path, w.out, NULL, NULL);
}
static dkho_status plot_meshes(void) {
  const char *const path[2] = {TEST_DATA "/mesh/annulus_41_bin.msh", TEST_DATA "/mesh/shell_22_bin.msh"};
  return dkho_plot(2, path, w.out, NULL, NULL);
}

/* The figures of a call are those named, and pictures. */
static void check_figures(dkho_status (*plot)(void), int count, const char *const *name) {
  char path[256];
  size_t size;
  FINE(plot());
  assert_int_equal(scratch_count(w.out), count);
  for (int i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%s.png", w.out, name[i]);
    char *png = api_bytes(path, &size);
    assert_true(size > 3000 && memcmp(png, "\x89PNG", 4) == 0);
    free(png);
  }
  drop_outputs();
}

static void test_plot(void **state) {
  (void)state;
  check_figures(plot_run, 5, (const char *const[]){"training", "minutes", "errors", "fields-run", "runs-q"});
  check_figures(plot_data, 2, (const char *const[]){"mesh", "fields"});
  check_figures(plot_meshes, 1, (const char *const[]){"mesh"});
  const char *const path[2] = {w.run, w.data};
  dkho_plot_options o = {.format = "png,jpg", .threads = 1};
  REFUSED(DKHO_E_INPUT, dkho_plot(1, path, w.out, &o, NULL), "png,jpg");
  REFUSED(DKHO_E_INPUT, dkho_plot(0, path, w.out, NULL, NULL), "0 things");
  assert_int_not_equal(dkho_plot(2, path, w.out, NULL, NULL), DKHO_OK); /* a data set is no run */
  assert_int_equal(scratch_count(w.out), 0);
  o.format = "svg,pdf";
  FINE(dkho_plot(1, path + 1, w.out, &o, &text));
  assert_int_equal(scratch_count(w.out), 4);
  assert_non_null(strstr(text, "/fields.pdf"));
  REFUSED(DKHO_E_EXISTS, dkho_plot(1, path + 1, w.out, &o, NULL), "mesh.svg");
  drop_outputs();
}

static void test_memory(void **state) {
  (void)state;
  sweep(&(trial){"page of a run", view_run, NULL, NULL, 0}, 20);
  sweep(&(trial){"page of a data set", view_data, NULL, NULL, 0}, 20);
  sweep(&(trial){"page of a mesh", view_mesh, NULL, NULL, 0}, 60);
  sweep(&(trial){"figures of runs", plot_run, NULL, NULL, 1}, 2);
  sweep(&(trial){"figures of meshes", plot_meshes, NULL, NULL, 1}, 2);
}

/* The numbers of block `id` of a page: base64, little-endian floats. */
static int64_t decode(const char *html, int id, float *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char tag[64];
  int64_t n = 0;
  uint32_t bits = 0;
  int have = 0, bytes = 0;
  uint32_t word = 0;
  snprintf(tag, sizeof tag, "id=\"b%d\">", id);
  const char *p = strstr(html, tag);
  assert_non_null(p);
  for (p += strlen(tag); *p != '<' && *p != '='; p++) {
    const char *at = strchr(digits, *p);
    assert_non_null(at);
    bits = bits << 6 | (uint32_t)(at - digits);
    if ((have += 6) < 8) continue;
    have -= 8;
    word |= (bits >> have & 255) << 8 * bytes++;
    if (bytes < 4) continue;
    memcpy(&out[n++], &word, sizeof word);
    word = 0, bytes = 0;
  }
  return n;
}

static void test_arrays(void **state) {
  (void)state;
  float v[2000], back[2000];
  size_t size;
  char path[160];
  snprintf(path, sizeof path, "%s/page.html", w.dir);
  for (int i = 0; i < 2000; i++) v[i] = (float)(i * i - 700) / 13;
  page *p = NULL;
  FINE(page_create(&p, path, 0, "a <b> & c"));
  FINE(page_add_field(p, "</script><b>", "inputs", 0, 1, 0));
  for (int n = 0; n < 5; n++) FINE(page_put(p, 0, PAGE_VALUE, n, n, v)); /* every remainder modulo 3 bytes */
  FINE(page_put(p, 0, PAGE_PREDICTION, 0, 2000, v));                     /* longer than a piece */
  assert_true(page_size(p) > 10000);
  FINE(page_commit(p));
  char *html = api_bytes(path, &size);
  for (int n = 0; n < 5; n++) {
    assert_int_equal(decode(html, n, back), n);
    assert_memory_equal(back, v, (size_t)n * sizeof *v);
  }
  assert_int_equal(decode(html, 5, back), 2000);
  assert_memory_equal(back, v, sizeof v);
  assert_non_null(strstr(html, "<title>a &lt;b> &amp; c</title>"));
  assert_null(strstr(html, "</script><b>"));
  assert_non_null(strstr(html, "\\u003c/script>\\u003cb>"));
  free(html);
  assert_int_equal(page_create(&p, path, 0, "again"), DKHO_E_EXISTS);
  assert_null(p);
  FINE(page_create(&p, path, 1, "abandoned"));
  page_abort(p);
  html = api_bytes(path, &size);
  assert_null(strstr(html, "abandoned"));
  free(html);
  assert_int_equal(remove(path), 0);
}

/* Among the first arrays of a page of a run is the reference of the sample of median error, bit for bit. */
static void test_run(void **state) {
  (void)state;
  dkho_view_options o = {.threads = 1, .samples = 1};
  dkho_dataset *d = NULL;
  float value[4096];
  size_t size;
  long long sample;
  FINE(dkho_view(w.run, w.file, &o));
  char *html = api_bytes(w.file, &size);
  const char *title = strstr(html, "\"samples\":[");
  assert_non_null(title);
  assert_int_equal(sscanf(strstr(title, "\"title\":"), "\"title\":\"%lld (median)", &sample), 1);
  FINE(dkho_dataset_open(&d, w.data));
  dkho_field_info info;
  int field = dkho_dataset_find(d, "q");
  FINE(dkho_dataset_field(d, field, &info));
  const float *q = dkho_dataset_value(d, field, sample);
  int found = 0;
  for (int id = 0; id < 5; id++)
    found |= decode(html, id, value) == info.rows && memcmp(value, q, (size_t)info.rows * sizeof *q) == 0;
  assert_true(found);
  dkho_dataset_free(d);
  free(html);
  o.force = 1;
  FINE(dkho_view(w.run, w.file, &o));
  api_remove(w.out);
}

static void test_refusals(void **state) {
  (void)state;
  dkho_view_options o = {.samples = -1};
  REFUSED(DKHO_E_INPUT, dkho_view(w.run, w.file, &o), "-1 samples");
  o = (dkho_view_options){.split = "holdout"};
  REFUSED(DKHO_E_INPUT, dkho_view(w.run, w.file, &o), "holdout");
  REFUSED(DKHO_E_INPUT, dkho_view(w.data, w.file, &o), "holdout");
  REFUSED(DKHO_E_IO, dkho_view("nothing.msh", w.file, NULL), "nothing.msh");
  REFUSED(DKHO_E_EXISTS, dkho_view(w.run, w.data, NULL), "data.st");
  assert_int_equal(scratch_count(w.out), 0);
}

/* ---- several complexes ---- */

enum { SEVERAL = 3, NU = 8, NV = 6, VERTICES = NU * NV, EDGES = 3 * VERTICES };

static dkho_status fill_several(dataset_writer *d, cx **c) {
  static const data_field field[] = {{"f", DATA_INPUT, 0, 1, DATA_SCALE_RMS, 0, 1e-9, 0, 1},
                                     {"u", DATA_TARGET, 1, 1, DATA_SCALE_RMS, 0, 1e-9, 0, 1}};
  float f[VERTICES], u[EDGES];
  const void *block[] = {f, u};
  feat_table table;
  arena mem = {0};
  for (int i = 0; i < SEVERAL; i++) {
    TRY(cx_torus_grid(&c[i], 1, 0.3 + 0.1 * i, NU, NV, 0));
    TRY(dataset_put_cx(d, c[i]));
  }
  for (int i = 0; i < 2; i++) TRY(dataset_put_field(d, &field[i]));
  dkho_status s = feat_generic(&table, &mem, 2, 0, 2, field);
  if (s == DKHO_OK) s = dataset_put_table(d, &table);
  arena_free(&mem);
  for (int i = 0; s == DKHO_OK && i < 2 * SEVERAL; i++) {
    for (int j = 0; j < VERTICES; j++) f[j] = (float)(i + j);
    for (int j = 0; j < EDGES; j++) u[j] = (float)(i * j % 7);
    s = dataset_append(d, i / 2, 1, block);
  }
  return s == DKHO_OK ? dataset_split_random(d, 1, SEVERAL, 0, SEVERAL) : s;
}

/* Two samples on each of three tori: the page and the figures find the complex of every sample they show. */
static void test_several(void **state) {
  (void)state;
  const data_info info = {.problem = "several", .generator = "test", .seed = 1, .params = "{}"};
  cx *c[SEVERAL] = {0};
  dataset_writer *d;
  char path[160];
  size_t size;
  snprintf(path, sizeof path, "%s/several.st", w.dir);
  FINE(dataset_create(&d, path, 0, &info));
  FINE(fill_several(d, c));
  FINE(dataset_commit(d));
  for (int i = 0; i < SEVERAL; i++) cx_free(c[i]);
  FINE(dkho_view(path, w.file, NULL));
  char *html = api_bytes(w.file, &size);
  const char *at = html;
  int complexes = 0;
  while ((at = strstr(at, "\"betti\":[1,2,1]"))) at++, complexes++;
  assert_in_range(complexes, 1, SEVERAL);
  free(html);
  FINE(dkho_plot(1, (const char *const[]){path}, w.out, NULL, NULL));
  drop_outputs();
  assert_int_equal(remove(path), 0);
}

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  return 0;
}
static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_arrays),   cmocka_unit_test(test_run),
                                     cmocka_unit_test(test_refusals), cmocka_unit_test(test_plot),
                                     cmocka_unit_test(test_several),  cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
