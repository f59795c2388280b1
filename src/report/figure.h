/* figure.h: whole figures, one call each, into a .png, .svg or .pdf (by the ending). A figure is there whole or not at
 * all; without force an existing file is kept (DKHO_E_EXISTS). Arrays and texts are borrowed; values that are not finite
 * are shown grey or left out. All results are passed in: nothing here evaluates a model. */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include "mesh/meshio.h"

/* Complexes side by side, with their numbers of simplices and Betti numbers. */
typedef struct figure_complex {
  const cx *c;
  const char *title;
  const int64_t *betti; /* dim+1 numbers, or NULL */
} figure_complex;
dkho_status figure_complexes(const char *path, int force, int count, const figure_complex *item);

/* A row of the comparison: input, reference, prediction, and |error| / Q95(|reference|) on the field's own simplices. Several
 * channels are shown by their norm, an edge field by its size (the sign of an edge value is a choice), both with arrows
 * where a direction can be given. */
typedef struct figure_sample {
  const char *title, *note; /* note may be NULL */
  const cx *c;
  mesh_field input, reference, prediction; /* data of the first and the last may be NULL; the last two are alike */
} figure_sample;
/* shared: all rows show the same quantity and share its colours; else each row has its own. Errors share one scale. */
dkho_status figure_fields(const char *path, int force, int shared, int rows, const figure_sample *row);

/* Lines or points over an x-axis: training curves, scaling, parameters against error. */
typedef struct chart_series {
  const char *name; /* NULL: not in the legend */
  int64_t n;
  const double *x, *y;
  int colour; /* colour_category */
  int line, dashed, thin, dots;
  const char *const *label; /* n texts beside the points, or NULL */
} chart_series;
typedef struct chart {
  const char *title, *x_label, *y_label;
  int log_x, log_y;
  int series;
  const chart_series *at;
} chart;
dkho_status figure_charts(const char *path, int force, int panels, const chart *panel);

/* Bars in groups, the value above each. value: groups × series. */
typedef struct bars {
  const char *title, *y_label;
  int log_y;
  int groups, series;
  const char *const *group, *const *name; /* name may be NULL when there is one series */
  const double *value;
} bars;
dkho_status figure_bars(const char *path, int force, int panels, const bars *panel);

/* Where phase corrections and the PDE's field are both strong (docs: phase diagnostic). Degree 0, 1 or 2 of c. */
enum { PHASE_SHOWN = 1, PHASE_SHARED = 2, PHASE_STRONG = 4 };
typedef struct phase_panel {
  const char *title;
  const cx *c;
  int degree;
  const double *pde;   /* n[degree] scores, the background */
  const uint8_t *mask; /* n[degree] sums of PHASE_… */
  double dice, lift, enrichment;
} phase_panel;
/* rows × columns panels, row by row. */
dkho_status figure_phase(const char *path, int force, int rows, int columns, const phase_panel *panel);

#endif
