/* module.c: base/comm.h on MPI: libdkho-mpi.so, which the library loads when a launcher started the program. It sees nothing of the
 * library but the functions that comm_open hands over.
 *
 * MPI's errors are returned, not fatal. A wait polls, so that a rank that waits gives its core away where cores are few. It gives
 * up, with a message that says for whom it waited, when all ranks have waited for each other for DKHO_MPI_PATIENCE seconds (600). Ranks that
 * are lost, stopped or hang are found sooner: pulse.c. */
#include "base/clock.h"
#include "base/comm.h"

#include "pulse.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPINS = 4096, YIELDS = 64 };

typedef struct mpi_comm {
  comm shared;
  const comm_host *host;
  comm_table table;
  MPI_Comm at;
  int ends_mpi;   /* MPI was initialised here */
  int ends_pulse; /* the world */
  double patience;
  char name[MPI_MAX_LIBRARY_VERSION_STRING];
} mpi_comm;

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "comm_request holds an MPI_Request");

static mpi_comm *of(comm *c) {
  return (mpi_comm *)c;
}

static dkho_status mpi_failed(const mpi_comm *m, int code, const char *what, int peer) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(code, text, &length);
  if (peer < 0) return m->host->fail(DKHO_E_IO, "MPI: rank %d: %s: %s", m->shared.rank, what, text);
  return m->host->fail(DKHO_E_IO, "MPI: rank %d: %s rank %d: %s", m->shared.rank, what, peer, text);
}

static pulse *beating; /* of the world, also during the waits of its parts */

static dkho_status gave_up(const mpi_comm *m, const char *what, int peer, double waited) {
  if (peer < 0) return m->host->fail(DKHO_E_IO, "MPI: rank %d has waited %.0f s in a %s", m->shared.rank, waited, what);
  return m->host->fail(DKHO_E_IO, "MPI: rank %d has waited %.0f s: %s rank %d", m->shared.rank, waited, what, peer);
}

/* A wait that is not short lets others run. It sleeps after some turns: Linux may hold one who yields again and again back for seconds. */
static dkho_status wait_long(mpi_comm *m, MPI_Request *r, const char *what, int peer, MPI_Status *status) {
  double began = clock_now();
  for (unsigned turn = 1;; turn++) {
    int done, code;
    if (turn < YIELDS)
      sched_yield();
    else
      usleep(20);
    if ((code = MPI_Test(r, &done, status))) return mpi_failed(m, code, what, peer);
    if (done) return DKHO_OK;
    pulse_watch(beating, COMM_ALIVE);
    if (turn % 64 == 0 && pulse_in_vain(beating, clock_now() - began, m->patience))
      return gave_up(m, what, peer, clock_now() - began);
  }
}

/* Polls: busily for some microseconds, then letting others run. */
static dkho_status wait_for(mpi_comm *m, MPI_Request *r, const char *what, int peer, size_t *bytes) {
  dkho_status s = DKHO_OK;
  MPI_Status status;
  int done = 0, count, code;
  for (int turn = 0; turn < SPINS && !done; turn++)
    if ((code = MPI_Test(r, &done, &status))) return mpi_failed(m, code, what, peer);
  if (!done) {
    pulse_wait(beating, 1);
    s = wait_long(m, r, what, peer, &status);
    pulse_wait(beating, 0);
  }
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (s == DKHO_OK && bytes) *bytes = (size_t)count;
  return s;
}

static dkho_status mpi_post_send(comm *c, int to, int tag, const void *data, size_t bytes, comm_request *r) {
  MPI_Request request;
  int code = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, of(c)->at, &request);
  if (code) return mpi_failed(of(c), code, "sending to", to);
  memcpy(&r->at[0], &request, sizeof request);
  r->at[1] = 0;
  return DKHO_OK;
}

/* at[1]: the bytes expected, plus one. */
static dkho_status mpi_post_receive(comm *c, int from, int tag, void *data, size_t bytes, comm_request *r) {
  MPI_Request request;
  int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, of(c)->at, &request);
  if (code) return mpi_failed(of(c), code, "receiving from", from);
  memcpy(&r->at[0], &request, sizeof request);
  r->at[1] = bytes + 1;
  return DKHO_OK;
}

static dkho_status mpi_wait(comm *c, comm_request *r) {
  MPI_Request request;
  size_t bytes = 0;
  memcpy(&request, &r->at[0], sizeof request);
  dkho_status s = wait_for(of(c), &request, r->at[1] ? "receiving from" : "sending to", r->peer, &bytes);
  if (s == DKHO_OK && r->at[1] && bytes + 1 != r->at[1])
    return of(c)->host->fail(DKHO_E_INTERNAL,
                             "MPI: rank %d: a message from rank %d (tag %d) has %zu bytes, expected %zu", c->rank,
                             r->peer, r->tag, bytes, (size_t)r->at[1] - 1);
  return s;
}

