/* cx_store.c: a complex in the tensor container. Vertex lists of every degree are stored, so numbering and orientation
 * survive; faces, signs and measures are rebuilt on reading, which proves the lists. Layout in docs/FORMATS.md. */
#include "mesh/cx_impl.h"

#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = ST_NAME_MAX + 1 };

static dkho_status tensor_name(char *out, const char *prefix, const char *stem, int k) {
  char digit[2] = {(char)('0' + k), 0};
  int length = snprintf(out, NAME_ROOM, "%s%s%s", prefix, stem, k < 0 ? "" : digit);
  if (length >= NAME_ROOM) return fail(DKHO_E_INPUT, "prefix \"%s\" is too long for a tensor name", prefix);
  return DKHO_OK;
}

static uint64_t names_bytes(const cx *c) {
  uint64_t bytes = 0;
  for (int i = 0; i < c->labels; i++) bytes += strlen(c->label_name[i]) + 1;
  return bytes;
}

dkho_status cx_declare(const cx *c, st_writer *w, const char *prefix) {
  char name[NAME_ROOM];
  uint64_t shape[2] = {(uint64_t)c->n[0], (uint64_t)c->gdim};
  TRY(tensor_name(name, prefix, "x", -1));
  TRY(st_declare(w, name, ST_F64, 2, shape));
  for (int k = 1; k <= c->dim; k++) {
    shape[0] = (uint64_t)c->n[k];
    shape[1] = (uint64_t)k + 1;
    TRY(tensor_name(name, prefix, "vert", k));
    TRY(st_declare(w, name, ST_I32, 2, shape));
  }
  for (int k = 0; k <= c->dim; k++) {
    if (!c->label[k]) continue;
    shape[0] = (uint64_t)c->n[k];
    TRY(tensor_name(name, prefix, "label", k));
    TRY(st_declare(w, name, ST_I32, 1, shape));
  }
  if (!c->labels) return DKHO_OK;
  shape[0] = names_bytes(c);
  TRY(tensor_name(name, prefix, "label_names", -1));
  return st_declare(w, name, ST_U8, 1, shape);
}

dkho_status cx_write(const cx *c, st_writer *w) {
  TRY(st_write(w, c->x, (size_t)(c->n[0] * c->gdim) * sizeof *c->x));
  for (int k = 1; k <= c->dim; k++) TRY(st_write(w, c->vert[k], (size_t)(c->n[k] * (k + 1)) * sizeof *c->vert[k]));
  for (int k = 0; k <= c->dim; k++) {
    if (c->label[k]) TRY(st_write(w, c->label[k], (size_t)c->n[k] * sizeof *c->label[k]));
  }
  for (int i = 0; i < c->labels; i++) TRY(st_write(w, c->label_name[i], strlen(c->label_name[i]) + 1));
  return DKHO_OK;
}

/* The degree of the complex is that of its highest vertex list. */
static dkho_status find_degree(const st_file *f, const char *prefix, int *dim) {
  char name[NAME_ROOM];
  *dim = 0;
  for (int k = 1; k < CX_DEGREES; k++) {
    TRY(tensor_name(name, prefix, "vert", k));
    if (st_find(f, name)) *dim = k;
  }
  return DKHO_OK;
}

static dkho_status read_lists(cx *c, const st_file *f, const char *prefix) {
  for (int k = 1; k <= c->dim; k++) {
    char name[NAME_ROOM];
    const st_tensor *t;
    TRY(tensor_name(name, prefix, "vert", k));
    TRY(st_need(f, name, ST_I32, 2, (const int64_t[]){-1, k + 1}, &t));
    if (t->shape[0] < 1 || t->shape[0] > INT32_MAX)
      return fail(DKHO_E_FORMAT, "%s: %s: %llu rows, expected 1 … 2^31-1", st_path(f), name,
                  (unsigned long long)t->shape[0]);
    c->n[k] = (int64_t)t->shape[0];
    if (!ARENA_NEW(&c->mem, c->vert[k], t->count)) return DKHO_E_MEMORY;
    memcpy(c->vert[k], t->data, (size_t)t->count * sizeof *c->vert[k]);
  }
  return DKHO_OK;
}

