/* read_vtu.c: VTK's XML UnstructuredGrid (.vtu) and PolyData (.vtp). The markup is walked once and the wanted arrays are noted; their values are
 * read when the place of the appended data is known. Pieces are put one after the other, their points not merged. */
#include "mesh/read_vtu.h"
#include "mesh/vtk_cell.h"
#include "mesh/xml.h"

#include <string.h>

/* Cells of one list: an unstructured grid has one, poly data one for each kind. */
typedef struct {
  int64_t cells;
  vtu_array connectivity, offsets, types;
} block;
/* Elements of poly data in the order in which VTK numbers its cells, with their cell types. */
enum { BLOCKS = 4 };
static const struct {
  const char *name, *count;
  int type;
} poly_block[BLOCKS] = {{"Verts", "NumberOfVerts", 2},
                        {"Lines", "NumberOfLines", 4},
                        {"Polys", "NumberOfPolys", 7},
                        {"Strips", "NumberOfStrips", 6}};

typedef struct {
  int64_t points, cells; /* cells of all blocks */
  vtu_array x, label;
  int rank; /* of the label array found: "label" before "gmsh:physical" */
  block block[BLOCKS];
} piece;

typedef struct {
  raw *mesh;
  vtu file;
  int poly; /* PolyData */
  int64_t pieces, room;
  piece *piece;
  vtu_array names;
} reader;

static dkho_status root(reader *r, const xml *x) {
  scan_view type = xml_get(x, "type"), order = xml_get(x, "byte_order"), header = xml_get(x, "header_type"),
            compressor = xml_get(x, "compressor");
  if (!xml_at(x, "", "VTKFile")) return scan_fail(x->s, "found <%.*s>, expected <VTKFile>", SCAN_SHOW(x->open[0]));
  r->poly = type.p && scan_is(type, "PolyData");
  if (!type.p || (!r->poly && !scan_is(type, "UnstructuredGrid")))
    return scan_fail(x->s, "VTKFile: type: found \"%.*s\", expected UnstructuredGrid or PolyData", SCAN_SHOW(type));
  r->file.big_endian = order.p ? scan_is(order, "BigEndian") : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  if (order.p && !r->file.big_endian && !scan_is(order, "LittleEndian"))
    return scan_fail(x->s, "VTKFile: byte_order: found \"%.*s\", expected LittleEndian or BigEndian", SCAN_SHOW(order));
  r->file.header = header.p && scan_is(header, "UInt64") ? 8 : 4;
  if (header.p && r->file.header == 4 && !scan_is(header, "UInt32"))
    return scan_fail(x->s, "VTKFile: header_type: found \"%.*s\", expected UInt32 or UInt64", SCAN_SHOW(header));
  r->file.compressed = compressor.n > 0;
  if (compressor.n && !scan_is(compressor, "vtkZLibDataCompressor"))
    return scan_fail(x->s, "VTKFile: compressor: found \"%.*s\", only vtkZLibDataCompressor is read",
                     SCAN_SHOW(compressor));
  return DKHO_OK;
}

static dkho_status array_type(const xml *x, vtu_array *a) {
  static const struct {
    const char *name;
    scan_type type;
  } known[] = {{"Float64", {'f', 8}}, {"Float32", {'f', 4}}, {"Int64", {'i', 8}},  {"Int32", {'i', 4}},
               {"Int16", {'i', 2}},   {"Int8", {'i', 1}},    {"UInt64", {'u', 8}}, {"UInt32", {'u', 4}},
               {"UInt16", {'u', 2}},  {"UInt8", {'u', 1}}};
  scan_view type = xml_get(x, "type");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (type.p && scan_is(type, known[i].name)) {
      a->type = known[i].type;
      return DKHO_OK;
    }
  return scan_fail(x->s, "DataArray: type: found \"%.*s\", expected Float64, Int32 or the like", SCAN_SHOW(type));
}

static dkho_status note_array(const xml *x, vtu_array *a) {
  scan_view format = xml_get(x, "format");
  if (a->there) return scan_fail(x->s, "DataArray: a second array for the same thing");
  *a = (vtu_array){.there = 1, .text = xml_text(x)};
  TRY(array_type(x, a));
  TRY(xml_get_count(x, "NumberOfComponents", 1, &a->components));
  TRY(xml_get_count(x, "NumberOfTuples", 0, &a->tuples));
  if (!format.p || scan_is(format, "ascii")) return DKHO_OK;
  a->format = scan_is(format, "appended") ? VTU_APPENDED : VTU_BINARY;
  if (a->format == VTU_APPENDED) return xml_get_count(x, "offset", -1, &a->offset);
  if (!scan_is(format, "binary"))
    return scan_fail(x->s, "DataArray: format: found \"%.*s\", expected ascii, binary or appended", SCAN_SHOW(format));
  return DKHO_OK;
}

