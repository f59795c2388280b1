/* test_dec.c: the identities of discrete exterior calculus on every shape of the zoo, in both metrics. */
#include "dec/dec.h"
#include "mesh/generate.h"
#include "zoo.h"

#include <stdio.h>

enum { CH = 2 };

/* The worst figures of the whole run, shown at the end. */
static double worst_adjoint, worst_dirac, worst_sum, worst_orthogonal, worst_gram, worst_closed, worst_coclosed;

static double *noise(int64_t count, uint64_t index) {
  double *u = mem_alloc((size_t)count, sizeof *u);
  assert_non_null(u);
  rng r = rng_open(2, RNG_TEST, index);
  for (int64_t i = 0; i < count; i++) u[i] = rng_normal(&r);
  return u;
}

static double norm(const dec *d, int k, int ch, const double *u) {
  return sqrt(dec_dot(d, k, ch, u, u));
}

static void limit(double value, double bound, double *worst, const char *name, const char *what) {
  *worst = fmax(*worst, value);
  if (!(value <= bound)) fail_msg("%s: %s is %g, more than %g", name, what, value, bound);
}

static void check_adjoint(const dec *d, const char *name) {
  for (int k = 0; k < d->c->dim; k++) {
    double *u = noise(d->c->n[k] * CH, 1), *w = noise(d->c->n[k + 1] * CH, 2);
    double *du = noise(d->c->n[k + 1] * CH, 3), *dw = noise(d->c->n[k] * CH, 4);
    dec_d(d, k, CH, u, du);
    dec_delta(d, k + 1, CH, w, dw);
    double a = dec_dot(d, k + 1, CH, du, w), b = dec_dot(d, k, CH, u, dw);
    double scale = norm(d, k + 1, CH, du) * norm(d, k + 1, CH, w) + norm(d, k, CH, u) * norm(d, k, CH, dw);
    limit(fabs(a - b) / scale, 1e-13, &worst_adjoint, name, "<du,w> - <u,δw>");
    mem_free(u);
    mem_free(w);
    mem_free(du);
    mem_free(dw);
  }
}

static void check_dirac(const dec *d, const char *name) {
  double *u[CX_DEGREES] = {0}, *v[CX_DEGREES] = {0}, *w[CX_DEGREES] = {0};
  for (int k = 0; k <= d->c->dim; k++) {
    u[k] = noise(d->c->n[k] * CH, (uint64_t)k);
    v[k] = noise(d->c->n[k] * CH, 10);
    w[k] = noise(d->c->n[k] * CH, 11);
  }
  assert_int_equal(dec_dirac(d, CH, (const double *const *)u, v), DKHO_OK);
  assert_int_equal(dec_dirac(d, CH, (const double *const *)v, w), DKHO_OK);
  for (int k = 0; k <= d->c->dim; k++) {
    assert_int_equal(dec_laplacian(d, k, CH, u[k], v[k]), DKHO_OK);
    double scale = 0;
    for (int j = 0; j <= d->c->dim; j++) scale = fmax(scale, norm(d, j, CH, w[j]));
    for (int64_t i = 0; i < d->c->n[k] * CH; i++) v[k][i] -= w[k][i];
    limit(norm(d, k, CH, v[k]) / fmax(scale, 1e-300), 1e-12, &worst_dirac, name, "𝒟² - Δ");
  }
  for (int k = 0; k <= d->c->dim; k++) {
    mem_free(u[k]);
    mem_free(v[k]);
    mem_free(w[k]);
  }
}

/* Largest relative size of d or δ on any field: what rounding in an image is measured against. */
static double operator_norm(const dec *d, int k) {
  csr a;
  assert_int_equal(dec_matrix(d, k, DEC_BOTH, &a), DKHO_OK);
  double most = 0;
  for (int64_t r = 0; r < a.rows; r++) {
    double sum = 0;
    for (int64_t p = a.ptr[r]; p < a.ptr[r + 1]; p++) sum += fabs(a.val[p]);
    most = fmax(most, sum);
  }
  csr_free(&a);
  return sqrt(most);
}

