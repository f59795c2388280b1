/* scene_mark.c: arrows and masks on a scene. */
#include "report/scene.h"

#include <math.h>
#include <string.h>

/* Is a point on the screen, and nothing in front of it by more than `lift` edges? */
static int visible(const scene *sc, const corner *q, double lift) {
  if (!(q->x >= 0 && q->y >= 0 && q->x < sc->r.w && q->y < sc->r.h)) return 0;
  return sc->r.depth[(size_t)q->y * (size_t)sc->r.w + (size_t)q->x] <= (float)(q->z + scene_lift(sc, lift));
}

static int on_surface(const scene *sc, const corner *q) {
  if (!(q->x >= 0 && q->y >= 0 && q->x < sc->r.w && q->y < sc->r.h)) return 0;
  return sc->r.depth[(size_t)q->y * (size_t)sc->r.w + (size_t)q->x] > RASTER_EMPTY;
}

/* The vector in the middle of a patch; 0 where it is not defined. */
static int patch_vector(const scene *sc, const patch *p, int degree, const double *vector, double at[3],
                        double out[3]) {
  const cx *c = sc->c;
  int g = c->gdim;
  memset(out, 0, 3 * sizeof *out);
  for (int k = 0; k < 3; k++) at[k] = (p->p[0][k] + p->p[1][k] + p->p[2][k]) / 3;
  if (degree > 0 && degree != p->degree) return 0;
  for (int k = 0; degree > 0 && k < g; k++) out[k] = vector[(int64_t)p->simplex * g + k];
  for (int m = 0; degree == 0 && m <= p->degree; m++) {
    double w = (p->w[0][m] + p->w[1][m] + p->w[2][m]) / 3;
    const double *u = vector + (int64_t)c->vert[p->degree][p->simplex * (p->degree + 1) + m] * g;
    for (int k = 0; k < g; k++) out[k] += w * u[k];
  }
  return isfinite(out[0]) && isfinite(out[1]) && isfinite(out[2]);
}

/* Shaft and head; `length` points if it lay across the line of sight. */
static void draw_arrow(scene *sc, const double at[3], const double dir[3], double length, double thick, rgb colour) {
  double size = hypot(hypot(dir[0], dir[1]), dir[2]), half = length * sc->fine * sc->v.radius / sc->v.zoom / 2;
  double tail[3], head[3];
  for (int k = 0; k < 3; k++) tail[k] = at[k] - half * dir[k] / size, head[k] = at[k] + half * dir[k] / size;
  corner a = view_point(&sc->v, tail), b = view_point(&sc->v, head);
  double dx = b.x - a.x, dy = b.y - a.y, l = hypot(dx, dy), grow = (thick - 0.7) / 2 * sc->fine;
  const paint with = {.colour = colour, .alpha = 1, .lift = 1};
  if (l < 0.25 * length * sc->fine || !on_surface(sc, &a) || !on_surface(sc, &b))
    return; /* at the reader, or outside */
  dx /= l, dy /= l;
  double tip = 0.36 * length * sc->fine, wing = 0.15 * length * sc->fine + grow;
  corner neck = {b.x - tip * dx, b.y - tip * dy, b.z, 1};
  raster_line(&sc->r, (corner[2]){a, neck}, thick * sc->fine, NULL, &with);
  corner end = {b.x + 1.6 * grow * dx, b.y + 1.6 * grow * dy, b.z, 1};
  neck.x -= grow * dx, neck.y -= grow * dy;
  corner left = {neck.x - wing * dy, neck.y + wing * dx, b.z, 1},
         right = {neck.x + wing * dy, neck.y - wing * dx, b.z, 1};
  raster_triangle(&sc->r, (corner[3]){end, left, right}, NULL, &with);
}

