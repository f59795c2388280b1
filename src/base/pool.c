/* pool.c: a fixed set of pthreads that take tickets from one counter. Whoever waits, for work or for its end, looks
 * for a moment before it sleeps: a sleeper costs tens of microseconds to wake, as long as many a region takes.
 *
 * A round ends with its last task, not when every worker has looked in: on a busy machine a worker may not get a core for
 * milliseconds, and nobody waits for one that has no task. Such a worker comes late, into a later round or into none; so a ticket
 * carries its round, and is taken in one step with the proof that there was one.
 *
 * A forked child has the pool but not its threads: the first region that runs there starts them anew. */
#include "base/clock.h"
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

enum { WIDTH_MAX = 1024, LOOKS = 64 /* between two readings of the clock */ };
static const double patience = 60e-6; /* seconds; 0 where threads outnumber cores */

/* Counts the forks that lead to this process. */
static _Atomic unsigned forks;
static void note_fork(void) {
  atomic_fetch_add(&forks, 1);
}
static void watch_forks(void) {
  pthread_atfork(NULL, NULL, note_fork);
}

struct pool {
  int width, started; /* seats taken: width - 1 */
  unsigned forks;     /* where the threads were started */
  seat *seats;
  pthread_mutex_t lock;
  pthread_cond_t wake, idle;
  double patience;
  _Atomic uint64_t tickets; /* round << 32 | tasks that nobody has taken yet */
  _Atomic size_t open;      /* tasks of the round that are not finished */
  _Atomic int quit;
  _Atomic int waiting; /* the caller sleeps */
  int sleepers;        /* workers that sleep; under the lock */
  /* the round: constant while a task of it is open */
  pool_task fn;
  void *ctx;
  size_t tasks;
  size_t failed_task; /* lowest failed task, tasks when none */
  dkho_status status;
  char text[1024];
};

enum { TICKET_BITS = 32 };
static const uint64_t TICKETS = (UINT64_C(1) << TICKET_BITS) - 1;

/* The next task of the round at hand; 0: there is none. */
static int take_ticket(pool *p, size_t *task) {
  uint64_t seen = atomic_load(&p->tickets);
  while (seen & TICKETS)
    if (atomic_compare_exchange_weak(&p->tickets, &seen, seen - 1)) {
      *task = p->tasks - (size_t)(seen & TICKETS); /* the round cannot end before this task does */
      return 1;
    }
  return 0;
}

/* `count` tasks are done with. The last one wakes the caller, who says that it will sleep before it looks at `open` again: one of the
 * two sees the other. */
static void close_tasks(pool *p, size_t count) {
  if (atomic_fetch_sub(&p->open, count) > count || !atomic_load(&p->waiting)) return;
  pthread_mutex_lock(&p->lock);
  pthread_cond_signal(&p->idle);
  pthread_mutex_unlock(&p->lock);
}

/* A task has failed: those that nobody has taken yet are not begun. */
static void note_failure(pool *p, size_t task, dkho_status s) {
  pthread_mutex_lock(&p->lock);
  if (task < p->failed_task) {
    p->failed_task = task;
    p->status = s;
    strncpy(p->text, fail_text(), sizeof p->text - 1);
  }
  pthread_mutex_unlock(&p->lock);
  uint64_t left = atomic_fetch_and(&p->tickets, ~TICKETS) & TICKETS;
  if (left) close_tasks(p, (size_t)left);
}

static void work(pool *p, int worker) {
  for (size_t t; take_ticket(p, &t);) {
    dkho_status s = p->fn(p->ctx, t, worker);
    if (s != DKHO_OK) note_failure(p, t, s);
    close_tasks(p, 1);
  }
}

