/* generate.h: the benchmark complexes and relatives of them. Deterministic: same parameters, same bits. */
#ifndef MESH_GENERATE_H
#define MESH_GENERATE_H

#include "mesh/cx.h"

/* [-half, half]² minus disjoint round holes; size h_near within `near` of a hole, h_far beyond `far`, linear between.
 * Labels of vertices and edges: 0 interior, 1 outer, 2 … hole1, …; boundary vertices come first. interior > 0 forces
 * that many interior vertices, 0 takes what the size field asks for. Refuses holes that touch, that leave the square, or
 * that stand closer than h_near. Angles stay above 30° while the slope (h_far - h_near)/(far - near) is below about 0.4
 * and suffer from steeper ones. */
typedef struct gen_planar {
  double half;
  int holes;
  const double (*hole)[3]; /* centre x, centre y, radius */
  double h_near, h_far, near, far;
  int64_t interior;
} gen_planar;
dkho_status cx_planar(cx **out, const gen_planar *p);
/* The paper's domain: "main" has exactly (5477, 16013, 10535) simplices, "smoke" has h 0.08/0.30, "refine" 0.008/0.03.
 */
dkho_status cx_darcy(cx **out, const char *resolution);

/* Torus of radii major, minor about z: periodic nu × nv grid cut along one diagonal, then `collapses` edge collapses
 * with vertices kept on the smooth torus. */
dkho_status cx_torus_grid(cx **out, double major, double minor, int nu, int nv, int collapses);
dkho_status cx_torus(cx **out, const char *resolution); /* "main": (2499, 7497, 4998) */

/* Spherical shell of the cavity benchmark: MT19937(42) points, 3-D Delaunay, cavity removed. Target 3019 gives exactly
 * (3017, 22344, 38339, 19010). Labels of vertices: 1 inner layer (r < 0.54), 2 outer layer (r > 1.6). */
dkho_status cx_shell(cx **out, int target);
dkho_status cx_cavity(cx **out, const char *resolution);

/* Delaunay triangulation by Qhull: dim 2 or 3, n points; simplices (dim+1 indices each) in *tops, owned by the caller
 * (mem_free), positively oriented, in a deterministic order. Collinear points on a planar hull are fine; points in space
 * must be in general position (flat tetrahedra are refused). */
dkho_status delaunay(int dim, int64_t n, const double *x, int64_t *count, int32_t **tops);

#endif
