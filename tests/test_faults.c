/* test_faults.c: every n-th call to the file system fails, for every verb that writes: no space, an I/O error, an interruption, half a
 * write, at each place in turn. A call that was only interrupted or cut short changes nothing; after any other the verb fails
 * with a message, leaves no temporary file, keeps what was there, and works when it is called again. FAULTS=all: every call
 * and error, otherwise a share of the long ones; of whole studies, seconds each, then still a share. FAULTS=every: of those too (hours). */
#include "faults.h"
#include "poison.h"

#include "data/npy.h"

#include <jansson.h>
#include <math.h>

int cli_main(int argc, char **argv); /* of the tool */

static world w;
static char target[160], model[160], run[160], spec[160], vtu[160], packed[160], page[160], vtm[160], study[160],
    trained[192], figure[192], as_npy[160], as_csv[160], swept[160], table[192], last[256], grid[192];
static int said = -1; /* what the tool says goes here */

/* A verb: what it needs before each attempt, the call, and the file that it makes (or NULL). */
typedef struct verb {
  const char *name;
  void (*before)(void);
  dkho_status (*call)(void);
  const char *product;
  int resumes;           /* a failed call is gone on with by the same call */
  const char *optimizer; /* of a training */
} verb;
static const char *optimizer;

static dkho_status make_data(void) {
  dkho_generate_options g = {.resolution = "smoke", .samples = 6, .seed = 1, .threads = 1, .force = 1};
  return dkho_dataset_generate("torus", target, &g);
}

static dkho_status import_data(void) {
  return dkho_dataset_import(spec, target, 1);
}

static dkho_status make_mesh(void) {
  dkho_complex *c = NULL;
  dkho_status s = dkho_complex_generate(&c, "torus", "smoke");
  if (s == DKHO_OK) s = dkho_complex_save(c, target, 1);
  dkho_complex_free(c);
  return s;
}

static dkho_status predict(void) {
  dkho_model *m = NULL;
  dkho_status s = dkho_model_load(&m, model);
  if (s == DKHO_OK) s = dkho_predict_file(m, w.data, NULL, target, 1, 1, 0);
  dkho_model_free(m);
  return s;
}

static dkho_status save_model(void) {
  dkho_model *m = NULL;
  dkho_status s = dkho_model_load(&m, model);
  if (s == DKHO_OK) s = dkho_model_save(m, target, 1);
  dkho_model_free(m);
  return s;
}

static dkho_status predict_vtu(void) {
  char path[160];
  dkho_model *m = NULL;
  snprintf(path, sizeof path, "%s/p.vtu", w.out);
  dkho_status s = dkho_model_load(&m, model);
  if (s == DKHO_OK) s = dkho_predict_file(m, w.data, NULL, path, 1, 1, 1);
  dkho_model_free(m);
  return s;
}

static dkho_status pack(void) {
  char *card = NULL;
  dkho_status s = dkho_model_pack(w.run, NULL, packed, 1, 1, &card);
  dkho_text_free(card);
  return s;
}

static dkho_status predict_arrays(const char *path) {
  char f[192], g[192];
  const char *const inputs[] = {f, g, NULL};
  dkho_model *m = NULL;
  snprintf(f, sizeof f, "f=%s/in-f.npy", w.dir);
  snprintf(g, sizeof g, "g=%s/in-g.npy", w.dir);
  dkho_status s = dkho_model_load(&m, model);
  if (s == DKHO_OK) s = dkho_predict_arrays(m, inputs, path, 1, 1, NULL);
  dkho_model_free(m);
  return s;
}

static dkho_status predict_npy(void) {
  return predict_arrays(as_npy);
}

static dkho_status predict_csv(void) {
  return predict_arrays(as_csv);
}

/* The figures of a run are drawn by the same writer, and take long. */
static dkho_status plot(void) {
  char dir[160], mesh[160];
  const char *const paths[] = {mesh};
  const dkho_plot_options o = {.threads = 1, .force = 1};
  snprintf(dir, sizeof dir, "%s/plots", w.out);
  snprintf(mesh, sizeof mesh, "%s/m.off", w.dir);
  return dkho_plot(1, paths, dir, &o, NULL);
}

/* Says one line of every run that is finished. */
static int table_lines(void) {
  int lines = 0;
  FILE *f = __real_fopen(table, "r");
  for (int c; f && (c = fgetc(f)) != EOF;) lines += c == '\n';
  if (f) __real_fclose(f);
  return lines;
}

