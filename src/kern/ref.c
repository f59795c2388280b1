/* ref.c: the definition of every kernel, in plain loops; float in the product, double in the twin that checks
 * gradients. Inner sums and functions are taken in double, so the fast tables can be judged by it. Not made for speed. */
#include "kern/kern.h"
#include "kern/ref_impl.h"

#include <math.h>

enum { W = KERN_LANES };
static const double norm_eps = 1e-5;

static double ref_dot(const kern_term *m, size_t tile, int o, int l) {
  double s = 0;
  for (int i = 0; i < m->in; i++)
    s += (double)m->x[tile * m->xs + (size_t)(i * W + l)] * (double)m->w[(size_t)i * (size_t)m->ld + (size_t)o];
  return s;
}

static void ref_mm_sum(const kern_sum *j) {
  for (size_t t = 0; t < (size_t)j->tiles; t++)
    for (int o = 0; o < j->out; o++)
      for (int l = 0; l < W; l++) {
        double s = j->base ? (double)j->base[t * j->bs + (size_t)(o * W + l)] : 0;
        s = s * (j->gain ? (double)j->gain[o] : 1) + (j->shift ? (double)j->shift[o] : 0);
        for (int q = 0; q < j->terms; q++) s += ref_dot(&j->term[q], t, o, l);
        j->y[t * j->ys + (size_t)(o * W + l)] = (real)s;
      }
}

static void ref_mm_rows(int tiles, const real *x, size_t xs, int in, const real *w, int ld, int out, const real *b,
                        real *r) {
  kern_term one = {x, xs, in, w, ld};
  for (int i = 0; i < tiles * W; i++, r += kern_pad(out))
    for (int o = 0; o < out; o++) r[o] = (real)((b ? (double)b[o] : 0) + ref_dot(&one, (size_t)(i / W), o, i % W));
}

static void ref_transpose(int tiles, const real *x, size_t xs, int ch, real *r) {
  int ldr = kern_pad(ch);
  for (int t = 0; t < tiles; t++, x += xs)
    for (int l = 0; l < W; l++, r += ldr)
      for (int k = 0; k < ldr; k++) r[k] = k < ch ? x[k * W + l] : 0;
}

static void ref_grad_w(int tiles, const real *x, size_t xs, int in, const real *r, int out, real *gw) {
  size_t ldr = (size_t)kern_pad(out);
  for (int i = 0; i < in; i++)
    for (size_t o = 0; o < ldr; o++) {
      double s = (double)gw[(size_t)i * ldr + o];
      for (int t = 0; t < tiles; t++)
        for (int l = 0; l < W; l++)
          s += (double)x[(size_t)t * xs + (size_t)(i * W + l)] * (double)r[(size_t)(t * W + l) * ldr + o];
      gw[(size_t)i * ldr + o] = (real)s;
    }
}

static void ref_grad_lanes(int tiles, const real *x, size_t xs, int in, const real *g, size_t gs, int out,
                           real *lanes) {
  for (int t = 0; t < tiles; t++, x += xs, g += gs)
    for (int i = 0; i <= in; i++)
      for (int o = 0; o < out; o++)
        for (int l = 0; l < W; l++) lanes[(i * out + o) * W + l] += (i < in ? x[i * W + l] : 1) * g[o * W + l];
}

static void ref_grad_b(int tiles, const real *r, int out, real *gb) {
  size_t ldr = (size_t)kern_pad(out);
  for (size_t o = 0; o < ldr; o++) {
    double s = (double)gb[o];
    for (int row = 0; row < tiles * W; row++) s += (double)r[(size_t)row * ldr + o];
    gb[o] = (real)s;
  }
}

static void ref_norm(int tiles, int ch, const real *u, size_t us, real *xhat, size_t hs, real *rstd) {
  for (int t = 0; t < tiles; t++, u += us, xhat += hs, rstd += W)
    for (int l = 0; l < W; l++) {
      double mean = 0, var = 0;
      for (int k = 0; k < ch; k++) mean += (double)u[k * W + l] / ch;
      for (int k = 0; k < ch; k++) var += ((double)u[k * W + l] - mean) * ((double)u[k * W + l] - mean) / ch;
      rstd[l] = (real)(1 / sqrt(var + norm_eps));
      for (int k = 0; k < ch; k++) xhat[k * W + l] = (real)(((double)u[k * W + l] - mean) / sqrt(var + norm_eps));
    }
}

