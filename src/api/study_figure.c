/* study_figure.c: the figures of a study, each as PNG and PDF. */
#include "api/study.h"

#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {"png", "pdf"};
enum { ENDINGS = 2, PANELS = 8, POINTS = 64 };

dkho_status study_figure_path(const study *s, const char *name, const char *ending, char *out) {
  snprintf(out, PATH_LIMIT, "%.*s/figures", PATH_LIMIT - 400, s->root);
  TRY(file_mkdir(out));
  snprintf(out, PATH_LIMIT, "%.*s/figures/%s-%s.%s", PATH_LIMIT - 400, s->root, s->p->name, name, ending);
  return DKHO_OK;
}

/* ---- training curves ---- */

/* The history of a run: epochs and validation errors. */
static dkho_status read_history(const study_run *r, arena *mem, int64_t *n, double **epoch, double **error) {
  char path[PATH_LIMIT];
  file_map m;
  snprintf(path, sizeof path, "%.*s/metrics.csv", PATH_LIMIT - 64, r->dir);
  TRY(file_map_open(&m, path));
  int64_t lines = 0;
  for (size_t i = 0; i < m.size; i++) lines += m.bytes[i] == '\n';
  *n = 0;
  dkho_status s = ARENA_NEW(mem, *epoch, lines + 1) && ARENA_NEW(mem, *error, lines + 1) ? DKHO_OK : DKHO_E_MEMORY;
  for (size_t at = 0; s == DKHO_OK && at < m.size;) {
    char line[256];
    size_t end = at;
    while (end < m.size && m.bytes[end] != '\n') end++;
    size_t length = end - at < sizeof line - 1 ? end - at : sizeof line - 1;
    memcpy(line, m.bytes + at, length);
    line[length] = 0;
    if (*n < lines && sscanf(line, "%lf,%*f,%*f,%lf", &(*epoch)[*n], &(*error)[*n]) == 2) ++*n;
    at = end + 1;
  }
  file_map_close(&m);
  return s;
}

static dkho_status training_figure(const study *s) {
  chart panel[PANELS] = {{0}};
  chart_series series[PANELS][STUDY_RUNS];
  int panels = 0;
  arena mem = {0};
  dkho_status st = DKHO_OK;
  for (int i = 0; st == DKHO_OK && i < s->p->recipes && panels < PANELS; i++) {
    int count = 0;
    for (int k = 0; st == DKHO_OK && k < s->runs; k++) {
      const study_run *r = &s->run[k];
      if (r->recipe != &s->p->recipe[i]) continue;
      double *x = NULL, *y = NULL;
      int64_t n = 0;
      st = read_history(r, &mem, &n, &x, &y);
      series[panels][count] = (chart_series){.name = r->name, .n = n, .x = x, .y = y, .colour = count, .line = 1};
      count++;
    }
    if (!count) continue;
    panel[panels] = (chart){.title = s->p->recipe[i].target,
                            .x_label = "epoch",
                            .y_label = "validation RelL2",
                            .log_y = 1,
                            .series = count,
                            .at = series[panels]};
    panels++;
  }
  for (int e = 0; st == DKHO_OK && panels && e < ENDINGS; e++) {
    char path[PATH_LIMIT];
    st = study_figure_path(s, "training", endings[e], path);
    if (st == DKHO_OK) st = figure_charts(path, 1, panels, panel);
  }
  arena_free(&mem);
  return st;
}

/* ---- fields ---- */

typedef struct best_sample {
  const opened *r;
  int64_t sample;
  double error;
  double *field; /* its prediction */
} best_sample;

/* Keeps the prediction of least relative error. */
static dkho_status keep_best(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  best_sample *b = ctx;
  const data_field *t = &b->r->o->spec.field[b->r->o->target];
  int64_t n = b->r->o->site[complex].c->n[t->degree] * t->channels;
  for (int64_t i = 0; i < count && complex == 0; i++) {
    const float *p = prediction + i * n, *y = dataset_value(b->r->d, b->r->o->target, sample[i]);
    double e = 0, norm = 0;
    for (int64_t k = 0; k < n; k++) {
      double gap = (double)p[k] - (double)y[k];
      e += gap * gap, norm += (double)y[k] * (double)y[k];
    }
    e = sqrt(e) / fmax(sqrt(norm), 1e-12);
    if (!(e < b->error)) continue;
    b->error = e, b->sample = sample[i];
    for (int64_t k = 0; k < n; k++) b->field[k] = (double)p[k];
  }
  return DKHO_OK;
}

