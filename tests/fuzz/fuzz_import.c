/* fuzz_import.c: whatever a specification says, the import makes a data set that opens, or refuses it with a message and leaves nothing. The
 * specification that the data set keeps makes the same data set again. `dkho data check` answers as well, and finds an error in all that the
 * import refuses. */
#include "fuzz_world.h"

#include "data/dataset.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  world_files();
  world_seed(world_spec);
  return 0;
}

static void import_again(const char *made) {
  static char spec[FUZZ_PATH], again[FUZZ_PATH];
  dataset *d;
  CHECK(dataset_open(&d, made) == DKHO_OK);
  const char *text = dataset_info(d)->params;
  fuzz_write(fuzz_path(spec, "again.json"), text, strlen(text));
  dataset_free(d);
  CHECK(dkho_dataset_import(spec, fuzz_path(again, "again.st"), 1) == DKHO_OK);
  CHECK(fuzz_same(made, again));
}

/* Whether the check finds nothing wrong. */
static int passes_check(const char *spec) {
  char *json = NULL;
  if (dkho_dataset_check(spec, &json) != DKHO_OK) {
    CHECK(!json && dkho_error()[0]);
    return 0;
  }
  int clean = strstr(json, "\"errors\": []") || strstr(json, "\"errors\":[]");
  dkho_text_free(json);
  return clean;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char spec[FUZZ_PATH], out[FUZZ_PATH];
  if (memmem(data, size, "/", 1)) return 0; /* other people's files */
  dkho_dataset *d;
  fuzz_write(fuzz_path(spec, "fuzz.json"), data, size);
  unlink(fuzz_path(out, "out.st"));
  fuzz_run run = fuzz_begin(size);
  int passes = passes_check(spec);
  if (dkho_dataset_import(spec, out, 0) == DKHO_OK) {
    CHECK(dkho_dataset_open(&d, out) == DKHO_OK);
    dkho_dataset_free(d);
    import_again(out);
  } else {
    CHECK(dkho_error()[0] && access(out, F_OK) != 0);
    CHECK(!passes);
  }
  fuzz_end(&run);
  return 0;
}
