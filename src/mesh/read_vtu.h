/* read_vtu.h: a DataArray of a .vtu file and how its values are had. */
#ifndef MESH_READ_VTU_H
#define MESH_READ_VTU_H

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

#endif
