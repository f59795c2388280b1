/* train.c: the training loop. A step is: gradients of a batch in the engine's fixed order, clipping, the optimiser. After every epoch the
 * validation error selects best.st. Everything that decides the next bits is in last.st: weights, moments, counters, the best so
 * far; the order of an epoch follows from (seed, epoch) alone. So a run may be killed anywhere and goes on as if it had not been.
 *
 * The ranks of a job share the samples of a batch and of the validation, then take the same step each; the first one writes the files.
 * Whatever can fail on one rank alone is agreed upon before all go on: after every step, every epoch, every part of setting up. */
#include "run/train_impl.h"

#include "base/clock.h"
#include "base/report.h"
#include "base/rng.h"
#include "nn/state.h"
#include "run/samples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int train_leads(const trainer *t) {
  return t->ranks->rank == 0;
}

int64_t train_steps(const trainer *t) {
  return (t->trains + t->cfg->batch - 1) / t->cfg->batch;
}

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
  int64_t leaf = 0, first = sum_tree_first(leaves, t->in.samples->size, t->in.samples->rank),
          end = sum_tree_first(leaves, t->in.samples->size, t->in.samples->rank + 1);
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
    return complex_gradient(t, 0, collect_samples(t, at, count, 0, &next), count, t->in.samples, mean, t->gradient);
  int64_t leaves = complexes_of(t, at, count);
  sum_tree_open(t->sum, t->in.samples, leaves);
  TRY(sum_tree_total(t->sum, add_complexes(t, at, count, leaves), &total, mean));
  memcpy(t->gradient, total, (size_t)size * sizeof *t->gradient);
  return DKHO_OK;
}

/* The batch at `at` comes next: the data of this rank are fetched while this one computes. */
static void announce(const trainer *t, int64_t at) {
  if (at >= t->trains) return;
  int64_t count = batch_at(t, at), first = 0, end = count;
  if (t->o->complexes == 1)
    first = sum_tree_first(count, t->in.samples->size, t->in.samples->rank),
    end = sum_tree_first(count, t->in.samples->size, t->in.samples->rank + 1);
  for (int64_t i = at + first; i < at + end; i++) dataset_prefetch(t->d, t->o->target, t->train[t->order[i]]);
}

static double rate(const trainer *t) {
  lr_clock at = {t->epoch, t->cfg->epochs, t->step, train_steps(t)};
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
  int64_t steps = train_steps(t), done = t->epoch * steps + t->step;
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
  return DKHO_OK;
}

/* By the clock of the first rank. */
static dkho_status save_when_due(trainer *t) {
  int32_t due = clock_now() - t->saved > t->host->checkpoint_seconds;
  TRY(comm_broadcast(t->ranks, 0, &due, sizeof due));
  return due ? train_save(t) : DKHO_OK;
}

/* A step, and what all ranks then think of it. One that was asked to stop is enough. */
static dkho_status agree_step(trainer *t) {
  dkho_status s = take_step(t);
  if (s == DKHO_OK) show(t);
  if (s == DKHO_OK) s = pause_if_asked(t);
  s = comm_agree(t->ranks, s);
  if (s == DKHO_OK) return save_when_due(t);
  if (s != DKHO_E_STOPPED) return s;
  char text[1024];
  snprintf(text, sizeof text, "%s", fail_text());
  TRY(train_save(t));
  return fail(DKHO_E_STOPPED, "%s", text);
}

static const real *selected(const trainer *t) {
  return t->opt->average ? t->opt->average : t->o->value;
}

