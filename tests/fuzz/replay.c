/* replay.c: a fuzz target without a fuzzer, for the tests of every build: the committed seeds, and of each some hundred inputs with a few bytes
 * changed, from a fixed stream. Usage: replay_NAME DIRECTORY [MUTATIONS] */
#include "fuzz_file.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) __attribute__((weak));

static uint64_t stream = 1;
static size_t below(size_t n) {
  stream = stream * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(stream >> 33) % n;
}

/* One to four changes: a bit, a byte, a byte less or more. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room) {
  for (size_t turns = 1 + below(4); turns && size; turns--) {
    size_t at = below(size), how = below(4);
    if (how == 0) data[at] = (uint8_t)(data[at] ^ 1u << below(8));
    if (how == 1) data[at] = (uint8_t)below(256);
    if (how == 2 && size > 1) memmove(data + at, data + at + 1, --size - at);
    if (how == 3 && size < room) memmove(data + at + 1, data + at, size++ - at);
  }
  return size;
}

static int64_t replay(const char *path, int mutations) {
  enum { ROOM = 1 << 17 };
  size_t size;
  uint8_t *seed = fuzz_read(path, &size), *copy = aligned_alloc(64, ROOM);
  CHECK(copy && size <= ROOM / 2);
  for (int i = 0; i <= mutations; i++) {
    memcpy(copy, seed, size);
    size_t n = size;
    if (i && LLVMFuzzerCustomMutator)
      n = LLVMFuzzerCustomMutator(copy, size, ROOM, (unsigned)below(1 << 20));
    else if (i)
      n = LLVMFuzzerMutate(copy, size, ROOM);
    LLVMFuzzerTestOneInput(copy, n);
  }
  free(seed), free(copy);
  return mutations + 1;
}

int main(int argc, char **argv) {
  int64_t runs = 0;
  char path[512], here[256];
  CHECK(argc > 1 && realpath(argv[1], here));
  int mutations = argc > 2 ? atoi(argv[2]) : 200;
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  DIR *d = opendir(here);
  CHECK(d);
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    CHECK(snprintf(path, sizeof path, "%s/%s", here, e->d_name) < (int)sizeof path);
    runs += replay(path, mutations);
  }
  closedir(d);
  fprintf(stderr, "%lld runs\n", (long long)runs);
  return runs == 0;
}
