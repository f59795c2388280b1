/* fused_case.h: a random network on a small complex for the tests of model/dkho/fused.h, and the same network written down
 * plainly: row-major, in double, no folding, no skipping. Include after cmocka.h. */
#ifndef TESTS_FUSED_CASE_H
#define TESTS_FUSED_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_SAMPLES = 5, CASE_COLUMNS = 9, CASE_MODES = 5 };

typedef struct {
  cx *c;
  fused_shape s;
  fused_mesh mesh;
  size_t params;
  real *theta;                /* the parameters */
  int32_t rows[CASE_COLUMNS]; /* 0 … 8, shared by the column groups */
  real *fixed[FUSED_DEGREES];
  double *star[FUSED_DEGREES];
  real *modes[FUSED_DEGREES][2]; /* analyse, synthesise: noise, which is as good as eigenvectors here */
  fused_sample sample[CASE_SAMPLES];
  real *owned[FUSED_DEGREES][CASE_SAMPLES], *global[CASE_SAMPLES];
} net_case;

static inline size_t case_take(net_case *n, size_t count) {
  size_t here = n->params;
  n->params += count;
  return here;
}

static inline fused_mlp case_mlp(net_case *n, size_t in, size_t h, size_t out) {
  fused_mlp m;
  m.w1 = case_take(n, in * h), m.b1 = case_take(n, h);
  m.gain = case_take(n, h), m.shift = case_take(n, h);
  m.w2 = case_take(n, h * out), m.b2 = case_take(n, out);
  return m;
}

static inline void case_layout(net_case *n) {
  size_t h = (size_t)n->s.h, c = (size_t)n->s.c;
  for (int k = 0; k < n->s.degrees; k++) n->s.encoder[k] = case_mlp(n, CASE_COLUMNS, h, h);
  for (int l = 0; l < n->s.layers; l++) {
    for (int k = 0; k < n->s.degrees; k++) {
      fused_rank *r = &n->s.layer[l].rank[k];
      r->drive_w = case_take(n, h * c), r->drive_b = case_take(n, c);
      r->gate_w = case_take(n, h * c), r->gate_b = case_take(n, c);
      r->lag_w = case_take(n, h * c), r->lag_b = case_take(n, c);
      r->read_w = case_take(n, 2 * c * h), r->read_b = case_take(n, h);
      r->update = case_mlp(n, 2 * h, h, h);
      r->skip = case_take(n, h * h);
      r->gain = case_take(n, h), r->shift = case_take(n, h), r->sigma = case_take(n, 1);
    }
    n->s.layer[l].tau = case_take(n, 1);
  }
  n->s.decoder = case_mlp(n, h + 2 * c, h, (size_t)n->s.outputs);
  for (int k = 0; k < n->s.degrees; k++) n->s.start_w[k] = case_take(n, h * c), n->s.start_b[k] = case_take(n, c);
  size_t all = (size_t)n->s.degrees * CASE_MODES;
  for (int l = 0; l < n->s.layers; l++) {
    fused_layer *at = &n->s.layer[l];
    at->mix = case_take(n, h * h), at->mix1 = case_take(n, all * all), at->mix2 = case_take(n, all * all);
    for (int k = 0; k < n->s.degrees; k++) {
      for (int i = 0; i < 4; i++) at->rank[k].link[i / 2][i % 2] = case_take(n, h * h);
      at->rank[k].ret = case_take(n, h * h), at->rank[k].send = case_take(n, h * h);
    }
  }
}

static inline real *case_noise(size_t n, uint64_t stream, double scale) {
  real *x = mem_alloc(n, sizeof *x);
  assert_non_null(x);
  rng r = rng_open(3, RNG_TEST, stream);
  for (size_t i = 0; i < n; i++) x[i] = (real)(scale * rng_normal(&r));
  return x;
}

/* Takes the complex over. The nine input columns are split unevenly and out of order among the groups. Coupled phases from
 * zero; tests may set s.relation, s.start, s.exchange, s.width, s.modes, up to CASE_MODES, and
 * s.slots, at most as many as there are modes. */
