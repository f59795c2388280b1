/* relation.h: the Dirac–Kuramoto substep as gathers. A lane group is VL simplices; their neighbours' phases come by index,
 * so no two lanes ever write to the same place. Channels go in groups of CG that share the loads of places and signs. */
#ifndef KERN_FAST_RELATION_H
#define KERN_FAST_RELATION_H

#include "kern/fast/rows.h"
#include "kern/fast/vmath.h"
#include "kern/kern.h"

/* s[k] += (list·x)_k for the lane group at v of tile t; C ≤ CG channels, x at the first of them. */
INLINE void gather_add(const kern_gather *list, int t, int v, int C, const float *x, vf *s) {
  for (int32_t p = list->start[t]; p < list->start[t + 1]; p++) {
    vi at = viload(list->at + (size_t)p * LANES + v), minus = viand(at, viset(INT32_MIN));
    uint32_t place[VL];
    vf y[CG];
    vistore(place, viand(at, viset(INT32_MAX)));
    rows_pick(C, x, place, y);
    if (list->val) {
      vf weight = vload(list->val + (size_t)p * LANES + v);
      UNROLL for (int k = 0; k < C; k++) s[k] = vfma(weight, y[k], s[k]);
    } else {
      UNROLL for (int k = 0; k < C; k++) s[k] = vadd(s[k], vneg_where(y[k], minus));
    }
  }
}

typedef struct {
  int c;
  const kern_gather *list, *adj, *up, *down;
  const float *other, *theta, *maps, *a, *b, *own_a, *own_b, *in;
  float s, tau, sigma, weight;
  float *out, *g_maps, *dot;
  size_t stride, g_stride;
} rel_job;

/* x = list·other + s γ⊙θ - λ for channels k0 … k0+C-1. */
INLINE void rel_argument(const rel_job *j, int t, int v, int k0, int C, vf *x) {
  const float *gate = j->maps + ((size_t)(3 * t + 1) * (size_t)j->c + (size_t)k0) * LANES + v;
  const float *lag = gate + j->c * LANES;
  UNROLL for (int k = 0; k < C; k++) x[k] = vset(0);
  gather_add(j->list, t, v, C, j->other + k0, x);
  vf theta[CG];
  rows_get(j->c, C, j->theta + rows_at(j->c, t, v, k0), theta);
  UNROLL for (int k = 0; k < C; k++) {
    vf own = vmul(vmul(vset(j->s), vload(gate + k * LANES)), theta[k]);
    x[k] = vsub(vadd(x[k], own), vload(lag + k * LANES));
  }
}

INLINE void rel_sin_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG];
  rel_argument(j, t, v, k0, C, x);
  UNROLL for (int k = 0; k < C; k++) x[k] = vsin(x[k]);
  rows_put(j->c, C, j->out + rows_at(j->c, t, v, k0), x);
}

INLINE void rel_step_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf s[CG], theta[CG];
  size_t at = rows_at(j->c, t, v, k0);
  const float *drive = j->maps + ((size_t)(3 * t) * (size_t)j->c + (size_t)k0) * LANES + v;
  UNROLL for (int k = 0; k < C; k++) s[k] = vset(0);
  if (j->up) gather_add(j->up, t, v, C, j->a + k0, s);
  if (j->down) gather_add(j->down, t, v, C, j->b + k0, s);
  rows_get(j->c, C, j->theta + at, theta);
  UNROLL for (int k = 0; k < C; k++) {
    vf rate = vfma(vset(j->sigma), s[k], vload(drive + k * LANES));
    s[k] = vfnma(vset(j->tau), rate, theta[k]);
  }
  rows_put(j->c, C, j->out + at, s);
}

INLINE void rel_sin_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG], w[CG], theta[CG];
  rel_argument(j, t, v, k0, C, x);
  UNROLL for (int k = 0; k < C; k++) w[k] = vset(0);
  gather_add(j->adj, t, v, C, j->in + k0, w);
  size_t at = rows_at(j->c, t, v, k0);
  rows_get(j->c, C, j->theta + at, theta);
  float *gate = j->g_maps + ((size_t)(3 * t + 1) * (size_t)j->c + (size_t)k0) * LANES + v;
  float *lag = gate + j->c * LANES;
  vf dot = vload(j->dot + v);
  UNROLL for (int k = 0; k < C; k++) {
    vf sine, cosine;
    vsincos(x[k], &sine, &cosine);
    vf out = vmul(vmul(vset(j->weight), cosine), w[k]);
    dot = vfma(sine, w[k], dot);
    vstore(gate + k * LANES, vfma(vmul(vset(j->s), theta[k]), out, vload(gate + k * LANES)));
    vstore(lag + k * LANES, vsub(vload(lag + k * LANES), out));
    x[k] = out;
  }
  rows_put(j->c, C, j->out + at, x);
  vstore(j->dot + v, dot);
}

