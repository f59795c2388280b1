/* read_vtu_impl.h: a DataArray of a .vtu file and how its values are had; the pieces that its sources share. */
#ifndef MESH_READ_VTU_IMPL_H
#define MESH_READ_VTU_IMPL_H

#include "mesh/raw.h"

typedef enum { VTU_ASCII, VTU_BINARY, VTU_APPENDED } vtu_format;

/* Where an array is, not yet what is in it. */
typedef struct vtu_array {
  int there;
  scan_type type;
  vtu_format format;
  int64_t components, tuples; /* tuples: 0 when not given */
  int64_t offset;             /* appended: from the byte after the underscore */
  scan text;                  /* inline: the text; appended: stands at the tag, for messages */
} vtu_array;

typedef struct vtu {
  int big_endian;
  size_t header;       /* bytes of a block header's integer: 4 or 8 */
  int compressed;      /* zlib */
  int appended;        /* there is an AppendedData element … */
  int appended_base64; /* … coded, or raw */
  scan data;           /* … and this is the inside of it after the underscore */
  size_t spent;        /* bytes of it used so far */
} vtu;

/* Exactly `count` values, in memory that is the caller's to free, also after a failure. `field` names the array in messages. */
dkho_status vtu_integers(vtu *f, const vtu_array *a, const char *field, int64_t count, int64_t **out);
dkho_status vtu_reals(vtu *f, const vtu_array *a, const char *field, int64_t count, double **out);

/* Cells of one list: an unstructured grid has one, poly data one for each kind. */
typedef struct vtu_block {
  int64_t cells;
  vtu_array connectivity, offsets, types, faces, faceoffsets; /* the last two: of polyhedra */
} vtu_block;
/* Elements of poly data in the order in which VTK numbers its cells, with their cell types. */
enum { VTU_BLOCKS = 4 };
typedef struct vtu_poly {
  const char *name, *count;
  int type;
} vtu_poly;
extern const vtu_poly vtu_poly_block[VTU_BLOCKS];

typedef struct vtu_piece {
  int64_t points, cells; /* cells of all blocks */
  vtu_array x, label;
  int rank; /* of the label array found: "label" before "gmsh:physical" */
  vtu_block block[VTU_BLOCKS];
} vtu_piece;

typedef struct vtu_reader {
  raw *mesh;
  vtu file;
  int poly; /* PolyData */
  int64_t pieces, room;
  vtu_piece *piece;
  vtu_array names;
} vtu_reader;

/* read_vtu_cells.c: points and elements of a piece whose arrays have been noted. */
dkho_status vtu_load_piece(vtu_reader *r, const vtu_piece *p);

#endif
