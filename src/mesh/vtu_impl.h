/* vtu_impl.h: what .vtu and .vtm files share. */
#ifndef MESH_VTU_IMPL_H
#define MESH_VTU_IMPL_H

#include "mesh/meshio.h"

/* A .vtu file whose cells are the simplices of the degrees low … top. */
dkho_status vtu_write_degrees(const char *path, int force, const cx *c, int low, int top, int fields,
                              const mesh_field *field);
/* Text of an attribute, with the characters that XML keeps for itself escaped. */
dkho_status vtu_write_escaped(file_out *f, const char *text);

#endif
