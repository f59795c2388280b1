/* baseline_replay.h: runs the fixtures of tests/data/baselines (tools/make_baseline_fixtures.py) through the C models and compares
 * output, loss, gradients, three AdamW steps, running statistics and the prediction after them. Shared by the float test and the
 * double test, which differ in tolerance alone. */
#ifndef TESTS_BASELINE_REPLAY_H
#define TESTS_BASELINE_REPLAY_H

#include "twin.h"

#include "model/model.h"
#include "nn/optim.h"

#ifdef DKHO_REAL_DOUBLE
static const double baseline_tolerance = 1e-10;
#else
static const double baseline_tolerance = 2e-5;
#endif

static const char *const baseline_cases[] = {
    "attention_latent", "attention_slices", "attention_volume", "tno_plane",       "tno_torus",     "tno_volume",
    "deeponet_form",    "deeponet_plane",   "deeponet_surface", "deeponet_volume", "fno_form",      "fno_plane",
    "fno_published",    "fno_surface",      "fno_volume",       "geofno_form",     "geofno_plane",  "geofno_published",
    "geofno_surface",   "geofno_volume",    "gno_form",         "gno_plane",       "gno_published", "gno_surface",
    "gno_volume",       "hsd_face",         "hsd_plane",        "hsd_published",   "hsd_surface",   "hsd_volume",
    "mgn_form",         "mgn_plane",        "mgn_surface",      "mgn_volume"};
enum { BASELINE_CASES = sizeof baseline_cases / sizeof *baseline_cases };

typedef struct baseline {
  twin w;
  model_setup s;
  dec *d;
  geometry *g;
  params *p;
  tape *t;
  model_net net;
  pool *threads;
  engine *train, *predict;
  real *value, *grad;
  const char *compare; /* tensor that predictions are compared with; NULL: none */
} baseline;

static inline void baseline_choose(baseline *b) {
  const twin *w = &b->w;
  const char *set[16] = {NULL};
  const model_type *m;
  json_t *list = json_object_get(w->config, "set"), *inputs = json_object_get(w->config, "inputs");
  for (size_t i = 0; i < json_array_size(list) && i < 15; i++) set[i] = json_string_value(json_array_get(list, i));
  twin_ok(model_find(twin_text(w, "model"), &m));
  twin_ok(model_choose(&b->s, m, NULL, NULL, set));
  b->s.dim = w->c->dim, b->s.gdim = w->c->gdim;
  b->s.target = twin_int(w, "target"), b->s.channels = twin_int(w, "channels");
  b->s.degrees = m->degrees(w->c->dim, b->s.target);
  assert_int_equal(b->s.degrees, json_array_size(inputs));
  for (int k = 0; k < CX_DEGREES; k++) b->s.n[k] = w->c->n[k];
  for (int k = 0; k < b->s.degrees; k++) b->s.features[k] = (int)json_integer_value(json_array_get(inputs, (size_t)k));
  b->s.loss_eps = twin_number(w, "eps");
}

/* Places of the model's tensors in the fixture's vectors: calls fn for each, and checks that none is missing. */
typedef void (*baseline_fn)(baseline *b, const param *q, int64_t offset);
static inline void baseline_each(baseline *b, const char *table, int expected, baseline_fn fn) {
  const char *text;
  char name[PARAM_NAME_MAX + 1];
  long long offset, count;
  int used, found = 0;
  twin_ok(st_need_meta(b->w.file, table, &text));
  for (; sscanf(text, "%63s %lld %lld%n", name, &offset, &count, &used) == 3; found++, text += used) {
    int i = params_find(b->p, name);
    if (i < 0) fail_msg("%s: the model has no %s", st_path(b->w.file), name);
    if (b->p->list[i].count != count) fail_msg("%s: %s has another size", st_path(b->w.file), name);
    fn(b, &b->p->list[i], offset);
  }
  assert_int_equal(found, expected);
}
/* How many tensors of the model are states, or not. */
static inline int baseline_tensors(const baseline *b, int state) {
  int count = 0;
  for (int i = 0; i < b->p->count; i++) count += b->p->list[i].state == state;
  return count;
}
static inline void baseline_load(baseline *b, const param *q, int64_t offset) {
  const st_tensor *t = twin_tensor(&b->w, "param");
  assert_int_equal(t->dtype, ST_F32);
  for (int64_t k = 0; k < q->count; k++) b->value[q->offset + k] = (real)((const float *)t->data)[offset + k];
}

