/* dkho.h: the one public header of libdkho.
 *
 * Learn solution operators of PDEs on simplicial complexes. Plain C types, opaque handles, status codes. The library
 * never prints, exits or aborts: it reports through the report sink (dkho_report_set) and the last-error text
 * (dkho_error). Handles are freed by their _free call, which accepts NULL. */
#ifndef DKHO_H
#define DKHO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DKHO_API __attribute__((visibility("default")))
#else
#define DKHO_API
#endif

/* Status codes and their texts, in one list. */
#define DKHO_STATUS_LIST(X)                                                                                            \
  X(DKHO_OK, "ok")                                                                                                     \
  X(DKHO_E_INPUT, "invalid argument or input")                                                                         \
  X(DKHO_E_FORMAT, "malformed file")                                                                                   \
  X(DKHO_E_IO, "file system error")                                                                                    \
  X(DKHO_E_EXISTS, "target exists already")                                                                            \
  X(DKHO_E_MEMORY, "out of memory")                                                                                    \
  X(DKHO_E_NOCONV, "a solver did not converge")                                                                        \
  X(DKHO_E_NONFINITE, "a value is not finite")                                                                         \
  X(DKHO_E_STOPPED, "stopped on request")                                                                              \
  X(DKHO_E_INTERNAL, "internal inconsistency")

typedef enum {
#define DKHO_X(code, text) code,
  DKHO_STATUS_LIST(DKHO_X)
#undef DKHO_X
} dkho_status;

DKHO_API const char *dkho_version(void);
DKHO_API const char *dkho_status_text(dkho_status status);
/* What went wrong in the last failed call of this thread: one line naming file, field, found and expected. */
DKHO_API const char *dkho_error(void);

/* Where the library reports. Any member may be NULL; a NULL sink (the default) is silence. Called from the thread that
 * made the library call. `total` is 0 when unknown; `done == total` ends a meter. `note` is a short live text
 * ("loss 0.0123"), possibly empty. */
typedef struct dkho_report {
  void *user;
  void (*log)(void *user, const char *line);
  void (*progress)(void *user, const char *label, uint64_t done, uint64_t total, const char *note);
} dkho_report;
DKHO_API void dkho_report_set(const dkho_report *sink);

/* Text handed out by the library (JSON descriptions) is freed with this; NULL is fine. */
DKHO_API void dkho_text_free(char *text);
/* What a file is and holds, as one JSON object: a complex, a data set, a model, a checkpoint, a run directory, or a mesh
 * file in a foreign format (imported for the purpose). */
DKHO_API dkho_status dkho_describe(const char *path, char **json);

/* ---- Several processes ----------------------------------------------------------------------------------------------
 * The ranks of an MPI job share the work of training, evaluation and data generation; every rank makes the same calls, rank 0
 * writes the files. The result has the same bits as that of one process. The library does not link MPI: a module, libdkho-mpi.so, is
 * loaded when it is needed. A program that runs MPI itself hands over its communicator by dkho_mpi.h. With DKHO_PARTS=P in the environment
 * P ranks also share the mesh of every sample in training, dkho_evaluate, dkho_compatibility, dkho_predict_file and dkho_predict_arrays; in the
 * latter two P is the number of all ranks, which then make the call together. */
/* Joins the other ranks when an MPI launcher (mpirun, srun) started the program, or in any case if `wanted`; otherwise does nothing.
 * DKHO_MPI=0 in the environment: processes stay on their own. */
DKHO_API dkho_status dkho_ranks_start(int wanted);
/* See dkho_mpi_use in dkho_mpi.h. */
DKHO_API dkho_status dkho_ranks_use(const void *communicator, size_t size, const char *library);
DKHO_API void dkho_ranks_stop(void); /* leaves them; once, at the end */
/* Ends the job on all ranks with this message. For a rank that cannot go on while others wait. Returns where there is one rank. */
DKHO_API void dkho_ranks_abort(const char *text);
DKHO_API int dkho_rank(void);
DKHO_API int dkho_ranks(void);                 /* 1 without MPI */
DKHO_API const char *dkho_ranks_library(void); /* "serial", or the MPI library */

