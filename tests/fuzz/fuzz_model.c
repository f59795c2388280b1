/* fuzz_model.c: whatever the bytes, a model loads and predicts or is refused with a message; saved and loaded again, it is saved to the
 * same bytes. Packed models are left out: they
 * make a benchmark's mesh, which takes long. */
#include "fuzz_container.h"

static void predict(dkho_model *m) {
  dkho_field_info f;
  int inputs = dkho_model_inputs(m);
  const void **in = calloc((size_t)inputs + 1, sizeof *in);
  CHECK(in);
  for (int i = 0; i < inputs; i++) {
    CHECK(dkho_model_input(m, i, &f) == DKHO_OK);
    in[i] = calloc((size_t)f.rows * (size_t)f.channels, sizeof(double));
    CHECK(in[i]);
  }
  CHECK(dkho_model_output(m, &f) == DKHO_OK);
  float *out = calloc((size_t)f.rows * (size_t)f.channels, sizeof *out);
  CHECK(out);
  dkho_status s = dkho_model_predict(m, 1, 1, in, out);
  CHECK(s == DKHO_OK || dkho_error()[0]);
  free(out);
  for (int i = 0; i < inputs; i++) free((void *)(uintptr_t)in[i]);
  free(in);
}

static void save_again(const dkho_model *m) {
  static char first[FUZZ_PATH], second[FUZZ_PATH];
  dkho_model *again;
  CHECK(dkho_model_save(m, fuzz_path(first, "first.st"), 1) == DKHO_OK);
  CHECK(dkho_model_load(&again, first) == DKHO_OK);
  CHECK(dkho_model_save(again, fuzz_path(second, "second.st"), 1) == DKHO_OK);
  dkho_model_free(again);
  CHECK(fuzz_same(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char packed[] = "dkho.topology";
  if (memmem(data, size, packed, sizeof packed - 1)) return 0;
  char path[32];
  dkho_model *m;
  fuzz_run run = fuzz_begin(size);
  int fd = fuzz_file(data, size, path);
  if (dkho_model_load(&m, path) == DKHO_OK) {
    predict(m);
    save_again(m);
    dkho_model_free(m);
  } else {
    CHECK(!m);
    fuzz_refused(path);
  }
  close(fd);
  fuzz_end(&run);
  return 0;
}
