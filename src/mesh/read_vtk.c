/* read_vtk.c: VTK's legacy format, ASCII and binary (big-endian): UNSTRUCTURED_GRID and POLYDATA, in the layouts before and since version 5.
 * Structured data sets are refused. Values and attributes are in read_vtk_data.c. */
#include "mesh/read_vtk_impl.h"
#include "mesh/vtk_cell.h"

#include <string.h>

enum { VTK_POINTS_ONLY = 2, VTK_CHAIN = 4, VTK_STRIP = 6, VTK_POLYGON = 7 };

/* POINTS n type */
static dkho_status read_points(vtk *f, scan *line) {
  int64_t n;
  scan_view word = {0};
  scan_type t;
  if (f->seen_points++) return scan_fail(line, "a second section POINTS");
  TRY(scan_int(line, "number of points", 0, INT32_MAX, &n));
  scan_word(line, &word);
  TRY(vtk_type(line, word, &t));
  TRY(vtk_start(f, "POINTS", 3 * n, t));
  for (int64_t i = 0; i < n; i++) {
    double x[3];
    for (int c = 0; c < 3; c++) TRY(scan_typed_double(f->s, "coordinate", t, VTK_BIG_ENDIAN, &x[c]));
    TRY(raw_point(f->mesh, f->s, x));
  }
  vtk_end(f);
  return DKHO_OK;
}

/* Since 5.1: ends (with a 0 before them) and corners under their own names and types. */
static dkho_status read_named_lists(vtk *f, int64_t ends, int64_t corners) {
  static const char *const names[] = {"OFFSETS", "CONNECTIVITY"};
  for (int i = 0; i < 2; i++) {
    scan line;
    scan_view word = {0};
    scan_type t;
    if (!vtk_next_line(f, &line)) return scan_fail(f->s, "the file ends, expected %s", names[i]);
    scan_word(&line, &word);
    if (!scan_is_any_case(word, names[i]))
      return scan_fail(&line, "found \"%.*s\", expected %s", SCAN_SHOW(word), names[i]);
    scan_word(&line, &word);
    TRY(vtk_type(&line, word, &t));
    TRY(vtk_integers(f, names[i], i ? corners : ends, t, i ? &f->list : &f->offsets));
  }
  if (ends && f->offsets.value[0] != 0)
    return scan_fail(f->s, "OFFSETS: begin with %lld, expected 0", (long long)f->offsets.value[0]);
  return DKHO_OK;
}

/* Before: each cell its number of corners and they. Turned into ends and corners. */
static dkho_status read_counted_lists(vtk *f, int64_t cells, int64_t size) {
  static const scan_type whole = {'i', 4};
  int64_t left = size;
  TRY(vtk_start(f, "cells", size, whole));
  f->offsets.n = f->list.n = 0;
  TRY(vtk_keep(&f->offsets, 0));
  for (int64_t i = 0; i < cells; i++) {
    int64_t n, v;
    TRY(scan_typed_int(f->s, "corners of a cell", whole, VTK_BIG_ENDIAN, &n));
    if (n < 0 || n > left - 1)
      return scan_fail(f->s, "cell %lld: %lld corners declared with %lld values left", (long long)i, (long long)n,
                       (long long)left - 1);
    left -= n + 1;
    for (int64_t j = 0; j < n; j++) {
      TRY(scan_typed_int(f->s, "corner of a cell", whole, VTK_BIG_ENDIAN, &v));
      TRY(vtk_keep(&f->list, v));
    }
    TRY(vtk_keep(&f->offsets, f->list.n));
  }
  vtk_end(f);
  return DKHO_OK;
}

/* Cells of the lists: of one type, or each of its own. */
static dkho_status add_cells(vtk *f, int type) {
  int64_t cells = f->offsets.n - 1;
  for (int64_t i = 0; i < cells; i++) {
    int64_t from = f->offsets.value[i], to = f->offsets.value[i + 1];
    if (from < 0 || to < from || to > f->list.n)
      return scan_fail(f->s, "cell %lld: corners %lld to %lld of %lld", (long long)i, (long long)from, (long long)to,
                       (long long)f->list.n);
    f->corners.n = 0;
    for (int64_t j = from; j < to; j++) TRY(raw_corner(&f->corners, f->list.value[j]));
    TRY(vtk_cell(f->mesh, f->s, i, type < 0 ? f->types.value[i] : type, to - from, f->corners.vert, 0));
  }
  return DKHO_OK;
}