static inline void baseline_near(const baseline *b, const char *what, int64_t n, const real *a, const double *x,
                                 double floor) {
  double worst = 0, size = floor;
  for (int64_t i = 0; i < n; i++) {
    double gap = fabs((double)a[i] - x[i]);
    worst = gap <= worst ? worst : gap; /* keeps what is not a number */
    size = fmax(size, fabs(x[i]));
  }
  if (!(worst <= baseline_tolerance * size))
    fail_msg("%s: %s: off by %.3g, size %.3g", st_path(b->w.file), what, worst, size);
}

static inline double baseline_most(const baseline *b, const char *tensor) {
  const st_tensor *t = twin_tensor(&b->w, tensor);
  double most = 0;
  for (uint64_t i = 0; i < t->count; i++) most = fmax(most, fabs(((const double *)t->data)[i]));
  return most;
}
/* To the tensor's own size, or a hundredth of the largest gradient of all; in float to that, since tensors of tiny gradients are
 * sums that cancel. */
static inline void baseline_check_gradient(baseline *b, const param *q, int64_t offset) {
  baseline_near(b, q->name, q->count, b->grad + q->offset, twin_f64(&b->w, "grad") + offset,
                (sizeof(real) == 8 ? 1e-2 : 1) * baseline_most(b, "grad"));
}

static inline void baseline_check_state(baseline *b, const param *q, int64_t offset) {
  baseline_near(b, q->name, q->count, b->value + q->offset, twin_f64(&b->w, "running") + offset, 0);
}

/* Incidence and, for a model that asks for it, a harmonic basis: our own, since a projection does not depend on the choice. */
static inline void baseline_geometry(baseline *b) {
  dec_basis basis = {0};
  twin_ok(dec_create(&b->d, b->w.c, DEC_UNIT));
  if (b->s.m->harmonic) twin_ok(dec_harmonic(b->d, b->s.target, &basis));
  b->s.harmonic = (int)basis.count, b->s.summary = 1;
  twin_ok(geometry_create(&b->g, b->d, b->s.degrees - 1, b->s.target, basis.count ? &basis : NULL));
  dec_basis_free(&basis);
}

static inline void baseline_open(baseline *b, const char *name, int threads) {
  memset(b, 0, sizeof *b);
  twin_open_from(&b->w, "baselines", name);
  baseline_choose(b);
  baseline_geometry(b);
  twin_ok(model_params(&b->s, &b->p));
  twin_ok(params_slab(b->p, &b->value));
  twin_ok(params_slab(b->p, &b->grad));
  params_init(b->p, 1, b->value);
  baseline_each(b, "params", baseline_tensors(b, 0), baseline_load);
  twin_ok(model_record(&b->s, b->p, &(model_view){.c = b->w.c, .metric = b->d, .g = b->g}, &b->t, &b->net));
  twin_ok(pool_create(&b->threads, threads));
  twin_ok(engine_create(&b->train, b->t, ENGINE_TRAIN, b->net.loss, b->threads));
  twin_ok(engine_create(&b->predict, b->t, ENGINE_PREDICT, VAR_NONE, b->threads));
}
static inline void baseline_close(baseline *b) {
  engine_free(b->train);
  engine_free(b->predict);
  pool_free(b->threads);
  tape_free(b->t);
  params_free(b->p);
  geometry_free(b->g);
  dec_free(b->d);
  mem_free(b->value);
  mem_free(b->grad);
  twin_close(&b->w);
}

