/* fuzz_npy.c: whatever the bytes, an array opens or is refused with a message; what it shows lies in the bytes. */
#include "data/npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  npy a;
  if (npy_parse(&a, data, size, "fuzz") != DKHO_OK) {
    if (strncmp(dkho_error(), "fuzz: ", 6) != 0) abort();
    return 0;
  }
  double sum = 0;
  for (uint64_t i = 0; i < a.count; i++) sum += npy_double(&a, i);
  if (a.data + a.count * st_dtype_size(a.dtype) != data + size) abort();
  return sum == 42; /* keeps the reads; libFuzzer takes any value but -1 as 0 */
}
