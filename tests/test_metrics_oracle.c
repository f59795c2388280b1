/* Every metric of every list against values computed in NumPy and SciPy (tools/make_metric_fixtures.py). */
#include "base/st.h"
#include "run/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

/* Column-major copy of the fixture's basis, NULL when it has none. */
static double *basis(const st_file *f, int64_t *count) {
  const st_tensor *t = st_find(f, "harmonic");
  *count = t ? (int64_t)t->shape[1] : 0;
  if (!t) return NULL;
  double *out = mem_alloc((size_t)t->count, sizeof *out);
  for (uint64_t i = 0; i < t->shape[0]; i++)
    for (uint64_t j = 0; j < t->shape[1]; j++)
      out[j * t->shape[0] + i] = ((const double *)t->data)[i * t->shape[1] + j];
  return out;
}

/* Per-sample values, joined. */
static void judge(const metrics *m, const st_tensor *pred, const st_tensor *target, double *result) {
  int64_t samples = (int64_t)pred->shape[0], entries = (int64_t)(pred->count / pred->shape[0]);
  double *values = mem_alloc((size_t)(samples * metrics_count(m)), sizeof *values);
  double *work = mem_alloc(metrics_work(m), sizeof *work);
  for (int64_t s = 0; s < samples; s++)
    metrics_sample(m, (const double *)pred->data + s * entries, (const double *)target->data + s * entries, work,
                   values + s * metrics_count(m));
  metrics_reduce(m, samples, values, result, NULL);
  mem_free(work);
  mem_free(values);
}

static void check_file(const char *name) {
  char path[512];
  const char *list, *degree, *text;
  const st_tensor *pred, *target;
  st_file *f;
  cx *c;
  metrics *m;
  metrics_given given = {0};
  snprintf(path, sizeof path, "%s/metrics/%s.st", TEST_DATA, name);
  ok(st_open(&f, path));
  ok(cx_get(&c, f, ""));
  ok(st_need_meta(f, "list", &list));
  ok(st_need_meta(f, "degree", &degree));
  ok(st_need_meta(f, "expected", &text));
  ok(st_need(f, "pred", ST_F64, 3, (const int64_t[]){-1, -1, -1}, &pred));
  ok(st_need(f, "target", ST_F64, 3, (const int64_t[]){-1, -1, -1}, &target));
  double *columns = basis(f, &given.harmonics), result[64];
  given.harmonic = columns;
  ok(metrics_create(&m, c, list, degree[0] - '0', (int)pred->shape[2], &given));
  json_t *expected = json_loads(text, 0, NULL);
  assert_non_null(expected);
  assert_int_equal(metrics_count(m), json_object_size(expected));
  assert_true(metrics_count(m) <= 64);
  judge(m, pred, target, result);
  for (int i = 0; i < metrics_count(m); i++) {
    const char *key = metrics_at(m, i)->key;
    json_t *want = json_object_get(expected, key);
    if (!want) fail_msg("%s: the oracle has no %s", name, key);
    double v = json_number_value(want);
    if (!(fabs(result[i] - v) <= 1e-9 * fmax(fabs(v), 1e-3)))
      fail_msg("%s: %s: found %.17g, expected %.17g", name, key, result[i], v);
  }
  json_decref(expected);
  metrics_free(m);
  mem_free(columns);
  cx_free(c);
  st_close(f);
}

static void lists(void **state) {
  static const char *const names[] = {"darcy_c0", "darcy_c1", "darcy_c2", "torus_c0", "torus_c1", "torus_c2", "cavity"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_file(names[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lists)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
