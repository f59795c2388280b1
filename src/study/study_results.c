/* study_results.c: the results of a study, part by part, and their sum. */
#include "study/study.h"

#include "base/report.h"
#include "run/result_json.h"
#include "study/study_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A part made by `make` unless its file is there; `again`: all the same. */
typedef dkho_status (*part_maker)(study *s, const void *what, json_t **out);
static dkho_status kept_part(study *s, const char *path, int again, part_maker make, const void *what, json_t **out) {
  *out = NULL;
  if (!again && file_exists(path)) return config_load_json(path, out);
  dkho_status st = make(s, what, out);
  if (st == DKHO_OK && !*out) *out = json_object(); /* nothing to say is said once */
  if (st == DKHO_OK) st = config_save_json(json_incref(*out), path, 1);
  if (st == DKHO_OK) return DKHO_OK;
  json_decref(*out);
  *out = NULL;
  return st;
}

/* ---- rows to compare with ---- */

static dkho_status make_references(study *s, const void *what, json_t **out) {
  const data_recipe *r = what;
  references found;
  report_log("%s: trivial predictors and linear regression for %s", s->p->name, r->target);
  TRY(reference_rows(s->d, dataset_find(s->d, r->target), r->metrics, 0, DATA_TEST, s->p->turn, s->threads, &found));
  json_t *rows = references_json(&found);
  references_free(&found);
  *out = json_pack("{s:o}", "rows", rows);
  return *out ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

/* ---- cost ---- */

static dkho_status make_classical(study *s, const void *what, json_t **out) {
  classical_cost found;
  (void)what;
  report_log("%s: timing the classical solver", s->p->name);
  TRY(cost_classical(s->d, s->threads, &found));
  return classical_json(&found, out);
}

typedef struct cost_of {
  const study_run *run;
  const classical_cost *classical;
} cost_of;

static dkho_status make_cost(study *s, const void *what, json_t **out) {
  const cost_of *c = what;
  opened r = {0};
  run_cost found;
  dkho_status st = opened_model(&r, c->run->dir, s->data, s->o->threads);
  if (st == DKHO_OK) st = cost_compare(&r, c->run->dir, c->classical, &found);
  if (st == DKHO_OK) st = run_cost_json(&found, out);
  opened_close(&r);
  return st;
}

/* ---- pairs ---- */

/* Whether the reference itself satisfies d y_lower = y_upper, on the first sample. */
static int are_pair(const study *s, const data_recipe *lower, const data_recipe *upper) {
  const data_field *f = dataset_field(s->d);
  int a = dataset_find(s->d, lower->target), b = dataset_find(s->d, upper->target);
  const cx *c = dataset_cx(s->d, 0);
  if (f[b].degree != f[a].degree + 1 || f[a].channels != 1 || f[b].channels != 1) return 0;
  int64_t n = c->n[f[a].degree], m = c->n[f[b].degree];
  double *u = mem_alloc((size_t)(n + 2 * m), sizeof *u);
  if (!u) return 0;
  const float *q = dataset_value(s->d, a, 0), *w = dataset_value(s->d, b, 0);
  for (int64_t i = 0; i < n; i++) u[i] = (double)q[i];
  for (int64_t i = 0; i < m; i++) u[n + i] = (double)w[i];
  cx_d(c, f[a].degree, 1, u, u + n + m);
  double gap = metric_rel_l2(m, u + n + m, u + n, 1e-12);
  mem_free(u);
  return gap < 1e-3;
}

/* what: the size of the models. */
static dkho_status make_pairs(study *s, const void *what, json_t **out) {
  const char *size = what;
  json_t *list = json_array();
  dkho_status st = DKHO_OK;
  for (int i = 0; i < s->p->recipes; i++)
    for (int j = 0; st == DKHO_OK && j < s->p->recipes; j++) {
      const study_run *a = study_full_run(s, s->p->recipe[i].target, size);
      const study_run *b = study_full_run(s, s->p->recipe[j].target, size);
      double value;
      if (i == j || !a || !b || !are_pair(s, a->recipe, b->recipe)) continue;
      st = opened_compatibility(a->dir, b->dir, s->data, "test", s->o->threads, NULL, &value);
      if (st == DKHO_OK)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f}", "lower", a->recipe->target, "upper",
                                              b->recipe->target, "size", size, "value", value));
    }
  *out = json_pack("{s:o}", "pairs", list);
  return st;
}

/* ---- phase ---- */

/* The run that the diagnostic looks at: of the paper's target, else of the last one. NULL: the model under study has none. */
static const study_run *phase_run_of(const study *s) {
  const study_run *r = s->p->paper ? study_full_run(s, s->p->paper->phase.target, NULL) : NULL;
  for (int i = s->runs - 1; !r && i >= 0; i--) r = study_full_run(s, s->run[i].recipe->target, NULL);
  return r;
}

