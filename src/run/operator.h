/* operator.h: a solution operator: a model with everything that belongs to it: which fields it reads (descriptors, scaling), the
 * complexes it lives on, and its weights. Made fresh for a data set, or loaded from a model file. A model file is self-contained, or
 * packed: then a benchmark makes its complex, statics and bases again when it is loaded. Knows no particular model. */
#ifndef RUN_OPERATOR_H
#define RUN_OPERATOR_H

#include "data/dataset.h"
#include "data/spec.h"
#include "model/model.h"
#include "run/packed.h"

#include <pthread.h>

/* A complex as the operator sees it: calculus, geometry, descriptors and the recorded model, but no buffers. Made on demand, kept in
 * a small cache; whoever holds one lets it go with operator_release. */
typedef struct complex_view {
  int complex; /* its number */
  const cx *c; /* the data set's, or own */
  cx *own;     /* made here, or NULL */
  dec *metric; /* owned, as all below */
  geometry *g;
  features *f;
  known_rows known; /* given values of the target */
  tape *t;
  model_net net;
  int holders;   /* of the cache: not let go while > 0 */
  uint64_t used; /* of the cache: when it was last asked for */
  struct complex_view *next;
} complex_view;

typedef struct neural_operator {
  data_spec spec; /* of the data set it was made for */
  const char *spec_text;
  int target; /* field */
  model_setup setup;
  feat_profile profile;
  int modes;
  int harmonic;              /* 1: the model's harmonic branch is wanted */
  int complexes;             /* how many it lives on */
  const complex_view *first; /* of complex 0, always there */
  params *p;
  real *value;                    /* the weights, owned */
  const dataset *d;               /* borrowed, or NULL when loaded from a model file */
  const st_file *source;          /* complexes and statics are copied from here when saving */
  st_file *own_source;            /* set when loaded from a model file */
  packed_geometry packed;         /* set when that was packed */
  const struct mesh_share *share; /* set by whoever runs it on a mesh in parts, borrowed; NULL: whole */
  char *training;                 /* JSON object: how it was trained; "{}" when it was not */
  struct {
    pthread_mutex_t lock;
    complex_view *first;
    uint64_t clock;
  } cache;
  arena mem;
} neural_operator;

/* How to make one; resolved from dkho_train_options and the data set's recipe by run/config.c. */
typedef struct operator_request {
  int target;        /* field of the data set */
  model_setup setup; /* model, options, metric, loss_eps; the rest is filled in here */
  feat_profile profile;
  int modes, harmonic; /* harmonic: 1 asks for the harmonic branch where β > 0 */
  uint64_t seed;
} operator_request;

/* The data set is borrowed and must outlive the operator. */
dkho_status operator_create(neural_operator **out, const dataset *d, const operator_request *r);
/* maker NULL: packed files are refused. */
dkho_status operator_load(neural_operator **out, const char *path, packed_maker maker);
void operator_free(neural_operator *o);
/* weights NULL: o->value. */
dkho_status operator_save(const neural_operator *o, const real *weights, const char *path, int force);
/* A packed file of an operator on one complex, which was loaded from a self-contained one. training: its JSON object. */
dkho_status operator_pack(const neural_operator *o, const char *training, const char *path, int force);
/* How the operator of a model file was asked for, but for its target field and seed. Files of version 0.1.0 hold the options beside the rest. */
dkho_status operator_asked(const st_file *f, operator_request *out);
/* Refuses a data set whose complexes or fields are not the operator's. */
dkho_status operator_matches(const neural_operator *o, const dataset *d);

/* The view of a complex, made if need be, and held until operator_release (NULL is fine). May be called from any thread. */
dkho_status operator_hold(const neural_operator *o, int complex, const complex_view **out);
void operator_release(const neural_operator *o, const complex_view *v);

const data_field *operator_target(const neural_operator *o);
/* Numbers of an output field on a complex: N_q · C. */
int64_t operator_extent(const neural_operator *o, const complex_view *v);
/* The given values of a sample, scaled as its target is: one row after the other, or its periods' coefficients (spread 0); or each in
 * its place of a field whose other rows are zero, or the field that has those coefficients (spread 1). */
void operator_given(const neural_operator *o, const complex_view *v, const float *const *in,
                    const double *const *global, int spread, real *out);

/* What decides the number of parameters, known without a complex or arrays. All borrowed. */
typedef struct operator_place {
  int dim, gdim;
  const int64_t *n, *betti; /* by degree */
  int fields;
  const data_field *field;
  const feat_table *table;
} operator_place;
/* Parameters of the operator that a request gives there: a complex weight counted once, and as two reals. */
dkho_status operator_count(const operator_request *r, const operator_place *at, const char *target, int64_t *count,
                           int64_t *reals);

#endif
