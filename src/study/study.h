/* study.h: a benchmark done from nothing to tables and figures, in parts that are kept: DIR/PROBLEM/ holds plan.json, data.st,
 * runs/NAME/ (a run each, with cost.json), honest-TARGET.json, pair.json, phase.json and result.json; DIR the tables of all its
 * problems and figures/. A part that is there is not done again. */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "study/opened.h"
#include "problem/problem.h"

enum { STUDY_RUNS = 128, STUDY_MODELS = 32 };

typedef struct study_budget {
  const char *name;
  problem_budget of; /* samples 0: the benchmark's own number; epochs, batch 0: the recipe's */
  int large;         /* 1: the large model too */
} study_budget;
/* The budget of this name as it is for a problem, or an error that lists them. */
dkho_status study_budget_of(const char *name, const problem *p, study_budget *out);

/* One training. The first model of the house is the one under study: it reads what it is made for, and has sizes and variants. The
 * others stand beside it, with the plain fields or with the same descriptors. */
typedef struct study_run {
  const data_recipe *recipe;
  const model_type *m;
  const char *size;    /* NULL: the model's first */
  const char *variant; /* "full" or an ablation */
  const char *inputs;  /* of the others: "native" or "matched"; NULL: what the model is made for */
  char name[128];      /* TARGET-SIZE[-VARIANT], or TARGET-MODEL[-SIZE][-INPUTS] */
  char title[96];      /* in tables: DKHO-SIZE[, VARIANT], or MODEL[-SIZE], with (N) or (F) as the paper marks inputs */
  char dir[PATH_LIMIT];
} study_run;

typedef struct study {
  const problem *p;
  study_budget budget; /* with the caller's own numbers */
  const dkho_reproduce_options *o;
  char root[PATH_LIMIT], dir[PATH_LIMIT], data[PATH_LIMIT]; /* DIR, DIR/PROBLEM, its data.st */
  dataset *d;
  pool *threads;
  int models;
  const model_type *model[STUDY_MODELS]; /* that are asked for */
  int runs;
  study_run run[STUDY_RUNS];
} study;

/* Does one benchmark or "all" of the paper's, as dkho_reproduce describes; out: the results of every problem in the folder. */
dkho_status study_reproduce(const char *name, const char *dir, const dkho_reproduce_options *o, json_t **out);

/* The optimiser that a list (study_optimizer.c) gives to a model; NULL: the paper's for all. lr 0: by recipe and optimiser. */
typedef struct study_optimizer {
  optim_kind kind;
  double lr;
} study_optimizer;
dkho_status study_optimizer_of(const char *list, const model_type *m, study_optimizer *out);

/* "DIR/PROBLEM/NAME" in `out`, which has PATH_LIMIT characters. */
const char *study_path(const study *s, const char *name, char *out);
/* s->model and s->run, by the options; says what is wrong with them. */
dkho_status study_list_runs(study *s);
int study_has(const study_run *r, const char *name); /* the run's folder has a file of this name */
/* The full run of the model under study on a target: of this size, or the largest there is (size NULL). NULL: none. */
const study_run *study_full_run(const study *s, const char *target, const char *size);
/* The same, or the first run of the target where the model under study has none. */
const study_run *study_main_run(const study *s, const char *target);
/* Runs of the target that are no ablations. */
int study_full_runs(const study *s, const char *target);

/* What is missing of the judgements of the trained runs; the whole as one object, also in result.json. */
dkho_status study_results(study *s, json_t **result);
/* table.md, table.csv and result.json in `root` from the result objects of its problems (an array). */
dkho_status study_tables(const char *root, json_t *problems);

/* The efficiency table and the abstract's figures of these results, as an array by source and inputs (study_headline.c has the
 * formulas; NULL: no memory), and as a section of table.md. */
json_t *study_headline(const json_t *problems);
dkho_status study_headline_section(file_out *f, const json_t *headline);

/* Figures, each in every format. A study has
 *   training    validation error by epoch
 *   fields      per target the test sample of median error (or another) of the largest full model
 *   models      that sample as each model of the target predicts it   (a target with several models)
 *   ablations   error by variant, the paper's beside                          (with ablations)
 *   parameters  error against parameters, the paper's among them          (two points at least)
 *   efficiency  per target error against parameters, time of training, time of a prediction   (two models that are no ablations)
 *   phase       the chosen cases of the phase diagnostic
 * Refuses what the caller asks for and the study has not, with what it has. */
dkho_status study_check_figures(const study *s);
dkho_status study_check_sample(const study *s);    /* with the data there: refuses a sample that no figure can show */
int study_draws(const study *s, const char *name); /* it has the figure, and it is wanted */
/* All but the phase; result: of study_results. */
dkho_status study_figures(const study *s, const json_t *result);
dkho_status study_training_figure(const study *s);
dkho_status study_ablation_figure(const study *s, const json_t *result);
dkho_status study_parameter_figure(const study *s, const json_t *result);
dkho_status study_efficiency_figures(const study *s, const json_t *result);
dkho_status study_phase_figure(const study *s, const cx *c, const phase_result *found);
/* "ROOT/figures/PROBLEM-NAME.FORMAT"; the folder is made when it is missing. */
dkho_status study_figure_path(const study *s, const char *name, const char *format, char *out);
enum { STUDY_FORMATS = 3 };
extern const char *const study_format[STUDY_FORMATS];

#endif
