/* dataset.c: reading a data set: every tensor is compared with the description before anything is used. */
#include "data/data_impl.h"
#include "base/file.h"
#include "base/finite.h"
#include "base/seal.h"
#include "data/proof.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct dataset {
  st_file *file;
  data_spec spec;
  cx *c; /* the first one */
  int64_t (*count)[CX_DEGREES];
  int64_t total;
  int64_t *first;             /* complexes + 1: first sample of each complex */
  const void **value;         /* [complex][field] for cochains and statics, [0][field] for globals */
  const st_tensor **harmonic; /* [complex][degree], or NULL */
  const int64_t *split[DATA_SPLITS];
  int64_t splits[DATA_SPLITS];
  _Atomic unsigned char *proven; /* [field][sample]: 1 once its values are known to be finite */
  arena mem;
};

void data_name_field(char *name, int ci, const data_field *f) {
  static const char *const place[DATA_ROLES] = {"in", "target", "static", "global"};
  if (f->role == DATA_GLOBAL)
    snprintf(name, ST_NAME_MAX + 1, "global/%s", f->name);
  else
    snprintf(name, ST_NAME_MAX + 1, "c%d/%s/%s", ci, place[f->role], f->name);
}

void data_name_harmonic(char *name, int ci, int degree) {
  snprintf(name, ST_NAME_MAX + 1, "c%d/harmonic%d", ci, degree);
}

void data_name_split(char *name, data_split s) {
  snprintf(name, ST_NAME_MAX + 1, "split/%s", data_split_name(s));
}

void data_mesh_hash(const cx *c, char hex[33]) {
  char piece[2][33], text[96];
  st_hash_bytes(c->x, (size_t)(c->n[0] * c->gdim) * sizeof *c->x, piece[0]);
  size_t tops = c->dim ? (size_t)(c->n[c->dim] * (c->dim + 1)) * sizeof(int32_t) : 0;
  st_hash_bytes(c->vert[c->dim], tops, piece[1]);
  snprintf(text, sizeof text, "%d %d %s %s", c->dim, c->gdim, piece[0], piece[1]);
  st_hash_bytes(text, strlen(text), hex);
}

dkho_status data_check_splits(const char *path, int64_t samples, const int64_t *count, const int64_t *const *split) {
  if (count[DATA_TRAIN] == 0) return fail(DKHO_E_FORMAT, "%s: split/train is empty", path);
  for (data_split s = 0; s < DATA_SPLITS; s++)
    for (int64_t i = 0; i < count[s]; i++) {
      int64_t v = split[s][i];
      if (v < 0 || v >= samples)
        return fail(DKHO_E_FORMAT, "%s: split/%s[%lld] is %lld, expected 0 to %lld", path, data_split_name(s),
                    (long long)i, (long long)v, (long long)samples - 1);
      if (i && v <= split[s][i - 1])
        return fail(DKHO_E_FORMAT, "%s: split/%s[%lld] is %lld, not above the one before", path, data_split_name(s),
                    (long long)i, (long long)v);
    }
  for (data_split a = 0; a < DATA_SPLITS; a++)
    for (data_split b = a + 1; b < DATA_SPLITS; b++)
      for (int64_t i = 0, j = 0; i < count[a] && j < count[b];) {
        if (split[a][i] == split[b][j])
          return fail(DKHO_E_FORMAT, "%s: sample %lld is in split/%s and in split/%s", path, (long long)split[a][i],
                      data_split_name(a), data_split_name(b));
        if (split[a][i] < split[b][j])
          i++;
        else
          j++;
      }
  return DKHO_OK;
}

dkho_status data_check_harmonic(const char *path, const data_field *target, int ci, int64_t count, int64_t first) {
  if (count == 0)
    return fail(DKHO_E_FORMAT, "%s: target %s has a harmonic head but c%d/harmonic%d is missing", path, target->name,
                ci, target->degree);
  if (count != first)
    return fail(DKHO_E_FORMAT, "%s: c%d/harmonic%d has %lld columns, c0/harmonic%d has %lld", path, ci, target->degree,
                (long long)count, target->degree, (long long)first);
  return DKHO_OK;
}

