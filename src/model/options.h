/* options.h: the options of a model: one table, written once, from which the command line, configurations, model files, the C API
 * and help texts are made. A value is kept as a double, whatever its type: whole numbers below 2⁵³ are exact, a choice is its
 * index. Values stand in the order of the table. */
#ifndef MODEL_OPTIONS_H
#define MODEL_OPTIONS_H

#include "base/status.h"

#include <jansson.h>

enum { OPTIONS_MAX = 32, OPTION_TEXT_MAX = 64 };

typedef enum { OPTION_INT, OPTION_REAL, OPTION_CHOICE } option_type;

typedef struct model_option {
  const char *key;
  option_type type;
  double fallback, lo, hi;   /* default and range, ends included; a choice's default is an index */
  const char *const *choice; /* OPTION_CHOICE: names, NULL at the end */
  const char *help;
} model_option;

/* A table ends with a row whose key is NULL. */
int options_count(const model_option *table);
int options_find(const model_option *table, const char *key); /* row, or -1 */
void options_defaults(const model_option *table, double *value);

/* "number" or a choice's name to a value in range; `owner` opens the message of a failure, which names the key, what was found and
 * what was expected. An unknown key is answered with those there are. */
dkho_status options_set(const char *owner, const model_option *table, double *value, const char *key, const char *text);
/* "key=value". */
dkho_status options_assign(const char *owner, const model_option *table, double *value, const char *assignment);
/* "key=value key=value …", spaces between them. With a prefix, only assignments "PREFIX.key=value" count, without it; the others
 * are passed over. NULL is an empty list. */
dkho_status options_assign_list(const char *owner, const model_option *table, double *value, const char *prefix,
                                const char *list);

/* The value as options_set would take it. */
void options_text(const model_option *o, double value, char text[OPTION_TEXT_MAX]);

/* {"key": value, …}, choices by name; NULL: no memory. */
json_t *options_json(const model_option *table, const double *value);
/* Reads every key of the table; a missing one keeps the value that is there. Keys that the table does not have are passed over:
 * the object may hold more. */
dkho_status options_read(const char *owner, const model_option *table, double *value, json_t *object);
/* [{"key", "type", "default", "range" or "choices", "help"}, …] */
json_t *options_describe(const model_option *table);

#endif
