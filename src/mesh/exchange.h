/* exchange.h: ghosts of a part get the values of their owners. Receives are posted first; between begin and finish the caller
 * computes what needs no ghosts. One message goes to each neighbouring part, whatever the number of fields in it. */
#ifndef MESH_EXCHANGE_H
#define MESH_EXCHANGE_H

#include "base/comm.h"
#include "base/real.h"
#include "mesh/partition.h"

/* Which ranks share a mesh, and how it is divided. */
typedef struct mesh_share {
  comm *ranks; /* borrowed */
  partition_method method;
  uint64_t seed; /* of the method */
} mesh_share;

/* Rows of one degree whose ghosts of one kind are wanted. */
typedef struct exchange_field {
  int k, kind;
  real *rows;
} exchange_field;

typedef struct exchange exchange;
/* What travels of every row. */
typedef struct exchange_shape {
  int width, stride; /* numbers of a row, and from one row to the next */
  int fields;        /* at most so many of each degree for ABOVE, and for BELOW; one for BOTH counts in both */
  int tag;           /* 0 … EXCHANGE_TAGS-1: another one for exchanges that may be under way at the same time */
} exchange_shape;
enum { EXCHANGE_TAGS = 2 };

/* Of rank p->rank among ranks; both are borrowed. */
dkho_status exchange_create(exchange **out, const mesh_part *p, comm *ranks, const exchange_shape *shape);
void exchange_free(exchange *e);
/* All parts begin and finish the same exchanges in the same order; one at a time of each object. The rows that are sent must be there; ghosts are
 * written by finish. */
dkho_status exchange_begin(exchange *e, int count, const exchange_field *field);
dkho_status exchange_finish(exchange *e); /* nothing under way: nothing happens */

#endif
