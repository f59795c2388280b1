/* canvas.h: a page to draw on, by Cairo, kept in a file that is whole or not there. Lengths are points (1/72 inch), y
 * runs down. The ending of the path chooses the format: .png (two pixels a point), .svg, .pdf. Text is DejaVu Sans,
 * unhinted, so that it measures alike everywhere. */
#ifndef REPORT_CANVAS_H
#define REPORT_CANVAS_H

#include "base/file.h"
#include "report/colour.h"

#include <cairo.h>

typedef struct canvas {
  cairo_t *cr;
  double width, height;
  double density; /* pixels a point of pictures placed on the page */
  cairo_surface_t *surface;
  file_out file;
  dkho_status written; /* of the stream */
  int png;
} canvas;

/* Zero-initialise, open, draw, then commit or abort (abort after commit, or of a zeroed canvas, does nothing). Refuses
 * other endings and, without force, a target that exists, before any work. */
dkho_status canvas_open(canvas *c, const char *path, int force, double width, double height);
dkho_status canvas_check(const char *path, int force); /* whether it would refuse the name */
dkho_status canvas_commit(canvas *c);
void canvas_abort(canvas *c);

typedef struct text_style {
  double size;
  int bold;
  rgb colour;
} text_style;
typedef enum { ALIGN_START, ALIGN_MIDDLE, ALIGN_END } text_align;
double text_width(canvas *c, text_style style, const char *text);
/* At baseline (x, y), turned by `angle` degrees counter-clockwise about it. */
void text_draw(canvas *c, double x, double y, text_align align, double angle, text_style style, const char *text);
/* The same inside `limit` points: smaller letters (to 70 %), then cut short with an ellipsis. */
void text_fit(canvas *c, double x, double y, double limit, text_align align, double angle, text_style style,
              const char *text);

void canvas_colour(canvas *c, rgb colour, double alpha);
void canvas_line(canvas *c, double x0, double y0, double x1, double y1, double width, rgb colour);
void canvas_box(canvas *c, double x, double y, double w, double h, rgb colour, double alpha);
void canvas_frame(canvas *c, double x, double y, double w, double h, double width, rgb colour);
void canvas_disc(canvas *c, double x, double y, double radius, rgb fill, rgb edge);
/* A w × h pixel picture (0x00RRGGBB, row-major, borrowed) with its corner at (x, y), density pixels a point; the corner
 * moves to the nearest pixel. */
void canvas_picture(canvas *c, double x, double y, int w, int h, uint32_t *pixel);

#endif
