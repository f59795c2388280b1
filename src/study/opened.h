/* opened.h: a run directory, or a model file with a data set, opened for use: data, configuration and selected model. */
#ifndef STUDY_OPENED_H
#define STUDY_OPENED_H

#include "mesh/exchange.h"
#include "run/config.h"
#include "run/evaluate.h"
#include "run/phase.h"

enum { PATH_LIMIT = 4096 };

typedef struct opened {
  dataset *d;
  run_config cfg;
  neural_operator *o;      /* the selected model */
  const mesh_share *share; /* set before opened_model: the ranks that have its meshes together; borrowed, NULL: none */
  pool *threads;
  evaluator *j;
} opened;

/* Data and configuration alone; data NULL: the path that the run remembers. A model file needs data, and is loaded. */
dkho_status opened_config(opened *out, const char *run, const char *data);
/* Everything. Zero-initialise; opened_close is due whether or not it succeeds. */
dkho_status opened_model(opened *out, const char *run, const char *data, int threads);
void opened_close(opened *r);
/* The samples of "train", "val" or "test"; an error when there are none. */
dkho_status opened_split(const opened *r, const char *split, const int64_t **sample, int64_t *count);

/* The phase diagnostic over the test split (at most `limit` samples of it, 0: all) by the rule of the benchmark that made the
 * data, after checking that the recorded model is the one that predicts. */
dkho_status opened_phase(opened *r, int64_t limit, const phase_request *request, phase_result *out);
/* Mean over the samples of a split of how far two runs on the same data, targets of degree k and k+1, contradict each other:
 * evaluator_pair. share: as in `opened`. */
dkho_status opened_compatibility(const char *lower, const char *upper, const char *data, const char *split, int threads,
                                 const mesh_share *share, double *out);

#endif