/* ---- Complexes ------------------------------------------------------------------------------------------------------
 * An oriented simplicial complex of degrees 0 … dim (dim ≤ 3) with vertex coordinates. Edges run from the smaller to the
 * larger vertex number; top simplices keep the orientation they came with. A handle may be read from many threads. */
typedef struct dkho_complex dkho_complex;

/* The domain of a benchmark of dkho_problem_list; resolution "main" (NULL) or "smoke", some also "coarse", "medium", "fine". */
DKHO_API dkho_status dkho_complex_generate(dkho_complex **out, const char *name, const char *resolution);
/* [-half, half]² minus disjoint round holes {x, y, radius}; triangle size h_near within `near` of a hole, h_far beyond
 * `far`. interior > 0 asks for exactly that many interior vertices, 0 lets the size field decide. */
DKHO_API dkho_status dkho_complex_planar(dkho_complex **out, double half, int holes, const double (*hole)[3],
                                         double h_near, double h_far, double near, double far, int64_t interior);
/* A torus about z: a periodic nu × nv grid on the radii, each quad cut in two. */
DKHO_API dkho_status dkho_complex_torus(dkho_complex **out, double major, double minor, int nu, int nv);
/* From arrays: n0 points of gdim (2 or 3) coordinates, `tops` simplices of dim+1 vertices. All is copied. Simplices between points and
 * tops are numbered in lexicographic order of their vertices, as in meshes read from files. (The benchmarks' surfaces keep an
 * order of their own, in which edges are met walking the triangles.) */
DKHO_API dkho_status dkho_complex_build(dkho_complex **out, int gdim, int64_t n0, const double *x, int dim,
                                        int64_t tops, const int32_t *top);
/* From a file: a complex or data set of ours, or a mesh file (docs/FORMATS.md lists the formats). */
DKHO_API dkho_status dkho_complex_read(dkho_complex **out, const char *path);
/* The same for a mesh file that needs repair. The log and dkho_complex_describe ("import") say what was done. */
typedef struct dkho_import_options {
  int repair;       /* drop elements without extent, which otherwise refuse the file */
  int merge;        /* merge points at most `tolerance` apart; tolerance 0: at exactly the same place */
  double tolerance; /* in the file's unit of length */
} dkho_import_options;
DKHO_API dkho_status dkho_complex_import(dkho_complex **out, const char *path, const dkho_import_options *options);
/* Where the simplices of a complex read from a mesh file came from: for k = 0 the file's point of each vertex, for k = dim the
 * file's element of each top simplex (counted among those of its dimension), from 0; NULL for other k and other complexes. */
DKHO_API const int32_t *dkho_complex_origin(const dkho_complex *c, int k);
/* Finds the `modes` lowest eigenvectors and the harmonic fields of the degrees up to 2 (unit metric) and keeps them with the
 * complex: they are saved and read with it, and importing data on the file does not look for them again. */
DKHO_API dkho_status dkho_complex_bases(dkho_complex *c, int modes);
DKHO_API dkho_status dkho_complex_save(const dkho_complex *c, const char *path, int force);
DKHO_API void dkho_complex_free(dkho_complex *c);

