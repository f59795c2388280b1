/* study_chart.c: the charts of a study: training curves, ablations, error against parameters and time. */
#include "study/study.h"

#include "report/figure.h"
#include "study/history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PANELS = 8, POINTS = 64 };

/* ---- training curves ---- */

/* Two lines of a run: its training error, thin and dashed, and its validation error. Those of the first run explain the dashes. */
static dkho_status training_lines(const study_run *r, int count, arena *mem, chart_series *line) {
  history h;
  TRY(history_read(&h, r->dir, mem));
  chart_series one = {.n = h.n, .x = h.epoch, .colour = count, .line = 1};
  line[0] = line[1] = one;
  line[0].name = count ? NULL : "training", line[0].y = h.train, line[0].dashed = line[0].thin = 1;
  line[1].name = r->name, line[1].y = h.val;
  return DKHO_OK;
}

dkho_status study_training_figure(const study *s) {
  chart panel[PANELS] = {{0}};
  chart_series series[PANELS][2 * STUDY_RUNS];
  int panels = 0;
  arena mem = {0};
  dkho_status st = DKHO_OK;
  for (int i = 0; st == DKHO_OK && i < s->p->recipes && panels < PANELS; i++) {
    int count = 0;
    for (int k = 0; st == DKHO_OK && k < s->runs; k++) {
      const study_run *r = &s->run[k];
      if (r->recipe != &s->p->recipe[i]) continue;
      st = training_lines(r, count, &mem, &series[panels][2 * count]);
      count++;
    }
    if (!count) continue;
    panel[panels] = (chart){.title = s->p->recipe[i].target,
                            .x_label = "epoch",
                            .y_label = "RelL2 (solid: validation)",
                            .log_y = 1,
                            .series = 2 * count,
                            .at = series[panels]};
    panels++;
  }
  for (int e = 0; st == DKHO_OK && panels && e < STUDY_FORMATS; e++) {
    char path[PATH_LIMIT];
    st = study_figure_path(s, "training", study_format[e], path);
    if (st == DKHO_OK) st = figure_charts(path, 1, panels, panel);
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
dkho_status study_ablation_figure(const study *s, const json_t *result) {
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
    panel[p] = (bars){p ? "paper" : title, "test RelL2", 1, groups, 4, group, variants, value[p]};
  for (int e = 0; e < STUDY_FORMATS; e++) {
    char path[PATH_LIMIT];
    TRY(study_figure_path(s, "ablations", study_format[e], path));
    TRY(figure_bars(path, 1, printed ? 2 : 1, panel));
  }
  return DKHO_OK;
}

/* Points (parameters, RelL2) of one source on a target; ablations are left to their own figure. */
static int64_t collect_points(const json_t *target, const char *source, double *x, double *y, const char **label) {
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

dkho_status study_parameter_figure(const study *s, const json_t *result) {
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
      int64_t n = collect_points(t, sources[k], p->x, p->y, p->label);
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
  for (int e = 0; st == DKHO_OK && panels && e < STUDY_FORMATS; e++) {
    char path[PATH_LIMIT];
    st = study_figure_path(s, "parameters", study_format[e], path);
    if (st == DKHO_OK) st = figure_charts(path, 1, panels, panel);
  }
  mem_free(at);
  return st;
}

/* ---- efficiency ---- */

enum { PRICES = 3 };

/* What a model's error is bought with. */
static double price_of(const json_t *row, int price) {
  const json_t *v = price == 0   ? json_object_get(row, "parameters")
                    : price == 1 ? json_object_get(row, "seconds_per_training_sample")
                                 : json_object_get(json_object_get(row, "cost"), "learned_seconds_per_sample");
  return json_is_number(v) ? (price ? 1e3 : 1) * json_number_value(v) : NAN;
}

/* Our models of a target but for ablations: one point each in three panels. */
static dkho_status efficiency_figure(const study *s, const json_t *target) {
  static const char *const labels[PRICES] = {"parameters", "ms per training sample", "ms per prediction"};
  double x[PRICES][POINTS], y[POINTS];
  const char *label[POINTS];
  chart panel[PRICES] = {{0}};
  chart_series series[PRICES];
  char name[96];
  int64_t n = 0;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    const json_t *v = json_object_get(json_object_get(row, "metrics"), "rel_l2");
    const char *called = json_string_value(json_object_get(row, "name"));
    if (n == POINTS || !json_object_get(row, "cost") || !json_is_number(v) || strchr(called, ',')) continue;
    for (int k = 0; k < PRICES; k++) x[k][n] = price_of(row, k);
    y[n] = json_number_value(v), label[n++] = called;
  }
  if (n < 2) return DKHO_OK;
  for (int k = 0; k < PRICES; k++) {
    series[k] = (chart_series){.n = n, .x = x[k], .y = y, .dots = 1, .label = label};
    panel[k] = (chart){.title = k ? "" : json_string_value(json_object_get(target, "target")),
                       .x_label = labels[k],
                       .y_label = "test RelL2",
                       .log_x = 1,
                       .log_y = 1,
                       .series = 1,
                       .at = &series[k]};
  }
  snprintf(name, sizeof name, "efficiency-%.60s", json_string_value(json_object_get(target, "target")));
  for (int e = 0; e < STUDY_FORMATS; e++) {
    char path[PATH_LIMIT];
    TRY(study_figure_path(s, name, study_format[e], path));
    TRY(figure_charts(path, 1, PRICES, panel));
  }
  return DKHO_OK;
}

dkho_status study_efficiency_figures(const study *s, const json_t *result) {
  size_t i;
  json_t *target;
  json_array_foreach(json_object_get(result, "targets"), i, target) TRY(efficiency_figure(s, target));
  return DKHO_OK;
}
