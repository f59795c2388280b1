/* test_base.c: memory, arenas, threads, random numbers, error texts and the report sink. */
#include "scratch.h"

#include "base/finite.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <sys/wait.h>
#include <time.h>

static void test_mem(void **state) {
  (void)state;
  size_t blocks = mem_live_blocks(), bytes = mem_live_bytes();
  uint64_t calls = mem_calls();
  unsigned char *p = mem_alloc(7, 3), *empty = mem_alloc(0, 8);
  assert_non_null(p);
  assert_non_null(empty);
  assert_int_equal((uintptr_t)p % 64, 0);
  for (int i = 0; i < 21; i++) assert_int_equal(p[i], 0);
  assert_int_equal(mem_live_blocks(), blocks + 2);
  assert_int_equal(mem_live_bytes(), bytes + 21);
  assert_int_equal(mem_calls(), calls + 2);
  memset(p, 9, 21);
  p = mem_resize(p, 7, 100, 3);
  for (int i = 0; i < 300; i++) assert_int_equal(p[i], i < 21 ? 9 : 0);
  p = mem_resize(p, 100, 2, 3);
  assert_int_equal(p[5], 9);
  assert_int_equal(mem_live_bytes(), bytes + 6);
  assert_true(mem_peak_bytes() >= bytes + 321); /* old and new block side by side */
  mem_free(p);
  mem_free(empty);
  mem_free(NULL);
  assert_int_equal(mem_live_blocks(), blocks);
  assert_int_equal(mem_live_bytes(), bytes);
}

static void test_mem_refusals(void **state) {
  (void)state;
  size_t blocks = mem_live_blocks();
  assert_null(mem_alloc(SIZE_MAX / 2, 3));
  assert_non_null(strstr(dkho_error(), "the product is too large"));
  assert_null(mem_alloc(SIZE_MAX - 10, 1)); /* would overflow once the header is added */
  assert_null(mem_alloc(SIZE_MAX / 4, 1));  /* no such memory */
  arena a = {0};
  assert_null(arena_take(&a, SIZE_MAX / 8, 16));
  assert_null(arena_take(&a, SIZE_MAX - 70, 1));
  mem_fail_at(2);
  char *first = mem_strdup("abc"), *second = mem_strdup("d"), *third = mem_strdup("");
  assert_string_equal(first, "abc");
  assert_null(second);
  assert_string_equal(third, "");
  mem_fail_at(1);
  assert_null(mem_resize(first, 4, 8, 1));
  assert_string_equal(first, "abc");
  mem_free(first);
  mem_free(third);
  assert_int_equal(mem_live_blocks(), blocks);
}

static void test_arena(void **state) {
  (void)state;
  enum { N = 2000 };
  static unsigned char *view[N];
  size_t blocks = mem_live_blocks();
  arena a = {0};
  for (int i = 0; i < N; i++) {
    size_t size = i % 100 == 99 ? 100000 : (size_t)i % 90; /* some larger than a block */
    view[i] = arena_take(&a, size, 1);
    assert_int_equal((uintptr_t)view[i] % 64, 0);
    for (size_t k = 0; k < size; k++) assert_true(view[i][k] == 0);
    memset(view[i], i, size);
  }
  for (int i = 0; i < N; i++) /* nobody wrote over anybody */
    for (size_t k = 0; k < (i % 100 == 99 ? 100000 : (size_t)i % 90); k++) assert_true(view[i][k] == i % 256);
  assert_string_equal(arena_strdup(&a, "text"), "text");
  mem_fail_at(1);
  assert_null(arena_take(&a, 1 << 20, 1));
  assert_non_null(arena_take(&a, 1 << 20, 1)); /* still of use */
  arena_free(&a);
  arena_free(&a);
  assert_int_equal(mem_live_blocks(), blocks);
}

enum { TASKS = 1000 };
typedef struct {
  double result[TASKS];
  int width, runs[TASKS];
  size_t fail_from, fail_step; /* tasks fail_from, fail_from + fail_step, … fail */
} job;

