/* npy.c: the .npy format. The header is a Python dict literal with three known keys; nothing else of Python is read. */
#include "data/npy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct cursor {
  const char *at, *end, *name;
} cursor;

static dkho_status bad_header(const cursor *c, const char *what) {
  return fail(DKHO_E_FORMAT, "%s: header: %s", c->name, what);
}

static void skip_blanks(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

static int take_text(cursor *c, const char *text) {
  skip_blanks(c);
  size_t n = strlen(text);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return 0;
  c->at += n;
  return 1;
}

/* 'text' or "text", as a view. */
static dkho_status quoted(cursor *c, const char **from, int *length) {
  skip_blanks(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return bad_header(c, "expected quoted text");
  char mark = *c->at++;
  *from = c->at;
  while (c->at < c->end && *c->at != mark && c->at - *from < 1000) c->at++;
  if (c->at == c->end || *c->at != mark) return bad_header(c, "quoted text without an end");
  *length = (int)(c->at++ - *from);
  return DKHO_OK;
}

/* Type texts of the four types, little-endian; nothing else is converted in silence. */
static dkho_status descr(cursor *c, npy *a) {
  static const struct {
    const char *text;
    st_dtype dtype;
  } known[] = {{"<f4", ST_F32}, {"<f8", ST_F64}, {"<i4", ST_I32}, {"<i8", ST_I64}};
  const char *from;
  int n;
  skip_blanks(c);
  if (c->at < c->end && *c->at == '[') return bad_header(c, "'descr': structured types are not supported");
  TRY(quoted(c, &from, &n));
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (n == 3 && memcmp(from, known[i].text, 3) == 0) return a->dtype = known[i].dtype, DKHO_OK;
  return fail(DKHO_E_FORMAT, "%s: header: 'descr': found '%.*s', expected <f4, <f8, <i4 or <i8", c->name,
              n < 40 ? n : 40, from);
}

static dkho_status order(cursor *c) {
  if (take_text(c, "False")) return DKHO_OK;
  if (take_text(c, "True"))
    return fail(DKHO_E_FORMAT,
                "%s: header: 'fortran_order': the array is stored by columns; save numpy.ascontiguousarray(a)",
                c->name);
  return bad_header(c, "'fortran_order': expected True or False");
}

static dkho_status parse_extent(cursor *c, uint64_t *out) {
  skip_blanks(c);
  const char *from = c->at;
  *out = 0;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
    if (*out > (UINT64_C(1) << 58)) return bad_header(c, "'shape': an extent is too large");
    *out = *out * 10 + (uint64_t)(*c->at++ - '0');
  }
  return c->at == from ? bad_header(c, "'shape': expected a number") : DKHO_OK;
}

/* A tuple of Python: (), (n,), (n, m), with a comma at the end or without. */
static dkho_status shape(cursor *c, npy *a) {
  if (!take_text(c, "(")) return bad_header(c, "'shape': expected (");
  while (!take_text(c, ")")) {
    if (a->rank == ST_RANK_MAX) return bad_header(c, "'shape': more than 8 axes");
    TRY(parse_extent(c, &a->shape[a->rank++]));
    if (take_text(c, ",")) continue;
    if (!take_text(c, ")")) return bad_header(c, "'shape': expected , or )");
    if (a->rank == 1) return bad_header(c, "'shape': expected (n,) for one axis");
    break;
  }
  return DKHO_OK;
}

/* The header's dictionary of Python: three keys, each once, in any order. */
static dkho_status dictionary(cursor *c, npy *a) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  int seen[3] = {0};
  if (!take_text(c, "{")) return bad_header(c, "expected {");
  while (!take_text(c, "}")) {
    const char *from;
    int n, k = 0;
    TRY(quoted(c, &from, &n));
    while (k < 3 && (strlen(keys[k]) != (size_t)n || memcmp(from, keys[k], (size_t)n) != 0)) k++;
    if (k == 3) return fail(DKHO_E_FORMAT, "%s: header: unknown key '%.*s'", c->name, n < 40 ? n : 40, from);
    if (seen[k]++) return fail(DKHO_E_FORMAT, "%s: header: '%s' is given twice", c->name, keys[k]);
    if (!take_text(c, ":")) return bad_header(c, "expected :");
    TRY(k == 0 ? descr(c, a) : k == 1 ? order(c) : shape(c, a));
    if (take_text(c, ",")) continue;
    if (!take_text(c, "}")) return bad_header(c, "expected , or }");
    break;
  }
  skip_blanks(c);
  if (c->at != c->end) return bad_header(c, "text after }");
  for (int k = 0; k < 3; k++)
    if (!seen[k]) return fail(DKHO_E_FORMAT, "%s: header: '%s' is missing", c->name, keys[k]);
  return DKHO_OK;
}

