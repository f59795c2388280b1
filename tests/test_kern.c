/* test_kern.c: every fast kernel on tiles against ref on all instruction sets of this machine: odd widths, odd tile counts, padded strides;
 * the elementary functions against libm in double over dense sets of floats. */
#include "kern_cases.h"

typedef struct {
  kern_fn f;
  float lo, hi;
  double ulp, absolute; /* the bound: ulp·(spacing at the value) + absolute */
} bound;

static double truth(kern_fn f, double x) {
  switch (f) {
  case KERN_SIN:
    return sin(x);
  case KERN_COS:
    return cos(x);
  case KERN_TANH:
    return tanh(x);
  case KERN_ERF:
    return erf(x);
  case KERN_EXP:
    return exp(x);
  case KERN_LOG1P:
    return log1p(x);
  case KERN_SOFTPLUS:
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
  case KERN_SIGMOID:
    return 1 / (1 + exp(-x));
  case KERN_GELU:
    return 0.5 * x * erfc(-x / sqrt(2));
  case KERN_SILU:
    return x / (1 + exp(-x));
  default:
    return 0.5 * erfc(-x / sqrt(2)) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
  }
}

static void check_bound(const kern *k, const bound *b) {
  enum { N = 1024 };
  float x[N], y[N];
  int fill = 0;
  double worst = 0, where = 0;
  /* both signs, all binades, 997 apart in units of the last place: coprime to every power of two */
  for (uint32_t bits = 0; bits < 0x7f800000U; bits += 2 * 997) {
    for (int sign = 0; sign < 2; sign++) {
      uint32_t both = bits | (sign ? 0x80000000U : 0);
      float v;
      memcpy(&v, &both, sizeof v);
      if (v >= b->lo && v <= b->hi) x[fill++] = v;
    }
    if (fill < N - 1 && bits + 2 * 997 < 0x7f800000U) continue;
    k->map(b->f, (size_t)fill, x, y);
    for (int i = 0; i < fill; i++) {
      double t = truth(b->f, (double)x[i]), e = fabs((double)y[i] - t);
      double allowed = b->ulp * (double)(nextafterf(fabsf((float)t), INFINITY) - fabsf((float)t)) + b->absolute;
      if (e / allowed > worst || isnan(e)) worst = isnan(e) ? INFINITY : e / allowed, where = (double)x[i];
    }
    fill = 0;
  }
  if (worst > 1) fail_msg("%s(%.9g) on %s misses its bound %.2f times", kern_fn_name(b->f), where, k->name, worst);
}

static void check_functions(const kern *k) {
  static const bound bounds[] = {
      {KERN_SIN, -1e4F, 1e4F, 0, 1.2e-7},    {KERN_COS, -1e4F, 1e4F, 0, 1.2e-7},
      {KERN_TANH, -1e30F, 1e30F, 0, 1.2e-7}, {KERN_TANH, -0.1F, 0.1F, 2, 1e-45},
      {KERN_ERF, -1e15F, 1e15F, 0, 1.2e-7},  {KERN_EXP, -87, 88, 2, 0},
      {KERN_EXP, -1e30F, -87.5F, 0, 1e-37},  {KERN_LOG1P, -0.999F, 1e30F, 2, 1e-45},
      {KERN_SOFTPLUS, -80, 1e30F, 2, 1e-7},  {KERN_SIGMOID, -1e30F, 1e30F, 0, 1.2e-7},
      {KERN_GELU, -1e15F, 1e15F, 2, 1e-7},   {KERN_GELU_SLOPE, -1e15F, 1e15F, 0, 2e-7},
      {KERN_SILU, -1e30F, 1e30F, 4, 1e-7},
  };
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) check_bound(k, &bounds[i]);
}

static void test_functions(void **state) {
  (void)state;
  each_isa(check_functions);
}

static void check_nan(const kern *k) {
  for (int f = 0; f < KERN_FN_COUNT; f++) {
    float x[3] = {1, NAN, 1}, y[3];
    k->map((kern_fn)f, 3, x, y);
    assert_true(isnan(y[1]) && !isnan(y[0]) && !isnan(y[2]));
  }
}

