/* read_obj.c: Wavefront .obj: v, f and l. Texture coordinates, normals, points, groups, materials and smoothing are passed
 * over, so that a surface textured in pieces is still one surface. Curves and free-form surfaces are refused. */
#include "mesh/raw.h"

#include <string.h>

/* "i", "i/t", "i//n" or "i/t/n": the point number, from 0. Positive counts from 1, negative back from the last point so
 * far. Points may be defined after their use, so only the sign is judged here; raw_complex knows the range. */
static dkho_status corner(const raw *m, const scan *at, scan_view word, int32_t *out) {
  const char *slash = memchr(word.p, '/', word.n);
  scan_view index = {word.p, slash ? (size_t)(slash - word.p) : word.n};
  int64_t i;
  if (!scan_view_int(index, &i) || i == 0 || i > INT32_MAX)
    return scan_fail(at, "vertex: found \"%.*s\", expected a point number from 1, or a negative one", SCAN_SHOW(word));
  if (i < 0 && i < -m->points)
    return scan_fail(at, "vertex: found %lld with %lld points so far", (long long)i, (long long)m->points);
  *out = (int32_t)(i > 0 ? i - 1 : m->points + i);
  return DKHO_OK;
}

static dkho_status face(raw *m, scan *line) {
  int32_t vert[3];
  int corners = 0;
  scan_view word;
  for (; scan_word(line, &word); corners++) {
    if (corners == 3)
      return scan_fail(line, "a face with more than three vertices: only triangles are read; split polygons first");
    TRY(corner(m, line, word, &vert[corners]));
  }
  if (corners < 3) return scan_fail(line, "a face with %d vertices, expected 3", corners);
  return raw_element(m, 2, vert, 0);
}

/* A polyline is its segments. */
static dkho_status polyline(raw *m, scan *line) {
  int32_t vert[2] = {0};
  int corners = 0;
  scan_view word;
  for (; scan_word(line, &word); corners++) {
    TRY(corner(m, line, word, &vert[1]));
    if (corners) TRY(raw_element(m, 1, vert, 0));
    vert[0] = vert[1];
  }
  return corners < 2 ? scan_fail(line, "a line with %d vertices, expected 2 or more", corners) : DKHO_OK;
}

static dkho_status point(raw *m, scan *line) {
  double x[3];
  for (int c = 0; c < 3; c++) TRY(scan_double(line, "coordinate", &x[c]));
  return raw_point(m, line, x);
}

static dkho_status statement(raw *m, scan *line) {
  static const char *const passed[] = {"vt",    "vn",       "vp",       "g",   "o",          "s",
                                       "mg",    "usemtl",   "mtllib",   "p",   "usemap",     "maplib",
                                       "bevel", "c_interp", "d_interp", "lod", "shadow_obj", "trace_obj"};
  scan before = *line;
  scan_view word;
  if (!scan_word(line, &word)) return DKHO_OK;
  if (scan_is(word, "v")) return point(m, line);
  if (scan_is(word, "f") || scan_is(word, "fo")) return face(m, line);
  if (scan_is(word, "l")) return polyline(m, line);
  for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
    if (scan_is(word, passed[i])) return DKHO_OK;
  return scan_fail(&before, "found \"%.*s\", expected v, f, l or another statement of a polygonal mesh",
                   SCAN_SHOW(word));
}

dkho_status read_obj(raw *m, scan *s) {
  scan line;
  while (scan_line(s, &line, '#')) {
    scan_space(&line);
    TRY(statement(m, &line));
  }
  return DKHO_OK;
}
