/* read_vtu_data.c: the values of a DataArray: ASCII, base64 or raw bytes, plain or in zlib blocks, either byte order.
 *
 * Binary layout, with integers h of 4 or 8 bytes: plain: h bytes, data; compressed: h blocks, h size of a block, h size
 * of the last block (0: a full one), h compressed size of each block, then the blocks. In base64 the parts may be coded
 * together or one by one, which is the same to a decoder that lets padding occur anywhere. */
#include "mesh/read_vtu_impl.h"

#include <string.h>
#include <zlib.h>

enum { INFLATE_MAX = 1100 }; /* zlib never gains more than 1032 : 1 */

/* A stream of bytes behind text or raw data. */
typedef struct {
  scan s;
  int base64;
  unsigned char held[3]; /* decoded, not yet taken */
  int count;
} source;

/* No more bytes than this can come. */
static uint64_t capacity(const source *in) {
  return in->base64 ? (uint64_t)scan_left(&in->s) / 4 * 3 + (uint64_t)in->count : scan_left(&in->s);
}

static int base64_digit(int c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters, the last one or two of which may be padding, to one to three bytes. */
static dkho_status quantum(source *in, const char *field) {
  uint32_t bits = 0;
  int pad = 0;
  for (int i = 0; i < 4; i++) {
    scan_space(&in->s);
    if (!scan_left(&in->s)) return scan_fail(&in->s, "%s: the base64 data end early", field);
    int c = in->s.bytes[in->s.at], digit = base64_digit(c);
    pad += c == '=';
    if (c != '=' ? digit < 0 || pad : i < 2) return scan_fail(&in->s, "%s: byte 0x%02x is not base64", field, c);
    bits = bits << 6 | (uint32_t)(c == '=' ? 0 : digit);
    in->s.at++;
  }
  in->count = 3 - pad;
  for (int i = 0; i < 3; i++) in->held[i] = (unsigned char)(bits >> (16 - 8 * i));
  return DKHO_OK;
}

static dkho_status take_bytes(source *in, const char *field, unsigned char *out, uint64_t n) {
  if (!in->base64) return scan_bytes(&in->s, field, out, n);
  while (n) {
    if (!in->count) TRY(quantum(in, field));
    *out++ = in->held[0];
    in->held[0] = in->held[1];
    in->held[1] = in->held[2];
    in->count--;
    n--;
  }
  return DKHO_OK;
}

static dkho_status header_value(const vtu *f, source *in, const char *field, uint64_t *out) {
  unsigned char raw_value[8];
  TRY(take_bytes(in, field, raw_value, f->header));
  *out = scan_bits(raw_value, f->header, f->big_endian);
  return DKHO_OK;
}

static dkho_status wrong_size(const source *in, const char *field, uint64_t found, uint64_t expected) {
  return scan_fail(&in->s, "%s: %llu bytes declared, expected %llu", field, (unsigned long long)found,
                   (unsigned long long)expected);
}

static dkho_status plain(const vtu *f, source *in, const char *field, uint64_t bytes, unsigned char **out) {
  uint64_t n;
  TRY(header_value(f, in, field, &n));
  if (n != bytes) return wrong_size(in, field, n, bytes);
  if (n > capacity(in))
    return scan_fail(&in->s, "%s: %llu bytes declared, %llu are there", field, (unsigned long long)n,
                     (unsigned long long)capacity(in));
  if (!MEM_NEW(*out, n)) return DKHO_E_MEMORY;
  return take_bytes(in, field, *out, n);
}

static void *zlib_alloc(void *opaque, uInt items, uInt size) {
  (void)opaque;
  return mem_alloc(items, size);
}
static void zlib_free(void *opaque, void *block) {
  (void)opaque;
  mem_free(block);
}

/* packed (n bytes) must give exactly `size` bytes at out. Blocks are below 4 GB, as VTK's own are. */
static dkho_status inflate_block(const source *in, const char *field, unsigned char *packed, uint64_t n,
                                 unsigned char *out, uint64_t size) {
  z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .next_in = packed, .avail_in = (uInt)n};
  z.next_out = out;
  z.avail_out = (uInt)size;
  int code = inflateInit(&z);
  if (code != Z_OK) return code == Z_MEM_ERROR ? DKHO_E_MEMORY : fail(DKHO_E_INTERNAL, "zlib: error %d", code);
  code = inflate(&z, Z_FINISH);
  uint64_t made = z.total_out;
  inflateEnd(&z);
  if (code == Z_MEM_ERROR) return DKHO_E_MEMORY;
  if (code != Z_STREAM_END || made != size)
    return scan_fail(&in->s, "%s: a compressed block is damaged or not of %llu bytes", field, (unsigned long long)size);
  return DKHO_OK;
}

