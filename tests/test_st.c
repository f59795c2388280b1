/* test_st.c: containers that are written, read back, interrupted and starved. Malformed ones are in test_st_bad.c. */
#include "scratch.h"

#include "base/rng.h"
#include "base/st.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static char dir[64];
static char path[128];

static int setup(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(path, dir, "x.st");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  scratch_remove(dir);
  return 0;
}

static st_file *open_good(void) {
  st_file *f;
  if (st_open(&f, path) != DKHO_OK) fail_msg("%s", dkho_error());
  return f;
}

static const unsigned char u8[3] = {1, 2, 255};
static const double f64[4] = {1, -0.0, INFINITY, 5e-324};
static const int32_t i32[6] = {INT32_MIN, -1, 0, 1, 2, INT32_MAX};
static const int64_t i64[2] = {INT64_MIN, INT64_MAX};
static const float f32 = 3.25f;
static const int8_t i8[1] = {-128};

/* All types in an order that needs padding, an empty tensor amid and one at the end, rank 0 and rank 8. */
static const st_tensor sample[] = {
    {.name = "u8", .dtype = ST_U8, .rank = 1, .shape = {3}, .data = u8},
    {.name = "f64", .dtype = ST_F64, .rank = 2, .shape = {2, 2}, .data = f64},
    {.name = "f32", .dtype = ST_F32, .rank = 0, .data = &f32},
    {.name = "hollow", .dtype = ST_I64, .rank = 3, .shape = {4, 0, 7}, .data = NULL},
    {.name = "i8 \"quoted\\\"", .dtype = ST_I8, .rank = 8, .shape = {1, 1, 1, 1, 1, 1, 1, 1}, .data = i8},
    {.name = "i32", .dtype = ST_I32, .rank = 2, .shape = {2, 3}, .data = i32},
    {.name = "φ/δ", .dtype = ST_I64, .rank = 1, .shape = {2}, .data = i64},
    {.name = "end", .dtype = ST_F32, .rank = 1, .shape = {0}, .data = NULL},
};
enum { SAMPLES = sizeof sample / sizeof *sample, METAS = 3 };
static const char *const sample_meta[METAS][2] = {
    {"kind", "test"}, {"json", "{\"a\": [1,\n2],\t\"b\": \"\\\\ \x01\x7f é\"}"}, {"a", ""}};

static dkho_status save_sample(int force) {
  return st_save(path, force, SAMPLES, sample, METAS, sample_meta);
}

static void test_round_trip(void **state) {
  (void)state;
  assert_int_equal(save_sample(0), DKHO_OK);
  st_file *f = open_good();
  assert_string_equal(st_path(f), path);
  assert_int_equal(st_count(f), SAMPLES); /* padding is not seen */
  for (int i = 0; i < SAMPLES; i++) {
    const st_tensor *t = st_at(f, i), *want = &sample[i];
    assert_string_equal(t->name, want->name);
    assert_ptr_equal(st_find(f, want->name), t);
    assert_int_equal(t->dtype, want->dtype);
    assert_int_equal(t->rank, want->rank);
    uint64_t count = 1;
    for (int k = 0; k < t->rank; k++) {
      assert_int_equal(t->shape[k], want->shape[k]);
      count *= want->shape[k];
    }
    assert_int_equal(t->count, count);
    assert_int_equal((uintptr_t)t->data % st_dtype_size(t->dtype), 0);
    if (count) assert_memory_equal(t->data, want->data, count * st_dtype_size(t->dtype));
  }
  assert_null(st_find(f, "_pad0"));
  assert_null(st_find(f, ""));
  assert_int_equal(st_meta_count(f), METAS);
  for (int i = 0; i < METAS; i++) assert_string_equal(st_meta(f, sample_meta[i][0]), sample_meta[i][1]);
  for (int i = 1; i < METAS; i++) assert_true(strcmp(st_meta_key(f, i - 1), st_meta_key(f, i)) < 0);
  assert_null(st_meta(f, "absent"));
  st_close(f);
}

