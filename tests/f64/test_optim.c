/* The optimisers in double: a few steps against NumPy, and what each one promises: an orthogonal update for Muon, Adam in
 * turned coordinates for SOAP, steps that do not know the scale of the loss, the same bits after a restart and for any number of
 * threads. */
#include "base/rng.h"
#include "base/st.h"
#include "la/la.h"
#include "nn/optim.h"
#include "nn/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

typedef struct {
  params *p;
  optim *o;
  real *value, *g;
} bench;

static pool *shared; /* by whom steps are taken; NULL: this thread */
static const char *const names[] = {"wide", "tall", "thin", "vector"};

static dkho_status open_bench(bench *b, const optim_config *cfg) {
  static const int64_t shape[3][2] = {{9, 14}, {16, 8}, {9, 3}};
  *b = (bench){0};
  TRY(params_create(&b->p));
  for (int i = 0; i < 3; i++) params_add(b->p, names[i], 2, shape[i], INIT_NORMAL, 1);
  params_add_vector(b->p, names[3], 7, INIT_NORMAL, 1);
  TRY(params_layout(b->p));
  TRY(params_slab(b->p, &b->value));
  TRY(params_slab(b->p, &b->g));
  params_init(b->p, 3, b->value);
  return optim_create(&b->o, b->p, cfg, b->value, shared);
}

static void close_bench(bench *b) {
  optim_free(b->o);
  mem_free(b->value);
  mem_free(b->g);
  params_free(b->p);
}

static void draw(const bench *b, uint64_t step, double scale) {
  rng r = rng_open(4, RNG_TEST, step);
  for (int64_t i = 0; i < b->p->size; i++) b->g[i] = (real)(scale * rng_normal(&r));
}

static const double *tensor(const st_file *f, const char *prefix, const char *name) {
  char full[128];
  snprintf(full, sizeof full, "%s.%s", prefix, name);
  const st_tensor *t = st_find(f, full);
  assert_non_null(t);
  return t->data;
}

static void replay(optim_kind kind) {
  st_file *f;
  bench b;
  optim_config c = optim_defaults(kind);
  c.decay = 0.1, c.refresh = 3;
  ok(open_bench(&b, &c));
  ok(st_open(&f, TEST_DATA "/optim/steps.st"));
  for (int step = -1; step < 11; step++) {
    for (int i = 0; i < b.p->count; i++) {
      const param *q = &b.p->list[i];
      const double *from = step < 0 ? tensor(f, "start", q->name) : tensor(f, "slope", q->name) + step * q->count;
      memcpy((step < 0 ? b.value : b.g) + q->offset, from, (size_t)q->count * sizeof *from);
    }
    if (step >= 0) ok(optim_step(b.o, 0.02, b.value, b.g, NULL));
  }
  double worst = 0;
  for (int i = 0; i < b.p->count; i++) {
    const param *q = &b.p->list[i];
    const double *want = tensor(f, optim_name(kind), q->name);
    for (int64_t k = 0; k < q->count; k++) worst = fmax(worst, fabs(want[k] - b.value[q->offset + k]));
  }
  if (!(worst < 1e-10)) fail_msg("%s: off by %g", optim_name(kind), worst);
  st_close(f);
  close_bench(&b);
}

static void against_numpy(void **state) {
  (void)state;
  replay(OPTIM_MUON);
  replay(OPTIM_SOAP);
}

/* Singular values of the iteration's result lie near 1, whatever the shape and the scale. */
static void update_is_orthogonal(void **state) {
  (void)state;
  static const int64_t shape[4][2] = {{32, 32}, {64, 32}, {8, 27}, {1, 5}};
  for (int t = 0; t < 4; t++) {
    int64_t m = shape[t][0], n = shape[t][1], k = m < n ? m : n;
    double x[64 * 32], gram[32 * 32], lambda[32], room[64 * 32 + 2 * 32 * 32];
    assert_true(optim_orthogonal_room(m, n) <= (int64_t)(sizeof room / sizeof *room));
    rng r = rng_open(9, RNG_TEST, (uint64_t)t);
    for (int64_t i = 0; i < m * n; i++) x[i] = 1e3 * (rng_normal(&r) + 12 * (i % (m + 1) == 0));
    optim_orthogonalise(m, n, x, room);
    dense_gemm(m > n, m <= n, k, k, m > n ? m : n, 1, x, m, x, m, 0, gram, k);
    ok(dense_eig(k, gram, lambda));
    assert_true(sqrt(lambda[0]) > 0.6 && sqrt(lambda[k - 1]) < 1.25);
  }
}

