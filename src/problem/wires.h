/* wires.h: a square of air with round wires, both meshed: the domain of problems whose currents flow inside wires. */
#ifndef PROBLEM_WIRES_H
#define PROBLEM_WIRES_H

#include "problem/locate.h"

/* [-1, 1]² with disjoint wires (centre x, centre y, radius each); edges of length `near` in the wires, `far` well away from them. The rims are
 * lines of the mesh. Labels of vertices and edges: 1 the outer square, 2 … wire1, … with their rims, 0 the air. */
dkho_status wires_build(cx **out, int wires, const double (*wire)[3], double near, double far);
/* wire[f] ← number of the wire that a face belongs to, from 0; -1: air. wire: N2. */
void wires_of_faces(const cx *c, int32_t *wire);
/* The 1-cochain (N1) of the field of a unit current that wire j carries evenly, alone in space: closed outside it, of period 1 round it. */
void wires_winding(const cx *c, const int32_t *wire, int j, double *out);
/* Numbers of the faces in wires (N2) at the centroids of such faces of another complex; l: locator of c. Averaged over the wire's triangles at each
 * vertex, weighted by area, then linear; vertices in the air have no say. */
dkho_status wires_numbers(const locator *l, const cx *c, const int32_t *wire, const double *face, const cx *to,
                          double *out);

#endif
