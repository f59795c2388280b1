/* known.h: values of a target that are given before anything is learned: a rim that is held at zero, a wall whose temperature is
 * an input. A data set lists them by label; whoever predicts puts them in place of what the model says, exactly. */
#ifndef DATA_KNOWN_H
#define DATA_KNOWN_H

#include "data/field.h"

#include <jansson.h>

typedef enum { KNOWN_CONSTANT, KNOWN_INPUT, KNOWN_GLOBAL, KNOWN_SOURCES } known_source;
enum { KNOWN_MAX = 4096, KNOWN_LABELS_MAX = 4096 };

/* One entry: on the simplices of the target's degree that carry one of the labels, the target is this. */
typedef struct data_known {
  const char *target;
  int labels;
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

/* The entries of one target on one complex: which rows, and where their values come from. */
typedef struct known_rows {
  int64_t count; /* 0: nothing is known */
  int32_t *row;  /* ascending */
  int channels;  /* of the target */
  /* for number j·channels + c, row j: a constant, or a place in the sample's arrays */
  struct known_place *place;
  arena mem;
} known_rows;
/* A simplex takes the first entry that names its label. A label that the complex does not have, or not on the target's degree, is
 * an error. array[i]: values of the i-th field where it is static, else NULL; what is needed of them is copied. */
dkho_status known_find(known_rows *out, const cx *c, int fields, const data_field *field, const double *const *array,
                       int target, int count, const data_known *list);
void known_free(known_rows *k);
/* Number i = j·channels + c of a sample: channel c of row j; in and global as features_eval wants them. */
float known_value(const known_rows *k, int64_t i, const float *const *in, const double *const *global);
/* All of them, written into a field of the target's shape. */
void known_impose(const known_rows *k, const float *const *in, const double *const *global, float *field);
/* The target of a sample is what the entries say, to 1e-3 of its largest value; else an error that names the simplex. */
dkho_status known_agree(const known_rows *k, const cx *c, const data_field *target, int64_t sample,
                        const float *const *in, const double *const *global, const float *y);

#endif
