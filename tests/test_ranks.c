/* test_ranks.c: training shared by ranks (here: threads of this process) gives the bits of one process: selected model, losses and
 * validation errors, for DKHO's fast path, models on the tape and one with batch norm, every optimiser, one or two threads per rank; a
 * run stopped on some ranks and resumed on others too; evaluation likewise. RANKS_STEPS=200 for the long form: so many steps, dkho and two
 * baselines with every optimiser, every number of ranks with one thread and with two, and 16 pairs of numbers of ranks for a resumed run. */
#include "comm_threads.h"
#include "scratch.h"

static char dir[64], data[128];

typedef struct training {
  const char *model, *optimizer;
  int batch, threads, epochs;
  const char *run, *resume;
  const char *const *options;
  int stop_after; /* steps; 0: never */
} training;

typedef struct stop_count {
  int left;
} stop_count;

static int stop_counted(void *user) {
  stop_count *s = user;
  return s->left > 0 && --s->left == 0;
}

/* One rank: the same call as every other. Only rank 1, where there is one, is asked to stop. */
static dkho_status train_rank(comm *c, void *ctx) {
  const training *t = ctx;
  dkho_train_options o;
  stop_count stop = {c->rank == (c->size > 1) ? t->stop_after : 0};
  dkho_train_defaults(&o);
  o.target = "1", o.model = t->model, o.optimizer = t->optimizer, o.options = t->options;
  o.epochs = t->epochs, o.batch = t->batch, o.threads = t->threads;
  o.stop = stop_counted, o.stop_user = &stop;
  comm_set_world(c);
  dkho_status s = t->resume ? dkho_train_resume(t->resume, NULL, &o) : dkho_train(data, t->run, &o);
  comm_set_world(NULL);
  if (t->stop_after && s == DKHO_E_STOPPED) s = DKHO_OK;
  return s;
}

static char *read_all(const char *run, const char *name, size_t *size) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", run, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = calloc(1, 1 << 22);
  *size = fread(text, 1, (1 << 22) - 1, f);
  fclose(f);
  return text;
}

/* metrics.csv without its last column, the seconds. */
static void cut_seconds(char *text) {
  char *to = text;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    *strrchr(line, ',') = 0;
    to += sprintf(to, "%s\n", line);
  }
}

static void same_run(const char *a, const char *b) {
  size_t n, m;
  char *x = read_all(a, "best.st", &n), *y = read_all(b, "best.st", &m);
  if (n != m || memcmp(x, y, n) != 0) fail_msg("%s and %s: best.st differs", a, b);
  free(x);
  free(y);
  x = read_all(a, "metrics.csv", &n), y = read_all(b, "metrics.csv", &m);
  cut_seconds(x);
  cut_seconds(y);
  if (strcmp(x, y) != 0) fail_msg("%s and %s: metrics.csv differs:\n%s%s", a, b, x, y);
  free(x);
  free(y);
}

static void run_ranks(int ranks, training *t) {
  if (ranks_run(ranks, train_rank, t) != DKHO_OK)
    fail_msg("%s, %s, %d ranks: %s", t->model, t->optimizer, ranks, fail_text());
}

static void remove_run(const char *run) {
  scratch_remove(run);
}

static const char *const small_dkho[] = {"h=8", "c=2", "layers=2", "substeps=1", NULL};

/* Of the long form; 0: the short one. */
static int long_steps(void) {
  const char *steps = getenv("RANKS_STEPS");
  return steps ? atoi(steps) : 0;
}

/* 23 training samples: batches end in a shorter one. */
static int epochs_of(int batch) {
  int per_epoch = (23 + batch - 1) / batch;
  return long_steps() ? (long_steps() + per_epoch - 1) / per_epoch : 1;
}

static void compare_ranks(const char *model, const char *optimizer, const char *const *options, int batch) {
  static const int ranks[] = {2, 3, 4, 8, 16};
  char one[128], many[128];
  training t = {.model = model, .optimizer = optimizer, .batch = batch, .threads = 1, .options = options};
  t.epochs = epochs_of(batch), t.run = scratch_path(one, dir, "one");
  run_ranks(1, &t);
  t.run = scratch_path(many, dir, "many");
  for (int i = 0; i < 5; i++)
    for (t.threads = 1; t.threads <= 2; t.threads++) {
      if (!long_steps() && t.threads != 1 + (ranks[i] == 2)) continue;
      run_ranks(ranks[i], &t);
      same_run(one, many);
      remove_run(many);
    }
  remove_run(one);
}

