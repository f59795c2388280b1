/* partition.h: a complex in parts, for ranks that share it.
 *
 * The unit of ownership is a block: `block` consecutive simplices of one degree, in an order that has nothing to do with the parts.
 * Whatever is summed over simplices can then be summed over blocks first, each of them wholly in one part, and over blocks in an
 * order of their own: the same bits for any partition. Everything here is a pure function of its arguments.
 *
 * A part numbers its rows of degree k so: the simplices of its blocks, in order, from 0; then, from ghost_at on, its ghosts: those
 * faces and cofaces of its simplices that others own, by owner, then in order. With gathers over faces and cofaces as the only way
 * to reach a neighbour, nothing else of the others is ever read. */
#ifndef MESH_PARTITION_H
#define MESH_PARTITION_H

#include "mesh/cx.h"

/* Incidence in the order that is cut into blocks, as cx.h has it. Signs may be NULL. Borrowed. */
typedef struct incidence {
  int degrees; /* 0 … degrees-1 take part */
  int64_t n[CX_DEGREES];
  const int32_t *face[CX_DEGREES];
  const int8_t *sign[CX_DEGREES];
  const int64_t *coptr[CX_DEGREES];
  const int32_t *coface[CX_DEGREES];
  const int8_t *cosign[CX_DEGREES];
} incidence;
incidence incidence_of(const cx *c);

/* METIS: few incidences between parts, parts of nearly the same number of simplices. RANDOM: every block by the lot, for tests. */
typedef enum { PARTITION_METIS, PARTITION_RANDOM } partition_method;

typedef struct partition {
  int parts, degrees, block;
  int64_t n[CX_DEGREES];
  int blocks[CX_DEGREES];
  int32_t *owner[CX_DEGREES]; /* by block; one array for all degrees, one after the other */
  int total;                  /* blocks of all degrees */
  arena mem;
} partition;
/* A partition whose owners are all 0, for partition_divide or for owners that another rank has found. */
dkho_status partition_create(partition **out, const incidence *m, int block, int parts);
dkho_status partition_divide(partition *p, const incidence *m, partition_method method, uint64_t seed);
void partition_free(partition *p);
static inline int partition_owner(const partition *p, int k, int64_t simplex) {
  return p->owner[k][simplex / p->block];
}
/* Incidences whose two simplices have different owners. */
int64_t partition_cut(const partition *p, const incidence *m);

/* Which ghosts: cofaces of own simplices, faces of own simplices, or both. */
enum { PART_ABOVE = 1, PART_BELOW = 2, PART_BOTH = 3, PART_KINDS = 4 };

/* Rows to and from each of the parts: entries ptr[q] … ptr[q+1]-1 belong to part q. */
typedef struct part_rows {
  int64_t *ptr; /* parts + 1 */
  int32_t *row;
} part_rows;

typedef struct part_degree {
  int blocks;
  int32_t *block; /* of the partition, ascending */
  int64_t own, ghosts, ghost_at;
  int32_t *ghost;                                  /* which simplex each ghost is */
  part_rows send[PART_KINDS], receive[PART_KINDS]; /* own rows, ghost rows; [0] is not used */
  /* Incidence of the own rows with the part's rows. */
  int32_t *face;
  int8_t *sign;
  int64_t *coptr;
  int32_t *coface;
  int8_t *cosign;
} part_degree;

typedef struct mesh_part {
  int rank, parts, degrees, block;
  part_degree at[CX_DEGREES];
  arena mem;
} mesh_part;
/* `align`: ghost_at is a multiple of it. */
dkho_status part_create(mesh_part **out, const partition *p, const incidence *m, int rank, int align);
void part_free(mesh_part *p);
/* The simplex that own row i of degree k is. */
static inline int64_t part_simplex(const mesh_part *p, int k, int64_t i) {
  return (int64_t)p->at[k].block[i / p->block] * p->block + i % p->block;
}

#endif
