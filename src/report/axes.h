/* axes.h: frames with ticks, colour bars, legends. */
#ifndef REPORT_AXES_H
#define REPORT_AXES_H

#include "report/canvas.h"

#define STYLE_TITLE ((text_style){10.5, 1, COLOUR_INK})
#define STYLE_LABEL ((text_style){9.5, 0, COLOUR_INK})
#define STYLE_TICK ((text_style){8, 0, COLOUR_SOFT})
#define STYLE_NOTE ((text_style){8.5, 0, COLOUR_SOFT})

/* A rectangle on the page with its two scales. */
typedef struct axes {
  double x, y, w, h;
  scale across, up;
} axes;
double axes_x(const axes *a, double value);
double axes_y(const axes *a, double value);
/* Is (x, y) drawable: finite, and positive where the scale is logarithmic? */
int axes_holds(const axes *a, double x, double y);

/* Room that ticks and label of the upward axis take to the left of the frame. */
double axes_left_room(canvas *c, const scale *up, double height, const char *label);
#define AXES_BOTTOM_ROOM 32.0
/* Grid, frame, ticks and labels; ticks across are left out when `across` is 0 (bar charts name their own). */
void axes_draw(canvas *c, const axes *a, int across, const char *x_label, const char *y_label);

/* The colours of a scale in a box, from low to high: rightwards, or upwards. */
void colour_strip(canvas *c, double x, double y, double w, double h, const colour_scale *s, int upwards);
/* A vertical bar of a colour scale with ticks to its right. */
void colour_bar(canvas *c, double x, double y, double height, const colour_scale *s);

typedef struct legend_entry {
  const char *name;
  rgb colour;
  int line, dashed, dots, box;
} legend_entry;
void legend_size(canvas *c, int n, const legend_entry *entry, double *w, double *h);
void legend_draw(canvas *c, double x, double y, int n, const legend_entry *entry);

#endif
