/* test_features.c: descriptors: widths of the benchmark tables, values against formulas written out here in double,
 * linearity, d∘d = 0, the compact form against the full one, refusals, failing allocations. */
#include "scratch.h"

#include "feature_tables.h"

#include <math.h>

/* One evaluation with buffers of its own. */
typedef struct run {
  features *f;
  real *work, *out[CX_DEGREES], *sample[CX_DEGREES], *summary;
} run;

static run run_make(const bench *b, feat_profile p, int modes) {
  run r = {0};
  assert_int_equal(
      features_create(&r.f, &b->table, b->c, b->fields, b->field, (const double *const *)b->array, p, modes), DKHO_OK);
  assert_non_null(MEM_NEW(r.work, features_work_size(r.f)));
  for (int k = 0; k <= b->c->dim; k++) {
    assert_non_null(MEM_NEW(r.out[k], b->c->n[k] * features_width(r.f, k)));
    assert_non_null(MEM_NEW(r.sample[k], b->c->n[k] * features_class_width(r.f, k, FEAT_CLASS_SAMPLE)));
  }
  assert_non_null(MEM_NEW(r.summary, features_summary_width(r.f)));
  return r;
}

static void run_free(run *r) {
  features_free(r->f);
  mem_free(r->work);
  mem_free(r->summary);
  for (int k = 0; k < CX_DEGREES; k++) mem_free(r->out[k]), mem_free(r->sample[k]);
}

static void noise(float *u, int64_t n, uint64_t index) {
  rng r = rng_open(9, RNG_TEST, index);
  for (int64_t i = 0; i < n; i++) u[i] = (float)rng_range(&r, -1, 1);
}

static const double g_raw[2] = {0.7, -1.3};
static const double *const global_raw[] = {g_raw};

static void eval(run *r, const float *u) {
  features_eval(r->f, &u, global_raw, r->work, r->out, r->summary);
}

static void expect_widths(const bench *b, feat_profile p, int modes, int w0, int w1, int w2, int s) {
  run r = run_make(b, p, modes);
  assert_int_equal(features_width(r.f, 0), w0);
  assert_int_equal(features_width(r.f, 1), w1);
  assert_int_equal(features_width(r.f, 2), w2);
  assert_int_equal(features_summary_width(r.f), s);
  assert_int_equal(features_top(r.f), 2);
  run_free(&r);
}

static void test_widths(void **state) {
  (void)state;
  bench d = bench_darcy(), t = bench_torus(), c = bench_cavity();
  expect_widths(&d, FEAT_NATIVE, 16, 12, 14, 12, 6);
  expect_widths(&d, FEAT_SPECTRAL, 16, 28, 30, 28, 6);
  expect_widths(&d, FEAT_DIFFUSION, 16, 31, 33, 31, 6);
  expect_widths(&d, FEAT_SUMMARY, 16, 37, 39, 37, 6);
  expect_widths(&t, FEAT_NATIVE, 16, 7, 6, 10, 12);
  expect_widths(&t, FEAT_SUMMARY, 8, 27, 24, 28, 12);
  expect_widths(&t, FEAT_SUMMARY, 16, 35, 32, 36, 12);
  expect_widths(&c, FEAT_NATIVE, 16, 5, 8, 8, 4);
  expect_widths(&c, FEAT_BOUNDARY, 16, 12, 15, 15, 4);
  expect_widths(&c, FEAT_SUMMARY, 16, 36, 39, 39, 4);
  bench_free(&d), bench_free(&t), bench_free(&c);
}

static void near(double got, double want) {
  if (fabs(got - want) > 60 * REAL_EPS * (1 + fabs(want))) {
    print_error("found %.17g, expected %.17g\n", got, want);
    assert_true(0);
  }
}