/* The dimension of the first one, and the identity that the description gives it. */
static dkho_status check_complex(const dataset *d, int i, const cx *c) {
  char hex[33];
  if (c->dim != d->c->dim)
    return fail(DKHO_E_FORMAT, "%s: complex %d has dimension %d, the first has %d", st_path(d->file), i, c->dim,
                d->c->dim);
  data_mesh_hash(c, hex);
  if (strcmp(hex, d->spec.mesh_hash[i]) != 0)
    return fail(DKHO_E_FORMAT, "%s: dkho.dataset: complexes[%d].mesh_hash: the complex has %s, expected %.40s",
                st_path(d->file), i, hex, d->spec.mesh_hash[i]);
  return DKHO_OK;
}

/* The bases that the file keeps for complex i. */
static dkho_status check_bases(const dataset *d, int i, const cx *c) {
  for (int k = 0; k <= c->dim; k++) {
    char name[ST_NAME_MAX + 1];
    const st_tensor *t;
    data_name_harmonic(name, i, k);
    if (!st_find(d->file, name)) continue;
    TRY(st_need(d->file, name, ST_F64, 2, (const int64_t[]){c->n[k], -1}, &t));
    TRY(data_prove_harmonic(d->file, t, c, k));
  }
  return DKHO_OK;
}

