/* fuzz_info.c: whatever the bytes, `dkho info` describes them as JSON or says what is wrong: complexes, data sets, models, checkpoints,
 * predictions. */
#include "fuzz_container.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (memmem(data, size, "dkho.topology", 13)) return 0; /* makes a benchmark's mesh: fuzz_model.c */
  char path[32], *json = NULL;
  int fd = fuzz_file(data, size, path);
  fuzz_run run = fuzz_begin(size);
  if (dkho_describe(path, &json) == DKHO_OK) {
    json_t *j = json_loads(json, 0, NULL);
    CHECK(j);
    json_decref(j);
    dkho_text_free(json);
  } else {
    CHECK(!json);
    fuzz_refused(path);
  }
  fuzz_end(&run);
  close(fd);
  return 0;
}