/* Every Darcy column against its formula. */
static void test_darcy_values(void **state) {
  (void)state;
  bench b = bench_darcy();
  const cx *c = b.c;
  run r = run_make(&b, FEAT_SUMMARY, 16);
  float raw[64];
  double u[64], v[64], dv[128], lv[64], lift[64], heat[3][64];
  noise(raw, c->n[0], 1);
  eval(&r, raw);
  const double *label = b.array[8], *w = b.array[16], *pos = b.array[2];
  double g[2] = {(g_raw[0] - 0.5) / 4, (g_raw[1] - 0.5) / 4};
  for (int64_t i = 0; i < c->n[0]; i++) {
    v[i] = u[i] = ((double)raw[i] - 0.25) / 2;
    lift[i] = g[0] * label[4 * i + 2] + g[1] * label[4 * i + 3];
  }
  for (int step = 1, h = 0; step <= 12; step++) {
    cx_d(c, 0, 1, v, dv);
    cx_dt(c, 0, 1, dv, lv);
    for (int64_t i = 0; i < c->n[0]; i++) v[i] -= 0.01 * lv[i];
    if (step == 1 || step == 4 || step == 12) memcpy(heat[h++], v, sizeof v);
  }
  double s[6] = {g[0], g[1]}, total = 0;
  for (int64_t i = 0; i < c->n[0]; i++) {
    total += w[i];
    s[2] += w[i] * u[i], s[3] += w[i] * u[i] * pos[2 * i], s[4] += w[i] * u[i] * pos[2 * i + 1];
    s[5] += w[i] * u[i] * u[i];
  }
  near(total, 1);
  s[5] = sqrt(s[5] + 1e-12);
  for (int j = 0; j < 6; j++) near(r.summary[j], s[j]);
  for (int64_t i = 0; i < c->n[0]; i++) {
    const real *x = r.out[0] + 37 * i;
    near(x[0], u[i]), near(x[1], lift[i]), near(x[3], pos[2 * i + 1]), near(x[8 + i % 4], 1);
    near(x[12], b.array[13][16 * i]), near(x[27], b.array[13][16 * i + 15]);
    for (int h = 0; h < 3; h++) near(x[28 + h], heat[h][i]);
    for (int j = 0; j < 6; j++) near(x[31 + j], s[j]);
  }
  for (int64_t e = 0; e < c->n[1]; e++) {
    const real *x = r.out[1] + 39 * e;
    int32_t a = c->vert[1][2 * e], z = c->vert[1][2 * e + 1];
    near(x[0], u[z] - u[a]), near(x[1], lift[z] - lift[a]), near(x[6], b.array[11][e]);
    for (int h = 0; h < 3; h++) near(x[30 + h], heat[h][z] - heat[h][a]);
  }
  for (int64_t f = 0; f < c->n[2]; f++) {
    const real *x = r.out[2] + 37 * f;
    const int32_t *t = c->vert[2] + 3 * f;
    double third = c->measure[2][f] / 3;
    near(x[0], third * (u[t[0]] + u[t[1]] + u[t[2]]));
    near(x[8], (label[4 * t[0]] + label[4 * t[1]] + label[4 * t[2]]) / 3);
    for (int h = 0; h < 3; h++) near(x[28 + h], third * (heat[h][t[0]] + heat[h][t[1]] + heat[h][t[2]]));
  }
  run_free(&r), bench_free(&b);
}

static void test_torus_values(void **state) {
  (void)state;
  bench b = bench_torus();
  const cx *c = b.c;
  run r = run_make(&b, FEAT_SUMMARY, 8);
  float raw[64];
  double u[64], q[256], divq[64], curlq[256], divv[64];
  noise(raw, c->n[0], 2);
  eval(&r, raw);
  const double *ve = b.array[4], *w = b.array[11], *fourier = b.array[12];
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = ((double)raw[i] - 0.25) / 2;
  double total = 0, s[12] = {0}, square = 0;
  for (int64_t e = 0; e < c->n[1]; e++) {
    int32_t a = c->vert[1][2 * e], z = c->vert[1][2 * e + 1];
    q[e] = 0.5 * (u[a] + u[z]) * ve[e];
    square += (u[z] - u[a]) * (u[z] - u[a]) / (double)c->n[1];
  }
  cx_dt(c, 0, 1, q, divq), cx_d(c, 1, 1, q, curlq), cx_dt(c, 0, 1, ve, divv);
  for (int64_t i = 0; i < c->n[0]; i++) total += w[i];
  for (int64_t i = 0; i < c->n[0]; i++) {
    s[0] += w[i] / total * u[i], s[1] += w[i] / total * u[i] * u[i];
    for (int j = 0; j < 8; j++) s[4 + j] += w[i] / total * u[i] * fourier[8 * i + j];
  }
  s[2] = sqrt(s[1] - s[0] * s[0]), s[1] = sqrt(s[1]), s[3] = sqrt(square);
  for (int j = 0; j < 12; j++) near(r.summary[j], s[j]);
  for (int64_t i = 0; i < c->n[0]; i++) {
    const real *x = r.out[0] + 27 * i;
    near(x[4], divv[i]), near(x[5], divq[i]), near(x[6], b.array[5][i]), near(x[17], s[1]), near(x[18], s[2]);
    for (int j = 0; j < 8; j++) near(x[19 + j], s[4 + j]);
  }
  for (int64_t e = 0; e < c->n[1]; e++) near(r.out[1][24 * e + 5], q[e]);
  for (int64_t f = 0; f < c->n[2]; f++) near(r.out[2][28 * f], 0), near(r.out[2][28 * f + 2], curlq[f]);
  run_free(&r), bench_free(&b);
}

