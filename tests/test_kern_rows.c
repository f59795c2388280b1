/* test_kern_rows.c: kernels on plain matrices and vectors against ref: entries, rows, columns, products, sparse rows, in memory of exactly
 * their size. */
#include "kern_cases.h"

/* Noise in memory of exactly its size, to be freed by free: a read or write beyond the end is seen by the sanitizer. */
static float *exact(size_t n, uint64_t stream, double scale) {
  float *x = noise(n, stream, scale), *y = malloc(n * sizeof *y);
  assert_non_null(y);
  memcpy(y, x, n * sizeof *y);
  mem_free(x);
  return y;
}

static void check_entrywise(const kern *k, size_t n) {
  float *x = exact(n, 1, 2), *g = exact(n, 2, 1), *y = exact(n, 3, 1), *yr = exact(n, 3, 1);
  for (int f = 0; f < KERN_FN_COUNT; f++) {
    for (size_t i = 0; f == KERN_LOG1P && i < n; i++) x[i] = fabsf(x[i]);
    k->unary((kern_fn)f, n, 0.7F, -0.2F, x, y);
    kern_ref.unary((kern_fn)f, n, 0.7F, -0.2F, x, yr);
    assert_close("unary", k, n, y, yr, 1e-6);
    for (int add = 0; f != KERN_GELU_SLOPE && add < 2; add++) {
      k->unary_back((kern_fn)f, n, -0.6F, x, g, add, y);
      kern_ref.unary_back((kern_fn)f, n, -0.6F, x, g, add, yr);
      assert_close(kern_fn_name((kern_fn)f), k, n, y, yr, 2e-6);
    }
  }
  for (int add = 0; add < 2; add++) {
    k->mul(n, x, g, add, y);
    kern_ref.mul(n, x, g, add, yr);
    assert_close("mul", k, n, y, yr, 1e-6);
  }
  k->relu(n, 0.1F, x, y);
  kern_ref.relu(n, 0.1F, x, yr);
  assert_close("relu", k, n, y, yr, 0);
  k->gate(n, x, g, y);
  kern_ref.gate(n, x, g, yr);
  assert_close("gate", k, n, y, yr, 1e-6);
  for (int add = 0; add < 2; add++) {
    k->relu_back(n, 0.1F, x, g, add, y);
    kern_ref.relu_back(n, 0.1F, x, g, add, yr);
    assert_close("relu_back", k, n, y, yr, 1e-6);
    float *z = exact(n, 4, 1), *zr = exact(n, 4, 1);
    k->gate_back(n, x, g, z, add, y, !add, z);
    kern_ref.gate_back(n, x, g, zr, add, yr, !add, zr);
    assert_close("gate_back", k, n, y, yr, 2e-6);
    assert_close("gate_back", k, n, z, zr, 2e-6);
    free(z), free(zr);
  }
  const float a[3] = {0.5F, -1, 2}, *const three[3] = {x, g, x};
  for (int terms = 1; terms <= 3; terms++) {
    k->combine(n, terms, a, three, y);
    kern_ref.combine(n, terms, a, three, yr);
    assert_close("combine", k, n, y, yr, 1e-6);
  }
  free(x), free(g), free(y), free(yr);
}

static void check_entries(const kern *k) {
  for (size_t n = 1; n < 300; n += n / 2 + 1) check_entrywise(k, n);
}

static void test_entries(void **state) {
  (void)state;
  each_isa(check_entries);
}

