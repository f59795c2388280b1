/* test_spectrum.c: spectra against dense LAPACK, the promises made about their vectors, and reproducibility. */
#include "dec/dec.h"
#include "mesh/generate.h"
#include "scratch.h"
#include "zoo.h"

/* All positive eigenvalues of Δ_k by LAPACK, ascending; returns how many. */
static int64_t dense_positive(const dec *d, int k, double **out) {
  csr a;
  assert_int_equal(dec_matrix(d, k, DEC_BOTH, &a), DKHO_OK);
  int64_t n = a.rows, zeros = 0;
  double *full = mem_alloc((size_t)(n * n), sizeof *full), *lambda = mem_alloc((size_t)n, sizeof *lambda);
  for (int64_t r = 0; r < n; r++)
    for (int64_t p = a.ptr[r]; p < a.ptr[r + 1]; p++) full[a.col[p] * n + r] = a.val[p];
  assert_int_equal(dense_eig(n, full, lambda), DKHO_OK);
  while (zeros < n && lambda[zeros] <= 1e-10 * lambda[n - 1]) zeros++;
  memmove(lambda, lambda + zeros, (size_t)(n - zeros) * sizeof *lambda);
  mem_free(full);
  csr_free(&a);
  *out = lambda;
  return n - zeros;
}

static double size_of(const dec *d, int k) { /* ‖Δ_k‖₁ in symmetrised coordinates */
  csr a;
  assert_int_equal(dec_matrix(d, k, DEC_BOTH, &a), DKHO_OK);
  double most = 0;
  for (int64_t r = 0; r < a.rows; r++) {
    double sum = 0;
    for (int64_t p = a.ptr[r]; p < a.ptr[r + 1]; p++) sum += fabs(a.val[p]);
    most = fmax(most, sum);
  }
  csr_free(&a);
  return most;
}

/* Ascending, M-orthonormal, signed, and eigenvectors. Canonical bases of near-degenerate clusters mix values that differ
 * by 1e-7 at most. */
static void check_vectors(const dec *d, int k, const dec_basis *b) {
  double *y = mem_alloc((size_t)b->n, sizeof *y), scale = size_of(d, k);
  for (int64_t j = 0; j < b->count; j++) {
    const double *v = b->vec + j * b->n;
    if (j) assert_true(b->lambda[j] >= b->lambda[j - 1]);
    for (int64_t i = 0; i <= j; i++) assert_true(fabs(dec_dot(d, k, 1, v, b->vec + i * b->n) - (i == j)) < 1e-11);
    assert_int_equal(dec_laplacian(d, k, 1, v, y), DKHO_OK);
    for (int64_t i = 0; i < b->n; i++) y[i] -= b->lambda[j] * v[i];
    assert_true(sqrt(dec_dot(d, k, 1, y, y)) < 1e-12 * scale / fmin(1, b->lambda[0]) + 1e-7 * b->lambda[j]);
    double most = 0, lead = 0;
    for (int64_t i = 0; i < b->n; i++) most = fmax(most, fabs(v[i]));
    for (int64_t i = 0; i < b->n && lead == 0; i++)
      if (fabs(v[i]) >= most * (1 - 1e-9)) lead = v[i];
    assert_true(lead > 0);
  }
  mem_free(y);
}

static void check_against_dense(cx *c, int count, const char *name) {
  for (dec_metric m = DEC_UNIT; m <= DEC_HODGE; m++) {
    dec *d;
    assert_int_equal(dec_create(&d, c, m), DKHO_OK);
    dec_basis b[CX_DEGREES];
    if (dec_spectrum(d, c->dim, count, b) != DKHO_OK) fail_msg("%s: %s", name, fail_text());
    for (int k = 0; k <= c->dim; k++) {
      double *want, scale = size_of(d, k);
      int64_t all = dense_positive(d, k, &want);
      assert_int_equal(b[k].n, c->n[k]);
      assert_int_equal(b[k].count, all < count ? all : count);
      for (int64_t j = 0; j < b[k].count; j++)
        if (!(fabs(b[k].lambda[j] - want[j]) < 1e-12 * scale))
          fail_msg("%s, degree %d, pair %lld: found %.15g, expected %.15g", name, k, (long long)j, b[k].lambda[j],
                   want[j]);
      check_vectors(d, k, &b[k]);
      mem_free(want);
      dec_basis_free(&b[k]);
    }
    dec_free(d);
  }
  cx_free(c);
}

