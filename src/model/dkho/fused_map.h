/* fused_map.h: the network up to the decoder's output ũ on the fused kernels (fused.h); the tape of dkho_record_tail does
 * the rest. The composed tape of dkho_record stays the definition. */
#ifndef MODEL_DKHO_FUSED_MAP_H
#define MODEL_DKHO_FUSED_MAP_H

#include "data/features.h"
#include "model/dkho/fused.h"
#include "model/dkho/dkho.h"
#include "model/model.h"

enum { DKHO_FUSED_GLOBALS = 256 }; /* broadcast entries at most */

/* 1 when the kernels serve this configuration and these descriptors: every variant from every start, but for a lag_scale of 0; exchange
 * and spectral with coupled phases or without a relation; no latent tokens; every sample column with a slot of its own, one list of broadcast summary entries for all degrees. */
int dkho_fused_serves(const dkho_config *cfg, const features *f);
/* The view's metric NULL: unit. Everything is copied. */
dkho_status dkho_fused_create(fused **out, const kern *k, const dkho_config *cfg, const params *p, const model_view *v);
/* The broadcast summary entries in the order fused_sample.global wants; returns their number. slot: DKHO_FUSED_GLOBALS ints. */
int dkho_fused_globals(const dkho_config *cfg, const features *f, int *slot);

#endif
