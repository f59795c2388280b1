/* test_la.c: sparse and dense algebra against direct sums, dense LAPACK and known spectra. */
#include "la/la.h"
#include "base/rng.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void random_csr(csr *a, int64_t rows, int64_t cols, int64_t count, uint64_t index) {
  rng r = rng_open(1, RNG_TEST, index);
  int32_t i[512], j[512];
  double v[512];
  assert_true(count <= 512);
  for (int64_t p = 0; p < count; p++) {
    i[p] = (int32_t)rng_below(&r, (uint64_t)rows);
    j[p] = (int32_t)rng_below(&r, (uint64_t)cols);
    v[p] = rng_normal(&r);
  }
  assert_int_equal(csr_from_triplets(a, rows, cols, count, i, j, v), DKHO_OK);
  double sum = 0, kept = 0; /* nothing lost */
  for (int64_t p = 0; p < count; p++) sum += v[p];
  for (int64_t p = 0; p < a->nnz; p++) kept += a->val[p];
  assert_true(fabs(sum - kept) < 1e-12);
}

static void assert_sorted(const csr *a) {
  assert_int_equal(a->ptr[0], 0);
  assert_int_equal(a->ptr[a->rows], a->nnz);
  for (int64_t r = 0; r < a->rows; r++)
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) {
      assert_in_range(a->col[p], 0, a->cols - 1);
      if (p > a->ptr[r]) assert_true(a->col[p - 1] < a->col[p]);
    }
}

static double *dense_of(const csr *a) { /* column-major */
  double *d = mem_alloc((size_t)(a->rows * a->cols), sizeof *d);
  assert_non_null(d);
  for (int64_t r = 0; r < a->rows; r++)
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) d[a->col[p] * a->rows + r] += a->val[p];
  return d;
}

static double worst_difference(int64_t n, const double *a, const double *b) {
  double worst = 0;
  for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(a[i] - b[i]));
  return worst;
}

static void csr_algebra_is_dense_algebra(void **state) {
  (void)state;
  csr a, b, c, ab, at, sum, part;
  random_csr(&a, 13, 17, 90, 1);
  random_csr(&b, 17, 11, 80, 2);
  random_csr(&c, 13, 17, 70, 3);
  assert_int_equal(csr_multiply(&ab, &a, &b), DKHO_OK);
  assert_int_equal(csr_transpose(&at, &a), DKHO_OK);
  assert_int_equal(csr_add(&sum, 2.0, &a, -0.5, &c), DKHO_OK);
  int32_t rows[] = {12, 0, 5}, cols[] = {16, 3, 4, 0};
  assert_int_equal(csr_select(&part, &a, 3, rows, 4, cols), DKHO_OK);
  const csr *all[] = {&a, &b, &c, &ab, &at, &sum, &part};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_sorted(all[i]);
  double *da = dense_of(&a), *db = dense_of(&b), *dc = dense_of(&c), *dab = dense_of(&ab), *dat = dense_of(&at),
         *dsum = dense_of(&sum), *dpart = dense_of(&part), product[13 * 11];
  dense_gemm(0, 0, 13, 11, 17, 1, da, 13, db, 17, 0, product, 13);
  assert_true(worst_difference(13 * 11, product, dab) < 1e-14);
  dense_gemm(1, 0, 13, 11, 17, 1, dat, 17, db, 17, 0, product, 13);
  assert_true(worst_difference(13 * 11, product, dab) < 1e-14);
  for (int i = 0; i < 13 * 17; i++) assert_true(fabs(dsum[i] - (2 * da[i] - 0.5 * dc[i])) < 1e-15);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++) assert_true(dpart[j * 3 + i] == da[cols[j] * 13 + rows[i]]);
  double x[17 * 3], y[13 * 3];
  rng r = rng_open(1, RNG_TEST, 4);
  for (int i = 0; i < 51; i++) x[i] = rng_normal(&r);
  csr_apply(&a, 3, x, y);
  for (int i = 0; i < 13; i++)
    for (int v = 0; v < 3; v++) {
      double want = 0;
      for (int j = 0; j < 17; j++) want += da[j * 13 + i] * x[j * 3 + v];
      assert_true(fabs(y[i * 3 + v] - want) < 1e-14);
    }
  double *dense[] = {da, db, dc, dab, dat, dsum, dpart};
  for (size_t i = 0; i < 7; i++) mem_free(dense[i]);
  csr *owned[] = {&a, &b, &c, &ab, &at, &sum, &part};
  for (size_t i = 0; i < 7; i++) csr_free(owned[i]);
}

