/* fuzz_model.c: whatever the bytes, a model loads and predicts or is refused with a message. Packed models are left out: they
 * make a benchmark's mesh, which takes long. */
#include "fuzz_file.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char packed[] = "dkho.topology";
  if (memmem(data, size, packed, sizeof packed - 1)) return 0;
  char path[32];
  dkho_model *m;
  size_t live = mem_live_blocks();
  int fd = fuzz_file(data, size, path);
  if (dkho_model_load(&m, path) == DKHO_OK) {
    predict(m);
    dkho_model_free(m);
  } else {
    CHECK(!m);
    fuzz_refused(path);
  }
  close(fd);
  CHECK(mem_live_blocks() == live);
  return 0;
}
