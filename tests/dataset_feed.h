/* dataset_feed.h: a small data set on two complexes, and a folder to write it in, for the tests of data sets. */
#ifndef TESTS_DATASET_FEED_H
#define TESTS_DATASET_FEED_H

#include "scratch.h"

#include "feature_tables.h"

#include <math.h>

enum { S = 11 };
static const feat_row rows[] = {{"f", 0, FEAT_NATIVE, "f"},
                                {"df", 1, FEAT_NATIVE, "d(f)"},
                                {"position", 0, FEAT_NATIVE, "position0"},
                                {"modes", 0, FEAT_SPECTRAL, "modes(spectral0)"},
                                {"all", 2, FEAT_SUMMARY, "broadcast(g, mean)"}};
static const feat_summary summary[] = {{"g", "value(g)"}, {"mean", "average(f, 1)"}};
static const feat_table table = TABLE(rows, summary);
static const data_field fields[] = {
    {.name = "f", .role = DATA_INPUT, .channels = 1, .rule = DATA_SCALE_MEANSTD, .eps = 1e-6},
    FIXED("position0", 0, 2),
    {.name = "g", .role = DATA_GLOBAL, .channels = 2, .rule = DATA_SCALE_MEANSTD, .eps = 1e-6},
    {.name = "p", .role = DATA_TARGET, .channels = 1, .rule = DATA_SCALE_MAXABS, .eps = 1e-8},
    {.name = "q", .role = DATA_TARGET, .degree = 1, .channels = 2, .rule = DATA_SCALE_RMS, .with_val = 1, .eps = 1e-9},
    FIXED("spectral0", 0, 3)};
enum { FIELDS = sizeof fields / sizeof *fields };
static const data_recipe recipes[] = {{"p", "", 1e-3, 1e-6, 1e-12, 200, 16, 3, 1, "darcy_c0"},
                                      {"q", "dkho.tau_range=0.1", 1e-3, 1e-5, 1e-10, 300, 16, 2, 0, "generic"}};
static const data_info info = {"darcy", "a test", UINT64_C(18446744073709551615), "{\"h\": 0.1}"};

/* What the writer is fed with; two complexes, samples 0 … 6 on the first. */
typedef struct feed {
  cx *c[2];
  float *f[2], *p[2], *q[2];
  double g[2 * S];
} feed;
static const int64_t share[2] = {7, 4};

static feed feed_make(void) {
  feed d = {.c = {square(2), square(3)}};
  rng r = rng_open(5, RNG_TEST, 0);
  for (int i = 0; i < 2; i++) {
    int64_t n0 = d.c[i]->n[0] * share[i], n1 = d.c[i]->n[1] * share[i] * 2;
    assert_true(MEM_NEW(d.f[i], n0) && MEM_NEW(d.p[i], n0) && MEM_NEW(d.q[i], n1));
    for (int64_t j = 0; j < n0; j++) d.f[i][j] = (float)rng_range(&r, 2, 5), d.p[i][j] = (float)rng_range(&r, -1, 1);
    for (int64_t j = 0; j < n1; j++) d.q[i][j] = (float)rng_range(&r, -1, 1);
  }
  for (int j = 0; j < 2 * S; j++) d.g[j] = rng_range(&r, 0.5, 1.5);
  return d;
}

static void feed_free(feed *d) {
  for (int i = 0; i < 2; i++) mem_free(d->f[i]), mem_free(d->p[i]), mem_free(d->q[i]), cx_free(d->c[i]);
}

static dkho_status put_complex(dataset_writer *w, const feed *d, int i) {
  double position[64], spectral[64] = {0}, column[16];
  static_positions(d->c[i], 0, position);
  for (int j = 0; j < 48; j++) spectral[j] = j + i;
  for (int j = 0; j < 16; j++) column[j] = 1 / sqrt((double)d->c[i]->n[0]);
  TRY(dataset_put_static(w, i, "position0", position));
  TRY(dataset_put_static(w, i, "spectral0", spectral));
  return dataset_put_harmonic(w, i, 0, 1, column);
}

/* Samples in two blocks on the first complex and one on the second. */
static dkho_status append(dataset_writer *w, const feed *d) {
  int64_t n0 = d->c[0]->n[0], n1 = d->c[0]->n[1] * 2;
  const void *first[] = {d->f[0], d->g, d->p[0], d->q[0]};
  const void *second[] = {d->f[0] + 3 * n0, d->g + 6, d->p[0] + 3 * n0, d->q[0] + 3 * n1};
  const void *third[] = {d->f[1], d->g + 14, d->p[1], d->q[1]};
  TRY(dataset_append(w, 0, 3, first));
  TRY(dataset_append(w, 0, 4, second));
  return dataset_append(w, 1, 4, third);
}

static dkho_status fill(dataset_writer *w, const feed *d) {
  for (int i = 0; i < 2; i++) TRY(dataset_put_cx(w, d->c[i]));
  for (int i = 0; i < FIELDS; i++) TRY(dataset_put_field(w, &fields[i]));
  for (int i = 0; i < 2; i++) TRY(put_complex(w, d, i));
  TRY(dataset_put_table(w, &table));
  for (int i = 0; i < 2; i++) TRY(dataset_put_recipe(w, &recipes[i]));
  TRY(append(w, d));
  return dataset_split_random(w, 42, 6, 2, 3);
}

static dkho_status make(const char *path, const feed *d) {
  dataset_writer *w;
  TRY(dataset_create(&w, path, 1, &info));
  dkho_status s = fill(w, d);
  if (s == DKHO_OK) return dataset_commit(w);
  dataset_abort(w);
  return s;
}

typedef struct place {
  char dir[64], path[128];
  feed d;
  dataset *set;
} place;

static place place_make(void) {
  place p = {.d = feed_make()};
  scratch_make(p.dir);
  scratch_path(p.path, p.dir, "d.st");
  assert_int_equal(make(p.path, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&p.set, p.path), DKHO_OK);
  return p;
}

static void place_free(place *p) {
  dataset_free(p->set);
  feed_free(&p->d);
  scratch_remove(p->dir);
}

#endif
