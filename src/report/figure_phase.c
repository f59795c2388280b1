/* figure_phase.c: where phase corrections meet the field: the PDE score as background, phase simplices upon it, those
 * shared and strong brought out, and the three statistics under each panel. */
#include "report/axes.h"
#include "report/figure.h"
#include "report/scene.h"

#include <math.h>
#include <stdio.h>

#define PANEL 220.0
#define GAP 20.0
#define PAGE_MARGIN 14.0
#define HEAD_ROOM 22.0
#define STATS_ROOM 24.0
#define KEY_ROOM 26.0
#define TONE 0.68 /* exponent that lifts the low end of the background */

static rgb phase_colour(void) {
  return rgb_hex(0xf3b23e);
}
static rgb shared_colour(void) {
  return rgb_hex(0xf08a8f);
}
static rgb strong_colour(void) {
  return rgb_hex(0xc2123f);
}

/* clip((v - q1)/(q99 - q1), 0, 1)^TONE with the 1 % and 99 % quantiles of the finite values; NaN stays. */
static void tone(int64_t n, const double *v, double *sorted, double *out) {
  int64_t m = finite_sorted(n, v, sorted);
  double lo = m ? quantile(m, sorted, 0.01) : 0, hi = m ? quantile(m, sorted, 0.99) : 1;
  for (int64_t i = 0; i < n; i++) {
    double t = hi > lo ? (v[i] - lo) / (hi - lo) : 0.5;
    out[i] = isfinite(v[i]) ? pow(fmax(fmin(t, 1), 0), TONE) : NAN;
  }
}

/* Means over the edges of each face (degree 1), or over the faces at each vertex (degree 2): what the background shows. */
static void background(const cx *c, int degree, const double *v, double *out) {
  for (int64_t f = 0; degree == 1 && f < c->n[2]; f++)
    for (int j = 0; j < 3; j++) out[f] += v[c->face[2][3 * f + j]] / 3;
  if (degree != 2) return;
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int j = 0; j < 3; j++) out[c->vert[2][3 * f + j]] += v[f] * c->measure[2][f];
  for (int64_t i = 0; i < c->n[0]; i++) out[i] /= c->dual[0][i] * 3;
}

/* From below: phase, shared, strong; strong ones have a pale halo where they are lines or balls. */
static void draw_masks(scene *sc, const phase_panel *p, const uint8_t *mask) {
  double width = p->degree == 0 ? fmax(fmin(0.42 * sc->mesh, 6), 3) : fmax(fmin(0.22 * sc->mesh, 2.2), 0.8);
  mark m = {p->degree, mask, PHASE_SHOWN, width, phase_colour(), 1, 0.12};
  if (p->degree == 2) {
    m.alpha = 0.78;
    scene_mark(sc, &m);
    m.alpha = 1;
    m.bit = PHASE_SHARED, m.colour = shared_colour(), m.width = 0.8;
    scene_outline(sc, &m);
    m.bit = PHASE_STRONG, m.colour = strong_colour(), m.width = 1.3;
    scene_outline(sc, &m);
    return;
  }
  scene_mark(sc, &m);
  m.bit = PHASE_SHARED, m.colour = shared_colour(), m.lift *= 1.02;
  scene_mark(sc, &m);
  m.bit = PHASE_STRONG, m.colour = (rgb){1, 1, 1}, m.width = width + 1, m.lift *= 1.02;
  scene_mark(sc, &m);
  m.colour = strong_colour(), m.width = width + 0.2, m.lift *= 1.02;
  scene_mark(sc, &m);
}

static dkho_status draw_scene(canvas *page, const phase_panel *p, arena *mem, double x, double y, double high) {
  const cx *c = p->c;
  int64_t n = c->n[p->degree];
  double *sorted, *v, *mean;
  uint8_t *mask;
  if (!ARENA_NEW(mem, sorted, n) || !ARENA_NEW(mem, v, n) || !ARENA_NEW(mem, mean, c->n[0] + c->n[2]) ||
      !ARENA_NEW(mem, mask, n))
    return DKHO_E_MEMORY;
  tone(n, p->pde, sorted, v);
  background(c, p->degree, v, mean);
  mesh_field f = {"pde", p->degree == 1 ? 2 : 0, 1, p->degree == 0 ? v : mean};
  colour_scale map;
  colour_scale_set(&map, COLOUR_PALE, (scale){0, 1, 0});
  scene sc;
  TRY(scene_open(&sc, page, c, PANEL, high));
  scene_field(&sc, &f, &map);
  scene_mesh(&sc, 0.25, c->dim == 3 ? COLOUR_SOFT : (rgb){1, 1, 1}, c->dim == 3 ? 0.25 : 0.6);
  if (p->degree == 0) scene_seen(&sc, 0.5, mask);
  for (int64_t i = 0; i < n; i++) mask[i] = p->degree == 0 && !mask[i] ? 0 : p->mask[i];
  draw_masks(&sc, p, mask);
  scene_border(&sc, 1, 0);
  scene_place(&sc, x, y);
  scene_close(&sc);
  return DKHO_OK;
}

