/* Parameter counts of the models of the paper's comparison, for every benchmark's targets and both input profiles; a complex
 * weight counts once, and as two reals. */
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A benchmark's target: complex, channels, widths of the descriptors. */
typedef struct {
  int dim, gdim, target, channels;
  int64_t vertices;
  int width[3];
} place;

static const place darcy_native = {2, 2, 0, 1, 5477, {12, 14, 12}}, darcy_full = {2, 2, 0, 1, 5477, {37, 39, 37}};
static const place vertex_native = {2, 3, 0, 1, 2499, {1, 1, 1}}, vertex_full = {2, 3, 0, 1, 2499, {35, 1, 1}};
static const place form_native = {2, 3, 1, 1, 2499, {4, 1, 1}}, form_hodge = {2, 3, 2, 1, 2499, {7, 6, 10}};
static const place cavity_native = {3, 3, 0, 3, 3017, {1, 1, 1}}, cavity_full = {3, 3, 0, 3, 3017, {32, 1, 1}};

static const struct {
  const char *model;
  const place *at;
  int64_t count, complex_part;
} expected[] = {
    {"gno", &darcy_native, 285909, 0},          {"gno", &darcy_full, 286009, 0},
    {"gno", &vertex_native, 285857, 0},         {"gno", &vertex_full, 289937, 0},
    {"gno", &form_native, 285877, 0},           {"gno", &cavity_native, 231471, 0},
    {"gno", &cavity_full, 234075, 0},           {"fno", &darcy_native, 216411, 214326},
    {"fno", &darcy_full, 216461, 214326},       {"fno", &vertex_native, 309081, 307200},
    {"fno", &vertex_full, 309761, 307200},      {"fno", &form_native, 216395, 214326},
    {"fno", &cavity_native, 227391, 225792},    {"fno", &cavity_full, 228042, 225792},
    {"mgn", &darcy_native, 303245, 0},          {"mgn", &darcy_full, 303345, 0},
    {"mgn", &vertex_native, 303193, 0},         {"mgn", &vertex_full, 305641, 0},
    {"mgn", &form_native, 303213, 0},           {"mgn", &cavity_native, 246561, 0},
    {"mgn", &cavity_full, 248359, 0},           {"deeponet", &darcy_native, 559122, 0},
    {"deeponet", &darcy_full, 559147, 0},       {"deeponet", &vertex_native, 273221, 0},
    {"deeponet", &vertex_full, 8429957, 0},     {"deeponet", &form_native, 273226, 0},
    {"deeponet", &cavity_native, 238911, 0},    {"deeponet", &cavity_full, 6224639, 0},
    {"geofno", &darcy_native, 215283, 209952},  {"geofno", &darcy_full, 215308, 209952},
    {"geofno", &vertex_native, 224652, 221184}, {"geofno", &vertex_full, 224924, 221184},
    {"geofno", &form_native, 215275, 209952},   {"geofno", &cavity_native, 252714, 248832},
    {"geofno", &cavity_full, 253086, 248832},   {"hsd", &darcy_native, 200426, 139968},
    {"hsd", &darcy_full, 200551, 139968},       {"hsd", &vertex_native, 281575, 221184},
    {"hsd", &vertex_full, 281983, 221184},      {"hsd", &form_hodge, 200401, 139968},
    {"hsd", &cavity_native, 265413, 200704},    {"hsd", &cavity_full, 265847, 200704},
};

static void counts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const place *q = expected[i].at;
    const model_type *m;
    model_setup s;
    params *p;
    assert_int_equal(model_find(expected[i].model, &m), DKHO_OK);
    assert_int_equal(model_choose(&s, m, NULL, NULL, NULL), DKHO_OK);
    s.dim = q->dim, s.gdim = q->gdim, s.target = q->target, s.channels = q->channels;
    s.degrees = m->degrees(q->dim, q->target);
    s.n[0] = q->vertices;
    for (int k = 0; k < 3; k++) s.features[k] = q->width[k];
    s.loss_eps = 1e-6;
    if (model_params(&s, &p) != DKHO_OK) fail_msg("%s", fail_text());
    if (p->total != expected[i].count || p->reals != expected[i].count + expected[i].complex_part)
      fail_msg("%s, row %zu: %lld parameters (%lld reals), expected %lld", m->name, i, (long long)p->total,
               (long long)p->reals, (long long)expected[i].count);
    params_free(p);
  }
}

/* The published count of the topological operator: widths 6, 10, 10 of the three degrees, width 170. */
static void count_of_tno(void **state) {
  (void)state;
  const model_type *m;
  model_setup s;
  params *p;
  assert_int_equal(model_find("tno", &m), DKHO_OK);
  assert_int_equal(model_choose(&s, m, "large", NULL, NULL), DKHO_OK);
  s.dim = 2, s.gdim = 3, s.channels = 1, s.degrees = 3, s.loss_eps = 1e-6;
  s.features[0] = 6, s.features[1] = s.features[2] = 10;
  assert_int_equal(model_params(&s, &p), DKHO_OK);
  assert_int_equal(p->total, 1167563);
  params_free(p);
}

/* The same through the front door, for every benchmark, target and profile. */
static void counts_of_benchmarks(void **state) {
  (void)state;
  static const struct {
    const char *problem, *target;
    const place *native, *full; /* full NULL: not compared */
  } where[] = {{"darcy", "0", &darcy_native, &darcy_full},   {"darcy", "1", &darcy_native, &darcy_full},
               {"darcy", "2", &darcy_native, &darcy_full},   {"torus", "0", &vertex_native, &vertex_full},
               {"torus", "1", &form_native, NULL},           {"torus", "2", &form_native, NULL},
               {"cavity", "0", &cavity_native, &cavity_full}};
  int seen = 0;
  for (size_t w = 0; w < sizeof where / sizeof *where; w++)
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
      int full = expected[i].at == where[w].full;
      if (!full && expected[i].at != where[w].native) continue;
      dkho_train_options o;
      int64_t count, reals;
      dkho_train_defaults(&o);
      o.model = expected[i].model, o.target = where[w].target, o.profile = full ? "conditioned" : "native";
      if (dkho_parameter_counts(where[w].problem, &o, &count, &reals) != DKHO_OK) fail_msg("%s", fail_text());
      if (count != expected[i].count || reals != expected[i].count + expected[i].complex_part)
        fail_msg("%s on %s %s: %lld parameters, expected %lld", o.model, where[w].problem, o.target, (long long)count,
                 (long long)expected[i].count);
      seen++;
    }
  assert_true(seen >= 12 * 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(count_of_tno),
                                     cmocka_unit_test(counts_of_benchmarks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
