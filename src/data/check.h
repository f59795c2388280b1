/* check.h: everything that is wrong with an import specification or a data set, at once, and what looks like a mistake: samples that
 * are in two splits, targets among the inputs, fields that never change. */
#ifndef DATA_CHECK_H
#define DATA_CHECK_H

#include "data/import.h"

#include <jansson.h>

/* What was found so far, as lists of texts. */
typedef struct findings {
  json_t *errors, *warnings;
} findings;

/* Puts the failure s on the list of errors and goes on: DKHO_OK. Without a list, or without memory, s itself. */
dkho_status findings_note(findings *f, dkho_status s);
void findings_warn(findings *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void findings_error(findings *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Samples as scan_samples reads them. */
typedef struct sample_source {
  int64_t samples;
  int fields;
  const data_field *field;
  const uint8_t *missing; /* fields that cannot be read, or NULL */
  /* value[i]: field i of a sample (floats, doubles for a global) and how many numbers; statics are left alone */
  dkho_status (*read)(void *ctx, int64_t sample, const void **value, int64_t *count);
  /* what is known of target i, or NULL */
  const known_rows *(*known)(void *ctx, int64_t sample, int i, const cx **c);
  void *ctx;
  int64_t splits[DATA_SPLITS];
  const int64_t *split[DATA_SPLITS]; /* NULL: not known */
} sample_source;
/* Values that are not finite, known values that the targets contradict, fields that never change, inputs that are a target, samples
 * with the same inputs in two splits. */
dkho_status scan_samples(findings *f, const sample_source *s);

/* The answer of `dkho data check`: {"path", "kind": "specification" or "dataset", "samples", "errors": [text], "warnings": [text]}. A
 * failure of its own is only that there is no memory or no such file. */
dkho_status data_check(const char *path, const import_hooks *hooks, json_t **out);
/* import.c: the specification's part of it. *samples: how many there are, 0 when that is not known. */
dkho_status import_check(const char *spec, const import_hooks *hooks, findings *f, int64_t *samples);

#endif