/* Every complex is looked at; only the first is kept. */
static dkho_status load_complexes(dataset *d) {
  int n = d->spec.complexes;
  if (n == 0) return fail(DKHO_E_FORMAT, "%s: dkho.dataset: complexes is empty", st_path(d->file));
  if (!ARENA_NEW(&d->mem, d->count, n) || !ARENA_NEW(&d->mem, d->first, n + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < n; i++) {
    cx *c;
    TRY(dataset_load_cx(d, i, &c));
    if (i == 0) d->c = c;
    dkho_status s = check_complex(d, i, c);
    if (s == DKHO_OK) s = check_bases(d, i, c);
    for (int k = 0; k < CX_DEGREES; k++) d->count[i][k] = c->n[k];
    if (i > 0) cx_free(c);
    TRY(s);
    d->first[i + 1] = d->first[i] + d->spec.samples[i];
  }
  d->total = d->first[n];
  return DKHO_OK;
}

/* A mapped field of complex ci: globals total × channels, statics n × channels, both double; cochains samples × n × channels, float. */
static dkho_status load_field(dataset *d, int ci, int i) {
  const data_field *f = &d->spec.field[i];
  char name[ST_NAME_MAX + 1];
  const st_tensor *t;
  data_name_field(name, ci, f);
  if (f->role == DATA_GLOBAL) {
    int64_t shape[] = {d->total, f->channels};
    TRY(st_need(d->file, name, ST_F64, 2, shape, &t));
    TRY(st_need_finite(d->file, t));
  } else if (f->role == DATA_STATIC) {
    int64_t shape[] = {d->count[ci][f->degree], f->channels};
    TRY(st_need(d->file, name, ST_F64, 2, shape, &t));
    TRY(data_prove_static(d->file, t));
  } else {
    int64_t shape[] = {d->spec.samples[ci], d->count[ci][f->degree], f->channels};
    TRY(st_need(d->file, name, ST_F32, 3, shape, &t));
  }
  d->value[(size_t)ci * (size_t)d->spec.fields + (size_t)i] = t->data;
  return DKHO_OK;
}

static dkho_status load_fields(dataset *d) {
  size_t n = (size_t)d->spec.complexes, fields = (size_t)d->spec.fields;
  if (!ARENA_NEW(&d->mem, d->value, n * fields + 1)) return DKHO_E_MEMORY;
  for (int ci = 0; ci < d->spec.complexes; ci++)
    for (int i = 0; i < d->spec.fields; i++)
      if (ci == 0 || d->spec.field[i].role != DATA_GLOBAL) TRY(load_field(d, ci, i));
  /* now the samples are known to be there */
  return ARENA_NEW(&d->mem, d->proven, fields * (size_t)d->total + 1) ? DKHO_OK : DKHO_E_MEMORY;
}

/* Bases that the file has, n × count by rows, and whether every complex has as many as the first where a recipe needs them. */
static dkho_status load_harmonic(dataset *d) {
  if (!ARENA_NEW(&d->mem, d->harmonic, d->spec.complexes * CX_DEGREES)) return DKHO_E_MEMORY;
  for (int ci = 0; ci < d->spec.complexes; ci++)
    for (int k = 0; k <= d->c->dim; k++) {
      char name[ST_NAME_MAX + 1];
      const st_tensor *t;
      int64_t shape[] = {d->count[ci][k], -1};
      data_name_harmonic(name, ci, k);
      if (!st_find(d->file, name)) continue;
      TRY(st_need(d->file, name, ST_F64, 2, shape, &t));
      if (t->count) d->harmonic[ci * CX_DEGREES + k] = t;
    }
  for (int i = 0; i < d->spec.recipes; i++) {
    const data_field *target = &d->spec.field[dataset_find(d, d->spec.recipe[i].target)];
    int64_t count, first;
    dataset_harmonic(d, 0, target->degree, &first);
    for (int ci = 0; d->spec.recipe[i].harmonic && ci < d->spec.complexes; ci++) {
      dataset_harmonic(d, ci, target->degree, &count);
      TRY(data_check_harmonic(st_path(d->file), target, ci, count, first));
    }
  }
  return DKHO_OK;
}

/* Sample numbers of each split, mapped; checked to be in range and in one split only. */
static dkho_status load_splits(dataset *d) {
  for (data_split s = 0; s < DATA_SPLITS; s++) {
    char name[ST_NAME_MAX + 1];
    const st_tensor *t;
    int64_t shape[] = {-1};
    data_name_split(name, s);
    TRY(st_need(d->file, name, ST_I64, 1, shape, &t));
    d->split[s] = t->data;
    d->splits[s] = (int64_t)t->count;
  }
  return data_check_splits(st_path(d->file), d->total, d->splits, d->split);
}

/* The file in the order of trust: kind, description, complexes, then what the description says of both. */
static dkho_status load(dataset *d, const char *path) {
  const char *kind, *text;
  TRY(st_open(&d->file, path));
  TRY(st_need_meta(d->file, "dkho.kind", &kind));
  if (strcmp(kind, "dataset") != 0)
    return fail(DKHO_E_FORMAT, "%s: dkho.kind: found \"%.40s\", expected \"dataset\"", path, kind);
  TRY(st_need_meta(d->file, "dkho.dataset", &text));
  dkho_status s = spec_read(&d->spec, &d->mem, text);
  if (s != DKHO_OK) return fail_prefix(s, "%s: dkho.dataset", path);
  TRY(load_complexes(d));
  s = spec_check(&d->spec, d->c->dim);
  if (s != DKHO_OK) return fail_prefix(s == DKHO_E_INPUT ? DKHO_E_FORMAT : s, "%s: dkho.dataset", path);
  TRY(load_fields(d));
  TRY(load_harmonic(d));
  return load_splits(d);
}

dkho_status dataset_open(dataset **out, const char *path) {
  *out = NULL;
  dataset *d = mem_alloc(1, sizeof *d);
  if (!d) return DKHO_E_MEMORY;
  dkho_status s = load(d, path);
  if (s == DKHO_OK)
    *out = d;
  else
    dataset_free(d);
  return s;
}

void dataset_free(dataset *d) {
  if (!d) return;
  cx_free(d->c);
  st_close(d->file);
  arena_free(&d->mem);
  mem_free(d);
}

const st_file *dataset_file(const dataset *d) {
  return d->file;
}

const data_info *dataset_info(const dataset *d) {
  return &d->spec.info;
}

const char *dataset_mesh_hash(const dataset *d, int ci) {
  return d->spec.mesh_hash[ci];
}

int dataset_complexes(const dataset *d) {
  return d->spec.complexes;
}

int64_t dataset_count(const dataset *d, int ci, int k) {
  return d->count[ci][k];
}

int dataset_dim(const dataset *d) {
  return d->c->dim;
}

const cx *dataset_cx(const dataset *d, int ci) {
  assert(ci == 0);
  return d->c;
}

dkho_status dataset_load_cx(const dataset *d, int ci, cx **out) {
  char prefix[32];
  snprintf(prefix, sizeof prefix, "c%d/", ci);
  return cx_get(out, d->file, prefix);
}

int64_t dataset_samples(const dataset *d) {
  return d->total;
}

void dataset_locate(const dataset *d, int64_t sample, int *ci, int64_t *row) {
  assert(sample >= 0 && sample < d->total);
  int lo = 0, hi = d->spec.complexes - 1; /* first[lo] ≤ sample < first[hi + 1] */
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    if (sample < d->first[mid + 1])
      hi = mid;
    else
      lo = mid + 1;
  }
  *ci = lo;
  *row = sample - d->first[lo];
}

