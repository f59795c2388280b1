/* data.c: data sets of the public header. */
#include "api/api.h"
#include "base/comm.h"
#include "data/check.h"
#include "data/import.h"
#include "problem/problem.h"

#include <string.h>

struct dkho_dataset {
  dataset *d;
};

dkho_status dkho_dataset_generate(const char *name, const char *path, const dkho_generate_options *o) {
  const problem *p;
  TRY(problem_find(name, &p));
  problem_request r = {.resolution = "main", .seed = 42};
  if (o)
    r = (problem_request){o->resolution ? o->resolution : "main", o->coarse, o->samples, o->seed, o->threads, o->force};
  TRY(problem_find_law(p, o ? o->law : NULL, &p));
  comm_watch(COMM_ENTER);
  dkho_status s = problem_generate(p, &r, path);
  comm_watch(COMM_LEAVE);
  return s;
}

/* The bases of an imported complex in the unit metric: those in its file if they reach far enough, else found once. */
static dkho_status reach(dec_bases *b, const cx *c, int k, int64_t modes) {
  int top = c->dim < 2 ? c->dim : 2;
  if (b->modes >= modes && b->top >= k && b->metric == DEC_UNIT) return DKHO_OK;
  if (modes < b->modes) modes = b->modes;
  dec_bases_free(b);
  return dec_bases_find(b, c, DEC_UNIT, k > top ? k : top, (int)modes);
}

static dkho_status mesh(void *user, const char *path, cx **out, mesh_report *report) {
  dkho_complex *c = NULL;
  TRY(dkho_complex_read(&c, path));
  *out = c->c;
  c->c = NULL;
  *report = c->report;
  c->report = (mesh_report){0};
  if (c->bases) {
    *(dec_bases *)user = *c->bases;
    *c->bases = (dec_bases){0};
  }
  dkho_complex_free(c);
  return DKHO_OK;
}

static dkho_status spectral(void *user, const cx *c, int k, int modes, double *out) {
  dec_bases *b = user;
  TRY(reach(b, c, k, modes));
  dec_basis_rows(&b->spectral[k], modes, out);
  return DKHO_OK;
}

static dkho_status harmonic(void *user, const cx *c, int k, int64_t *count, double **columns) {
  dec_bases *b = user;
  TRY(reach(b, c, k, 1));
  const dec_basis *h = &b->harmonic[k];
  *count = h->count;
  if (!MEM_NEW(*columns, h->n * h->count)) return DKHO_E_MEMORY;
  if (h->count) memcpy(*columns, h->vec, (size_t)(h->n * h->count) * sizeof **columns);
  return DKHO_OK;
}

dkho_status dkho_dataset_import(const char *spec, const char *path, int force) {
  dec_bases found = {0};
  import_hooks hooks = {.user = &found, .spectral = spectral, .harmonic = harmonic, .mesh = mesh};
  dkho_status s = data_import(spec, path, force, &hooks);
  dec_bases_free(&found);
  return s;
}

dkho_status dkho_dataset_check(const char *path, char **json) {
  dec_bases found = {0};
  json_t *answer = NULL;
  import_hooks hooks = {.user = &found, .mesh = mesh};
  *json = NULL;
  dkho_status s = data_check(path, &hooks, &answer);
  dec_bases_free(&found);
  return s == DKHO_OK ? api_json(answer, json) : s;
}

dkho_status dkho_dataset_open(dkho_dataset **out, const char *path) {
  dkho_dataset *d;
  *out = NULL;
  if (!MEM_NEW(d, 1)) return DKHO_E_MEMORY;
  dkho_status s = dataset_open(&d->d, path);
  if (s == DKHO_OK)
    *out = d;
  else
    mem_free(d);
  return s;
}

void dkho_dataset_free(dkho_dataset *d) {
  if (!d) return;
  dataset_free(d->d);
  mem_free(d);
}

int64_t dkho_dataset_samples(const dkho_dataset *d) {
  return dataset_samples(d->d);
}

const int64_t *dkho_dataset_split(const dkho_dataset *d, const char *name, int64_t *count) {
  for (int s = 0; s < DATA_SPLITS; s++)
    if (strcmp(name, data_split_name((data_split)s)) == 0) return dataset_split(d->d, (data_split)s, count);
  *count = 0;
  return NULL;
}

int dkho_dataset_fields(const dkho_dataset *d) {
  return dataset_fields(d->d);
}
int dkho_dataset_find(const dkho_dataset *d, const char *name) {
  return dataset_find(d->d, name);
}

void api_field_info(const data_field *f, const cx *c, dkho_field_info *out) {
  *out = (dkho_field_info){f->name, data_role_name(f->role), f->degree, f->channels,
                           f->role == DATA_GLOBAL ? 1 : c->n[f->degree]};
}

dkho_status dkho_dataset_field(const dkho_dataset *d, int field, dkho_field_info *out) {
  if (field < 0 || field >= dataset_fields(d->d))
    return fail(DKHO_E_INPUT, "field %d: expected 0 … %d", field, dataset_fields(d->d) - 1);
  api_field_info(&dataset_field(d->d)[field], dataset_cx(d->d, 0), out);
  return DKHO_OK;
}

const void *dkho_dataset_value(const dkho_dataset *d, int field, int64_t sample) {
  if (field < 0 || field >= dataset_fields(d->d) || sample < 0 || sample >= dataset_samples(d->d)) return NULL;
  switch (dataset_field(d->d)[field].role) {
  case DATA_GLOBAL:
    return dataset_global(d->d, field, sample);
  case DATA_INPUT:
  case DATA_TARGET:
    return dataset_prove_value(d->d, field, sample) == DKHO_OK ? dataset_value(d->d, field, sample) : NULL;
  default:
    return NULL;
  }
}