static dkho_status job_task(void *ctx, size_t task, int worker) {
  job *j = ctx;
  if (worker < 0 || worker >= j->width) return (fail)(DKHO_E_INTERNAL, "worker %d", worker);
  j->runs[task]++;
  rng r = rng_open(3, RNG_TEST, task);
  for (int i = 0; i < 50; i++) j->result[task] += rng_normal(&r);
  if (j->fail_step && task >= j->fail_from && (task - j->fail_from) % j->fail_step == 0)
    return (fail)(task % 2 ? DKHO_E_NOCONV : DKHO_E_INPUT, "task %zu failed", task);
  return DKHO_OK;
}

static void test_pool_same(void **state) {
  (void)state;
  static job alone, many;
  size_t blocks = mem_live_blocks();
  alone.width = 1;
  assert_int_equal(pool_width(NULL), 1);
  assert_int_equal(pool_run(NULL, TASKS, job_task, &alone), DKHO_OK);
  const int widths[] = {1, 2, 5};
  for (int i = 0; i < 3; i++) {
    pool *p;
    assert_int_equal(pool_create(&p, widths[i]), DKHO_OK);
    assert_int_equal(pool_width(p), widths[i]);
    for (int again = 0; again < 20; again++) {
      many = (job){.width = widths[i]};
      assert_int_equal(pool_run(p, TASKS, job_task, &many), DKHO_OK);
      assert_memory_equal(many.result, alone.result, sizeof alone.result);
      for (int t = 0; t < TASKS; t++) assert_int_equal(many.runs[t], 1);
    }
    assert_int_equal(pool_run(p, 0, job_task, NULL), DKHO_OK);
    pool_free(p);
  }
  assert_int_equal(mem_live_blocks(), blocks);
}

/* Many short regions with pauses between some of them: the threads are found looking, falling asleep and sleeping. */
static dkho_status count_task(void *ctx, size_t task, int worker) {
  (void)worker;
  ((uint64_t *)ctx)[task]++;
  return DKHO_OK;
}

static void test_pool_short(void **state) {
  (void)state;
  enum { ROUNDS = 3000, FEW = 3 };
  static const int widths[] = {2, 5};
  for (int i = 0; i < 2; i++) {
    pool *p;
    uint64_t done[FEW] = {0};
    assert_int_equal(pool_create(&p, widths[i]), DKHO_OK);
    for (int r = 0; r < ROUNDS; r++) {
      assert_int_equal(pool_run(p, FEW, count_task, done), DKHO_OK);
      for (int t = 0; t < FEW; t++) assert_true(done[t] == (uint64_t)r + 1);
      if (r % 100 == 0) nanosleep(&(struct timespec){.tv_nsec = r * 100}, NULL);
    }
    pool_free(p);
  }
}

/* The lowest failed task is the one reported, whatever the threads did, and the pool works on. */
static void test_pool_failure(void **state) {
  (void)state;
  static job j;
  const int widths[] = {1, 2, 5};
  for (int i = 0; i < 3; i++) {
    pool *p;
    assert_int_equal(pool_create(&p, widths[i]), DKHO_OK);
    for (size_t from = 0; from < 60; from++) {
      j = (job){.width = widths[i], .fail_from = from, .fail_step = 1 + from % 3};
      char text[32];
      snprintf(text, sizeof text, "task %zu failed", from);
      assert_int_equal(pool_run(p, TASKS, job_task, &j), from % 2 ? DKHO_E_NOCONV : DKHO_E_INPUT);
      assert_string_equal(dkho_error(), text);
    }
    j = (job){.width = widths[i]};
    assert_int_equal(pool_run(p, TASKS, job_task, &j), DKHO_OK);
    pool_free(p);
  }
}