DKHO_API int dkho_complex_dim(const dkho_complex *c);
DKHO_API int dkho_complex_space(const dkho_complex *c);                      /* coordinates per point */
DKHO_API int64_t dkho_complex_count(const dkho_complex *c, int k);           /* N_k; 0 above dim */
DKHO_API const double *dkho_complex_points(const dkho_complex *c);           /* N_0 × space, borrowed */
DKHO_API const int32_t *dkho_complex_vertices(const dkho_complex *c, int k); /* N_k × (k+1), borrowed; NULL for k = 0 */
DKHO_API const int32_t *dkho_complex_faces(const dkho_complex *c, int k);    /* N_k × (k+1) simplices of degree k-1 */
DKHO_API const int8_t *dkho_complex_signs(const dkho_complex *c, int k);     /* their signs in d_{k-1} */
DKHO_API const double *dkho_complex_measures(const dkho_complex *c,
                                             int k);                       /* lengths, areas, volumes; NULL for k = 0 */
DKHO_API const int32_t *dkho_complex_labels(const dkho_complex *c, int k); /* N_k label numbers, or NULL */
DKHO_API const char *dkho_complex_label_name(const dkho_complex *c, int label); /* NULL out of range */
/* Betti numbers over the rationals, exact; relative: of the pair (complex, boundary). */
DKHO_API dkho_status dkho_complex_betti(const dkho_complex *c, int relative, int64_t betti[4]);
/* Counts, topology, quality as JSON: {"kind":"complex","simplices":[…],"betti":[…],"betti_relative":[…],…}. */
DKHO_API dkho_status dkho_complex_describe(const dkho_complex *c, char **json);

/* A field on the k-simplices: N_k × channels doubles. */
typedef struct dkho_field {
  const char *name;
  int degree, channels;
  const double *data;
} dkho_field;
/* For ParaView, every field on its own simplices, 1-cochains also as Whitney vectors. NAME.vtm: a block per degree (vertices, edges, faces,
 * cells), .vtu files in the folder NAME. Any other name: one .vtu grid of all simplices, where fields are NaN on other degrees. */
DKHO_API dkho_status dkho_complex_export(const dkho_complex *c, const char *path, int force, int fields,
                                         const dkho_field *field);

/* ---- Exterior calculus ----------------------------------------------------------------------------------------------
 * d, its adjoint δ, the Hodge Laplacian, harmonic fields, spectra, for one metric. Fields are row-major N_k × channels.
 * The complex must outlive the calculus. */
typedef enum { DKHO_UNIT, DKHO_HODGE } dkho_metric;
typedef struct dkho_calculus dkho_calculus;
DKHO_API dkho_status dkho_calculus_create(dkho_calculus **out, const dkho_complex *c, dkho_metric metric);
DKHO_API void dkho_calculus_free(dkho_calculus *a);
DKHO_API const double *dkho_calculus_star(const dkho_calculus *a, int k); /* diagonal of M_k, N_k numbers, borrowed */
DKHO_API dkho_status dkho_calculus_d(const dkho_calculus *a, int k, int channels, const double *u, double *out);
DKHO_API dkho_status dkho_calculus_delta(const dkho_calculus *a, int k, int channels, const double *u, double *out);
DKHO_API dkho_status dkho_calculus_laplacian(const dkho_calculus *a, int k, int channels, const double *u, double *out);
/* (out may not be u above.) u = exact + harmonic + coexact, M_k-orthogonal. */
DKHO_API dkho_status dkho_calculus_decompose(const dkho_calculus *a, int k, int channels, const double *u,
                                             double *exact, double *harmonic, double *coexact);
/* An M_k-orthonormal basis of ker Δ_k. basis: room for `room` columns of N_k numbers, column-major; *count gets β_k. With
 * basis NULL only the count is given. certificate (or NULL): max ‖dh‖, max ‖δh‖. */
DKHO_API dkho_status dkho_calculus_harmonic(const dkho_calculus *a, int k, int64_t room, double *basis, int64_t *count,
                                            double certificate[2]);
/* The `count` lowest positive eigenpairs of Δ_k, ascending, M_k-orthonormal, column-major; *found may be less. */
DKHO_API dkho_status dkho_calculus_spectrum(const dkho_calculus *a, int k, int count, double *lambda, double *vectors,
                                            int64_t *found);

