/* optim_impl.h: the matrix steps behind optim.c. */
#ifndef NN_OPTIM_IMPL_H
#define NN_OPTIM_IMPL_H

#include "nn/optim.h"

/* Allocates what a kind keeps beside the slabs, into o->mem. */
dkho_status muon_create(optim *o);
dkho_status soap_create(optim *o);
/* The step of one matrix; factor: of clipping. */
void muon_step(const optim *o, const param *q, double lr, double factor, real *value, const real *g);
dkho_status soap_step(const optim *o, int tensor, double lr, double factor, real *value, const real *g);

#endif
