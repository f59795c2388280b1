/* fem_whitney.c: mass matrices of Whitney forms on tetrahedra: fields from line integrals on edges and from fluxes through faces. */
#include "problem/fem.h"

#include <assert.h>

enum { EDGES = 6, FACES = 4 };

static double dot3(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ∫ λ_i λ_j over a tetrahedron of volume 1. */
static double moment(int i, int j) {
  return i == j ? 0.1 : 0.05;
}

typedef void (*element)(const cx *c, int64_t t, int32_t *index, double *local);

/* Sums the m × m matrices that `fill` gives of each tetrahedron, with the numbers of their simplices. */
static dkho_status assemble_whitney(csr *out, const cx *c, int degree, int m, element fill) {
  int64_t count = c->n[3] * m * m, at = 0;
  int32_t *i = mem_alloc((size_t)count, sizeof *i), *j = mem_alloc((size_t)count, sizeof *j);
  double *v = mem_alloc((size_t)count, sizeof *v);
  dkho_status s = DKHO_E_MEMORY;
  if (i && j && v) {
    for (int64_t t = 0; t < c->n[3]; t++) {
      int32_t index[EDGES];
      double local[EDGES * EDGES];
      fill(c, t, index, local);
      for (int k = 0; k < m * m; k++, at++) i[at] = index[k / m], j[at] = index[k % m], v[at] = local[k];
    }
    s = csr_from_triplets(out, c->n[degree], c->n[degree], count, i, j, v);
  }
  mem_free(i);
  mem_free(j);
  mem_free(v);
  return s;
}

/* Local ends of the six edges, as the complex orients them. */
static void local_edges(const cx *c, int64_t t, int32_t *index, int end[EDGES][2]) {
  const int32_t *v = c->vert[3] + 4 * t;
  for (int a = 0, k = 0; a < 4; a++)
    for (int b = a + 1; b < 4; b++, k++) {
      int up = v[a] < v[b];
      int32_t pair[2] = {up ? v[a] : v[b], up ? v[b] : v[a]};
      index[k] = (int32_t)cx_find(c, 1, pair);
      end[k][0] = up ? a : b;
      end[k][1] = up ? b : a;
    }
}

/* w_e = λ_a ∇λ_b - λ_b ∇λ_a for the edge from a to b. */
static void edge_mass(const cx *c, int64_t t, int32_t *index, double *local) {
  int end[EDGES][2];
  double grad[4][3];
  local_edges(c, t, index, end);
  fem_gradients(c, t, grad[0]);
  for (int e = 0; e < EDGES; e++)
    for (int f = 0; f < EDGES; f++) {
      int a = end[e][0], b = end[e][1], p = end[f][0], q = end[f][1];
      local[e * EDGES + f] =
          c->measure[3][t] * (moment(a, p) * dot3(grad[b], grad[q]) - moment(a, q) * dot3(grad[b], grad[p]) -
                              moment(b, p) * dot3(grad[a], grad[q]) + moment(b, q) * dot3(grad[a], grad[p]));
    }
}

/* w_f = ±(x - x_o)/3V, o the corner opposite the face, with flux 1 through it as its vertex list turns. */
static void face_field(const cx *c, int64_t t, int32_t f, double arm[4][3]) {
  const int32_t *v = c->vert[3] + 4 * t, *w = c->vert[2] + 3 * (int64_t)f;
  const double *x = c->x, *p = x + 3 * (int64_t)w[0], *q = x + 3 * (int64_t)w[1], *r = x + 3 * (int64_t)w[2];
  int o = 0;
  while (v[o] == w[0] || v[o] == w[1] || v[o] == w[2]) o++;
  const double *top = x + 3 * (int64_t)v[o];
  double a[3], b[3], out[3];
  for (int k = 0; k < 3; k++) a[k] = q[k] - p[k], b[k] = r[k] - p[k], out[k] = p[k] - top[k];
  double turn = a[0] * (b[1] * out[2] - b[2] * out[1]) + a[1] * (b[2] * out[0] - b[0] * out[2]) +
                a[2] * (b[0] * out[1] - b[1] * out[0]);
  double scale = (turn > 0 ? 1 : -1) / (3 * c->measure[3][t]);
  for (int m = 0; m < 4; m++)
    for (int k = 0; k < 3; k++) arm[m][k] = scale * (x[3 * (int64_t)v[m] + k] - top[k]);
}

/* ∫ w_f·w_g = |T| Σ_mn ∫λ_mλ_n/|T| a_fm·a_gn, where w_f = Σ_m λ_m a_fm. */
static void face_mass(const cx *c, int64_t t, int32_t *index, double *local) {
  double arm[FACES][4][3];
  for (int f = 0; f < FACES; f++) {
    index[f] = c->face[3][4 * t + f];
    face_field(c, t, index[f], arm[f]);
  }
  for (int f = 0; f < FACES; f++)
    for (int g = 0; g < FACES; g++) {
      double sum = 0;
      for (int m = 0; m < 4; m++)
        for (int n = 0; n < 4; n++) sum += moment(m, n) * dot3(arm[f][m], arm[g][n]);
      local[f * FACES + g] = c->measure[3][t] * sum;
    }
}

dkho_status fem_edge_mass(csr *out, const cx *c) {
  assert(c->dim == 3);
  return assemble_whitney(out, c, 1, EDGES, edge_mass);
}
dkho_status fem_face_mass(csr *out, const cx *c) {
  assert(c->dim == 3);
  return assemble_whitney(out, c, 2, FACES, face_mass);
}
