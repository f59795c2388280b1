/* st_write.c: writing a container as a stream. Declarations first, then the header, then bytes in that order. Where a
 * tensor would begin off its alignment, a padding tensor "_padN" of zeros is put before it; callers never see it. */
#include "base/st_impl.h"
#include "base/temp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  st_tensor t; /* name in the arena, no data */
  uint64_t bytes;
  int pad;
} entry;

struct st_writer {
  file_out file;
  arena names;
  entry *list;
  st_pair *meta;
  int count, room, metas, meta_room, pads;
  uint64_t declared; /* bytes of data */
  int started;       /* the header is written */
  int current;       /* entry being written */
  uint64_t filled;   /* bytes of it written */
  int failed, sealed;
  st_hasher hash;      /* of what is written, when sealed */
  uint64_t seal_place; /* of its digits in the file */
  int rank, of;        /* st_share */
  uint64_t base;       /* where the data begin in the file, once the header is written */
  int ended;           /* all is written, */
  char hex[33];        /* and this its hash */
};

/* temp: a temporary file to join, NULL: a new one. */
static dkho_status open_writer(st_writer **out, const char *path, int force, const char *temp) {
  st_writer *w;
  *out = NULL;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  dkho_status s = temp ? file_join(&w->file, path, temp) : file_open(&w->file, path, force);
  if (s != DKHO_OK) {
    mem_free(w);
    return s;
  }
  *out = w;
  return DKHO_OK;
}

dkho_status st_create(st_writer **out, const char *path, int force) {
  return open_writer(out, path, force, NULL);
}

dkho_status st_join(st_writer **out, const char *path, const char *temp) {
  return open_writer(out, path, 1, temp);
}

const char *st_temp(const st_writer *w) {
  return w->file.temp;
}

void st_share(st_writer *w, int rank, int of) {
  assert(!w->started && rank >= 0 && rank < of);
  w->rank = rank, w->of = of;
}

void st_abort(st_writer *w) {
  if (!w) return;
  file_abort(&w->file);
  arena_free(&w->names);
  mem_free(w->list);
  mem_free(w->meta);
  mem_free(w);
}

/* To the file, and into the seal; NULL: bytes that others put in place. */
static dkho_status put_bytes(st_writer *w, const void *bytes, size_t count) {
  if (!bytes) return file_skip(&w->file, count);
  if (w->sealed) st_hasher_add(&w->hash, bytes, count);
  return file_write(&w->file, bytes, count);
}

/* The list with room for one more item, perhaps at another place; NULL, and the list as it was, without memory. */
static void *grow_list(void *list, int count, int *room, size_t size) {
  if (count < *room) return list;
  int wanted = *room ? 2 * *room : 64;
  void *fresh = mem_resize(list, (size_t)count, (size_t)wanted, size);
  if (fresh) *room = wanted;
  return fresh;
}

dkho_status st_put_meta(st_writer *w, const char *key, const char *value) {
  assert(!w->started);
  const char *fault = st_name_fault(key);
  if (fault) return fail(DKHO_E_INPUT, "%s: metadata key '%.300s' %s", w->file.path, key, fault);
  if (!st_is_utf8(value)) return fail(DKHO_E_INPUT, "%s: metadata '%s' is not UTF-8", w->file.path, key);
  if (w->metas == ST_TENSORS_MAX)
    return fail(DKHO_E_INPUT, "%s: more than %d metadata keys", w->file.path, ST_TENSORS_MAX);
  st_pair *fresh = grow_list(w->meta, w->metas, &w->meta_room, sizeof *w->meta);
  if (!fresh) return DKHO_E_MEMORY;
  w->meta = fresh;
  st_pair pair = {arena_strdup(&w->names, key), arena_strdup(&w->names, value)};
  if (!pair.key || !pair.value) return DKHO_E_MEMORY;
  w->meta[w->metas++] = pair;
  return DKHO_OK;
}

dkho_status st_seal(st_writer *w) {
  w->sealed = 1;
  st_hasher_start(&w->hash);
  return st_put_meta(w, ST_SEAL_KEY, ST_SEAL_ZEROS);
}

