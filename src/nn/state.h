/* state.h: slabs and the optimiser as parts of a container, for weights and checkpoints.
 *
 * A slab becomes one tensor per parameter or state, "PREFIXname", with the parameter's shape; so weights (prefix "") can be read by
 * name anywhere. Numbers are those of `real`: a float build refuses a double file, so a round trip keeps the bits. The
 * caller declares all parts, in the order in which it then writes them. */
#ifndef NN_STATE_H
#define NN_STATE_H

#include "base/st.h"
#include "nn/optim.h"

dkho_status state_declare(st_writer *w, const params *p, const char *prefix);
dkho_status state_write(st_writer *w, const params *p, const real *slab);
/* Whether every tensor is there with its shape, all its numbers finite. */
dkho_status state_check(const st_file *f, const params *p, const char *prefix);
/* Every tensor must be there with its shape, all its numbers finite. The slab is untouched on failure. */
dkho_status state_read(const st_file *f, const params *p, const char *prefix, real *slab);

/* Moments "adam.m.", "adam.v." (of every optimiser), average "average." if there is one, SOAP's "soap.cover{0,1}." and
 * "soap.basis{0,1}.", and the number of steps "adam.step". */
dkho_status state_declare_optim(st_writer *w, const optim *o);
dkho_status state_write_optim(st_writer *w, const optim *o);
dkho_status state_read_optim(const st_file *f, optim *o);

#endif
