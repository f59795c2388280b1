/* train_impl.h: what the files of a training share: its state (train.c), the checkpoint (train_checkpoint.c), the other files of a run
 * (train_files.c) and how a training is set up (train_setup.c). */
#ifndef RUN_TRAIN_IMPL_H
#define RUN_TRAIN_IMPL_H

#include "run/evaluate.h"
#include "run/groups.h"
#include "run/train.h"

#include "base/lock.h"

enum { TRAIN_COLUMNS = 5 }; /* of the history: epoch, lr, training loss, validation error, seconds */
enum { TRAIN_PATH = 4096 };

typedef struct trainer {
  const dataset *d;
  const run_config *cfg;
  const train_host *host;
  const char *dir;
  neural_operator *o;
  optim *opt;
  pool *threads;
  comm *ranks;    /* all of the job */
  rank_groups in; /* those that share the samples of a batch, and those that share a mesh with this one */
  runner *run;
  evaluator *evaluator;
  real *gradient;
  real *part; /* several complexes: gradient of the samples on one of them, and the sum over those */
  sum_tree *sum;
  const int64_t *train, *val;
  int64_t trains, vals;
  int64_t *order, *batch; /* permutation of an epoch; samples of one batch on one complex */
  double *history;        /* epochs × COLUMNS */
  /* where it stands */
  int64_t epoch, step, best_epoch;
  double best, loss_sum, seconds;
  double started, saved; /* clock readings of this process */
  lock owned;            /* the directory, from its first file to the end */
  arena mem;
} trainer;

/* The file `name` of the run, in path[TRAIN_PATH]. */
const char *train_path(const trainer *t, const char *name, char *path);
/* The first rank writes. */
int train_leads(const trainer *t);
/* Steps of an epoch. */
int64_t train_steps(const trainer *t);

/* last.st: everything that decides the next bits. All ranks together. */
dkho_status train_save(trainer *t);
/* Nothing happens where there is none yet and no history either. */
dkho_status train_load(trainer *t);

/* Nothing of a run may be there already. */
dkho_status train_check_new(const char *run);
/* From here on nobody else writes into the directory. */
dkho_status train_own(trainer *t);
/* Only when everything else is ready: a directory with a config.json is a run, and a run is never written over. */
dkho_status train_write_config(trainer *t);
dkho_status train_write_manifest(const trainer *t);
dkho_status train_write_history(trainer *t);
/* The selected model on the test split, and the run's figures, as result.json. */
dkho_status train_write_result(trainer *t);

dkho_status train_prepare(trainer *t);
/* Same bits need the same program and the same kernels everywhere; the first rank's decide. */
dkho_status train_same_everywhere(const trainer *t);
void train_dispose(trainer *t);

#endif