/* As long as its bases are the axes SOAP is Adam with the same rates; afterwards it is not. */
static void soap_begins_as_adam(void **state) {
  (void)state;
  bench soap, adam;
  optim_config c = optim_defaults(OPTIM_SOAP);
  c.refresh = 6, c.decay = 0.1;
  ok(open_bench(&soap, &c));
  c.kind = OPTIM_ADAMW;
  ok(open_bench(&adam, &c));
  for (uint64_t step = 0; step < 7; step++) {
    draw(&soap, step, 1);
    draw(&adam, step, 1);
    ok(optim_step(soap.o, 0.1, soap.value, soap.g, NULL));
    ok(optim_step(adam.o, 0.1, adam.value, adam.g, NULL));
    double worst = 0;
    for (int64_t i = 0; i < adam.p->size; i++) worst = fmax(worst, fabs(soap.value[i] - adam.value[i]));
    assert_true(step < 6 ? worst < 1e-12 : worst > 1e-3);
  }
  for (int i = 0; i < 2; i++) /* what it turned into are rotations */
    for (int k = 0; k < 2; k++) {
      int64_t n = k ? soap.p->list[i].rows : soap.p->list[i].cols;
      double gram[16 * 16], *q = soap.o->sides[i].basis[k];
      dense_gemm(1, 0, n, n, n, 1, q, n, q, n, 0, gram, n);
      for (int64_t e = 0; e < n * n; e++) assert_true(fabs(gram[e] - (e % (n + 1) == 0)) < 1e-12);
    }
  close_bench(&soap);
  close_bench(&adam);
}

/* Gradients a thousand times larger move the weights just as far; no gradient means decay alone. */
static void scale_does_not_matter(void **state) {
  (void)state;
  for (int kind = 0; kind < OPTIM_KINDS; kind++) {
    bench a, b;
    optim_config c = optim_defaults((optim_kind)kind);
    c.clip = 0;
    ok(open_bench(&a, &c));
    ok(open_bench(&b, &c));
    for (uint64_t step = 0; step < 5; step++) {
      draw(&a, step, 1);
      draw(&b, step, 1e3);
      ok(optim_step(a.o, 1e-2, a.value, a.g, NULL));
      ok(optim_step(b.o, 1e-2, b.value, b.g, NULL));
    }
    for (int64_t i = 0; i < a.p->size; i++) assert_true(fabs(a.value[i] - b.value[i]) < 1e-6);
    close_bench(&a);
    c.decay = 0.5;
    close_bench(&b);
    ok(open_bench(&a, &c));
    real before = a.value[0];
    ok(optim_step(a.o, 0.1, a.value, a.g, NULL));
    assert_true(fabs(a.value[0] - 0.95 * before) < 1e-12);
    close_bench(&a);
  }
}

/* Threads share the tensors of a step, to the same bits. */
static void threads_share(void **state) {
  (void)state;
  for (int kind = 0; kind < OPTIM_KINDS; kind++) {
    bench one, all;
    optim_config c = optim_defaults((optim_kind)kind);
    c.refresh = 2, c.ema = 0.5;
    ok(open_bench(&one, &c));
    ok(pool_create(&shared, 3));
    ok(open_bench(&all, &c));
    for (uint64_t step = 0; step < 5; step++) {
      draw(&one, step, 1);
      draw(&all, step, 1);
      ok(optim_step(one.o, 1e-2, one.value, one.g, NULL));
      ok(optim_step(all.o, 1e-2, all.value, all.g, NULL));
    }
    assert_memory_equal(one.value, all.value, (size_t)one.p->size * sizeof *one.value);
    assert_memory_equal(one.o->average, all.o->average, (size_t)one.p->size * sizeof *one.value);
    close_bench(&one);
    close_bench(&all);
    pool_free(shared);
    shared = NULL;
  }
}

/* Every kind goes down a bowl whose axes are not the coordinates'. */
static void minimises(void **state) {
  (void)state;
  for (int kind = 0; kind < OPTIM_KINDS; kind++) {
    bench b;
    optim_config c = optim_defaults((optim_kind)kind);
    ok(open_bench(&b, &c));
    double first = 0, last = 0;
    for (int step = 0; step < 400; step++) {
      last = 0;
      for (int64_t i = 0; i < b.p->size; i++) {
        double next = i + 1 < b.p->size ? b.value[i + 1] : 0, prev = i ? b.value[i - 1] : 0;
        b.g[i] = b.value[i] + 0.4 * (next + prev);
        last += b.value[i] * b.value[i];
      }
      if (!step) first = last;
      ok(optim_step(b.o, lr_at(LR_COSINE_STEP, 3e-2, &(lr_clock){0, 1, step, 400}), b.value, b.g, NULL));
    }
    if (!(last < 0.2 * first)) fail_msg("%s: from %g to %g", optim_name((optim_kind)kind), first, last);
    close_bench(&b);
  }
}

