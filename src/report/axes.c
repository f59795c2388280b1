/* axes.c: frames, colour bars, legends. */
#include "report/axes.h"

#include <math.h>

#define BAR_WIDTH 9.0
#define TICK_HEIGHT 8.0
#define LEGEND_LINE 13.0
#define LEGEND_PAD 6.0
#define LEGEND_SWATCH 20.0

double axes_x(const axes *a, double value) {
  return a->x + a->w * scale_unit(&a->across, value);
}

double axes_y(const axes *a, double value) {
  return a->y + a->h * (1 - scale_unit(&a->up, value));
}

int axes_holds(const axes *a, double x, double y) {
  return isfinite(x) && isfinite(y) && (!a->across.log || x > 0) && (!a->up.log || y > 0);
}

static int tick_number(double length, double each) {
  return (int)fmax(fmin(length / each, 8), 2);
}

static double widest(canvas *c, const ticks *t) {
  double w = 0;
  for (int i = 0; i < t->count; i++) w = fmax(w, text_width(c, STYLE_TICK, t->at[i].label));
  return w;
}

double axes_left_room(canvas *c, const scale *up, double height, const char *label) {
  ticks t;
  ticks_make(&t, up, tick_number(height, 38));
  return widest(c, &t) + 8 + (label ? 16 : 0);
}

/* Makes minor the ticks whose label would come nearer than `gap` to one of a lower rank, or to an earlier one of the same. `at`
 * and `size` give the middle of each label and its length along the axis. */
static void thin_labels(ticks *t, const double *at, const double *size, double gap) {
  for (int rank = 0; rank < TICK_RANKS; rank++)
    for (int i = 0; i < t->count; i++) {
      if (t->at[i].rank != rank || t->at[i].minor) continue;
      for (int j = 0; j < t->count && !t->at[i].minor; j++) {
        int first = t->at[j].rank < rank || (t->at[j].rank == rank && j < i);
        t->at[i].minor = first && !t->at[j].minor && fabs(at[i] - at[j]) < (size[i] + size[j]) / 2 + gap;
      }
      if (t->at[i].minor) t->at[i].label[0] = 0;
    }
}

static void ticks_across(canvas *c, const axes *a) {
  ticks t;
  double at[TICKS_MAX] = {0}, size[TICKS_MAX] = {0};
  ticks_make(&t, &a->across, tick_number(a->w, 52));
  for (int i = 0; i < t.count; i++)
    at[i] = axes_x(a, t.at[i].value), size[i] = text_width(c, STYLE_TICK, t.at[i].label);
  thin_labels(&t, at, size, 5);
  for (int i = 0; i < t.count; i++) {
    double x = at[i];
    if (!t.at[i].minor) canvas_line(c, x, a->y, x, a->y + a->h, 0.6, COLOUR_GRID);
    canvas_line(c, x, a->y + a->h, x, a->y + a->h + (t.at[i].minor ? 2 : 3.5), 0.7, COLOUR_SOFT);
    text_draw(c, x, a->y + a->h + 13, ALIGN_MIDDLE, 0, STYLE_TICK, t.at[i].label);
  }
  if (t.factor[0]) text_draw(c, a->x + a->w, a->y + a->h + 24, ALIGN_END, 0, STYLE_TICK, t.factor);
}

static void ticks_up(canvas *c, const axes *a) {
  ticks t;
  double at[TICKS_MAX] = {0}, size[TICKS_MAX] = {0};
  ticks_make(&t, &a->up, tick_number(a->h, 38));
  for (int i = 0; i < t.count; i++) at[i] = axes_y(a, t.at[i].value), size[i] = TICK_HEIGHT;
  thin_labels(&t, at, size, 2);
  for (int i = 0; i < t.count; i++) {
    double y = at[i];
    if (!t.at[i].minor) canvas_line(c, a->x, y, a->x + a->w, y, 0.6, COLOUR_GRID);
    canvas_line(c, a->x - (t.at[i].minor ? 2 : 3.5), y, a->x, y, 0.7, COLOUR_SOFT);
    text_draw(c, a->x - 6, y + 2.9, ALIGN_END, 0, STYLE_TICK, t.at[i].label);
  }
  if (t.factor[0]) text_draw(c, a->x, a->y - 4, ALIGN_START, 0, STYLE_TICK, t.factor);
}

