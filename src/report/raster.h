/* raster.h: triangles, lines and discs with a depth buffer, supersampled. Fields are drawn here and placed on the page
 * as a picture: hidden surfaces are exact, a value is interpolated before it is coloured, no seams show between
 * triangles, and a figure's file does not grow with the mesh. */
#ifndef REPORT_RASTER_H
#define REPORT_RASTER_H

#include "base/status.h"
#include "report/colour.h"

#define RASTER_EMPTY (-1e30f) /* depth of a sample where nothing was drawn */

typedef struct raster {
  int w, h;        /* samples */
  int fine;        /* samples a pixel, each way */
  uint32_t *pixel; /* h × w, 0x00RRGGBB, owned */
  float *depth;    /* h × w, larger is nearer, owned */
} raster;
/* A white picture of w × h pixels, each of fine × fine samples. */
dkho_status raster_open(raster *r, int w, int h, int fine);
/* Averages samples to pixels, in place: pixel then holds h/fine rows of w/fine. */
void raster_resolve(raster *r);
void raster_close(raster *r);

/* A corner on the screen: samples right and down, depth, and how brightly it is lit (1: the colour as it is). */
typedef struct corner {
  double x, y, z, light;
} corner;
/* Colour by value through `map`, or plain `colour` when map is NULL. A sample is drawn when its depth plus lift is not
 * behind what is there; opaque paint takes the depth over. */
typedef struct paint {
  const colour_scale *map;
  rgb colour;
  double alpha, lift;
  double pale; /* mixed with so much white */
} paint;
void raster_triangle(raster *r, const corner p[3], const double value[3], const paint *with);
/* Round ends; width in samples. */
void raster_line(raster *r, const corner p[2], double width, const double value[2], const paint *with);
/* A disc, or a ring when inner > 0; ball: lit like a sphere. */
void raster_disc(raster *r, corner p, double radius, double inner, int ball, double value, const paint *with);

#endif