static void duplicates_add_up(void **state) {
  (void)state;
  csr a;
  int32_t i[] = {1, 0, 1, 1}, j[] = {2, 1, 2, 0};
  double v[] = {1, 5, 3, 7};
  assert_int_equal(csr_from_triplets(&a, 2, 3, 4, i, j, v), DKHO_OK);
  assert_int_equal(a.nnz, 3);
  assert_true(a.col[0] == 1 && a.val[0] == 5 && a.col[1] == 0 && a.val[1] == 7 && a.col[2] == 2 && a.val[2] == 4);
  csr_free(&a);
}

/* The five-point Laplacian with Dirichlet walls on an m × m grid: λ = 4 - 2cos(πi/(m+1)) - 2cos(πj/(m+1)). */
static void grid_laplacian(csr *a, int m) {
  assert_int_equal(csr_alloc(a, m * m, m * m, 5 * m * m), DKHO_OK);
  int64_t put = 0;
  for (int y = 0; y < m; y++)
    for (int x = 0; x < m; x++) {
      int at = y * m + x, near[5] = {at - m, at - 1, at, at + 1, at + m};
      int inside[5] = {y > 0, x > 0, 1, x < m - 1, y < m - 1};
      for (int q = 0; q < 5; q++)
        if (inside[q]) {
          a->col[put] = near[q];
          a->val[put++] = q == 2 ? 4 : -1;
        }
      a->ptr[at + 1] = put;
    }
  a->nnz = put;
}

static void cholesky_solves(void **state) {
  (void)state;
  csr a;
  grid_laplacian(&a, 60);
  enum { N = 3600, NV = 5 };
  static double x[N * NV], b[N * NV], back[N];
  rng r = rng_open(1, RNG_TEST, 5);
  for (int i = 0; i < N * NV; i++) x[i] = rng_normal(&r);
  for (int v = 0; v < NV; v++) csr_apply(&a, 1, x + v * N, b + v * N);
  chol *f;
  chol_work *w;
  assert_int_equal(chol_factor(&f, &a), DKHO_OK);
  assert_true(chol_nnz(f) > a.nnz / 2);
  assert_int_equal(chol_work_new(&w, f, 2), DKHO_OK); /* blocks of 2, 2, 1 */
  static double y[N * NV];
  assert_int_equal(chol_solve(f, w, NV, b, y), DKHO_OK);
  assert_true(worst_difference(N * NV, x, y) < 1e-10);
  memcpy(back, b, sizeof back);
  assert_int_equal(chol_solve(f, w, 1, back, back), DKHO_OK); /* in place */
  assert_true(worst_difference(N, x, back) < 1e-10);
  chol_work_free(w);
  chol_free(f);
  csr_free(&a);
}

/* Eight right-hand sides side by side: the product is the plain one to the bit, the solve undoes it, and a matrix that is not positive
 * definite or memory that is not there is refused. */
