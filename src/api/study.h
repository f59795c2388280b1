/* study.h: a benchmark done from nothing to tables and figures, in parts that are kept: DIR/PROBLEM/ holds plan.json, data.st,
 * runs/NAME/ (a run each, with cost.json), honest-TARGET.json, pair.json, phase.json and result.json; DIR the tables of all its
 * problems and figures/. A part that is there is not done again. */
#ifndef API_STUDY_H
#define API_STUDY_H

#include "api/opened.h"
#include "problem/problem.h"

enum { STUDY_RUNS = 64 };

typedef struct study_budget {
  const char *name, *resolution;
  int64_t samples; /* 0: the benchmark's own number */
  int epochs;      /* 0: the recipe's */
  int large;       /* 1: the large model too */
} study_budget;
const study_budget *study_budget_of(const char *name); /* NULL after fail() */

typedef struct study_run {
  const data_recipe *recipe;
  const char *size, *variant; /* variant "full" or an ablation */
  char name[128];             /* TARGET-SIZE or TARGET-SIZE-VARIANT */
  char dir[PATH_LIMIT];
} study_run;

typedef struct study {
  const problem *p;
  study_budget budget; /* with the caller's own numbers */
  const dkho_reproduce_options *o;
  char root[PATH_LIMIT], dir[PATH_LIMIT], data[PATH_LIMIT]; /* DIR, DIR/PROBLEM, its data.st */
  dataset *d;
  pool *threads;
  int runs;
  study_run run[STUDY_RUNS];
} study;

/* "DIR/PROBLEM/NAME" in `out`, which has PATH_LIMIT characters. */
const char *study_path(const study *s, const char *name, char *out);
/* The full run of a target: of this size, or the largest there is (size NULL). NULL: none. */
const study_run *study_full_run(const study *s, const char *target, const char *size);

/* What is missing of the judgements of the trained runs; the whole as one object, also in result.json. */
dkho_status study_judge(study *s, json_t **result);
/* table.md, table.csv and result.json in `root` from the result objects of its problems (an array). */
dkho_status study_tables(const char *root, json_t *problems);
/* Training curves, fields, ablations, parameters against error; result: of study_judge. */
dkho_status study_figures(const study *s, const json_t *result);
/* figures/PROBLEM-phase.*: the chosen cases. */
dkho_status study_phase_figure(const study *s, const cx *c, const phase_result *found);
/* "ROOT/figures/PROBLEM-NAME.ENDING"; the folder is made when it is missing. */
dkho_status study_figure_path(const study *s, const char *name, const char *ending, char *out);

#endif