/* Data begin at a multiple of 64, and equal contents make equal files. */
static void test_canonical(void **state) {
  (void)state;
  char first[33], second[33];
  assert_int_equal(save_sample(1), DKHO_OK);
  st_file *f = open_good();
  assert_int_equal((uintptr_t)st_at(f, 0)->data % 64, 0);
  st_hash(f, first);
  st_close(f);
  const char *const turned[METAS][2] = {
      {sample_meta[2][0], sample_meta[2][1]}, {sample_meta[0][0], "test"}, {"json", sample_meta[1][1]}};
  assert_int_equal(st_save(path, 1, SAMPLES, sample, METAS, turned), DKHO_OK);
  f = open_good();
  st_hash(f, second);
  st_close(f);
  assert_string_equal(first, second);
}

static void test_empty(void **state) {
  (void)state;
  assert_int_equal(st_save(path, 1, 0, NULL, 0, NULL), DKHO_OK);
  st_file *f = open_good();
  assert_int_equal(st_count(f), 0);
  assert_int_equal(st_meta_count(f), 0);
  assert_null(st_find(f, "a"));
  assert_null(st_meta(f, "a"));
  st_close(f);
}

/* 18 MB streamed in pieces that do not respect tensor boundaries. */
static void test_stream(void **state) {
  (void)state;
  enum { TENSORS = 3000, EACH = 1001 };
  st_writer *w;
  size_t before = mem_live_bytes();
  assert_int_equal(st_create(&w, path, 1), DKHO_OK);
  for (int i = 0; i < TENSORS; i++) {
    char name[32];
    snprintf(name, sizeof name, "t%d", i * 7919 % TENSORS); /* a permutation: names not in order */
    assert_int_equal(st_declare(w, name, i % 2 ? ST_F64 : ST_F32, 1, &(uint64_t){EACH}), DKHO_OK);
  }
  static unsigned char piece[10007];
  uint64_t total = (uint64_t)TENSORS / 2 * EACH * 12, sent = 0;
  while (sent < total) {
    size_t n = total - sent < sizeof piece ? (size_t)(total - sent) : sizeof piece;
    for (size_t i = 0; i < n; i++) piece[i] = (unsigned char)((sent + i) * 31 >> 3);
    assert_int_equal(st_write(w, piece, n), DKHO_OK);
    sent += n;
  }
  assert_true(mem_live_bytes() - before < 4 << 20); /* it really streams */
  assert_int_equal(st_commit(w), DKHO_OK);
  st_file *f = open_good();
  assert_int_equal(st_count(f), TENSORS);
  uint64_t at = 0;
  for (int i = 0; i < TENSORS; i++) {
    char name[32];
    snprintf(name, sizeof name, "t%d", i * 7919 % TENSORS);
    const st_tensor *t = st_find(f, name);
    assert_ptr_equal(t, st_at(f, i));
    const unsigned char *bytes = t->data;
    uint64_t n = t->count * st_dtype_size(t->dtype), wrong = 0;
    for (uint64_t k = 0; k < n; k++) wrong += bytes[k] != (unsigned char)((at + k) * 31 >> 3);
    assert_int_equal(wrong, 0);
    at += n;
  }
  assert_int_equal(at, total);
  st_close(f);
}

