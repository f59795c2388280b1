/* twin.h: the fixtures of tests/data/twin (tools/make_twin_fixtures.py): a complex, a model's configuration and parameters,
 * three samples, and what an independent PyTorch twin makes of them in double. */
#ifndef TESTS_TWIN_H
#define TESTS_TWIN_H

#include "base/real.h"
#include "base/st.h"
#include "mesh/cx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>

static const char *const twin_cases[] = {
    "annulus_c0",
    "annulus_c1",
    "annulus_c2",
    "annulus_deep",
    "annulus_wide",
    "annulus_deterministic",
    "annulus_no_harmonic",
    "annulus_no_phase",
    "torus_c0",
    "torus_c1",
    "torus_random",
    "torus_no_dirac",
    "torus_no_phase",
    "shell_c0",
    "shell_c2",
    "ball_c3",
    "ball_no_phase",
    "annulus_x",
    "annulus_x_phases",
    "annulus_x_unsigned",
    "shell_x",
    "ball_x_signed",
    "torus_x_added",
    "annulus_x_narrow",
    "shell_x_narrow",
    "torus_x_latent",
};
enum { TWIN_CASES = sizeof twin_cases / sizeof twin_cases[0] };

typedef struct twin {
  st_file *file;
  json_t *config;
  cx *c;
} twin;

static inline void twin_ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("status %d: %s", (int)s, fail_text());
}

static inline const st_tensor *twin_tensor(const twin *w, const char *name) {
  const st_tensor *t = st_find(w->file, name);
  if (!t) fail_msg("%s: no tensor %s", st_path(w->file), name);
  return t;
}
static inline const double *twin_f64(const twin *w, const char *name) {
  const st_tensor *t = twin_tensor(w, name);
  assert_int_equal(t->dtype, ST_F64);
  return t->data;
}
static inline const int32_t *twin_i32(const twin *w, const char *name) {
  const st_tensor *t = twin_tensor(w, name);
  assert_int_equal(t->dtype, ST_I32);
  return t->data;
}
static inline int twin_int(const twin *w, const char *key) {
  json_t *v = json_object_get(w->config, key);
  assert_true(json_is_integer(v));
  return (int)json_integer_value(v);
}
static inline double twin_number(const twin *w, const char *key) {
  json_t *v = json_object_get(w->config, key);
  assert_true(json_is_number(v));
  return json_number_value(v);
}
static inline const char *twin_text(const twin *w, const char *key) {
  const char *v = json_string_value(json_object_get(w->config, key));
  assert_non_null(v);
  return v;
}

static inline void twin_open_from(twin *w, const char *folder, const char *name) {
  char path[512];
  const char *config;
  snprintf(path, sizeof path, "%s/%s/%s.st", TEST_DATA, folder, name);
  twin_ok(st_open(&w->file, path));
  twin_ok(st_need_meta(w->file, "config", &config));
  w->config = json_loads(config, 0, NULL);
  assert_non_null(w->config);
  const st_tensor *x = twin_tensor(w, "x"), *top = twin_tensor(w, "top");
  int dim = (int)top->shape[1] - 1;
  twin_ok(cx_build(&w->c, (int)x->shape[1], (int64_t)x->shape[0], twin_f64(w, "x"), dim, (int64_t)top->shape[0],
                   twin_i32(w, "top"), dim == 2 ? CX_APPEARANCE : CX_LEX));
}

static inline void twin_open(twin *w, const char *name) {
  twin_open_from(w, "twin", name);
}
static inline void twin_close(twin *w) {
  cx_free(w->c);
  json_decref(w->config);
  st_close(w->file);
}

/* The complex numbers and orients its simplices as the twin does. */
static inline void twin_check_topology(const twin *w) {
  const cx *c = w->c;
  assert_memory_equal(c->vert[c->dim], twin_i32(w, "top"), (size_t)(c->n[c->dim] * (c->dim + 1)) * sizeof(int32_t));
  for (int k = 1; k < c->dim; k++) {
    char name[16];
    snprintf(name, sizeof name, "vert%d", k);
    const st_tensor *t = twin_tensor(w, name);
    assert_int_equal(t->shape[0], c->n[k]);
    assert_memory_equal(c->vert[k], twin_i32(w, name), (size_t)t->count * sizeof(int32_t));
  }
}

#endif