static inline net_case *case_make(cx *c, int degrees, int h, int width, int layers, int substeps, int target,
                                  int outputs, int weighted) {
  static const int32_t order[CASE_COLUMNS] = {4, 0, 7, 2, 8, 5, 1, 3, 6};
  net_case *n = mem_alloc(1, sizeof *n);
  assert_non_null(n);
  n->c = c;
  memcpy(n->rows, order, sizeof order);
  n->s = (fused_shape){.degrees = degrees, .h = h, .c = width, .layers = layers, .substeps = substeps};
  n->s.target = target, n->s.outputs = outputs;
  n->s.tau_min = (real)0.02, n->s.tau_range = (real)0.15, n->s.lag_scale = (real)0.5;
  for (int k = 0; k < degrees; k++) {
    n->s.n[k] = c->n[k];
    n->s.fixed[k] = (fused_columns){k == 1 ? 0 : 4, n->rows};
    n->s.varying[k] = (fused_columns){k == 1 ? 7 : 2, n->rows + n->s.fixed[k].count};
    n->s.global[k] = (fused_columns){k == 1 ? 2 : 3, n->rows + n->s.fixed[k].count + n->s.varying[k].count};
    n->mesh.face[k] = c->face[k], n->mesh.sign[k] = c->sign[k];
    n->mesh.coptr[k] = c->coptr[k], n->mesh.coface[k] = c->coface[k], n->mesh.cosign[k] = c->cosign[k];
    n->fixed[k] = case_noise((size_t)(c->n[k] * n->s.fixed[k].count), 10 + (uint64_t)k, 1);
    if (weighted) {
      n->star[k] = mem_alloc((size_t)c->n[k], sizeof(double));
      rng r = rng_open(4, RNG_TEST, (uint64_t)k);
      for (int64_t i = 0; i < c->n[k]; i++) n->star[k][i] = rng_range(&r, 0.5, 1.5);
      n->mesh.star[k] = n->star[k];
    }
    for (int i = 0; i < 2; i++)
      n->modes[k][i] =
          case_noise((size_t)c->n[k] * CASE_MODES, 80 + (uint64_t)(2 * k + i), 1 / sqrt(sqrt((double)c->n[k])));
    n->mesh.analyse[k] = n->modes[k][0], n->mesh.synthesise[k] = n->modes[k][1];
    if (target == 1) { /* one is a multiple of the other */
      for (int64_t i = 0; i < c->n[k] * CASE_MODES; i++) n->modes[k][0][i] = n->modes[k][1][i] / (real)c->n[k];
      n->mesh.synthesise[k] = NULL;
    }
    for (int i = 0; i < CASE_SAMPLES; i++)
      n->sample[i].varying[k] = n->owned[k][i] =
          case_noise((size_t)(c->n[k] * n->s.varying[k].count), 20 + (uint64_t)(k * CASE_SAMPLES + i), 1);
  }
  for (int i = 0; i < CASE_SAMPLES; i++) n->sample[i].global = n->global[i] = case_noise(3, 60 + (uint64_t)i, 1);
  case_layout(n);
  n->theta = case_noise(n->params, 1, 0.35);
  return n;
}

static inline void case_free(net_case *n) {
  for (int k = 0; k < n->s.degrees; k++) {
    mem_free(n->fixed[k]);
    mem_free(n->star[k]);
    mem_free(n->modes[k][0]), mem_free(n->modes[k][1]);
    for (int i = 0; i < CASE_SAMPLES; i++) mem_free(n->owned[k][i]);
  }
  for (int i = 0; i < CASE_SAMPLES; i++) mem_free(n->global[i]);
  mem_free(n->theta);
  cx_free(n->c);
  mem_free(n);
}

/* y (n × out) = x (n × in) W + b, rows in double */
static inline double *plain_linear(int64_t n, int in, int out, const double *x, const real *w, const real *b) {
  double *y = mem_alloc((size_t)(n * out), sizeof *y);
  assert_non_null(y);
  for (int64_t i = 0; i < n; i++)
    for (int o = 0; o < out; o++) {
      double s = b ? (double)b[o] : 0;
      for (int j = 0; j < in; j++) s += x[i * in + j] * (double)w[j * out + o];
      y[i * out + o] = s;
    }
  return y;
}

