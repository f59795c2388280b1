/* train.c: the training loop. A step is: gradients of a batch in the engine's fixed order, clipping, the optimiser. After every epoch the
 * validation error selects best.st. Everything that decides the next bits is in last.st: weights, moments, counters, the best so
 * far; the order of an epoch follows from (seed, epoch) alone. So a run may be killed anywhere and goes on as if it had not been.
 *
 * The ranks of a job share the samples of a batch and of the validation, then take the same step each; the first one writes the files.
 * Whatever can fail on one rank alone is agreed upon before all go on: after every step, every epoch, every part of setting up. */
#include "run/train.h"

#include "mesh/exchange.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/seal.h"
#include "base/temp.h"
#include "base/machine.h"
#include "base/report.h"
#include "base/rng.h"
#include "la/la.h"
#include "nn/state.h"
#include "run/evaluate.h"
#include "run/events.h"
#include "run/result_json.h"
#include "run/samples.h"
#include "version.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS = 5 }; /* of the history: epoch, lr, training loss, validation error, seconds */
enum { PATH_LIMIT = 4096 };

/* What a run consists of; the first makes a directory one. */
static const char *const files[] = {"config.json", "manifest.json", "metrics.csv", "last.st",
                                    "best.st",     "result.json",   EVENTS_FILE};
enum { FILES = sizeof files / sizeof *files };

typedef struct trainer {
  const dataset *d;
  const run_config *cfg;
  const train_host *host;
  const char *dir;
  neural_operator *o;
  optim *opt;
  pool *threads;
  comm *ranks;      /* all of the job */
  comm *groups;     /* those that share the samples of a batch: all, or one of every group that shares a mesh */
  mesh_share share; /* the group of this rank, if there are any */
  runner *run;
  evaluator *evaluator;
  real *gradient;
  real *part; /* several complexes: gradient of the samples on one of them, and the sum over those */
  sum_tree *sum;
  const int64_t *train, *val;
  int64_t trains, vals;
  int64_t *order, *batch; /* permutation of an epoch; samples of one batch on one complex */
  double *history;        /* epochs × COLUMNS */
  /* where it stands */
  int64_t epoch, step, best_epoch;
  double best, loss_sum, seconds;
  double started, saved; /* clock readings of this process */
  lock owned;            /* the directory, from its first file to the end */
  arena mem;
} trainer;

static const char *in_dir(const trainer *t, const char *name, char *path) {
  snprintf(path, PATH_LIMIT, "%s/%s", t->dir, name);
  return path;
}

/* The first rank writes. */
static int leads(const trainer *t) {
  return t->ranks->rank == 0;
}

static int64_t steps_per_epoch(const trainer *t) {
  return (t->trains + t->cfg->batch - 1) / t->cfg->batch;
}

/* ---- checkpoint ---- */

static dkho_status declare_checkpoint(const trainer *t, st_writer *w) {
  uint64_t counters = 3, numbers = 3, history[2] = {(uint64_t)t->epoch, COLUMNS};
  TRY(st_seal(w));
  TRY(st_put_meta(w, "dkho.kind", "checkpoint"));
  TRY(st_put_meta(w, "dkho.version", dkho_version()));
  TRY(st_put_meta(w, "dkho.data_hash", t->cfg->data_hash));
  TRY(st_put_meta(w, "dkho.optimizer", optim_name(t->cfg->optimizer)));
  TRY(st_declare(w, "counters", ST_I64, 1, &counters));
  TRY(st_declare(w, "numbers", ST_F64, 1, &numbers));
  TRY(st_declare(w, "history", ST_F64, 2, history));
  TRY(state_declare(w, t->o->p, "w/"));
  return state_declare_optim(w, t->opt);
}

static dkho_status write_checkpoint(const trainer *t, st_writer *w) {
  int64_t counters[3] = {t->epoch, t->step, t->best_epoch};
  double numbers[3] = {t->best, t->loss_sum, t->seconds + clock_now() - t->started};
  TRY(st_write(w, counters, sizeof counters));
  TRY(st_write(w, numbers, sizeof numbers));
  TRY(st_write(w, t->history, (size_t)t->epoch * COLUMNS * sizeof(double)));
  TRY(state_write(w, t->o->p, t->o->value));
  return state_write_optim(w, t->opt);
}

