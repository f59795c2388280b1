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

static dkho_status read_obj_element(raw *m, scan *line, raw_shape shape, const char *noun, raw_corners *list) {
  scan_view word;
  int32_t v = 0;
  for (list->n = 0; scan_word(line, &word);) {
    TRY(corner(m, line, word, &v));
    TRY(raw_corner(list, v));
  }
  if (list->n == 0) return scan_fail(line, "a %s without vertices", noun);
  return raw_element(m, shape, list->n, list->vert, 0);
}

static dkho_status read_obj_point(raw *m, scan *line) {
  double x[3];
  for (int c = 0; c < 3; c++) TRY(scan_double(line, "coordinate", &x[c]));
  return raw_point(m, line, x);
}

static dkho_status statement(raw *m, scan *line, raw_corners *list) {
  static const char *const passed[] = {"vt",    "vn",       "vp",       "g",   "o",          "s",
                                       "mg",    "usemtl",   "mtllib",   "p",   "usemap",     "maplib",
                                       "bevel", "c_interp", "d_interp", "lod", "shadow_obj", "trace_obj"};
  scan before = *line;
  scan_view word;
  if (!scan_word(line, &word)) return DKHO_OK;
  if (scan_is(word, "v")) return read_obj_point(m, line);
  if (scan_is(word, "f") || scan_is(word, "fo")) return read_obj_element(m, line, RAW_POLYGON, "face", list);
  if (scan_is(word, "l")) return read_obj_element(m, line, RAW_LINE, "line", list);
  for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
    if (scan_is(word, passed[i])) return DKHO_OK;
  return scan_fail(&before, "found \"%.*s\", expected v, f, l or another statement of a polygonal mesh",
                   SCAN_SHOW(word));
}

dkho_status read_obj(raw *m, scan *s) {
  scan line;
  raw_corners list = {0};
  dkho_status status = DKHO_OK;
  while (status == DKHO_OK && scan_line(s, &line, '#')) {
    scan_space(&line);
    status = statement(m, &line, &list);
  }
  mem_free(list.vert);
  return status;
}
