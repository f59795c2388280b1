/* npz.c: see npz.h. Every offset and size is compared with the bytes that are there before it is used. */
#include "data/npz.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { END_SIZE = 22, END64_SIZE = 56, LOCATOR_SIZE = 20, ENTRY_SIZE = 46, LOCAL_SIZE = 30 };
enum { RATIO_MAX = 1100 }; /* deflate packs no better */

static uint64_t little(const unsigned char *p, int bytes) {
  uint64_t v = 0;
  for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
  return v;
}

static int begins_with(const npz *z, uint64_t at, uint64_t need, const char *mark) {
  return at <= z->map.size && z->map.size - at >= need && memcmp(z->map.bytes + at, mark, 4) == 0;
}

static dkho_status no_archive(const npz *z, const char *what) {
  return fail(DKHO_E_FORMAT, "%s: not a .npz archive: %s", z->path, what);
}

/* Where the central directory lies: the last end record, or the 64-bit one that its locator names. */
static dkho_status find_directory(const npz *z, uint64_t *at, uint64_t *size, uint64_t *count) {
  const unsigned char *b = z->map.bytes;
  if (z->map.size < END_SIZE) return no_archive(z, "it is too short");
  uint64_t end = z->map.size - END_SIZE, least = end > 65535 ? end - 65535 : 0;
  while (end > least && !begins_with(z, end, END_SIZE, "PK\5\6")) end--;
  if (!begins_with(z, end, END_SIZE, "PK\5\6")) return no_archive(z, "its end record is missing");
  *count = little(b + end + 10, 2), *size = little(b + end + 12, 4), *at = little(b + end + 16, 4);
  if (end >= LOCATOR_SIZE && begins_with(z, end - LOCATOR_SIZE, LOCATOR_SIZE, "PK\6\7")) {
    uint64_t wide = little(b + end - LOCATOR_SIZE + 8, 8);
    if (!begins_with(z, wide, END64_SIZE, "PK\6\6")) return no_archive(z, "its 64-bit end record is missing");
    *count = little(b + wide + 32, 8), *size = little(b + wide + 40, 8), *at = little(b + wide + 48, 8);
  }
  if (*at > z->map.size || *size > z->map.size - *at) return no_archive(z, "its directory lies outside the file");
  if (*count > NPZ_MEMBERS_MAX || *count * ENTRY_SIZE > *size)
    return fail(DKHO_E_FORMAT, "%s: %llu members do not fit its directory of %llu bytes (at most %d are read)", z->path,
                (unsigned long long)*count, (unsigned long long)*size, NPZ_MEMBERS_MAX);
  return DKHO_OK;
}

/* Sizes and place that did not fit 32 bits, from the extra field 1, in the order in which they are needed. */
static void read_wide(const unsigned char *extra, uint64_t length, npz_member *m) {
  uint64_t *const wide[] = {&m->size, &m->packed, &m->at};
  while (length >= 4) {
    uint64_t id = little(extra, 2), n = little(extra + 2, 2);
    if (n > length - 4) return;
    const unsigned char *p = extra + 4, *end = p + n;
    for (int i = 0; id == 1 && i < 3; i++)
      if (*wide[i] == 0xffffffffU && end - p >= 8) *wide[i] = little(p, 8), p += 8;
    extra += 4 + n, length -= 4 + n;
  }
}

/* What the directory says against the bytes that are there; deflate cannot pack more than RATIO_MAX to one. */
static dkho_status check_member(const npz *z, const npz_member *m) {
  if (m->method != 0 && m->method != 8)
    return fail(DKHO_E_FORMAT, "%s: %s: compression method %d, expected 0 (stored) or 8 (deflated)", z->path, m->name,
                m->method);
  if (m->at > z->map.size || z->map.size - m->at < LOCAL_SIZE || m->packed > z->map.size - m->at - LOCAL_SIZE ||
      (m->method == 0 ? m->size != m->packed : m->size > RATIO_MAX * (m->packed + 1)))
    return fail(DKHO_E_FORMAT, "%s: %s: %llu bytes, %llu packed at byte %llu, do not fit a file of %zu bytes", z->path,
                m->name, (unsigned long long)m->size, (unsigned long long)m->packed, (unsigned long long)m->at,
                z->map.size);
  return DKHO_OK;
}

/* One entry of the directory, at p with `left` bytes; *used: its length. Members that are no arrays get an empty name. */
static dkho_status read_entry(const npz *z, const unsigned char *p, uint64_t left, npz_member *m, uint64_t *used) {
  if (left < ENTRY_SIZE || memcmp(p, "PK\1\2", 4) != 0) return no_archive(z, "its directory is cut off");
  uint64_t name = little(p + 28, 2), extra = little(p + 30, 2), note = little(p + 32, 2);
  *used = ENTRY_SIZE + name + extra + note;
  if (*used > left) return no_archive(z, "its directory is cut off");
  *m = (npz_member){.method = (int)little(p + 10, 2),
                    .crc = (uint32_t)little(p + 16, 4),
                    .packed = little(p + 20, 4),
                    .size = little(p + 24, 4),
                    .at = little(p + 42, 4)};
  read_wide(p + ENTRY_SIZE + name, extra, m);
  if (name < 5 || name - 4 > NPZ_NAME_MAX || memcmp(p + ENTRY_SIZE + name - 4, ".npy", 4) != 0) return DKHO_OK;
  memcpy(m->name, p + ENTRY_SIZE, name - 4);
  if (strlen(m->name) != name - 4) return no_archive(z, "a member's name holds a zero byte");
  return check_member(z, m);
}

