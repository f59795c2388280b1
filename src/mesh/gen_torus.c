/* gen_torus.c: a closed torus, first as a periodic grid, then thinned by edge collapses in order of quadric error, so
 * that the mesh becomes irregular where the surface is flat. Vertices stay on the smooth torus; the surface stays a
 * manifold, and no face turns over or becomes a sliver. */
#include "mesh/generate.h"
#include "mesh/vec3.h"

#include <math.h>
#include <string.h>

static const double ANGLE_MIN = 20 * M_PI / 180; /* a collapse may not make a smaller angle */

typedef struct quadric {
  double a[10]; /* upper triangle of the symmetric 4×4 form */
} quadric;

/* An edge a < b waiting for collapse; stale when the version of an end has moved on. */
typedef struct candidate {
  double cost;
  uint64_t tie;
  int32_t a, b;
  uint32_t version; /* of a plus of b */
} candidate;

/* The surface during collapse. Corner 3f+j is vertex j of face f; the corners of a vertex form a list. */
typedef struct surface {
  double major, minor;
  double unit; /* of cost */
  int64_t vertices, faces;
  double *x;         /* vertices × 3 */
  int32_t *face;     /* faces × 3; the first entry is -1 when the face is gone */
  int32_t *head;     /* vertices: first corner */
  int32_t *next;     /* corners: next corner of the same vertex, or -1 */
  uint32_t *version; /* vertices: collapses that they took part in */
  uint32_t *mark;    /* vertices: scratch of the link test */
  uint32_t stamp;
  quadric *q;
  candidate *heap;
  int64_t waiting, room;
  arena mem;
} surface;

static void sub(const double *a, const double *b, double *out) {
  for (int j = 0; j < 3; j++) out[j] = a[j] - b[j];
}

static void normal(const double *a, const double *b, const double *p, double *w) {
  double u[3], v[3];
  sub(b, a, u);
  sub(p, a, v);
  vec3_cross(u, v, w);
}

/* The nearest point of the smooth torus. */
static void project_on_torus(const surface *s, double *p) {
  double rho = hypot(p[0], p[1]);
  double ring[3] = {s->major * p[0] / rho, s->major * p[1] / rho, 0}, d[3];
  sub(p, ring, d);
  double scale = s->minor / sqrt(vec3_dot(d, d));
  for (int j = 0; j < 3; j++) p[j] = ring[j] + scale * d[j];
}

/* |f| (n,δ)(n,δ)ᵀ of each face is added to its three vertices. */
static void add_quadrics(surface *s) {
  for (int64_t f = 0; f < s->faces; f++) {
    const int32_t *v = s->face + 3 * f;
    double plane[4], length;
    normal(s->x + 3 * v[0], s->x + 3 * v[1], s->x + 3 * v[2], plane);
    length = sqrt(vec3_dot(plane, plane));
    for (int j = 0; j < 3; j++) plane[j] /= length;
    plane[3] = -vec3_dot(plane, s->x + 3 * v[0]);
    for (int i = 0, m = 0; i < 4; i++) {
      for (int j = i; j < 4; j++, m++) {
        for (int c = 0; c < 3; c++) s->q[v[c]].a[m] += length / 2 * plane[i] * plane[j];
      }
    }
  }
}

/* (p,1)ᵀ (q_a + q_b) (p,1) */
static double quadric_error(const quadric *qa, const quadric *qb, const double *p) {
  double h[4] = {p[0], p[1], p[2], 1}, sum = 0;
  for (int i = 0, m = 0; i < 4; i++) {
    for (int j = i; j < 4; j++, m++) sum += (i == j ? 1 : 2) * (qa->a[m] + qb->a[m]) * h[i] * h[j];
  }
  return sum;
}

static void merged_point(const surface *s, int32_t a, int32_t b, double *p) {
  for (int j = 0; j < 3; j++) p[j] = (s->x[3 * (int64_t)a + j] + s->x[3 * (int64_t)b + j]) / 2;
  project_on_torus(s, p);
}

