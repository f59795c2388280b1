/* problem.h: benchmarks that make their own data. A problem is one file with one table: which complex, which fields, which
 * descriptors, how its samples are drawn and solved. The driver here does the rest: spectra, harmonic bases, threads, splits,
 * the file. A problem knows no model. */
#ifndef PROBLEM_PROBLEM_H
#define PROBLEM_PROBLEM_H

#include "base/pool.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/known.h"
#include "dec/dec.h"
#include "la/la.h"
#include "problem/paper.h"

/* Samples that one factor serves are solved in aligned groups of this many, whole groups always, as wide as the solvers of la.h are
 * fastest; those of nonlinear problems one by one. */
enum { PROBLEM_GROUP = CHOL_WIDE, PROBLEM_FIELDS_MAX = 32, PROBLEM_MODES = 16 };

/* What prepare() makes once per complex: factors, matrices, tables; shared by the threads. */
typedef struct problem_state problem_state;

/* Entries of problem.field, by role. */
#define PROBLEM_INPUT(name, degree, channels, scale)                                                                   \
  { name, DATA_INPUT, degree, channels, scale, 0, 1e-6, 0, 1 }
#define PROBLEM_GLOBAL(name, channels)                                                                                 \
  { name, DATA_GLOBAL, 0, channels, DATA_SCALE_RMS, 0, 1e-6, 0, 1 }
#define PROBLEM_TARGET(name, degree, channels)                                                                         \
  { name, DATA_TARGET, degree, channels, DATA_SCALE_RMS, 0, 1e-8, 0, 1 }
#define PROBLEM_STATIC(name, degree, channels)                                                                         \
  { name, DATA_STATIC, degree, channels, DATA_SCALE_NONE, 0, 0, 0, 1 }
/* Statics that most problems have; PLANE, SPACE: those of a complex in the plane or in space beside its positions. */
#define PROBLEM_POSITIONS(gdim)                                                                                        \
  PROBLEM_STATIC("position0", 0, gdim), PROBLEM_STATIC("position1", 1, gdim), PROBLEM_STATIC("position2", 2, gdim)
#define PROBLEM_SPECTRAL                                                                                               \
  PROBLEM_STATIC("spectral0", 0, PROBLEM_MODES), PROBLEM_STATIC("spectral1", 1, PROBLEM_MODES),                        \
      PROBLEM_STATIC("spectral2", 2, PROBLEM_MODES)
#define PROBLEM_PLANE_STATICS                                                                                          \
  PROBLEM_STATIC("tangent", 1, 2), PROBLEM_STATIC("length", 1, 1), PROBLEM_STATIC("area", 2, 1), PROBLEM_SPECTRAL

#define PROBLEM_SPACE_STATICS                                                                                          \
  PROBLEM_STATIC("tangent", 1, 3), PROBLEM_STATIC("length", 1, 1), PROBLEM_STATIC("normal", 2, 3),                     \
      PROBLEM_STATIC("area", 2, 1)

/* Rows of problem.table that say where a simplex is, and those of the summaries. label: FEAT_BOUNDARY, or FEAT_NATIVE where the label
 * tells what is given there. */
#define PROBLEM_ROW(name, degree, group, expression)                                                                   \
  { name, degree, group, expression }
#define PROBLEM_MODES_ROW(k) PROBLEM_ROW("spectral encoding", k, FEAT_SPECTRAL, "modes(spectral" #k ")")
#define PROBLEM_SUMMARY_ROW(k, expression) PROBLEM_ROW("summary", k, FEAT_SUMMARY, expression)
#define PROBLEM_VERTEX_ROWS(label)                                                                                     \
  PROBLEM_ROW("position", 0, FEAT_NATIVE, "position0"), PROBLEM_ROW("boundary label", 0, label, "label0"),             \
      PROBLEM_MODES_ROW(0)
#define PROBLEM_EDGE_ROWS                                                                                              \
  PROBLEM_ROW("position", 1, FEAT_NATIVE, "position1"), PROBLEM_ROW("tangent", 1, FEAT_NATIVE, "tangent"),             \
      PROBLEM_ROW("length", 1, FEAT_NATIVE, "length")
#define PROBLEM_FACE_ROWS                                                                                              \
  PROBLEM_ROW("position", 2, FEAT_NATIVE, "position2"), PROBLEM_ROW("area", 2, FEAT_NATIVE, "area"),                   \
      PROBLEM_MODES_ROW(2)

/* An entry of problem.recipe for problems that are not the paper's. */
#define PROBLEM_RECIPE(target, harmonic)                                                                               \
  { target, "", 1e-3, 1e-6, 1e-12, 200, 16, 16, harmonic, "generic" }

