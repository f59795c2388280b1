/* dkho_mpi.h: for C programs that run MPI themselves: hands a communicator over to libdkho. Collective; MPI must be initialised. From
 * then on training, evaluation and data generation in this process are shared by its ranks: all of them make the same calls. The
 * library keeps a duplicate, which dkho_ranks_stop (dkho.h) frees; call that before MPI_Finalize. */
#ifndef DKHO_MPI_H
#define DKHO_MPI_H

#include <dkho.h>
#include <mpi.h>

static inline dkho_status dkho_mpi_use(MPI_Comm communicator) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(library, &length);
  return dkho_ranks_use(&communicator, sizeof communicator, library);
}

#endif
