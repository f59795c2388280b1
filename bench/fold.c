/* fold: what a program would cost if memory were free. Preloaded, it folds every large array of the library onto a small
 * window of its own: the addresses stay what they were, but all of them lie in the same few pages, which a cache holds.
 * The instructions are the same, the values are nonsense, and the time that is gone is the time that memory took.
 *
 *   LD_PRELOAD=build/release/bench/libfold.so FOLD_KB=32 build/release/bench/bench_kern --train --batch 1
 *
 * FOLD_KB is the window (a multiple of 4; 0 folds nothing: the run to compare with), FOLD_LEAST_KB the size from which arrays are
 * folded (400: on the Darcy mesh that takes states and cotangents and leaves incidences whole). Windows of two blocks
 * of simplices or fewer make a pass wait for its own stores; see docs/SPEED.md. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 4096 };

static char *folded[MOST]; /* never given back: the program is about to end */
static int count;

static size_t kilobytes(const char *name, long otherwise) {
  const char *text = getenv(name);
  long n = text ? atol(text) : otherwise;
  return n > 0 ? (size_t)n * 1024 : 0;
}

static void need(int ok, const char *what) {
  if (ok) return;
  perror(what);
  _exit(1);
}

void *aligned_alloc(size_t align, size_t size) {
  size_t window = kilobytes("FOLD_KB", 32) / PAGE * PAGE;
  void *(*plain)(size_t, size_t) = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
  if (!window || size < kilobytes("FOLD_LEAST_KB", 400) || count == MOST) return plain(align, size);
  int fd = memfd_create("fold", 0), own = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
  need(fd >= 0 && ftruncate(fd, (off_t)window) == 0, "memfd_create");
  size_t whole = (size + window - 1) / window * window;
  char *p = mmap(NULL, whole, PROT_NONE, own, -1, 0);
  need(p != MAP_FAILED, "mmap");
  for (size_t at = 0; at < whole; at += window)
    need(mmap(p + at, window, rw, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) != MAP_FAILED, "mmap");
  need(mmap(p, PAGE, rw, own | MAP_FIXED, -1, 0) != MAP_FAILED, "mmap"); /* the allocator's header stays readable */
  close(fd);
  return folded[count++] = p;
}

void free(void *block) {
  for (int i = 0; i < count; i++)
    if (folded[i] == block) return;
  ((void (*)(void *))dlsym(RTLD_NEXT, "free"))(block);
}
