/* fem.c: linear finite elements. */
#include "problem/fem.h"

#include <math.h>

enum { CORNERS = 4 };

/* With edge vectors e_j = x_j - x_0 and Gram matrix G = (e_i·e_j): ∇λ_j = Σ_i (G⁻¹)_ij e_i, ∇λ_0 = -Σ ∇λ_j. */
void fem_gradients(const cx *c, int64_t t, double *grad) {
  int d = c->dim, g = c->gdim;
  const int32_t *v = c->vert[d] + t * (d + 1);
  double e[3][3] = {{0}}, G[3][3] = {{0}}, inv[3][3] = {{0}};
  for (int j = 0; j < d; j++)
    for (int a = 0; a < g; a++) e[j][a] = c->x[(int64_t)v[j + 1] * g + a] - c->x[(int64_t)v[0] * g + a];
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++)
      for (int a = 0; a < g; a++) G[i][j] += e[i][a] * e[j][a];
  for (int i = d; i < 3; i++) G[i][i] = 1; /* the inverse below is of the padded 3 × 3 matrix */
  double det = 0;
  for (int i = 0; i < 3; i++) {
    int p = (i + 1) % 3, q = (i + 2) % 3;
    det += G[0][i] * (G[1][p] * G[2][q] - G[1][q] * G[2][p]);
    for (int j = 0; j < 3; j++) {
      int r = (j + 1) % 3, s = (j + 2) % 3;
      inv[i][j] = G[r][p] * G[s][q] - G[r][q] * G[s][p];
    }
  }
  for (int a = 0; a < g; a++) grad[a] = 0;
  for (int j = 0; j < d; j++)
    for (int a = 0; a < g; a++) {
      double s = 0;
      for (int i = 0; i < d; i++) s += inv[i][j] * e[i][a];
      grad[(j + 1) * g + a] = s / det;
      grad[a] -= s / det;
    }
}

typedef void (*element)(const cx *c, int64_t t, const double *data, const double *grad, double *local);

/* Adds up element matrices ((dim+1)² each) over the top simplices. */
static dkho_status assemble_simplices(csr *out, const cx *c, const double *data, element fill) {
  int d = c->dim, m = d + 1;
  int64_t tops = c->n[d], count = tops * m * m, at = 0;
  int32_t *i = mem_alloc((size_t)count, sizeof *i), *j = mem_alloc((size_t)count, sizeof *j);
  double *v = mem_alloc((size_t)count, sizeof *v);
  dkho_status s = DKHO_E_MEMORY;
  if (i && j && v) {
    for (int64_t t = 0; t < tops; t++) {
      double grad[CORNERS * 3], local[CORNERS * CORNERS];
      const int32_t *vert = c->vert[d] + t * m;
      fem_gradients(c, t, grad);
      fill(c, t, data, grad, local);
      for (int a = 0; a < m; a++)
        for (int b = 0; b < m; b++, at++) i[at] = vert[a], j[at] = vert[b], v[at] = local[a * m + b];
    }
    s = csr_from_triplets(out, c->n[0], c->n[0], count, i, j, v);
  }
  mem_free(i);
  mem_free(j);
  mem_free(v);
  return s;
}

/* local_ij = |T| ∇λ_i·K ∇λ_j */
static void stiffness(const cx *c, int64_t t, const double *K, const double *grad, double *local) {
  int m = c->dim + 1, g = c->gdim;
  double size = c->measure[c->dim][t];
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) {
      double s = 0;
      for (int a = 0; a < g; a++)
        for (int b = 0; b < g; b++) {
          double k = K ? K[(t * g + a) * g + b] : a == b;
          if (K || a == b) s += grad[i * g + a] * k * grad[j * g + b];
        }
      local[i * m + j] = size * s;
    }
}

static double mass_weight(const cx *c, int64_t t, int i, int j) {
  int m = c->dim + 1;
  return c->measure[c->dim][t] * (i == j ? 2.0 : 1.0) / (m * (m + 1));
}

static void mass(const cx *c, int64_t t, const double *none, const double *grad, double *local) {
  (void)none, (void)grad;
  int m = c->dim + 1;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) local[i * m + j] = mass_weight(c, t, i, j);
}

/* -∫ λ_j v·∇λ_i = -Σ_k (v_k·∇λ_i) ∫ λ_j λ_k */
static void advection(const cx *c, int64_t t, const double *v, const double *grad, double *local) {
  int m = c->dim + 1, g = c->gdim;
  const int32_t *vert = c->vert[c->dim] + t * m;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) {
      double s = 0;
      for (int k = 0; k < m; k++) {
        double speed = 0;
        for (int a = 0; a < g; a++) speed += v[(int64_t)vert[k] * g + a] * grad[i * g + a];
        s += speed * mass_weight(c, t, j, k);
      }
      local[i * m + j] = -s;
    }
}

dkho_status fem_stiffness(csr *out, const cx *c, const double *K) {
  return assemble_simplices(out, c, K, stiffness);
}
dkho_status fem_mass(csr *out, const cx *c) {
  return assemble_simplices(out, c, NULL, mass);
}
dkho_status fem_advection(csr *out, const cx *c, const double *v) {
  return assemble_simplices(out, c, v, advection);
}
