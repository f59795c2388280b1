/* bench_operations.c: what each operation of the network costs in time and memory, beside the orders that the paper gives.
 *
 *   bench_operations [PROBLEM [TARGET]] [--size small|large] [--turns N]
 *
 * The network is recorded once per stage, with the stage's results as the only roots: the tape drops what they do not need, so the
 * difference of two consecutive stages is one operation in its place. Two layers of eight substeps stand for the paper's four of two. Times are processor time of one thread on the tape, the least of
 * the turns, in which the stages take part one after the other. Bytes are those of all values that the operation writes, forward. One JSON
 * object: per operation nanoseconds, multiply-adds and bytes per simplex of the active degrees. */
#include "data/dataset.h"
#include "problem/problem.h"
#include "run/config.h"
#include "study/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPEATS = 4 };

/* Roots of each stage, as patterns of names with a place for the degree (none: the prediction), and how often the operation stands
 * between this stage and the one before. The first substep, whose phases are zero, does not count. */
static const struct stage_roots {
  const char *operation, *root[3];
  int times;
} stages[] = {
    {"encoding", {"0.z.%d"}, 1},
    {"conditioning maps, one evaluation", {"0.drive.%d", "0.gate.%d", "0.lag.%d"}, 1},
    {NULL, {"0.1.theta.%d"}, 1},
    {"relation feedback, one substep", {"0.7.theta.%d"}, 6},
    {"content update, one layer", {"1.z.%d"}, 1},
    {NULL, {"decoded"}, 1},
    {"output projection and synthesis", {NULL}, 1},
};
enum { STAGES = sizeof stages / sizeof *stages };

typedef struct stage {
  tape *t;
  model_net net;
  engine *e;
  double ms, bytes, work;
} stage;

typedef struct session {
  const dataset *d;
  const neural_operator *o;
  const complex_view *v;
  real *work, *summary;
  const model_net *net; /* of the stage at hand */
} session;

/* Makes the stage's results the only kept variables. */
static void choose_roots(const session *s, stage *g, const struct stage_roots *from) {
  if (!from->root[0]) return;
  g->t->var[g->net.predicted].keep = 0;
  for (int i = 0; i < 3 && from->root[i]; i++)
    for (int k = 0; k < s->o->setup.degrees; k++) {
      char name[32];
      snprintf(name, sizeof name, from->root[i], k);
      var v = tape_find(g->t, "%s", name);
      if (v != VAR_NONE) tape_keep(g->t, v);
    }
}

/* What the kept variables need: multiply-adds, and bytes of the values that are written for a sample. */
static dkho_status count_stage(stage *g) {
  const tape *t = g->t;
  uint8_t *op_needed, *var_needed;
  var *root;
  int roots = 0;
  arena mem = {0};
  if (!ARENA_NEW(&mem, op_needed, t->ops) || !ARENA_NEW(&mem, var_needed, t->vars) || !ARENA_NEW(&mem, root, t->vars))
    return arena_free(&mem), DKHO_E_MEMORY;
  for (var v = 0; v < t->vars; v++)
    if (t->var[v].keep) root[roots++] = v;
  tape_reach(t, 1, roots, root, op_needed, var_needed);
  for (var v = 0; v < t->vars; v++) {
    const tape_var *x = &t->var[v];
    if (var_needed[v] && x->kind == VAR_VALUE && x->level == LEVEL_SAMPLE)
      g->bytes += (double)x->rows * (double)x->cols * (double)sizeof(real);
  }
  for (int i = 0; i < t->ops; i++)
    if (op_needed[i] && t->op[i].level == LEVEL_SAMPLE) g->work += t->op[i].work;
  arena_free(&mem);
  return DKHO_OK;
}

static dkho_status open_stage(const session *s, stage *g, const struct stage_roots *from) {
  model_view seen = {s->v->c, s->v->metric, s->v->g, s->v->f, NULL};
  TRY(model_record(&s->o->setup, s->o->p, &seen, &g->t, &g->net));
  choose_roots(s, g, from);
  TRY(count_stage(g));
  TRY(engine_create(&g->e, g->t, ENGINE_PREDICT, VAR_NONE, NULL));
  engine_bind(g->e, s->o->value);
  g->ms = 1e300;
  return DKHO_OK;
}

static dkho_status fill_sample(void *ctx, const lane *l, int64_t i) {
  session *s = ctx;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  real *out[CX_DEGREES] = {0}, *head;
  (void)i;
  dataset_inputs(s->d, 0, in, global);
  for (int k = 0; k < s->o->setup.degrees; k++) out[k] = lane_input(l, s->net->feature[k]);
  features_eval(s->v->f, in, global, s->work, out, s->summary);
  if (s->net->summary != VAR_NONE && (head = lane_input(l, s->net->summary)))
    memcpy(head, s->summary, (size_t)s->o->setup.summary * sizeof *head);
  return DKHO_OK;
}

static dkho_status run_stages(session *s, stage *g, int turns) {
  for (int turn = 0; turn < turns; turn++)
    for (int i = 0; i < STAGES; i++) {
      engine_batch b = {.count = REPEATS, .fill = fill_sample, .ctx = s};
      s->net = &g[i].net;
      double start = measure_processor();
      TRY(engine_predict(g[i].e, &b));
      double ms = 1e3 * (measure_processor() - start) / REPEATS;
      if (ms < g[i].ms) g[i].ms = ms;
    }
  return DKHO_OK;
}

