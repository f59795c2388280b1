/* raw.c: the intermediate mesh: growing, naming, freeing. The rules are in raw_rules.c and the other raw_*.c. */
#include "mesh/raw.h"

#include <math.h>
#include <string.h>

enum { NAME_MAX_BYTES = 127 };

dkho_status raw_grow(void **block, int64_t n, int64_t *room, size_t size) {
  if (n < *room) return DKHO_OK;
  int64_t wider = *room ? 2 * *room : 64;
  void *fresh = mem_resize(*block, (size_t)n, (size_t)wider, size);
  if (!fresh) return DKHO_E_MEMORY;
  *block = fresh;
  *room = wider;
  return DKHO_OK;
}

dkho_status raw_corner(raw_corners *list, int64_t v) {
  void *block = list->vert;
  TRY(raw_grow(&block, list->n, &list->room, sizeof *list->vert));
  list->vert = block;
  list->vert[list->n++] = v < 0 || v > INT32_MAX ? -1 : (int32_t)v;
  return DKHO_OK;
}

int raw_dimension(raw_shape shape) {
  static const int dimension[RAW_SHAPES] = {0, 1, 2, 2, 3, 3, 3, 3};
  return dimension[shape];
}

dkho_status raw_point(raw *m, const scan *at, const double x[3]) {
  if (m->points == INT32_MAX) return scan_fail(at, "more than %d points", INT32_MAX);
  for (int c = 0; c < 3; c++)
    if (!isfinite(x[c])) {
      scan_fail(at, "point %lld: coordinate %c is not finite", (long long)m->points, "xyz"[c]);
      return DKHO_E_NONFINITE;
    }
  void *block = m->x;
  TRY(raw_grow(&block, m->points, &m->room, 3 * sizeof *m->x));
  m->x = block;
  memcpy(m->x + 3 * m->points++, x, 3 * sizeof *x);
  return DKHO_OK;
}

dkho_status raw_element(raw *m, raw_shape shape, int64_t corners, const int32_t *vert, int32_t tag) {
  int64_t *number = &m->report->elements[raw_dimension(shape)];
  if (*number == INT32_MAX || corners > INT32_MAX)
    return fail(DKHO_E_FORMAT, "%s: more than %d elements of one dimension, or corners of one", m->file, INT32_MAX);
  void *block = m->cell;
  TRY(raw_grow(&block, m->cells, &m->cells_room, sizeof *m->cell));
  m->cell = block;
  while (m->verts + corners > m->verts_room) {
    block = m->vert;
    TRY(raw_grow(&block, m->verts_room, &m->verts_room, sizeof *m->vert));
    m->vert = block;
  }
  memcpy(m->vert + m->verts, vert, (size_t)corners * sizeof *vert);
  m->cell[m->cells++] = (raw_cell){m->verts, (int32_t)corners, tag, shape};
  m->verts += corners;
  (*number)++;
  return DKHO_OK;
}

/* Bytes of the UTF-8 character at p (1 … 4), 0 when it is none or a control character. */
static size_t character(const unsigned char *p, size_t left) {
  size_t n = p[0] < 0x80                   ? 1
             : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
             : (p[0] & 0xf0) == 0xe0       ? 3
             : (p[0] & 0xf8) == 0xf0       ? 4
                                           : 0;
  if (n == 0 || n > left) return 0;
  if (n == 1) return p[0] >= 0x20 && p[0] != 0x7f;
  uint32_t code = p[0] & (0xffu >> (n + 1));
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (p[i] & 0x3f);
  }
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (code >= 0x80 && code < 0xa0))
    return 0;
  return n;
}

dkho_status raw_group(raw *m, int dim, int32_t tag, scan_view name) {
  if (name.n == 0) return DKHO_OK;
  char clean[NAME_MAX_BYTES + 1];
  const unsigned char *p = (const unsigned char *)name.p;
  size_t used = 0;
  for (size_t i = 0; i < name.n;) {
    size_t n = character(p + i, name.n - i), room = n ? n : 1;
    if (used + room > NAME_MAX_BYTES) break;
    if (n == 0) clean[used] = '_';
    if (n > 0) memcpy(clean + used, p + i, n);
    used += room;
    i += room;
  }
  clean[used] = 0;
  if (m->names >= CX_LABELS_MAX && !m->exact) return DKHO_OK; /* there are no more labels than these */
  if (m->names >= CX_LABELS_MAX) return fail(DKHO_E_FORMAT, "%s: more than %d labels", m->file, CX_LABELS_MAX);
  void *block = m->name;
  int64_t room = m->names_room;
  TRY(raw_grow(&block, m->names, &room, sizeof *m->name));
  m->name = block;
  m->names_room = (int)room;
  char *copy = mem_strdup(clean);
  if (!copy) return DKHO_E_MEMORY;
  m->name[m->names++] = (raw_name){dim, tag, copy};
  return DKHO_OK;
}

void raw_free(raw *m) {
  mem_free(m->x);
  mem_free(m->cell);
  mem_free(m->vert);
  for (int k = 0; k < CX_DEGREES; k++) {
    mem_free(m->part[k].vert);
    mem_free(m->part[k].tag);
    mem_free(m->part[k].from);
  }
  for (int i = 0; i < m->names; i++) mem_free(m->name[i].name);
  mem_free(m->name);
  *m = (raw){0};
}