/* Runs regions in a forked child, and in its child, which have to start threads of their own; 0: all was well there. */
static int regions_after_fork(pool *p, int width, int generations) {
  static job j;
  pid_t child = fork();
  if (child == 0) {
    alarm(20); /* a deadlock ends here */
    int wrong = 0;
    for (int round = 0; round < 50; round++) {
      j = (job){.width = width};
      wrong |= pool_run(p, TASKS, job_task, &j) != DKHO_OK;
    }
    if (generations > 1) wrong |= regions_after_fork(p, width, generations - 1);
    pool_free(p);
    _exit(wrong);
  }
  int status = -1;
  return child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
}

static void test_pool_fork(void **state) {
  (void)state;
#ifdef __SANITIZE_THREAD__
  skip(); /* it knows no threads that a forked child starts */
#endif
  static job j;
  const int widths[] = {1, 2, 5};
  for (int i = 0; i < 3; i++)
    for (int used = 0; used < 2; used++) {
      pool *p;
      assert_int_equal(pool_create(&p, widths[i]), DKHO_OK);
      j = (job){.width = widths[i]};
      if (used) assert_int_equal(pool_run(p, TASKS, job_task, &j), DKHO_OK);
      assert_int_equal(regions_after_fork(p, widths[i], 2), 0);
      j = (job){.width = widths[i]};
      assert_int_equal(pool_run(p, TASKS, job_task, &j), DKHO_OK); /* the parent's own threads go on */
      pool_free(p);
    }
}

static void test_pool_create(void **state) {
  (void)state;
  pool *p;
  size_t blocks = mem_live_blocks();
  assert_int_equal(pool_create(&p, 0), DKHO_OK);
  assert_true(pool_width(p) >= 1);
  pool_free(p);
  pool_free(NULL);
  assert_int_equal(pool_create(&p, 100000), DKHO_E_INPUT);
  assert_null(p);
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    mem_fail_at(n);
    s = pool_create(&p, 4);
    mem_fail_at(0);
    assert_true(n < 20 && (s == DKHO_OK) == (p != NULL));
  }
  pool_free(p);
  assert_int_equal(mem_live_blocks(), blocks);
}

/* Philox 4x32-10: the known answers published with Random123 (kat_vectors). */
static void test_rng_known(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (int i = 0; i < 2; i++) {
    rng r = {0};
    memcpy(r.counter, known[i].counter, sizeof r.counter);
    memcpy(r.key, known[i].key, sizeof r.key);
    for (int k = 0; k < 4; k++) assert_int_equal(rng_u32(&r), known[i].out[k]);
  }
}

static void test_rng_moments(void **state) {
  (void)state;
  enum { N = 200000 };
  rng r = rng_open(42, RNG_TEST, 0);
  double u1 = 0, u2 = 0, n1 = 0, n2 = 0, n4 = 0, product = 0, last = 0;
  for (int i = 0; i < N; i++) {
    double u = rng_uniform(&r), z = rng_normal(&r), v = rng_range(&r, -3, -1);
    assert_true(u >= 0 && u < 1 && v >= -3 && v <= -1);
    u1 += u / N;
    u2 += u * u / N;
    n1 += z / N;
    n2 += z * z / N;
    n4 += z * z * z * z / N;
    product += z * last / N;
    last = z;
  }
  double se = 1 / sqrt(N); /* bounds are five standard errors */
  assert_true(fabs(u1 - 1.0 / 2) < 5 * se * sqrt(1.0 / 12));
  assert_true(fabs(u2 - 1.0 / 3) < 5 * se * sqrt(4.0 / 45));
  assert_true(fabs(n1) < 5 * se);
  assert_true(fabs(n2 - 1) < 5 * se * sqrt(2));
  assert_true(fabs(n4 - 3) < 5 * se * sqrt(96));
  assert_true(fabs(product) < 5 * se);
}

