/* complex.c: complexes of the public header. */
#include "api/api.h"
#include "mesh/generate.h"
#include "mesh/meshio.h"
#include "problem/problem.h"

#include <string.h>

dkho_status api_wrap(dkho_complex **out, cx *c) {
  *out = mem_alloc(1, sizeof **out);
  if (!*out) {
    cx_free(c);
    return DKHO_E_MEMORY;
  }
  (*out)->c = c;
  return DKHO_OK;
}

dkho_status dkho_complex_generate(dkho_complex **out, const char *name, const char *resolution) {
  cx *c = NULL;
  const problem *p;
  *out = NULL;
  TRY(problem_find(name, &p));
  TRY(p->build(&c, resolution ? resolution : "main"));
  return api_wrap(out, c);
}

dkho_status dkho_complex_planar(dkho_complex **out, double half, int holes, const double (*hole)[3], double h_near,
                                double h_far, double near, double far, int64_t interior) {
  gen_planar p = {.half = half,
                  .holes = holes,
                  .hole = hole,
                  .h_near = h_near,
                  .h_far = h_far,
                  .near = near,
                  .far = far,
                  .interior = interior};
  cx *c = NULL;
  *out = NULL;
  if (holes > 0 && !hole) return fail(DKHO_E_INPUT, "%d holes, but no list of them", holes);
  TRY(cx_planar(&c, &p));
  return api_wrap(out, c);
}

dkho_status dkho_complex_torus(dkho_complex **out, double major, double minor, int nu, int nv) {
  cx *c = NULL;
  *out = NULL;
  TRY(cx_torus_grid(&c, major, minor, nu, nv, 0));
  return api_wrap(out, c);
}

dkho_status dkho_complex_build(dkho_complex **out, int gdim, int64_t n0, const double *x, int dim, int64_t tops,
                               const int32_t *top) {
  cx *c = NULL;
  *out = NULL;
  if (!x) return fail(DKHO_E_INPUT, "no coordinates of the points are given");
  if (!top) return fail(DKHO_E_INPUT, "no list of top simplices is given");
  TRY(cx_build(&c, gdim, n0, x, dim, tops, top, CX_LEX));
  return api_wrap(out, c);
}

/* Containers begin with a small 64-bit number and a brace, which no mesh format does. */
int api_is_container(const char *path) {
  file_map m;
  if (file_map_open(&m, path) != DKHO_OK) return 0;
  int yes = m.size >= 10 && m.bytes[8] == '{' && m.bytes[6] == 0 && m.bytes[7] == 0;
  file_map_close(&m);
  return yes;
}

static dkho_status keep_bases(dkho_complex *c, dec_bases *found) {
  dec_bases *own;
  if (!MEM_NEW(own, 1)) {
    dec_bases_free(found);
    return DKHO_E_MEMORY;
  }
  *own = *found;
  if (c->bases) dec_bases_free(c->bases);
  mem_free(c->bases);
  c->bases = own;
  return DKHO_OK;
}

/* What a file that holds a complex alone keeps beside it. */
static dkho_status read_company(dkho_complex *c, const st_file *f) {
  dec_bases found;
  TRY(api_import_get(&c->report, f, c->c));
  if (!dec_bases_stored(f)) return DKHO_OK;
  TRY(dec_bases_get(&found, c->c, f));
  return keep_bases(c, &found);
}

/* A complex file holds its tensors under no prefix, and its bases if it has them; a data set its first complex under "c0/". */
static dkho_status read_container(dkho_complex **out, const char *path) {
  st_file *f = NULL;
  cx *c = NULL;
  TRY(st_open(&f, path));
  const char *kind = st_meta(f, "dkho.kind");
  int own = kind && strcmp(kind, "complex") == 0;
  dkho_status s;
  if (own || (kind && (strcmp(kind, "dataset") == 0 || strcmp(kind, "model") == 0)))
    s = cx_get(&c, f, own ? "" : "c0/");
  else
    s = fail(DKHO_E_FORMAT, "%s: holds no complex (dkho.kind is '%s')", path, kind ? kind : "absent");
  if (s == DKHO_OK) s = api_wrap(out, c);
  if (s == DKHO_OK && own) s = read_company(*out, f);
  if (s != DKHO_OK) {
    dkho_complex_free(*out);
    *out = NULL;
  }
  st_close(f);
  return s;
}

dkho_status dkho_complex_import(dkho_complex **out, const char *path, const dkho_import_options *options) {
  mesh_options o = {0};
  mesh_report report;
  cx *c = NULL;
  *out = NULL;
  if (options) o = (mesh_options){options->repair, options->merge, options->tolerance};
  if (api_is_container(path)) {
    if (o.repair || o.merge) return fail(DKHO_E_INPUT, "%s: holds a complex: only mesh files are repaired", path);
    return read_container(out, path);
  }
  TRY(mesh_read(&c, path, &o, &report));
  dkho_status s = api_wrap(out, c);
  if (s == DKHO_OK)
    (*out)->report = report;
  else
    mesh_report_free(&report);
  return s;
}