static dkho_status read_directory(npz *z) {
  uint64_t at, size, count, used;
  TRY(find_directory(z, &at, &size, &count));
  if (!MEM_NEW(z->member, count + 1)) return DKHO_E_MEMORY;
  for (uint64_t i = 0; i < count; i++, at += used, size -= used) {
    npz_member *m = &z->member[z->members];
    TRY(read_entry(z, z->map.bytes + at, size, m, &used));
    z->members += m->name[0] != 0;
  }
  return z->members ? DKHO_OK : fail(DKHO_E_FORMAT, "%s: holds no array (NAME.npy)", z->path);
}

dkho_status npz_parse(npz *out, const void *bytes, size_t size, const char *name) {
  *out = (npz){.path = name, .map = {bytes, size}};
  dkho_status s = read_directory(out);
  if (s != DKHO_OK) {
    mem_free(out->member);
    *out = (npz){0};
  }
  return s;
}

dkho_status npz_open(npz *out, const char *path) {
  file_map map;
  TRY(file_map_open(&map, path));
  dkho_status s = npz_parse(out, map.bytes, map.size, path);
  if (s != DKHO_OK) file_map_close(&map);
  return s;
}

void npz_close(npz *z) {
  file_map_close(&z->map);
  mem_free(z->member);
  *z = (npz){0};
}

/* The member's bytes in the file, behind its local header. */
static dkho_status find_bytes(const npz *z, const npz_member *m, const unsigned char **out) {
  const unsigned char *p = z->map.bytes + m->at;
  uint64_t skip = LOCAL_SIZE + little(p + 26, 2) + little(p + 28, 2);
  if (memcmp(p, "PK\3\4", 4) != 0 || skip > z->map.size - m->at || m->packed > z->map.size - m->at - skip)
    return fail(DKHO_E_FORMAT, "%s: %s: its local header does not fit the file", z->path, m->name);
  *out = p + skip;
  return DKHO_OK;
}

/* to: m->size bytes. Raw deflate, in one go. */
static dkho_status inflate_member(const npz *z, const npz_member *m, const unsigned char *from, void *to) {
  z_stream s = {0};
  union {
    const unsigned char *read;
    unsigned char *asked; /* zlib's prototype; it does not write there */
  } in = {from};
  if (m->packed > UINT32_MAX || m->size > UINT32_MAX)
    return fail(DKHO_E_FORMAT, "%s: %s: deflated members of 4 GB or more are not read", z->path, m->name);
  if (inflateInit2(&s, -MAX_WBITS) != Z_OK) return DKHO_E_MEMORY;
  s.next_in = in.asked, s.avail_in = (uInt)m->packed;
  s.next_out = to, s.avail_out = (uInt)m->size;
  int how = inflate(&s, Z_FINISH);
  uint64_t made = s.total_out;
  inflateEnd(&s);
  return how == Z_STREAM_END && made == m->size
             ? DKHO_OK
             : fail(DKHO_E_FORMAT, "%s: %s: its deflated bytes are damaged", z->path, m->name);
}

static dkho_status check_crc(const npz *z, const npz_member *m, const unsigned char *bytes) {
  uLong crc = crc32(0, NULL, 0);
  for (uint64_t at = 0; at < m->size;) {
    uInt step = (uInt)(m->size - at < 1U << 30 ? m->size - at : 1U << 30);
    crc = crc32(crc, bytes + at, step);
    at += step;
  }
  return crc == m->crc ? DKHO_OK : fail(DKHO_E_FORMAT, "%s: %s: its checksum is wrong", z->path, m->name);
}

dkho_status npz_array(const npz *z, int i, npy *out, void **room) {
  const npz_member *m = &z->member[i];
  const unsigned char *bytes;
  unsigned char *own = NULL;
  char name[2 * NPZ_NAME_MAX];
  *room = NULL;
  TRY(find_bytes(z, m, &bytes));
  if (m->method == 8) {
    if (!MEM_NEW(own, m->size + 1)) return DKHO_E_MEMORY;
    *room = own;
  }
  dkho_status s = own ? inflate_member(z, m, bytes, own) : DKHO_OK;
  if (own) bytes = own;
  if (s == DKHO_OK) s = check_crc(z, m, bytes);
  snprintf(name, sizeof name, "%.250s: %.200s", z->path, m->name);
  if (s == DKHO_OK) s = npy_parse(out, bytes, m->size, name);
  if (s == DKHO_OK) return s;
  mem_free(own);
  *room = NULL;
  return s;
}
