/* st_parse.c: the header of a container, read strictly. Whatever the format leaves open is refused, with a message of
 * its own; nothing is allocated from a declared count. docs/FORMATS.md lists the rules. */
#include "base/st_impl.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A copy of s fit for a message: printable ASCII, cut to the buffer. */
enum { CLEAN = 96 };
static const char *clean(char out[CLEAN], const char *s) {
  size_t n = 0;
  for (; s[n] && n < CLEAN - 1; n++) out[n] = s[n] >= 0x20 && s[n] < 0x7f ? s[n] : '?';
  out[n] = 0;
  return out;
}

static const char *json_kind(const json_t *v) {
  if (!v) return "nothing";
  switch (json_typeof(v)) {
  case JSON_OBJECT:
    return "an object";
  case JSON_ARRAY:
    return "an array";
  case JSON_STRING:
    return "a string";
  case JSON_INTEGER:
    return "an integer";
  case JSON_REAL:
    return "a real number";
  case JSON_TRUE:
  case JSON_FALSE:
    return "a truth value";
  default:
    return "null";
  }
}

/* Header length n, checked against the file; the JSON text without its padding of spaces is *text bytes. */
static dkho_status header_bounds(const st_file *f, size_t *n, size_t *text) {
  if (f->size < ST_PREFIX + 2)
    return fail(DKHO_E_FORMAT, "file of %zu bytes, expected at least %d", f->size, ST_PREFIX + 2);
  uint64_t declared;
  memcpy(&declared, f->bytes, sizeof declared);
  if (declared > ST_HEADER_MAX)
    return fail(DKHO_E_FORMAT, "header length: found %llu, expected at most %d", (unsigned long long)declared,
                ST_HEADER_MAX);
  if (declared > f->size - ST_PREFIX)
    return fail(DKHO_E_FORMAT, "header length: found %llu, but only %zu bytes follow", (unsigned long long)declared,
                f->size - ST_PREFIX);
  if (declared < 2)
    return fail(DKHO_E_FORMAT, "header length: found %llu, expected at least 2", (unsigned long long)declared);
  if ((ST_PREFIX + declared) % ST_DATA_ALIGN)
    return fail(DKHO_E_FORMAT, "header length: found %llu, expected a multiple of %d", (unsigned long long)declared,
                ST_DATA_ALIGN);
  const unsigned char *json = f->bytes + ST_PREFIX;
  if (json[0] != '{') return fail(DKHO_E_FORMAT, "header: begins with byte 0x%02x, expected '{'", json[0]);
  *n = *text = (size_t)declared;
  while (json[*text - 1] == ' ') --*text;
  if (json[*text - 1] != '}')
    return fail(DKHO_E_FORMAT, "header: ends with byte 0x%02x, expected '}' and spaces", json[*text - 1]);
  return DKHO_OK;
}

static dkho_status header_json(const st_file *f, size_t text, json_t **root) {
  json_error_t error;
  char buffer[CLEAN];
  *root = json_loadb((const char *)f->bytes + ST_PREFIX, text, JSON_REJECT_DUPLICATES, &error);
  if (*root) return DKHO_OK;
  if (json_error_code(&error) == json_error_out_of_memory)
    return fail(DKHO_E_MEMORY, "header: no memory to read %zu bytes of JSON", text);
  return fail(DKHO_E_FORMAT, "header: JSON, near byte %d: %s", error.position, clean(buffer, error.text));
}

static dkho_status parse_meta(st_file *f, json_t *meta) {
  if (!json_is_object(meta)) return fail(DKHO_E_FORMAT, ST_META_KEY ": found %s, expected an object", json_kind(meta));
  if (!ARENA_NEW(&f->mem, f->meta, json_object_size(meta))) return DKHO_E_MEMORY;
  const char *key, *fault;
  json_t *value;
  char buffer[CLEAN];
  json_object_foreach(meta, key, value) {
    if ((fault = st_name_fault(key)))
      return fail(DKHO_E_FORMAT, ST_META_KEY ": key '%s' %s", clean(buffer, key), fault);
    if (!json_is_string(value))
      return fail(DKHO_E_FORMAT, ST_META_KEY ": value of '%s': found %s, expected a string", key, json_kind(value));
    st_pair pair = {arena_strdup(&f->mem, key), arena_strdup(&f->mem, json_string_value(value))};
    if (!pair.key || !pair.value) return DKHO_E_MEMORY;
    f->meta[f->metas++] = pair;
  }
  qsort(f->meta, (size_t)f->metas, sizeof *f->meta, st_pair_order);
  return DKHO_OK;
}

