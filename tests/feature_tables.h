/* feature_tables.h: the descriptor tables of the three benchmarks over small complexes, with made-up static arrays. */
#ifndef TESTS_FEATURE_TABLES_H
#define TESTS_FEATURE_TABLES_H

#include "base/rng.h"
#include "data/dataset.h"
#include "data/static.h"
#include "mesh/generate.h"

#define TABLE(rows_, summary_)                                                                                         \
  {                                                                                                                    \
    .rows = (int)(sizeof rows_ / sizeof *rows_), .summaries = (int)(sizeof summary_ / sizeof *summary_), .row = rows_, \
    .summary = summary_                                                                                                \
  }
#define IN(name_, k)                                                                                                   \
  { .name = name_, .role = DATA_INPUT, .degree = k, .channels = 1, .shift = 0.25, .scale = 2 }
#define FIXED(name_, k, ch)                                                                                            \
  { .name = name_, .role = DATA_STATIC, .degree = k, .channels = ch, .scale = 1 }
#define OUT(name_, k, ch)                                                                                              \
  { .name = name_, .role = DATA_TARGET, .degree = k, .channels = ch, .scale = 1 }

static const data_field darcy_fields[] = {IN("f", 0),
                                          {.name = "g", .role = DATA_GLOBAL, .channels = 2, .shift = 0.5, .scale = 4},
                                          FIXED("position0", 0, 2),
                                          FIXED("position1", 1, 2),
                                          FIXED("position2", 2, 2),
                                          FIXED("K0", 0, 4),
                                          FIXED("K1", 1, 3),
                                          FIXED("K2", 2, 4),
                                          FIXED("label0", 0, 4),
                                          FIXED("label1", 1, 4),
                                          FIXED("tangent", 1, 2),
                                          FIXED("length", 1, 1),
                                          FIXED("area", 2, 1),
                                          FIXED("spectral0", 0, 16),
                                          FIXED("spectral1", 1, 16),
                                          FIXED("spectral2", 2, 16),
                                          FIXED("weight", 0, 1),
                                          OUT("p", 0, 1)};
#define HEAT "heat(f, 0.01, 1, 4, 12)"
static const feat_row darcy_rows[] = {{"source", 0, FEAT_NATIVE, "f"},
                                      {"boundary", 0, FEAT_NATIVE, "lift(g, columns(label0, 2, 2))"},
                                      {"position", 0, FEAT_NATIVE, "position0"},
                                      {"K", 0, FEAT_NATIVE, "K0"},
                                      {"label", 0, FEAT_NATIVE, "label0"},
                                      {"spectral", 0, FEAT_SPECTRAL, "modes(spectral0)"},
                                      {"heat", 0, FEAT_DIFFUSION, HEAT},
                                      {"summary", 0, FEAT_SUMMARY, "broadcast(g, mean, moment, rms)"},
                                      {"source", 1, FEAT_NATIVE, "d(f)"},
                                      {"boundary", 1, FEAT_NATIVE, "d(lift(g, columns(label0, 2, 2)))"},
                                      {"position", 1, FEAT_NATIVE, "position1"},
                                      {"tangent", 1, FEAT_NATIVE, "tangent"},
                                      {"length", 1, FEAT_NATIVE, "length"},
                                      {"K", 1, FEAT_NATIVE, "K1"},
                                      {"label", 1, FEAT_NATIVE, "label1"},
                                      {"spectral", 1, FEAT_SPECTRAL, "modes(spectral1)"},
                                      {"heat", 1, FEAT_DIFFUSION, "d(" HEAT ")"},
                                      {"summary", 1, FEAT_SUMMARY, "broadcast(g, mean, moment, rms)"},
                                      {"source", 2, FEAT_NATIVE, "integral(f, 2)"},
                                      {"position", 2, FEAT_NATIVE, "position2"},
                                      {"area", 2, FEAT_NATIVE, "area"},
                                      {"K", 2, FEAT_NATIVE, "K2"},
                                      {"label", 2, FEAT_NATIVE, "mean(label0, 2)"},
                                      {"spectral", 2, FEAT_SPECTRAL, "modes(spectral2)"},
                                      {"heat", 2, FEAT_DIFFUSION, "integral(" HEAT ", 2)"},
                                      {"summary", 2, FEAT_SUMMARY, "broadcast(g, mean, moment, rms)"}};
static const feat_summary darcy_summary[] = {{"g", "value(g)"},
                                             {"mean", "average(f, weight)"},
                                             {"moment", "moment(f, weight, position0)"},
                                             {"rms", "rms(f, weight, 1e-12)"}};

