/* fuzz_node.c: whatever the bytes, a .node file with its .ele behind it becomes a sound complex or is refused with a message. */
#include "fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_mesh("node", data, size);
}
