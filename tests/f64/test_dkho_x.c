/* test_dkho_x.c: the extensions of DKHO: exchange, relation none, spectral: gradients against differences, parameters by formula, and
 * that maps which start at zero leave the paper's network as it is. */
#include "f64/reference.h"
#include "nn/optim.h"

static void check_gradients(const small *x, dkho_config f) {
  model m;
  rng r = rng_open(8, RNG_TEST, 1);
  model_open(&m, x, f);
  for (int64_t i = 0; i < m.c.p->size; i++) m.c.value[i] += 0.1 * rng_normal(&r); /* nothing stays at zero */
  gc_check(&m.c, 0, 1e-7);
  double slope = gc_taylor(&m.c, 1e-5);
  if (!(fabs(slope - 2) < 0.05)) fail_msg("slope %.4f", slope);
  model_close(&m);
}

static void gradients(void **state) {
  (void)state;
  static const struct {
    small_shape shape;
    dec_metric metric;
  } on[] = {{SMALL_ANNULUS, DEC_UNIT}, {SMALL_ANNULUS, DEC_HODGE}, {SMALL_TORUS, DEC_UNIT}, {SMALL_CUBE, DEC_HODGE}};
  for (int i = 0; i < 4; i++) {
    small x;
    small_open(&x, on[i].shape, on[i].metric);
    for (int target = 0; target <= x.c->dim; target++)
      for (int how = 1; how < 8; how++) {
        dkho_config f = small_config(&x, target);
        f.exchange = (dkho_exchange)(how & 3);
        f.spectral = how >= 3 ? 4 : 0;
        f.relation = how % 2 ? DKHO_RELATION_NONE : DKHO_KURAMOTO;
        f.variant = how == 6 ? DKHO_NO_PHASE : DKHO_FULL;
        f.exchange_width = how % 3 ? 0 : 3, f.slots = how == 5 ? 6 : 0;
        f.branch = (dkho_branch)(how % 3);
        if (how > 3) f.h = 8, f.latent = 3;
        check_gradients(&x, f);
      }
    small_close(&x);
  }
}

/* 2 w h for every pair of neighbouring degrees and kind of exchange, both ways, and degrees · h w where w < h;
 * h² + 2 degrees · M · slots + degrees · h² a layer for the modes; 2 h² + h M + degrees · h² for M latent tokens; without the relation 3 (h c + c) + 2 c h + h and h² of the
 * update for every degree, 1 + degrees a layer, and 2 c h of the
 * decoder are gone. */
static void parameters(void **state) {
  (void)state;
  small x;
  small_open(&x, SMALL_ANNULUS, DEC_UNIT);
  for (int how = 0; how < 36; how++) {
    dkho_config plain = small_config(&x, 1), f = plain;
    f.exchange = (dkho_exchange)(how & 3), f.spectral = 3 * (how / 4 % 3);
    f.relation = how % 2 ? DKHO_RELATION_NONE : 0;
    f.exchange_width = how / 12, f.slots = how / 12 ? 4 : 0, f.latent = how / 24 * 5;
    plain.h = f.h = 8;
    params *a, *b;
    gc_ok(params_create(&a)), gc_ok(params_create(&b));
    gc_ok(dkho_declare(&plain, a)), gc_ok(dkho_declare(&f, b));
    gc_ok(params_layout(a)), gc_ok(params_layout(b));
    int64_t h = f.h, c = f.c, deg = f.degrees, kinds = (f.exchange & 1) + (f.exchange >> 1);
    int64_t w = f.exchange_width ? f.exchange_width : h, slots = f.slots ? f.slots : deg * f.spectral;
    int64_t more = f.layers * 2 * kinds * (deg - 1) * w * h + (kinds && w < h ? f.layers * deg * h * w : 0);
    if (f.spectral) more += f.layers * (h * h + 2 * deg * f.spectral * slots + deg * h * h);
    if (f.latent) more += f.layers * (2 * h * h + h * f.latent + deg * h * h);
    if (f.relation == DKHO_RELATION_NONE)
      more -= f.layers * (deg * (3 * (h * c + c) + 2 * c * h + h + h * h) + 1 + deg) + 2 * c * h;
    assert_int_equal(b->total - a->total, more);
    params_free(a), params_free(b);
  }
  small_close(&x);
}

/* What Muon takes for a matrix: of c = 8 the relation's maps, of 4 modes on three degrees those across modes, unless they are entrywise; the
 * content's maps always. */
static void entrywise(void **state) {
  (void)state;
  small x;
  small_open(&x, SMALL_ANNULUS, DEC_UNIT);
  optim_config muon = optim_defaults(OPTIM_MUON);
  for (int how = 0; how < 4; how++) {
    dkho_config f = small_config(&x, 1);
    params *p;
    f.h = 9, f.c = 8, f.spectral = 4, f.entrywise = (dkho_entrywise)how;
    gc_ok(params_create(&p)), gc_ok(dkho_declare(&f, p)), gc_ok(params_layout(p));
    for (int i = 0; i < p->count; i++) {
      const char *name = p->list[i].name;
      p->list[i].live = 1;
      int related = strstr(name, ".drive") || strstr(name, ".gate") || strstr(name, ".lag") || strstr(name, ".read");
      int across = strstr(name, ".mix1") || strstr(name, ".mix2");
      int wide = p->list[i].rank == 2 && p->list[i].rows >= 8 && p->list[i].cols >= 8;
      int expected = wide && !(related && how & DKHO_ENTRYWISE_RELATION) && !(across && how & DKHO_ENTRYWISE_MODES);
      if (optim_is_matrix(&muon, &p->list[i]) != expected) fail_msg("entrywise %d: %s", how, name);
    }
    params_free(p);
  }
  small_close(&x);
}

