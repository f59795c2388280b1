/* plots.h: figures of a mesh, a data set, or trained runs: the same as a study draws, for anybody's data. */
#ifndef STUDY_PLOTS_H
#define STUDY_PLOTS_H

#include "study/opened.h"

typedef struct plot_request {
  const char *dir; /* made when it is missing */
  int force;
  const char *format; /* "png", "svg", "pdf", or several with commas between */
  const char *split;  /* whose samples a run is shown on */
  json_t *written;    /* an array: the paths are appended */
} plot_request;

/* mesh: complexes side by side, with their numbers. */
dkho_status plot_meshes(const plot_request *q, int count, const cx *const *c, const char *const *title);
/* mesh and fields: of every target the sample of median size. */
dkho_status plot_data(const plot_request *q, const dataset *d);
/* training, minutes: training and validation error by epoch, and validation error by minutes, of runs that are directories. errors: of every sample, sorted. fields-NAME: the median,
 * best and worst sample of each run. runs-TARGET: the median sample of the first run of a target as all its runs predict it. */
typedef struct plot_run {
  const char *name, *dir; /* dir NULL: a model file */
  const opened *r;
} plot_run;
dkho_status plot_runs(const plot_request *q, int count, const plot_run *run);

#endif