static double cdf(double x) {
  return 0.5 * erfc(-x * 0.70710678118654752440);
}
static double density(double x) {
  return 0.39894228040143267794 * exp(-0.5 * x * x);
}

double ref_apply(kern_fn f, double x) {
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
    return fmax(x, 0) + log1p(exp(-fabs(x)));
  case KERN_SIGMOID:
    return 1 / (1 + exp(-x));
  case KERN_GELU:
    return x * cdf(x);
  case KERN_GELU_SLOPE:
    return cdf(x) + x * density(x);
  case KERN_SILU:
    return x / (1 + exp(-x));
  case KERN_FN_COUNT:
    break;
  }
  return x;
}

static void ref_map(kern_fn f, size_t n, const real *x, real *y) {
  for (size_t i = 0; i < n; i++) y[i] = (real)ref_apply(f, (double)x[i]);
}

static void ref_gelu_norm(int tiles, int ch, real *a, size_t as, real *xhat, size_t hs) {
  real rstd[W];
  for (int t = 0; t < tiles; t++, a += as, xhat += hs) {
    ref_map(KERN_GELU, (size_t)(ch * W), a, xhat);
    ref_norm(1, ch, xhat, 0, xhat, 0, rstd);
  }
}

static void ref_gelu_norm_keep(int tiles, int ch, real *a, size_t as, real *xhat, size_t hs, real *rstd) {
  for (int t = 0; t < tiles; t++, a += as, xhat += hs, rstd += W) {
    ref_map(KERN_GELU, (size_t)(ch * W), a, xhat);
    ref_map(KERN_GELU_SLOPE, (size_t)(ch * W), a, a);
    ref_norm(1, ch, xhat, 0, xhat, 0, rstd);
  }
}

static void ref_norm_back(int tiles, int ch, const real *gy, size_t gs, const real *xhat, size_t hs, const real *rstd,
                          const real *gain, const real *slope, size_t ss, real *gu, size_t us, real *lanes) {
  for (int t = 0; t < tiles; t++, gy += gs, xhat += hs, rstd += W, slope = slope ? slope + ss : NULL, gu += us)
    for (int l = 0; l < W; l++) {
      double mean = 0, along = 0;
      for (int k = 0; k < ch; k++) {
        double q = (double)gain[k] * (double)gy[k * W + l];
        mean += q / ch;
        along += q * (double)xhat[k * W + l] / ch;
      }
      for (int k = 0; k < ch; k++) {
        int e = k * W + l;
        double g = (double)gy[e], h = (double)xhat[e];
        lanes[e] += (real)(g * h);
        lanes[ch * W + e] += (real)g;
        gu[e] = (real)((slope ? (double)slope[e] : 1) * (double)rstd[l] * ((double)gain[k] * g - mean - h * along));
      }
    }
}

static void ref_to_rows(int tiles, int c, const real *x, size_t xs, real *rows) {
  for (int t = 0; t < tiles; t++, x += xs, rows += c * W)
    for (int e = 0; e < c * W; e++) rows[e % W * c + e / W] = x[e];
}

static void ref_from_rows(int tiles, int c, const real *rows, real *x, size_t xs) {
  for (int t = 0; t < tiles; t++, x += xs, rows += c * W)
    for (int e = 0; e < c * W; e++) x[e] = rows[e % W * c + e / W];
}

static void ref_phasor(int tiles, int c, const real *theta, real *cs, size_t ss) {
  for (int t = 0; t < tiles; t++, theta += c * W, cs += ss)
    for (int k = 0; k < c; k++)
      for (int l = 0; l < W; l++) {
        ref_map(KERN_COS, 1, theta + l * c + k, cs + k * W + l);
        ref_map(KERN_SIN, 1, theta + l * c + k, cs + (c + k) * W + l);
      }
}

