/* predict.c: predictions of new inputs from NumPy files into files, a few samples at a time. */
#include "api/api.h"
#include "base/finite.h"
#include "base/mem.h"
#include "base/report.h"
#include "data/npz.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 32, PATH_MAX_HERE = 4096 };

/* An input of the model, and the array that was given for it. */
typedef struct given {
  dkho_field_info info;
  const char *source; /* file, borrowed; NULL: none yet */
  npy array;
  void *room;      /* what the array was unpacked to */
  int64_t samples; /* in it; with one, whether it has an axis for them: */
  int batched;
  void *chunk; /* CHUNK samples: floats, or doubles for a global */
} given;

typedef enum { TO_NPY, TO_CSV, TO_CONTAINER, TO_VTU } sink_kind;

typedef struct request {
  dkho_model *m;
  int inputs, archives;
  given *input;
  npz *archive;          /* kept open while their arrays are read */
  const void **given;    /* the inputs' chunks */
  int64_t samples, most; /* in all, and at a time */
  int batched, threads, force;
  dkho_field_info out;
  dkho_complex *complex;
  sink_kind kind;
  const char *path;
  file_out file;
  st_writer *container;
  int64_t written; /* .vtu files */
  float *chunk;
  rank_groups in; /* who has the mesh together: the first rank writes */
  arena mem;
} request;

static int ends_with(const char *path, const char *ending) {
  size_t n = strlen(path), e = strlen(ending);
  return n > e && strcmp(path + n - e, ending) == 0;
}

/* ---- what is given ---- */

static dkho_status find_input(const request *r, const char *source, const char *name, given **out) {
  char names[512] = "";
  size_t used = 0;
  for (int i = 0; i < r->inputs; i++) {
    *out = &r->input[i];
    if (strcmp(r->input[i].info.name, name) == 0)
      return !r->input[i].source
                 ? DKHO_OK
                 : fail(DKHO_E_INPUT, "%s: input '%s' is given already, by %s", source, name, r->input[i].source);
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", r->input[i].info.name);
  }
  return fail(DKHO_E_INPUT, "%s: the model has no input '%.60s'; it has %s", source, name, names);
}

/* One sample has the extents that end the shape: rows × channels, rows for one channel, channels for a global. *extra: axes before
 * them, 0 or 1. */
static int fits_shape(const given *g, int *extra) {
  int global = strcmp(g->info.role, "global") == 0;
  uint64_t rows = (uint64_t)g->info.rows, channels = (uint64_t)g->info.channels, want[2];
  for (int form = 0; form < 2; form++) {
    int n = 0;
    if (!global) want[n++] = rows;
    if (form == 0 || channels > 1) want[n++] = channels; /* the other form leaves out an axis of length 1 */
    *extra = g->array.rank - n;
    if (*extra != 0 && *extra != 1) continue;
    int same = 1;
    for (int i = 0; i < n; i++) same &= g->array.shape[*extra + i] == want[i];
    if (same) return 1;
  }
  return 0;
}

static void print_shape(const npy *a, char text[128]) {
  size_t used = (size_t)snprintf(text, 128, "[");
  for (int i = 0; i < a->rank && used < 100; i++)
    used += (size_t)snprintf(text + used, 128 - used, "%s%llu", i ? ", " : "", (unsigned long long)a->shape[i]);
  snprintf(text + used, 128 - used, "]");
}

static dkho_status take_array(given *g, const char *source) {
  char shape[128];
  int extra;
  g->source = source;
  if (!fits_shape(g, &extra)) {
    print_shape(&g->array, shape);
    return fail(DKHO_E_INPUT,
                "%s: input '%s': found shape %s, expected [%lld, %d] for one sample, or [samples, %lld, %d]", source,
                g->info.name, shape, (long long)g->info.rows, g->info.channels, (long long)g->info.rows,
                g->info.channels);
  }
  g->batched = extra;
  g->samples = extra ? (int64_t)g->array.shape[0] : 1;
  return DKHO_OK;
}

