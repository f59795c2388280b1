/* small.h: small complexes with their calculus and bases, and models recorded on them, for tests of whole models. */
#ifndef TESTS_SMALL_H
#define TESTS_SMALL_H

#include "f64/gradcheck.h"
#include "mesh/generate.h"
#include "dkho_case.h"
#include "model/dkho/kuramoto.h"

/* Small complexes. In place of the Hodge stars they get random positive ones: the identities hold for every diagonal metric,
 * and stars of coarse, crooked meshes would be stiff enough to spoil differences.
 * A ring of triangles; a torus; a cube of six tetrahedra; 26 such cubes round a hole (β = 1, 0, 1, 0).
 */
typedef enum { SMALL_ANNULUS, SMALL_TORUS, SMALL_CUBE, SMALL_SHELL, SMALL_SHAPES } small_shape;

typedef struct small {
  cx *c;
  dec *d;
  dec_basis basis[CX_DEGREES];
  double *work;
  int64_t room;
} small;

/* Six sectors between radii 1 and 2, with one ring of vertices between, moved off symmetry. */
static inline dkho_status small_annulus(cx **out) {
  enum { SECTORS = 6, RINGS = 3 };
  double x[2 * SECTORS * RINGS];
  int32_t top[3 * 2 * SECTORS * (RINGS - 1)], *t = top;
  rng r = rng_open(1, RNG_TEST, 77);
  for (int i = 0; i < RINGS; i++)
    for (int j = 0; j < SECTORS; j++) {
      double radius = 1 + 0.5 * i + rng_range(&r, -0.05, 0.05),
             angle = (j + 0.5 * i + rng_range(&r, -0.1, 0.1)) * M_PI / 3;
      x[2 * (i * SECTORS + j)] = radius * cos(angle);
      x[2 * (i * SECTORS + j) + 1] = radius * sin(angle);
    }
  for (int32_t i = 0; i + 1 < RINGS; i++)
    for (int32_t j = 0; j < SECTORS; j++) {
      int32_t a = i * SECTORS + j, b = i * SECTORS + (j + 1) % SECTORS, u = a + SECTORS, v = b + SECTORS;
      const int32_t two[6] = {a, u, b, b, u, v};
      for (int q = 0; q < 6; q++) *t++ = two[q];
    }
  return cx_build(out, 2, SECTORS * RINGS, x, 2, 2 * SECTORS * (RINGS - 1), top, CX_APPEARANCE);
}

/* m × m × m cubes, without the middle one when hollow, six tetrahedra each along the diagonal. */
static inline dkho_status small_cubes(cx **out, int m, int hollow) {
  static const int path[6][3] = {{1, 3, 7}, {1, 5, 7}, {2, 3, 7}, {2, 6, 7}, {4, 5, 7}, {4, 6, 7}};
  double x[64 * 3];
  int32_t top[27 * 6 * 4], *t = top;
  int side = m + 1, count = side * side * side;
  rng r = rng_open(1, RNG_TEST, 78);
  for (int i = 0; i < count; i++)
    for (int j = 0, q = i; j < 3; j++, q /= side) x[3 * i + j] = q % side + rng_range(&r, -0.1, 0.1);
  for (int i = 0; i < m * m * m; i++) {
    int at = i % m + side * (i / m % m) + side * side * (i / m / m);
    for (int q = 0; !(hollow && i == 13) && q < 6; q++) {
      *t++ = at;
      for (int j = 0; j < 3; j++)
        *t++ = at + (path[q][j] & 1) + side * (path[q][j] >> 1 & 1) + side * side * (path[q][j] >> 2);
    }
  }
  return cx_build(out, 3, count, x, 3, (t - top) / 4, top, CX_LEX);
}

