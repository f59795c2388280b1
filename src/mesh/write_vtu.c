/* write_vtu.c: a complex and its cochains as a .vtu file: one piece whose cells are the simplices of a range of degrees (all of them,
 * or one: a block of a .vtm), the top ones first. A k-cochain is cell data on the cells of degree k and NaN on the others, a
 * 0-cochain is point data. Values are appended raw, so that the file is as small and as exact as the arrays. */
#include "mesh/vtu_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct out {
  file_out file;
  const cx *c;
  int low, top;            /* degrees of the cells */
  const mesh_field *field; /* the one in hand */
  int channel;             /* of its vector field */
  uint64_t offset;         /* of the next array in the appended data */
  int data;                /* 0: the markup is written, 1: the values */
} out;

typedef dkho_status (*emitter)(out *);

static dkho_status put_double(out *o, double x) {
  return file_write(&o->file, &x, sizeof x);
}
static dkho_status put_int64(out *o, int64_t x) {
  return file_write(&o->file, &x, sizeof x);
}
static dkho_status put_int32(out *o, int32_t x) {
  return file_write(&o->file, &x, sizeof x);
}
static dkho_status put_byte(out *o, uint8_t x) {
  return file_write(&o->file, &x, sizeof x);
}

dkho_status vtu_write_escaped(file_out *f, const char *text) {
  for (; *text; text++) {
    const char *named = *text == '&'   ? "&amp;"
                        : *text == '<' ? "&lt;"
                        : *text == '>' ? "&gt;"
                        : *text == '"' ? "&quot;"
                                       : NULL;
    TRY(named ? file_write(f, named, strlen(named)) : file_write(f, text, 1));
  }
  return DKHO_OK;
}

static dkho_status emit_points(out *o) {
  const cx *c = o->c;
  for (int64_t i = 0; i < c->n[0]; i++)
    for (int a = 0; a < 3; a++) TRY(put_double(o, a < c->gdim ? c->x[i * c->gdim + a] : 0));
  return DKHO_OK;
}

static dkho_status emit_connectivity(out *o) {
  const cx *c = o->c;
  for (int k = o->top; k >= o->low; k--)
    for (int64_t i = 0; i < c->n[k] * (k + 1); i++) TRY(put_int64(o, k ? c->vert[k][i] : i));
  return DKHO_OK;
}

static dkho_status emit_offsets(out *o) {
  int64_t at = 0;
  for (int k = o->top; k >= o->low; k--)
    for (int64_t i = 0; i < o->c->n[k]; i++) TRY(put_int64(o, at += k + 1));
  return DKHO_OK;
}

static dkho_status emit_types(out *o) {
  static const uint8_t type[CX_DEGREES] = {1, 3, 5, 10};
  for (int k = o->top; k >= o->low; k--)
    for (int64_t i = 0; i < o->c->n[k]; i++) TRY(put_byte(o, type[k]));
  return DKHO_OK;
}

static dkho_status emit_degree(out *o) {
  for (int k = o->top; k >= o->low; k--)
    for (int64_t i = 0; i < o->c->n[k]; i++) TRY(put_byte(o, (uint8_t)k));
  return DKHO_OK;
}

static dkho_status emit_index(out *o) {
  for (int k = o->top; k >= o->low; k--)
    for (int64_t i = 0; i < o->c->n[k]; i++) TRY(put_int32(o, (int32_t)i));
  return DKHO_OK;
}

static dkho_status emit_label(out *o) {
  for (int k = o->top; k >= o->low; k--)
    for (int64_t i = 0; i < o->c->n[k]; i++) TRY(put_int32(o, o->c->label[k] ? o->c->label[k][i] : 0));
  return DKHO_OK;
}

/* A label without a name is an underscore to the reader. */
static const char *label_text(const cx *c, int i) {
  return *c->label_name[i] ? c->label_name[i] : "_";
}

/* Label i ≥ 1 is the i-th name; each ends with a line feed, so control characters inside become '_'. */
static dkho_status emit_names(out *o) {
  for (int i = 1; i < o->c->labels; i++) {
    for (const char *p = label_text(o->c, i); *p; p++) TRY(put_byte(o, (unsigned char)*p < 0x20 ? '_' : (uint8_t)*p));
    TRY(put_byte(o, '\n'));
  }
  return DKHO_OK;
}

static int64_t names_bytes(const cx *c) {
  int64_t n = 0;
  for (int i = 1; i < c->labels; i++) n += (int64_t)strlen(label_text(c, i)) + 1;
  return n;
}