static const data_field torus_fields[] = {IN("u", 0),
                                          FIXED("position0", 0, 3),
                                          FIXED("position1", 1, 3),
                                          FIXED("position2", 2, 3),
                                          FIXED("velocity", 1, 1),
                                          FIXED("speed", 0, 1),
                                          FIXED("area", 2, 1),
                                          FIXED("normal", 2, 3),
                                          FIXED("spectral0", 0, 16),
                                          FIXED("spectral1", 1, 16),
                                          FIXED("spectral2", 2, 16),
                                          FIXED("weight", 0, 1),
                                          FIXED("fourier", 0, 8),
                                          OUT("uT", 0, 1)};
#define GLOBAL "broadcast(energy, spread, fourier)"
static const feat_row torus_rows[] = {{"u", 0, FEAT_NATIVE, "u"},
                                      {"position", 0, FEAT_NATIVE, "position0"},
                                      {"div v", 0, FEAT_NATIVE, "dt(velocity)"},
                                      {"div q", 0, FEAT_NATIVE, "dt(flux(u, velocity))"},
                                      {"speed", 0, FEAT_NATIVE, "speed"},
                                      {"heat", 0, FEAT_DIFFUSION, "heat(u, 0.03, 1, 2)"},
                                      {"spectral", 0, FEAT_SPECTRAL, "modes(spectral0)"},
                                      {"summary", 0, FEAT_SUMMARY, GLOBAL},
                                      {"gradient", 1, FEAT_NATIVE, "d(u)"},
                                      {"position", 1, FEAT_NATIVE, "position1"},
                                      {"velocity", 1, FEAT_NATIVE, "velocity"},
                                      {"flux", 1, FEAT_NATIVE, "flux(u, velocity)"},
                                      {"spectral", 1, FEAT_SPECTRAL, "modes(spectral1)"},
                                      {"summary", 1, FEAT_SUMMARY, GLOBAL},
                                      {"zero", 2, FEAT_NATIVE, "zero(2, 1)"},
                                      {"curl v", 2, FEAT_NATIVE, "d(velocity)"},
                                      {"curl q", 2, FEAT_NATIVE, "d(flux(u, velocity))"},
                                      {"position", 2, FEAT_NATIVE, "position2"},
                                      {"area", 2, FEAT_NATIVE, "area"},
                                      {"normal", 2, FEAT_NATIVE, "normal"},
                                      {"spectral", 2, FEAT_SPECTRAL, "modes(spectral2)"},
                                      {"summary", 2, FEAT_SUMMARY, GLOBAL}};
static const feat_summary torus_summary[] = {{"mean", "average(u, weight)"},
                                             {"energy", "rms(u, weight, 0, 1e-12)"},
                                             {"spread", "centred_rms(u, weight, 0, 1e-12)"},
                                             {"gradient", "rms(d(u), 1, 0, 1e-12)"},
                                             {"fourier", "moment(u, weight, fourier)"}};

static const data_field cavity_fields[] = {IN("rho", 0),
                                           FIXED("position0", 0, 3),
                                           FIXED("position1", 1, 3),
                                           FIXED("position2", 2, 3),
                                           FIXED("radius", 0, 1),
                                           FIXED("tangent", 1, 3),
                                           FIXED("normal", 2, 3),
                                           FIXED("length", 1, 1),
                                           FIXED("area", 2, 1),
                                           FIXED("boundary", 0, 7),
                                           FIXED("spectral0", 0, 16),
                                           FIXED("spectral1", 1, 16),
                                           FIXED("spectral2", 2, 16),
                                           FIXED("weight", 0, 1),
                                           OUT("Y", 0, 3)};
static const feat_row cavity_rows[] = {{"source", 0, FEAT_NATIVE, "rho"},
                                       {"position", 0, FEAT_NATIVE, "position0"},
                                       {"radius", 0, FEAT_NATIVE, "radius"},
                                       {"boundary", 0, FEAT_BOUNDARY, "boundary"},
                                       {"spectral", 0, FEAT_SPECTRAL, "modes(spectral0)"},
                                       {"heat", 0, FEAT_DIFFUSION, "heat(rho, 0.025, 1, 2, 3, 4)"},
                                       {"summary", 0, FEAT_SUMMARY, "broadcast(charge, dipole)"},
                                       {"source", 1, FEAT_NATIVE, "d(rho)"},
                                       {"position", 1, FEAT_NATIVE, "position1"},
                                       {"tangent", 1, FEAT_NATIVE, "tangent"},
                                       {"length", 1, FEAT_NATIVE, "length"},
                                       {"boundary", 1, FEAT_BOUNDARY, "mean(boundary, 1)"},
                                       {"spectral", 1, FEAT_SPECTRAL, "modes(spectral1)"},
                                       {"heat", 1, FEAT_DIFFUSION, "d(heat(rho, 0.025, 1, 2, 3, 4))"},
                                       {"summary", 1, FEAT_SUMMARY, "broadcast(charge, dipole)"},
                                       {"zero", 2, FEAT_NATIVE, "zero(2, 1)"},
                                       {"position", 2, FEAT_NATIVE, "position2"},
                                       {"normal", 2, FEAT_NATIVE, "normal"},
                                       {"area", 2, FEAT_NATIVE, "area"},
                                       {"boundary", 2, FEAT_BOUNDARY, "mean(boundary, 2)"},
                                       {"spectral", 2, FEAT_SPECTRAL, "modes(spectral2)"},
                                       {"zero", 2, FEAT_DIFFUSION, "zero(2, 4)"},
                                       {"summary", 2, FEAT_SUMMARY, "broadcast(charge, dipole)"}};
