/* fuzz_su2.c: whatever the bytes, a .su2 file becomes a sound complex or is refused with a message. */
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_mesh("su2", data, size);
}
