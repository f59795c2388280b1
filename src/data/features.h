/* features.h: input descriptors. A table says, row by row and in column order, what each degree of a model sees; it is
 * text, so a data set and a saved model carry it. Rows are expressions over named fields: targets have no name here, so
 * nothing can leak from them.
 *
 * Expressions (docs/FORMATS.md), k the degree of the argument e, ch its channels:
 *   NAME                 an input cochain, scaled; or a static array
 *   columns(S, i, n)     columns i … i+n-1 of static S
 *   modes(S)             the first `modes` columns of static S
 *   d(e)  dt(e)          d_k e and d_{k-1}ᵀ e, bare incidence
 *   mean(e, j)           mean of vertex field e over the vertices of each j-simplex
 *   integral(e, j)       measure × mean(e, j)
 *   flux(e, S)           ½(e_tail + e_head)·S on edges, e on vertices, S a static edge field with one channel
 *   heat(e, a, n1, …)    v ← v - a d0ᵀd0 v from v = e; the states after n1 < n2 < … steps, ch each
 *   lift(G, S)           Σ_j G_j S_j: globals onto the indicator columns of static S
 *   zero(j, n)           n columns of zeros of degree j
 *   around(e)            mean over the k-simplices at each vertex
 *   unit(S)              columns of static S less their mean, over their standard deviation + 1e-6
 *   broadcast(s1, …)     summary entries, the same number on every simplex (a row's whole expression only)
 *   for(READER, e)       the row e for models that read as READER, a free name (a row's whole expression only)
 * Summary entries, one row of numbers per sample; w is a static weight with one channel or the number 1 (equal weights),
 * normalised to sum 1; add and floor may be left out (0):
 *   value(G)             the values of global field G, scaled
 *   average(e, w)        Σ w e
 *   moment(e, w, S)      Σ w e S_j for each column of S
 *   rms(e, w, add, floor)          √max(Σ w e² + add, floor)
 *   centred_rms(e, w, add, floor)  the same of e - Σ w e */
#ifndef DATA_FEATURES_H
#define DATA_FEATURES_H

#include "base/real.h"
#include "data/field.h"

typedef enum { FEAT_NATIVE, FEAT_BOUNDARY, FEAT_SPECTRAL, FEAT_DIFFUSION, FEAT_SUMMARY, FEAT_GROUPS } feat_group;
const char *feat_group_name(feat_group g); /* "native", "boundary", "spectral", "diffusion", "summary" */

/* Profiles are cumulative: a profile holds its group and all before it. Names: "native", "boundary", "spectral",
 * "diffusion_spectral", "conditioned". */
typedef feat_group feat_profile;
const char *feat_profile_name(feat_profile p);
dkho_status feat_profile_parse(const char *name, feat_profile *out);

typedef struct feat_row {
  const char *name; /* for people: "source gradient" */
  int degree;
  feat_group group;
  const char *expr;
} feat_row;
typedef struct feat_summary {
  const char *name; /* an identifier, for broadcast() */
  const char *expr;
} feat_summary;
/* Columns of degree k are the rows of that degree in table order, kept or dropped whole by the profile. The summary is
 * always computed: output heads read it under every profile. Pointers borrowed. */
typedef struct feat_table {
  int rows, summaries;
  const feat_row *row;
  const feat_summary *summary;
} feat_table;

/* Readers: on a degree where a table has rows for(READER, …), a model of that reader sees those rows alone; on other degrees, and
 * without a reader (NULL), it sees the rows that are for nobody in particular. */

/* Checks every expression against the fields (unknown names, degrees, channels, targets) without any data. `dim` is
 * the complex's. The text names the row. */
dkho_status feat_check(const feat_table *t, int dim, int fields, const data_field *field);

/* Columns per degree and the width of the summary under a profile, without any data. */
dkho_status feat_widths(const feat_table *t, int dim, int fields, const data_field *field, feat_profile profile,
                        int modes, int width[CX_DEGREES], int *summary);
dkho_status feat_widths_for(const feat_table *t, const char *reader, int dim, int fields, const data_field *field,
                            feat_profile profile, int modes, int width[CX_DEGREES], int *summary);

/* The usual descriptors for a user's own data, put together from the fields that are there (degrees 0 … top): inputs as
 * values, and as differences or integrals on the other degrees, vertex inputs as means there too; globals everywhere; statics on their own degree, and
 * vertex statics as means on the others. Names that mean something: spectral{k} (spectral group, by modes), distance{k}
 * (boundary group), weight (vertex weights of the summary) and position0 (its moments). heat_step is a in heat(); 0
 * leaves the diffusion group empty. Text is taken from `mem`. */
dkho_status feat_generic(feat_table *out, arena *mem, int top, double heat_step, int fields, const data_field *field);

/* A table compiled for one complex. Immutable once made: share it between threads. */
typedef struct features features;

typedef enum {
  FEAT_CLASS_STATIC, /* known once per complex */
  FEAT_CLASS_SAMPLE, /* one number per simplex and sample */
  FEAT_CLASS_GLOBAL, /* one number per sample: summary[slot] on every simplex */
  FEAT_CLASSES
} feat_class;
typedef struct feat_column {
  int row;        /* of the table */
  feat_class cls; /* where its values are: */
  int slot;       /* column of the static or of the compact sample array, or index into the summary */
} feat_column;

/* field: all fields of the data set in its order. array[i] (n[degree] × channels, row-major) for statics, else NULL;
 * read here and not kept. `modes` serves modes(); a static with fewer columns is refused. c is borrowed. */
dkho_status features_create(features **out, const feat_table *t, const cx *c, int fields, const data_field *field,
                            const double *const *array, feat_profile profile, int modes);
dkho_status features_create_for(features **out, const feat_table *t, const char *reader, const cx *c, int fields,
                                const data_field *field, const double *const *array, feat_profile profile, int modes);
void features_free(features *f);

int features_top(const features *f);                               /* highest degree with a column, at least 0 */
int features_width(const features *f, int k);                      /* columns of degree k under this profile */
const feat_column *features_columns(const features *f, int k);     /* features_width of them, in order */
int features_class_width(const features *f, int k, feat_class cl); /* how many of a class (distinct slots for static
                                                                     and sample) */
int features_summary_width(const features *f);
const real *features_static(const features *f, int k); /* n[k] × class width, row-major, borrowed */

/* One sample. in[i] (n × channels floats) and global[i] (channels doubles) are raw, unscaled values of the i-th INPUT
 * and the i-th GLOBAL field, in field order. work: features_work_size reals, uninitialised, one per thread. summary:
 * features_summary_width. Nothing is allocated; the bits depend on the arguments alone. */
size_t features_work_size(const features *f);
/* out[k]: n[k] × features_width, k = 0 … top; NULL: not wanted. */
void features_eval(const features *f, const float *const *in, const double *const *global, real *work, real *const *out,
                   real *summary);
/* sample[k]: n[k] × class width of FEAT_CLASS_SAMPLE, without the static and the global columns. */
void features_eval_sample(const features *f, const float *const *in, const double *const *global, real *work,
                          real *const *sample, real *summary);

#endif
