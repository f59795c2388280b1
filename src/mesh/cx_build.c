/* cx_build.c: from top simplices, or from vertex lists of every degree, to the oriented complex. Everything rests on one
 * stable counting sort of vertex tuples, so the work is linear in the number of simplices and the numbering depends on
 * the input alone. */
#include "base/limit.h"
#include "mesh/cx_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* *perm (owned by the caller) orders n tuples of w entries in 0 … buckets-1 lexicographically, equal ones by index. */
static dkho_status tuple_sort(int64_t n, int w, const int32_t *tuple, int64_t buckets, int64_t **perm) {
  int64_t *from = NULL, *to = NULL, *start = NULL;
  if (!MEM_NEW(from, n) || !MEM_NEW(to, n) || !MEM_NEW(start, buckets + 1)) {
    mem_free(from);
    mem_free(to);
    return DKHO_E_MEMORY;
  }
  for (int64_t i = 0; i < n; i++) from[i] = i;
  for (int j = w - 1; j >= 0; j--) {
    memset(start, 0, (size_t)(buckets + 1) * sizeof *start);
    for (int64_t i = 0; i < n; i++) start[tuple[i * w + j] + 1]++;
    for (int64_t b = 0; b < buckets; b++) start[b + 1] += start[b];
    for (int64_t i = 0; i < n; i++) to[start[tuple[from[i] * w + j]]++] = from[i];
    int64_t *t = from;
    from = to;
    to = t;
  }
  mem_free(to);
  mem_free(start);
  *perm = from;
  return DKHO_OK;
}

static int same_tuple(const int32_t *tuple, int w, int64_t i, int64_t j) {
  return memcmp(tuple + i * w, tuple + j * w, (size_t)w * sizeof *tuple) == 0;
}

/* Faces of degree k in a top simplex, in the order in which CX_APPEARANCE meets them. */
static int local_faces(int dim, int k, const int8_t (**table)[3]) {
  static const int8_t triangle_edge[][3] = {{0, 1, 0}, {1, 2, 0}, {2, 0, 0}};
  static const int8_t tet_edge[][3] = {{0, 1, 0}, {1, 2, 0}, {2, 0, 0}, {0, 3, 0}, {1, 3, 0}, {2, 3, 0}};
  static const int8_t tet_triangle[][3] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}};
  *table = dim == 2 ? triangle_edge : k == 1 ? tet_edge : tet_triangle;
  return dim == 2 ? 3 : k == 1 ? 6 : 4;
}

/* Sorted vertex tuples of all k-faces of all top simplices, with repetitions: count × (k+1), owned by the caller. */
static dkho_status gather_faces(const cx *c, int k, int64_t *count, int32_t **tuple) {
  const int8_t(*table)[3];
  int per = local_faces(c->dim, k, &table);
  *count = c->n[c->dim] * per;
  if (!(*tuple = mem_alloc((size_t)*count, (size_t)(k + 1) * sizeof **tuple))) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < *count; i++) {
    const int32_t *top = c->vert[c->dim] + i / per * (c->dim + 1);
    for (int j = 0; j <= k; j++) (*tuple)[i * (k + 1) + j] = top[table[i % per][j]];
    cx_sort_vertices(k, *tuple + i * (k + 1));
  }
  return DKHO_OK;
}

/* Numbers the k-simplices below the top: n[k] and vert[k], 0 < k < dim. */
static dkho_status number_simplices(cx *c, int k, cx_order order) {
  int64_t count, *perm = NULL, unique = 0;
  int32_t *tuple = NULL;
  uint8_t *first = NULL; /* by item: its first appearance */
  int w = k + 1;
  dkho_status s = gather_faces(c, k, &count, &tuple);
  if (s == DKHO_OK) s = tuple_sort(count, w, tuple, c->n[0], &perm);
  if (s == DKHO_OK && !MEM_NEW(first, count)) s = DKHO_E_MEMORY;
  if (s != DKHO_OK) goto done;
  for (int64_t i = 0; i < count; i++) {
    first[perm[i]] = i == 0 || !same_tuple(tuple, w, perm[i - 1], perm[i]);
    unique += first[perm[i]];
  }
  if (unique > INT32_MAX) {
    s = fail(DKHO_E_INPUT, "%lld simplices of degree %d, expected at most 2^31-1", (long long)unique, k);
    goto done;
  }
  c->n[k] = unique;
  if (!(c->vert[k] = arena_take(&c->mem, (size_t)unique, (size_t)w * sizeof(int32_t)))) {
    s = DKHO_E_MEMORY;
    goto done;
  }
  for (int64_t i = 0, at = 0; i < count; i++) {
    int64_t item = order == CX_LEX ? perm[i] : i;
    if (first[item]) memcpy(c->vert[k] + w * at++, tuple + item * w, (size_t)w * sizeof *tuple);
  }
done:
  mem_free(tuple);
  mem_free(perm);
  mem_free(first);
  return s;
}

