/* Tests of tables: widths, wrapping, escapes, failing allocations. */
#include "scratch.h"

#include "base/file.h"
#include "base/mem.h"
#include "report/table.h"

static dkho_status fill(table **t) {
  static const char *const head[3] = {"model", "RelL2", "remark"};
  static const char *const cell[9] = {"DKHO",  "0.0179", "the full model, with \"phase\"",
                                      "GNO",   "0.05",   "a|b",
                                      "β-net", NULL,     "an_extremely_long_word_without_any_space"};
  TRY(table_open(t, 3, "lrl", head));
  dkho_status s = DKHO_OK;
  for (int i = 0; i < 9 && s == DKHO_OK; i++) s = table_add(*t, cell[i]);
  if (s != DKHO_OK) {
    table_close(*t);
    *t = NULL;
  }
  return s;
}

static table *filled(void) {
  table *t = NULL;
  if (fill(&t) != DKHO_OK) fail_msg("%s", fail_text());
  return t;
}

/* Letters of the longest line. */
static int widest(const char *s) {
  int most = 0, w = 0;
  for (; *s; s++) {
    if (*s == '\n') w = -1;
    w += ((unsigned char)*s & 0xc0) != 0x80;
    most = w > most ? w : most;
  }
  return most;
}

static void test_text(void **state) {
  (void)state;
  table *t = filled();
  char *s;
  assert_int_equal(table_text(t, 0, &s), DKHO_OK);
  assert_non_null(strstr(s, "DKHO   0.0179  the full model, with \"phase\"\n"));
  assert_non_null(strstr(s, "GNO      0.05  a|b\n")); /* numbers end together, nothing trails */
  assert_non_null(strstr(s, "\nβ-net          an_"));
  mem_free(s);
  for (int width = 20; width < 70; width++) {
    assert_int_equal(table_text(t, width, &s), DKHO_OK);
    assert_true(widest(s) <= width);
    mem_free(s);
  }
  assert_int_equal(table_text(t, 30, &s), DKHO_OK); /* breaks at spaces, and a long word somewhere */
  assert_non_null(strstr(s, "the full model,\n"));
  assert_non_null(strstr(s, "               with"));
  mem_free(s);
  table_close(t);
}

static void test_markdown_and_csv(void **state) {
  (void)state;
  table *t = filled();
  char *s;
  assert_int_equal(table_addf(t, "%s,%d", "x", 5), DKHO_OK); /* a row that is not complete is filled up */
  assert_int_equal(table_markdown(t, &s), DKHO_OK);
  assert_ptr_equal(strstr(s, "| model | RelL2 | remark |\n|:---|---:|:---|\n| DKHO |"), s);
  assert_non_null(strstr(s, "| a\\|b |\n"));
  assert_non_null(strstr(s, "| x,5 |  |  |\n"));
  mem_free(s);
  assert_int_equal(table_csv(t, &s), DKHO_OK);
  assert_string_equal(s, "model,RelL2,remark\nDKHO,0.0179,\"the full model, with \"\"phase\"\"\"\nGNO,0.05,a|b\n"
                         "β-net,,an_extremely_long_word_without_any_space\n\"x,5\",,\n");
  mem_free(s);
  char big[2000];
  memset(big, 'x', sizeof big - 1);
  big[sizeof big - 1] = 0;
  assert_int_equal(table_addf(t, "%s", big), DKHO_E_INPUT);
  table_close(t);
}

static void test_files(void **state) {
  (void)state;
  static const char *const name[3] = {"t.txt", "t.md", "t.csv"}, *const start[3] = {"model", "| model", "model,"};
  char dir[64], path[128];
  scratch_make(dir);
  table *t = filled();
  for (int i = 0; i < 3; i++) {
    file_map m;
    assert_int_equal(table_write(t, scratch_path(path, dir, name[i]), 0), DKHO_OK);
    assert_int_equal(table_write(t, path, 0), DKHO_E_EXISTS);
    assert_int_equal(table_write(t, path, 1), DKHO_OK);
    assert_int_equal(file_map_open(&m, path), DKHO_OK);
    assert_memory_equal(m.bytes, start[i], strlen(start[i]));
    file_map_close(&m);
  }
  assert_int_equal(table_write(t, scratch_path(path, dir, "t.tex"), 0), DKHO_E_INPUT);
  assert_int_equal(scratch_count(dir), 3);
  table_close(t);
  scratch_remove(dir);
}

static dkho_status everything(void) {
  table *t = NULL;
  char *s = NULL;
  TRY(fill(&t));
  dkho_status status = table_text(t, 40, &s);
  mem_free(s);
  s = NULL;
  if (status == DKHO_OK) status = table_csv(t, &s);
  mem_free(s);
  table_close(t);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  size_t before = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    mem_fail_at(n);
    s = everything();
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), before);
    if (s == DKHO_OK) assert_true(n > 15);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_markdown_and_csv),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
