/* known.h: values of a target that are given before anything is learned: a rim that is held at zero, a wall whose temperature is
 * an input. A data set lists them by label; whoever predicts puts them in place of what the model says, exactly. */
#ifndef DATA_KNOWN_H
#define DATA_KNOWN_H

#include "data/field.h"

#include <jansson.h>

typedef enum { KNOWN_CONSTANT, KNOWN_INPUT, KNOWN_GLOBAL, KNOWN_SOURCES } known_source;
enum { KNOWN_MAX = 4096, KNOWN_LABELS_MAX = 4096, KNOWN_PERIODS_MAX = 512 };

/* One entry: on the simplices of the target's degree that carry one of the labels, the target is this; or, without labels, it has the
 * periods of this: they differ by an exact cochain. */
typedef struct data_known {
  const char *target;
  int labels; /* 0: periods */
  const char **label;
  known_source source;
  const char *field; /* of an input or global, else NULL */
  const char *fixed; /* of a static on the target's simplices: Σ_j global_j static_j is meant; else NULL */
  int component;     /* channel of that field for every channel of the target; -1: channel c for channel c */
  int values;        /* KNOWN_CONSTANT: 1 for all channels, or one for each */
  const double *value;
} data_known;

/* The key "known" of a data set or of an import specification: everything from mem; no key: none. */
dkho_status known_read(json_t *root, const char *where, arena *mem, int *count, data_known **out);
json_t *known_json(int count, const data_known *list);
/* A deep copy from mem. */
dkho_status known_copy(arena *mem, const data_known *from, data_known *to);
/* Whether entry i fits the fields. */
dkho_status known_check(const data_known *k, int i, int fields, const data_field *field);

/* The entries of one target on one complex: which rows, and where their values come from; or its periods. */
typedef struct known_rows {
  int64_t count; /* of rows, 0: none is known */
  int32_t *row;  /* ascending */
  int channels;  /* of the target */
  /* for number j·channels + c, row j: a constant, or a place in the sample's arrays */
  struct known_place *place;
  /* Qᵀu = Qᵀw is known of the target u (n numbers), Q [n × periods] orthonormal: harmonic fields and components of the boundary */
  int64_t n, periods; /* 0: none */
  double *basis;
  int list, factors; /* w is in[list], or, factors > 0: Qᵀw = factor · global[list], */
  double *factor;    /* periods × factors */
  arena mem;
} known_rows;
static inline int known_any(const known_rows *k) {
  return k->count || k->periods;
}
/* What entries refer to. array[i]: values of the i-th field where it is static, else NULL. harmonic: basis of the harmonic fields of the
 * target's degree in the unit metric, row-major n × harmonics; 0: none, or not known. What is needed is copied. */
typedef struct known_world {
  const cx *c;
  int fields;
  const data_field *field;
  const double *const *array;
  int64_t harmonics;
  const double *harmonic;
} known_world;
/* A simplex takes the first entry that names its label. A label that the complex does not have, or not on the target's degree, is
 * an error. */
dkho_status known_find(known_rows *out, const known_world *w, int target, int count, const data_known *list);
/* Whether the target's periods are known, so that known_find has a use for harmonic fields. */
int known_needs_harmonic(const char *target, int count, const data_known *list);
void known_free(known_rows *k);
/* Number i = j·channels + c of a sample: channel c of row j; in and global as features_eval wants them. */
float known_value(const known_rows *k, int64_t i, const float *const *in, const double *const *global);
/* Qᵀw of a sample. */
void known_periods(const known_rows *k, const float *const *in, const double *const *global, double *out);
/* All of them, written into a field of the target's shape; periods by the smallest change. */
void known_impose(const known_rows *k, const float *const *in, const double *const *global, float *field);
/* The target of a sample is what the entries say, to 1e-3 of its largest value; else an error that names the simplex. */
dkho_status known_agree(const known_rows *k, const cx *c, const data_field *target, int64_t sample,
                        const float *const *in, const double *const *global, const float *y);

#endif
