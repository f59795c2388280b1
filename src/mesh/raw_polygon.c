/* raw_polygon.c: one polygon of a surface into triangles. The fan from the smallest corner, unless a triangle of it would be turned over
 * or flat beside the polygon (a notch, a corner on a straight side); then ears are cut off, the best shaped first. */
#include "mesh/raw.h"

#include <math.h>

enum { EARS_MAX = 256 }; /* corners up to which ears are tried: their search takes the cube of it */

static void cross_of(const double *a, const double *b, const double *p, double *w) {
  double u[3], v[3];
  for (int c = 0; c < 3; c++) u[c] = b[c] - a[c], v[c] = p[c] - a[c];
  w[0] = u[1] * v[2] - u[2] * v[1];
  w[1] = u[2] * v[0] - u[0] * v[2];
  w[2] = u[0] * v[1] - u[1] * v[0];
}

/* Twice the vector area (Newell): Σ (v_i - v_0) × (v_{i+1} - v_0). */
static void vector_area(const double *x, int64_t n, const int32_t *v, double *out) {
  out[0] = out[1] = out[2] = 0;
  for (int64_t i = 1; i + 1 < n; i++) {
    double w[3];
    cross_of(x + 3 * (int64_t)v[0], x + 3 * (int64_t)v[i], x + 3 * (int64_t)v[i + 1], w);
    for (int c = 0; c < 3; c++) out[c] += w[c];
  }
}

/* Twice the area of triangle abp as seen along the unit normal. */
static double seen_area(const double *x, const double *normal, int32_t a, int32_t b, int32_t p) {
  double w[3];
  cross_of(x + 3 * (int64_t)a, x + 3 * (int64_t)b, x + 3 * (int64_t)p, w);
  return w[0] * normal[0] + w[1] * normal[1] + w[2] * normal[2];
}

static double square_distance(const double *x, int32_t a, int32_t b) {
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    double d = x[3 * (int64_t)a + c] - x[3 * (int64_t)b + c];
    sum += d * d;
  }
  return sum;
}

/* How well corner i makes an ear: 0 when it is none, else its area over the sum of its squared sides. */
static double ear_quality(const double *x, const double *normal, double least, int64_t n, const int32_t *v, int64_t i) {
  int64_t before = (i + n - 1) % n, after = (i + 1) % n;
  int32_t a = v[before], b = v[i], p = v[after];
  double area = seen_area(x, normal, a, b, p);
  if (!(area > least)) return 0;
  for (int64_t j = 0; j < n; j++) {
    if (v[j] == a || v[j] == b || v[j] == p) continue;
    if (seen_area(x, normal, a, b, v[j]) >= 0 && seen_area(x, normal, b, p, v[j]) >= 0 &&
        seen_area(x, normal, p, a, v[j]) >= 0)
      return 0;
  }
  return area / (square_distance(x, a, b) + square_distance(x, b, p) + square_distance(x, p, a));
}

/* 1 when the polygon could be cut so. */
static int cut_ears(const double *x, const double *normal, double least, int64_t n, int32_t *v, int32_t (*out)[3]) {
  int64_t made = 0;
  for (; n > 3; n--) {
    int64_t best = -1;
    double quality = 0;
    for (int64_t i = 0; i < n; i++) {
      double q = ear_quality(x, normal, least, n, v, i);
      if (n == 4) q = fmin(q, ear_quality(x, normal, least, n, v, (i + 2) % n)); /* what is left is one too */
      if (q > quality) best = i, quality = q;
    }
    if (best < 0) return 0;
    int32_t *t = out[made++];
    t[0] = v[(best + n - 1) % n], t[1] = v[best], t[2] = v[(best + 1) % n];
    for (int64_t i = best; i + 1 < n; i++) v[i] = v[i + 1];
  }
  for (int j = 0; j < 3; j++) out[made][j] = v[j];
  return 1;
}

void raw_cut_polygon(const double *x, int64_t n, const int32_t *vert, int32_t *scratch, int32_t (*out)[3]) {
  double normal[3], least = INFINITY;
  int64_t low = 0;
  vector_area(x, n, vert, normal);
  double area = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
  for (int c = 0; c < 3; c++) normal[c] /= area;
  for (int64_t i = 0; i < n; i++) low = vert[i] < vert[low] ? i : low;
  for (int64_t i = 0; i < n; i++) scratch[i] = vert[(low + i) % n];
  for (int64_t i = 1; i + 1 < n; i++) least = fmin(least, seen_area(x, normal, scratch[0], scratch[i], scratch[i + 1]));
  double flat = 1e-10 * area;
  if (!(area > 0 && isfinite(area)) || least > flat || n > EARS_MAX || !cut_ears(x, normal, flat, n, scratch, out)) {
    for (int64_t i = 0; i + 2 < n; i++)
      out[i][0] = vert[low], out[i][1] = vert[(low + i + 1) % n], out[i][2] = vert[(low + i + 2) % n];
  }
}
