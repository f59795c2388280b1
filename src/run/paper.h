/* paper.h: the figures that the paper prints, to stand beside ours. Data alone. */
#ifndef RUN_PAPER_H
#define RUN_PAPER_H

enum { PAPER_VALUES = 10 };

typedef struct paper_value {
  const char *key; /* of a metric; NULL ends the list */
  double value;
} paper_value;

/* A method on a target. inputs: "N" native or "F" matched for baselines, "" for DKHO. params_k: thousands of parameters, 0: not
 * printed. */
typedef struct paper_row {
  const char *problem, *target, *method, *inputs;
  double params_k;
  paper_value value[PAPER_VALUES];
} paper_row;
const paper_row *paper_rows(int *count);

/* RelL2 of DKHO-small without one component; 0: not printed. */
typedef struct paper_ablation {
  const char *problem, *target;
  double no_dirac, no_phase, no_harmonic;
} paper_ablation;
const paper_ablation *paper_ablation_of(const char *problem, const char *target); /* NULL: none */

/* The phase diagnostic over the test split: mean, deviation. */
typedef struct paper_phase {
  const char *problem, *target;
  double rho[2], dice[2], lift, enrichment[2], permuted_dice, above_chance;
} paper_phase;
const paper_phase *paper_phase_of(const char *problem); /* NULL: none */

#endif
