/* begin.h: the weights of a trained model to begin with. They belong to no mesh, so a model of another resolution, of other samples or of an
 * earlier run will do, as long as the network is the same. */
#ifndef RUN_BEGIN_H
#define RUN_BEGIN_H

#include "run/operator.h"

/* The model file `path`, or the selected model of the run directory `path`. */
dkho_status begin_open(st_file **out, const char *path);
/* value ← the file's weights. Both must have the same tensors with the same shapes: the first that differs is named. */
dkho_status begin_weights(const st_file *f, const params *p, real *value);

#endif