int dataset_fields(const dataset *d) {
  return d->spec.fields;
}

const data_field *dataset_field(const dataset *d) {
  return d->spec.field;
}

int dataset_find(const dataset *d, const char *name) {
  for (int i = 0; i < d->spec.fields; i++)
    if (strcmp(d->spec.field[i].name, name) == 0) return i;
  return -1;
}

dkho_status dataset_need_target(const dataset *d, const char *name, int *field) {
  *field = dataset_find(d, name);
  if (*field >= 0 && d->spec.field[*field].role == DATA_TARGET) return DKHO_OK;
  char list[256] = "";
  for (int i = 0; i < d->spec.fields; i++)
    if (d->spec.field[i].role == DATA_TARGET)
      snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "", d->spec.field[i].name);
  return fail(DKHO_E_INPUT, "%s: target \"%.60s\": expected one of %s", st_path(d->file), name, list);
}

const float *dataset_value(const dataset *d, int field, int64_t sample) {
  const data_field *f = &d->spec.field[field];
  assert(f->role == DATA_INPUT || f->role == DATA_TARGET);
  int ci;
  int64_t row;
  dataset_locate(d, sample, &ci, &row);
  const float *all = d->value[(size_t)ci * (size_t)d->spec.fields + (size_t)field];
  return all + row * d->count[ci][f->degree] * f->channels;
}

const double *dataset_global(const dataset *d, int field, int64_t sample) {
  assert(d->spec.field[field].role == DATA_GLOBAL && sample >= 0 && sample < d->total);
  return (const double *)d->value[field] + sample * d->spec.field[field].channels;
}

const double *dataset_static(const dataset *d, int field, int ci) {
  assert(d->spec.field[field].role == DATA_STATIC);
  return d->value[(size_t)ci * (size_t)d->spec.fields + (size_t)field];
}

dkho_status dataset_prove_value(const dataset *d, int field, int64_t sample) {
  const data_field *f = &d->spec.field[field];
  _Atomic unsigned char *known = &d->proven[(size_t)field * (size_t)d->total + (size_t)sample];
  if (atomic_load_explicit(known, memory_order_relaxed)) return DKHO_OK;
  int ci;
  int64_t row;
  dataset_locate(d, sample, &ci, &row);
  int64_t n = d->count[ci][f->degree] * f->channels, bad = finite_until_f32(dataset_value(d, field, sample), n);
  if (bad < n)
    return fail(DKHO_E_NONFINITE, "%s: field %s: sample %lld: element %lld is not finite", st_path(d->file), f->name,
                (long long)sample, (long long)bad);
  atomic_store_explicit(known, 1, memory_order_relaxed);
  return DKHO_OK;
}

