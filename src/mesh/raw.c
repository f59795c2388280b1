/* raw.c: the intermediate mesh: growing, naming, freeing. The rules are in raw_rules.c, raw_orient.c, raw_labels.c. */
#include "mesh/raw.h"

#include <math.h>
#include <string.h>

enum { NAME_MAX_BYTES = 127 };

const char *const raw_kind[CX_DEGREES] = {"point", "line", "triangle", "tetrahedron"};

/* Room for one more of n items; the block doubles. */
static dkho_status grow(void **block, int64_t n, int64_t *room, size_t size) {
  int64_t wider = *room ? 2 * *room : 64;
  void *fresh = mem_resize(*block, (size_t)n, (size_t)wider, size);
  if (!fresh) return DKHO_E_MEMORY;
  *block = fresh;
  *room = wider;
  return DKHO_OK;
}

dkho_status raw_point(raw *m, const scan *at, const double x[3]) {
  if (m->points == INT32_MAX) return scan_fail(at, "more than %d points", INT32_MAX);
  for (int c = 0; c < 3; c++)
    if (!isfinite(x[c])) {
      scan_fail(at, "point %lld: coordinate %c is not finite", (long long)m->points, "xyz"[c]);
      return DKHO_E_NONFINITE;
    }
  if (m->points == m->room) {
    void *block = m->x;
    TRY(grow(&block, m->points, &m->room, 3 * sizeof *m->x));
    m->x = block;
  }
  memcpy(m->x + 3 * m->points++, x, 3 * sizeof *x);
  return DKHO_OK;
}

dkho_status raw_element(raw *m, int k, const int32_t *vert, int32_t tag) {
  raw_part *p = &m->part[k];
  size_t width = (size_t)k + 1;
  if (p->n == INT32_MAX) return fail(DKHO_E_FORMAT, "%s: more than %d elements of one type", m->file, INT32_MAX);
  if (p->n == p->room) {
    void *block = p->vert;
    int64_t room = p->room;
    TRY(grow(&block, p->n, &room, width * sizeof *p->vert));
    p->vert = block;
    block = p->tag;
    TRY(grow(&block, p->n, &p->room, sizeof *p->tag));
    p->tag = block;
  }
  memcpy(p->vert + (size_t)p->n * width, vert, width * sizeof *vert);
  p->tag[p->n++] = tag;
  return DKHO_OK;
}

/* Bytes of the UTF-8 character at p (1 … 4), 0 when it is none or a control character. */
static size_t character(const unsigned char *p, size_t left) {
  size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : (p[0] & 0xf8) == 0xf0 ? 4 : 0;
  if (n == 0 || n > left) return 0;
  if (n == 1) return p[0] >= 0x20 && p[0] != 0x7f;
  uint32_t code = p[0] & (0xffu >> (n + 1));
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (p[i] & 0x3f);
  }
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (code >= 0x80 && code < 0xa0)) return 0;
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
  if (m->names == m->names_room) {
    void *block = m->name;
    int64_t room = m->names_room;
    if (m->names >= CX_LABELS_MAX) return fail(DKHO_E_FORMAT, "%s: more than %d named groups", m->file, CX_LABELS_MAX);
    TRY(grow(&block, m->names, &room, sizeof *m->name));
    m->name = block;
    m->names_room = (int)room;
  }
  char *copy = mem_strdup(clean);
  if (!copy) return DKHO_E_MEMORY;
  m->name[m->names++] = (raw_name){dim, tag, copy};
  return DKHO_OK;
}

void raw_free(raw *m) {
  mem_free(m->x);
  for (int k = 0; k < CX_DEGREES; k++) {
    mem_free(m->part[k].vert);
    mem_free(m->part[k].tag);
  }
  for (int i = 0; i < m->names; i++) mem_free(m->name[i].name);
  mem_free(m->name);
  *m = (raw){0};
}
