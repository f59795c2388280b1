/* Whole models on small complexes, in double: every gradient against differences, in every form and behaviour; and properties
 * that hold for any weights. */
#include "f64/gradcheck.h"

#include "model/model.h"
#include "zoo.h"

/* One model on one complex. */
typedef struct {
  const char *model;
  cx *(*complex_of)(void);
  int target, channels;
  double step;        /* rectifiers, moduli or moving cells: differences take a short step */
  const char *set[8]; /* options, ends with NULL */
} example;

typedef struct {
  gc c;
  cx *x;
  dec *d;
  dec_basis basis;
  geometry *g;
  model_setup s;
  model_net net;
} instance;

static cx *small_plane(void) {
  return shape_planar(4, 3, 0, NULL, 0.2);
}
static cx *small_surface(void) {
  return shape_torus(5, 4);
}
static cx *small_volume(void) {
  return shape_cubes(2, 2, 1, zoo_all, 0.15);
}

static void choose(instance *m, const example *e) {
  memset(m, 0, sizeof *m);
  const model_type *found;
  gc_ok(model_find(e->model, &found));
  gc_ok(model_choose(&m->s, found, NULL, NULL, e->set));
  m->x = e->complex_of();
  m->s.dim = m->x->dim, m->s.gdim = m->x->gdim;
  m->s.target = e->target, m->s.channels = e->channels;
  m->s.degrees = found->degrees(m->x->dim, e->target);
  for (int k = 0; k < CX_DEGREES; k++) m->s.n[k] = m->x->n[k];
  for (int k = 0; k < m->s.degrees; k++) m->s.features[k] = 3 - (k == 1);
  m->s.loss_eps = 1e-10;
  gc_ok(model_check(&m->s));
}

/* Random weights, also where training starts from zeros. */
static void instance_open(instance *m, const example *e) {
  choose(m, e);
  gc_open(&m->c);
  gc_ok(m->s.m->declare(&m->s, m->c.p));
  gc_params(&m->c);
  rng r = rng_open(8, RNG_TEST, 1);
  for (int i = 0; i < m->c.p->count; i++) {
    const param *q = &m->c.p->list[i];
    for (int64_t j = 0; q->init == INIT_CONST && j < q->count; j++) m->c.value[q->offset + j] += 0.3 * rng_normal(&r);
    for (int64_t j = 0; q->init == INIT_RAMP && j < q->count; j++) m->c.value[q->offset + j] = 1 + 0.1 * (double)j;
  }
  memset(&m->net, 0xff, sizeof m->net);
  gc_ok(dec_create(&m->d, m->x, DEC_UNIT));
  if (m->s.m->harmonic) gc_ok(dec_harmonic(m->d, e->target, &m->basis));
  m->s.harmonic = (int)m->basis.count;
  gc_ok(geometry_create(&m->g, m->d, m->s.degrees - 1, e->target, m->basis.count ? &m->basis : NULL));
  const model_view v = {m->x, m->d, m->g, NULL, NULL};
  gc_ok(m->s.m->record(&m->s, &v, m->c.t, &m->net));
  for (int k = 0; k < m->s.degrees; k++)
    if (m->net.feature[k] != VAR_NONE) gc_track(&m->c, m->net.feature[k], 1, 1);
  gc_track(&m->c, m->net.target, 1, 0);
  for (int i = 0; i < m->c.p->count; i++) m->c.by_training |= m->c.p->list[i].state;
  gc_record(&m->c, m->net.loss);
}
static void instance_close(instance *m) {
  gc_close(&m->c);
  geometry_free(m->g);
  dec_basis_free(&m->basis);
  dec_free(m->d);
  cx_free(m->x);
}

static const example examples[] = {
    {"deeponet", small_plane, 1, 1, 0, {"branch=5", "trunk=4", "last=3", "basis=4"}},
    {"deeponet", small_volume, 0, 3, 0, {"branch=5", "trunk=4", "last=3", "basis=4"}},
    {"gno", small_plane, 2, 1, 0, {"h=5", "project=4", "layers=2", "radius=1.2"}},
    {"gno", small_surface, 0, 1, 0, {"h=5", "project=4", "layers=2", "radius=0.9"}},
    {"gno", small_volume, 0, 3, 0, {"h=4", "project=4", "layers=2", "radius=1.2", "behaviour=published"}},
    {"mgn", small_plane, 1, 1, 1e-5, {"h=5", "steps=2"}},
    {"mgn", small_surface, 0, 1, 1e-5, {"h=5", "steps=2"}},
    {"mgn", small_volume, 0, 3, 1e-5, {"h=5", "steps=2"}},
    {"fno", small_plane, 1, 1, 0, {"w=3", "layers=2"}},
    {"fno", small_surface, 0, 1, 0, {"w=3", "layers=2", "modes=2"}},
    {"fno", small_volume, 0, 3, 0, {"w=3", "layers=2", "modes=2", "behaviour=published"}},
    {"geofno", small_plane, 1, 1, 1e-5, {"w=3", "layers=2"}},
    {"geofno", small_surface, 0, 1, 1e-5, {"w=3", "layers=2", "modes=2"}},
    {"geofno", small_volume, 0, 3, 1e-5, {"w=3", "layers=2", "modes=2", "behaviour=published"}},
    {"tno", small_plane, 1, 1, 0, {"w=6", "layers=3"}},
    {"tno", small_volume, 3, 2, 0, {"w=4", "layers=2"}},
    {"attention", small_plane, 1, 1, 0, {"w=6", "layers=2", "heads=2", "tokens=3"}},
    {"attention", small_surface, 2, 1, 0, {"w=6", "layers=1", "heads=3", "tokens=4", "mixer=latent"}},
    {"hsd", small_plane, 1, 1, 0, {"modes=4", "w=3", "layers=2"}},
    {"hsd", small_surface, 0, 1, 2e-5, {"modes=4", "w=3", "layers=2", "grid_modes=2"}},
    {"hsd", small_volume, 0, 3, 2e-5, {"modes=4", "w=3", "layers=2", "grid_modes=2", "behaviour=published"}},
};

