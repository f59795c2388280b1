/* test_comm.c: messages, collective functions and groups of base/comm.h, on ranks that are threads, for 1 to 9 of them; and the serial
 * comm. Started by an MPI launcher it tries the same functions on MPI's ranks. */
#include "comm_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void on_ranks(dkho_status (*fn)(comm *c, void *ctx)) {
  static const int sizes[] = {1, 2, 3, 4, 7, 8, 9};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (ranks_run(sizes[i], fn, NULL) != DKHO_OK) fail_msg("%d ranks: %s", sizes[i], fail_text());
}

/* Everybody to everybody, receives posted first; two messages of one tag keep their order. */
static dkho_status exchange(comm *c, void *ctx) {
  int got[RANKS_MAX][2] = {{0}}, mine[2] = {100 + c->rank, 200 + c->rank};
  comm_request r[4 * RANKS_MAX] = {{{0}, 0, 0, 0}};
  int n = 0;
  (void)ctx;
  for (int k = 0; k < 2; k++)
    for (int p = 0; p < c->size; p++)
      if (p != c->rank) TRY(comm_post_receive(c, p, 5, &got[p][k], sizeof(int), &r[n++]));
  for (int k = 0; k < 2; k++)
    for (int p = 0; p < c->size; p++)
      if (p != c->rank) TRY(comm_post_send(c, p, 5, &mine[k], sizeof(int), &r[n++]));
  TRY(comm_wait_all(c, n, r));
  for (int p = 0; p < c->size; p++) RANK_HOLDS(c, p == c->rank || (got[p][0] == 100 + p && got[p][1] == 200 + p));
  return comm_wait(c, &r[0]); /* waited for already: nothing */
}
static void test_exchange(void **state) {
  (void)state;
  on_ranks(exchange);
}

static dkho_status collect(comm *c, void *ctx) {
  size_t offset[RANKS_MAX + 1] = {0};
  char all[RANKS_MAX * RANKS_MAX];
  double x[2] = {1e16 * (c->rank == 0) + (c->rank == 1), 0.1 * c->rank}, expected[2] = {0, 0};
  int number = c->rank == c->size - 1 ? 77 : 0;
  (void)ctx;
  TRY(comm_broadcast(c, c->size - 1, &number, sizeof number));
  RANK_HOLDS(c, number == 77);
  for (int r = 0; r < c->size; r++) offset[r + 1] = offset[r] + (size_t)r; /* rank r has r bytes: rank 0 none */
  memset(all + offset[c->rank], 'a' + c->rank, (size_t)c->rank);
  TRY(comm_gather(c, offset, all));
  for (int r = 0; r < c->size; r++)
    for (size_t i = offset[r]; i < offset[r + 1]; i++) RANK_HOLDS(c, all[i] == 'a' + r);
  for (int r = 0; r < c->size; r++) expected[0] += 1e16 * (r == 0) + (r == 1), expected[1] += 0.1 * r;
  TRY(comm_sum(c, x, 2));
  RANK_HOLDS(c, memcmp(x, expected, sizeof x) == 0);
  return comm_barrier(c);
}
static void test_collect(void **state) {
  (void)state;
  on_ranks(collect);
}

static dkho_status agree(comm *c, void *ctx) {
  (void)ctx;
  RANK_HOLDS(c, comm_agree(c, DKHO_OK) == DKHO_OK);
  dkho_status mine = c->rank > 0 ? (fail)(DKHO_E_NOCONV, "rank %d says so", c->rank) : DKHO_OK;
  dkho_status all = comm_agree(c, mine);
  RANK_HOLDS(c, c->size == 1 ? all == DKHO_OK : all == DKHO_E_NOCONV && strcmp(fail_text(), "rank 1 says so") == 0);
  return DKHO_OK;
}
static void test_agree(void **state) {
  (void)state;
  on_ranks(agree);
}

/* Odd and even ranks, in reverse order; then each group sums among itself. */
static dkho_status split(comm *c, void *ctx) {
  comm *part;
  double x = c->rank, expected = 0;
  (void)ctx;
  TRY(comm_split(c, c->rank % 2, -c->rank, &part));
  for (int r = c->rank % 2; r < c->size; r += 2) expected += r;
  RANK_HOLDS(c, part->size == (c->size + 1 - c->rank % 2) / 2);
  RANK_HOLDS(c, part->rank == part->size - 1 - c->rank / 2);
  TRY(comm_sum(part, &x, 1));
  RANK_HOLDS(c, x == expected);
  comm_free(part);
  return comm_barrier(c);
}
static void test_split(void **state) {
  (void)state;
  on_ranks(split);
}