static void test_need(void **state) {
  (void)state;
  assert_int_equal(save_sample(1), DKHO_OK);
  st_file *f = open_good();
  const st_tensor *t;
  const char *text;
  assert_int_equal(st_need(f, "f64", ST_F64, 2, (int64_t[]){2, -1}, &t), DKHO_OK);
  assert_ptr_equal(t, st_find(f, "f64"));
  assert_int_equal(st_need(f, "f32", ST_F32, 0, NULL, &t), DKHO_OK);
  assert_int_equal(st_need(f, "f64", ST_F32, 2, (int64_t[]){2, -1}, &t), DKHO_E_FORMAT);
  assert_null(t);
  assert_non_null(strstr(dkho_error(), "x.st: tensor 'f64': found F64 [2, 2], expected F32 [2, *]"));
  assert_int_equal(st_need(f, "f64", ST_F64, 2, (int64_t[]){-1, 3}, &t), DKHO_E_FORMAT);
  assert_non_null(strstr(dkho_error(), "found F64 [2, 2], expected F64 [*, 3]"));
  assert_int_equal(st_need(f, "f64", ST_F64, 1, (int64_t[]){4}, &t), DKHO_E_FORMAT);
  assert_non_null(strstr(dkho_error(), "found F64 [2, 2], expected F64 [4]"));
  assert_int_equal(st_need(f, "none", ST_I64, 0, NULL, &t), DKHO_E_FORMAT);
  assert_non_null(strstr(dkho_error(), "x.st: tensor 'none' is missing, expected I64 []"));
  assert_int_equal(st_need_meta(f, "kind", &text), DKHO_OK);
  assert_string_equal(text, "test");
  assert_int_equal(st_need_meta(f, "none", &text), DKHO_E_FORMAT);
  assert_non_null(strstr(dkho_error(), "x.st: metadata 'none' is missing"));
  st_close(f);
}

static void refuse_declare(st_writer *w, const char *name, int rank, const uint64_t *shape, const char *expect) {
  assert_int_equal(st_declare(w, name, ST_F64, rank, shape), DKHO_E_INPUT);
  if (!strstr(dkho_error(), expect)) fail_msg("found \"%s\", expected \"%s\"", dkho_error(), expect);
}

static void test_bad_declarations(void **state) {
  (void)state;
  const uint64_t ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  char longest[ST_NAME_MAX + 2];
  memset(longest, 'n', sizeof longest);
  longest[ST_NAME_MAX + 1] = 0;
  st_writer *w;
  scratch_walk(dir, 1);
  assert_int_equal(st_create(&w, path, 0), DKHO_OK);
  refuse_declare(w, "", 0, NULL, "x.st: tensor name '' is empty");
  refuse_declare(w, longest, 0, NULL, "is longer than 255 bytes");
  refuse_declare(w, "a\tb", 0, NULL, "holds a control character");
  refuse_declare(w, "\xed\xa0\x80", 0, NULL, "is not UTF-8"); /* a surrogate */
  refuse_declare(w, "\xe2\x82", 0, NULL, "is not UTF-8");     /* cut off */
  refuse_declare(w, "\xf5\x80\x80\x80", 0, NULL, "is not UTF-8");
  refuse_declare(w, "__metadata__", 0, NULL, "is reserved");
  refuse_declare(w, "_pad12", 0, NULL, "is reserved");
  refuse_declare(w, "r", 9, ones, "tensor 'r': rank 9, expected 0 to 8");
  refuse_declare(w, "r", -1, ones, "tensor 'r': rank -1");
  refuse_declare(w, "r", 1, &(uint64_t){UINT64_MAX}, "extent 0 is negative or too large");
  refuse_declare(w, "r", 2, (uint64_t[]){1ull << 32, 1ull << 32}, "byte count does not fit 63 bits");
  refuse_declare(w, "r", 1, &(uint64_t){1ull << 60}, "byte count does not fit 63 bits");
  longest[ST_NAME_MAX] = 0;
  assert_int_equal(st_declare(w, longest, ST_U8, 1, &(uint64_t){INT64_MAX - 7}), DKHO_OK);
  refuse_declare(w, "r", 1, &(uint64_t){1}, "the file's size does not fit 63 bits");
  assert_int_equal(st_put_meta(w, "k", "\xff"), DKHO_E_INPUT);
  assert_non_null(strstr(dkho_error(), "metadata 'k' is not UTF-8"));
  assert_int_equal(st_put_meta(w, "", "v"), DKHO_E_INPUT);
  st_abort(w);
  assert_int_equal(st_save(path, 0, 2, (st_tensor[]){sample[0], sample[0]}, 0, NULL), DKHO_E_INPUT);
  assert_non_null(strstr(dkho_error(), "tensor 'u8' is declared twice"));
  assert_int_equal(st_save(path, 0, 0, NULL, 2, (const char *const[][2]){{"k", "1"}, {"k", "2"}}), DKHO_E_INPUT);
  assert_non_null(strstr(dkho_error(), "metadata 'k' is given twice"));
  assert_int_equal(scratch_count(dir), 0);
}

