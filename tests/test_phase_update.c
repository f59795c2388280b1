/* test_phase_update.c: what the phase diagnostic records is what the update equation of the model says. From the parameters and
 * the contents z of every layer, taken from the tape, everything else is computed here again, in double: maps, relation, residuals,
 * corrections, step and coupling, the score of each benchmark, and its smoothing. */
#include "model/dkho/fast.h"
#include "run/config.h"
#include "problem/problem.h"
#include "run/phase.h"
#include "scratch.h"

#include <math.h>

enum { SAMPLES = 6, LAYERS = 2, SUBSTEPS = 2, H = 6, C = 2, DEGREES = 3 };

typedef enum { DOWN, UP_AND_DOWN, LAST_UP } score_rule;
typedef struct task {
  const char *problem, *target;
  score_rule rule;
  int degree;
} task;
static const task tasks[] = {{"darcy", "w", DOWN, 2},
                             {"torus", "q", UP_AND_DOWN, 1},
                             {"cavity", "B", LAST_UP, 0},
                             {"heat", "u", UP_AND_DOWN, 0}};

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

static double *numbers(int64_t n) {
  double *p = mem_alloc((size_t)n, sizeof *p);
  assert_non_null(p);
  return p;
}

typedef struct replay {
  const task *of;
  neural_operator *o;
  const dataset *d;
  const cx *c;
  tape *t; /* a recording whose contents are kept */
  model_net net;
  double *score; /* SAMPLES × n of the target's degree */
} replay;

static const real *tensor(const neural_operator *o, const char *what, int layer, int k, const char *part) {
  char name[64];
  if (k < 0)
    snprintf(name, sizeof name, "layer%d.%s", layer, what);
  else
    snprintf(name, sizeof name, "layer%d.%s%d.%s", layer, what, k, part);
  int i = params_find(o->p, name);
  if (i < 0) fail_msg("no parameter %s", name);
  return o->value + o->p->list[i].offset;
}

/* f(z W + b), n × C. */
static double *map(const neural_operator *o, const real *z, int64_t n, const char *what, int layer, int k,
                   double (*f)(double)) {
  const real *w = tensor(o, what, layer, k, "w"), *b = tensor(o, what, layer, k, "b");
  double *out = numbers(n * C);
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < C; c++) {
      double sum = (double)b[c];
      for (int j = 0; j < H; j++) sum += (double)z[i * H + j] * (double)w[j * C + c];
      out[i * C + c] = f ? f(sum) : sum;
    }
  return out;
}

/* sin(u - v) or sin(u + v) of the residual u, the gated neighbour v = g ⊙ t, less the lag. */
static void residual(int64_t n, double *u, double sign, const double *g, const double *t, const double *lag) {
  for (int64_t i = 0; i < n * C; i++) u[i] = sin(u[i] + sign * g[i] * t[i] - lag[i]);
}

/* The corrections of degree k for the relation theta. */
static void corrections(const cx *c, int k, double *const *theta, double *const *gate, double *const *lag, double *up,
                        double *down) {
  memset(up, 0, (size_t)(c->n[k] * C) * sizeof *up);
  memset(down, 0, (size_t)(c->n[k] * C) * sizeof *down);
  if (k + 1 < DEGREES) {
    double *u = numbers(c->n[k + 1] * C);
    cx_d(c, k, C, theta[k], u);
    residual(c->n[k + 1], u, -1, gate[k + 1], theta[k + 1], lag[k + 1]);
    cx_dt(c, k, C, u, up);
    mem_free(u);
  }
  if (k > 0) {
    double *u = numbers(c->n[k - 1] * C);
    cx_dt(c, k - 1, C, theta[k], u);
    residual(c->n[k - 1], u, 1, gate[k - 1], theta[k - 1], lag[k - 1]);
    cx_d(c, k - 1, C, u, down);
    mem_free(u);
  }
}

static void add_score(const replay *r, double weight, int last, const double *up, const double *down, double *score) {
  for (int64_t i = 0; i < r->c->n[r->of->degree]; i++) {
    double sum = 0;
    for (int c = 0; c < C; c++) {
      double a = up[i * C + c], b = down[i * C + c];
      double v = r->of->rule == DOWN ? b : r->of->rule == UP_AND_DOWN ? a + b : a;
      sum += v * v;
    }
    if (r->of->rule == LAST_UP)
      score[i] = last ? sqrt(sum) : 0;
    else
      score[i] += weight * sqrt(sum);
  }
}

