/* start.c: BLAS without threads of its own. OpenBLAS starts one per core when it is loaded, before main, and joins them at exit. It only
 * ever computes in the thread that calls (la/blas_threads.h), so they idle; and under a small limit on address space (ulimit -v)
 * they never get their memory, and the join at exit waits for ever. Its only switch is the environment as it was when the process
 * began. Therefore, before any library starts (.preinit_array), the tool starts itself again with the switch set. */
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { ROOM = 4096 }; /* variables; whoever has more starts as they are */
static char held[] = "OPENBLAS_NUM_THREADS=1";

static void start_again(int argc, char **argv, char **env) {
  char *with[ROOM];
  size_t name = strlen("OPENBLAS_NUM_THREADS="), n = 0;
  (void)argc;
  with[n++] = held;
  for (char **e = env; *e; e++) {
    if (strcmp(*e, held) == 0) return;
    if (strncmp(*e, held, name) == 0) continue;
    if (n == ROOM - 1) return;
    with[n++] = *e;
  }
  with[n] = NULL;
  const char *self = (const char *)getauxval(AT_EXECFN); /* keeps the name that `ps` shows */
  if (self) execve(self, argv, with);
  execve("/proc/self/exe", argv, with); /* if that fails too, all is as it was */
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = start_again;