static inline void plain_norm(int64_t n, int h, double *x, const real *gain, const real *shift) {
  for (int64_t i = 0; i < n; i++, x += h) {
    double mean = 0, var = 0;
    for (int j = 0; j < h; j++) mean += x[j] / h;
    for (int j = 0; j < h; j++) var += (x[j] - mean) * (x[j] - mean) / h;
    for (int j = 0; j < h; j++) x[j] = (double)gain[j] * (x[j] - mean) / sqrt(var + 1e-5) + (double)shift[j];
  }
}

static inline void plain_add(int64_t count, const double *x, double *y) {
  for (int64_t i = 0; i < count; i++) y[i] += x[i];
}

/* `more`, if any, is added to the first map. */
static inline double *plain_mlp(int64_t n, int in, int h, int out, const double *x, const fused_mlp *m, const real *p,
                                const double *more) {
  double *a = plain_linear(n, in, h, x, p + m->w1, p + m->b1);
  if (more) plain_add(n * h, more, a);
  for (int64_t i = 0; i < n * h; i++) a[i] *= 0.5 * erfc(-a[i] / sqrt(2));
  plain_norm(n, h, a, p + m->gain, p + m->shift);
  double *y = plain_linear(n, h, out, a, p + m->w2, p + m->b2);
  mem_free(a);
  return y;
}

/* [a, b] side by side; frees nothing */
static inline double *plain_join(int64_t n, int ca, const double *a, int cb, const double *b) {
  double *y = mem_alloc((size_t)(n * (ca + cb)), sizeof *y);
  for (int64_t i = 0; i < n; i++) {
    memcpy(y + i * (ca + cb), a + i * ca, (size_t)ca * sizeof *y);
    memcpy(y + i * (ca + cb) + ca, b + i * cb, (size_t)cb * sizeof *y);
  }
  return y;
}

static inline double *plain_phasor(int64_t n, int c, const double *theta) {
  double *y = mem_alloc((size_t)(n * 2 * c), sizeof *y);
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j < c; j++) {
      y[i * 2 * c + j] = cos(theta[i * c + j]);
      y[i * 2 * c + c + j] = sin(theta[i * c + j]);
    }
  return y;
}

/* out (degree k) += d u_{k-1}, and += δ u_{k+1} */
static inline void plain_d(const net_case *n, int k, int c, const double *u, double *out) {
  for (int64_t i = 0; i < n->s.n[k]; i++)
    for (int f = 0; f <= k; f++)
      for (int j = 0; j < c; j++)
        out[i * c + j] += n->c->sign[k][i * (k + 1) + f] * u[n->c->face[k][i * (k + 1) + f] * c + j];
}
static inline void plain_delta(const net_case *n, int k, int c, const double *u, double *out) {
  for (int64_t e = 0; e < n->s.n[k + 1]; e++)
    for (int f = 0; f <= k + 1; f++) {
      int32_t i = n->c->face[k + 1][e * (k + 2) + f];
      double m = n->star[k] ? n->star[k + 1][e] / n->star[k][i] : 1;
      for (int j = 0; j < c; j++) out[i * c + j] += m * n->c->sign[k + 1][e * (k + 2) + f] * u[e * c + j];
    }
}

typedef struct {
  double *z[FUSED_DEGREES], *z0[FUSED_DEGREES], *theta[FUSED_DEGREES];
  double *drive[FUSED_DEGREES], *gate[FUSED_DEGREES], *lag[FUSED_DEGREES];
} plain_state;

static inline double plain_tau(const net_case *n, int l, const real *p) {
  return (double)n->s.tau_min + (double)n->s.tau_range / (1 + exp(-(double)p[n->s.layer[l].tau]));
}
static inline double plain_sigma(const net_case *n, int l, int k, const real *p) {
  return log1p(exp((double)p[n->s.layer[l].rank[k].sigma])) + 1e-4;
}