static void test_nan_is_not_hidden(void **state) {
  (void)state;
  each_isa(check_nan);
}

static void product_case(const kern *k, int tiles, int in, int out) {
  size_t xs = (size_t)(in + 1) * W, ys = (size_t)(out + 2) * W, ld = (size_t)out + 3, ldr = (size_t)kern_pad(out);
  float *x = noise((size_t)tiles * xs, 1, 1), *w = noise((size_t)in * ld, 2, 0.3), *b = noise((size_t)out, 3, 1);
  float *y = noise((size_t)tiles * ys, 4, 1), *yr = noise((size_t)tiles * ys, 4, 1);
  float *r = noise((size_t)tiles * W * ldr, 5, 1), *rr = noise((size_t)tiles * W * ldr, 6, 1);
  float *g = noise((size_t)in * ldr, 7, 1), *gr = noise((size_t)in * ldr, 7, 1);
  for (int add = 0; add < 2; add++) {
    kern_mm(k, tiles, x, xs, in, w, (int)ld, out, b, add, y, ys);
    kern_mm(&kern_ref, tiles, x, xs, in, w, (int)ld, out, b, add, yr, ys);
    assert_close("mm", k, (size_t)tiles * ys, y, yr, 5e-6);
  }
  kern_mm(k, tiles, x, xs, in, w, (int)ld, out, NULL, 0, y, ys);
  kern_mm(&kern_ref, tiles, x, xs, in, w, (int)ld, out, NULL, 0, yr, ys);
  assert_close("mm", k, (size_t)tiles * ys, y, yr, 5e-6);
  for (int i = 0; i < 2; i++) { /* what is beyond the outputs is for nobody */
    memset(r, 0, (size_t)tiles * W * ldr * sizeof *r), memset(rr, 0, (size_t)tiles * W * ldr * sizeof *rr);
    k->mm_rows(tiles, x, xs, in, w, (int)ld, out, i ? b : NULL, r);
    kern_ref.mm_rows(tiles, x, xs, in, w, (int)ld, out, i ? b : NULL, rr);
    assert_close("mm_rows", k, (size_t)tiles * W * ldr, r, rr, 5e-6);
  }
  k->transpose(tiles, yr, ys, out, r);
  kern_ref.transpose(tiles, yr, ys, out, rr);
  assert_memory_equal(r, rr, (size_t)tiles * W * ldr * sizeof *r);
  k->grad_w(tiles, x, xs, in, r, out, g);
  kern_ref.grad_w(tiles, x, xs, in, r, out, gr);
  assert_close("grad_w", k, (size_t)in * ldr, g, gr, 2e-5);
  k->grad_b(tiles, r, out, g);
  kern_ref.grad_b(tiles, r, out, gr);
  assert_close("grad_b", k, ldr, g, gr, 2e-5);
  size_t n = (size_t)((in + 1) * out) * W;
  float *lanes = noise(n, 8, 1), *lanes_r = noise(n, 8, 1);
  k->grad_lanes(tiles, x, xs, in, y, ys, out, lanes);
  kern_ref.grad_lanes(tiles, x, xs, in, y, ys, out, lanes_r);
  assert_close("grad_lanes", k, n, lanes, lanes_r, 1e-5);
  void *all[] = {x, w, b, y, yr, r, rr, g, gr, lanes, lanes_r};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]);
}

/* Two products on a scaled start, y apart from the start and in its place; lines to bring do not change the result. */
static void sum_case(const kern *k, int tiles, int in, int out) {
  size_t xs = (size_t)(in + 2) * W, zs = (size_t)(in + 1) * W, ys = (size_t)(out + 1) * W, n = (size_t)tiles * ys;
  float *x = noise((size_t)tiles * xs, 1, 1), *z = noise((size_t)tiles * zs, 2, 1), *base = noise(n, 3, 1);
  float *w = noise((size_t)(in * out), 4, 0.3), *v = noise((size_t)((in + 1) * (out + 1)), 5, 0.3);
  float *gain = noise((size_t)out, 6, 1), *shift = noise((size_t)out, 7, 1), *y = noise(n, 8, 1), *yr = noise(n, 8, 1);
  kern_sum j = {tiles, out,    2,     {{x, xs, in, w, out}, {z, zs, in + 1, v, out + 1}}, base, ys, gain, shift, yr,
                ys,    {x, z}, {9, 5}};
  kern_ref.mm_sum(&j);
  j.y = y;
  k->mm_sum(&j);
  assert_close("mm_sum", k, n, y, yr, 5e-6);
  j.gain = j.shift = NULL, j.base = j.y = yr, j.lines[0] = j.lines[1] = 0;
  kern_ref.mm_sum(&j);
  j.base = j.y = y;
  k->mm_sum(&j);
  assert_close("mm_sum in place", k, n, y, yr, 5e-6);
  void *all[] = {x, z, base, w, v, gain, shift, y, yr};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]);
}