INLINE void rel_step_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf s[CG], own[CG];
  size_t at = rows_at(j->c, t, v, k0);
  const float *gate = j->maps + ((size_t)(3 * t + 1) * (size_t)j->c + (size_t)k0) * LANES + v;
  rows_get(j->c, C, j->out + at, s);
  if (j->up) gather_add(j->up, t, v, C, j->a + k0, s);
  if (j->down) gather_add(j->down, t, v, C, j->b + k0, s);
  if (j->own_b) {
    rows_get(j->c, C, j->own_b + at, own);
    UNROLL for (int k = 0; k < C; k++) s[k] = vfma(vload(gate + k * LANES), own[k], s[k]);
  }
  if (j->own_a) {
    rows_get(j->c, C, j->own_a + at, own);
    UNROLL for (int k = 0; k < C; k++) s[k] = vfnma(vload(gate + k * LANES), own[k], s[k]);
  }
  rows_put(j->c, C, j->out + at, s);
}

/* g_ω -= τ T; dot += ω ⊙ T */
INLINE void rel_drive_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf g[CG], dot = vload(j->dot + v);
  size_t at = ((size_t)(3 * t) * (size_t)j->c + (size_t)k0) * LANES + (size_t)v;
  rows_get(j->c, C, j->in + rows_at(j->c, t, v, k0), g);
  UNROLL for (int k = 0; k < C; k++) {
    float *drive = j->g_maps + at + k * LANES;
    vstore(drive, vfnma(vset(j->tau), g[k], vload(drive)));
    dot = vfma(vload(j->maps + at + k * LANES), g[k], dot);
  }
  vstore(j->dot + v, dot);
}

/* Runs a lane-group function over tiles and channel groups of constant size. */
INLINE void rel_run(const rel_job *j, int first, int last, void (*lanes)(const rel_job *, int, int, int, int)) {
  for (int t = first; t < last; t++)
    for (int v = 0; v < LANES; v += VL) {
      int k = 0;
      for (; k + 4 <= j->c; k += 4) lanes(j, t, v, k, 4);
      if (k + 2 <= j->c) lanes(j, t, v, k, 2), k += 2;
      if (k < j->c) lanes(j, t, v, k, 1);
    }
}

static void fast_rel_sin(int first, int last, int c, const kern_gather *list, const float *other, float s,
                         const float *theta, const float *maps, float *out) {
  rel_job j = {.c = c, .list = list, .other = other, .s = s, .theta = theta, .maps = maps, .out = out};
  rel_run(&j, first, last, rel_sin_lanes);
}

static void fast_rel_step(int first, int last, int c, const kern_gather *up, const float *a, const kern_gather *down,
                          const float *b, float tau, float sigma, const float *theta, const float *maps, float *out) {
  rel_job j = {.c = c, .up = up, .a = a, .down = down, .b = b, .theta = theta, .maps = maps, .out = out};
  j.tau = tau, j.sigma = sigma;
  rel_run(&j, first, last, rel_step_lanes);
}

static void fast_rel_sin_back(int first, int last, int c, const kern_gather *list, const float *other, float s,
                              const float *theta, const float *maps, const kern_gather *adj, const float *t,
                              float weight, float *out, float *g_maps, float *dot) {
  rel_job j = {.c = c, .list = list, .other = other, .s = s, .theta = theta, .maps = maps, .out = out};
  j.adj = adj, j.in = t, j.weight = weight, j.g_maps = g_maps, j.dot = dot;
  rel_run(&j, first, last, rel_sin_back_lanes);
}

static void fast_rel_step_back(int first, int last, int c, const kern_gather *up, const float *a,
                               const kern_gather *down, const float *b, const float *own_a, const float *own_b,
                               const float *maps, float *t) {
  rel_job j = {.c = c, .up = up, .a = a, .down = down, .b = b, .own_a = own_a, .own_b = own_b};
  j.maps = maps, j.out = t;
  rel_run(&j, first, last, rel_step_back_lanes);
}

