/* figure_fields.c: input, reference, prediction and error of samples, a row each. */
#include "report/axes.h"
#include "report/figure.h"
#include "report/scene.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PANEL 150.0
#define GAP 12.0
#define PAGE_MARGIN 12.0
#define HEAD_ROOM 30.0
#define ROW_LABEL 30.0
#define BAR_ROOM 60.0 /* a colour bar with ticks, and the gap to the next column */
#define ERROR_DECADES 3.0
#define ARROWS 16.0 /* points between them */

typedef enum { INPUT, REFERENCE, PREDICTION, ERROR, COLUMNS } column;

/* What is drawn of a row: one number a simplex in each column, and its colours. */
typedef struct {
  const figure_sample *sample;
  double high;
  mesh_field shown[COLUMNS];
  const colour_scale *map[COLUMNS];
} row;
typedef struct {
  canvas page;
  arena mem;
  int rows, shared, inputs; /* inputs: some row has one */
  column last;              /* REFERENCE when no row has a prediction, else ERROR */
  row *row;
} layout;

/* Q95 of sizes; their largest, or 1, when that is not positive. */
static double unit_of(int64_t n, const double *size, double *scratch) {
  int64_t m = finite_sorted(n, size, scratch);
  double q = m ? quantile(m, scratch, 0.95) : 1;
  return q > 0 ? q : scratch[m - 1] > 0 ? scratch[m - 1] : 1;
}

