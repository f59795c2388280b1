/* read_vtu.c: VTK's XML UnstructuredGrid (.vtu) and PolyData (.vtp). The markup is walked once and the wanted arrays are noted; their values are
 * read when the place of the appended data is known. Pieces are put one after the other, their points not merged. */
#include "mesh/read_vtu_impl.h"
#include "mesh/xml.h"

#include <string.h>

static dkho_status read_root_element(vtu_reader *r, const xml *x) {
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

static dkho_status open_piece(vtu_reader *r, const xml *x) {
  if (r->pieces == r->room) {
    int64_t wider = r->room ? 2 * r->room : 4;
    vtu_piece *fresh = mem_resize(r->piece, (size_t)r->pieces, (size_t)wider, sizeof *fresh);
    if (!fresh) return DKHO_E_MEMORY;
    r->piece = fresh;
    r->room = wider;
  }
  vtu_piece *p = &r->piece[r->pieces++];
  TRY(xml_get_count(x, "NumberOfPoints", -1, &p->points));
  if (!r->poly) TRY(xml_get_count(x, "NumberOfCells", -1, &p->block[0].cells));
  for (int i = 0; r->poly && i < VTU_BLOCKS; i++) TRY(xml_get_count(x, vtu_poly_block[i].count, 0, &p->block[i].cells));
  for (int i = 0; i < VTU_BLOCKS; i++) {
    if (p->points > INT32_MAX || p->block[i].cells > INT32_MAX)
      return scan_fail(x->s, "Piece: %lld points and %lld cells, expected at most 2^31-1", (long long)p->points,
                       (long long)p->block[i].cells);
    p->cells += p->block[i].cells;
  }
  return DKHO_OK;
}

/* A label array has one whole number per cell; anything else of that name is data like any other. */
static dkho_status note_label(const xml *x, vtu_piece *p, scan_view name) {
  int rank = scan_is(name, "label") ? 2 : scan_is(name, "gmsh:physical") ? 1 : 0;
  vtu_array a = {0};
  if (rank <= p->rank) return DKHO_OK;
  TRY(note_array(x, &a));
  if (a.type.kind == 'f' || a.components != 1) return DKHO_OK;
  p->label = a;
  p->rank = rank;
  return DKHO_OK;
}

static dkho_status note_data_array(vtu_reader *r, const xml *x) {
  scan_view name = xml_get(x, "Name");
  if (!name.p) name = (scan_view){"", 0};
  if (xml_at(x, "FieldData", "DataArray"))
    return scan_is(name, "label_names") && !r->names.there ? note_array(x, &r->names) : DKHO_OK;
  if (!r->pieces) return DKHO_OK;
  vtu_piece *p = &r->piece[r->pieces - 1];
  if (xml_at(x, "Points", "DataArray")) return note_array(x, &p->x);
  if (xml_at(x, "CellData", "DataArray")) return note_label(x, p, name);
  vtu_block *b = r->poly || !xml_at(x, "Cells", "DataArray") ? NULL : &p->block[0];
  for (int i = 0; r->poly && i < VTU_BLOCKS; i++)
    if (xml_at(x, vtu_poly_block[i].name, "DataArray")) b = &p->block[i];
  if (b && scan_is(name, "connectivity")) return note_array(x, &b->connectivity);
  if (b && scan_is(name, "offsets")) return note_array(x, &b->offsets);
  if (!b || r->poly) return DKHO_OK;
  if (scan_is(name, "faces")) return note_array(x, &b->faces);
  if (scan_is(name, "faceoffsets")) return note_array(x, &b->faceoffsets);
  return scan_is(name, "types") ? note_array(x, &b->types) : DKHO_OK;
}

/* What stands between the underscore and the last end tag. Raw bytes are no XML: the walk ends here. */
static dkho_status appended(vtu_reader *r, const xml *x) {
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

static dkho_status walk(vtu_reader *r, scan *s) {
  xml x = {.s = s};
  xml_event event;
  TRY(xml_next(&x, &event));
  if (event != XML_OPEN) return scan_fail(s, "expected <VTKFile>");
  TRY(read_root_element(r, &x));
  for (;;) {
    TRY(xml_next(&x, &event));
    if (event == XML_END) return DKHO_OK;
    if (event == XML_CLOSE) continue;
    if (xml_at(&x, "VTKFile", "AppendedData")) return appended(r, &x);
    if (xml_at(&x, r->poly ? "PolyData" : "UnstructuredGrid", "Piece")) TRY(open_piece(r, &x));
    if (scan_is(x.open[x.depth - 1], "DataArray")) TRY(note_data_array(r, &x));
  }
}

/* Names of labels 1, 2, … as bytes, each ended by a line feed: what mesh_write_vtu leaves for us. */
static dkho_status label_names(vtu_reader *r) {
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
  vtu_reader r = {.mesh = m};
  dkho_status status = walk(&r, s);
  if (status == DKHO_OK && !r.pieces) status = scan_fail(s, "no <Piece> in it");
  for (int64_t i = 0; status == DKHO_OK && i < r.pieces; i++) status = vtu_load_piece(&r, &r.piece[i]);
  if (status == DKHO_OK) status = label_names(&r);
  mem_free(r.piece);
  return status;
}