static inline void baseline_put(const baseline *b, const lane *l, var v, const char *name, int64_t sample) {
  real *to = v == VAR_NONE ? NULL : lane_input(l, v);
  if (!to) return;
  int64_t n = b->t->var[v].rows * b->t->var[v].cols;
  const double *from = twin_f64(&b->w, name) + sample * n;
  for (int64_t i = 0; i < n; i++) to[i] = (real)from[i];
}
static inline dkho_status baseline_fill(void *ctx, const lane *l, int64_t sample) {
  const baseline *b = ctx;
  for (int k = 0; k < b->s.degrees; k++)
    baseline_put(b, l, b->net.feature[k], (char[]){'f', (char)('0' + k), 0}, sample);
  baseline_put(b, l, b->net.target, "y", sample);
  return DKHO_OK;
}
static inline dkho_status baseline_take(void *ctx, const lane *l, int64_t sample) {
  const baseline *b = ctx;
  int64_t n = b->w.c->n[b->s.target] * b->s.channels;
  if (b->compare)
    baseline_near(b, b->compare, n, lane_value(l, b->net.predicted), twin_f64(&b->w, b->compare) + sample * n, 0);
  return DKHO_OK;
}

/* One gradient of the whole batch; compares predictions with `compare` unless NULL. */
static inline double baseline_gradient(baseline *b, const char *compare) {
  engine_batch batch = {.count = twin_int(&b->w, "samples"), .fill = baseline_fill, .take = baseline_take, .ctx = b};
  double mean;
  b->compare = compare;
  memset(b->grad, 0, (size_t)b->p->size * sizeof *b->grad);
  engine_bind(b->train, b->value);
  twin_ok(engine_gradient(b->train, &batch, 1.0 / (double)batch.count, NULL, &mean, b->grad));
  return mean;
}

static inline void baseline_loss_is(const baseline *b, const char *what, double loss, double expected) {
  if (!(fabs(loss - expected) <= baseline_tolerance * fabs(expected)))
    fail_msg("%s: %s: %.15g, expected %.15g", st_path(b->w.file), what, loss, expected);
}

static inline void baseline_train(baseline *b) {
  optim_config cfg = optim_defaults(OPTIM_ADAMW);
  optim *o;
  cfg.decay = twin_number(&b->w, "wd");
  cfg.clip = twin_number(&b->w, "clip");
  cfg.eps = twin_number(&b->w, "floor");
  twin_ok(optim_create(&o, b->p, &cfg, b->value, NULL));
  for (int i = 0; i < twin_int(&b->w, "steps"); i++) {
    baseline_loss_is(b, "loss of a step", baseline_gradient(b, NULL), twin_f64(&b->w, "losses")[i]);
    twin_ok(optim_step(o, twin_number(&b->w, "lr"), b->value, b->grad, NULL));
  }
  optim_free(o);
}

static inline void baseline_replay(const char *name) {
  baseline b;
  baseline_open(&b, name, 1);
  baseline_loss_is(&b, "loss", baseline_gradient(&b, "output"), twin_f64(&b.w, "loss")[0]);
  baseline_each(&b, "params", baseline_tensors(&b, 0), baseline_check_gradient);
  baseline_train(&b);
  baseline_each(&b, "state", baseline_tensors(&b, 1), baseline_check_state);
  engine_batch batch = {.count = twin_int(&b.w, "samples"), .fill = baseline_fill, .take = baseline_take, .ctx = &b};
  b.compare = "evaluated";
  engine_bind(b.predict, b.value);
  twin_ok(engine_predict(b.predict, &batch));
  baseline_close(&b);
}
static inline void baseline_replay_all(void **state) {
  (void)state;
  for (int i = 0; i < BASELINE_CASES; i++) baseline_replay(baseline_cases[i]);
}

/* One, two and five threads: the same bits of the loss and of every gradient. */
static inline void baseline_threads(void **state) {
  static const int counts[] = {1, 2, 5};
  (void)state;
  for (int i = 0; i < BASELINE_CASES; i++) {
    baseline b[3];
    double loss[3];
    for (int j = 0; j < 3; j++) {
      baseline_open(&b[j], baseline_cases[i], counts[j]);
      loss[j] = baseline_gradient(&b[j], NULL);
      assert_true(loss[j] == loss[0]);
      assert_memory_equal(b[j].grad, b[0].grad, (size_t)b[0].p->size * sizeof(real));
    }
    for (int j = 0; j < 3; j++) baseline_close(&b[j]);
  }
}

#endif