static dkho_status take_archive(request *r, const char *path) {
  npz *z = &r->archive[r->archives];
  TRY(npz_open(z, path));
  r->archives++;
  for (int i = 0; i < z->members; i++) {
    given *g;
    TRY(find_input(r, path, z->member[i].name, &g));
    TRY(npz_array(z, i, &g->array, &g->room));
    TRY(take_array(g, path));
  }
  return DKHO_OK;
}

static dkho_status take_assignment(request *r, const char *text) {
  char name[128];
  given *g;
  const char *equals = strchr(text, '=');
  if (!equals && ends_with(text, ".npz")) return take_archive(r, text);
  if (!equals || equals == text || equals - text >= (int)sizeof name)
    return fail(DKHO_E_INPUT, "input '%.100s': expected NAME=FILE.npy, or FILE.npz", text);
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  TRY(find_input(r, equals + 1, name, &g));
  if (!ends_with(equals + 1, ".npy"))
    return fail(DKHO_E_INPUT, "input '%s': found the file %.200s, expected one that ends in .npy", name, equals + 1);
  TRY(npy_open(&g->array, equals + 1));
  return take_array(g, equals + 1);
}

/* Every input is there, and all have the same number of samples. */
static dkho_status check_given(request *r) {
  for (int i = 0; i < r->inputs; i++) {
    const given *g = &r->input[i], *first = &r->input[0];
    if (!g->source)
      return fail(DKHO_E_INPUT, "input '%s' is missing: %s of degree %d, %lld × %d numbers a sample", g->info.name,
                  g->info.role, g->info.degree, (long long)g->info.rows, g->info.channels);
    if (g->samples != first->samples)
      return fail(DKHO_E_INPUT, "%s: input '%s' has %lld samples, input '%s' (%s) has %lld", g->source, g->info.name,
                  (long long)g->samples, first->info.name, first->source, (long long)first->samples);
    r->batched |= g->batched;
  }
  r->samples = r->input[0].samples;
  return r->samples ? DKHO_OK : fail(DKHO_E_INPUT, "%s: holds no sample", r->input[0].source);
}

/* Samples first … first+count-1 of an input as dkho_model_predict wants them. */
static dkho_status load_chunk(given *g, int64_t first, int64_t count) {
  int64_t each = g->info.rows * g->info.channels, n = count * each, bad;
  if (strcmp(g->info.role, "global") == 0) {
    double *to = g->chunk;
    for (int64_t i = 0; i < n; i++) to[i] = npy_double(&g->array, (uint64_t)(first * each + i));
    bad = finite_until_f64(to, n);
  } else {
    float *to = g->chunk;
    for (int64_t i = 0; i < n; i++) to[i] = (float)npy_double(&g->array, (uint64_t)(first * each + i));
    bad = finite_until_f32(to, n);
  }
  return bad == n
             ? DKHO_OK
             : fail(DKHO_E_NONFINITE, "%s: input '%s', sample %lld: element %lld is not finite in single precision",
                    g->source, g->info.name, (long long)(first + bad / each), (long long)(bad % each));
}

/* ---- where it goes ---- */

static dkho_status choose_kind(request *r) {
  static const char *const ending[] = {".npy", ".csv", ".st", ".vtu"};
  for (int i = 0; i < 4; i++)
    if (ends_with(r->path, ending[i])) {
      r->kind = (sink_kind)i;
      return DKHO_OK;
    }
  return fail(DKHO_E_INPUT, "%s: expected a name that ends in .npy, .csv, .st or .vtu", r->path);
}

static dkho_status open_container(request *r) {
  uint64_t shape[3] = {(uint64_t)r->samples, (uint64_t)r->out.rows, (uint64_t)r->out.channels};
  TRY(st_create(&r->container, r->path, r->force));
  TRY(st_put_meta(r->container, "dkho.kind", "prediction"));
  TRY(st_put_meta(r->container, "dkho.version", dkho_version()));
  TRY(st_put_meta(r->container, "dkho.target", r->out.name));
  return st_declare(r->container, "prediction", ST_F32, 3, shape);
}

