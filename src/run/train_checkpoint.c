/* train_checkpoint.c: last.st, written after every epoch and every few minutes, and read again. All ranks hold what it holds: each puts a
 * share of its bytes in place, and when every share is durable the first rank renames the file. */
#include "run/train_impl.h"

#include "base/clock.h"
#include "base/seal.h"
#include "nn/state.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static dkho_status declare_checkpoint(const trainer *t, st_writer *w) {
  uint64_t counters = 3, numbers = 3, history[2] = {(uint64_t)t->epoch, TRAIN_COLUMNS};
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

static dkho_status write_checkpoint(const trainer *t, st_writer *w, double seconds) {
  int64_t counters[3] = {t->epoch, t->step, t->best_epoch};
  double numbers[3] = {t->best, t->loss_sum, seconds};
  TRY(st_write(w, counters, sizeof counters));
  TRY(st_write(w, numbers, sizeof numbers));
  TRY(st_write(w, t->history, (size_t)t->epoch * TRAIN_COLUMNS * sizeof(double)));
  TRY(state_write(w, t->o->p, t->o->value));
  return state_write_optim(w, t->opt);
}

/* Clocks differ between ranks; the first one's count. */
static dkho_status agree_clocks(trainer *t, double *seconds) {
  *seconds = t->seconds + clock_now() - t->started;
  TRY(comm_broadcast(t->ranks, 0, seconds, sizeof *seconds));
  return comm_broadcast(t->ranks, 0, t->history, (size_t)t->epoch * TRAIN_COLUMNS * sizeof *t->history);
}

/* The first rank opens the file, the others join it. */
static dkho_status open_checkpoint(trainer *t, st_writer **w) {
  char path[TRAIN_PATH], temp[TRAIN_PATH] = "";
  dkho_status s = DKHO_OK;
  train_path(t, "last.st", path);
  if (train_leads(t)) s = st_create(w, path, 1);
  if (s == DKHO_OK && train_leads(t)) snprintf(temp, sizeof temp, "%s", st_temp(*w));
  TRY(comm_agree(t->ranks, s));
  TRY(comm_broadcast(t->ranks, 0, temp, sizeof temp));
  if (!train_leads(t)) s = st_join(w, path, temp);
  if (s == DKHO_OK) st_share(*w, t->ranks->rank, t->ranks->size);
  return s;
}

/* Ranks that have drifted apart must not go on. */
static dkho_status check_hash(const trainer *t, const char hex[33]) {
  char first[33];
  memcpy(first, hex, sizeof first);
  TRY(comm_broadcast(t->ranks, 0, first, sizeof first));
  if (strcmp(first, hex) == 0) return DKHO_OK;
  return fail(DKHO_E_INTERNAL, "%s: the state of rank %d has hash %s, that of rank 0 %s", t->dir, t->ranks->rank, hex,
              first);
}

dkho_status train_save(trainer *t) {
  st_writer *w = NULL;
  double seconds;
  char hex[33] = "";
  TRY(agree_clocks(t, &seconds));
  TRY(optim_unite(t->opt));
  dkho_status s = open_checkpoint(t, &w);
  if (s == DKHO_OK) s = declare_checkpoint(t, w);
  if (s == DKHO_OK) s = write_checkpoint(t, w, seconds);
  if (s == DKHO_OK) s = st_sync(w, hex);
  s = comm_agree(t->ranks, s);
  if (s == DKHO_OK) s = comm_agree(t->ranks, check_hash(t, hex));
  if (s == DKHO_OK && train_leads(t))
    s = st_commit(w);
  else
    st_abort(w);
  t->saved = clock_now();
  return comm_agree(t->ranks, s);
}

/* The best error is a number once there is one; a validation error need not be where such steps are left out. */
static dkho_status check_numbers(const trainer *t, const st_file *f, int64_t best_epoch, const st_tensor *numbers,
                                 const st_tensor *history) {
  const double *n = numbers->data, *h = history->data;
  for (int i = best_epoch ? 0 : 1; i < 3; i++)
    if (!isfinite(n[i])) return fail(DKHO_E_NONFINITE, "%s: numbers: element %d is not finite", st_path(f), i);
  for (int64_t i = 0; i < (int64_t)history->count; i++)
    if (!isfinite(h[i]) && !(t->cfg->skip_nonfinite && i % TRAIN_COLUMNS == 3))
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
  if (c[0] < 0 || c[0] > t->cfg->epochs || c[1] < 0 || c[1] > train_steps(t) || c[2] < 0 || c[2] > c[0])
    return fail(DKHO_E_FORMAT, "%s: epoch %lld, step %lld, best epoch %lld do not fit %lld epochs of %lld steps",
                st_path(f), (long long)c[0], (long long)c[1], (long long)c[2], (long long)t->cfg->epochs,
                (long long)train_steps(t));
  TRY(st_need(f, "history", ST_F64, 2, (int64_t[]){c[0], TRAIN_COLUMNS}, &history));
  TRY(check_numbers(t, f, c[2], numbers, history));
  TRY(state_read(f, t->o->p, "w/", t->o->value));
  TRY(state_read_optim(f, t->opt));
  t->epoch = c[0], t->step = c[1], t->best_epoch = c[2];
  const double *n = numbers->data;
  t->best = n[0], t->loss_sum = n[1], t->seconds = n[2];
  memcpy(t->history, history->data, (size_t)history->count * sizeof(double));
  return DKHO_OK;
}

dkho_status train_load(trainer *t) {
  char path[TRAIN_PATH];
  st_file *f = NULL;
  if (!file_exists(train_path(t, "last.st", path))) {
    if (!file_exists(train_path(t, "metrics.csv", path))) return DKHO_OK; /* stopped before the first one */
    return fail(DKHO_E_INPUT, "%s: has a history (metrics.csv) but no checkpoint (last.st) to go on from", t->dir);
  }
  TRY(st_open(&f, path));
  dkho_status s = read_checkpoint(t, f);
  st_close(f);
  return s;
}
