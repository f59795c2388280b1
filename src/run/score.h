/* score.h: predictions of a target, from wherever they come, judged by a list of metrics. Models and the rows they are compared
 * with pass through here alike. */
#ifndef RUN_SCORE_H
#define RUN_SCORE_H

#include "base/pool.h"
#include "data/dataset.h"
#include "run/metrics.h"

typedef struct scorer scorer;
/* The data set and the pool (NULL: this thread) are borrowed. Room for `samples` predictions of the field `target`. */
dkho_status scorer_create(scorer **out, const dataset *d, int target, const char *list, int64_t samples, pool *threads);
void scorer_free(scorer *s);
/* The next `count` samples, all on one complex: prediction[i] (floats, physical units) belongs to sample[i]. Has the type of
 * prediction_sink. A prediction that is not finite is refused. */
dkho_status scorer_take(void *scorer, int complex, int64_t count, const int64_t *sample, const float *prediction);
/* For samples that are judged elsewhere: the next one to be taken has this place, and the rows of values, room × metrics, in which
 * theirs belong. */
void scorer_skip(scorer *s, int64_t place);
double *scorer_values(scorer *s);
/* What a scorer found; owns its arrays. */
typedef struct score_result {
  int64_t samples;
  int count; /* metrics, in the order of the list */
  metric_info *info;
  double *value;    /* NaN: what the metric refers to vanishes in every sample */
  int64_t *counted; /* samples that a value rests on */
  double *each;     /* RelL2 of every sample; NaN: it has none */
  arena mem;
} score_result;
/* Of what was taken. On success score_free is due. */
dkho_status scorer_result(const scorer *s, score_result *out);
void score_free(score_result *r); /* zero is fine */
/* The list of complex 0. */
const metrics *scorer_metrics(const scorer *s);
/* Entries of the target on a complex. */
int64_t scorer_extent(const scorer *s, int complex);

#endif
