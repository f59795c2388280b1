/* colour.c: OKLab and the maps in it. */
#include "report/colour.h"

#include <math.h>

static double linear_of(double s) {
  return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
}

static double srgb_of(double x) {
  if (x <= 0) return 0;
  return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
}

/* OKLab (Ottosson 2020): linear sRGB = M · cube(A · lab). */
static void linear_of_lab(const double lab[3], double out[3]) {
  double l = lab[0] + 0.3963377774 * lab[1] + 0.2158037573 * lab[2];
  double m = lab[0] - 0.1055613458 * lab[1] - 0.0638541728 * lab[2];
  double s = lab[0] - 0.0894841775 * lab[1] - 1.2914855480 * lab[2];
  l = l * l * l, m = m * m * m, s = s * s * s;
  out[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
  out[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
  out[2] = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
}

void rgb_oklab(rgb c, double lab[3]) {
  double r = linear_of(c.r), g = linear_of(c.g), b = linear_of(c.b);
  double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
  lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
  lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

static rgb rgb_of_lab(const double lab[3]) {
  double x[3];
  linear_of_lab(lab, x);
  return (rgb){fmin(srgb_of(x[0]), 1), fmin(srgb_of(x[1]), 1), fmin(srgb_of(x[2]), 1)};
}

static int in_gamut(const double lab[3]) {
  double x[3];
  linear_of_lab(lab, x);
  for (int i = 0; i < 3; i++)
    if (x[i] < -1e-4 || x[i] > 1 + 1e-4) return 0;
  return 1;
}

rgb rgb_oklch(double l, double c, double h) {
  double a = cos(h * M_PI / 180), b = sin(h * M_PI / 180), low = 0, high = c;
  if (in_gamut((double[3]){l, c * a, c * b})) low = c;
  for (int i = 0; i < 20 && low < c; i++) {
    double mid = (low + high) / 2;
    if (in_gamut((double[3]){l, mid * a, mid * b}))
      low = mid;
    else
      high = mid;
  }
  return rgb_of_lab((double[3]){l, low * a, low * b});
}

rgb rgb_hex(uint32_t hex) {
  return (rgb){(hex >> 16 & 255) / 255.0, (hex >> 8 & 255) / 255.0, (hex & 255) / 255.0};
}

rgb rgb_mix(rgb a, rgb b, double t) {
  double u[3], v[3];
  rgb_oklab(a, u);
  rgb_oklab(b, v);
  for (int i = 0; i < 3; i++) u[i] += t * (v[i] - u[i]);
  return rgb_of_lab(u);
}

/* Control points of a map: lightness is a straight line from l0 to l1, chroma and hue are curves through evenly spaced
 * knots. A diverging map has two arms, 0 in the middle. */
enum { KNOTS = 7 };
typedef struct {
  double l0, l1, knot[KNOTS][2];
} curve;

static const curve sequential = {
    0.25, 0.92, {{0.105, 302}, {0.125, 279}, {0.110, 251}, {0.095, 214}, {0.115, 172}, {0.150, 134}, {0.165, 103}}};
static const curve error = {
    0.975, 0.27, {{0.022, 98}, {0.075, 90}, {0.125, 74}, {0.155, 52}, {0.160, 30}, {0.135, 12}, {0.085, 352}}};
static const curve pale = {
    0.985, 0.60, {{0.004, 240}, {0.022, 236}, {0.040, 236}, {0.056, 239}, {0.070, 243}, {0.082, 248}, {0.092, 253}}};
static const curve cold = {
    0.972, 0.40, {{0.000, 236}, {0.035, 238}, {0.070, 241}, {0.103, 246}, {0.126, 251}, {0.135, 257}, {0.120, 263}}};
static const curve warm = {
    0.972, 0.40, {{0.000, 62}, {0.035, 58}, {0.070, 50}, {0.108, 41}, {0.136, 32}, {0.148, 26}, {0.135, 22}}};

/* Catmull–Rom through the knots, mirrored slopes at the ends. */
static double knot_value(const curve *c, int which, double t) {
  double u = t * (KNOTS - 1);
  int i = (int)u < KNOTS - 1 ? (int)u : KNOTS - 2;
  u -= i;
  double p1 = c->knot[i][which], p2 = c->knot[i + 1][which];
  double p0 = i > 0 ? c->knot[i - 1][which] : 2 * p1 - p2, p3 = i + 2 < KNOTS ? c->knot[i + 2][which] : 2 * p2 - p1;
  double m1 = (p2 - p0) / 2, m2 = (p3 - p1) / 2;
  return p1 + u * (m1 + u * (3 * (p2 - p1) - 2 * m1 - m2 + u * (2 * (p1 - p2) + m1 + m2)));
}

static double unwrapped_hue(const curve *c, double t) {
  curve w = *c;
  for (int i = 1; i < KNOTS; i++) {
    double step = w.knot[i][1] - w.knot[i - 1][1];
    w.knot[i][1] -= 360 * round(step / 360);
  }
  return knot_value(&w, 1, t);
}

static rgb curve_at(const curve *c, double t) {
  return rgb_oklch(c->l0 + t * (c->l1 - c->l0), fmax(knot_value(c, 0, t), 0), unwrapped_hue(c, t));
}

rgb colour_at(colour_map map, double t) {
  t = t > 0 ? fmin(t, 1) : 0;
  if (map == COLOUR_SEQUENTIAL) return curve_at(&sequential, t);
  if (map == COLOUR_ERROR) return curve_at(&error, t);
  if (map == COLOUR_PALE) return curve_at(&pale, t);
  return t < 0.5 ? curve_at(&cold, 1 - 2 * t) : curve_at(&warm, 2 * t - 1);
}

rgb colour_category(int i) {
  static const double lch[8][3] = {{0.50, 0.135, 256}, {0.68, 0.150, 55}, {0.60, 0.120, 165}, {0.55, 0.180, 22},
                                   {0.47, 0.130, 305}, {0.77, 0.135, 90}, {0.70, 0.100, 222}, {0.66, 0.140, 350}};
  const double *c = lch[i & 7];
  return rgb_oklch(c[0], c[1], c[2]);
}

void colour_scale_set(colour_scale *s, colour_map map, scale on) {
  s->on = on;
  s->map = map;
  for (int i = 0; i < COLOUR_STEPS; i++) s->step[i] = colour_at(map, i / (COLOUR_STEPS - 1.0));
}

double colour_place(const colour_scale *s, double value) {
  return isfinite(value) ? scale_unit(&s->on, value) * (COLOUR_STEPS - 1) : NAN;
}

rgb colour_step(const colour_scale *s, double t) {
  if (isnan(t)) return COLOUR_MISSING;
  t = t > 0 ? t < COLOUR_STEPS - 1 ? t : COLOUR_STEPS - 1 : 0;
  int i = (int)t < COLOUR_STEPS - 1 ? (int)t : COLOUR_STEPS - 2;
  rgb a = s->step[i], b = s->step[i + 1];
  t -= i;
  return (rgb){a.r + t * (b.r - a.r), a.g + t * (b.g - a.g), a.b + t * (b.b - a.b)};
}

rgb colour_of(const colour_scale *s, double value) {
  return colour_step(s, colour_place(s, value));
}