/* The simplicial Kuramoto flow of degree k, the reference model behind the operator's relation dynamics:
 *   theta' = omega - sigma (delta sin(d theta) + d sin(delta theta)),
 * `steps` explicit Euler steps of length tau, in place on N_k × channels phases; omega NULL is 0. energy (or NULL) gets
 * steps + 1 values of the coordination energy, which never rises for omega 0 and small tau. */
DKHO_API dkho_status dkho_kuramoto(const dkho_calculus *a, int k, int channels, double sigma, const double *omega,
                                   double tau, int64_t steps, double *theta, double *energy);

/* ---- Data sets ------------------------------------------------------------------------------------------------------
 * A file with complexes, named fields sample by sample (inputs and targets), globals, splits, scaling and input
 * descriptors (docs/FORMATS.md). */
typedef struct dkho_generate_options {
  const char *resolution; /* "main" (NULL) or "smoke"; some benchmarks also "coarse", "medium", "fine" */
  const char *coarse;     /* resolution of a coarser mesh whose solutions become inputs "coarse_TARGET"; NULL: none */
  const char *law;        /* material law, one of the benchmark's "laws"; NULL: the first of them */
  int64_t samples;        /* 0: the benchmark's own number */
  uint64_t seed;
  int threads; /* 0: one per core; never changes a result */
  int force;   /* replace the file if it exists */
} dkho_generate_options;
/* The benchmarks as JSON: [{"name", "summary", "paper": whether the paper has it, "targets": [{"name", "degree", "channels"}…],
 * "laws" (where there is a choice): names of material laws, the default first,
 * "demo" (where it has one): {"target", "task", "resolution", "first": whether it is the default}}…]. */
DKHO_API dkho_status dkho_problem_list(char **json);
/* Makes the data of a benchmark of dkho_problem_list. options NULL: main resolution, seed 42. */
DKHO_API dkho_status dkho_dataset_generate(const char *problem, const char *path, const dkho_generate_options *options);
/* A user's own mesh and arrays, by a JSON specification. */
DKHO_API dkho_status dkho_dataset_import(const char *spec, const char *path, int force);
/* Everything that is wrong with a specification or a data set, as JSON: {"path", "kind": "specification" or "dataset", "samples",
 * "errors": [text], "warnings": [text]}. Errors keep it from being used or make its results worthless (samples with equal inputs in two
 * splits); warnings look like mistakes. Returns DKHO_OK whatever was found, but for a file that cannot be read. */
DKHO_API dkho_status dkho_dataset_check(const char *path, char **json);

typedef struct dkho_dataset dkho_dataset;
DKHO_API dkho_status dkho_dataset_open(dkho_dataset **out, const char *path);
DKHO_API void dkho_dataset_free(dkho_dataset *d);
DKHO_API int64_t dkho_dataset_samples(const dkho_dataset *d);
/* Sample numbers of "train", "val" or "test", ascending, borrowed; NULL for another name. */
DKHO_API const int64_t *dkho_dataset_split(const dkho_dataset *d, const char *name, int64_t *count);
/* What a field is. role: "input", "target", "global", "static" (no value). A value has `rows` × `channels` numbers: floats for inputs
 * and targets, doubles for globals. `rows` is that of the first complex, should a data set have several. */
typedef struct dkho_field_info {
  const char *name, *role;
  int degree, channels;
  int64_t rows;
} dkho_field_info;
DKHO_API int dkho_dataset_fields(const dkho_dataset *d);
DKHO_API dkho_status dkho_dataset_field(const dkho_dataset *d, int field, dkho_field_info *out);
DKHO_API int dkho_dataset_find(const dkho_dataset *d, const char *name); /* -1: none */
/* Borrowed, unscaled; NULL for a field or sample that is not there, a static field, or (dkho_error says where) values that are
 * not all finite. */
DKHO_API const void *dkho_dataset_value(const dkho_dataset *d, int field, int64_t sample);

