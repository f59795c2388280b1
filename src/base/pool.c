/* pool.c: a fixed set of pthreads that take task numbers from one counter. */
#include "base/pool.h"
#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* A thread beside the caller, and the worker it is. */
typedef struct {
  pool *p;
  int worker;
  pthread_t thread;
} seat;

enum { WIDTH_MAX = 1024 };

struct pool {
  int width, started; /* seats taken: width - 1 */
  seat *seats;
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

/* Cores this process may run on, which a container or taskset may have cut down. */
static int cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > WIDTH_MAX ? WIDTH_MAX : (int)n;
}

dkho_status pool_create(pool **out, int threads) {
  *out = NULL;
  if (threads <= 0) threads = cores();
  if (threads > WIDTH_MAX)
    return fail(DKHO_E_INPUT, "%d threads asked for; at most %d are possible", threads, WIDTH_MAX);
  pool *p;
  seat *seats;
  if (!MEM_NEW(p, 1)) return DKHO_E_MEMORY;
  if (!MEM_NEW(seats, threads)) {
    mem_free(p);
    return DKHO_E_MEMORY;
  }
  p->width = threads;
  p->seats = seats;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->idle, NULL);
  for (; p->started < threads - 1; p->started++) {
    seat *s = &seats[p->started];
    s->p = p;
    s->worker = p->started + 1;
    if (pthread_create(&s->thread, NULL, thread_main, s)) {
      pool_free(p);
      return fail(DKHO_E_MEMORY, "cannot start %d threads", threads);
    }
  }
  *out = p;
  return DKHO_OK;
}

void pool_free(pool *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->quit = 1;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (int i = 0; i < p->started; i++) pthread_join(p->seats[i].thread, NULL);
  pthread_cond_destroy(&p->wake);
  pthread_cond_destroy(&p->idle);
  pthread_mutex_destroy(&p->lock);
  mem_free(p->seats);
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
