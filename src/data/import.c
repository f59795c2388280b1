/* import.c: the order of an import: specification, mesh, arrays, geometry, table, samples, splits. */
#include "data/data_impl.h"
#include "data/import_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *import_path(importer *m, const char *name) {
  const char *slash = strrchr(m->spec, '/');
  size_t head = name[0] == '/' || !slash ? 0 : (size_t)(slash - m->spec) + 1, room = head + strlen(name) + 1;
  char *out = arena_take(&m->mem, room, 1);
  if (out) snprintf(out, room, "%.*s%s", (int)head, m->spec, name);
  return out;
}

/* When checking: all of them. */
static dkho_status note_unknown_keys(importer *m, int count, const char *const *keys) {
  const char *key;
  json_t *v;
  json_object_foreach(m->root, key, v) {
    int known = 0;
    for (int i = 0; i < count; i++) known |= strcmp(key, keys[i]) == 0;
    if (!known) TRY(import_note(m, fail(DKHO_E_FORMAT, "import.%.60s: unknown key", key)));
  }
  return DKHO_OK;
}

static dkho_status load_json(importer *m) {
  static const char *const keys[] = {"problem", "mesh",      "labels",   "fields",  "split", "seed",
                                     "modes",   "heat_step", "features", "recipes", "known", "classical_seconds"};
  file_map map;
  json_error_t e;
  TRY(file_map_open(&map, m->spec));
  m->root = json_loadb((const char *)map.bytes, map.size, JSON_REJECT_DUPLICATES, &e);
  file_map_close(&map);
  if (!m->root) return fail(DKHO_E_FORMAT, "%s: not JSON: line %d: %.100s", m->spec, e.line, e.text);
  if (m->found && json_is_object(m->root)) return note_unknown_keys(m, 12, keys);
  return spec_keys(m->root, "import", 12, keys);
}

/* What the user's solver takes for a sample: kept with the rest of the specification, for comparisons of cost. */
static dkho_status check_classical(importer *m) {
  double seconds;
  if (!json_object_get(m->root, "classical_seconds")) return DKHO_OK;
  TRY(spec_number(m->root, "import", "classical_seconds", NULL, &seconds));
  return seconds > 0 ? DKHO_OK
                     : fail(DKHO_E_FORMAT, "import.classical_seconds: found %g, expected a positive number", seconds);
}