/* One layer: R substeps on theta, all degrees from the state before; tau and sigma from their own formulas. */
static void layer(const replay *r, const lane *at, int l, double **theta, double *score) {
  const cx *c = r->c;
  double *gate[DEGREES], *lag[DEGREES], *drive[DEGREES], *up[DEGREES], *down[DEGREES], sigma[DEGREES];
  double t = (double)tensor(r->o, "t", l, -1, NULL)[0];
  dkho_config f = dkho_config_of(&r->o->setup);
  double tau = f.tau_lo + f.tau_range / (1 + exp(-t));
  for (int k = 0; k < DEGREES; k++) {
    const real *z = lane_value(at, tape_find(r->t, "%d.z.%d", l, k));
    gate[k] = map(r->o, z, c->n[k], "gate", l, k, tanh);
    lag[k] = map(r->o, z, c->n[k], "lag", l, k, tanh);
    drive[k] = map(r->o, z, c->n[k], "drive", l, k, NULL);
    up[k] = numbers(c->n[k] * C), down[k] = numbers(c->n[k] * C);
    sigma[k] = log1p(exp((double)tensor(r->o, "s", l, -1, NULL)[k])) + 1e-4;
  }
  for (int j = 0; j < SUBSTEPS; j++) {
    for (int k = 0; k < DEGREES; k++) corrections(c, k, theta, gate, lag, up[k], down[k]);
    int q = r->of->degree;
    add_score(r, tau * sigma[q], l == LAYERS - 1 && j == SUBSTEPS - 1, up[q], down[q], score);
    for (int k = 0; k < DEGREES; k++)
      for (int64_t i = 0; i < c->n[k] * C; i++) theta[k][i] -= tau * (drive[k][i] + sigma[k] * (up[k][i] + down[k][i]));
  }
  for (int k = 0; k < DEGREES; k++) {
    double *all[5] = {gate[k], lag[k], drive[k], up[k], down[k]};
    for (int i = 0; i < 5; i++) mem_free(all[i]);
  }
}

static dkho_status fill(void *ctx, const lane *at, int64_t i) {
  const replay *r = ctx;
  const complex_view *s = r->o->first;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  real *out[CX_DEGREES] = {0}, summary[64], *work = mem_alloc(features_work_size(s->f), sizeof *work);
  assert_non_null(work);
  assert_true(features_summary_width(s->f) <= 64);
  dataset_inputs(r->d, i, in, global);
  for (int k = 0; k < r->o->setup.degrees; k++) out[k] = lane_input(at, r->net.feature[k]);
  features_eval(s->f, in, global, work, out, summary);
  real *head = r->net.summary == VAR_NONE ? NULL : lane_input(at, r->net.summary);
  if (head) memcpy(head, summary, (size_t)r->o->setup.summary * sizeof *head);
  mem_free(work);
  return DKHO_OK;
}

static dkho_status take(void *ctx, const lane *at, int64_t i) {
  const replay *r = ctx;
  double *theta[DEGREES];
  for (int k = 0; k < DEGREES; k++) theta[k] = numbers(r->c->n[k] * C);
  for (int l = 0; l < LAYERS; l++) layer(r, at, l, theta, r->score + i * r->c->n[r->of->degree]);
  for (int k = 0; k < DEGREES; k++) mem_free(theta[k]);
  return DKHO_OK;
}

/* out += |d_{k-1}| v, or with `back` its transpose: from faces of k-simplices to them, and from them to their faces. */
static void incidence(const cx *c, int k, int back, const double *v, double *out) {
  const int32_t *face = k == 1 ? c->vert[1] : c->face[k];
  for (int64_t i = 0; i < c->n[k]; i++)
    for (int j = 0; j <= k; j++) {
      int64_t f = face[i * (k + 1) + j];
      if (back)
        out[f] += v[i];
      else
        out[i] += v[f];
    }
}

/* out = (A + I) v by the products of absolute incidence matrices: faces |d1||d1|ᵀ, edges |d0||d0|ᵀ + |d1|ᵀ|d1|, vertices |d0|ᵀ|d0|. */
static void spread(const cx *c, int k, const double *v, double *out) {
  memcpy(out, v, (size_t)c->n[k] * sizeof *out);
  if (k > 0) {
    double *below = numbers(c->n[k - 1]);
    incidence(c, k, 1, v, below);
    incidence(c, k, 0, below, out);
    mem_free(below);
  }
  if (k < 2) {
    double *above = numbers(c->n[k + 1]);
    incidence(c, k + 1, 0, v, above);
    incidence(c, k + 1, 1, above, out);
    mem_free(above);
  }
}