static dkho_status append_entry(st_writer *w, const entry *e) {
  if (w->count == ST_TENSORS_MAX)
    return fail(DKHO_E_INPUT, "%s: tensor '%s': more than %d tensors", w->file.path, e->t.name, ST_TENSORS_MAX);
  uint64_t sum = w->declared + e->bytes; /* both fit 63 bits */
  if (sum > INT64_MAX)
    return fail(DKHO_E_INPUT, "%s: tensor '%s': the file's size does not fit 63 bits", w->file.path, e->t.name);
  entry *fresh = grow_list(w->list, w->count, &w->room, sizeof *w->list);
  if (!fresh) return DKHO_E_MEMORY;
  w->list = fresh;
  w->list[w->count] = *e;
  if (!(w->list[w->count].t.name = arena_strdup(&w->names, e->t.name))) return DKHO_E_MEMORY;
  w->declared = sum;
  w->count++;
  return DKHO_OK;
}

dkho_status st_declare(st_writer *w, const char *name, st_dtype dtype, int rank, const uint64_t *shape) {
  assert(!w->started);
  const char *path = w->file.path, *fault = st_name_fault(name);
  if (!fault && (st_is_pad(name) || strcmp(name, ST_META_KEY) == 0)) fault = "is reserved";
  if (fault) return fail(DKHO_E_INPUT, "%s: tensor name '%.300s' %s", path, name, fault);
  if (rank < 0 || rank > ST_RANK_MAX)
    return fail(DKHO_E_INPUT, "%s: tensor '%s': rank %d, expected 0 to %d", path, name, rank, ST_RANK_MAX);
  entry e = {.t = {.name = name, .dtype = dtype, .rank = rank}};
  for (int i = 0; i < rank; i++) {
    e.t.shape[i] = shape[i];
    if (shape[i] > INT64_MAX)
      return fail(DKHO_E_INPUT, "%s: tensor '%s': extent %d is negative or too large", path, name, i);
  }
  if (!st_extent(dtype, rank, shape, &e.t.count, &e.bytes))
    return fail(DKHO_E_INPUT, "%s: tensor '%s': its byte count does not fit 63 bits", path, name);
  uint64_t over = w->declared % st_dtype_size(dtype);
  if (over) {
    char pad_name[32];
    snprintf(pad_name, sizeof pad_name, "_pad%d", w->pads);
    entry pad = {.t = {.name = pad_name, .dtype = ST_U8, .rank = 1}, .pad = 1};
    pad.bytes = pad.t.count = pad.t.shape[0] = st_dtype_size(dtype) - over;
    TRY(append_entry(w, &pad));
    w->pads++;
  }
  return append_entry(w, &e);
}

/* The header's text as it grows. */
typedef struct {
  char *at;
  size_t used, room;
  dkho_status status;
} text;

static void put_text(text *x, const char *s, size_t n) {
  if (x->status != DKHO_OK) return;
  if (n > x->room - x->used) {
    size_t wanted = 2 * x->room > x->used + n ? 2 * x->room : x->used + n;
    char *fresh = mem_resize(x->at, x->used, wanted, 1);
    if (!fresh) {
      x->status = DKHO_E_MEMORY;
      return;
    }
    x->at = fresh;
    x->room = wanted;
  }
  memcpy(x->at + x->used, s, n);
  x->used += n;
}

static void put_string(text *x, const char *s) {
  put_text(x, "\"", 1);
  for (; *s; s++) {
    char code[8];
    if (*s == '"' || *s == '\\') {
      put_text(x, "\\", 1);
      put_text(x, s, 1);
    } else if ((unsigned char)*s < 0x20) {
      put_text(x, code, (size_t)snprintf(code, sizeof code, "\\u%04x", (unsigned)*s));
    } else {
      put_text(x, s, 1);
    }
  }
  put_text(x, "\"", 1);
}