static dkho_status save_checkpoint(trainer *t) {
  char path[PATH_LIMIT];
  st_writer *w = NULL;
  TRY(st_create(&w, in_dir(t, "last.st", path), 1));
  dkho_status s = declare_checkpoint(t, w);
  if (s == DKHO_OK) s = write_checkpoint(t, w);
  if (s != DKHO_OK) {
    st_abort(w);
    return s;
  }
  t->saved = clock_now();
  return st_commit(w);
}

/* The best error is a number once there is one; a validation error need not be where such steps are left out. */
static dkho_status check_numbers(const trainer *t, const st_file *f, int64_t best_epoch, const st_tensor *numbers,
                                 const st_tensor *history) {
  const double *n = numbers->data, *h = history->data;
  for (int i = best_epoch ? 0 : 1; i < 3; i++)
    if (!isfinite(n[i])) return fail(DKHO_E_NONFINITE, "%s: numbers: element %d is not finite", st_path(f), i);
  for (int64_t i = 0; i < (int64_t)history->count; i++)
    if (!isfinite(h[i]) && !(t->cfg->skip_nonfinite && i % COLUMNS == 3))
      return fail(DKHO_E_NONFINITE, "%s: history: element %lld is not finite", st_path(f), (long long)i);
  return DKHO_OK;
}

static dkho_status read_checkpoint(trainer *t, const st_file *f) {
  const char *kind, *hash, *optimizer = st_meta(f, "dkho.optimizer");
  const st_tensor *counters, *numbers, *history;
  TRY(st_need_meta(f, "dkho.kind", &kind));
  if (strcmp(kind, "checkpoint") != 0) return fail(DKHO_E_FORMAT, "%s: is a %s, not a checkpoint", st_path(f), kind);
  TRY(st_need_meta(f, "dkho.data_hash", &hash));
  if (strcmp(hash, t->cfg->data_hash) != 0)
    return fail(DKHO_E_INPUT, "%s: belongs to data with hash %s, not %s", st_path(f), hash, t->cfg->data_hash);
  if (strcmp(optimizer ? optimizer : "adamw", optim_name(t->cfg->optimizer)) != 0)
    return fail(DKHO_E_INPUT, "%s: was written by %s, the run's config.json says %s", st_path(f),
                optimizer ? optimizer : "adamw", optim_name(t->cfg->optimizer));
  TRY(st_need(f, "counters", ST_I64, 1, (int64_t[]){3}, &counters));
  TRY(st_need(f, "numbers", ST_F64, 1, (int64_t[]){3}, &numbers));
  const int64_t *c = counters->data;
  if (c[0] < 0 || c[0] > t->cfg->epochs || c[1] < 0 || c[1] > steps_per_epoch(t) || c[2] < 0 || c[2] > c[0])
    return fail(DKHO_E_FORMAT, "%s: epoch %lld, step %lld, best epoch %lld do not fit %lld epochs of %lld steps",
                st_path(f), (long long)c[0], (long long)c[1], (long long)c[2], (long long)t->cfg->epochs,
                (long long)steps_per_epoch(t));
  TRY(st_need(f, "history", ST_F64, 2, (int64_t[]){c[0], COLUMNS}, &history));
  TRY(check_numbers(t, f, c[2], numbers, history));
  TRY(state_read(f, t->o->p, "w/", t->o->value));
  TRY(state_read_optim(f, t->opt));
  t->epoch = c[0], t->step = c[1], t->best_epoch = c[2];
  const double *n = numbers->data;
  t->best = n[0], t->loss_sum = n[1], t->seconds = n[2];
  memcpy(t->history, history->data, (size_t)history->count * sizeof(double));
  return DKHO_OK;
}

