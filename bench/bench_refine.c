/* bench_refine.c: what the classical solver of a nonlinear problem costs and is worth on coarser meshes. The same samples are solved at every
 * resolution, read off at the reference resolution and compared with the solution there. Seconds are processor time of the solving thread,
 * the least of REPEATS solves for each sample, then the mean: a busy machine does not count. Usage: bench_refine PROBLEM [SAMPLES
 * [REFERENCE]]; prints one JSON object. */
#include "problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 3 };

typedef struct level {
  const problem *p;
  cx *c;
  problem_state *s;
  arena mem;
  double *one[PROBLEM_FIELDS_MAX];
  void *work;
} level;

static double thread_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static dkho_status level_open(level *l, const problem *p, const char *resolution) {
  *l = (level){.p = p};
  TRY(p->build(&l->c, resolution));
  TRY(p->prepare(&l->s, l->c, 42));
  return problem_room(p, l->s, l->c, &l->mem, l->one, &l->work);
}

static void level_close(level *l) {
  problem_leave(l->p, l->work);
  l->p->release(l->s);
  arena_free(&l->mem);
  cx_free(l->c);
}

static dkho_status level_solve(level *l, int64_t sample, int repeats, double *seconds) {
  rng r = rng_open(42, RNG_SAMPLE, (uint64_t)sample);
  l->p->draw_one(l->s, l->work, &r, l->one);
  *seconds = INFINITY;
  for (int k = 0; k < repeats; k++) {
    double start = thread_seconds();
    TRY(l->p->solve_one(l->s, l->work, l->one));
    *seconds = fmin(*seconds, thread_seconds() - start);
  }
  return DKHO_OK;
}

/* Adds ‖a - b‖/‖b‖ of each target to error[]. */
static void add_errors(const level *at, double *const *a, double *error) {
  for (int i = 0, j = 0, t = 0; i < at->p->fields; i++) {
    const data_field *f = &at->p->field[i];
    double gap = 0, size = 0;
    if (f->role == DATA_STATIC) continue;
    for (int64_t k = 0; f->role == DATA_TARGET && k < at->c->n[f->degree] * f->channels; k++) {
      gap += (a[j][k] - at->one[j][k]) * (a[j][k] - at->one[j][k]);
      size += at->one[j][k] * at->one[j][k];
    }
    if (f->role == DATA_TARGET) error[t++] += sqrt(gap / size);
    j++;
  }
}

static void print_level(const level *l, const char *resolution, int64_t samples, double seconds, const double *error) {
  printf("  \"%s\": {\"vertices\": %lld, \"ms_per_solve\": %.3f, \"error\": {", resolution, (long long)l->c->n[0],
         1e3 * seconds / (double)samples);
  for (int i = 0, t = 0; i < l->p->fields; i++)
    if (l->p->field[i].role == DATA_TARGET) {
      printf("%s\"%s\": %.5f", t ? ", " : "", l->p->field[i].name, error[t] / (double)samples);
      t++;
    }
  printf("}}");
}

static dkho_status compare_levels(const problem *p, int64_t samples, const char *reference) {
  static const char *const resolutions[] = {"smoke", "coarse", "medium", "main", "fine"};
  level best, now;
  double *read[PROBLEM_FIELDS_MAX], unused;
  void *none;
  TRY(level_open(&best, p, reference));
  TRY(problem_room(p, best.s, best.c, &best.mem, read, &none));
  problem_leave(p, none);
  printf("{\"problem\": \"%s\", \"samples\": %lld, \"reference\": \"%s\", \"levels\": {\n", p->name, (long long)samples,
         reference);
  for (size_t i = 0; i < sizeof resolutions / sizeof *resolutions; i++) {
    double seconds = 0, least, error[PROBLEM_FIELDS_MAX] = {0};
    int same = strcmp(resolutions[i], reference) == 0;
    TRY(level_open(&now, p, resolutions[i]));
    for (int64_t s = 0; s < samples; s++) {
      TRY(level_solve(&now, s, REPEATS, &least));
      seconds += least;
      if (same) continue;
      TRY(level_solve(&best, s, 1, &unused));
      TRY(p->transfer(now.work, best.c, read));
      add_errors(&best, read, error);
    }
    print_level(&now, resolutions[i], samples, seconds, error);
    level_close(&now);
    printf("%s\n", same ? "\n}}" : ",");
    if (same) break;
  }
  level_close(&best);
  return DKHO_OK;
}

int main(int argc, char **argv) {
  const problem *p;
  int64_t samples = argc > 2 ? atoll(argv[2]) : 8;
  if (argc < 2 || argc > 4 || samples < 1) {
    fprintf(stderr, "usage: bench_refine PROBLEM [SAMPLES [REFERENCE]]\n");
    return 2;
  }
  dkho_status s = problem_find(argv[1], &p);
  if (s == DKHO_OK && !p->transfer) {
    fprintf(stderr, "bench_refine: %s cannot be read on other meshes\n", p->name);
    return 2;
  }
  if (s == DKHO_OK) s = compare_levels(p, samples, argc > 3 ? argv[3] : "main");
  if (s != DKHO_OK) fprintf(stderr, "bench_refine: %s\n", fail_text());
  return s != DKHO_OK;
}
