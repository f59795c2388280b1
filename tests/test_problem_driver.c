/* test_problem_driver.c: making a data set file: the same bits for any number of threads and samples, requests that cannot be met,
 * disks and memory that run out. */
#include "problems.h"

#include "mesh/generate.h"

#include <signal.h>
#include <sys/resource.h>

static char dir[64], path[128];

static int set_up(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(path, dir, "data.st");
  return 0;
}
static int tear_down(void **state) {
  (void)state;
  scratch_remove(dir);
  return 0;
}

static dkho_status generate(const problem *p, int64_t samples, int threads) {
  problem_request r = {.resolution = "smoke", .samples = samples, .seed = 7, .threads = threads, .force = 1};
  return problem_generate(p, &r, path);
}

static void test_same_bits(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 5};
  for (int i = 0; i < problem_count(); i++) {
    char hash[3][33];
    for (int t = 0; t < 3; t++) {
      st_file *f;
      assert_ok(generate(problem_at(i), 24, threads[t]));
      assert_ok(st_open(&f, path));
      st_hash(f, hash[t]);
      st_close(f);
    }
    assert_string_equal(hash[0], hash[1]);
    assert_string_equal(hash[0], hash[2]);
  }
}

/* Whole groups and a cut one: 24, 27 and 40 samples hold the same first ones. */
static void test_same_samples(void **state) {
  (void)state;
  char other[128];
  for (int i = 0; i < problem_count(); i++) {
    dataset *more = smoke_file(problem_at(i), scratch_path(other, dir, "more.st"), 40, 2);
    for (int64_t samples = 24; samples <= 27; samples += 3) {
      dataset *few = smoke_file(problem_at(i), path, samples, 2);
      for (int f = 0; f < dataset_fields(few); f++) {
        const data_field *field = &dataset_field(few)[f];
        size_t n = (size_t)(dataset_cx(few, 0)->n[field->degree] * field->channels);
        for (int64_t s = 0; s < samples && field->role != DATA_STATIC; s++)
          if (field->role == DATA_GLOBAL)
            assert_memory_equal(dataset_global(few, f, s), dataset_global(more, f, s),
                                (size_t)field->channels * sizeof(double));
          else
            assert_memory_equal(dataset_value(few, f, s), dataset_value(more, f, s), n * sizeof(float));
      }
      dataset_free(few);
    }
    dataset_free(more);
    assert_int_equal(unlink(other), 0);
  }
}

/* A problem solved one by one, on the complex of darcy: x is a number and p = √x of it on every vertex; a negative x has no solution. */
static int stubborn; /* 1: no number has */
static dkho_status root_open(void **work, const problem_state *s) {
  (void)s;
  return (*work = mem_alloc(1, 1)) ? DKHO_OK : DKHO_E_MEMORY;
}
static void root_draw(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)s, (void)work;
  one[1][0] = rng_range(r, -1, 1);
}
static dkho_status root_solve(const problem_state *s, void *work, double *const *one) {
  (void)s, (void)work;
  if (one[1][0] < 0 || stubborn) return (fail)(DKHO_E_NOCONV, "%g has no root", one[1][0]);
  for (int i = 0; i < 3; i++) one[0][i] = sqrt(one[1][0]);
  return DKHO_OK;
}
static dkho_status root_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)c, (void)seed;
  *out = NULL;
  return DKHO_OK;
}
static void root_release(problem_state *s) {
  (void)s;
}
static const data_field root_fields[] = {{"p", DATA_TARGET, 0, 1, DATA_SCALE_RMS, 0, 1e-8, 0, 1},
                                         {"x", DATA_GLOBAL, 0, 1, DATA_SCALE_RMS, 0, 1e-8, 0, 1}};
static const feat_row root_rows[] = {{"number", 0, FEAT_NATIVE, "broadcast(x)"}};
static const feat_summary root_summaries[] = {{"x", "value(x)"}};

static int logged;
static void count_log(void *user, const char *line) {
  (void)user;
  assert_non_null(strstr(line, "root: sample "));
  assert_non_null(strstr(line, "has no root"));
  logged++;
}

