/* pulse.h: signs of life: a thread of every rank that finds ranks which are lost, stopped or hang (see pulse.c). */
#ifndef MPI_PULSE_H
#define MPI_PULSE_H

#include "base/comm.h"

#include <mpi.h>

typedef struct pulse pulse;
/* The pulse of the ranks of a communicator. NULL with one rank, where it is not wanted (DKHO_MPI_SILENCE=0), and without memory.
 * threads: MPI may be called by several threads at the same time. patience: seconds for which all ranks may wait for each other. */
pulse *pulse_start(const comm_host *host, MPI_Comm at, int threads, double patience);
void pulse_stop(pulse *p, const comm_host *host); /* collective; NULL is fine */

/* From the thread that works; NULL is fine. */
void pulse_watch(pulse *p, comm_watching how);
void pulse_wait(pulse *p, int begins); /* a wait for another rank, not a short one */
/* Whether a wait that has taken `waited` seconds is in vain. */
int pulse_in_vain(pulse *p, double waited, double patience);

#endif
