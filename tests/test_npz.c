/* test_npz.c: archives as NumPy writes them, built here byte by byte, and what is said of damaged ones. */
#include "base/mem.h"
#include "data/npz.h"
#include "scratch.h"

#include <string.h>
#include <zlib.h>

typedef struct bytes {
  unsigned char at[4096];
  size_t used;
} bytes;

static void put(bytes *b, const void *from, size_t n) {
  assert_true(b->used + n <= sizeof b->at);
  memcpy(b->at + b->used, from, n);
  b->used += n;
}
static void put_int(bytes *b, uint64_t v, int n) {
  unsigned char raw[8];
  for (int i = 0; i < n; i++) raw[i] = (unsigned char)(v >> (8 * i));
  put(b, raw, (size_t)n);
}

/* An array of n doubles 0.5, 1.5, … as a .npy file. */
static void make_array(bytes *b, int n) {
  char head[NPY_HEAD_MAX];
  put(b, head, npy_head(head, ST_F64, 1, (const uint64_t[]){(uint64_t)n}));
  for (int i = 0; i < n; i++) put(b, &(double){i + 0.5}, 8);
}

static size_t pack(const bytes *from, unsigned char *to, size_t room) {
  union {
    const unsigned char *given;
    unsigned char *asked;
  } in = {from->at};
  z_stream s = {0};
  assert_int_equal(deflateInit2(&s, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  s.next_in = in.asked, s.avail_in = (uInt)from->used, s.next_out = to, s.avail_out = (uInt)room;
  assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
  size_t made = s.total_out;
  deflateEnd(&s);
  return made;
}

typedef struct member {
  const char *name;
  int count, deflated;
} member;

/* Local headers with their bytes, the directory, the end record. */
static void make_archive(bytes *z, int members, const member *m) {
  bytes directory = {0};
  *z = (bytes){0};
  for (int i = 0; i < members; i++) {
    bytes array = {0};
    unsigned char room[4096];
    make_array(&array, m[i].count);
    size_t packed = m[i].deflated ? pack(&array, room, sizeof room) : array.used, name = strlen(m[i].name),
           at = z->used;
    uint32_t crc = (uint32_t)crc32(0, array.at, (uInt)array.used);
    for (int central = 0; central < 2; central++) {
      bytes *to = central ? &directory : z;
      put(to, central ? "PK\1\2" : "PK\3\4", 4);
      if (central) put_int(to, 20, 2);
      put_int(to, 20, 2), put_int(to, 0, 2), put_int(to, m[i].deflated ? 8 : 0, 2), put_int(to, 0, 4);
      put_int(to, crc, 4), put_int(to, packed, 4), put_int(to, array.used, 4), put_int(to, name, 2), put_int(to, 0, 2);
      if (central) put_int(to, 0, 2), put_int(to, 0, 4), put_int(to, 0, 4), put_int(to, at, 4);
      put(to, m[i].name, name);
    }
    put(z, m[i].deflated ? room : array.at, packed);
  }
  size_t start = z->used;
  put(z, directory.at, directory.used);
  put(z, "PK\5\6", 4), put_int(z, 0, 4), put_int(z, (uint64_t)members, 2), put_int(z, (uint64_t)members, 2);
  put_int(z, directory.used, 4), put_int(z, start, 4), put_int(z, 0, 2);
}

static const member three[] = {{"a.npy", 3, 0}, {"notes.txt", 1, 0}, {"flux.npy", 20, 1}};

static void test_read(void **state) {
  (void)state;
  bytes b;
  npz z;
  make_archive(&b, 3, three);
  assert_int_equal(npz_parse(&z, b.at, b.used, "x.npz"), DKHO_OK);
  assert_int_equal(z.members, 2); /* other files are passed over */
  for (int i = 0; i < 2; i++) {
    npy a;
    void *room;
    assert_string_equal(z.member[i].name, i ? "flux" : "a");
    assert_int_equal(npz_array(&z, i, &a, &room), DKHO_OK);
    assert_int_equal(a.count, i ? 20 : 3);
    for (uint64_t k = 0; k < a.count; k++) assert_true(npy_double(&a, k) == (double)k + 0.5);
    assert_true((room != NULL) == i);
    mem_free(room);
  }
  mem_free(z.member);
}

/* The same with sizes and places of 64 bits: ZIP64's extra fields behind another one, its end record and the locator, as NumPy writes beyond 4 GB. */
static void make_wide(bytes *z, const member *m) {
  bytes array = {0};
  *z = (bytes){0};
  make_array(&array, m->count);
  size_t name = strlen(m->name), start = 0;
  uint32_t crc = (uint32_t)crc32(0, array.at, (uInt)array.used);
  for (int central = 0; central < 2; central++) {
    if (central) start = z->used;
    put(z, central ? "PK\1\2" : "PK\3\4", 4);
    if (central) put_int(z, 45, 2);
    put_int(z, 45, 2), put_int(z, 0, 2), put_int(z, 0, 2), put_int(z, 0, 4), put_int(z, crc, 4);
    put_int(z, 0xffffffffU, 4), put_int(z, 0xffffffffU, 4), put_int(z, name, 2), put_int(z, central ? 34 : 0, 2);
    if (central) put_int(z, 0, 2), put_int(z, 0, 4), put_int(z, 0, 4), put_int(z, 0xffffffffU, 4);
    put(z, m->name, name);
    if (central) {
      put_int(z, 7, 2), put_int(z, 2, 2), put_int(z, 0, 2);
      put_int(z, 1, 2), put_int(z, 24, 2), put_int(z, array.used, 8), put_int(z, array.used, 8), put_int(z, 0, 8);
    } else {
      put(z, array.at, array.used);
    }
  }
  size_t size = z->used - start, end = z->used;
  put(z, "PK\6\6", 4), put_int(z, 44, 8), put_int(z, 45, 2), put_int(z, 45, 2), put_int(z, 0, 4), put_int(z, 0, 4);
  put_int(z, 1, 8), put_int(z, 1, 8), put_int(z, size, 8), put_int(z, start, 8);
  put(z, "PK\6\7", 4), put_int(z, 0, 4), put_int(z, end, 8), put_int(z, 1, 4);
  put(z, "PK\5\6", 4), put_int(z, 0, 4), put_int(z, 0xffff, 2), put_int(z, 0xffff, 2);
  put_int(z, 0xffffffffU, 4), put_int(z, 0xffffffffU, 4), put_int(z, 0, 2);
}

static void test_wide(void **state) {
  (void)state;
  bytes b;
  npz z;
  npy a;
  void *room;
  char dir[64], path[128];
  make_wide(&b, &(member){"a.npy", 5, 0});
  scratch_make(dir);
  FILE *f = fopen(scratch_path(path, dir, "x.npz"), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(b.at, 1, b.used, f), b.used);
  fclose(f);
  if (npz_open(&z, path) != DKHO_OK) fail_msg("%s", fail_text());
  assert_int_equal(z.members, 1);
  assert_int_equal(npz_array(&z, 0, &a, &room), DKHO_OK);
  assert_int_equal(a.count, 5);
  for (uint64_t k = 0; k < 5; k++) assert_true(npy_double(&a, k) == (double)k + 0.5);
  npz_close(&z);
  scratch_remove(dir);
  assert_int_equal(npz_open(&z, path), DKHO_E_IO);
}

static void refuse_array(bytes *b, const char *words) {
  npz z;
  npy a;
  void *room;
  dkho_status s = npz_parse(&z, b->at, b->used, "x.npz");
  if (s == DKHO_OK) {
    s = npz_array(&z, 0, &a, &room);
    mem_free(z.member);
  }
  assert_int_equal(s, DKHO_E_FORMAT);
  if (!strstr(fail_text(), words) || !strstr(fail_text(), "x.npz")) fail_msg("found: %s", fail_text());
}

static void refuse_cuts(const bytes *b) {
  for (size_t n = 0; n < b->used; n++) {
    bytes cut = *b;
    cut.used = n;
    refuse_array(&cut, "");
  }
}

static void test_bad(void **state) {
  (void)state;
  bytes b;
  const member one = {"a.npy", 3, 0}, packed = {"a.npy", 30, 1}, none = {"a.txt", 3, 0};
  make_archive(&b, 1, &one);
  size_t end = b.used - 22, directory = end - 46 - 5;
  b.at[60] ^= 1; /* the array's bytes */
  refuse_array(&b, "checksum");
  make_archive(&b, 1, &one), b.at[directory + 10] = 12;
  refuse_array(&b, "compression method 12");
  make_archive(&b, 1, &one), b.at[directory + 20] = 0xff;
  refuse_array(&b, "do not fit");
  make_archive(&b, 1, &one), b.at[directory + 45] = 0x7f;
  refuse_array(&b, "do not fit");
  make_archive(&b, 1, &one), b.at[0] = 'Q';
  refuse_array(&b, "local header");
  make_archive(&b, 1, &one), b.at[end + 10] = 9;
  refuse_array(&b, "do not fit its directory");
  make_archive(&b, 1, &one), b.at[end + 19] = 0x7f;
  refuse_array(&b, "outside");
  make_archive(&b, 1, &none);
  refuse_array(&b, "no array");
  make_archive(&b, 1, &packed), b.at[50] ^= 0x55;
  refuse_array(&b, "a");
  refuse_cuts(&b);
  make_wide(&b, &one);
  b.at[b.used - 22 - 20 + 8] ^= 1; /* the locator's pointer */
  refuse_array(&b, "its 64-bit end record is missing");
  make_wide(&b, &one);
  b.at[b.used - 22 - 20 - 56 - 28 + 2] = 9; /* the extra field is cut: the sizes stay at 4 GB */
  refuse_array(&b, "do not fit");
  make_wide(&b, &one);
  refuse_cuts(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_wide),
                                     cmocka_unit_test(test_bad)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