/* Output and messages go to `said`, and back. */
static int heard[2] = {-1, -1};
static void hush(void) {
  for (int i = 0; i < 2; i++) heard[i] = dup(i + 1), dup2(said, i + 1);
}

static void speak(void) {
  __real_fflush(stdout);
  for (int i = 0; i < 2 && heard[i] >= 0; i++) dup2(heard[i], i + 1), __real_close(heard[i]), heard[i] = -1;
}

/* `dkho sweep`, whose table is a file of the tool's own. */
static dkho_status sweep(void) {
  char *argv[] = {(char[]){"dkho"}, (char[]){"sweep"},   grid, (char[]){"-o"}, swept, (char[]){"--threads"},
                  (char[]){"1"},    (char[]){"--quiet"}, NULL};
  off_t before = lseek(said, 0, SEEK_END);
  hush();
  int status = cli_main(8, argv);
  speak();
  if (status == 0) return table_lines() == 2 ? DKHO_OK : (fail)(DKHO_E_INTERNAL, "table.csv: not one run");
  return lseek(said, 0, SEEK_END) > before ? (fail)(DKHO_E_IO, "said so") : (fail)(DKHO_E_INTERNAL, "said nothing");
}

static void make_plots(void) {
  char dir[160];
  snprintf(dir, sizeof dir, "%s/plots", w.out);
  mkdirat(AT_FDCWD, dir, 0777);
}

static void no_plots(void) {
  char dir[160];
  snprintf(dir, sizeof dir, "%s/plots", w.out);
  api_remove(dir);
  rmdir(dir);
}

static void no_sweep(void) {
  api_remove(swept);
  rmdir(swept);
}

static dkho_status evaluate(void) {
  char *json = NULL;
  dkho_status s = dkho_evaluate(model, w.data, "test", 1, &json);
  dkho_text_free(json);
  return s;
}

static dkho_status export_vtm(void) {
  char path[160];
  dkho_complex *c = NULL;
  snprintf(path, sizeof path, "%s/e.vtm", w.out);
  dkho_status s = dkho_complex_generate(&c, "torus", "smoke");
  if (s == DKHO_OK) s = dkho_complex_export(c, path, 1, 0, NULL);
  dkho_complex_free(c);
  return s;
}

static dkho_status view(void) {
  dkho_view_options o = {.samples = 1, .threads = 1, .force = 1};
  return dkho_view(w.run, page, &o);
}

static dkho_status import_mesh(void) {
  char path[160];
  dkho_complex *c = NULL;
  snprintf(path, sizeof path, "%s/m.off", w.dir);
  dkho_status s = dkho_complex_import(&c, path, NULL);
  if (s == DKHO_OK) s = dkho_complex_save(c, target, 1);
  dkho_complex_free(c);
  return s;
}

/* A whole study; what is done stays done, so that the same call goes on. */
static dkho_status reproduce(void) {
  char *json = NULL;
  const dkho_reproduce_options o = {
      .budget = "smoke", .target = "w", .samples = 10, .epochs = 1, .seed = 42, .threads = 1, .figures = "training"};
  dkho_status s = dkho_reproduce("darcy", study, &o, &json);
  dkho_text_free(json);
  return s;
}

static void no_study(void) {
  api_remove(study);
  rmdir(study);
}

/* All but the judgement and the tables is done. */
static void half_study(void) {
  char path[256];
  static const char *const part[] = {"honest-w.json", "result.json", "table.md"};
  FINE(reproduce());
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%.150s/darcy/%s", study, part[i]);
    remove(path);
  }
}

static dkho_train_options few_options(void) {
  dkho_train_options o = api_options();
  o.target = "q", o.optimizer = optimizer, o.epochs = 2, o.checkpoint_seconds = 1e-9;
  return o;
}

static void no_run(void) {
  api_remove(run);
  rmdir(run);
}

/* Begins, or goes on where an earlier attempt left off: what a user does. */
static dkho_status train(void) {
  char path[192];
  dkho_train_options o = few_options();
  snprintf(path, sizeof path, "%.150s/config.json", run);
  return file_exists(path) ? dkho_train_resume(run, NULL, &o) : dkho_train(w.data, run, &o);
}

