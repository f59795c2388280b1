/* groups.h: the ranks of a job in groups of P: ranks gP … gP + P-1 have every mesh together, in parts, and those with the same place in
 * their groups share the samples. */
#ifndef RUN_GROUPS_H
#define RUN_GROUPS_H

#include "mesh/exchange.h"

typedef struct rank_groups {
  comm *samples;    /* that share the samples: all ranks, or one of every group */
  mesh_share share; /* the group of this rank; ranks NULL: everybody has whole meshes */
} rank_groups;

/* P as DKHO_PARTS says, 1 without it: a matter of the job, not of a run. */
dkho_status groups_wanted(int *parts);
/* Of the ranks of `all`, borrowed; P a divisor of their number. groups_free is due whether or not it succeeds. */
dkho_status groups_form(rank_groups *g, comm *all, int parts);
void groups_free(rank_groups *g);

/* What an operator is told; NULL: whole meshes. */
static inline const mesh_share *groups_share(const rank_groups *g) {
  return g->share.ranks ? &g->share : NULL;
}

#endif
