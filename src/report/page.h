/* page.h: one HTML file in which a browser shows complexes and fields on them, to turn, cut and probe. The file holds
 * everything: the program (src/report/web, plain JavaScript and WebGL), the colour maps of colour.h, the arrays in 32 bits.
 * All results are passed in: nothing here evaluates a model. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "mesh/cx.h"

typedef struct page page;
/* Create, put, then commit or abort; the file is there whole or not at all. Without force an existing one is kept
 * (DKHO_E_EXISTS, before any work). Texts are copied, arrays are written at once. */
dkho_status page_create(page **out, const char *path, int force, const char *title);
dkho_status page_commit(page *p); /* frees p whether or not it succeeds */
void page_abort(page *p);         /* NULL is fine */

/* Complexes, fields and samples are numbered as they come. betti: dim+1 numbers, or NULL. */
dkho_status page_add_complex(page *p, const cx *c, const int64_t *betti);
/* group: a heading of the menu of fields ("targets"). fixed: one array per complex instead of one per sample. */
dkho_status page_add_field(page *p, const char *name, const char *group, int degree, int channels, int fixed);
/* note: a line about it, may be NULL. The page opens with the first sample. */
dkho_status page_add_sample(page *p, int complex, const char *title, const char *note);

/* What there may be of a field: the values; a prediction to compare them with; of either the exact part of the Hodge
 * decomposition in the unit metric. The page finds the harmonic part from the fixed fields of the group "harmonic", which
 * have to be an orthonormal basis, and the coexact part as what is left. */
typedef enum { PAGE_VALUE, PAGE_PREDICTION, PAGE_VALUE_EXACT, PAGE_PREDICTION_EXACT, PAGE_LAYERS } page_layer;
/* n numbers (rows × channels) of a field for sample, or complex, number `at`. */
dkho_status page_put(page *p, int field, page_layer layer, int at, int64_t n, const float *value);
dkho_status page_put_double(page *p, int field, page_layer layer, int at, int64_t n, const double *value);

uint64_t page_size(const page *p); /* bytes written so far */

#endif
