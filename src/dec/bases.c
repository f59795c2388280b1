/* bases.c: the spectral and harmonic bases of a complex together, found once and kept in its file (docs/FORMATS.md,
 * "Complex"). What is read is proved before it is believed; how bases are found is in spectrum.c and harmonic.c. */
#include "dec/dec_impl.h"
#include "dec/proof.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = ST_NAME_MAX + 1 };
static const double PROOF = 1e-8;  /* how far a stored vector may be from what it claims */
static const double SPREAD = 1e-6; /* relative to λ: a cluster's own basis mixes its values */

dkho_status dec_bases_find(dec_bases *out, const cx *c, dec_metric metric, int top, int modes) {
  dec *d = NULL;
  *out = (dec_bases){.metric = metric, .top = top, .modes = modes};
  dkho_status s;
  TRY_GOTO(dec_create(&d, c, metric));
  TRY_GOTO(dec_spectrum(d, top, modes, out->spectral));
  for (int k = 0; k <= top; k++) TRY_GOTO(dec_harmonic(d, k, &out->harmonic[k]));
done:
  dec_free(d);
  if (s != DKHO_OK) dec_bases_free(out);
  return s;
}

void dec_bases_free(dec_bases *b) {
  for (int k = 0; k < CX_DEGREES; k++) {
    dec_basis_free(&b->spectral[k]);
    dec_basis_free(&b->harmonic[k]);
  }
  *b = (dec_bases){0};
}

void dec_basis_rows(const dec_basis *b, int64_t columns, double *out) {
  for (int64_t i = 0; i < b->n; i++)
    for (int64_t j = 0; j < columns; j++) out[i * columns + j] = j < b->count ? b->vec[j * b->n + i] : 0;
}

dkho_status dec_bases_declare(const dec_bases *b, st_writer *w) {
  char name[NAME_ROOM];
  snprintf(name, sizeof name, "%lld", (long long)b->modes);
  TRY(st_put_meta(w, "dkho.bases.metric", dec_metric_name(b->metric)));
  TRY(st_put_meta(w, "dkho.bases.modes", name));
  for (int k = 0; k <= b->top; k++) {
    const dec_basis *pair[] = {&b->spectral[k], &b->harmonic[k]};
    for (int i = 0; i < 2; i++) {
      uint64_t shape[] = {(uint64_t)pair[i]->n, (uint64_t)pair[i]->count};
      snprintf(name, sizeof name, "%s%d", i ? "harmonic" : "spectral", k);
      TRY(st_declare(w, name, ST_F64, 2, shape));
      snprintf(name, sizeof name, "eigenvalue%d", k);
      if (i == 0) TRY(st_declare(w, name, ST_F64, 1, shape + 1));
    }
  }
  return DKHO_OK;
}

static dkho_status write_rows(const dec_basis *b, st_writer *w) {
  double *rows;
  if (!MEM_NEW(rows, b->n * b->count)) return DKHO_E_MEMORY;
  dec_basis_rows(b, b->count, rows);
  dkho_status s = st_write(w, rows, (size_t)(b->n * b->count) * sizeof *rows);
  mem_free(rows);
  return s;
}

dkho_status dec_bases_write(const dec_bases *b, st_writer *w) {
  for (int k = 0; k <= b->top; k++) {
    TRY(write_rows(&b->spectral[k], w));
    TRY(st_write(w, b->spectral[k].lambda, (size_t)b->spectral[k].count * sizeof(double)));
    TRY(write_rows(&b->harmonic[k], w));
  }
  return DKHO_OK;
}

static dkho_status read_basis(const st_file *f, const char *stem, int k, int64_t n, dec_basis *b) {
  char name[NAME_ROOM];
  const st_tensor *t;
  snprintf(name, sizeof name, "%s%d", stem, k);
  TRY(st_need(f, name, ST_F64, 2, (const int64_t[]){n, -1}, &t));
  *b = (dec_basis){.n = n, .count = (int64_t)t->shape[1]};
  if (!MEM_NEW(b->vec, t->count)) return DKHO_E_MEMORY;
  const double *rows = t->data;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < b->count; j++) b->vec[j * n + i] = rows[i * b->count + j];
  if (strcmp(stem, "spectral") != 0) return DKHO_OK;
  snprintf(name, sizeof name, "eigenvalue%d", k);
  TRY(st_need(f, name, ST_F64, 1, (const int64_t[]){b->count}, &t));
  if (!MEM_NEW(b->lambda, b->count)) return DKHO_E_MEMORY;
  memcpy(b->lambda, t->data, (size_t)b->count * sizeof *b->lambda);
  return DKHO_OK;
}

