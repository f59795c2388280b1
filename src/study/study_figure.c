/* study_figure.c: which figures a study has, and those of fields: what the models predict, where the phase works. */
#include "study/study.h"

#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PANELS = 8 };

const char *const study_format[STUDY_FORMATS] = {"png", "svg", "pdf"};

dkho_status study_figure_path(const study *s, const char *name, const char *format, char *out) {
  snprintf(out, PATH_LIMIT, "%.*s/figures", PATH_LIMIT - 400, s->root);
  TRY(file_mkdir(out));
  snprintf(out, PATH_LIMIT, "%.*s/figures/%s-%s.%s", PATH_LIMIT - 400, s->root, s->p->name, name, format);
  return DKHO_OK;
}

/* ---- which there are ---- */

static const char *const figure_names[] = {"training", "fields", "models", "ablations", "parameters", "phase"};
enum { FIGURES = sizeof figure_names / sizeof *figure_names };

static int models_of(const study *s, const data_recipe *r) {
  int n = 0;
  for (int i = 0; i < s->runs; i++) n += s->run[i].recipe == r;
  return n;
}

/* Points of the parameter chart: printed methods, and our full models. */
static int points_of(const study *s, const data_recipe *r) {
  int n = (study_full_run(s, r->target, "small") != NULL) + (study_full_run(s, r->target, "large") != NULL);
  const paper_results *p = s->p->paper;
  for (int i = 0; n && p && i < p->rows; i++) n += p->row[i].params_k > 0 && strcmp(p->row[i].target, r->target) == 0;
  return n;
}

static int has_figure(const study *s, const char *name) {
  int models = 0, points = 0, ablations = 0;
  for (int i = 0; i < s->runs; i++) ablations |= strcmp(s->run[i].variant, "full") != 0;
  for (int i = 0; i < s->p->recipes; i++) {
    models |= models_of(s, &s->p->recipe[i]) > 1;
    points |= points_of(s, &s->p->recipe[i]) > 1;
  }
  if (strcmp(name, "models") == 0) return models;
  if (strcmp(name, "parameters") == 0) return points;
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

/* What a pass over samples leaves: their errors, and the last prediction. */
typedef struct field_pass {
  const opened *r;
  int64_t at;
  double *error; /* per sample in the order of the list; negative: none */
  double *field;
} field_pass;

static dkho_status take_errors(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  field_pass *b = ctx;
  const data_field *t = &b->r->o->spec.field[b->r->o->target];
  int64_t n = dataset_count(b->r->d, complex, t->degree) * t->channels;
  for (int64_t i = 0; i < count; i++, b->at++) {
    const float *p = prediction + i * n;
    b->error[b->at] = -1;
    if (complex != 0) continue;
    b->error[b->at] = metric_field_error(n, p, dataset_value(b->r->d, b->r->o->target, sample[i]));
    for (int64_t k = 0; k < n; k++) b->field[k] = (double)p[k];
  }
  return DKHO_OK;
}

/* The place of the median among the errors that are not negative: the one with half of the others below it, rounded down; equal
 * ones in order. -1: there is none. */
static int64_t median_place(int64_t count, const double *error) {
  int64_t valid = 0;
  for (int64_t i = 0; i < count; i++) valid += error[i] >= 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t below = 0;
    for (int64_t j = 0; j < count; j++)
      below += error[j] >= 0 && (error[j] < error[i] || (error[j] == error[i] && j < i));
    if (error[i] >= 0 && below == (valid - 1) / 2) return i;
  }
  return -1;
}