/* The checkpoint of the first epoch, to go on from. */
static int stop_later(void *user) {
  return ++*(int *)user > 3;
}

static void half_run(void) {
  int polls = 0;
  dkho_train_options o = few_options();
  o.stop = stop_later, o.stop_user = &polls;
  no_run();
  assert_int_equal(dkho_train(w.data, run, &o), DKHO_E_STOPPED);
}

static const verb verbs[] = {
    {"data", NULL, make_data, target, 0, NULL},  {"import", NULL, import_data, target, 0, NULL},
    {"mesh", NULL, make_mesh, target, 0, NULL},  {"predict", NULL, predict, target, 0, NULL},
    {"vtu", NULL, predict_vtu, vtu, 0, NULL},    {"save", NULL, save_model, target, 0, NULL},
    {"pack", NULL, pack, packed, 0, NULL},       {"eval", NULL, evaluate, NULL, 0, NULL},
    {"train", no_run, train, NULL, 1, "muon"},   {"resume", half_run, train, NULL, 1, "muon"},
    {"adamw", no_run, train, NULL, 1, "adamw"},  {"soap", half_run, train, NULL, 1, "soap"},
    {"vtm", NULL, export_vtm, vtm, 0, NULL},     {"view", NULL, view, page, 0, NULL},
    {"off", NULL, import_mesh, target, 0, NULL}, {"npy", NULL, predict_npy, as_npy, 0, NULL},
    {"csv", NULL, predict_csv, as_csv, 0, NULL}, {"plot", make_plots, plot, figure, 0, NULL},
    {"sweep", no_sweep, sweep, last, 1, NULL},
};
/* Seconds each: part of FAULTS=all, the second with a share of its calls. */
static const verb long_verbs[] = {{"tables", half_study, reproduce, trained, 1, NULL},
                                  {"study", no_study, reproduce, trained, 1, NULL}};

static int temporaries(const char *dir) {
  int found = 0;
  char path[512];
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    found += strstr(e->d_name, ".tmp.") != NULL || strstr(e->d_name, ".lock") != NULL;
    if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
    assert_in_range(snprintf(path, sizeof path, "%s/%s", dir, e->d_name), 1, 511);
    found += temporaries(path);
  }
  if (d) closedir(d);
  return found;
}

static const char *product_of(const verb *v) {
  static char best[192];
  if (v->product) return v->product;
  snprintf(best, sizeof best, "%.150s/best.st", run);
  return v->resumes ? best : NULL;
}

static dkho_status attempt(const verb *v, int64_t at, int error) {
  optimizer = v->optimizer;
  if (v->before) v->before();
  faults.at = at, faults.error = error, faults.calls = 0, faults.hit = -1, faults.on = 1;
  dkho_status s = v->call();
  faults.on = 0;
  return s;
}

static int64_t injected, failed, survived;

/* One fault. reference: the product of an undisturbed call. */
static void inject(const verb *v, int64_t at, int error, const char *reference, size_t size) {
  size_t live = mem_live_blocks(), found;
  dkho_status s = attempt(v, at, error);
  char what[160];
  const char *product = product_of(v);
  snprintf(what, sizeof what, "%s, call %lld (%s), %s", v->name, (long long)at,
           faults.hit < 0 ? "not met" : io_name[faults.hit], error == IO_SHORT ? "one byte" : strerror(error));
  injected++;
  if (s == DKHO_OK)
    survived++;
  else
    failed++;
  if (mem_live_blocks() != live) fail_msg("%s: leaks", what);
  if (temporaries(w.out)) fail_msg("%s: leaves a temporary file", what);
  if ((error == EINTR || error == IO_SHORT) && s != DKHO_OK) fail_msg("%s: %s", what, dkho_error());
  if (s != DKHO_OK && (!dkho_error()[0] || s == DKHO_E_INTERNAL)) fail_msg("%s: '%s'", what, dkho_error());
  if (!product) return;
  /* what is there under the name is whole: the old one, which is the same, or the new one */
  if (file_exists(product)) {
    char *bytes = api_bytes(product, &found);
    int same = found == size && memcmp(bytes, reference, size) == 0;
    free(bytes);
    if (!same && !v->resumes) fail_msg("%s: a file that is neither the old nor the new one", what);
  } else if (!v->resumes)
    fail_msg("%s: the file that was there has gone", what);
  if (!v->resumes && s == DKHO_OK) return;
  FINE(v->call()); /* again, and undisturbed: goes on where it stood */
  char *bytes = api_bytes(product, &found);
  if (found != size || memcmp(bytes, reference, size) != 0) fail_msg("%s: afterwards the result is another", what);
  free(bytes);
}