static void wide_solves(void **state) {
  (void)state;
  enum { M = 40, N = M * M };
  csr a;
  grid_laplacian(&a, M);
  static double x[N * CHOL_WIDE], b[N * CHOL_WIDE], room[N * CHOL_WIDE], one[N], product[N];
  rng r = rng_open(1, RNG_TEST, 7);
  for (int i = 0; i < N * CHOL_WIDE; i++) x[i] = rng_normal(&r);
  csr_apply(&a, CHOL_WIDE, x, b);
  for (int v = 0; v < CHOL_WIDE; v++) {
    for (int i = 0; i < N; i++) one[i] = x[i * CHOL_WIDE + v];
    csr_apply(&a, 1, one, product);
    for (int i = 0; i < N; i++) assert_true(product[i] == b[i * CHOL_WIDE + v]);
  }
  chol_wide *f = NULL;
  size_t live = mem_live_blocks();
  for (int n = 1; !f; n++) {
    mem_fail_at(n);
    dkho_status s = chol_wide_factor(&f, &a);
    mem_fail_at(0);
    assert_true(s == (f ? DKHO_OK : DKHO_E_MEMORY));
    if (!f) assert_int_equal(mem_live_blocks(), live);
  }
  chol_wide_solve(f, b, room);
  assert_true(worst_difference(N * CHOL_WIDE, x, b) < 1e-11);
  chol_wide_free(f);
  for (int64_t p = a.ptr[7]; p < a.ptr[8]; p++)
    if (a.col[p] == 7) a.val[p] = -1;
  assert_int_equal(chol_wide_factor(&f, &a), DKHO_E_NOCONV);
  assert_null(f);
  csr_free(&a);
}

typedef struct {
  const chol *f;
  chol_work *work[4];
  const double *b;
  double *x;
  int n;
} solve_many;

static dkho_status solve_task(void *ctx, size_t task, int worker) {
  solve_many *m = ctx;
  size_t at = task * (size_t)m->n;
  return chol_solve(m->f, m->work[worker], 1, m->b + at, m->x + at);
}

static void threads_solve_alike(void **state) {
  (void)state;
  enum { N = 900, TASKS = 24 };
  csr a;
  grid_laplacian(&a, 30);
  static double b[N * TASKS], one[N * TASKS], four[N * TASKS];
  rng r = rng_open(1, RNG_TEST, 6);
  for (int i = 0; i < N * TASKS; i++) b[i] = rng_normal(&r);
  chol *f;
  assert_int_equal(chol_factor(&f, &a), DKHO_OK);
  solve_many m = {.f = f, .b = b, .x = one, .n = N};
  for (int i = 0; i < 4; i++) assert_int_equal(chol_work_new(&m.work[i], f, 1), DKHO_OK);
  assert_int_equal(pool_run(NULL, TASKS, solve_task, &m), DKHO_OK);
  pool *p;
  assert_int_equal(pool_create(&p, 4), DKHO_OK);
  m.x = four;
  assert_int_equal(pool_run(p, TASKS, solve_task, &m), DKHO_OK);
  assert_memory_equal(one, four, sizeof one);
  pool_free(p);
  for (int i = 0; i < 4; i++) chol_work_free(m.work[i]);
  chol_free(f);
  csr_free(&a);
}

