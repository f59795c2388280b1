/* fuzz_cx.c: whatever a container holds, a complex is read from it that keeps its contract, or it is refused. */
#include "mesh/cx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                                                       \
  do {                                                                                                                 \
    if (!(x)) abort();                                                                                                 \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  st_file *f;
  size_t live = mem_live_blocks();
  if (st_open_memory(&f, data, size, "fuzz") == DKHO_OK) {
    cx *c;
    if (cx_get(&c, f, "") == DKHO_OK)
      CHECK(cx_check(c) == DKHO_OK);
    else
      CHECK(!c);
    cx_free(c);
    st_close(f);
  }
  CHECK(mem_live_blocks() == live);
  return 0;
}
