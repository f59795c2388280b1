/* twin_replay.h: runs a twin fixture through the C model and compares everything the fixture knows. Shared by the float test
 * and the double test, which differ in TWIN_TOLERANCE alone. */
#ifndef TESTS_TWIN_REPLAY_H
#define TESTS_TWIN_REPLAY_H

#include "twin.h"

#include "dkho_case.h"
#include "nn/engine.h"
#include "nn/optim.h"

#ifdef DKHO_REAL_DOUBLE
#define TWIN_TOLERANCE 1e-10
#else
#define TWIN_TOLERANCE 2e-5
#endif

typedef struct replay {
  const twin *w;
  dkho_config f;
  dec *d;
  geometry *g;
  params *p;
  tape *t;
  dkho_net net;
  real *value, *grad;
} replay;

/* One line of the fixture's table of parameters. */
typedef struct twin_param {
  char name[PARAM_NAME_MAX + 1];
  int64_t offset, count;
  int has_gradient;
} twin_param;
/* The next line, or 0 at the end. */
static inline int twin_next(const char **text, twin_param *out) {
  long long offset, count;
  int used = 0;
  if (sscanf(*text, "%63s %lld %lld %d%n", out->name, &offset, &count, &out->has_gradient, &used) != 4) return 0;
  out->offset = offset;
  out->count = count;
  *text += used;
  return 1;
}

static inline dkho_config replay_config(const twin *w) {
  dkho_config f = {.h = twin_int(w, "h"),
                   .c = twin_int(w, "c"),
                   .layers = twin_int(w, "layers"),
                   .substeps = twin_int(w, "substeps"),
                   .tau_lo = twin_number(w, "tau_lo"),
                   .tau_range = twin_number(w, "tau_range"),
                   .lag_scale = twin_number(w, "lag_scale"),
                   .degrees = twin_int(w, "degrees"),
                   .target = twin_int(w, "target"),
                   .channels = twin_int(w, "channels"),
                   .summary = twin_int(w, "summary"),
                   .harmonic = twin_int(w, "beta"),
                   .loss_eps = 1e-12};
  f.variant = (dkho_variant)case_index(dkho_variant_names, twin_text(w, "variant"));
  f.start = (dkho_start)case_index(dkho_start_names, twin_text(w, "start"));
  if (json_object_get(w->config, "exchange"))
    f.exchange = (dkho_exchange)case_index(dkho_exchange_names, twin_text(w, "exchange"));
  if (json_object_get(w->config, "relation"))
    f.relation = (dkho_relation)case_index(dkho_relation_names, twin_text(w, "relation"));
  if (json_object_get(w->config, "branch"))
    f.branch = (dkho_branch)case_index(dkho_branch_names, twin_text(w, "branch"));
  if (json_object_get(w->config, "spectral")) f.spectral = twin_int(w, "spectral");
  if (json_object_get(w->config, "exchange_width")) f.exchange_width = twin_int(w, "exchange_width");
  if (json_object_get(w->config, "slots")) f.slots = twin_int(w, "slots");
  if (json_object_get(w->config, "latent")) f.latent = twin_int(w, "latent");
  twin_ok(dec_metric_parse(twin_text(w, "metric"), &f.metric));
  json_t *inputs = json_object_get(w->config, "inputs");
  assert_int_equal(f.degrees, dkho_active_degrees(w->c->dim, f.target));
  assert_int_equal(f.degrees, json_array_size(inputs));
  for (int k = 0; k < f.degrees; k++) f.features[k] = (int)json_integer_value(json_array_get(inputs, (size_t)k));
  return f;
}

/* The fixture's metric in place of the mesh's own, and its basis. */
static inline void replay_geometry(replay *r) {
  const twin *w = r->w;
  twin_ok(dec_create(&r->d, w->c, r->f.metric));
  for (int k = 0; r->f.metric == DEC_HODGE && k <= w->c->dim; k++) {
    char name[16];
    snprintf(name, sizeof name, "star%d", k);
    memcpy(r->d->star[k], twin_f64(w, name), (size_t)w->c->n[k] * sizeof(double));
  }
  dec_basis basis = {.n = w->c->n[r->f.target], .count = r->f.harmonic};
  if (r->f.harmonic) {
    const double *h = twin_f64(w, "H");
    assert_non_null(MEM_NEW(basis.vec, basis.n * basis.count));
    for (int64_t i = 0; i < basis.n; i++)
      for (int64_t b = 0; b < basis.count; b++) basis.vec[b * basis.n + i] = h[i * basis.count + b];
  }
  twin_ok(geometry_create(&r->g, r->d, r->f.degrees - 1, r->f.target, r->f.harmonic ? &basis : NULL));
  mem_free(basis.vec);
}

