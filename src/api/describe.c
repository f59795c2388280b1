/* describe.c: what things are, as JSON. */
#include "api/api.h"
#include "data/dataset.h"
#include "run/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static json_t *describe_bases(const dec_bases *b) {
  int64_t spectral[CX_DEGREES], harmonic[CX_DEGREES];
  for (int k = 0; k <= b->top; k++) spectral[k] = b->spectral[k].count, harmonic[k] = b->harmonic[k].count;
  return json_pack("{s:s, s:I, s:o, s:o}", "metric", dec_metric_name(b->metric), "modes", (json_int_t)b->modes,
                   "spectral", counts(spectral, b->top), "harmonic", counts(harmonic, b->top));
}

static dkho_status describe_complex(const dkho_complex *shape, json_t **out) {
  const cx *c = shape->c;
  int64_t betti[CX_DEGREES], relative[CX_DEGREES];
  cx_quality q;
  TRY(cx_measure(c, &q));
  TRY(dec_betti(c, betti));
  memcpy(relative, betti, sizeof relative); /* the same where there is no boundary */
  if (q.boundary_faces) TRY(dec_betti_relative(c, relative));
  json_t *quality = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:b, s:i}", "total_measure", q.total,
                              "min_angle", q.min_angle, "max_angle", q.max_angle, "worst_aspect", q.worst_aspect,
                              "edge_min", q.edge_min, "edge_mean", q.edge_mean, "edge_max", q.edge_max,
                              "boundary_faces", (json_int_t)q.boundary_faces, "nonmanifold_faces",
                              (json_int_t)q.nonmanifold_faces, "oriented", q.oriented, "components", q.components);
  *out = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "kind", "complex", "dimension", c->dim, "space", c->gdim,
                   "simplices", counts(c->n, c->dim), "betti", counts(betti, c->dim), "betti_relative",
                   counts(relative, c->dim), "quality", quality, "labels", labels(c));
  if (*out && shape->report.points) json_object_set_new(*out, "import", api_import_json(&shape->report));
  if (*out && shape->bases) json_object_set_new(*out, "bases", describe_bases(shape->bases));
  return *out ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

dkho_status dkho_complex_describe(const dkho_complex *c, char **json) {
  json_t *d = NULL;
  *json = NULL;
  TRY(describe_complex(c, &d));
  return api_json(d, json);
}

/* ---- containers ---- */

static json_t *shape_json(const st_tensor *t) {
  json_t *a = json_array();
  for (int i = 0; i < t->rank; i++) json_array_append_new(a, json_integer((json_int_t)t->shape[i]));
  return a;
}

static json_t *tensors(const st_file *f) {
  json_t *list = json_object();
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    json_object_set_new(list, t->name,
                        json_pack("{s:s, s:o}", "type", st_dtype_name(t->dtype), "shape", shape_json(t)));
  }
  return list;
}

/* Metadata that is JSON becomes part of the description. */
static void set_meta(json_t *out, const char *key, const st_file *f, const char *meta) {
  const char *text = st_meta(f, meta);
  json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
  if (!value && text) value = json_string(text);
  if (value) json_object_set_new(out, key, value);
}

static dkho_status describe_dataset(const char *path, json_t **out) {
  dataset *d = NULL;
  TRY(dataset_open(&d, path));
  json_t *fields = json_object(), *splits = json_object(), *complexes = json_array();
  for (int i = 0; i < dataset_fields(d); i++) {
    const data_field *f = &dataset_field(d)[i];
    json_object_set_new(
        fields, f->name,
        json_pack("{s:s, s:i, s:i}", "role", data_role_name(f->role), "degree", f->degree, "channels", f->channels));
  }
  for (int s = 0; s < DATA_SPLITS; s++) {
    int64_t count;
    dataset_split(d, (data_split)s, &count);
    json_object_set_new(splits, data_split_name((data_split)s), json_integer(count));
  }
  for (int i = 0; i < dataset_complexes(d); i++) {
    int64_t n[CX_DEGREES];
    for (int k = 0; k < CX_DEGREES; k++) n[k] = dataset_count(d, i, k);
    json_array_append_new(complexes, counts(n, dataset_dim(d)));
  }
  const data_info *info = dataset_info(d);
  char hash[33];
  st_hash(dataset_file(d), hash);
  *out = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:s, s:o?, s:o}", "kind", "dataset", "problem",
                   info->problem, "generator", info->generator, "seed", (json_int_t)info->seed, "samples",
                   (json_int_t)dataset_samples(d), "splits", splits, "simplices", complexes, "fields", fields, "hash",
                   hash, "params", json_loads(info->params, 0, NULL), "known", dataset_known_json(d));
  dataset_free(d);
  return *out ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