static void ref_phasor_back(int tiles, int c, const real *cs, size_t ss, const real *g, size_t gs, real *g_theta) {
  for (int t = 0; t < tiles; t++, cs += ss, g += gs, g_theta += c * W)
    for (int k = 0; k < c; k++)
      for (int l = 0; l < W; l++) {
        int e = k * W + l;
        g_theta[l * c + k] += cs[e] * g[c * W + e] - cs[c * W + e] * g[e];
      }
}

static void ref_cond(int tiles, int c, real scale, real *maps) {
  for (int t = 0; t < tiles; t++, maps += 3 * c * W) {
    ref_map(KERN_TANH, (size_t)(2 * c * W), maps + c * W, maps + c * W);
    for (int e = 2 * c * W; e < 3 * c * W; e++) maps[e] *= scale;
  }
}

static void ref_cond_back(int tiles, int c, real scale, const real *maps, const real *g_maps, real *g_pre, size_t ps) {
  for (int t = 0; t < tiles; t++, maps += 3 * c * W, g_maps += 3 * c * W, g_pre += ps) {
    for (int e = 0; e < c * W; e++) g_pre[e] = g_maps[e];
    for (int e = c * W; e < 2 * c * W; e++) g_pre[e] = g_maps[e] * (1 - maps[e] * maps[e]);
    for (int e = 2 * c * W; e < 3 * c * W; e++) g_pre[e] = g_maps[e] * (scale - maps[e] * maps[e] / scale);
  }
}

static void ref_carrier(int tiles, int c, real *maps, real *x, real *turn, size_t ts) {
  size_t n = (size_t)(c * W);
  for (int t = 0; t < tiles; t++, maps += 3 * n, x += n) {
    if (turn) ref_map(KERN_TANH, n, maps + n, turn + (size_t)t * ts);
    ref_map(KERN_TANH, n, maps, maps);
    ref_map(KERN_SIGMOID, n, maps + n, maps + n);
    ref_map(KERN_TANH, n, maps + 2 * n, maps + 2 * n);
    for (size_t e = 0; e < n; e++) x[e % W * (size_t)c + e / W] = maps[n + e] * maps[e] + maps[2 * n + e];
  }
}

static void ref_carrier_back(int tiles, int c, const real *maps, const real *g_x, const real *turn, size_t ts,
                             const real *g_turn, real *g_pre, size_t ps) {
  size_t n = (size_t)(c * W);
  for (int t = 0; t < tiles; t++, maps += 3 * n, g_x += n, g_pre += ps)
    for (size_t e = 0; e < n; e++) {
      size_t row = e % W * (size_t)c + e / W;
      real a = maps[e], s = maps[n + e], b = maps[2 * n + e], v = turn ? turn[(size_t)t * ts + e] : 0;
      g_pre[e] = g_x[row] * s * (1 - a * a);
      g_pre[n + e] = g_x[row] * a * (s * (1 - s)) + (turn ? g_turn[(size_t)t * n + row] * (1 - v * v) : 0);
      g_pre[2 * n + e] = g_x[row] * (1 - b * b);
    }
}

/* (list·x) of channel k, lane l in tile t. */
static real gathered(const kern_gather *list, int t, const real *x, int k, int l) {
  real s = 0;
  if (!list) return 0;
  for (int32_t p = list->start[t]; p < list->start[t + 1]; p++) {
    uint32_t at = list->at[(size_t)p * W + (size_t)l];
    real v = x[(at & 0x7fffffffU) + (uint32_t)k];
    s += list->val ? list->val[(size_t)p * W + (size_t)l] * v : at >> 31 ? -v : v;
  }
  return s;
}

static void ref_rel_sin(int first, int last, int c, const kern_gather *list, const real *other, real s,
                        const real *theta, const real *maps, real *out) {
  for (int t = first; t < last; t++)
    for (int k = 0; k < c; k++)
      for (int l = 0; l < W; l++) {
        const real *m = maps + (size_t)t * (size_t)(3 * c * W) + k * W + l;
        size_t e = (size_t)(t * W + l) * (size_t)c + (size_t)k;
        out[e] = (real)sin((double)(gathered(list, t, other, k, l) + s * m[c * W] * theta[e] - m[2 * c * W]));
      }
}