/* The diagnostic with incidence products, its figure, and the population of the other adjacency beside it. */
static dkho_status make_phase(study *s, const void *what, json_t **out) {
  const study_run *run = what;
  opened r = {0};
  phase_result found = {0};
  phase_request plain = {0}, bare = {.zero_diagonal = 1};
  report_log("%s: phase diagnostic of %s", s->p->name, run->name);
  dkho_status st = opened_model(&r, run->dir, s->data, s->o->threads);
  if (st == DKHO_OK) st = opened_phase(&r, 0, &bare, &found);
  json_t *other = st == DKHO_OK ? phase_json(&found) : NULL;
  phase_free(&found);
  if (st == DKHO_OK) st = opened_phase(&r, 0, &plain, &found);
  if (st == DKHO_OK && study_draws(s, "phase")) st = study_phase_figure(s, r.o->first->c, &found);
  if (st == DKHO_OK && (*out = phase_json(&found))) {
    json_object_del(*out, "each");
    json_object_set_new(*out, "run", json_string(run->name));
    json_object_set(*out, "zero_diagonal", json_object_get(other, "population"));
  }
  json_decref(other);
  phase_free(&found);
  opened_close(&r);
  return st;
}

/* ---- everything of one target ---- */

static json_t *paper_metrics(const paper_row *r) {
  json_t *m = json_object();
  for (int i = 0; i < PAPER_VALUES && r->value[i].key; i++)
    json_object_set_new(m, r->value[i].key, json_real(r->value[i].value));
  return m;
}

/* What the paper prints of a target, as rows beside ours, marked by their source. */
static void add_paper_rows(const study *s, const char *target, json_t *rows) {
  for (int i = 0; s->p->paper && i < s->p->paper->rows; i++) {
    const paper_row *r = &s->p->paper->row[i];
    if (strcmp(r->target, target) != 0) continue;
    char name[64];
    snprintf(name, sizeof name, "%s%s%s%s", r->method, r->inputs[0] ? " (" : "", r->inputs, r->inputs[0] ? ")" : "");
    json_t *row = json_pack("{s:s, s:s, s:o}", "name", name, "source", "paper", "metrics", paper_metrics(r));
    if (r->params_k > 0) json_object_set_new(row, "parameters", json_integer((json_int_t)(1000 * r->params_k + 0.5)));
    json_array_append_new(rows, row);
  }
  const paper_ablation *a = paper_ablation_of(s->p->paper, target);
  for (int i = 0; a && i < 3; i++) {
    static const char *const names[] = {"DKHO-small, no_dirac", "DKHO-small, no_phase", "DKHO-small, no_harmonic"};
    double v = i == 0 ? a->no_dirac : i == 1 ? a->no_phase : a->no_harmonic;
    if (v > 0)
      json_array_append_new(
          rows, json_pack("{s:s, s:s, s:{s:f}}", "name", names[i], "source", "paper", "metrics", "rel_l2", v));
  }
}

/* 1 - least validation error / least of the first nine tenths of the epochs: the share that the last tenth removed; NaN without a
 * history. */
static double late_fall(const study_run *r) {
  char path[PATH_LIMIT], line[256];
  double early = INFINITY, least = INFINITY, error, epochs = 0;
  snprintf(path, sizeof path, "%.*s/metrics.csv", PATH_LIMIT - 64, r->dir);
  for (int pass = 0; pass < 2; pass++) {
    FILE *f = fopen(path, "r");
    double epoch;
    while (f && fgets(line, sizeof line, f)) {
      if (sscanf(line, "%lf,%*f,%*f,%lf", &epoch, &error) != 2) continue;
      if (pass == 0)
        epochs = epoch, least = fmin(least, error);
      else if (epoch <= floor(0.9 * epochs))
        early = fmin(early, error);
    }
    if (f) fclose(f);
  }
  return isfinite(early) && early > 0 ? 1 - least / early : NAN;
}

/* The settings that tables name, from the run's own configuration. */
static dkho_status training_of(const study_run *r, json_t **out) {
  char path[PATH_LIMIT];
  json_t *config = NULL;
  snprintf(path, sizeof path, "%.*s/config.json", PATH_LIMIT - 64, r->dir);
  TRY(config_load_json(path, &config));
  json_t *optimizer = json_object_get(config, "optimizer"), *schedule = json_object_get(config, "schedule");
  double fall = late_fall(r);
  *out = json_pack("{s:s, s:s, s:O, s:O, s:O, s:O, s:o}", "optimizer",
                   optimizer ? json_string_value(optimizer) : optim_name(OPTIM_ADAMW), "schedule",
                   schedule ? json_string_value(schedule) : lr_name(LR_COSINE), "lr", json_object_get(config, "lr"),
                   "batch", json_object_get(config, "batch"), "warmup", json_object_get(config, "warmup"), "ema",
                   json_object_get(config, "ema"), "late_fall", isfinite(fall) ? json_real(fall) : json_null());
  json_decref(config);
  return *out ? DKHO_OK : fail(DKHO_E_FORMAT, "%s: its config.json is not complete", r->dir);
}

