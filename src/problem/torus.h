/* torus.h: the torus solver by itself, for tests of the physics. */
#ifndef PROBLEM_TORUS_H
#define PROBLEM_TORUS_H

#include "problem/problem.h"

/* Carries PROBLEM_GROUP fields (column-major N0 × PROBLEM_GROUP) from t = 0 to T = 0.3, in place. work: problem.work bytes. */
dkho_status torus_march(const problem_state *s, void *work, double *u);

#endif
