/* fuzz_vtk.c: whatever the bytes, a .vtk file becomes a sound complex or is refused with a message. */
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_mesh("vtk", data, size);
}