static void put_entry(text *x, const entry *e, uint64_t begin) {
  char line[96];
  put_string(x, e->t.name);
  put_text(x, line, (size_t)snprintf(line, sizeof line, ":{\"dtype\":\"%s\",\"shape\":[", st_dtype_name(e->t.dtype)));
  for (int i = 0; i < e->t.rank; i++)
    put_text(x, line, (size_t)snprintf(line, sizeof line, i ? ",%llu" : "%llu", (unsigned long long)e->t.shape[i]));
  put_text(x, line,
           (size_t)snprintf(line, sizeof line, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
                            (unsigned long long)(begin + e->bytes)));
}

static void put_header(text *x, const st_writer *w) {
  uint64_t at = 0;
  int items = 0;
  put_text(x, "{", 1);
  if (w->metas) put_text(x, "\"" ST_META_KEY "\":{", strlen(ST_META_KEY) + 4);
  for (int i = 0; i < w->metas; i++) {
    if (i) put_text(x, ",", 1);
    put_string(x, w->meta[i].key);
    put_text(x, ":", 1);
    put_string(x, w->meta[i].value);
  }
  if (w->metas) put_text(x, "}", 1), items++;
  for (int i = 0; i < w->count; at += w->list[i++].bytes) {
    if (items++) put_text(x, ",", 1);
    put_entry(x, &w->list[i], at);
  }
  put_text(x, "}", 1);
  while (x->status == DKHO_OK && (ST_PREFIX + x->used) % ST_WRITE_ALIGN) put_text(x, " ", 1);
}

/* Names and metadata keys must differ among themselves. Sorts the metadata, so equal contents give equal files. */
static dkho_status check_unique(st_writer *w) {
  st_pair *names;
  if (!MEM_NEW(names, w->count)) return DKHO_E_MEMORY;
  for (int i = 0; i < w->count; i++) names[i].key = w->list[i].t.name;
  dkho_status s = DKHO_OK;
  if (w->count) qsort(names, (size_t)w->count, sizeof *names, st_pair_order);
  for (int i = 1; s == DKHO_OK && i < w->count; i++)
    if (strcmp(names[i - 1].key, names[i].key) == 0)
      s = fail(DKHO_E_INPUT, "%s: tensor '%s' is declared twice", w->file.path, names[i].key);
  mem_free(names);
  if (w->metas) qsort(w->meta, (size_t)w->metas, sizeof *w->meta, st_pair_order);
  for (int i = 1; s == DKHO_OK && i < w->metas; i++)
    if (strcmp(w->meta[i - 1].key, w->meta[i].key) == 0)
      s = fail(DKHO_E_INPUT, "%s: metadata '%s' is given twice", w->file.path, w->meta[i].key);
  return s;
}

/* Shares of whole pages. */
static void share_bytes(st_writer *w, uint64_t total) {
  enum { PAGE = 4096 };
  uint64_t pages = (total + PAGE - 1) / PAGE, rank = (uint64_t)w->rank, of = (uint64_t)w->of;
  file_share(&w->file, pages * rank / of * PAGE, pages * (rank + 1) / of * PAGE);
}

static dkho_status start_data(st_writer *w) {
  text x = {0};
  dkho_status s;
  TRY(check_unique(w));
  put_header(&x, w);
  TRY_GOTO(x.status);
  if (x.used > ST_HEADER_MAX)
    TRY_GOTO(
        fail(DKHO_E_INPUT, "%s: a header of %zu bytes, at most %d are possible", w->file.path, x.used, ST_HEADER_MAX));
  uint64_t length = x.used;
  if (w->of > 1) share_bytes(w, ST_PREFIX + length + w->declared);
  if (w->sealed) w->seal_place = ST_PREFIX + (uint64_t)(st_seal_at(x.at, x.used) - x.at);
  TRY_GOTO(put_bytes(w, &length, sizeof length));
  TRY_GOTO(put_bytes(w, x.at, x.used));
  w->base = ST_PREFIX + length;
  w->started = 1;
done:
  mem_free(x.at);
  return s;
}

