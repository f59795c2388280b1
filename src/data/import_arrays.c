/* import_arrays.c: the user's .npy arrays: shapes compared with the complex, samples converted block by block. */
#include "data/import_impl.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 32 };

void import_close_arrays(importer *m) {
  for (int i = 0; m->field && i < m->fields; i++) npy_close(&m->field[i].array);
}

/* "rows": "file": the array has a row for every point (degree 0) or every element of the mesh's dimension (the top degree) of the
 * mesh file, whatever became of them. */
static dkho_status choose_rows(importer *m, json_t *o, const char *where, import_field *f) {
  static const char *const choices[] = {"mesh", "file"};
  int file, k = f->f.degree;
  TRY(spec_choice(o, where, "rows", 2, choices, "mesh", &file));
  f->rows = f->f.role == DATA_GLOBAL ? 1 : m->c->n[k];
  if (!file) return DKHO_OK;
  if (f->f.role == DATA_GLOBAL || !m->report.origin[k])
    return fail(DKHO_E_INPUT,
                "%s.rows: \"file\" is for fields on the vertices or top simplices of a mesh read from a file", where);
  f->origin = m->report.origin[k];
  f->rows = k ? m->report.elements[k] : m->report.points;
  return DKHO_OK;
}

/* Whether the array would fit the mesh file's own points or elements. */
static int fits_file(const importer *m, int k, uint64_t rows) {
  return m->report.origin[k] && rows == (uint64_t)(k ? m->report.elements[k] : m->report.points);
}

/* [samples,] n [, channels]: what the axes are, and how many channels follow from them. */
static dkho_status fit(importer *m, import_field *f, const char *path) {
  const npy *a = &f->array;
  int per_sample = f->f.role != DATA_STATIC, global = f->f.role == DATA_GLOBAL;
  int fixed = per_sample + !global;
  uint64_t n = (uint64_t)f->rows;
  if (a->rank != fixed && a->rank != fixed + 1)
    return fail(DKHO_E_INPUT, "%s: %d axes, expected %s%s[, channels]", path, a->rank, per_sample ? "samples" : "",
                global       ? ""
                : per_sample ? ", simplices"
                             : "simplices");
  if (!global && a->shape[per_sample] != n)
    return fail(DKHO_E_INPUT, "%s: axis %d has %llu entries, the mesh%s has %llu %s of degree %d%s", path, per_sample,
                (unsigned long long)a->shape[per_sample], f->origin ? " file" : "", (unsigned long long)n,
                f->origin ? "elements" : "simplices", f->f.degree,
                !f->origin && fits_file(m, f->f.degree, a->shape[per_sample])
                    ? " (\"rows\": \"file\" says that rows are those of the mesh file)"
                    : "");
  uint64_t channels = a->rank == fixed ? 1 : a->shape[fixed];
  if (channels < 1 || channels > DATA_CHANNELS_MAX)
    return fail(DKHO_E_INPUT, "%s: %llu channels, expected 1 to %d", path, (unsigned long long)channels,
                DATA_CHANNELS_MAX);
  f->f.channels = (int)channels;
  if (!per_sample) return DKHO_OK;
  if (m->samples >= 0 && a->shape[0] != (uint64_t)m->samples)
    return fail(DKHO_E_INPUT, "%s: %llu samples, an array before it has %lld", path, (unsigned long long)a->shape[0],
                (long long)m->samples);
  m->samples = (int64_t)a->shape[0];
  return DKHO_OK;
}

/* One part of a field's entry: when checking, a failure is noted and the next part is looked at. */
static dkho_status field_part(importer *m, import_field *f, dkho_status s) {
  f->unread |= s != DKHO_OK;
  return import_note(m, s);
}

/* What an entry says, without its array. */
static dkho_status read_field_entry(importer *m, json_t *o, const char *where, import_field *f, const char **file) {
  static const char *const keys[] = {"name", "role", "degree", "file", "scaling", "rows"};
  static const int64_t zero = 0;
  const char *roles[DATA_ROLES];
  int64_t degree = 0;
  int role = DATA_INPUT, dim = m->c ? m->c->dim : CX_DEGREES - 1;
  char at[64];
  for (int i = 0; i < DATA_ROLES; i++) roles[i] = data_role_name((data_role)i);
  TRY(field_part(m, f, spec_keys(o, where, 6, keys)));
  f->f.name = "", *file = NULL;
  TRY(field_part(m, f, spec_text(o, where, "name", NULL, &m->mem, &f->f.name)));
  TRY(field_part(m, f, spec_choice(o, where, "role", DATA_ROLES, roles, NULL, &role)));
  TRY(field_part(m, f, spec_int(o, where, "degree", role == DATA_GLOBAL ? &zero : NULL, 0, dim, &degree)));
  TRY(field_part(m, f, spec_text(o, where, "file", NULL, &m->mem, file)));
  f->f.role = (data_role)role, f->f.scale = 1, f->f.channels = 1;
  f->f.degree = degree >= 0 && degree <= dim ? (int)degree : 0;
  if (role == DATA_TARGET)
    f->f.rule = DATA_SCALE_RMS, f->f.eps = 1e-8;
  else if (role != DATA_STATIC)
    f->f.rule = DATA_SCALE_MEANSTD, f->f.eps = 1e-6;
  snprintf(at, sizeof at, "%.40s.scaling", where);
  json_t *scaling = json_object_get(o, "scaling");
  return scaling ? field_part(m, f, spec_scaling(scaling, at, &f->f)) : DKHO_OK;
}

