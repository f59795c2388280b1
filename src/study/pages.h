/* pages.h: what a page of report/page.h is filled with: a mesh, a data set, a run. */
#ifndef STUDY_PAGES_H
#define STUDY_PAGES_H

#include "study/opened.h"

typedef struct pages_request {
  const char *page, *title;
  int force;
  const char *split; /* whose samples; NULL: test, or all where there is no such split */
  int samples;       /* at most; 0: as many as fit into a few megabytes */
} pages_request;

/* A complex: its harmonic fields and labels, and eigenvectors if there are bases (NULL: none). */
dkho_status pages_mesh(const pages_request *q, const cx *c, const dec_bases *bases);
/* Samples of a data set: targets, inputs, static arrays, harmonic fields, Hodge parts. With a run (NULL: none), which has d open,
 * beside what it predicts, the sample of median error first. */
dkho_status pages_data(const pages_request *q, const dataset *d, const opened *r);

#endif