/* Steps over finished entries, and over padding by writing it. */
static dkho_status advance_entry(st_writer *w) {
  static const char zeros[ST_PAD_MAX + 1];
  for (; w->current < w->count; w->current++, w->filled = 0) {
    const entry *e = &w->list[w->current];
    if (e->pad)
      TRY(put_bytes(w, zeros, (size_t)e->bytes));
    else if (w->filled < e->bytes)
      break;
  }
  return DKHO_OK;
}

static dkho_status write_bytes(st_writer *w, const char *from, size_t bytes) {
  if (!w->started) TRY(start_data(w));
  for (;;) {
    TRY(advance_entry(w));
    if (bytes == 0) return DKHO_OK;
    if (w->current == w->count)
      return fail(DKHO_E_INTERNAL, "%s: %zu bytes more than the tensors declared hold", w->file.path, bytes);
    uint64_t left = w->list[w->current].bytes - w->filled;
    size_t n = left < bytes ? (size_t)left : bytes;
    TRY(put_bytes(w, from, n));
    w->filled += n;
    if (from) from += n;
    bytes -= n;
  }
}

dkho_status st_write(st_writer *w, const void *data, size_t bytes) {
  dkho_status s = write_bytes(w, data, bytes);
  w->failed |= s != DKHO_OK;
  return s;
}

dkho_status st_skip(st_writer *w, uint64_t bytes) {
  assert(!w->sealed);
  return st_write(w, NULL, (size_t)bytes);
}

dkho_status st_place(st_writer *w, const char *name, uint64_t *at) {
  if (!w->started) TRY(start_data(w));
  *at = w->base;
  for (int i = 0; i < w->count; *at += w->list[i++].bytes)
    if (strcmp(w->list[i].t.name, name) == 0) return DKHO_OK;
  return fail(DKHO_E_INTERNAL, "%s: tensor '%s' is not declared", w->file.path, name);
}

/* Once: nothing is missing; the hash. */
static dkho_status end_data(st_writer *w) {
  if (w->failed) return fail(DKHO_E_INTERNAL, "%s: a write failed; nothing is kept", w->file.path);
  if (w->ended) return DKHO_OK;
  TRY(write_bytes(w, NULL, 0));
  if (w->current < w->count) {
    const entry *e = &w->list[w->current];
    return fail(DKHO_E_INTERNAL, "%s: tensor '%s': %llu of %llu bytes were written", w->file.path, e->t.name,
                (unsigned long long)w->filled, (unsigned long long)e->bytes);
  }
  if (w->sealed) st_hasher_end(&w->hash, w->hex);
  w->ended = 1;
  return DKHO_OK;
}

dkho_status st_sync(st_writer *w, char hex[33]) {
  TRY(end_data(w));
  memcpy(hex, w->hex, sizeof w->hex);
  return file_sync(&w->file);
}

dkho_status st_commit(st_writer *w) {
  dkho_status s = DKHO_OK;
  TRY_GOTO(end_data(w));
  if (w->sealed) TRY_GOTO(file_patch(&w->file, w->seal_place, w->hex, ST_SEAL_DIGITS));
  s = file_commit(&w->file);
done:
  st_abort(w);
  return s;
}

dkho_status st_save(const char *path, int force, int tensors, const st_tensor *list, int metas,
                    const char *const (*meta)[2]) {
  st_writer *w;
  TRY(st_create(&w, path, force));
  dkho_status s = DKHO_OK;
  for (int i = 0; i < metas; i++) TRY_GOTO(st_put_meta(w, meta[i][0], meta[i][1]));
  for (int i = 0; i < tensors; i++) TRY_GOTO(st_declare(w, list[i].name, list[i].dtype, list[i].rank, list[i].shape));
  for (int i = 0; i < tensors; i++) {
    uint64_t count, bytes;
    st_extent(list[i].dtype, list[i].rank, list[i].shape, &count, &bytes); /* checked by st_declare */
    TRY_GOTO(st_write(w, list[i].data, (size_t)bytes));
  }
  return st_commit(w);
done:
  st_abort(w);
  return s;
}
