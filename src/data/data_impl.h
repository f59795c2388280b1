/* data_impl.h: inside of data sets: names of tensors, checks shared by writer and reader, the writer's state. */
#ifndef DATA_DATA_IMPL_H
#define DATA_DATA_IMPL_H

#include "base/comm.h"
#include "base/lock.h"
#include "data/spec.h"
#include "data/spool.h"

/* Tensor names; `name` has ST_NAME_MAX + 1 bytes. ci is ignored for globals. */
void data_name_field(char *name, int ci, const data_field *f);
void data_name_harmonic(char *name, int ci, int degree);
void data_name_split(char *name, data_split s);

void data_sort_samples(int64_t count, int64_t *sample); /* ascending */
/* The permutation of all samples that random splits are cut from. */
void data_split_order(uint64_t seed, int64_t samples, int64_t *order);
/* Ascending, in range, disjoint, train not empty. */
dkho_status data_check_splits(const char *path, int64_t samples, const int64_t *count, const int64_t *const *split);
/* A target with a harmonic head needs a basis on every complex, of one size. */
dkho_status data_check_harmonic(const char *path, const data_field *target, int ci, int64_t count, int64_t first);

typedef struct data_part {
  const cx *c;
  double **fixed;               /* per field: static values, or NULL */
  double *harmonic[CX_DEGREES]; /* row-major */
  int64_t harmonics[CX_DEGREES];
  known_rows *known; /* per field, once samples came; only targets have any */
} data_part;

/* Samples one after another that one rank made; `before` of its samples came earlier. */
typedef struct data_run {
  int64_t first, count, before;
  int rank;
} data_run;

struct dataset_writer {
  char *path;
  int force, table_set;
  data_spec spec;
  data_part *part;
  spool *spool; /* per field, once the first sample came */
  int spooling;
  comm *ranks; /* that make the file, borrowed */
  data_run *run;
  int runs;
  int64_t total, own; /* samples, and how many of them came here */
  int64_t *split[DATA_SPLITS], splits[DATA_SPLITS];
  lock owned; /* PATH.lock */
  arena mem;
};

int data_writer_find(const dataset_writer *w, const char *name); /* a field, or -1 */
/* Numbers of a field per sample on a complex, and bytes of one number. */
static inline int64_t data_extent(const dataset_writer *w, int field, int ci) {
  const data_field *f = &w->spec.field[field];
  return f->role == DATA_GLOBAL ? f->channels : w->part[ci].c->n[f->degree] * f->channels;
}

/* The numbers of a field and how many they are, of a sample that came here: number `own` of those. */
const void *data_spooled(const dataset_writer *w, int field, int64_t own, int64_t *count);
/* The scaling of every field. Collective. */
dkho_status data_find_scaling(dataset_writer *w);

static inline size_t data_width(const data_field *f) {
  return f->role == DATA_GLOBAL ? sizeof(double) : sizeof(float);
}

#endif
