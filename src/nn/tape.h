/* tape.h: the static tape: what is computed, in which order.
 *
 * A variable is a matrix, rows × cols, row = simplex (or sample-wide item), channels contiguous. A model records its
 * operations once for a complex; engine.h then plans every buffer and runs the recording. The tape itself holds no
 * numbers, only the graph; constants are borrowed.
 *
 * Kinds. PARAM: a tensor of the table. CONST: a borrowed array, no gradient. INPUT: filled by the caller for every
 * sample. VALUE: written by an operation.
 *
 * Levels, derived from the inputs of an operation. STEP: depends on parameters and constants only; computed once when
 * values are bound, its cotangents are gathered over the samples and its backward runs once after them. SAMPLE: all else;
 * computed sample by sample, a whole forward and backward at a time.
 *
 * What cannot reach a root (the loss in training, the kept variables in prediction) is never computed. The same walk
 * says which parameters are live.
 *
 * An operation that mixes samples (batch norm) is a barrier (mix_kind below): in training the engine holds one lane per
 * sample of the batch instead of one per thread, runs all samples up to the barrier, hands it all lanes at once, and goes
 * on. In prediction there are no barriers: samples stay independent.
 *
 * Recording is straight-line code: the first failure sticks in the tape, later calls return VAR_NONE and do nothing, and
 * engine_create reports it. Shapes that do not fit are a programmer's mistake: assert. */
#ifndef NN_TAPE_H
#define NN_TAPE_H

#include "nn/param.h"

typedef int var;
enum { VAR_NONE = -1 };
typedef enum { VAR_PARAM, VAR_CONST, VAR_INPUT, VAR_VALUE } var_kind;
typedef enum { LEVEL_STEP, LEVEL_SAMPLE } var_level;

typedef struct tape_var {
  var_kind kind;
  var_level level;
  int64_t rows, cols;
  int param;        /* PARAM: index in the table */
  const real *data; /* CONST: borrowed */
  int maker;        /* VALUE: index of the operation, else -1 */
  int keep;         /* the value can be read after a run, and is a root of prediction */
  int want_grad;    /* INPUT: its cotangent can be read after a training run */
} tape_var;

typedef struct op op;
typedef struct lane lane;
/* forward: out ← f(in). backward: g_in += (∂f/∂in)ᵀ g_out for every input whose gradient is wanted (op_gx not NULL).
 * back_in, back_out: bit i set when backward reads the value of input / output i; other buffers may be gone by then. */
typedef struct op_kind {
  const char *name;
  void (*forward)(const op *o, const lane *l);
  void (*backward)(const op *o, const lane *l);
  uint32_t back_in, back_out;
} op_kind;
/* A row-local operation: row r of its outputs (all of op.rows rows) depends on row r of its inputs, and on all of those
 * marked in op.whole. It has no forward and backward of its own: the engine sends a few rows at a time, r0 … r1-1, through
 * as many such operations as follow one another. rows_backward contributes to the cotangents of these rows, and adds their
 * share in the cotangents of the whole inputs to `partial`, where they stand one after the other (NULL: none is wanted).
 * prepare (may be NULL) comes once before the rows_backward of a sample, to fill op_scratch. */
typedef struct row_kind {
  op_kind kind;
  void (*rows_forward)(const op *o, const lane *l, int64_t r0, int64_t r1);
  void (*rows_backward)(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial);
  void (*prepare)(const op *o, const lane *l);
} row_kind;
/* A barrier. forward and backward, in training, get the lanes of all samples of the batch, in their order, and run in one
 * thread: they should have little to do. In prediction kind.forward runs, for each sample alone, and reads the inputs
 * marked in predict_in only. State tensors among the inputs: forward adds the change of their values to their cotangents
 * in the first lane. */
typedef struct mix_kind {
  op_kind kind;
  uint32_t predict_in;
  void (*forward)(const op *o, int64_t count, const lane *l);
  void (*backward)(const op *o, int64_t count, const lane *l);
} mix_kind;
#define OP_ALL 0xffffffffu

struct op {
  const op_kind *kind;
  const row_kind *by_rows; /* NULL: a whole operation */
  const mix_kind *mixes;   /* NULL: no barrier */
  var_level level;
  int ins, outs;
  var *in, *out;
  void *attr;      /* in the tape's arena; NULL: none */
  int64_t rows;    /* of a row-local operation, else 0 */
  uint32_t whole;  /* its inputs that are read as a whole */
  uint32_t fresh;  /* inputs whose cotangent backward writes when op_adds says so; the others find it cleared. Row-local
                      operations must do so for all inputs that are not whole. */
  int64_t scratch; /* reals it asks for, filled by prepare */
  int64_t partial; /* reals of the partial sum of one row block (block.h), 0: no reduction */
  int64_t blocks;  /* row blocks of that reduction */
  double work;     /* multiply-adds of its products in one forward pass, 0: it is no product */
};

typedef struct tape {
  const params *p; /* borrowed, laid out */
  int vars, var_room, ops, op_room;
  tape_var *var;             /* owned */
  op *op;                    /* owned */
  struct tape_label *labels; /* names of variables, newest first */
  arena mem;
  struct tape_owned *owned; /* what tape_free destroys */
  dkho_status status;
} tape;

dkho_status tape_create(tape **out, const params *p);
void tape_free(tape *t);

var tape_param(tape *t, const char *name);
var tape_const(tape *t, int64_t rows, int64_t cols, const real *data);
var tape_input(tape *t, int64_t rows, int64_t cols);
void tape_keep(tape *t, var v);
/* Hands over an object that operations borrow: destroyed with the tape, last one first; at once when the tape has no room for it. NULL
 * is fine. */
void tape_own(tape *t, void (*destroy)(void *object), void *object);
void tape_want_grad(tape *t, var input);
/* Gives a variable a name by which diagnostics find it; VAR_NONE is passed over. tape_find: VAR_NONE when there is none. */
void tape_name(tape *t, var v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
var tape_find(const tape *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For the op_*.c files. The new operation, with `outs` fresh VALUE variables of the given shapes and `attr_bytes` of
 * zeroed attributes; NULL once the tape has failed. in may hold at most 32 variables. */
op *tape_op(tape *t, const op_kind *kind, int ins, const var *in, int outs, const int64_t (*shape)[2],
            size_t attr_bytes);
/* The same for a row-local kind: the inputs in `whole` are read as a whole, the others have the rows of the outputs. A
 * variable may not be both. */
op *tape_row_op(tape *t, const row_kind *kind, uint32_t whole, int ins, const var *in, int outs,
                const int64_t (*shape)[2], size_t attr_bytes);

/* A barrier, in the same way. */
op *tape_mix_op(tape *t, const mix_kind *kind, int ins, const var *in, int outs, const int64_t (*shape)[2],
                size_t attr_bytes);

/* Operations from which a root is reached: need[i] = 1 (t->ops bytes); the same for variables (t->vars bytes). */
void tape_reach(const tape *t, int predicting, int roots, const var *root, uint8_t *need_op, uint8_t *need_var);
/* Multiply-adds of the products that a sample needs to reach the root, forward. */
dkho_status tape_work(const tape *t, var root, double *work);
/* live ← 1 exactly for the tensors that the root depends on. */
dkho_status tape_mark_live(const tape *t, var root, params *p);

#endif
