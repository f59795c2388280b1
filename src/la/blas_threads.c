/* blas_threads.c: see blas_threads.h. The areas belong to OpenBLAS, which keeps them for later calls of any thread; all that is counted
 * here is how many there must be for the threads that may call at the same time. */
#include "la/blas_threads_impl.h"
#include "la/la.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

void openblas_set_num_threads(int n) __attribute__((weak));
char *openblas_get_config(void) __attribute__((weak));
void omp_set_max_active_levels(int levels) __attribute__((weak));
void *blas_memory_alloc(int kind) __attribute__((weak)); /* OpenBLAS' own, exported */
void blas_memory_free(void *area) __attribute__((weak));

enum { AREAS_MAX = 64 };                      /* OpenBLAS has room for at least this many */
static const size_t AREA = (size_t)132 << 20; /* 128 MB in Debian's build, and what mapping it may round up to */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t caller_key; /* set in threads that are counted as callers */
static int callers, areas;

const char *dense_library(void) {
  return openblas_get_config ? openblas_get_config() : "unknown";
}

static void forget_caller(void *mark) {
  (void)mark;
  pthread_mutex_lock(&mutex);
  callers--;
  pthread_mutex_unlock(&mutex);
}

static int has_key; /* without it (no more keys in the process) a thread counts each time: too much, never too little */
static void hold_blas(void) {
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  has_key = pthread_key_create(&caller_key, forget_caller) == 0;
}

void blas_one_thread(void) {
  pthread_once(&once, hold_blas);
}

/* Whether `count` more areas fit under the limit; nothing is touched. */
static int areas_fit(int count) {
  void *p = mmap(NULL, AREA * (size_t)count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p != MAP_FAILED && munmap(p, AREA * (size_t)count) == 0;
}

/* Takes `count` areas at once, so that there are as many, and hands them back for the calls to come. */
static dkho_status take_areas(int count) {
  void *area[AREAS_MAX];
  if (count <= areas) return DKHO_OK;
  if (count > AREAS_MAX || !areas_fit(count - areas))
    return fail(DKHO_E_MEMORY,
                "the limit on address space (ulimit -v) leaves no room for OpenBLAS, which wants 128 MB per thread "
                "(threads: %d)",
                count);
  for (int i = 0; i < count; i++) area[i] = blas_memory_alloc(0);
  for (int i = 0; i < count; i++) blas_memory_free(area[i]);
  areas = count;
  return DKHO_OK;
}

/* Libgomp, which CHOLMOD uses, ends the process when it cannot start a thread: under a limit it starts none (for this thread). */
static int is_limited(void) {
  struct rlimit limit;
  int limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (limited && omp_set_max_active_levels) omp_set_max_active_levels(0);
  return limited && blas_memory_alloc && blas_memory_free;
}

dkho_status blas_ready(void) {
  blas_one_thread();
  if (!is_limited()) return DKHO_OK;
  pthread_mutex_lock(&mutex);
  int known = has_key && pthread_getspecific(caller_key);
  dkho_status s = take_areas(known ? callers : callers + 1);
  if (s == DKHO_OK && !known && has_key && pthread_setspecific(caller_key, &callers) == 0) callers++;
  pthread_mutex_unlock(&mutex);
  return s;
}

dkho_status dense_ready(int threads) {
  blas_one_thread();
  if (!is_limited()) return DKHO_OK;
  pthread_mutex_lock(&mutex);
  dkho_status s = take_areas(threads);
  pthread_mutex_unlock(&mutex);
  return s;
}
