/* hang.c: a file system that gets stuck: loaded before the C library, it holds the calling thread for ever in the sync of a file, as soon as the
 * file HANG_WHEN is there, in the rank whose number is HANG_RANK. Other threads of the process go on. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_wanted(void) {
  const char *when = getenv("HANG_WHEN"), *wanted = getenv("HANG_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  return when && wanted && rank && strcmp(rank, wanted) == 0 && access(when, F_OK) == 0;
}

__attribute__((visibility("default"))) int fsync(int fd) {
  int (*real)(int);
  *(void **)&real = dlsym(RTLD_NEXT, "fsync");
  while (is_wanted()) pause();
  return real(fd);
}
