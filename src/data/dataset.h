/* dataset.h: a data set: one or several complexes, named cochains on them sample by sample, globals, splits, scaling,
 * harmonic bases, descriptors and recipes, in one container file (docs/FORMATS.md, "Data set"). */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "base/comm.h"
#include "data/features.h"
#include "data/known.h"

typedef enum { DATA_TRAIN, DATA_VAL, DATA_TEST, DATA_SPLITS } data_split;
const char *data_split_name(data_split s); /* "train", "val", "test" */

/* What training takes by default for one target. */
typedef struct data_recipe {
  const char *target;  /* name of a target field */
  const char *options; /* of models where the target wants others than the default: "MODEL.key=value …" */
  double lr, weight_decay;
  double loss_eps; /* floor of Σy² in the loss */
  int epochs, batch;
  int modes;           /* columns of the spectral encodings */
  int harmonic;        /* 1: the harmonic head reads "harmonic{degree of target}" */
  const char *metrics; /* a list of metrics: "generic", …, or a benchmark's name, which stands for one */
} data_recipe;

/* The list that a recipe's `metrics` stands for: what the benchmark of this name is judged by, or the text itself. Implemented in
 * src/problem, which alone knows names. */
const char *data_metrics_definition(const char *name);

typedef struct data_info {
  const char *problem;   /* the benchmark's name, or the user's for it */
  const char *generator; /* what made it: "dkho data", "dkho import" */
  uint64_t seed;
  const char *params; /* a JSON object, as text: whatever is needed to make it again */
} data_info;

/* Writing. Everything is declared, then samples are appended in order, then commit. Blocks are kept in nameless files
 * beside the target; the target appears whole, at commit, or not at all. Arguments are copied, but complexes are
 * borrowed until the end. After a failure only dataset_abort may follow. */
typedef struct dataset_writer dataset_writer;
dkho_status dataset_create(dataset_writer **out, const char *path, int force, const data_info *info);
/* The same file by all ranks of a job, on one complex. They declare the same and go through the same samples: each appends those that it has
 * made and skips those of others. Commit is collective; every rank puts its samples in place, and when all have reported that, the first one
 * names the file. */
dkho_status dataset_create_shared(dataset_writer **out, const char *path, int force, const data_info *info,
                                  comm *ranks);
dkho_status dataset_skip(dataset_writer *w, int64_t count, int rank);
dkho_status dataset_put_cx(dataset_writer *w, const cx *c); /* complexes are numbered as they come */
dkho_status dataset_put_field(dataset_writer *w, const data_field *f);
/* Values of a static field on a complex: n[degree] × channels, row-major. Every static needs one per complex. */
dkho_status dataset_put_static(dataset_writer *w, int ci, const char *name, const double *data);
/* Basis of ker Δ_degree on a complex: column-major n[degree] × count, orthonormal in the unit metric. */
dkho_status dataset_put_harmonic(dataset_writer *w, int ci, int degree, int64_t count, const double *columns);
dkho_status dataset_put_table(dataset_writer *w, const feat_table *t);
dkho_status dataset_put_recipe(dataset_writer *w, const data_recipe *r);
/* Given values of a target, before the first sample; those appended must agree with them. */
dkho_status dataset_put_known(dataset_writer *w, const data_known *k);
/* The next `count` samples, all on one complex; complexes in ascending order. block[i] belongs to the i-th field that
 * is not static: floats [count, n, channels] for inputs and targets, doubles [count, channels] for globals. Values that
 * are not finite are refused. */
dkho_status dataset_append(dataset_writer *w, int ci, int64_t count, const void *const *block);
/* Splits: either one permutation of all samples from (seed, RNG_SPLIT), cut train | val | test, each sorted; or explicit
 * lists, sorted here. Sizes may leave samples unused; train must not be empty. */
dkho_status dataset_split_random(dataset_writer *w, uint64_t seed, int64_t train, int64_t val, int64_t test);
dkho_status dataset_split_list(dataset_writer *w, data_split s, int64_t count, const int64_t *sample);
/* Finds the scaling numbers (in double, in sample order), checks everything, writes. Frees w whether or not it
 * succeeds. */
dkho_status dataset_commit(dataset_writer *w);
void dataset_abort(dataset_writer *w); /* NULL is fine */

/* Reading: the file is mapped; values are views into it. Immutable once open: share it between threads. */
typedef struct dataset dataset;
dkho_status dataset_open(dataset **out, const char *path);
void dataset_free(dataset *d);

const st_file *dataset_file(const dataset *d);
const data_info *dataset_info(const dataset *d);
const char *dataset_mesh_hash(const dataset *d, int ci); /* 32 hex digits */
/* The identity of a complex: its coordinates and its top simplices. */
void data_mesh_hash(const cx *c, char hex[33]);
int dataset_complexes(const dataset *d);
int64_t dataset_count(const dataset *d, int ci, int k); /* N_k of a complex */
int dataset_dim(const dataset *d);                      /* of all its complexes */
/* Only the first complex (ci 0) stays in memory; dataset_load_cx reads any of them anew, owned by the caller. */
const cx *dataset_cx(const dataset *d, int ci);
dkho_status dataset_load_cx(const dataset *d, int ci, cx **out);
int64_t dataset_samples(const dataset *d);
void dataset_locate(const dataset *d, int64_t sample, int *ci, int64_t *row);

int dataset_fields(const dataset *d);
const data_field *dataset_field(const dataset *d);    /* all of them, in order */
int dataset_find(const dataset *d, const char *name); /* index, or -1 */
/* The target of this name; an error that lists the targets when there is none. */
dkho_status dataset_need_target(const dataset *d, const char *name, int *field);
const float *dataset_value(const dataset *d, int field, int64_t sample);   /* input, target: n × channels, unscaled */
const double *dataset_global(const dataset *d, int field, int64_t sample); /* channels, unscaled */
const double *dataset_static(const dataset *d, int field, int ci);         /* n × channels */
/* Whether the inputs of these samples, and this target of them (-1: none), are finite; the error names file, field, sample and
 * element. A field of a sample is looked at once, the answer is remembered: prove samples where work on them begins. (Globals,
 * statics and bases are proven when the data set is opened.) */
dkho_status dataset_prove(const dataset *d, int target, int64_t count, const int64_t *sample);
dkho_status dataset_prove_value(const dataset *d, int field, int64_t sample); /* one field of role input or target */
/* in[] and global[] of one sample, as features_eval wants them; either may be NULL. */
void dataset_inputs(const dataset *d, int64_t sample, const float **in, const double **global);
/* Says that the inputs of a sample and this target of it will be read soon: the system may fetch them meanwhile. */
void dataset_prefetch(const dataset *d, int target, int64_t sample);
int dataset_role_count(const dataset *d, data_role r);
/* Row-major n[degree] × *count, or NULL with *count 0 when the data set holds none. */
const double *dataset_harmonic(const dataset *d, int ci, int degree, int64_t *count);

const int64_t *dataset_split(const dataset *d, data_split s, int64_t *count); /* ascending */
const feat_table *dataset_table(const dataset *d);
const data_recipe *dataset_recipe(const dataset *d, const char *target); /* NULL when there is none */
json_t *dataset_known_json(const dataset *d);                            /* as in its file; NULL: no memory */
/* The rows of a target whose values are given, on a complex; to be freed by known_free. */
dkho_status dataset_known(const dataset *d, int target, int ci, known_rows *out);

/* The descriptors compiled for the first complex. */
dkho_status dataset_features(features **out, const dataset *d, feat_profile profile, int modes);

#endif
