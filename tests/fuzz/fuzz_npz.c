/* fuzz_npz.c: whatever the bytes, an archive opens or is refused with a message, and so does every array in it. */
#include "fuzz.h"

#include "data/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_run run = fuzz_begin(size);
  npz z;
  double sum = 0;
  if (npz_parse(&z, data, size, "fuzz") != DKHO_OK) {
    fuzz_refused("fuzz: ");
    fuzz_end(&run);
    return 0;
  }
  for (int i = 0; i < z.members; i++) {
    npy a;
    void *room;
    if (npz_array(&z, i, &a, &room) != DKHO_OK) continue;
    for (uint64_t k = 0; k < a.count; k++) sum += npy_double(&a, k);
    mem_free(room);
  }
  mem_free(z.member);
  fuzz_end(&run);
  return sum == 42;
}