/* χ² over the values of below(n); a plain remainder of 64 bits would show at n = 3·2^62. */
static void test_rng_below(void **state) {
  (void)state;
  enum { N = 60000 };
  rng r = rng_open(7, RNG_TEST, 1);
  for (uint64_t n = 1; n <= 13; n += 3) {
    double seen[13] = {0}, chi = 0, expect = (double)N / (double)n;
    for (int i = 0; i < N; i++) {
      uint64_t k = rng_below(&r, n);
      assert_true(k < n);
      seen[k]++;
    }
    for (uint64_t k = 0; k < n; k++) chi += (seen[k] - expect) * (seen[k] - expect) / expect;
    assert_true(chi < (double)(n - 1) + 5 * sqrt(2 * (double)n) + 5);
  }
  double thirds[3] = {0}, chi = 0;
  for (int i = 0; i < N; i++) thirds[rng_below(&r, 3ull << 62) >> 62]++;
  for (int k = 0; k < 3; k++) chi += (thirds[k] - N / 3.0) * (thirds[k] - N / 3.0) / (N / 3.0);
  assert_true(chi < 25);
}

static void test_rng_permute(void **state) {
  (void)state;
  enum { N = 501, TIMES = 6000 };
  int64_t p[N];
  int hits[N] = {0};
  rng r = rng_open(1, RNG_SPLIT, 0);
  rng_permute(&r, p, N);
  int moved = 0;
  for (int i = 0; i < N; i++) {
    assert_in_range(p[i], 0, N - 1);
    hits[p[i]]++;
    moved += p[i] != i;
  }
  for (int i = 0; i < N; i++) assert_int_equal(hits[i], 1);
  assert_true(moved > N - 15); /* one fixed point is expected */
  rng_permute(&r, p, 0);
  int counts[6] = {0};
  double chi = 0;
  for (int t = 0; t < TIMES; t++) {
    rng_permute(&r, p, 3);
    counts[2 * p[0] + (p[1] > p[2])]++;
  }
  for (int i = 0; i < 6; i++) chi += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000.0;
  assert_true(chi < 35); /* 5 degrees of freedom */
}

static void test_rng_streams(void **state) {
  (void)state;
  const rng open[] = {rng_open(1, RNG_SAMPLE, 0),
                      rng_open(1, RNG_SAMPLE, 0),
                      rng_open(1, RNG_SAMPLE, 1),
                      rng_open(1, RNG_INIT, 0),
                      rng_open(1, RNG_SAMPLE, 1ull << 32),
                      rng_open(2, RNG_SAMPLE, 0),
                      rng_open(1ull << 32 | 1, RNG_SAMPLE, 0)};
  uint32_t words[7][16];
  for (int i = 0; i < 7; i++) {
    rng r = open[i];
    for (int k = 0; k < 16; k++) words[i][k] = rng_u32(&r);
  }
  assert_memory_equal(words[0], words[1], sizeof words[0]);
  for (int i = 1; i < 7; i++)
    for (int j = i + 1; j < 7; j++) assert_memory_not_equal(words[i], words[j], sizeof words[0]);
}

