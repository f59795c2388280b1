/* Whole models against differences, and the paper's identities on random weights, on small complexes. */
#include "f64/reference.h"

/* The recorded prediction is that of the formulas. */
static void check_prediction(const small *x, dkho_config f) {
  model m;
  reference r = {.m = &m};
  model_open(&m, x, f);
  for (int64_t i = 0; i < m.c.p->size; i++) m.c.value[i] *= 1.5; /* norms and scalars off their start */
  model_predict(&m);
  const double *u = ref_predict(&r), *v = model_value(&m, m.net.predicted);
  for (int64_t i = 0; i < x->c->n[f.target] * f.channels; i++)
    if (!(fabs(u[i] - v[i]) < 1e-11)) fail_msg("entry %d: %.15g, reference %.15g", (int)i, v[i], u[i]);
  arena_free(&r.mem);
  model_close(&m);
}

static void predictions(void **state) {
  (void)state;
  for (int shape = 0; shape < SMALL_SHAPES; shape++) {
    small x;
    small_open(&x, (small_shape)shape, shape % 2 ? DEC_UNIT : DEC_HODGE);
    for (int target = 0; target <= x.c->dim; target++)
      for (int variant = DKHO_FULL; variant <= DKHO_NO_HARMONIC; variant++)
        for (int start = DKHO_ZERO; start <= DKHO_LEARNABLE; start++) {
          dkho_config f = small_config(&x, target);
          f.variant = (dkho_variant)variant;
          f.start = (dkho_start)start;
          f.channels = 1 + start;
          f.lag_scale = 0.5;
          if (variant == DKHO_NO_HARMONIC && f.harmonic == 0) continue;
          check_prediction(&x, f);
        }
    small_close(&x);
  }
}

/* Every variant, start, metric, target degree, with and without harmonic branch. */
static void check_model(const small *x, dkho_config f) {
  model m;
  model_open(&m, x, f);
  gc_check(&m.c, 0, 1e-7);
  double slope = gc_taylor(&m.c, 1e-4);
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
      for (int variant = DKHO_FULL; variant <= DKHO_NO_HARMONIC; variant++) {
        dkho_config f = small_config(&x, target);
        f.variant = (dkho_variant)variant;
        f.channels = 1 + target % 2;
        if (variant == DKHO_NO_HARMONIC && f.harmonic == 0) continue;
        check_model(&x, f);
      }
    small_close(&x);
  }
}

static void starts(void **state) {
  (void)state;
  small x;
  small_open(&x, SMALL_ANNULUS, DEC_HODGE);
  for (int start = DKHO_DETERMINISTIC; start <= DKHO_LEARNABLE; start++)
    for (int variant = DKHO_FULL; variant <= DKHO_NO_DIRAC; variant++) {
      dkho_config f = small_config(&x, 1);
      f.start = (dkho_start)start;
      f.variant = (dkho_variant)variant;
      f.lag_scale = 0.5;
      check_model(&x, f);
      f.harmonic = 0;
      check_model(&x, f);
    }
  small_close(&x);
}

/* ‖v‖_∞ */
static double largest(const double *v, int64_t n) {
  double m = 0;
  for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(v[i]));
  return m;
}

/* δ_k c↑ = 0, d_k c↓ = 0 and P_H(θ' - θ) = -τ P_H Ω, for every degree, layer and substep, with non-zero θ. */
static void hodge_identities(void **state) {
  (void)state;
  for (int shape = 0; shape < SMALL_SHAPES; shape++)
    for (int metric = DEC_UNIT; metric <= DEC_HODGE; metric++) {
      small x;
      model m;
      small_open(&x, (small_shape)shape, (dec_metric)metric);
      dkho_config f = small_config(&x, x.c->dim);
      f.start = DKHO_DETERMINISTIC;
      model_open(&m, &x, f);
      model_predict(&m);
      for (int l = 0; l < f.layers; l++)
        for (int s = 0; s < f.substeps; s++)
          for (int k = 0; k < f.degrees; k++) {
            int64_t n = x.c->n[k] * f.c;
            const double *up = model_value(&m, m.net.up[l][s][k]), *down = model_value(&m, m.net.down[l][s][k]);
            double *out = x.work;
            if (up && k > 0) {
              dec_delta(x.d, k, f.c, up, out);
              assert_true(largest(out, x.c->n[k - 1] * f.c) < 1e-12 * (1 + largest(up, n)));
            }
            if (down && k < x.c->dim) {
              dec_d(x.d, k, f.c, down, out);
              assert_true(largest(out, x.c->n[k + 1] * f.c) < 1e-12 * (1 + largest(down, n)));
            }
            if (up) assert_true(largest(up, n) > 1e-3);
            const double *old = model_value(&m, m.net.theta[l][s][k]), *new = model_value(&m, m.net.theta[l][s + 1][k]);
            const double *drive = model_value(&m, m.net.drive[l][k]), tau = *model_value(&m, m.net.tau[l]);
            for (int64_t i = 0; i < n; i++) out[i] = new[i] - old[i] + tau *drive[i];
            assert_true(largest(out, n) > 1e-6);
            assert_true(largest_projection(&x, k, f.c, out) < 1e-12);
          }
      model_close(&m);
      small_close(&x);
    }
}