/* Members of a problem on one of the paper's complexes (mesh/generate.h). */
#define PROBLEM_ON_TORUS .dim = 2, .gdim = 3, .betti = {1, 2, 1}, .counts = {2499, 7497, 4998}, .build = cx_torus
#define PROBLEM_ON_SHELL                                                                                               \
  .dim = 3, .gdim = 3, .labels = 3, .betti = {1, 0, 1}, .counts = {3017, 22344, 38339, 19010}, .build = cx_cavity

/* The members of a problem that arrays of these entries fill. */
#define PROBLEM_TABLES(fields_, recipes_, rows_, summaries_)                                                           \
  .fields = sizeof(fields_) / sizeof *(fields_), .field = (fields_), .recipes = sizeof(recipes_) / sizeof *(recipes_), \
  .recipe = (recipes_),                                                                                                \
  .table = {sizeof(rows_) / sizeof *(rows_), sizeof(summaries_) / sizeof *(summaries_), (rows_), (summaries_)}

/* What a study with little time does: a part of the samples and epochs. */
typedef struct problem_budget {
  const char *resolution;
  int64_t samples;
  int epochs, batch; /* batch 0: the recipe's */
} problem_budget;

/* How `dkho demo` shows it. */
typedef struct problem_demo {
  const char *target, *task; /* which target it learns; what is learned from what, in one line */
  const char *model;         /* by name; NULL: the first of the list */
  int first;                 /* 1: the demo of whoever names no problem */
  problem_budget budget;     /* resolution NULL: that of all */
} problem_demo;

/* The corrections to the phase of degree k that its phase diagnostic adds up (run/phase.h), and the share of simplices that it
 * compares. */
typedef struct problem_phase {
  int degree;
  int up, down, last; /* c↑, c↓; last: the last substep alone, unweighted */
  double q;
} problem_phase;

/* Where Newton's method begins, and how far it had to go. */
typedef struct problem_start {
  const double *guess; /* of the target problem.guessed; NULL: the solver's own start */
  int steps;           /* Newton steps taken */
} problem_start;

typedef struct problem {
  const char *name, *summary;
  const char *law;                  /* material law of this table; NULL: the problem has no choice of laws */
  const struct problem *other;      /* the same problem under its next law; NULL: no more. The list has the first */
  int64_t sizes[DATA_SPLITS];       /* train, val, test of the paper or of our choice */
  int64_t smoke_sizes[DATA_SPLITS]; /* at smoke resolution */
  int dim, gdim, labels;            /* of its complex; labels of vertices, 0: it wants none */
  int64_t betti[CX_DEGREES];        /* of its complex */
  const char *const *resolutions;   /* that build knows, NULL at the end; NULL: smoke, main */
  int64_t counts[CX_DEGREES];       /* its simplices at main resolution; zeros: not known without making it */
  int fields, recipes;
  const data_field *field; /* spectral{0,1,2} statics (PROBLEM_MODES channels) are filled by the driver */
  const data_recipe *recipe;
  feat_table table;
  int knowns;
  const data_known *known; /* targets that the inputs give on some simplices */
  const char *notes;       /* what the data are, one paragraph, kept in the file */
  dkho_status (*build)(cx **out, const char *resolution);
  dkho_status (*prepare)(problem_state **out, const cx *c, uint64_t seed);
  void (*release)(problem_state *s); /* NULL is fine */
  /* Fills the array of the static field `name`; NULL: problem_fill_common fills them all. */
  dkho_status (*fill)(const problem_state *s, const char *name, double *out);
  size_t (*work)(const problem_state *s); /* bytes of scratch per thread, for PROBLEM_GROUP samples */
  /* block[j] is the j-th field that is not static: doubles [PROBLEM_GROUP, n, channels]. draw fills inputs and globals of
   * samples first … first+PROBLEM_GROUP-1, each from (seed, RNG_SAMPLE, its number) alone; solve fills the targets that
   * belong to the inputs and globals in the block, whoever put them there. */
  void (*draw)(const problem_state *s, void *work, uint64_t seed, int64_t first, double *const *block);
  dkho_status (*solve)(const problem_state *s, void *work, double *const *block);
  /* A nonlinear problem, whose samples need matrices of their own, has these instead of work, draw and solve. open makes one thread's
   * solver. one[j] is the j-th field of one sample. DKHO_E_NOCONV from solve_one says that this sample has no solution to be found: it is
   * drawn again, from another stream. */
  dkho_status (*open)(void **work, const problem_state *s);
  void (*close)(void *work);
  void (*draw_one)(const problem_state *s, void *work, rng *r, double *const *one);
  dkho_status (*solve_one)(const problem_state *s, void *work, double *const *one);
  /* solve_one from a guess of one target, a prediction say, to the same accuracy; NULL: the solver has no use for one. */
  const char *guessed;
  dkho_status (*solve_from)(const problem_state *s, void *work, problem_start *start, double *const *one);
  /* The targets of the sample that `work` solved last, read off its continuous fields on another complex of the same domain, as
   * well as they allow: what a coarser mesh is worth. */
  dkho_status (*transfer)(const void *work, const cx *to, double *const *one);

  /* How studies treat it; NULL or 0 where there is nothing to say. */
  const char *metrics;         /* the list of metrics (run/metrics.h) that files call by the problem's name */
  const paper_results *paper;  /* what the paper prints of it */
  const problem_phase *phase;  /* NULL: the rule of all data sets */
  double turn;                 /* radians about the z axis by which its flow carries the initial state */
  const problem_budget *quick; /* NULL: that of all */
  const problem_demo *demo;    /* NULL: it has none */
  /* A complex of its kind with about so many simplices, to measure with. */
  dkho_status (*scaled)(cx **out, int64_t simplices);
} problem;

