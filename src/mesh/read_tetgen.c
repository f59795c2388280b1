/* read_tetgen.c: the .node and .ele files of TetGen (tetrahedra) and Triangle (triangles), of first or second order. The first attribute of an
 * element, if it is a whole number, is its group. Attributes and markers of points are passed over. */
#include "mesh/raw.h"

static int next_line(scan *s, scan *line) {
  while (scan_line(s, line, '#')) {
    scan_space(line);
    if (scan_left(line)) return 1;
  }
  return 0;
}

/* points, dimension, [attributes, markers]; then number, x, y, [z], … each. *first gets the number of the first point. */
static dkho_status read_nodes(raw *m, scan *s, int64_t *first) {
  scan line;
  int64_t n, dim, number;
  if (!next_line(s, &line)) return scan_fail(s, "no points");
  TRY(scan_int(&line, "number of points", 0, INT32_MAX, &n));
  TRY(scan_int(&line, "dimension", 2, 3, &dim));
  if (n == 0) return scan_fail(&line, "number of points: found 0; points in a .poly file are not read");
  for (int64_t i = 0; i < n; i++) {
    double x[3] = {0};
    if (!next_line(s, &line))
      return scan_fail(s, "the file ends after %lld points, expected %lld", (long long)i, (long long)n);
    TRY(scan_int(&line, "number of a point", INT32_MIN, INT32_MAX, &number));
    if (i == 0) *first = number;
    if (number != *first + i)
      return scan_fail(&line, "number of a point: found %lld, expected %lld", (long long)number,
                       (long long)(*first + i));
    for (int64_t c = 0; c < dim; c++) TRY(scan_double(&line, "coordinate", &x[c]));
    TRY(raw_point(m, &line, x));
  }
  return DKHO_OK;
}

/* A region's number, 0 when there is none or it is no whole number above 0. */
static int32_t region(scan *line, int64_t attributes) {
  scan_view word;
  double value;
  if (attributes < 1 || !scan_word(line, &word) || !scan_view_double(word, &value)) return 0;
  return value >= 1 && value <= INT32_MAX && value == (double)(int32_t)value ? (int32_t)value : 0;
}

/* elements, nodes of each, [attributes]; then number, nodes, … each. */
static dkho_status read_elements(raw *m, scan *s, int64_t first) {
  scan line;
  int64_t n, nodes, attributes = 0, v;
  if (!next_line(s, &line)) return scan_fail(s, "no elements");
  TRY(scan_int(&line, "number of elements", 0, INT32_MAX, &n));
  TRY(scan_int(&line, "nodes of an element", 3, 10, &nodes));
  if (nodes != 3 && nodes != 4 && nodes != 6 && nodes != 10)
    return scan_fail(&line, "nodes of an element: found %lld, expected 3, 4, 6 or 10", (long long)nodes);
  scan_space(&line);
  if (scan_left(&line)) TRY(scan_int(&line, "number of attributes", 0, INT32_MAX, &attributes));
  int solid = nodes == 4 || nodes == 10, corners = solid ? 4 : 3;
  for (int64_t i = 0; i < n; i++) {
    int32_t vert[4];
    if (!next_line(s, &line))
      return scan_fail(s, "the file ends after %lld elements, expected %lld", (long long)i, (long long)n);
    TRY(scan_int(&line, "number of an element", INT32_MIN, INT32_MAX, &v));
    for (int64_t j = 0; j < nodes; j++) {
      TRY(scan_int(&line, "node of an element", first, first + m->points - 1, &v));
      if (j < corners) vert[j] = (int32_t)(v - first);
    }
    m->report->count[MESH_HIGH_ORDER] += nodes > corners;
    TRY(raw_element(m, solid ? RAW_TET : RAW_POLYGON, corners, vert, region(&line, attributes)));
  }
  return DKHO_OK;
}

dkho_status read_tetgen(raw *m, scan *nodes, scan *elements) {
  int64_t first = 0;
  TRY(read_nodes(m, nodes, &first));
  return read_elements(m, elements, first);
}

dkho_status read_node_ele(raw *m, scan *s) {
  return read_tetgen(m, s, s);
}