static void check_decompose(const dec *d, const char *name) {
  for (int k = 0; k <= d->c->dim; k++) {
    int64_t n = d->c->n[k] * CH;
    double *u = noise(n, 20), *e = noise(n, 21), *h = noise(n, 22), *c = noise(n, 23), *rest = noise(n, 24);
    assert_int_equal(dec_decompose(d, k, CH, u, e, h, c), DKHO_OK);
    double size = norm(d, k, CH, u), *parts[3] = {e, h, c}, bound = 1e-12 * size * (1 + operator_norm(d, k));
    for (int64_t i = 0; i < n; i++) rest[i] = u[i] - e[i] - h[i] - c[i];
    limit(norm(d, k, CH, rest) / size, 1e-12, &worst_sum, name, "u - (da + h + δb)");
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < i; j++)
        limit(fabs(dec_dot(d, k, CH, parts[i], parts[j])) / (size * size), 1e-12, &worst_orthogonal, name,
              "inner product of two parts");
    if (k < d->c->dim) {
      double *image = noise(d->c->n[k + 1] * CH, 25);
      dec_d(d, k, CH, e, image);
      assert_true(norm(d, k + 1, CH, image) <= bound);
      dec_d(d, k, CH, h, image);
      assert_true(norm(d, k + 1, CH, image) <= bound);
      mem_free(image);
    } else {
      assert_true(norm(d, k, CH, c) == 0);
    }
    if (k > 0) {
      double *image = noise(d->c->n[k - 1] * CH, 26);
      dec_delta(d, k, CH, c, image);
      assert_true(norm(d, k - 1, CH, image) <= bound);
      dec_delta(d, k, CH, h, image);
      assert_true(norm(d, k - 1, CH, image) <= bound);
      mem_free(image);
    } else {
      assert_true(norm(d, k, CH, e) == 0);
    }
    double *owned[] = {u, e, h, c, rest};
    for (int i = 0; i < 5; i++) mem_free(owned[i]);
  }
}

static void check_harmonic(const dec *d, const int64_t *betti, const char *name) {
  for (int k = 0; k <= d->c->dim; k++) {
    dec_basis b;
    if (dec_harmonic(d, k, &b) != DKHO_OK) fail_msg("%s: %s", name, fail_text());
    assert_int_equal(b.count, betti[k]);
    assert_int_equal(b.n, d->c->n[k]);
    for (int64_t i = 0; i < b.count; i++)
      for (int64_t j = 0; j <= i; j++)
        limit(fabs(dec_dot(d, k, 1, b.vec + i * b.n, b.vec + j * b.n) - (i == j)), 1e-12, &worst_gram, name,
              "HᵀMH - I");
    double *above = noise(k < d->c->dim ? d->c->n[k + 1] : 0, 30), *below = noise(k > 0 ? d->c->n[k - 1] : 0, 31);
    double closed = 0, coclosed = 0;
    for (int64_t j = 0; j < b.count; j++) {
      dec_d(d, k, 1, b.vec + j * b.n, above);
      dec_delta(d, k, 1, b.vec + j * b.n, below);
      if (k < d->c->dim) closed = fmax(closed, norm(d, k + 1, 1, above));
      if (k > 0) coclosed = fmax(coclosed, norm(d, k - 1, 1, below));
    }
    limit(closed, 1e-10, &worst_closed, name, "‖dH‖");
    limit(coclosed, 1e-10, &worst_coclosed, name, "‖δH‖");
    limit(b.closed, 1e-10, &worst_closed, name, "the certificate of ‖dH‖");
    limit(b.coclosed, 1e-10, &worst_coclosed, name, "the certificate of ‖δH‖");
    mem_free(above);
    mem_free(below);
    dec_basis_free(&b);
  }
}

static void check_everything(const cx *c, const int64_t *betti, const char *name) {
  for (dec_metric m = DEC_UNIT; m <= DEC_HODGE; m++) {
    dec *d;
    if (dec_create(&d, c, m) != DKHO_OK) fail_msg("%s: %s", name, fail_text());
    for (int k = 0; k <= c->dim; k++)
      for (int64_t i = 0; i < c->n[k]; i++) assert_true(d->star[k][i] > 0 && isfinite(d->star[k][i]));
    check_adjoint(d, name);
    check_dirac(d, name);
    check_harmonic(d, betti, name);
    check_decompose(d, name);
    dec_free(d);
  }
}

static void betti_numbers_are_right(void **state) {
  (void)state;
  for (int i = 0; i < ZOO_COUNT; i++) {
    cx *c = ZOO[i].make();
    int64_t betti[CX_DEGREES], relative[CX_DEGREES];
    assert_int_equal(dec_betti(c, betti), DKHO_OK);
    assert_int_equal(dec_betti_relative(c, relative), DKHO_OK);
    for (int r = 0; r < 2; r++) { /* by counting, where that is possible, and by elimination */
      int64_t again[CX_DEGREES];
      assert_int_equal(dec_betti_eliminated(c, r, again), DKHO_OK);
      assert_memory_equal(again, r ? relative : betti, sizeof again);
    }
    for (int k = 0; k < CX_DEGREES; k++)
      if (betti[k] != ZOO[i].betti[k] || relative[k] != ZOO[i].relative[k])
        fail_msg("%s, degree %d: found %lld and %lld relative, expected %lld and %lld", ZOO[i].name, k,
                 (long long)betti[k], (long long)relative[k], (long long)ZOO[i].betti[k],
                 (long long)ZOO[i].relative[k]);
    cx_free(c);
  }
}

