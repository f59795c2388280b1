/* fuzz_cx.c: whatever a container holds, a complex is read from it that keeps its contract and is the same when it is written and read
 * again, or it is refused. */
#include "fuzz_container.h"
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  st_file *f;
  fuzz_run run = fuzz_begin(size);
  if (st_open_memory(&f, data, size, "fuzz") == DKHO_OK) {
    cx *c;
    if (cx_get(&c, f, "") == DKHO_OK) {
      CHECK(cx_check(c) == DKHO_OK);
      fuzz_cx_again(c);
    } else
      CHECK(!c);
    cx_free(c);
    st_close(f);
  }
  fuzz_end(&run);
  return 0;
}
