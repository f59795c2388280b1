/* extend.h: what lets content travel in DKHO beside the relation: exchange between neighbouring degrees, and low modes of every
 * degree; equations in dkho.h. */
#ifndef MODEL_DKHO_EXTEND_H
#define MODEL_DKHO_EXTEND_H

#include "model/dkho/dkho.h"

enum { EXTENSION_TERMS = 4 };

/* Fixed maps of one complex, owned by the tape; those that the options do not ask for are absent. */
typedef struct extension_maps {
  const sparse *below[CX_DEGREES], *above[CX_DEGREES]; /* means over the faces and the cofaces of k-simplices */
  var analyse[CX_DEGREES], synthesise[CX_DEGREES];     /* √N M Φ / N and √N Φ, [N_k × modes] */
} extension_maps;
dkho_status extend_prepare(const dkho_config *f, const dec *metric, const geometry *g, tape *t, extension_maps *out);

/* What reaches the update of one degree from elsewhere: terms x W of its first affine map, and a term ready to be added. */
typedef struct carried {
  int terms;
  var x[EXTENSION_TERMS], w[EXTENSION_TERMS];
  var added; /* N_k × h, or VAR_NONE */
} carried;
/* Of layer l, from the states z of all degrees. */
void extend_layer(const dkho_config *f, const geometry *g, tape *t, const extension_maps *m, int l, const var *z,
                  carried out[CX_DEGREES]);

#endif
