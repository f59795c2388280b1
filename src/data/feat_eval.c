/* feat_eval.c: the value of each kind of node. Fields are row-major n × channels. Sums over simplices are taken in
 * double, in index order. */
#include "data/feat_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static int64_t rows_of_degree(const cx *c, int degree) {
  return degree < 0 ? 1 : c->n[degree];
}

size_t feat_node_size(const feat_graph *g, const cx *c, int i) {
  const feat_node *n = &g->node[i];
  size_t size = (size_t)rows_of_degree(c, n->degree) * (size_t)n->channels;
  /* heat keeps two states beside its output */
  if (n->op == OP_HEAT) size += 2 * (size_t)c->n[0] * (size_t)g->node[n->arg[0]].channels;
  if (n->op == OP_AROUND) size += (size_t)c->n[0]; /* and around its counts */
  return size;
}

/* The place-th field of a role. */
static const data_field *nth(const feat_graph *g, data_role role, int place) {
  int i = 0;
  for (;; i++)
    if (g->field[i].role == role && place-- == 0) return &g->field[i];
}

/* Neighbours by slices, in the order of the vertex's edges. */
static dkho_status prepare_heat(feat_prep *p, arena *mem, const cx *c) {
  int64_t n = c->n[0], slices = (n + FEAT_SLICE - 1) / FEAT_SLICE;
  const int64_t *ptr = c->coptr[0];
  if (!ARENA_NEW(mem, p->start, slices + 1)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) {
    int64_t *longest = &p->start[i / FEAT_SLICE + 1], own = ptr[i + 1] - ptr[i];
    if (own > *longest) *longest = own;
  }
  for (int64_t s = 0; s < slices; s++) p->start[s + 1] += p->start[s];
  if (!ARENA_NEW(mem, p->near, p->start[slices] * FEAT_SLICE)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) {
    int64_t first = p->start[i / FEAT_SLICE], slots = p->start[i / FEAT_SLICE + 1] - first;
    for (int64_t j = 0; j < slots; j++) {
      int32_t near = (int32_t)i;
      if (ptr[i] + j < ptr[i + 1]) {
        const int32_t *end = c->vert[1] + 2 * (int64_t)c->coface[0][ptr[i] + j];
        near = end[0] == near ? end[1] : end[0];
      }
      p->near[(first + j) * FEAT_SLICE + i % FEAT_SLICE] = near;
    }
  }
  return DKHO_OK;
}

dkho_status feat_prepare(feat_prep *p, arena *mem, const feat_graph *g, const cx *c) {
  for (int i = 0; i < g->nodes; i++) {
    const feat_node *n = &g->node[i];
    if (n->op == OP_HEAT && !p->near) TRY(prepare_heat(p, mem, c));
    if (n->op != OP_INTEGRAL || p->share[n->degree]) continue;
    if (!ARENA_NEW(mem, p->share[n->degree], c->n[n->degree])) return DKHO_E_MEMORY;
    for (int64_t j = 0; j < c->n[n->degree]; j++)
      p->share[n->degree][j] = (real)(c->measure[n->degree][j] / (n->degree + 1));
  }
  return DKHO_OK;
}

static void eval_leaf(const feat_run *r, const feat_node *n, real *y) {
  const data_field *f = nth(r->g, n->op == OP_INPUT ? DATA_INPUT : DATA_GLOBAL, n->field);
  int64_t count = rows_of_degree(r->c, n->degree) * n->channels;
  if (n->op == OP_INPUT)
    for (int64_t i = 0; i < count; i++) y[i] = (real)(((double)r->in[n->field][i] - f->shift) / f->scale);
  else
    for (int64_t i = 0; i < count; i++) y[i] = (real)((r->global[n->field][i] - f->shift) / f->scale);
}

static void eval_columns(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int from = r->g->node[n->arg[0]].channels;
  for (int64_t i = 0; i < r->c->n[n->degree]; i++)
    memcpy(y + i * n->channels, x + i * from + n->first, (size_t)n->channels * sizeof *y);
}

/* y_e = x_head - x_tail: d_0. */
static void eval_d0(const feat_run *r, int ch, const real *x, real *y) {
  const int32_t *end = r->c->vert[1];
  for (int64_t e = 0; e < r->c->n[1]; e++, end += 2) {
    const real *tail = x + (int64_t)end[0] * ch, *head = x + (int64_t)end[1] * ch;
    for (int q = 0; q < ch; q++) *y++ = head[q] - tail[q];
  }
}

/* y_i = Σ_j sign · x_face: d_{k-1}. */
static void eval_d(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int k = n->degree, ch = n->channels;
  if (k == 1) {
    eval_d0(r, ch, x, y);
    return;
  }
  const int32_t *face = r->c->face[k];
  const int8_t *sign = r->c->sign[k];
  for (int64_t i = 0; i < r->c->n[k]; i++, face += k + 1, sign += k + 1)
    for (int q = 0; q < ch; q++) {
      real sum = 0;
      for (int j = 0; j <= k; j++) sum += (real)sign[j] * x[(int64_t)face[j] * ch + q];
      *y++ = sum;
    }
}

