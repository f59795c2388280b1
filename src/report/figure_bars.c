/* figure_bars.c: bars in groups with their values above them. The page grows with the number of bars, so that the values
 * stay readable. */
#include "report/axes.h"
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BAR 34.0
#define BAR_GAP 4.0
#define GROUP_GAP 22.0
#define PANEL_H 210.0
#define PAGE_MARGIN 14.0
#define TITLE_ROOM 26.0
#define NAME_ROOM 30.0
#define LEGEND_ROOM 18.0
#define AXIS_ROOM 52.0
#define WIDTH_MIN 230.0

static double inner_width(const bars *b) {
  return fmax(b->groups * (b->series * (BAR + BAR_GAP) - BAR_GAP + GROUP_GAP), WIDTH_MIN);
}

/* Bars stand on 0, on a logarithmic axis on half a decade below the least value. */
static scale scale_of(const bars *b) {
  range r = {0};
  range_add(&r, (int64_t)b->groups * b->series, b->value);
  if (!b->log_y) return scale_pad(scale_from_zero(&r), r.min < 0 ? 0.12 : 0, r.max > 0 || r.count == 0 ? 0.12 : 0.05);
  scale s = scale_log(&r, 0);
  s.lo /= sqrt(10);
  return scale_pad(s, 0, 0.12);
}

/* A name under its group, on two lines when it is too long for one. */
static void group_name(canvas *c, double mid, double y, double limit, const char *name) {
  char first[128];
  const char *half = name + strlen(name) / 2, *cut = NULL;
  for (const char *s = name; *s; s++)
    if (*s == ' ' && (!cut || labs(s - half) < labs(cut - half))) cut = s;
  if (text_width(c, STYLE_LABEL, name) <= limit || !cut || (size_t)(cut - name) >= sizeof first) {
    text_fit(c, mid, y, limit, ALIGN_MIDDLE, 0, STYLE_LABEL, name);
    return;
  }
  memcpy(first, name, (size_t)(cut - name));
  first[cut - name] = 0;
  text_fit(c, mid, y, limit, ALIGN_MIDDLE, 0, STYLE_LABEL, first);
  text_fit(c, mid, y + 12, limit, ALIGN_MIDDLE, 0, STYLE_LABEL, cut + 1);
}

static void draw_bar(canvas *c, const axes *a, double x, double value, rgb colour) {
  char text[32];
  text_style style = {8, 0, COLOUR_INK};
  double foot = a->up.log ? a->y + a->h : axes_y(a, 0), top = foot;
  int there = isfinite(value) && (!a->up.log || value > 0);
  number_text(text, there ? value : NAN);
  if (there) {
    top = fmin(fmax(axes_y(a, value), a->y), a->y + a->h);
    canvas_box(c, x, fmin(top, foot), BAR, fabs(foot - top), colour, 1);
  }
  text_fit(c, x + BAR / 2, value < 0 ? top + 11 : top - 4, BAR + BAR_GAP - 1, ALIGN_MIDDLE, 0, style, text);
}

static int keyed(int panels, const bars *panel) {
  for (int i = 0; i < panels; i++)
    if (panel[i].series > 1 && panel[i].name) return 1;
  return 0;
}

/* Names of the series in one line above the frame, all smaller by the same factor when they need more room than there is. */
static void draw_key(canvas *c, const bars *b, double x, double y, double w) {
  const double mark = 13, gap = 10;
  double names = 0, fixed = b->series * (mark + gap);
  for (int i = 0; i < b->series; i++) names += text_width(c, STYLE_NOTE, b->name[i]);
  double factor = names > 0 ? fmin(1, fmax(w - fixed, 0) / names) : 1;
  for (int i = 0; i < b->series; i++) {
    double name = factor * text_width(c, STYLE_NOTE, b->name[i]);
    canvas_box(c, x, y - 7, 9, 8, colour_category(i), 1);
    text_fit(c, x + mark, y, name + 0.01, ALIGN_START, 0, STYLE_NOTE, b->name[i]);
    x += mark + name + gap;
  }
}

static void draw_panel(canvas *c, const bars *b, double x, double y, double key_room) {
  axes a = {.x = x + AXIS_ROOM, .y = y + TITLE_ROOM + key_room, .w = inner_width(b), .h = PANEL_H, .up = scale_of(b)};
  axes_draw(c, &a, 0, NULL, b->y_label);
  if (b->title) text_fit(c, a.x + a.w / 2, y + 10, a.w, ALIGN_MIDDLE, 0, STYLE_TITLE, b->title);
  if (keyed(1, b)) draw_key(c, b, a.x + 4, y + TITLE_ROOM + 6, a.w - 4);
  double slot = a.w / b->groups, used = b->series * (BAR + BAR_GAP) - BAR_GAP;
  for (int g = 0; g < b->groups; g++) {
    double mid = a.x + (g + 0.5) * slot;
    for (int i = 0; i < b->series; i++) {
      int64_t at = (int64_t)g * b->series + i;
      draw_bar(c, &a, mid - used / 2 + i * (BAR + BAR_GAP), b->value[at], colour_category(b->series > 1 ? i : 0));
    }
    group_name(c, mid, a.y + a.h + 14, slot - 4, b->group[g]);
  }
  if (!a.up.log && a.up.lo < 0) canvas_line(c, a.x, axes_y(&a, 0), a.x + a.w, axes_y(&a, 0), 0.8, COLOUR_SOFT);
}

dkho_status figure_bars(const char *path, int force, int panels, const bars *panel) {
  if (panels < 1) return fail(DKHO_E_INPUT, "%s: a figure of %d panels", path, panels);
  double wide = PAGE_MARGIN, x = PAGE_MARGIN;
  for (int i = 0; i < panels; i++) {
    if (panel[i].groups < 1 || panel[i].series < 1)
      return fail(DKHO_E_INPUT, "%s: panel %d has %d groups of %d bars", path, i, panel[i].groups, panel[i].series);
    wide += AXIS_ROOM + inner_width(&panel[i]) + PAGE_MARGIN;
  }
  double key_room = keyed(panels, panel) ? LEGEND_ROOM : 0;
  canvas page = {0};
  TRY(canvas_open(&page, path, force, wide, 2 * PAGE_MARGIN + TITLE_ROOM + key_room + PANEL_H + NAME_ROOM));
  for (int i = 0; i < panels; i++) {
    draw_panel(&page, &panel[i], x, PAGE_MARGIN, key_room);
    x += AXIS_ROOM + inner_width(&panel[i]) + PAGE_MARGIN;
  }
  return canvas_commit(&page);
}
