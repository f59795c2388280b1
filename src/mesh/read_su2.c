/* read_su2.c: SU2's native mesh: NDIME, NELEM, NPOIN, and the markers of the boundary, which become labels. Other keys are passed over;
 * files of several zones are refused. */
#include "mesh/vtk_cell.h"

#include <string.h>

enum { SU2_NODES = 27 };

typedef struct {
  raw *mesh;
  scan *s;
  int64_t dim, seen_points, seen_elements;
  int32_t marker; /* number of the present one, from 1 */
} su2;

/* The next line that holds anything. */
static int next_line(scan *s, scan *line) {
  while (scan_line(s, line, '%')) {
    scan_space(line);
    if (scan_left(line)) return 1;
  }
  return 0;
}

/* Cell type in VTK's numbers, corners, and possibly the element's number. */
static dkho_status read_cells(su2 *f, int64_t n, int32_t tag) {
  static const struct {
    int type, corners;
  } known[] = {
      {1, 1},  {3, 2},  {5, 3},  {9, 4},  {10, 4},  {12, 8},  {13, 6},  {14, 5}, /* second order, as Gmsh writes it: */
      {21, 3}, {22, 6}, {23, 8}, {28, 9}, {24, 10}, {25, 20}, {26, 15}, {27, 13}, {29, 27}};
  scan line;
  for (int64_t i = 0; i < n; i++) {
    int64_t type, v;
    int corners = 0;
    int32_t vert[SU2_NODES];
    if (!next_line(f->s, &line))
      return scan_fail(f->s, "the file ends after %lld elements, expected %lld", (long long)i, (long long)n);
    TRY(scan_int(&line, "element type", 0, INT32_MAX, &type));
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
      if (known[k].type == type) corners = known[k].corners;
    if (!corners)
      return scan_fail(&line, "element type: found %lld, expected 1, 3, 5, 9, 10, 12 to 14 or 21 to 29",
                       (long long)type);
    for (int j = 0; j < corners; j++) {
      TRY(scan_int(&line, "vertex of an element", 0, INT32_MAX, &v));
      vert[j] = (int32_t)v;
    }
    TRY(vtk_cell(f->mesh, &line, i, type, corners, vert, tag));
  }
  return DKHO_OK;
}

static dkho_status read_points(su2 *f, int64_t n) {
  scan line;
  for (int64_t i = 0; i < n; i++) {
    double x[3] = {0};
    if (!next_line(f->s, &line))
      return scan_fail(f->s, "the file ends after %lld points, expected %lld", (long long)i, (long long)n);
    for (int64_t c = 0; c < f->dim; c++) TRY(scan_double(&line, "coordinate", &x[c]));
    TRY(raw_point(f->mesh, &line, x));
  }
  return DKHO_OK;
}

/* KEY= VALUE, the blank being optional on both sides. */
static dkho_status split_key(scan *line, scan_view *key) {
  const unsigned char *from = line->bytes + line->at, *equals = memchr(from, '=', scan_left(line));
  if (!equals) return scan_fail(line, "expected KEY= VALUE");
  size_t n = (size_t)(equals - from);
  while (n && scan_is_space(from[n - 1])) n--;
  *key = (scan_view){(const char *)from, n};
  line->at = (size_t)(equals - line->bytes) + 1;
  return DKHO_OK;
}

static dkho_status once(const scan *line, int64_t *seen, const char *key) {
  return (*seen)++ ? scan_fail(line, "a second %s", key) : DKHO_OK;
}

static dkho_status read_key(su2 *f, scan *line) {
  scan_view key, value;
  int64_t n;
  TRY(split_key(line, &key));
  if (scan_is(key, "NDIME")) return scan_int(line, "NDIME", 2, 3, &f->dim);
  if (scan_is(key, "NZONE")) return scan_int(line, "NZONE (one zone is read)", 1, 1, &n);
  if (scan_is(key, "NELEM")) {
    TRY(once(line, &f->seen_elements, "NELEM"));
    TRY(scan_int(line, "NELEM", 0, INT32_MAX, &n));
    return read_cells(f, n, 0);
  }
  if (scan_is(key, "NPOIN")) {
    if (!f->dim) return scan_fail(line, "NPOIN before NDIME");
    TRY(once(line, &f->seen_points, "NPOIN"));
    TRY(scan_int(line, "NPOIN", 0, INT32_MAX, &n));
    return read_points(f, n);
  }
  if (scan_is(key, "MARKER_TAG")) {
    if (!scan_word(line, &value)) return scan_fail(line, "MARKER_TAG: no name");
    return raw_group(f->mesh, -1, ++f->marker, value);
  }
  if (scan_is(key, "MARKER_ELEMS")) {
    TRY(scan_int(line, "MARKER_ELEMS", 0, INT32_MAX, &n));
    return read_cells(f, n, f->marker);
  }
  return DKHO_OK;
}

dkho_status read_su2(raw *m, scan *s) {
  su2 f = {.mesh = m, .s = s};
  scan line;
  while (next_line(s, &line)) TRY(read_key(&f, &line));
  if (!f.seen_elements) return scan_fail(s, "the file ends, expected NELEM=");
  return f.seen_points ? DKHO_OK : scan_fail(s, "the file ends, expected NPOIN=");
}
