/* Every operation of the tape against differences, alone, with operands of every level. */
#include "f64/gradcheck.h"

enum { MANY = 1100 }; /* more than two row blocks */
static const double TOL = 1e-8;

static void affine(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  params_add_affine(c.p, "m", 12, 11, 1);
  params_add_affine(c.p, "n", 11, 3, 0);
  gc_params(&c);
  var x[2] = {gc_input(&c, MANY, 3, 1, 1), gc_input(&c, MANY, 9, 1, 0)};
  var y = op_affine(c.t, 2, x, tape_param(c.t, "m.w"), tape_param(c.t, "m.b"));
  gc_finish(&c, op_affine(c.t, 1, &y, tape_param(c.t, "n.w"), VAR_NONE));
}

/* x (W₁ W₂): the product of the matrices is a step-level value, used by two operations. */
static void folded(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "a", 4, 10);
  gc_matrix(&c, "b", 10, 5);
  gc_matrix(&c, "x", 600, 4);
  gc_params(&c);
  var w = op_matmul(c.t, tape_param(c.t, "a"), tape_param(c.t, "b"));
  assert_int_equal(c.t->var[w].level, LEVEL_STEP);
  var x = gc_input(&c, 600, 4, 1, 1);
  var y = op_axpy(c.t, 0.5, op_matmul(c.t, x, w), op_matmul(c.t, tape_param(c.t, "x"), w));
  assert_int_equal(c.t->var[y].level, LEVEL_SAMPLE);
  gc_finish(&c, y);
}

static void unary(void **state) {
  (void)state;
  for (int f = FN_GELU; f <= FN_SOFTPLUS; f++) {
    gc c;
    gc_open(&c);
    gc_matrix(&c, "a", 1, 3);
    gc_params(&c);
    var x = gc_input(&c, 530, 3, 1.5, 1);
    var s = op_unary(c.t, (unary_fn)f, 0.3, -0.1, tape_param(c.t, "a"));
    gc_finish(&c, op_scale(c.t, s, op_unary(c.t, (unary_fn)f, 0.7, 0.2, x)));
  }
}

static void norm(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  params_add_vector(c.p, "g", 7, INIT_NORMAL, 1);
  params_add_vector(c.p, "b", 7, INIT_NORMAL, 1);
  gc_params(&c);
  var x = gc_input(&c, MANY, 7, 2, 1);
  gc_finish(&c, op_norm(c.t, x, tape_param(c.t, "g"), tape_param(c.t, "b")));
}

static void linear(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "a", 520, 2);
  gc_matrix(&c, "s", 1, 1);
  gc_matrix(&c, "row", 1, 2);
  gc_params(&c);
  var a = tape_param(c.t, "a"), x = gc_input(&c, 520, 2, 1, 1), z = gc_input(&c, 520, 2, 1, 0);
  var y = op_sum(c.t, 3, (const double[]){0.5, -2, 1.5}, (const var[]){x, a, z});
  y = op_mul(c.t, y, op_mul(c.t, a, x));
  y = op_mul(c.t, y, y);
  y = op_axpy(c.t, -0.3, op_scale(c.t, tape_param(c.t, "s"), x), op_scale(c.t, tape_param(c.t, "row"), y));
  y = op_axpy(c.t, 1, y, op_scale(c.t, op_mul(c.t, tape_param(c.t, "s"), tape_param(c.t, "s")), a));
  gc_finish(&c, y);
}

static void shape(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "a", 4, 3);
  gc_matrix(&c, "b", 6, 3);
  gc_matrix(&c, "row", 1, 2);
  gc_params(&c);
  var ab = op_stack(c.t, 2, (const var[]){tape_param(c.t, "a"), tape_param(c.t, "b")});
  var x = gc_input(&c, 600, 10, 1, 1);
  var y = op_matmul(c.t, x, ab);
  y = op_concat(c.t, 3,
                (const var[]){y, op_slice(c.t, x, 0, 600, 2, 4), op_broadcast(c.t, tape_param(c.t, "row"), 600)});
  var mean = op_sum_rows(c.t, 1.0 / 600, y);
  y = op_axpy(c.t, -1, op_broadcast(c.t, mean, 600), op_mul(c.t, y, y));
  gc_finish(&c, op_slice(c.t, y, 17, 590, 1, 7));
}

