/* field.h: what a data set says of one named array: its place on the complex, its role and its scaling. */
#ifndef DATA_FIELD_H
#define DATA_FIELD_H

#include "mesh/cx.h"

enum { DATA_NAME_MAX = 63, DATA_CHANNELS_MAX = 4096, DATA_FIELDS_MAX = 1024 };

typedef enum {
  DATA_INPUT,  /* a cochain per sample, known before the solve */
  DATA_TARGET, /* a cochain per sample, to be learned; no descriptor can name it */
  DATA_STATIC, /* an array on the complex, the same for all its samples */
  DATA_GLOBAL, /* a few numbers per sample */
  DATA_ROLES
} data_role;

typedef enum {
  DATA_SCALE_NONE,    /* shift 0, scale 1 */
  DATA_SCALE_MEANSTD, /* shift = mean, scale = population std + eps */
  DATA_SCALE_MAXABS,  /* shift 0, scale = max|v| + eps */
  DATA_SCALE_RMS,     /* shift 0, scale = √mean(v²) + eps */
  DATA_SCALE_RULES
} data_scale_rule;

/* The network sees (v - shift)/scale: one pair for all simplices, channels and samples of a field. */
typedef struct data_field {
  const char *name; /* a C identifier of at most DATA_NAME_MAX characters, unique among the fields */
  data_role role;
  int degree;   /* 0 … 3; 0 for globals */
  int channels; /* ≥ 1; for a global the number of values */
  data_scale_rule rule;
  int with_val; /* statistics over train+val instead of train; never over test */
  double eps;
  double shift, scale; /* found at commit from the samples named above; (0, 1) for statics */
} data_field;

const char *data_role_name(data_role r);             /* "input" … */
const char *data_scale_rule_name(data_scale_rule r); /* "none", "meanstd", "maxabs", "rms" */

#endif
