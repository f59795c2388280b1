/* data.c: data sets of the public header. */
#include "api/api.h"
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
  if (o) r = (problem_request){o->resolution ? o->resolution : "main", o->samples, o->seed, o->threads, o->force};
  return problem_generate(p, &r, path);
}

/* Spectra and harmonic bases for imported data, in the unit metric. */
static dkho_status spectral(void *user, const cx *c, int k, int modes, double *out) {
  (void)user;
  dec *d = NULL;
  dec_basis b[CX_DEGREES] = {0};
  dkho_status s = dec_create(&d, c, DEC_UNIT);
  if (s == DKHO_OK) s = dec_spectrum(d, k, modes, b);
  for (int64_t i = 0; s == DKHO_OK && i < b[k].n; i++)
    for (int64_t j = 0; j < modes; j++) out[i * modes + j] = j < b[k].count ? b[k].vec[j * b[k].n + i] : 0;
  for (int j = 0; j < CX_DEGREES; j++) dec_basis_free(&b[j]);
  dec_free(d);
  return s;
}

static dkho_status harmonic(void *user, const cx *c, int k, int64_t *count, double **columns) {
  (void)user;
  dec *d = NULL;
  dec_basis b = {0};
  TRY(dec_create(&d, c, DEC_UNIT));
  dkho_status s = dec_harmonic(d, k, &b);
  dec_free(d);
  *count = b.count;
  *columns = b.vec;
  b.vec = NULL;
  dec_basis_free(&b);
  return s;
}

dkho_status dkho_dataset_import(const char *spec, const char *path, int force) {
  import_hooks hooks = {.spectral = spectral, .harmonic = harmonic};
  return data_import(spec, path, force, &hooks);
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
    return dataset_value(d->d, field, sample);
  default:
    return NULL;
  }
}
