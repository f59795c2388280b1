/* read_msh4.c: entities, nodes and elements of Gmsh 4.0 and 4.1, ASCII and binary. 4.0 puts an entity's tag
 * before its dimension, each node's tag before its place, uses 4-byte tags and boxes for points too, and tells no ranges of tags. */
#include "mesh/read_msh_impl.h"

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

/* Dimension and tag of the entity that was parted, and in which parts this piece of it is. */
static dkho_status pass_partitions(msh *f) {
  int64_t count, x;
  for (int i = 0; i < 2; i++) TRY(msh_int(f, "parent entity", INT32_MIN, INT32_MAX, &x));
  TRY(msh_size(f, "number of partitions", 0, INT64_MAX, &count));
  TRY(msh_count(f, "number of partitions", count, 2, 4));
  for (int64_t i = 0; i < count; i++) TRY(msh_int(f, "partition", INT32_MIN, INT32_MAX, &x));
  return DKHO_OK;
}

/* tag, x y z (points) or a box of six numbers, physical tags, and bounding entities for curves and above. An entity in
 * several groups counts for the first. */
static dkho_status entity(msh *f, int dim, int partitioned) {
  int64_t tag, count, x;
  double box;
  msh_entity e = {.dim = dim};
  TRY(msh_int(f, "entity tag", INT32_MIN, INT32_MAX, &tag));
  e.tag = (int32_t)tag;
  if (partitioned) TRY(pass_partitions(f));
  for (int i = 0; i < (dim || f->version == 40 ? 6 : 3); i++) TRY(msh_real(f, "entity box", &box));
  TRY(msh_size(f, "number of physical tags", 0, INT64_MAX, &count));
  TRY(msh_count(f, "number of physical tags", count, 2, 4));
  for (int64_t i = 0; i < count; i++) {
    TRY(msh_int(f, "physical tag", INT32_MIN + 1, INT32_MAX, &x));
    if (i == 0) e.group = (int32_t)(x < 0 ? -x : x);
  }
  f->mesh->report->count[MESH_SHARED] += count > 1;
  if (dim) {
    TRY(msh_size(f, "number of bounding entities", 0, INT64_MAX, &count));
    TRY(msh_count(f, "number of bounding entities", count, 2, 4));
    for (int64_t i = 0; i < count; i++) TRY(msh_int(f, "bounding entity", INT32_MIN, INT32_MAX, &x));
  }
  return e.group ? keep_entity(f, e) : DKHO_OK;
}

static dkho_status entities(msh *f, int partitioned) {
  int64_t count[CX_DEGREES];
  for (int k = 0; k < CX_DEGREES; k++) TRY(msh_size(f, "number of entities", 0, INT64_MAX, &count[k]));
  for (int k = 0; k < CX_DEGREES; k++) {
    TRY(msh_count(f, "number of entities", count[k], k ? 18 : 10, k ? 68 : 36));
    for (int64_t i = 0; i < count[k]; i++) TRY(entity(f, k, partitioned));
  }
  if (f->entities) qsort(f->entity, (size_t)f->entities, sizeof *f->entity, by_dim_tag);
  return DKHO_OK;
}

dkho_status msh4_entities(msh *f) {
  return entities(f, 0);
}

/* Of a mesh in parts, whose elements name the pieces: partitions, ghosts, then the pieces of entities. */
dkho_status msh4_partitioned(msh *f) {
  int64_t parts, ghosts, x;
  TRY(msh_size(f, "number of partitions", 0, INT64_MAX, &parts));
  TRY(msh_size(f, "number of ghost entities", 0, INT64_MAX, &ghosts));
  TRY(msh_count(f, "number of ghost entities", ghosts, 4, 8));
  for (int64_t i = 0; i < 2 * ghosts; i++) TRY(msh_int(f, "ghost entity", INT32_MIN, INT32_MAX, &x));
  return entities(f, 1);
}

/* 4.1: dimension and tag of an entity; 4.0: the other way round. */
static dkho_status entity_key(msh *f, const char *dim_field, const char *tag_field, int64_t *dim, int64_t *tag) {
  if (f->version == 40) TRY(msh_int(f, tag_field, INT32_MIN, INT32_MAX, tag));
  TRY(msh_int(f, dim_field, 0, 3, dim));
  return f->version == 40 ? DKHO_OK : msh_int(f, tag_field, INT32_MIN, INT32_MAX, tag);
}