static void indefinite_is_refused(void **state) {
  (void)state;
  csr a;
  grid_laplacian(&a, 5);
  for (int64_t p = a.ptr[7]; p < a.ptr[8]; p++)
    if (a.col[p] == 7) a.val[p] = -1;
  chol *f;
  assert_int_equal(chol_factor(&f, &a), DKHO_E_NOCONV);
  assert_null(f);
  assert_non_null(strstr(fail_text(), "not positive definite"));
  csr_free(&a);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The grid's spectrum is full of double values: none may be missed, in the dense branch or in the sparse one. */
static void grid_spectrum_is_known(void **state) {
  (void)state;
  int sizes[] = {8, 17, 18, 40, 64}, counts[] = {64, 20, 30, 40, 24};
  for (int t = 0; t < 5; t++) {
    int m = sizes[t], n = m * m, count = counts[t];
    csr a;
    grid_laplacian(&a, m);
    double *want = mem_alloc((size_t)n, sizeof *want), *lambda = mem_alloc((size_t)count, sizeof *lambda),
           *vec = mem_alloc((size_t)(n * count), sizeof *vec), *gram = mem_alloc((size_t)(count * count), sizeof *gram);
    const double pi = 3.14159265358979323846;
    for (int i = 0; i < n; i++) want[i] = 4 - 2 * cos(pi * (i / m + 1) / (m + 1)) - 2 * cos(pi * (i % m + 1) / (m + 1));
    qsort(want, (size_t)n, sizeof *want, ascending);
    eig_problem p = {.a = &a, .space = n, .shift = 1e-8};
    assert_int_equal(eig_smallest(&p, count, 1e-13, lambda, vec), DKHO_OK);
    assert_true(worst_difference(count, want, lambda) < 1e-13);
    dense_gemm(1, 0, count, count, n, 1, vec, n, vec, n, 0, gram, count);
    for (int i = 0; i < count * count; i++) assert_true(fabs(gram[i] - (i % (count + 1) == 0)) < 1e-13);
    mem_free(want);
    mem_free(lambda);
    mem_free(vec);
    mem_free(gram);
    csr_free(&a);
  }
}

/* Between two eigenvalues of the grid the count is that of the formula; no count is given that rounding could have spoiled. */
static void eigenvalues_are_counted(void **state) {
  (void)state;
  enum { M = 40, N = M * M };
  csr a;
  grid_laplacian(&a, M);
  static double lambda[N];
  const double pi = 3.14159265358979323846;
  for (int i = 0; i < N; i++) lambda[i] = 4 - 2 * cos(pi * (i / M + 1) / (M + 1)) - 2 * cos(pi * (i % M + 1) / (M + 1));
  qsort(lambda, N, sizeof *lambda, ascending);
  chol *f;
  assert_int_equal(chol_factor(&f, &a), DKHO_OK);
  int64_t below;
  int counted = 0;
  for (int i = 0; i < 200; i++) {
    double gap = lambda[i + 1] - lambda[i];
    if (gap < 1e-6) continue;
    assert_int_equal(chol_count_below(f, &a, lambda[i] + gap / 2, gap / 4, &below), DKHO_OK);
    assert_true(below == i + 1 || below == -1);
    counted += below == i + 1;
  }
  assert_true(counted > 50);
  assert_int_equal(chol_count_below(f, &a, lambda[0] / 2, lambda[0] / 4, &below), DKHO_OK);
  assert_int_equal(below, 0);
  assert_int_equal(chol_count_below(f, &a, lambda[0] / 2, 1e-14, &below), DKHO_OK);
  assert_int_equal(below, -1);
  chol_free(f);
  csr_free(&a);
}

/* Antisymmetric half of the grid: a projector that commutes with the Laplacian. */
static dkho_status antisymmetric(void *ctx, double *v) {
  int m = *(int *)ctx;
  for (int y = 0; y < m; y++)
    for (int x = 0; x <= y; x++) {
      double half = (v[y * m + x] - v[x * m + y]) / 2;
      v[y * m + x] = half;
      v[x * m + y] = -half;
    }
  return DKHO_OK;
}

static void subspace_spectrum_is_known(void **state) {
  (void)state;
  int sizes[] = {10, 30};
  for (int t = 0; t < 2; t++) {
    int m = sizes[t], n = m * m, found = 0;
    csr a;
    grid_laplacian(&a, m);
    double lambda[6], want[6400], *vec = mem_alloc((size_t)(6 * n), sizeof *vec);
    const double pi = 3.14159265358979323846;
    for (int i = 1; i <= m; i++)
      for (int j = 1; j < i; j++) want[found++] = 4 - 2 * cos(pi * i / (m + 1)) - 2 * cos(pi * j / (m + 1));
    qsort(want, (size_t)found, sizeof *want, ascending);
    eig_problem p = {.a = &a, .project = antisymmetric, .ctx = &m, .space = m * (m - 1) / 2, .shift = 1e-8};
    assert_int_equal(eig_smallest(&p, 6, 1e-13, lambda, vec), DKHO_OK);
    assert_true(worst_difference(6, want, lambda) < 1e-13);
    mem_free(vec);
    csr_free(&a);
  }
}

static void dense_factorisations_hold(void **state) {
  (void)state;
  enum { N = 12, K = 5 };
  double a[N * K], q[N * K], r[K * K], gram[K * K], back[N * K];
  rng g = rng_open(1, RNG_TEST, 7);
  for (int i = 0; i < N * K; i++) a[i] = rng_normal(&g);
  memcpy(q, a, sizeof q);
  assert_int_equal(dense_qr(N, K, q), DKHO_OK);
  dense_gemm(1, 0, K, K, N, 1, q, N, q, N, 0, gram, K);
  dense_gemm(1, 0, K, K, N, 1, q, N, a, N, 0, r, K);
  dense_gemm(0, 0, N, K, K, 1, q, N, r, K, 0, back, N);
  assert_true(worst_difference(N * K, a, back) < 1e-14);
  for (int i = 0; i < K; i++) {
    assert_true(r[i * K + i] > 0);
    for (int j = 0; j < K; j++) {
      assert_true(fabs(gram[i * K + j] - (i == j)) < 1e-14);
      if (j > i) assert_true(fabs(r[i * K + j]) < 1e-14); /* column i, row j: below the diagonal */
    }
  }
  double spd[K * K], x[K] = {1, 2, 3, 4, 5}, b[K];
  dense_gemm(1, 0, K, K, N, 1, a, N, a, N, 0, spd, K);
  dense_gemm(0, 0, K, 1, K, 1, spd, K, x, K, 0, b, K);
  assert_int_equal(dense_solve_spd(K, 1, spd, b), DKHO_OK);
  assert_true(worst_difference(K, x, b) < 1e-11);
  double bad[4] = {1, 2, 2, 1}, rhs[2] = {1, 1};
  assert_int_equal(dense_solve_spd(2, 1, bad, rhs), DKHO_E_NOCONV);
}

static dkho_status everything(void) {
  csr a, at = {0}, prod = {0};
  TRY(csr_alloc(&a, 400, 400, 400));
  for (int i = 0; i < 400; i++) {
    a.ptr[i + 1] = i + 1;
    a.col[i] = i;
    a.val[i] = 1 + i * i;
  }
  dkho_status s;
  double lambda[3], vec[1200];
  int32_t two[] = {3, 1};
  csr part = {0};
  TRY_GOTO(csr_transpose(&at, &a));
  TRY_GOTO(csr_multiply(&prod, &a, &at));
  TRY_GOTO(csr_select(&part, &prod, 2, two, 2, two));
  eig_problem p = {.a = &a, .space = 400, .shift = 1e-6};
  TRY_GOTO(eig_smallest(&p, 3, 1e-12, lambda, vec));
done:
  csr_free(&a);
  csr_free(&at);
  csr_free(&prod);
  csr_free(&part);
  return s;
}

static void failing_allocations_leave_nothing(void **state) {
  (void)state;
  size_t live = mem_live_blocks();
  int n = 0;
  dkho_status s;
  do {
    mem_fail_at(++n);
    s = everything();
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
  } while (s != DKHO_OK);
  assert_true(n > 20);
}

/* OpenBLAS without threads, where the build found it, starts none: neither when it is loaded nor when it is used. */
static void blas_starts_no_threads(void **state) {
  (void)state;
  if (!strstr(dense_library(), "SINGLE_THREADED")) skip();
  enum { N = 200 };
  double *a = mem_alloc(N * N, sizeof *a), *b = mem_alloc(N * N, sizeof *b), *c = mem_alloc(N * N, sizeof *c);
  for (int i = 0; i < N * N; i++) a[i] = i % 7, b[i] = i % 5;
  dense_gemm(0, 0, N, N, N, 1, a, N, b, N, 0, c, N);
  mem_free(a), mem_free(b), mem_free(c);
  int threads = 0;
  DIR *d = opendir("/proc/self/task");
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) threads += e->d_name[0] != '.';
  closedir(d);
  assert_int_equal(threads, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blas_starts_no_threads),
      cmocka_unit_test(csr_algebra_is_dense_algebra),
      cmocka_unit_test(duplicates_add_up),
      cmocka_unit_test(cholesky_solves),
      cmocka_unit_test(wide_solves),
      cmocka_unit_test(threads_solve_alike),
      cmocka_unit_test(indefinite_is_refused),
      cmocka_unit_test(grid_spectrum_is_known),
      cmocka_unit_test(eigenvalues_are_counted),
      cmocka_unit_test(subspace_spectrum_is_known),
      cmocka_unit_test(dense_factorisations_hold),
      cmocka_unit_test(failing_allocations_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
