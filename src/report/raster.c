/* raster.c: the sample loops. Everything is clipped to the picture; corners that are not finite draw nothing. */
#include "report/raster.h"

#include "base/mem.h"

#include <math.h>

dkho_status raster_open(raster *r, int w, int h) {
  *r = (raster){.w = w * RASTER_FINE, .h = h * RASTER_FINE};
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
  enum { F = RASTER_FINE };
  int w = r->w / F, h = r->h / F;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      uint32_t sum[3] = {F * F / 2, F * F / 2, F * F / 2};
      for (int j = 0; j < F; j++)
        for (int i = 0; i < F; i++) {
          uint32_t p = r->pixel[(size_t)(y * F + j) * (size_t)r->w + (size_t)(x * F + i)];
          sum[0] += p >> 16 & 255, sum[1] += p >> 8 & 255, sum[2] += p & 255;
        }
      r->pixel[(size_t)y * (size_t)w + (size_t)x] = sum[0] / (F * F) << 16 | sum[1] / (F * F) << 8 | sum[2] / (F * F);
    }
  r->w = w;
  r->h = h;
}

static uint32_t channel(double v) {
  return (uint32_t)(fmax(fmin(v, 1), 0) * 255 + 0.5);
}

static double blend(uint32_t under, double over, double alpha) {
  return under / 255.0 * (1 - alpha) + over * alpha;
}

static void sample(raster *r, size_t at, double z, double value, double light, const paint *with) {
  float depth = (float)(z + with->lift);
  if (depth < r->depth[at]) return;
  rgb c = with->map ? colour_of(with->map, value) : with->colour;
  double w = with->pale, keep = (1 - w) * light;
  c = (rgb){c.r * keep + w * light, c.g * keep + w * light, c.b * keep + w * light};
  if (with->alpha < 1) {
    uint32_t p = r->pixel[at];
    c = (rgb){blend(p >> 16 & 255, c.r, with->alpha), blend(p >> 8 & 255, c.g, with->alpha),
              blend(p & 255, c.b, with->alpha)};
  } else {
    r->depth[at] = depth;
  }
  r->pixel[at] = channel(c.r) << 16 | channel(c.g) << 8 | channel(c.b);
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
  double area = twice_area(&q[0], &q[1], q[2].x, q[2].y), v[3];
  if (area == 0) return;
  int turn = area < 0;
  corner p[3] = {q[0], q[turn ? 2 : 1], q[turn ? 1 : 2]};
  v[0] = value ? value[0] : 0, v[1] = value ? value[turn ? 2 : 1] : 0, v[2] = value ? value[turn ? 1 : 2] : 0;
  area = fabs(area);
  int own[3], x0, x1, y0, y1;
  for (int i = 0; i < 3; i++) own[i] = owns_edge(&p[(i + 1) % 3], &p[(i + 2) % 3]);
  span(fmin(fmin(p[0].x, p[1].x), p[2].x), fmax(fmax(p[0].x, p[1].x), p[2].x), r->w, &x0, &x1);
  span(fmin(fmin(p[0].y, p[1].y), p[2].y), fmax(fmax(p[0].y, p[1].y), p[2].y), r->h, &y0, &y1);
  for (int y = y0; y <= y1; y++)
    for (int x = x0; x <= x1; x++) {
      double b[3];
      int in = 1;
      for (int i = 0; i < 3; i++) {
        b[i] = twice_area(&p[(i + 1) % 3], &p[(i + 2) % 3], x + 0.5, y + 0.5) / area;
        in &= b[i] > 0 || (b[i] == 0 && own[i]);
      }
      if (!in) continue;
      sample(r, (size_t)y * (size_t)r->w + (size_t)x, b[0] * p[0].z + b[1] * p[1].z + b[2] * p[2].z,
             b[0] * v[0] + b[1] * v[1] + b[2] * v[2], b[0] * p[0].light + b[1] * p[1].light + b[2] * p[2].light, with);
    }
}

void raster_line(raster *r, const corner p[2], double width, const double value[2], const paint *with) {
  if (!sound(p, 2)) return;
  double dx = p[1].x - p[0].x, dy = p[1].y - p[0].y, length2 = dx * dx + dy * dy, half = width / 2;
  int x0, x1, y0, y1;
  span(fmin(p[0].x, p[1].x) - half, fmax(p[0].x, p[1].x) + half, r->w, &x0, &x1);
  span(fmin(p[0].y, p[1].y) - half, fmax(p[0].y, p[1].y) + half, r->h, &y0, &y1);
  for (int y = y0; y <= y1; y++)
    for (int x = x0; x <= x1; x++) {
      double ax = x + 0.5 - p[0].x, ay = y + 0.5 - p[0].y;
      double t = length2 > 0 ? fmax(fmin((ax * dx + ay * dy) / length2, 1), 0) : 0;
      double ex = ax - t * dx, ey = ay - t * dy;
      if (ex * ex + ey * ey > half * half) continue;
      sample(r, (size_t)y * (size_t)r->w + (size_t)x, p[0].z + t * (p[1].z - p[0].z),
             value ? value[0] + t * (value[1] - value[0]) : 0, p[0].light + t * (p[1].light - p[0].light), with);
    }
}

void raster_disc(raster *r, corner p, double radius, double inner, int ball, double value, const paint *with) {
  if (!sound(&p, 1)) return;
  int x0, x1, y0, y1;
  span(p.x - radius, p.x + radius, r->w, &x0, &x1);
  span(p.y - radius, p.y + radius, r->h, &y0, &y1);
  for (int y = y0; y <= y1; y++)
    for (int x = x0; x <= x1; x++) {
      double ax = x + 0.5 - p.x, ay = y + 0.5 - p.y, d2 = ax * ax + ay * ay;
      if (d2 > radius * radius || d2 < inner * inner) continue;
      double light = ball ? p.light * (0.72 + 0.28 * sqrt(1 - d2 / (radius * radius))) : p.light;
      sample(r, (size_t)y * (size_t)r->w + (size_t)x, p.z, value, light, with);
    }
}