typedef struct {
  uint64_t count, size, last; /* last: size of the last block, never 0 */
  uint64_t *packed;           /* count compressed sizes */
} blocks;

/* The block header, with every number compared to what the file can hold. */
static dkho_status block_header(const vtu *f, source *in, const char *field, uint64_t bytes, blocks *b) {
  uint64_t total = 0;
  TRY(header_value(f, in, field, &b->count));
  TRY(header_value(f, in, field, &b->size));
  TRY(header_value(f, in, field, &b->last));
  if (b->last == 0) b->last = b->size;
  if (b->count > capacity(in) / f->header)
    return scan_fail(&in->s, "%s: %llu compressed blocks declared", field, (unsigned long long)b->count);
  if (b->count && (b->size == 0 || b->size > UINT32_MAX || b->last > b->size))
    return scan_fail(&in->s, "%s: blocks of %llu bytes, the last of %llu", field, (unsigned long long)b->size,
                     (unsigned long long)b->last);
  if (b->count &&
      (__builtin_mul_overflow(b->count - 1, b->size, &total) || __builtin_add_overflow(total, b->last, &total)))
    return scan_fail(&in->s, "%s: the block sizes overflow", field);
  if (total != bytes) return wrong_size(in, field, total, bytes);
  if (total / INFLATE_MAX > capacity(in))
    return scan_fail(&in->s, "%s: %llu bytes cannot come from %llu compressed ones", field, (unsigned long long)total,
                     (unsigned long long)capacity(in));
  if (!MEM_NEW(b->packed, b->count)) return DKHO_E_MEMORY;
  for (uint64_t i = 0; i < b->count; i++) {
    TRY(header_value(f, in, field, &b->packed[i]));
    if (b->packed[i] > capacity(in) || b->packed[i] > UINT32_MAX)
      return scan_fail(&in->s, "%s: compressed block %llu: %llu bytes declared, %llu are there", field,
                       (unsigned long long)i, (unsigned long long)b->packed[i], (unsigned long long)capacity(in));
  }
  return DKHO_OK;
}

static dkho_status compressed(const vtu *f, source *in, const char *field, uint64_t bytes, unsigned char **out) {
  blocks b = {0};
  unsigned char *packed = NULL, *at;
  uint64_t widest = 0;
  dkho_status s;
  TRY_GOTO(block_header(f, in, field, bytes, &b));
  for (uint64_t i = 0; i < b.count; i++) widest = b.packed[i] > widest ? b.packed[i] : widest;
  if (!MEM_NEW(packed, widest) || !MEM_NEW(*out, bytes)) {
    s = DKHO_E_MEMORY;
    goto done;
  }
  at = *out;
  for (uint64_t i = 0; i < b.count; i++) {
    uint64_t size = i + 1 < b.count ? b.size : b.last;
    TRY_GOTO(take_bytes(in, field, packed, b.packed[i]));
    TRY_GOTO(inflate_block(in, field, packed, b.packed[i], at, size));
    at += size;
  }
done:
  mem_free(b.packed);
  mem_free(packed);
  return s;
}

/* The array's bytes, `bytes` of them, owned by the caller (also after a failure: *out may be set). Arrays that
 * together claim more than the appended data are refused: lying on top of each other, a small file could make them as many and as
 * large as it likes. */