/* Floors and additions: a field that is zero after scaling. */
static void test_floors(void **state) {
  (void)state;
  bench d = bench_darcy(), t = bench_torus();
  run r = run_make(&d, FEAT_SUMMARY, 16), q = run_make(&t, FEAT_SUMMARY, 8);
  float raw[64];
  for (int i = 0; i < 64; i++) raw[i] = 0.25f;
  eval(&r, raw), eval(&q, raw);
  near(r.summary[5] * 1e6, 1), near(q.summary[1] * 1e6, 1), near(q.summary[2] * 1e6, 1), near(q.summary[3] * 1e6, 1);
  run_free(&r), run_free(&q), bench_free(&d), bench_free(&t);
}

/* Sample columns are affine in the raw input: F(½u + ½v) = ½F(u) + ½F(v). */
static void test_linearity(void **state) {
  (void)state;
  bench all[] = {bench_darcy(), bench_torus(), bench_cavity()};
  for (int n = 0; n < 3; n++) {
    run r = run_make(&all[n], FEAT_DIFFUSION, 16), s = run_make(&all[n], FEAT_DIFFUSION, 16),
        t = run_make(&all[n], FEAT_DIFFUSION, 16);
    float u[64], v[64], m[64];
    noise(u, all[n].c->n[0], 3), noise(v, all[n].c->n[0], 4);
    for (int i = 0; i < all[n].c->n[0]; i++) m[i] = 0.5f * u[i] + 0.5f * v[i];
    eval(&r, u), eval(&s, v), eval(&t, m);
    for (int k = 0; k <= 2; k++)
      for (int64_t i = 0; i < all[n].c->n[k] * features_width(r.f, k); i++)
        assert_true(fabs(0.5 * (double)(r.out[k][i] + s.out[k][i]) - (double)t.out[k][i]) < 1e-6);
    run_free(&r), run_free(&s), run_free(&t), bench_free(&all[n]);
  }
}

/* d(d(u)) and dt(dt(w)) vanish exactly on small whole numbers. */
static void test_exactness(void **state) {
  (void)state;
  static const data_field fields[] = {{.name = "u", .role = DATA_INPUT, .degree = 0, .channels = 2, .scale = 1},
                                      {.name = "w", .role = DATA_INPUT, .degree = 2, .channels = 1, .scale = 1}};
  static const feat_row rows[] = {
      {"dd", 2, FEAT_NATIVE, "d(d(u))"}, {"tt", 0, FEAT_NATIVE, "dt(dt(w))"}, {"top", 3, FEAT_NATIVE, "d(d(d(u)))"}};
  bench b = {{3, 0, rows, NULL}, 2, fields, tetrahedra(), {0}};
  run r = run_make(&b, FEAT_NATIVE, 1);
  float u[12], w[64];
  for (int i = 0; i < 12; i++) u[i] = (float)(i * i % 7);
  for (int64_t i = 0; i < b.c->n[2]; i++) w[i] = (float)(i * 5 % 11);
  const float *in[] = {u, w};
  features_eval(r.f, in, NULL, r.work, r.out, r.summary);
  for (int64_t i = 0; i < 2 * b.c->n[2]; i++) assert_true(r.out[2][i] == 0);
  for (int64_t i = 0; i < b.c->n[0]; i++) assert_true(r.out[0][i] == 0);
  assert_int_equal(features_top(r.f), 3);
  assert_int_equal(features_width(r.f, 1), 0);
  run_free(&r), bench_free(&b);
}