/* ---- Training -------------------------------------------------------------------------------------------------------
 * A run is a directory: config.json, manifest.json, metrics.csv, last.st (checkpoint), best.st (the selected model),
 * result.json. The same data, options and library give the same bits for any number of threads, interrupted or not. */
typedef struct dkho_train_options {
  const char *target;           /* a target's name or its degree ("1"); NULL: the first target */
  const char *model;            /* a name of dkho_model_list; NULL: "dkho", for imported data on one complex "dkho-x" */
  const char *size;             /* one of the model's sizes; NULL: its first ("small") */
  const char *const *options;   /* of the model: "key=value", NULL at the end; or NULL */
  const char *variant;          /* short for the option "variant"; NULL: as in options */
  const char *metric, *profile; /* NULL: unit; the descriptors that the model is made for */
  int modes;                    /* columns of the spectral encodings, -1: by the data set's recipe */
  int epochs, batch;            /* 0: recipe, whose batch is AdamW's and soap's (muon takes a quarter of it) */
  double lr, weight_decay;      /* negative: recipe, whose rate is AdamW's (muon takes 10 times it, soap 6) */
  double clip, ema;             /* negative: 1, none */
  int warmup;                   /* steps of linear warm-up */
  const char *optimizer;        /* "muon" (NULL), "adamw" (the paper's), "soap" */
  const char *schedule;  /* of the rate: "cosine" (NULL; the paper's, by epochs), "cosine_step", "linear", "constant" */
  int64_t train_samples; /* use only the first N training samples; 0: all */
  int skip_nonfinite;    /* 1: skip a step whose loss or gradient is not finite; 0: stop */
  uint64_t seed;
  int threads;
  double checkpoint_seconds; /* between checkpoints inside an epoch; 0: 60 */
  int (*stop)(void *user);   /* polled after every step; nonzero: checkpoint and stop */
  void *stop_user;
  double
      minutes; /* instead of epochs: as many as fit into this time here; 0: by epochs, or 10 minutes for imported data */
  int tensorboard;        /* 1: losses and rate of every epoch as a TensorBoard event file in the run's directory */
  const char *from_model; /* model file or run whose weights, and network unless named, are taken; NULL: fresh ones */
} dkho_train_options;
DKHO_API void dkho_train_defaults(dkho_train_options *options);
/* Trains into a new directory. options NULL: dkho_train_defaults. Returns DKHO_E_STOPPED after a stop request, with a
 * checkpoint written. */
DKHO_API dkho_status dkho_train(const char *data, const char *run, const dkho_train_options *options);
/* Continues a run where it stopped, with its own config.json; of `options` (may be NULL) only threads, stop and
 * checkpoint_seconds are used. data NULL: the path in config.json. A finished run is left as it is. */
DKHO_API dkho_status dkho_train_resume(const char *run, const char *data, const dkho_train_options *options);
/* The available models, as JSON: [{"name", "summary", "profile", "sizes": [{"name", "options"}], "options": [{"key", "type", "default",
 * "range" or "choices", "help"}]}]. To be freed by dkho_text_free. */
DKHO_API dkho_status dkho_model_list(char **json);
/* Parameters of the model that these options (NULL: dkho_train_defaults) would give on a benchmark, without any data. */
DKHO_API dkho_status dkho_parameter_count(const char *problem, const dkho_train_options *options, int64_t *count);
/* The same, where spectral models have complex weights: each counted once (count), and as two numbers (reals). */
DKHO_API dkho_status dkho_parameter_counts(const char *problem, const dkho_train_options *options, int64_t *count,
                                           int64_t *reals);
/* Metrics of the selected model on a split ("test"), as JSON: {"run", "split", "target", "parameters", "samples", "metrics":
 * {key: value}, "rel_l2_each", "predict_seconds", "judge_seconds"}. A metric is null where the quantity it refers to vanishes in
 * every sample (docs/METRICS.md). data NULL: the path in config.json. Here, and wherever a trained run is evaluated, `run` may
 * also be a model file; data is then required. */
