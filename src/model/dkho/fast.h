/* fast.h: DKHO behind model.h. */
#ifndef MODEL_DKHO_FAST_H
#define MODEL_DKHO_FAST_H

#include "model/dkho/dkho.h"
#include "model/model.h"

dkho_config dkho_config_of(const model_setup *s);
extern const model_fast dkho_fast;

#endif