/* Which model it is, what it reads, and the time that training took per sample, epochs counted. */
static void add_model(const study *s, const study_run *r, json_t *row) {
  int64_t trains;
  dataset_split(s->d, DATA_TRAIN, &trains);
  double samples = json_number_value(json_object_get(row, "epochs")) * (double)trains;
  json_object_set_new(row, "model", json_string(r->m->name));
  if (r->inputs) json_object_set_new(row, "inputs", json_string(r->inputs));
  if (samples > 0)
    json_object_set_new(row, "seconds_per_training_sample",
                        json_real(json_number_value(json_object_get(row, "seconds")) / samples));
}

/* A trained run: its result.json, its cost (measured once, then kept), its settings. */
static dkho_status add_run_row(study *s, const study_run *r, const classical_cost *classical, json_t *rows) {
  char path[PATH_LIMIT];
  json_t *result = NULL, *cost = NULL, *how = NULL;
  snprintf(path, sizeof path, "%.*s/result.json", PATH_LIMIT - 64, r->dir);
  TRY(config_load_json(path, &result));
  snprintf(path, sizeof path, "%.*s/cost.json", PATH_LIMIT - 64, r->dir);
  cost_of what = {r, classical};
  dkho_status st = kept_part(s, path, 0, make_cost, &what, &cost);
  if (st == DKHO_OK) st = training_of(r, &how);
  if (st == DKHO_OK) {
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:O}", "name", r->title, "source", "ours", "run",
                  r->name, "parameters", json_object_get(result, "parameters"), "epochs",
                  json_object_get(result, "epochs"), "best_epoch", json_object_get(result, "best_epoch"), "val_rel_l2",
                  json_object_get(result, "val_rel_l2"), "seconds", json_object_get(result, "seconds"), "cost", cost,
                  "metrics", json_object_get(json_object_get(result, "test"), "metrics"), "training", how);
    st = row ? DKHO_OK : fail(DKHO_E_FORMAT, "%s: its result.json is not complete", r->dir);
    if (row) add_model(s, r, row);
    if (row) json_array_append_new(rows, row);
  }
  json_decref(result);
  json_decref(cost);
  json_decref(how);
  return st;
}

/* Rows to compare with, found once per target and kept. */
static dkho_status add_reference_rows(study *s, const data_recipe *r, json_t *rows) {
  char name[128], path[PATH_LIMIT];
  json_t *found = NULL, *row;
  snprintf(name, sizeof name, "honest-%.60s.json", r->target);
  TRY(kept_part(s, study_path(s, name, path), 0, make_references, r, &found));
  size_t i;
  json_array_foreach(json_object_get(found, "rows"), i, row) {
    json_object_set_new(row, "source", json_string("ours"));
    json_array_append(rows, row);
  }
  json_decref(found);
  return DKHO_OK;
}

/* Keys and titles in the order of the list. */
static dkho_status metric_titles(study *s, const data_recipe *r, json_t **out) {
  scorer *scores = NULL;
  TRY(scorer_create(&scores, s->d, dataset_find(s->d, r->target), r->metrics, 1, NULL));
  *out = json_array();
  const metrics *m = scorer_metrics(scores);
  for (int i = 0; i < metrics_count(m); i++)
    json_array_append_new(*out, json_pack("{s:s, s:s, s:i}", "key", metrics_at(m, i)->key, "title",
                                          metrics_at(m, i)->title, "better", metrics_at(m, i)->better));
  scorer_free(scores);
  return DKHO_OK;
}

/* {"target", "degree", "metrics", "rows"}: the paper's rows, ours, then the references. */
static dkho_status add_target(study *s, const data_recipe *r, const classical_cost *classical, json_t *targets) {
  json_t *titles = NULL, *rows = json_array();
  dkho_status st = metric_titles(s, r, &titles);
  if (st == DKHO_OK) add_paper_rows(s, r->target, rows);
  for (int i = 0; st == DKHO_OK && i < s->runs; i++)
    if (s->run[i].recipe == r) st = add_run_row(s, &s->run[i], classical, rows);
  if (st == DKHO_OK) st = add_reference_rows(s, r, rows);
  int field = dataset_find(s->d, r->target);
  if (st == DKHO_OK)
    json_array_append_new(targets, json_pack("{s:s, s:i, s:O, s:O}", "target", r->target, "degree",
                                             dataset_field(s->d)[field].degree, "metrics", titles, "rows", rows));
  json_decref(titles);
  json_decref(rows);
  return st;
}

