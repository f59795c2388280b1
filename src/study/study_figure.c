/* study_figure.c: which figures a study has, and those of fields: what the models predict, where the phase works. */
#include "study/study.h"

#include "report/figure.h"
#include "study/ranked.h"
#include "study/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PANELS = 8, MODELS_SHOWN = 24 };

const char *const study_format[STUDY_FORMATS] = {"png", "svg", "pdf"};

dkho_status study_figure_path(const study *s, const char *name, const char *format, char *out) {
  snprintf(out, PATH_LIMIT, "%.*s/figures", PATH_LIMIT - 400, s->root);
  TRY(file_mkdir(out));
  snprintf(out, PATH_LIMIT, "%.*s/figures/%s-%s.%s", PATH_LIMIT - 400, s->root, s->p->name, name, format);
  return DKHO_OK;
}

/* ---- which there are ---- */

static const char *const figure_names[] = {"training",   "fields",     "models", "ablations",
                                           "parameters", "efficiency", "phase"};
enum { FIGURES = sizeof figure_names / sizeof *figure_names };

static int models_of(const study *s, const data_recipe *r) {
  int n = 0;
  for (int i = 0; i < s->runs; i++) n += s->run[i].recipe == r;
  return n;
}

/* Points of the parameter chart: printed methods, and our models that are no ablations. */
static int points_of(const study *s, const data_recipe *r) {
  int n = study_full_runs(s, r->target);
  const paper_results *p = s->p->paper;
  for (int i = 0; n && p && i < p->rows; i++) n += p->row[i].params_k > 0 && strcmp(p->row[i].target, r->target) == 0;
  return n;
}

static int has_figure(const study *s, const char *name) {
  int models = 0, points = 0, ablations = 0, several = 0, phases = 0;
  for (int i = 0; i < s->runs; i++) ablations |= strcmp(s->run[i].variant, "full") != 0;
  for (int i = 0; i < s->p->recipes; i++) {
    models |= models_of(s, &s->p->recipe[i]) > 1;
    points |= points_of(s, &s->p->recipe[i]) > 1;
    several |= study_full_runs(s, s->p->recipe[i].target) > 1;
    phases |= study_full_run(s, s->p->recipe[i].target, NULL) != NULL;
  }
  if (strcmp(name, "models") == 0) return models;
  if (strcmp(name, "parameters") == 0) return points;
  if (strcmp(name, "efficiency") == 0) return several;
  if (strcmp(name, "phase") == 0) return phases;
  return strcmp(name, "ablations") == 0 ? ablations : 1;
}

/* The next name of a list with commas, "" at its end; moves *list on. */
static void next_name(const char **list, char out[32]) {
  size_t n = strcspn(*list, ",");
  snprintf(out, 32, "%.*s", (int)(n < 31 ? n : 31), *list);
  *list += n + ((*list)[n] == ',');
}

int study_draws(const study *s, const char *name) {
  const char *list = s->o->figures;
  char one[32];
  int wanted = !list;
  while (list && *list && !wanted) {
    next_name(&list, one);
    wanted = strcmp(one, name) == 0;
  }
  return wanted && has_figure(s, name);
}

dkho_status study_check_figures(const study *s) {
  const char *list = s->o->figures;
  char one[32], known[128] = "";
  for (int i = 0; i < FIGURES; i++) {
    size_t used = strlen(known);
    if (has_figure(s, figure_names[i]))
      snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", figure_names[i]);
  }
  while (list && *list) {
    next_name(&list, one);
    int found = 0;
    for (int i = 0; i < FIGURES; i++) found |= strcmp(one, figure_names[i]) == 0 && has_figure(s, one);
    if (!found)
      return fail(DKHO_E_INPUT, "%s, as it is asked for here, has no figure '%s'; it has %s", s->p->name, one, known);
  }
  return DKHO_OK;
}

/* ---- fields ---- */

static const char *const choices[] = {"best", "median", "worst"}; /* first, middle and last by error */

static int choice_of(const char *which) {
  for (int i = 0; i < 3; i++)
    if (strcmp(which, choices[i]) == 0) return i;
  return -1;
}

dkho_status study_check_sample(const study *s) {
  const char *which = s->o->sample;
  char *end;
  if (!which || choice_of(which) >= 0) return DKHO_OK;
  long long sample = strtoll(which, &end, 10);
  if (end == which || *end || sample < 0 || sample >= (long long)dataset_samples(s->d))
    return fail(DKHO_E_INPUT, "sample '%s': expected best, median, worst or a number below %lld", which,
                (long long)dataset_samples(s->d));
  return DKHO_OK;
}

