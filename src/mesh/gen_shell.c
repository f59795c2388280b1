/* gen_shell.c: the cavity benchmark's complex: random points strictly inside a spherical shell, their Delaunay
 * tetrahedra, minus those that fill the cavity. The boundary is neither round nor always a manifold; that is how the
 * benchmark is. */
#include "mesh/generate.h"

#include <math.h>
#include <string.h>

static const double OUTER = 2.0, INNER = 0.4;

/* MT19937, started from one integer, as the points were drawn from it. */
typedef struct twister {
  uint32_t s[624];
  int at;
} twister;

static void twister_seed(twister *t, uint32_t seed) {
  t->s[0] = seed;
  for (uint32_t i = 1; i < 624; i++) t->s[i] = 1812433253u * (t->s[i - 1] ^ (t->s[i - 1] >> 30)) + i;
  t->at = 624;
}

static uint32_t twister_next(twister *t) {
  if (t->at == 624) {
    for (int i = 0; i < 624; i++) {
      uint32_t y = (t->s[i] & 0x80000000u) | (t->s[(i + 1) % 624] & 0x7fffffffu);
      t->s[i] = t->s[(i + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    t->at = 0;
  }
  uint32_t y = t->s[t->at++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

/* lo + (hi - lo)·u, u in [0,1) with 53 bits from two draws. */
static double uniform(twister *t, double lo, double hi) {
  double a = twister_next(t) >> 5, b = twister_next(t) >> 6;
  return lo + (hi - lo) * ((a * 67108864.0 + b) / 9007199254740992.0);
}

static double radius(const double *p) {
  return sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
}

/* The first `count` of 5·count points uniform in the cube that fall into the shell; all are drawn. Returns how many
 * were found. */
static int draw_interior(twister *t, int count, double *x) {
  int found = 0;
  for (int i = 0; i < 5 * count; i++) {
    double p[3];
    for (int j = 0; j < 3; j++) p[j] = (uniform(t, 0, 1) - 0.5) * 2 * OUTER;
    double r = radius(p);
    if (found < count && r > 1.15 * INNER && r < 0.92 * OUTER) memcpy(x + 3 * found++, p, sizeof p);
  }
  return found;
}

/* Polar angle uniform (so the poles are dense), azimuth, radius. */
static void draw_layer(twister *t, int count, double scale, double lo, double hi, double *x) {
  for (int i = 0; i < count; i++) {
    double theta = uniform(t, 0, M_PI), phi = uniform(t, 0, 2 * M_PI), r = scale * uniform(t, lo, hi);
    x[3 * i] = r * sin(theta) * cos(phi);
    x[3 * i + 1] = r * sin(theta) * sin(phi);
    x[3 * i + 2] = r * cos(theta);
  }
}

/* Keeps the tetrahedra whose centroid and vertices stand clear of the cavity; returns how many. */
static int64_t drop_cavity(int64_t count, int32_t *tet, const double *x) {
  int64_t kept = 0;
  for (int64_t i = 0; i < count; i++) {
    double centre[3] = {0}, least = INFINITY;
    for (int j = 0; j < 4; j++) {
      const double *p = x + 3 * (int64_t)tet[4 * i + j];
      least = fmin(least, radius(p));
      for (int a = 0; a < 3; a++) centre[a] += p[a] / 4;
    }
    if (radius(centre) > 1.08 * INNER && least > 1.02 * INNER) memmove(tet + 4 * kept++, tet + 4 * i, 4 * sizeof *tet);
  }
  return kept;
}

static dkho_status label_layers(cx *c) {
  static const char *const names[] = {"interior", "inner", "outer"};
  int32_t *label;
  TRY(cx_name_labels(c, 3, names));
  if (!MEM_NEW(label, c->n[0])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < c->n[0]; i++) {
    double r = radius(c->x + 3 * i);
    label[i] = r < 1.35 * INNER ? 1 : r > 0.80 * OUTER ? 2 : 0;
  }
  dkho_status s = cx_set_labels(c, 0, label);
  mem_free(label);
  return s;
}

dkho_status cx_shell(cx **out, int target) {
  *out = NULL;
  if (target < 100 || target > 1000000)
    return fail(DKHO_E_INPUT, "shell: target of %d points, expected 100 … 1000000", target);
  int interior = (int)(0.84 * target), layer = (int)(0.08 * target), n = interior + 2 * layer;
  double *x;
  int32_t *tet = NULL;
  int64_t count;
  twister t;
  if (!MEM_NEW(x, 3 * n)) return DKHO_E_MEMORY;
  twister_seed(&t, 42);
  dkho_status s = DKHO_OK;
  if (draw_interior(&t, interior, x) < interior)
    s = fail(DKHO_E_INPUT, "shell: too few of the points for target %d fall into the shell", target);
  if (s == DKHO_OK) {
    draw_layer(&t, layer, INNER, 1.16, 1.28, x + 3 * interior);
    draw_layer(&t, layer, OUTER, 0.85, 0.91, x + 3 * (interior + layer));
    s = delaunay(3, n, x, &count, &tet);
  }
  if (s == DKHO_OK) s = cx_build(out, 3, n, x, 3, drop_cavity(count, tet, x), tet, CX_LEX);
  if (s == DKHO_OK && (s = label_layers(*out)) != DKHO_OK) {
    cx_free(*out);
    *out = NULL;
  }
  mem_free(tet);
  mem_free(x);
  return s;
}

dkho_status cx_cavity(cx **out, const char *resolution) {
  *out = NULL;
  if (strcmp(resolution, "main") == 0) return cx_shell(out, 3019);
  if (strcmp(resolution, "smoke") == 0) return cx_shell(out, 300);
  return fail(DKHO_E_INPUT, "cavity: resolution \"%s\", expected \"smoke\" or \"main\"", resolution);
}