static inline void plain_substep(const net_case *n, int l, const real *p, plain_state *s) {
  int D = n->s.degrees, c = n->s.c, alone = n->s.relation == FUSED_ALONE;
  double *next[FUSED_DEGREES], tau = plain_tau(n, l, p);
  for (int k = 0; k < D; k++) {
    size_t count = (size_t)(n->s.n[k] * c);
    double *back = mem_alloc(count, sizeof *back);
    for (int side = 0; side < 2; side++) { /* via k+1, via k-1 */
      int j = side ? k - 1 : k + 1;
      if (j < 0 || j >= D || alone) continue;
      size_t m = (size_t)(n->s.n[j] * c);
      double *r = mem_alloc(m, sizeof *r);
      if (side)
        plain_delta(n, j, c, s->theta[k], r);
      else
        plain_d(n, j, c, s->theta[k], r);
      for (size_t i = 0; i < m; i++) r[i] = sin(r[i] + (side ? 1 : -1) * s->gate[j][i] * s->theta[j][i] - s->lag[j][i]);
      if (side)
        plain_d(n, k, c, r, back);
      else
        plain_delta(n, k, c, r, back);
      mem_free(r);
    }
    for (size_t i = 0; alone && i < count; i++) back[i] = sin(s->gate[k][i] * s->theta[k][i] - s->lag[k][i]);
    double sigma = plain_sigma(n, l, k, p);
    for (size_t i = 0; i < count; i++) back[i] = s->theta[k][i] - tau * (s->drive[k][i] + sigma * back[i]);
    next[k] = back;
  }
  for (int k = 0; k < D; k++) {
    mem_free(s->theta[k]);
    s->theta[k] = next[k];
  }
}

/* x of the maps before any nonlinearity. */
static inline double *plain_carrier(const net_case *n, int k, const plain_state *s) {
  double *x = mem_alloc((size_t)(n->s.n[k] * n->s.c), sizeof *x);
  for (int64_t i = 0; i < n->s.n[k] * n->s.c; i++)
    x[i] = tanh(s->drive[k][i]) / (1 + exp(-s->gate[k][i])) + tanh(s->lag[k][i]);
  return x;
}

/* What stands beside z of degree k in layer l: [cos θ, sin θ] or [m, x]. */
static inline double *plain_view(const net_case *n, int l, int k, const real *p, const plain_state *s) {
  int c = n->s.c;
  if (n->s.relation != FUSED_CARRIER) return plain_phasor(n->s.n[k], c, s->theta[k]);
  double *m = mem_alloc((size_t)(n->s.n[k] * c), sizeof *m), *own = plain_carrier(n, k, s);
  for (int j = k - 1; j <= k + 1; j += 2) {
    if (j < 0 || j >= n->s.degrees) continue;
    double *x = plain_carrier(n, j, s);
    (j < k ? plain_d : plain_delta)(n, k, c, x, m);
    mem_free(x);
  }
  for (int64_t i = 0; i < n->s.n[k] * c; i++) m[i] *= plain_sigma(n, l, k, p);
  double *y = plain_join(n->s.n[k], c, m, c, own);
  mem_free(m), mem_free(own);
  return y;
}

/* out (degree k) += the mean of u over the faces, or the cofaces, of each simplex */
static inline void plain_mean(const net_case *n, int k, int up, int h, const double *u, double *out) {
  const int64_t *ptr = n->c->coptr[k];
  for (int64_t i = 0; i < n->s.n[k]; i++) {
    int64_t first = up ? ptr[i] : i * (k + 1), last = up ? ptr[i + 1] : first + k + 1;
    for (int64_t e = first; e < last; e++) {
      int32_t j = up ? n->c->coface[k][e] : n->c->face[k][e];
      for (int o = 0; o < h; o++) out[i * h + o] += u[j * h + o] / (double)(last - first);
    }
  }
}

/* State of degree j as it is sent, in rows of *width. */
static inline double *plain_sent(const net_case *n, int l, int j, const real *p, const plain_state *s, int *width) {
  int h = n->s.h, narrow = n->s.width && n->s.width < h;
  *width = narrow ? n->s.width : h;
  if (narrow) return plain_linear(n->s.n[j], h, *width, s->z[j], p + n->s.layer[l].rank[j].send, NULL);
  double *same = mem_alloc((size_t)(n->s.n[j] * h), sizeof *same);
  plain_add(n->s.n[j] * h, s->z[j], same);
  return same;
}

/* out += what degree k gets over its links from one side */
static inline void plain_links(const net_case *n, int l, int k, int up, const real *p, plain_state *s, double *out) {
  int h = n->s.h, j = up ? k + 1 : k - 1, w;
  int64_t N = n->s.n[k];
  if (j < 0 || j >= n->s.degrees) return;
  double *sent = plain_sent(n, l, j, p, s, &w);
  for (int kind = 0; kind < 2; kind++) {
    if (!(n->s.exchange >> kind & 1)) continue;
    double *x = mem_alloc((size_t)(N * w), sizeof *x);
    if (kind)
      plain_mean(n, k, up, w, sent, x);
    else
      (up ? plain_delta : plain_d)(n, k, w, sent, x);
    double *y = plain_linear(N, w, h, x, p + n->s.layer[l].rank[k].link[up][kind], NULL);
    plain_add(N * h, y, out);
    mem_free(x), mem_free(y);
  }
  mem_free(sent);
}

