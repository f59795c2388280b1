/* whitney.c: vector fields from 1-cochains. */
#include "mesh/meshio.h"
#include "mesh/vec3.h"

#include <assert.h>
#include <string.h>

/* ∇λ_i (rows of g, in space) of the barycentric coordinates of a simplex: the basis reciprocal to its edges
 * e_i = x_i - x_0, where a surface triangle borrows its normal e_1 × e_2 as third; ∇λ_0 = -Σ ∇λ_i. */
static void gradients(const cx *c, const int32_t *v, double g[4][3]) {
  double e[3][3] = {{0}};
  for (int i = 0; i < c->dim; i++)
    for (int a = 0; a < c->gdim; a++)
      e[i][a] = c->x[(int64_t)v[i + 1] * c->gdim + a] - c->x[(int64_t)v[0] * c->gdim + a];
  if (c->dim == 1) {
    for (int a = 0; a < 3; a++) g[1][a] = e[0][a] / vec3_dot(e[0], e[0]);
  } else {
    double normal[3];
    vec3_cross(e[0], e[1], normal);
    if (c->dim == 2) memcpy(e[2], normal, sizeof normal);
    double det = vec3_dot(normal, e[2]);
    for (int i = 0; i < c->dim; i++) {
      vec3_cross(e[(i + 1) % 3], e[(i + 2) % 3], g[i + 1]);
      for (int a = 0; a < 3; a++) g[i + 1][a] /= det;
    }
  }
  for (int a = 0; a < 3; a++) {
    g[0][a] = 0;
    for (int i = 1; i <= c->dim; i++) g[0][a] -= g[i][a];
  }
}

static int local(const int32_t *v, int32_t vertex) {
  int i = 0;
  while (v[i] != vertex) i++;
  return i;
}

/* w += scale · u_e (∇λ_head - ∇λ_tail) */
static void add_edge(const cx *c, const int32_t *v, double g[4][3], const double *u, int32_t e, double scale,
                     double *w) {
  const double *tail = g[local(v, c->vert[1][2 * (int64_t)e])], *head = g[local(v, c->vert[1][2 * (int64_t)e + 1])];
  for (int a = 0; a < c->gdim; a++) w[a] += scale * u[e] * (head[a] - tail[a]);
}

/* Σ_e u_e (λ_tail ∇λ_head - λ_head ∇λ_tail) with all λ = 1/(dim+1). An edge of a tetrahedron is met in two of its
 * triangles, with half its weight each. */
void mesh_whitney(const cx *c, const double *u, double *out) {
  int dim = c->dim;
  assert(dim >= 1);
  memset(out, 0, (size_t)(c->n[dim] * c->gdim) * sizeof *out);
  for (int64_t t = 0; t < c->n[dim]; t++) {
    const int32_t *v = c->vert[dim] + t * (dim + 1);
    double g[4][3], *w = out + t * c->gdim, scale = 1.0 / (dim + 1);
    gradients(c, v, g);
    if (dim == 1) add_edge(c, v, g, u, (int32_t)t, scale, w);
    for (int i = 0; dim == 2 && i < 3; i++) add_edge(c, v, g, u, c->face[2][3 * t + i], scale, w);
    for (int i = 0; dim == 3 && i < 12; i++)
      add_edge(c, v, g, u, c->face[2][3 * (int64_t)c->face[3][4 * t + i / 3] + i % 3], scale / 2, w);
  }
}
