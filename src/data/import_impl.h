/* import_impl.h: the state of one import, shared by its files. */
#ifndef DATA_IMPORT_IMPL_H
#define DATA_IMPORT_IMPL_H

#include "data/check.h"
#include "data/import.h"
#include "data/npy.h"
#include "data/spec.h"

typedef struct import_field {
  data_field f;
  npy array;             /* of the user's fields */
  const int32_t *origin; /* row of the array for each simplex ("rows": "file"), borrowed; NULL: the same */
  int64_t rows;          /* of the array, per sample */
  const double *values;  /* of the statics made here, from mem */
  int unread;            /* checking: something is wrong with it, so its array is not looked at */
} import_field;

typedef struct importer {
  json_t *root;
  const char *spec; /* path */
  const import_hooks *hooks;
  cx *c;
  mesh_report report; /* how the mesh file became c */
  int top;            /* highest degree that descriptors are made for */
  int modes;          /* columns of spectral encodings */
  int fields;
  import_field *field; /* room for DATA_FIELDS_MAX */
  int64_t samples;
  int64_t harmonics[CX_DEGREES];
  findings *found; /* checking: where failures go; NULL: the first one ends the import */
  arena mem;
} importer;

/* A failure of one part: noted when checking, so that the next part is looked at (DKHO_OK). */
static inline dkho_status import_note(importer *m, dkho_status s) {
  return findings_note(m->found, s);
}

/* `name` beside the specification unless absolute; from mem. */
char *import_path(importer *m, const char *name);
/* import_mesh.c: the complex with its labels, and the statics that come with it. */
dkho_status import_mesh(importer *m);
dkho_status import_geometry(importer *m);
/* import_arrays.c: the user's arrays, opened and compared with the complex; then their samples, in blocks. */
dkho_status import_arrays(importer *m);
dkho_status import_statics(importer *m, dataset_writer *w);
/* The values of a static field, from mem; NULL: no memory. */
const double *import_static(importer *m, int i);
dkho_status import_samples(importer *m, dataset_writer *w);
/* The values of field i of samples first … first+count-1, as the data set stores them. */
void import_convert(const importer *m, int i, int64_t first, int64_t count, void *out);
void import_close_arrays(importer *m);

#endif