/* A rows × cols map with about `fill` entries per row. */
static sparse *random_map(int64_t rows, int64_t cols, int fill, double *dense) {
  rng r = rng_open(5, RNG_TEST, 9);
  int64_t *ptr = mem_alloc((size_t)rows + 1, sizeof *ptr);
  int32_t *col = mem_alloc((size_t)(rows * fill), sizeof *col);
  double *val = mem_alloc((size_t)(rows * fill), sizeof *val);
  for (int64_t i = 0; i < rows; i++) {
    ptr[i + 1] = ptr[i];
    for (int32_t j = 0; j < cols && ptr[i + 1] - ptr[i] < fill; j++) {
      if (rng_uniform(&r) > 1.5 * fill / (double)cols) continue;
      col[ptr[i + 1]] = j;
      val[ptr[i + 1]] = rng_normal(&r);
      if (dense) dense[i * cols + j] = val[ptr[i + 1]];
      ptr[i + 1]++;
    }
  }
  sparse *m;
  gc_ok(sparse_create(&m, rows, cols, ptr, col, val));
  mem_free(ptr);
  mem_free(col);
  mem_free(val);
  return m;
}

static void sparse_maps(void **state) {
  (void)state;
  for (int transposed = 0; transposed < 2; transposed++) {
    gc c;
    sparse *m = random_map(700, 90, 4, NULL);
    gc_open(&c);
    gc_matrix(&c, "s", 1, 3);
    gc_params(&c);
    var x = gc_input(&c, transposed ? 700 : 90, 3, 1, 1);
    gc_finish(&c, op_scale(c.t, tape_param(c.t, "s"), op_sparse(c.t, m, transposed, x)));
    sparse_free(m);
  }
}

static void take_first(const gc *c, const lane *l, var v, double *out) {
  memcpy(out, lane_value(l, v), (size_t)(c->t->var[v].rows * c->t->var[v].cols) * sizeof *out);
}
typedef struct {
  gc c;
  var y[2];
  double out[2][256];
} kept;
static dkho_status take_kept(void *ctx, const lane *l, int64_t sample) {
  kept *k = ctx;
  (void)sample;
  for (int i = 0; i < 2; i++) take_first(&k->c, l, k->y[i], k->out[i]);
  return DKHO_OK;
}

/* Two sources, one of them by halves of its rows, into halves of rows. */
static var gathered(gc *c, const sparse *const *m, var a, var b) {
  return op_gather(c->t, 2, m, (const int[]){0, 1}, (const var[]){a, b}, 3, 20);
}

static void gathered_sums(void **state) {
  (void)state;
  gc c;
  sparse *m[2] = {random_map(40, 30, 4, NULL), random_map(24, 40, 5, NULL)};
  gc_open(&c);
  gc_matrix(&c, "s", 1, 6);
  gc_params(&c);
  var a = gc_input(&c, 15, 6, 1, 1), b = gc_input(&c, 24, 3, 1, 1);
  gc_finish(&c, op_scale(c.t, tape_param(c.t, "s"), gathered(&c, (const sparse *const *)m, a, b)));
  for (int i = 0; i < 2; i++) sparse_free(m[i]);
}