/* Range, repetition, and the ascending order of all but top triangles and tetrahedra. */
static dkho_status check_list(const cx *c, int k) {
  int ascending = k == 1 || k < c->dim;
  for (int64_t i = 0; i < c->n[k]; i++) {
    const int32_t *v = c->vert[k] + i * (k + 1);
    for (int j = 0; j <= k; j++) {
      if (v[j] < 0 || v[j] >= c->n[0])
        return fail(DKHO_E_INPUT, "%s %lld: vertex index %d, expected 0 … %lld", cx_noun(k), (long long)i, v[j],
                    (long long)c->n[0] - 1);
      for (int m = 0; m < j; m++) {
        if (v[m] == v[j])
          return fail(DKHO_E_INPUT, "%s %lld: vertex %d is listed twice", cx_noun(k), (long long)i, v[j]);
      }
      if (ascending && j && v[j - 1] > v[j])
        return fail(DKHO_E_INPUT, "%s %lld: vertices %d, %d are not in ascending order", cx_noun(k), (long long)i,
                    v[j - 1], v[j]);
    }
  }
  return DKHO_OK;
}

static dkho_status check_counterclockwise(const cx *c) {
  for (int64_t i = 0; i < c->n[2]; i++) {
    const int32_t *v = c->vert[2] + 3 * i;
    if (cx_area2(c->x + 2 * (int64_t)v[0], c->x + 2 * (int64_t)v[1], c->x + 2 * (int64_t)v[2]) < 0)
      return fail(DKHO_E_INPUT, "triangle %lld is clockwise", (long long)i);
  }
  return DKHO_OK;
}

static dkho_status check_duplicate_tops(const cx *c) {
  int w = c->dim + 1;
  int64_t n = c->n[c->dim], *perm = NULL;
  int32_t *tuple = mem_alloc((size_t)n, (size_t)w * sizeof *tuple);
  if (!tuple) return DKHO_E_MEMORY;
  memcpy(tuple, c->vert[c->dim], (size_t)(n * w) * sizeof *tuple);
  for (int64_t i = 0; i < n; i++) cx_sort_vertices(c->dim, tuple + i * w);
  dkho_status s = tuple_sort(n, w, tuple, c->n[0], &perm);
  for (int64_t i = 1; s == DKHO_OK && i < n; i++) {
    if (same_tuple(tuple, w, perm[i - 1], perm[i]))
      s = fail(DKHO_E_INPUT, "%s %lld has the same vertices as %s %lld", cx_noun(c->dim), (long long)perm[i],
               cx_noun(c->dim), (long long)perm[i - 1]);
  }
  mem_free(perm);
  mem_free(tuple);
  return s;
}

/* Puts face f with this sign into the ascending row of simplex i. */
static void insert_face(cx *c, int k, int64_t i, int filled, int32_t f, int sign) {
  int32_t *face = c->face[k] + i * (k + 1);
  int8_t *row = c->sign[k] + i * (k + 1);
  int j = filled;
  for (; j > 0 && face[j - 1] > f; j--) {
    face[j] = face[j - 1];
    row[j] = row[j - 1];
  }
  face[j] = f;
  row[j] = (int8_t)sign;
}

/* The face of simplex i without its vertex `omit`, ascending, in v; its sign in the boundary of i:
 * ∂[v0 … vk] = Σ_j (-1)^j [v0 … v̂j … vk], and faces are stored ascending. */
static int face_without(const cx *c, int k, int64_t i, int omit, int32_t *v) {
  const int32_t *own = c->vert[k] + i * (k + 1);
  for (int j = 0, m = 0; j <= k; j++) {
    if (j != omit) v[m++] = own[j];
  }
  int parity = cx_sort_vertices(k - 1, v);
  return omit % 2 ? -parity : parity;
}

/* face[k], sign[k] for k ≥ 2: the listed (k-1)-simplices and all faces of k-simplices are sorted together; a run of
 * equal tuples then starts with the listed one, because the sort is stable and the list comes first. */