/* Samples without a solution are drawn again and reported; the others stay what they were; threads change nothing. */
static void test_redrawn(void **state) {
  (void)state;
  problem root = {.name = "root",
                  .sizes = {2, 1, 1},
                  .smoke_sizes = {2, 1, 1},
                  .dim = 2,
                  .gdim = 2,
                  .fields = 2,
                  .field = root_fields,
                  .table = {1, 1, root_rows, root_summaries},
                  .notes = "",
                  .build = cx_darcy,
                  .prepare = root_prepare,
                  .release = root_release,
                  .open = root_open,
                  .close = mem_free,
                  .draw_one = root_draw,
                  .solve_one = root_solve};
  enum { SAMPLES = 150 };
  double x[3][SAMPLES];
  static const int threads[] = {1, 2, 5};
  dkho_report_set(&(dkho_report){.log = count_log});
  for (int t = 0; t < 3; t++) {
    dataset *d;
    logged = 0;
    assert_ok(generate(&root, SAMPLES, threads[t]));
    assert_ok(dataset_open(&d, path));
    for (int i = 0, again = 0; i < SAMPLES; i++) {
      rng r = rng_open(7, RNG_SAMPLE, (uint64_t)i);
      double first = rng_range(&r, -1, 1);
      x[t][i] = *dataset_global(d, 1, i);
      assert_true(x[t][i] >= 0 && dataset_value(d, 0, i)[2] == (float)sqrt(x[t][i]));
      assert_int_equal(first == x[t][i], first >= 0);
      again += first < 0;
      if (i == SAMPLES - 1) assert_int_equal(logged, again);
    }
    assert_true(logged > 40);
    dataset_free(d);
  }
  assert_memory_equal(x[0], x[1], sizeof *x);
  assert_memory_equal(x[0], x[2], sizeof *x);
  dkho_report_set(NULL);
  size_t live = mem_live_blocks();
  stubborn = 1;
  assert_int_equal(generate(&root, 5, 2), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "sample 0: 10 draws in vain, the last: "));
  assert_int_equal(mem_live_blocks(), live);
}

/* The benchmark's own sizes, and their proportions for other numbers. */
static void test_splits(void **state) {
  (void)state;
  static const struct {
    int64_t asked, size[DATA_SPLITS];
  } want[] = {{0, {64, 16, 32}}, {7, {4, 1, 2}}, {3, {1, 1, 1}}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    dataset *d = smoke_file(&problem_darcy, path, want[i].asked, 1);
    for (int s = 0; s < DATA_SPLITS; s++) {
      int64_t count;
      dataset_split(d, (data_split)s, &count);
      assert_int_equal(count, want[i].size[s]);
    }
    dataset_free(d);
  }
}

/* A seed names its data: inputs and globals of two seeds have nothing in common. */
static void test_seed(void **state) {
  (void)state;
  ready r = ready_make(&problem_darcy, "smoke");
  double f[2], g[2];
  for (uint64_t seed = 0; seed < 2; seed++) {
    r.p->draw(r.s, r.work, seed, 0, r.block);
    f[seed] = r.block[0][0];
    g[seed] = r.block[4][0];
  }
  assert_true(f[0] != f[1] && g[0] != g[1]);
  ready_free(&r);
}

static void refuse(const problem_request *r, const char *where, dkho_status want, const char *text) {
  size_t live = mem_live_blocks();
  int files = scratch_count(dir);
  dkho_status s = problem_generate(&problem_darcy, r, where);
  if (s != want || !strstr(fail_text(), text)) fail_msg("status %d, \"%s\", expected \"%s\"", s, fail_text(), text);
  assert_int_equal(mem_live_blocks(), live);
  assert_int_equal(scratch_count(dir), files);
}

static void test_bad_requests(void **state) {
  (void)state;
  static const int64_t samples[] = {1, 2, -1, -5000, INT64_MIN, INT64_C(100000001), INT64_MAX};
  const problem *p;
  char lost[128];
  problem_request r = {.resolution = "smoke", .samples = 8, .seed = 1, .threads = 1};
  assert_int_equal(problem_find("stokes", &p), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "unknown problem 'stokes'; there are darcy, torus, cavity, heat, reaction"));
  assert_int_equal(problem_find("", &p), DKHO_E_INPUT);
  if (scratch_count(dir)) assert_int_equal(unlink(path), 0);
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    r.samples = samples[i];
    refuse(&r, path, DKHO_E_INPUT, "samples asked for: expected 3 … 100,000,000");
  }
  r.samples = 8;
  r.resolution = "huge";
  refuse(&r, path, DKHO_E_INPUT, "unknown resolution 'huge'; there are smoke, main");
  r.resolution = "smoke";
  refuse(&r, scratch_path(lost, dir, "nowhere/data.st"), DKHO_E_IO, "nowhere/data.st");
  refuse(&r, dir, DKHO_E_EXISTS, dir);
  assert_ok(problem_generate(&problem_darcy, &r, path));
  refuse(&r, path, DKHO_E_EXISTS, "data.st: exists already");
  assert_int_equal(unlink(path), 0);
}