/* Among the test samples by the error of a model, or the one of this number. */
static dkho_status choose_sample(const opened *r, const char *which, int64_t *sample) {
  int choice = choice_of(which);
  ranked k = {0};
  if (choice < 0) {
    *sample = strtoll(which, NULL, 10);
    return DKHO_OK;
  }
  dkho_status st = ranked_find(&k, r, "test");
  if (st == DKHO_OK) *sample = k.sample[choice * (k.count - 1) / 2];
  ranked_free(&k);
  return st;
}

/* Sample *sample; with -1 the one that the study shows, which it then is. */
static dkho_status field_row(const study *s, const study_run *run, arena *mem, int64_t *sample, row_shapes *h,
                             figure_sample *row) {
  opened r = {0};
  const char *which = s->o->sample ? s->o->sample : "median",
             *what = *sample < 0 && choice_of(which) >= 0 ? which : NULL;
  dkho_status st = opened_model(&r, run->dir, s->data, s->o->threads);
  if (st == DKHO_OK && *sample < 0) st = choose_sample(&r, which, sample);
  if (st == DKHO_OK) st = row_predicted(s->d, &r, *sample, what, mem, h, row);
  opened_close(&r);
  return st;
}

static dkho_status draw_rows(const study *s, const char *name, int shared, int rows, const figure_sample *row) {
  for (int e = 0; e < STUDY_FORMATS; e++) {
    char path[PATH_LIMIT];
    TRY(study_figure_path(s, name, study_format[e], path));
    TRY(figure_fields(path, 1, shared, rows, row));
  }
  return DKHO_OK;
}

/* A row per target: the test sample that its full model predicts with median error, or another. */
static dkho_status field_figure(const study *s) {
  figure_sample row[PANELS] = {{0}};
  row_shapes shapes = {0};
  arena mem = {0};
  int rows = 0;
  dkho_status st = DKHO_OK;
  for (int i = 0; st == DKHO_OK && i < s->p->recipes && rows < PANELS; i++) {
    const study_run *run = study_main_run(s, s->p->recipe[i].target);
    int64_t sample = -1;
    if (!run) continue;
    row[rows].title = run->recipe->target;
    st = field_row(s, run, &mem, &sample, &shapes, &row[rows++]);
  }
  if (st == DKHO_OK) st = draw_rows(s, "fields", 0, rows, row);
  row_shapes_free(&shapes);
  arena_free(&mem);
  return st;
}

/* A row per model of a target, the largest full one first, all on one sample, which its errors choose. */
static dkho_status model_figure(const study *s, const data_recipe *r) {
  figure_sample row[MODELS_SHOWN] = {{0}};
  row_shapes shapes = {0};
  char name[96];
  arena mem = {0};
  const study_run *first = study_main_run(s, r->target);
  int64_t sample = -1;
  int rows = 1;
  row[0].title = first->title;
  dkho_status st = field_row(s, first, &mem, &sample, &shapes, &row[0]);
  for (int i = 0; st == DKHO_OK && i < s->runs && rows < MODELS_SHOWN; i++) {
    if (s->run[i].recipe != r || &s->run[i] == first) continue;
    row[rows].title = s->run[i].title;
    st = field_row(s, &s->run[i], &mem, &sample, &shapes, &row[rows++]);
  }
  snprintf(name, sizeof name, "models-%.60s", r->target);
  if (st == DKHO_OK) st = draw_rows(s, name, 1, rows, row);
  row_shapes_free(&shapes);
  arena_free(&mem);
  return st;
}

dkho_status study_figures(const study *s, const json_t *result) {
  if (study_draws(s, "training")) TRY(study_training_figure(s));
  if (study_draws(s, "fields")) TRY(field_figure(s));
  for (int i = 0; study_draws(s, "models") && i < s->p->recipes; i++)
    if (models_of(s, &s->p->recipe[i]) > 1) TRY(model_figure(s, &s->p->recipe[i]));
  if (study_draws(s, "ablations")) TRY(study_ablation_figure(s, result));
  if (study_draws(s, "efficiency")) TRY(study_efficiency_figures(s, result));
  return study_draws(s, "parameters") ? study_parameter_figure(s, result) : DKHO_OK;
}

