/* test_sum_tree.c: sums along the fixed tree: against a recursive definition, bit for bit, for every number of ranks up to 9, leaves in
 * any portions, threads, vectors in pieces; failures of single ranks; memory that runs out. */
#include "comm_threads.h"

#include "base/sum_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { SIZE = 9001, HEAD_PIECE = 8500 }; /* more than one stretch; the cut lies inside the second */

/* Numbers of many magnitudes, so that every other order of adding gives other bits. */
static real leaf_value(int64_t leaf, int64_t i) {
  uint64_t h = (uint64_t)(leaf * 1000003 + i + 1) * 0x9E3779B97F4A7C15u;
  h ^= h >> 29;
  return (real)((double)(int64_t)(h % 2000001 - 1000000) * 1e-3 * (h >> 60 > 7 ? 1 : 1e-4));
}

static real tree_value(int64_t n, int64_t first, int level, int64_t i) {
  if (level == 0) return leaf_value(first, i);
  int64_t half = (int64_t)1 << (level - 1);
  real left = tree_value(n, first, level - 1, i);
  return first + half < n ? left + tree_value(n, first + half, level - 1, i) : left;
}

static int height(int64_t n) {
  int level = 0;
  while ((int64_t)1 << level < n) level++;
  return level;
}

typedef struct sum_case {
  int64_t n, portion;
  int threads;
  const real *expected;
} sum_case;

static void fill_leaves(int64_t first, int64_t count, real *head, real *tail) {
  for (int64_t k = 0; k < count; k++)
    for (int64_t i = 0; i < SIZE; i++)
      *(i < HEAD_PIECE ? &head[k * (HEAD_PIECE + 3) + i] : &tail[k * (SIZE - HEAD_PIECE) + i - HEAD_PIECE]) =
          leaf_value(first + k, i);
}

static dkho_status sum_leaves(comm *c, const sum_case *x, sum_tree *t, pool *p) {
  real *head = mem_alloc((size_t)x->portion, (HEAD_PIECE + 3) * sizeof *head), *total;
  real *tail = mem_alloc((size_t)x->portion, (SIZE - HEAD_PIECE) * sizeof *tail);
  double number[64], sum = 0;
  dkho_status s = head && tail ? DKHO_OK : DKHO_E_MEMORY;
  sum_tree_open(t, c, x->n);
  int64_t at = sum_tree_first(x->n, c->size, c->rank), end = sum_tree_first(x->n, c->size, c->rank + 1);
  for (int64_t count; s == DKHO_OK && at < end; at += count) {
    count = end - at < x->portion ? end - at : x->portion;
    fill_leaves(at, count, head, tail);
    for (int64_t k = 0; k < count; k++) number[k] = (double)leaf_value(at + k, 0);
    const sum_piece piece[] = {{head, HEAD_PIECE + 3, HEAD_PIECE}, {tail, SIZE - HEAD_PIECE, SIZE - HEAD_PIECE}};
    s = sum_tree_add(t, p, count, 2, piece, number);
  }
  s = sum_tree_total(t, s, &total, &sum);
  for (int64_t i = 0; s == DKHO_OK && i < SIZE; i++)
    if (memcmp(&total[i], &x->expected[i], sizeof *total) != 0)
      s = (fail)(DKHO_E_INTERNAL, "rank %d of %d: entry %lld of %lld leaves differs", c->rank, c->size, (long long)i,
                 (long long)x->n);
  mem_free(head);
  mem_free(tail);
  return s;
}

static dkho_status run_case(comm *c, void *ctx) {
  const sum_case *x = ctx;
  sum_tree *t = NULL;
  pool *p = NULL;
  TRY(pool_create(&p, x->threads));
  dkho_status s = sum_tree_create(&t, SIZE, 1);
  for (int turn = 0; s == DKHO_OK && turn < 2; turn++) s = sum_leaves(c, x, t, p);
  sum_tree_free(t);
  pool_free(p);
  return s;
}

