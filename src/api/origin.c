/* origin.c: what became of a mesh file, as JSON and in the container of its complex. */
#include "api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *api_import_json(const mesh_report *r) {
  json_t *repairs = json_object(), *elements = json_array();
  for (int k = 0; k < CX_DEGREES; k++) json_array_append_new(elements, json_integer(r->elements[k]));
  for (int i = 0; i < MESH_REPAIRS; i++)
    if (r->count[i]) json_object_set_new(repairs, mesh_repair_key((mesh_repair)i), json_integer(r->count[i]));
  return json_pack("{s:I, s:o, s:o}", "points", (json_int_t)r->points, "elements", elements, "repairs", repairs);
}

static const char *origin_name(int k) {
  static const char *const name[CX_DEGREES] = {"origin0", "origin1", "origin2", "origin3"};
  return name[k];
}

dkho_status api_import_declare(const mesh_report *r, st_writer *w) {
  if (!r->points) return DKHO_OK;
  json_t *j = api_import_json(r);
  char *text = j ? json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  json_decref(j);
  if (!text) return fail(DKHO_E_MEMORY, "no memory for a JSON text");
  dkho_status s = st_put_meta(w, "dkho.import", text);
  free(text);
  for (int k = 0; s == DKHO_OK && k < CX_DEGREES; k++)
    if (r->origin[k]) s = st_declare(w, origin_name(k), ST_I32, 1, (const uint64_t[]){(uint64_t)r->n[k]});
  return s;
}

dkho_status api_import_write(const mesh_report *r, st_writer *w) {
  for (int k = 0; k < CX_DEGREES; k++)
    if (r->origin[k]) TRY(st_write(w, r->origin[k], (size_t)r->n[k] * sizeof *r->origin[k]));
  return DKHO_OK;
}

/* Counts of an import that a file claims; keys of repairs that are not known are passed over. */
static dkho_status read_counts(mesh_report *r, const st_file *f, const char *text) {
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *points = json_object_get(j, "points"),
         *elements = json_object_get(j, "elements"), *value;
  const char *key;
  int fine = json_integer_value(points) > 0 && json_integer_value(points) <= INT32_MAX;
  r->points = json_integer_value(points);
  for (int k = 0; k < CX_DEGREES; k++) {
    r->elements[k] = json_integer_value(json_array_get(elements, (size_t)k));
    fine &= r->elements[k] >= 0 && r->elements[k] <= INT32_MAX;
  }
  json_object_foreach(json_object_get(j, "repairs"), key, value) {
    int kind = mesh_repair_find(key);
    if (kind >= 0) r->count[kind] = json_integer_value(value);
    fine &= json_is_integer(value) && json_integer_value(value) >= 0;
  }
  json_decref(j);
  return fine ? DKHO_OK : fail(DKHO_E_FORMAT, "%s: dkho.import: expected the counts of a mesh file", st_path(f));
}

static dkho_status read_origin(mesh_report *r, const st_file *f, const cx *c, int k, int64_t limit) {
  const st_tensor *t;
  TRY(st_need(f, origin_name(k), ST_I32, 1, (const int64_t[]){c->n[k]}, &t));
  const int32_t *from = t->data;
  for (int64_t i = 0; i < c->n[k]; i++)
    if (from[i] < 0 || from[i] >= limit)
      return fail(DKHO_E_FORMAT, "%s: %s: entry %lld is %d, expected 0 … %lld", st_path(f), origin_name(k),
                  (long long)i, from[i], (long long)limit - 1);
  if (!MEM_NEW(r->origin[k], c->n[k])) return DKHO_E_MEMORY;
  memcpy(r->origin[k], from, (size_t)c->n[k] * sizeof *from);
  r->n[k] = c->n[k];
  return DKHO_OK;
}

dkho_status api_import_get(mesh_report *r, const st_file *f, const cx *c) {
  const char *text = st_meta(f, "dkho.import");
  if (!text) return DKHO_OK;
  dkho_status s = read_counts(r, f, text);
  if (s == DKHO_OK) s = read_origin(r, f, c, 0, r->points);
  if (s == DKHO_OK && c->dim) s = read_origin(r, f, c, c->dim, r->elements[c->dim]);
  if (s != DKHO_OK) mesh_report_free(r);
  return s;
}

const int32_t *dkho_complex_origin(const dkho_complex *c, int k) {
  return k >= 0 && k < CX_DEGREES ? c->report.origin[k] : NULL;
}
