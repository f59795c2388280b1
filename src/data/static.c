/* static.c: geometric descriptors; see static.h. */
#include "data/static.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void static_standardise(int64_t n, int ch, double *v) {
  for (int q = 0; q < ch; q++) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += v[i * ch + q];
    mean /= (double)n;
    for (int64_t i = 0; i < n; i++) square += (v[i * ch + q] - mean) * (v[i * ch + q] - mean);
    double scale = sqrt(square / (double)n) + 1e-6;
    for (int64_t i = 0; i < n; i++) v[i * ch + q] = (v[i * ch + q] - mean) / scale;
  }
}

void static_positions(const cx *c, int k, double *out) {
  cx_centroids(c, k, out);
  static_standardise(c->n[k], c->gdim, out);
}

void static_tangents(const cx *c, double *out) {
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *tail = c->x + (int64_t)c->vert[1][2 * e] * c->gdim;
    const double *head = c->x + (int64_t)c->vert[1][2 * e + 1] * c->gdim;
    for (int j = 0; j < c->gdim; j++) out[e * c->gdim + j] = (head[j] - tail[j]) / fmax(c->measure[1][e], 1e-8);
  }
}

void static_normals(const cx *c, double *out) {
  assert(c->gdim == 3 && c->dim >= 2);
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    const double *p = c->x + 3 * (int64_t)v[0], *q = c->x + 3 * (int64_t)v[1], *s = c->x + 3 * (int64_t)v[2];
    double a[3], b[3], *n = out + 3 * f;
    for (int j = 0; j < 3; j++) a[j] = q[j] - p[j], b[j] = s[j] - p[j];
    for (int j = 0; j < 3; j++) n[j] = a[(j + 1) % 3] * b[(j + 2) % 3] - a[(j + 2) % 3] * b[(j + 1) % 3];
    double length = 2 * c->measure[2][f];
    for (int j = 0; j < 3; j++) n[j] /= length;
  }
}

void static_onehot(const cx *c, int k, double *out) {
  memset(out, 0, (size_t)(c->n[k] * c->labels) * sizeof *out);
  for (int64_t i = 0; i < c->n[k]; i++) out[i * c->labels + (c->label[k] ? c->label[k][i] : 0)] = 1;
}

void static_vertex_mean(const cx *c, int k, int ch, const double *u, double *out) {
  assert(k >= 1 && k <= c->dim);
  for (int64_t i = 0; i < c->n[k]; i++)
    for (int q = 0; q < ch; q++) {
      double sum = 0;
      for (int j = 0; j <= k; j++) sum += u[(int64_t)c->vert[k][i * (k + 1) + j] * ch + q];
      out[i * ch + q] = sum / (k + 1);
    }
}

dkho_status static_mean_to_vertices(const cx *c, int k, int ch, const double *u, double *out) {
  assert(k >= 1 && k <= c->dim);
  int32_t *count;
  if (!MEM_NEW(count, c->n[0])) return DKHO_E_MEMORY;
  memset(out, 0, (size_t)(c->n[0] * ch) * sizeof *out);
  for (int64_t i = 0; i < c->n[k]; i++)
    for (int j = 0; j <= k; j++) {
      int64_t v = c->vert[k][i * (k + 1) + j];
      count[v]++;
      for (int q = 0; q < ch; q++) out[v * ch + q] += u[i * ch + q];
    }
  for (int64_t v = 0; v < c->n[0]; v++)
    for (int q = 0; q < ch; q++) out[v * ch + q] /= count[v]; /* a pure complex: never 0 */
  mem_free(count);
  return DKHO_OK;
}

void static_mean_of_cofaces(const cx *c, int k, int ch, const double *u, double *out) {
  assert(k >= 0 && k < c->dim);
  for (int64_t i = 0; i < c->n[k]; i++) {
    int64_t from = c->coptr[k][i], to = c->coptr[k][i + 1];
    for (int q = 0; q < ch; q++) {
      double sum = 0;
      for (int64_t p = from; p < to; p++) sum += u[(int64_t)c->coface[k][p] * ch + q];
      out[i * ch + q] = to > from ? sum / (double)(to - from) : 0;
    }
  }
}

void static_distance(const cx *c, const uint8_t *mask, double divisor, double *out) {
  for (int64_t i = 0; i < c->n[0]; i++) {
    double best = INFINITY;
    for (int64_t m = 0; m < c->n[0]; m++) {
      if (!mask[m]) continue;
      double square = 0;
      for (int j = 0; j < c->gdim; j++) {
        double gap = c->x[i * c->gdim + j] - c->x[m * c->gdim + j];
        square += gap * gap;
      }
      if (square < best) best = square;
    }
    out[i] = sqrt(best) / divisor;
  }
}

double static_diagonal(const cx *c) {
  double square = 0;
  for (int j = 0; j < c->gdim; j++) {
    double lo = c->x[j], hi = c->x[j];
    for (int64_t i = 1; i < c->n[0]; i++) {
      lo = fmin(lo, c->x[i * c->gdim + j]);
      hi = fmax(hi, c->x[i * c->gdim + j]);
    }
    square += (hi - lo) * (hi - lo);
  }
  return sqrt(square);
}

void static_lumped(const cx *c, double *out) {
  assert(c->dim >= 1);
  int k = c->dim;
  memset(out, 0, (size_t)c->n[0] * sizeof *out);
  for (int64_t i = 0; i < c->n[k]; i++)
    for (int j = 0; j <= k; j++) out[c->vert[k][i * (k + 1) + j]] += c->measure[k][i] / (k + 1);
}
