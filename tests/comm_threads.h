/* comm_threads.h: the ranks of a comm as threads of one process, for tests: fast, and under every sanitizer. A send ends only when
 * its message has been received, the strictest that MPI allows, and whoever waits longer than PATIENCE fails with a message: a
 * deadlock is found, not slept through. ranks_run(size, fn, ctx) calls fn(comm, ctx) on every rank and returns the first failure. */
#ifndef COMM_THREADS_H
#define COMM_THREADS_H

#include "base/comm.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 64, PATIENCE = 60 };

/* In a function of ranks: a failure travels to the main thread as a status, because cmocka's asserts belong to that. (fail is in
 * brackets because cmocka has a macro of that name; include this header before cmocka.h.) */
#define RANK_HOLDS(c, what)                                                                                            \
  do {                                                                                                                 \
    if (!(what)) return (fail)(DKHO_E_INTERNAL, "rank %d: %s:%d: %s", (c)->rank, __FILE__, __LINE__, #what);           \
  } while (0)

/* A message, or the place where one is awaited; whichever comes second meets the first. */
typedef struct letter {
  int from, to, tag, met;
  const void *data; /* of a message */
  void *room;       /* of one that is awaited */
  size_t bytes, found;
  struct letter *next;
} letter;

/* What the ranks of one comm share. */
typedef struct hub {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  letter *open; /* those that have not met, in the order of posting */
  int users;
} hub;

typedef struct thread_comm {
  comm shared;
  hub *h;
} thread_comm;

static hub *hub_make(int users) {
  hub *h = calloc(1, sizeof *h);
  pthread_mutex_init(&h->lock, NULL);
  pthread_cond_init(&h->changed, NULL);
  h->users = users;
  return h;
}

/* Takes the first open letter of the other kind that fits m out of the list; NULL: none. Under the lock. */
static letter *hub_meet(hub *h, const letter *m) {
  for (letter **at = &h->open; *at; at = &(*at)->next) {
    letter *o = *at;
    if (!o->room == !m->room || o->from != m->from || o->to != m->to || o->tag != m->tag) continue;
    *at = o->next;
    return o;
  }
  return NULL;
}

static void hub_post(hub *h, letter *m) {
  pthread_mutex_lock(&h->lock);
  letter *o = hub_meet(h, m), **end = &h->open;
  if (o) {
    letter *to = m->room ? m : o, *from = m->room ? o : m;
    to->found = from->bytes;
    if (to->bytes == from->bytes && to->bytes) memcpy(to->room, from->data, to->bytes);
    o->met = m->met = 1;
    pthread_cond_broadcast(&h->changed);
  } else {
    while (*end) end = &(*end)->next;
    *end = m;
  }
  pthread_mutex_unlock(&h->lock);
}

static dkho_status threads_post(comm *c, letter m, comm_request *r) {
  letter *kept = malloc(sizeof *kept);
  *kept = m;
  r->at[0] = (uint64_t)(uintptr_t)kept;
  hub_post(((thread_comm *)c)->h, kept);
  return DKHO_OK;
}

static dkho_status threads_post_send(comm *c, int to, int tag, const void *data, size_t bytes, comm_request *r) {
  return threads_post(c, (letter){.from = c->rank, .to = to, .tag = tag, .data = data, .bytes = bytes}, r);
}

static dkho_status threads_post_receive(comm *c, int from, int tag, void *data, size_t bytes, comm_request *r) {
  return threads_post(c, (letter){.from = from, .to = c->rank, .tag = tag, .room = data, .bytes = bytes}, r);
}

/* A letter that is waited for in vain stays in the list: the test has failed. */
static dkho_status threads_wait(comm *c, comm_request *r) {
  hub *h = ((thread_comm *)c)->h;
  letter *m = (letter *)(uintptr_t)r->at[0];
  struct timespec until;
  int late = 0;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  pthread_mutex_lock(&h->lock);
  while (!m->met && !late) late = pthread_cond_timedwait(&h->changed, &h->lock, &until) == ETIMEDOUT;
  pthread_mutex_unlock(&h->lock);
  if (late)
    return (fail)(DKHO_E_IO, "rank %d has waited %d s for rank %d (tag %d)", c->rank, PATIENCE, r->peer, r->tag);
  letter seen = *m;
  free(m);
  if (!seen.room || seen.found == seen.bytes) return DKHO_OK;
  return (fail)(DKHO_E_INTERNAL, "rank %d: a message of rank %d (tag %d) has %zu bytes, expected %zu", c->rank, r->peer,
                r->tag, seen.found, seen.bytes);
}

enum { TAG_TREE = COMM_TAGS - 10, TAG_HUB = COMM_TAGS - 11 };
static dkho_status threads_broadcast(comm *c, int root, void *data, size_t bytes) {
  if (c->rank != root) return comm_receive(c, root, TAG_TREE, data, bytes);
  for (int r = 0; r < c->size; r++)
    if (r != root) TRY(comm_send(c, r, TAG_TREE, data, bytes));
  return DKHO_OK;
}

static dkho_status threads_barrier(comm *c) {
  double none = 0;
  return comm_sum(c, &none, 1);
}

static dkho_status threads_split(comm *c, int group, int order, comm **out);

static void threads_free(comm *c) {
  hub *h = ((thread_comm *)c)->h;
  pthread_mutex_lock(&h->lock);
  int left = --h->users;
  pthread_mutex_unlock(&h->lock);
  if (left == 0) {
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->changed);
    free(h);
  }
  free(c);
}