static void ref_rel_step(int first, int last, int c, const kern_gather *up, const real *a, const kern_gather *down,
                         const real *b, real tau, real sigma, const real *theta, const real *maps, real *out) {
  for (int t = first; t < last; t++)
    for (int k = 0; k < c; k++)
      for (int l = 0; l < W; l++) {
        size_t e = (size_t)(t * W + l) * (size_t)c + (size_t)k;
        real back = gathered(up, t, a, k, l) + gathered(down, t, b, k, l);
        out[e] = theta[e] - tau * (maps[(size_t)t * (size_t)(3 * c * W) + (size_t)(k * W + l)] + sigma * back);
      }
}

static void ref_rel_sin_back(int first, int last, int c, const kern_gather *list, const real *other, real s,
                             const real *theta, const real *maps, const kern_gather *adj, const real *tt, real weight,
                             real *out, real *g_maps, real *dot) {
  for (int t = first; t < last; t++)
    for (int k = 0; k < c; k++)
      for (int l = 0; l < W; l++) {
        size_t at = (size_t)t * (size_t)(3 * c * W) + (size_t)(k * W + l),
               e = (size_t)(t * W + l) * (size_t)c + (size_t)k;
        const real *m = maps + at;
        real x = gathered(list, t, other, k, l) + s * m[c * W] * theta[e] - m[2 * c * W];
        real v = gathered(adj, t, tt, k, l);
        out[e] = weight * (real)cos((double)x) * v;
        dot[l] += (real)sin((double)x) * v;
        g_maps[at + (size_t)(c * W)] += s * theta[e] * out[e];
        g_maps[at + (size_t)(2 * c * W)] -= out[e];
      }
}

static void ref_rel_step_back(int first, int last, int c, const kern_gather *up, const real *a, const kern_gather *down,
                              const real *b, const real *own_a, const real *own_b, const real *maps, real *tt) {
  for (int t = first; t < last; t++)
    for (int k = 0; k < c; k++)
      for (int l = 0; l < W; l++) {
        size_t e = (size_t)(t * W + l) * (size_t)c + (size_t)k;
        real own = (own_b ? own_b[e] : 0) - (own_a ? own_a[e] : 0);
        real gate = maps[(size_t)t * (size_t)(3 * c * W) + (size_t)(c * W + k * W + l)];
        tt[e] += gathered(up, t, a, k, l) + gathered(down, t, b, k, l) + gate * own;
      }
}

static void ref_rel_drive_back(int first, int last, int c, real tau, const real *tt, const real *maps, real *g_maps,
                               real *dot) {
  for (int t = first; t < last; t++)
    for (int e = 0; e < c * W; e++) {
      size_t at = (size_t)t * (size_t)(3 * c * W) + (size_t)e,
             here = (size_t)(t * W + e % W) * (size_t)c + (size_t)(e / W);
      g_maps[at] -= tau * tt[here];
      dot[e % W] += maps[at] * tt[here];
    }
}

static void ref_rel_alone(int first, int last, int c, real tau, real sigma, const real *theta, const real *maps,
                          real *out) {
  for (int t = first; t < last; t++)
    for (int e = 0; e < c * W; e++) {
      const real *m = maps + (size_t)t * (size_t)(3 * c * W) + e;
      size_t at = (size_t)(t * W + e % W) * (size_t)c + (size_t)(e / W);
      real x = m[c * W] * theta[at] - m[2 * c * W];
      out[at] = theta[at] - tau * (m[0] + sigma * (real)sin((double)x));
    }
}