static dkho_status open_piece(reader *r, const xml *x) {
  if (r->pieces == r->room) {
    int64_t wider = r->room ? 2 * r->room : 4;
    piece *fresh = mem_resize(r->piece, (size_t)r->pieces, (size_t)wider, sizeof *fresh);
    if (!fresh) return DKHO_E_MEMORY;
    r->piece = fresh;
    r->room = wider;
  }
  piece *p = &r->piece[r->pieces++];
  TRY(xml_get_count(x, "NumberOfPoints", -1, &p->points));
  if (!r->poly) TRY(xml_get_count(x, "NumberOfCells", -1, &p->block[0].cells));
  for (int i = 0; r->poly && i < BLOCKS; i++) TRY(xml_get_count(x, poly_block[i].count, 0, &p->block[i].cells));
  for (int i = 0; i < BLOCKS; i++) {
    if (p->points > INT32_MAX || p->block[i].cells > INT32_MAX)
      return scan_fail(x->s, "Piece: %lld points and %lld cells, expected at most 2^31-1", (long long)p->points,
                       (long long)p->block[i].cells);
    p->cells += p->block[i].cells;
  }
  return DKHO_OK;
}

/* A label array has one whole number per cell; anything else of that name is data like any other. */
static dkho_status note_label(const xml *x, piece *p, scan_view name) {
  int rank = scan_is(name, "label") ? 2 : scan_is(name, "gmsh:physical") ? 1 : 0;
  vtu_array a = {0};
  if (rank <= p->rank) return DKHO_OK;
  TRY(note_array(x, &a));
  if (a.type.kind == 'f' || a.components != 1) return DKHO_OK;
  p->label = a;
  p->rank = rank;
  return DKHO_OK;
}

static dkho_status note(reader *r, const xml *x) {
  scan_view name = xml_get(x, "Name");
  if (!name.p) name = (scan_view){"", 0};
  if (xml_at(x, "FieldData", "DataArray"))
    return scan_is(name, "label_names") && !r->names.there ? note_array(x, &r->names) : DKHO_OK;
  if (!r->pieces) return DKHO_OK;
  piece *p = &r->piece[r->pieces - 1];
  if (xml_at(x, "Points", "DataArray")) return note_array(x, &p->x);
  if (xml_at(x, "CellData", "DataArray")) return note_label(x, p, name);
  block *b = r->poly || !xml_at(x, "Cells", "DataArray") ? NULL : &p->block[0];
  for (int i = 0; r->poly && i < BLOCKS; i++)
    if (xml_at(x, poly_block[i].name, "DataArray")) b = &p->block[i];
  if (b && scan_is(name, "connectivity")) return note_array(x, &b->connectivity);
  if (b && scan_is(name, "offsets")) return note_array(x, &b->offsets);
  return b && !r->poly && scan_is(name, "types") ? note_array(x, &b->types) : DKHO_OK;
}

/* What stands between the underscore and the last end tag. Raw bytes are no XML: the walk ends here. */
static dkho_status appended(reader *r, const xml *x) {
  static const char end[] = "</AppendedData";
  scan_view coding = xml_get(x, "encoding");
  scan data = *x->s;
  r->file.appended_base64 = !coding.p || scan_is(coding, "base64");
  if (!r->file.appended_base64 && !scan_is(coding, "raw"))
    return scan_fail(x->s, "AppendedData: encoding: found \"%.*s\", expected raw or base64", SCAN_SHOW(coding));
  scan_space(&data);
  if (!scan_left(&data) || data.bytes[data.at] != '_') return scan_fail(&data, "AppendedData: expected an underscore");
  data.at++;
  size_t stop = data.size, n = sizeof end - 1;
  while (stop >= data.at + n && memcmp(data.bytes + stop - n, end, n) != 0) stop--;
  if (stop < data.at + n) return scan_fail(&data, "the file ends, expected %s>", end);
  data.size = stop - n;
  r->file.data = data;
  r->file.appended = 1;
  return DKHO_OK;
}

static dkho_status walk(reader *r, scan *s) {
  xml x = {.s = s};
  xml_event event;
  TRY(xml_next(&x, &event));
  if (event != XML_OPEN) return scan_fail(s, "expected <VTKFile>");
  TRY(root(r, &x));
  for (;;) {
    TRY(xml_next(&x, &event));
    if (event == XML_END) return DKHO_OK;
    if (event == XML_CLOSE) continue;
    if (xml_at(&x, "VTKFile", "AppendedData")) return appended(r, &x);
    if (xml_at(&x, r->poly ? "PolyData" : "UnstructuredGrid", "Piece")) TRY(open_piece(r, &x));
    if (scan_is(x.open[x.depth - 1], "DataArray")) TRY(note(r, &x));
  }
}

static dkho_status points(reader *r, const piece *p) {
  double *x = NULL;
  if (p->x.components != 3)
    return scan_fail(&p->x.text, "Points: %lld components, expected 3", (long long)p->x.components);
  dkho_status s = vtu_reals(&r->file, &p->x, "Points", 3 * p->points, &x);
  for (int64_t i = 0; s == DKHO_OK && i < p->points; i++) s = raw_point(r->mesh, &p->x.text, x + 3 * i);
  mem_free(x);
  return s;
}

typedef struct {
  int64_t *connectivity, *offsets, *types; /* types: NULL for poly data */
  int32_t *vert;                           /* connectivity, as points of the whole mesh */
} lists;

