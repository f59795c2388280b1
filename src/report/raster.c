/* raster.c: the sample loops. Everything is clipped to the picture; corners that are not finite draw nothing. */
#include "report/raster.h"

#include "base/mem.h"

#include <math.h>

dkho_status raster_open(raster *r, int w, int h, int fine) {
  *r = (raster){.w = w * fine, .h = h * fine, .fine = fine};
  size_t n = (size_t)r->w * (size_t)r->h;
  if (!MEM_NEW(r->pixel, n) || !MEM_NEW(r->depth, n)) {
    raster_close(r);
    return DKHO_E_MEMORY;
  }
  for (size_t i = 0; i < n; i++) {
    r->pixel[i] = 0xffffff;
    r->depth[i] = RASTER_EMPTY;
  }
  return DKHO_OK;
}

void raster_close(raster *r) {
  mem_free(r->pixel);
  mem_free(r->depth);
  *r = (raster){0};
}

void raster_resolve(raster *r) {
  int f = r->fine, w = r->w / f, h = r->h / f;
  uint32_t all = (uint32_t)(f * f);
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      uint32_t sum[3] = {all / 2, all / 2, all / 2};
      for (int j = 0; j < f; j++)
        for (int i = 0; i < f; i++) {
          uint32_t p = r->pixel[(size_t)(y * f + j) * (size_t)r->w + (size_t)(x * f + i)];
          sum[0] += p >> 16 & 255, sum[1] += p >> 8 & 255, sum[2] += p & 255;
        }
      r->pixel[(size_t)y * (size_t)w + (size_t)x] = sum[0] / all << 16 | sum[1] / all << 8 | sum[2] / all;
    }
  r->w = w;
  r->h = h;
}

static uint32_t channel(double v) { /* fmin and fmax are calls: too slow here */
  return (uint32_t)((v > 1 ? 1 : v > 0 ? v : 0) * 255 + 0.5);
}

static double blend(uint32_t under, double over, double alpha) {
  return under / 255.0 * (1 - alpha) + over * alpha;
}

/* t: place of the value on its scale, ready for the table; NaN for the missing. */
static inline void sample(raster *r, size_t at, double z, double t, double light, const paint *with) {
  float depth = (float)(z + with->lift);
  if (depth < r->depth[at]) return;
  rgb c = with->map ? colour_step(with->map, t) : with->colour;
  double w = with->pale * light, keep = light - w;
  c = (rgb){c.r * keep + w, c.g * keep + w, c.b * keep + w};
  if (with->alpha < 1) {
    uint32_t p = r->pixel[at];
    c = (rgb){blend(p >> 16 & 255, c.r, with->alpha), blend(p >> 8 & 255, c.g, with->alpha),
              blend(p & 255, c.b, with->alpha)};
  } else {
    r->depth[at] = depth;
  }
  r->pixel[at] = channel(c.r) << 16 | channel(c.g) << 8 | channel(c.b);
}

/* Places on the scale of a primitive's values. On a logarithmic scale a place between two corners is not the mean of
 * theirs: unless the values agree, `exact` asks for the logarithm of each sample's value. */
typedef struct {
  double v[3], t[3];
  int exact;
} values;

static values values_of(const paint *with, int n, const double *value) {
  values out = {0};
  for (int i = 0; with->map && value && i < n; i++) {
    out.v[i] = value[i];
    out.t[i] = colour_place(with->map, value[i]);
    out.exact |= with->map->on.log && value[i] != value[0];
  }
  return out;
}

static double place_on_scale(const paint *with, const values *u, double b0, double b1, double b2) {
  if (u->exact) return colour_place(with->map, b0 * u->v[0] + b1 * u->v[1] + b2 * u->v[2]);
  return b0 * u->t[0] + b1 * u->t[1] + b2 * u->t[2];
}

/* The samples whose centres may lie in [lo, hi], cut to 0 … n-1; empty when first > last. */
static void span(double lo, double hi, int n, int *first, int *last) {
  *first = (int)ceil(fmax(fmin(lo - 0.5, n), -1));
  *last = (int)floor(fmin(fmax(hi - 0.5, -1), n));
  if (*first < 0) *first = 0;
  if (*last > n - 1) *last = n - 1;
}

static int sound(const corner *p, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(p[i].x) || !isfinite(p[i].y) || !isfinite(p[i].z)) return 0;
  return 1;
}

static double twice_area(const corner *a, const corner *b, double x, double y) {
  return (b->x - a->x) * (y - a->y) - (b->y - a->y) * (x - a->x);
}

/* A sample on an edge belongs to one of the two triangles that share it, else translucent paint would show the edge. */
static int owns_edge(const corner *a, const corner *b) {
  return a->y > b->y || (a->y == b->y && a->x < b->x);
}

