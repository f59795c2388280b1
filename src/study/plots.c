/* plots.c: which figures there are, and what they show. */
#include "study/plots.h"

#include "dec/dec.h"
#include "study/history.h"
#include "study/ranked.h"
#include "study/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, SHOWN = 3, SERIES = 32 };

/* Draws a figure in every format asked for: `draw` gets the path. */
typedef dkho_status (*drawer)(const char *path, int force, void *what);
static dkho_status draw_formats(const plot_request *q, const char *name, drawer draw, void *what) {
  const char *list = q->format;
  TRY(file_mkdir(q->dir));
  while (*list) {
    size_t n = strcspn(list, ",");
    char path[PATH_LIMIT];
    int length = snprintf(path, sizeof path, "%s/%s.%.*s", q->dir, name, (int)n, list);
    if (length >= (int)sizeof path) return fail(DKHO_E_INPUT, "the name of the directory is too long");
    TRY(draw(path, q->force, what));
    json_array_append_new(q->written, json_string(path));
    list += n + (list[n] == ',');
  }
  return DKHO_OK;
}

typedef struct field_figure {
  int shared, rows;
  figure_sample row[ROWS];
  row_shapes shapes;
} field_figure;

static dkho_status draw_fields(const char *path, int force, void *what) {
  const field_figure *f = what;
  return figure_fields(path, force, f->shared, f->rows, f->row);
}

typedef struct chart_figure {
  int panels;
  chart panel[2];
} chart_figure;

static dkho_status draw_charts(const char *path, int force, void *what) {
  const chart_figure *f = what;
  return figure_charts(path, force, f->panels, f->panel);
}

static dkho_status draw_and_free(const plot_request *q, const char *name, dkho_status s, field_figure *f) {
  if (s == DKHO_OK) s = draw_formats(q, name, draw_fields, f);
  row_shapes_free(&f->shapes);
  return s;
}

/* ---- meshes ---- */

typedef struct mesh_figure {
  int count;
  figure_complex *item;
} mesh_figure;

static dkho_status draw_meshes(const char *path, int force, void *what) {
  const mesh_figure *f = what;
  return figure_complexes(path, force, f->count, f->item);
}

dkho_status plot_meshes(const plot_request *q, int count, const cx *const *c, const char *const *title) {
  mesh_figure f = {.count = count};
  int64_t(*betti)[CX_DEGREES];
  arena mem = {0};
  dkho_status s = ARENA_NEW(&mem, f.item, count) && ARENA_NEW(&mem, betti, count) ? DKHO_OK : DKHO_E_MEMORY;
  for (int i = 0; s == DKHO_OK && i < count; i++) {
    s = dec_betti(c[i], betti[i]);
    f.item[i] = (figure_complex){c[i], title[i], betti[i]};
  }
  if (s == DKHO_OK) s = draw_formats(q, "mesh", draw_meshes, &f);
  arena_free(&mem);
  return s;
}

/* ---- data sets ---- */

typedef struct sized {
  double size;
  int64_t sample;
} sized;

