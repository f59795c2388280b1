/* view.c: pages and figures of the public header: what is at a path, and what shows it. */
#include "study/pages.h"
#include "study/plots.h"

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

static dkho_status read_complex(dkho_complex **out, const char *path, int is_model) {
  dkho_model *m = NULL;
  if (!is_model) return dkho_complex_read(out, path);
  TRY(dkho_model_load(&m, path));
  dkho_status s = dkho_model_complex(m, out);
  dkho_model_free(m);
  return s;
}

static dkho_status show_mesh(const char *path, const pages_request *q, int is_model) {
  dkho_complex *c = NULL;
  dkho_status s = read_complex(&c, path, is_model);
  if (s == DKHO_OK) s = pages_mesh(q, c->c, c->bases);
  dkho_complex_free(c);
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

/* ---- figures ---- */

/* The name without its ending. */
static char *stem_of(arena *mem, const char *path) {
  char *stem = arena_strdup(mem, name_of(path)), *dot = stem ? strrchr(stem, '.') : NULL;
  if (dot && dot > stem) *dot = 0;
  return stem;
}

static dkho_status plot_paths(const plot_request *q, int count, const char *const *path) {
  dkho_complex **c = NULL;
  const cx **list = NULL;
  const char **title = NULL;
  arena mem = {0};
  dkho_status s = ARENA_NEW(&mem, c, count) && ARENA_NEW(&mem, list, count) && ARENA_NEW(&mem, title, count)
                      ? DKHO_OK
                      : DKHO_E_MEMORY;
  for (int i = 0; s == DKHO_OK && i < count; i++) {
    char kind[16];
    s = kind_of(path[i], kind);
    if (s == DKHO_OK) s = read_complex(&c[i], path[i], strcmp(kind, "model") == 0);
    if (s == DKHO_OK && !(title[i] = stem_of(&mem, path[i]))) s = DKHO_E_MEMORY;
    if (s == DKHO_OK) list[i] = c[i]->c;
  }
  if (s == DKHO_OK) s = plot_meshes(q, count, list, title);
  for (int i = 0; c && i < count; i++) dkho_complex_free(c[i]);
  arena_free(&mem);
  return s;
}

static dkho_status plot_dataset(const plot_request *q, const char *path) {
  dataset *d = NULL;
  dkho_status s = dataset_open(&d, path);
  if (s == DKHO_OK) s = plot_data(q, d);
  dataset_free(d);
  return s;
}

static dkho_status plot_opened(const plot_request *q, int count, const char *const *path, const dkho_plot_options *o) {
  opened *r = NULL;
  plot_run *run = NULL;
  dkho_status s = MEM_NEW(r, count) && MEM_NEW(run, count) ? DKHO_OK : DKHO_E_MEMORY;
  for (int i = 0; s == DKHO_OK && i < count; i++) {
    run[i] = (plot_run){name_of(path[i]), is_directory(path[i]) ? path[i] : NULL, &r[i]};
    s = opened_model(&r[i], path[i], o->data, o->threads);
  }
  if (s == DKHO_OK) s = plot_runs(q, count, run);
  for (int i = 0; r && i < count; i++) opened_close(&r[i]);
  mem_free(run);
  mem_free(r);
  return s;
}

/* Known endings, with commas between. */
static dkho_status check_formats(const char *list) {
  for (const char *at = list;; at++) {
    size_t n = strcspn(at, ",");
    if (n != 3 || (strncmp(at, "png", 3) != 0 && strncmp(at, "svg", 3) != 0 && strncmp(at, "pdf", 3) != 0))
      return fail(DKHO_E_INPUT, "format '%s': expected png, svg or pdf, or several with commas between", list);
    at += n;
    if (!*at) return DKHO_OK;
  }
}

/* Runs when the first is one (or a model with data), a data set when it is alone, else meshes. */
static dkho_status plot_kind(const plot_request *q, int count, const char *const *path, const dkho_plot_options *o) {
  char kind[16];
  TRY(kind_of(path[0], kind));
  if (strcmp(kind, "run") == 0 || (strcmp(kind, "model") == 0 && o->data)) return plot_opened(q, count, path, o);
  return count == 1 && strcmp(kind, "dataset") == 0 ? plot_dataset(q, path[0]) : plot_paths(q, count, path);
}

dkho_status dkho_plot(int count, const char *const *path, const char *dir, const dkho_plot_options *options,
                      char **json) {
  const dkho_plot_options none = {0}, *o = options ? options : &none;
  if (json) *json = NULL;
  if (count < 1) return fail(DKHO_E_INPUT, "%d things to plot: expected one or more", count);
  plot_request q = {dir, o->force, o->format ? o->format : "png", o->split ? o->split : "test", json_array()};
  dkho_status s = check_formats(q.format);
  if (s == DKHO_OK) s = plot_kind(&q, count, path, o);
  if (s == DKHO_OK && json) return api_json(q.written, json);
  json_decref(q.written);
  return s;
}