static dkho_status load_checkpoint(trainer *t) {
  char path[PATH_LIMIT];
  st_file *f = NULL;
  if (!file_exists(in_dir(t, "last.st", path))) {
    if (!file_exists(in_dir(t, "metrics.csv", path))) return DKHO_OK; /* stopped before the first one */
    return fail(DKHO_E_INPUT, "%s: has a history (metrics.csv) but no checkpoint (last.st) to go on from", t->dir);
  }
  TRY(st_open(&f, path));
  dkho_status s = read_checkpoint(t, f);
  st_close(f);
  return s;
}

/* ---- what people read ---- */

/* An epoch of the history as TensorBoard takes it. */
static event_row history_event(void *ctx, int64_t epoch) {
  static const char *const tag[] = {"rate", "rel_l2/train", "rel_l2/val"};
  const double *h = ((const trainer *)ctx)->history + epoch * COLUMNS;
  return (event_row){.step = (int64_t)h[0], .seconds = h[4], .values = 3, .tag = tag, .value = h + 1};
}

static dkho_status write_events(trainer *t) {
  char path[PATH_LIMIT];
  if (!t->cfg->tensorboard) return DKHO_OK;
  double start = (double)time(NULL) - t->seconds - (clock_now() - t->started);
  return events_update(in_dir(t, EVENTS_FILE, path), start, t->epoch, history_event, t);
}

static dkho_status write_history(trainer *t) {
  char path[PATH_LIMIT];
  file_out f = {0};
  dkho_status s = file_open(&f, in_dir(t, "metrics.csv", path), 1);
  if (s == DKHO_OK) s = file_printf(&f, "epoch,lr,train_rel_l2,val_rel_l2,seconds\n");
  for (int64_t e = 0; s == DKHO_OK && e < t->epoch; e++) {
    const double *h = t->history + e * COLUMNS;
    s = file_printf(&f, "%.0f,%.9g,%.9g,%.9g,%.2f\n", h[0], h[1], h[2], h[3], h[4]);
  }
  if (s == DKHO_OK) s = file_commit(&f);
  file_abort(&f);
  return s == DKHO_OK ? write_events(t) : s;
}

/* "NAME.tmp.NUMBER" of one of a run's files. */
static int is_leftover(const char *name) {
  for (int i = 0; i < FILES; i++) {
    size_t n = strlen(files[i]);
    if (strncmp(name, files[i], n) != 0 || strncmp(name + n, ".tmp.", 5) != 0) continue;
    return strspn(name + n + 5, "0123456789") == strlen(name + n + 5);
  }
  return 0;
}

/* Temporary files of a process that was killed while it wrote. */
static void remove_leftovers(const char *run) {
  DIR *d = opendir(run);
  char path[PATH_LIMIT];
  for (struct dirent *e; d && (e = readdir(d));)
    if (is_leftover(e->d_name) && snprintf(path, sizeof path, "%s/%s", run, e->d_name) < PATH_LIMIT)
      file_clear_temp(path);
  if (d) closedir(d);
}

/* From here on nobody else writes into the directory. */
static dkho_status own_directory(trainer *t) {
  char path[PATH_LIMIT];
  TRY(lock_take(&t->owned, t->dir, in_dir(t, TRAIN_LOCK, path)));
  remove_leftovers(t->dir);
  return DKHO_OK;
}

/* Only when everything else is ready: a directory with a config.json is a run, and a run is never written over. */
static dkho_status write_config(trainer *t) {
  char path[PATH_LIMIT];
  TRY(file_mkdir_all(t->dir));
  TRY(own_directory(t));
  return config_write(t->cfg, in_dir(t, "config.json", path), 0);
}

/* What decides the last bits beside the configuration, and the number of threads, which does not. */
static dkho_status this_machine(const trainer *t, json_t **out) {
  char cpu[256];
  machine_cpu(cpu, sizeof cpu);
  *out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "version", dkho_version(), "commit", DKHO_COMMIT,
                   "build", DKHO_BUILD, "compiler", DKHO_COMPILER, "cpu", cpu, "blas", dense_library(), "kernels",
                   runner_kernels(t->run), "engine", runner_engine(t->run), "threads", pool_width(t->threads));
  return *out ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

