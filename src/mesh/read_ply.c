/* read_ply.c: Stanford .ply, ASCII and binary of either byte order: the points x, y, z of "vertex", the corner lists of "face", the ends of
 * "edge". All other elements and properties (colours, normals, …) are passed over. */
#include "mesh/raw.h"

#include <string.h>

enum { PLY_ELEMENTS_MAX = 32, PLY_PROPERTIES_MAX = 128 };

/* What a property is to us. */
typedef enum { PLY_OTHER, PLY_X, PLY_Y, PLY_Z, PLY_CORNERS, PLY_TAIL, PLY_HEAD } ply_use;

typedef struct {
  ply_use use;
  int list; /* count (of type `count`) and then as many values */
  scan_type count, type;
} ply_property;

typedef enum { PLY_VERTEX, PLY_FACE, PLY_EDGE, PLY_UNKNOWN } ply_kind;

typedef struct {
  ply_kind kind;
  int64_t n;
  int properties, first; /* in ply.property */
} ply_element;

typedef struct {
  raw *mesh;
  scan *s;
  int big_endian, elements, properties;
  ply_element element[PLY_ELEMENTS_MAX];
  ply_property property[PLY_PROPERTIES_MAX];
  raw_corners corners;
} ply;

static dkho_status type_of(const scan *at, scan_view word, scan_type *out) {
  static const struct {
    const char *name[2];
    scan_type type;
  } known[] = {{{"char", "int8"}, {'i', 1}},     {{"uchar", "uint8"}, {'u', 1}},   {{"short", "int16"}, {'i', 2}},
               {{"ushort", "uint16"}, {'u', 2}}, {{"int", "int32"}, {'i', 4}},     {{"uint", "uint32"}, {'u', 4}},
               {{"float", "float32"}, {'f', 4}}, {{"double", "float64"}, {'f', 8}}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (scan_is(word, known[i].name[0]) || scan_is(word, known[i].name[1])) {
      *out = known[i].type;
      return DKHO_OK;
    }
  return scan_fail(at, "property: type \"%.*s\", expected char … double", SCAN_SHOW(word));
}

static ply_use use_of(ply_kind kind, int list, scan_view name) {
  static const struct {
    ply_kind kind;
    int list;
    const char *name;
    ply_use use;
  } known[] = {{PLY_VERTEX, 0, "x", PLY_X},
               {PLY_VERTEX, 0, "y", PLY_Y},
               {PLY_VERTEX, 0, "z", PLY_Z},
               {PLY_FACE, 1, "vertex_indices", PLY_CORNERS},
               {PLY_FACE, 1, "vertex_index", PLY_CORNERS},
               {PLY_EDGE, 0, "vertex1", PLY_TAIL},
               {PLY_EDGE, 0, "vertex2", PLY_HEAD}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].kind == kind && known[i].list == list && scan_is(name, known[i].name)) return known[i].use;
  return PLY_OTHER;
}

/* [list COUNT_TYPE] TYPE NAME */
static dkho_status add_property(ply *f, scan *line) {
  ply_property p = {0};
  scan_view word = {0};
  scan before = *line;
  if (f->elements == 0) return scan_fail(line, "a property before any element");
  if (f->properties == PLY_PROPERTIES_MAX) return scan_fail(line, "more than %d properties", PLY_PROPERTIES_MAX);
  ply_element *e = &f->element[f->elements - 1];
  scan_word(line, &word);
  if (scan_is(word, "list")) {
    p.list = 1;
    scan_word(line, &word);
    TRY(type_of(&before, word, &p.count));
    if (p.count.kind == 'f') return scan_fail(&before, "property: the length of a list is a floating-point number");
    scan_word(line, &word);
  }
  TRY(type_of(&before, word, &p.type));
  if (!scan_word(line, &word)) return scan_fail(&before, "property: no name");
  p.use = use_of(e->kind, p.list, word);
  if (p.use >= PLY_CORNERS && p.type.kind == 'f')
    return scan_fail(&before, "property: corners are floating-point numbers");
  f->property[f->properties++] = p;
  e->properties++;
  return DKHO_OK;
}

static dkho_status add_element(ply *f, scan *line) {
  scan_view name;
  ply_element e = {.kind = PLY_UNKNOWN, .first = f->properties};
  if (f->elements == PLY_ELEMENTS_MAX) return scan_fail(line, "more than %d elements", PLY_ELEMENTS_MAX);
  if (!scan_word(line, &name)) return scan_fail(line, "element: no name");
  TRY(scan_int(line, "element: number", 0, INT32_MAX, &e.n));
  static const char *const names[] = {"vertex", "face", "edge"};
  for (int k = 0; k < 3; k++)
    if (scan_is(name, names[k])) e.kind = (ply_kind)k;
  f->element[f->elements++] = e;
  return DKHO_OK;
}