static void identities_hold_on_the_zoo(void **state) {
  (void)state;
  for (int i = 0; i < ZOO_COUNT; i++) {
    cx *c = ZOO[i].make();
    check_everything(c, ZOO[i].betti, ZOO[i].name);
    cx_free(c);
  }
}

static void identities_hold_on_benchmark_meshes(void **state) {
  (void)state;
  cx *c;
  assert_int_equal(cx_darcy(&c, "smoke"), DKHO_OK);
  check_everything(c, (int64_t[]){1, 2, 0, 0}, "darcy");
  cx_free(c);
  assert_int_equal(cx_torus(&c, "smoke"), DKHO_OK);
  check_everything(c, (int64_t[]){1, 2, 1, 0}, "torus");
  cx_free(c);
  assert_int_equal(cx_cavity(&c, "smoke"), DKHO_OK);
  check_everything(c, (int64_t[]){1, 0, 1, 0}, "cavity");
  cx_free(c);
}

/* On exact fields the decomposition returns them whole; the same for coexact and harmonic ones. */
static void parts_are_recognised(void **state) {
  (void)state;
  cx *c = shape_cubes(3, 3, 3, zoo_not_middle, 0.15);
  for (dec_metric m = DEC_UNIT; m <= DEC_HODGE; m++) {
    dec *d;
    assert_int_equal(dec_create(&d, c, m), DKHO_OK);
    for (int k = 1; k <= 2; k++) {
      int64_t n = c->n[k];
      double *a = noise(c->n[k - 1], 40), *b = noise(c->n[k + 1], 41), *u = noise(n, 42), *part[3];
      for (int i = 0; i < 3; i++) part[i] = noise(n, 43);
      for (int kind = 0; kind < 2; kind++) {
        if (kind == 0)
          dec_d(d, k - 1, 1, a, u);
        else
          dec_delta(d, k + 1, 1, b, u);
        assert_int_equal(dec_decompose(d, k, 1, u, part[0], part[1], part[2]), DKHO_OK);
        double size = norm(d, k, 1, u), *same = part[kind ? 2 : 0];
        for (int64_t i = 0; i < n; i++) same[i] -= u[i];
        for (int i = 0; i < 3; i++) assert_true(norm(d, k, 1, part[i]) < 1e-12 * size);
      }
      mem_free(a);
      mem_free(b);
      mem_free(u);
      for (int i = 0; i < 3; i++) mem_free(part[i]);
    }
    dec_free(d);
  }
  cx_free(c);
}

static void matrices_act_like_operators(void **state) {
  (void)state;
  cx *shapes[] = {zoo_annulus(), zoo_shell()};
  for (int t = 0; t < 2; t++) {
    dec *d;
    assert_int_equal(dec_create(&d, shapes[t], DEC_HODGE), DKHO_OK);
    for (int k = 0; k <= shapes[t]->dim; k++) {
      int64_t n = shapes[t]->n[k];
      double *u = noise(n, 50), *x = noise(n, 51), *y = noise(n, 52), *lap = noise(n, 53);
      csr both, down, up, sum, flipped;
      assert_int_equal(dec_matrix(d, k, DEC_BOTH, &both), DKHO_OK);
      assert_int_equal(dec_matrix(d, k, DEC_DOWN, &down), DKHO_OK);
      assert_int_equal(dec_matrix(d, k, DEC_UP, &up), DKHO_OK);
      assert_int_equal(csr_add(&sum, 1, &down, 1, &up), DKHO_OK);
      assert_int_equal(csr_transpose(&flipped, &both), DKHO_OK);
      assert_int_equal(both.nnz, sum.nnz);
      for (int64_t p = 0; p < both.nnz; p++) {
        assert_true(both.val[p] == sum.val[p]);
        assert_true(both.col[p] == flipped.col[p] && fabs(both.val[p] - flipped.val[p]) <= 1e-14 * fabs(both.val[p]));
      }
      for (int64_t i = 0; i < n; i++) x[i] = u[i] * sqrt(d->star[k][i]);
      csr_apply(&both, 1, x, y);
      assert_int_equal(dec_laplacian(d, k, 1, u, lap), DKHO_OK);
      for (int64_t i = 0; i < n; i++) y[i] = y[i] / sqrt(d->star[k][i]) - lap[i];
      assert_true(norm(d, k, 1, y) < 1e-12 * norm(d, k, 1, lap));
      csr *m[] = {&both, &down, &up, &sum, &flipped};
      for (int i = 0; i < 5; i++) csr_free(m[i]);
      mem_free(u);
      mem_free(x);
      mem_free(y);
      mem_free(lap);
    }
    dec_free(d);
    cx_free(shapes[t]);
  }
}