static void put_old(void) {
  FILE *old = fopen(path, "w");
  assert_non_null(old);
  fputs("old", old);
  fclose(old);
}

/* The directory holds the file "old" and nothing else. */
static void assert_old(void) {
  char text[8] = "";
  FILE *old = fopen(path, "r");
  assert_non_null(old);
  assert_non_null(fgets(text, sizeof text, old));
  fclose(old);
  assert_string_equal(text, "old");
  assert_int_equal(scratch_count(dir), 1);
}

static void test_interrupted(void **state) {
  (void)state;
  size_t live = mem_live_blocks();
  st_writer *w;
  put_old();
  assert_int_equal(st_create(&w, path, 0), DKHO_E_EXISTS);
  assert_null(w);
  assert_int_equal(st_create(&w, path, 1), DKHO_OK);
  assert_int_equal(st_declare(w, "a", ST_F64, 1, &(uint64_t){2}), DKHO_OK);
  assert_int_equal(st_write(w, f64, 8), DKHO_OK);
  st_abort(w);
  assert_old();
  assert_int_equal(st_create(&w, path, 1), DKHO_OK); /* too few bytes */
  assert_int_equal(st_declare(w, "a", ST_F64, 1, &(uint64_t){2}), DKHO_OK);
  assert_int_equal(st_write(w, f64, 15), DKHO_OK);
  assert_int_equal(st_commit(w), DKHO_E_INTERNAL);
  assert_non_null(strstr(dkho_error(), "tensor 'a': 15 of 16 bytes were written"));
  assert_old();
  assert_int_equal(st_create(&w, path, 1), DKHO_OK); /* too many, and the failure is remembered */
  assert_int_equal(st_declare(w, "a", ST_F64, 1, &(uint64_t){1}), DKHO_OK);
  assert_int_equal(st_write(w, f64, 9), DKHO_E_INTERNAL);
  assert_non_null(strstr(dkho_error(), "1 bytes more than"));
  assert_int_equal(st_commit(w), DKHO_E_INTERNAL);
  assert_old();
  st_abort(NULL);
  assert_int_equal(mem_live_blocks(), live);
}

/* A limit on the file size stands for a full disk: the write fails half-way. */
static void test_disk_full(void **state) {
  (void)state;
  struct rlimit old, small;
  static double big[400000];
  const st_tensor list[] = {{.name = "big", .dtype = ST_F64, .rank = 1, .shape = {400000}, .data = big}};
  put_old();
  size_t live = mem_live_blocks();
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (rlim_t limit = 0; limit < 3000000; limit += 1234567) {
    small = old;
    small.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    dkho_status s = st_save(path, 1, 1, list, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(s, DKHO_E_IO);
    assert_non_null(strstr(dkho_error(), "x.st: cannot write: File too large"));
    assert_old();
  }
  signal(SIGXFSZ, handler);
  assert_int_equal(mem_live_blocks(), live);
}

/* The n-th allocation fails, for every n, until the work succeeds. */
static void test_starved(void **state) {
  (void)state;
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  int n = 0;
  put_old();
  while (s != DKHO_OK) {
    assert_old();
    mem_fail_at(++n);
    s = save_sample(1);
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
  }
  assert_true(n > 5);
  st_file *f = NULL;
  n = 0;
  do {
    mem_fail_at(++n);
    s = st_open(&f, path);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || (s == DKHO_E_MEMORY && !f && mem_live_blocks() == live));
  } while (s != DKHO_OK);
  assert_true(n > 3);
  assert_int_equal(st_count(f), SAMPLES);
  st_close(f);
  assert_int_equal(mem_live_blocks(), live);
}

static int bits_apart(const char *a, const char *b) {
  int sum = 0;
  for (int i = 0; i < 32; i += 8) {
    char x[9] = {0}, y[9] = {0};
    memcpy(x, a + i, 8);
    memcpy(y, b + i, 8);
    sum += __builtin_popcount((unsigned)(strtoul(x, NULL, 16) ^ strtoul(y, NULL, 16)));
  }
  return sum;
}