/* Whether the manifest's last word is this machine. */
static int is_last(json_t *manifest, json_t *machine) {
  json_t *later = json_object_get(manifest, "resumed"), *last = manifest, *value;
  const char *key;
  if (json_array_size(later)) last = json_array_get(later, json_array_size(later) - 1);
  json_object_foreach(machine, key, value)
    if (strcmp(key, "threads") != 0 && !json_equal(json_object_get(last, key), value)) return 0;
  return 1;
}

/* The machine where the run began; where it went on under other conditions, those are appended. */
static dkho_status write_manifest(const trainer *t) {
  char path[PATH_LIMIT];
  json_t *old = NULL, *machine = NULL;
  TRY(this_machine(t, &machine));
  if (file_exists(in_dir(t, "manifest.json", path)) && config_load_json(path, &old) == DKHO_OK) {
    if (is_last(old, machine)) {
      json_decref(machine);
      json_decref(old);
      return DKHO_OK;
    }
    if (!json_is_array(json_object_get(old, "resumed"))) json_object_set_new(old, "resumed", json_array());
    json_array_append_new(json_object_get(old, "resumed"), machine);
    return config_save_json(old, path, 1);
  }
  json_object_set_new(machine, "data_hash", json_string(t->cfg->data_hash));
  json_object_set_new(machine, "mesh_hash", json_string(dataset_mesh_hash(t->d, 0)));
  json_object_set_new(machine, "parameters", json_integer((json_int_t)t->o->p->total));
  return config_save_json(machine, path, 1);
}

/* ---- the loop ---- */

/* The samples of the batch at `at` that lie on one complex, into t->batch; *next: the lowest complex above it that has any, or -1. */
static int64_t collect_samples(trainer *t, int64_t at, int64_t count, int complex, int *next) {
  int64_t n = 0, row;
  *next = -1;
  for (int64_t i = 0; i < count; i++) {
    int here;
    int64_t sample = t->train[t->order[at + i]];
    dataset_locate(t->d, sample, &here, &row);
    if (here == complex) t->batch[n++] = sample;
    if (here > complex && (*next < 0 || here < *next)) *next = here;
  }
  return n;
}

static int64_t batch_at(const trainer *t, int64_t at) {
  return t->trains - at < t->cfg->batch ? t->trains - at : t->cfg->batch;
}

/* g += the share of the n samples in t->batch in the gradient of the mean over `count`. */
static dkho_status complex_gradient(trainer *t, int complex, int64_t n, int64_t count, comm *ranks, double *sum,
                                    real *g) {
  sample_list list = {.d = t->d, .target = t->o->target, .sample = t->batch};
  runner_batch b = samples_batch(&list, complex, n);
  b.ranks = ranks;
  return runner_gradient(t->run, &b, 1.0 / (double)count, sum, g);
}

static int64_t complexes_of(trainer *t, int64_t at, int64_t count) {
  int64_t found = 0;
  for (int complex = 0, next; complex >= 0; complex = next) found += collect_samples(t, at, count, complex, &next) > 0;
  return found;
}

/* Several complexes: the samples of one go together, on one rank; complexes, in ascending order, are the leaves of the sum. */
static dkho_status add_complexes(trainer *t, int64_t at, int64_t count, int64_t leaves) {
  const sum_piece piece = {t->part, t->o->p->size, t->o->p->size};
  int64_t leaf = 0, first = sum_tree_first(leaves, t->groups->size, t->groups->rank),
          end = sum_tree_first(leaves, t->groups->size, t->groups->rank + 1);
  for (int complex = 0, next; complex >= 0; complex = next) {
    int64_t n = collect_samples(t, at, count, complex, &next);
    if (!n || leaf++ < first || leaf > end) continue;
    double sum;
    memset(t->part, 0, (size_t)t->o->p->size * sizeof *t->part);
    TRY(complex_gradient(t, complex, n, count, NULL, &sum, t->part));
    TRY(sum_tree_add(t->sum, t->threads, 1, 1, &piece, &sum));
  }
  return DKHO_OK;
}

