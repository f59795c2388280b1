/* kern.c: which table runs here, and the gather lists that all tables share. */
#include "kern/kern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifndef DKHO_REAL_DOUBLE
#ifdef KERN_HAVE_X86
extern const kern kern_avx512, kern_avx2;
#endif
#ifdef KERN_HAVE_NEON
extern const kern kern_neon;
#endif
#endif

static const char *const isa_names[] = {"avx512", "avx2", "neon", "ref"};

const char *kern_isa(int i) {
  return i < (int)(sizeof isa_names / sizeof *isa_names) ? isa_names[i] : NULL;
}

const kern *kern_find(const char *isa) {
#ifndef DKHO_REAL_DOUBLE
#ifdef KERN_HAVE_X86
  if (!strcmp(isa, "avx512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return &kern_avx512;
  if (!strcmp(isa, "avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kern_avx2;
#endif
#ifdef KERN_HAVE_NEON
  if (!strcmp(isa, "neon")) return &kern_neon;
#endif
#endif
  return strcmp(isa, "ref") ? NULL : &kern_ref;
}

dkho_status kern_get(const kern **out) {
  const char *asked = getenv("DKHO_ISA");
  if (asked && *asked) {
    *out = kern_find(asked);
    if (*out) return DKHO_OK;
    int known = 0;
    for (int i = 0; kern_isa(i); i++) known |= !strcmp(asked, kern_isa(i));
#ifdef DKHO_REAL_DOUBLE
    if (known) return (*out = &kern_ref), DKHO_OK;
#endif
    return fail(DKHO_E_INPUT, "DKHO_ISA: found \"%s\", expected %s", asked,
                known ? "an instruction set that this machine has" : "avx512, avx2, neon or ref");
  }
  for (int i = 0; kern_isa(i); i++)
    if ((*out = kern_find(kern_isa(i)))) return DKHO_OK;
  return fail(DKHO_E_INTERNAL, "no kernels");
}

const char *kern_fn_name(kern_fn f) {
  static const char *const name[KERN_FN_COUNT] = {"sin",      "cos",     "tanh", "erf",        "exp", "log1p",
                                                  "softplus", "sigmoid", "gelu", "gelu slope", "silu"};
  return name[f];
}

void kern_tile(int64_t n, int ch, const int32_t *order, const real *rows, real *tiles) {
  for (int64_t i = 0; i < n; i += KERN_LANES, tiles += ch * KERN_LANES)
    for (int64_t l = 0; l < KERN_LANES; l++) {
      const real *row = i + l < n ? rows + (int64_t)order[i + l] * ch : NULL;
      for (int k = 0; k < ch; k++) tiles[k * KERN_LANES + l] = row ? row[k] : 0;
    }
}

void kern_untile(int64_t n, int ch, const int32_t *order, const real *tiles, real *rows) {
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < ch; k++)
      rows[(int64_t)order[i] * ch + k] = tiles[i / KERN_LANES * KERN_LANES * ch + k * KERN_LANES + i % KERN_LANES];
}

static int64_t tile_degree(int64_t n, const int64_t *ptr, int64_t tile) {
  int64_t most = 0;
  for (int64_t i = tile * KERN_LANES; i < n && i < (tile + 1) * KERN_LANES; i++)
    if (ptr[i + 1] - ptr[i] > most) most = ptr[i + 1] - ptr[i];
  return most;
}

int64_t kern_gather_slots(int64_t n, const int64_t *ptr) {
  int64_t slots = 0;
  for (int64_t t = 0; t < kern_tiles(n); t++) slots += tile_degree(n, ptr, t);
  return slots;
}

dkho_status kern_gather_fill(int64_t n, const int64_t *ptr, const int32_t *col, const int8_t *sign,
                             const double *weight, int64_t cols, int width, int32_t *start, uint32_t *at, real *val) {
  int64_t end = (int64_t)kern_tiles(cols) * KERN_LANES * width;
  if (end + KERN_LANES * width > INT32_MAX || kern_gather_slots(n, ptr) > INT32_MAX / KERN_LANES)
    return fail(DKHO_E_INPUT, "%lld simplices with %d channels are too many for 31-bit places", (long long)cols, width);
  int32_t slot = 0;
  for (int t = 0; t < kern_tiles(n); t++) {
    int64_t degree = tile_degree(n, ptr, t);
    start[t] = slot;
    for (int64_t j = 0; j < degree; j++, slot++) {
      for (int l = 0; l < KERN_LANES; l++) {
        int64_t i = (int64_t)t * KERN_LANES + l, p = i < n ? ptr[i] + j : 0;
        size_t e = (size_t)slot * KERN_LANES + (size_t)l;
        int there = i < n && p < ptr[i + 1];
        assert(!there || (col[p] >= 0 && col[p] < cols));
        int64_t place = there ? (int64_t)col[p] * width : end;
        at[e] = (uint32_t)place | (there && sign[p] < 0 ? 0x80000000U : 0U);
        if (val) val[e] = there ? (real)weight[p] : 0;
      }
    }
  }
  start[kern_tiles(n)] = slot;
  return DKHO_OK;
}

void kern_mm(const kern *k, int tiles, const real *x, size_t xs, int in, const real *w, int ld, int out, const real *b,
             int add, real *y, size_t ys) {
  kern_sum one = {.tiles = tiles, .out = out, .terms = 1, .term = {{x, xs, in, w, ld}}, .shift = b, .y = y, .ys = ys};
  if (add) one.base = y, one.bs = ys;
  k->mm_sum(&one);
}
