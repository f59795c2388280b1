/* scene.c: painting fields and meshes. Arrows and masks are in scene_mark.c. */
#include "report/scene.h"

#include <math.h>

#define SAMPLES 6.0      /* a point, each way: a multiple of every page's density */
#define PANEL_MARGIN 4.0 /* points, for lines and balls at the rim */

static void usual_view(view *v, const cx *c, double w, double h, double margin) {
  view_fit(v, c, c->dim == 3 ? 24 : 32, -50, w, h, margin);
}

double scene_aspect(const cx *c) {
  double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY}, p[3];
  view v;
  usual_view(&v, c, 1, 1, 0);
  for (int64_t i = 0; i < c->n[0]; i++) {
    view_vertex(c, i, p);
    corner q = view_point(&v, p);
    lo[0] = fmin(lo[0], q.x), hi[0] = fmax(hi[0], q.x);
    lo[1] = fmin(lo[1], q.y), hi[1] = fmax(hi[1], q.y);
  }
  return fmax(fmin((hi[1] - lo[1]) / fmax(hi[0] - lo[0], 1e-9), 1.25), 0.4);
}

dkho_status scene_open(scene *sc, canvas *page, const cx *c, double w, double h) {
  *sc = (scene){.c = c, .page = page, .fine = SAMPLES};
  int wide = (int)floor(w * page->density), high = (int)floor(h * page->density);
  TRY(raster_open(&sc->r, wide > 1 ? wide : 1, high > 1 ? high : 1, (int)lround(SAMPLES / page->density)));
  usual_view(&sc->v, c, sc->r.w, sc->r.h, PANEL_MARGIN * sc->fine);
  dkho_status s = surface_open(&sc->s, c, sc->v.centre);
  if (s != DKHO_OK) {
    scene_close(sc);
    return s;
  }
  double sum = 0;
  for (int64_t e = 0; e < c->n[1]; e++) sum += c->measure[1][e];
  sc->mesh = c->n[1] ? sum / (double)c->n[1] / sc->v.radius * sc->v.zoom / sc->fine : 10;
  return DKHO_OK;
}

void scene_close(scene *sc) {
  raster_close(&sc->r);
  surface_close(&sc->s);
}

void scene_place(scene *sc, double x, double y) {
  raster_resolve(&sc->r);
  canvas_picture(sc->page, x, y, sc->r.w, sc->r.h, sc->r.pixel);
}

double field_value(const mesh_field *f, int64_t i) {
  if (f->channels == 1) return f->data[i];
  double sum = 0;
  for (int k = 0; k < f->channels; k++) sum = hypot(sum, f->data[i * f->channels + k]);
  return sum;
}

static double mean_of(const mesh_field *f, int n, const int32_t *simplex) {
  double sum = 0;
  for (int j = 0; j < n; j++) sum += field_value(f, simplex[j]);
  return sum / n;
}

/* The values at a patch's corners: interpolated from vertices, else constant: of the simplex itself, of a
 * tetrahedron or face without its own the mean over its faces or edges, of a boundary face its tetrahedron's. */
static void patch_values(const cx *c, const patch *p, const mesh_field *f, double out[3]) {
  int64_t i = p->simplex;
  double flat = 0;
  if (f->degree == 3)
    flat = field_value(f, p->degree == 3 ? i : c->coface[2][c->coptr[2][i]]);
  else if (f->degree == 2)
    flat = p->degree == 2 ? field_value(f, i) : mean_of(f, 4, c->face[3] + 4 * i);
  else if (f->degree == 1 && p->degree == 2)
    flat = mean_of(f, 3, c->face[2] + 3 * i);
  else if (f->degree == 1 && p->degree == 3)
    for (int j = 0; j < 4; j++) flat += mean_of(f, 3, c->face[2] + 3 * c->face[3][4 * i + j]) / 4;
  for (int j = 0; j < 3; j++) {
    out[j] = flat;
    for (int m = 0; f->degree == 0 && m <= p->degree; m++)
      out[j] += p->w[j][m] == 0 ? 0 : p->w[j][m] * field_value(f, c->vert[p->degree][i * (p->degree + 1) + m]);
  }
}

static void draw_patch(scene *sc, const patch *p, const double value[3], const paint *with) {
  corner q[3];
  for (int j = 0; j < 3; j++) {
    q[j] = view_point(&sc->v, p->p[j]);
    q[j].light = with->map ? 1 : view_light(&sc->v, p->normal[j]); /* a colour that carries a value stays what it is */
  }
  raster_triangle(&sc->r, q, value, with);
}

static void draw_stroke(scene *sc, const stroke *s, double width, const double value[2], const paint *with) {
  corner q[2];
  for (int j = 0; j < 2; j++) {
    q[j] = view_point(&sc->v, s->p[j]);
    q[j].light = with->map ? 1 : view_light(&sc->v, s->normal[j]);
  }
  raster_line(&sc->r, q, width * sc->fine, value, with);
}

double scene_lift(const scene *sc, double edges) {
  return sc->v.flat ? 0 : edges * sc->mesh * sc->fine / (sc->v.zoom * sc->v.distance);
}