/* The tensors that both have get the same numbers; the others are as they start. */
static void start_like(const model *from, model *to) {
  params_init(to->c.p, 9, to->c.value);
  for (int i = 0; i < from->c.p->count; i++) {
    const param *q = &from->c.p->list[i];
    int j = params_find(to->c.p, q->name);
    assert_true(j >= 0);
    memcpy(to->c.value + to->c.p->list[j].offset, from->c.value + q->offset, (size_t)q->count * sizeof(real));
  }
}

static void untrained(void **state) {
  (void)state;
  small x;
  small_open(&x, SMALL_TORUS, DEC_UNIT);
  dkho_config plain = small_config(&x, 1), f = plain;
  plain.h = f.h = 8;
  f.exchange = DKHO_EXCHANGE_BOTH, f.exchange_width = 2, f.spectral = 5, f.slots = 7, f.latent = 6;
  model a, b;
  model_open(&a, &x, plain), model_open(&b, &x, f);
  start_like(&a, &b);
  model_predict(&a), model_predict(&b);
  const double *u = model_value(&a, a.net.predicted), *v = model_value(&b, b.net.predicted);
  for (int64_t i = 0; i < x.c->n[1]; i++) assert_true(fabs(u[i] - v[i]) < 1e-12);
  model_close(&b);
  model_open(&b, &x, f); /* and a map that is not zero does reach the output */
  start_like(&a, &b);
  b.c.value[b.c.p->list[params_find(b.c.p, "layer0.sup1.w")].offset] = 0.3;
  model_predict(&b);
  double gap = 0;
  v = model_value(&b, b.net.predicted);
  for (int64_t i = 0; i < x.c->n[1]; i++) gap = fmax(gap, fabs(u[i] - v[i]));
  assert_true(gap > 1e-6);
  model_close(&a), model_close(&b);
  small_close(&x);
}

/* Alone, the branch leaves nothing of what ũ has of the harmonic part; added, it leaves all of it: the outputs differ by H (M H)ᵀ ũ. */
static void branch(void **state) {
  (void)state;
  for (int metric = DEC_UNIT; metric <= DEC_HODGE; metric++) {
    small x;
    small_open(&x, SMALL_ANNULUS, (dec_metric)metric);
    dkho_config alone = small_config(&x, 1), added = alone;
    added.branch = DKHO_BRANCH_ADDED;
    check_gradients(&x, added);
    model a, b;
    model_open(&a, &x, alone), model_open(&b, &x, added);
    start_like(&a, &b);
    model_predict(&a), model_predict(&b);
    const double *u = model_value(&a, a.net.predicted), *v = model_value(&b, b.net.predicted);
    const double *own = model_value(&b, b.net.local);
    const geometry *g = b.g;
    double coefficient = 0, largest = 0;
    assert_int_equal(g->beta, 1);
    for (int64_t i = 0; i < x.c->n[1]; i++) coefficient += g->mh[i] * own[i];
    for (int64_t i = 0; i < x.c->n[1]; i++) {
      largest = fmax(largest, fabs(v[i] - u[i]));
      assert_true(fabs(v[i] - u[i] - g->h[i] * coefficient) < 1e-12);
    }
    assert_true(largest > 1e-3);
    model_close(&a), model_close(&b);
    small_close(&x);
  }
}

/* Weighed, it replaces as much as s says: with one it stands alone, with zero it is added. */
static void weighed_branch(void **state) {
  (void)state;
  small x;
  small_open(&x, SMALL_TORUS, DEC_HODGE);
  for (int kind = DKHO_BRANCH_ALONE; kind <= DKHO_BRANCH_ADDED; kind++) {
    dkho_config f = small_config(&x, 1), weighed = f;
    f.branch = (dkho_branch)kind, weighed.branch = DKHO_BRANCH_WEIGHED;
    model a, b;
    model_open(&a, &x, f), model_open(&b, &x, weighed);
    start_like(&a, &b);
    const param *s = &b.c.p->list[params_find(b.c.p, "harm.s")];
    assert_int_equal(s->count, f.harmonic * f.channels);
    for (int64_t i = 0; i < s->count; i++) {
      assert_true(b.c.value[s->offset + i] == 0.5);
      b.c.value[s->offset + i] = kind == DKHO_BRANCH_ALONE;
    }
    model_predict(&a), model_predict(&b);
    const double *u = model_value(&a, a.net.predicted), *v = model_value(&b, b.net.predicted);
    for (int64_t i = 0; i < x.c->n[1]; i++) assert_true(fabs(u[i] - v[i]) < 1e-12);
    model_close(&a), model_close(&b);
  }
  small_close(&x);
}

static void refusals(void **state) {
  (void)state;
  small x;
  small_open(&x, SMALL_ANNULUS, DEC_UNIT);
  dkho_config f = small_config(&x, 1);
  f.relation = DKHO_RELATION_NONE, f.variant = DKHO_NO_PHASE;
  assert_int_equal(dkho_check(&f), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "no_phase"));
  f = small_config(&x, 1), f.exchange_width = f.h + 1;
  assert_int_equal(dkho_check(&f), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "exchange_width"));
  small_close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(parameters),
                                     cmocka_unit_test(entrywise), cmocka_unit_test(untrained),
                                     cmocka_unit_test(branch),    cmocka_unit_test(weighed_branch),
                                     cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
