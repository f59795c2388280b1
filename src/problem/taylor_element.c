/* taylor_element.c: integrals of Taylor–Hood elements over one triangle. */
#include "problem/taylor_impl.h"

#include "problem/fem.h"

#include <string.h>

enum { POINTS = 7, NODES = TAYLOR_NODES, CORNERS = TAYLOR_CORNERS, LOCAL = TAYLOR_LOCAL };

/* Barycentric points and weights of the seven-point rule, exact to degree 5: (u·∇)u times a test function has just that. */
typedef struct point {
  double l[3], w;
} point;
#define NEAR 0.797426985353087322
#define BESIDE 0.101286507323456339
#define FAR 0.059715871789769820
#define AWAY 0.470142064105115090
#define W_NEAR 0.125939180544827153
#define W_FAR 0.132394152788506181
static const point rule[POINTS] = {
    {{1. / 3, 1. / 3, 1. / 3}, 0.225}, {{NEAR, BESIDE, BESIDE}, W_NEAR}, {{BESIDE, NEAR, BESIDE}, W_NEAR},
    {{BESIDE, BESIDE, NEAR}, W_NEAR},  {{FAR, AWAY, AWAY}, W_FAR},       {{AWAY, FAR, AWAY}, W_FAR},
    {{AWAY, AWAY, FAR}, W_FAR},
};

/* Quadratic functions λ(2λ-1) at corners, 4λλ' at midpoints, and their gradients at a point. */
static void shape_functions(const double l[3], const double grad[6], double f[NODES], double df[NODES][2]) {
  for (int i = 0; i < 3; i++) {
    int a = (i + 1) % 3, b = (i + 2) % 3;
    f[i] = l[i] * (2 * l[i] - 1);
    f[3 + i] = 4 * l[a] * l[b];
    for (int d = 0; d < 2; d++) {
      df[i][d] = (4 * l[i] - 1) * grad[2 * i + d];
      df[3 + i][d] = 4 * (l[a] * grad[2 * b + d] + l[b] * grad[2 * a + d]);
    }
  }
}

/* Velocity, its gradient, pressure and ψ at a point. */
typedef struct local_state {
  double u[2], du[2][2], p, psi; /* du[i][j] = ∂u_i/∂x_j */
} local_state;

static local_state interpolate(const taylor_values *v, const double l[3], const double f[NODES], double (*df)[2]) {
  local_state s = {{0}, {{0}}, 0, 0};
  for (int a = 0; a < NODES; a++)
    for (int i = 0; i < 2; i++) {
      s.u[i] += f[a] * v->u[a][i];
      for (int j = 0; j < 2; j++) s.du[i][j] += df[a][j] * v->u[a][i];
    }
  for (int q = 0; q < CORNERS; q++) s.p += l[q] * v->p[q], s.psi += l[q] * v->psi[q];
  return s;
}

/* ∇φ·∇u_i + Re φ(u·∇)u_i - ∂_iφ p - (ψ, curl φ) for momentum, -λ∇·u for continuity. */
static void add_residual(const local_state *s, const double l[3], const double f[NODES], double (*df)[2], double w,
                         double reynolds, double F[LOCAL]) {
  double turn[2] = {-s->psi, s->psi}; /* curl of (φ, 0) is -∂φ/∂y, of (0, φ) is ∂φ/∂x */
  for (int i = 0; i < 2; i++) {
    double carried = reynolds * (s->u[0] * s->du[i][0] + s->u[1] * s->du[i][1]);
    for (int a = 0; a < NODES; a++)
      F[2 * a + i] += w * (df[a][0] * s->du[i][0] + df[a][1] * s->du[i][1] + f[a] * carried - df[a][i] * s->p -
                           df[a][1 - i] * turn[i]);
  }
  for (int q = 0; q < CORNERS; q++) F[2 * NODES + q] -= w * l[q] * (s->du[0][0] + s->du[1][1]);
}

static void add_derivative(const local_state *s, const double l[3], const double f[NODES], double (*df)[2], double w,
                           double reynolds, double (*K)[LOCAL]) {
  for (int b = 0; b < NODES; b++) {
    double carried = reynolds * (s->u[0] * df[b][0] + s->u[1] * df[b][1]);
    for (int a = 0; a < NODES; a++) {
      double both = w * (df[a][0] * df[b][0] + df[a][1] * df[b][1] + f[a] * carried);
      double mixed = w * reynolds * f[a] * f[b];
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) K[2 * a + i][2 * b + j] += (i == j ? both : 0) + mixed * s->du[i][j];
    }
    for (int q = 0; q < CORNERS; q++)
      for (int i = 0; i < 2; i++) {
        K[2 * b + i][2 * NODES + q] -= w * df[b][i] * l[q];
        K[2 * NODES + q][2 * b + i] -= w * df[b][i] * l[q];
      }
  }
}

void taylor_element(const cx *c, int64_t t, double reynolds, const taylor_values *v, double F[LOCAL],
                    double (*K)[LOCAL]) {
  double grad[6], f[NODES], df[NODES][2];
  fem_gradients(c, t, grad);
  memset(F, 0, LOCAL * sizeof *F);
  if (K) memset(K, 0, LOCAL * sizeof *K);
  for (int q = 0; q < POINTS; q++) {
    double w = rule[q].w * c->measure[2][t];
    shape_functions(rule[q].l, grad, f, df);
    local_state s = interpolate(v, rule[q].l, f, df);
    add_residual(&s, rule[q].l, f, df, w, reynolds, F);
    if (K) add_derivative(&s, rule[q].l, f, df, w, reynolds, K);
  }
}