/* Fields of a group as a block keeps them, one sample after the other, and as solvers want them, the samples of a simplex side by
 * side (n × PROBLEM_GROUP): there and back. */
void problem_pack(int64_t n, const double *block, double *rows);
void problem_unpack(int64_t n, const double *rows, double *block);
/* The same for the simplices first … first+count-1 of n alone; rows: count × PROBLEM_GROUP. */
void problem_unpack_strip(int64_t n, int64_t first, int64_t count, const double *rows, double *block);

/* Fills a static that geometry alone decides: position{k}, label{k} (label2: vertex means), tangent, length, area, normal,
 * weight (lumped measure). */
dkho_status problem_fill_common(const cx *c, const char *name, double *out);
/* Fills the static `name` of a problem, by its own rule or the common one. */
dkho_status problem_fill(const problem *p, const problem_state *s, const cx *c, const char *name, double *out);
/* The static "holes" (N0 × holes): 1 on the rim of hole j, whose vertices have the label 2 + j, else 0. */
void problem_fill_holes(const cx *c, int holes, double *out);

extern const problem problem_darcy, problem_torus, problem_cavity, problem_heat, problem_reaction, problem_lamination,
    problem_ironloss, problem_wells, problem_flow, problem_waves, problem_elasticity, problem_maxwell,
    problem_magnetostatics, problem_hts, problem_subsonic;
int problem_count(void);
const problem *problem_at(int i);
const problem *problem_named(const char *name); /* NULL: there is none */
/* The problem of this name, or an error that lists them. */
dkho_status problem_find(const char *name, const problem **out);
/* A problem of the list under one of its material laws, or an error that lists them. law NULL: the first. */
dkho_status problem_find_law(const problem *p, const char *law, const problem **out);
/* The problem that made these data, under the law that made them; NULL where no problem of the list did. */
dkho_status problem_of_data(const data_info *info, const problem **out);
/* Index of the recipe for the target of degree k (the first such), -1 when there is none. */
int problem_target(const problem *p, int k);

/* What a data set keeps of a complex beside it: static arrays by field (NULL for the others), harmonic bases by degree. */
typedef struct problem_statics {
  double *fixed[PROBLEM_FIELDS_MAX];
  dec_basis harmonic[CX_DEGREES];
} problem_statics;
dkho_status problem_statics_make(problem_statics *out, const problem *p, const cx *c, const problem_state *s);
void problem_statics_free(problem_statics *t);

/* Whether the problem's complex comes in this resolution; the text lists those it comes in. */
dkho_status problem_check_resolution(const problem *p, const char *wanted);
/* prepare() for a complex that may come from a file: one of another kind is refused. */
dkho_status problem_prepare(problem_state **out, const problem *p, const cx *c, uint64_t seed);

typedef struct problem_request {
  const char *resolution; /* "smoke" or "main" */
  const char *coarse;     /* resolution of a coarser mesh whose solutions become inputs (coarse.h); NULL: none */
  int64_t samples;        /* 0: the problem's own number */
  uint64_t seed;
  int threads; /* ≤ 0: one per core */
  int force;
} problem_request;
/* Makes the data set file. */
dkho_status problem_generate(const problem *p, const problem_request *r, const char *path);

/* Zeroed blocks of one group, from an arena, and what draw and solve work with: to be left with problem_leave before the state is released,
 * whether or not problem_room succeeded. */
dkho_status problem_room(const problem *p, const problem_state *s, const cx *c, arena *mem, double **block,
                         void **work);
void problem_leave(const problem *p, void *work); /* NULL is fine */
/* Draws a group, rounds its inputs to float (the file keeps floats, and targets must belong to what it keeps), solves. */
dkho_status problem_group(const problem *p, const problem_state *s, const cx *c, void *work, uint64_t seed,
                          int64_t first, double *const *block);
/* Fills the targets that belong to the inputs and globals of a group. */
dkho_status problem_solve(const problem *p, const problem_state *s, const cx *c, void *work, double *const *block);

#endif