/* Means around vertices, standardised statics, and rows for one reader. */
static void test_readers(void **state) {
  (void)state;
  static const data_field fields[] = {{.name = "w", .role = DATA_INPUT, .degree = 3, .channels = 1, .scale = 1},
                                      {.name = "s", .role = DATA_STATIC, .degree = 0, .channels = 1, .scale = 1}};
  static const feat_row rows[] = {{"common", 0, FEAT_NATIVE, "s"},
                                  {"common", 3, FEAT_NATIVE, "w"},
                                  {"around", 0, FEAT_NATIVE, "for(someone, around(w))"},
                                  {"unit", 0, FEAT_NATIVE, " for ( someone , unit(s) ) "}};
  const feat_table t = {4, 0, rows, NULL};
  cx *c = tetrahedra();
  double still[64];
  float w[64];
  for (int64_t i = 0; i < c->n[0]; i++) still[i] = (double)(i * i % 5);
  for (int64_t i = 0; i < c->n[3]; i++) w[i] = (float)(1 + i);
  const double *array[] = {NULL, still};
  const float *in[] = {w};
  features *f;
  static const char *const reader[] = {NULL, "nobody", "someone"};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(features_create_for(&f, &t, reader[i], c, 2, fields, array, FEAT_NATIVE, 1), DKHO_OK);
    assert_int_equal(features_width(f, 0), i == 2 ? 2 : 1);
    assert_int_equal(features_width(f, 3), 1);
    if (i < 2) features_free(f);
  }
  real out0[128], out3[64], summary[1], *out[CX_DEGREES] = {out0, NULL, NULL, out3}, work[512];
  assert_true(features_work_size(f) <= 512);
  features_eval(f, in, NULL, work, out, summary);
  double mean = 0, square = 0;
  for (int64_t v = 0; v < c->n[0]; v++) {
    double sum = 0, count = 0;
    for (int64_t i = 0; i < 4 * c->n[3]; i++)
      if (c->vert[3][i] == v) sum += (double)w[i / 4], count++;
    assert_true(fabs((double)out0[2 * v] - sum / count) < 1e-6);
    mean += (double)out0[2 * v + 1], square += (double)(out0[2 * v + 1] * out0[2 * v + 1]);
  }
  assert_true(fabs(mean) < 1e-5 && fabs(square / (double)c->n[0] - 1) < 1e-5);
  features_free(f);
  cx_free(c);
}

/* The column map puts static, sample and summary values together to the full rows, bit for bit; what the work array
 * holds before does not matter. */
static void test_compact(void **state) {
  (void)state;
  bench all[] = {bench_darcy(), bench_torus(), bench_cavity()};
  for (int n = 0; n < 3; n++) {
    run r = run_make(&all[n], FEAT_SUMMARY, 16);
    float raw[64];
    const float *in = raw;
    real summary[16];
    noise(raw, all[n].c->n[0], 5);
    eval(&r, raw);
    memset(r.work, 0x55, features_work_size(r.f) * sizeof *r.work);
    features_eval_sample(r.f, &in, global_raw, r.work, r.sample, summary);
    assert_memory_equal(summary, r.summary, sizeof *summary * (size_t)features_summary_width(r.f));
    for (int k = 0; k <= 2; k++) {
      int width = features_width(r.f, k), seen = 0;
      int ws = features_class_width(r.f, k, FEAT_CLASS_STATIC), wm = features_class_width(r.f, k, FEAT_CLASS_SAMPLE);
      for (int j = 0; j < width; j++) {
        feat_column col = features_columns(r.f, k)[j];
        assert_int_equal(all[n].table.row[col.row].degree, k);
        seen += col.cls == FEAT_CLASS_GLOBAL;
        for (int64_t i = 0; i < all[n].c->n[k]; i++) {
          real v = col.cls == FEAT_CLASS_STATIC   ? features_static(r.f, k)[i * ws + col.slot]
                   : col.cls == FEAT_CLASS_SAMPLE ? r.sample[k][i * wm + col.slot]
                                                  : summary[col.slot];
          assert_memory_equal(&v, &r.out[k][i * width + j], sizeof v);
        }
      }
      assert_int_equal(ws + wm + seen, width);
      assert_int_equal(seen, features_class_width(r.f, k, FEAT_CLASS_GLOBAL));
    }
    run_free(&r), bench_free(&all[n]);
  }
}