/* With drive, gate and lag zero and σ = 1, one step from θ = a·φ is Hodge relaxation up to O(a³). */
static void hodge_limit(void **state) {
  (void)state;
  for (int metric = DEC_UNIT; metric <= DEC_HODGE; metric++) {
    small x;
    small_open(&x, SMALL_TORUS, (dec_metric)metric);
    double error[2];
    for (int i = 0; i < 2; i++) {
      model m;
      dkho_config f = small_config(&x, 1);
      f.start = DKHO_DETERMINISTIC;
      f.layers = f.substeps = 1;
      model_open(&m, &x, f);
      model_calm(&m, (i ? 0.5 : 1) * 1e-3);
      model_predict(&m);
      error[i] = relaxation_error(&m);
      model_close(&m);
    }
    assert_true(error[1] > 0 && fabs(log2(error[0] / error[1]) - 3) < 0.05);
    small_close(&x);
  }
}

/* Hᵀ M û = harm(g), and the two branches are M-orthogonal. */
static void decoder(void **state) {
  (void)state;
  for (int shape = 0; shape < SMALL_SHAPES; shape++)
    for (int metric = DEC_UNIT; metric <= DEC_HODGE; metric++) {
      small x;
      small_open(&x, (small_shape)shape, (dec_metric)metric);
      for (int target = 0; target <= x.c->dim; target++) {
        model m;
        dkho_config f = small_config(&x, target);
        if (f.harmonic == 0) continue;
        f.channels = 3;
        model_open(&m, &x, f);
        model_predict(&m);
        const double *local = model_value(&m, m.net.local), *modes = model_value(&m, m.net.modes);
        int64_t n = x.c->n[target] * f.channels;
        assert_true(largest(local, n) > 1e-3 && largest(modes, n) > 1e-3);
        assert_true(largest_projection(&x, target, f.channels, local) < 1e-12);
        assert_true(fabs(dec_dot(x.d, target, f.channels, local, modes)) < 1e-12 * (double)n);
        for (int64_t i = 0; i < n; i++) x.work[i] = model_value(&m, m.net.predicted)[i] - modes[i];
        assert_true(largest_projection(&x, target, f.channels, x.work) < 1e-12);
        model_close(&m);
      }
      small_close(&x);
    }
}

/* Energy falls along the flow; near zero an Euler step contracts below 2/λ_max and grows above. */
static void kuramoto_reference(void **state) {
  (void)state;
  for (int metric = DEC_UNIT; metric <= DEC_HODGE; metric++) {
    small x;
    small_open(&x, SMALL_ANNULUS, (dec_metric)metric);
    for (int k = 0; k <= x.c->dim; k++) {
      int64_t n = x.c->n[k];
      kuramoto *m;
      rng r = rng_open(4, RNG_TEST, (uint64_t)k);
      double *theta = x.work, *mode = x.work + x.room / 2;
      gc_ok(kuramoto_create(&m, x.d, k, 1, 0.7, 0.7));
      double lambda = top_mode(&x, k, mode);
      for (int64_t i = 0; i < n; i++) theta[i] = rng_range(&r, -3, 3);
      double energy = kuramoto_energy(m, theta), first = energy;
      for (int s = 0; s < 200; s++) {
        gc_ok(kuramoto_flow(m, NULL, 0.5 / (0.7 * lambda), 1, theta));
        double next = kuramoto_energy(m, theta);
        assert_true(next <= energy * (1 + 1e-14));
        energy = next;
      }
      assert_true(energy < 0.8 * first);
      for (int above = 0; above < 2; above++) {
        for (int64_t i = 0; i < n; i++) theta[i] = 1e-7 * mode[i];
        gc_ok(kuramoto_flow(m, NULL, (above ? 2.02 : 1.98) / (0.7 * lambda), 50, theta));
        double growth = sqrt(dec_dot(x.d, k, 1, theta, theta) / dec_dot(x.d, k, 1, mode, mode)) / 1e-7;
        assert_true(above ? growth > 1.5 : growth < 0.7);
      }
      kuramoto_free(m);
    }
    small_close(&x);
  }
}

/* Failing allocations anywhere while a model is built leave nothing behind. */
static void no_memory(void **state) {
  (void)state;
  small x;
  small_open(&x, SMALL_ANNULUS, DEC_HODGE);
  dkho_config f = small_config(&x, 1);
  size_t before = mem_live_blocks();
  for (int64_t n = 1;; n++) {
    mem_fail_at(n);
    dkho_status s = build_and_drop(&x, &f);
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), before);
    if (s == DKHO_OK) break;
    assert_int_equal(s, DKHO_E_MEMORY);
  }
  small_close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(predictions),        cmocka_unit_test(gradients),   cmocka_unit_test(starts),
      cmocka_unit_test(hodge_identities),   cmocka_unit_test(hodge_limit), cmocka_unit_test(decoder),
      cmocka_unit_test(kuramoto_reference), cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
