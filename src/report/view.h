/* view.h: from space to the screen. A planar complex is seen from above without perspective; one in space from an
 * elevation and azimuth with a mild one. */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "mesh/cx.h"
#include "report/raster.h"

typedef struct view {
  int flat;
  double axis[3][3];        /* right, up, towards the eye */
  double centre[3], radius; /* of the ball round the vertices */
  double distance;          /* of the eye, in radii; 0: without perspective */
  double zoom, shift[2];    /* to samples */
} view;
/* Looks at all vertices of c so that they fill w × h samples but for a margin. Degrees; ignored for planar complexes. */
void view_fit(view *v, const cx *c, double elevation, double azimuth, double w, double h, double margin);
/* x has three coordinates. The depth is s = D/(D - t), t towards the eye in radii: linear on the screen. */
corner view_point(const view *v, const double x[3]);
/* Light of a surface with this normal (any length, either side): one lamp near the eye, up and to the left. */
double view_light(const view *v, const double normal[3]);
void view_vertex(const cx *c, int64_t vertex, double out[3]); /* z = 0 in the plane */

#endif