/* Gradient of the mean loss over the batch at `at`. */
static dkho_status batch_gradient(trainer *t, int64_t at, double *mean) {
  int64_t count = batch_at(t, at), size = t->o->p->size;
  int next;
  real *total;
  memset(t->gradient, 0, (size_t)size * sizeof *t->gradient);
  if (t->o->complexes == 1)
    return complex_gradient(t, 0, collect_samples(t, at, count, 0, &next), count, t->groups, mean, t->gradient);
  int64_t leaves = complexes_of(t, at, count);
  sum_tree_open(t->sum, t->groups, leaves);
  TRY(sum_tree_total(t->sum, add_complexes(t, at, count, leaves), &total, mean));
  memcpy(t->gradient, total, (size_t)size * sizeof *t->gradient);
  return DKHO_OK;
}

/* The batch at `at` comes next: the data of this rank are fetched while this one computes. */
static void announce(const trainer *t, int64_t at) {
  if (at >= t->trains) return;
  int64_t count = batch_at(t, at), first = 0, end = count;
  if (t->o->complexes == 1)
    first = sum_tree_first(count, t->groups->size, t->groups->rank),
    end = sum_tree_first(count, t->groups->size, t->groups->rank + 1);
  for (int64_t i = at + first; i < at + end; i++) dataset_prefetch(t->d, t->o->target, t->train[t->order[i]]);
}

static double rate(const trainer *t) {
  lr_clock at = {t->epoch, t->cfg->epochs, t->step, steps_per_epoch(t)};
  return lr_at(t->cfg->schedule, t->cfg->lr, &at);
}

static dkho_status take_step(trainer *t) {
  double mean = 0, lr = rate(t);
  announce(t, (t->step + 1) * t->cfg->batch);
  dkho_status s = batch_gradient(t, t->step * t->cfg->batch, &mean);
  if (s == DKHO_OK)
    s = optim_step(t->opt, lr * lr_warmup(t->opt->step, t->cfg->warmup), t->o->value, t->gradient, NULL);
  if (s == DKHO_E_NONFINITE) {
    fail_prefix(s, "epoch %lld, step %lld", (long long)t->epoch + 1, (long long)t->step + 1);
    if (!t->cfg->skip_nonfinite) return s;
    report_log("%s; the step is left out", fail_text());
    mean = t->step ? t->loss_sum / (double)t->step : 0;
  } else if (s != DKHO_OK)
    return s;
  t->loss_sum += mean;
  t->step++;
  runner_bind(t->run, t->o->value);
  return DKHO_OK;
}

static void show(const trainer *t) {
  char loss[32] = "", best[32] = "", note[128];
  int64_t steps = steps_per_epoch(t), done = t->epoch * steps + t->step;
  if (t->step) snprintf(loss, sizeof loss, "  loss %.4g", t->loss_sum / (double)t->step);
  if (t->best_epoch) snprintf(best, sizeof best, "  best %.4g", t->best);
  snprintf(note, sizeof note, "epoch %lld/%lld%s%s", (long long)t->epoch + (t->step > 0), (long long)t->cfg->epochs,
           loss, best);
  report_progress("training", (uint64_t)done, (uint64_t)(steps * t->cfg->epochs), note);
}

static dkho_status pause_if_asked(trainer *t) {
  if (t->host->stop && t->host->stop(t->host->stop_user))
    return fail(DKHO_E_STOPPED, "%s: stopped in epoch %lld after step %lld; the checkpoint is written", t->dir,
                (long long)t->epoch + 1, (long long)t->step);
  if (leads(t) && clock_now() - t->saved > t->host->checkpoint_seconds) return save_checkpoint(t);
  return DKHO_OK;
}

/* A step, and what all ranks then think of it. One that was asked to stop is enough. */
static dkho_status agree_step(trainer *t) {
  dkho_status s = take_step(t);
  if (s == DKHO_OK) show(t);
  if (s == DKHO_OK) s = pause_if_asked(t);
  s = comm_agree(t->ranks, s);
  if (s != DKHO_E_STOPPED) return s;
  char text[1024];
  snprintf(text, sizeof text, "%s", fail_text());
  TRY(comm_agree(t->ranks, leads(t) ? save_checkpoint(t) : DKHO_OK));
  return fail(DKHO_E_STOPPED, "%s", text);
}

static const real *selected(const trainer *t) {
  return t->opt->average ? t->opt->average : t->o->value;
}

