/* mem.h: the one allocator of the library, and arenas on top of it.
 *
 * Every block is 64-byte aligned, zeroed and counted. Tests can order the n-th allocation to fail. A request whose byte
 * count overflows fails like any other. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/status.h"

/* count × size bytes, zeroed; NULL with the error text set when there is no memory. count 0 gives a valid block. */
void *mem_alloc(size_t count, size_t size);
void *mem_resize(void *block, size_t old_count, size_t new_count,
                 size_t size); /* the tail is zeroed; NULL keeps block */
void mem_free(void *block);
/* `T *p` in one line: `if (!MEM_NEW(p, n)) return DKHO_E_MEMORY;` */
#define MEM_NEW(p, count) ((p) = mem_alloc((size_t)(count), sizeof *(p)))

char *mem_strdup(const char *s); /* owned by the caller */

/* For tests and for `dkho bench`. */
size_t mem_live_blocks(void);
size_t mem_live_bytes(void);
size_t mem_peak_bytes(void);
void mem_peak_restart(void);         /* the peak counts from now on */
uint64_t mem_calls(void);            /* allocations since the process started */
void mem_fail_at(int64_t countdown); /* 1: the next allocation fails, once; 0: none does */

/* An arena hands out views and frees them all at once. Zero-initialise it ({0}); it grows by blocks, and what it handed
 * out stays where it is. Not thread-safe: one owner. */
typedef struct arena {
  struct arena_block *head;
} arena;
void *arena_take(arena *a, size_t count, size_t size); /* zeroed, 64-byte aligned; NULL: no memory */
char *arena_strdup(arena *a, const char *s);
void arena_free(arena *a);
#define ARENA_NEW(a, p, count) ((p) = arena_take((a), (size_t)(count), sizeof *(p)))

#endif
