/* memory.h: a public call with its n-th allocation failing, n = 1, 2, … to the last: the status is DKHO_E_MEMORY, nothing leaks,
 * outputs are NULL, no part of a file stays. Long calls are sampled: the first `dense` n, then a geometric series, then the last
 * few. MEMORY=N takes N times as many (default 1). */
#ifndef TESTS_MEMORY_H
#define TESTS_MEMORY_H

#include "api.h"

static world w;
/* What a call may give; freed after every attempt. */
static dkho_complex *cx_out;
static dkho_calculus *calc_out;
static dkho_dataset *data_out;
static dkho_model *model_out;
static char *text;

typedef struct trial {
  const char *name;
  dkho_status (*call)(void);
  void (*before)(void); /* not under failure; NULL: nothing */
  void (*after)(void);  /* frees what before() and a successful call made */
  int keeps;            /* 1: a whole file may be left by a failed call; temporary ones never */
} trial;

static inline int temporary_files(const char *dir) {
  int found = 0;
  char path[512];
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    found += strstr(e->d_name, ".tmp.") != NULL;
    if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
    assert_in_range(snprintf(path, sizeof path, "%s/%s", dir, e->d_name), 1, 511);
    found += temporary_files(path);
  }
  if (d) closedir(d);
  return found;
}

static inline void drop_outputs(void) {
  dkho_complex_free(cx_out), dkho_calculus_free(calc_out), dkho_dataset_free(data_out), dkho_model_free(model_out);
  dkho_text_free(text);
  cx_out = NULL, calc_out = NULL, data_out = NULL, model_out = NULL, text = NULL;
  api_remove(w.out);
}

static int64_t failures_made;

static inline int64_t memory_effort(void) {
  const char *wanted = getenv("MEMORY");
  return wanted && atoll(wanted) > 0 ? atoll(wanted) : 1;
}

static inline void tell_failures(void) {
  print_message("%lld allocations failed, each call cleanly\n", (long long)failures_made);
}

/* One attempt; returns whether the call succeeded. */
static inline int attempt(const trial *t, int64_t n) {
  size_t live = mem_live_blocks();
  if (t->before) t->before();
  mem_fail_at(n);
  dkho_status s = t->call();
  mem_fail_at(0);
  if (s != DKHO_OK && s != DKHO_E_MEMORY)
    fail_msg("%s, allocation %lld: status '%s', %s", t->name, (long long)n, dkho_status_text(s), dkho_error());
  failures_made += s != DKHO_OK;
  if (s != DKHO_OK) {
    if (!dkho_error()[0]) fail_msg("%s, allocation %lld: no message", t->name, (long long)n);
    if (cx_out || calc_out || data_out || model_out || text)
      fail_msg("%s, allocation %lld: failed, but left an output", t->name, (long long)n);
    if (temporary_files(w.out) || (!t->keeps && scratch_count(w.out)))
      fail_msg("%s, allocation %lld: failed, but left a file", t->name, (long long)n);
  }
  if (t->after) t->after();
  drop_outputs();
  if (mem_live_blocks() != live)
    fail_msg("%s, allocation %lld: %lld blocks leaked", t->name, (long long)n,
             (long long)mem_live_blocks() - (long long)live);
  return s == DKHO_OK;
}

static inline void sweep(const trial *t, int64_t dense) {
  if (t->before) t->before();
  uint64_t from = mem_calls();
  FINE(t->call());
  int64_t all = (int64_t)(mem_calls() - from);
  if (t->after) t->after();
  drop_outputs();
  assert_true(all > 0);
  int64_t effort = memory_effort();
  for (int64_t n = 1; n <= all; n = n < effort * dense ? n + 1 : n + 1 + n / (4 * effort))
    if (attempt(t, n))
      fail_msg("%s succeeds although allocation %lld of %lld failed", t->name, (long long)n, (long long)all);
  for (int64_t n = all > 2 ? all - 2 : 1; n <= all; n++)
    if (attempt(t, n))
      fail_msg("%s succeeds although allocation %lld of %lld failed", t->name, (long long)n, (long long)all);
  assert_true(attempt(t, all + 1));
}

#endif
