/* oper.h: an operator: a model with everything that belongs to it: what it eats (fields, descriptors, scaling), where it lives
 * (one site per complex), and its weights. Made fresh for a data set, or loaded from a model file. A model
 * file is self-contained, or packed: then a benchmark makes its complex, statics and bases again when it is loaded.
 * Knows the dkho model; other models will come in beside it here. */
#ifndef RUN_OPER_H
#define RUN_OPER_H

#include "data/spec.h"
#include "model/dkho/dkho.h"
#include "nn/engine.h"
#include "run/parts.h"

/* A complex with the model recorded for it. */
typedef struct site {
  cx *own; /* loaded here, or NULL when the data set owns it */
  const cx *c;
  dec *metric;
  geometry *g;
  features *f;
  tape *t;
  dkho_net net;
} site;

typedef struct oper {
  data_spec spec; /* of the data set it was made for */
  const char *spec_text;
  int target; /* field */
  dkho_config cfg;
  feat_profile profile;
  int modes;
  int sites;
  site *site;
  params *p;
  real *value;           /* the weights, owned */
  const st_file *source; /* complexes and statics are copied from here when saving */
  st_file *own_source;   /* set when loaded from a model file */
  oper_parts parts;      /* set when that was packed; the complex has gone to site 0 */
  char *training;        /* JSON object: how it was trained; "{}" when it was not */
  arena mem;
} oper;

/* How to make one; resolved from dkho_train_options and the data set's recipe by run/config.c. */
typedef struct oper_request {
  int target;      /* field of the data set */
  dkho_config cfg; /* sizes, tau, lag, variant, start, metric, loss_eps; the rest is filled in here */
  feat_profile profile;
  int modes, harmonic; /* harmonic: 1 asks for the harmonic branch where β > 0 */
  uint64_t seed;
} oper_request;

/* The data set is borrowed and must outlive the operator. */
dkho_status oper_create(oper **out, const dataset *d, const oper_request *r);
/* maker NULL: packed files are refused. */
dkho_status oper_load(oper **out, const char *path, oper_maker maker);
void oper_free(oper *o);
/* weights NULL: o->value. */
dkho_status oper_save(const oper *o, const real *weights, const char *path, int force);
/* A packed file of an operator on one complex, which was loaded from a self-contained one. training: its JSON object. */
dkho_status oper_pack(const oper *o, const char *training, const char *path, int force);
/* Refuses a data set whose complexes or fields are not the operator's. */
dkho_status oper_matches(const oper *o, const dataset *d);

/* Number of parameters of the operator that a request gives on a complex of dimension dim with these Betti numbers, found
 * without a complex or arrays. */
dkho_status oper_count(const oper_request *r, int dim, int fields, const data_field *field, const feat_table *table,
                       const char *target, const int64_t betti[CX_DEGREES], int64_t *count);

#endif