/* Where the header's text lies: 2 bytes of length in version 1, 4 in versions 2 and 3. */
static dkho_status locate(const unsigned char *b, size_t size, const char *name, size_t *start, size_t *length) {
  static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (size < 10 || memcmp(b, magic, sizeof magic) != 0) return fail(DKHO_E_FORMAT, "%s: not a .npy file", name);
  if (b[6] < 1 || b[6] > 3 || b[7] != 0)
    return fail(DKHO_E_FORMAT, "%s: version %d.%d, expected 1.0, 2.0 or 3.0", name, b[6], b[7]);
  *start = b[6] == 1 ? 10 : 12;
  if (size < *start) return fail(DKHO_E_FORMAT, "%s: ends inside its header", name);
  *length = (size_t)b[8] | (size_t)b[9] << 8;
  if (b[6] > 1) *length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (*length > size - *start)
    return fail(DKHO_E_FORMAT, "%s: a header of %zu bytes in a file of %zu", name, *length, size);
  return DKHO_OK;
}

dkho_status npy_parse(npy *out, const void *bytes, size_t size, const char *name) {
  *out = (npy){0};
  size_t start = 0, length = 0;
  TRY(locate(bytes, size, name, &start, &length));
  cursor c = {(const char *)bytes + start, (const char *)bytes + start + length, name};
  TRY(dictionary(&c, out));
  uint64_t left = size - start - length, unit = st_dtype_size(out->dtype);
  int empty = 0;
  out->count = 1;
  for (int i = 0; i < out->rank; i++) empty |= out->shape[i] == 0;
  for (int i = 0; i < out->rank && !empty; i++) {
    /* an extent is at least 1, so the count never exceeds what is there without being caught */
    if (out->shape[i] > left / unit / out->count)
      return fail(DKHO_E_FORMAT, "%s: the shape asks for more than the %llu bytes of data there are", name,
                  (unsigned long long)left);
    out->count *= out->shape[i];
  }
  if (empty) out->count = 0;
  if (out->count * unit != left)
    return fail(DKHO_E_FORMAT, "%s: found %llu bytes of data, expected %llu", name, (unsigned long long)left,
                (unsigned long long)(out->count * unit));
  out->data = (const unsigned char *)bytes + start + length;
  return DKHO_OK;
}

dkho_status npy_open(npy *out, const char *path) {
  file_map map;
  *out = (npy){0};
  TRY(file_map_open(&map, path));
  dkho_status s = npy_parse(out, map.bytes, map.size, path);
  out->map = map;
  if (s != DKHO_OK) npy_close(out);
  return s;
}

void npy_close(npy *a) {
  file_map_close(&a->map);
  *a = (npy){0};
}

double npy_double(const npy *a, uint64_t i) {
  assert(i < a->count);
  const unsigned char *from = a->data + i * st_dtype_size(a->dtype);
  union {
    float f;
    double d;
    int32_t i;
    int64_t l;
  } v;
  memcpy(&v, from, st_dtype_size(a->dtype));
  switch (a->dtype) {
  case ST_F32:
    return (double)v.f;
  case ST_F64:
    return v.d;
  case ST_I32:
    return (double)v.i;
  default:
    return (double)v.l;
  }
}

size_t npy_head(char head[NPY_HEAD_MAX], st_dtype dtype, int rank, const uint64_t *extents) {
  static const char *const names[] = {[ST_I32] = "<i4", [ST_I64] = "<i8", [ST_F32] = "<f4", [ST_F64] = "<f8"};
  assert(dtype >= ST_I32 && rank >= 0 && rank <= ST_RANK_MAX);
  char *text = head + 10;
  size_t room = NPY_HEAD_MAX - 10, n;
  n = (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (", names[dtype]);
  for (int i = 0; i < rank; i++)
    n += (size_t)snprintf(text + n, room - n, i ? " %llu," : "%llu,", (unsigned long long)extents[i]);
  n += (size_t)snprintf(text + n, room - n, "), }");
  while ((10 + n + 1) % 64) text[n++] = ' '; /* data begin at a multiple of 64 */
  text[n++] = '\n';
  memcpy(head, "\x93NUMPY\x01\x00", 8);
  head[8] = (char)(n & 255), head[9] = (char)(n >> 8);
  return 10 + n;
}

dkho_status npy_save(const char *path, int force, st_dtype dtype, int rank, const uint64_t *extents, const void *data) {
  char head[NPY_HEAD_MAX];
  size_t n = npy_head(head, dtype, rank, extents), count = 1;
  for (int i = 0; i < rank; i++) count *= extents[i];
  file_out f;
  TRY(file_open(&f, path, force));
  dkho_status s;
  TRY_GOTO(file_write(&f, head, n));
  TRY_GOTO(file_write(&f, data, count * st_dtype_size(dtype)));
  return file_commit(&f);
done:
  file_abort(&f);
  return s;
}