static dkho_status read_label_names(cx *c, const st_file *f, const char *name, const st_tensor *t) {
  const char *names[CX_LABELS_MAX], *bytes = t->data;
  int labels = 0;
  if (t->count == 0 || bytes[t->count - 1] != 0)
    return fail(DKHO_E_FORMAT, "%s: %s: expected names that end in a zero byte", st_path(f), name);
  for (uint64_t at = 0; at < t->count; at += strlen(bytes + at) + 1) {
    if (labels == CX_LABELS_MAX)
      return fail(DKHO_E_FORMAT, "%s: %s: more than %d names", st_path(f), name, CX_LABELS_MAX);
    names[labels++] = bytes + at;
  }
  dkho_status s = cx_name_labels(c, labels, names);
  return s == DKHO_E_INPUT ? fail_prefix(DKHO_E_FORMAT, "%s: %s", st_path(f), name) : s;
}

static dkho_status read_labels(cx *c, const st_file *f, const char *prefix) {
  char name[NAME_ROOM];
  const st_tensor *t;
  TRY(tensor_name(name, prefix, "label_names", -1));
  if (st_find(f, name)) {
    TRY(st_need(f, name, ST_U8, 1, (const int64_t[]){-1}, &t));
    TRY(read_label_names(c, f, name, t));
  }
  for (int k = 0; k < CX_DEGREES; k++) {
    TRY(tensor_name(name, prefix, "label", k));
    if (!st_find(f, name)) continue;
    if (k > c->dim) return fail(DKHO_E_FORMAT, "%s: %s: the complex has degree %d", st_path(f), name, c->dim);
    TRY(st_need(f, name, ST_I32, 1, (const int64_t[]){c->n[k]}, &t));
    dkho_status s = cx_set_labels(c, k, t->data);
    if (s != DKHO_OK) return s == DKHO_E_INPUT ? fail_prefix(DKHO_E_FORMAT, "%s: %s", st_path(f), name) : s;
  }
  return DKHO_OK;
}

static dkho_status copy_lists(cx *c, const cx *from) {
  for (int k = 1; k <= c->dim; k++) {
    c->n[k] = from->n[k];
    if (!ARENA_NEW(&c->mem, c->vert[k], c->n[k] * (k + 1))) return DKHO_E_MEMORY;
    memcpy(c->vert[k], from->vert[k], (size_t)(c->n[k] * (k + 1)) * sizeof *c->vert[k]);
  }
  TRY(cx_assemble(c));
  if (from->labels) TRY(cx_name_labels(c, from->labels, from->label_name));
  for (int k = 0; k <= c->dim; k++)
    if (from->label[k]) TRY(cx_set_labels(c, k, from->label[k]));
  return DKHO_OK;
}

dkho_status cx_copy(cx **out, const cx *from) {
  cx *c = NULL;
  *out = NULL;
  dkho_status s = cx_start(&c, from->gdim, from->n[0], from->x, from->dim);
  if (s == DKHO_OK) s = copy_lists(c, from);
  if (s == DKHO_OK)
    *out = c;
  else
    cx_free(c);
  return s;
}

dkho_status cx_get(cx **out, const st_file *f, const char *prefix) {
  char name[NAME_ROOM];
  const st_tensor *x;
  int dim;
  cx *c = NULL;
  *out = NULL;
  TRY(tensor_name(name, prefix, "x", -1));
  TRY(st_need(f, name, ST_F64, 2, (const int64_t[]){-1, -1}, &x));
  TRY(find_degree(f, prefix, &dim));
  int gdim = x->shape[1] > INT32_MAX ? INT32_MAX : (int)x->shape[1];
  int64_t n0 = x->shape[0] > INT32_MAX ? -1 : (int64_t)x->shape[0];
  dkho_status s = cx_start(&c, gdim, n0, x->data, dim);
  if (s == DKHO_E_INPUT) return fail_prefix(DKHO_E_FORMAT, "%s: %s", st_path(f), name);
  if (s == DKHO_OK) s = read_lists(c, f, prefix);
  if (s == DKHO_OK) s = cx_assemble(c);
  /* what the complex itself finds wrong does not name the file */
  if (s == DKHO_E_INPUT) s = fail_prefix(DKHO_E_FORMAT, "%s: complex \"%s\"", st_path(f), prefix);
  if (s == DKHO_OK) s = read_labels(c, f, prefix);
  if (s == DKHO_OK)
    *out = c;
  else
    cx_free(c);
  return s;
}
