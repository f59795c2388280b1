/* test_begin.c: training that begins with the weights of a trained model: on another mesh, resumed without it, and refused when the networks differ. */
#include "poison.h"

static world w;            /* the model to begin with */
static char finer[128];    /* the same problem on another mesh */
static char model[160];    /* best.st of w.run */
static char extra[3][160]; /* names of runs */

static int setup(void **state) {
  (void)state;
  dkho_generate_options g = {.resolution = "main", .samples = 12, .seed = 7, .threads = 1};
  world_make(&w, "torus", "u");
  snprintf(model, sizeof model, "%s/best.st", w.run);
  FINE(dkho_dataset_generate("torus", scratch_path(finer, w.dir, "finer.st"), &g));
  for (int i = 0; i < 3; i++) snprintf(extra[i], sizeof extra[i], "%s/extra%d", w.dir, i);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

static int clear(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    api_remove(extra[i]);
    rmdir(extra[i]);
  }
  return 0;
}

/* Options of a training that says nothing about its network. */
static dkho_train_options begin_with(const char *from) {
  dkho_train_options o;
  dkho_train_defaults(&o);
  o.target = "u", o.epochs = 2, o.batch = 4, o.threads = 1, o.from_model = from;
  return o;
}

static char *file_of(const char *run, const char *name, size_t *size) {
  char path[192];
  snprintf(path, sizeof path, "%s/%s", run, name);
  return api_bytes(path, size);
}

static void assert_says(const char *run, const char *name, const char *words) {
  size_t size;
  char *text = file_of(run, name, &size);
  if (!strstr(text, words)) fail_msg("%s/%s does not say %s", run, name, words);
  free(text);
}

static void assert_same_model(const char *a, const char *b) {
  char first[192], second[192];
  snprintf(first, sizeof first, "%s/best.st", a);
  snprintf(second, sizeof second, "%s/best.st", b);
  assert_true(api_same_file(first, second));
}

/* The weights of a model file or of a checkpoint, one tensor after the other, by name. */
static void assert_same_weights(const char *a, const char *b) {
  st_file *f, *g;
  const st_tensor *x;
  int found = 0;
  FINE(st_open(&f, a));
  FINE(st_open(&g, b));
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    if (strncmp(t->name, "w/", 2) != 0) continue;
    assert_non_null(x = st_find(g, t->name));
    assert_int_equal(x->count, t->count);
    assert_memory_equal(x->data, t->data, t->count * st_dtype_size(t->dtype));
    found++;
  }
  assert_true(found > 10);
  st_close(f);
  st_close(g);
}

static int stop_at_once(void *calls) {
  return ++*(int *)calls == 1;
}

/* With a rate that moves no bit, the weights after a step on another mesh are those of the model. */
static void test_weights(void **state) {
  (void)state;
  char last[192];
  int calls = 0;
  dkho_train_options o = begin_with(w.run);
  o.lr = 1e-30, o.weight_decay = 0, o.stop = stop_at_once, o.stop_user = &calls;
  assert_int_equal(dkho_train(finer, extra[0], &o), DKHO_E_STOPPED);
  snprintf(last, sizeof last, "%s/last.st", extra[0]);
  assert_same_weights(model, last);
}

/* A run and its model file are the same start; both files of the run tell which it was, by its content. */
static void test_recorded(void **state) {
  (void)state;
  char hex[33], words[64];
  st_file *f;
  dkho_train_options o = begin_with(w.run);
  FINE(dkho_train(finer, extra[0], &o));
  o = begin_with(model);
  FINE(dkho_train(finer, extra[1], &o));
  assert_same_model(extra[0], extra[1]);
  FINE(st_open(&f, model));
  st_hash(f, hex);
  st_close(f);
  snprintf(words, sizeof words, "\"from_hash\": \"%s\"", hex);
  assert_says(extra[0], "config.json", words);
  assert_says(extra[0], "manifest.json", words);
  assert_says(extra[0], "config.json", "\"from\": \"");
  assert_says(extra[0], "config.json", "\"h\": 4");
  o = begin_with(NULL);
  o.options = api_options().options, o.modes = 4;
  FINE(dkho_train(finer, extra[2], &o));
  char a[192], b[192];
  snprintf(a, sizeof a, "%s/best.st", extra[0]);
  snprintf(b, sizeof b, "%s/best.st", extra[2]);
  assert_false(api_same_file(a, b));
}

/* A packed model is a start too: its weights are all that is read. */
static void test_packed(void **state) {
  (void)state;
  char packed[160];
  dkho_train_options o = begin_with(w.run);
  FINE(dkho_model_pack(w.run, NULL, scratch_path(packed, w.dir, "packed.st"), 0, 1, NULL));
  FINE(dkho_train(finer, extra[0], &o));
  o = begin_with(packed);
  FINE(dkho_train(finer, extra[1], &o));
  assert_same_model(extra[0], extra[1]);
}

