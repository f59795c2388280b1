/* read_msh4.c: entities, nodes and elements of Gmsh 4.1, ASCII and binary. */
#include "mesh/read_msh.h"
#include "base/report.h"

#include <stdlib.h>

static int by_dim_tag(const void *a, const void *b) {
  const msh_entity *p = a, *q = b;
  if (p->dim != q->dim) return p->dim < q->dim ? -1 : 1;
  return (p->tag > q->tag) - (p->tag < q->tag);
}

static dkho_status keep_entity(msh *f, msh_entity e) {
  if (f->entities == f->entity_room) {
    int64_t wider = f->entity_room ? 2 * f->entity_room : 64;
    msh_entity *fresh = mem_resize(f->entity, (size_t)f->entities, (size_t)wider, sizeof *fresh);
    if (!fresh) return DKHO_E_MEMORY;
    f->entity = fresh;
    f->entity_room = wider;
  }
  f->entity[f->entities++] = e;
  return DKHO_OK;
}

/* tag, x y z (points) or a box of six numbers, physical tags, and bounding entities for curves and above. An entity in
 * several groups counts for the first. */
static dkho_status entity(msh *f, int dim, int64_t *shared) {
  int64_t tag, count, x;
  double box;
  msh_entity e = {.dim = dim};
  TRY(msh_int(f, "entity tag", INT32_MIN, INT32_MAX, &tag));
  e.tag = (int32_t)tag;
  for (int i = 0; i < (dim ? 6 : 3); i++) TRY(msh_real(f, "entity box", &box));
  TRY(msh_size(f, "number of physical tags", 0, INT64_MAX, &count));
  TRY(msh_count(f, "number of physical tags", count, 2, 4));
  for (int64_t i = 0; i < count; i++) {
    TRY(msh_int(f, "physical tag", INT32_MIN + 1, INT32_MAX, &x));
    if (i == 0) e.group = (int32_t)(x < 0 ? -x : x);
  }
  *shared += count > 1;
  if (dim) {
    TRY(msh_size(f, "number of bounding entities", 0, INT64_MAX, &count));
    TRY(msh_count(f, "number of bounding entities", count, 2, 4));
    for (int64_t i = 0; i < count; i++) TRY(msh_int(f, "bounding entity", INT32_MIN, INT32_MAX, &x));
  }
  return e.group ? keep_entity(f, e) : DKHO_OK;
}

dkho_status msh4_entities(msh *f) {
  int64_t count[CX_DEGREES], shared = 0;
  for (int k = 0; k < CX_DEGREES; k++) TRY(msh_size(f, "number of entities", 0, INT64_MAX, &count[k]));
  for (int k = 0; k < CX_DEGREES; k++) {
    TRY(msh_count(f, "number of entities", count[k], k ? 18 : 10, k ? 68 : 36));
    for (int64_t i = 0; i < count[k]; i++) TRY(entity(f, k, &shared));
  }
  if (shared)
    report_log("%s: %lld entities are in several physical groups; the first counts", f->mesh->file, (long long)shared);
  if (f->entities) qsort(f->entity, (size_t)f->entities, sizeof *f->entity, by_dim_tag);
  return DKHO_OK;
}

