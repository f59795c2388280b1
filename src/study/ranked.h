/* ranked.h: the samples of a split by how well a run predicts them, to choose those that are shown. */
#ifndef STUDY_RANKED_H
#define STUDY_RANKED_H

#include "study/opened.h"

typedef struct ranked {
  int64_t count;
  int64_t *sample; /* from the least error to the largest */
  double *error; /* ‖p - y‖ / ‖y‖; samples with y = 0, which have none, are left out unless there are no others */
  arena mem;
} ranked;
/* Zero-initialise; ranked_free is due whether or not it succeeds. */
dkho_status ranked_find(ranked *out, const opened *r, const char *split);
void ranked_free(ranked *k);
/* Places of `wanted` ≥ 1 samples (at most count, which is returned): the median first, then the best, the worst, and evenly between. */
int ranked_choose(const ranked *k, int wanted, int64_t *place);
/* "median", "best", "worst", or a percentile, of a place. */
void ranked_name(const ranked *k, int64_t place, char out[32]);

#endif
