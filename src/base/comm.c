/* comm.c: what all implementations share, and the serial one. Loading the MPI module is in comm_load.c. */
#include "base/comm.h"
#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

enum { TAG_GATHER = COMM_TAGS - 1, TAG_AGREE = COMM_TAGS - 2, TEXT = 1024 };

static int is_peer(const comm *c, int rank) {
  return rank >= 0 && rank < c->size && rank != c->rank;
}

/* Remembers a failure of the connection itself. */
static dkho_status note(comm *c, dkho_status s) {
  if (s != DKHO_OK) c->broken = 1;
  return s;
}

static void count_message(comm *c, size_t bytes) {
  c->meter.messages++;
  c->meter.bytes += (int64_t)bytes;
}

/* The end of a call that began at this reading of the clock. */
static dkho_status finish_wait(comm *c, double began, dkho_status s) {
  c->meter.waited += clock_now() - began;
  return note(c, s);
}

dkho_status comm_post_send(comm *c, int to, int tag, const void *data, size_t bytes, comm_request *r) {
  assert(is_peer(c, to) && tag >= 0 && tag < COMM_TAGS && bytes <= COMM_POST_MAX);
  *r = (comm_request){.peer = to, .tag = tag};
  TRY(note(c, c->table->post_send(c, to, tag, data, bytes, r)));
  r->active = 1;
  count_message(c, bytes);
  return DKHO_OK;
}

dkho_status comm_post_receive(comm *c, int from, int tag, void *data, size_t bytes, comm_request *r) {
  assert(is_peer(c, from) && tag >= 0 && tag < COMM_TAGS && bytes <= COMM_POST_MAX);
  *r = (comm_request){.peer = from, .tag = tag};
  TRY(note(c, c->table->post_receive(c, from, tag, data, bytes, r)));
  r->active = 1;
  return DKHO_OK;
}

dkho_status comm_wait(comm *c, comm_request *r) {
  if (!r->active) return DKHO_OK;
  r->active = 0;
  double began = clock_now();
  return finish_wait(c, began, c->table->wait(c, r));
}

dkho_status comm_wait_all(comm *c, int count, comm_request *r) {
  dkho_status s = DKHO_OK;
  for (int i = 0; i < count; i++) {
    dkho_status one = comm_wait(c, &r[i]);
    if (s == DKHO_OK) s = one;
  }
  return s;
}

dkho_status comm_send(comm *c, int to, int tag, const void *data, size_t bytes) {
  const char *at = data;
  do {
    comm_request r;
    size_t n = bytes < COMM_POST_MAX ? bytes : COMM_POST_MAX;
    TRY(comm_post_send(c, to, tag, at, n, &r));
    TRY(comm_wait(c, &r));
    at += n;
    bytes -= n;
  } while (bytes);
  return DKHO_OK;
}

dkho_status comm_receive(comm *c, int from, int tag, void *data, size_t bytes) {
  char *at = data;
  do {
    comm_request r;
    size_t n = bytes < COMM_POST_MAX ? bytes : COMM_POST_MAX;
    TRY(comm_post_receive(c, from, tag, at, n, &r));
    TRY(comm_wait(c, &r));
    at += n;
    bytes -= n;
  } while (bytes);
  return DKHO_OK;
}

dkho_status comm_broadcast(comm *c, int root, void *data, size_t bytes) {
  assert(root >= 0 && root < c->size);
  char *at = data;
  if (c->size == 1) return DKHO_OK;
  for (size_t n; bytes; at += n, bytes -= n) {
    n = bytes < COMM_POST_MAX ? bytes : COMM_POST_MAX;
    double began = clock_now();
    TRY(finish_wait(c, began, c->table->broadcast(c, root, at, n)));
    count_message(c, n);
  }
  return DKHO_OK;
}

dkho_status comm_barrier(comm *c) {
  double began = clock_now();
  return c->size == 1 ? DKHO_OK : finish_wait(c, began, c->table->barrier(c));
}

/* Through rank 0, which gets the shares in order of rank. */
dkho_status comm_gather(comm *c, const size_t *offset, void *all) {
  char *at = all;
  if (c->size == 1) return DKHO_OK;
  if (c->rank)
    TRY(comm_send(c, 0, TAG_GATHER, at + offset[c->rank], offset[c->rank + 1] - offset[c->rank]));
  else
    for (int r = 1; r < c->size; r++) TRY(comm_receive(c, r, TAG_GATHER, at + offset[r], offset[r + 1] - offset[r]));
  return comm_broadcast(c, 0, at + offset[0], offset[c->size] - offset[0]);
}

dkho_status comm_sum(comm *c, double *x, size_t count) {
  dkho_status s = DKHO_OK;
  double *other;
  if (c->size == 1 || count == 0) return DKHO_OK;
  if (!MEM_NEW(other, count)) return DKHO_E_MEMORY;
  if (c->rank) s = comm_send(c, 0, TAG_GATHER, x, count * sizeof *x);
  for (int r = 1; s == DKHO_OK && c->rank == 0 && r < c->size; r++) {
    s = comm_receive(c, r, TAG_GATHER, other, count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] += other[i];
  }
  mem_free(other);
  return s == DKHO_OK ? comm_broadcast(c, 0, x, count * sizeof *x) : s;
}

typedef struct verdict {
  int32_t code;
  char text[TEXT];
} verdict;

/* *x ← the least of all ranks, on every rank: rank r hears those of r + 1, r + 2, r + 4 …, which are the first of their kind. */
static dkho_status least(comm *c, int32_t *x) {
  for (int step = 1; step < c->size; step *= 2) {
    int32_t other;
    if (c->rank & step) {
      TRY(comm_send(c, c->rank - step, TAG_AGREE, x, sizeof *x));
      break;
    }
    if (c->rank + step >= c->size) continue;
    TRY(comm_receive(c, c->rank + step, TAG_AGREE, &other, sizeof other));
    if (other < *x) *x = other;
  }
  return comm_broadcast(c, 0, x, sizeof *x);
}

dkho_status comm_agree(comm *c, dkho_status mine) {
  int32_t first = mine == DKHO_OK ? INT32_MAX : c->rank;
  verdict v = {.code = (int32_t)mine};
  if (c->size == 1 || c->broken) return mine;
  if (mine != DKHO_OK) strncpy(v.text, fail_text(), TEXT - 1);
  TRY(least(c, &first));
  if (first == INT32_MAX) return DKHO_OK;
  TRY(comm_broadcast(c, first, &v, sizeof v));
  return fail((dkho_status)v.code, "%s", v.text);
}

dkho_status comm_agree_named(comm *c, dkho_status mine) {
  if (mine != DKHO_OK && c->size > 1 && !c->broken) mine = fail_prefix(mine, "rank %d", c->rank);
  return comm_agree(c, mine);
}

dkho_status comm_split(comm *c, int group, int order, comm **out) {
  *out = NULL;
  return note(c, c->table->split(c, group, order, out));
}

void comm_free(comm *c) {
  if (c && c->table->free) c->table->free(c);
}

void comm_abort(comm *c, const char *text) {
  if (c->table->abort) c->table->abort(c, text);
}

/* ---- one rank ---- */

static dkho_status serial_split(comm *c, int group, int order, comm **out) {
  (void)group;
  (void)order;
  *out = c;
  return DKHO_OK;
}

/* With nobody to talk to the asserts above refuse every message, and the collective functions return at once. */
comm *comm_serial(void) {
  static const comm_table table = {.name = "serial", .split = serial_split};
  static comm only = {.table = &table, .size = 1};
  return &only;
}
