/* opened.h: a run directory, or a model file with a data set, opened for use: data, configuration and selected model. */
#ifndef API_OPENED_H
#define API_OPENED_H

#include "run/config.h"
#include "run/evaluate.h"
#include "run/phase.h"

enum { PATH_LIMIT = 4096 };

typedef struct opened {
  dataset *d;
  run_config cfg;
  oper *o; /* the selected model */
  pool *threads;
  judge *j;
} opened;

/* The complex and arrays of a benchmark, for packed model files. */
dkho_status api_rebuild(const data_spec *spec, oper_parts *out);

/* The operator inside a handle, borrowed. */
const oper *api_oper(const dkho_model *m);

/* Data and configuration alone; data NULL: the path that the run remembers. A model file needs data, and is loaded. */
dkho_status opened_config(opened *out, const char *run, const char *data);
/* Everything. Zero-initialise; opened_close is due whether or not it succeeds. */
dkho_status opened_model(opened *out, const char *run, const char *data, int threads);
void opened_close(opened *r);
/* The samples of "train", "val" or "test"; an error when there are none. */
dkho_status opened_split(const opened *r, const char *split, const int64_t **sample, int64_t *count);

/* The phase diagnostic over the test split (at most `limit` samples of it, 0: all), after checking that the recorded model is
 * the one that predicts. */
dkho_status api_phase(opened *r, int64_t limit, const phase_request *request, phase_result *out);

#endif