/* A complex without triangles: edges coloured between their vertices, or by their own value. */
static void draw_graph(scene *sc, const mesh_field *f, const paint *with) {
  const cx *c = sc->c;
  double width = fmax(fmin(sc->mesh * 0.2, 3), 0.6), p[3];
  for (int64_t i = 0; i < sc->s.strokes; i++) {
    const stroke *s = &sc->s.stroke[i];
    double v[2];
    for (int j = 0; j < 2; j++) v[j] = field_value(f, f->degree == 1 ? s->edge : c->vert[1][2 * s->edge + j]);
    draw_stroke(sc, s, width, v, with);
  }
  for (int64_t i = 0; f->degree == 0 && i < c->n[0]; i++) {
    view_vertex(c, i, p);
    raster_disc(&sc->r, view_point(&sc->v, p), width * sc->fine, 0, 0, field_value(f, i), with);
  }
}

void scene_field(scene *sc, const mesh_field *f, const colour_scale *map) {
  const paint with = {.map = map, .alpha = 1}, under = {.map = map, .alpha = 1, .pale = 0.4};
  if (sc->c->dim < 2) {
    draw_graph(sc, f, &with);
    return;
  }
  for (int64_t i = 0; i < sc->s.patches; i++) {
    const patch *p = &sc->s.patch[i];
    double v[3];
    patch_values(sc->c, p, f, v);
    draw_patch(sc, p, v, f->degree == 1 && p->degree == 2 ? &under : &with);
  }
  if (f->degree != 1) return;
  const paint line = {.map = map, .alpha = 1, .lift = scene_lift(sc, 0.1)};
  double width = fmax(fmin(sc->mesh * 0.3, 2.4), 0.5);
  for (int64_t i = 0; i < sc->s.strokes; i++) {
    const stroke *s = &sc->s.stroke[i];
    if (s->edge < 0) continue;
    double v = field_value(f, s->edge);
    draw_stroke(sc, s, width, (double[2]){v, v}, &line);
  }
}

void scene_plain(scene *sc, const rgb colour[3]) {
  for (int64_t i = 0; i < sc->s.patches; i++) {
    const patch *p = &sc->s.patch[i];
    draw_patch(sc, p, NULL, &(paint){.colour = colour[p->part], .alpha = 1});
  }
}

void scene_mesh(scene *sc, double width, rgb colour, double alpha) {
  const paint once = {.colour = colour, .alpha = alpha, .lift = scene_lift(sc, 0.06)};
  paint twice = once; /* neighbours in a section draw their common line both */
  twice.alpha = 1 - sqrt(1 - alpha);
  for (int64_t i = 0; i < sc->s.strokes; i++) {
    const stroke *s = &sc->s.stroke[i];
    draw_stroke(sc, s, width, NULL, s->part == PART_SECTION ? &twice : &once);
  }
}

void scene_border(scene *sc, double width, int by_label) {
  const cx *c = sc->c;
  for (int64_t i = 0; c->dim == 2 && i < sc->s.strokes; i++) {
    const stroke *s = &sc->s.stroke[i];
    if (s->edge < 0 || !c->on_boundary[1][s->edge]) continue;
    int label = by_label && c->label[1] ? c->label[1][s->edge] : 0;
    paint with = {
        .colour = label > 1 ? colour_category(label - 1) : COLOUR_INK, .alpha = 1, .lift = scene_lift(sc, 0.1)};
    draw_stroke(sc, s, width, NULL, &with);
  }
}

/* On which side of the line through p and q on the screen is r? */
static double side_of(const corner *p, const corner *q, const corner *r) {
  return (q->x - p->x) * (r->y - p->y) - (q->y - p->y) * (r->x - p->x);
}

/* Do the two faces of the surface at an edge lie on the same side of it on the screen? Then the surface turns away there. */
static int turns_away(const scene *sc, int64_t e) {
  const cx *c = sc->c;
  double x[3], side[2] = {0, 0};
  corner end[2];
  int found = 0;
  for (int j = 0; j < 2; j++) {
    view_vertex(c, c->vert[1][2 * e + j], x);
    end[j] = view_point(&sc->v, x);
  }
  for (int64_t p = c->coptr[1][e]; p < c->coptr[1][e + 1] && found < 2; p++) {
    int64_t f = c->coface[1][p];
    if (c->dim == 3 && !c->on_boundary[2][f]) continue;
    for (int j = 0; j < 3; j++) {
      int32_t v = c->vert[2][3 * f + j];
      if (v == c->vert[1][2 * e] || v == c->vert[1][2 * e + 1]) continue;
      view_vertex(c, v, x);
      corner q = view_point(&sc->v, x);
      side[found++] = side_of(&end[0], &end[1], &q);
      break;
    }
  }
  return found == 2 && side[0] * side[1] > 0;
}

void scene_contour(scene *sc, double width) {
  const paint with = {.colour = COLOUR_INK, .alpha = 1, .lift = scene_lift(sc, 0.05)};
  for (int64_t i = 0; sc->c->gdim == 3 && sc->c->dim >= 2 && i < sc->s.strokes; i++) {
    const stroke *s = &sc->s.stroke[i];
    if (s->edge < 0 ? s->rim : turns_away(sc, s->edge)) draw_stroke(sc, s, width, NULL, &with);
  }
}