static void names_of_metrics(void **state) {
  (void)state;
  dec_metric m;
  assert_int_equal(dec_metric_parse("unit", &m), DKHO_OK);
  assert_int_equal(m, DEC_UNIT);
  assert_int_equal(dec_metric_parse(dec_metric_name(DEC_HODGE), &m), DKHO_OK);
  assert_int_equal(m, DEC_HODGE);
  assert_int_equal(dec_metric_parse("flat", &m), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "flat"));
}

static dkho_status all_calls(const cx *c) {
  int64_t betti[CX_DEGREES];
  TRY(dec_betti(c, betti));
  TRY(dec_betti_relative(c, betti));
  dec *d;
  TRY(dec_create(&d, c, DEC_HODGE));
  enum { ROOM = 400 };
  static double u[ROOM], parts[3][ROOM];
  assert_true(c->n[1] <= ROOM && c->n[2] <= ROOM);
  csr a = {0};
  dec_basis h = {0}, b[CX_DEGREES] = {{0}};
  dkho_status s;
  for (int k = 0; k <= c->dim; k++) {
    TRY_GOTO(dec_laplacian(d, k, 1, u, parts[0]));
    TRY_GOTO(dec_matrix(d, k, DEC_BOTH, &a));
    csr_free(&a);
    TRY_GOTO(dec_harmonic(d, k, &h));
    dec_basis_free(&h);
    TRY_GOTO(dec_decompose(d, k, 1, u, parts[0], parts[1], parts[2]));
  }
  TRY_GOTO(dec_spectrum(d, c->dim, 3, b));
done:
  for (int k = 0; k < CX_DEGREES; k++) dec_basis_free(&b[k]);
  dec_free(d);
  return s;
}

static void failing_allocations_leave_nothing(void **state) {
  (void)state;
  cx *shapes[] = {zoo_annulus(), shape_cubes(1, 1, 2, zoo_all, 0.1), zoo_theta()};
  for (int t = 0; t < 3; t++) {
    size_t live = mem_live_blocks();
    dkho_status s;
    int n = 0;
    do {
      mem_fail_at(++n);
      s = all_calls(shapes[t]);
      mem_fail_at(0);
      assert_int_equal(mem_live_blocks(), live);
      assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    } while (s != DKHO_OK);
    assert_true(n > 100);
    cx_free(shapes[t]);
  }
}

static int report_worst(void **state) {
  (void)state;
  printf("worst: adjointness %.1e, Dirac² %.1e, sum %.1e, orthogonality %.1e, HᵀMH %.1e, ‖dH‖ %.1e, ‖δH‖ %.1e\n",
         worst_adjoint, worst_dirac, worst_sum, worst_orthogonal, worst_gram, worst_closed, worst_coclosed);
  return 0;
}

/* Triangles that share no point: so many constants that a basis of them is refused rather than begun. */
static void test_pieces(void **state) {
  (void)state;
  enum { PIECES = 1200 };
  double x[6 * PIECES];
  int32_t top[3 * PIECES];
  for (int i = 0; i < PIECES; i++) {
    const double corner[6] = {3.0 * i, 0, 3.0 * i + 1, 0, 3.0 * i, 1};
    memcpy(x + 6 * i, corner, sizeof corner);
    for (int j = 0; j < 3; j++) top[3 * i + j] = 3 * i + j;
  }
  cx *c;
  dec *d;
  dec_basis b;
  assert_int_equal(cx_build(&c, 2, 3 * PIECES, x, 2, PIECES, top, CX_LEX), DKHO_OK);
  assert_int_equal(dec_create(&d, c, DEC_UNIT), DKHO_OK);
  assert_int_equal(dec_harmonic(d, 0, &b), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "1200 independent harmonic fields of degree 0"));
  assert_int_equal(dec_spectrum(d, 0, 4, &b), DKHO_E_INPUT);
  dec_free(d);
  cx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pieces),

      cmocka_unit_test(betti_numbers_are_right),
      cmocka_unit_test(identities_hold_on_the_zoo),
      cmocka_unit_test(identities_hold_on_benchmark_meshes),
      cmocka_unit_test(parts_are_recognised),
      cmocka_unit_test(matrices_act_like_operators),
      cmocka_unit_test(names_of_metrics),
      cmocka_unit_test(failing_allocations_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, report_worst);
}
