/* fuzz_sweep.c: whatever a specification of `dkho sweep` says, it is refused, or every combination has a folder of its own below the
 * sweep's and options that can be trained with. The functions are the tool's own, reached by including their source; nothing is trained. */
#include "../../cli/sweep.c"

#include "fuzz_file.h"

enum { LOOKED_AT = 40, FOLDER_MAX = 255 };

/* One name of a folder, no path and no control characters, that can be printed in a table. */
static void check_name(const char *name) {
  CHECK(name[0] && strlen(name) <= FOLDER_MAX && strchr(name, '='));
  for (const unsigned char *c = (const unsigned char *)name; *c; c++) CHECK(*c > ' ' && *c != '/' && *c != '\177');
}

static void check_options(const sweep *s, int64_t job) {
  job_options j;
  if (fill_options(s, job, &j) != EXIT_DONE) return;
  CHECK(j.o.options == j.model && j.models <= 64 && !j.model[j.models]);
  for (int i = 0; i < j.models; i++) CHECK(j.model[i] == j.text[i] && strchr(j.text[i], '='));
  CHECK(j.o.threads == s->threads);
}

/* Some of the combinations, the first and the last among them. */
static void check_jobs(const sweep *s) {
  static char name[LOOKED_AT][NAME_ROOM];
  int64_t count = s->jobs < LOOKED_AT ? s->jobs : LOOKED_AT;
  for (int64_t i = 0; i < count; i++) {
    int64_t job = count > 1 ? i * (s->jobs - 1) / (count - 1) : 0;
    name_of(s, job, name[i]);
    check_name(name[i]);
    check_options(s, job);
    for (int64_t other = 0; other < i; other++) CHECK(strcmp(name[i], name[other]) != 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char path[FUZZ_PATH];
  fuzz_write(fuzz_path(path, "fuzz.json"), data, size);
  fuzz_run run = fuzz_begin(size);
  sweep s = {.path = path, .dir = "runs", .parts = 1, .threads = 1};
  if (open_sweep(&s) == EXIT_DONE) {
    CHECK(s.data && s.jobs >= 1 && s.jobs <= JOBS_MAX);
    check_jobs(&s);
  }
  json_decref(s.spec);
  fuzz_end(&run);
  return 0;
}
