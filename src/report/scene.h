/* scene.h: a complex and fields on it in one panel: vertex fields interpolated, edge fields as coloured edges, face and
 * cell fields flat; magnitudes and arrows of vector fields; masks. Open, paint from back to front, place, close. Values
 * that are not finite are grey. */
#ifndef REPORT_SCENE_H
#define REPORT_SCENE_H

#include "mesh/meshio.h"
#include "report/canvas.h"
#include "report/surface.h"
#include "report/view.h"

typedef struct scene {
  const cx *c;
  canvas *page;
  raster r;
  view v;
  surface s;
  double fine; /* samples a point */
  double mesh; /* mean edge length on the screen, points */
} scene;
/* A panel of w × h points; the usual view for the complex. */
dkho_status scene_open(scene *sc, canvas *page, const cx *c, double w, double h);
double scene_aspect(const cx *c);                /* height over width of that view */
void scene_place(scene *sc, double x, double y); /* once, when all is painted */
void scene_close(scene *sc);

/* A share of the mean edge length as a depth, to lift lines off the triangles they lie on. */
double scene_lift(const scene *sc, double edges);
/* One number a simplex: the value, or the Euclidean norm of several channels. */
double field_value(const mesh_field *f, int64_t i);

/* Faces, or for an edge field edges of a width that suits the mesh upon faces in the pale colour of their mean. */
void scene_field(scene *sc, const mesh_field *f, const colour_scale *map);
/* Surfaces in plain colours: outer, inner, section. */
void scene_plain(scene *sc, const rgb colour[3]);
/* All edges that can be seen. */
void scene_mesh(scene *sc, double width, rgb colour, double alpha);
/* The boundary of a planar complex or surface, by label when there are labels and `by_label`. */
void scene_border(scene *sc, double width, int by_label);
/* Where a surface in space turns away from the reader, and the rim of a cut: colours that carry values are not shaded, so these lines
 * have to tell its shape. */
void scene_contour(scene *sc, double width);
/* Directions of vectors (degree 0 or dim: n[degree] × gdim doubles), one about every `spacing` points. All have the same
 * length in space: colours tell sizes. */
dkho_status scene_arrows(scene *sc, int degree, const double *vector, double spacing);

/* Simplices of one degree with (mask & bit) ≠ 0: faces filled, edges drawn with `width`, vertices as balls of that
 * diameter. */
typedef struct mark {
  int degree;
  const uint8_t *mask;
  uint8_t bit;
  double width; /* points */
  rgb colour;
  double alpha;
  double lift; /* drawn before what is nearer by less than this, in mean edge lengths; vertices before everything */
} mark;
void scene_mark(scene *sc, const mark *m);
/* seen[v] = 1 for the vertices that nothing hides, or no more than `lift` mean edge lengths of depth; next to a section
 * that counts from either side. */
void scene_seen(const scene *sc, double lift, uint8_t *seen);
/* The edges that bound the set of marked faces. */
void scene_outline(scene *sc, const mark *m);

#endif
