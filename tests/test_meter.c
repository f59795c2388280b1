/* test_meter.c: the progress meter of the command line, on a clock and a terminal of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static double clock_reads;
static int on_terminal;
static FILE *screen;
static char *text;
static size_t length;

static int test_clock(clockid_t id, struct timespec *t) {
  (void)id;
  t->tv_sec = (time_t)clock_reads;
  t->tv_nsec = (long)(1e9 * (clock_reads - (double)t->tv_sec));
  return 0;
}

#define clock_gettime test_clock
#define isatty(fd) ((void)(fd), on_terminal)
#undef stderr
#define stderr screen
#include "../cli/meter.c"

/* A new meter, an hour into the clock's life. */
static void begin(int terminal) {
  if (screen) fclose(screen), free(text);
  screen = open_memstream(&text, &length);
  assert_non_null(screen);
  memset(&meter, 0, sizeof meter);
  clock_reads = 3600, on_terminal = terminal;
  meter_install(0);
}

static void at(double second, uint64_t done, uint64_t total) {
  clock_reads = 3600 + second;
  progress(NULL, "training", done, total, "loss 0.5");
}

static const char *shown(void) {
  fflush(screen);
  return text ? text : "";
}

static int count(const char *what) {
  int n = 0;
  for (const char *p = shown(); (p = strstr(p, what)); p += strlen(what)) n++;
  return n;
}

static void test_short_work_is_silent(void **state) {
  (void)state;
  for (int terminal = 0; terminal < 2; terminal++) {
    begin(terminal);
    for (int i = 0; i <= 10; i++) at(0.19 * i, (uint64_t)i, 10);
    assert_string_equal(shown(), "");
  }
}

static void test_plain_lines(void **state) {
  (void)state;
  begin(0);
  for (int i = 0; i < 30; i++) at(i, (uint64_t)i, 100);
  assert_string_equal(shown(), "training: 10/100  1.00/s  90 s left  loss 0.5\n"
                               "training: 20/100  1.00/s  80 s left  loss 0.5\n");
  at(40, 100, 100); /* the end is always said */
  assert_int_equal(count("training: 100/100  2.50/s  40 s total  loss 0.5\n"), 1);
}

/* What was done before the meter began says nothing of the rate. */
static void test_resumed(void **state) {
  (void)state;
  begin(0);
  at(0, 5000, 10000);
  at(10, 5020, 10000);
  assert_string_equal(shown(), "training: 5020/10000  2.00/s  41:30 min left  loss 0.5\n");
}

/* Two minutes after a pause it is forgotten. */
static void test_pause(void **state) {
  (void)state;
  begin(0);
  double t = 0;
  uint64_t done = 0;
  for (; done < 200; done++) at(t++, done, 4000);
  t += 3600;
  for (; done < 330; done++) at(t++, done, 4000);
  fflush(screen);
  const char *last = strrchr(text, ':') - strlen("training");
  while (last > text && last[-1] != '\n') last--;
  assert_non_null(strstr(last, "1.00/s  1:01 h left"));
}

static void test_terminal(void **state) {
  (void)state;
  begin(1);
  for (int i = 0; i <= 100; i++) at(0.05 * i, (uint64_t)i, 200);
  assert_int_equal(count("\n"), 0);
  assert_in_range(count("\r\033[K"), 20, 31); /* from the second on, at most ten times a second */
  at(6, 120, 200);
  assert_int_equal(count("training [############........]  60%  20/s  4 s left  loss 0.5"), 1);
  log_line(NULL, "a line of its own");
  assert_int_equal(count("loss 0.5\na line of its own\n"), 1);
}

static void test_long_note_is_cut(void **state) {
  (void)state;
  begin(1);
  char note[300];
  memset(note, 'x', sizeof note - 1);
  note[sizeof note - 1] = 0;
  progress(NULL, "training", 0, 10, note);
  clock_reads += 5;
  progress(NULL, "training", 5, 10, note);
  assert_int_equal(strlen(shown()), strlen("\r\033[K") + 79);
}

static void test_unknown_total(void **state) {
  (void)state;
  begin(0);
  at(0, 0, 0);
  at(20, 40, 0);
  assert_string_equal(shown(), "training: 40/0  2.00/s  20 s total  loss 0.5\n");
}

static void test_next_label(void **state) {
  (void)state;
  begin(1);
  at(0, 0, 10);
  at(5, 5, 10);
  progress(NULL, "evaluating", 0, 10, "");
  clock_reads += 4;
  progress(NULL, "evaluating", 2, 10, "");
  assert_int_equal(count("loss 0.5\n\r\033[Kevaluating [####................]  20%  0.50/s  16 s left"), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_short_work_is_silent),
                                     cmocka_unit_test(test_plain_lines),
                                     cmocka_unit_test(test_resumed),
                                     cmocka_unit_test(test_pause),
                                     cmocka_unit_test(test_terminal),
                                     cmocka_unit_test(test_long_note_is_cut),
                                     cmocka_unit_test(test_unknown_total),
                                     cmocka_unit_test(test_next_label)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fclose(screen);
  free(text);
  return failed;
}
