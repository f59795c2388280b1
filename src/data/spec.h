/* spec.h: what the metadata "dkho.dataset" of a data set says, as a struct and as JSON text. Arrays are elsewhere. */
#ifndef DATA_SPEC_H
#define DATA_SPEC_H

#include "data/dataset.h"
#include "data/known.h"

#include <jansson.h>

enum { DATA_VERSION = 1, DATA_COMPLEXES_MAX = 65536 };

typedef struct data_spec {
  data_info info;
  const char *library; /* version that wrote it */
  int complexes;
  const char **mesh_hash; /* per complex */
  int64_t *samples;       /* per complex */
  int fields;
  data_field *field;
  feat_table table;
  int recipes;
  data_recipe *recipe;
  int knowns;
  data_known *known;
} data_spec;

/* Text from mem. info.params is known to be a JSON object. */
dkho_status spec_write(const data_spec *s, arena *mem, char **out);
/* Everything in *out is from mem. Errors name the place: "fields[2].scaling.rule: found …, expected …". */
dkho_status spec_read(data_spec *out, arena *mem, const char *text);
/* What can be checked without the arrays: names, numbers, recipes, the table on complexes of dimension dim. */
dkho_status spec_check(const data_spec *s, int dim);
/* The same; every failure is handed to `note`, which says whether to go on (DKHO_OK) or what to return. */
dkho_status spec_check_each(const data_spec *s, int dim, dkho_status (*note)(void *ctx, dkho_status s), void *ctx);

/* Readers of JSON objects, shared with import. `where` names the object in messages; fallback NULL or absent: the key is
 * needed. */
dkho_status spec_text(json_t *o, const char *where, const char *key, const char *fallback, arena *mem,
                      const char **out);
dkho_status spec_number(json_t *o, const char *where, const char *key, const double *fallback, double *out);
dkho_status spec_int(json_t *o, const char *where, const char *key, const int64_t *fallback, int64_t lo, int64_t hi,
                     int64_t *out);
/* The place of the key's text among names[]; names the choices when there is none. */
dkho_status spec_choice(json_t *o, const char *where, const char *key, int count, const char *const *names,
                        const char *fallback, int *out);
/* The array under key (NULL when absent and not needed), with at most `most` items. */
dkho_status spec_array(json_t *o, const char *where, const char *key, int needed, size_t most, json_t **out);
/* Refuses keys that are not in the list. */
dkho_status spec_keys(json_t *o, const char *where, int count, const char *const *keys);
dkho_status spec_recipe(json_t *o, const char *where, const data_recipe *defaults, arena *mem, data_recipe *out);
dkho_status spec_table(json_t *o, const char *where, arena *mem, feat_table *out);
dkho_status spec_scaling(json_t *o, const char *where, data_field *f);

#endif
