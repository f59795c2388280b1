/* coarse.h: what the classical solver already knows on a coarser mesh. The inputs of a sample are read off at the vertices of a coarser complex of the
 * same domain, the problem is solved there, and its targets come back as inputs of the sample, "coarse_TARGET": a model then learns what the coarse
 * mesh misses. For problems with transfer() whose inputs live on vertices. */
#ifndef PROBLEM_COARSE_H
#define PROBLEM_COARSE_H

#include "problem/problem.h"

/* The coarser complex and its problem_state; immutable: shared by threads. p and fine are borrowed. */
typedef struct coarse coarse;
dkho_status coarse_create(coarse **out, const problem *p, const cx *fine, const char *resolution, uint64_t seed);
void coarse_free(coarse *c); /* NULL is fine */
/* The problem with one more input for each target, behind its own fields, and a descriptor on the target's degree for it. Borrowed from c. */
const problem *coarse_problem(const coarse *c);

/* One thread's solver. */
typedef struct coarse_solver coarse_solver;
dkho_status coarse_open(coarse_solver **out, const coarse *c);
void coarse_close(coarse_solver *s); /* NULL is fine */
/* one: the fields of a sample of coarse_problem() that are not static; fills the added inputs from inputs and globals. DKHO_E_NOCONV: the
 * coarse mesh has no solution to be found. */
dkho_status coarse_solve(coarse_solver *s, double *const *one);
/* The same for a block of PROBLEM_GROUP samples. */
dkho_status coarse_solve_group(coarse_solver *s, double *const *block);

#endif
