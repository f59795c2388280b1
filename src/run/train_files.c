/* train_files.c: the files of a run that people and tools read: config.json, manifest.json, metrics.csv, events, result.json; and whose the
 * directory is. */
#include "run/train_impl.h"

#include "base/clock.h"
#include "base/machine.h"
#include "base/temp.h"
#include "la/la.h"
#include "run/events.h"
#include "run/result_json.h"
#include "version.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What a run consists of; the first makes a directory one. */
static const char *const files[] = {"config.json", "manifest.json", "metrics.csv", "last.st",
                                    "best.st",     "result.json",   EVENTS_FILE};
enum { FILES = sizeof files / sizeof *files };

const char *train_path(const trainer *t, const char *name, char *path) {
  snprintf(path, TRAIN_PATH, "%s/%s", t->dir, name);
  return path;
}

dkho_status train_check_new(const char *run) {
  char path[TRAIN_PATH];
  for (int i = 0; i < FILES; i++) {
    snprintf(path, sizeof path, "%s/%s", run, files[i]);
    if (!file_exists(path)) continue;
    if (i == 0)
      return fail(DKHO_E_EXISTS, "%s: holds a run already; it is kept (resume it, or choose another name)", run);
    return fail(DKHO_E_EXISTS, "%s: is there already and belongs to no run; choose another name for the run", path);
  }
  return DKHO_OK;
}

/* An epoch of the history as TensorBoard takes it. */
static event_row history_event(void *ctx, int64_t epoch) {
  static const char *const tag[] = {"rate", "rel_l2/train", "rel_l2/val"};
  const double *h = ((const trainer *)ctx)->history + epoch * TRAIN_COLUMNS;
  return (event_row){.step = (int64_t)h[0], .seconds = h[4], .values = 3, .tag = tag, .value = h + 1};
}

static dkho_status write_events(trainer *t) {
  char path[TRAIN_PATH];
  if (!t->cfg->tensorboard) return DKHO_OK;
  double start = (double)time(NULL) - t->seconds - (clock_now() - t->started);
  return events_update(train_path(t, EVENTS_FILE, path), start, t->epoch, history_event, t);
}

dkho_status train_write_history(trainer *t) {
  char path[TRAIN_PATH];
  file_out f = {0};
  dkho_status s = file_open(&f, train_path(t, "metrics.csv", path), 1);
  if (s == DKHO_OK) s = file_printf(&f, "epoch,lr,train_rel_l2,val_rel_l2,seconds\n");
  for (int64_t e = 0; s == DKHO_OK && e < t->epoch; e++) {
    const double *h = t->history + e * TRAIN_COLUMNS;
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
  char path[TRAIN_PATH];
  for (struct dirent *e; d && (e = readdir(d));)
    if (is_leftover(e->d_name) && snprintf(path, sizeof path, "%s/%s", run, e->d_name) < TRAIN_PATH)
      file_clear_temp(path);
  if (d) closedir(d);
}

dkho_status train_own(trainer *t) {
  char path[TRAIN_PATH];
  TRY(lock_take(&t->owned, t->dir, train_path(t, TRAIN_LOCK, path)));
  remove_leftovers(t->dir);
  return DKHO_OK;
}

dkho_status train_write_config(trainer *t) {
  char path[TRAIN_PATH];
  TRY(file_mkdir_all(t->dir));
  TRY(train_own(t));
  return config_write(t->cfg, train_path(t, "config.json", path), 0);
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
dkho_status train_write_manifest(const trainer *t) {
  char path[TRAIN_PATH];
  json_t *old = NULL, *machine = NULL;
  TRY(this_machine(t, &machine));
  if (file_exists(train_path(t, "manifest.json", path)) && config_load_json(path, &old) == DKHO_OK) {
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
  if (t->cfg->from) json_object_set_new(machine, "from_hash", json_string(t->cfg->from_hash));
  return config_save_json(machine, path, 1);
}

/* The model's variant beside the other options, where readers of results look for it. */
static void set_variant(json_t *result, const model_setup *m) {
  char text[OPTION_TEXT_MAX];
  int i = options_find(m->m->option, "variant");
  if (i < 0) return;
  options_text(&m->m->option[i], m->option[i], text);
  json_object_set_new(result, "variant", json_string(text));
}

dkho_status train_write_result(trainer *t) {
  char path[TRAIN_PATH];
  int64_t count;
  const int64_t *test = dataset_split(t->d, DATA_TEST, &count);
  neural_operator *best = NULL;
  evaluator *j = NULL;
  score_result found = {0};
  if (!t->best_epoch) return fail(DKHO_E_NONFINITE, "%s: no epoch had a finite validation error", t->dir);
  dkho_status s = operator_load(&best, train_path(t, "best.st", path), NULL);
  if (s == DKHO_OK) best->share = t->o->share;
  if (s == DKHO_OK) s = evaluator_create(&j, best, t->d, t->threads);
  s = comm_agree(t->ranks, s);
  if (j) j->ranks = t->in.samples;
  if (s == DKHO_OK && count) s = evaluator_metrics(j, best->value, t->cfg->metrics, count, test, &found, NULL);
  if (s == DKHO_OK && train_leads(t)) {
    const char *problem = dataset_info(t->d)->problem;
    json_t *scores = count ? score_json(&found, 0) : NULL;
    json_t *result = json_pack("{s:s, s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:f, s:f, s:o?}", "problem", problem, "target",
                               t->cfg->target, "model", t->o->setup.m->name, "options",
                               options_json(t->o->setup.m->option, t->o->setup.option), "profile",
                               feat_profile_name(t->o->profile), "parameters", (json_int_t)t->o->p->total, "epochs",
                               (json_int_t)t->cfg->epochs, "best_epoch", (json_int_t)t->best_epoch, "val_rel_l2",
                               t->best, "seconds", t->seconds + clock_now() - t->started, "test", scores);
    set_variant(result, &t->o->setup);
    s = config_save_json(result, train_path(t, "result.json", path), 1);
  }
  score_free(&found);
  evaluator_free(j);
  operator_free(best);
  return comm_agree(t->ranks, s);
}