/* Errors that a call of this kind may meet. */
static int errors_of(io_kind kind, int *list) {
  static const int all[IO_KINDS][4] = {
      [IO_OPEN] = {EIO, EMFILE, EINTR},
      [IO_WRITE] = {ENOSPC, EIO, EINTR, IO_SHORT},
      [IO_PWRITE] = {ENOSPC, EIO, EINTR, IO_SHORT},
      [IO_SYNC] = {EIO, ENOSPC, EINTR},
      [IO_CLOSE] = {EIO, EINTR},
      [IO_RENAME] = {EIO, ENOSPC, EINVAL},
      [IO_LINK] = {EIO},
      [IO_MAP] = {ENOMEM, EIO},
      [IO_LOCK] = {ENOLCK, EINTR},
      [IO_CUT] = {EIO},
      [IO_MKDIR] = {ENOSPC, EIO},
      [IO_FLUSH] = {ENOSPC, EIO, EINTR},
  };
  int n = 0;
  while (n < 4 && all[kind][n]) list[n] = all[kind][n], n++;
  return n;
}

static void sweep_verb(const verb *v, int64_t dense) {
  enum { ROOM = 1 << 16 };
  faults.kinds = calloc(ROOM, 1), faults.room = ROOM;
  FINE(attempt(v, 0, 0));
  int64_t calls = faults.calls;
  unsigned char *kinds = faults.kinds;
  faults.kinds = NULL;
  assert_in_range(calls, 1, ROOM);
  size_t size = 0;
  char *reference = product_of(v) ? api_bytes(product_of(v), &size) : NULL;
  int64_t before = injected;
  for (int64_t n = 1; n <= calls; n = n < dense ? n + 1 : n + 1 + n / 9) {
    int list[4], count = errors_of((io_kind)kinds[n - 1], list);
    for (int i = 0; i < count; i++) inject(v, n, list[i], reference, size);
  }
  print_message("%-8s %6lld calls, %6lld faults\n", v->name, (long long)calls, (long long)(injected - before));
  free(reference);
  free(kinds);
}

static void write_npy(const char *path, int samples, int64_t rows) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  char head[128];
  int n = snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %lld), }", samples,
                   (long long)rows);
  while ((10 + n + 1) % 64) head[n++] = ' ';
  head[n++] = '\n';
  unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)n, 0};
  assert_true(fwrite(start, 1, 10, f) == 10 && fwrite(head, 1, (size_t)n, f) == (size_t)n);
  for (int64_t i = 0; i < samples * rows; i++) {
    double v = sin((double)i);
    assert_int_equal(fwrite(&v, sizeof v, 1, f), 1);
  }
  fclose(f);
}

static void write_import(void) {
  char path[160];
  snprintf(path, sizeof path, "%s/m.off", w.dir);
  FILE *f = fopen(path, "w");
  fprintf(f, "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n");
  fclose(f);
  snprintf(path, sizeof path, "%s/f.npy", w.dir);
  write_npy(path, 10, 4);
  f = fopen(spec, "w");
  fprintf(f, "{\"problem\":\"mine\",\"mesh\":\"m.off\",\"seed\":7,\"fields\":["
             "{\"name\":\"f\",\"role\":\"input\",\"degree\":0,\"file\":\"f.npy\"},"
             "{\"name\":\"u\",\"role\":\"target\",\"degree\":0,\"file\":\"f.npy\"}],"
             "\"split\":{\"train\":0.6,\"val\":0.2,\"test\":0.2}}");
  fclose(f);
}

/* The inputs of two samples of the model. */
static void write_inputs(void) {
  dkho_model *m;
  dkho_field_info f;
  char path[192];
  FINE(dkho_model_load(&m, model));
  for (int i = 0; i < dkho_model_inputs(m); i++) {
    FINE(dkho_model_input(m, i, &f));
    snprintf(path, sizeof path, "%s/in-%.20s.npy", w.dir, f.name);
    write_npy(path, 2, f.rows * f.channels);
  }
  dkho_model_free(m);
}

