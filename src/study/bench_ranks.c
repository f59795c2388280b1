/* bench_ranks.c: what the ranks of a job cost each other, and what that predicts for a training step. In turns: the first rank alone with
 * a batch and with one sample, all ranks sharing the batch, all ranks sharing the mesh of one sample. Messages are timed between
 * the first and the last rank. The model is that of docs/SCALING.md; everything in it is measured on the first rank alone, or counted:
 *   samples: ⌈B/P⌉ t₁ + t_o + ⌈log₂ P⌉ (2α + (2β + γ) n),    parts: t_d + s (t₁ + t_o - t_d) + m α + b β,
 * t₁ a sample, t_d its descriptors, t_o what a step takes beside samples, n bytes of a gradient, m messages of b bytes together, s the
 * largest share of the work. */
#include "base/clock.h"
#include "base/report.h"
#include "problem/problem.h"
#include "run/config.h"
#include "study/bench.h"
#include "study/measure.h"

#include "mesh/exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TAG_PING = 2, PINGS = 201, LARGE = 1 << 20, LARGE_PINGS = 21, TURNS_MOST = 200, SAMPLES_MADE = 16 };

/* ---- messages ---- */

/* Half of the median round trip of so many bytes between the first and the last rank, in seconds. */
static dkho_status time_ping(comm *c, size_t bytes, int count, void *data, double *out) {
  double half[PINGS];
  int last = c->size - 1;
  for (int i = 0; i < count; i++) {
    double start = clock_now();
    if (c->rank == 0) TRY(comm_send(c, last, TAG_PING, data, bytes));
    if (c->rank == last) TRY(comm_receive(c, 0, TAG_PING, data, bytes));
    if (c->rank == last) TRY(comm_send(c, 0, TAG_PING, data, bytes));
    if (c->rank == 0) TRY(comm_receive(c, last, TAG_PING, data, bytes));
    half[i] = (clock_now() - start) / 2;
  }
  *out = measure_median(half, count);
  return comm_broadcast(c, 0, out, sizeof *out);
}

/* Seconds per byte of y that is added to x. */
static double time_adding(const kern *k, real *x, const real *y) {
  double each[LARGE_PINGS];
  for (int go = 0; go < LARGE_PINGS; go++) {
    double start = clock_now();
    k->axpy(LARGE / sizeof *x, 1, y, x);
    each[go] = (clock_now() - start) / LARGE;
  }
  return measure_median(each, LARGE_PINGS);
}

static dkho_status time_messages(comm *c, ranks_report *r) {
  const kern *k;
  double large = 0;
  TRY(kern_get(&k));
  r->isa = k->name;
  real *x = mem_alloc(2, LARGE);
  TRY(comm_agree(c, x ? DKHO_OK : DKHO_E_MEMORY));
  dkho_status s = time_ping(c, 8, PINGS, x, &r->latency);
  if (s == DKHO_OK) s = time_ping(c, LARGE, LARGE_PINGS, x, &large);
  r->per_byte = fmax(large - r->latency, 1e-12) / LARGE;
  r->add_per_byte = time_adding(k, x, x + LARGE / sizeof *x);
  mem_free(x);
  return s == DKHO_OK ? comm_broadcast(c, 0, &r->add_per_byte, sizeof r->add_per_byte) : s;
}

/* ---- steps ---- */

typedef enum { STEP_ALONE, STEP_ONE_ALONE, STEP_SAMPLES, STEP_PARTS, STEP_KINDS } step_kind;

/* One size of the network on the whole mesh and on its part of it. */
typedef struct contest {
  comm *ranks;
  mesh_share share;
  neural_operator *o[RANKS_WAYS];
  measured m[RANKS_WAYS];
  double time[STEP_KINDS][TURNS_MOST], waited[STEP_KINDS][TURNS_MOST];
  comm_meter sent[STEP_KINDS]; /* by a step */
} contest;

static dkho_status take_step(contest *t, step_kind kind) {
  measured *m = &t->m[kind == STEP_PARTS ? RANKS_PARTS : RANKS_SAMPLES];
  if (kind <= STEP_ONE_ALONE && t->ranks->rank) return DKHO_OK;
  m->ranks = kind == STEP_SAMPLES ? t->ranks : NULL;
  return measure_train(m, kind == STEP_ONE_ALONE || kind == STEP_PARTS ? 1 : MEASURE_BATCH);
}

