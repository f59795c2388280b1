/* begin.c: see begin.h. */
#include "run/begin.h"

#include "nn/state.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char prefix[] = "w/";

dkho_status begin_open(st_file **out, const char *path) {
  char best[4096];
  struct stat st;
  const char *kind;
  *out = NULL;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    if (snprintf(best, sizeof best, "%s/best.st", path) >= (int)sizeof best)
      return fail(DKHO_E_INPUT, "the name of the run to begin with is too long");
    path = best;
  }
  TRY(st_open(out, path));
  dkho_status s = st_need_meta(*out, "dkho.kind", &kind);
  if (s == DKHO_OK && strcmp(kind, "model") != 0)
    s = fail(DKHO_E_INPUT, "%s: is a %s; training begins with a model, or the run that made it", path, kind);
  if (s == DKHO_OK) return s;
  st_close(*out);
  *out = NULL;
  return s;
}

dkho_status begin_weights(const st_file *f, const params *p, real *value) {
  const size_t skip = sizeof prefix - 1;
  for (int i = 0; i < st_count(f); i++) {
    const char *name = st_at(f, i)->name;
    if (strncmp(name, prefix, skip) == 0 && params_find(p, name + skip) < 0)
      return fail(DKHO_E_INPUT, "%s: tensor '%s': the model to be trained has none of that name", st_path(f), name);
  }
  return state_read(f, p, prefix, value);
}
