/* spool.c: see spool.h. */
#include "data/spool.h"
#include "base/mem.h"
#include "base/temp.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static dkho_status fail_spool(const char *what, const char *target) {
  return fail(DKHO_E_IO, "%s: cannot %s: %s", target, what, strerror(errno));
}

dkho_status spool_open(spool *s, const char *target) {
  *s = (spool){.fd = -1, .target = target};
  char *name;
  TRY(file_temp(target, &s->fd, &name));
  unlink(name);
  mem_free(name);
  return DKHO_OK;
}

dkho_status spool_write(spool *s, const void *bytes, size_t count) {
  for (const char *from = bytes; count;) {
    ssize_t n = write(s->fd, from, count);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_spool("write beside it", s->target);
    from += n;
    count -= (size_t)n;
  }
  return DKHO_OK;
}

dkho_status spool_map(spool *s) {
  off_t size = lseek(s->fd, 0, SEEK_END);
  if (size < 0) return fail_spool("read beside it", s->target);
  if (size == 0) return DKHO_OK;
  void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, s->fd, 0);
  if (p == MAP_FAILED) return fail_spool("map beside it", s->target);
  s->map = (file_map){p, (size_t)size};
  return DKHO_OK;
}

void spool_close(spool *s) {
  file_map_close(&s->map);
  if (s->fd >= 0) close(s->fd);
  s->fd = -1;
}
