/* geometry.h: a complex as a model sees it: incidence maps with their metric adjoints, and the basis of the harmonic
 * branch, in `real`. Made once per complex, shared by all tapes recorded for it, which borrow it. */
#ifndef MODEL_GEOMETRY_H
#define MODEL_GEOMETRY_H

#include "dec/dec.h"
#include "nn/op.h"

typedef struct geometry {
  int dim;
  dec_metric metric;
  int64_t n[CX_DEGREES];
  sparse *d[CX_DEGREES];     /* d[k] = d_k: n[k+1] × n[k], k = 0 … top-1; owned */
  sparse *delta[CX_DEGREES]; /* delta[k] = δ_k = M_{k-1}⁻¹ d_{k-1}ᵀ M_k: n[k-1] × n[k]; NULL in the unit metric */
  int64_t beta;              /* 0: no basis */
  int degree;                /* of the basis */
  real *h, *mh;              /* H and M H, n[degree] × β row-major */
  int64_t givens;            /* rows of the target whose values are given */
  const int32_t *given;      /* which, ascending; borrowed */
  int64_t periods;           /* 0: none is given; else */
  real *q;                   /* Q, n × periods row-major, orthonormal: Qᵀ of the target is given; owned */
  arena mem;
} geometry;

/* Maps between degrees 0 … top; basis of degree `degree`, Hᵀ M H = I (NULL: none). Copies everything. */
dkho_status geometry_create(geometry **out, const dec *d, int top, int degree, const dec_basis *basis);
/* The maps between degrees 0 … degrees-1 with the simplices renumbered: place i of degree k is simplex order[k][i], and
 * place[k][order[k][i]] = i. Without the basis. */
dkho_status geometry_renumber(geometry **out, const geometry *g, int degrees, int32_t *const *order,
                              int32_t *const *place);
void geometry_free(geometry *g);
/* Qᵀ u is given of targets u of this degree; copied. */
dkho_status geometry_keep_periods(geometry *g, int degree, int64_t periods, const double *basis);

/* d_k x and δ_k x on the tape; VAR_NONE gives VAR_NONE. */
var geometry_d(const geometry *g, tape *t, int k, var x);
var geometry_delta(const geometry *g, tape *t, int k, var x);

/* x with the given rows replaced: x ⊙ mask + *values, where *values [N × C] is a new input that holds the given values in their rows
 * and zeros elsewhere; or, where periods are given, x - Q Qᵀx + *values, *values in the span of Q. x itself, and VAR_NONE, when nothing is
 * given. No gradient passes what is replaced. */
var geometry_impose(const geometry *g, tape *t, var x, var *values);

#endif