static void matrix_product_case(const kern *k, int rows, int in, int out) {
  size_t nx = (size_t)(rows * in), ny = (size_t)(rows * out), nw = (size_t)(in * out);
  float *x = exact(nx, 1, 1), *x2 = exact((size_t)rows * 3, 2, 1), *w = exact(nw, 3, 0.3),
        *w2 = exact(nw + (size_t)(3 * out), 4, 0.3);
  float *b = exact((size_t)out, 5, 1), *y = exact(ny, 6, 1), *yr = exact(ny, 6, 1), *g = exact(nw, 7, 1),
        *gr = exact(nw, 7, 1);
  const kern_term term[2] = {{x, (size_t)in, in, w, out}, {x2, 3, 3, w2, out}};
  for (int way = 0; way < 8; way++) {
    kern_rows j = {rows, out, 1 + way % 2, term, way / 2 % 2 ? b : NULL, way / 4, y, (size_t)out};
    k->row_mm(&j);
    j.y = yr;
    kern_ref.row_mm(&j);
    assert_close("row_mm", k, ny, y, yr, 2e-5);
  }
  k->row_grad(rows, in, out, x, (size_t)in, y, (size_t)out, g);
  kern_ref.row_grad(rows, in, out, x, (size_t)in, y, (size_t)out, gr);
  assert_close("row_grad", k, nw, g, gr, 1e-4);
  void *all[] = {x, x2, w, w2, b, y, yr, g, gr};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void matrix_column_case(const kern *k, int rows, int n) {
  size_t e = (size_t)(rows * n), w = (size_t)n;
  float *x = exact(e, 1, 2), *g = exact(e, 2, 1), *y = exact(e, 3, 1), *yr = exact(e, 3, 1);
  float *gain = exact(w, 4, 1), *shift = exact(w, 5, 1), *s = exact(2 * w, 6, 1), *sr = exact(2 * w, 6, 1);
  k->row_norm(rows, n, x, gain, shift, y);
  kern_ref.row_norm(rows, n, x, gain, shift, yr);
  assert_close("row_norm", k, e, y, yr, 1e-5);
  for (int add = 0; add < 2; add++) {
    k->row_norm_back(rows, n, x, gain, g, add, y, s);
    kern_ref.row_norm_back(rows, n, x, gain, g, add, yr, sr);
    assert_close("row_norm_back", k, e, y, yr, n == 1 ? 2 : 1e-4);
    assert_close("row_norm_back sums", k, 2 * w, s, sr, 2e-5);
    k->col_scale(rows, n, gain, x, add, y);
    kern_ref.col_scale(rows, n, gain, x, add, yr);
    assert_close("col_scale", k, e, y, yr, n == 1 && add ? 2 : 1e-4);
  }
  k->row_norm_back(rows, n, x, gain, g, 0, y, NULL);
  kern_ref.row_norm_back(rows, n, x, gain, g, 0, yr, NULL);
  assert_close("row_norm_back alone", k, e, y, yr, n == 1 ? 2 : 1e-4);
  k->row_norm_back(rows, n, x, gain, g, 0, NULL, s);
  kern_ref.row_norm_back(rows, n, x, gain, g, 0, NULL, sr);
  k->col_sum(rows, n, 0.3F, x, s);
  kern_ref.col_sum(rows, n, 0.3F, x, sr);
  k->col_dot(rows, n, x, NULL, g, s + n);
  kern_ref.col_dot(rows, n, x, NULL, g, sr + n);
  assert_close("sums of columns", k, 2 * w, s, sr, 5e-5);
  k->col_dot(rows, n, x, shift, g, s);
  kern_ref.col_dot(rows, n, x, shift, g, sr);
  k->col_dot(rows, n, x, shift, NULL, s + n);
  kern_ref.col_dot(rows, n, x, shift, NULL, sr + n);
  assert_close("centred sums of columns", k, 2 * w, s, sr, 5e-5);
  for (int add = 0; add < 2; add++) {
    k->col_affine(rows, n, x, shift, gain, s, add, y);
    kern_ref.col_affine(rows, n, x, shift, gain, sr, add, yr);
    assert_close("col_affine", k, e, y, yr, 1e-4);
  }
  void *all[] = {x, g, y, yr, gain, shift, s, sr};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void check_matrices(const kern *k) {
  static const int heights[] = {1, 3, 15, 16, 29, 64};
  for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
    for (int i = 0; i < WIDTHS; i++) {
      matrix_column_case(k, heights[h], widths[i]);
      for (int o = 0; o < WIDTHS; o++) matrix_product_case(k, heights[h], widths[i], widths[o]);
    }
}

static void test_matrices(void **state) {
  (void)state;
  each_isa(check_matrices);
}

static void check_sparse_rows(const kern *k) {
  enum { ROWS = 21, COLS = 9 };
  int64_t ptr[ROWS + 1] = {0};
  int32_t col[ROWS * 4];
  for (int i = 0; i < ROWS; i++) {
    ptr[i + 1] = ptr[i] + i % 5;
    for (int64_t p = ptr[i]; p < ptr[i + 1]; p++) col[p] = (int32_t)((7 * p + i) % COLS);
  }
  float *val = exact(ROWS * 4, 1, 1);
  const kern_csr a = {ptr, col, val};
  for (int i = 0; i < WIDTHS; i++) {
    size_t n = (size_t)widths[i];
    float *x = exact(COLS * n, 2, 1), *y = exact(ROWS * n, 3, 1), *yr = exact(ROWS * n, 3, 1);
    for (int add = 0; add < 2; add++) {
      k->gather(&a, add, ROWS, widths[i], x, add, y);
      kern_ref.gather(&a, add, ROWS, widths[i], x, add, yr);
      assert_close("gather", k, ROWS * n, y, yr, 5e-6);
    }
    free(x), free(y), free(yr);
  }
  free(val);
}

static void test_sparse_rows(void **state) {
  (void)state;
  each_isa(check_sparse_rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_entries),
      cmocka_unit_test(test_matrices),
      cmocka_unit_test(test_sparse_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
