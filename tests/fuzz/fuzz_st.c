/* fuzz_st.c: whatever the bytes, the container opens or is refused with a message; what it shows lies in the bytes. Written again, it
 * opens with the same contents, and written once more it is the same file. */
#include "fuzz_container.h"

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

/* All but the hash, which only a sealed file has. */
static void save(const st_file *f, const char *path) {
  st_writer *w;
  CHECK(st_create(&w, path, 1) == DKHO_OK);
  for (int i = 0; i < st_meta_count(f); i++) {
    const char *key = st_meta_key(f, i);
    if (strcmp(key, "dkho.hash") != 0) CHECK(st_put_meta(w, key, st_meta(f, key)) == DKHO_OK);
  }
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    CHECK(st_declare(w, t->name, t->dtype, t->rank, t->shape) == DKHO_OK);
  }
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    CHECK(st_write(w, t->data, (size_t)t->count * st_dtype_size(t->dtype)) == DKHO_OK);
  }
  CHECK(st_commit(w) == DKHO_OK);
}

static void same_contents(const st_file *a, const st_file *b) {
  CHECK(st_count(a) == st_count(b));
  for (int i = 0; i < st_count(a); i++) {
    const st_tensor *s = st_at(a, i), *t = st_at(b, i);
    CHECK(strcmp(s->name, t->name) == 0 && s->dtype == t->dtype && s->rank == t->rank && s->count == t->count);
    CHECK(memcmp(s->shape, t->shape, (size_t)s->rank * sizeof *s->shape) == 0);
    CHECK(s->count == 0 || memcmp(s->data, t->data, (size_t)s->count * st_dtype_size(s->dtype)) == 0);
  }
  for (int i = 0; i < st_meta_count(b); i++) {
    const char *key = st_meta_key(b, i), *value = st_meta(a, key);
    CHECK(value && strcmp(value, st_meta(b, key)) == 0);
  }
}

static void write_again(const st_file *f) {
  static char first[FUZZ_PATH], second[FUZZ_PATH];
  st_file *g;
  save(f, fuzz_path(first, "first.st"));
  CHECK(st_open(&g, first) == DKHO_OK);
  same_contents(f, g);
  save(g, fuzz_path(second, "second.st"));
  st_close(g);
  CHECK(fuzz_same(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  st_file *f;
  fuzz_run run = fuzz_begin(size);
  if (st_open_memory(&f, data, size, "fuzz") == DKHO_OK) {
    check_open(f, data, size);
    write_again(f);
    st_close(f);
  } else {
    CHECK(!f);
    fuzz_refused("fuzz: ");
  }
  fuzz_end(&run);
  return 0;
}