static void small_spectra_agree_with_lapack(void **state) {
  (void)state;
  for (int i = 0; i < ZOO_COUNT; i++) check_against_dense(ZOO[i].make(), 10, ZOO[i].name);
  check_against_dense(zoo_wedge(), 100, "wedge, all pairs");
}

/* Large enough for the Lanczos branch on every side, the middle family of solids included. */
static void lanczos_spectra_agree_with_lapack(void **state) {
  (void)state;
  check_against_dense(shape_torus(22, 14), 12, "torus");
  check_against_dense(shape_planar(18, 17, 2, (const int[][2]){{3, 3}, {12, 9}}, 0.2), 12, "two holes");
  check_against_dense(shape_sphere(6), 9, "sphere"); /* full of multiple values; 9 cuts a cluster */
  check_against_dense(shape_cubes(4, 4, 3, zoo_not_middle, 0.15), 10, "shell");
  check_against_dense(shape_cubes(3, 3, 4, zoo_ring, 0.15), 10, "solid torus");
}

static void same_bits_every_time(void **state) {
  (void)state;
  cx *c = shape_cubes(4, 4, 3, zoo_not_middle, 0.15), *other = shape_sphere(5);
  dec *d, *e;
  assert_int_equal(dec_create(&d, c, DEC_HODGE), DKHO_OK);
  assert_int_equal(dec_create(&e, other, DEC_UNIT), DKHO_OK);
  dec_basis a[4], b[4], between[3];
  assert_int_equal(dec_spectrum(d, 3, 12, a), DKHO_OK);
  assert_int_equal(dec_spectrum(e, 2, 9, between), DKHO_OK); /* leaves its traces in the solver */
  assert_int_equal(dec_spectrum(d, 3, 12, b), DKHO_OK);
  for (int k = 0; k <= 3; k++) {
    assert_memory_equal(a[k].lambda, b[k].lambda, (size_t)a[k].count * sizeof(double));
    assert_memory_equal(a[k].vec, b[k].vec, (size_t)(a[k].count * a[k].n) * sizeof(double));
    dec_basis_free(&a[k]);
    dec_basis_free(&b[k]);
  }
  for (int k = 0; k <= 2; k++) dec_basis_free(&between[k]);
  dec_free(d);
  dec_free(e);
  cx_free(c);
  cx_free(other);
}

/* The first vectors do not depend on how many are asked for, even where the count cuts a multiple value. */
static void count_does_not_matter(void **state) {
  (void)state;
  cx *c = shape_sphere(6); /* degree 0: multiplicities 3, 5, 3 + 4, … */
  dec *d;
  assert_int_equal(dec_create(&d, c, DEC_HODGE), DKHO_OK);
  dec_basis few[3], many[3];
  assert_int_equal(dec_spectrum(d, 2, 2, few), DKHO_OK);
  assert_int_equal(dec_spectrum(d, 2, 11, many), DKHO_OK);
  for (int k = 0; k <= 2; k++) {
    assert_true(fabs(many[k].lambda[0] / many[k].lambda[1] - 1) < 1e-7);
    for (int64_t i = 0; i < 2 * few[k].n; i++) assert_true(fabs(few[k].vec[i] - many[k].vec[i]) < 1e-8);
    dec_basis_free(&few[k]);
    dec_basis_free(&many[k]);
  }
  dec_free(d);
  cx_free(c);
}

/* The cavity mesh in its small size: the middle family by Lanczos, shared between degrees 1 and 2. */
static void cavity_degrees_share_modes(void **state) {
  (void)state;
  cx *c;
  assert_int_equal(cx_cavity(&c, "smoke"), DKHO_OK);
  dec *d;
  assert_int_equal(dec_create(&d, c, DEC_UNIT), DKHO_OK);
  dec_basis b[3];
  assert_int_equal(dec_spectrum(d, 2, 16, b), DKHO_OK);
  int shared = 0;
  for (int k = 0; k <= 2; k++) {
    assert_int_equal(b[k].count, 16);
    check_vectors(d, k, &b[k]);
  }
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) shared += fabs(b[1].lambda[i] - b[2].lambda[j]) < 1e-12;
  assert_true(shared > 0);
  for (int k = 0; k <= 2; k++) dec_basis_free(&b[k]);
  dec_free(d);
  cx_free(c);
}

static dkho_status solve_once(const dec *d) {
  dec_basis b[CX_DEGREES];
  TRY(dec_spectrum(d, d->c->dim, 3, b));
  for (int k = 0; k <= d->c->dim; k++) dec_basis_free(&b[k]);
  return DKHO_OK;
}