static dkho_status emit_point_field(out *o) {
  return file_write(&o->file, o->field->data, (size_t)(o->c->n[0] * o->field->channels) * sizeof *o->field->data);
}

static dkho_status emit_cell_field(out *o) {
  const mesh_field *f = o->field;
  for (int k = o->top; k >= o->low; k--)
    for (int64_t i = 0; i < o->c->n[k] * f->channels; i++)
      TRY(put_double(o, k == f->degree ? f->data[i] : (double)NAN));
  return DKHO_OK;
}

/* Whitney vectors of one channel on the top simplices, which come first. */
static dkho_status emit_vector(out *o) {
  const cx *c = o->c;
  const mesh_field *f = o->field;
  double *u = NULL, *w = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(u, c->n[1]) || !MEM_NEW(w, c->n[c->dim] * c->gdim)) goto done;
  for (int64_t i = 0; i < c->n[1]; i++) u[i] = f->data[i * f->channels + o->channel];
  mesh_whitney(c, u, w);
  for (int64_t i = 0; i < c->n[c->dim]; i++)
    for (int a = 0; a < 3; a++) TRY_GOTO(put_double(o, a < c->gdim ? w[i * c->gdim + a] : 0));
  for (int k = c->dim - 1; k >= o->low; k--)
    for (int64_t i = 0; i < 3 * c->n[k]; i++) TRY_GOTO(put_double(o, (double)NAN));
  s = DKHO_OK;
done:
  mem_free(u);
  mem_free(w);
  return s;
}

/* One DataArray: its tag in the first pass, its bytes with their count before them in the second. */
static dkho_status array(out *o, const char *name, const char *suffix, const char *type, int components, int64_t tuples,
                         emitter emit) {
  uint64_t size = type[strlen(type) - 1] == '8' ? 1 : strstr(type, "64") ? 8 : 4;
  uint64_t bytes = (uint64_t)tuples * (uint64_t)components * size;
  if (o->data) {
    TRY(file_write(&o->file, &bytes, sizeof bytes));
    return emit(o);
  }
  TRY(file_printf(&o->file, "        <DataArray type=\"%s\" Name=\"", type));
  TRY(vtu_write_escaped(&o->file, name));
  TRY(file_printf(&o->file, "%s\"", suffix));
  if (components > 1) TRY(file_printf(&o->file, " NumberOfComponents=\"%d\"", components)); /* meshio: 1 is a matrix */
  TRY(file_printf(&o->file, " NumberOfTuples=\"%lld\" format=\"appended\" offset=\"%llu\"/>\n", (long long)tuples,
                  (unsigned long long)o->offset));
  o->offset += bytes + sizeof bytes;
  return DKHO_OK;
}

/* Markup around arrays, absent from the second pass. */
static dkho_status mark(out *o, const char *text) {
  return o->data ? DKHO_OK : file_write(&o->file, text, strlen(text));
}

static dkho_status vectors(out *o, int64_t cells) {
  for (o->channel = 0; o->channel < o->field->channels; o->channel++) {
    char suffix[32] = "_vector";
    if (o->field->channels > 1) snprintf(suffix, sizeof suffix, "_%d_vector", o->channel);
    TRY(array(o, o->field->name, suffix, "Float64", 3, cells, emit_vector));
  }
  return DKHO_OK;
}

/* All arrays, in the same order in both passes. */
static dkho_status arrays(out *o, int fields, const mesh_field *field) {
  const cx *c = o->c;
  int64_t cells = 0, corners = 0;
  for (int k = o->low; k <= o->top; k++) {
    cells += c->n[k];
    corners += c->n[k] * (k + 1);
  }
  if (c->labels > 1) {
    TRY(mark(o, "    <FieldData>\n"));
    TRY(array(o, "label_names", "", "UInt8", 1, names_bytes(c), emit_names));
    TRY(mark(o, "    </FieldData>\n"));
  }
  if (!o->data)
    TRY(file_printf(&o->file, "    <Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n      <PointData>\n",
                    (long long)c->n[0], (long long)cells));
  for (int i = 0; i < fields; i++) {
    o->field = &field[i];
    if (field[i].degree == 0) TRY(array(o, field[i].name, "", "Float64", field[i].channels, c->n[0], emit_point_field));
  }
  TRY(mark(o, "      </PointData>\n      <CellData>\n"));
  if (o->low < o->top) TRY(array(o, "degree", "", "UInt8", 1, cells, emit_degree));
  TRY(array(o, "index", "", "Int32", 1, cells, emit_index));
  if (c->labels > 1) TRY(array(o, "label", "", "Int32", 1, cells, emit_label));
  for (int i = 0; i < fields; i++) {
    o->field = &field[i];
    if (field[i].degree > 0 && field[i].degree >= o->low && field[i].degree <= o->top)
      TRY(array(o, field[i].name, "", "Float64", field[i].channels, cells, emit_cell_field));
    if (field[i].degree == 1 && o->top == c->dim) TRY(vectors(o, cells));
  }
  TRY(mark(o, "      </CellData>\n      <Points>\n"));
  TRY(array(o, "Points", "", "Float64", 3, c->n[0], emit_points));
  TRY(mark(o, "      </Points>\n      <Cells>\n"));
  TRY(array(o, "connectivity", "", "Int64", 1, corners, emit_connectivity));
  TRY(array(o, "offsets", "", "Int64", 1, cells, emit_offsets));
  TRY(array(o, "types", "", "UInt8", 1, cells, emit_types));
  return mark(o, "      </Cells>\n    </Piece>\n");
}

