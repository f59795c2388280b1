/* surface.c: triangles, the cut, normals. */
#include "report/surface.h"

#include "report/view.h"

#include <math.h>
#include <string.h>

enum { POLYGON_MAX = 8 };

typedef struct {
  double p[3], w[4];
} node;
typedef struct {
  int n;
  node at[POLYGON_MAX];
} polygon;

static double height(const surface *s, const double x[3]) {
  double h = 0;
  for (int k = 0; k < 3; k++) h += s->plane[k] * (x[k] - s->centre[k]);
  return h;
}

double surface_gone(const surface *s, const double x[3]) {
  return s->cut ? height(s, x) : -INFINITY;
}

static node between(const node *a, const node *b, double t) {
  node c;
  for (int k = 0; k < 3; k++) c.p[k] = a->p[k] + t * (b->p[k] - a->p[k]);
  for (int k = 0; k < 4; k++) c.w[k] = a->w[k] + t * (b->w[k] - a->w[k]);
  return c;
}

/* The part of a convex polygon that the cut leaves. */
static polygon clipped(const surface *s, const polygon *in) {
  polygon out = {0};
  for (int i = 0; i < in->n; i++) {
    const node *a = &in->at[i], *b = &in->at[(i + 1) % in->n];
    double ha = -height(s, a->p), hb = -height(s, b->p);
    if (ha >= 0 && out.n < POLYGON_MAX) out.at[out.n++] = *a;
    if (((ha > 0 && hb < 0) || (ha < 0 && hb > 0)) && out.n < POLYGON_MAX)
      out.at[out.n++] = between(a, b, ha / (ha - hb));
  }
  if (out.n < 3) out.n = 0;
  return out;
}

/* Where plane h = 0 meets a tetrahedron: a triangle, a quadrangle, or nothing. */
static polygon cut_tetrahedron(const node v[4], const double h[4]) {
  int above[4], below[4], na = 0, nb = 0;
  for (int i = 0; i < 4; i++) {
    if (h[i] > 0)
      above[na++] = i;
    else
      below[nb++] = i;
  }
  polygon out = {0};
  if (na == 0 || nb == 0) return out;
  static const int square[4][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}};
  out.n = na == 2 ? 4 : 3;
  for (int i = 0; i < out.n; i++) {
    int a = na == 2 ? above[square[i][0]] : above[na == 1 ? 0 : i],
        b = na == 2 ? below[square[i][1]] : below[nb == 1 ? 0 : i];
    out.at[i] = between(&v[a], &v[b], h[a] / (h[a] - h[b]));
  }
  return out;
}

static dkho_status add_patch(surface *s, const patch *p) {
  if (s->patches == s->patch_room) {
    int64_t room = 2 * s->patch_room + 256;
    patch *more = mem_resize(s->patch, (size_t)s->patches, (size_t)room, sizeof *more);
    if (!more) return DKHO_E_MEMORY;
    s->patch = more;
    s->patch_room = room;
  }
  s->patch[s->patches++] = *p;
  return DKHO_OK;
}

static dkho_status add_stroke(surface *s, const stroke *p) {
  if (s->strokes == s->stroke_room) {
    int64_t room = 2 * s->stroke_room + 256;
    stroke *more = mem_resize(s->stroke, (size_t)s->strokes, (size_t)room, sizeof *more);
    if (!more) return DKHO_E_MEMORY;
    s->stroke = more;
    s->stroke_room = room;
  }
  s->stroke[s->strokes++] = *p;
  return DKHO_OK;
}