/* Parameters from the fixture: every tensor of the model is there, and the other way round. */
static inline void replay_load(replay *r, const char *from, real *slab) {
  const double *x = twin_f64(r->w, from);
  const char *text;
  twin_param q;
  int found = 0;
  twin_ok(st_need_meta(r->w->file, "params", &text));
  for (; twin_next(&text, &q); found++) {
    int i = params_find(r->p, q.name);
    if (i < 0) fail_msg("%s: the model has no %s", st_path(r->w->file), q.name);
    assert_int_equal(r->p->list[i].count, q.count);
    for (int64_t k = 0; k < q.count; k++) slab[r->p->list[i].offset + k] = (real)x[q.offset + k];
  }
  assert_int_equal(found, r->p->count);
}

static inline void replay_open(replay *r, const twin *w) {
  *r = (replay){.w = w, .f = replay_config(w)};
  replay_geometry(r);
  twin_ok(params_create(&r->p));
  twin_ok(dkho_declare(&r->f, r->p));
  twin_ok(params_layout(r->p));
  twin_ok(params_slab(r->p, &r->value));
  twin_ok(params_slab(r->p, &r->grad));
  twin_ok(tape_create(&r->t, r->p));
  twin_ok(dkho_record(&r->f, r->d, r->g, r->t, &r->net));
  twin_ok(tape_mark_live(r->t, r->net.loss, r->p));
  replay_load(r, "param", r->value);
}

static inline void replay_close(replay *r) {
  mem_free(r->value);
  mem_free(r->grad);
  tape_free(r->t);
  params_free(r->p);
  geometry_free(r->g);
  dec_free(r->d);
}

/* max |a - b| ≤ tolerance · max(max |b|, floor) */
static inline void replay_near(const replay *r, const char *what, int64_t n, const real *a, const double *b,
                               double floor) {
  double worst = 0, size = floor;
  for (int64_t i = 0; i < n; i++) {
    double gap = fabs((double)a[i] - b[i]);
    worst = gap <= worst ? worst : gap; /* keeps what is not a number */
    size = fmax(size, fabs(b[i]));
  }
  if (!(worst <= TWIN_TOLERANCE * size))
    fail_msg("%s: %s: off by %.3g, size %.3g", st_path(r->w->file), what, worst, size);
}

static inline void replay_put(const replay *r, const lane *l, var v, const char *name, int64_t sample) {
  real *to = v == VAR_NONE ? NULL : lane_input(l, v);
  if (!to) return;
  int64_t n = r->t->var[v].rows * r->t->var[v].cols;
  const double *from = twin_f64(r->w, name) + sample * n;
  for (int64_t i = 0; i < n; i++) to[i] = (real)from[i];
}
static inline dkho_status replay_fill(void *ctx, const lane *l, int64_t sample) {
  const replay *r = ctx;
  for (int k = 0; k < r->f.degrees; k++) replay_put(r, l, r->net.feature[k], (char[]){'f', (char)('0' + k), 0}, sample);
  replay_put(r, l, r->net.summary, "s", sample);
  replay_put(r, l, r->net.target, "y", sample);
  return DKHO_OK;
}

static inline void replay_state(const replay *r, const lane *l, const char *stem, int layer, int k, var v) {
  char name[32];
  snprintf(name, sizeof name, "%s%d_%d", stem, layer, k);
  if (v == VAR_NONE) fail_msg("%s: %s is not recorded", st_path(r->w->file), name);
  replay_near(r, name, r->w->c->n[k] * r->t->var[v].cols, lane_value(l, v), twin_f64(r->w, name), 1);
}

