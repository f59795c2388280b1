/* coolest.c: where should a chip of 15 units of power sit on this plate? Asks a trained operator for every place on a grid, all in one call.
 *
 *   cc coolest.c $(pkg-config --cflags --libs dkho) -o coolest && ./coolest runs/T */
#include <dkho.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NX = 12, NY = 7, PLACES = NX * NY };

static int give_up(void) {
  return fprintf(stderr, "%s\n", dkho_error()), 1;
}

int main(int argc, char **argv) {
  dkho_model *model;
  dkho_complex *mesh;
  if (argc != 2) return fprintf(stderr, "usage: coolest MODEL\n"), 2;
  if (dkho_model_load(&model, argv[1]) != DKHO_OK || dkho_model_complex(model, &mesh) != DKHO_OK) return give_up();
  size_t faces = (size_t)dkho_complex_count(mesh, 2), points = (size_t)dkho_complex_count(mesh, 0);
  const int32_t *corner = dkho_complex_vertices(mesh, 2);
  const double *x = dkho_complex_points(mesh);
  float *k = malloc(PLACES * faces * sizeof *k), *q = calloc(PLACES * faces, sizeof *q);
  float *T = malloc(PLACES * points * sizeof *T);
  double *channels = calloc(2 * PLACES, sizeof *channels); /* both at the temperature of the surroundings */
  if (!k || !q || !T || !channels) return fprintf(stderr, "no memory\n"), 1;
  for (size_t i = 0; i < PLACES * faces; i++) { /* a plate without pores; the chip is 0.24 × 0.2 */
    size_t place = i / faces, f = i % faces;
    double at[2] = {0.15 + 1.3 * (double)(place % NX) / (NX - 1), 0.15 + 0.7 * (double)(place / NX) / (NY - 1)};
    double middle[2] = {0, 0};
    for (int j = 0; j < 6; j++) middle[j % 2] += x[2 * corner[3 * f + (size_t)(j / 2)] + j % 2] / 3;
    k[i] = 1;
    if (fabs(middle[0] - at[0]) < 0.12 && fabs(middle[1] - at[1]) < 0.1) q[i] = 15;
  }
  const void *inputs[] = {k, q, channels}; /* in the order of dkho_model_input */
  if (dkho_model_predict(model, 0, PLACES, inputs, T) != DKHO_OK) return give_up();
  int best = 0;
  float peak[PLACES];
  for (int place = 0; place < PLACES; place++) {
    peak[place] = T[(size_t)place * points];
    for (size_t i = 0; i < points; i++) peak[place] = fmaxf(peak[place], T[(size_t)place * points + i]);
    if (peak[place] < peak[best]) best = place;
  }
  for (int row = NY - 1; row >= 0; row--, puts(""))
    for (int column = 0; column < NX; column++) printf(" %5.2f", (double)peak[row * NX + column]);
  printf("coolest with the chip at (%.2f, %.2f): T reaches %.3f\n", 0.15 + 1.3 * (best % NX) / (NX - 1.0),
         0.15 + 0.7 * (best / NX) / (NY - 1.0), (double)peak[best]);
  free(k), free(q), free(T), free(channels);
  dkho_complex_free(mesh);
  dkho_model_free(model);
  return 0;
}
