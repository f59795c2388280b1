/* figure_complexes.c: meshes and phase masks: panels of one complex with text about it. */
#include "report/axes.h"
#include "report/figure.h"
#include "report/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAGE_MARGIN 14.0
#define GAP 22.0

/* "5,477 vertices · 16,013 edges · 10,535 faces", in two lines where there are tetrahedra. */
static void counts_text(const cx *c, char out[2][160]) {
  static const char *const name[CX_DEGREES] = {"vertices", "edges", "faces", "cells"};
  out[0][0] = out[1][0] = 0;
  for (int k = 0; k <= c->dim; k++) {
    char number[32], *line = out[c->dim == 3 && k >= 2];
    count_text(number, c->n[k]);
    snprintf(line + strlen(line), 160 - strlen(line), "%s%s %s", line[0] ? " · " : "", number, name[k]);
  }
}

static void betti_text(const cx *c, const int64_t *betti, char out[160]) {
  static const char *const low[CX_DEGREES] = {"β₀", "β₁", "β₂", "β₃"};
  out[0] = 0;
  for (int k = 0; betti && k <= c->dim; k++)
    snprintf(out + strlen(out), 160 - strlen(out), "%s%s = %lld", k ? "   " : "", low[k], (long long)betti[k]);
}

static dkho_status mesh_panel(canvas *page, const figure_complex *item, double x, double y, double w, double h) {
  const rgb colour[3] = {rgb_hex(0xcfe0ee), rgb_hex(0xf2a65e), rgb_hex(0xfbeed2)};
  scene sc;
  TRY(scene_open(&sc, page, item->c, w, h));
  scene_plain(&sc, colour);
  scene_mesh(&sc, fmax(fmin(0.045 * sc.mesh, 0.6), 0.26), rgb_hex(0x2f5573), 0.6);
  scene_border(&sc, 1.5, 1);
  scene_contour(&sc, 0.9);
  scene_place(&sc, x, y);
  scene_close(&sc);
  return DKHO_OK;
}

dkho_status figure_complexes(const char *path, int force, int count, const figure_complex *item) {
  enum { PANEL = 206 };
  if (count < 1) return fail(DKHO_E_INPUT, "%s: a figure of %d complexes", path, count);
  double high = 0;
  for (int i = 0; i < count; i++) high = fmax(high, PANEL * fmin(scene_aspect(item[i].c), 1));
  canvas page = {0};
  TRY(canvas_open(&page, path, force, 2 * PAGE_MARGIN + count * PANEL + (count - 1) * GAP,
                  2 * PAGE_MARGIN + high + 72));
  dkho_status s = DKHO_OK;
  for (int i = 0; i < count && s == DKHO_OK; i++) {
    double x = PAGE_MARGIN + i * (PANEL + GAP), mid = x + PANEL / 2.0, y = PAGE_MARGIN + high;
    char line[2][160], betti[160];
    counts_text(item[i].c, line);
    betti_text(item[i].c, item[i].betti, betti);
    s = mesh_panel(&page, &item[i], x, PAGE_MARGIN, PANEL, high);
    text_fit(&page, mid, y + 22, PANEL, ALIGN_MIDDLE, 0, (text_style){12, 1, COLOUR_INK}, item[i].title);
    text_fit(&page, mid, y + 38, PANEL, ALIGN_MIDDLE, 0, STYLE_NOTE, line[0]);
    if (line[1][0]) text_fit(&page, mid, y + 51, PANEL, ALIGN_MIDDLE, 0, STYLE_NOTE, line[1]);
    text_fit(&page, mid, y + (line[1][0] ? 66 : 54), PANEL, ALIGN_MIDDLE, 0, STYLE_LABEL, betti);
  }
  if (s == DKHO_OK) s = canvas_commit(&page);
  canvas_abort(&page);
  return s;
}
