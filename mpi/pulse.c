/* pulse.c: how ranks that are lost, stopped or hang are found, within `silence` seconds (DKHO_MPI_SILENCE, 20).
 *
 * The ring: every rank tells the next one each second that it lives; whoever has heard nothing from the one before for so long ends the
 * job. That finds lost machines and stopped processes, and takes an MPI which threads may call at the same time; others go without.
 *
 * The own process: while the library works, this thread looks whether the others of the process do anything: use the processor, move blocks or
 * pages to or from a file, or say that they live, as waits for other ranks do. When there is nothing of that for so long,
 * a lock or the file system holds them, and the job ends. Work of any length is left alone, however long it says nothing; an endless loop
 * cannot be told from work.
 *
 * Waits: with the signs of life travels for how long, at least, all ranks have been waiting. A wait is in vain when that exceeds the patience;
 * while anybody works, it is not. */
#include "pulse.h"
#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* least share of the processor that counts as work, seconds that a block moved stands for, seconds between signs */
static const double LEAST = 0.0025, BLOCK = 1, BEAT = 1;

typedef struct sign {
  int last;    /* the last one: the rank leaves */
  double idle; /* seconds for which all ranks up to here have been waiting, at least */
} sign;

struct pulse {
  MPI_Comm at;
  int rank, size, ring;
  double silence, patience;
  char own[128], before[128]; /* machine and process, of this rank and of the one that is listened to */
  pthread_t thread;
  _Atomic int leaving, watched;
  _Atomic unsigned alive, waits, in_vain; /* waits: odd during a wait; in_vain: the number of one that is */
};

/* What the thread remembers from one look to the next. */
typedef struct looks {
  double looked, heard, sent; /* times: the last look, the last signs */
  double work, worked;        /* what was done when the process was last seen to do something, and when that was */
  double busy, idle_before; /* the last look at which this rank was not in the same wait; the news of the rank before */
  unsigned alive, waits;
  sign in, out;
  MPI_Request receiving, sending;
  int own_last, other_last;
} looks;

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of all threads but this one, in seconds of the processor. */
static double work_done(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
  return cpu + BLOCK * (double)(u.ru_inblock + u.ru_oublock + u.ru_majflt);
}

/* MPI may be what hangs: then the alarm ends this process, and the launcher the others. */
static void end_job(const pulse *p) {
  fflush(stderr);
  signal(SIGALRM, SIG_DFL);
  alarm(3);
  if (p->ring) MPI_Abort(p->at, 1);
  _exit(1);
}

static void look_at_own(const pulse *p, looks *l, double now) {
  double work = work_done();
  unsigned alive = atomic_load(&p->alive);
  if (!atomic_load(&p->watched) || alive != l->alive || work - l->work >= LEAST * p->silence) {
    l->alive = alive, l->work = work, l->worked = now;
    return;
  }
  if (now - l->worked <= p->silence) return;
  fprintf(stderr, "dkho: rank %d (%s) hangs: it has computed, read and written nothing for %.0f s; the job ends\n",
          p->rank, p->own, now - l->worked);
  end_job(p);
}

/* For how long all ranks up to this one have been waiting. */
static double idle_for(const pulse *p, looks *l, double now) {
  unsigned waits = atomic_load(&p->waits);
  if (!(waits & 1) || waits != l->waits) l->waits = waits, l->busy = now;
  double own = now - l->busy, others = l->idle_before + now - l->heard;
  return own < others ? own : others;
}

static void listen_to_before(pulse *p, looks *l, double now) {
  int done;
  if (l->other_last) return;
  MPI_Test(&l->receiving, &done, MPI_STATUS_IGNORE);
  if (done) {
    l->heard = now;
    l->idle_before = l->in.idle;
    l->other_last = l->in.last;
    if (!l->other_last)
      MPI_Irecv(&l->in, sizeof l->in, MPI_BYTE, (p->rank + p->size - 1) % p->size, 0, p->at, &l->receiving);
  } else if (now - l->heard > p->silence) {
    fprintf(stderr, "dkho: rank %d (%s) has given no sign of life for %.0f s; rank %d ends the job\n",
            (p->rank + p->size - 1) % p->size, p->before, now - l->heard, p->rank);
    end_job(p);
  }
}

