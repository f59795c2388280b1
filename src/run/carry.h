/* carry.h: a field on the vertices of a surface in space, carried along by a rotation about the z axis. */
#ifndef RUN_CARRY_H
#define RUN_CARRY_H

#include "mesh/cx.h"

typedef struct carry carry;
/* u ↦ v with v(x) = u(R(-angle) x), linear interpolation on the nearest triangle. c: triangles in space. */
dkho_status carry_create(carry **out, const cx *c, double angle);
void carry_free(carry *k);
void carry_apply(const carry *k, const float *u, float *out);

#endif