/* The inputs are filled in every stage alike; for the first one their time is taken off by a run that only fills them. */
static double time_filling(session *s) {
  double least = 1e300;
  real *out[CX_DEGREES] = {0};
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  arena mem = {0};
  int ok = 1;
  for (int k = 0; k < s->o->setup.degrees; k++)
    ok = ok && ARENA_NEW(&mem, out[k], s->v->c->n[k] * s->o->setup.features[k]);
  for (int turn = 0; ok && turn < 8; turn++) {
    double start = measure_processor();
    dataset_inputs(s->d, 0, in, global);
    features_eval(s->v->f, in, global, s->work, out, s->summary);
    double ms = 1e3 * (measure_processor() - start);
    if (ms < least) least = ms;
  }
  arena_free(&mem);
  return ok ? least : 0;
}

static void print_stages(const session *s, const stage *g, double filling, const char *of, const char *size) {
  int64_t n = 0;
  double maps = 0, substep = 0, per;
  for (int k = 0; k < s->o->setup.degrees; k++) n += s->v->c->n[k];
  per = 1 / (double)n;
  printf("{\"problem\": \"%s\", \"target\": \"%s\", \"size\": \"%s\", \"isa\": \"%s\", \"simplices\": %lld, "
         "\"descriptors_ns\": %.1f, \"operations\": [",
         of, operator_target(s->o)->name, size, engine_kernels(g[0].e), (long long)n, 1e6 * filling * per);
  for (int i = 0, some = 0; i < STAGES; i++) {
    double ms = g[i].ms - (i ? g[i - 1].ms : filling), work = g[i].work - (i ? g[i - 1].work : 0),
           bytes = g[i].bytes - (i ? g[i - 1].bytes : 0);
    ms /= stages[i].times, work /= stages[i].times, bytes /= stages[i].times;
    if (i == 1) maps = ms;
    if (i == 3) substep = ms;
    if (!stages[i].operation) continue;
    printf("%s{\"operation\": \"%s\", \"ns\": %.1f, \"multiply_adds\": %.1f, \"bytes\": %.1f}", some++ ? ", " : "",
           stages[i].operation, 1e6 * ms * per, work * per, bytes * per);
  }
  printf("], \"relation_layer_cached_ns\": %.1f, \"relation_layer_recomputed_ns\": %.1f}\n",
         1e6 * (maps + 2 * substep) * per, 1e6 * 2 * (maps + substep) * per);
}

static dkho_status measure_operations(const dataset *d, const neural_operator *o, int turns, const char *of,
                                      const char *size) {
  stage g[STAGES] = {0};
  session s = {.d = d, .o = o, .v = o->first};
  arena mem = {0};
  dkho_status st = ARENA_NEW(&mem, s.work, features_work_size(s.v->f)) &&
                           ARENA_NEW(&mem, s.summary, features_summary_width(s.v->f) + 1)
                       ? DKHO_OK
                       : DKHO_E_MEMORY;
  for (int i = 0; st == DKHO_OK && i < STAGES; i++) st = open_stage(&s, &g[i], &stages[i]);
  if (st == DKHO_OK) st = run_stages(&s, g, turns);
  if (st == DKHO_OK) print_stages(&s, g, time_filling(&s), of, size);
  for (int i = 0; i < STAGES; i++) engine_free(g[i].e), tape_free(g[i].t);
  arena_free(&mem);
  return st;
}

static dkho_status measure_problem(const char *problem_name, const char *target, const char *size, int turns) {
  char path[64];
  const problem *p;
  dataset *d = NULL;
  neural_operator *o = NULL;
  run_config cfg = {0};
  dkho_train_options options;
  problem_request g = {.resolution = "main", .samples = 16, .seed = 42, .threads = 1, .force = 1};
  snprintf(path, sizeof path, "bench-operations-%ld.st.tmp", (long)getpid());
  dkho_train_defaults(&options);
  options.size = size;
  options.options = (const char *const[]){"layers=2", "substeps=8", NULL};
  options.target = target;
  TRY(problem_find(problem_name, &p));
  TRY(problem_generate(p, &g, path));
  dkho_status s = dataset_open(&d, path);
  unlink(path);
  if (s == DKHO_OK) s = config_resolve(&cfg, d, path, &options);
  if (s == DKHO_OK) s = operator_create(&o, d, &cfg.request);
  if (s == DKHO_OK) s = measure_operations(d, o, turns, problem_name, size);
  operator_free(o);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

int main(int argc, char **argv) {
  const char *name[2] = {"darcy", NULL}, *size = "small";
  int turns = 20, names = 0, bad = 0;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-' && names < 2)
      name[names++] = argv[i];
    else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      size = argv[++i];
    else if (strcmp(argv[i], "--turns") == 0 && i + 1 < argc)
      turns = atoi(argv[++i]);
    else
      bad = 1;
  }
  if (bad || turns < 1) {
    fprintf(stderr, "usage: bench_operations [PROBLEM [TARGET]] [--size small|large] [--turns N]\n");
    return 2;
  }
  if (measure_problem(name[0], name[1], size, turns) == DKHO_OK) return 0;
  fprintf(stderr, "%s\n", fail_text());
  return 1;
}