/* y_i = Σ_p cosign · x_coface: d_kᵀ. */
static void eval_dt(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int k = n->degree, ch = n->channels;
  const int64_t *ptr = r->c->coptr[k];
  for (int64_t i = 0; i < r->c->n[k]; i++)
    for (int q = 0; q < ch; q++) {
      real sum = 0;
      for (int64_t p = ptr[i]; p < ptr[i + 1]; p++)
        sum += (real)r->c->cosign[k][p] * x[(int64_t)r->c->coface[k][p] * ch + q];
      *y++ = sum;
    }
}

/* y_i = [measure_i ·] mean of x over the k+1 vertices of i. */
static void eval_mean(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int k = n->degree, ch = n->channels;
  const real *measured = n->op == OP_INTEGRAL ? r->prep->share[k] : NULL;
  const int32_t *vert = r->c->vert[k];
  real equal = (real)(1.0 / (k + 1));
  for (int64_t i = 0; i < r->c->n[k]; i++, vert += k + 1)
    for (int q = 0; q < ch; q++) {
      real sum = 0;
      for (int j = 0; j <= k; j++) sum += x[(int64_t)vert[j] * ch + q];
      *y++ = (measured ? measured[i] : equal) * sum;
    }
}

/* y_e = ½(x_tail + x_head)·v_e. */
static void eval_flux(const feat_run *r, const feat_node *n, const real *x, const real *v, real *y) {
  int ch = n->channels;
  assert(x && v);
  for (int64_t e = 0; e < r->c->n[1]; e++) {
    const real *tail = x + (int64_t)r->c->vert[1][2 * e] * ch, *head = x + (int64_t)r->c->vert[1][2 * e + 1] * ch;
    for (int q = 0; q < ch; q++) y[e * ch + q] = (real)0.5 * (tail[q] + head[q]) * v[e];
  }
}

/* next_i = v_i - a Σ_neighbours (v_i - v_j), which is v - a d0ᵀd0 v, on `lanes` vertices of a slice, one channel. */
static inline void heat_slice(const feat_prep *p, int64_t slice, int lanes, int ch, real a, const real *v, real *next) {
  real flow[FEAT_SLICE] = {0};
  const real *own = v + slice * FEAT_SLICE * ch;
  for (int64_t slot = p->start[slice]; slot < p->start[slice + 1]; slot++) {
    const int32_t *at = p->near + slot * FEAT_SLICE;
    for (int l = 0; l < lanes; l++) flow[l] += own[l * ch] - v[(int64_t)at[l] * ch];
  }
  for (int l = 0; l < lanes; l++) next[(slice * FEAT_SLICE + l) * ch] = own[l * ch] - a * flow[l];
}

static void heat_step(const feat_prep *p, int64_t n0, int ch, real a, const real *v, real *next) {
  int64_t whole = n0 / FEAT_SLICE;
  if (ch == 1) /* the common case, without strides */
    for (int64_t s = 0; s < whole; s++) heat_slice(p, s, FEAT_SLICE, 1, a, v, next);
  else
    for (int64_t s = 0; s < whole; s++)
      for (int q = 0; q < ch; q++) heat_slice(p, s, FEAT_SLICE, ch, a, v + q, next + q);
  for (int q = 0; q < ch && n0 % FEAT_SLICE; q++) heat_slice(p, whole, (int)(n0 % FEAT_SLICE), ch, a, v + q, next + q);
}

/* y: n0 × (steps·ch), states after step[0] < step[1] < …; behind it two states of n0 × ch that take turns. */
static void eval_heat(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int ch = r->g->node[n->arg[0]].channels;
  int64_t n0 = r->c->n[0];
  real *state[2] = {y + n0 * n->channels, y + n0 * n->channels + n0 * ch};
  const real *v = x;
  for (int done = 0, s = 0; s < n->steps; s++) {
    for (; done < n->step[s]; done++) {
      heat_step(r->prep, n0, ch, (real)n->num[0], v, state[done % 2]);
      v = state[done % 2];
    }
    for (int64_t i = 0; i < n0; i++)
      for (int q = 0; q < ch; q++) y[i * n->channels + s * ch + q] = v[i * ch + q];
  }
}

/* y_i = Σ_j g_j s_ij. */
static void eval_lift(const feat_run *r, const feat_node *n, const real *g, const real *s, real *y) {
  int width = r->g->node[n->arg[1]].channels;
  assert(g && s);
  for (int64_t i = 0; i < r->c->n[n->degree]; i++) {
    y[i] = 0;
    for (int j = 0; j < width; j++) y[i] += g[j] * s[i * width + j];
  }
}

/* y_v = mean of x over the k-simplices that contain v, 0 where there are none. */
static void eval_around(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int k = r->g->node[n->arg[0]].degree, ch = n->channels;
  int64_t n0 = r->c->n[0];
  real *count = y + n0 * ch;
  memset(y, 0, (size_t)(n0 * (ch + 1)) * sizeof *y);
  for (int64_t i = 0; i < r->c->n[k]; i++)
    for (int j = 0; j <= k; j++) {
      int64_t v = r->c->vert[k][i * (k + 1) + j];
      count[v] += 1;
      for (int q = 0; q < ch; q++) y[v * ch + q] += x[i * ch + q];
    }
  for (int64_t v = 0; v < n0; v++)
    for (int q = 0; count[v] > 1 && q < ch; q++) y[v * ch + q] /= count[v];
}

