/* figure_charts.c: lines and points. The legend goes to the corner that hides least of them, or beside the frame when
 * every corner would hide some; labels of points take the side where they collide least. */
#include "report/axes.h"
#include "report/figure.h"

#include "base/mem.h"

#include <math.h>

#define PANEL_W 330.0
#define PANEL_H 230.0
#define PAGE_MARGIN 14.0
#define TITLE_ROOM 24.0
#define RING 11.0 /* points from one ring of places for a label to the next */
enum { LABELS_MAX = 256, SIDES = 8, RINGS = 5 };

typedef struct {
  double x, y, w, h;
} box;

static int overlaps(const box *a, const box *b) {
  return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h && b->y < a->y + a->h;
}

static axes axes_of(const chart *p) {
  range x = {0}, y = {0};
  int dots = 0;
  for (int i = 0; i < p->series; i++) {
    range_add(&x, p->at[i].n, p->at[i].x);
    range_add(&y, p->at[i].n, p->at[i].y);
    dots |= p->at[i].dots;
  }
  axes a = {.across = p->log_x ? scale_log(&x, 0) : scale_linear(&x),
            .up = p->log_y ? scale_log(&y, 0) : scale_linear(&y)};
  a.across = scale_pad(a.across, dots ? 0.06 : 0.01, dots ? 0.06 : 0.02);
  a.up = scale_pad(a.up, 0.07, 0.07);
  return a;
}

/* Where two neighbouring points of a series stand on the page; 0 when one of them cannot be drawn. */
static int segment_of(const axes *a, const chart_series *s, int64_t i, double p[4]) {
  if (i + 1 >= s->n || !axes_holds(a, s->x[i], s->y[i]) || !axes_holds(a, s->x[i + 1], s->y[i + 1])) return 0;
  p[0] = axes_x(a, s->x[i]), p[1] = axes_y(a, s->y[i]);
  p[2] = axes_x(a, s->x[i + 1]), p[3] = axes_y(a, s->y[i + 1]);
  return 1;
}

/* How much of the data a box would hide: points, and sixteenths of segments. */
static int64_t hidden(const axes *a, const chart *p, const box *b) {
  int64_t count = 0;
  for (int k = 0; k < p->series; k++) {
    const chart_series *s = &p->at[k];
    for (int64_t i = 0; i < s->n; i++) {
      double q[4];
      if (axes_holds(a, s->x[i], s->y[i]))
        count += overlaps(b, &(box){axes_x(a, s->x[i]) - 4, axes_y(a, s->y[i]) - 4, 8, 8});
      for (int j = 0; s->line && segment_of(a, s, i, q) && j < 16; j++)
        count += overlaps(b, &(box){q[0] + j / 16.0 * (q[2] - q[0]), q[1] + j / 16.0 * (q[3] - q[1]), 1, 1});
    }
  }
  return count;
}

static void draw_series(canvas *c, const axes *a, const chart_series *s) {
  const double dash[2] = {3.5, 2.2};
  rgb colour = colour_category(s->colour);
  cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
  cairo_set_dash(c->cr, dash, s->dashed ? 2 : 0, 0);
  cairo_new_path(c->cr);
  for (int64_t i = 0, open = 0; s->line && i < s->n; i++) {
    double q[4];
    int more = segment_of(a, s, i, q);
    if (more && !open) cairo_move_to(c->cr, q[0], q[1]);
    if (more) cairo_line_to(c->cr, q[2], q[3]);
    open = more;
  }
  canvas_colour(c, colour, 1);
  cairo_set_line_width(c->cr, s->thin ? 0.8 : 1.5);
  cairo_stroke(c->cr);
  cairo_set_dash(c->cr, NULL, 0, 0);
  for (int64_t i = 0; s->dots && i < s->n; i++)
    if (axes_holds(a, s->x[i], s->y[i]))
      canvas_disc(c, axes_x(a, s->x[i]), axes_y(a, s->y[i]), 3.2, colour, (rgb){1, 1, 1});
}

/* A point's label: where the point is, and where the text goes. */
typedef struct {
  double x, y;
  box at;
  int away; /* rings from the point; beyond the nearest a line leads to it */
  const char *text;
  text_style style;
} tag;

/* The place on side k of ring `away` round a point for a text of width w. */
static box tag_box(double x, double y, double w, int k, int away) {
  static const double side[SIDES][2] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {-1, -1}, {1, 1}, {-1, 1}};
  double h = 10, off = (side[k][0] != 0 && side[k][1] != 0 ? 3 : 6) + RING * away;
  return (box){.x = side[k][0] > 0   ? x + off
                    : side[k][0] < 0 ? x - off - w
                                     : x - w / 2,
               .y = side[k][1] > 0   ? y + off
                    : side[k][1] < 0 ? y - off - h
                                     : y - h / 2,
               .w = w,
               .h = h};
}

/* The best place round a point: inside the frame, off the other labels, off data, near. */
static void place_tag(canvas *c, const axes *a, const chart *p, int tags, tag *all, int self) {
  tag *t = &all[self];
  double w = text_width(c, t->style, t->text);
  int64_t least = INT64_MAX;
  for (int away = 0; away < RINGS; away++)
    for (int k = 0; k < SIDES; k++) {
      box b = tag_box(t->x, t->y, w, k, away);
      int64_t cost = 10 * hidden(a, p, &b) + 6 * away + k;
      for (int j = 0; j < tags; j++) cost += j != self && overlaps(&b, &all[j].at) ? 200 : 0;
      if (b.x < a->x || b.x + w > a->x + a->w || b.y < a->y || b.y + b.h > a->y + a->h) cost += 1000;
      if (cost < least) least = cost, t->at = b, t->away = away;
    }
}

