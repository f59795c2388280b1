/* pool.c: a fixed set of pthreads that take task numbers from one counter. */
#include "base/pool.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct pool {
  int width, started; /* threads beside the caller: width - 1 */
  pthread_t *threads;
  pthread_mutex_t lock;
  pthread_cond_t wake, idle;
  uint64_t round;
  int busy, quit;
  pool_task fn;
  void *ctx;
  size_t tasks;
  _Atomic size_t next;
  size_t failed_task; /* lowest failed task, tasks when none */
  dkho_status status;
  char text[1024];
};

typedef struct {
  pool *p;
  int worker;
} seat;

static void work(pool *p, int worker) {
  for (size_t t; (t = atomic_fetch_add(&p->next, 1)) < p->tasks;) {
    dkho_status s = p->fn(p->ctx, t, worker);
    if (s == DKHO_OK) continue;
    pthread_mutex_lock(&p->lock);
    if (t < p->failed_task) {
      p->failed_task = t;
      p->status = s;
      strncpy(p->text, fail_text(), sizeof p->text - 1);
    }
    pthread_mutex_unlock(&p->lock);
    atomic_store(&p->next, p->tasks);
  }
}

static void *thread_main(void *arg) {
  pool *p = ((seat *)arg)->p;
  int worker = ((seat *)arg)->worker;
  mem_free(arg);
  uint64_t seen = 0;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (p->round == seen && !p->quit) pthread_cond_wait(&p->wake, &p->lock);
    if (p->quit) break;
    seen = p->round;
    pthread_mutex_unlock(&p->lock);
    work(p, worker);
    pthread_mutex_lock(&p->lock);
    if (--p->busy == 0) pthread_cond_signal(&p->idle);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

dkho_status pool_create(pool **out, int threads) {
  *out = NULL;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (threads <= 0) threads = cores > 0 ? (int)cores : 1;
  if (threads > 1024) return fail(DKHO_E_INPUT, "%d threads asked for; at most 1024 are possible", threads);
  pool *p;
  if (!MEM_NEW(p, 1)) return DKHO_E_MEMORY;
  p->width = threads;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->idle, NULL);
  *out = p;
  if (!MEM_NEW(p->threads, threads)) goto no_memory;
  while (p->started < threads - 1) {
    seat *s;
    if (!MEM_NEW(s, 1)) goto no_memory;
    s->p = p;
    s->worker = p->started + 1;
    if (pthread_create(&p->threads[p->started], NULL, thread_main, s)) {
      mem_free(s);
      pool_free(p);
      *out = NULL;
      return fail(DKHO_E_MEMORY, "cannot start %d threads", threads);
    }
    p->started++;
  }
  return DKHO_OK;
no_memory:
  pool_free(p);
  *out = NULL;
  return DKHO_E_MEMORY;
}

void pool_free(pool *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->quit = 1;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (int i = 0; i < p->started; i++) pthread_join(p->threads[i], NULL);
  pthread_cond_destroy(&p->wake);
  pthread_cond_destroy(&p->idle);
  pthread_mutex_destroy(&p->lock);
  mem_free(p->threads);
  mem_free(p);
}

int pool_width(const pool *p) {
  return p ? p->width : 1;
}

dkho_status pool_run(pool *p, size_t tasks, pool_task fn, void *ctx) {
  if (!p || p->width == 1 || tasks <= 1) {
    for (size_t t = 0; t < tasks; t++) TRY(fn(ctx, t, 0));
    return DKHO_OK;
  }
  pthread_mutex_lock(&p->lock);
  p->fn = fn;
  p->ctx = ctx;
  p->tasks = tasks;
  p->failed_task = tasks;
  p->status = DKHO_OK;
  atomic_store(&p->next, 0);
  p->busy = p->started;
  p->round++;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  work(p, 0);
  pthread_mutex_lock(&p->lock);
  while (p->busy) pthread_cond_wait(&p->idle, &p->lock);
  dkho_status s = p->status;
  pthread_mutex_unlock(&p->lock);
  return s == DKHO_OK ? s : fail(s, "%s", p->text);
}