/* Columns (x - mean)/(population std + 1e-6). */
static void eval_unit(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int64_t rows = r->c->n[n->degree];
  int ch = n->channels;
  for (int q = 0; q < ch; q++) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < rows; i++) mean += (double)x[i * ch + q] / (double)rows;
    for (int64_t i = 0; i < rows; i++) square += pow((double)x[i * ch + q] - mean, 2) / (double)rows;
    for (int64_t i = 0; i < rows; i++) y[i * ch + q] = (real)(((double)x[i * ch + q] - mean) / (sqrt(square) + 1e-6));
  }
}

static void eval_weight(const feat_run *r, const feat_node *n, const real *x, real *y) {
  double total = 0;
  for (int64_t i = 0; i < r->c->n[n->degree]; i++) total += (double)x[i];
  for (int64_t i = 0; i < r->c->n[n->degree]; i++) y[i] = (real)((double)x[i] / total);
}

typedef struct summed {
  const real *x, *w, *s; /* w NULL: equal weights */
  int64_t n;
  int ch, columns;
} summed;

/* Σ_i w_i (x_iq - centre)^power. */
static double weighted(const summed *t, int q, double centre, int power) {
  double sum = 0;
  for (int64_t i = 0; i < t->n; i++) {
    double v = (double)t->x[i * t->ch + q] - centre;
    if (power == 2) v *= v;
    sum += t->w ? (double)t->w[i] * v : v;
  }
  return t->w ? sum : sum / (double)t->n;
}

/* y_j = Σ_i w_i x_iq s_ij for eight columns at a time: each sum waits for itself, the eight do not for one another. */
static void sum_moments(const summed *t, int q, real *y) {
  enum { WIDE = 8 };
  for (int j0 = 0; j0 < t->columns; j0 += WIDE) {
    int wide = t->columns - j0 < WIDE ? t->columns - j0 : WIDE;
    double sum[WIDE] = {0};
    for (int64_t i = 0; i < t->n; i++) {
      double v = (double)t->x[i * t->ch + q], w = t->w ? (double)t->w[i] : 1;
      for (int j = 0; j < wide; j++) sum[j] += w * (v * (double)t->s[i * t->columns + j0 + j]);
    }
    for (int j = 0; j < wide; j++) y[j0 + j] = (real)(t->w ? sum[j] : sum[j] / (double)t->n);
  }
}

/* Per channel: Σ w x, moments about positions, or √max(Σ w (x - centre)² + num[0], num[1]). */
static void eval_summary(const feat_node *n, const summed *t, real *y) {
  for (int q = 0; q < t->ch; q++) {
    if (n->op == OP_AVERAGE) {
      y[q] = (real)weighted(t, q, 0, 1);
    } else if (n->op == OP_MOMENT) {
      sum_moments(t, q, y + q * t->columns);
    } else {
      double centre = n->op == OP_CENTRED_RMS ? weighted(t, q, 0, 1) : 0;
      y[q] = (real)sqrt(fmax(weighted(t, q, centre, 2) + n->num[0], n->num[1]));
    }
  }
}

void feat_node_eval(const feat_run *r, int i) {
  const feat_node *n = &r->g->node[i];
  real *y = feat_node_value(r, i);
  const real *x[3];
  for (int j = 0; j < 3; j++) x[j] = n->arg[j] < 0 ? NULL : feat_node_value(r, n->arg[j]);
  switch (n->op) {
  case OP_STATIC:
    break; /* filled when the constants are */
  case OP_INPUT:
  case OP_GLOBAL:
    eval_leaf(r, n, y);
    break;
  case OP_COLUMNS:
    eval_columns(r, n, x[0], y);
    break;
  case OP_D:
    eval_d(r, n, x[0], y);
    break;
  case OP_DT:
    eval_dt(r, n, x[0], y);
    break;
  case OP_MEAN:
  case OP_INTEGRAL:
    eval_mean(r, n, x[0], y);
    break;
  case OP_FLUX:
    eval_flux(r, n, x[0], x[1], y);
    break;
  case OP_HEAT:
    eval_heat(r, n, x[0], y);
    break;
  case OP_LIFT:
    eval_lift(r, n, x[0], x[1], y);
    break;
  case OP_AROUND:
    eval_around(r, n, x[0], y);
    break;
  case OP_UNIT:
    eval_unit(r, n, x[0], y);
    break;
  case OP_ZERO:
    break; /* constants start at zero */
  case OP_WEIGHT:
    eval_weight(r, n, x[0], y);
    break;
  default: {
    const feat_node *a = &r->g->node[n->arg[0]];
    summed t = {.x = x[0], .w = x[1], .s = x[2], .n = r->c->n[a->degree], .ch = a->channels};
    t.columns = x[2] ? r->g->node[n->arg[2]].channels : 0;
    eval_summary(n, &t, y);
  }
  }
}
