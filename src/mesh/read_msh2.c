/* read_msh2.c: nodes and elements of Gmsh 1 (ASCII) and 2.x, ASCII and binary. */
#include "mesh/read_msh_impl.h"

/* The counts of both sections are text; in a binary file the records start on the next line. */
static dkho_status count(msh *f, const char *field, size_t text, size_t bytes, int64_t *out) {
  TRY(scan_int(f->s, field, 0, INT32_MAX, out));
  TRY(msh_count(f, field, *out, text, bytes));
  return f->binary ? msh_end_of_line(f->s) : DKHO_OK;
}

/* tag x y z */
dkho_status msh2_nodes(msh *f) {
  int64_t n, tag;
  TRY(count(f, "number of nodes", 8, 28, &n));
  for (int64_t i = 0; i < n; i++) {
    double x[3];
    TRY(msh_int(f, "node number", 0, INT32_MAX, &tag));
    for (int c = 0; c < 3; c++) TRY(msh_real(f, "node coordinate", &x[c]));
    TRY(ids_add(&f->node, tag));
    TRY(raw_point(f->mesh, f->s, x));
  }
  return ids_seal(&f->node, f->s, "node");
}

/* Tags (the first is the physical group), then nodes. */
static dkho_status read_one_element(msh *f, const msh_shape *shape, int64_t tags) {
  int64_t group = 0, x;
  for (int64_t i = 0; i < tags; i++) {
    TRY(msh_int(f, "element tag", INT32_MIN + 1, INT32_MAX, &x));
    if (i == 0) group = x < 0 ? -x : x;
  }
  return msh_element(f, shape, (int32_t)group, msh_int);
}

/* Each: number type group entity nodes node… */
dkho_status msh1_elements(msh *f) {
  int64_t n, number, type, nodes;
  msh_shape shape;
  TRY(count(f, "number of elements", 12, 12, &n));
  for (int64_t i = 0; i < n; i++) {
    int64_t tag[2];
    TRY(msh_int(f, "element number", 0, INT32_MAX, &number));
    TRY(msh_int(f, "element type", 1, INT32_MAX, &type));
    TRY(msh_type(f, type, &shape));
    for (int j = 0; j < 2; j++) TRY(msh_int(f, "element tag", INT32_MIN + 1, INT32_MAX, &tag[j]));
    TRY(msh_int(f, "nodes of an element", shape.nodes, shape.nodes, &nodes));
    TRY(msh_element(f, &shape, (int32_t)(tag[0] < 0 ? -tag[0] : tag[0]), msh_int));
  }
  return DKHO_OK;
}

/* ASCII, each: number type tags tag… node…; binary, in blocks: type count tags, then (number tag… node…) each. */
dkho_status msh2_elements(msh *f) {
  int64_t n, number, type, tags, block = 1;
  msh_shape shape;
  TRY(count(f, "number of elements", 8, 8, &n));
  for (int64_t done = 0; done < n; done += block) {
    if (!f->binary) TRY(msh_int(f, "element number", 0, INT32_MAX, &number));
    TRY(msh_int(f, "element type", 1, INT32_MAX, &type));
    TRY(msh_type(f, type, &shape));
    if (f->binary) TRY(msh_int(f, "elements in the block", 1, n - done, &block));
    TRY(msh_int(f, "number of tags", 0, 1 << 20, &tags));
    for (int64_t i = 0; i < block; i++) {
      if (f->binary) TRY(msh_int(f, "element number", 0, INT32_MAX, &number));
      TRY(read_one_element(f, &shape, tags));
    }
  }
  return DKHO_OK;
}