static void ref_rel_alone_back(int first, int last, int c, real tau, real sigma, const real *theta, const real *maps,
                               real *tt, real *g_maps, real *dot) {
  for (int t = first; t < last; t++)
    for (int e = 0; e < c * W; e++) {
      size_t at = (size_t)(t * W + e % W) * (size_t)c + (size_t)(e / W),
             three = (size_t)t * (size_t)(3 * c * W) + (size_t)e;
      const real *m = maps + three;
      real x = m[c * W] * theta[at] - m[2 * c * W], r = -tau * sigma * (real)cos((double)x) * tt[at];
      g_maps[three] -= tau * tt[at];
      g_maps[three + (size_t)(c * W)] += theta[at] * r;
      g_maps[three + (size_t)(2 * c * W)] -= r;
      dot[e % W] += (real)sin((double)x) * tt[at];
      dot[W + e % W] += m[0] * tt[at];
      tt[at] += m[c * W] * r;
    }
}

/* Part p of channel k of simplex i. */
static double carried_sum(int64_t i, int parts, int p, int k, int count, const kern_carry *from) {
  double s = 0;
  for (int q = 0; q < count; q++)
    for (int64_t e = from[q].list.ptr[i]; e < from[q].list.ptr[i + 1]; e++)
      s += (double)from[q].list.val[e * parts + p] * (double)from[q].rows[from[q].list.col[e] + k];
  return s;
}

static void ref_carry(int first, int last, int parts, int h, int count, const kern_carry *from, int add, real *y,
                      size_t ys) {
  for (int64_t t = first; t < last; t++, y += ys)
    for (int p = 0; p < parts; p++)
      for (int k = 0; k < h; k++)
        for (int l = 0; l < W; l++) {
          real *to = y + (p * h + k) * W + l;
          *to = (real)((add ? (double)*to : 0) + carried_sum(t * W + l, parts, p, k, count, from));
        }
}

static void ref_axpy(size_t n, real a, const real *x, real *y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

static double ref_peak(size_t rounds, real *sink) {
  real s[W];
  for (int l = 0; l < W; l++) s[l] = (real)l;
  for (size_t r = 0; r < rounds; r++)
    for (int l = 0; l < W; l++) s[l] = s[l] * (real)0.999 + (real)1e-3;
  for (int l = 0; l < W; l++) *sink += s[l];
  return (double)rounds * W;
}

const kern kern_ref = {
    .name = "ref",
    .mm_sum = ref_mm_sum,
    .mm_rows = ref_mm_rows,
    .transpose = ref_transpose,
    .grad_w = ref_grad_w,
    .grad_lanes = ref_grad_lanes,
    .grad_b = ref_grad_b,
    .norm = ref_norm,
    .gelu_norm = ref_gelu_norm,
    .gelu_norm_keep = ref_gelu_norm_keep,
    .norm_back = ref_norm_back,
    .to_rows = ref_to_rows,
    .from_rows = ref_from_rows,
    .phasor = ref_phasor,
    .phasor_back = ref_phasor_back,
    .cond = ref_cond,
    .cond_back = ref_cond_back,
    .carrier = ref_carrier,
    .carrier_back = ref_carrier_back,
    .rel_sin = ref_rel_sin,
    .rel_step = ref_rel_step,
    .rel_sin_back = ref_rel_sin_back,
    .rel_step_back = ref_rel_step_back,
    .rel_drive_back = ref_rel_drive_back,
    .rel_alone = ref_rel_alone,
    .rel_alone_back = ref_rel_alone_back,
    .carry = ref_carry,
    .row_mm = ref_row_mm,
    .row_grad = ref_row_grad,
    .row_norm = ref_row_norm,
    .row_norm_back = ref_row_norm_back,
    .col_sum = ref_col_sum,
    .col_scale = ref_col_scale,
    .col_dot = ref_col_dot,
    .col_affine = ref_col_affine,
    .gather = ref_gather,
    .mode_mm = ref_mode_mm,
    .mode_back = ref_mode_back,
    .map = ref_map,
    .unary = ref_unary,
    .unary_back = ref_unary_back,
    .relu = ref_relu,
    .relu_back = ref_relu_back,
    .gate = ref_gate,
    .gate_back = ref_gate_back,
    .combine = ref_combine,
    .mul = ref_mul,
    .axpy = ref_axpy,
    .peak = ref_peak,
};
