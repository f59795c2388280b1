/* read_stl.c: STL, ASCII and binary: triangles that share no points, so those at the same place are made one. Normals and attributes are
 * passed over. Several solids in an ASCII file are groups, called by their names. */
#include "mesh/raw.h"

#include <string.h>

enum { HEADER = 80, FACET = 50 };

static dkho_status facet(raw *m, const scan *at, double (*x)[3], int32_t tag) {
  int32_t v[3];
  for (int i = 0; i < 3; i++) {
    v[i] = (int32_t)m->points;
    TRY(raw_point(m, at, x[i]));
  }
  return raw_element(m, RAW_POLYGON, 3, v, tag);
}

/* 80 bytes of text, the number of facets, then for each: normal and three points as floats, two bytes of attributes. */
static dkho_status read_binary(raw *m, scan *s, int64_t facets) {
  static const scan_type real = {'f', 4};
  s->binary = 1;
  s->at += HEADER + 4;
  for (int64_t i = 0; i < facets; i++) {
    double x[3][3];
    scan corner = *s;
    corner.at += 3 * 4;
    for (int j = 0; j < 9; j++) TRY(scan_typed_double(&corner, "vertex", real, 0, &x[j / 3][j % 3]));
    TRY(facet(m, s, x, 0));
    s->at += FACET;
  }
  return DKHO_OK;
}

static dkho_status expect_word(scan *s, const char *wanted) {
  scan_view word;
  scan_space(s);
  scan before = *s;
  if (!scan_word(s, &word)) return scan_fail(&before, "the file ends, expected %s", wanted);
  if (!scan_is_any_case(word, wanted))
    return scan_fail(&before, "found \"%.*s\", expected %s", SCAN_SHOW(word), wanted);
  return DKHO_OK;
}

/* normal x y z, outer loop, three times vertex x y z, endloop, endfacet */
static dkho_status read_facet(raw *m, scan *s, int32_t solid) {
  double x[3][3];
  scan_view word;
  TRY(expect_word(s, "normal"));
  for (int c = 0; c < 3; c++)
    if (!scan_word(s, &word)) return scan_fail(s, "the file ends, expected a normal"); /* may be nan: not used */
  TRY(expect_word(s, "outer"));
  TRY(expect_word(s, "loop"));
  for (int i = 0; i < 3; i++) {
    TRY(expect_word(s, "vertex"));
    for (int c = 0; c < 3; c++) TRY(scan_double(s, "vertex", &x[i][c]));
  }
  TRY(expect_word(s, "endloop"));
  TRY(expect_word(s, "endfacet"));
  return facet(m, s, x, solid);
}

/* Facets up to "endsolid", whose line may repeat the name. */
static dkho_status read_solid(raw *m, scan *s, int32_t solid) {
  scan_view word;
  scan line;
  for (;;) {
    scan_space(s);
    scan before = *s;
    if (!scan_word(s, &word)) return scan_fail(&before, "the file ends, expected facet or endsolid");
    if (scan_is_any_case(word, "endsolid")) {
      scan_line(s, &line, 0);
      return DKHO_OK;
    }
    if (!scan_is_any_case(word, "facet"))
      return scan_fail(&before, "found \"%.*s\", expected facet or endsolid", SCAN_SHOW(word));
    TRY(read_facet(m, s, solid));
  }
}

static dkho_status read_ascii(raw *m, scan *s) {
  int32_t solid = 0;
  for (scan_space(s); scan_left(s); scan_space(s)) {
    TRY(expect_word(s, "solid"));
    scan line = *s;
    if (!scan_line(s, &line, 0)) return scan_fail(s, "the file ends, expected facet or endsolid");
    scan_space(&line);
    while (scan_left(&line) && scan_is_space(line.bytes[line.size - 1])) line.size--;
    TRY(raw_group(m, 2, ++solid, (scan_view){(const char *)line.bytes + line.at, scan_left(&line)}));
    TRY(read_solid(m, s, solid));
  }
  for (int64_t i = 0; solid == 1 && i < m->cells; i++)
    m->cell[i].tag = 0; /* one solid is the whole: nothing to tell apart */
  return DKHO_OK;
}

/* Binary files may begin with "solid" too, so a size that fits decides; then text is what has no zero byte near its start. */
static int is_text(const scan *s) {
  scan ahead = *s;
  scan_view word;
  size_t n = scan_left(s) < 256 ? scan_left(s) : 256;
  return !memchr(s->bytes + s->at, 0, n) && scan_word(&ahead, &word) && scan_is_any_case(word, "solid");
}

dkho_status read_stl(raw *m, scan *s) {
  uint64_t size = scan_left(s), facets = 0;
  m->loose = 1;
  if (size >= HEADER + 4) facets = scan_bits(s->bytes + s->at + HEADER, 4, 0);
  if (size != HEADER + 4 + FACET * facets && is_text(s)) return read_ascii(m, s);
  if (size >= HEADER + 4 && (size - HEADER - 4) / FACET >= facets) return read_binary(m, s, (int64_t)facets);
  return scan_fail(s, "neither text that begins with \"solid\" nor binary: %llu facets declared in %llu bytes",
                   (unsigned long long)facets, (unsigned long long)size);
}
