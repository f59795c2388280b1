/* view.c: pages of the public header: what is at a path, and which page shows it. */
#include "study/pages.h"

#include "api/api.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int is_directory(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The value of "dkho.kind" of a container; "run" for a directory, "" for anything else. */
static dkho_status kind_of(const char *path, char out[16]) {
  st_file *f = NULL;
  out[0] = 0;
  if (is_directory(path)) return snprintf(out, 16, "run"), DKHO_OK;
  if (!api_is_container(path)) return DKHO_OK;
  TRY(st_open(&f, path));
  const char *kind = st_meta(f, "dkho.kind");
  snprintf(out, 16, "%s", kind ? kind : "");
  st_close(f);
  return DKHO_OK;
}

static dkho_status show_run(const char *path, const dkho_view_options *o, const pages_request *q) {
  opened r = {0};
  dkho_status s = opened_model(&r, path, o->data, o->threads);
  if (s == DKHO_OK) s = pages_data(q, r.d, &r);
  opened_close(&r);
  return s;
}

static dkho_status show_data(const char *path, const pages_request *q) {
  dataset *d = NULL;
  dkho_status s = dataset_open(&d, path);
  if (s == DKHO_OK) s = pages_data(q, d, NULL);
  dataset_free(d);
  return s;
}

static dkho_status show_mesh(const char *path, const pages_request *q, int is_model) {
  dkho_complex *c = NULL;
  dkho_model *m = NULL;
  dkho_status s = is_model ? dkho_model_load(&m, path) : dkho_complex_read(&c, path);
  if (s == DKHO_OK && is_model) s = dkho_model_complex(m, &c);
  if (s == DKHO_OK) s = pages_mesh(q, c->c, c->bases);
  dkho_complex_free(c);
  dkho_model_free(m);
  return s;
}

/* The last part of a path, which a page is called by. */
static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

dkho_status dkho_view(const char *path, const char *page, const dkho_view_options *options) {
  const dkho_view_options none = {0}, *o = options ? options : &none;
  char kind[16];
  if (o->samples < 0 || o->samples > 1000)
    return fail(DKHO_E_INPUT, "%d samples on a page: expected 0 … 1000", o->samples);
  TRY(kind_of(path, kind));
  pages_request q = {page, name_of(path), o->force, o->split, o->samples};
  int is_model = strcmp(kind, "model") == 0;
  if (strcmp(kind, "run") == 0 || (is_model && o->data)) return show_run(path, o, &q);
  return strcmp(kind, "dataset") == 0 ? show_data(path, &q) : show_mesh(path, &q, is_model);
}