/* A message of another length than expected is refused by name. */
static dkho_status misfit(comm *c, void *ctx) {
  int two[2] = {1, 2}, one;
  (void)ctx;
  if (c->rank == 0) return comm_send(c, 1, 3, two, sizeof two);
  RANK_HOLDS(c,
             comm_receive(c, 0, 3, &one, sizeof one) == DKHO_E_INTERNAL && strstr(fail_text(), "8 bytes, expected 4"));
  return DKHO_OK;
}
static void test_misfit(void **state) {
  (void)state;
  assert_int_equal(ranks_run(2, misfit, NULL), DKHO_OK);
}

/* Without a launcher the world is serial; what one starts it with is recognised, unless it is to be ignored. */
static void test_world(void **state) {
  (void)state;
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
  assert_int_equal(comm_launched(), 1);
  assert_int_equal(comm_start(0), DKHO_OK);
  assert_ptr_equal(comm_world(), comm_serial());
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    setenv(names[i], "6", 1);
    assert_int_equal(comm_launched(), 6);
    setenv("DKHO_MPI", "0", 1);
    assert_int_equal(comm_launched(), 1);
    unsetenv("DKHO_MPI");
    unsetenv(names[i]);
  }
  setenv("DKHO_MPI_MODULE", "/nowhere/libdkho-mpi.so", 1);
  assert_int_equal(comm_start(1), DKHO_E_IO);
  assert_non_null(strstr(fail_text(), "/nowhere/libdkho-mpi.so"));
  unsetenv("DKHO_MPI_MODULE");
  comm_stop();
}

/* Two messages of 1 GiB and more would go in pieces; here one that MPI does not buffer. */
static dkho_status large(comm *c, void *ctx) {
  enum { COUNT = 1 << 20 };
  int *x = mem_alloc(COUNT, sizeof *x), next = (c->rank + 1) % c->size, previous = (c->rank + c->size - 1) % c->size;
  comm_request r = {{0}, 0, 0, 0};
  dkho_status s = DKHO_OK;
  (void)ctx;
  RANK_HOLDS(c, x);
  int *got = mem_alloc(COUNT, sizeof *got);
  for (int i = 0; i < COUNT; i++) x[i] = i ^ c->rank;
  if (c->size > 1) s = comm_post_receive(c, previous, 1, got, COUNT * sizeof *got, &r);
  if (c->size > 1 && s == DKHO_OK) s = comm_send(c, next, 1, x, COUNT * sizeof *x);
  if (s == DKHO_OK) s = comm_wait(c, &r);
  for (int i = 0; c->size > 1 && i < COUNT; i++)
    if (got[i] != (i ^ previous)) s = (fail)(DKHO_E_INTERNAL, "rank %d: entry %d differs", c->rank, i);
  mem_free(x);
  mem_free(got);
  return s;
}
static void test_large(void **state) {
  (void)state;
  on_ranks(large);
}

/* Two ranks wait for messages that nobody sends: given up when both have waited for DKHO_MPI_PATIENCE. Then they are sent, so that none is
 * left under way; whoever was to give up later receives. */
static dkho_status wait_in_vain(comm *c, void *ctx) {
  static int got;
  comm *part;
  double failures;
  (void)ctx;
  if (c->size != 2 || !getenv("DKHO_MPI_PATIENCE")) return DKHO_OK;
  TRY(comm_split(c, 0, c->rank, &part));
  dkho_status s = comm_receive(part, 1 - c->rank, 9, &got, sizeof got);
  failures = s != DKHO_OK;
  RANK_HOLDS(c, s == DKHO_OK || (s == DKHO_E_IO && strstr(fail_text(), "has waited")));
  TRY(comm_send(part, 1 - c->rank, 9, &(int){7}, sizeof got));
  comm_free(part);
  TRY(comm_sum(c, &failures, 1));
  RANK_HOLDS(c, failures >= 1);
  return DKHO_OK;
}

/* The same on the ranks of a launcher. */
static int run_launched(void) {
  dkho_status (*const list[])(comm *, void *) = {exchange, collect, agree, split, large, wait_in_vain};
  dkho_status s = comm_start(1);
  for (size_t i = 0; s == DKHO_OK && i < sizeof list / sizeof *list; i++) s = list[i](comm_world(), NULL);
  if (s == DKHO_OK && comm_world()->rank == 0)
    printf("%d ranks on %s\n", comm_world()->size, comm_world()->table->name);
  if (s != DKHO_OK) {
    fprintf(stderr, "%s\n", fail_text());
    comm_abort(comm_world(), fail_text());
  }
  comm_stop();
  return s != DKHO_OK;
}

int main(void) {
  if (comm_launched() > 1) return run_launched();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exchange), cmocka_unit_test(test_collect), cmocka_unit_test(test_agree),
      cmocka_unit_test(test_split),    cmocka_unit_test(test_misfit),  cmocka_unit_test(test_large),
      cmocka_unit_test(test_world),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
