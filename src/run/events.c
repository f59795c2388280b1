/* events.c: TensorBoard's files by hand. A file is a sequence of records: length (8 bytes), masked CRC-32C of these 8 bytes (4), the
 * bytes, masked CRC-32C of the bytes (4), all little-endian. The bytes of a record are an Event of TensorFlow's protocol buffers:
 *
 *   Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
 *   Summary { repeated Value value = 1; }     Value { string tag = 1; float simple_value = 2; }
 *
 * The first record is the version "brain.Event:2". */
#include "run/events.h"

#include "base/mem.h"
#include "base/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { EVENT_MAX = 4096, FRAME = 16 };

/* Bytes under construction; too many are a programmer's mistake, and are dropped. */
typedef struct bytes {
  unsigned char at[EVENT_MAX];
  size_t count;
} bytes;

static void put_byte(bytes *b, unsigned value) {
  if (b->count < sizeof b->at) b->at[b->count++] = (unsigned char)value;
}
static void put_bytes(bytes *b, const void *from, size_t count) {
  for (size_t i = 0; i < count; i++) put_byte(b, ((const unsigned char *)from)[i]);
}
static void put_varint(bytes *b, uint64_t value) {
  for (; value >= 128; value >>= 7) put_byte(b, (unsigned)(value & 127) | 128);
  put_byte(b, (unsigned)value);
}
/* A field of bytes: number, wire type 2, length, bytes. */
static void put_block(bytes *b, unsigned field, const void *from, size_t count) {
  put_varint(b, field << 3 | 2);
  put_varint(b, count);
  put_bytes(b, from, count);
}
static void put_time(bytes *b, double wall) {
  put_varint(b, 1 << 3 | 1);
  put_bytes(b, &wall, sizeof wall);
}

/* CRC-32C (Castagnoli), bit by bit: a few hundred bytes an epoch. */
static uint32_t crc32c(const unsigned char *at, size_t count) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < count; i++) {
    crc ^= at[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}
static uint32_t masked(const unsigned char *at, size_t count) {
  uint32_t crc = crc32c(at, count);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_record(bytes *out, const bytes *event) {
  uint64_t length = event->count;
  unsigned char head[8];
  memcpy(head, &length, 8);
  uint32_t of_length = masked(head, 8), of_event = masked(event->at, event->count);
  put_bytes(out, head, 8);
  put_bytes(out, &of_length, 4);
  put_bytes(out, event->at, event->count);
  put_bytes(out, &of_event, 4);
}

static void make_version(bytes *out, double start) {
  static const char version[] = "brain.Event:2";
  bytes event = {.count = 0};
  put_time(&event, start);
  put_block(&event, 3, version, sizeof version - 1);
  put_record(out, &event);
}

static void make_row(bytes *out, double start, const event_row *r) {
  bytes event = {.count = 0}, summary = {.count = 0};
  for (int i = 0; i < r->values; i++) {
    bytes value = {.count = 0};
    float x = (float)r->value[i];
    put_block(&value, 1, r->tag[i], strlen(r->tag[i]));
    put_varint(&value, 2 << 3 | 5);
    put_bytes(&value, &x, sizeof x);
    put_block(&summary, 1, value.at, value.count);
  }
  put_time(&event, start + r->seconds);
  put_varint(&event, 2 << 3);
  put_varint(&event, (uint64_t)r->step);
  put_block(&event, 5, summary.at, summary.count);
  put_record(out, &event);
}

/* The time in the first record, if the file begins with a version record. */
static int read_start(const file_map *m, double *start) {
  bytes expected = {.count = 0};
  if (m->size < FRAME + 9) return 0;
  memcpy(start, m->bytes + 13, sizeof *start);
  make_version(&expected, *start);
  return m->size >= expected.count && memcmp(m->bytes, expected.at, expected.count) == 0;
}

static dkho_status write_at(int fd, const char *path, const bytes *b, uint64_t offset) {
  for (size_t done = 0; done < b->count;) {
    ssize_t n = pwrite(fd, b->at + done, b->count - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(DKHO_E_IO, "%s: cannot write: %s", path, strerror(errno));
    done += (size_t)n;
  }
  return DKHO_OK;
}

static dkho_status append_rows(int fd, const char *path, const file_map *old, double start, int64_t count,
                               event_row (*row)(void *, int64_t), void *ctx) {
  uint64_t at = 0;
  int same = read_start(old, &start);
  for (int64_t i = -1; i < count; i++) {
    bytes b = {.count = 0};
    if (i < 0)
      make_version(&b, start);
    else {
      event_row r = row(ctx, i);
      make_row(&b, start, &r);
    }
    same = same && old->size >= at + b.count && memcmp(old->bytes + at, b.at, b.count) == 0;
    if (!same) { /* the rest of the file goes before anything is written in its place */
      if (ftruncate(fd, (off_t)at) != 0) return fail(DKHO_E_IO, "%s: cannot cut: %s", path, strerror(errno));
      TRY(write_at(fd, path, &b, at));
    }
    at += b.count;
  }
  if (same && old->size > at && ftruncate(fd, (off_t)at) != 0)
    return fail(DKHO_E_IO, "%s: cannot cut: %s", path, strerror(errno));
  return DKHO_OK;
}

dkho_status events_update(const char *path, double start, int64_t count, event_row (*row)(void *, int64_t), void *ctx) {
  file_map old = {0};
  if (file_exists(path)) TRY(file_map_open(&old, path));
  unsigned char *copy = mem_alloc(old.size + 1, 1); /* the file itself may be cut */
  file_map kept = {copy, old.size};
  if (copy && old.size) memcpy(copy, old.bytes, old.size);
  file_map_close(&old);
  if (!copy) return DKHO_E_MEMORY;
  int fd = file_open_fd(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  dkho_status s = fd < 0 ? fail(DKHO_E_IO, "%s: cannot open: %s", path, strerror(errno))
                         : append_rows(fd, path, &kept, start, count, row, ctx);
  if (fd >= 0 && close(fd) != 0 && s == DKHO_OK) s = fail(DKHO_E_IO, "%s: cannot close: %s", path, strerror(errno));
  mem_free(copy);
  return s;
}
