/* sheet.c: a perforated sheet at several resolutions, Gaussian fields. */
#include "problem/sheet.h"

#include "mesh/generate.h"

#include <math.h>
#include <string.h>

const double sheet_hole[SHEET_HOLES][3] = {{-0.45, -0.35, 0.18}, {0.45, -0.25, 0.22}, {-0.05, 0.45, 0.20}};

const char *const sheet_resolutions[] = {"smoke", "coarse", "medium", "main", "fine", NULL};

dkho_status sheet_build(cx **out, const char *resolution) {
  static const struct {
    const char *name;
    double h_near, h_far;
  } known[] = {{"smoke", 0.12, 0.30},
               {"coarse", 0.08, 0.16},
               {"medium", 0.04, 0.08},
               {"main", 0.02, 0.04},
               {"fine", 0.01, 0.02}};
  *out = NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(resolution, known[i].name) != 0) continue;
    gen_planar p = {.half = 1,
                    .holes = SHEET_HOLES,
                    .hole = sheet_hole,
                    .h_near = known[i].h_near,
                    .h_far = known[i].h_far,
                    .near = 0.05,
                    .far = 0.4};
    return cx_planar(out, &p);
  }
  return fail(DKHO_E_INPUT, "unknown resolution '%.40s'; there are smoke, coarse, medium, main, fine", resolution);
}

/* Of (m, n) and (-m, -n) one is enough. */
static int is_half(int m, int n) {
  return m > 0 || (m == 0 && n > 0);
}

void sheet_gaussian(const cx *c, rng *r, int frequency, double decay, double *out) {
  double variance = 0;
  memset(out, 0, (size_t)c->n[0] * sizeof *out);
  for (int m = 0; m <= frequency; m++)
    for (int n = -frequency; n <= frequency; n++)
      if (is_half(m, n)) variance += pow(1 + m * m + n * n, -decay);
  for (int m = 0; m <= frequency; m++)
    for (int n = -frequency; n <= frequency; n++) {
      if (!is_half(m, n)) continue;
      double size = sqrt(pow(1 + m * m + n * n, -decay) / variance), a = size * rng_normal(r), b = size * rng_normal(r);
      for (int64_t i = 0; i < c->n[0]; i++) {
        double s = M_PI * (m * c->x[2 * i] + n * c->x[2 * i + 1]);
        out[i] += a * cos(s) + b * sin(s);
      }
    }
}