static int stop_later(void *calls) {
  return ++*(int *)calls == 3; /* in the second epoch */
}

/* Stopped, and resumed when the model is gone, on other threads: the bits of the straight run, its average included. */
static void test_resume(void **state) {
  (void)state;
  char copy[160];
  size_t size;
  int calls = 0;
  char *bytes = api_bytes(model, &size);
  poison_write(scratch_path(copy, w.dir, "copy.st"), bytes, size);
  free(bytes);
  dkho_train_options o = begin_with(copy);
  o.ema = 0.9;
  FINE(dkho_train(finer, extra[0], &o));
  o.stop = stop_later, o.stop_user = &calls;
  assert_int_equal(dkho_train(finer, extra[1], &o), DKHO_E_STOPPED);
  assert_int_equal(remove(copy), 0);
  dkho_train_options host;
  dkho_train_defaults(&host);
  host.threads = 3;
  FINE(dkho_train_resume(extra[1], NULL, &host));
  assert_same_model(extra[0], extra[1]);
}

/* Killed between config.json and the first checkpoint: the model is read again, and refused when it is another one by now. */
static void test_before_checkpoint(void **state) {
  (void)state;
  char copy[160], path[192];
  int calls = 0;
  size_t size;
  char *bytes = api_bytes(model, &size);
  poison_write(scratch_path(copy, w.dir, "copy.st"), bytes, size);
  free(bytes);
  dkho_train_options o = begin_with(copy);
  FINE(dkho_train(finer, extra[0], &o));
  o.stop = stop_at_once, o.stop_user = &calls;
  assert_int_equal(dkho_train(finer, extra[1], &o), DKHO_E_STOPPED);
  snprintf(path, sizeof path, "%s/last.st", extra[1]);
  assert_int_equal(remove(path), 0);
  poison(model, copy, "w/dec.lin1.b", 0, 0.5);
  REFUSED(DKHO_E_INPUT, dkho_train_resume(extra[1], NULL, NULL), "the run was to begin with the model of hash");
  remove(copy);
  REFUSED(DKHO_E_IO, dkho_train_resume(extra[1], NULL, NULL), "copy.st");
  bytes = api_bytes(model, &size);
  poison_write(copy, bytes, size);
  free(bytes);
  FINE(dkho_train_resume(extra[1], NULL, NULL));
  assert_same_model(extra[0], extra[1]);
  remove(copy);
}

/* Options that say something win over the model's; where tensors then differ, the first is named with both shapes. */
static void test_refused(void **state) {
  (void)state;
  static const char *const wider[] = {"h=6", NULL}, *const deeper[] = {"layers=3", NULL},
                           *const shallower[] = {"layers=1", NULL}, *const changed[] = {"tau_range=0.5", NULL};
  char last[192];
  dkho_train_options o = begin_with(w.run);
  o.options = wider;
  REFUSED(DKHO_E_FORMAT, dkho_train(finer, extra[0], &o), "best.st: tensor 'w/enc0.lin1.w': found F32 [");
  assert_non_null(strstr(dkho_error(), "expected F32 ["));
  o.options = deeper;
  REFUSED(DKHO_E_FORMAT, dkho_train(finer, extra[0], &o), "is missing, expected F32 [");
  o.options = shallower;
  REFUSED(DKHO_E_INPUT, dkho_train(finer, extra[0], &o), "the model to be trained has none of that name");
  o = begin_with(w.run);
  o.model = "tno";
  REFUSED(DKHO_E_INPUT, dkho_train(finer, extra[0], &o), "model: found tno, but the model to begin with is dkho");
  o = begin_with(w.run);
  o.target = "q";
  REFUSED(DKHO_E_FORMAT, dkho_train(finer, extra[0], &o), "best.st: tensor 'w/");
  snprintf(last, sizeof last, "%s/last.st", w.run);
  o = begin_with(last);
  REFUSED(DKHO_E_INPUT, dkho_train(finer, extra[0], &o), "last.st: is a checkpoint; training begins with a model");
  o = begin_with(w.data);
  REFUSED(DKHO_E_INPUT, dkho_train(finer, extra[0], &o), "data.st: is a dataset");
  o = begin_with("/nowhere/model.st");
  REFUSED(DKHO_E_IO, dkho_train(finer, extra[0], &o), "/nowhere/model.st");
  assert_int_not_equal(access(extra[0], F_OK), 0);
  o = begin_with(w.run);
  o.options = changed;
  FINE(dkho_train(finer, extra[0], &o));
  assert_says(extra[0], "config.json", "\"tau_range\": 0.5");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_weights, clear),
                                     cmocka_unit_test_teardown(test_recorded, clear),
                                     cmocka_unit_test_teardown(test_packed, clear),
                                     cmocka_unit_test_teardown(test_resume, clear),
                                     cmocka_unit_test_teardown(test_before_checkpoint, clear),
                                     cmocka_unit_test_teardown(test_refused, clear)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
