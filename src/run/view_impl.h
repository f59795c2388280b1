/* view_impl.h: what operator.c and view.c share. */
#ifndef RUN_VIEW_IMPL_H
#define RUN_VIEW_IMPL_H

#include "run/operator.h"

/* Looks at every complex of a model file without keeping any; *dim is theirs, which must be one. */
dkho_status view_check_complexes(neural_operator *o, int *dim);
/* o->first before there are parameters, held for good: everything but the recorded model. Sets o->setup.harmonic. */
dkho_status view_prepare(neural_operator *o);
/* Records the model for that view once the parameters are declared, and marks which of them are live. */
dkho_status view_record(neural_operator *o);
/* The harmonic basis of the target's degree in the operator's metric: kept in the file, else computed. */
dkho_status view_basis(const neural_operator *o, const complex_view *v, dec_basis *b);
void view_cache_close(neural_operator *o);

#endif