/* The phase score of the benchmark the mesh stands for, from the kept corrections: Σ τ‖σ(c↑ + c↓)‖, or ‖c↑ + c↓‖ of the last
 * substep on the shell. */
static inline void replay_score(const replay *r, const lane *l) {
  const char *mesh = twin_text(r->w, "mesh");
  int k = strcmp(mesh, "shell") == 0 ? 0 : strcmp(mesh, "torus") == 0 ? 1 : 2, last = r->f.layers * r->f.substeps - 1;
  const st_tensor *want = st_find(r->w->file, "score");
  if (!want) return;
  real score[256] = {0};
  assert_int_equal(want->count, r->w->c->n[k]);
  assert_true(want->count <= 256);
  for (int s = k ? 0 : last; s <= last; s++) {
    int layer = s / r->f.substeps, step = s % r->f.substeps;
    var up = r->net.up[layer][step][k], down = r->net.down[layer][step][k];
    double weight = k ? (double)(*lane_value(l, r->net.tau[layer]) * *lane_value(l, r->net.sigma[layer][k])) : 1;
    for (int64_t i = 0; i < r->w->c->n[k]; i++) {
      double sum = 0;
      for (int64_t j = i * r->f.c; j < (i + 1) * r->f.c; j++) {
        double both = (up == VAR_NONE ? 0 : (double)lane_value(l, up)[j]) +
                      (down == VAR_NONE ? 0 : (double)lane_value(l, down)[j]);
        sum += both * both;
      }
      score[i] += (real)(weight * sqrt(sum));
    }
  }
  replay_near(r, "score", (int64_t)want->count, score, want->data, 0);
}

static inline dkho_status replay_take(void *ctx, const lane *l, int64_t sample) {
  replay *r = ctx;
  int64_t n = r->w->c->n[r->f.target] * r->f.channels;
  replay_near(r, "output", n, lane_value(l, r->net.predicted), twin_f64(r->w, "output") + sample * n, 0);
  if (sample != 0) return DKHO_OK;
  for (int layer = 0; layer < r->f.layers; layer++)
    for (int k = 0; k < r->f.degrees; k++) {
      replay_state(r, l, "z", layer, k, r->net.z[layer + 1][k]);
      if (r->f.variant != DKHO_NO_PHASE && r->f.relation == DKHO_KURAMOTO)
        replay_state(r, l, "theta", layer, k, r->net.theta[layer][r->f.substeps][k]);
    }
  replay_score(r, l);
  return DKHO_OK;
}

static inline void replay_keep(replay *r, int n, const var *v) {
  for (int i = 0; i < n; i++)
    if (v[i] != VAR_NONE) tape_keep(r->t, v[i]);
}

/* Output of every sample; θ, z and corrections of the first. In this thread: a failed comparison jumps out of replay_take. */
static inline void replay_activations(replay *r) {
  for (int l = 0; l < r->f.layers; l++) {
    replay_keep(r, CX_DEGREES, r->net.z[l + 1]);
    replay_keep(r, CX_DEGREES, r->net.theta[l][r->f.substeps]);
    replay_keep(r, 1, &r->net.tau[l]);
    replay_keep(r, CX_DEGREES, r->net.sigma[l]);
    for (int s = 0; s < r->f.substeps; s++) {
      replay_keep(r, CX_DEGREES, r->net.up[l][s]);
      replay_keep(r, CX_DEGREES, r->net.down[l][s]);
    }
  }
  engine *e;
  twin_ok(engine_create(&e, r->t, ENGINE_PREDICT, VAR_NONE, NULL));
  engine_bind(e, r->value);
  engine_batch b = {.count = twin_int(r->w, "samples"), .fill = replay_fill, .take = replay_take, .ctx = r};
  twin_ok(engine_predict(e, &b));
  engine_free(e);
}

static inline double replay_gradient(replay *r, engine *e) {
  int64_t samples = twin_int(r->w, "samples");
  double mean;
  engine_batch b = {.count = samples, .fill = replay_fill, .ctx = r};
  memset(r->grad, 0, (size_t)r->p->size * sizeof *r->grad);
  engine_bind(e, r->value);
  twin_ok(engine_gradient(e, &b, 1.0 / (double)samples, NULL, &mean, r->grad));
  return mean;
}