static dkho_status load_array(vtu *f, const vtu_array *a, const char *field, uint64_t bytes, unsigned char **out) {
  source in = {.s = a->text, .base64 = 1};
  if (a->format == VTU_APPENDED) {
    in = (source){.s = f->data, .base64 = f->appended_base64};
    if ((uint64_t)a->offset > scan_left(&in.s))
      return scan_fail(&a->text, "%s: offset %lld lies behind the %zu bytes of appended data", field,
                       (long long)a->offset, scan_left(&in.s));
    in.s.at += (size_t)a->offset;
  }
  in.s.binary = 1;
  size_t from = in.s.at;
  TRY(f->compressed ? compressed(f, &in, field, bytes, out) : plain(f, &in, field, bytes, out));
  if (a->format == VTU_APPENDED) f->spent += in.s.at - from;
  if (f->spent > scan_left(&f->data)) return scan_fail(&in.s, "%s: arrays overlap in the appended data", field);
  return DKHO_OK;
}

/* Fills one of the two, count values. */
static dkho_status from_text(const vtu_array *a, const char *field, int64_t count, int64_t *whole, double *real) {
  scan s = a->text;
  for (int64_t i = 0; i < count; i++) {
    if (whole) TRY(scan_int(&s, field, INT64_MIN, INT64_MAX, &whole[i]));
    if (real) TRY(scan_double(&s, field, &real[i]));
  }
  scan_space(&s);
  return scan_left(&s) ? scan_fail(&s, "%s: more than the %lld values expected", field, (long long)count) : DKHO_OK;
}

/* Either of whole and real. Room for the values is taken when their bytes are there: a header may claim anything. */
static dkho_status from_bytes(vtu *f, const vtu_array *a, const char *field, int64_t count, int64_t **whole,
                              double **real) {
  unsigned char *bytes = NULL;
  size_t size = (size_t)a->type.size;
  dkho_status s = load_array(f, a, field, (uint64_t)count * size, &bytes);
  if (s == DKHO_OK && !(whole ? MEM_NEW(*whole, count) != NULL : MEM_NEW(*real, count) != NULL)) s = DKHO_E_MEMORY;
  for (int64_t i = 0; s == DKHO_OK && i < count; i++) {
    uint64_t bits = scan_bits(bytes + (size_t)i * size, size, f->big_endian);
    if (whole)
      (*whole)[i] = scan_bits_int(a->type, bits);
    else
      (*real)[i] = scan_bits_double(a->type, bits);
  }
  mem_free(bytes);
  return s;
}

/* Before anything is allocated for `count` values: could they be there? Text needs a character and a separator each. */
static dkho_status plausible(const vtu *f, const vtu_array *a, const char *field, int64_t count) {
  if (a->format == VTU_APPENDED && !f->appended) return scan_fail(&a->text, "%s: the file has no AppendedData", field);
  uint64_t most = scan_left(a->format == VTU_APPENDED ? &f->data : &a->text);
  if (a->format == VTU_ASCII)
    most = (most + 1) / 2;
  else
    most = most * (f->compressed ? INFLATE_MAX : 1) / (uint64_t)a->type.size;
  if ((uint64_t)count <= most) return DKHO_OK;
  return scan_fail(&a->text, "%s: %lld values expected, more than its data can hold", field, (long long)count);
}

dkho_status vtu_integers(vtu *f, const vtu_array *a, const char *field, int64_t count, int64_t **out) {
  if (a->type.kind == 'f') return scan_fail(&a->text, "%s: floating-point type, expected whole numbers", field);
  TRY(plausible(f, a, field, count));
  if (a->format != VTU_ASCII) return from_bytes(f, a, field, count, out, NULL);
  return MEM_NEW(*out, count) ? from_text(a, field, count, *out, NULL) : DKHO_E_MEMORY;
}

dkho_status vtu_reals(vtu *f, const vtu_array *a, const char *field, int64_t count, double **out) {
  TRY(plausible(f, a, field, count));
  if (a->format != VTU_ASCII) return from_bytes(f, a, field, count, NULL, out);
  return MEM_NEW(*out, count) ? from_text(a, field, count, NULL, *out) : DKHO_E_MEMORY;
}
