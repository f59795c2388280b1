/* The parameter table: complex weights count once, and every way to start. */
#include "nn/param.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void counts(void **state) {
  (void)state;
  params *p;
  assert_int_equal(params_create(&p), DKHO_OK);
  params_add_affine(p, "map", 3, 4, 1);
  params_add_modes(p, "modes", 5, 2, 3);
  assert_int_equal(params_layout(p), DKHO_OK);
  assert_int_equal(p->total, 16 + 30);
  assert_int_equal(p->reals, 16 + 60);
  assert_int_equal(p->list[2].rows, 20);
  params_free(p);
}

static double dot(int64_t n, const real *a, const real *b, int64_t stride) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)a[i * stride] * (double)b[i * stride];
  return sum;
}

static void starts(void **state) {
  (void)state;
  params *p;
  real *value;
  assert_int_equal(params_create(&p), DKHO_OK);
  params_add(p, "wide", 2, (const int64_t[]){5, 9}, INIT_ORTHOGONAL, 0.1);
  params_add(p, "tall", 2, (const int64_t[]){9, 5}, INIT_ORTHOGONAL, 2);
  params_add_vector(p, "ramp", 4, INIT_RAMP, 0.5);
  params_add_modes(p, "modes", 50, 2, 2);
  assert_int_equal(params_layout(p), DKHO_OK);
  assert_int_equal(params_slab(p, &value), DKHO_OK);
  params_init(p, 3, value);
  const real *wide = value + p->list[0].offset, *tall = value + p->list[1].offset, *ramp = value + p->list[2].offset,
             *modes = value + p->list[3].offset;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++) {
      assert_true(fabs(dot(9, wide + 9 * i, wide + 9 * j, 1) - (i == j ? 0.01 : 0)) < 1e-8);
      assert_true(fabs(dot(9, tall + i, tall + j, 5) - (i == j ? 4 : 0)) < 1e-5);
    }
  double mean = 0;
  for (int i = 0; i < 4; i++) assert_true((double)ramp[i] == 0.5 * (i + 1));
  for (int i = 0; i < 400; i++) {
    assert_true(modes[i] >= 0 && (double)modes[i] < 0.25);
    mean += (double)modes[i] / 400;
  }
  assert_true(fabs(mean - 0.125) < 0.02);
  mem_free(value);
  params_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(starts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
