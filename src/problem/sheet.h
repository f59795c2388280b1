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

/* What a table of a problem on this sheet has in common with the others: members of the problem, and statics. */
#define SHEET_DOMAIN                                                                                                   \
  .sizes = {1600, 200, 200}, .smoke_sizes = {64, 16, 32}, .dim = 2, .gdim = 2, .labels = SHEET_HOLES + 2,              \
  .betti = {1, SHEET_HOLES, 0}, .build = sheet_build, .resolutions = sheet_resolutions
#define SHEET_STATICS PROBLEM_STATIC("weight", 0, 1), PROBLEM_POSITIONS(2), PROBLEM_STATIC("label0", 0, SHEET_HOLES + 2)

/* Members of an entry of problem.known that holds on the whole boundary. */
#define SHEET_BOUNDARY                                                                                                 \
  .labels = SHEET_HOLES + 1, .label = (const char *[]) {                                                               \
    "outer", "hole1", "hole2", "hole3"                                                                                 \
  }

/* A stationary Gaussian field of mean 0 and variance 1 at the vertices of a planar complex: waves cos and sin of π(mx + ny), |m|, |n| ≤ frequency,
 * amplitudes falling like (1 + m² + n²)^(-decay/2). Draws the same numbers whatever the complex. */
void sheet_gaussian(const cx *c, rng *r, int frequency, double decay, double *out);

#endif