DKHO_API dkho_status dkho_evaluate(const char *run, const char *data, const char *split, int threads, char **json);
/* The metrics of a run's target, as a JSON array of {"key", "title", "better": 1 or -1, "join"}. */
DKHO_API dkho_status dkho_metric_list(const char *run, const char *data, char **json);
/* How inconsistent two separately trained runs are: the mean over a split of ‖d û - ŵ‖ / ‖ŵ‖, û of degree k by
 * `lower`, ŵ of degree k+1 by `upper`, both trained on the same data. */
DKHO_API dkho_status dkho_compatibility(const char *lower, const char *upper, const char *data, const char *split,
                                        int threads, double *out);
/* Baselines and cost of a run, as JSON: {"target", "rows": [{"name", "what", "metrics"}, …], "cost"}: trivial predictors
 * and linear regression on the same training samples, evaluated on the test split by the target's metrics; time per sample of
 * the classical solver and of the model with these threads, and the number of solves after which training has paid for itself
 * (or "never", or "unknown" when nobody said what a solve of imported data takes). */
DKHO_API dkho_status dkho_honesty(const char *run, const char *data, int threads, char **json);
/* The phase diagnostic on the test split: whether the corrections that a model's relation makes are large where the reference
 * field is. JSON: {"score", "degree", "q", "adjacency", "instances", "population": {"rho": [mean, deviation], "dice", "lift",
 * "enrichment", "permuted_dice", "permuted_enrichment", "above_chance"}, "cases": [{"sample", "dice", …}], "each"}. */
typedef struct dkho_phase_options {
  double q;          /* top fraction that is compared; 0: the benchmark's own */
  int zero_diagonal; /* 1: smooth over neighbours only, without the diagonal that products of incidence matrices have */
  int64_t limit;     /* at most N test samples; 0: all */
} dkho_phase_options;
DKHO_API dkho_status dkho_phase(const char *run, const char *data, int threads, const dkho_phase_options *options,
                                char **json);
/* Runs a whole benchmark: data, models of every target, ablations with equal budgets, baselines, the phase diagnostic. Writes
 * table.md, table.csv, result.json and figures/ in `dir`, with the paper's numbers next to ours. Finished parts are kept: a call
 * that was stopped continues where it stopped. problem: one of dkho_problem_list, or "all" for those of
 * the paper. json (may be NULL): the "problems" of result.json, an array of one object per problem in the folder. */
typedef struct dkho_reproduce_options {
  const char *budget; /* "smoke" (a minute, for tests), "demo", "quick" (NULL: tens of minutes), "paper" (its own) */
  const char *target; /* NULL: every target */
  const char *size;   /* "small", "large", "both"; NULL: by the budget */
  /* Comma-separated names of dkho_model_list, or "all"; NULL: the first of them. All are trained with the same samples, epochs and
   * batches. Finished ones stay in the tables. */
  const char *models;
  /* What models made for the plain fields read: these, "native" (NULL); the first model's descriptors, "matched"; or "both". */
  const char *inputs;
  /* The sample in figures of fields: "median" (NULL; by the error of the first model), "best", "worst", or a number. */
  const char *sample;
  int ablations; /* 1: also train the ablations; 0: include only those that are finished */
  /* Comma-separated: training, fields, models, ablations, parameters, efficiency, phase; NULL: all that apply. A figure that does
   * not apply to this request is refused. */
  const char *figures;
  int64_t samples;   /* 0: by the budget */
  int epochs, batch; /* 0: by the budget */
  /* As in dkho_train_options; NULL: the paper's, adamw and cosine. optimizer may be a list with commas, NAME[:RATE] for all models and
   * MODEL=NAME[:RATE] for one: "muon,fno=adamw:4e-3". */
  const char *optimizer, *schedule;
  double lr; /* where the list has no rate; 0: by recipe and optimizer */
  int warmup;
  uint64_t seed;
  int threads;
  int (*stop)(void *user); /* polled often; nonzero: checkpoint and stop with DKHO_E_STOPPED */
  void *stop_user;
} dkho_reproduce_options;
DKHO_API dkho_status dkho_reproduce(const char *problem, const char *dir, const dkho_reproduce_options *options,
                                    char **json);

