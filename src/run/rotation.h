/* rotation.h: a field on the vertices of a surface in space, carried along by a rotation about the z axis. */
#ifndef RUN_ROTATION_H
#define RUN_ROTATION_H

#include "mesh/cx.h"

typedef struct rotation rotation;
/* u ↦ v with v(x) = u(R(-angle) x), linear interpolation on the nearest triangle. c: triangles in space. */
dkho_status rotation_create(rotation **out, const cx *c, double angle);
void rotation_free(rotation *k);
void rotation_apply(const rotation *k, const float *u, float *out);

#endif