/* Past the n node tags that stand together. */
static dkho_status pass_tags(msh *f, int64_t n) {
  scan_view word;
  if (f->binary) f->s->at += 8 * (size_t)n;
  for (int64_t i = 0; !f->binary && i < n; i++)
    if (!scan_word(f->s, &word)) return scan_fail(f->s, "the file ends among the node tags");
  return DKHO_OK;
}

/* Entity, parametric, count; then x y z and the parameters of each node, after all tags (4.1) or each after its own (4.0). */
static dkho_status node_block(msh *f, int64_t *left) {
  int64_t dim, tag, parametric, n;
  int apart = f->version == 41;
  TRY(entity_key(f, "entity dimension of a node block", "entity tag of a node block", &dim, &tag));
  TRY(msh_int(f, "parametric", 0, 1, &parametric));
  TRY(msh_size(f, "nodes in the block", 0, *left, &n));
  TRY(msh_count(f, "nodes in the block", n, 8, apart ? 32 : 28));
  *left -= n;
  scan tags = *f->s, *all = f->s;
  if (apart) TRY(pass_tags(f, n));
  for (int64_t i = 0; i < n; i++) {
    double x[3], parameter;
    if (apart) f->s = &tags;
    dkho_status s = apart ? msh_size(f, "node tag", 0, INT64_MAX, &tag) : msh_int(f, "node tag", 0, INT32_MAX, &tag);
    f->s = all;
    TRY(s);
    for (int c = 0; c < 3; c++) TRY(msh_real(f, "node coordinate", &x[c]));
    for (int64_t c = 0; c < (parametric ? dim : 0); c++) TRY(msh_real(f, "node parameter", &parameter));
    TRY(ids_add(&f->node, tag));
    TRY(raw_point(f->mesh, f->s, x));
  }
  return DKHO_OK;
}

/* Numbers of blocks and of what is in them; 4.1 adds the lowest and highest tag. */
static dkho_status block_counts(msh *f, const char *blocks_field, const char *field, int64_t *blocks, int64_t *n) {
  int64_t tag;
  TRY(msh_size(f, blocks_field, 0, INT64_MAX, blocks));
  TRY(msh_size(f, field, 0, INT32_MAX, n));
  for (int i = 0; f->version == 41 && i < 2; i++) TRY(msh_size(f, "tag range", INT64_MIN, INT64_MAX, &tag));
  return msh_count(f, blocks_field, *blocks, 8, 20);
}

dkho_status msh4_nodes(msh *f) {
  int64_t blocks, n;
  TRY(block_counts(f, "number of node blocks", "number of nodes", &blocks, &n));
  TRY(msh_count(f, "number of nodes", n, 8, 28));
  for (int64_t i = 0; i < blocks; i++) TRY(node_block(f, &n));
  if (n) return scan_fail(f->s, "%lld nodes fewer than declared", (long long)n);
  return ids_seal(&f->node, f->s, "node");
}

static int32_t group_of(const msh *f, int64_t dim, int64_t tag) {
  msh_entity key = {(int32_t)dim, (int32_t)tag, 0}, *hit = NULL;
  if (f->entities) hit = bsearch(&key, f->entity, (size_t)f->entities, sizeof key, by_dim_tag);
  return hit ? hit->group : 0;
}

/* Entity, type, count; then the element's number and node tags, each. */
static dkho_status element_block(msh *f, int64_t *left) {
  int64_t dim = 0, tag = 0, type, n, x;
  msh_shape shape = {0};
  msh_reader *read = f->version == 40 ? msh_int : msh_size;
  TRY(entity_key(f, "entity dimension of an element block", "entity tag of an element block", &dim, &tag));
  TRY(msh_int(f, "element type", 1, INT32_MAX, &type));
  TRY(msh_size(f, "elements in the block", 0, *left, &n));
  if (n) TRY(msh_type(f, type, &shape));
  *left -= n;
  int32_t group = group_of(f, dim, tag);
  for (int64_t i = 0; i < n; i++) {
    TRY(read(f, "element number", 0, INT64_MAX, &x));
    TRY(msh_element(f, &shape, group, read));
  }
  return DKHO_OK;
}

dkho_status msh4_elements(msh *f) {
  int64_t blocks, n;
  TRY(block_counts(f, "number of element blocks", "number of elements", &blocks, &n));
  TRY(msh_count(f, "number of elements", n, 4, 8));
  for (int64_t i = 0; i < blocks; i++) TRY(element_block(f, &n));
  return n ? scan_fail(f->s, "%lld elements fewer than declared", (long long)n) : DKHO_OK;
}