/* ---- phase ---- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* (v - q01)/(q99 - q01), clipped to 0 … 1. */
static void unit_range(int64_t n, double *v, double *scratch) {
  double lo = align_quantile(n, v, 0.01, scratch), hi = align_quantile(n, v, 0.99, scratch);
  for (int64_t i = 0; i < n; i++) v[i] = fmin(fmax((v[i] - lo) / fmax(hi - lo, 1e-300), 0), 1);
}

/* Sets `bit` on the best `fraction` of the entries that have `of`, by value. */
static void mark_best(int64_t n, uint8_t *mask, int of, int bit, double fraction, const double *value,
                      double *scratch) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++)
    if (mask[i] & of) scratch[count++] = value[i];
  if (!count) return;
  qsort(scratch, (size_t)count, sizeof *scratch, by_value);
  int64_t kept = (int64_t)ceil(fraction * (double)count);
  double cut = scratch[count - kept];
  for (int64_t i = 0; i < n; i++)
    if (mask[i] & of && value[i] >= cut) mask[i] = (uint8_t)(mask[i] | bit);
}

/* Shares shown of the phase mask and of the shared mask, by degree of the carrier: nodes, edges, faces. */
static const double shown_share[] = {0.60, 0.86, 0.82}, strong_share[] = {0.88, 0.80, 0.78};

/* out->mask: where the phase score, and the field too, are in their top share q, thinned to the best that a reader can tell apart; best by
 * √(field · phase), both scaled to [0, 1]. */
static dkho_status phase_masks(const phase_result *f, int64_t instance, arena *mem, phase_panel *out) {
  enum { CHOSEN = 8 };
  int64_t n = f->n;
  int k = f->degree < 3 ? f->degree : 2;
  double *phase, *pde, *joint = NULL, *scratch = NULL;
  uint8_t *mask = NULL;
  if (!ARENA_NEW(mem, phase, n) || !ARENA_NEW(mem, pde, n) || !ARENA_NEW(mem, joint, n) ||
      !ARENA_NEW(mem, scratch, n) || !ARENA_NEW(mem, mask, n))
    return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    phase[i] = (double)f->phase[instance * n + i], pde[i] = (double)f->pde[instance * n + i];
  double a = align_quantile(n, phase, 1 - f->q, scratch), p = align_quantile(n, pde, 1 - f->q, scratch);
  for (int64_t i = 0; i < n; i++) {
    if (phase[i] >= a) mask[i] = CHOSEN;
    if (phase[i] >= a && pde[i] >= p) mask[i] = CHOSEN | PHASE_SHARED;
  }
  out->pde = pde;
  double *unit = joint;
  for (int64_t i = 0; i < n; i++) unit[i] = pde[i];
  unit_range(n, unit, scratch);
  unit_range(n, phase, scratch);
  for (int64_t i = 0; i < n; i++) joint[i] = sqrt(unit[i] * phase[i]);
  mark_best(n, mask, CHOSEN, PHASE_SHOWN, shown_share[k], phase, scratch);
  mark_best(n, mask, PHASE_SHARED, PHASE_STRONG, strong_share[k], joint, scratch);
  for (int64_t i = 0; i < n; i++) mask[i] = (uint8_t)(mask[i] & ~CHOSEN);
  out->mask = mask;
  return DKHO_OK;
}

dkho_status study_phase_figure(const study *s, const cx *c, const phase_result *f) {
  phase_panel panel[PHASE_CASES];
  char title[PHASE_CASES][96];
  arena mem = {0};
  dkho_status st = DKHO_OK;
  if (!f->cases || f->degree > 2) return DKHO_OK;
  for (int i = 0; st == DKHO_OK && i < f->cases; i++) {
    const alignment *a = &f->each[f->chosen[i]];
    snprintf(title[i], sizeof title[i], "%s, sample %lld", s->p->name, (long long)f->sample[f->chosen[i]]);
    panel[i] = (phase_panel){
        .title = title[i], .c = c, .degree = f->degree, .dice = a->dice, .lift = a->lift, .enrichment = a->enrichment};
    st = phase_masks(f, f->chosen[i], &mem, &panel[i]);
  }
  for (int e = 0; st == DKHO_OK && e < STUDY_FORMATS; e++) {
    char path[PATH_LIMIT];
    st = study_figure_path(s, "phase", study_format[e], path);
    if (st == DKHO_OK) st = figure_phase(path, 1, 1, f->cases, panel);
  }
  arena_free(&mem);
  return st;
}