/* Steps of a kind, from one barrier to the next; several where one is short. */
static dkho_status time_kind(contest *t, step_kind kind, int turn) {
  int steps = kind == STEP_ONE_ALONE || kind == STEP_PARTS ? 4 : 1;
  TRY(comm_barrier(t->ranks));
  comm_meter before = t->ranks->meter;
  double start = clock_now();
  for (int i = 0; i < steps; i++) TRY(take_step(t, kind));
  const comm_meter *now = &t->ranks->meter;
  t->waited[kind][turn] = (now->waited - before.waited) / steps;
  t->sent[kind] = (comm_meter){(now->messages - before.messages) / steps, (now->bytes - before.bytes) / steps, 0};
  TRY(comm_barrier(t->ranks));
  t->time[kind][turn] = (clock_now() - start) / steps;
  return DKHO_OK;
}

/* Turns through the kinds until the first rank's time is up, after one that does not count. */
static dkho_status take_turns(contest *t, double seconds, int *turns) {
  double began = 0;
  int more = 1;
  for (*turns = -1; more; ++*turns) {
    for (int k = 0; k < STEP_KINDS; k++) TRY(time_kind(t, (step_kind)k, *turns < 0 ? 0 : *turns));
    if (*turns < 0) began = clock_now();
    more = *turns < 0 || (clock_now() - began < seconds && *turns + 1 < TURNS_MOST);
    TRY(comm_broadcast(t->ranks, 0, &more, sizeof more));
  }
  return DKHO_OK;
}

/* ---- figures ---- */

static int rounds_of(int ranks) {
  int h = 0;
  while (1 << h < ranks) h++;
  return h;
}

static void predict_steps(const ranks_report *r, ranks_row *w, double gradient) {
  int share = (MEASURE_BATCH + r->ranks - 1) / r->ranks;
  ranks_measured *samples = &w->way[RANKS_SAMPLES], *parts = &w->way[RANKS_PARTS];
  w->sample = (samples->alone - parts->alone) / (MEASURE_BATCH - 1);
  w->fixed = fmax(parts->alone - w->sample, 0);
  samples->predicted = share * w->sample + w->fixed +
                       rounds_of(r->ranks) * (2 * r->latency + gradient * (2 * r->per_byte + r->add_per_byte));
  parts->predicted = w->described + w->share * (parts->alone - w->described) + parts->messages * r->latency +
                     parts->bytes * r->per_byte;
}

/* The mean over the ranks of a number of each. */
static dkho_status mean_of(comm *c, double *x) {
  TRY(comm_sum(c, x, 1));
  *x /= c->size;
  return DKHO_OK;
}

static dkho_status fill_way(contest *t, int turns, step_kind alone, step_kind together, ranks_measured *out) {
  out->alone = measure_median(t->time[alone], turns); /* sorts: the best comes first */
  out->together = measure_median(t->time[together], turns);
  out->alone_best = t->time[alone][0], out->together_best = t->time[together][0];
  out->communication = measure_median(t->waited[together], turns) / out->together;
  out->messages = (double)t->sent[together].messages;
  out->bytes = (double)t->sent[together].bytes;
  TRY(mean_of(t->ranks, &out->communication));
  TRY(mean_of(t->ranks, &out->messages));
  TRY(mean_of(t->ranks, &out->bytes));
  return comm_broadcast(t->ranks, 0, out, sizeof *out);
}

/* The work of the rank that has most of it, against the whole. */
static dkho_status largest_share(contest *t, double whole, double *out) {
  double most = 0, work;
  TRY(runner_work(t->m[RANKS_PARTS].train, &work));
  for (int r = 0; r < t->ranks->size; r++) {
    double of = work;
    TRY(comm_broadcast(t->ranks, r, &of, sizeof of));
    most = fmax(most, of);
  }
  *out = most / whole;
  return DKHO_OK;
}

