/* op.h: the operations a model can record. Each is a forward/backward pair in an op_*.c file, checked by itself against
 * differences in tests/f64/test_ops.c. N rows, C columns; every map along channels is shared by the rows. */
#ifndef NN_OP_H
#define NN_OP_H

#include "nn/tape.h"

/* y = [x_1 | … | x_n] W + b: W [Σ cols(x_i) × out], b [1 × out] or VAR_NONE. The inputs are never put side by side. With
 * parameters for x it is the product of two matrices. */
var op_affine(tape *t, int n, const var *x, var w, var b);
static inline var op_matmul(tape *t, var x, var w) {
  return op_affine(t, 1, &x, w, VAR_NONE);
}

/* y = a·f(x) + b entrywise; sin and cos for |x| ≤ 1e4. */
typedef enum { FN_GELU, FN_TANH, FN_SIGMOID, FN_SIN, FN_COS, FN_SOFTPLUS, FN_SILU } unary_fn;
var op_unary(tape *t, unary_fn f, double a, double b, var x);
static inline var op_fn(tape *t, unary_fn f, var x) {
  return op_unary(t, f, 1, 0, x);
}

/* y = g ⊙ (x - mean)/√(var + 1e-5) + b over the channels of each row, biased variance; g, b [1 × C]. */
var op_norm(tape *t, var x, var g, var b);

/* The same over all rows of all samples of the batch, with NAME.g, NAME.b. In training by the moments of the batch (the
 * samples of one call of engine_gradient), towards which the states NAME.mean and NAME.var move by a tenth (the variance by
 * N - 1); in prediction by these states. See params_add_batch_norm. */
var op_batch_norm(tape *t, const char *name, var x);

/* y = Σ_i a_i x_i, all of one shape. */
var op_sum(tape *t, int n, const double *a, const var *x);
static inline var op_axpy(tape *t, double a, var x, var y) {
  return op_sum(t, 2, (const double[]){a, 1}, (const var[]){x, y});
}
var op_mul(tape *t, var a, var b); /* a ⊙ b, one shape */
/* y_ij = s·x_ij (s [1 × 1]) or s_j x_ij (s [1 × C]). */
var op_scale(tape *t, var s, var x);

/* Rows r0 … r1-1 and columns c0 … c1-1 of x; matrices side by side; matrices on top of each other. */
var op_slice(tape *t, var x, int64_t r0, int64_t r1, int64_t c0, int64_t c1);
var op_concat(tape *t, int n, const var *x);
var op_stack(tape *t, int n, const var *x);

var op_broadcast(tape *t, var row, int64_t n); /* [1 × C] → n equal rows */
var op_sum_rows(tape *t, double a, var x);     /* a · Σ_i x_i, [1 × C]; a = 1/N: the mean */

/* A fixed sparse map of rows with its transpose, both in gather form. */
typedef struct sparse_half {
  int64_t rows;
  int64_t *ptr; /* rows + 1 */
  int32_t *col;
  real *val;
} sparse_half;
typedef struct sparse {
  sparse_half a, at; /* A and Aᵀ */
  arena mem;
} sparse;
/* From compressed rows in double; copies. */
dkho_status sparse_create(sparse **out, int64_t rows, int64_t cols, const int64_t *ptr, const int32_t *col,
                          const double *val);
void sparse_free(sparse *m);
/* y = A x, or y = Aᵀ x. The map is borrowed. */
var op_sparse(tape *t, const sparse *m, int transpose, var x);
/* y = Σ_i A_i x_i of up to four different x (transposed[i]: A_iᵀ). The maps know rows of `width` numbers, whatever the columns of the
 * variables: with x [N × 2w] and width w, rows 2j and 2j+1 of a map are the halves of row j. y has `rows` rows. */
var op_gather(tape *t, int n, const sparse *const *m, const int *transposed, const var *x, int64_t width, int64_t rows);

/* Fields against a fixed basis, b [N × β] a constant: coefficients c = bᵀ x [β × C], synthesis y = b c [N × C] (c may have
 * any shape of β·C entries, order [β][C]). With b = M H the first gives Hᵀ M x. */
var op_coefficients(tape *t, var basis, var x);
var op_synthesis(tape *t, var basis, var c, int64_t channels);

/* ‖p - y‖₂ / max(‖y‖₂, eps) over all entries, [1 × 1]. y gets no gradient. Its derivative at p = y is taken as 0. */
var op_rel_l2(tape *t, var p, var y, double eps);

/* y = x where x > 0, slope·x elsewhere. */
var op_relu(tape *t, double slope, var x);
var op_gate(tape *t, var a, var b); /* a ⊙ SiLU(b), SiLU(x) = x sigmoid(x); one shape */

/* y_no = Σ_d branch_od trunk_nod + bias_o: branch [1 × O·D], trunk [N × O·D], bias [1 × O]; d runs fastest. */
var op_contract(tape *t, var branch, var trunk, var bias);
var op_reshape(tape *t, var x, int64_t rows, int64_t cols); /* the same numbers in the same order */

/* Softmax along each row, or down each column: weights that sum to one. */
var op_softmax(tape *t, var x);
var op_softmax_columns(tape *t, var x);
var op_gram(tape *t, var a, var b);                        /* aᵀ b: a [N × p], b [N × q] */
var op_turn(tape *t, var x);                               /* xᵀ, for small x */
var op_divide_rows(tape *t, var x, var total, double eps); /* y_mj = x_mj / (total_m + eps): x [M × C], total [1 × M] */

/* MLP(i, w, o): NAME.lin1, GELU, NAME.norm, NAME.lin2, of [x_1 | … | x_n]. */
var op_mlp(tape *t, const char *name, int n, const var *x);

#endif