/* A disk that fills up at any point: an error, no file, and an old file stays as it was. */
static void test_no_room(void **state) {
  (void)state;
  struct rlimit old;
  assert_ok(generate(&problem_darcy, 16, 2));
  st_file *f;
  assert_ok(st_open(&f, path));
  char before[33], after[33];
  st_hash(f, before);
  st_close(f);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (rlim_t limit = 2048; limit < 300000; limit *= 5) {
    struct rlimit tight = {limit, old.rlim_max};
    size_t live = mem_live_blocks();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    dkho_status s = generate(&problem_darcy, 40, 2);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(s, DKHO_E_IO);
    assert_int_equal(scratch_count(dir), 1);
    assert_int_equal(mem_live_blocks(), live);
  }
  signal(SIGXFSZ, handler);
  assert_ok(st_open(&f, path));
  st_hash(f, after);
  st_close(f);
  assert_string_equal(before, after);
  assert_int_equal(unlink(path), 0);
}

/* Everything a problem does by itself, each allocation failing in turn. */
static dkho_status exercise(const problem *p, const cx *c) {
  problem_state *s = NULL;
  arena mem = {0};
  double *block[PROBLEM_FIELDS_MAX];
  void *work = NULL;
  dkho_status st = p->prepare(&s, c, 1);
  if (st == DKHO_OK) st = problem_room(p, s, c, &mem, block, &work);
  if (st == DKHO_OK) st = problem_group(p, s, c, work, 1, 0, block);
  for (int i = 0; st == DKHO_OK && i < p->fields; i++) {
    const data_field *f = &p->field[i];
    if (f->role != DATA_STATIC || strncmp(f->name, "spectral", 8) == 0) continue;
    double *out = arena_take(&mem, (size_t)(c->n[f->degree] * f->channels), sizeof *out);
    st = out ? problem_fill(p, s, c, f->name, out) : DKHO_E_MEMORY;
  }
  problem_leave(p, work);
  p->release(s);
  arena_free(&mem);
  return st;
}

static void test_no_memory(void **state) {
  (void)state;
  for (int i = 0; i < problem_count(); i++) {
    cx *c;
    assert_ok(problem_at(i)->build(&c, "smoke"));
    size_t live = mem_live_blocks();
    dkho_status s = DKHO_E_MEMORY;
    for (int n = 1; s != DKHO_OK; n++) {
      mem_fail_at(n);
      s = exercise(problem_at(i), c);
      mem_fail_at(0);
      assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
      assert_int_equal(mem_live_blocks(), live);
    }
    cx_free(c);
  }
}

/* The whole way to the file, sampled: the n-th allocation for n growing by a fifth. */
static void test_no_memory_generating(void **state) {
  (void)state;
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  int refused = 0;
  for (int64_t n = 1; s != DKHO_OK; n += 1 + n / (SLOW ? 2 : 5)) {
    mem_fail_at(n);
    s = generate(&problem_heat, 16, 2);
    mem_fail_at(0);
    if (s != DKHO_OK && s != DKHO_E_MEMORY) fail_msg("allocation %d: status %d, %s", (int)n, s, fail_text());
    refused += s != DKHO_OK;
    assert_int_equal(mem_live_blocks(), live);
    assert_int_equal(scratch_count(dir), s == DKHO_OK);
  }
  assert_true(refused > 10);
  assert_int_equal(unlink(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_redrawn), cmocka_unit_test(test_same_bits), cmocka_unit_test(test_same_samples),
      cmocka_unit_test(test_splits),  cmocka_unit_test(test_seed),      cmocka_unit_test(test_bad_requests),
      cmocka_unit_test(test_no_room), cmocka_unit_test(test_no_memory), cmocka_unit_test(test_no_memory_generating),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
