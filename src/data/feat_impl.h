/* feat_impl.h: inside of descriptors: expressions as a graph of shared nodes. */
#ifndef DATA_FEAT_IMPL_H
#define DATA_FEAT_IMPL_H

#include "data/features.h"

enum { FEAT_NODES_MAX = 2048, FEAT_ARGS_MAX = 64, FEAT_DEPTH_MAX = 32, FEAT_ROWS_MAX = 1024, FEAT_STEPS_MAX = 16 };

typedef enum {
  OP_INPUT,
  OP_STATIC,
  OP_GLOBAL,
  OP_COLUMNS,
  OP_D,
  OP_DT,
  OP_MEAN,
  OP_INTEGRAL,
  OP_FLUX,
  OP_HEAT,
  OP_LIFT,
  OP_ZERO,
  OP_AROUND,
  OP_UNIT,
  OP_WEIGHT, /* a static, normalised to sum 1 */
  OP_AVERAGE,
  OP_MOMENT,
  OP_RMS,
  OP_CENTRED_RMS
} feat_op;

/* A value n[degree] × channels, or `channels` numbers when degree is -1. Arguments are earlier nodes, so the list is in
 * order of evaluation and cannot hold a cycle. Equal nodes are one node. */
typedef struct feat_node {
  feat_op op;
  int arg[3];    /* -1: none */
  int field;     /* INPUT, GLOBAL: place among its kind; STATIC: index among all fields */
  int first;     /* COLUMNS */
  double num[2]; /* HEAT: a; RMS: add, floor */
  int steps;     /* HEAT */
  int step[FEAT_STEPS_MAX];
  int degree, channels;
  int constant; /* no sample enters */
  size_t at;    /* where its value is, in reals: in the constants or in the work array */
} feat_node;

typedef struct feat_span {
  int first, count;
} feat_span;

/* A row compiled: a node, or for broadcast() the summary spans. */
typedef struct feat_out {
  int row, degree, width;
  int node; /* -1: broadcast */
  int spans;
  feat_span span[FEAT_ARGS_MAX];
  int slot; /* first column among its class */
} feat_out;

typedef struct feat_graph {
  const feat_table *table; /* borrowed */
  int dim, modes;          /* modes -1: all columns */
  int fields;
  const data_field *field; /* borrowed */
  int nodes, outs, summary_width;
  feat_node *node;
  feat_out *out;
  int *summary_node;       /* per summary entry */
  feat_span *summary_span; /* its place in the summary vector */
  arena mem;
} feat_graph;

/* Compiles summaries and the rows of the profile that the reader (NULL: none in particular) sees; FEAT_EVERY_READER: all rows. On
 * failure the graph is freed and the text names the row. */
#define FEAT_EVERY_READER ""
dkho_status feat_graph_build(feat_graph *g, const feat_table *t, const char *reader, int dim, int fields,
                             const data_field *field, feat_profile profile, int modes);
void feat_graph_free(feat_graph *g);

/* What evaluation would otherwise work out again for every sample; only what some node of the graph needs. */
enum { FEAT_SLICE = 8 };
typedef struct feat_prep {
  /* Neighbours of vertices, eight vertices at a time: slice s has slots start[s] … start[s+1]-1, a slot names one
   * neighbour of each of its vertices, or the vertex itself when it has no more. */
  int64_t *start;
  int32_t *near;
  real *share[CX_DEGREES]; /* measure / (k + 1) */
} feat_prep;
dkho_status feat_prepare(feat_prep *p, arena *mem, const feat_graph *g, const cx *c);

/* Values and shapes for evaluation. */
typedef struct feat_run {
  const cx *c;
  const feat_graph *g;
  const feat_prep *prep;
  real *constants, *work;
  const float *const *in;
  const double *const *global;
} feat_run;
/* Number of reals node i keeps (value and scratch). */
size_t feat_node_size(const feat_graph *g, const cx *c, int i);
void feat_node_eval(const feat_run *r, int i);
static inline real *feat_node_value(const feat_run *r, int i) {
  const feat_node *n = &r->g->node[i];
  return (n->constant ? r->constants : r->work) + n->at;
}

#endif