/* Validation, selection, history; then the next epoch begins. The rate noted is that of the epoch's first step. */
static dkho_status end_epoch(trainer *t) {
  int64_t steps = steps_per_epoch(t);
  double error, lr = lr_at(t->cfg->schedule, t->cfg->lr, &(lr_clock){t->epoch, t->cfg->epochs, 0, steps});
  char path[PATH_LIMIT];
  lr *= lr_warmup(t->epoch * steps, t->cfg->warmup);
  dkho_status s = evaluator_rel_l2(t->evaluator, selected(t), t->vals, t->val, &error);
  if (s == DKHO_E_NONFINITE && t->cfg->skip_nonfinite)
    error = NAN, s = DKHO_OK;
  else if (s != DKHO_OK)
    return s == DKHO_E_NONFINITE
               ? fail_prefix(s, "%s: the validation error after epoch %lld", t->dir, (long long)t->epoch + 1)
               : s;
  double *h = t->history + t->epoch * COLUMNS;
  h[0] = (double)t->epoch + 1, h[1] = lr, h[2] = t->loss_sum / (double)t->step, h[3] = error;
  h[4] = t->seconds + clock_now() - t->started;
  t->epoch++;
  t->step = 0;
  t->loss_sum = 0;
  if (isfinite(error) && !(error >= t->best)) { /* also when best is still NaN */
    t->best = error;
    t->best_epoch = t->epoch;
    if (leads(t)) s = operator_save(t->o, selected(t), in_dir(t, "best.st", path), 1);
  }
  if (s == DKHO_OK && leads(t)) s = save_checkpoint(t);
  if (s == DKHO_OK && leads(t)) s = write_history(t);
  return comm_agree(t->ranks, s);
}

static dkho_status run_epoch(trainer *t) {
  rng r = rng_open(t->cfg->seed, RNG_SHUFFLE, (uint64_t)t->epoch);
  rng_permute(&r, t->order, t->trains);
  while (t->step < steps_per_epoch(t)) TRY(agree_step(t));
  return end_epoch(t);
}

/* The model's variant beside the other options, where readers of results look for it. */
static void set_variant(json_t *result, const model_setup *m) {
  char text[OPTION_TEXT_MAX];
  int i = options_find(m->m->option, "variant");
  if (i < 0) return;
  options_text(&m->m->option[i], m->option[i], text);
  json_object_set_new(result, "variant", json_string(text));
}

/* The selected model on the test split, and the run's figures, as result.json. */
static dkho_status write_result(trainer *t) {
  char path[PATH_LIMIT];
  int64_t count;
  const int64_t *test = dataset_split(t->d, DATA_TEST, &count);
  neural_operator *best = NULL;
  evaluator *j = NULL;
  score_result found = {0};
  if (!t->best_epoch) return fail(DKHO_E_NONFINITE, "%s: no epoch had a finite validation error", t->dir);
  dkho_status s = operator_load(&best, in_dir(t, "best.st", path), NULL);
  if (s == DKHO_OK) best->share = t->o->share;
  if (s == DKHO_OK) s = evaluator_create(&j, best, t->d, t->threads);
  s = comm_agree(t->ranks, s);
  if (s == DKHO_OK) j->ranks = t->groups;
  if (s == DKHO_OK && count) s = evaluator_metrics(j, best->value, t->cfg->metrics, count, test, &found, NULL);
  if (s == DKHO_OK && leads(t)) {
    const char *problem = dataset_info(t->d)->problem;
    json_t *scores = count ? score_json(&found, 0) : NULL;
    json_t *result = json_pack("{s:s, s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:f, s:f, s:o?}", "problem", problem, "target",
                               t->cfg->target, "model", t->o->setup.m->name, "options",
                               options_json(t->o->setup.m->option, t->o->setup.option), "profile",
                               feat_profile_name(t->o->profile), "parameters", (json_int_t)t->o->p->total, "epochs",
                               (json_int_t)t->cfg->epochs, "best_epoch", (json_int_t)t->best_epoch, "val_rel_l2",
                               t->best, "seconds", t->seconds + clock_now() - t->started, "test", scores);
    set_variant(result, &t->o->setup);
    s = config_save_json(result, in_dir(t, "result.json", path), 1);
  }
  score_free(&found);
  evaluator_free(j);
  operator_free(best);
  return comm_agree(t->ranks, s);
}