static dkho_status open_sink(request *r) {
  if (!api_writes(&r->in)) return DKHO_OK;
  if (r->kind == TO_VTU) return dkho_model_complex(r->m, &r->complex);
  if (r->kind == TO_CONTAINER) return open_container(r);
  TRY(file_open(&r->file, r->path, r->force));
  if (r->kind == TO_NPY) {
    char head[NPY_HEAD_MAX];
    uint64_t shape[3] = {(uint64_t)r->samples, (uint64_t)r->out.rows, (uint64_t)r->out.channels};
    int skip = !r->batched;
    return file_write(&r->file, head, npy_head(head, ST_F32, 3 - skip, shape + skip));
  }
  TRY(file_printf(&r->file, "sample,simplex"));
  for (int c = 0; c < r->out.channels; c++)
    TRY(r->out.channels == 1 ? file_printf(&r->file, ",%s", r->out.name)
                             : file_printf(&r->file, ",%s%d", r->out.name, c));
  return file_printf(&r->file, "\n");
}

static dkho_status write_csv(request *r, int64_t first, int64_t count) {
  int channels = r->out.channels;
  for (int64_t i = 0; i < count * r->out.rows; i++) {
    TRY(file_printf(&r->file, "%lld,%lld", (long long)(first + i / r->out.rows), (long long)(i % r->out.rows)));
    for (int c = 0; c < channels; c++) TRY(file_printf(&r->file, ",%.9g", (double)r->chunk[i * channels + c]));
    TRY(file_printf(&r->file, "\n"));
  }
  return DKHO_OK;
}

static void name_vtu(const request *r, int64_t sample, char path[PATH_MAX_HERE]) {
  int stem = (int)strlen(r->path) - 4;
  if (r->samples == 1)
    snprintf(path, PATH_MAX_HERE, "%s", r->path);
  else
    snprintf(path, PATH_MAX_HERE, "%.*s-%06lld.vtu", stem, r->path, (long long)sample);
}

static dkho_status write_vtu(request *r, int64_t first, int64_t count) {
  int64_t n = r->out.rows * r->out.channels;
  double *values;
  dkho_status s = MEM_NEW(values, n) ? DKHO_OK : DKHO_E_MEMORY;
  for (int64_t i = 0; s == DKHO_OK && i < count; i++) {
    char path[PATH_MAX_HERE];
    dkho_field field = {r->out.name, r->out.degree, r->out.channels, values};
    for (int64_t k = 0; k < n; k++) values[k] = (double)r->chunk[i * n + k];
    name_vtu(r, first + i, path);
    s = dkho_complex_export(r->complex, path, r->force, 1, &field);
    r->written += s == DKHO_OK;
  }
  mem_free(values);
  return s;
}

static dkho_status write_chunk(request *r, int64_t first, int64_t count) {
  if (!api_writes(&r->in)) return DKHO_OK;
  size_t bytes = (size_t)(count * r->out.rows * r->out.channels) * sizeof *r->chunk;
  switch (r->kind) {
  case TO_NPY:
    return file_write(&r->file, r->chunk, bytes);
  case TO_CSV:
    return write_csv(r, first, count);
  case TO_CONTAINER:
    return st_write(r->container, r->chunk, bytes);
  default:
    return write_vtu(r, first, count);
  }
}

/* All files or none. */
static void drop_output(request *r) {
  char path[PATH_MAX_HERE];
  file_abort(&r->file);
  st_abort(r->container);
  for (int64_t i = 0; i < r->written; i++) {
    name_vtu(r, i, path);
    remove(path);
  }
}

/* ---- ---- */

static dkho_status load_inputs(request *r, int64_t first, int64_t count) {
  for (int i = 0; i < r->inputs; i++) TRY(load_chunk(&r->input[i], first, count));
  return DKHO_OK;
}

