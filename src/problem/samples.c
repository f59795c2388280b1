/* samples.c: drawing and solving the samples of any problem: in groups that one factor serves, or one by one. A sample that cannot be solved
 * is drawn again; the others do not notice. The ranks of a job take rounds of samples in turn, and each puts its own into the file. */
#include "problem/problem_impl.h"

#include "base/comm.h"
#include "base/report.h"

#include <stdio.h>
#include <string.h>

enum { ROUND = 8 * PROBLEM_GROUP, TAG = 1 }; /* samples by which the file grows, and of their messages */
/* Draws of a sample before the problem itself is to blame. Draw number a of sample i has the stream i + a·2⁴⁰; there are no 2⁴⁰ samples. */
enum { DRAWS = 10, DRAW_SHIFT = 40 };

/* Fields that are not static, and their entries per sample. */
typedef struct varying {
  int count;
  const data_field *field[PROBLEM_FIELDS_MAX];
  size_t entries[PROBLEM_FIELDS_MAX];
} varying;

static varying list_varying(const problem *p, const cx *c) {
  varying v = {0};
  for (int i = 0; i < p->fields; i++) {
    const data_field *f = &p->field[i];
    if (f->role == DATA_STATIC) continue;
    v.entries[v.count] = (size_t)(f->role == DATA_GLOBAL ? 1 : c->n[f->degree]) * (size_t)f->channels;
    v.field[v.count++] = f;
  }
  return v;
}

/* The k-th sample of a block. */
static void pick_sample(const varying *v, double *const *block, int k, double **one) {
  for (int j = 0; j < v->count; j++) one[j] = block[j] + (size_t)k * v->entries[j];
}

/* The file keeps floats, and targets must belong to what it keeps. */
static void round_inputs(const varying *v, size_t samples, double *const *block) {
  for (int j = 0; j < v->count; j++)
    for (size_t a = 0; v->field[j]->role == DATA_INPUT && a < samples * v->entries[j]; a++)
      block[j][a] = (float)block[j][a];
}

/* How often a sample was drawn in vain, and why. */
typedef struct redrawn {
  int times;
  char why[200];
} redrawn;

/* below: what also solves it on a coarser mesh, or NULL. */
static dkho_status make_sample(const problem *p, const problem_state *s, const varying *v, void *work,
                               coarse_solver *below, uint64_t seed, int64_t sample, double *const *one,
                               redrawn *again) {
  dkho_status st = DKHO_OK;
  for (again->times = 0; again->times < DRAWS; again->times++) {
    rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample + ((uint64_t)again->times << DRAW_SHIFT));
    p->draw_one(s, work, &r, one);
    round_inputs(v, 1, one);
    st = p->solve_one(s, work, one);
    if (st == DKHO_OK && below) st = coarse_solve(below, one);
    if (st != DKHO_E_NOCONV) break;
    snprintf(again->why, sizeof again->why, "%s", fail_text());
  }
  if (st == DKHO_E_NOCONV) return fail_prefix(st, "sample %lld: %d draws in vain, the last", (long long)sample, DRAWS);
  return st == DKHO_OK ? st : fail_prefix(st, "sample %lld", (long long)sample);
}

static dkho_status make_group(const problem *p, const problem_state *s, const varying *v, void *work, uint64_t seed,
                              int64_t first, double *const *block) {
  p->draw(s, work, seed, first, block);
  round_inputs(v, PROBLEM_GROUP, block);
  return p->solve(s, work, block);
}

dkho_status problem_group(const problem *p, const problem_state *s, const cx *c, void *work, uint64_t seed,
                          int64_t first, double *const *block) {
  varying v = list_varying(p, c);
  if (!p->draw_one) return make_group(p, s, &v, work, seed, first, block);
  for (int k = 0; k < PROBLEM_GROUP; k++) {
    double *one[PROBLEM_FIELDS_MAX];
    redrawn again;
    pick_sample(&v, block, k, one);
    TRY(make_sample(p, s, &v, work, NULL, seed, first + k, one, &again));
  }
  return DKHO_OK;
}