static int by_size(const void *left, const void *right) {
  const sized *a = left, *b = right;
  if (a->size < b->size || a->size > b->size) return a->size < b->size ? -1 : 1;
  return a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* The sample whose target has the median norm. */
static dkho_status median_size(const dataset *d, int target, arena *mem, int64_t *sample) {
  const data_field *t = &dataset_field(d)[target];
  int64_t count = dataset_samples(d);
  sized *all;
  if (!ARENA_NEW(mem, all, count)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < count; i++) {
    int complex;
    int64_t place;
    TRY(dataset_prove_value(d, target, i));
    dataset_locate(d, i, &complex, &place);
    const float *v = dataset_value(d, target, i);
    for (int64_t k = 0; k < dataset_count(d, complex, t->degree) * t->channels; k++)
      all[i].size += (double)v[k] * (double)v[k];
    all[i].sample = i;
  }
  qsort(all, (size_t)count, sizeof *all, by_size);
  *sample = all[(count - 1) / 2].sample;
  return DKHO_OK;
}

static dkho_status fill_targets(const dataset *d, arena *mem, field_figure *f) {
  for (int i = 0; i < dataset_fields(d) && f->rows < ROWS; i++) {
    int64_t sample;
    char *note;
    if (dataset_field(d)[i].role != DATA_TARGET) continue;
    figure_sample *row = &f->row[f->rows++];
    TRY(median_size(d, i, mem, &sample));
    TRY(row_values(d, i, sample, mem, &f->shapes, row));
    if (!ARENA_NEW(mem, note, 64)) return DKHO_E_MEMORY;
    snprintf(note, 64, "sample %lld, of median size", (long long)sample);
    row->title = dataset_field(d)[i].name, row->note = note;
  }
  return DKHO_OK;
}

dkho_status plot_data(const plot_request *q, const dataset *d) {
  field_figure f = {0};
  arena mem = {0};
  const cx *c = dataset_cx(d, 0);
  TRY(plot_meshes(q, 1, &c, &dataset_info(d)->problem));
  dkho_status s = dataset_samples(d) ? fill_targets(d, &mem, &f) : DKHO_OK;
  if (f.rows) s = draw_and_free(q, "fields", s, &f);
  arena_free(&mem);
  return s;
}

/* ---- runs ---- */

/* By epoch, two panels: training error, and validation error; by minutes, the validation error. A line for each run. */
static dkho_status plot_training(const plot_request *q, int count, const plot_run *run, arena *mem) {
  chart_series series[3][SERIES];
  int n = 0;
  for (int i = 0; i < count && n < SERIES; i++) {
    history h;
    if (!run[i].dir) continue;
    TRY(history_read(&h, run[i].dir, mem));
    const double *x[3] = {h.epoch, h.epoch, h.minutes}, *y[3] = {h.train, h.val, h.val};
    for (int p = 0; p < 3; p++)
      series[p][n] = (chart_series){.name = run[i].name, .n = h.n, .x = x[p], .y = y[p], .colour = n, .line = 1};
    n++;
  }
  chart_figure f = {2,
                    {{"training", "epoch", "RelL2 on training samples", 0, 1, n, series[0]},
                     {"validation", "epoch", "RelL2 on validation samples", 0, 1, n, series[1]}}};
  chart_figure timed = {1,
                        {{"error by time", "minutes of training", "RelL2 on validation samples", 0, 1, n, series[2]}}};
  if (!n) return DKHO_OK;
  TRY(draw_formats(q, "training", draw_charts, &f));
  return draw_formats(q, "minutes", draw_charts, &timed);
}

static dkho_status plot_errors(const plot_request *q, int count, const plot_run *run, const ranked *k, arena *mem) {
  chart_series series[SERIES];
  for (int i = 0; i < count; i++) {
    double *x;
    if (!ARENA_NEW(mem, x, k[i].count)) return DKHO_E_MEMORY;
    for (int64_t j = 0; j < k[i].count; j++) x[j] = 100 * ((double)j + 0.5) / (double)k[i].count;
    int few = k[i].count < 64;
    series[i] = (chart_series){
        .name = run[i].name, .n = k[i].count, .x = x, .y = k[i].error, .colour = i, .line = 1, .dots = few};
  }
  chart_figure f = {
      1, {{"error by sample", "samples in order of their error, %", "RelL2 of the sample", 0, 1, count, series}}};
  return draw_formats(q, "errors", draw_charts, &f);
}

static const char *target_name(const plot_run *run) {
  return dataset_field(run->r->d)[run->r->o->target].name;
}

/* The median, best and worst sample of a run in common colours. */
static dkho_status plot_fields(const plot_request *q, const plot_run *run, const ranked *k, arena *mem) {
  field_figure f = {.shared = 1};
  char figure[160];
  int64_t place[SHOWN];
  dkho_status s = DKHO_OK;
  f.rows = ranked_choose(k, SHOWN, place);
  for (int i = 0; s == DKHO_OK && i < f.rows; i++) {
    char name[32];
    ranked_name(k, place[i], name);
    f.row[i].title = target_name(run);
    s = row_predicted(run->r->d, run->r, k->sample[place[i]], name, mem, &f.shapes, &f.row[i]);
  }
  size_t length = strlen(run->name);
  if (length > 3 && strcmp(run->name + length - 3, ".st") == 0) length -= 3;
  snprintf(figure, sizeof figure, "fields-%.*s", (int)(length < 120 ? length : 120), run->name);
  return draw_and_free(q, figure, s, &f);
}

/* Run `first` and those after it with the same target and data, side by side on its median sample. */
static dkho_status plot_side_by_side(const plot_request *q, int count, const plot_run *run, int first, const ranked *k,
                                     arena *mem) {
  field_figure f = {.shared = 1};
  char figure[160];
  int64_t place;
  ranked_choose(&k[first], 1, &place);
  int64_t sample = k[first].sample[place];
  dkho_status s = DKHO_OK;
  for (int i = first; s == DKHO_OK && i < count && f.rows < ROWS; i++) {
    if (strcmp(target_name(&run[i]), target_name(&run[first])) != 0) continue;
    if (strcmp(run[i].r->cfg.data_hash, run[first].r->cfg.data_hash) != 0) continue;
    f.row[f.rows].title = run[i].name;
    s = row_predicted(run[i].r->d, run[i].r, sample, NULL, mem, &f.shapes, &f.row[f.rows++]);
  }
  snprintf(figure, sizeof figure, "runs-%.120s", target_name(&run[first]));
  return draw_and_free(q, figure, s, &f);
}

/* Whether run i is the first of its target, and not the only one. */
static int begins_group(int count, const plot_run *run, int i) {
  int others = 0;
  for (int j = 0; j < count; j++) {
    int same = j != i && strcmp(target_name(&run[j]), target_name(&run[i])) == 0;
    if (same && j < i) return 0;
    others += same;
  }
  return others > 0;
}

static dkho_status plot_all(const plot_request *q, int count, const plot_run *run, ranked *k, arena *mem) {
  for (int i = 0; i < count; i++) TRY(ranked_find(&k[i], run[i].r, q->split));
  TRY(plot_training(q, count, run, mem));
  TRY(plot_errors(q, count, run, k, mem));
  for (int i = 0; i < count; i++) {
    TRY(plot_fields(q, &run[i], &k[i], mem));
    if (begins_group(count, run, i)) TRY(plot_side_by_side(q, count, run, i, k, mem));
  }
  return DKHO_OK;
}

dkho_status plot_runs(const plot_request *q, int count, const plot_run *run) {
  ranked k[SERIES] = {{0}};
  arena mem = {0};
  if (count > SERIES) return fail(DKHO_E_INPUT, "%d runs: at most %d can be drawn together", count, SERIES);
  dkho_status s = plot_all(q, count, run, k, &mem);
  for (int i = 0; i < count; i++) ranked_free(&k[i]);
  arena_free(&mem);
  return s;
}