/* ---- setting up ---- */

static dkho_status pick_samples(trainer *t) {
  t->train = dataset_split(t->d, DATA_TRAIN, &t->trains);
  t->val = dataset_split(t->d, DATA_VAL, &t->vals);
  if (t->cfg->train_samples > t->trains)
    return fail(DKHO_E_INPUT, "%s: %lld training samples asked for, it has %lld", st_path(dataset_file(t->d)),
                (long long)t->cfg->train_samples, (long long)t->trains);
  if (t->cfg->train_samples) t->trains = t->cfg->train_samples;
  if (!t->vals)
    return fail(DKHO_E_INPUT, "%s: has no validation samples, by which a model could be selected",
                st_path(dataset_file(t->d)));
  return DKHO_OK;
}

/* This rank's share of a split. */
static dkho_status prove_share(const trainer *t, int64_t count, const int64_t *sample) {
  int64_t first = sum_tree_first(count, t->groups->size, t->groups->rank);
  int64_t end = sum_tree_first(count, t->groups->size, t->groups->rank + 1);
  return dataset_prove(t->d, t->o->target, end - first, sample + first);
}

/* Every sample that will be used is looked at before the training, not hours into it. */
static dkho_status prove_samples(const trainer *t) {
  int64_t tests;
  const int64_t *test = dataset_split(t->d, DATA_TEST, &tests);
  TRY(prove_share(t, t->trains, t->train));
  TRY(prove_share(t, t->vals, t->val));
  return prove_share(t, tests, test);
}

/* Same bits need the same program and the same kernels everywhere; the first rank's decide. */
static dkho_status same_everywhere(const trainer *t) {
  char ours[128], first[128];
  snprintf(ours, sizeof ours, "dkho %s %s, %s kernels", dkho_version(), DKHO_COMMIT, runner_kernels(t->run));
  memcpy(first, ours, sizeof first);
  TRY(comm_broadcast(t->ranks, 0, first, sizeof first));
  dkho_status s = DKHO_OK;
  if (strcmp(ours, first) != 0)
    s = fail(DKHO_E_INPUT, "rank %d runs %s, rank 0 %s: their results would differ (DKHO_ISA chooses the kernels)",
             t->ranks->rank, ours, first);
  return comm_agree(t->ranks, s);
}

/* A list of metrics that does not fit the target is noticed before the training, not after. */
static dkho_status check_metrics(const trainer *t) {
  scorer *scores = NULL;
  TRY(scorer_create(&scores, t->d, t->o->target, t->cfg->metrics, 1, NULL));
  scorer_free(scores);
  return DKHO_OK;
}

/* With P parts, ranks gP … gP + P-1 have a mesh together, and those with the same place in their groups share the samples. */
static dkho_status form_groups(trainer *t) {
  int parts = t->host->parts, rank = t->ranks->rank;
  if (parts <= 1) return DKHO_OK;
  if (t->ranks->size % parts)
    return fail(DKHO_E_INPUT, "parts: found %d, expected a divisor of the number of ranks, %d (mpirun -n)", parts,
                t->ranks->size);
  TRY(comm_split(t->ranks, rank / parts, rank, &t->share.ranks));
  dkho_status s = comm_split(t->ranks, rank % parts, rank, &t->groups);
  if (s == DKHO_OK) return s;
  comm_free(t->share.ranks);
  t->share.ranks = NULL;
  return s;
}