/* The shares of one-off, per-sample and broadcast columns that make the encoder cheap. */
static void test_classes(void **state) {
  (void)state;
  bench d = bench_darcy();
  run r = run_make(&d, FEAT_SUMMARY, 16);
  const int fixed[] = {26, 28, 27};
  for (int k = 0; k <= 2; k++) {
    assert_int_equal(features_class_width(r.f, k, FEAT_CLASS_STATIC), fixed[k]);
    assert_int_equal(features_class_width(r.f, k, FEAT_CLASS_GLOBAL), 6);
  }
  run_free(&r), bench_free(&d);
}

static const struct {
  int degree;
  const char *expr, *expect;
} refused[] = {
    {0, "nothing", "no field is called nothing"},
    {0, "p", "p is a target; descriptors may not see targets"},
    {0, "mean(p, 0)", "p is a target"},
    {1, "f", "has degree 0, expected 1"},
    {0, "g", "has degree -1, expected 0 (a number per sample; use broadcast)"},
    {2, "d(K2)", "d() of something that has no coboundary"},
    {0, "dt(f)", "dt() takes a cochain of degree 1 or more"},
    {0, "around(f)", "around() takes a cochain of degree 1 or more"},
    {0, "unit(f)", "unit() takes something static"},
    {0, "for(f)", "for() takes a name and an expression"},
    {0, "for(a, f", "for() without its closing bracket"},
    {0, "for(a, f) g", "unexpected text"},
    {0, "for(a, for(b, f))", "no operation is called for"},
    {0, "d(g)", "d() of something that has no coboundary"},
    {1, "mean(d(f), 1)", "mean() and integral() take a vertex field"},
    {2, "mean(f, 3)", "3 is not a whole number from 1 to 2"},
    {1, "mean(f, 1.5)", "1.5 is not a whole number"},
    {1, "flux(f, position1)", "flux() takes a static edge field with one channel"},
    {1, "flux(f, d(f))", "flux() takes a static edge field"},
    {1, "flux(d(f), length)", "flux() takes a vertex field first"},
    {0, "heat(f, 0, 1)", "the step of heat() must be positive"},
    {0, "heat(f, 0.1, 4, 1)", "the counts of heat() must ascend"},
    {0, "heat(f, 0.1)", "heat() has 2 arguments"},
    {0, "lift(g, label0)", "lift() of 2 values onto 4 columns"},
    {0, "lift(f, label0)", "lift() takes the name of a global field first"},
    {0, "columns(label0, 3, 2)", "2 is not a whole number from 1 to 1"},
    {0, "columns(f, 0, 1)", "columns() and modes() take the name of a static array"},
    {0, "zero(5, 1)", "5 is not a whole number from 0 to 2"},
    {0, "curl(f)", "no operation is called curl"},
    {0, "d(f", "expected , or ) at character 4"},
    {0, "f f", "unexpected text at character 3"},
    {0, "", "unexpected end at character 1"},
    {0, "0.5", "a number alone"},
    {0, "d(1)", "argument 1 of d() must be an expression"},
    {1, "mean(f, f)", "argument 2 of mean() must be a number"},
    {0, "broadcast(nobody)", "no summary entry is called \"nobody\""},
    {0, "broadcast(g", "expected , or )"},
    {0, "average(f, 1)", "has degree -1, expected 0"},
    {0, "f(((", "no operation is called f"},
    {0, "d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(dt(d(f", "too deeply"},
    {3, "f", "degree 3 of a complex of dimension 2"}};

static void test_refusals(void **state) {
  (void)state;
  bench b = bench_darcy();
  size_t live = mem_live_blocks();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    feat_row row = {"the row", refused[i].degree, FEAT_NATIVE, refused[i].expr};
    feat_table t = {1, 4, &row, darcy_summary};
    assert_int_equal(feat_check(&t, 2, b.fields, b.field), DKHO_E_INPUT);
    if (!strstr(fail_text(), refused[i].expect) || !strstr(fail_text(), "\"the row\"")) {
      print_error("\"%s\": expected \"%s\"\n", fail_text(), refused[i].expect);
      assert_true(0);
    }
    assert_int_equal(mem_live_blocks(), live);
  }
  bench_free(&b);
}