dkho_status dataset_prove(const dataset *d, int target, int64_t count, const int64_t *sample) {
  for (int64_t s = 0; s < count; s++)
    for (int i = 0; i < d->spec.fields; i++)
      if (i == target || d->spec.field[i].role == DATA_INPUT) TRY(dataset_prove_value(d, i, sample[s]));
  return DKHO_OK;
}

void dataset_inputs(const dataset *d, int64_t sample, const float **in, const double **global) {
  for (int i = 0; i < d->spec.fields; i++) {
    if (in && d->spec.field[i].role == DATA_INPUT) *in++ = dataset_value(d, i, sample);
    if (global && d->spec.field[i].role == DATA_GLOBAL) *global++ = dataset_global(d, i, sample);
  }
}

void dataset_prefetch(const dataset *d, int target, int64_t sample) {
  int ci;
  int64_t row;
  dataset_locate(d, sample, &ci, &row);
  for (int i = 0; i < d->spec.fields; i++) {
    const data_field *f = &d->spec.field[i];
    if (f->role != DATA_INPUT && i != target) continue;
    file_will_need(dataset_value(d, i, sample), (size_t)(d->count[ci][f->degree] * f->channels) * sizeof(float));
  }
}

int dataset_role_count(const dataset *d, data_role r) {
  int count = 0;
  for (int i = 0; i < d->spec.fields; i++) count += d->spec.field[i].role == r;
  return count;
}

const double *dataset_harmonic(const dataset *d, int ci, int degree, int64_t *count) {
  const st_tensor *t = d->harmonic[ci * CX_DEGREES + degree];
  *count = t ? (int64_t)t->shape[1] : 0;
  return t ? t->data : NULL;
}

json_t *dataset_known_json(const dataset *d) {
  return known_json(d->spec.knowns, d->spec.known);
}

dkho_status dataset_known(const dataset *d, int target, int ci, known_rows *out) {
  cx *own = NULL;
  *out = (known_rows){0};
  if (!d->spec.knowns) return DKHO_OK;
  const double **array;
  if (!MEM_NEW(array, d->spec.fields)) return DKHO_E_MEMORY;
  for (int i = 0; i < d->spec.fields; i++)
    if (d->spec.field[i].role == DATA_STATIC) array[i] = dataset_static(d, i, ci);
  dkho_status s = ci ? dataset_load_cx(d, ci, &own) : DKHO_OK;
  known_world w = {.c = own ? own : d->c, .fields = d->spec.fields, .field = d->spec.field, .array = array};
  w.harmonic = dataset_harmonic(d, ci, d->spec.field[target].degree, &w.harmonics);
  if (s == DKHO_OK) s = known_find(out, &w, target, d->spec.knowns, d->spec.known);
  cx_free(own);
  mem_free(array);
  return s;
}

const int64_t *dataset_split(const dataset *d, data_split s, int64_t *count) {
  *count = d->splits[s];
  return d->split[s];
}

const feat_table *dataset_table(const dataset *d) {
  return &d->spec.table;
}

const data_recipe *dataset_recipe(const dataset *d, const char *target) {
  for (int i = 0; i < d->spec.recipes; i++)
    if (strcmp(d->spec.recipe[i].target, target) == 0) return &d->spec.recipe[i];
  return NULL;
}

dkho_status dataset_features(features **out, const dataset *d, feat_profile profile, int modes) {
  const double **array = mem_alloc((size_t)d->spec.fields, sizeof *array);
  if (!array) return DKHO_E_MEMORY;
  for (int i = 0; i < d->spec.fields; i++)
    if (d->spec.field[i].role == DATA_STATIC) array[i] = dataset_static(d, i, 0);
  dkho_status s = features_create(out, &d->spec.table, d->c, d->spec.fields, d->spec.field, array, profile, modes);
  mem_free(array);
  return s;
}