static dkho_status parse_keys(json_t *entry) {
  static const char *const keys[] = {"dtype", "shape", "data_offsets"};
  if (!json_is_object(entry)) return fail(DKHO_E_FORMAT, "found %s, expected an object", json_kind(entry));
  for (int i = 0; i < 3; i++)
    if (!json_object_get(entry, keys[i])) return fail(DKHO_E_FORMAT, "%s is missing", keys[i]);
  if (json_object_size(entry) == 3) return DKHO_OK;
  const char *key;
  json_t *value;
  char buffer[CLEAN];
  json_object_foreach(entry, key, value) {
    int known = 0;
    for (int i = 0; i < 3; i++) known |= strcmp(key, keys[i]) == 0;
    if (!known)
      return fail(DKHO_E_FORMAT, "unknown key '%s', expected dtype, shape and data_offsets", clean(buffer, key));
  }
  return DKHO_OK;
}

static dkho_status parse_dtype(const json_t *v, st_dtype *out) {
  if (!json_is_string(v)) return fail(DKHO_E_FORMAT, "dtype: found %s, expected a string", json_kind(v));
  for (int t = ST_U8; t <= ST_F64; t++)
    if (strcmp(json_string_value(v), st_dtype_name((st_dtype)t)) == 0) {
      *out = (st_dtype)t;
      return DKHO_OK;
    }
  char buffer[CLEAN];
  return fail(DKHO_E_FORMAT, "dtype: found '%s', expected U8, I8, I32, I64, F32 or F64",
              clean(buffer, json_string_value(v)));
}

/* Element i of the array v, an integer ≥ 0. */
static dkho_status parse_index(const json_t *v, int i, const char *field, uint64_t *out) {
  const json_t *item = json_array_get(v, (size_t)i);
  if (!json_is_integer(item))
    return fail(DKHO_E_FORMAT, "%s[%d]: found %s, expected an integer", field, i, json_kind(item));
  json_int_t value = json_integer_value(item);
  if (value < 0) return fail(DKHO_E_FORMAT, "%s[%d]: found %lld, expected at least 0", field, i, (long long)value);
  *out = (uint64_t)value;
  return DKHO_OK;
}

static dkho_status parse_shape(const json_t *v, st_tensor *t, uint64_t *bytes) {
  if (!json_is_array(v)) return fail(DKHO_E_FORMAT, "shape: found %s, expected an array", json_kind(v));
  if (json_array_size(v) > ST_RANK_MAX)
    return fail(DKHO_E_FORMAT, "shape: found %zu extents, expected at most %d", json_array_size(v), ST_RANK_MAX);
  t->rank = (int)json_array_size(v);
  for (int i = 0; i < t->rank; i++) TRY(parse_index(v, i, "shape", &t->shape[i]));
  if (!st_extent(t->dtype, t->rank, t->shape, &t->count, bytes))
    return fail(DKHO_E_FORMAT, "shape: the byte count of the product of %d extents does not fit 63 bits", t->rank);
  return DKHO_OK;
}

/* The tensor's bytes must begin at *at, where the one before ended, fit into the data and match the shape. */
static dkho_status parse_offsets(const json_t *v, st_tensor *t, uint64_t bytes, uint64_t room, uint64_t *at) {
  if (!json_is_array(v)) return fail(DKHO_E_FORMAT, "data_offsets: found %s, expected an array", json_kind(v));
  if (json_array_size(v) != 2)
    return fail(DKHO_E_FORMAT, "data_offsets: found %zu numbers, expected 2", json_array_size(v));
  uint64_t begin, end;
  TRY(parse_index(v, 0, "data_offsets", &begin));
  TRY(parse_index(v, 1, "data_offsets", &end));
  unsigned long long b = begin, e = end;
  if (begin > end) return fail(DKHO_E_FORMAT, "data_offsets: begin %llu lies after end %llu", b, e);
  if (begin != *at)
    return fail(DKHO_E_FORMAT, "data_offsets: begin %llu leaves %s, expected %llu", b,
                begin > *at ? "a gap" : "an overlap", (unsigned long long)*at);
  if (end > room)
    return fail(DKHO_E_FORMAT, "data_offsets: end %llu, but the file holds %llu bytes of data", e,
                (unsigned long long)room);
  if (end - begin != bytes)
    return fail(DKHO_E_FORMAT, "data_offsets: %llu bytes, but dtype and shape make %llu", e - b,
                (unsigned long long)bytes);
  if (begin % st_dtype_size(t->dtype))
    return fail(DKHO_E_FORMAT, "data_offsets: begin %llu is not aligned for %s, expected a multiple of %zu", b,
                st_dtype_name(t->dtype), st_dtype_size(t->dtype));
  *at = end;
  return DKHO_OK;
}

