/* blas_threads_impl.h: what la asks of BLAS before it calls it, apart from the symbols in blas_impl.h, which other libraries' headers declare
 * in their own way. Private to la. */
#ifndef LA_BLAS_THREADS_IMPL_H
#define LA_BLAS_THREADS_IMPL_H

#include "base/status.h"

/* OpenBLAS splits sums by its own thread count and would oversubscribe under our pool: it is held to one thread, once
 * per process, before the first call from la. Other BLAS libraries are left as they are. */
void blas_one_thread(void);

/* The same, and room for the calling thread's work area. Without room OpenBLAS tries for ever (memory.c, blas_memory_alloc), so
 * under a limit on address space (ulimit -v) each thread's area is taken here, where failing is possible: DKHO_E_MEMORY. */
dkho_status blas_ready(void);

#endif