static void test_summary_refusals(void **state) {
  (void)state;
  static const struct {
    const char *expr, *expect;
  } bad[] = {{"f", "is a cochain, expected numbers"},
             {"value(f)", "value() takes the name of a global field"},
             {"average(g, 1)", "a summary is taken of a cochain"},
             {"average(f, 2)", "a weight is a static field or the number 1"},
             {"average(f, f)", "a weight must be static"},
             {"average(f, area)", "a weight must be static, of the field's degree"},
             {"moment(f, weight, tangent)", "moment() takes a static array of the field's degree"},
             {"rms(f, weight, -1)", "additions and floors cannot be negative"},
             {"rms(f)", "rms() has 1 arguments"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    feat_summary s = {"it", bad[i].expr};
    feat_table t = {0, 1, NULL, &s};
    assert_int_equal(feat_check(&t, 2, sizeof darcy_fields / sizeof *darcy_fields, darcy_fields), DKHO_E_INPUT);
    assert_non_null(strstr(fail_text(), bad[i].expect));
  }
  feat_summary twice[] = {{"it", "value(g)"}, {"it", "value(g)"}};
  feat_table t = {0, 2, NULL, twice};
  assert_int_equal(feat_check(&t, 2, sizeof darcy_fields / sizeof *darcy_fields, darcy_fields), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "two summary entries have this name"));
}

static void test_bad_values(void **state) {
  (void)state;
  bench b = bench_darcy();
  features *f = NULL;
  const double *const *array = (const double *const *)b.array;
  assert_int_equal(features_create(&f, &b.table, b.c, b.fields, b.field, array, FEAT_SUMMARY, 17), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "17 modes asked of an array with 16 columns"));
  b.array[5][3] = NAN;
  assert_int_equal(features_create(&f, &b.table, b.c, b.fields, b.field, array, FEAT_SUMMARY, 16), DKHO_E_NONFINITE);
  assert_non_null(strstr(fail_text(), "static field K0: element 3"));
  b.array[5][3] = 0;
  for (int64_t i = 0; i < b.c->n[0]; i++) b.array[16][i] = 0;
  assert_int_equal(features_create(&f, &b.table, b.c, b.fields, b.field, array, FEAT_SUMMARY, 16), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "weight weight: the sum is 0"));
  assert_null(f);
  feat_profile p;
  assert_int_equal(feat_profile_parse("everything", &p), DKHO_E_INPUT);
  for (int i = 0; i < FEAT_GROUPS; i++) {
    assert_int_equal(feat_profile_parse(feat_profile_name((feat_profile)i), &p), DKHO_OK);
    assert_int_equal(p, i);
  }
  bench_free(&b);
}

static void test_no_memory(void **state) {
  (void)state;
  bench b = bench_torus();
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    features *f = NULL;
    mem_fail_at(n);
    s = features_create(&f, &b.table, b.c, b.fields, b.field, (const double *const *)b.array, FEAT_SUMMARY, 16);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    features_free(f);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(n < 1000);
  }
  bench_free(&b);
}