static dkho_status mpi_broadcast(comm *c, int root, void *data, size_t bytes) {
  MPI_Request request;
  int code = MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, of(c)->at, &request);
  return code ? mpi_failed(of(c), code, "broadcast", -1) : wait_for(of(c), &request, "broadcast", -1, NULL);
}

static dkho_status mpi_barrier(comm *c) {
  MPI_Request request;
  int code = MPI_Ibarrier(of(c)->at, &request);
  return code ? mpi_failed(of(c), code, "barrier", -1) : wait_for(of(c), &request, "barrier", -1, NULL);
}

static void mpi_free(comm *c) {
  mpi_comm *m = of(c);
  int over;
  MPI_Finalized(&over);
  if (!over && m->ends_pulse) {
    pulse_stop(beating, m->host);
    beating = NULL;
  }
  if (!over) MPI_Comm_free(&m->at);
  if (!over && m->ends_mpi) MPI_Finalize();
  m->host->release(m);
}

static void mpi_abort(comm *c, const char *text) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  fprintf(stderr, "dkho: rank %d of %d (%s, process %ld): %s\n", c->rank, c->size, host, (long)getpid(), text);
  fflush(stderr);
  MPI_Abort(of(c)->at, 1);
}

static void mpi_watch(comm *c, comm_watching how) {
  (void)c;
  pulse_watch(beating, how);
}

static dkho_status mpi_split(comm *c, int group, int order, comm **out);

/* Takes the communicator over. */
static dkho_status wrap(const comm_host *host, MPI_Comm at, comm **out) {
  const char *patience = getenv("DKHO_MPI_PATIENCE");
  int length;
  mpi_comm *m = host->alloc(1, sizeof *m);
  if (!m) {
    MPI_Comm_free(&at);
    return DKHO_E_MEMORY;
  }
  MPI_Comm_set_errhandler(at, MPI_ERRORS_RETURN);
  m->host = host;
  m->at = at;
  m->patience = patience && atof(patience) > 0 ? atof(patience) : 600;
  MPI_Get_library_version(m->name, &length);
  m->name[strcspn(m->name, ",\n")] = 0;
  m->table = (comm_table){m->name,     mpi_post_send, mpi_post_receive, mpi_wait,  mpi_broadcast,
                          mpi_barrier, mpi_split,     mpi_free,         mpi_abort, mpi_watch};
  m->shared.table = &m->table;
  MPI_Comm_rank(at, &m->shared.rank);
  MPI_Comm_size(at, &m->shared.size);
  *out = &m->shared;
  return DKHO_OK;
}

static dkho_status mpi_split(comm *c, int group, int order, comm **out) {
  MPI_Comm part;
  int code = MPI_Comm_split(of(c)->at, group, order, &part);
  return code ? mpi_failed(of(c), code, "splitting", -1) : wrap(of(c)->host, part, out);
}

static dkho_status same_library(const comm_host *host, const char *theirs, size_t size) {
  char ours[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(ours, &length);
  if (size == sizeof(MPI_Comm) && strcmp(ours, theirs) == 0) return DKHO_OK;
  return host->fail(DKHO_E_INPUT, "MPI: the program runs on %.60s, libdkho-mpi.so was built for %.60s", theirs, ours);
}

comm_open dkho_mpi_open;
__attribute__((visibility("default"))) dkho_status dkho_mpi_open(const comm_host *host, const void *handle, size_t size,
                                                                 const char *library, comm **out) {
  MPI_Comm given = MPI_COMM_WORLD, at;
  int running, code, level;
  if (handle) {
    dkho_status s = same_library(host, library, size);
    if (s != DKHO_OK) return s;
    memcpy(&given, handle, size);
  }
  MPI_Initialized(&running);
  if (!running && MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level))
    return host->fail(DKHO_E_IO, "MPI: it cannot be initialised");
  MPI_Query_thread(&level);
  if ((code = MPI_Comm_dup(given, &at)))
    return host->fail(DKHO_E_IO, "MPI: the communicator cannot be duplicated (error %d)", code);
  dkho_status s = wrap(host, at, out);
  if (s != DKHO_OK) return s;
  of(*out)->ends_mpi = !running;
  beating = pulse_start(host, at, level == MPI_THREAD_MULTIPLE, of(*out)->patience);
  of(*out)->ends_pulse = 1;
  return DKHO_OK;
}