/* NAME n size: before 5.1 the vtk_numbers of cells and of all values; since then of ends and of corners. */
static dkho_status read_cells(vtk *f, scan *line, int type) {
  int64_t n, size;
  scan ahead = *f->s, next;
  scan_view word = {0};
  TRY(scan_int(line, "number of cells", 0, INT32_MAX, &n));
  TRY(scan_int(line, "size of the cell list", 0, INT64_MAX / 16, &size));
  vtk probe = {.s = &ahead};
  int named = vtk_next_line(&probe, &next) && scan_word(&next, &word) && scan_is_any_case(word, "OFFSETS");
  TRY(named ? read_named_lists(f, n, size) : read_counted_lists(f, n, size));
  return type < 0 || f->offsets.n == 0 ? DKHO_OK : add_cells(f, type);
}

/* CELL_TYPES n: the cells are complete */
static dkho_status read_types(vtk *f, scan *line) {
  static const scan_type whole = {'i', 4};
  int64_t n;
  TRY(scan_int(line, "number of cell types", 0, INT32_MAX, &n));
  if (n != f->offsets.n - 1)
    return scan_fail(line, "%lld cell types, expected %lld as there are cells", (long long)n,
                     (long long)f->offsets.n - 1);
  TRY(vtk_integers(f, "CELL_TYPES", n, whole, &f->types));
  return add_cells(f, -1);
}

static dkho_status read_section(vtk *f, scan_view word, scan *line) {
  static const struct {
    const char *name;
    int type;
  } cells[] = {
      {"VERTICES", VTK_POINTS_ONLY}, {"LINES", VTK_CHAIN}, {"POLYGONS", VTK_POLYGON}, {"TRIANGLE_STRIPS", VTK_STRIP}};
  if (scan_is_any_case(word, "POINTS")) return read_points(f, line);
  if (f->grid && scan_is_any_case(word, "CELLS")) return read_cells(f, line, -1);
  if (f->grid && scan_is_any_case(word, "CELL_TYPES")) return read_types(f, line);
  for (size_t i = 0; !f->grid && i < sizeof cells / sizeof *cells; i++)
    if (scan_is_any_case(word, cells[i].name)) return read_cells(f, line, cells[i].type);
  if (scan_is_any_case(word, "CELL_DATA") || scan_is_any_case(word, "POINT_DATA"))
    return vtk_attributes(f, line, scan_is_any_case(word, "CELL_DATA"));
  if (scan_is_any_case(word, "FIELD")) return vtk_field(f, line, 0);
  if (!scan_is_any_case(word, "METADATA"))
    return scan_fail(line, "found \"%.*s\", expected a section of the data set", SCAN_SHOW(word));
  while (scan_line(f->s, line, 0) && (scan_space(line), scan_left(line))) continue;
  return DKHO_OK;
}

/* # vtk DataFile Version x.y, a title, ASCII or BINARY, DATASET kind */
static dkho_status read_head(vtk *f) {
  scan line;
  scan_view word = {0};
  static const char magic[] = "# vtk DataFile";
  if (scan_left(f->s) < sizeof magic - 1 || memcmp(f->s->bytes + f->s->at, magic, sizeof magic - 1) != 0)
    return scan_fail(f->s, "expected \"%s\"", magic);
  for (int i = 0; i < 3; i++)
    if (!scan_line(f->s, &line, 0)) return scan_fail(f->s, "the file ends in its header");
  scan_word(&line, &word);
  f->binary = scan_is_any_case(word, "BINARY");
  if (!f->binary && !scan_is_any_case(word, "ASCII"))
    return scan_fail(&line, "found \"%.*s\", expected ASCII or BINARY", SCAN_SHOW(word));
  if (!vtk_next_line(f, &line)) return scan_fail(f->s, "the file ends, expected DATASET");
  scan_word(&line, &word);
  if (!scan_is_any_case(word, "DATASET")) return scan_fail(&line, "found \"%.*s\", expected DATASET", SCAN_SHOW(word));
  scan_word(&line, &word);
  f->grid = scan_is_any_case(word, "UNSTRUCTURED_GRID");
  if (!f->grid && !scan_is_any_case(word, "POLYDATA"))
    return scan_fail(
        &line, "DATASET %.*s: only UNSTRUCTURED_GRID and POLYDATA are read; meshio convert FILE mesh.vtu makes one",
        SCAN_SHOW(word));
  return DKHO_OK;
}

static dkho_status read_file(vtk *f) {
  scan line;
  scan_view word;
  TRY(read_head(f));
  while (vtk_next_line(f, &line) && scan_word(&line, &word)) TRY(read_section(f, word, &line));
  return f->seen_points ? DKHO_OK : scan_fail(f->s, "the file ends, expected POINTS");
}

dkho_status read_vtk(raw *m, scan *s) {
  vtk f = {.mesh = m, .s = s};
  dkho_status status = read_file(&f);
  mem_free(f.corners.vert);
  mem_free(f.offsets.value);
  mem_free(f.list.value);
  mem_free(f.types.value);
  return status;
}
