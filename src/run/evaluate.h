/* evaluate.h: predictions over a split, and what they are worth. */
#ifndef RUN_EVALUATE_H
#define RUN_EVALUATE_H

#include "run/runner.h"
#include "run/score.h"

/* A predicting runner, made once and used often. */
typedef struct evaluator {
  const neural_operator *o;
  const dataset *d;
  pool *threads; /* borrowed, NULL: this thread */
  comm *
      ranks; /* set by a caller whose ranks all make the same calls: they share the samples of rel_l2 and metrics; NULL: no sharing.
                     * Where ranks have the operator's mesh in parts, they make all calls together, and the first one judges */
  runner *run;
  float *chunk; /* predictions of a chunk of samples, */
  int64_t most; /* at most so many */
  int64_t widest;
  arena mem;
} evaluator;
dkho_status evaluator_create(evaluator **out, const neural_operator *o, const dataset *d, pool *threads);
void evaluator_free(evaluator *j);

/* Called in order, in the calling thread, for chunks of samples on one complex: prediction[i] belongs to sample[i]. */
typedef dkho_status (*prediction_sink)(void *ctx, int complex, int64_t count, const int64_t *sample,
                                       const float *prediction);
/* Predicts the samples with these weights, physical units. label: of the progress meter, NULL: silent. */
dkho_status evaluator_predict(evaluator *j, const real *weights, int64_t count, const int64_t *sample,
                              const char *label, prediction_sink take, void *ctx);

/* Mean over the samples of ‖p - y‖ / max(‖y‖, 1e-12). */
dkho_status evaluator_rel_l2(evaluator *j, const real *weights, int64_t count, const int64_t *sample, double *out);
/* All metrics of a list over the samples; on success score_free is due. seconds (or NULL): spent predicting, and on the metrics. */
dkho_status evaluator_metrics(evaluator *j, const real *weights, const char *list, int64_t count, const int64_t *sample,
                              score_result *out, double seconds[2]);

/* Mean over the samples of ‖d û - ŵ‖ / max(‖ŵ‖, 1e-12): how far two separately trained models, û of degree k and ŵ of degree
 * k+1, contradict each other. Both with their own weights. */
dkho_status evaluator_pair(evaluator *lower, evaluator *upper, int64_t count, const int64_t *sample, double *out);

#endif
