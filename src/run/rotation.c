/* rotation.c: where each vertex came from, as a triangle and weights; found once. */
#include "run/rotation.h"
#include "mesh/vec3.h"

#include <math.h>

struct rotation {
  int64_t n;
  int32_t *from;  /* n × 3 vertices */
  double *weight; /* n × 3, summing to 1 */
};

/* Barycentric weights of p's foot on the triangle's plane, clipped to the triangle; the squared distance to that point. */
static double project_on_triangle(const cx *c, const int32_t *v, const double p[3], double w[3]) {
  const double *a = c->x + 3 * v[0], *b = c->x + 3 * v[1], *e = c->x + 3 * v[2];
  double u[3], t[3], r[3], sum = 0, distance = 0;
  for (int i = 0; i < 3; i++) u[i] = b[i] - a[i], t[i] = e[i] - a[i], r[i] = p[i] - a[i];
  double uu = vec3_dot(u, u), ut = vec3_dot(u, t), tt = vec3_dot(t, t), ru = vec3_dot(r, u), rt = vec3_dot(r, t),
         det = uu * tt - ut * ut;
  w[1] = (tt * ru - ut * rt) / det;
  w[2] = (uu * rt - ut * ru) / det;
  w[0] = 1 - w[1] - w[2];
  for (int i = 0; i < 3; i++) sum += w[i] = fmax(w[i], 0);
  for (int i = 0; i < 3; i++) w[i] /= sum;
  for (int i = 0; i < 3; i++) {
    double gap = w[0] * a[i] + w[1] * b[i] + w[2] * e[i] - p[i];
    distance += gap * gap;
  }
  return distance;
}

static int64_t nearest_vertex(const cx *c, const double p[3]) {
  int64_t best = 0;
  double least = INFINITY;
  for (int64_t i = 0; i < c->n[0]; i++) {
    const double *x = c->x + 3 * i, gap[3] = {x[0] - p[0], x[1] - p[1], x[2] - p[2]};
    double d = vec3_dot(gap, gap);
    if (d < least) least = d, best = i;
  }
  return best;
}

/* The triangles round the vertices that share an edge with the nearest one (itself among them). */
static void find_origin(const cx *c, const double p[3], int32_t *from, double *weight) {
  int64_t near = nearest_vertex(c, p);
  double least = INFINITY;
  for (int64_t e = c->coptr[0][near]; e < c->coptr[0][near + 1]; e++)
    for (int side = 0; side < 2; side++) {
      int64_t v = c->vert[1][2 * c->coface[0][e] + side];
      for (int64_t g = c->coptr[0][v]; g < c->coptr[0][v + 1]; g++) {
        int64_t edge = c->coface[0][g];
        for (int64_t t = c->coptr[1][edge]; t < c->coptr[1][edge + 1]; t++) {
          const int32_t *tri = c->vert[2] + 3 * (int64_t)c->coface[1][t];
          double w[3], d = project_on_triangle(c, tri, p, w);
          if (d >= least) continue;
          least = d;
          for (int i = 0; i < 3; i++) from[i] = tri[i], weight[i] = w[i];
        }
      }
    }
}

dkho_status rotation_create(rotation **out, const cx *c, double angle) {
  rotation *k;
  *out = NULL;
  if (c->dim != 2 || c->gdim != 3) return fail(DKHO_E_INPUT, "carrying a field round needs triangles in space");
  if (!MEM_NEW(k, 1)) return DKHO_E_MEMORY;
  k->n = c->n[0];
  if (!MEM_NEW(k->from, 3 * k->n) || !MEM_NEW(k->weight, 3 * k->n)) {
    rotation_free(k);
    return DKHO_E_MEMORY;
  }
  double s = sin(-angle), co = cos(-angle);
  for (int64_t i = 0; i < k->n; i++) {
    const double *x = c->x + 3 * i, p[3] = {co * x[0] - s * x[1], s * x[0] + co * x[1], x[2]};
    find_origin(c, p, k->from + 3 * i, k->weight + 3 * i);
  }
  *out = k;
  return DKHO_OK;
}

void rotation_free(rotation *k) {
  if (!k) return;
  mem_free(k->from);
  mem_free(k->weight);
  mem_free(k);
}

void rotation_apply(const rotation *k, const float *u, float *out) {
  for (int64_t i = 0; i < k->n; i++) {
    double v = 0;
    for (int j = 0; j < 3; j++) v += k->weight[3 * i + j] * (double)u[k->from[3 * i + j]];
    out[i] = (float)v;
  }
}