static void gradients(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    instance m;
    instance_open(&m, &examples[i]);
    m.c.step = examples[i].step;
    gc_check(&m.c, 0, 1e-7);
    double slope = gc_taylor(&m.c, examples[i].step > 0 ? 3e-6 : 1e-4);
    if (!(fabs(slope - 2) < 0.1)) fail_msg("%s, row %zu: remainder of order %g", examples[i].model, i, slope);
    instance_close(&m);
  }
}

static dkho_status build_and_drop(const model_setup *s, const model_view *v) {
  params *p = NULL;
  tape *t = NULL;
  engine *e = NULL;
  model_net net;
  dkho_status st = model_params(s, &p);
  if (st == DKHO_OK) st = model_record(s, p, v, &t, &net);
  if (st == DKHO_OK) st = engine_create(&e, t, ENGINE_TRAIN, net.loss, NULL);
  engine_free(e);
  tape_free(t);
  params_free(p);
  return st;
}

/* Whatever allocation fails while a model is declared, recorded and given its buffers: a status, and nothing is left. */
static void no_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    instance m;
    instance_open(&m, &examples[i]);
    const model_view v = {m.x, m.d, m.g, NULL, NULL};
    size_t before = mem_live_blocks();
    int failed = 0;
    dkho_status st;
    do {
      mem_fail_at(++failed);
      st = build_and_drop(&m.s, &v);
      mem_fail_at(0);
      if (st != DKHO_OK && st != DKHO_E_MEMORY) fail_msg("%s: %s", examples[i].model, fail_text());
      assert_int_equal(mem_live_blocks(), before);
    } while (st != DKHO_OK);
    assert_true(failed > 10);
    instance_close(&m);
  }
}

typedef struct {
  instance *m;
  double *out;
} prediction;
static dkho_status fill_instance(void *ctx, const lane *l, int64_t sample) {
  return gc_fill(&((prediction *)ctx)->m->c, l, sample);
}
static dkho_status take_prediction(void *ctx, const lane *l, int64_t sample) {
  const prediction *p = ctx;
  const tape_var *v = &p->m->c.t->var[p->m->net.predicted];
  (void)sample;
  memcpy(p->out, lane_value(l, p->m->net.predicted), (size_t)(v->rows * v->cols) * sizeof *p->out);
  return DKHO_OK;
}
static double *predict(instance *m) {
  const tape_var *v = &m->c.t->var[m->net.predicted];
  prediction p = {m, mem_alloc((size_t)(v->rows * v->cols), sizeof(double))};
  engine_batch b = {.count = 1, .fill = fill_instance, .take = take_prediction, .ctx = &p};
  engine_bind(m->c.forward, m->c.value);
  gc_ok(engine_predict(m->c.forward, &b));
  return p.out;
}

/* small_surface with its vertices numbered backwards. */
static cx *turned_surface(void) {
  cx *c = small_surface(), *turned;
  int64_t n = c->n[0];
  double *x = mem_alloc((size_t)(3 * n), sizeof *x);
  int32_t *top = mem_alloc((size_t)(3 * c->n[2]), sizeof *top);
  for (int64_t i = 0; i < n; i++)
    for (int a = 0; a < 3; a++) x[3 * (n - 1 - i) + a] = c->x[3 * i + a];
  for (int64_t i = 0; i < 3 * c->n[2]; i++) top[i] = (int32_t)(n - 1) - c->vert[2][i];
  gc_ok(cx_build(&turned, 3, n, x, 2, c->n[2], top, CX_APPEARANCE));
  mem_free(x);
  mem_free(top);
  cx_free(c);
  return turned;
}

/* Networks on graphs and learned grids do not know how vertices are numbered. */
static void numbering(void **state) {
  (void)state;
  static const example list[] = {
      {"gno", small_surface, 0, 1, 0, {"h=5", "project=4", "layers=2", "radius=0.9"}},
      {"mgn", small_surface, 0, 1, 0, {"h=5", "steps=2"}},
      {"geofno", small_surface, 0, 1, 0, {"w=3", "layers=2", "modes=2"}},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    instance m, turned;
    example other = list[i];
    other.complex_of = turned_surface;
    instance_open(&m, &list[i]);
    instance_open(&turned, &other);
    int64_t n = m.x->n[0], width = m.s.features[0];
    for (int64_t r = 0; r < n; r++)
      memcpy(turned.c.data[0] + (n - 1 - r) * width, m.c.data[0] + r * width, (size_t)width * sizeof(double));
    double *a = predict(&m), *b = predict(&turned);
    for (int64_t r = 0; r < n; r++) assert_true(fabs(a[r] - b[n - 1 - r]) < 1e-11);
    mem_free(a);
    mem_free(b);
    instance_close(&m);
    instance_close(&turned);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(no_memory),
                                     cmocka_unit_test(numbering)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