static void gathered_values(void **state) {
  (void)state;
  kept k = {0};
  sparse *m[2] = {random_map(40, 30, 4, NULL), random_map(24, 40, 5, NULL)};
  gc_open(&k.c);
  gc_params(&k.c);
  var a = gc_input(&k.c, 15, 6, 1, 0), b = gc_input(&k.c, 24, 3, 1, 0);
  var parts = op_axpy(k.c.t, 1, op_sparse(k.c.t, m[0], 0, op_reshape(k.c.t, a, 30, 3)), op_sparse(k.c.t, m[1], 1, b));
  tape_keep(k.c.t, k.y[0] = gathered(&k.c, (const sparse *const *)m, a, b));
  tape_keep(k.c.t, k.y[1] = op_reshape(k.c.t, parts, 20, 6));
  gc_ok(engine_create(&k.c.e, k.c.t, ENGINE_PREDICT, VAR_NONE, NULL));
  engine_bind(k.c.e, k.c.value);
  engine_batch batch = {.count = 1, .fill = gc_fill, .take = take_kept, .ctx = &k};
  gc_ok(engine_predict(k.c.e, &batch));
  double size = 0;
  for (int i = 0; i < 120; i++) {
    assert_true(fabs(k.out[0][i] - k.out[1][i]) < 1e-13);
    size = fmax(size, fabs(k.out[0][i]));
  }
  assert_true(size > 0.1);
  gc_close(&k.c);
  for (int i = 0; i < 2; i++) sparse_free(m[i]);
}

/* Both directions against the dense product. */
static void sparse_values(void **state) {
  (void)state;
  kept k = {0};
  double dense[30 * 20] = {0};
  sparse *m = random_map(30, 20, 3, dense);
  gc_open(&k.c);
  gc_params(&k.c);
  var x = gc_input(&k.c, 20, 2, 1, 0), w = gc_input(&k.c, 30, 2, 1, 0);
  tape_keep(k.c.t, k.y[0] = op_sparse(k.c.t, m, 0, x));
  tape_keep(k.c.t, k.y[1] = op_sparse(k.c.t, m, 1, w));
  gc_ok(engine_create(&k.c.e, k.c.t, ENGINE_PREDICT, VAR_NONE, NULL));
  engine_bind(k.c.e, k.c.value);
  engine_batch b = {.count = 1, .fill = gc_fill, .take = take_kept, .ctx = &k};
  gc_ok(engine_predict(k.c.e, &b));
  for (int j = 0; j < 2; j++) {
    for (int i = 0; i < 30; i++) {
      double sum = 0;
      for (int q = 0; q < 20; q++) sum += dense[i * 20 + q] * k.c.data[0][q * 2 + j];
      assert_true(fabs(sum - k.out[0][i * 2 + j]) < 1e-13);
    }
    for (int q = 0; q < 20; q++) {
      double sum = 0;
      for (int i = 0; i < 30; i++) sum += dense[i * 20 + q] * k.c.data[1][i * 2 + j];
      assert_true(fabs(sum - k.out[1][q * 2 + j]) < 1e-13);
    }
  }
  sparse_free(m);
  gc_close(&k.c);
}

/* Known values, and no overflow far out. */
static void unary_values(void **state) {
  (void)state;
  static const struct {
    unary_fn f;
    double at[5];
  } expected[] = {
      {FN_GELU, {0, -0.15865525393145705, 0, 0.84134474606854293, 800}},
      {FN_TANH, {-1, -0.76159415595576489, 0, 0.76159415595576489, 1}},
      {FN_SIGMOID, {0, 0.26894142136999512, 0.5, 0.73105857863000488, 1}},
      {FN_SOFTPLUS, {0, 0.31326168751822284, 0.69314718055994531, 1.3132616875182228, 800}},
  };
  for (int i = 0; i < 4; i += 2) {
    kept k = {0};
    gc_open(&k.c);
    gc_params(&k.c);
    var x = gc_input(&k.c, 5, 1, 1, 0);
    memcpy(k.c.data[0], (const double[]){-800, -1, 0, 1, 800}, 5 * sizeof(double));
    for (int j = 0; j < 2; j++) tape_keep(k.c.t, k.y[j] = op_fn(k.c.t, expected[i + j].f, x));
    gc_ok(engine_create(&k.c.e, k.c.t, ENGINE_PREDICT, VAR_NONE, NULL));
    engine_bind(k.c.e, k.c.value);
    engine_batch b = {.count = 1, .fill = gc_fill, .take = take_kept, .ctx = &k};
    gc_ok(engine_predict(k.c.e, &b));
    for (int j = 0; j < 2; j++)
      for (int q = 0; q < 5; q++) assert_true(fabs(k.out[j][q] - expected[i + j].at[q]) < 1e-14);
    gc_close(&k.c);
  }
}

