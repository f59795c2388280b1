/* sum_tree.h: the one order in which what the samples of a batch contribute is added up, in threads and over ranks.
 *
 * Leaf i is sample i of n. Node j of level l + 1 is the sum of the nodes 2j and 2j + 1 of level l, of the first alone where there is no
 * second. The tree depends on n alone. A rank holds a run of leaves; what is wholly its own it sums by itself, the rest is put together
 * by messages from the right child's owner to the left one's. So the sum has the same bits for every number of ranks and threads.
 *
 * A leaf is a vector of `size` reals, which may lie in several pieces, and a double (its loss). */
#ifndef BASE_SUM_TREE_H
#define BASE_SUM_TREE_H

#include "base/comm.h"
#include "base/pool.h"
#include "base/real.h"

enum { SUM_TREE_PIECES = 2 };

/* One piece of the vectors of successive leaves: leaf i's lies at + i·stride. */
typedef struct sum_piece {
  real *at;
  int64_t stride, size;
} sum_piece;

typedef struct sum_tree sum_tree;
/* portion: leaves that come at a time; a sum of no more, in one process, then asks for no memory later. */
dkho_status sum_tree_create(sum_tree **out, int64_t size, int64_t portion);
void sum_tree_free(sum_tree *t);

/* The leaves of rank r of c among n: first … first of r+1, exclusive. Rank 0 has some whenever there are any. */
int64_t sum_tree_first(int64_t n, int ranks, int r);

/* A new sum of n leaves over the ranks of c (borrowed; NULL: this process alone). Then the leaves of this rank, in order, `count` at a
 * time; the pieces, whose sizes add up to the tree's, are used up. Memory is asked for only by a larger n than before. */
void sum_tree_open(sum_tree *t, comm *c, int64_t n);
dkho_status sum_tree_add(sum_tree *t, pool *p, int64_t count, int pieces, const sum_piece *piece, const double *number);
/* Collective. mine: how this rank fared; if that of any rank is not DKHO_OK, all get the status and text of one. *total (borrowed until
 * the next sum) and *number: the sums, on every rank. */
dkho_status sum_tree_total(sum_tree *t, dkho_status mine, real **total, double *number);

#endif
