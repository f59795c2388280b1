/* comm.h: the ranks of a job, as one small table of functions. A serial table (one rank) is in the library; the one for MPI is a
 * module, libdkho-mpi.so, that is loaded when a launcher started the program, so that the library itself never links MPI.
 *
 * Messages go from rank to rank and carry bytes; sums are the caller's business, because their order decides the bits (tree.h has
 * the fixed tree). Two messages between the same ranks with the same tag arrive in the order in which they were sent. A rank sends
 * nothing to itself. All ranks of a comm call its collective functions (broadcast and below) in the same order. Only the thread
 * that made the comm calls it. */
#ifndef BASE_COMM_H
#define BASE_COMM_H

#include "base/status.h"

enum { COMM_TAGS = 32768 };             /* tags are 0 … COMM_TAGS-1 */
#define COMM_POST_MAX ((size_t)1 << 30) /* bytes of one posted message */

typedef struct comm comm;
/* A message under way; zeroed: none. Belongs to the implementation between posting and waiting. */
typedef struct comm_request {
  uint64_t at[2];
  int peer, tag;
  int active;
} comm_request;

/* What the process tells those who look whether it hangs. */
typedef enum { COMM_LEAVE, COMM_ENTER, COMM_ALIVE } comm_watching;

typedef struct comm_table {
  const char *name; /* "serial", or the MPI library */
  dkho_status (*post_send)(comm *c, int to, int tag, const void *data, size_t bytes, comm_request *r);
  dkho_status (*post_receive)(comm *c, int from, int tag, void *data, size_t bytes, comm_request *r);
  dkho_status (*wait)(comm *c, comm_request *r);
  dkho_status (*broadcast)(comm *c, int root, void *data, size_t bytes);
  dkho_status (*barrier)(comm *c);
  dkho_status (*split)(comm *c, int group, int order, comm **out);
  void (*free)(comm *c);
  void (*abort)(comm *c, const char *text);
  void (*watch)(comm *c, comm_watching how);
} comm_table;

/* What this rank has sent since the comm was made, a broadcast being one message of each rank, and the seconds it has spent in waits,
 * broadcasts and barriers. */
typedef struct comm_meter {
  int64_t messages, bytes;
  double waited;
} comm_meter;

/* An implementation's own struct begins with this. */
struct comm {
  const comm_table *table;
  int rank, size;
  comm_meter meter;
  int broken; /* a call failed: the ranks can no longer agree on anything, and leaving them aborts the job */
};

/* Posted: the data must stay as they are until comm_wait. At most COMM_POST_MAX bytes. A message that is shorter or longer than
 * what was posted to receive it is an error. */
dkho_status comm_post_send(comm *c, int to, int tag, const void *data, size_t bytes, comm_request *r);
dkho_status comm_post_receive(comm *c, int from, int tag, void *data, size_t bytes, comm_request *r);
dkho_status comm_wait(comm *c, comm_request *r); /* an inactive request is fine */
dkho_status comm_wait_all(comm *c, int count, comm_request *r);
/* Blocking, of any length: both sides must agree on it. */
dkho_status comm_send(comm *c, int to, int tag, const void *data, size_t bytes);
dkho_status comm_receive(comm *c, int from, int tag, void *data, size_t bytes);

dkho_status comm_broadcast(comm *c, int root, void *data, size_t bytes);
dkho_status comm_barrier(comm *c);
/* Rank r's bytes lie at all + offset[r] … all + offset[r+1]; afterwards every rank has all of them. */
dkho_status comm_gather(comm *c, const size_t *offset, void *all);
/* x[i] ← ((x_0[i] + x_1[i]) + x_2[i]) + …, by rank; the same bits everywhere. For few numbers. */
dkho_status comm_sum(comm *c, double *x, size_t count);
/* Every rank gets the status and text of the lowest rank that has one which is not DKHO_OK. */
dkho_status comm_agree(comm *c, dkho_status mine);
/* The same; where there are several ranks the text says whose failure it was. */
dkho_status comm_agree_named(comm *c, dkho_status mine);
/* Ranks that name the same group make a comm of their own, ordered by `order`, then by rank. comm_free it. */
dkho_status comm_split(comm *c, int group, int order, comm **out);
void comm_free(comm *c); /* NULL and the serial one are fine */
/* Ends the whole job, saying which rank and why. Returns in a serial program only. */
void comm_abort(comm *c, const char *text);

comm *comm_serial(void);
/* The ranks of this process: the serial comm, until comm_start or comm_use found others. */
comm *comm_world(void);
/* Whether the environment says that a launcher started several processes: how many, or 1. */
int comm_launched(void);
/* Loads the module and joins the other ranks. Nothing happens where no launcher started the program, unless `wanted`. */
dkho_status comm_start(int wanted);
/* The same for a program that runs MPI itself: its MPI_Comm (size bytes), and the text by which its MPI library names itself. */
dkho_status comm_use(const void *handle, size_t size, const char *library);
/* Leaves the other ranks; the world is serial again. Where a message failed it aborts the job instead, with this thread's error. */
void comm_stop(void);
/* Between COMM_ENTER and COMM_LEAVE, which may be nested, a process of a job that neither computes nor moves blocks of files is taken to hang
 * (mpi/pulse.c). COMM_ALIVE says that it does not, after a call that takes long without doing either. */
void comm_watch(comm_watching how);
/* Tests: another world for this thread (borrowed; NULL: none of its own). Returns the one before. */
comm *comm_set_world(comm *c);

/* What the module needs of the library, and its only symbol: COMM_MODULE. handle NULL: it initialises MPI, and ends it when the
 * comm is freed. */
typedef struct comm_host {
  dkho_status (*fail)(dkho_status code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
  void *(*alloc)(size_t count, size_t size);
  void (*release)(void *block);
} comm_host;
typedef dkho_status comm_open(const comm_host *host, const void *handle, size_t size, const char *library, comm **out);
#define COMM_MODULE "dkho_mpi_open"

#endif