dkho_status dec_basis_prove(const dec *d, const st_file *f, const char *name, int k, const dec_basis *b) {
  double *y;
  if (!MEM_NEW(y, b->n)) return DKHO_E_MEMORY;
  dkho_status s = DKHO_OK;
  for (int64_t j = 0; s == DKHO_OK && j < b->count; j++) {
    const double *v = b->vec + j * b->n;
    double lambda = b->lambda ? b->lambda[j] : 0, off = 0;
    TRY_GOTO(dec_laplacian(d, k, 1, v, y));
    for (int64_t i = 0; i < b->n; i++) y[i] -= lambda * v[i];
    double residual = sqrt(dec_dot(d, k, 1, y, y));
    for (int64_t i = 0; i <= j; i++) off = fmax(off, fabs(dec_dot(d, k, 1, v, b->vec + i * b->n) - (i == j)));
    int rises = !b->lambda || lambda > (j ? b->lambda[j - 1] * (1 - SPREAD) : 0);
    if (!(residual <= PROOF + SPREAD * lambda && off <= PROOF && rises)) /* a NaN is refused too */
      s = fail(DKHO_E_FORMAT, "%s: %s: column %lld belongs to another complex or is damaged (residual %.2g)",
               st_path(f), name, (long long)j, residual);
  }
done:
  mem_free(y);
  return s;
}

/* As many columns as there must be: β_k sum to the Euler characteristic (where all degrees are there), and the rest of the
 * space has min(modes, N_k - β_k) pairs to offer. */
static dkho_status prove_counts(const dec_bases *b, const cx *c, const st_file *f) {
  int64_t euler = 0;
  for (int k = 0; k <= b->top; k++) {
    int64_t rest = c->n[k] - b->harmonic[k].count, want = b->modes < rest ? b->modes : rest;
    if (b->spectral[k].count != want)
      return fail(DKHO_E_FORMAT, "%s: spectral%d: %lld columns, expected %lld", st_path(f), k,
                  (long long)b->spectral[k].count, (long long)want);
    euler += (k % 2 ? -1 : 1) * rest;
  }
  if (b->top == c->dim && euler != 0)
    return fail(DKHO_E_FORMAT, "%s: harmonic bases: the numbers of columns do not sum to the Euler characteristic",
                st_path(f));
  return DKHO_OK;
}

int dec_bases_stored(const st_file *f) {
  return st_meta(f, "dkho.bases.metric") != NULL;
}

dkho_status dec_bases_get(dec_bases *out, const cx *c, const st_file *f) {
  const char *metric, *modes;
  char *end;
  dec *d = NULL;
  *out = (dec_bases){.top = c->dim < 2 ? c->dim : 2};
  TRY(st_need_meta(f, "dkho.bases.metric", &metric));
  TRY(st_need_meta(f, "dkho.bases.modes", &modes));
  out->modes = strtol(modes, &end, 10);
  if (out->modes < 1 || out->modes > INT32_MAX || *end)
    return fail(DKHO_E_FORMAT, "%s: dkho.bases.modes: found '%.40s', expected 1 … 2^31-1", st_path(f), modes);
  if (dec_metric_parse(metric, &out->metric) != DKHO_OK)
    return fail_prefix(DKHO_E_FORMAT, "%s: dkho.bases.metric", st_path(f));
  dkho_status s;
  TRY_GOTO(dec_create(&d, c, out->metric));
  for (int k = 0; k <= out->top; k++) {
    TRY_GOTO(read_basis(f, "spectral", k, c->n[k], &out->spectral[k]));
    TRY_GOTO(read_basis(f, "harmonic", k, c->n[k], &out->harmonic[k]));
  }
  TRY_GOTO(prove_counts(out, c, f));
  for (int k = 0; k <= out->top; k++) {
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "spectral%d", k);
    TRY_GOTO(dec_basis_prove(d, f, name, k, &out->spectral[k]));
    snprintf(name, sizeof name, "harmonic%d", k);
    TRY_GOTO(dec_basis_prove(d, f, name, k, &out->harmonic[k]));
  }
done:
  dec_free(d);
  if (s != DKHO_OK) dec_bases_free(out);
  return s;
}
