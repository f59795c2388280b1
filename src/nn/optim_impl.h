/* optim_impl.h: the matrix steps behind optim.c. */
#ifndef NN_OPTIM_IMPL_H
#define NN_OPTIM_IMPL_H

#include "nn/optim.h"

/* Allocates what a kind keeps beside the slabs, into o->mem, and sets room_each. */
dkho_status muon_create(optim *o);
dkho_status soap_create(optim *o);

/* Whether the step of a tensor is taken here. */
int optim_is_mine(const optim *o, int tensor);
/* The matrices of a slab from their owners to all; mine: how this rank's part of the step went. */
dkho_status optim_exchange(const optim *o, dkho_status mine, real *slab);

/* A step that is being taken; factor: of clipping. */
typedef struct optim_stride {
  const optim *o;
  double lr, factor;
  real *value;
  const real *g;
} optim_stride;
/* The step of one matrix; room: o->room_each doubles. */
void muon_step(const optim_stride *s, const param *q, double *room);
dkho_status soap_step(const optim_stride *s, int tensor, double *room);

#endif