static inline void small_open(small *s, small_shape shape, dec_metric metric) {
  rng r = rng_open(1, RNG_TEST, 79);
  *s = (small){0};
  if (shape == SMALL_ANNULUS) gc_ok(small_annulus(&s->c));
  if (shape == SMALL_TORUS) gc_ok(cx_torus_grid(&s->c, 1, 0.4, 5, 4, 0));
  if (shape == SMALL_CUBE) gc_ok(small_cubes(&s->c, 1, 0));
  if (shape == SMALL_SHELL) gc_ok(small_cubes(&s->c, 3, 1));
  gc_ok(dec_create(&s->d, s->c, metric));
  for (int k = 0; k <= s->c->dim; k++)
    for (int64_t i = 0; metric == DEC_HODGE && i < s->c->n[k]; i++) s->d->star[k][i] = exp(rng_range(&r, -0.7, 0.7));
  for (int k = 0; k <= s->c->dim; k++) {
    gc_ok(dec_harmonic(s->d, k, &s->basis[k]));
    if (s->room < 16 * s->c->n[k]) s->room = 16 * s->c->n[k];
  }
  s->work = mem_alloc((size_t)s->room, sizeof *s->work);
}
static inline void small_close(small *s) {
  for (int k = 0; k <= s->c->dim; k++) dec_basis_free(&s->basis[k]);
  dec_free(s->d);
  cx_free(s->c);
  mem_free(s->work);
}

static inline dkho_config small_config(const small *s, int target) {
  dkho_config f;
  gc_ok(case_config("small", &f));
  f.h = 5;
  f.c = 2;
  f.layers = 2;
  f.metric = s->d->metric;
  f.target = target;
  f.degrees = dkho_active_degrees(s->c->dim, target);
  f.channels = 1;
  for (int k = 0; k < f.degrees; k++) f.features[k] = 3 + k;
  f.summary = 4;
  f.harmonic = (int)s->basis[target].count;
  return f;
}

/* max over basis vectors and channels of |<h, u>_M| */
static inline double largest_projection(const small *s, int k, int ch, const double *u) {
  double worst = 0;
  for (int64_t b = 0; b < s->basis[k].count; b++)
    for (int j = 0; j < ch; j++) {
      double sum = 0;
      for (int64_t i = 0; i < s->c->n[k]; i++)
        sum += s->basis[k].vec[b * s->c->n[k] + i] * s->d->star[k][i] * u[i * ch + j];
      worst = fmax(worst, fabs(sum));
    }
  return worst;
}

/* The largest eigenvalue of Δ_k and its mode, by power iteration. */
static inline double top_mode(const small *s, int k, double *mode) {
  int64_t n = s->c->n[k];
  double lambda = 0, *next = mem_alloc((size_t)n, sizeof *next);
  rng r = rng_open(6, RNG_TEST, 3);
  for (int64_t i = 0; i < n; i++) mode[i] = rng_normal(&r);
  for (int it = 0; it < 3000; it++) {
    gc_ok(dec_laplacian(s->d, k, 1, mode, next));
    lambda = sqrt(dec_dot(s->d, k, 1, next, next) / dec_dot(s->d, k, 1, mode, mode));
    double size = sqrt(dec_dot(s->d, k, 1, next, next));
    for (int64_t i = 0; i < n; i++) mode[i] = next[i] / size;
  }
  mem_free(next);
  return lambda;
}

typedef struct model {
  gc c;
  const small *x;
  dkho_config f;
  geometry *g;
  dkho_net net;
  engine *predictor;
  real **kept; /* by variable: a copy of its value */
} model;

/* Random weights, random inputs; everything in the net is kept for model_predict. */
static inline void model_open(model *m, const small *x, dkho_config f) {
  memset(m, 0, sizeof *m);
  m->x = x;
  m->f = f;
  gc_open(&m->c);
  gc_ok(dkho_declare(&f, m->c.p));
  gc_params(&m->c);
  gc_ok(geometry_create(&m->g, x->d, f.degrees - 1, f.target, &x->basis[f.target]));
  gc_ok(dkho_record(&f, x->d, m->g, m->c.t, &m->net));
  gc_ok(tape_mark_live(m->c.t, m->net.loss, m->c.p));
  for (int k = 0; k < f.degrees; k++) gc_track(&m->c, m->net.feature[k], 1, 1);
  if (m->net.summary != VAR_NONE) gc_track(&m->c, m->net.summary, 1, 1);
  gc_track(&m->c, m->net.target, 1, 0);
  gc_record(&m->c, m->net.loss);
}
static inline void model_close(model *m) {
  for (var v = 0; m->kept && v < m->c.t->vars; v++) mem_free(m->kept[v]);
  mem_free(m->kept);
  engine_free(m->predictor);
  geometry_free(m->g);
  gc_close(&m->c);
}

