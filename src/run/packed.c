/* packed.c: projections of arrays, and their comparison. */
#include "run/packed.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PROBES = 2, ROWS = PROBES + 1 }; /* projections on fixed random vectors, then the norm */
static const char CHECK[] = "c0/check/";

void packed_free(packed_geometry *t) {
  cx_free(t->c);
  for (int i = 0; t->fixed && i < t->fields; i++) mem_free(t->fixed[i]);
  mem_free(t->fixed);
  for (int k = 0; k < CX_DEGREES; k++) dec_basis_free(&t->harmonic[k]);
  *t = (packed_geometry){0};
}

void packed_topology(const cx *c, char hex[33]) {
  st_hash_bytes(c->vert[c->dim], c->dim ? (size_t)(c->n[c->dim] * (c->dim + 1)) * sizeof(int32_t) : 0, hex);
}

/* n × channels numbers; row and column strides in numbers. */
typedef struct table {
  int64_t n, channels, row, column;
  const double *data;
} table;

/* out[j] = Σ_i w_j(i) a(i, channel), out[PROBES] = ‖a(·, channel)‖. */
static void probe(const table *t, int64_t channel, double out[ROWS]) {
  double sum = 0;
  for (int j = 0; j < PROBES; j++) {
    rng r = rng_open(7, RNG_SOLVER, (uint64_t)j);
    out[j] = 0;
    for (int64_t i = 0; i < t->n; i++) out[j] += rng_normal(&r) * t->data[i * t->row + channel * t->column];
  }
  for (int64_t i = 0; i < t->n; i++) {
    double a = t->data[i * t->row + channel * t->column];
    sum += a * a;
  }
  out[PROBES] = sqrt(sum);
}

/* The part of a tensor's name after "c0/" when it is one to be checked. */
static const char *checked(const st_tensor *t) {
  int named = strcmp(t->name, "c0/x") == 0 || strncmp(t->name, "c0/static/", 10) == 0 ||
              strncmp(t->name, "c0/harmonic", 11) == 0;
  return named && t->dtype == ST_F64 && t->rank == 2 ? t->name + 3 : NULL;
}

dkho_status packed_declare_checks(const st_file *source, st_writer *w) {
  for (int i = 0; i < st_count(source); i++) {
    const st_tensor *t = st_at(source, i);
    char name[ST_NAME_MAX + 1];
    if (!checked(t)) continue;
    if (snprintf(name, sizeof name, "%s%s", CHECK, checked(t)) > ST_NAME_MAX)
      return fail(DKHO_E_INPUT, "the name of tensor '%s' is too long", t->name);
    TRY(st_declare(w, name, ST_F64, 2, (const uint64_t[]){t->shape[1], ROWS}));
  }
  return DKHO_OK;
}

dkho_status packed_write_checks(const st_file *source, st_writer *w) {
  for (int i = 0; i < st_count(source); i++) {
    const st_tensor *t = st_at(source, i);
    if (!checked(t)) continue;
    table a = {(int64_t)t->shape[0], (int64_t)t->shape[1], (int64_t)t->shape[1], 1, t->data};
    for (int64_t channel = 0; channel < a.channels; channel++) {
      double out[ROWS];
      probe(&a, channel, out);
      TRY(st_write(w, out, sizeof out));
    }
  }
  return DKHO_OK;
}

/* The array made here that carries this name. */
static int find_table(const packed_geometry *t, const data_spec *spec, const char *name, table *out) {
  if (strcmp(name, "x") == 0) {
    *out = (table){t->c->n[0], t->c->gdim, t->c->gdim, 1, t->c->x};
    return 1;
  }
  int k = strncmp(name, "harmonic", 8) == 0 && strlen(name) == 9 ? name[8] - '0' : -1;
  if (k >= 0 && k < CX_DEGREES) {
    *out = (table){t->harmonic[k].n, t->harmonic[k].count, 1, t->harmonic[k].n, t->harmonic[k].vec};
    return out->channels > 0;
  }
  for (int i = 0; strncmp(name, "static/", 7) == 0 && i < spec->fields; i++) {
    const data_field *f = &spec->field[i];
    if (f->role != DATA_STATIC || strcmp(f->name, name + 7) != 0 || !t->fixed[i]) continue;
    *out = (table){t->c->n[f->degree], f->channels, f->channels, 1, t->fixed[i]};
    return 1;
  }
  return 0;
}

/* Projections on fixed random vectors, and the norm, of every column: an array made here must agree with the one that was trained with, to
 * the rounding of another machine. */
static dkho_status verify_one(const table *a, const char *name, const st_tensor *kept) {
  double tolerance = strcmp(name, "x") == 0 ? 1e-9 : 1e-6;
  const double *want = kept->data;
  for (int64_t channel = 0; channel < a->channels; channel++, want += ROWS) {
    double found[ROWS], size = fmax(want[PROBES], 1e-12);
    probe(a, channel, found);
    for (int j = 0; j < ROWS; j++)
      if (!(fabs(found[j] - want[j]) <= tolerance * size))
        return fail(
            DKHO_E_INPUT,
            "'%s', column %lld, made here is not the one the model was trained with: projection %.12g, expected "
            "%.12g",
            name, (long long)channel, found[j], want[j]);
  }
  return DKHO_OK;
}

dkho_status packed_verify(const packed_geometry *t, const data_spec *spec, const st_file *f) {
  int seen = 0;
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *kept = st_at(f, i);
    if (strncmp(kept->name, CHECK, sizeof CHECK - 1) != 0) continue;
    const char *name = kept->name + sizeof CHECK - 1;
    table a;
    if (!find_table(t, spec, name, &a)) return fail(DKHO_E_FORMAT, "'%s' is no array of its benchmark", name);
    if (kept->dtype != ST_F64 || kept->rank != 2 || kept->shape[0] != (uint64_t)a.channels || kept->shape[1] != ROWS)
      return fail(DKHO_E_FORMAT, "tensor '%s' is not a table of %lld × %d doubles", kept->name, (long long)a.channels,
                  ROWS);
    TRY(verify_one(&a, name, kept));
    seen |= strcmp(name, "x") == 0;
  }
  return seen ? DKHO_OK : fail(DKHO_E_FORMAT, "tensor '%sx' is missing", CHECK);
}
