/* Batch norm, in double: gradients of every parameter and of an input through two barriers, for batches of several samples. */
#include "batch_case.h"

/* Fourth-order central difference of the loss; x NULL: along the input of sample c->moved instead. */
static double difference(batch_case *c, int64_t count, int64_t n, real *x, const double *dir) {
  const double h = 1e-4, at[4] = {1, -1, 2, -2};
  double f[4];
  for (int i = 0; i < 4; i++) {
    for (int64_t k = 0; x && k < n; k++) x[k] += h * at[i] * dir[k];
    c->h = x ? 0 : h * at[i];
    c->dir = x ? NULL : dir;
    f[i] = bc_gradient(c, count);
    for (int64_t k = 0; x && k < n; k++) x[k] -= h * at[i] * dir[k];
  }
  c->dir = NULL;
  return (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * h);
}

static void probe(batch_case *c, int64_t count, const char *name, int64_t n, real *x, const real *g) {
  double dir[BC_ROWS * BC_IN], slope = 0, size = 0;
  rng r = rng_open(8, RNG_TEST, (uint64_t)n);
  for (int64_t k = 0; k < n; k++) dir[k] = rng_normal(&r);
  for (int64_t k = 0; k < n; k++) slope += dir[k] * g[k];
  for (int64_t k = 0; k < n; k++) size += g[k] * g[k];
  double error = fabs(difference(c, count, n, x, dir) - slope);
  if (!(error <= 1e-8 * (1 + sqrt(size)))) fail_msg("gradient of %s: error %.3g, norm %.3g", name, error, sqrt(size));
}

static void gradients(void **state) {
  (void)state;
  static const int64_t counts[] = {1, 2, 5, 17};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    batch_case c;
    bc_open(&c, 2);
    c.moved = counts[i] - 1;
    bc_gradient(&c, counts[i]);
    real *g = mem_alloc((size_t)c.p->size, sizeof *g), *gx = mem_alloc(BC_ROWS * BC_IN, sizeof *gx);
    memcpy(g, c.g, (size_t)c.p->size * sizeof *g);
    memcpy(gx, c.g_input, BC_ROWS * BC_IN * sizeof *gx);
    for (int k = 0; k < c.p->count; k++) {
      const param *q = &c.p->list[k];
      if (!q->state) probe(&c, counts[i], q->name, q->count, c.value + q->offset, g + q->offset);
    }
    probe(&c, counts[i], "an input", BC_ROWS * BC_IN, NULL, gx);
    mem_free(g);
    mem_free(gx);
    bc_close(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