static dkho_status in_double(arena *mem, int64_t n, const float *from, const double **out) {
  double *to;
  if (!ARENA_NEW(mem, to, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) to[i] = (double)from[i];
  *out = to;
  return DKHO_OK;
}

/* The first input of the data set, which a row begins with. */
static dkho_status fill_input(const dataset *d, int64_t sample, arena *mem, mesh_field *out) {
  const data_field *all = dataset_field(d);
  for (int i = 0; i < dataset_fields(d); i++) {
    if (all[i].role != DATA_INPUT) continue;
    *out = (mesh_field){all[i].name, all[i].degree, all[i].channels, NULL};
    return in_double(mem, dataset_cx(d, 0)->n[all[i].degree] * all[i].channels, dataset_value(d, i, sample),
                     &out->data);
  }
  return DKHO_OK;
}

/* The test sample of median error, by the model's own predictions. */
static dkho_status find_median(const opened *r, arena *mem, field_pass *pass, int64_t *sample) {
  const int64_t *list;
  int64_t count;
  TRY(opened_split(r, "test", &list, &count));
  if (!ARENA_NEW(mem, pass->error, count)) return DKHO_E_MEMORY;
  pass->at = 0;
  TRY(judge_predict(r->j, r->o->value, count, list, NULL, take_errors, pass));
  int64_t place = median_place(count, pass->error);
  if (place < 0) return fail(DKHO_E_INPUT, "no test sample to show");
  *sample = list[place];
  return DKHO_OK;
}

/* Sample *sample; with -1 the test sample of median error, which it then is. What the row keeps is d's, which outlives r. */
static dkho_status fill_row(const dataset *d, const opened *r, arena *mem, int64_t *sample, figure_sample *row) {
  const data_field *t = &dataset_field(d)[r->o->target];
  const cx *c = dataset_cx(d, 0);
  int64_t n = c->n[t->degree] * t->channels;
  double error;
  char *note;
  field_pass pass = {.r = r};
  if (!ARENA_NEW(mem, pass.field, n) || !ARENA_NEW(mem, note, 64)) return DKHO_E_MEMORY;
  if (*sample < 0) TRY(find_median(r, mem, &pass, sample));
  pass.at = 0, pass.error = &error;
  TRY(judge_predict(r->j, r->o->value, 1, sample, NULL, take_errors, &pass));
  snprintf(note, 64, "sample %lld, RelL2 %.4f", (long long)*sample, error);
  row->note = note, row->c = c;
  row->reference = (mesh_field){t->name, t->degree, t->channels, NULL};
  row->prediction = (mesh_field){t->name, t->degree, t->channels, pass.field};
  TRY(in_double(mem, n, dataset_value(d, r->o->target, *sample), &row->reference.data));
  return fill_input(d, *sample, mem, &row->input);
}

static dkho_status field_row(const study *s, const study_run *run, arena *mem, int64_t *sample, figure_sample *row) {
  opened r = {0};
  dkho_status st = opened_model(&r, run->dir, s->data, s->o->threads);
  if (st == DKHO_OK) st = fill_row(s->d, &r, mem, sample, row);
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

/* A row per target: the test sample that its full model predicts with median error, neither its best nor its worst. */
static dkho_status field_figure(const study *s) {
  figure_sample row[PANELS] = {{0}};
  arena mem = {0};
  int rows = 0;
  dkho_status st = DKHO_OK;
  for (int i = 0; st == DKHO_OK && i < s->p->recipes && rows < PANELS; i++) {
    const study_run *run = study_full_run(s, s->p->recipe[i].target, NULL);
    int64_t sample = -1;
    if (!run) continue;
    row[rows].title = run->recipe->target;
    st = field_row(s, run, &mem, &sample, &row[rows++]);
  }
  if (st == DKHO_OK) st = draw_rows(s, "fields", 0, rows, row);
  arena_free(&mem);
  return st;
}

/* A row per model of a target, the full one first, all on the sample of its median error. */
static dkho_status model_figure(const study *s, const data_recipe *r) {
  figure_sample row[PANELS] = {{0}};
  char name[96];
  arena mem = {0};
  const study_run *best = study_full_run(s, r->target, NULL);
  int64_t sample = -1;
  int rows = 1;
  row[0].title = best->name;
  dkho_status st = field_row(s, best, &mem, &sample, &row[0]);
  for (int i = 0; st == DKHO_OK && i < s->runs && rows < PANELS; i++) {
    if (s->run[i].recipe != r || &s->run[i] == best) continue;
    row[rows].title = s->run[i].name;
    st = field_row(s, &s->run[i], &mem, &sample, &row[rows++]);
  }
  snprintf(name, sizeof name, "models-%.60s", r->target);
  if (st == DKHO_OK) st = draw_rows(s, name, 1, rows, row);
  arena_free(&mem);
  return st;
}

dkho_status study_figures(const study *s, const json_t *result) {
  if (study_draws(s, "training")) TRY(study_training_figure(s));
  if (study_draws(s, "fields")) TRY(field_figure(s));
  for (int i = 0; study_draws(s, "models") && i < s->p->recipes; i++)
    if (models_of(s, &s->p->recipe[i]) > 1) TRY(model_figure(s, &s->p->recipe[i]));
  if (study_draws(s, "ablations")) TRY(study_ablation_figure(s, result));
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
