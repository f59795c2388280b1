/* fuzz_st.c: whatever the bytes, the container opens or is refused with a message; what it shows lies in the bytes. */
#include "base/st.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                                                       \
  do {                                                                                                                 \
    if (!(x)) abort();                                                                                                 \
  } while (0)

static void check_open(const st_file *f, const uint8_t *data, size_t size) {
  char hex[33];
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    const uint8_t *at = t->data;
    size_t bytes = (size_t)t->count * st_dtype_size(t->dtype);
    CHECK(st_find(f, t->name) == t);
    CHECK(at >= data && bytes <= size && at + bytes <= data + size);
    CHECK((size_t)(at - data) % st_dtype_size(t->dtype) == 0);
    st_hash_bytes(at, bytes, hex); /* every byte can be read */
  }
  for (int i = 0; i < st_meta_count(f); i++) CHECK(st_meta(f, st_meta_key(f, i)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  st_file *f;
  size_t live = mem_live_blocks();
  if (st_open_memory(&f, data, size, "fuzz") == DKHO_OK) {
    check_open(f, data, size);
    st_close(f);
  } else {
    CHECK(!f && strncmp(dkho_error(), "fuzz: ", 6) == 0);
  }
  CHECK(mem_live_blocks() == live);
  return 0;
}
