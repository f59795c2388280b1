/* blas_threads.h: the one setting that keeps BLAS deterministic, apart from the symbols in blas.h, which other libraries' headers declare
 * in their own way. Private to la. */
#ifndef LA_BLAS_THREADS_H
#define LA_BLAS_THREADS_H

/* OpenBLAS splits sums by its own thread count and would oversubscribe under our pool: it is held to one thread, once
 * per process, before the first call from la. Other BLAS libraries are left as they are. */
void blas_one_thread(void);

#endif
