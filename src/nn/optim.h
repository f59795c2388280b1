/* optim.h: optimisers, clipping by global norm, learning-rate schedules, running average of the weights.
 *
 * AdamW (the paper's) treats every entry by itself, in PyTorch's order of arithmetic, so that a step can be compared with it.
 * Muon and SOAP treat a matrix as a matrix: Muon replaces its momentum by the nearest orthogonal matrix, SOAP runs Adam in
 * the eigenbases of the averages of G Gᵀ and Gᵀ G. Vectors, and matrices too narrow for it, get AdamW in both (with SOAP's β). All three mean
 * the same by lr: an entry moves by about lr (Muon: 0.2 lr in the mean square) per step. */
#ifndef NN_OPTIM_H
#define NN_OPTIM_H

#include "base/comm.h"
#include "base/pool.h"
#include "nn/param.h"

typedef enum { OPTIM_ADAMW, OPTIM_MUON, OPTIM_SOAP, OPTIM_KINDS } optim_kind;
const char *optim_name(optim_kind kind); /* "adamw", "muon", "soap" */
dkho_status optim_parse(const char *name, optim_kind *out);
/* A peak rate and a batch to begin with where AdamW's are lr and batch; measured, docs/RESULTS.md, "Optimisers". */
double optim_rate(optim_kind kind, double lr);
int64_t optim_batch(optim_kind kind, int64_t batch);

typedef struct optim_config {
  optim_kind kind;
  double beta1, beta2, eps;
  double momentum; /* Muon: of matrices */
  int refresh;     /* SOAP: steps before the bases are found, and between their corrections */
  double decay;    /* decoupled: θ ← θ (1 - lr·decay) before the step, on every live tensor */
  double clip;     /* bound of the gradient's global norm, 0: none */
  double ema;      /* rate of the running average, average ← ema·average + (1 - ema)·θ; 0: none is kept */
} optim_config;
optim_config optim_defaults(optim_kind kind); /* clip 1, decay 0, ema 0; the rest as docs/MODEL.md lists */

/* SOAP's view of one matrix of rows × cols: column-major averages and their (approximate) eigenvectors. */
typedef struct optim_sides {
  double *cover[2]; /* cols × cols: average of Gᵀ G; rows × rows: of G Gᵀ */
  double *basis[2]; /* their eigenvectors, in columns */
} optim_sides;

typedef struct optim_share optim_share;

typedef struct optim {
  optim_config cfg;
  const params *p;       /* borrowed */
  real *m, *v, *average; /* slabs, owned; average is NULL without ema */
  optim_sides *sides;    /* per tensor, SOAP only; empty for tensors that get AdamW */
  pool *threads;         /* borrowed; NULL: this thread */
  double *room;          /* scratch of a matrix step, room_each for every worker */
  int64_t room_each;
  int64_t step;       /* steps taken */
  optim_share *share; /* NULL: this process takes all of a step */
  arena mem;          /* of sides, room and share */
} optim;
/* The average starts at `value`. threads (NULL: this thread) share the tensors of a step, to the same bits. */
dkho_status optim_create(optim **out, const params *p, const optim_config *cfg, const real *value, pool *threads);
void optim_free(optim *o);
/* From here on ranks (borrowed), all of which hold the same weights and moments, divide the matrices of Muon's and SOAP's steps among them, to
 * the same bits; they call optim_step and optim_unite together. Moments, averages and bases of a matrix are then up to date on one
 * rank only, until optim_unite. */
dkho_status optim_share_over(optim *o, comm *ranks);
dkho_status optim_unite(optim *o);
/* Whether the optimiser treats this tensor as a matrix: Muon and SOAP do when both extents are ≥ 8, unless the model
 * declared it entrywise. A thinner map has too few
 * directions for an orthogonal update, and its covariances stay singular. */
int optim_is_matrix(const optim_config *c, const param *q);
/* √Σ g² over live parameters, in double, in table order. */
double optim_norm(const params *p, const real *g);
/* One step with learning rate lr; *norm ← the gradient's norm before clipping (may be NULL). A gradient that is not finite
 * gives DKHO_E_NONFINITE, naming the tensor, and nothing is touched. SOAP may lack memory or convergence when it corrects its
 * bases: then the step is not to be used. States move by what g holds for them; their average is their value. */
dkho_status optim_step(optim *o, double lr, real *value, const real *g, double *norm);

/* The odd polynomial iteration that carries the singular values of X (column-major rows × cols, in place, room for
 * optim_orthogonal_room doubles) to the neighbourhood of 1 without a decomposition. */
void optim_orthogonalise(int64_t rows, int64_t cols, double *x, double *room);
int64_t optim_orthogonal_room(int64_t rows, int64_t cols);

/* How the learning rate falls over a run. cosine is the paper's: constant within an epoch. The others go by steps. */
typedef enum { LR_COSINE, LR_COSINE_STEP, LR_LINEAR, LR_CONSTANT, LR_SCHEDULES } lr_schedule;
const char *lr_name(lr_schedule s); /* "cosine", "cosine_step", "linear", "constant" */
dkho_status lr_parse(const char *name, lr_schedule *out);
/* Where a run of `epochs` × `steps` stands. */
typedef struct lr_clock {
  int64_t epoch, epochs, step, steps;
} lr_clock;
double lr_at(lr_schedule s, double lr, const lr_clock *t);
double lr_cosine(double lr, int64_t epoch, int64_t epochs); /* lr (1 + cos(π e/E))/2 */
/* Factor (step + 1)/warmup while step < warmup, then 1. */
double lr_warmup(int64_t step, int64_t warmup);

#endif
