/* pool.h: threads. Work is cut into tasks by the problem, never by the number of threads; a task writes only what is
 * its own, and sums over tasks are taken in task order by the caller. Then 1 or n threads give the same bits. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/status.h"

typedef struct pool pool;
/* `worker` is 0 … pool_width-1 and names a scratch area; results must not depend on it. */
typedef dkho_status (*pool_task)(void *ctx, size_t task, int worker);

dkho_status pool_create(pool **out, int threads); /* threads ≤ 0: one per core */
void pool_free(pool *p);
int pool_width(const pool *p); /* 1 for NULL */
/* Runs task 0 … tasks-1, returns when all are done. On failure the status and text of the lowest failed task are given;
 * the others may or may not have run. p NULL runs them here, in order. Not reentrant: a task may not call pool_run on
 * the pool that runs it. After a fork the child may use a pool of its parent's, unless a region was running: it gets threads of
 * its own. */
dkho_status pool_run(pool *p, size_t tasks, pool_task fn, void *ctx);
/* One turn of a loop that waits for another worker of the same round: short, and now and then it lets others run. */
void pool_breathe(unsigned turn);

#endif