/* How fast this machine trains and predicts, as JSON: the multiply-add peak measured in the same run, and for every
 * problem (NULL: all of the paper's), size and number of threads (1 and `threads`) the milliseconds per
 * sample of a training step (batch 16) and of predictions (batch 1 and 16), medians of turns, the speed-up over one thread,
 * GFLOP/s, share of the peak, memory. */
DKHO_API dkho_status dkho_bench(const char *problem, const char *size, const char *resolution, int threads,
                                double seconds, char **json);
/* The same of one model of dkho_model_list on one benchmark, in each of its sizes, with its own profile of inputs; the first target. GFLOP/s
 * and shares are 0 where the arithmetic of a model is not counted. */
DKHO_API dkho_status dkho_bench_model(const char *problem, const char *model, const char *resolution, int threads,
                                      double seconds, char **json);
/* What the ranks of this job (two or more) cost each other, as JSON: latency and bandwidth of messages between the first and the last, the
 * rate of adding, the multiply-add peak of a rank; and for both sizes of dkho and the small dkho-x on a benchmark (NULL: darcy) the milliseconds of a training
 * step whose batch of 16 samples is shared by the ranks, and of one whose single sample has its mesh in as many parts: on the first rank
 * alone, on all together, and as the model of docs/SCALING.md predicts it. threads: per rank, at least 1. Collective. */
DKHO_API dkho_status dkho_bench_ranks(const char *problem, const char *resolution, int threads, double seconds,
                                      char **json);
/* Training time per simplex on meshes of growing size, from a hundredth of `largest` simplices (but at least 1,000) to that (0: 10⁶), as
 * JSON and, when `figure` is not NULL, as a .png, .svg or .pdf (force: replace an existing file). Medians of `turns` turns
 * (0: 3) through all sizes, by the clock and in processor time of all threads. Static descriptors and samples are random, since only
 * the time matters. size: "small" (also NULL) or "large". */
DKHO_API dkho_status dkho_bench_scaling(const char *size, int64_t largest, int turns, int threads, const char *figure,
                                        int force, char **json);

/* ---- Trained operators ----------------------------------------------------------------------------------------------
 * A model file: weights, scaling, descriptors, and the complex with its bases; or packed, without the latter, which are
 * regenerated on loading (in a few seconds) and verified against checksums in the file. Many threads may predict with one
 * handle at the same time; so may a forked child, if no call on the handle was in progress at the fork. */
typedef struct dkho_model dkho_model;
DKHO_API dkho_status dkho_model_load(dkho_model **out, const char *path); /* a model file or a run directory */
/* Packs the selected model of a finished run on benchmark data into a small file NAME.st, and writes its card NAME.json (data,
 * configuration, result, rows to compare with, hash). data NULL: the path in config.json. json (may be NULL): the card. */
DKHO_API dkho_status dkho_model_pack(const char *run, const char *data, const char *path, int force, int threads,
                                     char **json);
/* Writes README.md in the folder of a packed model: a table of all cards there. One that somebody else wrote is refused. */
DKHO_API dkho_status dkho_model_table(const char *path);
/* Regenerates a few test samples of a packed model, predicts them, and compares the errors with those stored in the file, and the
 * file with its card, if there is one; an error says what differs. json (may be NULL): {"model", "file", "samples", "expected",
 * "found"}. */