static dkho_status prepare_trainer(trainer *t) {
  TRY(pick_samples(t));
  TRY(pool_create(&t->threads, t->host->threads));
  TRY(operator_create(&t->o, t->d, &t->cfg->request));
  if (t->share.ranks) t->o->share = &t->share;
  TRY(check_metrics(t));
  TRY(prove_samples(t));
  optim_config oc = optim_defaults(t->cfg->optimizer);
  oc.decay = t->cfg->weight_decay, oc.clip = t->cfg->clip, oc.ema = t->cfg->ema;
  TRY(optim_create(&t->opt, t->o->p, &oc, t->o->value, t->threads));
  if (!ARENA_NEW(&t->mem, t->order, t->trains) || !ARENA_NEW(&t->mem, t->batch, t->cfg->batch) ||
      !ARENA_NEW(&t->mem, t->history, t->cfg->epochs * COLUMNS))
    return DKHO_E_MEMORY;
  TRY(runner_create(&t->run, t->o, ENGINE_TRAIN, t->threads));
  TRY(evaluator_create(&t->evaluator, t->o, t->d, t->threads));
  t->evaluator->ranks = t->groups;
  if (t->o->complexes > 1) {
    TRY(sum_tree_create(&t->sum, t->o->p->size, 1));
    TRY(params_slab(t->o->p, &t->part));
  }
  return params_slab(t->o->p, &t->gradient);
}

static void dispose(trainer *t) {
  runner_free(t->run);
  evaluator_free(t->evaluator);
  optim_free(t->opt);
  operator_free(t->o);
  mem_free(t->gradient);
  mem_free(t->part);
  sum_tree_free(t->sum);
  pool_free(t->threads);
  if (t->share.ranks) comm_free(t->share.ranks), comm_free(t->groups);
  arena_free(&t->mem);
  lock_release(&t->owned);
}

/* The files that are there before the first step. */
static dkho_status open_run(trainer *t, int resume) {
  dkho_status s = DKHO_OK;
  if (resume)
    s = load_checkpoint(t);
  else if (leads(t))
    s = write_config(t);
  if (s == DKHO_OK && t->epoch > 0 && leads(t)) s = write_history(t); /* a kill may have cut off the last row */
  if (s == DKHO_OK && leads(t)) s = write_manifest(t);
  return comm_agree(t->ranks, s);
}

static dkho_status go(const dataset *d, const run_config *cfg, const char *run, const train_host *host, int resume) {
  trainer t = {.d = d, .cfg = cfg, .host = host, .dir = run, .best = NAN, .ranks = comm_world()};
  t.groups = t.ranks;
  t.started = t.saved = clock_now();
  dkho_status s = comm_agree(t.ranks, resume && leads(&t) ? own_directory(&t) : DKHO_OK);
  if (s == DKHO_OK) s = form_groups(&t);
  if (s == DKHO_OK) s = comm_agree(t.ranks, prepare_trainer(&t));
  if (s == DKHO_OK) s = same_everywhere(&t);
  if (s == DKHO_OK) s = open_run(&t, resume);
  if (s == DKHO_OK) runner_bind(t.run, t.o->value);
  while (s == DKHO_OK && t.epoch < cfg->epochs) s = run_epoch(&t);
  if (s == DKHO_OK) s = write_result(&t);
  dispose(&t);
  return s;
}

static dkho_status check_length(const char *run) {
  return strlen(run) < PATH_LIMIT - 64 ? DKHO_OK : fail(DKHO_E_INPUT, "the name of the run directory is too long");
}

/* Nothing of a run may be there already. */
static dkho_status check_new(const char *run) {
  char path[PATH_LIMIT];
  for (int i = 0; i < FILES; i++) {
    snprintf(path, sizeof path, "%s/%s", run, files[i]);
    if (!file_exists(path)) continue;
    if (i == 0)
      return fail(DKHO_E_EXISTS, "%s: holds a run already; it is kept (resume it, or choose another name)", run);
    return fail(DKHO_E_EXISTS, "%s: is there already and belongs to no run; choose another name for the run", path);
  }
  return DKHO_OK;
}

dkho_status train_start(const dataset *d, const run_config *cfg, const char *run, const train_host *host) {
  TRY(check_length(run));
  TRY(comm_agree(comm_world(), comm_world()->rank ? DKHO_OK : check_new(run)));
  return go(d, cfg, run, host, 0);
}

dkho_status train_resume(const dataset *d, const run_config *cfg, const char *run, const train_host *host) {
  TRY(check_length(run));
  return go(d, cfg, run, host, 1);
}