/* y (rows × cols) = A (rows × in, real) x */
static inline double *plain_left(int rows, int in, int cols, const real *a, const double *x) {
  double *y = mem_alloc((size_t)(rows * cols), sizeof *y);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < in; j++)
      for (int o = 0; o < cols; o++) y[i * cols + o] += (double)a[i * in + j] * x[j * cols + o];
  return y;
}

/* V = A₂ GELU(A₁ C B), C the coefficients of all degrees */
static inline double *plain_mixed(const net_case *n, int l, const real *p, const plain_state *s) {
  const fused_layer *at = &n->s.layer[l];
  int h = n->s.h, m = n->s.modes, all = n->s.degrees * m, slots = n->s.slots ? n->s.slots : all;
  double *c = mem_alloc((size_t)(all * h), sizeof *c);
  for (int k = 0; k < n->s.degrees; k++)
    for (int64_t i = 0; i < n->s.n[k]; i++)
      for (int j = 0; j < m; j++)
        for (int o = 0; o < h; o++) c[(k * m + j) * h + o] += (double)n->modes[k][0][i * m + j] * s->z[k][i * h + o];
  double *cb = plain_linear(all, h, h, c, p + at->mix, NULL), *a = plain_left(slots, all, h, p + at->mix1, cb);
  for (int i = 0; i < slots * h; i++) a[i] *= 0.5 * erfc(-a[i] / sqrt(2));
  double *v = plain_left(all, slots, h, p + at->mix2, a);
  mem_free(c), mem_free(cb), mem_free(a);
  return v;
}

/* Everything that the first map of degree k gets beside its own state and relation. */
static inline double *plain_far(const net_case *n, int l, int k, const real *p, plain_state *s) {
  int h = n->s.h, m = n->s.modes;
  int64_t N = n->s.n[k];
  double *out = mem_alloc((size_t)(N * h), sizeof *out);
  for (int up = 0; up < 2; up++) plain_links(n, l, k, up, p, s, out);
  if (!m) return out;
  double *v = plain_mixed(n, l, p, s);
  double *t = plain_linear(m, h, h, v + k * m * h, p + n->s.layer[l].rank[k].ret, NULL);
  double *y = plain_left((int)N, m, h, n->modes[k][1], t);
  plain_add(N * h, y, out);
  mem_free(v), mem_free(t), mem_free(y);
  return out;
}

static inline void plain_content(const net_case *n, int l, int k, const real *p, const double *far, plain_state *s) {
  const fused_rank *r = &n->s.layer[l].rank[k];
  int h = n->s.h, c = n->s.c, none = n->s.relation == FUSED_NONE;
  int64_t N = n->s.n[k];
  double *cs = plain_view(n, l, k, p, s), *read = plain_linear(N, 2 * c, h, cs, p + r->read_w, p + r->read_b);
  double *both = plain_join(N, h, s->z[k], none ? 0 : h, read);
  double *u = plain_mlp(N, none ? h : 2 * h, h, h, both, &r->update, p, far);
  double *skip = plain_linear(N, h, h, s->z0[k], p + r->skip, NULL);
  double scale = n->s.relation == FUSED_CARRIER ? plain_tau(n, l, p) : 1;
  for (int64_t i = 0; i < N * h; i++) s->z[k][i] += scale * u[i] + skip[i];
  plain_norm(N, h, s->z[k], p + r->gain, p + r->shift);
  mem_free(cs), mem_free(read), mem_free(both), mem_free(u), mem_free(skip);
}

