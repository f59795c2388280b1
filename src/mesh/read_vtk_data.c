/* read_vtk_data.c: values of VTK's legacy format, and the attributes, of which one may hold groups: an integer cell array "label",
 * "gmsh:physical", "medit:ref" or "CellEntityIds". */
#include "mesh/read_vtk_impl.h"

int vtk_next_line(vtk *f, scan *line) {
  while (scan_line(f->s, line, 0)) {
    scan_space(line);
    if (scan_left(line)) return 1;
  }
  return 0;
}

dkho_status vtk_keep(vtk_numbers *a, int64_t v) {
  void *block = a->value;
  TRY(raw_grow(&block, a->n, &a->room, sizeof *a->value));
  a->value = block;
  a->value[a->n++] = v;
  return DKHO_OK;
}

dkho_status vtk_type(const scan *at, scan_view word, scan_type *out) {
  static const struct {
    const char *name;
    scan_type type;
  } known[] = {{"float", {'f', 4}},         {"double", {'f', 8}},         {"int", {'i', 4}},
               {"unsigned_int", {'u', 4}},  {"long", {'i', 8}},           {"unsigned_long", {'u', 8}},
               {"short", {'i', 2}},         {"unsigned_short", {'u', 2}}, {"char", {'i', 1}},
               {"unsigned_char", {'u', 1}}, {"signed_char", {'i', 1}},    {"vtkIdType", {'i', 4}},
               {"vtktypeint64", {'i', 8}},  {"vtktypeuint64", {'u', 8}},  {"vtktypeint32", {'i', 4}}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (scan_is_any_case(word, known[i].name)) {
      *out = known[i].type;
      return DKHO_OK;
    }
  return scan_fail(at, "data type \"%.*s\", expected float, double, int or the like", SCAN_SHOW(word));
}

dkho_status vtk_start(vtk *f, const char *field, int64_t count, scan_type t) {
  size_t least = f->binary ? (size_t)t.size : 2;
  if ((uint64_t)count > (scan_left(f->s) + 1) / least)
    return scan_fail(f->s, "%s: %lld values declared, but only %zu bytes are left", field, (long long)count,
                     scan_left(f->s));
  f->s->binary = f->binary;
  return DKHO_OK;
}

void vtk_end(vtk *f) {
  f->s->binary = 0;
}

/* Past `count` values, whatever they are. */
static dkho_status pass_values(vtk *f, const char *field, int64_t count, scan_type t) {
  scan_view word;
  TRY(vtk_start(f, field, count, t));
  if (f->binary)
    f->s->at += (size_t)count * (size_t)t.size;
  else
    for (int64_t i = 0; i < count; i++)
      if (!scan_word(f->s, &word)) return scan_fail(f->s, "%s: the file ends among the values", field);
  vtk_end(f);
  return DKHO_OK;
}

dkho_status vtk_integers(vtk *f, const char *field, int64_t count, scan_type t, vtk_numbers *out) {
  TRY(vtk_start(f, field, count, t));
  out->n = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t v;
    TRY(scan_typed_int(f->s, field, t, VTK_BIG_ENDIAN, &v));
    TRY(vtk_keep(out, v));
  }
  vtk_end(f);
  return DKHO_OK;
}