void axes_draw(canvas *c, const axes *a, int across, const char *x_label, const char *y_label) {
  if (across) ticks_across(c, a);
  ticks_up(c, a);
  canvas_line(c, a->x, a->y, a->x, a->y + a->h, 0.8, COLOUR_SOFT);
  canvas_line(c, a->x, a->y + a->h, a->x + a->w, a->y + a->h, 0.8, COLOUR_SOFT);
  if (x_label) text_fit(c, a->x + a->w / 2, a->y + a->h + 27, a->w - 40, ALIGN_MIDDLE, 0, STYLE_LABEL, x_label);
  double room = axes_left_room(c, &a->up, a->h, y_label);
  if (y_label) text_fit(c, a->x - room + 8, a->y + a->h / 2, a->h, ALIGN_MIDDLE, 90, STYLE_LABEL, y_label);
}

void colour_strip(canvas *c, double x, double y, double w, double h, const colour_scale *s, int upwards) {
  enum { STOPS = 48 };
  cairo_pattern_t *g =
      upwards ? cairo_pattern_create_linear(0, y + h, 0, y) : cairo_pattern_create_linear(x, 0, x + w, 0);
  for (int i = 0; i <= STOPS; i++) {
    rgb at = s->step[i * (COLOUR_STEPS - 1) / STOPS];
    cairo_pattern_add_color_stop_rgb(g, (double)i / STOPS, at.r, at.g, at.b);
  }
  cairo_set_source(c->cr, g);
  cairo_rectangle(c->cr, x, y, w, h);
  cairo_fill(c->cr);
  cairo_pattern_destroy(g);
  canvas_frame(c, x, y, w, h, 0.5, COLOUR_SOFT);
}

void colour_bar(canvas *c, double x, double y, double height, const colour_scale *s) {
  colour_strip(c, x, y, BAR_WIDTH, height, s, 1);
  ticks t;
  ticks_make(&t, &s->on, tick_number(height, 23));
  for (int i = 0; i < t.count; i++) {
    double at = y + height * (1 - scale_unit(&s->on, t.at[i].value));
    canvas_line(c, x + BAR_WIDTH, at, x + BAR_WIDTH + (t.at[i].minor ? 1.5 : 3), at, 0.6, COLOUR_SOFT);
    text_draw(c, x + BAR_WIDTH + 5, at + 2.9, ALIGN_START, 0, STYLE_TICK, t.at[i].label);
  }
  if (t.factor[0]) text_draw(c, x, y - 5, ALIGN_START, 0, STYLE_TICK, t.factor);
}

void legend_size(canvas *c, int n, const legend_entry *entry, double *w, double *h) {
  *w = 0;
  for (int i = 0; i < n; i++) *w = fmax(*w, text_width(c, STYLE_NOTE, entry[i].name));
  *w += 2 * LEGEND_PAD + LEGEND_SWATCH + 5;
  *h = 2 * LEGEND_PAD - 3 + n * LEGEND_LINE;
}

void legend_draw(canvas *c, double x, double y, int n, const legend_entry *entry) {
  double w, h;
  legend_size(c, n, entry, &w, &h);
  canvas_box(c, x, y, w, h, (rgb){1, 1, 1}, 0.9);
  canvas_frame(c, x, y, w, h, 0.5, COLOUR_GRID);
  text_style name = STYLE_NOTE;
  name.colour = COLOUR_INK;
  for (int i = 0; i < n; i++) {
    double left = x + LEGEND_PAD, mid = y + LEGEND_PAD + 5 + i * LEGEND_LINE;
    const double dash[2] = {3.5, 2.2};
    if (entry[i].box) canvas_box(c, left + 3, mid - 4, LEGEND_SWATCH - 6, 8, entry[i].colour, 1);
    cairo_set_dash(c->cr, dash, entry[i].dashed ? 2 : 0, 0);
    if (entry[i].line) canvas_line(c, left, mid, left + LEGEND_SWATCH, mid, 1.5, entry[i].colour);
    cairo_set_dash(c->cr, NULL, 0, 0);
    if (entry[i].dots) canvas_disc(c, left + LEGEND_SWATCH / 2, mid, 2.6, entry[i].colour, (rgb){1, 1, 1});
    text_draw(c, left + LEGEND_SWATCH + 5, mid + 3, ALIGN_START, 0, name, entry[i].name);
  }
}