static dkho_status check_field(const cx *c, const char *path, const mesh_field *f) {
  static const char *const reserved[] = {"degree", "index", "label"};
  int bad = f->name == NULL || !*f->name;
  for (const char *p = bad ? "" : f->name; *p; p++) bad |= (unsigned char)*p < 0x20;
  if (bad) return fail(DKHO_E_INPUT, "%s: a field's name is empty or holds control characters", path);
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (strcmp(f->name, reserved[i]) == 0)
      return fail(DKHO_E_INPUT, "%s: a field may not be called \"%s\"; the file has an array of that name", path,
                  f->name);
  if (f->degree < 0 || f->degree > c->dim || f->channels < 1)
    return fail(DKHO_E_INPUT, "%s: field \"%s\": degree %d with %d channels on a complex of dimension %d", path,
                f->name, f->degree, f->channels, c->dim);
  return DKHO_OK;
}

/* Whether b is the name of one of the vectors that are written beside the 1-cochain a: "a_vector", "a_2_vector". */
static int is_vector_of(const mesh_field *a, const char *b) {
  size_t n = strlen(a->name);
  if (a->degree != 1 || strncmp(a->name, b, n) != 0 || b[n] != '_') return 0;
  b += n + 1;
  size_t digits = strspn(b, "0123456789");
  return strcmp(b, "vector") == 0 || (digits && strcmp(b + digits, "_vector") == 0);
}

/* Readers keep one of two arrays with the same name. */
static dkho_status check_names(const char *path, const mesh_field *a, const mesh_field *b) {
  if ((a->degree == 0) != (b->degree == 0)) return DKHO_OK;
  if (strcmp(a->name, b->name) != 0 && !is_vector_of(a, b->name) && !is_vector_of(b, a->name)) return DKHO_OK;
  return fail(DKHO_E_INPUT, "%s: fields \"%s\" and \"%s\" would be arrays of the same name", path, a->name, b->name);
}

static dkho_status write_all(out *o, int fields, const mesh_field *field) {
  TRY(file_printf(&o->file,
                  "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"%s\" "
                  "header_type=\"UInt64\">\n  <UnstructuredGrid>\n",
                  __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? "BigEndian" : "LittleEndian"));
  TRY(arrays(o, fields, field));
  TRY(mark(o, "  </UnstructuredGrid>\n  <AppendedData encoding=\"raw\">\n_"));
  o->data = 1;
  TRY(arrays(o, fields, field));
  o->data = 0;
  return mark(o, "\n  </AppendedData>\n</VTKFile>\n");
}

static dkho_status check_fields(const char *path, const cx *c, int fields, const mesh_field *field) {
  for (int i = 0; i < fields; i++) {
    TRY(check_field(c, path, &field[i]));
    for (int j = 0; j < i; j++) TRY(check_names(path, &field[j], &field[i]));
  }
  return DKHO_OK;
}

dkho_status vtu_write_degrees(const char *path, int force, const cx *c, int low, int top, int fields,
                              const mesh_field *field) {
  out o = {.c = c, .low = low, .top = top};
  TRY(check_fields(path, c, fields, field));
  TRY(file_open(&o.file, path, force));
  dkho_status s = write_all(&o, fields, field);
  if (s == DKHO_OK) return file_commit(&o.file);
  file_abort(&o.file);
  return s;
}

dkho_status mesh_write_vtu(const char *path, int force, const cx *c, int fields, const mesh_field *field) {
  return vtu_write_degrees(path, force, c, 0, c->dim, fields, field);
}
