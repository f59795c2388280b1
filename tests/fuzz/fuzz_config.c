/* fuzz_config.c: whatever a run's config.json says, it is read or refused with a message; written and read again, it says the same. The
 * hash of the data in it is made right. */
#include "fuzz_world.h"

#include "run/config.h"

static dataset *world;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  char path[FUZZ_PATH];
  world_files();
  world_train();
  world_seed(fuzz_path(path, "run/config.json"));
  CHECK(dataset_open(&world, world_data) == DKHO_OK);
  return 0;
}

static void write_again(const run_config *c) {
  static char first[FUZZ_PATH], second[FUZZ_PATH];
  run_config again;
  CHECK(config_write(c, fuzz_path(first, "first.json"), 1) == DKHO_OK);
  CHECK(config_read(&again, first, world) == DKHO_OK);
  CHECK(config_write(&again, fuzz_path(second, "second.json"), 1) == DKHO_OK);
  config_free(&again);
  CHECK(fuzz_same(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char path[FUZZ_PATH];
  char *named = NULL;
  uint8_t *copy = world_copy(data, size, "\"data_hash\": \"");
  fuzz_write(fuzz_path(path, "fuzz.json"), copy, size);
  free(copy);
  fuzz_run run = fuzz_begin(size);
  run_config c;
  if (config_read(&c, path, world) == DKHO_OK) {
    write_again(&c);
    config_free(&c);
  } else {
    CHECK(dkho_error()[0]);
  }
  if (config_data_path(path, &named) == DKHO_OK) mem_free(named);
  fuzz_end(&run);
  return 0;
}