static dkho_status describe_mesh(const char *path, json_t **out) {
  dkho_complex *c = NULL;
  TRY(dkho_complex_read(&c, path));
  dkho_status s = describe_complex(c, out);
  dkho_complex_free(c);
  return s;
}

static json_t *field_info_json(const dkho_field_info *f) {
  return json_pack("{s:s, s:s, s:i, s:i, s:I}", "name", f->name, "role", f->role, "degree", f->degree, "channels",
                   f->channels, "rows", (json_int_t)f->rows);
}

/* What the model reads and predicts, and a command that does it. */
static dkho_status add_fields(const char *path, json_t *out) {
  dkho_model *m;
  dkho_field_info f;
  char command[1024];
  TRY(dkho_model_load(&m, path));
  size_t used = (size_t)snprintf(command, sizeof command, "dkho predict %.400s", path);
  json_t *inputs = json_array();
  for (int i = 0; i < dkho_model_inputs(m) && dkho_model_input(m, i, &f) == DKHO_OK; i++) {
    json_array_append_new(inputs, field_info_json(&f));
    if (used < sizeof command)
      used += (size_t)snprintf(command + used, sizeof command - used, " --input %s=%s.npy", f.name, f.name);
  }
  json_object_set_new(out, "inputs", inputs);
  if (dkho_model_output(m, &f) == DKHO_OK) {
    json_object_set_new(out, "output", field_info_json(&f));
    if (used < sizeof command) snprintf(command + used, sizeof command - used, " -o %s.npy", f.name);
  }
  json_object_set_new(out, "example", json_string(command));
  json_object_set_new(out, "known", api_known_json(m));
  dkho_model_free(m);
  return DKHO_OK;
}

static dkho_status describe_container(const char *path, json_t **out) {
  st_file *f = NULL;
  TRY(st_open(&f, path));
  const char *kind = st_meta(f, "dkho.kind");
  dkho_status s = DKHO_OK;
  if (kind && strcmp(kind, "dataset") == 0)
    s = describe_dataset(path, out);
  else if (kind && strcmp(kind, "complex") == 0) {
    s = describe_mesh(path, out);
  } else {
    *out = json_pack("{s:s}", "kind", kind ? kind : "container");
    set_meta(*out, "version", f, "dkho.version");
    set_meta(*out, "model", f, "dkho.model");
    set_meta(*out, "training", f, "dkho.training");
    set_meta(*out, "target", f, "dkho.target");
    int learned = kind && (strcmp(kind, "model") == 0 || strcmp(kind, "checkpoint") == 0);
    if (!learned) json_object_set_new(*out, "tensors", tensors(f));
    if (kind && strcmp(kind, "model") == 0) s = add_fields(path, *out);
    if (s != DKHO_OK) {
      json_decref(*out);
      *out = NULL;
    }
  }
  st_close(f);
  return s;
}

/* A run: its configuration and, when it is finished, its result. */
static dkho_status describe_run(const char *path, json_t **out) {
  static const char *const parts[] = {"config", "manifest", "result"};
  char name[4096];
  *out = json_pack("{s:s}", "kind", "run");
  for (int i = 0; i < 3; i++) {
    if (snprintf(name, sizeof name, "%s/%s.json", path, parts[i]) >= (int)sizeof name) break;
    json_t *part = NULL;
    dkho_status s = DKHO_OK;
    if (file_exists(name))
      s = config_load_json(name, &part);
    else if (i == 0)
      s = fail(DKHO_E_FORMAT, "%s: no run: it has no config.json", path);
    if (s != DKHO_OK) {
      json_decref(*out);
      *out = NULL;
      return s;
    }
    if (part) json_object_set_new(*out, parts[i], part);
  }
  json_object_set_new(*out, "finished", json_boolean(json_object_get(*out, "result") != NULL));
  if (snprintf(name, sizeof name, "%s/best.st", path) < (int)sizeof name && file_exists(name)) {
    dkho_status s = add_fields(path, *out);
    if (s != DKHO_OK) {
      json_decref(*out);
      *out = NULL;
      return s;
    }
  }
  return DKHO_OK;
}

dkho_status dkho_describe(const char *path, char **json) {
  struct stat st;
  json_t *d = NULL;
  *json = NULL;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    TRY(describe_run(path, &d));
  else if (api_is_container(path))
    TRY(describe_container(path, &d));
  else {
    TRY(describe_mesh(path, &d));
  }
  return api_json(d, json);
}