static void test_bits(void **state) {
  (void)state;
  static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 11, 16, 21, 33};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    real *expected = mem_alloc(SIZE, sizeof *expected);
    for (int64_t i = 0; i < SIZE; i++) expected[i] = tree_value(counts[k], 0, height(counts[k]), i);
    for (int ranks = 1; ranks <= 9; ranks++) {
      sum_case x = {counts[k], 1 + (int64_t)(k + (size_t)ranks) % 5, ranks == 2 ? 2 : 1, expected};
      if (ranks_run(ranks, run_case, &x) != DKHO_OK) fail_msg("%s", fail_text());
    }
    mem_free(expected);
  }
}

/* Every leaf has one owner, runs are in order, and they differ by one at most. */
static void test_shares(void **state) {
  (void)state;
  for (int64_t n = 1; n < 70; n++)
    for (int ranks = 1; ranks < 20; ranks++) {
      assert_int_equal(sum_tree_first(n, ranks, 0), 0);
      assert_int_equal(sum_tree_first(n, ranks, ranks), n);
      assert_true(sum_tree_first(n, ranks, 1) > 0);
      for (int r = 0; r < ranks; r++) {
        int64_t share = sum_tree_first(n, ranks, r + 1) - sum_tree_first(n, ranks, r);
        assert_true(share == n / ranks || share == n / ranks + 1);
      }
    }
}

/* One rank fails before or after some of its leaves: all get its status and text, and the next sum is right again. */
static dkho_status fail_once(comm *c, void *ctx) {
  const sum_case *x = ctx;
  sum_tree *t = NULL;
  real *total;
  double sum;
  TRY(sum_tree_create(&t, SIZE, 1));
  for (int bad = 0; bad < c->size; bad++) {
    sum_tree_open(t, c, x->n);
    int64_t first = sum_tree_first(x->n, c->size, c->rank), count = sum_tree_first(x->n, c->size, c->rank + 1) - first;
    real *leaves = mem_alloc((size_t)count + 1, SIZE * sizeof *leaves);
    const sum_piece piece = {leaves, SIZE, SIZE};
    dkho_status s = sum_tree_add(t, NULL, c->rank == bad ? count / 2 : count, 1, &piece, NULL);
    if (c->rank == bad) s = (fail)(DKHO_E_NOCONV, "rank %d gave up", bad);
    s = sum_tree_total(t, s, &total, &sum);
    mem_free(leaves);
    char said[40];
    snprintf(said, sizeof said, "rank %d gave up", bad);
    RANK_HOLDS(c, s == DKHO_E_NOCONV && strcmp(fail_text(), said) == 0);
    TRY(sum_leaves(c, x, t, NULL));
  }
  sum_tree_free(t);
  return DKHO_OK;
}

static void test_failures(void **state) {
  (void)state;
  real *expected = mem_alloc(SIZE, sizeof *expected);
  for (int64_t i = 0; i < SIZE; i++) expected[i] = tree_value(11, 0, 4, i);
  for (int ranks = 1; ranks <= 5; ranks++) {
    sum_case x = {11, 3, 1, expected};
    if (ranks_run(ranks, fail_once, &x) != DKHO_OK) fail_msg("%d ranks: %s", ranks, fail_text());
  }
  mem_free(expected);
}

static void test_memory(void **state) {
  (void)state;
  real *expected = mem_alloc(SIZE, sizeof *expected);
  for (int64_t i = 0; i < SIZE; i++) expected[i] = tree_value(11, 0, 4, i);
  sum_case x = {11, 4, 1, expected};
  size_t blocks = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    assert_in_range(n, 1, 100);
    mem_fail_at(n);
    s = run_case(comm_serial(), &x);
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), blocks);
    if (s != DKHO_OK) assert_int_equal(s, DKHO_E_MEMORY);
  }
  mem_free(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_shares),
                                     cmocka_unit_test(test_failures), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
