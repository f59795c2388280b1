/* test_st_bad.c: malformed containers. Each is refused with a message of its own that names file, field, what was found
 * and what was expected; nothing leaks. */
#include "scratch.h"

#include "base/st.h"

/* One tensor "a" with the given entry; T is the entry of a good one of 8 bytes. */
#define T "{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}"
#define A(entry) "{\"a\":" entry "}"
#define ENTRY(dtype, shape, offsets) A("{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}")
/* Two tensors of U8; the second at the offsets given. */
#define TWO(offsets)                                                                                                   \
  "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[4],"              \
  "\"data_offsets\":" offsets "}}"

static const struct {
  const char *header; /* padded with spaces to a multiple of 8 */
  size_t data;        /* bytes of value 1 that follow */
  const char *expect;
} bad[] = {
    {" " A(T), 8, "begins with byte 0x20, expected '{'"},
    {"[1,2]", 0, "begins with byte 0x5b, expected '{'"},
    {"{\"a\":1", 0, "ends with byte 0x31, expected '}' and spaces"},
    {A(T) "\n", 8, "ends with byte 0x0a, expected '}' and spaces"},
    {A(T) "\t", 8, "ends with byte 0x09, expected '}' and spaces"},
    {"{\"a\" 1}", 0, "JSON, near byte 6: ':' expected"},
    {"{\"a\":NaN}", 0, "JSON, near byte 8: invalid token near 'NaN'"},
    {"{\"a\":1e999}", 0, "real number overflow near '1e999'"},
    {"{}{}", 0, "end of file expected near '{'"},
    {"{\"a\":{}} x }", 0, "end of file expected near 'x'"},
    {"{\"a\xff\":{}}", 0, "unable to decode byte 0xff"},
    {"{\"a\":\"\xc0\xaf\"}", 0, "unable to decode byte 0xc0"},
    {"{\"\\u0000\":{}}", 0, "\\u0000"},
    {"{\"\\ud800\":{}}", 0, "invalid Unicode '\\uD800'"},
    {"{\"a\":" T ",\"a\":" T "}", 8, "duplicate object key near '\"a\"'"},
    {A("{\"dtype\":\"U8\",\"dtype\":\"U8\"}"), 0, "duplicate object key near '\"dtype\"'"},
    {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "duplicate object key near '\"k\"'"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate object key near '\"__metadata__\"'"},
    {"{\"__metadata__\":[]}", 0, "__metadata__: found an array, expected an object"},
    {"{\"__metadata__\":null}", 0, "__metadata__: found null, expected an object"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "__metadata__: value of 'k': found an integer, expected a string"},
    {"{\"__metadata__\":{\"k\":{}}}", 0, "__metadata__: value of 'k': found an object, expected a string"},
    {"{\"__metadata__\":{\"\":\"v\"}}", 0, "__metadata__: key '' is empty"},
    {"{\"__metadata__\":{\"a\\nb\":\"v\"}}", 0, "__metadata__: key 'a?b' holds a control character"},
    {"{\"\":" T "}", 8, "tensor number 0: name '' is empty"},
    {"{\"a\\u001b[31m\":" T "}", 8, "tensor number 0: name 'a?[31m' holds a control character"},
    {A("true"), 0, "tensor 'a': found a truth value, expected an object"},
    {A("3"), 0, "tensor 'a': found an integer, expected an object"},
    {A("{}"), 0, "tensor 'a': dtype is missing"},
    {A("{\"dtype\":\"U8\"}"), 0, "tensor 'a': shape is missing"},
    {A("{\"dtype\":\"U8\",\"shape\":[0]}"), 0, "tensor 'a': data_offsets is missing"},
    {A("{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"note\":1}"), 0, "tensor 'a': unknown key 'note'"},
    {ENTRY("7", "[1]", "[0,8]"), 8, "dtype: found an integer, expected a string"},
    {ENTRY("\"BF16\"", "[4]", "[0,8]"), 8, "dtype: found 'BF16', expected U8, I8, I32, I64, F32 or F64"},
    {ENTRY("\"f64\"", "[1]", "[0,8]"), 8, "dtype: found 'f64', expected"},
    {ENTRY("\"F64\"", "8", "[0,8]"), 8, "shape: found an integer, expected an array"},
    {ENTRY("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "shape: found 9 extents, expected at most 8"},
    {ENTRY("\"F64\"", "[1.0]", "[0,8]"), 8, "shape[0]: found a real number, expected an integer"},
    {ENTRY("\"F64\"", "[1,\"1\"]", "[0,8]"), 8, "shape[1]: found a string, expected an integer"},
    {ENTRY("\"F64\"", "[1,null]", "[0,8]"), 8, "shape[1]: found null, expected an integer"},
    {ENTRY("\"F64\"", "[-1]", "[0,8]"), 8, "shape[0]: found -1, expected at least 0"},
    {ENTRY("\"U8\"", "[99999999999999999999]", "[0,8]"), 8, "too big integer near '99999999999999999999'"},
    {ENTRY("\"U8\"", "[4294967296,4294967296]", "[0,0]"), 0, "product of 2 extents does not fit 63 bits"},
    {ENTRY("\"U8\"", "[0,4294967296,4294967296]", "[0,0]"), 0, "product of 3 extents does not fit 63 bits"},
    {ENTRY("\"F64\"", "[2305843009213693952]", "[0,0]"), 0, "product of 1 extents does not fit 63 bits"},
    {ENTRY("\"F64\"", "[1]", "8"), 8, "data_offsets: found an integer, expected an array"},
    {ENTRY("\"F64\"", "[1]", "[8]"), 8, "data_offsets: found 1 numbers, expected 2"},
    {ENTRY("\"F64\"", "[1]", "[0,8,8]"), 8, "data_offsets: found 3 numbers, expected 2"},
    {ENTRY("\"F64\"", "[1]", "[0.0,8]"), 8, "data_offsets[0]: found a real number, expected an integer"},
    {ENTRY("\"F64\"", "[1]", "[0,8e0]"), 8, "data_offsets[1]: found a real number, expected an integer"},
    {ENTRY("\"F64\"", "[1]", "[-8,0]"), 8, "data_offsets[0]: found -8, expected at least 0"},
    {ENTRY("\"F64\"", "[1]", "[8,0]"), 8, "data_offsets: begin 8 lies after end 0"},
    {ENTRY("\"F64\"", "[1]", "[8,16]"), 16, "data_offsets: begin 8 leaves a gap, expected 0"},
    {TWO("[5,9]"), 9, "tensor 'b': data_offsets: begin 5 leaves a gap, expected 4"},
    {TWO("[3,7]"), 8, "tensor 'b': data_offsets: begin 3 leaves an overlap, expected 4"},
    {TWO("[0,4]"), 8, "tensor 'b': data_offsets: begin 0 leaves an overlap, expected 4"},
    {TWO("[4,8]"), 7, "tensor 'b': data_offsets: end 8, but the file holds 7 bytes of data"},
    {TWO("[4,8]"), 9, "data: 9 bytes, but the tensors end at 8"},
    {TWO("[4,7]"), 7, "tensor 'b': data_offsets: 3 bytes, but dtype and shape make 4"},
    {ENTRY("\"F64\"", "[2]", "[0,8]"), 8, "tensor 'a': data_offsets: 8 bytes, but dtype and shape make 16"},
    {ENTRY("\"F64\"", "[1]", "[0,9223372036854775807]"), 8, "end 9223372036854775807, but the file holds 8 bytes"},
    {"{}", 1, "data: 1 bytes, but the tensors end at 0"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F64\",\"shape\":[],"
     "\"data_offsets\":[4,12]}}",
     12, "tensor 'b': data_offsets: begin 4 is not aligned for F64, expected a multiple of 8"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"b\":{\"dtype\":\"I32\",\"shape\":[0],"
     "\"data_offsets\":[1,1]}}",
     1, "tensor 'b': data_offsets: begin 1 is not aligned for I32, expected a multiple of 4"},
    {"{\"_pad0\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
     "tensor '_pad0': the name is reserved for padding: found I8 of rank 1 and 4 elements"},
    {"{\"_pad0\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}", 8,
     "tensor '_pad0': the name is reserved for padding: found U8 of rank 1 and 8 elements"},
    {"{\"_pad7\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
     "tensor '_pad7': the name is reserved for padding: found U8 of rank 0 and 1 elements"},
    {"{\"_pad0\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
     "tensor '_pad0': padding byte 0: found 0x01, expected 0"},
};

enum { SEEN_MAX = 128, PATH_TEXT = 1024 };
static char seen[SEEN_MAX][PATH_TEXT];
static int seen_count;

static void refuse(const void *bytes, size_t size, const char *expect) {
  st_file *f = (st_file *)(uintptr_t)8;
  size_t live = mem_live_blocks();
  dkho_status s = st_open_memory(&f, bytes, size, "bad.st");
  if (s != DKHO_E_FORMAT) fail_msg("accepted (status %d), expected: %s", s, expect);
  assert_null(f);
  assert_int_equal(mem_live_blocks(), live);
  if (strncmp(dkho_error(), "bad.st: ", 8) != 0 || !strstr(dkho_error(), expect))
    fail_msg("found message \"%s\", expected \"%s\"", dkho_error(), expect);
  assert_true(seen_count < SEEN_MAX);
  for (int i = 0; i < seen_count; i++)
    if (strcmp(seen[i], dkho_error()) == 0) fail_msg("two files give the message \"%s\"", seen[i]);
  snprintf(seen[seen_count++], PATH_TEXT, "%s", dkho_error());
}

/* Prefix, header of n bytes padded to a multiple of 8, data bytes of value 1. Free with mem_free. */
static unsigned char *build(const char *header, size_t n, size_t data, size_t *size) {
  uint64_t padded = (n + 7) / 8 * 8;
  *size = 8 + padded + data;
  unsigned char *file = mem_alloc(*size, 1);
  assert_non_null(file);
  memcpy(file, &padded, 8);
  memset(file + 8, ' ', padded);
  memcpy(file + 8, header, n);
  memset(file + 8 + padded, 1, data);
  return file;
}

static void refuse_header(const char *header, size_t n, size_t data, const char *expect) {
  size_t size;
  unsigned char *file = build(header, n, data, &size);
  refuse(file, size, expect);
  mem_free(file);
}

static void refuse_prefixes(void) {
  _Alignas(8) unsigned char file[64] = {8, 0, 0, 0, 0, 0, 0, 0, '{', '}', ' ', ' ', ' ', ' ', ' ', ' '};
  st_file *f;
  assert_int_equal(st_open_memory(&f, file, 16, "good.st"), DKHO_OK); /* what follows spoils one thing each */
  st_close(f);
  refuse(NULL, 0, "file of 0 bytes, expected at least 10");
  refuse(file, 9, "file of 9 bytes, expected at least 10");
  refuse(file, 15, "header length: found 8, but only 7 bytes follow");
  file[0] = 0;
  refuse(file, 16, "header length: found 0, expected at least 2");
  file[0] = 1;
  refuse(file, 16, "header length: found 1, expected at least 2");
  file[0] = 2;
  refuse(file, 16, "header length: found 2, expected a multiple of 8");
  file[0] = 255;
  refuse(file, 16, "header length: found 255, but only 8 bytes follow");
  file[3] = 4; /* 64 MiB + 255 */
  refuse(file, 16, "header length: found 67109119, expected at most 67108864");
  memset(file, 255, 8);
  refuse(file, 16, "header length: found 18446744073709551615, expected at most");
}

static void refuse_long(void) {
  char header[512];
  int n = snprintf(header, sizeof header, "{\"%0256d\":" T "}", 0);
  refuse_header(header, (size_t)n, 8, "is longer than 255 bytes");
  n = snprintf(header, sizeof header, "{\"__metadata__\":{\"%0256d\":\"\"}}", 0);
  refuse_header(header, (size_t)n, 0, "__metadata__: key '0000");
  refuse_header("{\"a\0\":{}}", 9, 0, "near byte 3");
  size_t room = (size_t)(ST_TENSORS_MAX + 1) * 64, used = 1;
  char *many = mem_alloc(room, 1);
  many[0] = '{';
  for (int i = 0; i <= ST_TENSORS_MAX; i++)
    used += (size_t)snprintf(many + used, room - used, "%s\"%d\":{}", i ? "," : "", i);
  many[used++] = '}';
  refuse_header(many, used, 0, "header: 65537 tensors, expected at most 65536");
  memset(many, '[', room);
  memcpy(many, "{\"a\":", 5);
  many[4999] = '}';
  refuse_header(many, 5000, 0, "maximum parsing depth reached");
  mem_free(many);
}

static void test_refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    refuse_header(bad[i].header, strlen(bad[i].header), bad[i].data, bad[i].expect);
  refuse_prefixes();
  refuse_long();
  assert_true(seen_count >= 80);
}

#define GOOD                                                                                                           \
  "{\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"                   \
  "\"b\":{\"dtype\":\"I8\",\"shape\":[3,1],\"data_offsets\":[16,19]}}"

/* No part of a good file is a good file. */
static void test_truncation(void **state) {
  (void)state;
  size_t size;
  unsigned char *file = build(GOOD, strlen(GOOD), 19, &size);
  st_file *f;
  assert_int_equal(st_open_memory(&f, file, size, "good"), DKHO_OK);
  st_close(f);
  for (size_t n = 0; n < size; n++) {
    unsigned char *part = malloc(n ? n : 1); /* exact size, so that sanitizers see a step too far */
    memcpy(part, file, n);
    assert_int_equal(st_open_memory(&f, part, n, "part"), DKHO_E_FORMAT);
    free(part);
  }
  mem_free(file);
}

/* A damaged byte is refused or leaves every tensor inside the file. */
static void test_damage(void **state) {
  (void)state;
  size_t size, live = mem_live_blocks();
  unsigned char *file = build(GOOD, strlen(GOOD), 19, &size);
  for (size_t at = 0; at < size - 19; at++)
    for (int value = 0; value < 256; value += 5) {
      unsigned char old = file[at];
      st_file *f;
      file[at] = (unsigned char)value;
      if (st_open_memory(&f, file, size, "damaged") == DKHO_OK) {
        uint64_t bytes = 0;
        for (int i = 0; i < st_count(f); i++) bytes += st_at(f, i)->count * st_dtype_size(st_at(f, i)->dtype);
        assert_int_equal(bytes, 19);
        st_close(f);
      }
      file[at] = old;
    }
  mem_free(file);
  assert_int_equal(mem_live_blocks(), live);
}

static void test_unaligned_memory(void **state) {
  (void)state;
  _Alignas(8) unsigned char file[17] = {0};
  st_file *f;
  assert_int_equal(st_open_memory(&f, file + 1, 16, "odd"), DKHO_E_INPUT);
  assert_non_null(strstr(dkho_error(), "odd: bytes in memory are not aligned to 8"));
}

static void test_no_file(void **state) {
  (void)state;
  st_file *f;
  assert_int_equal(st_open(&f, "no/such.st"), DKHO_E_IO);
  assert_non_null(strstr(dkho_error(), "no/such.st: cannot open: No such file"));
  assert_int_equal(st_open(&f, "."), DKHO_E_IO);
  assert_non_null(strstr(dkho_error(), "not a regular file"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refusals),         cmocka_unit_test(test_truncation), cmocka_unit_test(test_damage),
      cmocka_unit_test(test_unaligned_memory), cmocka_unit_test(test_no_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
