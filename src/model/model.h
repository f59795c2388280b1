/* model.h: what a model is to the rest of the library. A model is one `model_type` in a file (or folder) of its own and one line in the
 * list of model.c; training, evaluation, model files, the command line and the C API then know it.
 *
 * A model reads descriptor columns F_k (N_k × D_k) on the degrees 0 … degrees-1 and a summary g (1 × S) of the sample, and predicts
 * one field of degree q with C channels, all scaled. It is recorded on a tape for one complex at a time; its parameters belong to
 * no complex. It knows no problem. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/pool.h"
#include "base/sum_tree.h"
#include "data/features.h"
#include "model/geometry.h"
#include "model/options.h"
#include "nn/engine.h"

typedef struct model_type model_type;

/* A model with every choice made and every width known. */
typedef struct model_setup {
  const model_type *m;
  double option[OPTIONS_MAX]; /* in the order of m->option */
  dec_metric metric;          /* of the geometry it is recorded for */
  int dim, gdim;              /* of its complexes, and of the space they lie in */
  int64_t n[CX_DEGREES];      /* simplices of the first one */
  int degrees;                /* it reads degrees 0 … degrees-1 */
  int target, channels;       /* degree q and channels C of the output */
  int features[CX_DEGREES];   /* widths D_k, k < degrees */
  int summary;                /* width S of the summary; 0: none */
  int harmonic;               /* β_q of the harmonic branch, 0: no branch */
  double loss_eps;            /* the loss is ‖û - y‖ / max(‖y‖, loss_eps) */
} model_setup;

static inline double model_real(const model_setup *s, int row) {
  return s->option[row];
}
static inline int model_int(const model_setup *s, int row) {
  return (int)s->option[row];
}

/* Where a recorded model meets the world. Absent variables are VAR_NONE; `predicted` is kept. Activations that diagnostics ask for
 * carry names on the tape (tape_name). */
typedef struct model_net {
  var feature[CX_DEGREES], summary, target; /* inputs: N_k × D_k, 1 × S, N_q × C */
  var given;           /* input: N_q × C, given values (geometry_impose); VAR_NONE: there are none */
  var predicted, loss; /* N_q × C, 1 × 1 */
} model_net;

/* What a model's record function and its fast path see of one complex. Everything is borrowed. */
typedef struct model_view {
  const cx *c;
  const dec *metric;
  const geometry *g;
  const features *f;
  const struct mesh_share *
      share; /* mesh/exchange.h; fast paths: the ranks that have the complex in parts; NULL: this process has all of it */
} model_view;

/* One sample as a fast path takes it, descriptors and target already made. */
typedef struct model_sample {
  int64_t number;                  /* what messages call it */
  const real *varying[CX_DEGREES]; /* N_k × features_class_width(f, k, FEAT_CLASS_SAMPLE), row-major */
  const real *summary;             /* S, whether or not the model has a branch that reads it */
  const real *target;              /* training: N_q × C, scaled */
  const real *given;               /* training: geometry's givens × C, or periods, scaled */
  real *out;                       /* predicting: N_q × C, scaled */
} model_sample;

/* An optional hand-written way through the network, to the same results as the tape but for rounding. All its buffers are made by
 * `create`; the other calls allocate nothing. Its bits do not depend on the number of threads. */
typedef struct model_fast {
  const char *name; /* for people: "fused" */
  int (*serves)(const model_setup *s, const features *f);
  /* samples: at most so many at a time. The view and the pool are borrowed. */
  dkho_status (*create)(void **out, const model_setup *s, const params *p, const model_view *v, engine_mode mode,
                        pool *threads, int samples);
  void (*destroy)(void *fast); /* NULL is fine */
  /* The weights of the coming calls (borrowed); again after every change. */
  void (*bind)(void *fast, const real *weights);
  /* A sample's gradient in the path's own layout, `grads` reals: loss[i] ← loss of sample i, and both go to `sum` as its next leaves.
   * collect: g += the total of them, which is used up, in the layout of the parameters. */
  int64_t (*grads)(const void *fast);
  dkho_status (*gradient)(void *fast, int count, const model_sample *sample, double weight, double *loss,
                          sum_tree *sum);
  void (*collect)(void *fast, real *total, real *g);
  dkho_status (*predict)(void *fast, int count, const model_sample *sample);
  const char *(*kernels)(const void *fast); /* the instruction set */
  double (*work)(const void *fast);         /* multiply-adds of a sample: forward, or of a training step, by the mode */
  /* 1: it runs on a mesh in parts. The ranks then call create, gradient and predict together, one sample at a time; all have the
   * sample whole, all get the losses and the whole output, the first one gets the gradients and the others zeros. */
  int shares;
  int imposes; /* 1: it trains with given values (model_sample's given); 0: data with such values go by the tape */
} model_fast;

/* A named setting of options: "large" is "h=64 c=4". */
typedef struct model_size {
  const char *name, *options;
} model_size;

struct model_type {
  const char *name, *summary;          /* summary: one line */
  const model_option *option;          /* ends with an empty row */
  const model_size *size;              /* ends with an empty row; the first is the default; NULL: no sizes */
  feat_profile profile;                /* which descriptors it reads unless told otherwise */
  int harmonic;                        /* 1: it has a harmonic branch, for targets whose recipe asks for one */
  int (*degrees)(int dim, int target); /* how many degrees it reads */
  const char *(*reader)(
      const model_setup *); /* whose descriptor rows it reads, by dim, gdim and target; NULL: nobody's in particular */
  dkho_status (*check)(const model_setup *); /* widths and options that do not go together; NULL: all do */
  dkho_status (*declare)(const model_setup *s, params *p); /* adds its tensors to an empty table */
  /* Records the model for a complex. The tape's arena is the place for arrays that a recording needs. */
  dkho_status (*record)(const model_setup *s, const model_view *v, tape *t, model_net *net);
  const model_fast *fast; /* NULL: the tape alone */
};

/* The models there are, in the order in which people see them; NULL past the end. */
const model_type *model_at(int i);
dkho_status model_find(const char *name, const model_type **out); /* an unknown name is answered with those there are */
/* Adds one at run time, for tests and programs that link the internals; at most 16, never removed. */
dkho_status model_register(const model_type *m);

/* Defaults, then a size (NULL: the first), then a recipe's assignments "MODEL.key=value …" (or NULL), then "key=value" texts (NULL at
 * the end, or NULL): later ones win. */
dkho_status model_choose(model_setup *s, const model_type *m, const char *size, const char *recipe,
                         const char *const *set);
/* Refuses widths that no model could have, then asks the model. */
dkho_status model_check(const model_setup *s);
/* Declares and lays out the parameters; *out is owned by the caller. */
dkho_status model_params(const model_setup *s, params **out);
/* Records the model on a fresh tape. */
dkho_status model_record(const model_setup *s, const params *p, const model_view *v, tape **t, model_net *net);

/* [{"name", "summary", "profile", "sizes": [{"name", "options"}], "options": […]}, …]; NULL: no memory. */
json_t *model_list_json(void);

#endif