dkho_status dkho_complex_read(dkho_complex **out, const char *path) {
  return dkho_complex_import(out, path, NULL);
}

dkho_status dkho_complex_bases(dkho_complex *c, int modes) {
  dec_bases found;
  if (modes < 1) return fail(DKHO_E_INPUT, "%d modes asked for: expected at least 1", modes);
  if (c->bases && c->bases->metric == DEC_UNIT && c->bases->modes == modes) return DKHO_OK;
  TRY(dec_bases_find(&found, c->c, DEC_UNIT, c->c->dim < 2 ? c->c->dim : 2, modes));
  return keep_bases(c, &found);
}

dkho_status dkho_complex_save(const dkho_complex *c, const char *path, int force) {
  st_writer *w = NULL;
  TRY(st_create(&w, path, force));
  dkho_status s = st_put_meta(w, "dkho.kind", "complex");
  if (s == DKHO_OK) s = st_put_meta(w, "dkho.version", dkho_version());
  if (s == DKHO_OK) s = cx_declare(c->c, w, "");
  if (s == DKHO_OK) s = api_import_declare(&c->report, w);
  if (s == DKHO_OK && c->bases) s = dec_bases_declare(c->bases, w);
  if (s == DKHO_OK) s = cx_write(c->c, w);
  if (s == DKHO_OK) s = api_import_write(&c->report, w);
  if (s == DKHO_OK && c->bases) s = dec_bases_write(c->bases, w);
  if (s == DKHO_OK) return st_commit(w);
  st_abort(w);
  return s;
}

void dkho_complex_free(dkho_complex *c) {
  if (!c) return;
  cx_free(c->c);
  mesh_report_free(&c->report);
  if (c->bases) dec_bases_free(c->bases);
  mem_free(c->bases);
  mem_free(c);
}

static int has(const dkho_complex *c, int k) {
  return k >= 0 && k <= c->c->dim;
}

int dkho_complex_dim(const dkho_complex *c) {
  return c->c->dim;
}
int dkho_complex_space(const dkho_complex *c) {
  return c->c->gdim;
}
int64_t dkho_complex_count(const dkho_complex *c, int k) {
  return has(c, k) ? c->c->n[k] : 0;
}
const double *dkho_complex_points(const dkho_complex *c) {
  return c->c->x;
}
const int32_t *dkho_complex_vertices(const dkho_complex *c, int k) {
  return has(c, k) ? c->c->vert[k] : NULL;
}
const int32_t *dkho_complex_faces(const dkho_complex *c, int k) {
  return has(c, k) ? c->c->face[k] : NULL;
}
const int8_t *dkho_complex_signs(const dkho_complex *c, int k) {
  return has(c, k) ? c->c->sign[k] : NULL;
}
const double *dkho_complex_measures(const dkho_complex *c, int k) {
  return has(c, k) ? c->c->measure[k] : NULL;
}
const int32_t *dkho_complex_labels(const dkho_complex *c, int k) {
  return has(c, k) ? c->c->label[k] : NULL;
}

const char *dkho_complex_label_name(const dkho_complex *c, int label) {
  return label >= 0 && label < c->c->labels ? c->c->label_name[label] : NULL;
}

dkho_status dkho_complex_betti(const dkho_complex *c, int relative, int64_t betti[4]) {
  return relative ? dec_betti_relative(c->c, betti) : dec_betti(c->c, betti);
}

dkho_status dkho_complex_export(const dkho_complex *c, const char *path, int force, int fields,
                                const dkho_field *field) {
  if (fields < 0) return fail(DKHO_E_INPUT, "%d fields: expected 0 or more", fields);
  mesh_field *list;
  if (!MEM_NEW(list, fields)) return DKHO_E_MEMORY;
  for (int i = 0; i < fields; i++) {
    const dkho_field *f = &field[i];
    if (!has(c, f->degree) || f->channels < 1 || !f->data || !f->name) {
      mem_free(list);
      return fail(DKHO_E_INPUT, "field %d ('%s'): degree %d with %d channels does not fit a complex of dimension %d", i,
                  f->name ? f->name : "", f->degree, f->channels, c->c->dim);
    }
    list[i] = (mesh_field){f->name, f->degree, f->channels, f->data};
  }
  size_t length = strlen(path);
  int blocks = length > 4 && strcmp(path + length - 4, ".vtm") == 0;
  dkho_status s = (blocks ? mesh_write_vtm : mesh_write_vtu)(path, force, c->c, fields, list);
  mem_free(list);
  return s;
}