static dkho_status put_info(importer *m, const char *path, int force, int64_t seed, dataset_writer **w) {
  data_info info = {.generator = "dkho import", .seed = (uint64_t)seed};
  TRY(spec_text(m->root, "import", "problem", NULL, &m->mem, &info.problem));
  char *text = json_dumps(m->root, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (!text) return fail(DKHO_E_MEMORY, "no memory for the specification");
  info.params = text;
  dkho_status s = dataset_create(w, path, force, &info);
  free(text); /* jansson's own memory */
  return s;
}

/* The fields as a list. */
static data_field *list_fields(importer *m) {
  data_field *field;
  if (!ARENA_NEW(&m->mem, field, m->fields + 1)) return NULL;
  for (int i = 0; i < m->fields; i++) field[i] = m->field[i].f;
  return field;
}

static dkho_status make_table(importer *m, feat_table *table) {
  json_t *own = json_object_get(m->root, "features");
  if (own) return spec_table(own, "features", &m->mem, table);
  data_field *field = list_fields(m);
  if (!field) return DKHO_E_MEMORY;
  /* stable: the largest eigenvalue of d0ᵀd0 is at most twice the largest valence */
  int64_t valence = 1;
  for (int64_t i = 0; i < m->c->n[0]; i++) {
    int64_t v = m->c->coptr[0][i + 1] - m->c->coptr[0][i];
    if (v > valence) valence = v;
  }
  double step = fmin(0.03, 0.75 / (double)valence);
  TRY(spec_number(m->root, "import", "heat_step", &step, &step));
  return feat_generic(table, &m->mem, m->top, step, m->fields, field);
}

static dkho_status put_table(importer *m, dataset_writer *w) {
  feat_table table;
  TRY(make_table(m, &table));
  return dataset_put_table(w, &table);
}

static dkho_status put_harmonic(importer *m, dataset_writer *w) {
  for (int i = 0; i < m->fields; i++) {
    int k = m->field[i].f.degree;
    if (m->field[i].f.role != DATA_TARGET || m->harmonics[k] || !m->hooks || !m->hooks->harmonic) continue;
    double *columns = NULL;
    TRY(m->hooks->harmonic(m->hooks->user, m->c, k, &m->harmonics[k], &columns));
    dkho_status s = dataset_put_harmonic(w, 0, k, m->harmonics[k], columns);
    mem_free(columns);
    TRY(s);
  }
  return DKHO_OK;
}

/* Defaults for every target, changed by the entry of "recipes" that names it. w NULL: only looked at. */
static dkho_status put_recipes(importer *m, dataset_writer *w) {
  json_t *list = NULL;
  TRY(spec_array(m->root, "import", "recipes", 0, DATA_FIELDS_MAX, &list));
  size_t used = 0;
  for (int i = 0; i < m->fields; i++) {
    const data_field *f = &m->field[i].f;
    if (f->role != DATA_TARGET) continue;
    data_recipe r = {.target = f->name,
                     .options = "",
                     .lr = 1e-3,
                     .weight_decay = 1e-6,
                     .loss_eps = 1e-12,
                     .epochs = 200,
                     .batch = 16,
                     .modes = m->modes,
                     .harmonic = m->harmonics[f->degree] > 0,
                     .metrics = "generic"};
    int named = 0;
    for (size_t j = 0; j < json_array_size(list); j++) {
      json_t *o = json_array_get(list, j);
      const char *target = json_string_value(json_object_get(o, "target"));
      char where[32];
      if (!target || strcmp(target, f->name) != 0) continue;
      snprintf(where, sizeof where, "recipes[%zu]", j);
      if (named++) return fail(DKHO_E_FORMAT, "%s: target '%s' has a recipe already", where, target);
      data_recipe base = r;
      TRY(import_note(m, spec_recipe(o, where, &base, &m->mem, &r)));
      used++;
    }
    if (w) TRY(dataset_put_recipe(w, &r));
  }
  if (used < json_array_size(list)) return fail(DKHO_E_FORMAT, "recipes: an entry names no target");
  return DKHO_OK;
}

static dkho_status put_known(importer *m, dataset_writer *w) {
  int count;
  data_known *list;
  TRY(known_read(m->root, "import", &m->mem, &count, &list));
  for (int i = 0; i < count; i++) TRY(dataset_put_known(w, &list[i]));
  return DKHO_OK;
}

/* Which samples are in which split, from mem. */
typedef struct split_lists {
  int64_t count[DATA_SPLITS], *sample[DATA_SPLITS];
} split_lists;

static dkho_status read_split_list(importer *m, json_t *list, data_split s, split_lists *out) {
  int64_t *sample, n = (int64_t)json_array_size(list);
  if (!ARENA_NEW(&m->mem, sample, n + 1)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) {
    json_t *v = json_array_get(list, (size_t)i);
    if (!json_is_integer(v))
      return fail(DKHO_E_FORMAT, "split.%s[%lld]: expected a whole number", data_split_name(s), (long long)i);
    sample[i] = json_integer_value(v);
    if (sample[i] < 0 || sample[i] >= m->samples)
      return fail(DKHO_E_FORMAT, "split.%s[%lld]: found %lld, there are samples 0 … %lld", data_split_name(s),
                  (long long)i, (long long)sample[i], (long long)m->samples - 1);
  }
  out->sample[s] = sample, out->count[s] = n;
  return DKHO_OK;
}

/* Three lists of samples, or three fractions of a seeded permutation; a missing one is empty. */
static dkho_status read_splits(importer *m, int64_t seed, split_lists *out) {
  static const char *const keys[] = {"train", "val", "test"};
  static const double zero = 0;
  json_t *o = json_object_get(m->root, "split");
  TRY(spec_keys(o, "split", 3, keys));
  if (json_is_array(json_object_get(o, "train"))) {
    for (data_split s = 0; s < DATA_SPLITS; s++) {
      json_t *list;
      TRY(spec_array(o, "split", keys[s], 0, (size_t)m->samples, &list));
      TRY(read_split_list(m, list, s, out));
    }
    return DKHO_OK;
  }
  double part[DATA_SPLITS], sum = 0;
  for (data_split s = 0; s < DATA_SPLITS; s++) {
    TRY(spec_number(o, "split", keys[s], s ? &zero : NULL, &part[s]));
    if (part[s] < 0) return fail(DKHO_E_FORMAT, "split.%s: found %g, expected a fraction", keys[s], part[s]);
    sum += part[s];
  }
  if (sum > 1 + 1e-9) return fail(DKHO_E_FORMAT, "split: the fractions sum to %g, expected at most 1", sum);
  /* rounded ends of the three runs, so that fractions that sum to 1 use every sample */
  int64_t a = llround(part[0] * (double)m->samples), b = llround((part[0] + part[1]) * (double)m->samples);
  int64_t c = llround(fmin(sum, 1) * (double)m->samples), *order;
  if (!ARENA_NEW(&m->mem, order, m->samples + 1)) return DKHO_E_MEMORY;
  data_split_order((uint64_t)seed, m->samples, order);
  *out = (split_lists){{a, b - a, c - b}, {order, order + a, order + b}};
  return DKHO_OK;
}

static dkho_status put_splits(importer *m, dataset_writer *w, int64_t seed) {
  split_lists lists = {0};
  TRY(read_splits(m, seed, &lists));
  for (data_split s = 0; s < DATA_SPLITS; s++) TRY(dataset_split_list(w, s, lists.count[s], lists.sample[s]));
  return DKHO_OK;
}

/* The numbers that stand alone. */
static dkho_status read_numbers(importer *m, int64_t *seed) {
  static const int64_t modes = 16, fixed_seed = 42;
  int64_t count = modes;
  *seed = fixed_seed;
  TRY(import_note(m, spec_int(m->root, "import", "seed", &fixed_seed, 0, INT64_MAX, seed)));
  TRY(import_note(m, spec_int(m->root, "import", "modes", &modes, 1, DATA_CHANNELS_MAX, &count)));
  m->modes = count >= 1 && count <= DATA_CHANNELS_MAX ? (int)count : (int)modes;
  return import_note(m, check_classical(m));
}

static dkho_status run_import(importer *m, const char *path, int force, dataset_writer **w) {
  int64_t seed;
  TRY(load_json(m));
  TRY(read_numbers(m, &seed));
  TRY(put_info(m, path, force, seed, w));
  TRY(import_mesh(m));
  m->top = m->c->dim < 2 ? m->c->dim : 2;
  if (!ARENA_NEW(&m->mem, m->field, DATA_FIELDS_MAX)) return DKHO_E_MEMORY;
  TRY(import_arrays(m));
  if (m->samples < 1) return fail(DKHO_E_FORMAT, "fields: no array has samples");
  TRY(import_geometry(m));
  TRY(dataset_put_cx(*w, m->c));
  for (int i = 0; i < m->fields; i++) TRY(dataset_put_field(*w, &m->field[i].f));
  TRY(import_statics(m, *w));
  TRY(put_harmonic(m, *w));
  TRY(put_table(m, *w));
  TRY(put_recipes(m, *w));
  TRY(put_known(m, *w));
  TRY(import_samples(m, *w));
  return put_splits(m, *w, seed);
}

static void importer_close(importer *m) {
  import_close_arrays(m);
  cx_free(m->c);
  mesh_report_free(&m->report);
  json_decref(m->root);
  arena_free(&m->mem);
}

dkho_status data_import(const char *spec, const char *path, int force, const import_hooks *hooks) {
  importer m = {.spec = spec, .hooks = hooks};
  dataset_writer *w = NULL;
  dkho_status s = run_import(&m, path, force, &w);
  if (s == DKHO_OK) {
    s = dataset_commit(w); /* frees it */
    w = NULL;
  }
  if (s != DKHO_OK && m.root && s != DKHO_E_EXISTS) fail_prefix(s, "%s", spec); /* before, the message names the file */
  dataset_abort(w);
  importer_close(&m);
  return s;
}

/* ---- checking ---- */

static dkho_status note_to_importer(void *ctx, dkho_status s) {
  return import_note(ctx, s);
}

/* Recipes, known values and the table, against the fields. */
static dkho_status check_declarations(importer *m, data_spec *spec) {
  spec->fields = m->fields;
  if (!(spec->field = list_fields(m))) return DKHO_E_MEMORY;
  dkho_status s = make_table(m, &spec->table);
  if (s != DKHO_OK) spec->table = (feat_table){0};
  TRY(import_note(m, s));
  TRY(import_note(m, put_recipes(m, NULL)));
  TRY(import_note(m, known_read(m->root, "import", &m->mem, &spec->knowns, &spec->known)));
  return spec_check_each(spec, m->c->dim, note_to_importer, m);
}

typedef struct array_reader {
  importer *m;
  void **room;       /* per field: a sample of it */
  known_rows *known; /* per field */
  const double **fixed;
} array_reader;

static dkho_status read_arrays(void *ctx, int64_t sample, const void **value, int64_t *count) {
  const array_reader *r = ctx;
  const importer *m = r->m;
  for (int i = 0; i < m->fields; i++) {
    if (!r->room[i]) continue;
    import_convert(m, i, sample, 1, r->room[i]);
    value[i] = r->room[i];
    count[i] = (m->field[i].f.role == DATA_GLOBAL ? 1 : m->c->n[m->field[i].f.degree]) * m->field[i].f.channels;
  }
  return DKHO_OK;
}

static const known_rows *array_known(void *ctx, int64_t sample, int i, const cx **c) {
  const array_reader *r = ctx;
  (void)sample;
  *c = r->m->c;
  return &r->known[i];
}

/* The samples, if all arrays that known values come from are there. */
static dkho_status check_samples(importer *m, const data_spec *spec, int64_t seed) {
  array_reader r = {.m = m};
  split_lists lists = {0};
  uint8_t *missing;
  int complete = 1;
  dkho_status s = DKHO_OK;
  if (!ARENA_NEW(&m->mem, r.room, m->fields + 1) || !ARENA_NEW(&m->mem, r.known, m->fields + 1) ||
      !ARENA_NEW(&m->mem, r.fixed, m->fields + 1) || !ARENA_NEW(&m->mem, missing, m->fields + 1))
    return DKHO_E_MEMORY;
  for (int i = 0; i < m->fields; i++) {
    const data_field *f = &m->field[i].f;
    missing[i] = m->field[i].unread != 0, complete &= !missing[i];
    if (f->role == DATA_STATIC && !missing[i] && !(r.fixed[i] = import_static(m, i))) return DKHO_E_MEMORY;
    if (f->role == DATA_STATIC || missing[i]) continue;
    int64_t n = (f->role == DATA_GLOBAL ? 1 : m->c->n[f->degree]) * f->channels;
    if (!(r.room[i] = arena_take(&m->mem, (size_t)n, sizeof(double)))) return DKHO_E_MEMORY;
  }
  known_world world = {m->c, spec->fields, spec->field, r.fixed, 0, NULL};
  int sound = complete;
  for (int i = 0; i < spec->knowns; i++) sound &= known_check(&spec->known[i], i, spec->fields, spec->field) == DKHO_OK;
  for (int i = 0; s == DKHO_OK && sound && i < m->fields; i++)
    if (m->field[i].f.role == DATA_TARGET)
      s = import_note(m, known_find(&r.known[i], &world, i, spec->knowns, spec->known));
  sample_source source = {.samples = m->samples,
                          .fields = spec->fields,
                          .field = spec->field,
                          .missing = missing,
                          .read = read_arrays,
                          .known = sound ? array_known : NULL,
                          .ctx = &r};
  dkho_status split = s == DKHO_OK ? read_splits(m, seed, &lists) : s;
  for (int k = 0; split == DKHO_OK && k < DATA_SPLITS; k++) data_sort_samples(lists.count[k], lists.sample[k]);
  if (split == DKHO_OK)
    split = data_check_splits("split", m->samples, lists.count, (const int64_t *const *)lists.sample);
  for (int k = 0; split == DKHO_OK && k < DATA_SPLITS; k++)
    source.split[k] = lists.sample[k], source.splits[k] = lists.count[k];
  if (s == DKHO_OK) s = import_note(m, split);
  if (s == DKHO_OK) s = scan_samples(m->found, &source);
  for (int i = 0; i < m->fields; i++) known_free(&r.known[i]);
  return s;
}

/* The parts of an import, each as far as those before it allow. */
static dkho_status check_parts(importer *m) {
  const char *problem;
  int64_t seed;
  dkho_status s = load_json(m);
  if (s != DKHO_OK || !json_is_object(m->root)) return import_note(m, s);
  TRY(read_numbers(m, &seed));
  TRY(import_note(m, spec_text(m->root, "import", "problem", NULL, &m->mem, &problem)));
  s = import_mesh(m);
  TRY(import_note(m, s));
  if (m->c) m->top = m->c->dim < 2 ? m->c->dim : 2;
  if (!ARENA_NEW(&m->mem, m->field, DATA_FIELDS_MAX)) return DKHO_E_MEMORY;
  TRY(import_note(m, import_arrays(m)));
  if (m->samples < 1 && (m->samples == 0 || json_array_size(m->found->errors) == 0))
    TRY(import_note(m, fail(DKHO_E_FORMAT, "fields: no array has samples")));
  if (!m->c || m->samples < 1) return DKHO_OK;
  data_spec spec = {0};
  TRY(import_geometry(m));
  TRY(check_declarations(m, &spec));
  return check_samples(m, &spec, seed);
}

/* Eigenvectors are not wrong in a specification: their place is enough. */
static dkho_status no_modes(void *user, const cx *c, int k, int modes, double *out) {
  (void)user, (void)c, (void)k, (void)modes, (void)out;
  return DKHO_OK;
}

dkho_status import_check(const char *spec, const import_hooks *hooks, findings *f, int64_t *samples) {
  import_hooks plain = hooks ? *hooks : (import_hooks){0};
  plain.spectral = no_modes, plain.harmonic = NULL;
  importer m = {.spec = spec, .hooks = &plain, .found = f, .samples = -1};
  dkho_status s = check_parts(&m);
  *samples = m.samples > 0 ? m.samples : 0;
  importer_close(&m);
  return s;
}