static void test_dkho(void **state) {
  (void)state;
  compare_ranks("dkho", "adamw", small_dkho, 6);
  compare_ranks("dkho", "muon", small_dkho, 7);
  compare_ranks("dkho", "soap", small_dkho, 16);
}

static void test_tape(void **state) {
  (void)state;
  static const char *const models[] = {"deeponet", "hsd"}, *const optimisers[] = {"adamw", "muon", "soap"};
  if (!long_steps()) {
    compare_ranks("deeponet", "muon", NULL, 7);
    compare_ranks("mgn", "adamw", NULL, 6);
  }
  for (int i = 0; long_steps() && i < 6; i++) compare_ranks(models[i / 3], optimisers[i % 3], NULL, 7);
}

/* Every rank then computes the whole batch. */
static void test_batch_norm(void **state) {
  (void)state;
  if (!long_steps()) compare_ranks("fno", "soap", NULL, 12);
}

/* Stopped on 3 ranks after 3 steps, continued on 2; by a rank that is not the first. */
static void test_resume(void **state) {
  (void)state;
  static const int pairs[][2] = {{1, 3}, {3, 2}, {4, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 1}, {2, 3},
                                 {2, 4}, {2, 8}, {3, 1}, {3, 8}, {4, 2}, {4, 3}, {8, 1}, {8, 3}};
  char one[128], many[128];
  for (int soap = 0; soap < 2; soap++) {
    training t = {.model = "dkho", .batch = 5, .threads = 1, .epochs = 2, .options = small_dkho};
    t.optimizer = soap ? "soap" : "muon", t.run = scratch_path(one, dir, "one");
    run_ranks(1, &t);
    for (int i = 0; i < (long_steps() ? 16 : 3); i++) {
      t.run = scratch_path(many, dir, "many"), t.resume = NULL, t.stop_after = 3;
      run_ranks(pairs[i][0], &t);
      t.resume = many, t.stop_after = 0;
      run_ranks(pairs[i][1], &t);
      same_run(one, many);
      remove_run(many);
    }
    remove_run(one);
  }
}

typedef struct judging {
  const char *run;
  char *text[RANKS_MAX];
} judging;

static dkho_status judge_rank(comm *c, void *ctx) {
  judging *j = ctx;
  comm_set_world(c);
  dkho_status s = dkho_evaluate(j->run, NULL, "train", 1, &j->text[c->rank]);
  comm_set_world(NULL);
  return s;
}

/* Everything but the seconds, which end the object. */
static void test_evaluate(void **state) {
  (void)state;
  char one[128];
  training t = {.model = "dkho", .optimizer = "muon", .batch = 8, .threads = 1, .epochs = 1, .options = small_dkho};
  t.run = scratch_path(one, dir, "one");
  run_ranks(2, &t);
  judging alone = {.run = one}, shared = {.run = one};
  assert_int_equal(ranks_run(1, judge_rank, &alone), DKHO_OK);
  assert_int_equal(ranks_run(5, judge_rank, &shared), DKHO_OK);
  size_t n = (size_t)(strstr(alone.text[0], "\"predict_seconds\"") - alone.text[0]);
  for (int r = 0; r < 5; r++) {
    if (strncmp(alone.text[0], shared.text[r], n) != 0) fail_msg("%s\n%s", alone.text[0], shared.text[r]);
    dkho_text_free(shared.text[r]);
  }
  dkho_text_free(alone.text[0]);
  remove_run(one);
}

static int make_data(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(data, dir, "data.st");
  dkho_generate_options o = {.resolution = "smoke", .samples = 40, .seed = 42, .threads = 1};
  return dkho_dataset_generate("darcy", data, &o) != DKHO_OK;
}

static int remove_data(void **state) {
  (void)state;
  scratch_remove(dir);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dkho), cmocka_unit_test(test_tape),
                                     cmocka_unit_test(test_batch_norm), cmocka_unit_test(test_resume),
                                     cmocka_unit_test(test_evaluate)};
  return cmocka_run_group_tests(tests, make_data, remove_data);
}