static dkho_status in_double(arena *mem, int64_t n, const float *from, const double **out) {
  double *to;
  if (!ARENA_NEW(mem, to, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) to[i] = (double)from[i];
  *out = to;
  return DKHO_OK;
}

static dkho_status fill_row(const study *of, const opened *r, const char *target, arena *mem, figure_sample *row) {
  const data_field *all = dataset_field(of->d);
  int field = dataset_find(of->d, target);
  const data_field *t = &all[field];
  const cx *c = dataset_cx(of->d, 0);
  int64_t n = c->n[t->degree] * t->channels, count;
  const int64_t *test;
  char *note;
  best_sample best = {.r = r, .error = INFINITY};
  TRY(opened_split(r, "test", &test, &count));
  if (!ARENA_NEW(mem, best.field, n) || !ARENA_NEW(mem, note, 64)) return DKHO_E_MEMORY;
  TRY(judge_predict(r->j, r->o->value, count, test, NULL, keep_best, &best));
  snprintf(note, 64, "sample %lld, RelL2 %.4f", (long long)best.sample, best.error);
  *row = (figure_sample){.title = t->name,
                         .note = note,
                         .c = c,
                         .reference = {t->name, t->degree, t->channels, NULL},
                         .prediction = {t->name, t->degree, t->channels, best.field}};
  TRY(in_double(mem, n, dataset_value(of->d, field, best.sample), &row->reference.data));
  for (int i = 0; i < dataset_fields(of->d); i++) {
    if (all[i].role != DATA_INPUT) continue;
    row->input = (mesh_field){all[i].name, all[i].degree, all[i].channels, NULL};
    return in_double(mem, c->n[all[i].degree] * all[i].channels, dataset_value(of->d, i, best.sample),
                     &row->input.data);
  }
  return DKHO_OK;
}

/* One row: the test sample that the run predicts best, as in the paper's figures. */
static dkho_status field_row(const study *s, const study_run *run, arena *mem, figure_sample *row) {
  opened r = {0};
  dkho_status st = opened_model(&r, run->dir, s->data, s->o->threads);
  if (st == DKHO_OK) st = fill_row(s, &r, run->recipe->target, mem, row);
  opened_close(&r);
  return st;
}

static dkho_status field_figure(const study *s) {
  figure_sample row[PANELS] = {{0}};
  arena mem = {0};
  int rows = 0;
  dkho_status st = DKHO_OK;
  for (int i = 0; st == DKHO_OK && i < s->p->recipes && rows < PANELS; i++) {
    const study_run *run = study_full_run(s, s->p->recipe[i].target, NULL);
    if (run) st = field_row(s, run, &mem, &row[rows++]);
  }
  for (int e = 0; st == DKHO_OK && e < ENDINGS; e++) {
    char path[PATH_LIMIT];
    st = study_figure_path(s, "fields", endings[e], path);
    if (st == DKHO_OK) st = figure_fields(path, 1, 0, rows, row);
  }
  arena_free(&mem);
  return st;
}

/* ---- charts from the result ---- */

static double row_error(const json_t *target, const char *source, const char *name) {
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    const char *from = json_string_value(json_object_get(row, "source")),
               *called = json_string_value(json_object_get(row, "name"));
    if (!from || !called || strcmp(from, source) != 0 || strcmp(called, name) != 0) continue;
    const json_t *v = json_object_get(json_object_get(row, "metrics"), "rel_l2");
    if (json_is_number(v)) return json_number_value(v);
  }
  return NAN;
}