static void check_products(const kern *k) {
  for (int i = 0; i < WIDTHS; i++)
    for (int o = 0; o < WIDTHS; o++) {
      product_case(k, 1 + (i + 2 * o) % 5, widths[i], widths[o]);
      sum_case(k, 1 + (i + 3 * o) % 5, widths[i], widths[o]);
    }
}

static void test_products(void **state) {
  (void)state;
  each_isa(check_products);
}

static void norm_case(const kern *k, int tiles, int ch) {
  size_t s = (size_t)(ch + 3) * W, n = (size_t)tiles * s;
  float *u = noise(n, 1, 2), *a = noise(n, 1, 2), *gain = noise((size_t)ch, 2, 1);
  float *g = noise(n, 4, 1), *gr = noise(n, 4, 1), *lanes = noise((size_t)ch * 2 * W, 5, 1);
  float *lanes_r = noise((size_t)ch * 2 * W, 5, 1), *h = noise(n, 6, 1), *hr = noise(n, 6, 1);
  float *rs = noise((size_t)tiles * W, 8, 1), *rsr = noise((size_t)tiles * W, 8, 1);
  double loose = ch < 4 ? 1e-3 : 2e-5; /* few channels can divide by a small spread */
  k->norm(tiles, ch, u, s, h, s, rs);
  kern_ref.norm(tiles, ch, u, s, hr, s, rsr);
  assert_close("norm", k, n, h, hr, loose);
  assert_close("norm rstd", k, (size_t)tiles * W, rs, rsr, loose);
  k->norm_back(tiles, ch, g, s, hr, s, rsr, gain, u, s, g, s, lanes);
  kern_ref.norm_back(tiles, ch, gr, s, hr, s, rsr, gain, u, s, gr, s, lanes_r);
  assert_close("norm_back", k, n, g, gr, ch < 4 ? 1e-2 : 5e-5);
  assert_close("norm_back lanes", k, (size_t)ch * 2 * W, lanes, lanes_r, 1e-5);
  k->gelu_norm(tiles, ch, u, s, h, s);
  kern_ref.gelu_norm(tiles, ch, u, s, hr, s);
  assert_close("gelu_norm", k, n, h, hr, loose);
  k->gelu_norm_keep(tiles, ch, u, s, h, s, rs);
  assert_close("gelu_norm_keep", k, n, h, hr, loose);
  kern_ref.gelu_norm_keep(tiles, ch, a, s, hr, s, rsr);
  assert_close("gelu slope", k, n, u, a, 1e-6);
  assert_close("gelu_norm rstd", k, (size_t)tiles * W, rs, rsr, loose);
  void *all[] = {u, a, gain, g, gr, lanes, lanes_r, h, hr, rs, rsr};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]);
}

/* A constant row has no spread: xhat is zero, not noise; a far offset costs no accuracy. */
static void check_offsets(const kern *k) {
  enum { CH = 32 };
  float u[CH * W], h[CH * W], hr[CH * W], rstd[W];
  rng r = rng_open(7, RNG_TEST, 0);
  for (int e = 0; e < CH * W; e++) u[e] = e % W == 0 ? 3 : (float)(1000 * (e % W) + rng_normal(&r));
  k->norm(1, CH, u, CH * W, h, CH * W, rstd);
  kern_ref.norm(1, CH, u, CH * W, hr, CH * W, rstd);
  assert_close("norm of offset rows", k, CH * W, h, hr, 1e-3); /* the input itself has 1e-3 of rounding there */
  for (int c = 0; c < CH; c++) assert_true(fabsf(h[c * W]) < 1e-3F);
}

