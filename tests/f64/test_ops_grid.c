/* Operations of the other models, alone: gates, contraction, spectral convolution against a direct sum, interpolation
 * between grids and points. */
#include "f64/gradcheck.h"

#include "nn/op_grid.h"

#include <complex.h>

static void gates(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "a", 1100, 3);
  gc_params(&c);
  var a = tape_param(c.t, "a"), x = gc_input(&c, 1100, 3, 1.5, 1);
  gc_finish(&c, op_gate(c.t, op_gate(c.t, a, x), op_gate(c.t, x, a)));
  gc_open(&c);
  gc_matrix(&c, "s", 1, 3);
  gc_params(&c);
  x = gc_input(&c, 530, 3, 1, 1);
  for (int64_t i = 0; i < 530 * 3; i++) c.data[0][i] += c.data[0][i] < 0 ? -0.1 : 0.1; /* away from the kink */
  gc_finish(&c, op_axpy(c.t, 1, op_relu(c.t, 0, x), op_scale(c.t, tape_param(c.t, "s"), op_relu(c.t, 0.2, x))));
}

static void contraction(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "branch", 5, 6);
  gc_matrix(&c, "trunk", 1100, 6);
  gc_matrix(&c, "bias", 1, 2);
  gc_params(&c);
  var x = op_reshape(c.t, gc_input(&c, 5, 1, 1, 1), 1, 5);
  gc_finish(&c, op_contract(c.t, op_matmul(c.t, x, tape_param(c.t, "branch")), tape_param(c.t, "trunk"),
                            tape_param(c.t, "bias")));
}

static void axis_maps(void **state) {
  (void)state;
  real m[3 * 4];
  rng r = rng_open(4, RNG_TEST, 1);
  for (int i = 0; i < 12; i++) m[i] = rng_normal(&r);
  for (int transposed = 0; transposed < 2; transposed++) {
    gc c;
    gc_open(&c);
    gc_matrix(&c, "s", 1, 2);
    gc_params(&c);
    var x = gc_input(&c, 5 * (transposed ? 3 : 4) * 70, 2, 1, 1);
    var y = op_axis(c.t, tape_const(c.t, 3, 4, m), transposed, 5, x);
    gc_finish(&c, op_scale(c.t, tape_param(c.t, "s"), y));
  }
}

/* Softmax both ways, the product summed over rows, small matrices turned and divided. */
static void attention_parts(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "a", 1100, 3);
  gc_matrix(&c, "w", 4, 3);
  gc_params(&c);
  var a = tape_param(c.t, "a"), x = gc_input(&c, 1100, 4, 1.5, 1);
  var rows = op_softmax(c.t, op_matmul(c.t, x, tape_param(c.t, "w"))),
      down = op_softmax_columns(c.t, op_mul(c.t, rows, a));
  var total = op_sum_rows(c.t, 1, rows);
  var z = op_divide_rows(c.t, op_gram(c.t, rows, op_matmul(c.t, x, tape_param(c.t, "w"))), total, 1e-2);
  gc_finish(&c, op_matmul(c.t, z, op_turn(c.t, op_gram(c.t, x, down))));
}

typedef struct {
  int dim, points, modes, in, out;
} conv;

/* The parameters and input of one convolution; the whole output is kept. */
static spectral *open_conv(gc *c, const conv *v, var *x, var *w) {
  spectral *s;
  gc_ok(spectral_create(&s, v->dim, v->points, v->modes));
  gc_open(c);
  gc_matrix(c, "w", s->weights * 2 * v->in, v->out);
  gc_params(c);
  *x = gc_input(c, s->cells, v->in, 1, 1);
  *w = tape_param(c->t, "w");
  return s;
}

static const conv convs[] = {{2, 16, 9, 2, 3}, {2, 8, 3, 3, 2}, {3, 6, 2, 2, 2}, {3, 4, 3, 1, 2}};

static void spectral_gradients(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
    gc c;
    var x, w;
    spectral *s = open_conv(&c, &convs[i], &x, &w);
    gc_finish(&c, op_spectral(c.t, s, x, w));
    spectral_free(s);
  }
}

typedef struct {
  gc *c;
  var y;
  double *out;
} taken;
static dkho_status take_values(void *ctx, const lane *l, int64_t sample) {
  const taken *t = ctx;
  const tape_var *v = &t->c->t->var[t->y];
  (void)sample;
  memcpy(t->out, lane_value(l, t->y), (size_t)(v->rows * v->cols) * sizeof *t->out);
  return DKHO_OK;
}
static dkho_status fill_taken(void *ctx, const lane *l, int64_t sample) {
  return gc_fill(((const taken *)ctx)->c, l, sample);
}
/* The values of y for the present inputs; owned by the caller. */
static double *values_of(gc *c, var y) {
  taken t = {c, y, mem_alloc((size_t)(c->t->var[y].rows * c->t->var[y].cols), sizeof(double))};
  tape_keep(c->t, y);
  gc_ok(engine_create(&c->forward, c->t, ENGINE_PREDICT, VAR_NONE, NULL));
  engine_bind(c->forward, c->value);
  engine_batch b = {.count = 1, .fill = fill_taken, .take = take_values, .ctx = &t};
  gc_ok(engine_predict(c->forward, &b));
  return t.out;
}

