/* bench_kern: what the kernels make of the machine. Measures the multiply-add peak of all threads, each thin kernel on
 * one core, and whole training steps of the fused network on the Darcy complex; prints rates, shares of the peak of the
 * same run and milliseconds per sample. Only useful multiply-adds count (model/dkho/fused.h). DKHO_ISA picks the kernels.
 *
 *   bench_kern [--size small|large] [--threads N] [--batch B] [--seconds S] [--target K] [--mesh smoke|main|torus:N] [--steps]
 *              [--train] [--cpu] [--variant full|no_dirac|no_phase|extended] [--start zero|deterministic|random_learnable]
 *
 * `extended` is dkho-x: exchange=both, spectral=32, no relation; its modes are noise. Under mpirun the ranks share the mesh, and what
 * they send and hold is printed; torus:N has 3 N² simplices. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/dkho/fused.h"
#include "mesh/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { W = KERN_LANES, BLOCK = 4, MODES = 32 };

typedef struct {
  int h, c, threads, batch, target, steps_only, train_only;
  double seconds;
  const char *mesh;
  fused_relation relation;
  fused_start start;
} options;

static clockid_t ticks =
    CLOCK_MONOTONIC; /* --cpu: processor time of this process without its waiting for ranks, for busy machines */

static double now(void) {
  struct timespec t;
  clock_gettime(ticks, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --cpu: the calls in which a rank waits, and the processor time they have taken. */
static const comm_table *plain_table;
static double idle;

static dkho_status timed_wait(comm *c, comm_request *r) {
  double start = now();
  dkho_status s = plain_table->wait(c, r);
  idle += now() - start;
  return s;
}
static dkho_status timed_broadcast(comm *c, int root, void *data, size_t bytes) {
  double start = now();
  dkho_status s = plain_table->broadcast(c, root, data, bytes);
  idle += now() - start;
  return s;
}
static void watch_waiting(comm *c) {
  static comm_table timed;
  if (ticks == CLOCK_MONOTONIC || c->size == 1) return;
  timed = *(plain_table = c->table);
  timed.wait = timed_wait, timed.broadcast = timed_broadcast;
  c->table = &timed;
}

static float *noise(size_t n, uint64_t stream, double scale) {
  float *x = mem_alloc(n, sizeof *x);
  if (!x) exit(1);
  rng r = rng_open(1, RNG_TEST, stream);
  for (size_t i = 0; i < n; i++) x[i] = (float)(scale * (2 * rng_uniform(&r) - 1));
  return x;
}

static void check(dkho_status s) {
  if (s == DKHO_OK) return;
  fprintf(stderr, "bench_kern: %s\n", fail_text());
  exit(1);
}

typedef struct {
  const kern *k;
  float sink[64][W];
} peak_job;

static dkho_status peak_task(void *ctx, size_t task, int worker) {
  (void)task;
  peak_job *j = ctx;
  j->k->peak(4000000, j->sink[worker % 64]);
  return DKHO_OK;
}

/* Multiply-adds per second of all threads together, the best of several goes. */
static double measure_peak(const kern *k, pool *p) {
  peak_job j = {.k = k};
  double best = 0, each = k->peak(1000, j.sink[0]) * 4000;
  for (int go = 0; go < 5; go++) {
    double start = now();
    pool_run(p, (size_t)pool_width(p), peak_task, &j);
    double rate = each * pool_width(p) / (now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

/* Buffers for one block of a kernel under test. */
typedef struct {
  const kern *k;
  int h, in;
  float *x, *y, *z, *r, *w, *b, *lanes, *rstd;
} bench_block;

static void run_mm(bench_block *b) {
  kern_mm(b->k, BLOCK, b->x, (size_t)b->in * W, b->in, b->w, b->h, b->h, b->b, 0, b->y, (size_t)b->h * W);
}
static void run_transpose(bench_block *b) {
  b->k->transpose(BLOCK, b->y, (size_t)b->h * W, b->h, b->r);
}
static void run_grad_w(bench_block *b) {
  b->k->grad_w(BLOCK, b->x, (size_t)b->in * W, b->in, b->r, b->h, b->z);
}
static void run_norm(bench_block *b) {
  size_t s = (size_t)b->h * W;
  b->k->norm(BLOCK, b->h, b->x, s, b->z, s, b->rstd);
}
static void run_gelu_norm(bench_block *b) {
  size_t s = (size_t)b->h * W;
  b->k->gelu_norm(BLOCK, b->h, b->x, s, b->y, s);
}
static void run_gelu_norm_keep(bench_block *b) {
  size_t s = (size_t)b->h * W;
  b->k->gelu_norm_keep(BLOCK, b->h, b->x, s, b->r, s, b->rstd);
}
static void run_norm_back(bench_block *b) {
  size_t s = (size_t)b->h * W;
  b->k->norm_back(BLOCK, b->h, b->x, s, b->r, s, b->rstd, b->b, NULL, 0, b->y, s, b->lanes);
}
static void run_phasor(bench_block *b) {
  b->k->phasor(BLOCK, b->h / 2, b->x, b->y, (size_t)b->h * W);
}

/* Seconds per call. */
static double time_block(void (*run)(bench_block *), bench_block *b, double seconds) {
  double best = 1e30;
  for (int go = 0; go < 5; go++) {
    long calls = 0;
    double start = now(), spent;
    do {
      for (int i = 0; i < 20; i++) run(b);
      calls += 20;
    } while ((spent = now() - start) < seconds / 5);
    if (spent / (double)calls < best) best = spent / (double)calls;
  }
  return best;
}

static void bench_kernels(const kern *k, const options *o, double peak) {
  bench_block b = {.k = k, .h = o->h, .in = o->h + 2 * o->c};
  size_t size = (size_t)(b.in + W) * W * BLOCK, square = (size_t)b.in * (size_t)b.h;
  b.x = noise(size, 1, 1), b.y = noise(size, 2, 1), b.z = noise(size > square ? size : square, 3, 1);
  b.r = noise(size, 4, 1), b.w = noise(square, 5, 0.1), b.b = noise((size_t)b.h, 6, 1);
  b.lanes = noise((size_t)b.h * 2 * W, 7, 1), b.rstd = noise(BLOCK * W, 8, 1);
  static const struct {
    const char *name;
    void (*run)(bench_block *);
    int product;
  } list[] = {{"mm", run_mm, 1},
              {"grad_w", run_grad_w, 1},
              {"transpose", run_transpose, 0},
              {"norm", run_norm, 0},
              {"gelu_norm", run_gelu_norm, 0},
              {"gelu_norm_keep", run_gelu_norm_keep, 0},
              {"norm_back", run_norm_back, 0},
              {"phasor (h/2)", run_phasor, 0}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    double t = time_block(list[i].run, &b, o->seconds / 10), per_tile = t / BLOCK;
    double macs = list[i].product ? (double)square * W / per_tile : 0;
    printf("  %-16s %8.1f ns per tile", list[i].name, 1e9 * per_tile);
    if (macs > 0) printf("  %6.1f GFLOP/s  %5.1f %% of one core's peak", 2e-9 * macs, 100 * macs / peak);
    printf("\n");
  }
  void *all[] = {b.x, b.y, b.z, b.r, b.w, b.b, b.lanes, b.rstd};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]);
}

/* A parameter layout and inputs of Darcy's shape: 26/28/27 static, 5/5/4 varying, 6 global columns. */
typedef struct {
  fused_shape s;
  fused *f;
  size_t params;
  float *theta, *fixed[3], *varying[3], *global, *modes[3];
  int32_t rows[40];
} network;

static size_t take(network *n, int count) {
  size_t at = n->params;
  n->params += (size_t)count;
  return at;
}

static fused_mlp take_mlp(network *n, int in, int h, int out) {
  fused_mlp m;
  m.w1 = take(n, in * h), m.b1 = take(n, h), m.gain = take(n, h), m.shift = take(n, h);
  m.w2 = take(n, h * out), m.b2 = take(n, out);
  return m;
}

static void take_rank(network *n, fused_rank *r, int h, int c) {
  r->drive_w = take(n, h * c), r->drive_b = take(n, c), r->gate_w = take(n, h * c), r->gate_b = take(n, c);
  r->lag_w = take(n, h * c), r->lag_b = take(n, c), r->read_w = take(n, 2 * c * h), r->read_b = take(n, h);
  r->update = take_mlp(n, 2 * h, h, h);
  r->skip = take(n, h * h), r->gain = take(n, h), r->shift = take(n, h), r->sigma = take(n, 1);
}

/* Exchange and low modes. */
static void take_content(network *n, const cx *c, int h) {
  int all = 3 * MODES;
  n->s.exchange = FUSED_SIGNED | FUSED_UNSIGNED, n->s.modes = MODES;
  for (int l = 0; l < n->s.layers; l++) {
    fused_layer *at = &n->s.layer[l];
    at->mix = take(n, h * h), at->mix1 = take(n, all * all), at->mix2 = take(n, all * all);
    for (int k = 0; k < 3; k++) {
      for (int i = 0; i < 4; i++) at->rank[k].link[i / 2][i % 2] = take(n, h * h);
      at->rank[k].ret = take(n, h * h);
    }
  }
  for (int k = 0; k < 3; k++) n->modes[k] = noise((size_t)c->n[k] * MODES, 50 + (uint64_t)k, 1 / (double)c->n[k]);
}

static void make_network(network *n, const cx *c, const options *o) {
  static const int fixed[3] = {26, 28, 27}, varying[3] = {5, 5, 4};
  n->s = (fused_shape){.degrees = 3, .h = o->h, .c = o->c, .layers = 4, .substeps = 2, .target = o->target};
  n->s.relation = o->relation, n->s.start = o->start;
  n->s.outputs = 1, n->s.tau_min = 0.02F, n->s.tau_range = 0.15F, n->s.lag_scale = 1;
  for (int i = 0; i < 40; i++) n->rows[i] = i;
  for (int k = 0; k < 3; k++) {
    n->s.n[k] = c->n[k];
    n->s.fixed[k] = (fused_columns){fixed[k], n->rows};
    n->s.varying[k] = (fused_columns){varying[k], n->rows + fixed[k]};
    n->s.global[k] = (fused_columns){6, n->rows + fixed[k] + varying[k]};
    n->s.encoder[k] = take_mlp(n, fixed[k] + varying[k] + 6, o->h, o->h);
    n->fixed[k] = noise((size_t)(c->n[k] * fixed[k]), 10 + (uint64_t)k, 1);
    n->varying[k] = noise((size_t)(c->n[k] * varying[k]), 20 + (uint64_t)k, 1);
  }
  for (int l = 0; l < 4; l++) {
    for (int k = 0; k < 3; k++) take_rank(n, &n->s.layer[l].rank[k], o->h, o->c);
    n->s.layer[l].tau = take(n, 1);
  }
  n->s.decoder = take_mlp(n, o->h + 2 * o->c, o->h, 1);
  for (int k = 0; k < 3; k++) n->s.start_w[k] = take(n, o->h * o->c), n->s.start_b[k] = take(n, o->c);
  if (o->relation == FUSED_NONE) take_content(n, c, o->h);
  n->theta = noise(n->params, 30, 0.2);
  n->global = noise(6, 31, 1);
}

static dkho_status unit_loss(void *ctx, int sample, const real *y, real *g) {
  (void)sample;
  const network *n = ctx;
  int count;
  for (int b = 0; b < fused_blocks(n->f); b++) {
    const int32_t *row = fused_block(n->f, b, &count);
    for (int i = 0; i < count; i++) g[row[i]] = y[row[i]];
  }
  return DKHO_OK;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The first rank looks at the clock for all. */
static int go_on(int rounds, double passed, const options *o) {
  int more = rounds < 64 && (rounds < 2 || passed < o->seconds);
  check(comm_broadcast(comm_world(), 0, &more, sizeof more));
  return more;
}

/* *sent += what this rank has sent and waited since then. */
static void sent_by(const comm_meter *then, comm_meter *sent) {
  const comm_meter *m = &comm_world()->meter;
  sent->messages += m->messages - then->messages;
  sent->bytes += m->bytes - then->bytes;
  sent->waited += m->waited - then->waited;
}

/* Milliseconds per sample of training steps or of predictions: the median, and the best in *best. */
static double time_steps(fused *f, fused_team *t, pool *p, network *n, const options *o, int train, double *best,
                         comm_meter *sent) {
  fused_sample *samples = mem_alloc((size_t)o->batch, sizeof *samples);
  float **y = mem_alloc((size_t)o->batch, sizeof *y), *packed = mem_alloc(fused_grads(f), sizeof *packed);
  float *grads = mem_alloc(n->params, sizeof *grads);
  if (!samples || !y || !packed || !grads) exit(1);
  for (int i = 0; i < o->batch; i++) {
    samples[i] = (fused_sample){.varying = {n->varying[0], n->varying[1], n->varying[2]}, .global = n->global};
    y[i] = noise((size_t)n->s.n[n->s.target], 40, 1);
  }
  double spent[64];
  int rounds = 0;
  for (double start = now(); go_on(rounds, now() - start, o); rounds++) {
    double begin = now() - idle;
    comm_meter before = comm_world()->meter;
    if (train) {
      fused_prepare(f, p, n->theta);
      check(fused_train(t, o->batch, samples, unit_loss, n, packed));
      memset(grads, 0, n->params * sizeof *grads);
      fused_collect(f, n->theta, packed, grads);
    } else {
      check(fused_predict(t, o->batch, samples, y));
    }
    spent[rounds] = now() - idle - begin;
    sent_by(&before, sent);
  }
  qsort(spent + 1, (size_t)rounds - 1, sizeof *spent, ascending); /* the first warms up */
  for (int i = 0; i < o->batch; i++) mem_free(y[i]);
  mem_free(samples), mem_free(y), mem_free(packed), mem_free(grads);
  sent->messages /= rounds * o->batch, sent->bytes /= rounds * o->batch, sent->waited /= rounds * o->batch;
  *best = 1e3 * spent[1] / o->batch;
  return 1e3 * spent[1 + (rounds - 1) / 2] / o->batch;
}

/* The largest, or the sum, of what the ranks have. */
static double over_ranks(double mine, int sum) {
  double all[256] = {0}, result = 0;
  comm *c = comm_world();
  if (c->size > 256) return mine;
  all[c->rank] = mine;
  check(comm_sum(c, all, (size_t)c->size));
  for (int r = 0; r < c->size; r++) result = sum ? result + all[r] : all[r] > result ? all[r] : result;
  return result;
}

static void bench_network(const kern *k, const options *o, pool *p, double peak) {
  cx *c;
  network n = {.params = 0};
  fused *f;
  fused_team *t;
  mesh_share how = {comm_world(), PARTITION_METIS, 1};
  fused_mesh m = {.share = how.ranks->size > 1 ? &how : NULL};
  int torus = strncmp(o->mesh, "torus:", 6) ? 0 : atoi(o->mesh + 6), quiet = how.ranks->rank > 0;
  check(torus ? cx_torus_grid(&c, 2, 0.7, torus, torus / 2, 0) : cx_darcy(&c, o->mesh));
  make_network(&n, c, o);
  for (int d = 0; d < 3; d++) {
    m.face[d] = c->face[d], m.sign[d] = c->sign[d];
    m.coptr[d] = c->coptr[d], m.coface[d] = c->coface[d], m.cosign[d] = c->cosign[d];
    m.analyse[d] = n.modes[d];
  }
  size_t before = mem_live_bytes();
  check(fused_create(&f, k, &n.s, &m, (const real *const *)n.fixed));
  n.f = f;
  double simplices = (double)(c->n[0] + c->n[1] + c->n[2]), built = (double)(mem_live_bytes() - before);
  for (int d = 0; d < 3; d++) mem_free(n.fixed[d]), mem_free(n.modes[d]);
  cx_free(c);
  before = mem_live_bytes();
  check(fused_team_create(&t, f, p, o->batch));
  int64_t stride;
  fused_gradient(t, 0, &stride);
  double gradients = (double)stride * o->batch * sizeof(real), active = (double)(mem_live_bytes() - before) - gradients;
  double most[3] = {over_ranks(built, 0), over_ranks(active, 0), over_ranks(gradients, 0)};
  if (!quiet)
    printf(
        "  %.0f simplices, %d ranks: on one at most %.1f MB of lists and inputs, %.2f MB of activations (%.1f bytes a simplex), "
        "%.2f MB of gradients\n",
        simplices, how.ranks->size, 1e-6 * most[0], 1e-6 * most[1], most[1] / simplices, 1e-6 * most[2]);
  double work[2] = {fused_work_step(f), fused_work_forward(f)}, best;
  for (int i = 0; i < (o->train_only ? 1 : 2); i++) {
    comm_meter sent = {0};
    double ms = time_steps(f, t, p, &n, o, i == 0, &best, &sent), most_work = over_ranks(work[i], 0);
    if (ticks != CLOCK_MONOTONIC) ms = over_ranks(ms, 0), best = over_ranks(best, 0);
    if (!quiet) printf("  %14s %.6g million multiply-adds on the rank with most\n", "", 1e-6 * most_work);
    if (!quiet)
      printf("  %-14s %8.2f ms per sample (best %.2f)  %6.1f GFLOP/s  %5.1f %% of peak, batch %d\n",
             i ? "prediction" : "training step", ms, best, 2e-6 * work[i] / ms, 100e3 * work[i] / ms / peak, o->batch);
    double each = over_ranks((double)sent.messages, 1) / how.ranks->size,
           bytes = over_ranks((double)sent.bytes, 1) / how.ranks->size,
           waited = over_ranks(sent.waited, 1) / how.ranks->size;
    if (m.share && !quiet)
      printf("  %14s %.1f messages, %.1f kB, %.2f ms of waiting, mean of the ranks per sample\n", "", each,
             1e-3 * bytes, 1e3 * waited);
  }
  fused_team_free(t);
  fused_free(f);
  for (int d = 0; d < 3; d++) mem_free(n.varying[d]);
  mem_free(n.theta), mem_free(n.global);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  double resident = over_ranks((double)used.ru_maxrss, 1);
  if (!quiet) printf("  peak of memory, all ranks: %.2f GB\n", 1e-6 * resident);
}

static fused_relation variant_of(const char *name) {
  static const char *const names[] = {"full", "no_dirac", "no_phase", "extended"};
  for (int i = 1; i < 4; i++)
    if (!strcmp(name, names[i])) return (fused_relation)i;
  return FUSED_COUPLED;
}

int main(int argc, char **argv) {
  options o = {.h = 32, .c = 2, .threads = 1, .batch = 16, .target = 1, .seconds = 4, .mesh = "main"};
  for (int i = 1; i < argc; i++) {
    const char *v = i + 1 < argc ? argv[i + 1] : "";
    if (!strcmp(argv[i], "--steps"))
      o.steps_only = 1;
    else if (!strcmp(argv[i], "--train"))
      o.steps_only = o.train_only = 1;
    else if (!strcmp(argv[i], "--cpu"))
      ticks = CLOCK_PROCESS_CPUTIME_ID;
    else if (!strcmp(argv[i], "--size"))
      o.h = strcmp(v, "large") ? 32 : 64, o.c = o.h / 16, i++;
    else if (!strcmp(argv[i], "--threads"))
      o.threads = atoi(v), i++;
    else if (!strcmp(argv[i], "--batch"))
      o.batch = atoi(v), i++;
    else if (!strcmp(argv[i], "--target"))
      o.target = atoi(v), i++;
    else if (!strcmp(argv[i], "--seconds"))
      o.seconds = atof(v), i++;
    else if (!strcmp(argv[i], "--variant"))
      o.relation = variant_of(v), i++;
    else if (!strcmp(argv[i], "--start"))
      o.start = *v == 'd' ? FUSED_CONTENT : *v == 'r' ? FUSED_COMMON : FUSED_ZERO, i++;
    else if (!strcmp(argv[i], "--mesh"))
      o.mesh = v, i++;
    else
      return fprintf(stderr, "bench_kern: unknown option %s\n", argv[i]), 2;
  }
  const kern *k;
  pool *p;
  check(kern_get(&k));
  check(comm_start(0));
  watch_waiting(comm_world());
  check(pool_create(&p, o.threads));
  double peak = measure_peak(k, p);
  if (!comm_world()->rank)
    printf("%s, h %d, c %d, %d threads: peak %.1f GFLOP/s\n", k->name, o.h, o.c, o.threads, 2e-9 * peak);
  if (!o.steps_only) bench_kernels(k, &o, peak / o.threads);
  bench_network(k, &o, p, peak);
  pool_free(p);
  comm_stop();
  return 0;
}
