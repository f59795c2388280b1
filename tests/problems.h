/* problems.h: a problem made ready for a test: its complex, what it prepares, room for one group of samples. */
#ifndef TESTS_PROBLEMS_H
#define TESTS_PROBLEMS_H

#include "scratch.h"

#include "problem/problem.h"

#include <math.h>

#ifdef __SANITIZE_ADDRESS__
enum { SLOW = 1 }; /* sanitizers: fewer samples, smaller meshes, what needs numbers is left out */
#else
enum { SLOW = 0 };
#endif

enum { GROUP = PROBLEM_GROUP };

#define assert_ok(call)                                                                                                \
  do {                                                                                                                 \
    if ((call) != DKHO_OK) fail_msg("%s", fail_text());                                                                \
  } while (0)
#define assert_between(value, lo, hi)                                                                                  \
  do {                                                                                                                 \
    double is = (value);                                                                                               \
    if (!(is >= (lo) && is <= (hi)))                                                                                   \
      fail_msg("line %d: %s is %.12g, expected %.12g … %.12g", __LINE__, #value, is, (double)(lo), (double)(hi));      \
  } while (0)

static inline double *doubles(arena *mem, int64_t n) {
  double *out = arena_take(mem, (size_t)n, sizeof *out);
  assert_non_null(out);
  return out;
}

typedef struct ready {
  const problem *p;
  cx *c;
  problem_state *s;
  arena mem;
  double *block[PROBLEM_FIELDS_MAX];
  void *work;
} ready;

/* Takes the complex over. */
static inline ready ready_on(const problem *p, cx *c) {
  ready r = {.p = p, .c = c};
  assert_ok(p->prepare(&r.s, c, 42));
  assert_ok(problem_room(p, r.s, c, &r.mem, r.block, &r.work));
  return r;
}

static inline ready ready_make(const problem *p, const char *resolution) {
  cx *c;
  assert_ok(p->build(&c, resolution));
  return ready_on(p, c);
}

static inline void ready_free(ready *r) {
  problem_leave(r->p, r->work);
  r->p->release(r->s);
  cx_free(r->c);
  arena_free(&r->mem);
}

static inline void ready_group(ready *r, int64_t first) {
  assert_ok(problem_group(r->p, r->s, r->c, r->work, 42, first, r->block));
}

static inline double *ready_static(ready *r, const char *name) {
  for (int i = 0; i < r->p->fields; i++) {
    const data_field *f = &r->p->field[i];
    if (strcmp(f->name, name) != 0) continue;
    double *out = doubles(&r->mem, r->c->n[f->degree] * f->channels);
    assert_ok(r->p->fill(r->s, name, out));
    return out;
  }
  fail_msg("no static %s", name);
  return NULL;
}

static inline double mean_square(int64_t n, const double *v) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
  return sum / (double)n;
}

/* ‖a - b‖/‖b‖ */
static inline double relative_distance(int64_t n, const double *a, const double *b) {
  double gap = 0, size = 0;
  for (int64_t i = 0; i < n; i++) gap += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  return sqrt(gap / size);
}

/* Makes a data set of `samples` samples at smoke resolution and opens it. */
static inline dataset *smoke_file(const problem *p, const char *path, int64_t samples, int threads) {
  problem_request r = {.resolution = "smoke", .samples = samples, .seed = 42, .threads = threads, .force = 1};
  dataset *d;
  assert_ok(problem_generate(p, &r, path));
  assert_ok(dataset_open(&d, path));
  return d;
}

#endif