static void free_lists(lists *l) {
  mem_free(l->connectivity);
  mem_free(l->offsets);
  mem_free(l->types);
  mem_free(l->vert);
}

static dkho_status load_lists(reader *r, const block *b, lists *l) {
  TRY(vtu_integers(&r->file, &b->offsets, "offsets", b->cells, &l->offsets));
  if (!r->poly) TRY(vtu_integers(&r->file, &b->types, "types", b->cells, &l->types));
  int64_t before = 0;
  for (int64_t i = 0; i < b->cells; before = l->offsets[i++])
    if (l->offsets[i] < before)
      return scan_fail(&b->offsets.text, "offsets: cell %lld ends at %lld, before its start %lld", (long long)i,
                       (long long)l->offsets[i], (long long)before);
  TRY(vtu_integers(&r->file, &b->connectivity, "connectivity", before, &l->connectivity));
  return MEM_NEW(l->vert, before) ? DKHO_OK : DKHO_E_MEMORY;
}

/* label: of the block's cells, or NULL. first: the mesh's number of the piece's first point. */
static dkho_status add_cells(reader *r, const piece *p, const block *b, const lists *l, const int64_t *label,
                             int64_t first) {
  for (int64_t i = 0, start = 0; i < b->cells; start = l->offsets[i++]) {
    for (int64_t j = start; j < l->offsets[i]; j++) {
      int64_t v = l->connectivity[j];
      if (v < 0 || v >= p->points)
        return scan_fail(&b->connectivity.text, "connectivity: cell %lld has vertex %lld of %lld", (long long)i,
                         (long long)v, (long long)p->points);
      l->vert[j] = (int32_t)(first + v);
    }
    int64_t tag = label && label[i] > 0 && label[i] <= INT32_MAX ? label[i] : 0; /* -1 often says that there is none */
    int64_t type = l->types ? l->types[i] : poly_block[b - p->block].type;
    TRY(vtk_cell(r->mesh, &b->offsets.text, i, type, l->offsets[i] - start, l->vert + start, (int32_t)tag));
  }
  return DKHO_OK;
}

static dkho_status need_array(const reader *r, const piece *p, const vtu_array *a, const char *name) {
  if (a->there) return DKHO_OK;
  return fail(DKHO_E_FORMAT, "%s: piece %lld: no array %s", r->mesh->file, (long long)(p - r->piece), name);
}

static dkho_status load_block(reader *r, const piece *p, const block *b, const int64_t *label, int64_t first) {
  lists l = {0};
  TRY(need_array(r, p, &b->connectivity, "connectivity"));
  TRY(need_array(r, p, &b->offsets, "offsets"));
  if (!r->poly) TRY(need_array(r, p, &b->types, "types"));
  dkho_status s = load_lists(r, b, &l);
  if (s == DKHO_OK) s = add_cells(r, p, b, &l, label, first);
  free_lists(&l);
  return s;
}

static dkho_status load_piece(reader *r, const piece *p) {
  int64_t first = r->mesh->points, *label = NULL, at = 0;
  dkho_status s = DKHO_OK;
  if (p->points == 0 && p->cells == 0) return DKHO_OK;
  TRY(need_array(r, p, &p->x, "Points"));
  TRY(points(r, p));
  if (p->label.there) s = vtu_integers(&r->file, &p->label, "label", p->cells, &label);
  for (int i = 0; s == DKHO_OK && i < BLOCKS; at += p->block[i++].cells)
    if (p->block[i].cells) s = load_block(r, p, &p->block[i], label ? label + at : NULL, first);
  mem_free(label);
  return s;
}

/* Names of labels 1, 2, … as bytes, each ended by a line feed: what mesh_write_vtu leaves for us. */
static dkho_status label_names(reader *r) {
  int64_t *code = NULL;
  char *text = NULL;
  const vtu_array *a = &r->names;
  if (!a->there || a->components != 1 || a->type.kind == 'f') return DKHO_OK;
  r->mesh->exact = 1;
  dkho_status s = vtu_integers(&r->file, a, "label_names", a->tuples, &code);
  if (s == DKHO_OK && !MEM_NEW(text, a->tuples)) s = DKHO_E_MEMORY;
  for (int64_t i = 0, from = 0; s == DKHO_OK && i < a->tuples; i++) {
    text[i] = (char)code[i];
    if (code[i] != '\n') continue;
    if (i == from) s = scan_fail(&a->text, "label_names: an empty name");
    if (s == DKHO_OK) s = raw_group(r->mesh, -1, r->mesh->names + 1, (scan_view){text + from, (size_t)(i - from)});
    from = i + 1;
  }
  mem_free(code);
  mem_free(text);
  return s;
}

dkho_status read_vtu(raw *m, scan *s) {
  reader r = {.mesh = m};
  dkho_status status = walk(&r, s);
  if (status == DKHO_OK && !r.pieces) status = scan_fail(s, "no <Piece> in it");
  for (int64_t i = 0; status == DKHO_OK && i < r.pieces; i++) status = load_piece(&r, &r.piece[i]);
  if (status == DKHO_OK) status = label_names(&r);
  mem_free(r.piece);
  return status;
}
