/* read_vtu_cells.c: the cells of a piece: lists by VTK's types, kinds of poly data, polyhedra with faces of their own. */
#include "mesh/read_vtu_impl.h"
#include "mesh/vtk_cell.h"

const vtu_poly vtu_poly_block[VTU_BLOCKS] = {{"Verts", "NumberOfVerts", 2},
                                             {"Lines", "NumberOfLines", 4},
                                             {"Polys", "NumberOfPolys", 7},
                                             {"Strips", "NumberOfStrips", 6}};

static dkho_status points(vtu_reader *r, const vtu_piece *p) {
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
  int64_t *faces, *faceoffsets;            /* NULL without polyhedra */
  raw_corners rims;
  int32_t *vert; /* connectivity, as points of the whole mesh */
} lists;

static void free_lists(lists *l) {
  mem_free(l->connectivity);
  mem_free(l->offsets);
  mem_free(l->types);
  mem_free(l->faces);
  mem_free(l->faceoffsets);
  mem_free(l->rims.vert);
  mem_free(l->vert);
}

/* faceoffsets: where the faces of each polyhedron end, anything below 1 for other cells. */
static dkho_status load_faces(vtu_reader *r, const vtu_block *b, lists *l) {
  int64_t total = 0, any = 0;
  for (int64_t i = 0; l->types && i < b->cells; i++) any |= l->types[i] == VTK_POLYHEDRON;
  if (!any || !b->faces.there || !b->faceoffsets.there) return DKHO_OK;
  TRY(vtu_integers(&r->file, &b->faceoffsets, "faceoffsets", b->cells, &l->faceoffsets));
  for (int64_t i = 0; i < b->cells; i++) {
    if (l->types[i] != VTK_POLYHEDRON) continue;
    if (l->faceoffsets[i] <= total)
      return scan_fail(&b->faceoffsets.text, "faceoffsets: cell %lld ends at %lld, expected more than %lld",
                       (long long)i, (long long)l->faceoffsets[i], (long long)total);
    total = l->faceoffsets[i];
  }
  return vtu_integers(&r->file, &b->faces, "faces", total, &l->faces);
}

/* Number of faces, then for each its number of corners and they. *at moves behind them. */
static dkho_status add_polyhedron(vtu_reader *r, const vtu_piece *p, const vtu_block *b, lists *l, int64_t cell,
                                  int32_t tag, int64_t first, int64_t *at) {
  const scan *text = &b->faces.text;
  int64_t end = l->faceoffsets[cell], faces = l->faces[(*at)++];
  l->rims.n = 0;
  for (int64_t f = 0; f < faces; f++) {
    int64_t n = *at < end ? l->faces[(*at)++] : -1;
    if (n < 0 || n > end - *at)
      return scan_fail(text, "faces: cell %lld: face %lld does not fit", (long long)cell, (long long)f);
    if (f) TRY(raw_corner(&l->rims, -1));
    for (int64_t i = 0; i < n; i++) {
      int64_t v = l->faces[(*at)++];
      if (v < 0 || v >= p->points)
        return scan_fail(text, "faces: cell %lld has vertex %lld of %lld", (long long)cell, (long long)v,
                         (long long)p->points);
      TRY(raw_corner(&l->rims, first + v));
    }
  }
  if (*at != end || !l->rims.n)
    return scan_fail(text, "faces: cell %lld does not end where faceoffsets say", (long long)cell);
  return raw_element(r->mesh, RAW_POLYHEDRON, l->rims.n, l->rims.vert, tag);
}

static dkho_status load_lists(vtu_reader *r, const vtu_block *b, lists *l) {
  TRY(vtu_integers(&r->file, &b->offsets, "offsets", b->cells, &l->offsets));
  if (!r->poly) TRY(vtu_integers(&r->file, &b->types, "types", b->cells, &l->types));
  int64_t before = 0;
  for (int64_t i = 0; i < b->cells; before = l->offsets[i++])
    if (l->offsets[i] < before)
      return scan_fail(&b->offsets.text, "offsets: cell %lld ends at %lld, before its start %lld", (long long)i,
                       (long long)l->offsets[i], (long long)before);
  TRY(vtu_integers(&r->file, &b->connectivity, "connectivity", before, &l->connectivity));
  TRY(load_faces(r, b, l));
  return MEM_NEW(l->vert, before) ? DKHO_OK : DKHO_E_MEMORY;
}

/* label: of the block's cells, or NULL. first: the mesh's number of the piece's first point. */
static dkho_status add_cells(vtu_reader *r, const vtu_piece *p, const vtu_block *b, lists *l, const int64_t *label,
                             int64_t first) {
  int64_t face = 0;
  for (int64_t i = 0, start = 0; i < b->cells; start = l->offsets[i++]) {
    for (int64_t j = start; j < l->offsets[i]; j++) {
      int64_t v = l->connectivity[j];
      if (v < 0 || v >= p->points)
        return scan_fail(&b->connectivity.text, "connectivity: cell %lld has vertex %lld of %lld", (long long)i,
                         (long long)v, (long long)p->points);
      l->vert[j] = (int32_t)(first + v);
    }
    int64_t tag = label && label[i] > 0 && label[i] <= INT32_MAX ? label[i] : 0; /* -1 often says that there is none */
    int64_t type = l->types ? l->types[i] : vtu_poly_block[b - p->block].type;
    if (type == VTK_POLYHEDRON && l->faces) {
      TRY(add_polyhedron(r, p, b, l, i, (int32_t)tag, first, &face));
      continue;
    }
    TRY(vtk_cell(r->mesh, &b->offsets.text, i, type, l->offsets[i] - start, l->vert + start, (int32_t)tag));
  }
  return DKHO_OK;
}

static dkho_status need_array(const vtu_reader *r, const vtu_piece *p, const vtu_array *a, const char *name) {
  if (a->there) return DKHO_OK;
  return fail(DKHO_E_FORMAT, "%s: piece %lld: no array %s", r->mesh->file, (long long)(p - r->piece), name);
}

static dkho_status load_block(vtu_reader *r, const vtu_piece *p, const vtu_block *b, const int64_t *label,
                              int64_t first) {
  lists l = {0};
  TRY(need_array(r, p, &b->connectivity, "connectivity"));
  TRY(need_array(r, p, &b->offsets, "offsets"));
  if (!r->poly) TRY(need_array(r, p, &b->types, "types"));
  dkho_status s = load_lists(r, b, &l);
  if (s == DKHO_OK) s = add_cells(r, p, b, &l, label, first);
  free_lists(&l);
  return s;
}

dkho_status vtu_load_piece(vtu_reader *r, const vtu_piece *p) {
  int64_t first = r->mesh->points, *label = NULL, at = 0;
  dkho_status s = DKHO_OK;
  if (p->points == 0 && p->cells == 0) return DKHO_OK;
  TRY(need_array(r, p, &p->x, "Points"));
  TRY(points(r, p));
  if (p->label.there) s = vtu_integers(&r->file, &p->label, "label", p->cells, &label);
  for (int i = 0; s == DKHO_OK && i < VTU_BLOCKS; at += p->block[i++].cells)
    if (p->block[i].cells) s = load_block(r, p, &p->block[i], label ? label + at : NULL, first);
  mem_free(label);
  return s;
}