DKHO_API dkho_status dkho_model_check(const char *path, int threads, char **json);
DKHO_API dkho_status dkho_model_save(const dkho_model *m, const char *path, int force);
DKHO_API void dkho_model_free(dkho_model *m);
DKHO_API int
dkho_model_inputs(const dkho_model *m); /* input fields and globals together, in the order of dkho_model_predict */
DKHO_API dkho_status dkho_model_input(const dkho_model *m, int i, dkho_field_info *out);
DKHO_API dkho_status dkho_model_output(const dkho_model *m, dkho_field_info *out);
DKHO_API int64_t dkho_model_parameters(const dkho_model *m);
/* The complex it was trained on (a copy the caller frees). */
DKHO_API dkho_status dkho_model_complex(const dkho_model *m, dkho_complex **out);
/* `batch` samples: inputs[i] holds batch × rows × channels numbers of input i (floats; doubles for a global), in physical
 * units; out gets batch × rows × channels floats in physical units. threads 0: one per core. DKHO_E_NONFINITE when an input or
 * a prediction is not finite. */
DKHO_API dkho_status dkho_model_predict(dkho_model *m, int threads, int64_t batch, const void *const *inputs,
                                        float *out);
/* Predicts new inputs from NumPy files. inputs: "NAME=FILE.npy" for every input and global of the model, or "FILE.npz" whose arrays
 * carry the names; NULL at the end. An array holds one sample, rows × channels (or rows alone where there is one channel; a global:
 * channels), or many along a first axis, the same number for all. path ends in .npy, .csv, .st (container) or .vtu (one file per
 * sample, its number in the name when there are many). *samples (may be NULL): how many there were. */
DKHO_API dkho_status dkho_predict_arrays(dkho_model *m, const char *const *inputs, const char *path, int force,
                                         int threads, int64_t *samples);
/* Predicts the samples of a data set on the same complex (split "train", "val", "test" or NULL: all) into a container
 * ("prediction" and "sample"), or for ParaView when `path` ends in .vtu or .vtm (a file per sample, its number in the name, as
 * dkho_complex_export writes them) or .pvd (.vtm files and a series of them); at most `limit` samples. */
DKHO_API dkho_status dkho_predict_file(dkho_model *m, const char *data, const char *split, const char *path, int force,
                                       int threads, int64_t limit);

/* ---- Viewing --------------------------------------------------------------------------------------------------------
 * One HTML file that shows what is at `path` in a browser, without a network: a mesh or complex with its harmonic fields and
 * labels; samples of a data set; of a run, or of a model file with data, reference, prediction and error, with the Hodge parts
 * of fields between degree 0 and the top. */
typedef struct dkho_view_options {
  const char *data;  /* of a run: NULL: its own; of a model file: NULL: its complex is shown */
  const char *split; /* NULL: "test", or all samples of a data set that has none */
  int samples;       /* at most N; 0: up to 9, as many as fit into about 8 MB */
  int threads, force;
} dkho_view_options;
DKHO_API dkho_status dkho_view(const char *path, const char *page, const dkho_view_options *options);
/* Figures in the folder `dir`, which is made when it is missing: of meshes (mesh, side by side); of a data set (mesh, and fields: the sample of median
 * size of every target); of runs, or model files with data (training: errors by epoch; errors: of every sample; fields-NAME: the
 * median, best and worst sample; runs-TARGET: several runs of one target side by side). json (may be NULL): an array of the paths
 * written. */
typedef struct dkho_plot_options {
  const char *data;   /* of runs: NULL: their own; of a model file: NULL: its complex is drawn */
  const char *split;  /* NULL: "test" */
  const char *format; /* "png" (NULL), "svg", "pdf", or several with commas between */
  int threads, force;
} dkho_plot_options;
DKHO_API dkho_status dkho_plot(int count, const char *const *path, const char *dir, const dkho_plot_options *options,
                               char **json);

#ifdef __cplusplus
}
#endif
#endif
