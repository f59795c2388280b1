/* pack.h: small model files. What a benchmark can make again (complex, static arrays, bases) is left out of them. */
#ifndef STUDY_PACK_H
#define STUDY_PACK_H

#include "study/opened.h"

/* The complex and arrays of a benchmark, made again for a packed model file. */
dkho_status pack_rebuild(const data_spec *spec, packed_geometry *out);
/* Packs the selected model of a finished run, with its card; card (or NULL): a new reference to the card. */
dkho_status pack_model(const char *run, const char *data, const char *path, int force, int threads, json_t **card);
/* Predicts the test samples that a packed model remembers and compares their errors; out (or NULL): what was found. */
dkho_status pack_check(const char *path, int threads, json_t **out);

#endif