static dkho_status link_faces(cx *c, int k) {
  int64_t listed = c->n[k - 1], count = listed + c->n[k] * (k + 1), *perm = NULL;
  int32_t *id = NULL, *tuple = mem_alloc((size_t)count, (size_t)k * sizeof *tuple);
  if (!tuple) return DKHO_E_MEMORY;
  memcpy(tuple, c->vert[k - 1], (size_t)(listed * k) * sizeof *tuple);
  for (int64_t i = listed; i < count; i++) {
    int64_t item = i - listed;
    face_without(c, k, item / (k + 1), (int)(item % (k + 1)), tuple + i * k);
  }
  dkho_status s = tuple_sort(count, k, tuple, c->n[0], &perm);
  if (s == DKHO_OK && !MEM_NEW(id, count - listed)) s = DKHO_E_MEMORY;
  int64_t now = -1;
  for (int64_t i = 0; s == DKHO_OK && i < count; i++) {
    int64_t item = perm[i];
    int fresh = i == 0 || !same_tuple(tuple, k, perm[i - 1], item);
    if (item < listed && !fresh)
      s = fail(DKHO_E_INPUT, "%s %lld has the same vertices as %s %lld", cx_noun(k - 1), (long long)item,
               cx_noun(k - 1), (long long)now);
    else if (item < listed)
      now = item;
    else if (fresh)
      s = fail(DKHO_E_INPUT, "%s %lld: the %s opposite its vertex number %lld is not listed", cx_noun(k),
               (long long)((item - listed) / (k + 1)), cx_noun(k - 1), (long long)((item - listed) % (k + 1)));
    else
      id[item - listed] = (int32_t)now;
  }
  for (int64_t p = 0; s == DKHO_OK && p < count - listed; p++) {
    int32_t v[CX_DEGREES];
    int omit = (int)(p % (k + 1));
    insert_face(c, k, p / (k + 1), omit, id[p], face_without(c, k, p / (k + 1), omit, v));
  }
  mem_free(id);
  mem_free(perm);
  mem_free(tuple);
  return s;
}

/* coptr, coface, cosign of degree k: the transpose of face[k+1]; every k-simplex must have a coface. */
static dkho_status transpose_faces(cx *c, int k) {
  int64_t entries = c->n[k + 1] * (k + 2), *ptr;
  if (!ARENA_NEW(&c->mem, c->coptr[k], c->n[k] + 1) || !ARENA_NEW(&c->mem, c->coface[k], entries) ||
      !ARENA_NEW(&c->mem, c->cosign[k], entries))
    return DKHO_E_MEMORY;
  ptr = c->coptr[k];
  for (int64_t p = 0; p < entries; p++) ptr[c->face[k + 1][p] + 1]++;
  for (int64_t i = 0; i < c->n[k]; i++) {
    if (!ptr[i + 1]) return fail(DKHO_E_INPUT, "%s %lld belongs to no %s", cx_noun(k), (long long)i, cx_noun(k + 1));
    ptr[i + 1] += ptr[i];
  }
  for (int64_t p = 0; p < entries; p++) { /* ptr[f] runs ahead while filling and is shifted back below */
    int64_t at = ptr[c->face[k + 1][p]]++;
    c->coface[k][at] = (int32_t)(p / (k + 2));
    c->cosign[k][at] = c->sign[k + 1][p];
  }
  memmove(ptr + 1, ptr, (size_t)c->n[k] * sizeof *ptr);
  ptr[0] = 0;
  return DKHO_OK;
}

dkho_status cx_assemble(cx *c) {
  for (int k = 1; k <= c->dim; k++) {
    if (k == c->dim) TRY(limit_check(LIMIT_SIMPLICES, (uint64_t)c->n[k], DKHO_E_INPUT));
    TRY(check_list(c, k));
    if (!(c->face[k] = arena_take(&c->mem, (size_t)c->n[k], (size_t)(k + 1) * sizeof(int32_t))) ||
        !(c->sign[k] = arena_take(&c->mem, (size_t)c->n[k], (size_t)(k + 1))))
      return DKHO_E_MEMORY;
  }
  if (c->dim == 2 && c->gdim == 2) TRY(check_counterclockwise(c));
  if (c->dim) TRY(check_duplicate_tops(c));
  for (int64_t i = 0; c->dim && i < c->n[1]; i++) {
    insert_face(c, 1, i, 0, c->vert[1][2 * i], -1);
    insert_face(c, 1, i, 1, c->vert[1][2 * i + 1], 1);
  }
  for (int k = 2; k <= c->dim; k++) TRY(link_faces(c, k));
  for (int k = 0; k < c->dim; k++) TRY(transpose_faces(c, k));
  return cx_geometry(c);
}