dkho_status scene_arrows(scene *sc, int degree, const double *vector, double spacing) {
  int across = (int)(sc->r.w / (spacing * sc->fine)) + 1, down = (int)(sc->r.h / (spacing * sc->fine)) + 1;
  int32_t *best = mem_alloc((size_t)(across * down), sizeof *best); /* patch + 1 nearest to the middle of each cell */
  double *off = mem_alloc((size_t)(across * down), sizeof *off);
  double at[3], u[3], largest = 0;
  for (int64_t i = 0; best && off && i < sc->s.patches; i++) {
    if (!patch_vector(sc, &sc->s.patch[i], degree, vector, at, u)) continue;
    corner q = view_point(&sc->v, at);
    if (!visible(sc, &q, 0.2)) continue;
    double col = q.x / (spacing * sc->fine), row = q.y / (spacing * sc->fine);
    int cell = (int)row * across + (int)col;
    double d = hypot(col - floor(col) - 0.5, row - floor(row) - 0.5);
    largest = fmax(largest, hypot(hypot(u[0], u[1]), u[2]));
    if (best[cell] && off[cell] <= d) continue;
    best[cell] = (int32_t)i + 1;
    off[cell] = d;
  }
  for (int halo = 1; best && off && halo >= 0; halo--)
    for (int cell = 0; cell < across * down; cell++) {
      if (!best[cell] || off[cell] > 0.45) continue;
      patch_vector(sc, &sc->s.patch[best[cell] - 1], degree, vector, at, u);
      if (hypot(hypot(u[0], u[1]), u[2]) <= 0.01 * largest) continue;
      draw_arrow(sc, at, u, 0.72 * spacing, halo ? 1.5 : 0.7, halo ? (rgb){1, 1, 1} : COLOUR_INK);
    }
  dkho_status s = best && off ? DKHO_OK : DKHO_E_MEMORY;
  mem_free(best);
  mem_free(off);
  return s;
}

static void mark_faces(scene *sc, const mark *m, const paint *with) {
  for (int64_t i = 0; i < sc->s.patches; i++) {
    const patch *p = &sc->s.patch[i];
    if (p->degree != 2 || !(m->mask[p->simplex] & m->bit)) continue;
    corner q[3];
    for (int j = 0; j < 3; j++) {
      q[j] = view_point(&sc->v, p->p[j]);
      q[j].light = view_light(&sc->v, p->normal[j]);
    }
    raster_triangle(&sc->r, q, NULL, with);
  }
}

static void mark_stroke(scene *sc, const stroke *s, double width, const paint *with) {
  corner q[2] = {view_point(&sc->v, s->p[0]), view_point(&sc->v, s->p[1])};
  raster_line(&sc->r, q, width * sc->fine, NULL, with);
}

void scene_seen(const scene *sc, double lift, uint8_t *seen) {
  double near = lift * sc->mesh * sc->fine * sc->v.radius / sc->v.zoom, p[3];
  for (int64_t i = 0; i < sc->c->n[0]; i++) {
    view_vertex(sc->c, i, p);
    corner q = view_point(&sc->v, p);
    seen[i] = surface_gone(&sc->s, p) <= near && visible(sc, &q, lift);
  }
}

static void mark_vertices(scene *sc, const mark *m, const paint *with) {
  double p[3];
  for (int64_t i = 0; i < sc->c->n[0]; i++) {
    if (!(m->mask[i] & m->bit)) continue;
    view_vertex(sc->c, i, p);
    raster_disc(&sc->r, view_point(&sc->v, p), m->width / 2 * sc->fine, 0, 1, 0, with);
  }
}

void scene_mark(scene *sc, const mark *m) {
  const paint with = {.colour = m->colour, .alpha = m->alpha, .lift = scene_lift(sc, m->lift) + (m->degree == 0)};
  if (m->degree == 2) mark_faces(sc, m, &with);
  if (m->degree == 0) mark_vertices(sc, m, &with);
  for (int64_t i = 0; m->degree == 1 && i < sc->s.strokes; i++) {
    const stroke *s = &sc->s.stroke[i];
    if (s->edge >= 0 && m->mask[s->edge] & m->bit) mark_stroke(sc, s, m->width, &with);
  }
}

void scene_outline(scene *sc, const mark *m) {
  const cx *c = sc->c;
  const paint with = {.colour = m->colour, .alpha = m->alpha, .lift = scene_lift(sc, m->lift)};
  for (int64_t i = 0; i < sc->s.strokes; i++) {
    const stroke *s = &sc->s.stroke[i];
    if (s->edge < 0) continue;
    int64_t from = c->coptr[1][s->edge], to = c->coptr[1][s->edge + 1], in = 0;
    for (int64_t p = from; p < to; p++) in += (m->mask[c->coface[1][p]] & m->bit) != 0;
    if (in > 0 && (in < to - from || to - from == 1)) mark_stroke(sc, s, m->width, &with);
  }
}