static void fast_rel_drive_back(int first, int last, int c, float tau, const float *t, const float *maps, float *g_maps,
                                float *dot) {
  rel_job j = {.c = c, .in = t, .maps = maps, .g_maps = g_maps, .dot = dot, .tau = tau};
  rel_run(&j, first, last, rel_drive_back_lanes);
}

INLINE void phasor_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG], s, k;
  float *out = j->out + (size_t)t * j->stride + (size_t)(k0 * LANES + v);
  rows_get(j->c, C, j->theta + rows_at(j->c, t, v, k0), x);
  UNROLL for (int i = 0; i < C; i++) {
    vsincos(x[i], &s, &k);
    vstore(out + i * LANES, k);
    vstore(out + (j->c + i) * LANES, s);
  }
}

static void fast_phasor(int tiles, int c, const float *theta, float *cs, size_t ss) {
  rel_job j = {.c = c, .theta = theta, .out = cs, .stride = ss};
  rel_run(&j, 0, tiles, phasor_lanes);
}

INLINE void phasor_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG];
  float *theta = j->out + rows_at(j->c, t, v, k0);
  const float *cs = j->a + (size_t)t * j->stride + (size_t)(k0 * LANES + v);
  const float *g = j->b + (size_t)t * j->g_stride + (size_t)(k0 * LANES + v);
  rows_get(j->c, C, theta, x);
  UNROLL for (int i = 0; i < C; i++) {
    vf sum = vfma(vload(cs + i * LANES), vload(g + (j->c + i) * LANES), x[i]);
    x[i] = vfnma(vload(cs + (j->c + i) * LANES), vload(g + i * LANES), sum);
  }
  rows_put(j->c, C, theta, x);
}

static void fast_phasor_back(int tiles, int c, const float *cs, size_t ss, const float *g, size_t gs, float *g_theta) {
  rel_job j = {.c = c, .a = cs, .stride = ss, .b = g, .g_stride = gs, .out = g_theta};
  rel_run(&j, 0, tiles, phasor_back_lanes);
}

INLINE void rel_alone_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf own[CG];
  size_t at = rows_at(j->c, t, v, k0), n = (size_t)(j->c * LANES);
  const float *m = j->maps + (size_t)(3 * t) * n + (size_t)(k0 * LANES + v);
  rows_get(j->c, C, j->theta + at, own);
  UNROLL for (int k = 0; k < C; k++, m += LANES) {
    vf x = vsub(vmul(vload(m + n), own[k]), vload(m + 2 * n));
    own[k] = vfnma(vset(j->tau), vfma(vset(j->sigma), vsin(x), vload(m)), own[k]);
  }
  rows_put(j->c, C, j->out + at, own);
}

static void fast_rel_alone(int first, int last, int c, float tau, float sigma, const float *theta, const float *maps,
                           float *out) {
  rel_job j = {.c = c, .tau = tau, .sigma = sigma, .theta = theta, .maps = maps, .out = out};
  rel_run(&j, first, last, rel_alone_lanes);
}

INLINE void rel_alone_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf own[CG], in[CG], sines = vload(j->dot + v), drives = vload(j->dot + LANES + v);
  size_t at = rows_at(j->c, t, v, k0), n = (size_t)(j->c * LANES);
  size_t three = (size_t)(3 * t) * n + (size_t)(k0 * LANES + v);
  rows_get(j->c, C, j->theta + at, own);
  rows_get(j->c, C, j->out + at, in);
  UNROLL for (int k = 0; k < C; k++) {
    const float *m = j->maps + three + k * LANES;
    float *g = j->g_maps + three + k * LANES;
    vf gate = vload(m + n), sine, cosine;
    vsincos(vsub(vmul(gate, own[k]), vload(m + 2 * n)), &sine, &cosine);
    vf r = vmul(vmul(vset(-j->tau * j->sigma), cosine), in[k]);
    vstore(g, vfnma(vset(j->tau), in[k], vload(g)));
    vstore(g + n, vfma(own[k], r, vload(g + n)));
    vstore(g + 2 * n, vsub(vload(g + 2 * n), r));
    sines = vfma(sine, in[k], sines);
    drives = vfma(vload(m), in[k], drives);
    in[k] = vfma(gate, r, in[k]);
  }
  rows_put(j->c, C, j->out + at, in);
  vstore(j->dot + v, sines);
  vstore(j->dot + LANES + v, drives);
}