dkho_status problem_solve(const problem *p, const problem_state *s, const cx *c, void *work, double *const *block) {
  if (!p->draw_one) return p->solve(s, work, block);
  varying v = list_varying(p, c);
  for (int k = 0; k < PROBLEM_GROUP; k++) {
    double *one[PROBLEM_FIELDS_MAX];
    pick_sample(&v, block, k, one);
    TRY(p->solve_one(s, work, one));
  }
  return DKHO_OK;
}

dkho_status problem_room(const problem *p, const problem_state *s, const cx *c, arena *mem, double **block,
                         void **work) {
  varying v = list_varying(p, c);
  *work = NULL;
  for (int j = 0; j < v.count; j++)
    if (!ARENA_NEW(mem, block[j], PROBLEM_GROUP * v.entries[j])) return DKHO_E_MEMORY;
  if (p->open) return p->open(work, s);
  return (*work = arena_take(mem, p->work(s), 1)) ? DKHO_OK : DKHO_E_MEMORY;
}

void problem_leave(const problem *p, void *work) {
  if (p->close && work) p->close(work);
}

/* One round: tasks solve a group, or a sample, in double and round it into the file's types. */
typedef struct batch {
  const problem *p;
  const problem_state *s;
  const cx *c;
  uint64_t seed;
  int64_t first, samples; /* of this round; samples ≤ ROUND */
  int per_task;           /* samples of a task */
  varying v;
  void *out[PROBLEM_FIELDS_MAX];        /* floats, doubles for globals: ROUND samples */
  double *(*block)[PROBLEM_FIELDS_MAX]; /* per worker: PROBLEM_GROUP samples */
  void **work;                          /* per worker */
  const coarse *low;                    /* NULL: none, */
  coarse_solver **below;                /* nor any of these, per worker */
  redrawn *again;                       /* ROUND */
} batch;

/* The first samples of a block to their places in the round. */
static void keep_samples(const batch *b, double *const *block, int64_t at, int64_t count) {
  for (int j = 0; j < b->v.count; j++) {
    size_t n = b->v.entries[j] * (size_t)count, from = b->v.entries[j] * (size_t)at;
    if (b->v.field[j]->role == DATA_GLOBAL)
      memcpy((double *)b->out[j] + from, block[j], n * sizeof(double));
    else
      for (size_t i = 0; i < n; i++) ((float *)b->out[j])[from + i] = (float)block[j][i];
  }
}

static dkho_status make_task(void *ctx, size_t task, int worker) {
  batch *b = ctx;
  double **block = b->block[worker];
  int64_t at = (int64_t)task * b->per_task, left = b->samples - at;
  if (b->p->draw_one)
    TRY(make_sample(b->p, b->s, &b->v, b->work[worker], b->below[worker], b->seed, b->first + at, block,
                    &b->again[at]));
  else
    TRY(make_group(b->p, b->s, &b->v, b->work[worker], b->seed, b->first + at, block));
  keep_samples(b, block, at, left < b->per_task ? left : b->per_task);
  return DKHO_OK;
}

static void report_redrawn(const batch *b) {
  for (int64_t i = 0; b->p->draw_one && i < b->samples; i++)
    if (b->again[i].times)
      report_log("%s: sample %lld was drawn %d times: %s", b->p->name, (long long)(b->first + i), b->again[i].times + 1,
                 b->again[i].why);
}

