/* Batch norm in float: same bits for any number of threads, running moments against their definition, prediction by them,
 * resumption, and what is no parameter. */
#include "batch_case.h"
#include "nn/state.h"

#include <unistd.h>

static void same_bits(void **state) {
  (void)state;
  static const int threads[3] = {1, 2, 5};
  batch_case c[3];
  for (int i = 0; i < 3; i++) {
    bc_open(&c[i], threads[i]);
    bc_step(&c[i], 7);
    bc_step(&c[i], 1);
    bc_step(&c[i], 19);
    bc_predict(&c[i], 3);
    assert_memory_equal(c[0].value, c[i].value, (size_t)c[0].p->size * sizeof(real));
    assert_memory_equal(c[0].out, c[i].out, 3 * BC_ROWS * sizeof(real));
  }
  for (int i = 0; i < 3; i++) bc_close(&c[i]);
}

/* What the first batch norm sees in a batch: mean and unbiased variance of every column, in double. */
static void moments_of(const batch_case *c, int64_t count, double *mean, double *spread) {
  const real *w = bc_tensor(c, c->value, "in.w"), *b = bc_tensor(c, c->value, "in.b");
  real x[BC_ROWS * BC_IN];
  double n = (double)(count * BC_ROWS), square[BC_WIDTH] = {0};
  memset(mean, 0, BC_WIDTH * sizeof *mean);
  for (int64_t i = 0; i < count; i++) {
    bc_noise(i, BC_ROWS * BC_IN, x, 0);
    for (int r = 0; r < BC_ROWS; r++)
      for (int j = 0; j < BC_WIDTH; j++) {
        double y = (double)b[j];
        for (int k = 0; k < BC_IN; k++) y += (double)x[r * BC_IN + k] * (double)w[k * BC_WIDTH + j];
        mean[j] += y / n;
        square[j] += y * y;
      }
  }
  for (int j = 0; j < BC_WIDTH; j++) spread[j] = (square[j] - n * mean[j] * mean[j]) / (n - 1);
}

static void running_moments(void **state) {
  (void)state;
  batch_case c;
  bc_open(&c, 2);
  double mean[BC_WIDTH] = {0}, spread[BC_WIDTH];
  for (int j = 0; j < BC_WIDTH; j++) spread[j] = 1;
  for (int step = 0; step < 3; step++) {
    double m[BC_WIDTH], v[BC_WIDTH];
    moments_of(&c, 4 + step, m, v);
    for (int j = 0; j < BC_WIDTH; j++) {
      mean[j] += 0.1 * (m[j] - mean[j]);
      spread[j] += 0.1 * (v[j] - spread[j]);
    }
    bc_step(&c, 4 + step);
  }
  for (int j = 0; j < BC_WIDTH; j++) {
    assert_true(fabs((double)bc_tensor(&c, c.value, "one.mean")[j] - mean[j]) < 1e-5 * (1 + fabs(mean[j])));
    assert_true(fabs((double)bc_tensor(&c, c.value, "one.var")[j] - spread[j]) < 1e-5 * (1 + spread[j]));
    assert_true(bc_tensor(&c, c.value, "one.mean")[j] == bc_tensor(&c, c.opt->average, "one.mean")[j]);
  }
  bc_close(&c);
}

/* A prediction does not depend on the others of its batch, and does on the states. */
static void predicts_by_states(void **state) {
  (void)state;
  batch_case c;
  real alone[BC_ROWS];
  bc_open(&c, 2);
  bc_step(&c, 4);
  bc_predict(&c, 1);
  memcpy(alone, c.out, sizeof alone);
  bc_predict(&c, 6);
  assert_memory_equal(alone, c.out, sizeof alone);
  bc_tensor(&c, c.value, "one.var")[0] = 9;
  bc_predict(&c, 1);
  assert_memory_not_equal(alone, c.out, sizeof alone);
  bc_close(&c);
}

static void counted_apart(void **state) {
  (void)state;
  batch_case c;
  bc_open(&c, 1);
  int64_t parameters = BC_IN * BC_WIDTH + 3 * BC_WIDTH + BC_WIDTH * 2 + 3 * 2 + 3;
  assert_int_equal(c.p->total, parameters);
  assert_int_equal(params_live(c.p), parameters);
  memset(c.g, 0, (size_t)c.p->size * sizeof *c.g);
  for (int j = 0; j < BC_WIDTH; j++) bc_tensor(&c, c.g, "one.var")[j] = 1e6F; /* a change is no gradient */
  assert_true(optim_norm(c.p, c.g) == 0);
  bc_close(&c);
}

static void resumes(void **state) {
  (void)state;
  const char *path = "test_batch_state.st";
  batch_case c[2];
  st_writer *w;
  st_file *f;
  for (int i = 0; i < 2; i++) bc_open(&c[i], 2);
  bc_step(&c[0], 3);
  bc_ok(st_create(&w, path, 1));
  bc_ok(state_declare(w, c[0].p, "w/"));
  bc_ok(state_declare_optim(w, c[0].opt));
  bc_ok(state_write(w, c[0].p, c[0].value));
  bc_ok(state_write_optim(w, c[0].opt));
  bc_ok(st_commit(w));
  bc_ok(st_open(&f, path));
  bc_ok(state_read(f, c[1].p, "w/", c[1].value));
  bc_ok(state_read_optim(f, c[1].opt));
  st_close(f);
  unlink(path);
  for (int i = 0; i < 2; i++) {
    bc_step(&c[i], 5);
    bc_predict(&c[i], 2);
  }
  assert_memory_equal(c[0].value, c[1].value, (size_t)c[0].p->size * sizeof(real));
  assert_memory_equal(c[0].out, c[1].out, 2 * BC_ROWS * sizeof(real));
  for (int i = 0; i < 2; i++) bc_close(&c[i]);
}

/* A lane per sample is made when a batch needs it; when that fails nothing is broken. */
static void lanes_without_memory(void **state) {
  (void)state;
  batch_case c[2];
  for (int i = 0; i < 2; i++) bc_open(&c[i], 2);
  engine_batch b = {.count = 9, .fill = bc_fill, .ctx = &c[1]};
  engine_bind(c[1].train, c[1].value);
  for (int64_t n = 1; n < 4; n++) {
    mem_fail_at(n);
    assert_int_equal(engine_gradient(c[1].train, &b, 1, NULL, NULL, c[1].g), DKHO_E_MEMORY);
    mem_fail_at(0);
  }
  for (int i = 0; i < 2; i++) bc_step(&c[i], 9);
  assert_memory_equal(c[0].value, c[1].value, (size_t)c[0].p->size * sizeof(real));
  uint64_t calls = mem_calls();
  bc_step(&c[0], 8);
  assert_true(mem_calls() == calls);
  for (int i = 0; i < 2; i++) bc_close(&c[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits),     cmocka_unit_test(running_moments), cmocka_unit_test(predicts_by_states),
      cmocka_unit_test(counted_apart), cmocka_unit_test(resumes),         cmocka_unit_test(lanes_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