static dkho_status save(const bench *b, const char *path) {
  st_writer *w;
  TRY(st_create(&w, path, 1));
  dkho_status r = state_declare_optim(w, b->o);
  if (r == DKHO_OK) r = state_write_optim(w, b->o);
  if (r == DKHO_OK) return st_commit(w);
  st_abort(w);
  return r;
}

static void restart(void **state) {
  (void)state;
  const char *path = "test_optim_state.st";
  for (int kind = 0; kind < OPTIM_KINDS; kind++) {
    bench a, b;
    st_file *f;
    optim_config c = optim_defaults((optim_kind)kind);
    c.refresh = 2, c.ema = 0.9;
    ok(open_bench(&a, &c));
    ok(open_bench(&b, &c));
    for (uint64_t step = 0; step < 8; step++) {
      if (step == 3) {
        ok(save(&a, path));
        ok(st_open(&f, path));
        ok(state_read_optim(f, b.o));
        st_close(f);
        memcpy(b.value, a.value, (size_t)a.p->size * sizeof *a.value);
      }
      draw(&a, step, 1);
      draw(&b, step, 1);
      ok(optim_step(a.o, 1e-2, a.value, a.g, NULL));
      if (step >= 3) ok(optim_step(b.o, 1e-2, b.value, b.g, NULL));
    }
    assert_memory_equal(a.value, b.value, (size_t)a.p->size * sizeof *a.value);
    assert_memory_equal(a.o->average, b.o->average, (size_t)a.p->size * sizeof *a.value);
    close_bench(&b);
    c.kind = OPTIM_SOAP;
    ok(open_bench(&b, &c)); /* a state without SOAP's averages is refused by name */
    ok(st_open(&f, path));
    dkho_status s = state_read_optim(f, b.o);
    assert_int_equal(s == DKHO_OK, kind == OPTIM_SOAP);
    if (s != DKHO_OK) assert_non_null(strstr(fail_text(), "soap.cover0.wide"));
    st_close(f);
    unlink(path);
    close_bench(&a);
    close_bench(&b);
  }
}

static void memory_runs_out(void **state) {
  (void)state;
  for (int kind = 0; kind < OPTIM_KINDS; kind++) {
    optim_config c = optim_defaults((optim_kind)kind);
    c.refresh = 2, c.ema = 0.5;
    size_t live = mem_live_blocks();
    dkho_status s;
    long n = 0;
    do {
      bench b;
      mem_fail_at(++n);
      s = open_bench(&b, &c);
      if (s == DKHO_OK) {
        draw(&b, 0, 1);
        for (int step = 0; s == DKHO_OK && step < 4; step++) s = optim_step(b.o, 1e-2, b.value, b.g, NULL);
      }
      mem_fail_at(0);
      close_bench(&b);
      assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
      assert_int_equal(mem_live_blocks(), live);
    } while (s != DKHO_OK);
    assert_true(n > (kind == OPTIM_SOAP ? 10 : 5));
  }
}

static void names_and_schedules(void **state) {
  (void)state;
  optim_kind kind;
  lr_schedule s;
  for (int i = 0; i < OPTIM_KINDS; i++) {
    ok(optim_parse(optim_name((optim_kind)i), &kind));
    assert_int_equal(kind, i);
  }
  for (int i = 0; i < LR_SCHEDULES; i++) {
    ok(lr_parse(lr_name((lr_schedule)i), &s));
    assert_int_equal(s, i);
    double last = 2;
    for (int64_t e = 0; e < 3; e++)
      for (int64_t t = 0; t < 4; t++) { /* starts at the peak, never rises, stays above 0 */
        double lr = lr_at(s, 1, &(lr_clock){e, 3, t, 4});
        assert_true(lr <= last && lr > 0 && (e || t || lr == 1));
        last = lr;
      }
    assert_true(s == LR_CONSTANT ? last == 1 : last < 0.5);
  }
  assert_true(lr_at(LR_COSINE, 1, &(lr_clock){1, 3, 3, 4}) == lr_cosine(1, 1, 3));
  assert_true(fabs(lr_at(LR_LINEAR, 1, &(lr_clock){1, 2, 0, 8}) - 0.5) < 1e-15);
  assert_int_equal(optim_parse("sgd", &kind), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "sgd"));
  assert_int_equal(lr_parse("step", &s), DKHO_E_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(against_numpy),
      cmocka_unit_test(update_is_orthogonal),
      cmocka_unit_test(soap_begins_as_adam),
      cmocka_unit_test(scale_does_not_matter),
      cmocka_unit_test(threads_share),
      cmocka_unit_test(minimises),
      cmocka_unit_test(restart),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(names_and_schedules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