/* Scatters equal costs over the surface (the grid is symmetric, so whole rings tie). */
static uint64_t scatter(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int before(const candidate *p, const candidate *q) {
  if (p->cost != q->cost) return p->cost < q->cost;
  if (p->tie != q->tie) return p->tie < q->tie;
  return p->a != q->a ? p->a < q->a : p->b < q->b;
}

/* Costs are rounded to a small part of their natural scale so that ties are ties whatever the last bit of a cosine. */
static dkho_status push_edge(surface *s, int32_t a, int32_t b) {
  double p[3];
  if (s->waiting == s->room) {
    int64_t room = s->room * 2;
    candidate *more = mem_resize(s->heap, (size_t)s->room, (size_t)room, sizeof *more);
    if (!more) return DKHO_E_MEMORY;
    s->heap = more;
    s->room = room;
  }
  candidate c = {.a = a < b ? a : b, .b = a < b ? b : a, .version = s->version[a] + s->version[b]};
  merged_point(s, a, b, p);
  c.cost = floor(quadric_error(&s->q[a], &s->q[b], p) / s->unit + 0.5);
  c.tie = scatter(((uint64_t)c.a << 32) + (uint64_t)c.b);
  int64_t i = s->waiting++;
  for (; i > 0 && before(&c, &s->heap[(i - 1) / 2]); i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = c;
  return DKHO_OK;
}

static candidate pop(surface *s) {
  candidate top = s->heap[0], last = s->heap[--s->waiting];
  int64_t i = 0;
  for (;;) {
    int64_t child = 2 * i + 1;
    if (child >= s->waiting) break;
    if (child + 1 < s->waiting && before(&s->heap[child + 1], &s->heap[child])) child++;
    if (!before(&s->heap[child], &last)) break;
    s->heap[i] = s->heap[child];
    i = child;
  }
  s->heap[i] = last;
  return top;
}

/* The vertex that follows corner k in its face, and the one after. */
static int32_t after(const surface *s, int32_t k, int steps) {
  return s->face[k / 3 * 3 + (k % 3 + steps) % 3];
}

static int alive(const surface *s, int32_t k) {
  return s->face[k / 3 * 3] >= 0;
}

static dkho_status push_star(surface *s, int32_t a) {
  for (int32_t k = s->head[a]; k >= 0; k = s->next[k]) {
    if (alive(s, k)) TRY(push_edge(s, a, after(s, k, 1)));
  }
  return DKHO_OK;
}

/* Ends of an edge of a closed surface may merge only if they have exactly two common neighbours. */
static int link_allows(surface *s, int32_t a, int32_t b) {
  int common = 0;
  s->stamp++;
  for (int32_t k = s->head[a]; k >= 0; k = s->next[k]) {
    if (alive(s, k)) s->mark[after(s, k, 1)] = s->stamp;
  }
  for (int32_t k = s->head[b]; k >= 0; k = s->next[k]) common += alive(s, k) && s->mark[after(s, k, 1)] == s->stamp;
  return common == 2;
}

static double least_angle(const double *const p[3]) {
  double least = M_PI, u[3], v[3], w[3];
  for (int j = 0; j < 3; j++) {
    sub(p[(j + 1) % 3], p[j], u);
    sub(p[(j + 2) % 3], p[j], v);
    vec3_cross(u, v, w);
    least = fmin(least, atan2(sqrt(vec3_dot(w, w)), vec3_dot(u, v)));
  }
  return least;
}

/* Faces round v that survive keep their side and their shape when v moves to p. */
static int faces_allow(const surface *s, int32_t v, int32_t other, const double *p) {
  for (int32_t k = s->head[v]; k >= 0; k = s->next[k]) {
    if (!alive(s, k)) continue;
    int32_t b = after(s, k, 1), c = after(s, k, 2);
    if (b == other || c == other) continue;
    const double *xb = s->x + 3 * (int64_t)b, *xc = s->x + 3 * (int64_t)c;
    double old[3], now[3];
    normal(s->x + 3 * (int64_t)v, xb, xc, old);
    normal(p, xb, xc, now);
    if (vec3_dot(old, now) <= 0.5 * sqrt(vec3_dot(old, old) * vec3_dot(now, now))) return 0;
    if (least_angle((const double *const[3]){p, xb, xc}) < ANGLE_MIN) return 0;
  }
  return 1;
}

/* b becomes a, which moves to p. */
static void merge_vertices(surface *s, int32_t a, int32_t b, const double *p) {
  int32_t last = s->head[a];
  while (s->next[last] >= 0) last = s->next[last];
  s->next[last] = s->head[b];
  for (int32_t k = s->head[b]; k >= 0; k = s->next[k]) {
    if (!alive(s, k)) continue;
    if (after(s, k, 1) == a || after(s, k, 2) == a)
      s->face[k / 3 * 3] = -1;
    else
      s->face[k] = a;
  }
  for (int m = 0; m < 10; m++) s->q[a].a[m] += s->q[b].a[m];
  memcpy(s->x + 3 * (int64_t)a, p, 3 * sizeof *p);
  s->version[a] += s->version[b] + 1;
  s->head[b] = -1;
}

static dkho_status collapse_edges(surface *s, int collapses) {
  int done = 0;
  for (int32_t v = 0; v < s->vertices; v++) {
    for (int32_t k = s->head[v]; k >= 0; k = s->next[k]) {
      if (v < after(s, k, 1)) TRY(push_edge(s, v, after(s, k, 1)));
    }
  }
  while (done < collapses && s->waiting) {
    candidate c = pop(s);
    double p[3];
    if (s->head[c.a] < 0 || s->head[c.b] < 0 || s->version[c.a] + s->version[c.b] != c.version) continue;
    merged_point(s, c.a, c.b, p);
    if (!link_allows(s, c.a, c.b) || !faces_allow(s, c.a, c.b, p) || !faces_allow(s, c.b, c.a, p)) continue;
    merge_vertices(s, c.a, c.b, p);
    TRY(push_star(s, c.a));
    done++;
  }
  if (done < collapses)
    return fail(DKHO_E_INPUT, "torus: only %d of %d edge collapses keep a sound mesh", done, collapses);
  return DKHO_OK;
}

static dkho_status make_grid(surface *s, int nu, int nv) {
  s->vertices = (int64_t)nu * nv;
  s->faces = 2 * s->vertices;
  s->room = 4 * s->vertices;
  /* an error is an area times a squared height, h² (h²/minor)² in size */
  double h = 2 * M_PI * s->minor / nv, height = h * h / s->minor;
  s->unit = 1e-4 * h * h * height * height;
  if (!ARENA_NEW(&s->mem, s->x, 3 * s->vertices) || !ARENA_NEW(&s->mem, s->face, 3 * s->faces) ||
      !ARENA_NEW(&s->mem, s->head, s->vertices) || !ARENA_NEW(&s->mem, s->next, 3 * s->faces) ||
      !ARENA_NEW(&s->mem, s->version, s->vertices) || !ARENA_NEW(&s->mem, s->mark, s->vertices) ||
      !ARENA_NEW(&s->mem, s->q, s->vertices))
    return DKHO_E_MEMORY;
  for (int i = 0; i < nu; i++) {
    for (int j = 0; j < nv; j++) {
      double u = 2 * M_PI * i / nu, v = 2 * M_PI * j / nv, rho = s->major + s->minor * cos(v);
      int32_t a = i * nv + j, b = (i + 1) % nu * nv + j, q = (i + 1) % nu * nv + (j + 1) % nv,
              d = i * nv + (j + 1) % nv;
      memcpy(s->x + 3 * (int64_t)a, (double[3]){rho * sin(u), rho * cos(u), s->minor * sin(v)}, 3 * sizeof(double));
      memcpy(s->face + 6 * (int64_t)a, (int32_t[6]){a, q, b, a, d, q}, 6 * sizeof(int32_t));
    }
  }
  return DKHO_OK;
}

static dkho_status thin_out(surface *s, int collapses) {
  if (!MEM_NEW(s->heap, s->room)) return DKHO_E_MEMORY;
  memset(s->head, -1, (size_t)s->vertices * sizeof *s->head);
  for (int64_t k = 3 * s->faces - 1; k >= 0; k--) {
    s->next[k] = s->head[s->face[k]];
    s->head[s->face[k]] = (int32_t)k;
  }
  add_quadrics(s);
  return collapse_edges(s, collapses);
}

/* Faces that are left, vertices renumbered by first appearance among them. */
static dkho_status finish_surface(surface *s, cx **out) {
  int64_t faces = 0, vertices = 0;
  int32_t *id = NULL;
  double *x = NULL;
  if (!MEM_NEW(id, s->vertices) || !MEM_NEW(x, 3 * s->vertices)) {
    mem_free(id);
    return DKHO_E_MEMORY;
  }
  memset(id, -1, (size_t)s->vertices * sizeof *id);
  for (int64_t f = 0; f < s->faces; f++) {
    if (s->face[3 * f] < 0) continue;
    for (int j = 0; j < 3; j++) {
      int32_t v = s->face[3 * f + j];
      if (id[v] < 0) {
        memcpy(x + 3 * vertices, s->x + 3 * (int64_t)v, 3 * sizeof *x);
        id[v] = (int32_t)vertices++;
      }
      s->face[3 * faces + j] = id[v];
    }
    faces++;
  }
  dkho_status st = cx_build(out, 3, vertices, x, 2, faces, s->face, CX_APPEARANCE);
  mem_free(x);
  mem_free(id);
  return st;
}

dkho_status cx_torus_grid(cx **out, double major, double minor, int nu, int nv, int collapses) {
  *out = NULL;
  if (!(minor > 0 && major > minor && isfinite(major)))
    return fail(DKHO_E_INPUT, "torus: radii %g and %g, expected major > minor > 0", major, minor);
  if (nu < 3 || nv < 3 || (int64_t)nu * nv > 5000000)
    return fail(DKHO_E_INPUT, "torus: grid %d × %d, expected at least 3 × 3 and at most 5000000 vertices", nu, nv);
  if (collapses < 0 || collapses > nu * nv - 9)
    return fail(DKHO_E_INPUT, "torus: %d collapses, expected 0 … %d", collapses, nu * nv - 9);
  surface s = {.major = major, .minor = minor};
  dkho_status st = make_grid(&s, nu, nv);
  if (st == DKHO_OK && collapses) st = thin_out(&s, collapses);
  if (st == DKHO_OK) st = finish_surface(&s, out);
  mem_free(s.heap);
  arena_free(&s.mem);
  return st;
}

dkho_status cx_torus(cx **out, const char *resolution) {
  *out = NULL;
  if (strcmp(resolution, "main") == 0) return cx_torus_grid(out, 1.0, 0.4, 79, 39, 582);
  if (strcmp(resolution, "smoke") == 0) return cx_torus_grid(out, 1.0, 0.4, 24, 12, 48);
  return fail(DKHO_E_INPUT, "torus: resolution \"%s\", expected \"smoke\" or \"main\"", resolution);
}
