/* import_mesh.c: the user's mesh, labels by predicate, and the geometric statics of the generic descriptors. */
#include "data/import_impl.h"
#include "data/static.h"
#include "mesh/meshio.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A closed box or a closed ball. */
typedef struct region {
  const char *name;
  int is_ball;
  double lo[3], hi[3]; /* box */
  double centre[3], radius;
} region;

static dkho_status read_point(json_t *o, const char *where, const char *key, int gdim, double *out) {
  json_t *list;
  TRY(spec_array(o, where, key, 1, 3, &list));
  if (json_array_size(list) != (size_t)gdim)
    return fail(DKHO_E_FORMAT, "%s.%s: %zu numbers, expected %d", where, key, json_array_size(list), gdim);
  for (int j = 0; j < gdim; j++) {
    json_t *v = json_array_get(list, (size_t)j);
    if (!json_is_number(v)) return fail(DKHO_E_FORMAT, "%s.%s: expected %d numbers", where, key, gdim);
    out[j] = json_number_value(v);
  }
  return DKHO_OK;
}

static dkho_status read_region(importer *m, json_t *o, const char *where, region *r) {
  static const char *const keys[] = {"name", "box", "ball"}, *const box[] = {"min", "max"},
                           *const ball[] = {"centre", "radius"};
  char at[64];
  TRY(spec_keys(o, where, 3, keys));
  TRY(spec_text(o, where, "name", NULL, &m->mem, &r->name));
  json_t *b = json_object_get(o, "box"), *s = json_object_get(o, "ball");
  if (!b == !s) return fail(DKHO_E_FORMAT, "%s: expected either a box or a ball", where);
  r->is_ball = s != NULL;
  snprintf(at, sizeof at, "%.40s.%s", where, s ? "ball" : "box");
  TRY(spec_keys(s ? s : b, at, 2, s ? ball : box));
  if (s) {
    TRY(read_point(s, at, "centre", m->c->gdim, r->centre));
    return spec_number(s, at, "radius", NULL, &r->radius);
  }
  TRY(read_point(b, at, "min", m->c->gdim, r->lo));
  return read_point(b, at, "max", m->c->gdim, r->hi);
}

static int inside(const region *r, int gdim, const double *x) {
  double square = 0;
  int in = 1;
  for (int j = 0; j < gdim; j++) {
    in &= x[j] >= r->lo[j] && x[j] <= r->hi[j];
    square += (x[j] - r->centre[j]) * (x[j] - r->centre[j]);
  }
  return r->is_ball ? square <= r->radius * r->radius : in;
}

/* The first region that holds all vertices of a boundary simplex; 0 for none. */
static int32_t label_of(const cx *c, int k, int64_t i, int regions, const region *r) {
  for (int l = 0; l < regions && c->on_boundary[k][i]; l++) {
    int all = 1;
    for (int j = 0; j <= k; j++) {
      int64_t v = k ? c->vert[k][i * (k + 1) + j] : i;
      all &= inside(&r[l], c->gdim, c->x + v * c->gdim);
    }
    if (all) return l + 1;
  }
  return 0;
}

static dkho_status label_boundary(importer *m, json_t *list) {
  int n = (int)json_array_size(list);
  region *r;
  const char **names;
  int32_t *label;
  if (!ARENA_NEW(&m->mem, r, n) || !ARENA_NEW(&m->mem, names, n + 1)) return DKHO_E_MEMORY;
  names[0] = "interior";
  for (int i = 0; i < n; i++) {
    char where[32];
    snprintf(where, sizeof where, "labels[%d]", i);
    TRY(read_region(m, json_array_get(list, (size_t)i), where, &r[i]));
    names[i + 1] = r[i].name;
  }
  for (int k = 0; k <= m->c->dim; k++) m->c->label[k] = NULL; /* the mesh's own, which these replace */
  TRY(cx_name_labels(m->c, n + 1, names));
  for (int k = 0; k < m->c->dim; k++) {
    if (!ARENA_NEW(&m->mem, label, m->c->n[k])) return DKHO_E_MEMORY;
    for (int64_t i = 0; i < m->c->n[k]; i++) label[i] = label_of(m->c, k, i, n, r);
    TRY(cx_set_labels(m->c, k, label));
  }
  return DKHO_OK;
}

dkho_status import_mesh(importer *m) {
  const char *name;
  json_t *labels;
  TRY(spec_text(m->root, "import", "mesh", NULL, &m->mem, &name));
  char *path = import_path(m, name);
  if (!path) return DKHO_E_MEMORY;
  TRY(m->hooks && m->hooks->mesh ? m->hooks->mesh(m->hooks->user, path, &m->c, &m->report)
                                 : mesh_read(&m->c, path, NULL, &m->report));
  if (m->c->dim < 1) return fail(DKHO_E_INPUT, "%s: a mesh of points alone", path);
  TRY(spec_array(m->root, "import", "labels", 0, CX_LABELS_MAX - 1, &labels));
  return labels ? label_boundary(m, labels) : DKHO_OK;
}