static void write_sweep(void) {
  snprintf(grid, sizeof grid, "%s/grid.json", w.dir);
  FILE *f = fopen(grid, "w");
  assert_non_null(f);
  fprintf(
      f,
      "{\"data\": \"%s\", \"fixed\": {\"target\": \"q\", \"h\": 4, \"c\": 2, \"layers\": 2, \"substeps\": 1, \"modes\": 4,"
      "\"epochs\": 1, \"batch\": 4}, \"over\": {\"optimizer\": [\"muon\"]}}",
      w.data);
  fclose(f);
  char path[160];
  said = open(scratch_path(path, w.dir, "said"), O_RDWR | O_CREAT, 0666);
  assert_true(said >= 0);
}

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  snprintf(target, sizeof target, "%s/target", w.out);
  snprintf(run, sizeof run, "%s/run", w.out);
  snprintf(model, sizeof model, "%s/best.st", w.run);
  snprintf(spec, sizeof spec, "%s/spec.json", w.dir);
  snprintf(vtu, sizeof vtu, "%s/p-000000.vtu", w.out);
  snprintf(packed, sizeof packed, "%s/p.st", w.out);
  snprintf(page, sizeof page, "%s/page.html", w.out);
  snprintf(vtm, sizeof vtm, "%s/e.vtm", w.out);
  snprintf(study, sizeof study, "%s/study", w.out);
  snprintf(trained, sizeof trained, "%.150s/darcy/runs/w-small/best.st", study);
  snprintf(figure, sizeof figure, "%.150s/plots/mesh.png", w.out);
  snprintf(as_npy, sizeof as_npy, "%s/p.npy", w.out);
  snprintf(as_csv, sizeof as_csv, "%s/p.csv", w.out);
  snprintf(swept, sizeof swept, "%s/swept", w.out);
  snprintf(table, sizeof table, "%.150s/table.csv", swept);
  snprintf(last, sizeof last, "%.150s/optimizer=muon/best.st", swept);
  write_import();
  write_inputs();
  write_sweep();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

static void test_faults(void **state) {
  (void)state;
  const char *wanted = getenv("FAULTS");
  int every = wanted && strcmp(wanted, "every") == 0;
  int64_t dense = every || (wanted && strcmp(wanted, "all") == 0) ? INT64_MAX : 24;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    sweep_verb(&verbs[i], dense);
    no_run(), no_sweep(), no_plots();
    scratch_walk(w.out, 1);
  }
  for (size_t i = 0; dense == INT64_MAX && i < sizeof long_verbs / sizeof *long_verbs; i++) {
    sweep_verb(&long_verbs[i], i && !every ? 40 : dense);
    no_study();
    scratch_walk(w.out, 1);
  }
  print_message("%lld faults injected: %lld calls failed cleanly, %lld went on, none left a wrong or broken file\n",
                (long long)injected, (long long)failed, (long long)survived);
  assert_true(failed > 100 && survived > 100);
}

/* ---- power loss ----
 * The disk as the log of calls makes it: of a file, what was there at its last fsync; of the directory, either what was there at
 * its last fsync or everything since. After every call the power may go: each file must then be whole. */

enum { FILES_MAX = 4096, FDS_MAX = 256, NAME_ROOM = 200, DIRECTORY = -2 };
typedef struct blob {
  char *bytes;
  size_t size;
} blob;
typedef struct disk_file {
  blob now, synced;
} disk_file;
typedef struct entry {
  char name[NAME_ROOM];
  int file;
} entry;
static struct {
  disk_file file[FILES_MAX];
  int files;
  int fd[FDS_MAX]; /* file, DIRECTORY or -1 */
  int64_t position[FDS_MAX];
  entry now[FILES_MAX], synced[FILES_MAX]; /* the directory */
  int nows, synceds;
  blob old;                   /* what was there under the product's name */
  const char *product, *kept; /* what was made before and stays, or NULL */
  int64_t prefixes, whole;    /* states looked at, files in them */
} disk;

static void blob_put(blob *b, int64_t at, const void *bytes, size_t count) {
  size_t end = (size_t)at + count;
  if (end > b->size) {
    b->bytes = realloc(b->bytes, end);
    memset(b->bytes + b->size, 0, end - b->size);
    b->size = end;
  }
  memcpy(b->bytes + at, bytes, count);
}

static entry *find_entry(const char *name) {
  for (int i = 0; i < disk.nows; i++)
    if (strcmp(disk.now[i].name, name) == 0) return &disk.now[i];
  return NULL;
}