static dkho_status open_batch(batch *b, arena *mem, int width) {
  if (!ARENA_NEW(mem, b->work, width) || !ARENA_NEW(mem, b->below, width) || !ARENA_NEW(mem, b->block, width) ||
      !ARENA_NEW(mem, b->again, ROUND))
    return DKHO_E_MEMORY;
  for (int j = 0; j < b->v.count; j++) {
    size_t size = b->v.field[j]->role == DATA_GLOBAL ? sizeof(double) : sizeof(float);
    if (!(b->out[j] = arena_take(mem, ROUND * b->v.entries[j], size))) return DKHO_E_MEMORY;
  }
  for (int i = 0; i < width; i++) TRY(problem_room(b->p, b->s, b->c, mem, b->block[i], &b->work[i]));
  for (int i = 0; b->low && i < width; i++) TRY(coarse_open(&b->below[i], b->low));
  return DKHO_OK;
}

/* What is to be said of a round, from the rank that made it to the first one. */
static dkho_status move_redrawn(batch *b, comm *c, int from) {
  size_t bytes = (size_t)b->samples * sizeof *b->again;
  return c->rank ? comm_send(c, 0, TAG, b->again, bytes) : comm_receive(c, from, TAG, b->again, bytes);
}

/* Where a round begins, and its samples. */
static void set_round(batch *b, int64_t first, int64_t length, int64_t samples) {
  b->first = first < samples ? first : samples;
  b->samples = samples - b->first < length ? samples - b->first : length;
}

/* A round of this rank. */
static dkho_status make_round(batch *b, dataset_writer *w, pool *threads) {
  TRY(pool_run(threads, (size_t)((b->samples + b->per_task - 1) / b->per_task), make_task, b));
  return b->samples ? dataset_append(w, 0, b->samples, (const void *const *)b->out) : DKHO_OK;
}

/* The first rank's report on the round of rank r. */
static dkho_status report_round(batch *b, comm *c, int r) {
  if (b->p->draw_one && r && b->samples && (c->rank == 0 || c->rank == r)) TRY(move_redrawn(b, c, r));
  if (c->rank == 0) report_redrawn(b);
  return DKHO_OK;
}

/* Rounds of `length` samples, as many at a time as there are ranks: every rank goes through all of them and makes its own. */
static dkho_status run_rounds(batch *b, dataset_writer *w, int64_t samples, pool *threads) {
  comm *c = comm_world();
  int64_t share = (samples + c->size - 1) / c->size;
  int64_t length = share < ROUND ? (share + b->per_task - 1) / b->per_task * b->per_task : ROUND;
  for (int64_t at = 0; at < samples; at += c->size * length) {
    dkho_status s = DKHO_OK;
    report_progress("samples", (uint64_t)at, (uint64_t)samples, NULL);
    for (int r = 0; s == DKHO_OK && r < c->size; r++) {
      set_round(b, at + r * length, length, samples);
      if (r == c->rank)
        s = make_round(b, w, threads);
      else if (b->samples)
        s = dataset_skip(w, b->samples, r);
    }
    TRY(comm_agree_named(c, s));
    for (int r = 0; r < c->size; r++) {
      set_round(b, at + r * length, length, samples);
      TRY(report_round(b, c, r));
    }
  }
  report_progress("samples", (uint64_t)samples, (uint64_t)samples, NULL);
  return DKHO_OK;
}

dkho_status problem_put_samples(dataset_writer *w, const problem *p, const coarse *low, const cx *c,
                                const problem_state *s, uint64_t seed, int64_t samples, pool *threads) {
  if (low) p = coarse_problem(low);
  batch b = {.p = p, .low = low, .s = s, .c = c, .seed = seed, .per_task = p->draw_one ? 1 : PROBLEM_GROUP};
  arena mem = {0};
  int width = pool_width(threads);
  b.v = list_varying(p, c);
  dkho_status st = comm_agree(comm_world(), open_batch(&b, &mem, width));
  if (st == DKHO_OK) st = run_rounds(&b, w, samples, threads);
  for (int i = 0; b.below && i < width; i++) coarse_close(b.below[i]);
  for (int i = 0; b.work && i < width; i++) problem_leave(p, b.work[i]);
  arena_free(&mem);
  return st;
}