static void basis(void **state) {
  (void)state;
  gc c;
  real *h = mem_alloc(MANY * 2, sizeof *h);
  rng r = rng_open(2, RNG_TEST, 4);
  for (int i = 0; i < MANY * 2; i++) h[i] = rng_normal(&r);
  gc_open(&c);
  gc_matrix(&c, "coef", 1, 6);
  gc_params(&c);
  var b = tape_const(c.t, MANY, 2, h), x = gc_input(&c, MANY, 3, 1, 1);
  var y = op_synthesis(c.t, b, op_coefficients(c.t, b, x), 3);
  y = op_axpy(c.t, -1e-3, y, x);
  gc_finish(&c, op_axpy(c.t, 1, op_synthesis(c.t, b, tape_param(c.t, "coef"), 3), y));
  mem_free(h);
}

static void loss(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_params(&c);
  var p = gc_input(&c, 4, 1, 1, 1), y = gc_input(&c, 4, 1, 1, 0);
  gc_record(&c, op_rel_l2(c.t, p, y, 1e-2));
  memcpy(c.data[0], (const double[]){1, 2, 3, 4}, 4 * sizeof(double));
  memcpy(c.data[1], (const double[]){1, 2, 0, 0}, 4 * sizeof(double));
  assert_true(fabs(gc_gradient(&c) - 5 / sqrt(5)) < 1e-15);
  assert_true(fabs(c.grad[0][2] - 3 / (5 * sqrt(5))) < 1e-15);
  gc_check(&c, 1, TOL);
  memset(c.data[1], 0, 4 * sizeof(double));
  assert_true(fabs(gc_gradient(&c) - sqrt(30) / 1e-2) < 1e-10);
  memset(c.data[0], 0, 4 * sizeof(double));
  assert_true(gc_gradient(&c) == 0 && c.grad[0][0] == 0);
  gc_close(&c);
}

static void mlp(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  params_add_affine(c.p, "net.lin1", 5, 8, 1);
  params_add_norm(c.p, "net.norm", 8);
  params_add_affine(c.p, "net.lin2", 8, 2, 1);
  gc_params(&c);
  var x[2] = {gc_input(&c, 530, 2, 1, 1), gc_input(&c, 530, 3, 1, 1)};
  gc_finish(&c, op_mlp(c.t, "net", 2, x));
}

/* What no root needs is neither computed nor live, and its input is not asked for. */
static void pruning(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "a", 1, 2);
  gc_matrix(&c, "dead", 1, 2);
  gc_params(&c);
  var x = gc_input(&c, 5, 2, 1, 0), unused = gc_input(&c, 5, 2, 1, 0);
  var y = op_scale(c.t, tape_param(c.t, "a"), x);
  tape_keep(c.t, op_scale(c.t, tape_param(c.t, "dead"), unused));
  gc_record_against_noise(&c, y);
  gc_check(&c, 1, TOL);
  assert_int_equal(c.p->list[0].live, 1);
  assert_int_equal(c.p->list[1].live, 0);
  assert_int_equal(params_live(c.p), 2);
  gc_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(affine),        cmocka_unit_test(folded),
      cmocka_unit_test(unary),         cmocka_unit_test(unary_values),
      cmocka_unit_test(norm),          cmocka_unit_test(linear),
      cmocka_unit_test(shape),         cmocka_unit_test(sparse_maps),
      cmocka_unit_test(gathered_sums), cmocka_unit_test(gathered_values),
      cmocka_unit_test(sparse_values), cmocka_unit_test(basis),
      cmocka_unit_test(loss),          cmocka_unit_test(mlp),
      cmocka_unit_test(pruning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
