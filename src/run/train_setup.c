/* train_setup.c: everything a training needs before its first step, and giving it back. */
#include "run/begin.h"
#include "run/train_impl.h"

#include "version.h"

#include <stdio.h>
#include <string.h>

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
  int64_t first = sum_tree_first(count, t->in.samples->size, t->in.samples->rank);
  int64_t end = sum_tree_first(count, t->in.samples->size, t->in.samples->rank + 1);
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

dkho_status train_same_everywhere(const trainer *t) {
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

/* The weights that a run begins with, as long as it has no checkpoint; the model must still be the one that config.json names. */
static dkho_status take_weights(trainer *t) {
  char path[TRAIN_PATH], hash[33];
  st_file *f = NULL;
  if (!t->cfg->from || file_exists(train_path(t, "last.st", path))) return DKHO_OK;
  TRY(begin_open(&f, t->cfg->from));
  st_hash(f, hash);
  dkho_status s = strcmp(hash, t->cfg->from_hash) == 0
                      ? begin_weights(f, t->o->p, t->o->value)
                      : fail(DKHO_E_INPUT, "%s: has hash %s, the run was to begin with the model of hash %s",
                             t->cfg->from, hash, t->cfg->from_hash);
  st_close(f);
  return s;
}

dkho_status train_prepare(trainer *t) {
  TRY(pick_samples(t));
  TRY(pool_create(&t->threads, t->host->threads));
  TRY(operator_create(&t->o, t->d, &t->cfg->request));
  t->o->share = groups_share(&t->in);
  TRY(take_weights(t));
  TRY(check_metrics(t));
  TRY(prove_samples(t));
  optim_config oc = optim_defaults(t->cfg->optimizer);
  oc.decay = t->cfg->weight_decay, oc.clip = t->cfg->clip, oc.ema = t->cfg->ema;
  TRY(optim_create(&t->opt, t->o->p, &oc, t->o->value, t->threads));
  TRY(optim_share_over(t->opt, t->ranks));
  if (!ARENA_NEW(&t->mem, t->order, t->trains) || !ARENA_NEW(&t->mem, t->batch, t->cfg->batch) ||
      !ARENA_NEW(&t->mem, t->history, t->cfg->epochs * TRAIN_COLUMNS))
    return DKHO_E_MEMORY;
  TRY(runner_create(&t->run, t->o, ENGINE_TRAIN, t->threads));
  TRY(evaluator_create(&t->evaluator, t->o, t->d, t->threads));
  t->evaluator->ranks = t->in.samples;
  if (t->o->complexes > 1) {
    TRY(sum_tree_create(&t->sum, t->o->p->size, 1));
    TRY(params_slab(t->o->p, &t->part));
  }
  return params_slab(t->o->p, &t->gradient);
}

void train_dispose(trainer *t) {
  runner_free(t->run);
  evaluator_free(t->evaluator);
  optim_free(t->opt);
  operator_free(t->o);
  mem_free(t->gradient);
  mem_free(t->part);
  sum_tree_free(t->sum);
  pool_free(t->threads);
  groups_free(&t->in);
  arena_free(&t->mem);
  lock_release(&t->owned);
}
