/* train.h: training into a run directory, and going on with one. */
#ifndef RUN_TRAIN_H
#define RUN_TRAIN_H

#include "run/config.h"

/* The file that says, while a process writes into a run directory, which. */
#define TRAIN_LOCK ".dkho.lock"

/* What may differ between a start and its resumption without changing a bit. */
typedef struct train_host {
  int threads;
  double checkpoint_seconds;
  int (*stop)(void *user);
  void *stop_user;
  int parts; /* ranks that share a mesh; 0: 1 */
} train_host;

/* A new directory `run`; config is written to it. */
dkho_status train_start(const dataset *d, const run_config *cfg, const char *run, const train_host *host);
/* From last.st, or from the beginning when there is no checkpoint yet. */
dkho_status train_resume(const dataset *d, const run_config *cfg, const char *run, const train_host *host);

#endif