/* dim, tag, parametric, count; then all tags; then x y z and the parameters of each node. */
static dkho_status node_block(msh *f, int64_t *left) {
  int64_t dim, tag, parametric, n;
  TRY(msh_int(f, "entity dimension of a node block", 0, 3, &dim));
  TRY(msh_int(f, "entity tag of a node block", INT32_MIN, INT32_MAX, &tag));
  TRY(msh_int(f, "parametric", 0, 1, &parametric));
  TRY(msh_size(f, "nodes in the block", 0, *left, &n));
  TRY(msh_count(f, "nodes in the block", n, 8, 32));
  *left -= n;
  scan tags = *f->s, *all = f->s;
  if (f->binary) {
    f->s->at += 8 * (size_t)n;
  } else {
    scan_view word;
    for (int64_t i = 0; i < n; i++)
      if (!scan_word(f->s, &word)) return scan_fail(f->s, "the file ends among the node tags");
  }
  for (int64_t i = 0; i < n; i++) {
    double x[3], parameter;
    f->s = &tags;
    dkho_status s = msh_size(f, "node tag", 0, INT64_MAX, &tag);
    f->s = all;
    TRY(s);
    for (int c = 0; c < 3; c++) TRY(msh_real(f, "node coordinate", &x[c]));
    for (int64_t c = 0; c < (parametric ? dim : 0); c++) TRY(msh_real(f, "node parameter", &parameter));
    TRY(msh_node_tag(f, tag));
    TRY(raw_point(f->mesh, f->s, x));
  }
  return DKHO_OK;
}

dkho_status msh4_nodes(msh *f) {
  int64_t blocks, n, tag;
  TRY(msh_size(f, "number of node blocks", 0, INT64_MAX, &blocks));
  TRY(msh_size(f, "number of nodes", 0, INT32_MAX, &n));
  for (int i = 0; i < 2; i++) TRY(msh_size(f, "node tag range", INT64_MIN, INT64_MAX, &tag));
  TRY(msh_count(f, "number of node blocks", blocks, 8, 20));
  TRY(msh_count(f, "number of nodes", n, 8, 32));
  for (int64_t i = 0; i < blocks; i++) TRY(node_block(f, &n));
  if (n) return scan_fail(f->s, "%lld nodes fewer than declared", (long long)n);
  return msh_seal_nodes(f);
}

static int32_t group_of(const msh *f, int64_t dim, int64_t tag) {
  msh_entity key = {(int32_t)dim, (int32_t)tag, 0}, *hit = NULL;
  if (f->entities) hit = bsearch(&key, f->entity, (size_t)f->entities, sizeof key, by_dim_tag);
  return hit ? hit->group : 0;
}

/* dim, tag, type, count; then the element's number and node tags, each. */
static dkho_status element_block(msh *f, int64_t *left) {
  int64_t dim, tag, type, n, x;
  int degree = 0;
  int32_t vert[CX_DEGREES];
  TRY(msh_int(f, "entity dimension of an element block", 0, 3, &dim));
  TRY(msh_int(f, "entity tag of an element block", INT32_MIN, INT32_MAX, &tag));
  TRY(msh_int(f, "element type", 1, INT32_MAX, &type));
  TRY(msh_size(f, "elements in the block", 0, *left, &n));
  if (n) TRY(msh_degree(f, type, &degree));
  *left -= n;
  int32_t group = group_of(f, dim, tag);
  for (int64_t i = 0; i < n; i++) {
    TRY(msh_size(f, "element number", 0, INT64_MAX, &x));
    for (int v = 0; v <= degree; v++) {
      TRY(msh_size(f, "node of an element", 0, INT64_MAX, &x));
      TRY(msh_point(f, x, &vert[v]));
    }
    TRY(raw_element(f->mesh, degree, vert, group));
  }
  return DKHO_OK;
}

dkho_status msh4_elements(msh *f) {
  int64_t blocks, n, tag;
  TRY(msh_size(f, "number of element blocks", 0, INT64_MAX, &blocks));
  TRY(msh_size(f, "number of elements", 0, INT64_MAX, &n));
  for (int i = 0; i < 2; i++) TRY(msh_size(f, "element tag range", INT64_MIN, INT64_MAX, &tag));
  TRY(msh_count(f, "number of element blocks", blocks, 8, 20));
  TRY(msh_count(f, "number of elements", n, 4, 16));
  for (int64_t i = 0; i < blocks; i++) TRY(element_block(f, &n));
  return n ? scan_fail(f->s, "%lld elements fewer than declared", (long long)n) : DKHO_OK;
}