/* A flipped bit anywhere flips about half of the digest; alignment of the input does not matter. */
static void test_hash_avalanche(void **state) {
  (void)state;
  unsigned char bytes[131], moved[132];
  rng r = rng_open(1, RNG_TEST, 0);
  int least = 128, trials = 0;
  double sum = 0;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)rng_u32(&r);
  for (size_t n = 1; n <= sizeof bytes; n += 13) {
    char base[33], other[33];
    st_hash_bytes(bytes, n, base);
    memcpy(moved + 1, bytes, n);
    st_hash_bytes(moved + 1, n, other);
    assert_string_equal(base, other);
    for (size_t bit = 0; bit < 8 * n; bit++) {
      bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
      st_hash_bytes(bytes, n, other);
      bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
      int apart = bits_apart(base, other);
      least = apart < least ? apart : least;
      sum += apart;
      trials++;
    }
  }
  assert_true(fabs(sum / trials - 64) < 0.6); /* standard error 5.7/√5720 = 0.075 */
  assert_true(least > 35);                    /* five standard deviations */
}

static int text_order(const void *a, const void *b) {
  return strcmp(a, b);
}

/* Zeros of every length, single bits and small counters all differ, even in the first 64 bits. */
static void test_hash_distinct(void **state) {
  (void)state;
  enum { ZEROS = 600, BITS = 8 * 96, COUNTERS = 50000, ALL = ZEROS + BITS + COUNTERS };
  static char digest[ALL][33];
  unsigned char bytes[ZEROS] = {0};
  int n = 0;
  for (size_t i = 0; i < ZEROS; i++) st_hash_bytes(bytes, i, digest[n++]);
  for (int i = 0; i < BITS; i++) {
    bytes[i / 8] = (unsigned char)(1u << i % 8);
    st_hash_bytes(bytes, 96, digest[n++]);
    bytes[i / 8] = 0;
  }
  for (uint64_t i = 1; i <= COUNTERS; i++) {
    double pair[5] = {(double)i, 0, 0, 0, -(double)i}; /* same lane, twice */
    st_hash_bytes(pair, sizeof pair, digest[n++]);
  }
  for (int i = 0; i < ALL; i++) digest[i][16] = 0;
  qsort(digest, ALL, sizeof *digest, text_order);
  for (int i = 1; i < ALL; i++) assert_string_not_equal(digest[i - 1], digest[i]);
}

/* The function is part of the format: runs and data sets are recorded by it. */
static void test_hash_frozen(void **state) {
  (void)state;
  char hex[33];
  st_hash_bytes("", 0, hex);
  assert_string_equal(hex, "636896ef9bd5583a2da3f84bdd0b8c61");
  st_hash_bytes("The quick brown fox jumps over the lazy dog", 43, hex);
  assert_string_equal(hex, "181a309453185e0f38ef6faa9f0dca58");
}

static void test_mend_utf8(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"", ""},
                                         {"Möbius ∂ 𝛿", "Möbius ∂ 𝛿"},
                                         {"a\xff"
                                          "b",
                                          "a?b"},
                                         {"cut \xe2\x88", "cut ??"},
                                         {"\xc0\x80 \xed\xa0\x80", "?? ???"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char text[32];
    snprintf(text, sizeof text, "%s", pairs[i][0]);
    st_mend_utf8(text);
    assert_string_equal(text, pairs[i][1]);
    assert_true(st_is_utf8(text));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mend_utf8),        cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_canonical),        cmocka_unit_test(test_empty),
      cmocka_unit_test(test_stream),           cmocka_unit_test(test_need),
      cmocka_unit_test(test_bad_declarations), cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_disk_full),        cmocka_unit_test(test_starved),
      cmocka_unit_test(test_hash_avalanche),   cmocka_unit_test(test_hash_distinct),
      cmocka_unit_test(test_hash_frozen),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
