/* mem.c: counted allocation and arenas. */
#include "base/mem.h"

#include "base/limit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, BLOCK_MIN = 1 << 16 };
#define BYTES_MAX ((size_t)1 << 47) /* more than any address space of today holds: sums with it cannot overflow */

/* Stands before every block; exactly one cache line, so that the block is aligned too. */
typedef struct {
  size_t bytes;
  char pad[ALIGN - sizeof(size_t)];
} header;

static _Atomic size_t live_blocks, live_bytes, peak_bytes;
static _Atomic uint64_t calls;
static _Atomic int64_t countdown;

size_t mem_live_blocks(void) {
  return live_blocks;
}
size_t mem_live_bytes(void) {
  return live_bytes;
}
size_t mem_peak_bytes(void) {
  return peak_bytes;
}
void mem_peak_restart(void) {
  peak_bytes = (size_t)live_bytes;
}
uint64_t mem_calls(void) {
  return calls;
}
void mem_fail_at(int64_t n) {
  countdown = n;
}

void *mem_alloc(size_t count, size_t size) {
  size_t bytes;
  calls++;
  int refused = countdown > 0 && atomic_fetch_sub(&countdown, 1) == 1;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > BYTES_MAX) {
    fail(DKHO_E_MEMORY, "cannot allocate %zu items of %zu bytes: the product is too large", count, size);
    return NULL;
  }
  if (limit_check(LIMIT_MEMORY, live_bytes + bytes, DKHO_E_MEMORY) != DKHO_OK) return NULL;
  size_t whole = sizeof(header) + (bytes + ALIGN - 1) / ALIGN * ALIGN;
  header *h = refused ? NULL : aligned_alloc(ALIGN, whole);
  if (!h) {
    fail(DKHO_E_MEMORY, "cannot allocate %zu bytes", bytes);
    return NULL;
  }
  memset(h, 0, whole);
  h->bytes = bytes;
  live_blocks++;
  size_t now = atomic_fetch_add(&live_bytes, bytes) + bytes, peak = peak_bytes;
  while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now)) {
  }
  return h + 1;
}

void mem_free(void *block) {
  if (!block) return;
  header *h = (header *)block - 1;
  live_blocks--;
  live_bytes -= h->bytes;
  free(h);
}

void *mem_resize(void *block, size_t old_count, size_t new_count, size_t size) {
  void *fresh = mem_alloc(new_count, size);
  if (!fresh) return NULL;
  if (block) memcpy(fresh, block, (old_count < new_count ? old_count : new_count) * size);
  mem_free(block);
  return fresh;
}

char *mem_strdup(const char *s) {
  char *copy = mem_alloc(strlen(s) + 1, 1);
  if (copy) memcpy(copy, s, strlen(s));
  return copy;
}

struct arena_block {
  struct arena_block *next;
  size_t used, size;
  char *bytes;
};

void *arena_take(arena *a, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > BYTES_MAX) {
    fail(DKHO_E_MEMORY, "cannot allocate %zu items of %zu bytes: the product is too large", count, size);
    return NULL;
  }
  bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  struct arena_block *b = a->head;
  if (!b || b->size - b->used < bytes) {
    size_t room = bytes > BLOCK_MIN ? bytes : BLOCK_MIN;
    struct arena_block *fresh = mem_alloc(1, ALIGN + room);
    if (!fresh) return NULL;
    fresh->bytes = (char *)fresh + ALIGN;
    fresh->size = room;
    fresh->next = b;
    a->head = b = fresh;
  }
  void *view = b->bytes + b->used;
  b->used += bytes;
  return view;
}

char *arena_strdup(arena *a, const char *s) {
  char *copy = arena_take(a, strlen(s) + 1, 1);
  if (copy) memcpy(copy, s, strlen(s));
  return copy;
}

void arena_free(arena *a) {
  while (a->head) {
    struct arena_block *b = a->head;
    a->head = b->next;
    mem_free(b);
  }
}