/* All labels, then each again as the others stand, a few times. How many. */
static int place_tags(canvas *c, const axes *a, const chart *p, tag *all) {
  int tags = 0;
  for (int k = 0; k < p->series; k++) {
    const chart_series *s = &p->at[k];
    text_style style = {8, 0, rgb_mix(colour_category(s->colour), COLOUR_INK, 0.45)};
    for (int64_t i = 0; s->label && i < s->n && tags < LABELS_MAX; i++) {
      if (!axes_holds(a, s->x[i], s->y[i]) || !s->label[i]) continue;
      all[tags] = (tag){.x = axes_x(a, s->x[i]), .y = axes_y(a, s->y[i]), .text = s->label[i], .style = style};
      place_tag(c, a, p, tags, all, tags);
      tags++;
    }
  }
  for (int round = 0; round < 4; round++)
    for (int i = 0; i < tags; i++) place_tag(c, a, p, tags, all, i);
  return tags;
}

static void draw_tags(canvas *c, int tags, const tag *all) {
  for (int i = 0; i < tags; i++) {
    const tag *t = &all[i];
    double x = fmin(fmax(t->x, t->at.x), t->at.x + t->at.w), y = fmin(fmax(t->y, t->at.y), t->at.y + t->at.h);
    if (t->away) canvas_line(c, t->x, t->y, x, y, 0.5, COLOUR_SOFT);
  }
  for (int i = 0; i < tags; i++) text_draw(c, all[i].at.x, all[i].at.y + 8, ALIGN_START, 0, all[i].style, all[i].text);
}

static int entries_of(const chart *p, legend_entry *entry) {
  int n = 0;
  for (int i = 0; i < p->series; i++) {
    const chart_series *s = &p->at[i];
    if (s->name) entry[n++] = (legend_entry){s->name, colour_category(s->colour), s->line, s->dashed, s->dots, 0};
  }
  return n;
}

/* The first corner of the frame where a legend hides nothing; 0: there is none. */
static int corner_for(const axes *a, const chart *p, int tags, const tag *tagged, box *legend) {
  for (int k = 0; k < 4; k++) {
    legend->x = k & 1 ? a->x + 7 : a->x + a->w - legend->w - 5;
    legend->y = k & 2 ? a->y + a->h - legend->h - 6 : a->y + 5;
    int64_t cost = hidden(a, p, legend);
    for (int j = 0; j < tags; j++) cost += overlaps(legend, &tagged[j].at);
    if (cost == 0) return 1;
  }
  return 0;
}

static void draw_chart(canvas *c, const chart *p, double x, double y, double w, legend_entry *entry, tag *tagged) {
  axes a = axes_of(p);
  double left = axes_left_room(c, &a.up, PANEL_H, p->y_label);
  int n = entries_of(p, entry);
  box legend = {0};
  a.x = x + left, a.y = y + TITLE_ROOM, a.w = w - left, a.h = PANEL_H;
  legend_size(c, n, entry, &legend.w, &legend.h);
  int tags = place_tags(c, &a, p, tagged);
  if (n && !corner_for(&a, p, tags, tagged, &legend)) {
    a.w -= legend.w + 8;
    legend.x = a.x + a.w + 8, legend.y = a.y;
    place_tags(c, &a, p, tagged);
  }
  axes_draw(c, &a, 1, p->x_label, p->y_label);
  if (p->title) text_fit(c, a.x + a.w / 2, y + 10, a.w, ALIGN_MIDDLE, 0, STYLE_TITLE, p->title);
  for (int i = 0; i < p->series; i++) draw_series(c, &a, &p->at[i]);
  draw_tags(c, tags, tagged);
  if (n) legend_draw(c, legend.x, legend.y, n, entry);
}

dkho_status figure_charts(const char *path, int force, int panels, const chart *panel) {
  int most = 1;
  if (panels < 1) return fail(DKHO_E_INPUT, "%s: a figure of %d panels", path, panels);
  for (int i = 0; i < panels; i++) most = panel[i].series > most ? panel[i].series : most;
  legend_entry *entry = mem_alloc((size_t)most, sizeof *entry);
  tag *tagged = mem_alloc(LABELS_MAX, sizeof *tagged);
  canvas page = {0};
  dkho_status s = entry && tagged ? DKHO_OK : DKHO_E_MEMORY;
  double wide = panels == 1 ? 1.25 * PANEL_W : PANEL_W;
  if (s == DKHO_OK)
    s = canvas_open(&page, path, force, PAGE_MARGIN + panels * (wide + PAGE_MARGIN + 6),
                    2 * PAGE_MARGIN + TITLE_ROOM + PANEL_H + AXES_BOTTOM_ROOM);
  for (int i = 0; i < panels && s == DKHO_OK; i++)
    draw_chart(&page, &panel[i], PAGE_MARGIN + i * (wide + PAGE_MARGIN + 6), PAGE_MARGIN, wide, entry, tagged);
  if (s == DKHO_OK) s = canvas_commit(&page);
  canvas_abort(&page);
  mem_free(entry);
  mem_free(tagged);
  return s;
}