static const feat_summary cavity_summary[] = {{"charge", "average(rho, weight)"},
                                              {"dipole", "moment(rho, weight, position0)"}};

typedef struct bench {
  feat_table table;
  int fields;
  const data_field *field;
  cx *c;
  double *array[32];
} bench;

/* Statics are noise but for the ones whose geometry the tests rely on. */
static inline void bench_fill(bench *b, uint64_t seed) {
  for (int i = 0; i < b->fields; i++) {
    const data_field *f = &b->field[i];
    if (f->role != DATA_STATIC) continue;
    int64_t n = b->c->n[f->degree];
    assert_non_null(MEM_NEW(b->array[i], n * f->channels));
    rng r = rng_open(seed, RNG_TEST, (uint64_t)i);
    for (int64_t j = 0; j < n * f->channels; j++) b->array[i][j] = rng_range(&r, -1, 1);
    if (strcmp(f->name, "weight") == 0) static_lumped(b->c, b->array[i]);
    if (strncmp(f->name, "position", 8) == 0) static_positions(b->c, f->degree, b->array[i]);
    if (strcmp(f->name, "label0") == 0)
      for (int64_t j = 0; j < n; j++)
        for (int q = 0; q < 4; q++) b->array[i][4 * j + q] = j % 4 == q;
  }
}

static inline void bench_free(bench *b) {
  for (int i = 0; i < b->fields; i++) mem_free(b->array[i]);
  cx_free(b->c);
}

/* A flat square of 2·m² triangles. */
static inline cx *square(int m) {
  int side = m + 1;
  double *x;
  int32_t *top;
  cx *c;
  assert_non_null(MEM_NEW(x, 2 * side * side));
  assert_non_null(MEM_NEW(top, 6 * m * m));
  for (int i = 0; i < side * side; i++) x[2 * i] = i % side / (double)m, x[2 * i + 1] = i / side / (double)m;
  for (int i = 0; i < m * m; i++) {
    int a = i / m * side + i % m;
    int32_t quad[6] = {a, a + 1, a + side, a + 1, a + side + 1, a + side};
    memcpy(top + 6 * i, quad, sizeof quad);
  }
  assert_int_equal(cx_build(&c, 2, side * side, x, 2, 2 * m * m, top, CX_APPEARANCE), DKHO_OK);
  mem_free(x);
  mem_free(top);
  return c;
}

static inline bench bench_darcy(void) {
  bench b = {
      TABLE(darcy_rows, darcy_summary), sizeof darcy_fields / sizeof *darcy_fields, darcy_fields, square(5), {0}};
  bench_fill(&b, 1);
  return b;
}

static inline bench bench_torus(void) {
  bench b = {TABLE(torus_rows, torus_summary), sizeof torus_fields / sizeof *torus_fields, torus_fields, NULL, {0}};
  assert_int_equal(cx_torus_grid(&b.c, 1, 0.4, 9, 7, 0), DKHO_OK);
  bench_fill(&b, 2);
  return b;
}

/* Two tetrahedra on each side of a triangle, and one more. */
static inline cx *tetrahedra(void) {
  static const double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 2, 1, 0};
  static const int32_t top[] = {0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 4, 5};
  cx *c;
  assert_int_equal(cx_build(&c, 3, 6, x, 3, 3, top, CX_APPEARANCE), DKHO_OK);
  return c;
}

static inline bench bench_cavity(void) {
  bench b = {TABLE(cavity_rows, cavity_summary),
             sizeof cavity_fields / sizeof *cavity_fields,
             cavity_fields,
             tetrahedra(),
             {0}};
  bench_fill(&b, 3);
  return b;
}

#endif