static inline void plain_maps(const net_case *n, int l, int k, const real *p, plain_state *s) {
  const fused_rank *r = &n->s.layer[l].rank[k];
  int h = n->s.h, c = n->s.c;
  s->drive[k] = plain_linear(n->s.n[k], h, c, s->z[k], p + r->drive_w, p + r->drive_b);
  s->gate[k] = plain_linear(n->s.n[k], h, c, s->z[k], p + r->gate_w, p + r->gate_b);
  s->lag[k] = plain_linear(n->s.n[k], h, c, s->z[k], p + r->lag_w, p + r->lag_b);
  for (int64_t i = 0; n->s.relation != FUSED_CARRIER && i < n->s.n[k] * c; i++) {
    s->gate[k][i] = tanh(s->gate[k][i]);
    s->lag[k][i] = (double)n->s.lag_scale * tanh(s->lag[k][i]);
  }
}

static inline void plain_encode(const net_case *n, int k, const real *p, const fused_sample *in, plain_state *s) {
  int nf = n->s.fixed[k].count, nv = n->s.varying[k].count, ng = n->s.global[k].count;
  int64_t N = n->s.n[k];
  double *x = mem_alloc((size_t)(N * CASE_COLUMNS), sizeof *x);
  for (int64_t i = 0; i < N; i++) {
    for (int j = 0; j < nf; j++) x[i * CASE_COLUMNS + n->s.fixed[k].row[j]] = (double)n->fixed[k][i * nf + j];
    for (int j = 0; j < nv; j++) x[i * CASE_COLUMNS + n->s.varying[k].row[j]] = (double)in->varying[k][i * nv + j];
    for (int j = 0; j < ng; j++) x[i * CASE_COLUMNS + n->s.global[k].row[j]] = (double)in->global[j];
  }
  s->z[k] = plain_mlp(N, CASE_COLUMNS, n->s.h, n->s.h, x, &n->s.encoder[k], p, NULL);
  s->z0[k] = mem_alloc((size_t)(N * n->s.h), sizeof *s->z0[k]);
  memcpy(s->z0[k], s->z[k], (size_t)(N * n->s.h) * sizeof *s->z0[k]);
  const real *b = p + n->s.start_b[k];
  if (n->s.start == FUSED_CONTENT)
    s->theta[k] = plain_linear(N, n->s.h, n->s.c, s->z[k], p + n->s.start_w[k], b);
  else
    s->theta[k] = mem_alloc((size_t)(N * n->s.c), sizeof *s->theta[k]);
  for (int64_t i = 0; i < N * n->s.c; i++)
    s->theta[k][i] = n->s.start == FUSED_CONTENT  ? 4 * atan(1) * tanh(s->theta[k][i])
                     : n->s.start == FUSED_COMMON ? (double)b[i % n->s.c]
                                                  : 0;
  mem_free(x);
}

static inline void plain_layer(const net_case *n, int l, const real *p, plain_state *s) {
  int substeps = n->s.relation >= FUSED_CARRIER ? 0 : n->s.substeps;
  for (int k = 0; k < n->s.degrees; k++) plain_maps(n, l, k, p, s);
  for (int r = 0; r < substeps; r++) plain_substep(n, l, p, s);
  double *far[FUSED_DEGREES];
  for (int k = 0; k < n->s.degrees; k++) far[k] = plain_far(n, l, k, p, s);
  for (int k = 0; k < n->s.degrees; k++) plain_content(n, l, k, p, far[k], s);
  for (int k = 0; k < n->s.degrees; k++) mem_free(far[k]);
  for (int k = 0; k < n->s.degrees; k++) mem_free(s->drive[k]), mem_free(s->gate[k]), mem_free(s->lag[k]);
}

/* The decoder's [cos θ, sin θ], or [x, tanh gate] of the last layer's maps at the final state. */
static inline double *plain_last_view(const net_case *n, const real *p, plain_state *s) {
  int q = n->s.target, c = n->s.c;
  if (n->s.relation != FUSED_CARRIER) return plain_phasor(n->s.n[q], c, s->theta[q]);
  plain_maps(n, n->s.layers - 1, q, p, s);
  double *x = plain_carrier(n, q, s);
  for (int64_t i = 0; i < n->s.n[q] * c; i++) s->gate[q][i] = tanh(s->gate[q][i]);
  double *y = plain_join(n->s.n[q], c, x, c, s->gate[q]);
  mem_free(x), mem_free(s->drive[q]), mem_free(s->gate[q]), mem_free(s->lag[q]);
  return y;
}