static comm *threads_make(hub *h, int rank, int size) {
  static const comm_table table = {
      "threads",       threads_post_send, threads_post_receive, threads_wait, threads_broadcast,
      threads_barrier, threads_split,     threads_free,         NULL,         NULL};
  thread_comm *c = calloc(1, sizeof *c);
  c->shared = (comm){.table = &table, .rank = rank, .size = size};
  c->h = h;
  return &c->shared;
}

/* Everybody learns the choices of all; the first of a group makes its hub and hands it to the others: memory is shared. */
static dkho_status threads_split(comm *c, int group, int order, comm **out) {
  int choice[RANKS_MAX][2], rank = 0, size = 0, first = -1;
  size_t offset[RANKS_MAX + 1];
  hub *h = NULL;
  for (int r = 0; r <= c->size; r++) offset[r] = (size_t)r * sizeof *choice;
  choice[c->rank][0] = group, choice[c->rank][1] = order;
  TRY(comm_gather(c, offset, choice));
  for (int r = 0; r < c->size; r++) {
    if (choice[r][0] != group) continue;
    if (first < 0) first = r;
    size++;
    rank += choice[r][1] < order || (choice[r][1] == order && r < c->rank);
  }
  if (first == c->rank) h = hub_make(size);
  for (int r = 0; first == c->rank && r < c->size; r++)
    if (r != c->rank && choice[r][0] == group) TRY(comm_send(c, r, TAG_HUB, &h, sizeof h));
  if (first != c->rank) TRY(comm_receive(c, first, TAG_HUB, &h, sizeof h));
  *out = threads_make(h, rank, size);
  return DKHO_OK;
}

typedef struct seat_of_rank {
  comm *c;
  dkho_status (*fn)(comm *c, void *ctx);
  void *ctx;
  dkho_status s;
  char text[512];
} seat_of_rank;

static void *rank_main(void *arg) {
  seat_of_rank *seat = arg;
  seat->s = seat->fn(seat->c, seat->ctx);
  if (seat->s != DKHO_OK) strncpy(seat->text, fail_text(), sizeof seat->text - 1);
  return NULL;
}

static dkho_status ranks_run(int size, dkho_status (*fn)(comm *c, void *ctx), void *ctx) {
  static seat_of_rank seat[RANKS_MAX];
  pthread_t thread[RANKS_MAX];
  hub *h = hub_make(size);
  for (int r = 0; r < size; r++) {
    seat[r] = (seat_of_rank){.c = threads_make(h, r, size), .fn = fn, .ctx = ctx};
    if (pthread_create(&thread[r], NULL, rank_main, &seat[r])) abort();
  }
  for (int r = 0; r < size; r++) pthread_join(thread[r], NULL);
  dkho_status s = DKHO_OK;
  for (int r = 0; r < size; r++) {
    if (s == DKHO_OK && seat[r].s != DKHO_OK) s = (fail)(seat[r].s, "%s", seat[r].text);
    comm_free(seat[r].c);
  }
  return s;
}

#endif