/* Weights sum to one, whatever the size of what they are made from. */
static void softmax_values(void **state) {
  (void)state;
  for (int down = 0; down < 2; down++) {
    gc c;
    gc_open(&c);
    gc_params(&c);
    var x = gc_input(&c, 5, 4, 1, 0);
    for (int i = 0; i < 20; i++) c.data[0][i] *= 600;
    double *y = values_of(&c, down ? op_softmax_columns(c.t, x) : op_softmax(c.t, x));
    for (int i = 0; i < (down ? 4 : 5); i++) {
      double sum = 0;
      for (int j = 0; j < (down ? 5 : 4); j++) sum += y[down ? j * 4 + i : i * 4 + j];
      assert_true(fabs(sum - 1) < 1e-14);
    }
    mem_free(y);
    gc_close(&c);
  }
}

/* Frequency f of one axis: kept? Its block and place there, the second range first. */
static int kept_at(const conv *v, int axis, int f, int *block, int *at) {
  int g = v->points, m = v->modes;
  *block = axis < v->dim - 1 && f >= g - m;
  *at = *block ? f - (g - m) : f;
  return *block || f < m;
}

static double complex forward_sum(const conv *v, const int *k, const double *x, int channel) {
  int cells = v->dim == 2 ? v->points * v->points : v->points * v->points * v->points;
  double complex sum = 0;
  for (int n = 0; n < cells; n++) {
    int rest = n, turn = 0;
    for (int d = v->dim - 1; d >= 0; d--, rest /= v->points) turn += k[d] * (rest % v->points);
    sum += x[n * v->in + channel] * cexp(-2 * M_PI * I * turn / v->points);
  }
  return sum;
}

/* Adds one mode's share, computed from the definition, to the expected field. */
static void add_mode(const conv *v, const int *k, const double *x, const double *w, double *y) {
  int g = v->points, cells = v->dim == 2 ? g * g : g * g * g, block[3], at[3], slot = 0, blocks = 0, cube = 1;
  for (int d = 0; d < v->dim; d++) {
    if (!kept_at(v, d, k[d], &block[d], &at[d])) return;
    slot = slot * v->modes + at[d];
    blocks += block[d] << d;
    cube *= v->modes;
  }
  slot += blocks * cube;
  double twice = k[v->dim - 1] == 0 || 2 * k[v->dim - 1] == g ? 1 : 2;
  for (int o = 0; o < v->out; o++) {
    double complex sum = 0;
    for (int i = 0; i < v->in; i++) {
      const double *part = w + ((int64_t)slot * 2 * v->in + i) * v->out + o;
      sum += forward_sum(v, k, x, i) * (part[0] + I * part[v->in * v->out]);
    }
    for (int n = 0; n < cells; n++) {
      int rest = n, turn = 0;
      for (int d = v->dim - 1; d >= 0; d--, rest /= g) turn += k[d] * (rest % g);
      y[n * v->out + o] += creal(twice / cells * sum * cexp(2 * M_PI * I * turn / g));
    }
  }
}

static void spectral_is_the_direct_sum(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
    const conv *v = &convs[i];
    gc c;
    var x, w;
    spectral *s = open_conv(&c, v, &x, &w);
    double *got = values_of(&c, op_spectral(c.t, s, x, w));
    double *expected = mem_alloc((size_t)(s->cells * v->out), sizeof *expected), worst = 0;
    int g = v->points;
    for (int q = 0; q < g * g * (v->dim == 3 ? g : 1); q++) {
      int k[3] = {q / g, q % g, 0};
      if (v->dim == 3) k[0] = q / g / g, k[1] = q / g % g, k[2] = q % g;
      if (k[v->dim - 1] <= g / 2) add_mode(v, k, c.data[0], c.value, expected);
    }
    for (int64_t n = 0; n < s->cells * v->out; n++) worst = fmax(worst, fabs(got[n] - expected[n]));
    assert_true(worst < 1e-12);
    mem_free(got);
    mem_free(expected);
    spectral_free(s);
    gc_close(&c);
  }
}

/* Nine modes of sixteen: rows 7 and 8 of the first block never act. */
static void overlapping_rows_are_dead(void **state) {
  (void)state;
  gc c;
  var x, w;
  spectral *s = open_conv(&c, &convs[0], &x, &w);
  gc_record_against_noise(&c, op_spectral(c.t, s, x, w));
  gc_gradient(&c);
  int64_t slab = 2 * 2 * 3, dead = 0;
  for (int64_t k = 0; k < 162; k++) {
    double norm = 0;
    for (int64_t i = 0; i < slab; i++) norm += fabs(c.g[k * slab + i]);
    int expected = k < 81 && (k / 9 == 7 || k / 9 == 8);
    assert_int_equal(norm == 0, expected);
    dead += expected;
  }
  assert_int_equal(dead, 18);
  spectral_free(s);
  gc_close(&c);
}

