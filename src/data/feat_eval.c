/* feat_eval.c: the value of each kind of node. Fields are row-major n × channels. Sums over simplices are taken in
 * double, in index order. */
#include "data/feat_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static int64_t extent(const cx *c, int degree) {
  return degree < 0 ? 1 : c->n[degree];
}

size_t feat_node_size(const feat_graph *g, const cx *c, int i) {
  const feat_node *n = &g->node[i];
  size_t size = (size_t)extent(c, n->degree) * (size_t)n->channels;
  /* heat keeps two states beside its output */
  if (n->op == OP_HEAT) size += 2 * (size_t)c->n[0] * (size_t)g->node[n->arg[0]].channels;
  return size;
}

/* (v - shift)/scale of the place-th field of a role. */
static const data_field *nth(const feat_graph *g, data_role role, int place) {
  int i = 0;
  for (;; i++)
    if (g->field[i].role == role && place-- == 0) return &g->field[i];
}

static void eval_leaf(const feat_run *r, const feat_node *n, real *y) {
  const data_field *f = nth(r->g, n->op == OP_INPUT ? DATA_INPUT : DATA_GLOBAL, n->field);
  int64_t count = extent(r->c, n->degree) * n->channels;
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

/* y_i = Σ_j sign · x_face: d_{k-1}. */
static void eval_d(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int k = n->degree, ch = n->channels;
  memset(y, 0, (size_t)(r->c->n[k] * ch) * sizeof *y);
  for (int64_t i = 0; i < r->c->n[k]; i++)
    for (int j = 0; j <= k; j++) {
      const real *from = x + (int64_t)r->c->face[k][i * (k + 1) + j] * ch;
      real sign = (real)r->c->sign[k][i * (k + 1) + j];
      for (int q = 0; q < ch; q++) y[i * ch + q] += sign * from[q];
    }
}

/* y_i = Σ_p cosign · x_coface: d_kᵀ. */
static void eval_dt(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int k = n->degree, ch = n->channels;
  memset(y, 0, (size_t)(r->c->n[k] * ch) * sizeof *y);
  for (int64_t i = 0; i < r->c->n[k]; i++)
    for (int64_t p = r->c->coptr[k][i]; p < r->c->coptr[k][i + 1]; p++) {
      const real *from = x + (int64_t)r->c->coface[k][p] * ch;
      real sign = (real)r->c->cosign[k][p];
      for (int q = 0; q < ch; q++) y[i * ch + q] += sign * from[q];
    }
}

/* y_i = [measure_i ·] mean of x over the k+1 vertices of i. */
static void eval_mean(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int k = n->degree, ch = n->channels;
  for (int64_t i = 0; i < r->c->n[k]; i++) {
    real share = (real)(n->op == OP_INTEGRAL ? r->c->measure[k][i] / (k + 1) : 1.0 / (k + 1));
    for (int q = 0; q < ch; q++) {
      real sum = 0;
      for (int j = 0; j <= k; j++) sum += x[(int64_t)r->c->vert[k][i * (k + 1) + j] * ch + q];
      y[i * ch + q] = share * sum;
    }
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

/* next = v - a d0ᵀd0 v, gathered at each vertex. */
static void heat_step(const cx *c, int ch, real a, const real *v, real *next) {
  for (int64_t i = 0; i < c->n[0]; i++)
    for (int q = 0; q < ch; q++) {
      real flow = 0;
      for (int64_t p = c->coptr[0][i]; p < c->coptr[0][i + 1]; p++) {
        const int32_t *end = c->vert[1] + 2 * (int64_t)c->coface[0][p];
        flow += (real)c->cosign[0][p] * (v[(int64_t)end[1] * ch + q] - v[(int64_t)end[0] * ch + q]);
      }
      next[i * ch + q] = v[i * ch + q] - a * flow;
    }
}

static void eval_heat(const feat_run *r, const feat_node *n, const real *x, real *y) {
  int ch = r->g->node[n->arg[0]].channels;
  int64_t n0 = r->c->n[0];
  real *state[2] = {y + n0 * n->channels, y + n0 * n->channels + n0 * ch};
  const real *v = x;
  for (int done = 0, s = 0; s < n->steps; s++) {
    for (; done < n->step[s]; done++) {
      heat_step(r->c, ch, (real)n->num[0], v, state[done % 2]);
      v = state[done % 2];
    }
    for (int64_t i = 0; i < n0; i++) memcpy(y + i * n->channels + s * ch, v + i * ch, (size_t)ch * sizeof *y);
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

/* Σ_i w_i x_iq^power s_ij; s may be NULL. */
static double weighted(const summed *t, int q, int j, double centre, int power) {
  double sum = 0;
  for (int64_t i = 0; i < t->n; i++) {
    double v = (double)t->x[i * t->ch + q] - centre;
    if (power == 2) v *= v;
    if (t->s) v *= (double)t->s[i * t->columns + j];
    sum += t->w ? (double)t->w[i] * v : v;
  }
  return t->w ? sum : sum / (double)t->n;
}

static void eval_summary(const feat_node *n, const summed *t, real *y) {
  for (int q = 0; q < t->ch; q++) {
    if (n->op == OP_AVERAGE) {
      y[q] = (real)weighted(t, q, 0, 0, 1);
    } else if (n->op == OP_MOMENT) {
      for (int j = 0; j < t->columns; j++) y[q * t->columns + j] = (real)weighted(t, q, j, 0, 1);
    } else {
      double centre = n->op == OP_CENTRED_RMS ? weighted(t, q, 0, 0, 1) : 0;
      y[q] = (real)sqrt(fmax(weighted(t, q, 0, centre, 2) + n->num[0], n->num[1]));
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
  case OP_ZERO:
    break; /* constants start at zero */
  case OP_WEIGHT:
    eval_weight(r, n, x[0], y);
    break;
  default: {
    const feat_node *a = &r->g->node[n->arg[0]];
    summed t = {.x = x[0], .w = x[1], .s = x[2], .n = r->c->n[a->degree], .ch = a->channels};
    t.columns = x[2] ? r->g->node[n->arg[2]].channels : 1;
    eval_summary(n, &t, y);
  }
  }
}