static void fast_rel_alone_back(int first, int last, int c, float tau, float sigma, const float *theta,
                                const float *maps, float *t, float *g_maps, float *dot) {
  rel_job j = {
      .c = c, .tau = tau, .sigma = sigma, .theta = theta, .maps = maps, .out = t, .g_maps = g_maps, .dot = dot};
  rel_run(&j, first, last, rel_alone_back_lanes);
}

INLINE void to_rows_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG];
  UNROLL for (int k = 0; k < C; k++) x[k] = vload(j->a + (size_t)t * j->stride + (size_t)((k0 + k) * LANES + v));
  rows_put(j->c, C, j->out + rows_at(j->c, t, v, k0), x);
}

static void fast_to_rows(int tiles, int c, const float *x, size_t xs, float *rows) {
  rel_job j = {.c = c, .a = x, .stride = xs, .out = rows};
  rel_run(&j, 0, tiles, to_rows_lanes);
}

INLINE void from_rows_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG];
  rows_get(j->c, C, j->a + rows_at(j->c, t, v, k0), x);
  UNROLL for (int k = 0; k < C; k++) vstore(j->out + (size_t)t * j->stride + (size_t)((k0 + k) * LANES + v), x[k]);
}

static void fast_from_rows(int tiles, int c, const float *rows, float *x, size_t xs) {
  rel_job j = {.c = c, .a = rows, .stride = xs, .out = x};
  rel_run(&j, 0, tiles, from_rows_lanes);
}

/* The maps are g_maps, changed in place; turn is dot. */
INLINE void carrier_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG];
  size_t n = (size_t)(j->c * LANES);
  UNROLL for (int k = 0; k < C; k++) {
    float *m = j->g_maps + (size_t)(3 * t) * n + (size_t)((k0 + k) * LANES + v);
    vf gate = vload(m + n), a = vtanh(vload(m)), s = vsigmoid(gate), b = vtanh(vload(m + 2 * n));
    if (j->dot) vstore(j->dot + (size_t)t * j->stride + (size_t)((k0 + k) * LANES + v), vtanh(gate));
    vstore(m, a);
    vstore(m + n, s);
    vstore(m + 2 * n, b);
    x[k] = vfma(s, a, b);
  }
  rows_put(j->c, C, j->out + rows_at(j->c, t, v, k0), x);
}

static void fast_carrier(int tiles, int c, float *maps, float *x, float *turn, size_t ts) {
  rel_job j = {.c = c, .g_maps = maps, .out = x, .dot = turn, .stride = ts};
  rel_run(&j, 0, tiles, carrier_lanes);
}

INLINE void carrier_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf one = vset(1), g[CG], g_turn[CG];
  size_t n = (size_t)(j->c * LANES), at = rows_at(j->c, t, v, k0);
  rows_get(j->c, C, j->in + at, g);
  if (j->a) rows_get(j->c, C, j->b + at, g_turn);
  UNROLL for (int k = 0; k < C; k++) {
    size_t e = (size_t)((k0 + k) * LANES + v);
    const float *m = j->maps + (size_t)(3 * t) * n + e;
    float *out = j->out + (size_t)t * j->g_stride + e;
    vf a = vload(m), s = vload(m + n), b = vload(m + 2 * n), gate = vmul(vmul(g[k], a), vfnma(s, s, s));
    if (j->a) {
      vf turn = vload(j->a + (size_t)t * j->stride + e);
      gate = vfma(g_turn[k], vfnma(turn, turn, one), gate);
    }
    vstore(out, vmul(vmul(g[k], s), vfnma(a, a, one)));
    vstore(out + n, gate);
    vstore(out + 2 * n, vmul(g[k], vfnma(b, b, one)));
  }
}

static void fast_carrier_back(int tiles, int c, const float *maps, const float *g_x, const float *turn, size_t ts,
                              const float *g_turn, float *g_pre, size_t ps) {
  rel_job j = {.c = c, .maps = maps, .in = g_x, .a = turn, .stride = ts, .b = g_turn, .out = g_pre, .g_stride = ps};
  rel_run(&j, 0, tiles, carrier_back_lanes);
}

#endif
