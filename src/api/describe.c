/* describe.c: what things are, as JSON. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

void dkho_text_free(char *text) {
  mem_free(text);
}

dkho_status api_json(json_t *object, char **text) {
  *text = NULL;
  if (!object) return fail(DKHO_E_MEMORY, "no memory for a JSON object");
  char *dump = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  json_decref(object);
  if (!dump) return fail(DKHO_E_MEMORY, "no memory for a JSON text");
  *text = mem_strdup(dump);
  free(dump);
  return *text ? DKHO_OK : DKHO_E_MEMORY;
}

static json_t *counts(const int64_t *n, int dim) {
  json_t *a = json_array();
  for (int k = 0; k <= dim; k++) json_array_append_new(a, json_integer(n[k]));
  return a;
}

/* How many simplices of each degree carry each label. */
static json_t *labels(const cx *c) {
  json_t *list = json_array();
  for (int l = 0; l < c->labels; l++) {
    json_t *n = json_array();
    for (int k = 0; k <= c->dim; k++) {
      int64_t count = 0;
      for (int64_t i = 0; c->label[k] && i < c->n[k]; i++) count += c->label[k][i] == l;
      json_array_append_new(n, json_integer(count));
    }
    json_array_append_new(list, json_pack("{s:s, s:o}", "name", c->label_name[l], "counts", n));
  }
  return list;
}

dkho_status api_describe_complex(const cx *c, json_t **out) {
  int64_t betti[CX_DEGREES], relative[CX_DEGREES];
  cx_quality q;
  TRY(dec_betti(c, betti));
  TRY(dec_betti_relative(c, relative));
  TRY(cx_measure(c, &q));
  json_t *quality = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:b, s:i}", "total_measure", q.total,
                              "min_angle", q.min_angle, "max_angle", q.max_angle, "worst_aspect", q.worst_aspect,
                              "edge_min", q.edge_min, "edge_mean", q.edge_mean, "edge_max", q.edge_max,
                              "boundary_faces", (json_int_t)q.boundary_faces, "nonmanifold_faces",
                              (json_int_t)q.nonmanifold_faces, "oriented", q.oriented, "components", q.components);
  *out = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "kind", "complex", "dimension", c->dim, "space", c->gdim,
                   "simplices", counts(c->n, c->dim), "betti", counts(betti, c->dim), "betti_relative",
                   counts(relative, c->dim), "quality", quality, "labels", labels(c));
  return *out ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

dkho_status dkho_complex_describe(const dkho_complex *c, char **json) {
  json_t *d = NULL;
  *json = NULL;
  TRY(api_describe_complex(c->c, &d));
  return api_json(d, json);
}

dkho_status dkho_describe(const char *path, char **json) {
  dkho_complex *c = NULL;
  *json = NULL;
  TRY(dkho_complex_read(&c, path));
  dkho_status s = dkho_complex_describe(c, json);
  dkho_complex_free(c);
  return s;
}