/* A convex polygon as a fan; normals by the weights of its corners, from `normal` (N_0 × 3), or none. */
static dkho_status add_polygon(surface *s, const polygon *q, int32_t simplex, int degree, surface_part part,
                               const int32_t *vert, const double *normal) {
  for (int i = 1; i + 1 < q->n; i++) {
    patch p = {.simplex = simplex, .degree = (uint8_t)degree, .part = (uint8_t)part};
    int corner_of[3] = {0, i, i + 1};
    for (int j = 0; j < 3; j++) {
      const node *a = &q->at[corner_of[j]];
      memcpy(p.p[j], a->p, sizeof a->p);
      memcpy(p.w[j], a->w, sizeof a->w);
      for (int m = 0; normal && m <= degree; m++)
        for (int k = 0; k < 3; k++) p.normal[j][k] += a->w[m] * normal[3 * vert[m] + k];
    }
    TRY(add_patch(s, &p));
  }
  return DKHO_OK;
}

static void simplex_nodes(const cx *c, int degree, int64_t i, node out[4]) {
  for (int j = 0; j <= degree; j++) {
    memset(out[j].w, 0, sizeof out[j].w);
    out[j].w[j] = 1;
    view_vertex(c, c->vert[degree][i * (degree + 1) + j], out[j].p);
  }
}

static int face_drawn(const cx *c, int64_t f) {
  return c->dim == 2 || c->on_boundary[2][f];
}

