/* param.c: the parameter table; see param.h. */
#include "nn/param.h"

#include "base/finite.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

dkho_status params_create(params **out) {
  params *p;
  *out = NULL;
  if (!MEM_NEW(p, 1)) return DKHO_E_MEMORY;
  *out = p;
  return DKHO_OK;
}

void params_free(params *p) {
  if (!p) return;
  mem_free(p->list);
  mem_free(p);
}

/* 1, or 0 with p->status set: a table that failed stays usable, and says so at its end. */
static int room_for_one(params *p) {
  if (p->count < p->capacity) return 1;
  int more = p->capacity ? 2 * p->capacity : 64;
  param *list = mem_resize(p->list, (size_t)p->capacity, (size_t)more, sizeof *list);
  if (!list) {
    p->status = DKHO_E_MEMORY;
    return 0;
  }
  p->list = list;
  p->capacity = more;
  return 1;
}

void params_add(params *p, const char *name, int rank, const int64_t *shape, param_init init, double scale) {
  assert(rank >= 1 && rank <= PARAM_RANK_MAX && p->size == 0);
  if (p->status != DKHO_OK || !room_for_one(p)) return;
  if (strlen(name) > PARAM_NAME_MAX) {
    p->status = fail(DKHO_E_INPUT, "parameter %s: name longer than %d characters", name, PARAM_NAME_MAX);
    return;
  }
  if (params_find(p, name) >= 0) {
    p->status = fail(DKHO_E_INPUT, "parameter %s: declared twice", name);
    return;
  }
  param *q = &p->list[p->count];
  *q = (param){.rank = rank, .rows = 1, .count = 1, .init = init, .scale = scale, .live = 1};
  memcpy(q->name, name, strlen(name) + 1);
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 1 || shape[i] > INT32_MAX / q->count) {
      p->status = fail(DKHO_E_INPUT, "parameter %s: extent %lld does not fit", name, (long long)shape[i]);
      return;
    }
    q->shape[i] = shape[i];
    q->count *= shape[i];
  }
  q->cols = shape[rank - 1];
  q->rows = q->count / q->cols;
  p->count++;
}

void params_add_vector(params *p, const char *name, int64_t n, param_init init, double scale) {
  params_add(p, name, 1, &n, init, scale);
}

/* NAME + suffix; a name that does not fit is cut one character late, so that params_add refuses it. */
static const char *joined(char buffer[PARAM_NAME_MAX + 2], const char *name, const char *suffix) {
  snprintf(buffer, PARAM_NAME_MAX + 2, "%s%s", name, suffix);
  return buffer;
}

void params_add_affine(params *p, const char *name, int64_t in, int64_t out, int bias) {
  char full[PARAM_NAME_MAX + 2];
  double scale = in > 0 ? 1 / sqrt((double)in) : 0;
  params_add(p, joined(full, name, ".w"), 2, (const int64_t[]){in, out}, INIT_UNIFORM, scale);
  if (bias) params_add_vector(p, joined(full, name, ".b"), out, INIT_UNIFORM, scale);
}

void params_add_norm(params *p, const char *name, int64_t width) {
  char full[PARAM_NAME_MAX + 2];
  params_add_vector(p, joined(full, name, ".g"), width, INIT_CONST, 1);
  params_add_vector(p, joined(full, name, ".b"), width, INIT_CONST, 0);
}

void params_add_state(params *p, const char *name, int64_t n, double start) {
  int before = p->count;
  params_add_vector(p, name, n, INIT_CONST, start);
  if (p->count > before) p->list[before].state = 1;
}

void params_add_batch_norm(params *p, const char *name, int64_t width) {
  char full[PARAM_NAME_MAX + 2];
  params_add_norm(p, name, width);
  params_add_state(p, joined(full, name, ".mean"), width, 0);
  params_add_state(p, joined(full, name, ".var"), width, 1);
}

