/* test_npy.c: .npy files: round trips, the header's freedoms, hostile and unsupported files. */
#include "scratch.h"

#include "base/mem.h"
#include "data/npy.h"

/* A file of the given version with this header text and `data` zero bytes; returns its size. */
static size_t make(unsigned char *b, int major, const char *header, size_t data) {
  size_t n = strlen(header), start = major == 1 ? 10 : 12;
  memcpy(b, "\x93NUMPY", 6);
  b[6] = (unsigned char)major, b[7] = 0;
  for (size_t i = 0; i < start - 8; i++) b[8 + i] = (unsigned char)(n >> (8 * i));
  memcpy(b + start, header, n);
  memset(b + start + n, 0, data);
  return start + n + data;
}

static void test_round_trip(void **state) {
  (void)state;
  static const float single[6] = {1, 2, 3, 4, 5, -0.5f};
  static const double pair[6] = {1, 2, 3, 4, 5, 1e-300};
  static const int32_t small[6] = {1, 2, 3, 4, 5, -7};
  static const int64_t large[6] = {1, 2, 3, 4, 5, INT64_C(1) << 40};
  static const struct {
    st_dtype dtype;
    const void *data;
    double last;
  } kinds[] = {{ST_F32, single, -0.5}, {ST_F64, pair, 1e-300}, {ST_I32, small, -7}, {ST_I64, large, 1099511627776.0}};
  static const uint64_t shapes[][3] = {{6, 1, 1}, {2, 3, 1}, {1, 2, 3}};
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "a.npy");
  for (int k = 0; k < 4; k++)
    for (int rank = 1; rank <= 3; rank++) {
      npy a;
      assert_int_equal(npy_save(path, 1, kinds[k].dtype, rank, shapes[rank - 1], kinds[k].data), DKHO_OK);
      assert_int_equal(npy_open(&a, path), DKHO_OK);
      assert_int_equal(a.dtype, kinds[k].dtype);
      assert_int_equal(a.rank, rank);
      assert_int_equal(a.count, 6);
      for (int i = 0; i < rank; i++) assert_int_equal(a.shape[i], shapes[rank - 1][i]);
      for (int i = 0; i < 5; i++) assert_true(npy_double(&a, (uint64_t)i) == i + 1);
      assert_true(npy_double(&a, 5) == kinds[k].last);
      assert_int_equal((size_t)(a.data - a.map.bytes) % 64, 0);
      npy_close(&a);
    }
  assert_int_equal(npy_save(path, 0, ST_F64, 1, shapes[0], pair), DKHO_E_EXISTS);
  assert_int_equal(scratch_count(dir), 1);
  scratch_remove(dir);
}

