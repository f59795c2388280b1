/* ranks.c: the ranks of a job, of the public header. */
#include "base/comm.h"

dkho_status dkho_ranks_start(int wanted) {
  return comm_start(wanted);
}

dkho_status dkho_ranks_use(const void *communicator, size_t size, const char *library) {
  return comm_use(communicator, size, library);
}

void dkho_ranks_stop(void) {
  comm_stop();
}

void dkho_ranks_abort(const char *text) {
  comm_abort(comm_world(), text);
}

int dkho_rank(void) {
  return comm_world()->rank;
}

int dkho_ranks(void) {
  return comm_world()->size;
}

const char *dkho_ranks_library(void) {
  return comm_world()->table->name;
}
