/* fuzz_container.h: mutations that leave a container a container: its header is changed as text and its length put right, or its data
 * are changed; and three times in four the hashes in it are made again, so that what lies behind them is met. */
#ifndef FUZZ_CONTAINER_H
#define FUZZ_CONTAINER_H

#include "fuzz_file.h"

#include "base/st.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);

/* 32 hexadecimal digits behind a key, NULL when there are none. */
static inline uint8_t *fuzz_digits(uint8_t *data, size_t size, const char *key) {
  uint8_t *at = memmem(data, size, key, strlen(key));
  return at && (size_t)(data + size - at) >= strlen(key) + 32 ? at + strlen(key) : NULL;
}

/* As tests/poison.h does: the digits count as zeros in the hash of the whole. */
static inline void fuzz_reseal(uint8_t *data, size_t size) {
  uint8_t *at = fuzz_digits(data, size, "\"dkho.hash\":\"");
  char hex[33];
  if (!at) return;
  memset(at, '0', 32);
  st_hash_bytes(data, size, hex);
  memcpy(at, hex, 32);
}

enum { FUZZ_PREFIX = 8, FUZZ_ALIGN = 64, FUZZ_HEADER = 1 << 16 };

/* Mutates the header alone: length, text, padding of spaces up to a multiple of 64 as the writer makes it. */
static inline size_t fuzz_mutate_header(uint8_t *data, size_t size, size_t room, uint64_t header) {
  static uint8_t text[FUZZ_HEADER + FUZZ_ALIGN];
  memcpy(text, data + FUZZ_PREFIX, header);
  size_t n = header, rest = size - FUZZ_PREFIX - header;
  while (n && text[n - 1] == ' ') n--;
  n = LLVMFuzzerMutate(text, n, FUZZ_HEADER);
  while ((n + FUZZ_PREFIX) % FUZZ_ALIGN) text[n++] = ' ';
  if (FUZZ_PREFIX + n + rest > room) return LLVMFuzzerMutate(data, size, room);
  memmove(data + FUZZ_PREFIX + n, data + FUZZ_PREFIX + header, rest);
  memcpy(data + FUZZ_PREFIX, text, n);
  uint64_t told = n;
  memcpy(data, &told, sizeof told);
  return FUZZ_PREFIX + n + rest;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) {
  uint64_t header = 0;
  if (size >= FUZZ_PREFIX) memcpy(&header, data, sizeof header);
  int whole = size > FUZZ_PREFIX && header > 1 && header <= FUZZ_HEADER && header <= size - FUZZ_PREFIX;
  uint64_t first = FUZZ_PREFIX + header;
  if (!whole || seed % 8 == 7)
    size = LLVMFuzzerMutate(data, size, room);
  else if (seed % 2 || first == size)
    size = fuzz_mutate_header(data, size, room, header);
  else /* lengths stay */
    LLVMFuzzerMutate(data + first, size - first, size - first);
  if (seed / 8 % 4) fuzz_reseal(data, size);
  return size;
}

#endif