/* Ours and, when there are any, the paper's ablations: groups are targets, bars variants. */
static dkho_status ablation_figure(const study *s, const json_t *result) {
  static const char *const variants[] = {"full", "no_dirac", "no_phase", "no_harmonic"};
  const json_t *targets = json_object_get(result, "targets");
  const char *group[PANELS], *const sources[] = {"ours", "paper"},
                                    *size = s->o->size && strcmp(s->o->size, "large") == 0 ? "large" : "small";
  double value[2][PANELS * 4];
  int groups = (int)(json_array_size(targets) < PANELS ? json_array_size(targets) : PANELS), printed = 0;
  for (int g = 0; g < groups; g++) {
    const json_t *t = json_array_get(targets, (size_t)g);
    group[g] = json_string_value(json_object_get(t, "target"));
    for (int p = 0; p < 2; p++)
      for (int v = 0; v < 4; v++) {
        char name[64];
        snprintf(name, sizeof name, "DKHO-%s%s%s", p ? "small" : size, v ? ", " : "", v ? variants[v] : "");
        value[p][g * 4 + v] = row_error(t, sources[p], name);
        printed |= p && isfinite(value[p][g * 4 + v]);
      }
  }
  bars panel[2];
  char title[64];
  snprintf(title, sizeof title, "ours, budget %s", s->budget.name);
  for (int p = 0; p < 2; p++)
    panel[p] = (bars){p ? "paper" : title, "test RelL2", 1, groups, 4, group, variants, value[p], NULL};
  for (int e = 0; e < ENDINGS; e++) {
    char path[PATH_LIMIT];
    TRY(study_figure_path(s, "ablations", endings[e], path));
    TRY(figure_bars(path, 1, printed ? 2 : 1, panel));
  }
  return DKHO_OK;
}

/* Points (parameters, RelL2) of one source on a target; ablations are left to their own figure. */
static int64_t collect(const json_t *target, const char *source, double *x, double *y, const char **label) {
  int64_t n = 0;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    const char *from = json_string_value(json_object_get(row, "source"));
    const json_t *p = json_object_get(row, "parameters"),
                 *v = json_object_get(json_object_get(row, "metrics"), "rel_l2");
    if (n == POINTS || !from || strcmp(from, source) != 0 ||
        strchr(json_string_value(json_object_get(row, "name")), ',') || !json_is_number(p) || !json_is_number(v))
      continue;
    x[n] = json_number_value(p), y[n] = json_number_value(v);
    label[n++] = json_string_value(json_object_get(row, "name"));
  }
  return n;
}

static dkho_status parameter_figure(const study *s, const json_t *result) {
  static const char *const sources[] = {"paper", "ours"};
  const json_t *targets = json_object_get(result, "targets");
  chart panel[PANELS] = {{0}};
  chart_series series[PANELS][2];
  struct points {
    double x[POINTS], y[POINTS];
    const char *label[POINTS];
  } * at;
  int panels = 0;
  if (!MEM_NEW(at, 2 * PANELS)) return DKHO_E_MEMORY;
  size_t g;
  json_t *t;
  json_array_foreach(targets, g, t) {
    int count = 0;
    int64_t points = 0;
    for (int k = 0; k < 2 && panels < PANELS; k++) {
      struct points *p = &at[2 * panels + k];
      int64_t n = collect(t, sources[k], p->x, p->y, p->label);
      points += n;
      if (n)
        series[panels][count++] =
            (chart_series){.name = sources[k], .n = n, .x = p->x, .y = p->y, .colour = k, .dots = 1, .label = p->label};
    }
    if (points < 2) continue; /* one point says nothing about efficiency */
    panel[panels] = (chart){.title = json_string_value(json_object_get(t, "target")),
                            .x_label = "parameters",
                            .y_label = "test RelL2",
                            .log_x = 1,
                            .log_y = 1,
                            .series = count,
                            .at = series[panels]};
    panels++;
  }
  dkho_status st = DKHO_OK;
  for (int e = 0; st == DKHO_OK && panels && e < ENDINGS; e++) {
    char path[PATH_LIMIT];
    st = study_figure_path(s, "parameters", endings[e], path);
    if (st == DKHO_OK) st = figure_charts(path, 1, panels, panel);
  }
  mem_free(at);
  return st;
}

dkho_status study_figures(const study *s, const json_t *result) {
  TRY(training_figure(s));
  TRY(field_figure(s));
  if (s->o->ablations) TRY(ablation_figure(s, result));
  return parameter_figure(s, result);
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
  for (int e = 0; st == DKHO_OK && e < ENDINGS; e++) {
    char path[PATH_LIMIT];
    st = study_figure_path(s, "phase", endings[e], path);
    if (st == DKHO_OK) st = figure_phase(path, 1, 1, f->cases, panel);
  }
  arena_free(&mem);
  return st;
}