/* Tells the core that this is a loop of waiting. */
static void breathe(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int has_work(pool *p) {
  return (atomic_load(&p->tickets) & TICKETS) != 0 || atomic_load(&p->quit);
}
static int has_ended(pool *p) {
  return atomic_load(&p->open) == 0;
}

void pool_breathe(unsigned turn) {
  if (turn % LOOKS == LOOKS - 1)
    sched_yield();
  else
    breathe();
}

/* Looks until `ready` or until patience is at its end; says which. */
static int look(pool *p, int (*ready)(pool *)) {
  if (ready(p)) return 1;
  if (!(p->patience > 0)) return 0;
  double until = clock_now() + p->patience;
  do
    for (int i = 0; i < LOOKS; i++) {
      if (ready(p)) return 1;
      breathe();
    }
  while (clock_now() < until);
  return 0;
}

static void sleep_for_work(pool *p) {
  pthread_mutex_lock(&p->lock);
  p->sleepers++;
  while (!has_work(p)) pthread_cond_wait(&p->wake, &p->lock);
  p->sleepers--;
  pthread_mutex_unlock(&p->lock);
}

static void sleep_for_end(pool *p) {
  pthread_mutex_lock(&p->lock);
  atomic_store(&p->waiting, 1);
  while (!has_ended(p)) pthread_cond_wait(&p->idle, &p->lock);
  atomic_store(&p->waiting, 0);
  pthread_mutex_unlock(&p->lock);
}

static void *thread_main(void *arg) {
  pool *p = ((seat *)arg)->p;
  int worker = ((seat *)arg)->worker;
  for (;;) {
    if (!look(p, has_work)) sleep_for_work(p);
    if (atomic_load(&p->quit)) return NULL;
    work(p, worker);
  }
}

/* Cores this process may run on, which a container or taskset may have cut down. */
static int cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > WIDTH_MAX ? WIDTH_MAX : (int)n;
}

static dkho_status start_threads(pool *p) {
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->idle, NULL);
  p->forks = atomic_load(&forks);
  for (p->started = 0; p->started < p->width - 1; p->started++) {
    seat *s = &p->seats[p->started];
    s->p = p;
    s->worker = p->started + 1;
    if (pthread_create(&s->thread, NULL, thread_main, s))
      return fail(DKHO_E_MEMORY, "cannot start %d threads", p->width);
  }
  return DKHO_OK;
}

static void end_threads(pool *p) {
  if (p->forks == atomic_load(&forks)) { /* else they, and whoever held the lock, are in another process */
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->quit, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++) pthread_join(p->seats[i].thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->idle);
    pthread_mutex_destroy(&p->lock);
  }
  p->started = 0;
}

/* In a forked child: the pool as pool_create leaves it. A failure leaves it without threads, to be tried again. */
static dkho_status restart_threads(pool *p) {
  atomic_store(&p->tickets, 0);
  atomic_store(&p->open, 0);
  atomic_store(&p->quit, 0);
  atomic_store(&p->waiting, 0);
  p->sleepers = 0;
  dkho_status s = start_threads(p);
  if (s == DKHO_OK) return s;
  end_threads(p);
  p->forks--; /* not this process's yet */
  return s;
}

dkho_status pool_create(pool **out, int threads) {
  static pthread_once_t watching = PTHREAD_ONCE_INIT;
  *out = NULL;
  if (threads <= 0) threads = cores();
  if (threads > WIDTH_MAX)
    return fail(DKHO_E_INPUT, "%d threads asked for; at most %d are possible", threads, WIDTH_MAX);
  pthread_once(&watching, watch_forks);
  pool *p;
  if (!MEM_NEW(p, 1)) return DKHO_E_MEMORY;
  if (!MEM_NEW(p->seats, threads)) {
    mem_free(p);
    return DKHO_E_MEMORY;
  }
  p->width = threads;
  p->patience = threads <= cores() ? patience : 0;
  dkho_status s = start_threads(p);
  if (s == DKHO_OK)
    *out = p;
  else
    pool_free(p);
  return s;
}

void pool_free(pool *p) {
  if (!p) return;
  end_threads(p);
  mem_free(p->seats);
  mem_free(p);
}

int pool_width(const pool *p) {
  return p ? p->width : 1;
}

dkho_status pool_run(pool *p, size_t tasks, pool_task fn, void *ctx) {
  if (!p || p->width == 1 || tasks <= 1 || tasks > TICKETS) {
    for (size_t t = 0; t < tasks; t++) TRY(fn(ctx, t, 0));
    return DKHO_OK;
  }
  if (p->forks != atomic_load(&forks)) TRY(restart_threads(p));
  pthread_mutex_lock(&p->lock);
  p->fn = fn;
  p->ctx = ctx;
  p->tasks = tasks;
  p->failed_task = tasks;
  p->status = DKHO_OK;
  atomic_store(&p->open, tasks);
  uint64_t round = (atomic_load(&p->tickets) >> TICKET_BITS) + 1;
  atomic_store(&p->tickets, round << TICKET_BITS | tasks); /* from here on workers may begin */
  if (p->sleepers) pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  work(p, 0);
  if (!look(p, has_ended)) sleep_for_end(p);
  return p->status == DKHO_OK ? DKHO_OK : fail(p->status, "%s", p->text);
}
