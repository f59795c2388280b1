/* packed.h: what a packed model file leaves out: the complex, its static arrays and harmonic bases. A benchmark makes them again;
 * a few projections of every array, kept in the file, tell whether it made the same ones. Knows no benchmark. */
#ifndef RUN_PACKED_H
#define RUN_PACKED_H

#include "data/spec.h"
#include "dec/dec.h"

typedef struct packed_geometry {
  cx *c;
  int fields;
  double **fixed; /* per field of the description: n[degree] × channels, NULL for fields that are not static */
  dec_basis harmonic[CX_DEGREES];
} packed_geometry;
void packed_free(packed_geometry *t);

/* Makes the parts that belong to a description; called with *out zero, which is freed by the caller also after a failure. */
typedef dkho_status (*packed_maker)(const data_spec *spec, packed_geometry *out);

/* Identity of the top simplices: exact, and the same on every machine that makes the same mesh. */
void packed_topology(const cx *c, char hex[33]);
/* Declares, and writes, "c0/check/NAME" for every real tensor "c0/NAME" of a model file's parts. */
dkho_status packed_declare_checks(const st_file *source, st_writer *w);
dkho_status packed_write_checks(const st_file *source, st_writer *w);
/* Compares parts made here with the projections in a file: positions to 1e-9, arrays to 1e-6 of their size, which is below what a
 * model in single precision notices. Says what differs. */
dkho_status packed_verify(const packed_geometry *t, const data_spec *spec, const st_file *f);

#endif