static dkho_status predict_chunks(request *r) {
  for (int64_t at = 0, count; at < r->samples; at += count) {
    count = r->samples - at < r->most ? r->samples - at : r->most;
    TRY(api_agreed(&r->in, load_inputs(r, at, count)));
    TRY(dkho_model_predict(r->m, r->threads, count, r->given, r->chunk));
    TRY(api_agreed(&r->in, write_chunk(r, at, count)));
    report_progress("predicting", (uint64_t)(at + count), (uint64_t)r->samples, NULL);
  }
  return DKHO_OK;
}

static dkho_status take_inputs(request *r, const char *const *inputs) {
  int count = 0;
  while (inputs && inputs[count]) count++;
  r->inputs = dkho_model_inputs(r->m);
  if (!ARENA_NEW(&r->mem, r->input, r->inputs + 1) || !ARENA_NEW(&r->mem, r->archive, count + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < r->inputs; i++) TRY(dkho_model_input(r->m, i, &r->input[i].info));
  for (int i = 0; i < count; i++) TRY(take_assignment(r, inputs[i]));
  if (!r->inputs) return fail(DKHO_E_INPUT, "the model reads no inputs");
  return check_given(r);
}

static dkho_status take_room(request *r) {
  r->most = r->samples < CHUNK ? r->samples : CHUNK;
  if (!ARENA_NEW(&r->mem, r->given, r->inputs + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < r->inputs; i++) {
    given *g = &r->input[i];
    if (!(g->chunk = arena_take(&r->mem, (size_t)(r->most * g->info.rows * g->info.channels), sizeof(double))))
      return DKHO_E_MEMORY;
    r->given[i] = g->chunk;
  }
  return ARENA_NEW(&r->mem, r->chunk, r->most * r->out.rows * r->out.channels) ? DKHO_OK : DKHO_E_MEMORY;
}

static void request_close(request *r) {
  for (int i = 0; r->input && i < r->inputs; i++) {
    npy_close(&r->input[i].array);
    mem_free(r->input[i].room);
  }
  for (int i = 0; i < r->archives; i++) npz_close(&r->archive[i]);
  dkho_complex_free(r->complex);
  arena_free(&r->mem);
}

static dkho_status prepare_request(request *r, const char *const *inputs) {
  if (strlen(r->path) > PATH_MAX_HERE - 64) return fail(DKHO_E_INPUT, "the name of the output is too long");
  TRY(choose_kind(r));
  TRY(dkho_model_output(r->m, &r->out));
  TRY(take_inputs(r, inputs));
  TRY(take_room(r));
  return open_sink(r);
}

static dkho_status commit_output(request *r) {
  if (!api_writes(&r->in)) return DKHO_OK;
  if (r->kind == TO_CONTAINER) {
    st_writer *w = r->container;
    r->container = NULL; /* commit frees it, whatever comes */
    return st_commit(w);
  }
  return r->kind == TO_VTU ? DKHO_OK : file_commit(&r->file);
}

static dkho_status run_request(request *r, const char *const *inputs) {
  TRY(api_model_divide(r->m, &r->in));
  TRY(api_agreed(&r->in, prepare_request(r, inputs)));
  TRY(predict_chunks(r));
  return api_agreed(&r->in, commit_output(r));
}

dkho_status dkho_predict_arrays(dkho_model *m, const char *const *inputs, const char *path, int force, int threads,
                                int64_t *samples) {
  request r = {.m = m, .path = path, .force = force, .threads = threads, .file = {.fd = -1}};
  comm_watch(COMM_ENTER);
  dkho_status s = run_request(&r, inputs);
  if (s != DKHO_OK) drop_output(&r);
  if (samples) *samples = r.samples;
  request_close(&r);
  api_model_unite(m, &r.in);
  comm_watch(COMM_LEAVE);
  return s;
}