dkho_status cx_start(cx **out, int gdim, int64_t n0, const double *x, int dim) {
  *out = NULL;
  if (gdim < 2 || gdim > 3) return fail(DKHO_E_INPUT, "space dimension: found %d, expected 2 or 3", gdim);
  if (dim < 0 || dim > gdim)
    return fail(DKHO_E_INPUT, "degree of the top simplices: found %d, expected 0 … %d", dim, gdim);
  if (n0 < 1 || n0 > INT32_MAX)
    return fail(DKHO_E_INPUT, "number of vertices: found %lld, expected 1 … 2^31-1", (long long)n0);
  TRY(limit_check(LIMIT_SIMPLICES, (uint64_t)n0, DKHO_E_INPUT));
  for (int64_t i = 0; i < n0 * gdim; i++) {
    if (!isfinite(x[i]))
      return fail(DKHO_E_INPUT, "vertex %lld: coordinate %g is not finite", (long long)(i / gdim), x[i]);
  }
  cx *c;
  if (!MEM_NEW(c, 1)) return DKHO_E_MEMORY;
  c->dim = dim;
  c->gdim = gdim;
  c->n[0] = n0;
  if (!ARENA_NEW(&c->mem, c->x, n0 * gdim)) {
    cx_free(c);
    return DKHO_E_MEMORY;
  }
  memcpy(c->x, x, (size_t)(n0 * gdim) * sizeof *x);
  *out = c;
  return DKHO_OK;
}

/* A complex of points: each vertex is listed exactly once. */
static dkho_status check_points(const cx *c, int64_t tops, const int32_t *top) {
  uint8_t *seen;
  if (tops != c->n[0])
    return fail(DKHO_E_INPUT, "%lld points listed for %lld vertices", (long long)tops, (long long)c->n[0]);
  if (!MEM_NEW(seen, c->n[0])) return DKHO_E_MEMORY;
  dkho_status s = DKHO_OK;
  for (int64_t i = 0; s == DKHO_OK && i < tops; i++) {
    if (top[i] < 0 || top[i] >= c->n[0])
      s = fail(DKHO_E_INPUT, "point %lld: vertex index %d, expected 0 … %lld", (long long)i, top[i],
               (long long)c->n[0] - 1);
    else if (seen[top[i]]++)
      s = fail(DKHO_E_INPUT, "point %lld: vertex %d is listed before", (long long)i, top[i]);
  }
  mem_free(seen);
  return s;
}

/* Copies the top simplices; edges become ascending, planar triangles counter-clockwise. Checks what the sort and the
 * turning rely on. */
static dkho_status take_tops(cx *c, int64_t tops, const int32_t *top) {
  int w = c->dim + 1;
  c->n[c->dim] = tops;
  int32_t *own = arena_take(&c->mem, (size_t)tops, (size_t)w * sizeof *own);
  if (!own) return DKHO_E_MEMORY;
  c->vert[c->dim] = own;
  memcpy(own, top, (size_t)(tops * w) * sizeof *own);
  if (c->dim == 1) {
    for (int64_t i = 0; i < tops; i++) cx_sort_vertices(1, own + 2 * i);
  }
  TRY(check_list(c, c->dim));
  for (int64_t i = 0; c->dim == 2 && c->gdim == 2 && i < tops; i++) {
    int32_t *v = own + 3 * i;
    if (cx_area2(c->x + 2 * (int64_t)v[0], c->x + 2 * (int64_t)v[1], c->x + 2 * (int64_t)v[2]) < 0) {
      int32_t t = v[1];
      v[1] = v[2];
      v[2] = t;
    }
  }
  return DKHO_OK;
}

dkho_status cx_build(cx **out, int gdim, int64_t n0, const double *x, int dim, int64_t tops, const int32_t *top,
                     cx_order order) {
  cx *c;
  *out = NULL;
  TRY(cx_start(&c, gdim, n0, x, dim));
  dkho_status s = DKHO_OK;
  if (tops < 1 || tops > INT32_MAX)
    s = fail(DKHO_E_INPUT, "number of top simplices: found %lld, expected 1 … 2^31-1", (long long)tops);
  else
    s = limit_check(LIMIT_SIMPLICES, (uint64_t)tops, DKHO_E_INPUT);
  if (s == DKHO_OK) s = dim == 0 ? check_points(c, tops, top) : take_tops(c, tops, top);
  for (int k = 1; s == DKHO_OK && k < dim; k++) s = number_simplices(c, k, order);
  if (s == DKHO_OK) s = cx_assemble(c);
  if (s == DKHO_OK)
    *out = c;
  else
    cx_free(c);
  return s;
}
