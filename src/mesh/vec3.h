/* vec3.h: products of vectors in space. */
#ifndef MESH_VEC3_H
#define MESH_VEC3_H

static inline double vec3_dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* out ← a × b; out is neither of them. */
static inline void vec3_cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