static void tell_next(pulse *p, looks *l, double now, double idle) {
  int done, leaving = atomic_load(&p->leaving);
  MPI_Test(&l->sending, &done, MPI_STATUS_IGNORE);
  if (!done || l->own_last || (now - l->sent < BEAT && !leaving)) return;
  l->out = (sign){leaving, idle};
  l->own_last = leaving;
  l->sent = now;
  MPI_Isend(&l->out, sizeof l->out, MPI_BYTE, (p->rank + 1) % p->size, 0, p->at, &l->sending);
}

/* One look. News takes a beat per rank to come round, which `idle` must exceed too. */
static void look_round(pulse *p, looks *l) {
  double now = clock_now();
  if (now - l->looked > p->silence / 2) l->heard = l->worked = l->busy = now; /* the process itself was suspended */
  l->looked = now;
  if (!atomic_load(&p->leaving)) look_at_own(p, l, now);
  if (!p->ring) return;
  listen_to_before(p, l, now);
  double idle = idle_for(p, l, now);
  atomic_store(&p->in_vain, idle > p->patience + 2 * BEAT * p->size ? l->waits : 0);
  tell_next(p, l, now, idle);
}

static void *pulse_main(void *arg) {
  pulse *p = arg;
  double now = clock_now();
  looks l = {.looked = now, .heard = now, .worked = now, .busy = now, .sending = MPI_REQUEST_NULL};
  if (p->ring) MPI_Irecv(&l.in, sizeof l.in, MPI_BYTE, (p->rank + p->size - 1) % p->size, 0, p->at, &l.receiving);
  while (p->ring ? !(l.own_last && l.other_last) : !atomic_load(&p->leaving)) {
    look_round(p, &l);
    usleep(atomic_load(&p->leaving) ? 2000 : 50000);
  }
  if (p->ring) MPI_Wait(&l.sending, MPI_STATUS_IGNORE);
  return NULL;
}

pulse *pulse_start(const comm_host *host, MPI_Comm at, int threads, double patience) {
  const char *text = getenv("DKHO_MPI_SILENCE");
  char machine[96] = "";
  int size;
  MPI_Comm_size(at, &size);
  pulse *p = size > 1 && (!text || atof(text) > 0) ? host->alloc(1, sizeof *p) : NULL;
  if (!p) return NULL;
  p->silence = text ? atof(text) : 20, p->patience = patience, p->size = size, p->ring = threads;
  gethostname(machine, sizeof machine - 1);
  snprintf(p->own, sizeof p->own, "%.90s, process %ld", machine, (long)getpid());
  MPI_Comm_dup(at, &p->at);
  MPI_Comm_rank(p->at, &p->rank);
  MPI_Sendrecv(p->own, sizeof p->own, MPI_BYTE, (p->rank + 1) % size, 1, p->before, sizeof p->before, MPI_BYTE,
               (p->rank + size - 1) % size, 1, p->at, MPI_STATUS_IGNORE);
  if (pthread_create(&p->thread, NULL, pulse_main, p) == 0) return p;
  host->release(p);
  return NULL;
}

void pulse_stop(pulse *p, const comm_host *host) {
  if (!p) return;
  atomic_store(&p->leaving, 1);
  pthread_join(p->thread, NULL);
  MPI_Comm_free(&p->at);
  host->release(p);
}

void pulse_watch(pulse *p, comm_watching how) {
  if (!p) return;
  if (how != COMM_ALIVE) atomic_fetch_add(&p->watched, how == COMM_ENTER ? 1 : -1);
  atomic_fetch_add(&p->alive, 1);
}

void pulse_wait(pulse *p, int begins) {
  (void)begins;
  if (p) atomic_fetch_add(&p->waits, 1);
}

int pulse_in_vain(pulse *p, double waited, double patience) {
  return p && p->ring ? atomic_load(&p->in_vain) == atomic_load(&p->waits) : waited > patience;
}
