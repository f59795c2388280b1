/* The complex: contract, identities, duals, refusals, failing memory. */
#include "base/rng.h"
#include "mesh/cx.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const double tetra_x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};

static void assert_ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("status %d: %s", (int)s, fail_text());
}

static void one_tetrahedron(void **state) {
  (void)state;
  const int32_t top[] = {0, 1, 2, 3};
  cx *c;
  assert_ok(cx_build(&c, 3, 4, tetra_x, 3, 1, top, CX_LEX));
  assert_ok(cx_check(c));
  assert_int_equal(c->n[1], 6);
  assert_int_equal(c->n[2], 4);
  assert_float_equal(c->measure[3][0], 1.0 / 6, 1e-15);
  const int32_t edge[] = {1, 3}, tri[] = {0, 2, 3}, none[] = {0, 1, 4};
  assert_int_equal(cx_find(c, 1, edge), 4);
  assert_int_equal(cx_find(c, 2, tri), 2);
  assert_int_equal(cx_find(c, 2, none), -1);
  assert_int_equal(c->sign[3][0], -1); /* (0,1,2) omits vertex 3 */
  assert_int_equal(c->sign[3][3], 1);
  cx_free(c);
}

static void order_of_appearance(void **state) {
  (void)state;
  const double x[] = {0, 0, 1, 0, 1, 1, 0, 1};
  const int32_t top[] = {0, 2, 1, 3, 0, 2}; /* the first is clockwise and gets turned to (0,1,2) */
  const int32_t edges[] = {0, 1, 1, 2, 0, 2, 0, 3, 2, 3};
  cx *c;
  assert_ok(cx_build(&c, 2, 4, x, 2, 2, top, CX_APPEARANCE));
  assert_ok(cx_check(c));
  assert_int_equal(c->n[1], 5);
  assert_memory_equal(c->vert[1], edges, sizeof edges);
  const int32_t face0[] = {0, 1, 2}, face1[] = {2, 3, 4};
  const int8_t sign0[] = {1, 1, -1};
  assert_memory_equal(c->face[2], face0, sizeof face0);
  assert_memory_equal(c->face[2] + 3, face1, sizeof face1);
  assert_memory_equal(c->sign[2], sign0, sizeof sign0);
  cx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_tetrahedron), cmocka_unit_test(order_of_appearance)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
