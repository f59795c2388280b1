/* closed_winding.c: harmonic 1-cochains round the holes of a planar complex. */
#include "problem/closed.h"

#include <math.h>

void closed_angles(const cx *c, const double *from, double *edge) {
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *a = c->x + 2 * (int64_t)c->vert[1][2 * e], *b = c->x + 2 * (int64_t)c->vert[1][2 * e + 1];
    double ax = a[0] - from[0], ay = a[1] - from[1], bx = b[0] - from[0], by = b[1] - from[1];
    edge[e] = atan2(ax * by - ay * bx, ax * bx + ay * by) / (2 * M_PI);
  }
}

dkho_status closed_windings(const cx *c, int holes, const double (*centre)[2], double *out) {
  closed *s = NULL;
  closed_solver *w = NULL;
  newton_report r;
  arena mem = {0};
  double *angle, *phi, *material; /* the linear law reads no material */
  dkho_status st = ARENA_NEW(&mem, angle, c->n[1]) && ARENA_NEW(&mem, phi, c->n[0]) &&
                           ARENA_NEW(&mem, material, CLOSED_MATERIAL * c->n[2])
                       ? closed_create(&s, c, NULL)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK) st = closed_open(&w, s);
  for (int j = 0; st == DKHO_OK && j < holes; j++) {
    closed_angles(c, centre[j], angle);
    for (int64_t i = 0; i < c->n[0]; i++) phi[i] = 0;
    st = closed_solve(w, closed_linear, material, angle, phi, &r);
    if (st == DKHO_OK) closed_cochain(s, angle, phi, out + j * c->n[1]);
  }
  closed_close(w);
  closed_free(s);
  arena_free(&mem);
  return st;
}
