/* problem_impl.h: what the files of the driver share: the list and the file (problem.c), drawing and solving (samples.c). */
#ifndef PROBLEM_PROBLEM_IMPL_H
#define PROBLEM_PROBLEM_IMPL_H

#include "problem/coarse.h"

/* Draws, solves and appends samples 0 … samples-1, in parallel; low: with what a coarser mesh knows, or NULL. */
dkho_status problem_put_samples(dataset_writer *w, const problem *p, const coarse *low, const cx *c,
                                const problem_state *s, uint64_t seed, int64_t samples, pool *threads);

#endif
