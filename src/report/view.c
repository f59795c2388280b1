/* view.c: the camera. */
#include "report/view.h"
#include "mesh/vec3.h"

#include <math.h>

void view_vertex(const cx *c, int64_t vertex, double out[3]) {
  const double *x = c->x + vertex * c->gdim;
  out[0] = x[0], out[1] = x[1], out[2] = c->gdim > 2 ? x[2] : 0;
}

/* Centre of the bounding box, and the ball about it. */
static void bounds(view *v, const cx *c) {
  double lo[3] = {0}, hi[3] = {0}, p[3], far = 0;
  for (int64_t i = 0; i < c->n[0]; i++) {
    view_vertex(c, i, p);
    for (int k = 0; k < 3; k++) {
      lo[k] = i && lo[k] < p[k] ? lo[k] : p[k];
      hi[k] = i && hi[k] > p[k] ? hi[k] : p[k];
    }
  }
  for (int k = 0; k < 3; k++) v->centre[k] = (lo[k] + hi[k]) / 2;
  for (int64_t i = 0; i < c->n[0]; i++) {
    view_vertex(c, i, p);
    for (int k = 0; k < 3; k++) p[k] -= v->centre[k];
    far = fmax(far, vec3_dot(p, p));
  }
  v->radius = far > 0 ? sqrt(far) : 1;
}

void view_fit(view *v, const cx *c, double elevation, double azimuth, double w, double h, double margin) {
  double e = elevation * M_PI / 180, a = azimuth * M_PI / 180;
  *v = (view){.flat = c->gdim == 2, .zoom = 1, .distance = c->gdim == 2 ? 0 : 5};
  double space[3][3] = {
      {-sin(a), cos(a), 0}, {-sin(e) * cos(a), -sin(e) * sin(a), cos(e)}, {cos(e) * cos(a), cos(e) * sin(a), sin(e)}};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) v->axis[i][k] = v->flat ? i == k : space[i][k];
  bounds(v, c);
  double lo[2] = {0}, hi[2] = {0}, p[3];
  for (int64_t i = 0; i < c->n[0]; i++) {
    view_vertex(c, i, p);
    corner q = view_point(v, p);
    double at[2] = {q.x, q.y};
    for (int k = 0; k < 2; k++) {
      lo[k] = i ? fmin(lo[k], at[k]) : at[k];
      hi[k] = i ? fmax(hi[k], at[k]) : at[k];
    }
  }
  double dx = fmax(hi[0] - lo[0], 1e-9), dy = fmax(hi[1] - lo[1], 1e-9);
  v->zoom = fmin((w - 2 * margin) / dx, (h - 2 * margin) / dy);
  v->shift[0] = w / 2 - v->zoom * (lo[0] + hi[0]) / 2;
  v->shift[1] = h / 2 - v->zoom * (lo[1] + hi[1]) / 2;
}

corner view_point(const view *v, const double x[3]) {
  double p[3] = {x[0] - v->centre[0], x[1] - v->centre[1], x[2] - v->centre[2]}, q[3];
  for (int i = 0; i < 3; i++) q[i] = vec3_dot(v->axis[i], p) / v->radius;
  double s = v->distance > 0 ? v->distance / (v->distance - q[2]) : 1;
  return (corner){v->shift[0] + v->zoom * s * q[0], v->shift[1] - v->zoom * s * q[1], s, 1};
}

double view_light(const view *v, const double normal[3]) {
  double size = sqrt(vec3_dot(normal, normal)), n[3];
  if (v->flat || size <= 0) return 1;
  for (int i = 0; i < 3; i++) n[i] = vec3_dot(v->axis[i], normal) / size;
  if (n[2] < 0)
    for (int i = 0; i < 3; i++) n[i] = -n[i];
  double lamp = fmax(-0.35 * n[0] + 0.45 * n[1] + 0.82 * n[2], 0);
  return 0.64 + 0.38 * lamp;
}