/* Positions well inside their cells, so that differences do not cross a face. */
static void place_inside(gc *c, int input, int points) {
  const tape_var *v = &c->t->var[c->input[input]];
  rng r = rng_open(2, RNG_TEST, 5);
  for (int64_t i = 0; i < v->rows * v->cols; i++)
    c->data[input][i] = ((double)rng_below(&r, (uint64_t)points - 1) + rng_range(&r, 0.1, 0.9)) / (points - 1);
}

static void resampling_gradients(void **state) {
  (void)state;
  for (int dim = 2; dim <= 3; dim++) {
    gc c;
    gc_open(&c);
    gc_matrix(&c, "s", 1, 2);
    gc_params(&c);
    var at = gc_input(&c, 40, dim, 1, 1), f = gc_input(&c, 40, 2, 1, 1);
    place_inside(&c, 0, 4);
    var grid = op_scale(c.t, tape_param(c.t, "s"), op_splat(c.t, f, 4, at));
    gc_finish(&c, op_axpy(c.t, 0.7, op_sample(c.t, grid, 4, at), op_mul(c.t, f, f)));
  }
}

/* Means in the nearest cells: the gradient of the values, and none of the positions. */
static void nearest_means(void **state) {
  (void)state;
  gc c;
  gc_open(&c);
  gc_matrix(&c, "s", 1, 2);
  gc_params(&c);
  var at = gc_input(&c, 40, 2, 1, 0), f = gc_input(&c, 40, 2, 1, 1);
  place_inside(&c, 0, 4);
  gc_finish(&c, op_scale(c.t, tape_param(c.t, "s"), op_nearest(c.t, f, 4, at)));
  gc_open(&c);
  gc_params(&c);
  at = gc_input(&c, 4, 2, 1, 0), f = gc_input(&c, 4, 1, 1, 0);
  memcpy(c.data[0], (const double[]){0.5, 0, 0.6, 0.1, 1, 1, 0.25, 0.75},
         8 * sizeof(double)); /* of two steps: halves go to even */
  memcpy(c.data[1], (const double[]){1, 2, 5, 7}, 4 * sizeof(double));
  double *grid = values_of(&c, op_nearest(c.t, f, 3, at));
  const double expected[9] = {0, 0, 7, 1.5, 0, 0, 0, 0, 5};
  for (int v = 0; v < 9; v++) assert_true(grid[v] == expected[v]);
  mem_free(grid);
  gc_close(&c);
}

/* A linear field comes back exactly at the points; a constant one is kept where something lands, 0 elsewhere. */
static void resampling_values(void **state) {
  (void)state;
  for (int dim = 2; dim <= 3; dim++) {
    int g = 5, cells = dim == 2 ? 25 : 125;
    gc c;
    gc_open(&c);
    gc_params(&c);
    var at = gc_input(&c, 12, dim, 1, 0), grid = gc_input(&c, cells, 1, 1, 0), f = gc_input(&c, 12, 1, 1, 0);
    place_inside(&c, 0, g);
    c.data[0][0] = 1; /* the far end */
    for (int q = 0; q < cells; q++) {
      int rest = q;
      double x[3] = {0};
      for (int d = dim - 1; d >= 0; d--, rest /= g) x[d] = rest % g / 4.0;
      c.data[1][q] = 1 + 2 * x[0] - 3 * x[1] + 5 * x[2];
    }
    for (int i = 0; i < 12; i++) c.data[2][i] = 2.5;
    double *read = values_of(&c, op_sample(c.t, grid, g, at));
    for (int i = 0; i < 12; i++) {
      const double *x = c.data[0] + i * dim;
      assert_true(fabs(read[i] - (1 + 2 * x[0] - 3 * x[1] + (dim == 3 ? 5 * x[2] : 0))) < 1e-13);
    }
    engine_free(c.forward);
    double *spread = values_of(&c, op_splat(c.t, f, g, at));
    int touched = 0;
    for (int q = 0; q < cells; q++) {
      assert_true(spread[q] == 0 || fabs(spread[q] - 2.5) < 1e-13);
      touched += spread[q] != 0;
    }
    assert_true(touched > 4 && touched < cells);
    mem_free(read);
    mem_free(spread);
    gc_close(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gates),
      cmocka_unit_test(contraction),
      cmocka_unit_test(axis_maps),
      cmocka_unit_test(attention_parts),
      cmocka_unit_test(softmax_values),
      cmocka_unit_test(spectral_gradients),
      cmocka_unit_test(spectral_is_the_direct_sum),
      cmocka_unit_test(overlapping_rows_are_dead),
      cmocka_unit_test(resampling_gradients),
      cmocka_unit_test(nearest_means),
      cmocka_unit_test(resampling_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
