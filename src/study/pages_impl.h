/* pages_impl.h: a page being filled, and what both kinds of pages have: complexes with their harmonic fields. */
#ifndef STUDY_PAGES_IMPL_H
#define STUDY_PAGES_IMPL_H

#include "report/page.h"
#include "study/pages.h"

enum { PAGES_HARMONIC = 16 }; /* of one degree; where there are more, they and the Hodge parts are left out */

typedef struct pages_open {
  page *p;
  int fields, complexes;                    /* on the page so far */
  int harmonic[CX_DEGREES][PAGES_HARMONIC]; /* fields of the page; 0: not yet, else number + 1 */
} pages_open;

/* Adds a complex: Betti numbers, which are given back, and harmonic fields of the degrees between 0 and dim. */
dkho_status pages_add_complex(pages_open *v, const cx *c, int64_t betti[CX_DEGREES]);
dkho_status pages_add_field(pages_open *v, const char *name, const char *group, int degree, int channels, int fixed,
                            int *number);

#endif
