/* fused_share_impl.h: what fused_share.c (rows) and fused_share_sum.c (sums, gradients) know of a mesh that ranks share. */
#ifndef MODEL_DKHO_FUSED_SHARE_IMPL_H
#define MODEL_DKHO_FUSED_SHARE_IMPL_H

#include "model/dkho/fused_impl.h"

/* The tree of one degree, as all ranks know it. A root (chunk_tree) is known by its first leaf. */
typedef struct share_tree {
  const int32_t *owner; /* by leaf */
  int *run;             /* by leaf: where the run of leaves with one owner ends that it belongs to */
  int *root;            /* by leaf: number of the root that begins with it, roots by rank; -1: none */
  int *first;           /* ranks + 1: number of each rank's first root */
} share_tree;

struct shared_mesh {
  comm *ranks;
  partition *p;
  mesh_part *own;
  exchange *ghosts[SHARE_KINDS];
  share_tree tree[DEG];
  size_t *offset;         /* ranks + 1: of bytes in a gathered array */
  int32_t *rows;          /* the caller's rows of the target degree by rank, in order */
  unsigned char *message; /* a degree's gradient */
  unsigned char *sums;    /* room for all roots' sums, */
  size_t sums_room;       /* so many bytes */
  real *output;           /* the output by rank, for fused_gather */
  arena mem;
};

/* Room for sums and gradients, when the chunks are planned. */
dkho_status share_plan_sums(fused *f);

#endif
