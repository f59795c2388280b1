/* npy.h: NumPy's .npy, versions 1 to 3: little-endian f4, f8, i4, i8 in C order. */
#ifndef DATA_NPY_H
#define DATA_NPY_H

#include "base/file.h"
#include "base/st.h"

/* The file is mapped. data may be misaligned for its type (the header's length is the file's own): copy, or use
 * npy_double. */
typedef struct npy {
  st_dtype dtype; /* ST_F32, ST_F64, ST_I32 or ST_I64 */
  int rank;
  uint64_t shape[ST_RANK_MAX];
  uint64_t count;
  const unsigned char *data;
  file_map map;
} npy;
dkho_status npy_open(npy *out, const char *path);
/* The same from memory (bytes borrowed, map empty); name for messages. The fuzzer's entrance. */
dkho_status npy_parse(npy *out, const void *bytes, size_t size, const char *name);
void npy_close(npy *a);
double npy_double(const npy *a, uint64_t i); /* element i as a double */
/* What stands before the data in version 1.0, C order; returns its length. For writers that bring the data piece by piece. */
enum { NPY_HEAD_MAX = 512 };
size_t npy_head(char head[NPY_HEAD_MAX], st_dtype dtype, int rank, const uint64_t *shape);
/* Version 1.0, C order. */
dkho_status npy_save(const char *path, int force, st_dtype dtype, int rank, const uint64_t *shape, const void *data);

#endif