static void drop_entry(const char *name) {
  entry *e = find_entry(name);
  if (e) *e = disk.now[--disk.nows];
}

static int add_file(const char *name) {
  assert_true(disk.files < FILES_MAX && disk.nows < FILES_MAX && strlen(name) < NAME_ROOM);
  strcpy(disk.now[disk.nows].name, name);
  disk.now[disk.nows++].file = disk.files;
  disk.file[disk.files] = (disk_file){0};
  return disk.files++;
}

static int ends_in(const char *name, const char *end) {
  return strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/* Whether what would be found under a name after the power came back is all there. */
static int is_whole(const char *name, const blob *b) {
  st_file *f;
  if (disk.old.bytes && b->size == disk.old.size && memcmp(b->bytes, disk.old.bytes, b->size) == 0) return 1;
  if (ends_in(name, ".json")) {
    json_t *j = json_loadb(b->bytes, b->size, 0, NULL);
    json_decref(j);
    return j != NULL;
  }
  if (ends_in(name, ".html")) return b->size > 1000 && memmem(b->bytes + b->size - 32, 32, "</html>", 7) != NULL;
  if (ends_in(name, ".vtu") || ends_in(name, ".vtm"))
    return b->size > 100 && memcmp(b->bytes + b->size - 11, "</VTKFile>\n", 11) == 0;
  if (ends_in(name, ".png")) return b->size > 64 && memmem(b->bytes + b->size - 12, 12, "IEND", 4) != NULL;
  if (ends_in(name, ".pdf")) return b->size > 64 && memmem(b->bytes + b->size - 8, 8, "%%EOF", 5) != NULL;
  if (ends_in(name, ".svg")) return b->size > 64 && memmem(b->bytes + b->size - 8, 8, "</svg>", 6) != NULL;
  if (ends_in(name, ".npy")) {
    npy a;
    return npy_parse(&a, b->bytes, b->size, name) == DKHO_OK;
  }
  if (ends_in(name, ".md")) return b->size > 20;
  if (ends_in(name, ".csv")) return b->size > 20 && b->bytes[b->size - 1] == '\n';
  if (!b->size || st_open_memory(&f, b->bytes, b->size, name) != DKHO_OK) return 0; /* lengths, padding, seal */
  st_close(f);
  return 1;
}

static void cut_power(const char *after) {
  for (int state = 0; state < 2; state++) {
    const entry *list = state ? disk.now : disk.synced;
    int there = 0, kept = 0;
    for (int i = 0; i < (state ? disk.nows : disk.synceds); i++) {
      if (strstr(list[i].name, ".tmp.") || strstr(list[i].name, ".lock")) continue;
      if (!is_whole(list[i].name, &disk.file[list[i].file].synced)) {
        speak();
        fail_msg("power lost after %s, directory %s: %s is broken", after, state ? "as it was" : "as synced",
                 list[i].name);
      }
      there |= strcmp(list[i].name, disk.product) == 0;
      kept |= disk.kept && strcmp(list[i].name, disk.kept) == 0;
      disk.whole++;
    }
    if (disk.old.bytes && !there) fail_msg("power lost after %s: %s has gone", after, disk.product);
    if (disk.kept && !kept) fail_msg("power lost after %s: %s has gone", after, disk.kept);
    disk.prefixes++;
  }
}

/* The bytes of a stream are not seen on their way: what its file holds. */
static void read_stream(int fd, blob *b) {
  char path[64], chunk[4096];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int in = __real_open(path, O_RDONLY);
  for (ssize_t n; (n = read(in, chunk, sizeof chunk)) > 0;) blob_put(b, (int64_t)b->size, chunk, (size_t)n);
  __real_close(in);
}

static void follow(io_kind kind, int fd, const char *path, const char *to, const void *bytes, size_t count,
                   int64_t offset) {
  assert_true(fd < FDS_MAX);
  int file = fd >= 0 ? disk.fd[fd] : -1;
  if (kind == IO_OPEN) {
    entry *e = find_entry(path);
    disk.position[fd] = 0;
    disk.fd[fd] = offset & O_DIRECTORY ? DIRECTORY : e ? e->file : offset & O_CREAT ? add_file(path) : -1;
    return;
  }
  if (kind == IO_CLOSE) disk.fd[fd] = -1;
  if (kind == IO_WRITE && file >= 0) {
    blob_put(&disk.file[file].now, disk.position[fd], bytes, count);
    disk.position[fd] += (int64_t)count;
  }
  if (kind == IO_PWRITE && file >= 0) blob_put(&disk.file[file].now, offset, bytes, count);
  if (kind == IO_SYNC && file >= 0) {
    disk_file *f = &disk.file[file];
    if (!f->now.size) read_stream(fd, &f->now);
    f->synced.bytes = realloc(f->synced.bytes, f->now.size + 1);
    memcpy(f->synced.bytes, f->now.bytes, f->now.size);
    f->synced.size = f->now.size;
  }
  if (kind == IO_SYNC && file == DIRECTORY) {
    memcpy(disk.synced, disk.now, sizeof disk.now);
    disk.synceds = disk.nows;
  }
  if (kind == IO_RENAME) {
    entry *e = find_entry(path);
    if (!e) return;
    int moved = e->file;
    drop_entry(path);
    drop_entry(to);
    strcpy(disk.now[disk.nows].name, to);
    disk.now[disk.nows++].file = moved;
  }
  if (kind == IO_LINK) drop_entry(path);
  cut_power(io_name[kind]);
}

/* What is under a directory already is on the disk. */
static void take_in(const char *dir) {
  char path[512];
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    assert_in_range(snprintf(path, sizeof path, "%s/%s", dir, e->d_name), 1, NAME_ROOM - 1);
    if (e->d_type == DT_DIR) {
      take_in(path);
      continue;
    }
    size_t size;
    char *bytes = api_bytes(path, &size);
    int file = add_file(path);
    blob_put(&disk.file[file].now, 0, bytes, size);
    blob_put(&disk.file[file].synced, 0, bytes, size);
    free(bytes);
  }
  if (d) closedir(d);
}

