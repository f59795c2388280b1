/* fuzz_checkpoint.c: whatever last.st holds, the run goes on from it or refuses it with a message and changes nothing. A run that is stopped
 * before its first step writes the checkpoint that it read. */
#include "fuzz_world.h"

static char last[FUZZ_PATH];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  world_files();
  world_train();
  world_seed(fuzz_path(last, "run/last.st"));
  return 0;
}

static int stop_at_once(void *user) {
  (void)user;
  return 1;
}

/* All tensors but `numbers`, which holds the seconds spent. */
static void same_state(const uint8_t *data, size_t size) {
  st_file *a, *b;
  size_t n;
  uint8_t *bytes = fuzz_read(last, &n), *before = aligned_alloc(64, (size + 64) / 64 * 64);
  uint8_t *after = aligned_alloc(64, (n + 64) / 64 * 64);
  CHECK(before && after);
  memcpy(before, data, size), memcpy(after, bytes, n);
  CHECK(st_open_memory(&a, before, size, "before") == DKHO_OK && st_open_memory(&b, after, n, "after") == DKHO_OK);
  for (int i = 0; i < st_count(b); i++) {
    const st_tensor *t = st_at(b, i), *s = st_find(a, t->name);
    CHECK(s && s->count == t->count && s->dtype == t->dtype);
    if (t->count && strcmp(t->name, "numbers") != 0)
      CHECK(memcmp(s->data, t->data, (size_t)t->count * st_dtype_size(t->dtype)) == 0);
  }
  st_close(a), st_close(b);
  free(bytes), free(before), free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *copy = world_copy(data, size, "\"dkho.data_hash\":\"");
  if (size % 4) fuzz_reseal(copy, size);
  fuzz_write(last, copy, size);
  dkho_train_options o = world_options();
  o.stop = stop_at_once;
  fuzz_run run = fuzz_begin(size);
  dkho_status s = dkho_train_resume(world_run, NULL, &o);
  CHECK(s == DKHO_OK || dkho_error()[0]);
  if (s == DKHO_E_STOPPED) {
    same_state(copy, size);
  } else if (s != DKHO_OK) {
    size_t n;
    uint8_t *after = fuzz_read(last, &n);
    CHECK(n == size && memcmp(after, copy, n) == 0);
    free(after);
  }
  fuzz_end(&run);
  free(copy);
  return 0;
}
