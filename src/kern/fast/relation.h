/* relation.h: the Dirac–Kuramoto substep as gathers. A lane group is VL simplices; their neighbours' phases come by index,
 * so no two lanes ever write to the same place. Channels go in groups of CG that share the loads of places and signs. */
#ifndef KERN_FAST_RELATION_H
#define KERN_FAST_RELATION_H

#include "kern/fast/vmath.h"
#include "kern/kern.h"

enum { CG = 4 };

/* s[k] += (list·x)_k for the lane group at v of tile t; C ≤ CG channels, x at the first of them. */
INLINE void gather_add(const kern_gather *list, int t, int v, int C, const float *x, vf *s) {
  for (int32_t p = list->start[t]; p < list->start[t + 1]; p++) {
    vi at = viload(list->at + (size_t)p * LANES + v);
    vi place = viand(at, viset(INT32_MAX)), minus = viand(at, viset(INT32_MIN));
    if (list->val) {
      vf weight = vload(list->val + (size_t)p * LANES + v);
      UNROLL for (int k = 0; k < C; k++) s[k] = vfma(weight, vgather(x + k * LANES, place), s[k]);
    } else {
      UNROLL for (int k = 0; k < C; k++) s[k] = vadd(s[k], vneg_where(vgather(x + k * LANES, place), minus));
    }
  }
}

typedef struct {
  int c;
  const kern_gather *list, *adj, *up, *down;
  const float *other, *theta, *maps, *a, *b, *own_a, *own_b, *in;
  float s, tau, sigma, weight;
  float *out, *g_maps, *dot;
} rel_job;

/* x = list·other + s γ⊙θ - λ for channels k0 … k0+C-1. */
INLINE void rel_argument(const rel_job *j, int t, int v, int k0, int C, vf *x) {
  const float *theta = j->theta + ((size_t)t * (size_t)j->c + (size_t)k0) * LANES + v;
  const float *gate = j->maps + ((size_t)(3 * t + 1) * (size_t)j->c + (size_t)k0) * LANES + v;
  const float *lag = gate + j->c * LANES;
  UNROLL for (int k = 0; k < C; k++) x[k] = vset(0);
  gather_add(j->list, t, v, C, j->other + k0 * LANES, x);
  UNROLL for (int k = 0; k < C; k++) {
    vf own = vmul(vmul(vset(j->s), vload(gate + k * LANES)), vload(theta + k * LANES));
    x[k] = vsub(vadd(x[k], own), vload(lag + k * LANES));
  }
}

INLINE void rel_sin_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG];
  rel_argument(j, t, v, k0, C, x);
  float *out = j->out + ((size_t)t * (size_t)j->c + (size_t)k0) * LANES + v;
  UNROLL for (int k = 0; k < C; k++) vstore(out + k * LANES, vsin(x[k]));
}

INLINE void rel_step_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf s[CG];
  size_t at = ((size_t)t * (size_t)j->c + (size_t)k0) * LANES + (size_t)v;
  const float *drive = j->maps + ((size_t)(3 * t) * (size_t)j->c + (size_t)k0) * LANES + v;
  UNROLL for (int k = 0; k < C; k++) s[k] = vset(0);
  if (j->up) gather_add(j->up, t, v, C, j->a + k0 * LANES, s);
  if (j->down) gather_add(j->down, t, v, C, j->b + k0 * LANES, s);
  UNROLL for (int k = 0; k < C; k++) {
    vf rate = vfma(vset(j->sigma), s[k], vload(drive + k * LANES));
    vstore(j->out + at + k * LANES, vfnma(vset(j->tau), rate, vload(j->theta + at + k * LANES)));
  }
}

