/* param.h: the table of parameters of a model.
 *
 * A model declares its tensors once, in order; params_layout then fixes where each lives. Values, gradients, moments and
 * averages are all slabs: arrays of `size` reals with this layout, each tensor beginning on a cache line, the gaps zero.
 * The table holds no values: whoever trains or predicts owns the slabs. A state (the running moments of a batch norm) is a
 * tensor that is learned without a gradient: it is stored and initialised as the others, but is no parameter; in a
 * gradient slab its place holds the change that training asks for, which the optimiser adds as it is. Declaring is straight-line code: the first
 * failure sticks in `status`, later calls do nothing, params_layout reports it. */
#ifndef NN_PARAM_H
#define NN_PARAM_H

#include "base/mem.h"
#include "base/real.h"

enum { PARAM_RANK_MAX = 3, PARAM_NAME_MAX = 63, PARAM_ALIGN = 64 / sizeof(real) };

typedef enum {
  INIT_CONST,     /* every entry = scale */
  INIT_UNIFORM,   /* uniform on ±scale */
  INIT_NORMAL,    /* scale · N(0, 1) */
  INIT_POSITIVE,  /* uniform on [0, scale) */
  INIT_RAMP,      /* scale · (1, 2, 3, …) */
  INIT_ORTHOGONAL /* rows (or columns, where those are fewer) orthogonal, of length scale */
} param_init;

typedef struct param {
  char name[PARAM_NAME_MAX + 1];
  int rank;
  int64_t shape[PARAM_RANK_MAX];
  int64_t rows, cols; /* as a matrix: the last extent is cols, the others make rows */
  int64_t offset, count;
  param_init init;
  double scale;
  int paired;    /* 1: pairs of its entries are complex numbers, each counted as one parameter */
  int state;     /* 1: a state, see above */
  int entrywise; /* 1: no matrix to the optimiser, whatever its extents */
  int live; /* 0: cannot influence the loss, so it has no gradient and the optimiser leaves it alone, decay included */
} param;

typedef struct params {
  int count, capacity;
  param *list;   /* owned */
  int64_t total; /* number of parameters, dead ones included; a complex one counts once; states do not count */
  int64_t reals; /* the same, a complex one counted as two */
  int64_t size;  /* length of a slab */
  dkho_status status;
} params;

dkho_status params_create(params **out);
void params_free(params *p);
void params_add(params *p, const char *name, int rank, const int64_t *shape, param_init init, double scale);
/* The common shapes: a vector of n entries; an affine map NAME.w [in × out] and, when bias, NAME.b [out], both uniform on
 * ±1/√in; a layer norm NAME.g, NAME.b [width]. */
void params_add_vector(params *p, const char *name, int64_t n, param_init init, double scale);
void params_add_affine(params *p, const char *name, int64_t in, int64_t out, int bias);
void params_add_norm(params *p, const char *name, int64_t width);
/* A state of n entries, all = start. A batch norm: NAME.g, NAME.b [width] and the states NAME.mean (0), NAME.var (1). */
void params_add_state(params *p, const char *name, int64_t n, double start);
void params_add_batch_norm(params *p, const char *name, int64_t width);
/* Complex matrices, one per mode, as the spectral operations want them: [modes × 2·in × out], real rows then imaginary ones; real
 * and imaginary parts uniform on [0, 1/(in·out)). */
void params_add_modes(params *p, const char *name, int64_t modes, int64_t in, int64_t out);
/* Tensors declared since number `first` are entrywise. */
void params_entrywise(params *p, int first);
/* Ends declaring. DKHO_E_INPUT for a name used twice, too long, or an empty tensor. */
dkho_status params_layout(params *p);

int params_find(const params *p, const char *name);   /* index, or -1 */
int64_t params_live(const params *p);                 /* number of parameters that can be trained */
dkho_status params_slab(const params *p, real **out); /* zeroed, owned by the caller (mem_free) */
/* Fills the slab: tensor i from stream (seed, RNG_INIT, i), so a tensor's start depends on its place and size alone. */
void params_init(const params *p, uint64_t seed, real *value);
int64_t params_finite_until(const real *x, int64_t n); /* index of the first that is not finite, or n */
int params_finite(const real *x, int64_t n);           /* all of them? */

#endif