static dkho_status read_format(ply *f, scan *line, int *binary) {
  scan_view word = {0};
  scan_word(line, &word);
  f->big_endian = scan_is(word, "binary_big_endian");
  *binary = f->big_endian || scan_is(word, "binary_little_endian");
  if (!*binary && !scan_is(word, "ascii"))
    return scan_fail(line, "format: found \"%.*s\", expected ascii, binary_little_endian or binary_big_endian",
                     SCAN_SHOW(word));
  return DKHO_OK;
}

/* Lines up to end_header; binary data follow the line's end at once. */
static dkho_status read_header(ply *f) {
  scan line;
  scan_view word;
  int binary = -1;
  if (!scan_line(f->s, &line, 0) || !scan_word(&line, &word) || !scan_is(word, "ply"))
    return scan_fail(f->s, "expected \"ply\" on the first line");
  while (scan_line(f->s, &line, 0)) {
    scan before = line;
    if (!scan_word(&line, &word)) continue;
    if (scan_is(word, "end_header")) {
      if (binary < 0) return scan_fail(&before, "end_header before the format");
      f->s->binary = binary;
      return DKHO_OK;
    }
    if (scan_is(word, "format"))
      TRY(read_format(f, &line, &binary));
    else if (scan_is(word, "element"))
      TRY(add_element(f, &line));
    else if (scan_is(word, "property"))
      TRY(add_property(f, &line));
    else if (!scan_is(word, "comment") && !scan_is(word, "obj_info"))
      return scan_fail(&before, "found \"%.*s\", expected a line of a .ply header", SCAN_SHOW(word));
  }
  return scan_fail(f->s, "the file ends, expected end_header");
}

/* A list: its values are corners, or passed over. */
static dkho_status read_list(ply *f, const ply_property *p) {
  int64_t n, v;
  double x;
  scan before = *f->s;
  TRY(scan_typed_int(f->s, "length of a list", p->count, f->big_endian, &n));
  size_t least = f->s->binary ? (size_t)p->type.size : 1;
  if (n < 0 || (uint64_t)n > scan_left(f->s) / least)
    return scan_fail(&before, "length of a list: found %lld with %zu bytes left", (long long)n, scan_left(f->s));
  if (p->use == PLY_CORNERS) f->corners.n = 0;
  for (int64_t i = 0; i < n; i++) {
    if (p->use != PLY_CORNERS) {
      TRY(scan_typed_double(f->s, "value of a list", p->type, f->big_endian, &x));
      continue;
    }
    TRY(scan_typed_int(f->s, "corner of a face", p->type, f->big_endian, &v));
    TRY(raw_corner(&f->corners, v));
  }
  return DKHO_OK;
}

static dkho_status read_record(ply *f, const ply_element *e) {
  double x[3] = {0}, other;
  int64_t end[2] = {-1, -1};
  f->corners.n = 0;
  for (int i = 0; i < e->properties; i++) {
    const ply_property *p = &f->property[e->first + i];
    if (p->list)
      TRY(read_list(f, p));
    else if (p->use >= PLY_TAIL)
      TRY(scan_typed_int(f->s, "end of an edge", p->type, f->big_endian, &end[p->use - PLY_TAIL]));
    else
      TRY(scan_typed_double(f->s, "property", p->type, f->big_endian, p->use ? &x[p->use - PLY_X] : &other));
  }
  if (e->kind == PLY_VERTEX) return raw_point(f->mesh, f->s, x);
  if (e->kind == PLY_EDGE) {
    for (int i = 0; i < 2; i++) TRY(raw_corner(&f->corners, end[i]));
    return raw_element(f->mesh, RAW_LINE, 2, f->corners.vert, 0);
  }
  if (e->kind != PLY_FACE || f->corners.n == 0) return DKHO_OK;
  raw_shape shape = f->corners.n == 1 ? RAW_POINT : f->corners.n == 2 ? RAW_LINE : RAW_POLYGON; /* as in .off */
  return raw_element(f->mesh, shape, f->corners.n, f->corners.vert, 0);
}

static dkho_status read_elements(ply *f) {
  for (int i = 0; i < f->elements; i++) {
    const ply_element *e = &f->element[i];
    if (e->properties == 0) continue;
    if ((uint64_t)e->n > scan_left(f->s)) /* a byte at least for each */
      return scan_fail(f->s, "%lld records declared, but only %zu bytes are left", (long long)e->n, scan_left(f->s));
    for (int64_t j = 0; j < e->n; j++) TRY(read_record(f, e));
  }
  return DKHO_OK;
}

dkho_status read_ply(raw *m, scan *s) {
  ply f = {.mesh = m, .s = s};
  dkho_status status = read_header(&f);
  if (status == DKHO_OK) status = read_elements(&f);
  mem_free(f.corners.vert);
  return status;
}