INLINE void rel_sin_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf x[CG], w[CG];
  rel_argument(j, t, v, k0, C, x);
  UNROLL for (int k = 0; k < C; k++) w[k] = vset(0);
  gather_add(j->adj, t, v, C, j->in + k0 * LANES, w);
  size_t at = ((size_t)t * (size_t)j->c + (size_t)k0) * LANES + (size_t)v;
  float *gate = j->g_maps + ((size_t)(3 * t + 1) * (size_t)j->c + (size_t)k0) * LANES + v;
  float *lag = gate + j->c * LANES;
  vf dot = vload(j->dot + v);
  UNROLL for (int k = 0; k < C; k++) {
    vf sine, cosine;
    vsincos(x[k], &sine, &cosine);
    vf out = vmul(vmul(vset(j->weight), cosine), w[k]);
    dot = vfma(sine, w[k], dot);
    vstore(j->out + at + k * LANES, out);
    vf turn = vmul(vset(j->s), vload(j->theta + at + k * LANES));
    vstore(gate + k * LANES, vfma(turn, out, vload(gate + k * LANES)));
    vstore(lag + k * LANES, vsub(vload(lag + k * LANES), out));
  }
  vstore(j->dot + v, dot);
}

INLINE void rel_step_back_lanes(const rel_job *j, int t, int v, int k0, int C) {
  vf s[CG];
  size_t at = ((size_t)t * (size_t)j->c + (size_t)k0) * LANES + (size_t)v;
  const float *gate = j->maps + ((size_t)(3 * t + 1) * (size_t)j->c + (size_t)k0) * LANES + v;
  UNROLL for (int k = 0; k < C; k++) s[k] = vset(0);
  if (j->up) gather_add(j->up, t, v, C, j->a + k0 * LANES, s);
  if (j->down) gather_add(j->down, t, v, C, j->b + k0 * LANES, s);
  UNROLL for (int k = 0; k < C; k++) {
    vf g = vload(gate + k * LANES);
    if (j->own_b) s[k] = vfma(g, vload(j->own_b + at + k * LANES), s[k]);
    if (j->own_a) s[k] = vfnma(g, vload(j->own_a + at + k * LANES), s[k]);
    vstore(j->out + at + k * LANES, vadd(vload(j->out + at + k * LANES), s[k]));
  }
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
  for (int i = first; i < last; i++)
    for (int e = 0; e < c * LANES; e += VL) {
      size_t at = (size_t)(3 * i * c * LANES + e);
      vf g = vload(t + (size_t)(i * c * LANES + e));
      vstore(g_maps + at, vfnma(vset(tau), g, vload(g_maps + at)));
      vstore(dot + e % LANES, vfma(vload(maps + at), g, vload(dot + e % LANES)));
    }
}

static void fast_rel_alone(int first, int last, int c, float tau, float sigma, const float *theta, const float *maps,
                           float *out) {
  int n = c * LANES;
  for (int t = first; t < last; t++)
    for (int e = 0; e < n; e += VL) {
      const float *m = maps + (size_t)(3 * t) * (size_t)n + e;
      size_t at = (size_t)t * (size_t)n + (size_t)e;
      vf own = vload(theta + at), x = vsub(vmul(vload(m + n), own), vload(m + 2 * n));
      vstore(out + at, vfnma(vset(tau), vfma(vset(sigma), vsin(x), vload(m)), own));
    }
}

static void fast_rel_alone_back(int first, int last, int c, float tau, float sigma, const float *theta,
                                const float *maps, float *t, float *g_maps, float *dot) {
  int n = c * LANES;
  for (int i = first; i < last; i++)
    for (int e = 0; e < n; e += VL) {
      size_t at = (size_t)i * (size_t)n + (size_t)e, three = (size_t)(3 * i) * (size_t)n + (size_t)e;
      const float *m = maps + three;
      float *g = g_maps + three, *sum = dot + e % LANES;
      vf own = vload(theta + at), gate = vload(m + n), in = vload(t + at), sine, cosine;
      vsincos(vsub(vmul(gate, own), vload(m + 2 * n)), &sine, &cosine);
      vf r = vmul(vmul(vset(-tau * sigma), cosine), in);
      vstore(g, vfnma(vset(tau), in, vload(g)));
      vstore(g + n, vfma(own, r, vload(g + n)));
      vstore(g + 2 * n, vsub(vload(g + 2 * n), r));
      vstore(sum, vfma(sine, in, vload(sum)));
      vstore(sum + LANES, vfma(vload(m), in, vload(sum + LANES)));
      vstore(t + at, vfma(gate, r, in));
    }
}

#endif