/* Each gradient by name, against its own size or a hundredth of the whole gradient's, whichever is larger. */
static inline void replay_gradients(const replay *r) {
  const double *want = twin_f64(r->w, "grad");
  double whole = 0;
  const char *text;
  twin_param q;
  for (uint64_t i = 0; i < twin_tensor(r->w, "grad")->count; i++) whole = fmax(whole, fabs(want[i]));
  twin_ok(st_need_meta(r->w->file, "params", &text));
  while (twin_next(&text, &q)) {
    const param *p = &r->p->list[params_find(r->p, q.name)];
    if (p->live && !q.has_gradient) fail_msg("%s: %s should be dead", st_path(r->w->file), q.name);
    replay_near(r, q.name, q.count, r->grad + p->offset, want + q.offset, 0.01 * whole);
  }
}

/* The largest entry of the reference gradient of a tensor. */
static inline double twin_slope(const twin *w, const twin_param *q) {
  const double *g = twin_f64(w, "grad") + q->offset;
  double size = 0;
  for (int64_t i = 0; i < q->count; i++) size = fmax(size, fabs(g[i]));
  return size;
}

/* Parameters after the steps. Left out: what the model knows to be dead although PyTorch decays it, its gradient being zero
 * throughout; and in float what has a gradient of rounding alone, which Adam blows up to whole steps. */
static inline void replay_after(const replay *r) {
  const double *want = twin_f64(r->w, "after");
  const char *text;
  twin_param q;
  twin_ok(st_need_meta(r->w->file, "params", &text));
  while (twin_next(&text, &q)) {
    const param *p = &r->p->list[params_find(r->p, q.name)];
    double slope = twin_slope(r->w, &q);
    if (!p->live && q.has_gradient) {
      if (slope != 0) fail_msg("%s: %s should be live", st_path(r->w->file), q.name);
      continue;
    }
    if (sizeof(real) == sizeof(float) && q.has_gradient && slope < 1e-12) continue;
    replay_near(r, q.name, q.count, r->value + p->offset, want + q.offset, 1);
  }
}

/* Loss and gradient at the fixture's parameters, then its AdamW steps. */
static inline void replay_training(replay *r, pool *threads) {
  const twin *w = r->w;
  engine *e;
  optim *o;
  optim_config cfg = {.beta1 = twin_number(w, "beta1"),
                      .beta2 = twin_number(w, "beta2"),
                      .eps = twin_number(w, "eps"),
                      .decay = twin_number(w, "wd"),
                      .clip = twin_number(w, "clip")};
  twin_ok(engine_create(&e, r->t, ENGINE_TRAIN, r->net.loss, threads));
  twin_ok(optim_create(&o, r->p, &cfg, r->value, NULL));
  for (int step = 0; step < twin_int(w, "steps"); step++) {
    real loss = (real)replay_gradient(r, e);
    replay_near(r, "loss", 1, &loss, twin_f64(w, "losses") + step, 0);
    if (step == 0) replay_gradients(r);
    twin_ok(optim_step(o, twin_number(w, "lr"), r->value, r->grad, NULL));
  }
  replay_after(r);
  optim_free(o);
  engine_free(e);
}

/* Training comes first: keeping variables for prediction changes the tape. */
static inline void replay_case(const char *name, pool *threads) {
  twin w;
  replay r;
  twin_open(&w, name);
  twin_check_topology(&w);
  replay_open(&r, &w);
  replay_training(&r, threads);
  replay_load(&r, "param", r.value);
  replay_activations(&r);
  replay_close(&r);
  twin_close(&w);
}

static inline void replay_all(void **state) {
  (void)state;
  size_t blocks = mem_live_blocks();
  for (int i = 0; i < TWIN_CASES; i++) replay_case(twin_cases[i], NULL);
  assert_int_equal(mem_live_blocks(), blocks);
}

static inline void replay_threads(void **state) {
  (void)state;
  pool *threads;
  twin_ok(pool_create(&threads, 2));
  replay_case("annulus_c1", threads);
  replay_case("shell_c0", threads);
  replay_case("shell_x", threads);
  pool_free(threads);
}

#endif