static void smooth(const cx *c, int k, double *v) {
  int64_t n = c->n[k];
  double *ones = numbers(n), *sums = numbers(n), *next = numbers(n);
  for (int64_t i = 0; i < n; i++) ones[i] = 1;
  spread(c, k, ones, sums);
  for (int round = 0; round < 2; round++) {
    spread(c, k, v, next);
    for (int64_t i = 0; i < n; i++) v[i] = next[i] / sums[i];
  }
  mem_free(ones), mem_free(sums), mem_free(next);
}

/* Couplings and steps that differ by layer and degree, so that a wrong one shows. */
static void stir(neural_operator *o) {
  for (int l = 0; l < LAYERS; l++) {
    char name[32];
    snprintf(name, sizeof name, "layer%d.t", l);
    o->value[o->p->list[params_find(o->p, name)].offset] = (real)(-1 + 1.5 * l);
    snprintf(name, sizeof name, "layer%d.s", l);
    for (int k = 0; k < DEGREES; k++)
      o->value[o->p->list[params_find(o->p, name)].offset + k] = (real)(0.7 * k - 0.5 - 0.4 * l);
  }
}

static void compare(replay *r) {
  int64_t n = r->c->n[r->of->degree], sample[SAMPLES];
  phase_result found;
  const problem_phase *rule = problem_named(r->of->problem)->phase; /* as src/study hands it on */
  phase_rule own = rule ? (phase_rule){rule->up, rule->down, rule->last, rule->q} : (phase_rule){0};
  phase_request plain = {.rule = rule ? &own : NULL};
  for (int64_t i = 0; i < SAMPLES; i++) sample[i] = i;
  ok(phase_run(&found, r->o, r->d, SAMPLES, sample, NULL, &plain));
  assert_int_equal(found.degree, r->of->degree);
  assert_int_equal(found.n, n);
  for (int64_t i = 0; i < SAMPLES; i++) {
    double *want = r->score + i * n, most = 0, gap = 0, spread_of = 0;
    smooth(r->c, r->of->degree, want);
    for (int64_t k = 0; k < n; k++) {
      most = fmax(most, want[k]);
      gap = fmax(gap, fabs(want[k] - (double)found.phase[i * n + k]));
      spread_of = fmax(spread_of, fabs(want[k] - want[0]));
    }
    assert_true(most > 0 && spread_of > 1e-3 * most);
    if (!(gap < 2e-5 * most))
      fail_msg("%s %s, sample %lld: off by %g, largest %g", r->of->problem, r->of->target, (long long)i, gap, most);
  }
  phase_free(&found);
}

static void check_task(const task *of, const char *path) {
  dkho_generate_options g = {.resolution = "smoke", .samples = 2 * SAMPLES, .seed = 5, .threads = 1, .force = 1};
  dkho_train_options options;
  dataset *d;
  run_config cfg = {0};
  engine *e;
  ok(dkho_dataset_generate(of->problem, path, &g));
  ok(dataset_open(&d, path));
  dkho_train_defaults(&options);
  options.target = of->target, options.options = (const char *const[]){"h=6", "c=2", "layers=2", "substeps=2", NULL};
  ok(config_resolve(&cfg, d, path, &options));
  replay r = {.of = of, .d = d};
  ok(operator_create(&r.o, d, &cfg.request));
  stir(r.o);
  const complex_view *v = r.o->first;
  ok(model_record(&r.o->setup, r.o->p, &(model_view){v->c, v->metric, v->g, v->f, NULL}, &r.t, &r.net));
  r.c = r.o->first->c;
  r.score = numbers(SAMPLES * r.c->n[of->degree]);
  for (int l = 0; l < LAYERS; l++)
    for (int k = 0; k < DEGREES; k++) tape_keep(r.t, tape_find(r.t, "%d.z.%d", l, k));
  ok(engine_create(&e, r.t, ENGINE_PREDICT, VAR_NONE, NULL));
  engine_bind(e, r.o->value);
  engine_batch b = {.count = SAMPLES, .fill = fill, .take = take, .ctx = &r};
  ok(engine_predict(e, &b));
  engine_free(e);
  compare(&r);
  mem_free(r.score);
  tape_free(r.t);
  operator_free(r.o);
  config_free(&cfg);
  dataset_free(d);
}

static void update(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) check_task(&tasks[i], scratch_path(path, dir, "data.st"));
  scratch_walk(dir, 1);
  rmdir(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(update)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