void raster_triangle(raster *r, const corner q[3], const double value[3], const paint *with) {
  if (!sound(q, 3)) return;
  double area = twice_area(&q[0], &q[1], q[2].x, q[2].y);
  if (area == 0) return;
  int turn = area < 0, own[3], x0, x1, y0, y1;
  corner p[3] = {q[0], q[turn ? 2 : 1], q[turn ? 1 : 2]};
  values u = values_of(with, 3, value ? (double[3]){value[0], value[turn ? 2 : 1], value[turn ? 1 : 2]} : NULL);
  double slope[3]; /* of the weights along a row */
  area = fabs(area);
  for (int i = 0; i < 3; i++) {
    const corner *a = &p[(i + 1) % 3], *b = &p[(i + 2) % 3];
    own[i] = owns_edge(a, b);
    slope[i] = -(b->y - a->y) / area;
  }
  span(fmin(fmin(p[0].x, p[1].x), p[2].x), fmax(fmax(p[0].x, p[1].x), p[2].x), r->w, &x0, &x1);
  span(fmin(fmin(p[0].y, p[1].y), p[2].y), fmax(fmax(p[0].y, p[1].y), p[2].y), r->h, &y0, &y1);
  for (int y = y0; y <= y1; y++) {
    double b[3];
    for (int i = 0; i < 3; i++) b[i] = twice_area(&p[(i + 1) % 3], &p[(i + 2) % 3], x0 + 0.5, y + 0.5) / area;
    double from = 0, to = x1 - x0; /* where the weights may all be positive, give or take a sample */
    for (int i = 0; i < 3; i++) {
      if (slope[i] > 0 && -b[i] / slope[i] > from) from = -b[i] / slope[i];
      if (slope[i] < 0 && -b[i] / slope[i] < to) to = -b[i] / slope[i];
    }
    if (from > to + 1) continue;
    for (int x = x0 + (from > 1 ? (int)from - 1 : 0), end = x0 + (int)to + 1; x <= end && x <= x1; x++) {
      double s = x - x0, b0 = b[0] + s * slope[0], b1 = b[1] + s * slope[1], b2 = b[2] + s * slope[2];
      if (b0 < 0 || b1 < 0 || b2 < 0) continue;
      if ((b0 == 0 && !own[0]) || (b1 == 0 && !own[1]) || (b2 == 0 && !own[2])) continue;
      sample(r, (size_t)y * (size_t)r->w + (size_t)x, b0 * p[0].z + b1 * p[1].z + b2 * p[2].z,
             place_on_scale(with, &u, b0, b1, b2), b0 * p[0].light + b1 * p[1].light + b2 * p[2].light, with);
    }
  }
}

void raster_line(raster *r, const corner p[2], double width, const double value[2], const paint *with) {
  if (!sound(p, 2)) return;
  double dx = p[1].x - p[0].x, dy = p[1].y - p[0].y, length2 = dx * dx + dy * dy, half = width / 2;
  double reach = fabs(dy) > 0 ? half * sqrt(length2) / fabs(dy) : INFINITY; /* half the line's width along a row */
  values u = values_of(with, 2, value);
  int x0, x1, y0, y1;
  span(fmin(p[0].y, p[1].y) - half, fmax(p[0].y, p[1].y) + half, r->h, &y0, &y1);
  for (int y = y0; y <= y1; y++) {
    double ay = y + 0.5 - p[0].y, mid = fabs(dy) > 0 ? p[0].x + ay / dy * dx : p[0].x;
    span(fmax(fmin(p[0].x, p[1].x) - half, mid - reach), fmin(fmax(p[0].x, p[1].x) + half, mid + reach), r->w, &x0,
         &x1);
    for (int x = x0; x <= x1; x++) {
      double ax = x + 0.5 - p[0].x, t = length2 > 0 ? (ax * dx + ay * dy) / length2 : 0;
      t = t > 1 ? 1 : t > 0 ? t : 0;
      double ex = ax - t * dx, ey = ay - t * dy;
      if (ex * ex + ey * ey > half * half) continue;
      sample(r, (size_t)y * (size_t)r->w + (size_t)x, p[0].z + t * (p[1].z - p[0].z),
             place_on_scale(with, &u, 1 - t, t, 0), p[0].light + t * (p[1].light - p[0].light), with);
    }
  }
}

void raster_disc(raster *r, corner p, double radius, double inner, int ball, double value, const paint *with) {
  if (!sound(&p, 1)) return;
  values u = values_of(with, 1, &value);
  int x0, x1, y0, y1;
  span(p.x - radius, p.x + radius, r->w, &x0, &x1);
  span(p.y - radius, p.y + radius, r->h, &y0, &y1);
  for (int y = y0; y <= y1; y++)
    for (int x = x0; x <= x1; x++) {
      double ax = x + 0.5 - p.x, ay = y + 0.5 - p.y, d2 = ax * ax + ay * ay;
      if (d2 > radius * radius || d2 < inner * inner) continue;
      double light = ball ? p.light * (0.72 + 0.28 * sqrt(1 - d2 / (radius * radius))) : p.light;
      sample(r, (size_t)y * (size_t)r->w + (size_t)x, p.z, u.t[0], light, with);
    }
}
