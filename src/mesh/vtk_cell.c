/* vtk_cell.c: VTK's cell types become elements. In every order the corners come first. Polyhedra are not among them: their faces are listed apart. */
#include "mesh/vtk_cell.h"

/* Types that are not listed have nodes 0. corners 0: as many as there are points; -1: half of them. nodes -1: any number. */
static const struct {
  uint8_t shape;
  int8_t corners, nodes;
} types[] = {
    [1] = {RAW_POINT, 1, 1},     [2] = {RAW_POINT, 0, -1},    [3] = {RAW_LINE, 2, 2},      [4] = {RAW_LINE, 0, -1},
    [5] = {RAW_POLYGON, 3, 3},   [6] = {RAW_STRIP, 0, -1},    [7] = {RAW_POLYGON, 0, -1},  [8] = {RAW_POLYGON, 4, 4},
    [9] = {RAW_POLYGON, 4, 4},   [10] = {RAW_TET, 4, 4},      [11] = {RAW_PRISM, 8, 8},    [12] = {RAW_PRISM, 8, 8},
    [13] = {RAW_PRISM, 6, 6},    [14] = {RAW_PYRAMID, 5, 5},  [15] = {RAW_PRISM, 10, 10},  [16] = {RAW_PRISM, 12, 12},
    [21] = {RAW_LINE, 2, 3},     [22] = {RAW_POLYGON, 3, 6},  [23] = {RAW_POLYGON, 4, 8},  [24] = {RAW_TET, 4, 10},
    [25] = {RAW_PRISM, 8, 20},   [26] = {RAW_PRISM, 6, 15},   [27] = {RAW_PYRAMID, 5, 13}, [28] = {RAW_POLYGON, 4, 9},
    [29] = {RAW_PRISM, 8, 27},   [30] = {RAW_POLYGON, 4, 6},  [31] = {RAW_PRISM, 6, 12},   [32] = {RAW_PRISM, 6, 18},
    [33] = {RAW_PRISM, 8, 24},   [34] = {RAW_POLYGON, 3, 7},  [35] = {RAW_LINE, 2, 4},     [36] = {RAW_POLYGON, -1, -1},
    [37] = {RAW_PYRAMID, 5, 19}, [68] = {RAW_LINE, 2, -1},    [69] = {RAW_POLYGON, 3, -1}, [70] = {RAW_POLYGON, 4, -1},
    [71] = {RAW_TET, 4, -1},     [72] = {RAW_PRISM, 8, -1},   [73] = {RAW_PRISM, 6, -1},   [74] = {RAW_PYRAMID, 5, -1},
    [75] = {RAW_LINE, 2, -1},    [76] = {RAW_POLYGON, 3, -1}, [77] = {RAW_POLYGON, 4, -1}, [78] = {RAW_TET, 4, -1},
    [79] = {RAW_PRISM, 8, -1},   [80] = {RAW_PRISM, 6, -1},   [81] = {RAW_PYRAMID, 5, -1},
};
enum { TYPES = sizeof types / sizeof *types, PIXEL = 8, VOXEL = 11 };

static void swap_corners(int32_t *v, int a, int b) {
  int32_t t = v[a];
  v[a] = v[b];
  v[b] = t;
}

dkho_status vtk_cell(raw *m, const scan *at, int64_t cell, int64_t type, int64_t n, const int32_t *vert, int32_t tag) {
  if (type == 0) return DKHO_OK;
  if (type < 0 || type >= TYPES || !types[type].nodes)
    return scan_fail(at, "cell %lld has type %lld (%s), which is not read%s", (long long)cell, (long long)type,
                     type == VTK_POLYHEDRON ? "polyhedron" : "unknown",
                     type == VTK_POLYHEDRON ? " without lists of faces; ParaView's filter Tetrahedralize converts it"
                                            : "");
  raw_shape shape = (raw_shape)types[type].shape;
  int64_t corners = types[type].corners > 0 ? types[type].corners : types[type].corners < 0 ? n / 2 : n;
  if (n < corners || n < 1 || (types[type].nodes > 0 && n != types[type].nodes))
    return scan_fail(at, "cell %lld of type %lld has %lld points, expected %s%lld", (long long)cell, (long long)type,
                     (long long)n, types[type].nodes > 0 ? "" : "at least ",
                     (long long)(types[type].nodes > 0 ? types[type].nodes
                                 : corners > 1         ? corners
                                                       : 1));
  m->report->count[MESH_HIGH_ORDER] += n > corners;
  if (type != PIXEL && type != VOXEL) return raw_element(m, shape, corners, vert, tag);
  int32_t v[8] = {0}; /* rows of a grid instead of a rim */
  for (int i = 0; i < corners; i++) v[i] = vert[i];
  for (int i = 0; i < corners; i += 4) swap_corners(v, i + 2, i + 3);
  return raw_element(m, shape, corners, v, tag);
}
