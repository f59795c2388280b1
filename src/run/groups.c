/* groups.c: see groups.h. */
#include "run/groups.h"

#include <stdlib.h>

dkho_status groups_wanted(int *parts) {
  const char *text = getenv("DKHO_PARTS");
  char *end;
  *parts = 1;
  if (!text || !*text) return DKHO_OK;
  long value = strtol(text, &end, 10);
  if (*end || value < 1 || value > 65536)
    return fail(DKHO_E_INPUT, "DKHO_PARTS: found '%.40s', expected a number of ranks from 1 to 65,536", text);
  *parts = (int)value;
  return DKHO_OK;
}

dkho_status groups_form(rank_groups *g, comm *all, int parts) {
  *g = (rank_groups){.samples = all};
  if (parts <= 1) return DKHO_OK;
  if (all->size % parts)
    return fail(DKHO_E_INPUT, "parts: found %d, expected a divisor of the number of ranks, %d (mpirun -n)", parts,
                all->size);
  TRY(comm_split(all, all->rank / parts, all->rank, &g->share.ranks));
  dkho_status s = comm_split(all, all->rank % parts, all->rank, &g->samples);
  if (s == DKHO_OK) return s;
  comm_free(g->share.ranks);
  *g = (rank_groups){.samples = all};
  return s;
}

void groups_free(rank_groups *g) {
  if (g->share.ranks) comm_free(g->share.ranks), comm_free(g->samples);
  *g = (rank_groups){0};
}
