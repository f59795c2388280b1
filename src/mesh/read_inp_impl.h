/* read_inp_impl.h: element types of Abaqus and CalculiX. */
#ifndef MESH_READ_INP_IMPL_H
#define MESH_READ_INP_IMPL_H

#include "mesh/raw.h"

typedef struct inp_shape {
  raw_shape shape;
  int corners, nodes; /* nodes 0: no element of a mesh (a spring, a mass) */
} inp_shape;

/* What a type's name (C3D8R, CPS4, S3, …) means; an unknown one is refused by name at the place of `at`. */
dkho_status inp_type(const scan *at, scan_view name, inp_shape *out);

#endif