static int is_label(scan_view name) {
  static const char *const known[] = {"label", "gmsh:physical", "medit:ref", "CellEntityIds"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (scan_is(name, known[i])) return 1;
  return 0;
}

/* An array of n tuples: the groups of the cells, or passed over. */
static dkho_status read_array(vtk *f, scan_view name, int64_t n, int64_t components, scan_type t, int cells) {
  int64_t count;
  if (__builtin_mul_overflow(n, components, &count)) return scan_fail(f->s, "an array of %lld tuples", (long long)n);
  if (!cells || t.kind == 'f' || components != 1 || !is_label(name) || n != f->mesh->cells)
    return pass_values(f, "array", count, t);
  TRY(vtk_integers(f, "label", n, t, &f->list));
  for (int64_t i = 0; i < n; i++) {
    int64_t tag = f->list.value[i] < 0 ? -f->list.value[i] : f->list.value[i];
    f->mesh->cell[i].tag = tag < 0 || tag > INT32_MAX ? 0 : (int32_t)tag;
  }
  return DKHO_OK;
}

/* SCALARS name type [components], LOOKUP_TABLE name */
static dkho_status read_scalars(vtk *f, scan *line, int64_t n, int cells) {
  scan_view name = {0}, word = {0};
  scan_type t;
  int64_t components = 1;
  scan_word(line, &name);
  scan_word(line, &word);
  TRY(vtk_type(line, word, &t));
  scan_space(line);
  if (scan_left(line)) TRY(scan_int(line, "components of SCALARS", 1, 4, &components));
  scan before = *f->s, table;
  if (!vtk_next_line(f, &table) || !scan_word(&table, &word) || !scan_is_any_case(word, "LOOKUP_TABLE")) *f->s = before;
  return read_array(f, name, n, components, t, cells);
}

static void pass_metadata(vtk *f) {
  scan line;
  while (scan_line(f->s, &line, 0)) {
    scan_space(&line);
    if (!scan_left(&line)) return;
  }
}

dkho_status vtk_field(vtk *f, scan *line, int cells) {
  scan_view word;
  int64_t arrays, components, tuples;
  scan_word(line, &word);
  TRY(scan_int(line, "number of arrays", 0, INT32_MAX, &arrays));
  for (int64_t i = 0; i < arrays;) {
    scan head;
    scan_view name = {0}, type = {0};
    scan_type t;
    if (!vtk_next_line(f, &head)) return scan_fail(f->s, "the file ends, expected an array");
    scan_word(&head, &name);
    if (scan_is_any_case(name, "METADATA")) {
      pass_metadata(f);
      continue;
    }
    TRY(scan_int(&head, "components of an array", 0, INT32_MAX, &components));
    TRY(scan_int(&head, "tuples of an array", 0, INT32_MAX, &tuples));
    scan_word(&head, &type);
    TRY(vtk_type(&head, type, &t));
    TRY(read_array(f, name, tuples, components, t, cells));
    i++;
  }
  return DKHO_OK;
}

/* NAME type of an attribute with a known number of components. */
static dkho_status pass_vectors(vtk *f, scan *line, int64_t n, int64_t components) {
  scan_view word = {0};
  scan_type t;
  scan_word(line, &word);
  scan_word(line, &word);
  TRY(vtk_type(line, word, &t));
  return pass_values(f, "attribute", n * components, t);
}

/* One attribute of n points or cells, by its word. *more: it was one whose end is known. */
static dkho_status read_attribute(vtk *f, scan_view word, scan *line, int64_t n, int cells, int *more) {
  static const struct {
    const char *name;
    int components;
  } known[] = {{"VECTORS", 3}, {"NORMALS", 3}, {"TENSORS", 9}};
  *more = 1;
  if (scan_is_any_case(word, "SCALARS")) return read_scalars(f, line, n, cells);
  if (scan_is_any_case(word, "FIELD")) return vtk_field(f, line, cells);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (scan_is_any_case(word, known[i].name)) return pass_vectors(f, line, n, known[i].components);
  *more = scan_is_any_case(word, "METADATA");
  if (*more) pass_metadata(f);
  return DKHO_OK;
}

dkho_status vtk_attributes(vtk *f, scan *line, int cells) {
  int64_t n;
  scan_view word;
  int more = 1;
  TRY(scan_int(line, "number of data", 0, INT32_MAX, &n));
  while (more && vtk_next_line(f, line) && scan_word(line, &word)) {
    if (scan_is_any_case(word, "CELL_DATA") || scan_is_any_case(word, "POINT_DATA")) {
      cells = scan_is_any_case(word, "CELL_DATA");
      TRY(scan_int(line, "number of data", 0, INT32_MAX, &n));
      continue;
    }
    dkho_status s = read_attribute(f, word, line, n, cells, &more);
    if (s == DKHO_E_MEMORY) return s;
    more &= s == DKHO_OK; /* what cannot be read here is no part of the mesh */
  }
  vtk_end(f);
  f->s->at = f->s->size;
  return DKHO_OK;
}
