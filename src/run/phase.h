/* phase.h: where the relation of a trained model works, beside where the reference field is large.
 *
 * The score of a simplex of the target's degree k is made of the corrections c↑, c↓ that the layers apply to θ_k (model/dkho/dkho.h):
 *   Σ_layers Σ_substeps τ ‖σ_k (c↓_k + c↑_k)‖, either correction alone where a rule says so, or
 *   ‖c↑_k + c↓_k‖ of the last substep of the last layer
 * and is compared with ‖y‖ of the reference, in physical units (run/alignment.h). The model is run as composed of plain
 * operations, whatever the fast path is. */
#ifndef RUN_PHASE_H
#define RUN_PHASE_H

#include "base/pool.h"
#include "data/dataset.h"
#include "run/alignment.h"
#include "run/operator.h"

enum { PHASE_CASES = 3 };

/* Which corrections count: c↑, c↓; last: the last substep alone, unweighted. q: the share of simplices that is compared. */
typedef struct phase_rule {
  int up, down, last;
  double q;
} phase_rule;

typedef struct phase_request {
  double q;               /* 0: the rule's */
  int zero_diagonal;      /* of the adjacency by which scores are smoothed */
  const phase_rule *rule; /* NULL: both corrections in all substeps, q 0.20 */
} phase_request;

typedef struct phase_result {
  const char *score; /* what the score is */
  int degree;
  double q;
  int zero_diagonal;
  int64_t count, n; /* instances, simplices */
  int64_t *sample;
  alignment *each;
  float *phase, *pde; /* count × n, smoothed */
  align_summary all;
  int cases;
  int64_t chosen[PHASE_CASES]; /* instances to show, best first */
  arena mem;
} phase_result;

/* Needs one complex and a model whose tape names corrections: "LAYER.STEP.up.K" and "LAYER.STEP.down.K", "LAYER.tau",
 * "LAYER.sigma.K". The pool (NULL: this thread) is borrowed. */
dkho_status phase_run(phase_result *out, const neural_operator *o, const dataset *d, int64_t count,
                      const int64_t *sample, pool *threads, const phase_request *request);
void phase_free(phase_result *r);

#endif