static void test_status(void **state) {
  (void)state;
  assert_string_equal(dkho_status_text(DKHO_OK), "ok");
  assert_string_equal(dkho_status_text(DKHO_E_INTERNAL), "internal inconsistency");
  assert_string_equal(dkho_status_text((dkho_status)99), "unknown status");
  assert_int_equal((fail)(DKHO_E_IO, "%s %d", "disk", 7), DKHO_E_IO);
  assert_string_equal(dkho_error(), "disk 7");
  assert_int_equal(fail_prefix(DKHO_E_FORMAT, "file %d", 3), DKHO_E_FORMAT);
  assert_string_equal(fail_text(), "file 3: disk 7");
  (fail)(DKHO_E_IO, "again: %s", fail_text()); /* the text may be its own argument */
  assert_string_equal(dkho_error(), "again: file 3: disk 7");
  char longer[3000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  (fail)(DKHO_E_IO, "%s", longer);
  assert_int_equal(strlen(dkho_error()), 1023);
  fail_prefix(DKHO_E_IO, "%s", longer);
  assert_int_equal(strlen(dkho_error()), 1023);
}

typedef struct {
  char line[2048], label[32], note[32];
  uint64_t done, total;
  int calls;
} heard;

static void hear_log(void *user, const char *line) {
  heard *h = user;
  snprintf(h->line, sizeof h->line, "%s", line);
  h->calls++;
}

static void hear_progress(void *user, const char *label, uint64_t done, uint64_t total, const char *note) {
  heard *h = user;
  snprintf(h->label, sizeof h->label, "%s", label);
  snprintf(h->note, sizeof h->note, "%s", note);
  h->done = done;
  h->total = total;
  h->calls++;
}

static void test_report(void **state) {
  (void)state;
  heard h = {0};
  report_log("nobody %s", "listens");
  report_progress("x", 1, 2, NULL);
  dkho_report_set(&(dkho_report){.user = &h, .log = hear_log}); /* copied: the literal may go */
  report_log("%d of %d", 1, 2);
  assert_string_equal(h.line, "1 of 2");
  report_progress("x", 1, 2, NULL);
  assert_int_equal(h.calls, 1);
  dkho_report_set(&(dkho_report){.user = &h, .progress = hear_progress});
  report_log("unheard");
  report_progress("train", 3, 9, NULL);
  assert_string_equal(h.label, "train");
  assert_string_equal(h.note, "");
  assert_true(h.done == 3 && h.total == 9 && h.calls == 2);
  report_progress("train", 4, 9, "loss 1");
  assert_string_equal(h.note, "loss 1");
  dkho_report_set(NULL);
  report_log("unheard");
  report_progress("train", 5, 9, NULL);
  assert_int_equal(h.calls, 3);
}

/* Wherever it stands in an array of whatever length, the first offender is found; the extremes of finite numbers are none. */
static void test_finite(void **state) {
  (void)state;
  enum { MOST = 200 };
  static const double wrong[] = {NAN, INFINITY, -INFINITY};
  float single[MOST];
  double pair[MOST];
  for (int n = 0; n <= MOST; n++) {
    for (int i = 0; i < MOST; i++) {
      single[i] = i % 3 == 0 ? FLT_MAX : i % 3 == 1 ? -FLT_MAX : FLT_TRUE_MIN;
      pair[i] = i % 3 == 0 ? DBL_MAX : i % 3 == 1 ? -DBL_MAX : DBL_TRUE_MIN;
    }
    assert_int_equal(finite_until_f32(single, n), n);
    assert_int_equal(finite_until_f64(pair, n), n);
    for (int at = n - 1; at >= 0; at--) { /* backwards: later offenders stay */
      single[at] = (float)wrong[at % 3], pair[at] = wrong[at % 3];
      assert_int_equal(finite_until_f32(single, n), at);
      assert_int_equal(finite_until_f64(pair, n), at);
    }
    for (int at = 0; at < n; at++) { /* alone */
      for (int i = 0; i < n; i++) single[i] = 1, pair[i] = 1;
      single[at] = (float)wrong[at % 3], pair[at] = wrong[at % 3];
      assert_int_equal(finite_until_f32(single, n), at);
      assert_int_equal(finite_until_f64(pair, n), at);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mem),         cmocka_unit_test(test_mem_refusals), cmocka_unit_test(test_arena),
      cmocka_unit_test(test_pool_same),   cmocka_unit_test(test_pool_short),   cmocka_unit_test(test_pool_failure),
      cmocka_unit_test(test_pool_create), cmocka_unit_test(test_pool_fork),    cmocka_unit_test(test_rng_known),
      cmocka_unit_test(test_rng_moments), cmocka_unit_test(test_rng_below),    cmocka_unit_test(test_rng_permute),
      cmocka_unit_test(test_rng_streams), cmocka_unit_test(test_status),       cmocka_unit_test(test_report),
      cmocka_unit_test(test_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