static void check_norms(const kern *k) {
  for (int i = 0; i < WIDTHS; i++) norm_case(k, 1 + i % 4, widths[i]);
  check_offsets(k);
}

static void test_norms(void **state) {
  (void)state;
  each_isa(check_norms);
}

static void pointwise_case(const kern *k, int tiles, int c) {
  size_t n = (size_t)tiles * (size_t)c * W, ss = (size_t)(2 * c + 1) * W, big = (size_t)tiles * ss;
  size_t n3 = (size_t)tiles * (size_t)(3 * c) * W;
  float *theta = noise(n, 1, 4), *cs = noise(big, 2, 1), *csr = noise(big, 2, 1), *g = noise(big, 3, 1);
  float *gt = noise(n, 4, 1), *gtr = noise(n, 4, 1), *m = noise(n3, 5, 1), *mr = noise(n3, 5, 1);
  float *gm = noise(n3, 6, 1), *p = noise(n3, 7, 1), *pr = noise(n3, 7, 1);
  k->to_rows(tiles, c, g, ss, gt);
  kern_ref.to_rows(tiles, c, g, ss, gtr);
  assert_memory_equal(gt, gtr, n * sizeof *gt);
  k->from_rows(tiles, c, gt, cs, ss);
  for (int t = 0; t < tiles; t++)
    assert_memory_equal(cs + (size_t)t * ss, g + (size_t)t * ss, (size_t)c * W * sizeof *cs);
  kern_ref.from_rows(tiles, c, gt, csr, ss);
  k->phasor(tiles, c, theta, cs, ss);
  kern_ref.phasor(tiles, c, theta, csr, ss);
  assert_close("phasor", k, big, cs, csr, 2e-7);
  k->phasor_back(tiles, c, cs, ss, g, ss, gt);
  kern_ref.phasor_back(tiles, c, cs, ss, g, ss, gtr);
  assert_close("phasor_back", k, n, gt, gtr, 1e-6);
  k->cond(tiles, c, 0.5F, m);
  kern_ref.cond(tiles, c, 0.5F, mr);
  assert_close("cond", k, n3, m, mr, 2e-7);
  k->cond_back(tiles, c, 0.5F, m, gm, p, (size_t)(3 * c) * W);
  kern_ref.cond_back(tiles, c, 0.5F, m, gm, pr, (size_t)(3 * c) * W);
  assert_close("cond_back", k, n3, p, pr, 1e-6);
  for (int i = 0; i < 2; i++) { /* without and with tanh gate */
    float *turn = i ? cs : NULL, *turn_r = i ? csr : NULL;
    memcpy(m, gm, n3 * sizeof *m), memcpy(mr, gm, n3 * sizeof *m);
    k->carrier(tiles, c, m, gt, turn, ss);
    kern_ref.carrier(tiles, c, mr, gtr, turn_r, ss);
    assert_close("carrier maps", k, n3, m, mr, 2e-7);
    assert_close("carrier", k, n, gt, gtr, 4e-7);
    assert_close("tanh gate", k, big, cs, csr, 2e-7);
    k->carrier_back(tiles, c, mr, theta, turn_r, ss, g, p, (size_t)(3 * c) * W);
    kern_ref.carrier_back(tiles, c, mr, theta, turn_r, ss, g, pr, (size_t)(3 * c) * W);
    assert_close("carrier_back", k, n3, p, pr, 2e-6);
  }
  void *all[] = {theta, cs, csr, g, gt, gtr, m, mr, gm, p, pr};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]);
}

/* A random signed matrix of n rows and `cols` columns with 0 … 6 entries a row, as a gather list. */
typedef struct {
  kern_gather list;
  int64_t ptr[200];
  int32_t col[1400], start[20];
  int8_t sign[1400];
  double weight[1400];
  uint32_t at[40 * 10 * W];
  real val[40 * 10 * W];
} sparse;