/* ---- the sum ---- */

static json_t *split_sizes(const study *s) {
  json_t *o = json_object();
  for (int i = 0; i < DATA_SPLITS; i++) {
    int64_t n;
    dataset_split(s->d, (data_split)i, &n);
    json_object_set_new(o, data_split_name((data_split)i), json_integer(n));
  }
  return o;
}

static json_t *paper_population(const paper_phase *p) {
  json_t *cases = json_array();
  for (const paper_case *c = p->shown; c < p->shown + PAPER_CASES; c++)
    json_array_append_new(cases, json_pack("{s:f, s:f, s:f, s:f, s:f}", "dice", c->dice, "lift", c->lift, "enrichment",
                                           c->enrichment, "rho", c->rho, "rel_l2", c->rel_l2));
  return json_pack("{s:[ff], s:[ff], s:f, s:[ff], s:f, s:f, s:o}", "rho", p->rho[0], p->rho[1], "dice", p->dice[0],
                   p->dice[1], "lift", p->lift, "enrichment", p->enrichment[0], p->enrichment[1], "permuted_dice",
                   p->permuted_dice, "above_chance", p->above_chance, "cases", cases);
}

/* Contradictions of neighbouring models, where all targets are there. */
static dkho_status add_pairs(study *s, json_t *result) {
  static const char *const sizes[] = {"small", "large"};
  json_t *all = json_array(), *found = NULL;
  json_object_set_new(result, "pairs", all);
  for (int k = 0; k < 2 && !s->o->target; k++) {
    char name[64], path[PATH_LIMIT];
    if (!study_full_run(s, s->p->recipe[0].target, sizes[k])) continue;
    snprintf(name, sizeof name, "pair-%s.json", sizes[k]);
    TRY(kept_part(s, study_path(s, name, path), 0, make_pairs, sizes[k], &found));
    json_array_extend(all, json_object_get(found, "pairs"));
    json_decref(found);
  }
  return DKHO_OK;
}

/* The phase is looked at again when its figure is gone. */
static dkho_status add_phase(study *s, json_t *result) {
  char name[160], path[PATH_LIMIT], figure[PATH_LIMIT];
  json_t *found = NULL;
  const study_run *run = phase_run_of(s);
  if (!run) return DKHO_OK;
  const paper_phase *printed = s->p->paper ? &s->p->paper->phase : NULL;
  snprintf(name, sizeof name, "phase-%s.json", run->name);
  study_path(s, name, path);
  TRY(study_figure_path(s, "phase", "png", figure));
  TRY(kept_part(s, path, study_draws(s, "phase") && !file_exists(figure), make_phase, run, &found));
  if (printed && strcmp(printed->target, run->recipe->target) == 0)
    json_object_set_new(found, "paper", paper_population(printed));
  json_object_set_new(result, "phase", found);
  return DKHO_OK;
}

dkho_status study_results(study *s, json_t **out) {
  char path[PATH_LIMIT];
  json_t *classical = NULL, *targets = json_array();
  classical_cost solve = {0};
  *out = NULL;
  dkho_status st = kept_part(s, study_path(s, "classical.json", path), 0, make_classical, NULL, &classical);
  if (st == DKHO_OK) solve = classical_read(classical);
  for (int i = 0; st == DKHO_OK && i < s->p->recipes; i++)
    if (study_main_run(s, s->p->recipe[i].target)) st = add_target(s, &s->p->recipe[i], &solve, targets);
  const cx *c = dataset_cx(s->d, 0);
  if (st == DKHO_OK) {
    *out = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:i, s:I, s:[IIII], s:O, s:O}", "problem", s->p->name,
                     "version", dkho_version(), "budget", s->budget.name, "resolution", s->budget.of.resolution,
                     "epochs", s->budget.of.epochs, "batch", s->budget.of.batch, "samples", split_sizes(s), "threads",
                     pool_width(s->threads), "seed", (json_int_t)s->o->seed, "simplices", (json_int_t)c->n[0],
                     (json_int_t)c->n[1], (json_int_t)c->n[2], (json_int_t)c->n[3], "classical", classical, "targets",
                     targets);
    st = *out ? add_pairs(s, *out) : fail(DKHO_E_MEMORY, "no memory for a JSON object");
    if (st == DKHO_OK) st = add_phase(s, *out);
  }
  json_decref(classical);
  json_decref(targets);
  if (st == DKHO_OK) st = config_save_json(json_incref(*out), study_path(s, "result.json", path), 1);
  if (st != DKHO_OK) {
    json_decref(*out);
    *out = NULL;
  }
  return st;
}