static void replay(const verb *v) {
  for (int i = 0; i < disk.files; i++) free(disk.file[i].now.bytes), free(disk.file[i].synced.bytes);
  disk.files = disk.nows = disk.synceds = 0;
  memset(disk.fd, -1, sizeof disk.fd);
  optimizer = v->optimizer;
  if (v->before) v->before();
  disk.product = product_of(v);
  disk.old = (blob){0};
  disk.kept = NULL;
  if (v->before == half_run) {
    static char last_st[192];
    snprintf(last_st, sizeof last_st, "%.150s/last.st", run);
    disk.kept = last_st;
    take_in(run);
  }
  if (v->before == half_study) take_in(study), disk.kept = v->product;
  if (v->product && !v->resumes) { /* an older file in its place */
    static char old[] = "what was there before";
    disk.old = (blob){old, sizeof old};
    poison_write(v->product, old, sizeof old);
    int file = add_file(v->product);
    blob_put(&disk.file[file].now, 0, old, sizeof old);
    blob_put(&disk.file[file].synced, 0, old, sizeof old);
  }
  memcpy(disk.synced, disk.now, sizeof disk.now);
  disk.synceds = disk.nows;
  int64_t before = disk.prefixes;
  faults.note = follow, faults.at = 0, faults.on = 1;
  dkho_status s = v->call();
  faults.on = 0, faults.note = NULL;
  FINE(s);
  /* the end is on disk, under its name, without any further sync */
  for (int i = 0; i < disk.synceds; i++)
    if (strcmp(disk.synced[i].name, disk.product) == 0 && disk.old.bytes)
      assert_true(disk.file[disk.synced[i].file].synced.size != disk.old.size);
  print_message("%-8s power lost at %lld places\n", v->name, (long long)(disk.prefixes - before));
}

static void test_power_loss(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    if (!product_of(&verbs[i])) continue;
    replay(&verbs[i]);
    no_run(), no_sweep(), no_plots();
    scratch_walk(w.out, 1);
  }
  for (size_t i = 0; i < sizeof long_verbs / sizeof *long_verbs; i++) {
    replay(&long_verbs[i]);
    no_study();
    scratch_walk(w.out, 1);
  }
  for (int i = 0; i < disk.files; i++) free(disk.file[i].now.bytes), free(disk.file[i].synced.bytes);
  print_message("%lld states of the disk, %lld files in them, all whole\n", (long long)disk.prefixes,
                (long long)disk.whole);
  assert_true(disk.prefixes > 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults), cmocka_unit_test(test_power_loss)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
