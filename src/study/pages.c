/* pages.c: pages of a mesh. */
#include "study/pages_impl.h"

#include <stdio.h>

enum { MOST_MODES = 8 };

dkho_status pages_add_field(pages_open *v, const char *name, const char *group, int degree, int channels, int fixed,
                            int *number) {
  TRY(page_add_field(v->p, name, group, degree, channels, fixed));
  *number = v->fields++;
  return DKHO_OK;
}

static dkho_status put_harmonic(pages_open *v, const dec *metric, int k) {
  dec_basis b = {0};
  dkho_status s = dec_harmonic(metric, k, &b);
  for (int i = 0; s == DKHO_OK && i < b.count; i++) {
    int *field = &v->harmonic[k][i], number = *field - 1;
    char name[64];
    snprintf(name, sizeof name, "harmonic %d-form %d", k, i + 1);
    if (number < 0) s = pages_add_field(v, name, "harmonic", k, 1, 1, &number);
    if (s != DKHO_OK) break;
    *field = number + 1;
    s = page_put_double(v->p, number, PAGE_VALUE, v->complexes, b.n, b.vec + i * b.n);
  }
  dec_basis_free(&b);
  return s;
}

dkho_status pages_add_complex(pages_open *v, const cx *c, int64_t betti[CX_DEGREES]) {
  dec *metric = NULL;
  TRY(dec_betti(c, betti));
  TRY(page_add_complex(v->p, c, betti));
  TRY(dec_create(&metric, c, DEC_UNIT));
  dkho_status s = DKHO_OK;
  for (int k = 1; k < c->dim && s == DKHO_OK; k++)
    if (betti[k] > 0 && betti[k] <= PAGES_HARMONIC) s = put_harmonic(v, metric, k);
  dec_free(metric);
  v->complexes++;
  return s;
}

static dkho_status put_modes(pages_open *v, const dec_bases *bases) {
  for (int k = 0; bases && k <= bases->top; k++) {
    const dec_basis *b = &bases->spectral[k];
    for (int i = 0; i < b->count && i < MOST_MODES; i++) {
      char name[64];
      int number;
      snprintf(name, sizeof name, "eigenvector %d, eigenvalue %.4g", i + 1, b->lambda[i]);
      TRY(pages_add_field(v, name, "eigenvectors", k, 1, 1, &number));
      TRY(page_put_double(v->p, number, PAGE_VALUE, 0, b->n, b->vec + i * b->n));
    }
  }
  return DKHO_OK;
}

/* Label numbers of the degrees that have any but 0. */
static dkho_status put_labels(pages_open *v, const cx *c, arena *mem) {
  for (int k = 0; k <= c->dim; k++) {
    double *label;
    int number, some = 0;
    if (!c->label[k]) continue;
    if (!ARENA_NEW(mem, label, c->n[k])) return DKHO_E_MEMORY;
    for (int64_t i = 0; i < c->n[k]; i++) {
      label[i] = c->label[k][i];
      some |= c->label[k][i] > 0;
    }
    if (!some) continue;
    TRY(pages_add_field(v, "label", "labels", k, 1, 1, &number));
    TRY(page_put_double(v->p, number, PAGE_VALUE, 0, c->n[k], label));
  }
  return DKHO_OK;
}

static dkho_status fill_mesh(pages_open *v, const cx *c, const dec_bases *bases, arena *mem) {
  int64_t betti[CX_DEGREES];
  TRY(pages_add_complex(v, c, betti));
  TRY(page_add_sample(v->p, 0, "mesh", NULL));
  TRY(put_modes(v, bases));
  return put_labels(v, c, mem);
}

dkho_status pages_mesh(const pages_request *q, const cx *c, const dec_bases *bases) {
  pages_open v = {0};
  arena mem = {0};
  TRY(page_create(&v.p, q->page, q->force, q->title));
  dkho_status s = fill_mesh(&v, c, bases, &mem);
  arena_free(&mem);
  if (s == DKHO_OK) return page_commit(v.p);
  page_abort(v.p);
  return s;
}