/* One number a simplex: the size of an edge value or of several channels, else the value itself. */
static dkho_status shown_of(arena *mem, const cx *c, const mesh_field *f, mesh_field *out) {
  double *v;
  int64_t n = c->n[f->degree];
  if (!ARENA_NEW(mem, v, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) v[i] = f->degree == 1 ? fabs(field_value(f, i)) : field_value(f, i);
  *out = (mesh_field){f->name, f->degree, 1, v};
  return DKHO_OK;
}

/* |p - y| / Q95(|y|), norms over channels. */
static dkho_status error_of(arena *mem, const figure_sample *s, mesh_field *out) {
  const mesh_field *y = &s->reference, *p = &s->prediction;
  int64_t n = s->c->n[y->degree];
  double *e, *size, *scratch;
  if (!ARENA_NEW(mem, e, n) || !ARENA_NEW(mem, size, n) || !ARENA_NEW(mem, scratch, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) {
    size[i] = fabs(field_value(y, i));
    for (int k = 0; k < y->channels; k++)
      e[i] = hypot(e[i], p->data[i * y->channels + k] - y->data[i * y->channels + k]);
  }
  double unit = unit_of(n, size, scratch);
  for (int64_t i = 0; i < n; i++) e[i] /= unit;
  *out = (mesh_field){"error", y->degree, 1, e};
  return DKHO_OK;
}

/* Colours for a range: about zero when both signs matter, from zero when it starts near it. */
static void choose_colours(colour_scale *s, const range *r) {
  double size = fmax(fabs(r->min), fabs(r->max));
  if (r->count && r->min < -0.05 * size && r->max > 0.05 * size)
    colour_scale_set(s, COLOUR_DIVERGING, scale_about_zero(r));
  else if (r->count && r->min >= 0 && r->min < 0.2 * r->max)
    colour_scale_set(s, COLOUR_SEQUENTIAL, scale_from_zero(r));
  else
    colour_scale_set(s, COLOUR_SEQUENTIAL, scale_linear(r));
}

static void add_shown(range *r, const row *at, column j) {
  if (at->shown[j].data) range_add(r, at->sample->c->n[at->shown[j].degree], at->shown[j].data);
}

/* Scales of inputs and fields: one for all rows, or one for each; the reference decides unless it has no finite value. */
static dkho_status set_colours(layout *l) {
  for (int i = 0; i < l->rows; i++) {
    range input = {0}, field = {0};
    colour_scale *s;
    if (l->shared && i > 0) {
      memcpy(l->row[i].map, l->row[0].map, sizeof l->row[i].map);
      continue;
    }
    for (int k = i; k < (l->shared ? l->rows : i + 1); k++) {
      add_shown(&input, &l->row[k], INPUT);
      add_shown(&field, &l->row[k], REFERENCE);
    }
    if (field.count == 0) add_shown(&field, &l->row[i], PREDICTION);
    if (!ARENA_NEW(&l->mem, s, 2)) return DKHO_E_MEMORY;
    choose_colours(&s[0], &input);
    choose_colours(&s[1], &field);
    l->row[i].map[INPUT] = &s[0];
    l->row[i].map[REFERENCE] = l->row[i].map[PREDICTION] = &s[1];
  }
  range error = {0};
  colour_scale *s;
  if (!ARENA_NEW(&l->mem, s, 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < l->rows; i++) add_shown(&error, &l->row[i], ERROR);
  colour_scale_set(s, COLOUR_ERROR, scale_log(&error, ERROR_DECADES));
  for (int i = 0; i < l->rows; i++) l->row[i].map[ERROR] = s;
  return DKHO_OK;
}

static dkho_status prepare_layout(layout *l, const figure_sample *sample) {
  if (!ARENA_NEW(&l->mem, l->row, l->rows)) return DKHO_E_MEMORY;
  for (int i = 0; i < l->rows; i++) {
    row *r = &l->row[i];
    const figure_sample *s = r->sample = &sample[i];
    r->high = PANEL * scene_aspect(s->c);
    if (s->input.data) {
      l->inputs = 1;
      TRY(shown_of(&l->mem, s->c, &s->input, &r->shown[INPUT]));
    }
    TRY(shown_of(&l->mem, s->c, &s->reference, &r->shown[REFERENCE]));
    if (!s->prediction.data) continue;
    l->last = ERROR;
    TRY(shown_of(&l->mem, s->c, &s->prediction, &r->shown[PREDICTION]));
    TRY(error_of(&l->mem, s, &r->shown[ERROR]));
  }
  return set_colours(l);
}

/* Directions: a vector field at vertices as it is, an edge field by Whitney's vectors at the top simplices. */
static dkho_status arrows(arena *mem, scene *sc, const mesh_field *f) {
  const cx *c = sc->c;
  if (f->degree == 0 && f->channels == c->gdim) return scene_arrows(sc, 0, f->data, ARROWS);
  if (f->degree != 1 || f->channels != 1 || c->dim < 2) return DKHO_OK;
  double *vector;
  if (!ARENA_NEW(mem, vector, c->n[c->dim] * c->gdim)) return DKHO_E_MEMORY;
  mesh_whitney(c, f->data, vector);
  return scene_arrows(sc, c->dim, vector, ARROWS);
}

static dkho_status panel(layout *l, const row *r, column j, double x, double y) {
  const figure_sample *s = r->sample;
  const mesh_field *whole[COLUMNS] = {&s->input, &s->reference, &s->prediction, NULL};
  scene sc;
  if (!r->shown[j].data) return DKHO_OK;
  TRY(scene_open(&sc, &l->page, s->c, PANEL, r->high));
  scene_field(&sc, &r->shown[j], r->map[j]);
  scene_border(&sc, 0.8, 0);
  scene_contour(&sc, 0.7);
  dkho_status status = whole[j] ? arrows(&l->mem, &sc, whole[j]) : DKHO_OK;
  if (status == DKHO_OK) scene_place(&sc, x, y);
  scene_close(&sc);
  return status;
}

/* The column that the bar of reference and prediction follows. */
static column field_bar(const layout *l) {
  return l->last == ERROR ? PREDICTION : REFERENCE;
}

/* Where column j begins, COLUMNS for the right end. Bars follow the input, the prediction and the error. */
static double column_x(const layout *l, int j) {
  double x = PAGE_MARGIN + ROW_LABEL;
  if (j > INPUT && l->inputs) x += PANEL + BAR_ROOM;
  if (j > REFERENCE) x += PANEL + (field_bar(l) == REFERENCE ? BAR_ROOM - GAP : GAP);
  if (j > PREDICTION && l->last == ERROR) x += PANEL + BAR_ROOM;
  if (j > ERROR && l->last == ERROR) x += PANEL + BAR_ROOM - GAP;
  return x;
}

static void draw_bars(layout *l, double top, double total) {
  const column after[3] = {INPUT, field_bar(l), ERROR};
  for (int b = 0; b < 3 && after[b] <= l->last; b++) {
    int spans = l->shared || after[b] == ERROR;
    double y = top, x = column_x(l, (int)after[b]) + PANEL + 5;
    for (int i = 0; i < (spans ? 1 : l->rows); i++) {
      double high = spans ? total : l->row[i].high, length = fmin(0.84 * high, 240);
      if (after[b] != INPUT || l->row[i].shown[INPUT].data || (spans && l->inputs))
        colour_bar(&l->page, x, y + (high - length) / 2, length, l->row[i].map[after[b]]);
      y += high + GAP;
    }
  }
}

/* Beside a row: its title and, if it has one, its note, which goes on in a second line where the row is not high enough for it. */
static void row_label(layout *l, const row *r, double y) {
  double mid = y + r->high / 2, x = PAGE_MARGIN, room = r->high - 4;
  const char *note = r->sample->note, *comma = note ? strchr(note, ',') : NULL;
  char first[128];
  text_fit(&l->page, x + 9, mid, room, ALIGN_MIDDLE, 90, STYLE_TITLE, r->sample->title);
  if (!note) return;
  if (!comma || text_width(&l->page, STYLE_NOTE, note) <= room) {
    text_fit(&l->page, x + 22.5, mid, room, ALIGN_MIDDLE, 90, STYLE_NOTE, note);
    return;
  }
  snprintf(first, sizeof first, "%.*s", (int)(comma - note), note);
  text_fit(&l->page, x + 19, mid, room, ALIGN_MIDDLE, 90, STYLE_NOTE, first);
  text_fit(&l->page, x + 27.5, mid, room, ALIGN_MIDDLE, 90, STYLE_NOTE, comma + 2);
}

/* The input's name, when it is one for all rows. */
static const char *input_name(const layout *l) {
  for (int i = 1; i < l->rows; i++)
    if (!l->row[i].shown[INPUT].data || strcmp(l->row[i].shown[INPUT].name, l->row[0].shown[INPUT].name) != 0)
      return "";
  return l->row[0].shown[INPUT].name;
}

/* Notes under the heads use words: any letter may be the name of a field. */
static void draw_heads(layout *l) {
  const char *const head[COLUMNS] = {"Input", l->last == ERROR ? "Reference" : "Target", "Prediction",
                                     "Relative error"};
  const char *const note[COLUMNS] = {l->inputs && l->row[0].shown[INPUT].data ? input_name(l) : "", "", "",
                                     "|error| / Q₉₅ of |reference|"};
  int last = (int)l->last;
  assert(last < COLUMNS);
  for (int j = l->inputs ? INPUT : REFERENCE; j <= last; j++) {
    double mid = column_x(l, j) + PANEL / 2;
    text_draw(&l->page, mid, PAGE_MARGIN + 9, ALIGN_MIDDLE, 0, STYLE_TITLE, head[j]);
    text_fit(&l->page, mid, PAGE_MARGIN + 21, PANEL, ALIGN_MIDDLE, 0, STYLE_NOTE, note[j]);
  }
}

static dkho_status draw_layout(layout *l, double total) {
  double top = PAGE_MARGIN + HEAD_ROOM, y = top;
  draw_heads(l);
  for (int i = 0; i < l->rows; i++) {
    row_label(l, &l->row[i], y);
    for (int j = 0; j <= (int)l->last; j++) TRY(panel(l, &l->row[i], (column)j, column_x(l, j), y));
    y += l->row[i].high + GAP;
  }
  draw_bars(l, top, total);
  return DKHO_OK;
}

dkho_status figure_fields(const char *path, int force, int shared, int rows, const figure_sample *sample) {
  if (rows < 1) return fail(DKHO_E_INPUT, "%s: a figure of %d rows", path, rows);
  layout l = {.rows = rows, .shared = shared, .last = REFERENCE};
  dkho_status s = prepare_layout(&l, sample);
  double total = -GAP;
  for (int i = 0; i < rows && s == DKHO_OK; i++) total += l.row[i].high + GAP;
  if (s == DKHO_OK)
    s = canvas_open(&l.page, path, force, column_x(&l, COLUMNS) + PAGE_MARGIN, total + HEAD_ROOM + 2 * PAGE_MARGIN);
  if (s == DKHO_OK) s = draw_layout(&l, total);
  if (s == DKHO_OK) s = canvas_commit(&l.page);
  canvas_abort(&l.page);
  arena_free(&l.mem);
  return s;
}
