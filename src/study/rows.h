/* rows.h: samples as figures of fields show them: input, reference, prediction. */
#ifndef STUDY_ROWS_H
#define STUDY_ROWS_H

#include "report/figure.h"
#include "study/opened.h"

/* The complexes that rows lie on, where they are not the data set's first, which it keeps itself. Zero-initialise; free after the
 * figure is drawn. */
typedef struct row_shapes {
  int count;
  cx *own[32];
} row_shapes;
void row_shapes_free(row_shapes *h);

/* The first input and one target of a sample; names are the data set's, arrays are from mem, the complex is d's or in h. */
dkho_status row_values(const dataset *d, int target, int64_t sample, arena *mem, row_shapes *h, figure_sample *row);
/* The same with what a run predicts, and a note with the sample's number and error, `what` ("median", or NULL) before them. d is the
 * data set whose names and complex the row keeps: it has to outlive the row, r need not. */
dkho_status row_predicted(const dataset *d, const opened *r, int64_t sample, const char *what, arena *mem,
                          row_shapes *h, figure_sample *row);
/* The sample of median error on the test split. */
dkho_status row_median(const opened *r, int64_t *sample);

#endif