static sparse *sparse_make(uint64_t stream, int n, int cols, int width, int weighted) {
  sparse *s = mem_alloc(1, sizeof *s);
  rng r = rng_open(2, RNG_TEST, stream);
  for (int i = 0; i < n; i++) {
    int count = (int)rng_below(&r, 7);
    s->ptr[i + 1] = s->ptr[i] + count;
    for (int64_t p = s->ptr[i]; p < s->ptr[i + 1]; p++) {
      s->col[p] = (int32_t)rng_below(&r, (uint64_t)cols);
      s->sign[p] = rng_below(&r, 2) ? 1 : -1;
      s->weight[p] = s->sign[p] * rng_range(&r, 0.5, 2);
    }
  }
  assert_true(kern_gather_slots(n, s->ptr) <= 400);
  assert_int_equal(
      kern_gather_fill(n, s->ptr, s->col, s->sign, s->weight, cols, width, s->start, s->at, weighted ? s->val : NULL),
      DKHO_OK);
  s->list = (kern_gather){kern_tiles(n), s->start, s->at, weighted ? s->val : NULL};
  return s;
}

static float *field(int n, int width, uint64_t stream) { /* with the tile of zeros behind it */
  size_t used = (size_t)kern_tiles(n) * (size_t)width * W;
  float *x = noise(used + (size_t)width * W, stream, 1);
  memset(x + used, 0, (size_t)width * W * sizeof *x);
  return x;
}

static void relation_case(const kern *k, int n, int cols, int c, int weighted) {
  sparse *a = sparse_make(1, n, cols, c, weighted), *b = sparse_make(2, n, cols, c, 0);
  int tiles = kern_tiles(n);
  size_t size = (size_t)tiles * (size_t)c * W;
  float *x = field(cols, c, 1), *y = field(cols, c, 2), *theta = field(n, c, 3), *m = field(n, 3 * c, 4);
  float *o = field(n, c, 5), * or = field(n, c, 5), *gm = field(n, 3 * c, 6), *gmr = field(n, 3 * c, 6);
  float dot[2 * W] = {0}, dotr[2 * W] = {0};
  k->rel_sin(0, tiles, c, &a->list, x, -1, theta, m, o);
  kern_ref.rel_sin(0, tiles, c, &a->list, x, -1, theta, m, or);
  assert_close("rel_sin", k, size, o, or, 3e-6);
  k->rel_step(0, tiles, c, &a->list, x, &b->list, y, 0.3F, 0.7F, theta, m, o);
  kern_ref.rel_step(0, tiles, c, &a->list, x, &b->list, y, 0.3F, 0.7F, theta, m, or);
  assert_close("rel_step", k, size, o, or, 3e-6);
  k->rel_step(0, tiles, c, NULL, NULL, &b->list, y, 0.3F, 0.7F, theta, m, o);
  kern_ref.rel_step(0, tiles, c, NULL, NULL, &b->list, y, 0.3F, 0.7F, theta, m, or);
  assert_close("rel_step, one side", k, size, o, or, 3e-6);
  k->rel_sin_back(0, tiles, c, &a->list, x, 1, theta, m, &b->list, y, -0.4F, o, gm, dot);
  kern_ref.rel_sin_back(0, tiles, c, &a->list, x, 1, theta, m, &b->list, y, -0.4F, or, gmr, dotr);
  assert_close("rel_sin_back", k, size, o, or, 1e-5);
  k->rel_drive_back(0, tiles, c, 0.2F, theta, m, gm, dot);
  kern_ref.rel_drive_back(0, tiles, c, 0.2F, theta, m, gmr, dotr);
  assert_close("g_maps", k, 3 * size, gm, gmr, 1e-5);
  assert_close("dot", k, W, dot, dotr, 1e-4);
  k->rel_step_back(0, tiles, c, &a->list, x, &b->list, y, theta, gmr, m, o);
  kern_ref.rel_step_back(0, tiles, c, &a->list, x, &b->list, y, theta, gmr, m, or);
  assert_close("rel_step_back", k, size, o, or, 1e-5);
  k->rel_step_back(0, tiles, c, NULL, NULL, &b->list, y, NULL, gmr, m, o);
  kern_ref.rel_step_back(0, tiles, c, NULL, NULL, &b->list, y, NULL, gmr, m, or);
  assert_close("rel_step_back, one side", k, size, o, or, 1e-5);
  k->rel_alone(0, tiles, c, 0.3F, 0.7F, theta, m, o);
  kern_ref.rel_alone(0, tiles, c, 0.3F, 0.7F, theta, m, or);
  assert_close("rel_alone", k, size, o, or, 1e-6);
  k->rel_alone_back(0, tiles, c, 0.3F, 0.7F, theta, m, o, gm, dot);
  kern_ref.rel_alone_back(0, tiles, c, 0.3F, 0.7F, theta, m, or, gmr, dotr);
  assert_close("rel_alone_back", k, size, o, or, 1e-5);
  assert_close("rel_alone_back, g_maps", k, 3 * size, gm, gmr, 2e-5);
  assert_close("rel_alone_back, dot", k, 2 * W, dot, dotr, 1e-4);
  void *all[] = {a, b, x, y, theta, m, o, or, gm, gmr};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]);
}

