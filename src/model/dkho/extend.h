/* extend.h: what lets content travel in DKHO beside the relation: exchange between neighbouring degrees, low modes of every
 * degree, attention through latent tokens; equations in dkho.h.
 *
 * An exchange is a transport A (N_k × N_j, signed or a mean) and a map W (h × h, or w × h of a state narrowed before): (A z) W =
 * A (z W). The map stands on the side with fewer simplices, that of a narrowed state where it arrives. Signed and unsigned parts
 * travel together, as halves of rows. Layers that exchange hold simplices in an order in which neighbours lie near each other; inputs
 * and outputs are in the caller's. */
#ifndef MODEL_DKHO_EXTEND_H
#define MODEL_DKHO_EXTEND_H

#include "model/dkho/dkho.h"

enum { EXTENSION_TERMS = 4 };

/* The transport of all parts from one neighbouring degree. */
typedef struct crossing {
  const sparse *
      m; /* NULL: there is none. By rows of h or w numbers: S·N_k × N_j, or N_k × S·N_j when maps come first, S parts */
  int maps_first;
  int faces; /* 0, or of faces with both parts the number of faces: then the parts are sums over positive and over negative faces */
} crossing;

/* Fixed maps of one complex, owned by the tape; those that the options do not ask for are absent. */
typedef struct extension_maps {
  const geometry *g;               /* the complex as the layers hold it */
  const sparse *order[CX_DEGREES]; /* from the caller's order to that of the layers; NULL: they are the same */
  const int32_t *held[CX_DEGREES]; /* the same as numbers: which of the caller's simplices is at each place */
  crossing below[CX_DEGREES], above[CX_DEGREES];
  var analyse[CX_DEGREES], synthesise[CX_DEGREES]; /* √N M Φ / N and √N Φ, [N_k × modes] */
} extension_maps;
dkho_status extend_prepare(const dkho_config *f, const dec *metric, const geometry *g, tape *t, extension_maps *out);

/* Both matrices of `spectral` for every degree, in the arena; held[k] says which simplex is at each place, NULL: each at its own. */
dkho_status extend_modes(const dkho_config *f, const dec *metric, const int32_t *const *held, arena *mem,
                         real *analyse[CX_DEGREES], real *synth[CX_DEGREES]);

/* A field of degree k in the order of the layers, and back; VAR_NONE gives VAR_NONE. */
var extend_enter(const extension_maps *m, tape *t, int k, var x);
var extend_leave(const extension_maps *m, tape *t, int k, var x);

/* What reaches the update of one degree from elsewhere: terms x W of its first affine map, and a term ready to be added. */
typedef struct carried {
  int terms;
  var x[EXTENSION_TERMS], w[EXTENSION_TERMS];
  var added; /* N_k × h, or VAR_NONE */
} carried;
/* Of layer l, from the states z of all degrees. */
void extend_layer(const dkho_config *f, tape *t, const extension_maps *m, int l, const var *z, carried out[CX_DEGREES]);

#endif
