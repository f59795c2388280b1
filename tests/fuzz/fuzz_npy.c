/* fuzz_npy.c: whatever the bytes, an array opens or is refused with a message; what it shows lies in the bytes. Written
 * again, it is read as the same array. */
#include "fuzz.h"

#include "data/npy.h"

static void write_again(const npy *a) {
  char head[NPY_HEAD_MAX];
  size_t n = npy_head(head, a->dtype, a->rank, a->shape), bytes = (size_t)a->count * st_dtype_size(a->dtype);
  char *whole = malloc(n + bytes);
  npy b;
  CHECK(whole);
  memcpy(whole, head, n);
  memcpy(whole + n, a->data, bytes);
  CHECK(npy_parse(&b, whole, n + bytes, "again") == DKHO_OK);
  CHECK(a->dtype == b.dtype && a->rank == b.rank && a->count == b.count && memcmp(a->data, b.data, bytes) == 0);
  CHECK(memcmp(a->shape, b.shape, (size_t)a->rank * sizeof *a->shape) == 0);
  free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_run run = fuzz_begin(size);
  npy a;
  if (npy_parse(&a, data, size, "fuzz") != DKHO_OK) {
    fuzz_refused("fuzz: ");
    fuzz_end(&run);
    return 0;
  }
  double sum = 0;
  for (uint64_t i = 0; i < a.count; i++) sum += npy_double(&a, i);
  CHECK(a.data + a.count * st_dtype_size(a.dtype) == data + size);
  write_again(&a);
  fuzz_end(&run);
  return sum == 42; /* keeps the reads; libFuzzer takes any value but -1 as 0 */
}
