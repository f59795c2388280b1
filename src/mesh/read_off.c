/* read_off.c: Geomview .off, ASCII: polygons and two-vertex faces (lines). Colours, normals and texture coordinates
 * are passed over; the binary and n-dimensional variants are refused. */
#include "mesh/raw.h"

#include <string.h>

/* The next line that holds anything. */
static int next_line(scan *s, scan *line) {
  while (scan_line(s, line, '#')) {
    scan_space(line);
    if (scan_left(line)) return 1;
  }
  return 0;
}

/* [ST][C][N][4][n]OFF, then possibly the counts on the same line. Without the word the file starts with the counts. */
static dkho_status header(scan *s, scan *line) {
  if (!next_line(s, line)) return scan_fail(s, "the file is empty, expected OFF");
  scan before = *line;
  scan_view word;
  scan_word(line, &word);
  if (word.n >= 3 && memcmp(word.p + word.n - 3, "OFF", 3) == 0) {
    scan_view kind = {word.p, word.n - 3};
    if (memchr(kind.p, 'n', kind.n) || memchr(kind.p, '4', kind.n))
      return scan_fail(&before, "found \"%.*s\", expected points with three coordinates", SCAN_SHOW(word));
    for (size_t i = 0; i < kind.n; i++)
      if (!strchr("STCN", kind.p[i])) return scan_fail(&before, "found \"%.*s\", expected OFF", SCAN_SHOW(word));
    scan rest = *line;
    if (scan_word(&rest, &word) && scan_is(word, "BINARY"))
      return scan_fail(&before, "binary OFF is not supported; save it as ASCII");
    scan_space(line);
    if (!scan_left(line) && !next_line(s, line)) return scan_fail(s, "the file ends before the counts");
    return DKHO_OK;
  }
  *line = before;
  int64_t count;
  if (word.n > 3 && memcmp(word.p, "OFF", 3) == 0 && scan_view_int((scan_view){word.p + 3, word.n - 3}, &count)) {
    line->at += 3; /* "OFF490 518 0": the counts stick to the word */
    return DKHO_OK;
  }
  if (!scan_view_int(word, &count)) return scan_fail(&before, "found \"%.*s\", expected OFF", SCAN_SHOW(word));
  return DKHO_OK;
}

/* A face of one corner is a point, of two a line. */
static dkho_status face(raw *m, scan *line, raw_corners *list) {
  scan before = *line;
  int64_t corners, v;
  TRY(scan_int(line, "number of vertices of the face", 1, INT32_MAX, &corners));
  if ((uint64_t)corners > scan_left(line) / 2) /* a blank and a digit each */
    return scan_fail(&before, "a face of %lld vertices, but they are not on its line", (long long)corners);
  list->n = 0;
  for (int64_t i = 0; i < corners; i++) {
    TRY(scan_int(line, "vertex of the face", 0, m->points - 1, &v));
    TRY(raw_corner(list, v));
  }
  return raw_element(m, corners > 2 ? RAW_POLYGON : corners == 2 ? RAW_LINE : RAW_POINT, corners, list->vert, 0);
}

dkho_status read_off(raw *m, scan *s) {
  scan line;
  int64_t points, faces, edges;
  TRY(header(s, &line));
  TRY(scan_int(&line, "number of points", 0, INT32_MAX, &points));
  TRY(scan_int(&line, "number of faces", 0, INT32_MAX, &faces));
  scan_space(&line);
  if (scan_left(&line)) TRY(scan_int(&line, "number of edges", 0, INT64_MAX, &edges));
  for (int64_t i = 0; i < points; i++) {
    double x[3];
    if (!next_line(s, &line))
      return scan_fail(s, "the file ends after %lld points, expected %lld", (long long)i, (long long)points);
    for (int c = 0; c < 3; c++) TRY(scan_double(&line, "coordinate", &x[c]));
    TRY(raw_point(m, &line, x));
  }
  raw_corners list = {0};
  dkho_status status = DKHO_OK;
  for (int64_t i = 0; status == DKHO_OK && i < faces; i++) {
    if (!next_line(s, &line)) {
      status = scan_fail(s, "the file ends after %lld faces, expected %lld", (long long)i, (long long)faces);
      break;
    }
    status = face(m, &line, &list);
  }
  mem_free(list.vert);
  return status;
}