/* The Lanczos branch of every family under failing allocations. */
static void failing_allocations_leave_nothing(void **state) {
  (void)state;
  cx *c = shape_cubes(6, 5, 1, zoo_all, 0.1);
  dec *d;
  assert_int_equal(dec_create(&d, c, DEC_UNIT), DKHO_OK);
  size_t live = mem_live_blocks();
  dkho_status s;
  int n = 0;
  do {
    mem_fail_at(++n);
    s = solve_once(d);
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
  } while (s != DKHO_OK);
  assert_true(n > 100);
  dec_free(d);
  cx_free(c);
}

static dkho_status save_bases(const cx *c, const dec_bases *b, const char *path) {
  st_writer *w = NULL;
  TRY(st_create(&w, path, 1));
  dkho_status s = cx_declare(c, w, "");
  if (s == DKHO_OK) s = dec_bases_declare(b, w);
  if (s == DKHO_OK) s = cx_write(c, w);
  if (s == DKHO_OK) s = dec_bases_write(b, w);
  if (s == DKHO_OK) return st_commit(w);
  st_abort(w);
  return s;
}

static dkho_status load_bases(const cx *c, dec_bases *b, const char *path) {
  st_file *f = NULL;
  TRY(st_open(&f, path));
  assert_true(dec_bases_stored(f));
  dkho_status s = dec_bases_get(b, c, f);
  st_close(f);
  return s;
}

static void assert_refused(const cx *c, const dec_bases *b, const char *path, const char *text) {
  dec_bases back;
  assert_int_equal(save_bases(c, b, path), DKHO_OK);
  assert_int_equal(load_bases(c, &back, path), DKHO_E_FORMAT);
  assert_non_null(strstr(fail_text(), text));
}

/* Bases come back from a file to the bit; another complex's, damaged ones, and too few are refused; memory may fail. */
static void stored_bases_are_proved(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "b.st");
  cx *c, *other;
  dec_bases b, back;
  assert_int_equal(cx_torus_grid(&c, 1, 0.4, 8, 5, 0), DKHO_OK);
  assert_int_equal(cx_torus_grid(&other, 1, 0.4, 5, 8, 0), DKHO_OK);
  for (dec_metric m = DEC_UNIT; m <= DEC_HODGE; m++) {
    assert_int_equal(dec_bases_find(&b, c, m, 2, 7), DKHO_OK);
    assert_int_equal(save_bases(c, &b, path), DKHO_OK);
    size_t live = mem_live_blocks();
    dkho_status s;
    int n = 0;
    do {
      mem_fail_at(++n);
      s = load_bases(c, &back, path);
      mem_fail_at(0);
      if (s != DKHO_OK) assert_int_equal(mem_live_blocks(), live);
    } while (s == DKHO_E_MEMORY);
    assert_int_equal(s, DKHO_OK);
    assert_true(back.metric == m && back.modes == 7 && back.top == 2);
    for (int k = 0; k <= 2; k++) {
      const dec_basis *x = &b.spectral[k], *y = &back.spectral[k];
      assert_int_equal(x->count, 7);
      assert_int_equal(y->count, 7);
      assert_memory_equal(x->lambda, y->lambda, 7 * sizeof(double));
      assert_memory_equal(x->vec, y->vec, (size_t)(x->n * 7) * sizeof(double));
      assert_int_equal(b.harmonic[k].count, back.harmonic[k].count);
    }
    dec_bases_free(&back);
    if (m == DEC_UNIT) dec_bases_free(&b);
  }
  assert_int_equal(load_bases(other, &back, path), DKHO_E_FORMAT);
  b.spectral[1].vec[5] += 1e-3;
  assert_refused(c, &b, path, "spectral1: column 0");
  b.spectral[1].vec[5] -= 1e-3;
  b.modes = 8;
  assert_refused(c, &b, path, "spectral0: 7 columns, expected 8");
  b.modes = 7;
  b.harmonic[0].count = 0;
  assert_refused(c, &b, path, "Euler");
  b.harmonic[0].count = 1;
  b.harmonic[0].vec[0] = NAN;
  assert_refused(c, &b, path, "harmonic0");
  dec_bases_free(&b);
  cx_free(c);
  cx_free(other);
  scratch_remove(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_spectra_agree_with_lapack),
      cmocka_unit_test(lanczos_spectra_agree_with_lapack),
      cmocka_unit_test(same_bits_every_time),
      cmocka_unit_test(count_does_not_matter),
      cmocka_unit_test(cavity_degrees_share_modes),
      cmocka_unit_test(failing_allocations_leave_nothing),
      cmocka_unit_test(stored_bases_are_proved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