static dkho_status open_field(importer *m, json_t *o, const char *where, import_field *f) {
  const char *file;
  TRY(read_field_entry(m, o, where, f, &file));
  if (m->c) TRY(field_part(m, f, choose_rows(m, o, where, f)));
  if (!file) return DKHO_OK; /* noted */
  char *path = import_path(m, file);
  if (!path) return DKHO_E_MEMORY;
  int fine = !f->unread;
  TRY(field_part(m, f, npy_open(&f->array, path)));
  if (m->c && fine && !f->unread) return field_part(m, f, fit(m, f, path));
  f->unread = 1;
  return DKHO_OK;
}

dkho_status import_arrays(importer *m) {
  json_t *list;
  TRY(spec_array(m->root, "import", "fields", 1, DATA_FIELDS_MAX / 2, &list));
  m->samples = -1;
  for (size_t i = 0; i < json_array_size(list); i++) {
    char where[32];
    snprintf(where, sizeof where, "fields[%zu]", i);
    m->fields++; /* first, so that a failure closes it */
    TRY(open_field(m, json_array_get(list, i), where, &m->field[i]));
    if (m->field[i].f.role != DATA_STATIC && m->field[i].f.degree > m->top) m->top = m->field[i].f.degree;
  }
  return DKHO_OK;
}

/* Entry j of sample `first` and those after it, n × channels each, as the mesh has its rows. */
static double array_entry(const import_field *f, uint64_t n, uint64_t first, uint64_t j) {
  uint64_t channels = (uint64_t)f->f.channels, row = j / channels, sample = row / n;
  if (!f->origin) return npy_double(&f->array, first * n * channels + j);
  uint64_t from = (uint64_t)f->origin[row % n] + (first + sample) * (uint64_t)f->rows;
  return npy_double(&f->array, from * channels + j % channels);
}

const double *import_static(importer *m, int i) {
  import_field *f = &m->field[i];
  if (f->values) return f->values;
  uint64_t n = (uint64_t)m->c->n[f->f.degree], count = n * (uint64_t)f->f.channels;
  double *v = arena_take(&m->mem, (size_t)count, sizeof *v);
  for (uint64_t j = 0; v && j < count; j++) v[j] = array_entry(f, n, 0, j);
  return f->values = v;
}

dkho_status import_statics(importer *m, dataset_writer *w) {
  for (int i = 0; i < m->fields; i++) {
    if (m->field[i].f.role != DATA_STATIC) continue;
    const double *v = import_static(m, i);
    if (!v) return DKHO_E_MEMORY;
    TRY(dataset_put_static(w, 0, m->field[i].f.name, v));
  }
  return DKHO_OK;
}

/* Rows of one sample's value in the data set. */
static uint64_t value_rows(const importer *m, const import_field *f) {
  return f->f.role == DATA_GLOBAL ? 1 : (uint64_t)m->c->n[f->f.degree];
}

void import_convert(const importer *m, int i, int64_t first, int64_t count, void *out) {
  const import_field *f = &m->field[i];
  uint64_t n = value_rows(m, f);
  float *single = out;
  double *pair = out;
  for (uint64_t j = 0; j < (uint64_t)count * n * (uint64_t)f->f.channels; j++) {
    double v = array_entry(f, n, (uint64_t)first, j);
    if (f->f.role == DATA_GLOBAL)
      pair[j] = v;
    else
      single[j] = (float)v;
  }
}

dkho_status import_samples(importer *m, dataset_writer *w) {
  void **block;
  int blocks = 0;
  if (!ARENA_NEW(&m->mem, block, m->fields + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < m->fields; i++) {
    const import_field *f = &m->field[i];
    uint64_t per = value_rows(m, f);
    if (f->f.role == DATA_STATIC) continue;
    block[blocks] = arena_take(&m->mem, (size_t)(BLOCK * per * (uint64_t)f->f.channels), sizeof(double));
    if (!block[blocks++]) return DKHO_E_MEMORY;
  }
  for (int64_t first = 0; first < m->samples; first += BLOCK) {
    int64_t count = m->samples - first < BLOCK ? m->samples - first : BLOCK;
    for (int i = 0, b = 0; i < m->fields; i++) {
      if (m->field[i].f.role == DATA_STATIC) continue;
      import_convert(m, i, first, count, block[b++]);
    }
    TRY(dataset_append(w, 0, count, (const void *const *)block));
  }
  return DKHO_OK;
}