/* Normals at vertices, area-weighted; a face that looks the other way is turned, so no orientation is needed. */
static void vertex_normals(const cx *c, double *normal) {
  for (int64_t f = 0; f < c->n[2]; f++) {
    if (!face_drawn(c, f)) continue;
    node v[4];
    simplex_nodes(c, 2, f, v);
    double a[3], b[3], n[3];
    for (int k = 0; k < 3; k++) a[k] = v[1].p[k] - v[0].p[k], b[k] = v[2].p[k] - v[0].p[k];
    for (int k = 0; k < 3; k++) n[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
    for (int j = 0; j < 3; j++) {
      double *sum = normal + 3 * c->vert[2][3 * f + j];
      double turn = sum[0] * n[0] + sum[1] * n[1] + sum[2] * n[2] < 0 ? -1 : 1;
      for (int k = 0; k < 3; k++) sum[k] += turn * n[k];
    }
  }
}

static int32_t find_part(int32_t *up, int32_t i) {
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

/* part[v] of boundary vertices: outer in the component that reaches farthest from the centre, inner in others. */
static void boundary_parts(const surface *s, const cx *c, int32_t *up, uint8_t *part) {
  double far = -1, p[3];
  int32_t outer = 0;
  for (int32_t v = 0; v < c->n[0]; v++) up[v] = v;
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    if (!c->on_boundary[2][f]) continue;
    up[find_part(up, v[1])] = find_part(up, v[0]);
    up[find_part(up, v[2])] = find_part(up, v[0]);
  }
  for (int32_t v = 0; v < c->n[0]; v++) {
    if (!c->on_boundary[0][v]) continue;
    view_vertex(c, v, p);
    double d = hypot(hypot(p[0] - s->centre[0], p[1] - s->centre[1]), p[2] - s->centre[2]);
    if (d > far) far = d, outer = v;
  }
  for (int32_t v = 0; v < c->n[0]; v++) part[v] = find_part(up, v) == find_part(up, outer) ? PART_OUTER : PART_INNER;
}

static dkho_status add_face(surface *s, const cx *c, int64_t f, surface_part part, const double *normal) {
  polygon all = {.n = 3};
  simplex_nodes(c, 2, f, all.at);
  if (s->cut) all = clipped(s, &all);
  return add_polygon(s, &all, (int32_t)f, 2, part, c->vert[2] + 3 * f, normal);
}

static dkho_status add_piece(surface *s, stroke st, const node end[2], const int32_t *vert, const double *normal) {
  for (int j = 0; j < 2; j++) {
    node a = between(&end[0], &end[1], st.t[j]);
    memcpy(st.p[j], a.p, sizeof a.p);
    for (int k = 0; k < 3; k++) st.normal[j][k] = a.w[0] * normal[3 * vert[0] + k] + a.w[1] * normal[3 * vert[1] + k];
  }
  return add_stroke(s, &st);
}

static dkho_status add_edge(surface *s, const cx *c, int64_t e, surface_part part, const double *normal) {
  stroke st = {.edge = (int32_t)e, .part = (uint8_t)part, .t = {0, 1}};
  node end[4];
  simplex_nodes(c, 1, e, end);
  if (s->cut) {
    double h0 = height(s, end[0].p), h1 = height(s, end[1].p);
    if (h0 > 0 && h1 > 0) return DKHO_OK;
    if (h0 > 0) st.t[0] = h0 / (h0 - h1);
    if (h1 > 0) st.t[1] = h0 / (h0 - h1);
  }
  return st.t[0] < st.t[1] ? add_piece(s, st, end, c->vert[1] + 2 * e, normal) : DKHO_OK;
}

/* Whether the side between two corners of a section lies in the boundary: in a face of the tetrahedron that does. */
static int is_rim(const cx *c, int64_t tet, const node *a, const node *b) {
  for (int j = 0; j < 4; j++) {
    int64_t f = c->face[3][4 * tet + j];
    int outside = 0; /* weight on the vertex that the face lacks */
    for (int m = 0; m < 4; m++) {
      int32_t v = c->vert[3][4 * tet + m];
      const int32_t *own = c->vert[2] + 3 * f;
      if (v != own[0] && v != own[1] && v != own[2]) outside = a->w[m] > 0 || b->w[m] > 0;
    }
    if (!outside && c->on_boundary[2][f]) return 1;
  }
  return 0;
}

static dkho_status add_section(surface *s, const cx *c, int64_t tet) {
  node v[4];
  double h[4];
  simplex_nodes(c, 3, tet, v);
  for (int j = 0; j < 4; j++) h[j] = height(s, v[j].p);
  polygon q = cut_tetrahedron(v, h);
  TRY(add_polygon(s, &q, (int32_t)tet, 3, PART_SECTION, NULL, NULL));
  for (int j = 0; j < q.n; j++) {
    const node *a = &q.at[j], *b = &q.at[(j + 1) % q.n];
    stroke st = {.edge = -1, .part = PART_SECTION, .rim = (uint8_t)is_rim(c, tet, a, b)};
    memcpy(st.p[0], a->p, sizeof st.p[0]);
    memcpy(st.p[1], b->p, sizeof st.p[1]);
    TRY(add_stroke(s, &st));
  }
  return DKHO_OK;
}

static dkho_status build_surface(surface *s, const cx *c, double *normal, int32_t *up, uint8_t *part) {
  if (c->dim >= 2) vertex_normals(c, normal);
  if (c->dim == 3) boundary_parts(s, c, up, part);
  for (int64_t f = 0; f < c->n[2]; f++)
    if (face_drawn(c, f)) TRY(add_face(s, c, f, part[c->vert[2][3 * f]], normal));
  for (int64_t e = 0; e < c->n[1]; e++)
    if (c->dim < 3 || c->on_boundary[1][e]) TRY(add_edge(s, c, e, part[c->vert[1][2 * e]], normal));
  for (int64_t t = 0; t < c->n[3]; t++) TRY(add_section(s, c, t));
  return DKHO_OK;
}

dkho_status surface_open(surface *s, const cx *c, const double centre[3]) {
  *s = (surface){.cut = c->dim == 3, .plane = {0.96, -0.28, 0}}; /* towards the eye, roughly */
  memcpy(s->centre, centre, sizeof s->centre);
  double *normal = mem_alloc((size_t)c->n[0], 3 * sizeof *normal);
  int32_t *up = mem_alloc((size_t)c->n[0], sizeof *up);
  uint8_t *part = mem_alloc((size_t)c->n[0], 1);
  dkho_status status = normal && up && part ? build_surface(s, c, normal, up, part) : DKHO_E_MEMORY;
  mem_free(normal);
  mem_free(up);
  mem_free(part);
  if (status != DKHO_OK) surface_close(s);
  return status;
}

void surface_close(surface *s) {
  mem_free(s->patch);
  mem_free(s->stroke);
  *s = (surface){0};
}
