/* cost.h: the price of a prediction and of a classical solve. */
#ifndef STUDY_COST_H
#define STUDY_COST_H

#include "run/reference.h"
#include "study/opened.h"
#include "study/restart.h"

/* Whole solves: all targets of a sample, after one set-up for the mesh. Measured with the benchmark that made the data, or told by whoever
 * imported them. */
typedef enum cost_source { COST_UNKNOWN, COST_MEASURED, COST_TOLD } cost_source;
typedef struct classical_cost {
  cost_source source; /* unknown: the rest is 0 */
  double seconds_per_sample, setup_seconds;
  double coarse_seconds; /* of the solve on a coarser mesh that every prediction needs for its inputs; 0: none */
} classical_cost;
dkho_status cost_classical(const dataset *d, pool *threads, classical_cost *out);

/* A prediction beside that, both with so many threads. */
typedef struct run_cost {
  int threads;
  double seconds_per_sample; /* of a prediction, with the coarse solve that it needs */
  double training_seconds;   /* NaN: not known */
  classical_cost classical;
  /* Solves after which training, and the solves that made the data, have paid for themselves; infinite: never; NaN: one of the above is not
   * known. */
  double break_even_solves;
  restart_cost restart;
} run_cost;
/* r: the run of the directory or model file `run`, open. */
dkho_status cost_compare(const opened *r, const char *run, const classical_cost *classical, run_cost *out);

/* A run's cost, and the rows that it is compared with. */
typedef struct cost_report {
  char *target; /* in mem */
  references rows;
  run_cost cost;
  arena mem;
} cost_report;
/* On success cost_report_free is due. */
dkho_status cost_and_rows(const char *run, const char *data, int threads, cost_report *out);
void cost_report_free(cost_report *r); /* zero is fine */

#endif