/* Tables made from fields alone compile and evaluate on curves, surfaces and solids. */
static void test_generic(void **state) {
  (void)state;
  static const double line[] = {0, 0, 1, 0, 2, 1, 3, 3};
  static const int32_t edges[] = {0, 1, 1, 2, 2, 3};
  for (int dim = 1; dim <= 3; dim++) {
    bench b = {0};
    if (dim == 1)
      assert_int_equal(cx_build(&b.c, 2, 4, line, 1, 3, edges, CX_APPEARANCE), DKHO_OK);
    else
      b.c = dim == 2 ? square(3) : tetrahedra();
    const data_field fields[] = {{.name = "u", .role = DATA_INPUT, .channels = 2, .scale = 1},
                                 {.name = "q", .role = DATA_INPUT, .degree = 1, .channels = 1, .scale = 1},
                                 {.name = "Re", .role = DATA_GLOBAL, .channels = 3, .scale = 1},
                                 FIXED("position0", 0, b.c->gdim),
                                 FIXED("kappa", 0, 1),
                                 FIXED("weight", 0, 1),
                                 FIXED("spectral1", 1, 6),
                                 FIXED("distance0", 0, 2),
                                 OUT("y", 0, 1)};
    arena mem = {0};
    b.field = fields, b.fields = sizeof fields / sizeof *fields;
    assert_int_equal(feat_generic(&b.table, &mem, dim, 0.02, b.fields, fields), DKHO_OK);
    bench_fill(&b, 4);
    run r = run_make(&b, FEAT_SUMMARY, 4);
    assert_int_equal(features_top(r.f), dim);
    /* u 2, dt q 1, Re 3, position, kappa 1, distance 2, heat 6, summary of u 2+2+2·gdim and of q 2 */
    assert_int_equal(features_width(r.f, 0), 2 + 1 + 3 + b.c->gdim + 1 + 2 + 6 + 4 + 2 * b.c->gdim + 2);
    assert_int_equal(features_class_width(r.f, 1, FEAT_CLASS_STATIC), 1 + 4 + 2);
    /* du 2, mean u 2, q 1, Re 3, kappa 1, spectral 4, distance 2, d of heat 6, summaries */
    assert_int_equal(features_width(r.f, 1), 2 + 2 + 1 + 3 + 1 + 4 + 2 + 6 + 4 + 2 * b.c->gdim + 2);
    float u[64], q[128];
    const double re[] = {1, 2, 3}, *const global[] = {re};
    const float *in[] = {u, q};
    noise(u, 2 * b.c->n[0], 6), noise(q, b.c->n[1], 7);
    features_eval(r.f, in, global, r.work, r.out, r.summary);
    for (int k = 0; k <= dim; k++)
      for (int64_t i = 0; i < b.c->n[k] * features_width(r.f, k); i++) assert_true(isfinite(r.out[k][i]));
    run_free(&r), bench_free(&b), arena_free(&mem);
  }
}

/* Heat of a field of three channels is the heat of each; on meshes whose vertices fill the slices of the evaluation, and not. */
static void test_wide_heat(void **state) {
  (void)state;
  enum { CH = 3, STEPS = 2 };
  static const data_field fields[] = {FIXED("S", 0, CH)};
  static const feat_row rows[] = {{"wide", 0, FEAT_NATIVE, "heat(S, 0.02, 1, 3)"},
                                  {"first", 0, FEAT_NATIVE, "heat(columns(S, 0, 1), 0.02, 1, 3)"},
                                  {"second", 0, FEAT_NATIVE, "heat(columns(S, 1, 1), 0.02, 1, 3)"},
                                  {"third", 0, FEAT_NATIVE, "heat(columns(S, 2, 1), 0.02, 1, 3)"}};
  const feat_table table = {.rows = 4, .row = rows};
  for (int side = 3; side <= 7; side++) {
    cx *c = square(side);
    int64_t n = c->n[0];
    bench b = {.table = table, .fields = 1, .field = fields, .c = c};
    assert_non_null(MEM_NEW(b.array[0], n * CH));
    rng noises = rng_open(9, RNG_TEST, (uint64_t)side);
    for (int64_t i = 0; i < n * CH; i++) b.array[0][i] = rng_range(&noises, -1, 1);
    run r = run_make(&b, FEAT_NATIVE, 1);
    assert_int_equal(features_width(r.f, 0), 2 * CH * STEPS);
    eval(&r, NULL);
    for (int64_t i = 0; i < n; i++)
      for (int q = 0; q < CH; q++)
        for (int h = 0; h < STEPS; h++) {
          const real *x = r.out[0] + i * 2 * CH * STEPS;
          assert_true(x[h * CH + q] == x[CH * STEPS + q * STEPS + h]);
        }
    run_free(&r);
    bench_free(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_widths),    cmocka_unit_test(test_darcy_values), cmocka_unit_test(test_torus_values),
      cmocka_unit_test(test_floors),    cmocka_unit_test(test_linearity),    cmocka_unit_test(test_readers),
      cmocka_unit_test(test_exactness), cmocka_unit_test(test_compact),      cmocka_unit_test(test_classes),
      cmocka_unit_test(test_refusals),  cmocka_unit_test(test_bad_values),   cmocka_unit_test(test_summary_refusals),
      cmocka_unit_test(test_no_memory), cmocka_unit_test(test_generic),      cmocka_unit_test(test_wide_heat)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