/* The output, n[target] × outputs, owned by the caller. */
static inline double *plain_forward(const net_case *n, const real *p, const fused_sample *in) {
  plain_state s;
  memset(&s, 0, sizeof s);
  int D = n->s.degrees, q = n->s.target, h = n->s.h, c = n->s.c;
  for (int k = 0; k < D; k++) plain_encode(n, k, p, in, &s);
  for (int l = 0; l < n->s.layers; l++) plain_layer(n, l, p, &s);
  int beside = n->s.relation == FUSED_NONE ? 0 : 2 * c;
  double *cs = plain_last_view(n, p, &s), *both = plain_join(n->s.n[q], h, s.z[q], beside, cs);
  double *y = plain_mlp(n->s.n[q], h + beside, h, n->s.outputs, both, &n->s.decoder, p, NULL);
  mem_free(cs), mem_free(both);
  for (int k = 0; k < D; k++) mem_free(s.z[k]), mem_free(s.z0[k]), mem_free(s.theta[k]);
  return y;
}

/* Loss of the tests: Σ (y²/2 + w y), w the element's number modulo 7, less 3. */
static inline double case_value(const net_case *n, const double *y) {
  double s = 0;
  for (int64_t i = 0; i < n->s.n[n->s.target] * n->s.outputs; i++) s += 0.5 * y[i] * y[i] + (double)(i % 7 - 3) * y[i];
  return s;
}
static inline dkho_status case_loss(void *ctx, int sample, const real *y, real *g_y) {
  const net_case *n = ctx;
  (void)sample;
  for (int64_t i = 0; i < n->s.n[n->s.target] * n->s.outputs; i++) g_y[i] = y[i] + (real)(i % 7 - 3);
  return DKHO_OK;
}

/* Gradient of the summed loss of `count` samples in the caller's layout, by the fused network; owned by the caller. */
static inline real *case_gradient(const net_case *n, const kern *k, int threads, int at_a_time, int count) {
  fused *f;
  fused_team *t;
  pool *p;
  assert_int_equal(pool_create(&p, threads), DKHO_OK);
  assert_int_equal(fused_create(&f, k, &n->s, &n->mesh, (const real *const *)n->fixed), DKHO_OK);
  assert_int_equal(fused_team_create(&t, f, p, at_a_time), DKHO_OK);
  real *packed = mem_alloc(fused_grads(f), sizeof *packed), *g = mem_alloc(n->params, sizeof *g);
  fused_prepare(f, p, n->theta);
  void *ctx = mem_alloc(1, sizeof *n);
  memcpy(ctx, n, sizeof *n);
  assert_int_equal(fused_train(t, count, n->sample, case_loss, ctx, packed), DKHO_OK);
  fused_collect(f, n->theta, packed, g);
  mem_free(ctx), mem_free(packed);
  fused_team_free(t);
  fused_free(f);
  pool_free(p);
  return g;
}

/* Output of sample i by the fused network: by buffers for training and, again and again, by those for predicting alone. */
static inline real *case_output(const net_case *n, const kern *k, int threads, int i) {
  fused *f;
  fused_team *t, *lean;
  pool *p;
  assert_int_equal(pool_create(&p, threads), DKHO_OK);
  assert_int_equal(fused_create(&f, k, &n->s, &n->mesh, (const real *const *)n->fixed), DKHO_OK);
  assert_int_equal(fused_team_create(&t, f, p, 1), DKHO_OK);
  assert_int_equal(fused_team_create_predict(&lean, f, p, 2), DKHO_OK);
  fused_prepare(f, p, n->theta);
  size_t size = (size_t)(n->s.n[n->s.target] * n->s.outputs);
  real *y = mem_alloc(size, sizeof *y), *z = mem_alloc(3 * size, sizeof *z);
  fused_sample thrice[3] = {n->sample[i], n->sample[i], n->sample[i]};
  assert_int_equal(fused_predict(t, 1, &n->sample[i], &y), DKHO_OK);
  assert_int_equal(fused_predict(lean, 3, thrice, (real *[]){z, z + size, z + 2 * size}), DKHO_OK);
  for (int j = 0; j < 3; j++) assert_memory_equal(y, z + (size_t)j * size, size * sizeof *y);
  mem_free(z);
  fused_team_free(t);
  fused_team_free(lean);
  fused_free(f);
  pool_free(p);
  return y;
}

#endif