static void check_relations(const kern *k) {
  for (int c = 1; c <= 7; c++) {
    pointwise_case(k, 1 + c % 3, c);
    relation_case(k, 30 * c - 13, 40 + c, c, c % 2);
    relation_case(k, 16, 150 - c, c, (c + 1) % 2);
  }
}

static void test_relations(void **state) {
  (void)state;
  each_isa(check_relations);
}

/* The list is the matrix: out - θ = -τσ·A x row by row, by the plain compressed rows. */
static void test_gather_is_the_matrix(void **state) {
  (void)state;
  enum { N = 77, COLS = 45, C = 3 };
  for (int weighted = 0; weighted < 2; weighted++) {
    sparse *s = sparse_make(9, N, COLS, C, weighted);
    float *x = field(COLS, C, 1), *zero = mem_alloc((size_t)kern_tiles(N) * 3 * C * W, sizeof *zero);
    float *out = mem_alloc((size_t)kern_tiles(N) * C * W, sizeof *out);
    kern_ref.rel_step(0, kern_tiles(N), C, &s->list, x, NULL, NULL, -1, 1, zero, zero, out);
    for (int i = 0; i < N; i++)
      for (int ch = 0; ch < C; ch++) {
        double sum = 0;
        for (int64_t p = s->ptr[i]; p < s->ptr[i + 1]; p++)
          sum += (weighted ? s->weight[p] : s->sign[p]) * (double)x[s->col[p] * C + ch];
        assert_true(fabs((double)out[i * C + ch] - sum) < 1e-5);
      }
    mem_free(s), mem_free(x), mem_free(zero), mem_free(out);
  }
}

/* Rows of random neighbours, none for some simplices, from one list or two, in one part or two, added or not. */
static void carry_case(const kern *k, int tiles, int h, int parts, int count, int add) {
  enum { ROWS = 50, MOST = 5 };
  int n = tiles * W, ys = parts * h * W + 16;
  int64_t *ptr = mem_alloc((size_t)n + 1, sizeof *ptr);
  int32_t *col = mem_alloc((size_t)(n * MOST + KERN_AHEAD), sizeof *col);
  rng r = rng_open(2, RNG_TEST, (uint64_t)(h + parts));
  for (int i = 0; i < n; i++) {
    ptr[i + 1] = ptr[i] + (int64_t)rng_below(&r, MOST);
    for (int64_t e = ptr[i]; e < ptr[i + 1]; e++) col[e] = (int32_t)rng_below(&r, ROWS) * kern_pad(h);
  }
  float *val = noise((size_t)(n * MOST * parts), 4, 1), *x = noise((size_t)(ROWS * kern_pad(h)), 5, 1);
  float *z = noise((size_t)(ROWS * kern_pad(h)), 6, 1), *y = noise((size_t)(tiles * ys), 7, 1);
  float *yr = noise((size_t)(tiles * ys), 7, 1);
  kern_carry from[2] = {{{ptr, col, val}, x}, {{ptr, col, val}, z}};
  k->carry(1, tiles, parts, h, count, from, add, y, (size_t)ys);
  kern_ref.carry(1, tiles, parts, h, count, from, add, yr, (size_t)ys);
  assert_close("carry", k, (size_t)(tiles * ys), y, yr, 1e-5);
  mem_free(ptr), mem_free(col), mem_free(val), mem_free(x), mem_free(z), mem_free(y), mem_free(yr);
}

