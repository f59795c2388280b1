/* st_read.c: opening a container and asking what it holds. The header's rules are in st_parse.c. */
#include "base/finite.h"
#include "base/st_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dkho_status open_bytes(st_file *f, const char *name) {
  if (!(f->path = mem_strdup(name))) return DKHO_E_MEMORY;
  if ((uintptr_t)f->bytes % ST_DATA_ALIGN)
    return fail(DKHO_E_INPUT, "%s: bytes in memory are not aligned to %d", name, ST_DATA_ALIGN);
  dkho_status s = st_parse(f);
  if (s == DKHO_OK) s = st_check_seal(f);
  return s == DKHO_OK ? s : fail_prefix(s, "%s", name);
}

dkho_status st_open(st_file **out, const char *path) {
  st_file *f;
  *out = NULL;
  if (!MEM_NEW(f, 1)) return DKHO_E_MEMORY;
  dkho_status s = file_map_open(&f->map, path);
  f->bytes = f->map.bytes;
  f->size = f->map.size;
  if (s == DKHO_OK) s = open_bytes(f, path);
  if (s == DKHO_OK)
    *out = f;
  else
    st_close(f);
  return s;
}

dkho_status st_open_memory(st_file **out, const void *bytes, size_t size, const char *name) {
  st_file *f;
  *out = NULL;
  if (!MEM_NEW(f, 1)) return DKHO_E_MEMORY;
  f->bytes = bytes;
  f->size = size;
  dkho_status s = open_bytes(f, name);
  if (s == DKHO_OK)
    *out = f;
  else
    st_close(f);
  return s;
}

void st_close(st_file *f) {
  if (!f) return;
  arena_free(&f->mem);
  file_map_close(&f->map);
  mem_free(f->path);
  mem_free(f);
}

const char *st_path(const st_file *f) {
  return f->path;
}

int st_count(const st_file *f) {
  return f->count;
}

const st_tensor *st_at(const st_file *f, int i) {
  assert(i >= 0 && i < f->count);
  return &f->list[i];
}

static int find_order(const void *name, const void *item) {
  return strcmp(name, (*(const st_tensor *const *)item)->name);
}

const st_tensor *st_find(const st_file *f, const char *name) {
  const st_tensor *const *hit = bsearch(name, f->by_name, (size_t)f->count, sizeof *f->by_name, find_order);
  return hit ? *hit : NULL;
}

const char *st_meta(const st_file *f, const char *key) {
  st_pair wanted = {key, NULL};
  if (f->metas == 0) return NULL;
  const st_pair *hit = bsearch(&wanted, f->meta, (size_t)f->metas, sizeof *f->meta, st_pair_order);
  return hit ? hit->value : NULL;
}

int st_meta_count(const st_file *f) {
  return f->metas;
}

const char *st_meta_key(const st_file *f, int i) {
  assert(i >= 0 && i < f->metas);
  return f->meta[i].key;
}

/* "F32 [3, *]": a type and a shape for messages; extent -1 is written "*". */
enum { FORM = 256 };
static const char *form(char out[FORM], st_dtype dtype, int rank, const int64_t *shape) {
  int n = snprintf(out, FORM, "%s [", st_dtype_name(dtype));
  for (int i = 0; i < rank; i++) {
    const char *comma = i ? ", " : "";
    n += shape[i] < 0 ? snprintf(out + n, (size_t)(FORM - n), "%s*", comma)
                      : snprintf(out + n, (size_t)(FORM - n), "%s%lld", comma, (long long)shape[i]);
  }
  snprintf(out + n, (size_t)(FORM - n), "]");
  return out;
}

dkho_status st_need(const st_file *f, const char *name, st_dtype dtype, int rank, const int64_t *shape,
                    const st_tensor **out) {
  assert(rank >= 0 && rank <= ST_RANK_MAX);
  char wanted[FORM], found[FORM];
  const st_tensor *t = *out = st_find(f, name);
  if (!t)
    return fail(DKHO_E_FORMAT, "%s: tensor '%s' is missing, expected %s", f->path, name,
                form(wanted, dtype, rank, shape));
  int64_t have[ST_RANK_MAX] = {0};
  for (int i = 0; i < t->rank; i++) have[i] = (int64_t)t->shape[i]; /* read from JSON as a signed integer */
  int same = t->dtype == dtype && t->rank == rank;
  for (int i = 0; same && i < rank; i++) same = shape[i] < 0 || shape[i] == have[i];
  if (same) return DKHO_OK;
  *out = NULL;
  return fail(DKHO_E_FORMAT, "%s: tensor '%s': found %s, expected %s", f->path, name,
              form(found, t->dtype, t->rank, have), form(wanted, dtype, rank, shape));
}

dkho_status st_need_finite(const st_file *f, const st_tensor *t) {
  int64_t n = (int64_t)t->count, until = n;
  if (t->dtype == ST_F32) until = finite_until_f32(t->data, n);
  if (t->dtype == ST_F64) until = finite_until_f64(t->data, n);
  return until == n ? DKHO_OK
                    : fail(DKHO_E_NONFINITE, "%s: %s: element %lld is not finite", f->path, t->name, (long long)until);
}

dkho_status st_need_meta(const st_file *f, const char *key, const char **out) {
  *out = st_meta(f, key);
  return *out ? DKHO_OK : fail(DKHO_E_FORMAT, "%s: metadata '%s' is missing", f->path, key);
}

void st_hash(const st_file *f, char hex[33]) {
  st_hash_bytes(f->bytes, f->size, hex);
}