static dkho_status fill_ranks_row(contest *t, const ranks_report *r, ranks_row *w) {
  const neural_operator *o = t->o[RANKS_SAMPLES];
  runner *whole = t->m[RANKS_SAMPLES].train;
  double work;
  for (int k = 0; k <= o->first->c->dim; k++) w->simplices += o->first->c->n[k];
  w->parameters = o->p->total;
  w->way[RANKS_SAMPLES].batch = MEASURE_BATCH, w->way[RANKS_PARTS].batch = 1;
  TRY(fill_way(t, w->turns, STEP_ALONE, STEP_SAMPLES, &w->way[RANKS_SAMPLES]));
  TRY(fill_way(t, w->turns, STEP_ONE_ALONE, STEP_PARTS, &w->way[RANKS_PARTS]));
  TRY(runner_work(whole, &work));
  TRY(largest_share(t, work, &w->share));
  int share = (int)(sum_tree_first(MEASURE_BATCH, r->ranks,
                                   1)); /* of the first rank, where the others have not described more */
  w->described = runner_described(whole) / ((w->turns + 1.0) * (MEASURE_BATCH + 4 + share));
  predict_steps(r, w, (double)o->p->size * sizeof(real));
  w->gflops = 2e-9 * work / w->sample;
  return DKHO_OK;
}

/* ---- set-up ---- */

static dkho_status open_contest(contest *t, const dataset *d, const run_config *cfg, int threads) {
  t->share.ranks = t->ranks;
  for (int w = 0; w < RANKS_WAYS; w++) {
    dkho_status s = operator_create(&t->o[w], d, &cfg->request);
    if (s == DKHO_OK && w == RANKS_PARTS) t->o[w]->share = &t->share;
    TRY(comm_agree(t->ranks, s));
    TRY(comm_agree(t->ranks, measure_open(&t->m[w], d, t->o[w], threads, 0)));
  }
  return DKHO_OK;
}

static void close_contest(contest *t) {
  for (int w = 0; w < RANKS_WAYS; w++) {
    if (t->m[w].o) measure_close(&t->m[w]);
    operator_free(t->o[w]);
  }
  mem_free(t);
}

static dkho_status bench_size(comm *c, const dataset *d, int threads, double seconds, ranks_report *r, ranks_row *row) {
  run_config cfg = {0};
  contest *t = NULL;
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.model = row->model, options.size = row->size;
  dkho_status s = config_resolve(&cfg, d, "bench", &options);
  if (s == DKHO_OK && !MEM_NEW(t, 1)) s = DKHO_E_MEMORY;
  s = comm_agree(c, s);
  if (t) t->ranks = c;
  if (s == DKHO_OK) s = open_contest(t, d, &cfg, threads);
  if (s == DKHO_OK && c->rank == 0) s = measure_peak(&t->m[RANKS_SAMPLES]);
  if (s == DKHO_OK) s = take_turns(t, seconds, &row->turns);
  if (s == DKHO_OK) s = fill_ranks_row(t, r, row);
  if (s == DKHO_OK) r->peak_gflops = fmax(r->peak_gflops, 2e-9 * t->m[RANKS_SAMPLES].peak);
  if (t) close_contest(t);
  config_free(&cfg);
  return s;
}

/* A few samples in a file that vanishes when all have opened it. */
static dkho_status open_samples(const problem *p, const char *resolution, int threads, comm *c, dataset **d) {
  char path[64];
  snprintf(path, sizeof path, "bench-%ld.st.tmp", (long)getpid());
  TRY(comm_broadcast(c, 0, path, sizeof path));
  problem_request g = {.resolution = resolution, .samples = SAMPLES_MADE, .seed = 42, .threads = threads, .force = 1};
  TRY(problem_generate(p, &g, path));
  dkho_status s = comm_agree(c, dataset_open(d, path));
  if (c->rank == 0) unlink(path);
  return s;
}

dkho_status bench_ranks(const char *of, const char *resolution, int threads, double seconds, ranks_report *out) {
  static const char *const rows[RANKS_ROWS][2] = {{"dkho", "small"}, {"dkho", "large"}, {"dkho-x", "small"}};
  comm *c = comm_world();
  const problem *p;
  dataset *d = NULL;
  *out = (ranks_report){.ranks = c->size, .threads = threads, .library = c->table->name};
  if (c->size < 2)
    return fail(DKHO_E_INPUT, "bench: found %d rank, expected at least two: mpirun -n 2 dkho bench --mpi", c->size);
  TRY(problem_find(of ? of : "darcy", &p));
  out->problem = p->name;
  TRY(time_messages(c, out));
  dkho_status s = open_samples(p, resolution ? resolution : "main", threads, c, &d);
  for (int i = 0; s == DKHO_OK && i < RANKS_ROWS; i++) {
    out->row[i].model = rows[i][0], out->row[i].size = rows[i][1];
    report_progress("measuring", (uint64_t)i, RANKS_ROWS, rows[i][0]);
    s = bench_size(c, d, threads, seconds, out, &out->row[i]);
  }
  dataset_free(d);
  return s;
}
