/* optim_share.c: the matrices of a step over several ranks. Vectors are everybody's; the step of a matrix is taken by its owner, which
 * sends the new values. Moments, averages and bases of a matrix are kept up by its owner alone, until they are to be written down. */
#include "nn/optim_impl.h"

#include <string.h>

struct optim_share {
  comm *ranks;
  int *owner;     /* by tensor; -1: everybody */
  size_t *offset; /* ranks + 1: bytes in `message`, by owner, then in table order */
  real *message;
};

int optim_is_mine(const optim *o, int tensor) {
  return !o->share || o->share->owner[tensor] < 0 || o->share->owner[tensor] == o->share->ranks->rank;
}

/* Multiply-adds of a step, up to a factor. */
static double matrix_cost(const param *q) {
  return (double)q->count * (double)(q->rows < q->cols ? q->rows : q->cols);
}

/* The costliest matrix that has no owner, -1: none. */
static int next_matrix(const optim *o, const int *owner) {
  int best = -1;
  for (int i = 0; i < o->p->count; i++) {
    const param *q = &o->p->list[i];
    if (owner[i] >= 0 || !optim_is_matrix(&o->cfg, q)) continue;
    if (best < 0 || matrix_cost(q) > matrix_cost(&o->p->list[best])) best = i;
  }
  return best;
}

/* By falling cost, each to the rank with the least so far. */
static void choose_owners(const optim *o, int ranks, int *owner, double *load) {
  for (int i = 0; i < o->p->count; i++) owner[i] = -1;
  for (int i; (i = next_matrix(o, owner)) >= 0;) {
    int least = 0;
    for (int r = 1; r < ranks; r++)
      if (load[r] < load[least]) least = r;
    owner[i] = least;
    load[least] += matrix_cost(&o->p->list[i]);
  }
}

dkho_status optim_share_over(optim *o, comm *ranks) {
  optim_share *s;
  double *load;
  if (ranks->size == 1 || o->cfg.kind == OPTIM_ADAMW) return DKHO_OK;
  if (!ARENA_NEW(&o->mem, s, 1) || !ARENA_NEW(&o->mem, s->owner, o->p->count) ||
      !ARENA_NEW(&o->mem, s->offset, ranks->size + 1) || !ARENA_NEW(&o->mem, load, ranks->size))
    return DKHO_E_MEMORY;
  s->ranks = ranks;
  choose_owners(o, ranks->size, s->owner, load);
  for (int i = 0; i < o->p->count; i++)
    if (s->owner[i] >= 0) s->offset[s->owner[i] + 1] += (size_t)o->p->list[i].count * sizeof(real);
  for (int r = 0; r < ranks->size; r++) s->offset[r + 1] += s->offset[r];
  if (!ARENA_NEW(&o->mem, s->message, s->offset[ranks->size] / sizeof(real) + 1)) return DKHO_E_MEMORY;
  o->share = s;
  return DKHO_OK;
}

/* Between a slab and the message: what rank r owns to it, or all that others own from it. */
static void copy_owned(const optim *o, real *slab, int to_message) {
  const optim_share *s = o->share;
  for (int r = 0; r < s->ranks->size; r++) {
    real *at = s->message + s->offset[r] / sizeof(real);
    if ((r == s->ranks->rank) != to_message) continue;
    for (int i = 0; i < o->p->count; i++) {
      const param *q = &o->p->list[i];
      if (s->owner[i] != r) continue;
      memcpy(to_message ? at : slab + q->offset, to_message ? slab + q->offset : at, (size_t)q->count * sizeof *at);
      at += q->count;
    }
  }
}

dkho_status optim_exchange(const optim *o, dkho_status mine, real *slab) {
  const optim_share *s = o->share;
  if (!s) return mine;
  if (o->cfg.kind == OPTIM_SOAP) TRY(comm_agree(s->ranks, mine)); /* Muon cannot fail */
  copy_owned(o, slab, 1);
  TRY(comm_gather(s->ranks, s->offset, s->message));
  copy_owned(o, slab, 0);
  return DKHO_OK;
}

/* SOAP's averages and bases, from their owners. */
static dkho_status spread_sides(const optim *o) {
  for (int i = 0; o->sides && i < o->p->count; i++) {
    const param *q = &o->p->list[i];
    for (int k = 0; o->share->owner[i] >= 0 && k < 2; k++) {
      size_t n = (size_t)(k ? q->rows : q->cols), bytes = n * n * sizeof(double);
      TRY(comm_broadcast(o->share->ranks, o->share->owner[i], o->sides[i].cover[k], bytes));
      TRY(comm_broadcast(o->share->ranks, o->share->owner[i], o->sides[i].basis[k], bytes));
    }
  }
  return DKHO_OK;
}

dkho_status optim_unite(optim *o) {
  if (!o->share) return DKHO_OK;
  TRY(optim_exchange(o, DKHO_OK, o->m));
  TRY(optim_exchange(o, DKHO_OK, o->v));
  return spread_sides(o);
}