/* Validation, selection, history; then the next epoch begins. The rate noted is that of the epoch's first step. */
static dkho_status end_epoch(trainer *t) {
  int64_t steps = train_steps(t);
  double error, lr = lr_at(t->cfg->schedule, t->cfg->lr, &(lr_clock){t->epoch, t->cfg->epochs, 0, steps});
  char path[TRAIN_PATH];
  lr *= lr_warmup(t->epoch * steps, t->cfg->warmup);
  dkho_status s = evaluator_rel_l2(t->evaluator, selected(t), t->vals, t->val, &error);
  if (s == DKHO_E_NONFINITE && t->cfg->skip_nonfinite)
    error = NAN, s = DKHO_OK;
  else if (s != DKHO_OK)
    return s == DKHO_E_NONFINITE
               ? fail_prefix(s, "%s: the validation error after epoch %lld", t->dir, (long long)t->epoch + 1)
               : s;
  double *h = t->history + t->epoch * TRAIN_COLUMNS;
  h[0] = (double)t->epoch + 1, h[1] = lr, h[2] = t->loss_sum / (double)t->step, h[3] = error;
  h[4] = t->seconds + clock_now() - t->started;
  t->epoch++;
  t->step = 0;
  t->loss_sum = 0;
  if (isfinite(error) && !(error >= t->best)) { /* also when best is still NaN */
    t->best = error;
    t->best_epoch = t->epoch;
    if (train_leads(t)) s = operator_save(t->o, selected(t), train_path(t, "best.st", path), 1);
  }
  s = comm_agree(t->ranks, s);
  if (s == DKHO_OK) s = train_save(t);
  if (s == DKHO_OK && train_leads(t)) s = train_write_history(t);
  return comm_agree(t->ranks, s);
}

static dkho_status run_epoch(trainer *t) {
  rng r = rng_open(t->cfg->seed, RNG_SHUFFLE, (uint64_t)t->epoch);
  rng_permute(&r, t->order, t->trains);
  while (t->step < train_steps(t)) TRY(agree_step(t));
  return end_epoch(t);
}

/* The files that are there before the first step. */
static dkho_status open_run(trainer *t, int resume) {
  dkho_status s = DKHO_OK;
  if (resume)
    s = train_load(t);
  else if (train_leads(t))
    s = train_write_config(t);
  s = comm_agree(t->ranks, s);
  if (s == DKHO_OK && !resume && t->cfg->from)
    s = train_save(t); /* from here on nobody needs the model that gave the weights */
  if (s == DKHO_OK && t->epoch > 0 && train_leads(t))
    s = train_write_history(t); /* a kill may have cut off the last row */
  if (s == DKHO_OK && train_leads(t)) s = train_write_manifest(t);
  return comm_agree(t->ranks, s);
}

static dkho_status go(const dataset *d, const run_config *cfg, const char *run, const train_host *host, int resume) {
  trainer t = {.d = d, .cfg = cfg, .host = host, .dir = run, .best = NAN, .ranks = comm_world()};
  t.started = t.saved = clock_now();
  dkho_status s = comm_agree(t.ranks, resume && train_leads(&t) ? train_own(&t) : DKHO_OK);
  if (s == DKHO_OK) s = groups_form(&t.in, t.ranks, host->parts);
  if (s == DKHO_OK) s = comm_agree(t.ranks, train_prepare(&t));
  if (s == DKHO_OK) s = train_same_everywhere(&t);
  if (s == DKHO_OK) s = open_run(&t, resume);
  if (s == DKHO_OK) runner_bind(t.run, t.o->value);
  while (s == DKHO_OK && t.epoch < cfg->epochs) s = run_epoch(&t);
  if (s == DKHO_OK) s = train_write_result(&t);
  train_dispose(&t);
  return s;
}

static dkho_status check_length(const char *run) {
  return strlen(run) < TRAIN_PATH - 64 ? DKHO_OK : fail(DKHO_E_INPUT, "the name of the run directory is too long");
}

dkho_status train_start(const dataset *d, const run_config *cfg, const char *run, const train_host *host) {
  TRY(check_length(run));
  TRY(comm_agree(comm_world(), comm_world()->rank ? DKHO_OK : train_check_new(run)));
  return go(d, cfg, run, host, 0);
}

dkho_status train_resume(const dataset *d, const run_config *cfg, const char *run, const train_host *host) {
  TRY(check_length(run));
  return go(d, cfg, run, host, 1);
}
