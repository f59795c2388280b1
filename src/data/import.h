/* import.h: a user's mesh and arrays become a data set, by a JSON specification (docs/FORMATS.md, "Import
 * specification"). */
#ifndef DATA_IMPORT_H
#define DATA_IMPORT_H

#include "data/dataset.h"
#include "mesh/mesh_report.h"

/* What needs eigenvalues comes from the caller, since this floor knows no solver. Any function may be NULL.
 *  spectral: `modes` encodings of degree k, row-major n[k] × modes, zero columns where the complex has fewer.
 *  mesh: the complex of a file and where it came from, for the import to own; NULL: mesh_read.
 *  harmonic: *count and a column-major basis n[k] × *count in *columns, owned by the caller of the function (mem_free).
 */
typedef struct import_hooks {
  void *user;
  dkho_status (*spectral)(void *user, const cx *c, int k, int modes, double *out);
  dkho_status (*harmonic)(void *user, const cx *c, int k, int64_t *count, double **columns);
  dkho_status (*mesh)(void *user, const char *path, cx **out, mesh_report *report);
} import_hooks;

/* Reads `spec` (paths in it are relative to its directory), writes the data set to `path`. */
dkho_status data_import(const char *spec, const char *path, int force, const import_hooks *hooks);

#endif
