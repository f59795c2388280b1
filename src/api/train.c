/* train.c: training of the public header. */
#include "api/api.h"
#include "base/comm.h"
#include "base/report.h"
#include "study/opened.h"
#include "problem/problem.h"
#include "run/estimate.h"
#include "run/groups.h"
#include "run/train.h"

#include <stdio.h>
#include <string.h>

enum { OWN_MINUTES = 10 };

void dkho_train_defaults(dkho_train_options *o) {
  *o = (dkho_train_options){.modes = -1, .lr = -1, .weight_decay = -1, .clip = -1, .ema = -1, .seed = 42};
}

static train_host host_of(const dkho_train_options *o) {
  train_host h = {.checkpoint_seconds = 60};
  if (o) h = (train_host){o->threads, o->checkpoint_seconds > 0 ? o->checkpoint_seconds : 60, o->stop, o->stop_user, 0};
  return h;
}

/* Epochs by the clock, when minutes are given, or neither they nor epochs for a user's own data, whose recipe is a guess. */
static dkho_status fit_time(run_config *cfg, const dataset *d, const dkho_train_options *o) {
  double minutes = o->minutes;
  pool *threads = NULL;
  if (!(minutes >= 0 && minutes <= 1e6))
    return fail(DKHO_E_INPUT, "minutes: found %g, expected a number from 0 to 1,000,000", minutes);
  if (minutes > 0 && o->epochs)
    return fail(DKHO_E_INPUT, "minutes and epochs are both given; one of them decides how long to train");
  if (minutes == 0 && o->epochs == 0 && strcmp(dataset_info(d)->generator, "dkho import") == 0) minutes = OWN_MINUTES;
  if (minutes == 0) return DKHO_OK;
  comm *ranks = comm_world();
  dkho_status s = pool_create(&threads, o->threads);
  if (s == DKHO_OK && ranks->rank == 0) /* as if the samples were shared without loss */
    s = epochs_in_time(&cfg->epochs, minutes * ranks->size, d, cfg, threads);
  pool_free(threads);
  s = comm_agree(ranks, s);
  if (s == DKHO_OK) s = comm_broadcast(ranks, 0, &cfg->epochs, sizeof cfg->epochs);
  if (s == DKHO_OK) report_log("%lld epochs fit into %g minutes here", (long long)cfg->epochs, minutes);
  return s;
}

dkho_status dkho_train(const char *data, const char *run, const dkho_train_options *options) {
  dkho_train_options plain;
  dkho_train_defaults(&plain);
  const dkho_train_options *o = options ? options : &plain;
  train_host host = host_of(o);
  dataset *d = NULL;
  run_config cfg = {0};
  comm_watch(COMM_ENTER);
  dkho_status s = dataset_open(&d, data);
  if (s == DKHO_OK) s = config_resolve(&cfg, d, data, o);
  if (s == DKHO_OK) s = groups_wanted(&host.parts);
  s = comm_agree(comm_world(), s);
  if (s == DKHO_OK) s = fit_time(&cfg, d, o);
  if (s == DKHO_OK) s = train_start(d, &cfg, run, &host);
  comm_watch(COMM_LEAVE);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

dkho_status dkho_train_resume(const char *run, const char *data, const dkho_train_options *options) {
  char path[PATH_LIMIT];
  train_host host = host_of(options);
  opened r = {0};
  if (strlen(run) > PATH_LIMIT - 64) return fail(DKHO_E_INPUT, "the name of the run directory is too long");
  snprintf(path, sizeof path, "%s/config.json", run); /* a model file has none */
  if (!file_exists(path)) return fail(DKHO_E_IO, "%s: no run to go on with: there is no %s", run, path);
  comm_watch(COMM_ENTER);
  dkho_status s = opened_config(&r, run, data);
  if (s == DKHO_OK) s = groups_wanted(&host.parts);
  s = comm_agree(comm_world(), s);
  snprintf(path, sizeof path, "%s/result.json", run);
  if (s == DKHO_OK && !file_exists(path)) s = train_resume(r.d, &r.cfg, run, &host);
  comm_watch(COMM_LEAVE);
  opened_close(&r);
  return s;
}

static dkho_status no_target(const problem *p, const char *target) {
  char names[512] = "";
  for (int i = 0; i < p->recipes; i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", p->recipe[i].target);
  }
  return fail(DKHO_E_INPUT, "problem %s has no target '%s'; it has %s", p->name, target, names);
}

/* Widths come from a table compiled without arrays: the profile's rows, with `modes` columns for modes(). */
dkho_status dkho_parameter_counts(const char *name, const dkho_train_options *options, int64_t *count, int64_t *reals) {
  dkho_train_options plain;
  dkho_train_defaults(&plain);
  const dkho_train_options *o = options ? options : &plain;
  const problem *p;
  TRY(problem_find(name, &p));
  int recipe = -1;
  for (int i = 0; i < p->recipes; i++)
    if (!o->target || strcmp(o->target, p->recipe[i].target) == 0) {
      recipe = i;
      break;
    }
  if (recipe < 0 && o->target && strlen(o->target) == 1) recipe = problem_target(p, o->target[0] - '0');
  if (recipe < 0) return no_target(p, o->target);
  operator_request r;
  TRY(config_model(&r, &p->recipe[recipe], o, NULL));
  const operator_place at = {p->dim, p->gdim, p->counts, p->betti, p->fields, p->field, &p->table};
  return operator_count(&r, &at, p->recipe[recipe].target, count, reals);
}

dkho_status dkho_parameter_count(const char *name, const dkho_train_options *options, int64_t *count) {
  int64_t reals;
  return dkho_parameter_counts(name, options, count, &reals);
}