static inline dkho_status model_take(void *ctx, const lane *l, int64_t sample) {
  model *m = ctx;
  (void)sample;
  for (var v = 0; v < m->c.t->vars; v++) {
    const tape_var *q = &m->c.t->var[v];
    if (!q->keep) continue;
    size_t n = (size_t)(q->rows * q->cols);
    m->kept[v] = mem_alloc(n, sizeof(real));
    memcpy(m->kept[v], lane_value(l, v), n * sizeof(real));
  }
  return DKHO_OK;
}
static inline void model_predict(model *m) {
  for (const var *v = &m->net.predicted; v < (const var *)(&m->net + 1); v++)
    if (*v != VAR_NONE) tape_keep(m->c.t, *v);
  gc_ok(engine_create(&m->predictor, m->c.t, ENGINE_PREDICT, VAR_NONE, NULL));
  m->kept = mem_alloc((size_t)m->c.t->vars, sizeof *m->kept);
  engine_bind(m->predictor, m->c.value);
  engine_batch b = {.count = 1, .fill = gc_fill, .take = model_take, .ctx = m};
  gc_ok(engine_predict(m->predictor, &b));
}
static inline const real *model_value(const model *m, var v) {
  return v == VAR_NONE ? NULL : m->kept[v];
}

/* Drive, gate and lag zero, σ = 1; the start is about `amplitude` large. */
static inline void model_calm(model *m, double amplitude) {
  for (int i = 0; i < m->c.p->count; i++) {
    const param *q = &m->c.p->list[i];
    double factor = strstr(q->name, "drive") || strstr(q->name, "gate") || strstr(q->name, "lag") ? 0 : 1;
    if (strncmp(q->name, "rel", 3) == 0) factor = amplitude;
    for (int64_t k = 0; k < q->count; k++) m->c.value[q->offset + k] *= factor;
    if (strstr(q->name, ".s"))
      for (int64_t k = 0; k < q->count && strcmp(q->name, "layer0.s") == 0; k++)
        m->c.value[q->offset + k] = log(expm1(1 - 1e-4));
  }
}
/* max over degrees of |θ' - θ + τ Δ θ| of the first substep */
static inline double relaxation_error(const model *m) {
  double worst = 0;
  for (int k = 0; k < m->f.degrees; k++) {
    int64_t n = m->x->c->n[k] * m->f.c;
    const double *a = model_value(m, m->net.theta[0][0][k]), *b = model_value(m, m->net.theta[0][1][k]);
    gc_ok(dec_laplacian(m->x->d, k, m->f.c, a, m->x->work));
    for (int64_t i = 0; i < n; i++)
      worst = fmax(worst, fabs(b[i] - a[i] + *model_value(m, m->net.tau[0]) * m->x->work[i]));
  }
  return worst;
}

/* Builds everything a run needs, from params to engine, then drops it. */
static inline dkho_status build_and_drop(const small *x, const dkho_config *f) {
  params *p = NULL;
  tape *t = NULL;
  geometry *g = NULL;
  engine *e = NULL;
  dkho_net net;
  dkho_status s;
  TRY_GOTO(params_create(&p));
  TRY_GOTO(dkho_declare(f, p));
  TRY_GOTO(params_layout(p));
  TRY_GOTO(tape_create(&t, p));
  TRY_GOTO(geometry_create(&g, x->d, f->degrees - 1, f->target, &x->basis[f->target]));
  TRY_GOTO(case_record(f, p, g, t, &net));
  TRY_GOTO(engine_create(&e, t, ENGINE_TRAIN, net.loss, NULL));
done:
  engine_free(e);
  geometry_free(g);
  tape_free(t);
  params_free(p);
  return s;
}

#endif
