/* opened.h: a run directory opened for use: its data, configuration and selected model. */
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

/* Data and configuration alone; data NULL: the path that the run remembers. */
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