/* A static field to be filled by the caller; NULL: no memory or no room. */
static double *add_column(importer *m, const char *name, int digit, int degree, int channels) {
  if (m->fields == DATA_FIELDS_MAX) {
    fail(DKHO_E_INPUT, "more than %d fields", DATA_FIELDS_MAX);
    return NULL;
  }
  import_field *f = &m->field[m->fields];
  char full[32];
  snprintf(full, sizeof full, digit < 0 ? "%s" : "%s%d", name, digit);
  double *values = arena_take(&m->mem, (size_t)(m->c->n[degree] * channels), sizeof *values);
  char *own = arena_strdup(&m->mem, full);
  if (!values || !own) return NULL;
  f->f = (data_field){.name = own, .role = DATA_STATIC, .degree = degree, .channels = channels, .scale = 1};
  f->values = values;
  m->fields++;
  return values;
}

static dkho_status add_measure(importer *m, const char *name, int k) {
  double *v = add_column(m, name, -1, k, 1);
  if (!v) return DKHO_E_MEMORY;
  memcpy(v, m->c->measure[k], (size_t)m->c->n[k] * sizeof *v);
  return DKHO_OK;
}

/* One-hot labels of degree k; of a degree without labels, the mean of the vertices'. */
static dkho_status add_labels(importer *m, int k) {
  cx *c = m->c;
  if (c->labels < 2 || (!c->label[k] && !c->label[0])) return DKHO_OK;
  double *v = add_column(m, "label", k, k, c->labels), *vertex;
  if (!v) return DKHO_E_MEMORY;
  if (c->label[k] || k == 0) {
    static_onehot(c, k, v);
    return DKHO_OK;
  }
  if (!MEM_NEW(vertex, c->n[0] * c->labels)) return DKHO_E_MEMORY;
  static_onehot(c, 0, vertex);
  static_vertex_mean(c, k, c->labels, vertex, v);
  mem_free(vertex);
  return DKHO_OK;
}

/* Distance to each labelled part of the boundary, over the diagonal of the bounding box. */
static dkho_status add_distances(importer *m) {
  cx *c = m->c;
  int parts = 0;
  int32_t *part;
  uint8_t *mask;
  if (!c->label[0]) return DKHO_OK;
  if (!ARENA_NEW(&m->mem, part, c->labels) || !ARENA_NEW(&m->mem, mask, c->n[0])) return DKHO_E_MEMORY;
  for (int l = 1; l < c->labels; l++)
    for (int64_t i = 0; i < c->n[0]; i++)
      if (c->label[0][i] == l) {
        part[parts++] = l;
        break;
      }
  if (parts == 0) return DKHO_OK;
  double *v = add_column(m, "distance", 0, 0, parts), *column;
  if (!v || !ARENA_NEW(&m->mem, column, c->n[0])) return DKHO_E_MEMORY;
  for (int p = 0; p < parts; p++) {
    for (int64_t i = 0; i < c->n[0]; i++) mask[i] = c->label[0][i] == part[p];
    static_distance(c, mask, static_diagonal(c), column);
    for (int64_t i = 0; i < c->n[0]; i++) v[i * parts + p] = column[i];
  }
  return DKHO_OK;
}

dkho_status import_geometry(importer *m) {
  cx *c = m->c;
  double *v;
  for (int k = 0; k <= m->top; k++) {
    if (!(v = add_column(m, "position", k, k, c->gdim))) return DKHO_E_MEMORY;
    static_positions(c, k, v);
  }
  if (m->top >= 1) {
    if (!(v = add_column(m, "tangent", -1, 1, c->gdim))) return DKHO_E_MEMORY;
    static_tangents(c, v);
    TRY(add_measure(m, "length", 1));
  }
  if (m->top >= 2 && c->gdim == 3) {
    if (!(v = add_column(m, "normal", -1, 2, 3))) return DKHO_E_MEMORY;
    static_normals(c, v);
  }
  if (m->top >= 2) TRY(add_measure(m, "area", 2));
  for (int k = 0; k <= m->top; k++) TRY(add_labels(m, k));
  TRY(add_distances(m));
  if (!(v = add_column(m, "weight", -1, 0, 1))) return DKHO_E_MEMORY;
  static_lumped(c, v);
  for (int k = 0; k <= m->top && m->hooks && m->hooks->spectral; k++) {
    if (!(v = add_column(m, "spectral", k, k, m->modes))) return DKHO_E_MEMORY;
    TRY(m->hooks->spectral(m->hooks->user, c, k, m->modes, v));
  }
  return DKHO_OK;
}