static void draw_stats(canvas *page, const phase_panel *p, double mid, double y) {
  char line[160], text[3][32];
  const double value[3] = {p->dice, p->lift, p->enrichment};
  for (int i = 0; i < 3; i++) {
    if (isfinite(value[i]))
      snprintf(text[i], sizeof text[i], "%.2f%s", value[i], i ? "×" : "");
    else
      snprintf(text[i], sizeof text[i], "–");
  }
  snprintf(line, sizeof line, "Dice %s     lift %s     enrichment %s", text[0], text[1], text[2]);
  text_fit(page, mid, y, PANEL, ALIGN_MIDDLE, 0, STYLE_LABEL, line);
}

/* One key for all panels, centred at the foot of the page. */
static void draw_key(canvas *page, double mid, double y) {
  static const char *const name[3] = {"phase", "phase and PDE", "strongest of these"};
  const rgb colour[3] = {phase_colour(), shared_colour(), strong_colour()};
  double gap = 18, bar = 60, w = bar + 2 * gap + text_width(page, STYLE_NOTE, "PDE score low  high") + 8;
  for (int i = 0; i < 3; i++) w += 14 + text_width(page, STYLE_NOTE, name[i]) + gap;
  double x = mid - w / 2;
  for (int i = 0; i < 3; i++) {
    canvas_box(page, x, y - 7.5, 9, 9, colour[i], 1);
    text_draw(page, x + 14, y, ALIGN_START, 0, STYLE_NOTE, name[i]);
    x += 14 + text_width(page, STYLE_NOTE, name[i]) + gap;
  }
  text_draw(page, x, y, ALIGN_START, 0, STYLE_NOTE, "PDE score low");
  x += text_width(page, STYLE_NOTE, "PDE score low") + 5;
  colour_scale map;
  colour_scale_set(&map, COLOUR_PALE, (scale){0, 1, 0});
  colour_strip(page, x, y - 7.5, bar, 9, &map, 0);
  text_draw(page, x + bar + 5, y, ALIGN_START, 0, STYLE_NOTE, "high");
}

static double row_height(int columns, const phase_panel *row) {
  double high = 0;
  for (int j = 0; j < columns; j++) high = fmax(high, PANEL * fmin(scene_aspect(row[j].c), 1));
  return high;
}

dkho_status figure_phase(const char *path, int force, int rows, int columns, const phase_panel *panel) {
  if (rows < 1 || columns < 1) return fail(DKHO_E_INPUT, "%s: a figure of %d by %d panels", path, rows, columns);
  double wide = fmax(2 * PAGE_MARGIN + columns * (PANEL + GAP) - GAP, 440), tall = 2 * PAGE_MARGIN + KEY_ROOM;
  for (int i = 0; i < rows; i++) tall += HEAD_ROOM + row_height(columns, panel + i * columns) + STATS_ROOM;
  canvas page = {0};
  arena mem = {0};
  dkho_status s = canvas_open(&page, path, force, wide, tall);
  double y = PAGE_MARGIN, left = (wide - columns * (PANEL + GAP) + GAP) / 2;
  for (int i = 0; i < rows && s == DKHO_OK; i++) {
    double high = row_height(columns, panel + i * columns);
    for (int j = 0; j < columns && s == DKHO_OK; j++) {
      const phase_panel *p = &panel[i * columns + j];
      double x = left + j * (PANEL + GAP), mid = x + PANEL / 2;
      text_fit(&page, mid, y + 10, PANEL, ALIGN_MIDDLE, 0, STYLE_TITLE, p->title);
      s = draw_scene(&page, p, &mem, x, y + HEAD_ROOM, high);
      draw_stats(&page, p, mid, y + HEAD_ROOM + high + 15);
    }
    y += HEAD_ROOM + high + STATS_ROOM;
  }
  if (s == DKHO_OK) draw_key(&page, wide / 2, y + 16);
  if (s == DKHO_OK) s = canvas_commit(&page);
  canvas_abort(&page);
  arena_free(&mem);
  return s;
}
