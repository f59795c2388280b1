/* bench_data.c: time to make samples of a benchmark, from the random numbers to the last target, without the file. The samples go
 * in ROUNDS rounds and the quickest speaks for all, so that a busy machine does not. Usage: bench_data [PROBLEM [SAMPLES
 * [RESOLUTION]]]; prints one JSON object. bench/data_vs_scipy.py sets it beside SciPy. */
#include "problem/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WIDEST = 2, ROUNDS = 25 };

typedef struct job {
  const problem *p;
  const cx *c;
  problem_state *s;
  int64_t first; /* group of the round */
  double *block[WIDEST][PROBLEM_FIELDS_MAX];
  void *work[WIDEST];
} job;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static dkho_status group(void *ctx, size_t task, int worker) {
  job *j = ctx;
  int64_t first = (j->first + (int64_t)task) * PROBLEM_GROUP;
  return problem_group(j->p, j->s, j->c, j->work[worker], 42, first, j->block[worker]);
}

/* *seconds: of ROUNDS rounds of `groups` groups, had all been as quick as the quickest; *work: the same in processor time. */
static dkho_status measure(job *j, int threads, int64_t groups, double *seconds, double *work) {
  pool *p;
  dkho_status s = DKHO_OK;
  TRY(pool_create(&p, threads));
  for (int r = 0; s == DKHO_OK && r < ROUNDS; r++) {
    double start = now(CLOCK_MONOTONIC), busy = now(CLOCK_PROCESS_CPUTIME_ID);
    j->first = r * groups;
    s = pool_run(p, (size_t)groups, group, j);
    double spent = (now(CLOCK_MONOTONIC) - start) * ROUNDS, used = (now(CLOCK_PROCESS_CPUTIME_ID) - busy) * ROUNDS;
    *seconds = r == 0 || spent < *seconds ? spent : *seconds;
    *work = r == 0 || used < *work ? used : *work;
  }
  pool_free(p);
  return s;
}

static dkho_status run(const char *name, int64_t samples, const char *resolution) {
  job j = {0};
  cx *c = NULL;
  arena mem = {0};
  int64_t groups = (samples + PROBLEM_GROUP * ROUNDS - 1) / (PROBLEM_GROUP * ROUNDS),
          made = groups * ROUNDS * PROBLEM_GROUP;
  double start, set_up, seconds[WIDEST], work[WIDEST];
  dkho_status s;
  TRY_GOTO(problem_find(name, &j.p));
  TRY_GOTO(j.p->build(&c, resolution));
  j.c = c;
  start = now(CLOCK_MONOTONIC);
  TRY_GOTO(j.p->prepare(&j.s, c, 42));
  set_up = now(CLOCK_MONOTONIC) - start;
  for (int w = 0; w < WIDEST; w++) TRY_GOTO(problem_room(j.p, j.s, c, &mem, j.block[w], &j.work[w]));
  for (int w = 0; w < WIDEST; w++) TRY_GOTO(measure(&j, w + 1, groups, &seconds[w], &work[w]));
  printf("{\"problem\": \"%s\", \"samples\": %lld, \"set_up_seconds\": %.4f", name, (long long)made, set_up);
  for (int w = 0; w < WIDEST; w++)
    printf(", \"seconds_%d\": %.4f, \"ms_per_sample_%d\": %.4f, \"cpu_ms_per_sample_%d\": %.4f", w + 1, seconds[w],
           w + 1, 1e3 * seconds[w] / (double)made, w + 1, 1e3 * work[w] / (double)made);
  printf("}\n");
done:
  for (int w = 0; j.s && w < WIDEST; w++) problem_leave(j.p, j.work[w]);
  if (j.s) j.p->release(j.s);
  arena_free(&mem);
  cx_free(c);
  return s;
}

int main(int argc, char **argv) {
  int64_t samples = argc > 2 ? atoll(argv[2]) : 5000;
  if (samples > 0 && run(argc > 1 ? argv[1] : "darcy", samples, argc > 3 ? argv[3] : "main") == DKHO_OK) return 0;
  fprintf(stderr, "bench_data: %s\n", samples > 0 ? fail_text() : "SAMPLES must be positive");
  return 1;
}
