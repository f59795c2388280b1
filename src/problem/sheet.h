/* sheet.h: the domain that the nonlinear problems share, a square sheet with three round windows, and random fields on it. */
#ifndef PROBLEM_SHEET_H
#define PROBLEM_SHEET_H

#include "base/rng.h"
#include "mesh/cx.h"

enum { SHEET_HOLES = 3 };
extern const double sheet_hole[SHEET_HOLES][3]; /* centre x, centre y, radius */

/* Labels of vertices and edges: 1 outer square, 2 … 4 the windows' rims. Resolutions smoke, coarse, medium, main, fine; sizes halve from
 * one to the next but for smoke, the coarsest. */
dkho_status sheet_build(cx **out, const char *resolution);
extern const char *const sheet_resolutions[]; /* NULL at the end */

/* A stationary Gaussian field of mean 0 and variance 1 at the vertices of a planar complex: waves cos and sin of π(mx + ny), |m|, |n| ≤ frequency,
 * amplitudes falling like (1 + m² + n²)^(-decay/2). Draws the same numbers whatever the complex. */
void sheet_gaussian(const cx *c, rng *r, int frequency, double decay, double *out);

#endif