static dkho_status check_pad(const st_tensor *t) {
  if (t->dtype != ST_U8 || t->rank != 1 || t->count > ST_PAD_MAX)
    return fail(DKHO_E_FORMAT,
                "the name is reserved for padding: found %s of rank %d and %llu elements, expected U8 "
                "of rank 1 and at most %d",
                st_dtype_name(t->dtype), t->rank, (unsigned long long)t->count, ST_PAD_MAX);
  for (uint64_t i = 0; i < t->count; i++) {
    unsigned byte = ((const unsigned char *)t->data)[i];
    if (byte) return fail(DKHO_E_FORMAT, "padding byte %d: found 0x%02x, expected 0", (int)i, byte);
  }
  return DKHO_OK;
}

static dkho_status parse_tensor(st_file *f, json_t *entry, size_t start, uint64_t *at, st_tensor *t) {
  uint64_t bytes = 0, begin = *at;
  TRY(parse_keys(entry));
  TRY(parse_dtype(json_object_get(entry, "dtype"), &t->dtype));
  TRY(parse_shape(json_object_get(entry, "shape"), t, &bytes));
  TRY(parse_offsets(json_object_get(entry, "data_offsets"), t, bytes, f->size - start, at));
  t->data = f->bytes + start + begin;
  return DKHO_OK;
}

static dkho_status parse_tensors(st_file *f, json_t *root, size_t start) {
  const char *name, *fault;
  json_t *entry;
  uint64_t at = 0;
  int number = 0;
  char buffer[CLEAN];
  json_object_foreach(root, name, entry) {
    if (strcmp(name, ST_META_KEY) == 0) continue;
    if ((fault = st_name_fault(name)))
      return fail(DKHO_E_FORMAT, "tensor number %d: name '%s' %s", number, clean(buffer, name), fault);
    number++;
    st_tensor *t = &f->list[f->count];
    *t = (st_tensor){.name = name};
    dkho_status s = parse_tensor(f, entry, start, &at, t);
    if (s == DKHO_OK && st_is_pad(name)) {
      s = check_pad(t);
    } else if (s == DKHO_OK) {
      f->count++;
      if (!(t->name = arena_strdup(&f->mem, name))) return DKHO_E_MEMORY;
    }
    if (s != DKHO_OK) return fail_prefix(s, "tensor '%s'", name);
  }
  if (at != f->size - start)
    return fail(DKHO_E_FORMAT, "data: %zu bytes, but the tensors end at %llu", f->size - start, (unsigned long long)at);
  return DKHO_OK;
}

static int name_order(const void *a, const void *b) {
  return strcmp((*(const st_tensor *const *)a)->name, (*(const st_tensor *const *)b)->name);
}

dkho_status st_parse(st_file *f) {
  size_t n, text;
  json_t *root;
  TRY(header_bounds(f, &n, &text));
  TRY(header_json(f, text, &root));
  json_t *meta = json_object_get(root, ST_META_KEY);
  size_t tensors = json_object_size(root) - (meta != NULL);
  dkho_status s = DKHO_OK;
  if (tensors > ST_TENSORS_MAX)
    TRY_GOTO(fail(DKHO_E_FORMAT, "header: %zu tensors, expected at most %d", tensors, ST_TENSORS_MAX));
  if (meta) TRY_GOTO(parse_meta(f, meta));
  s = DKHO_E_MEMORY;
  /* One spare entry: padding is read into the place of the tensor after it. */
  if (!ARENA_NEW(&f->mem, f->list, tensors + 1) || !ARENA_NEW(&f->mem, f->by_name, tensors + 1)) goto done;
  TRY_GOTO(parse_tensors(f, root, ST_PREFIX + n));
  for (int i = 0; i < f->count; i++) f->by_name[i] = &f->list[i];
  qsort(f->by_name, (size_t)f->count, sizeof *f->by_name, name_order);
done:
  json_decref(root);
  return s;
}