void params_add_modes(params *p, const char *name, int64_t modes, int64_t in, int64_t out) {
  int before = p->count;
  params_add(p, name, 3, (const int64_t[]){modes, 2 * in, out}, INIT_POSITIVE, 1 / ((double)in * (double)out));
  if (p->count > before) p->list[before].paired = 1;
}

void params_entrywise(params *p, int first) {
  for (int i = first; i < p->count; i++) p->list[i].entrywise = 1;
}

dkho_status params_layout(params *p) {
  if (p->status != DKHO_OK) return p->status;
  if (p->count == 0) return fail(DKHO_E_INPUT, "a model without parameters");
  p->size = p->total = p->reals = 0;
  for (int i = 0; i < p->count; i++) {
    param *q = &p->list[i];
    q->offset = p->size;
    if (!q->state) {
      p->total += q->paired ? q->count / 2 : q->count;
      p->reals += q->count;
    }
    p->size += (q->count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
  }
  return DKHO_OK;
}

int params_find(const params *p, const char *name) {
  for (int i = 0; i < p->count; i++)
    if (strcmp(p->list[i].name, name) == 0) return i;
  return -1;
}

int64_t params_live(const params *p) {
  int64_t n = 0;
  for (int i = 0; i < p->count; i++) n += p->list[i].live && !p->list[i].state ? p->list[i].count : 0;
  return n;
}

dkho_status params_slab(const params *p, real **out) {
  assert(p->size > 0);
  return MEM_NEW(*out, p->size) ? DKHO_OK : DKHO_E_MEMORY;
}

/* Gram–Schmidt, twice over for rounding, on `count` vectors of n entries: entry j of vector i at i·step + j·stride. Without
 * memory of its own. */
static void orthogonalise(int64_t count, int64_t n, int64_t step, int64_t stride, double length, real *x) {
  for (int64_t i = 0; i < count; i++) {
    real *v = x + i * step;
    for (int64_t k = 0; k < 2 * i; k++) {
      const real *u = x + k % i * step;
      double dot = 0, square = 0;
      for (int64_t j = 0; j < n; j++) {
        dot += (double)u[j * stride] * (double)v[j * stride];
        square += (double)u[j * stride] * (double)u[j * stride];
      }
      for (int64_t j = 0; j < n; j++) v[j * stride] -= (real)(dot / square * (double)u[j * stride]);
    }
    double square = 0;
    for (int64_t j = 0; j < n; j++) square += (double)v[j * stride] * (double)v[j * stride];
    for (int64_t j = 0; j < n; j++) v[j * stride] *= (real)(length / sqrt(square));
  }
}

void params_init(const params *p, uint64_t seed, real *value) {
  for (int i = 0; i < p->count; i++) {
    const param *q = &p->list[i];
    rng r = rng_open(seed, RNG_INIT, (uint64_t)i);
    for (int64_t j = 0; j < q->count; j++) {
      double x = q->scale;
      if (q->init == INIT_UNIFORM) x = rng_range(&r, -q->scale, q->scale);
      if (q->init == INIT_NORMAL) x = q->scale * rng_normal(&r);
      if (q->init == INIT_POSITIVE) x = rng_range(&r, 0, q->scale);
      if (q->init == INIT_RAMP) x = q->scale * (double)(j + 1);
      if (q->init == INIT_ORTHOGONAL) x = rng_normal(&r);
      value[q->offset + j] = (real)x;
    }
    if (q->init != INIT_ORTHOGONAL) continue;
    if (q->rows <= q->cols)
      orthogonalise(q->rows, q->cols, q->cols, 1, q->scale, value + q->offset);
    else
      orthogonalise(q->cols, q->rows, 1, q->cols, q->scale, value + q->offset);
  }
}

int64_t params_finite_until(const real *x, int64_t n) {
#ifdef DKHO_REAL_DOUBLE
  return finite_until_f64(x, n);
#else
  return finite_until_f32(x, n);
#endif
}

int params_finite(const real *x, int64_t n) {
  return params_finite_until(x, n) == n;
}