static void test_versions(void **state) {
  (void)state;
  static const char *const headers[] = {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }     \n",
                                        "{\"shape\":(2,3),\"descr\":\"<f8\",\"fortran_order\":False}",
                                        "{ 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f8' }\n"};
  unsigned char b[512];
  for (int major = 1; major <= 3; major++)
    for (int h = 0; h < 3; h++) {
      npy a;
      size_t n = make(b, major, headers[h], 48);
      assert_int_equal(npy_parse(&a, b, n, "m"), DKHO_OK);
      assert_int_equal(a.rank, 2);
      assert_int_equal(a.shape[0], 2);
      assert_int_equal(a.shape[1], 3);
    }
  npy a;
  assert_int_equal(npy_parse(&a, b, make(b, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': ()}", 4), "m"),
                   DKHO_OK);
  assert_int_equal(a.rank, 0);
  assert_int_equal(a.count, 1);
  assert_int_equal(npy_parse(&a, b, make(b, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (0, 5)}", 0), "m"),
                   DKHO_OK);
  assert_int_equal(a.count, 0);
}

#define H(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape "}"
static const struct {
  int major;
  const char *header;
  size_t data;
  const char *expect;
} bad[] = {
    {4, H("'<f8'", "False", "(1,)"), 8, "version 4.0, expected 1.0, 2.0 or 3.0"},
    {0, H("'<f8'", "False", "(1,)"), 8, "version 0.0"},
    {1, H("'>f8'", "False", "(1,)"), 8, "found '>f8', expected <f4, <f8, <i4 or <i8"},
    {1, H("'|O'", "False", "(1,)"), 8, "found '|O'"},
    {1, H("'<c16'", "False", "(1,)"), 16, "found '<c16'"},
    {1, H("[('a', '<f8')]", "False", "(1,)"), 8, "structured types are not supported"},
    {1, H("'<f8'", "True", "(1,)"), 8, "the array is stored by columns; save numpy.ascontiguousarray(a)"},
    {1, H("'<f8'", "1", "(1,)"), 8, "'fortran_order': expected True or False"},
    {1, H("'<f8'", "False", "(1)"), 8, "expected (n,) for one axis"},
    {1, H("'<f8'", "False", "1"), 8, "'shape': expected ("},
    {1, H("'<f8'", "False", "(-1,)"), 8, "'shape': expected a number"},
    {1, H("'<f8'", "False", "(1;)"), 8, "'shape': expected , or )"},
    {1, H("'<f8'", "False", "(1,1,1,1,1,1,1,1,1)"), 8, "more than 8 axes"},
    {1, H("'<f8'", "False", "(99999999999999999999,)"), 8, "an extent is too large"},
    {1, H("'<f8'", "False", "(4294967296, 4294967296)"), 8, "the shape asks for more than the 8 bytes"},
    {1, H("'<f8'", "False", "(2,)"), 8, "the shape asks for more than the 8 bytes"},
    {1, H("'<f8'", "False", "(1,)"), 16, "found 16 bytes of data, expected 8"},
    {1, H("'<f8'", "False", "(0,)"), 8, "found 8 bytes of data, expected 0"},
    {1, "{'descr': '<f8', 'shape': (1,)}", 8, "'fortran_order' is missing"},
    {1, "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", 8, "'descr' is given twice"},
    {1, "{'descr': '<f8', 'order': False, 'shape': (1,)}", 8, "unknown key 'order'"},
    {1, "{'descr' '<f8'}", 8, "expected :"},
    {1, "{'descr': '<f8' 'shape': (1,)}", 8, "expected , or }"},
    {1, "{'descr': '<f8", 0, "quoted text without an end"},
    {1, "{descr: '<f8'}", 8, "expected quoted text"},
    {1, "['descr']", 8, "expected {"},
    {1, H("'<f8'", "False", "(1,)") " x", 8, "text after }"},
    {1, "", 0, "expected {"},
};

static void test_bad(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    unsigned char b[512];
    npy a;
    size_t n = make(b, bad[i].major, bad[i].header, bad[i].data);
    assert_int_equal(npy_parse(&a, b, n, "some.npy"), DKHO_E_FORMAT);
    if (!strstr(fail_text(), bad[i].expect) || strncmp(fail_text(), "some.npy: ", 10) != 0) {
      print_error("\"%s\": expected \"%s\"\n", fail_text(), bad[i].expect);
      assert_true(0);
    }
  }
}

/* Every prefix of a good file is refused, and so is a file that claims a longer header. */
static void test_truncated(void **state) {
  (void)state;
  unsigned char b[512];
  npy a;
  for (int major = 1; major <= 2; major++) {
    size_t n = make(b, major, H("'<f8'", "False", "(2,)"), 16);
    for (size_t i = 0; i < n; i++) {
      unsigned char *part = malloc(i + 1); /* exact bounds, for the address sanitizer */
      memcpy(part, b, i);
      assert_int_equal(npy_parse(&a, part, i, "m"), DKHO_E_FORMAT);
      free(part);
    }
    b[9] = 0xff;
    assert_int_equal(npy_parse(&a, b, n, "m"), DKHO_E_FORMAT);
    assert_non_null(strstr(fail_text(), "a header of"));
  }
}

static void test_files(void **state) {
  (void)state;
  size_t live = mem_live_blocks();
  npy a;
  assert_int_equal(npy_open(&a, "no such file.npy"), DKHO_E_IO);
  assert_int_equal(npy_open(&a, "."), DKHO_E_IO);
  assert_int_equal(npy_open(&a, "/dev/null"), DKHO_E_IO);
  assert_int_equal(mem_live_blocks(), live);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_versions),
                                     cmocka_unit_test(test_bad), cmocka_unit_test(test_truncated),
                                     cmocka_unit_test(test_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
