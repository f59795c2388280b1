/* paper.h: the figures that the paper prints of its benchmarks, to stand beside ours. Data alone. */
#ifndef PROBLEM_PAPER_H
#define PROBLEM_PAPER_H

enum { PAPER_VALUES = 10, PAPER_CASES = 3 };

typedef struct paper_value {
  const char *key; /* of a metric; NULL ends the list */
  double value;
} paper_value;

/* A method on a target. inputs: "N" native or "F" matched for baselines, "" for DKHO. params_k: thousands of parameters, 0: not
 * printed. */
typedef struct paper_row {
  const char *target, *method, *inputs;
  double params_k;
  paper_value value[PAPER_VALUES];
} paper_row;

/* RelL2 of DKHO-small without one component; 0: not printed. */
typedef struct paper_ablation {
  const char *target;
  double no_dirac, no_phase, no_harmonic;
} paper_ablation;

/* A test instance that the paper shows, by DKHO-large; it gives no rule for the choice. */
typedef struct paper_case {
  double dice, lift, enrichment, rho, rel_l2;
} paper_case;

/* The phase diagnostic over the test split: mean, deviation. */
typedef struct paper_phase {
  const char *target;
  double rho[2], dice[2], lift, enrichment[2], permuted_dice, above_chance;
  paper_case shown[PAPER_CASES];
} paper_phase;

typedef struct paper_results {
  int rows;
  const paper_row *row;
  int ablations;
  const paper_ablation *ablation;
  paper_phase phase;
} paper_results;
extern const paper_results paper_darcy, paper_torus, paper_cavity;

/* NULL: none; p may be NULL. */
const paper_ablation *paper_ablation_of(const paper_results *p, const char *target);

#endif