static void check_carry(const kern *k) {
  for (int i = 0; i < WIDTHS; i++)
    for (int how = 0; how < 8; how++) carry_case(k, 2 + i % 3, widths[i], 1 + how % 2, 1 + how / 2 % 2, how / 4);
}

static void test_carry(void **state) {
  (void)state;
  each_isa(check_carry);
}

static void check_vectors(const kern *k) {
  for (size_t n = 1; n < 200; n = 2 * n + 1) {
    float *g = noise(n, 1, 1), *w = noise(n, 3, 1), *wr = noise(n, 3, 1);
    k->axpy(n, 0.3F, g, w);
    kern_ref.axpy(n, 0.3F, g, wr);
    assert_close("axpy", k, n, w, wr, 1e-6);
    mem_free(g), mem_free(w), mem_free(wr);
  }
}

static void test_vectors(void **state) {
  (void)state;
  each_isa(check_vectors);
}

static void test_choice(void **state) {
  (void)state;
  const kern *k = NULL;
  setenv("DKHO_ISA", "ref", 1);
  assert_int_equal(kern_get(&k), DKHO_OK);
  assert_ptr_equal(k, &kern_ref);
  setenv("DKHO_ISA", "abacus", 1);
  assert_int_equal(kern_get(&k), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "abacus"));
  unsetenv("DKHO_ISA");
  assert_int_equal(kern_get(&k), DKHO_OK);
  assert_ptr_equal(k, kern_find(k->name));
  for (int i = 0; kern_isa(i) && strcmp(kern_isa(i), k->name); i++) assert_null(kern_find(kern_isa(i)));
}

/* One complex product and both of its adjoints, with and without each of them. */
static void check_mode(const kern *k, int in, int out) {
  size_t both = (size_t)(2 * in * out), n = (size_t)in, m = (size_t)out;
  float *w = noise(both, 1, 0.3), *x = noise(2 * n, 2, 1), *gy = noise(2 * m, 3, 1), *y = noise(2 * m, 4, 1),
        *yr = noise(2 * m, 4, 1);
  const kern_mode mode = {in, out, x, x + n, w};
  k->mode_mm(&mode, y, y + m), kern_ref.mode_mm(&mode, yr, yr + m);
  assert_close("mode_mm", k, 2 * m, y, yr, 5e-6);
  for (int skip = 0; skip < 3; skip++) {
    float *g = noise(2 * n, 5, 1), *gr = noise(2 * n, 5, 1), *gw = noise(both, 6, 1), *gwr = noise(both, 6, 1);
    k->mode_back(&mode, gy, gy + m, skip == 1 ? NULL : g, skip == 1 ? NULL : g + n, skip == 2 ? NULL : gw);
    kern_ref.mode_back(&mode, gy, gy + m, skip == 1 ? NULL : gr, skip == 1 ? NULL : gr + n, skip == 2 ? NULL : gwr);
    assert_close("mode_back", k, 2 * n, g, gr, 5e-6);
    assert_close("mode_back, weights", k, both, gw, gwr, 5e-6);
    mem_free(g), mem_free(gr), mem_free(gw), mem_free(gwr);
  }
  mem_free(w), mem_free(x), mem_free(gy), mem_free(y), mem_free(yr);
}

static void check_modes(const kern *k) {
  static const int sizes[] = {1, 3, 8, 9, 16, 17, 20, 31, 32, 33, 50};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  for (int a = 0; a < COUNT * COUNT; a++) check_mode(k, sizes[a / COUNT], sizes[a % COUNT]);
}

static void test_modes(void **state) {
  (void)state;
  each_isa(check_modes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions), cmocka_unit_test(test_nan_is_not_hidden),
      cmocka_unit_test(test_products),  cmocka_unit_test(test_norms),
      cmocka_unit_test(test_relations), cmocka_unit_test(test_gather_is_the_matrix),
      cmocka_unit_test(test_carry),     cmocka_unit_test(test_vectors),
      cmocka_unit_test(test_choice),    cmocka_unit_test(test_modes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
