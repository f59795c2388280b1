/* opened.c: see opened.h. */
#include "study/opened.h"

#include "problem/problem.h"
#include "study/pack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int is_file(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static dkho_status opened_file(opened *r, const char *model, const char *data) {
  if (!data) return fail(DKHO_E_INPUT, "%s: a model file does not know where its data are; name the data set", model);
  TRY(dataset_open(&r->d, data));
  TRY(operator_load(&r->o, model, pack_rebuild));
  TRY(operator_matches(r->o, r->d));
  return config_of_model(&r->cfg, r->o, r->d);
}

dkho_status opened_config(opened *r, const char *run, const char *data) {
  char path[PATH_LIMIT], *own = NULL;
  if (is_file(run)) return opened_file(r, run, data);
  if (snprintf(path, sizeof path, "%s/config.json", run) >= PATH_LIMIT - 64)
    return fail(DKHO_E_INPUT, "the name of the run directory is too long");
  if (!data) TRY(config_data_path(path, &own));
  dkho_status s = dataset_open(&r->d, data ? data : own);
  mem_free(own);
  return s == DKHO_OK ? config_read(&r->cfg, path, r->d) : s;
}

static dkho_status load_selected(opened *r, const char *run, const char *data, int threads) {
  char path[PATH_LIMIT];
  TRY(opened_config(r, run, data));
  if (!r->o) {
    snprintf(path, sizeof path, "%s/best.st", run);
    TRY(operator_load(&r->o, path, pack_rebuild));
    TRY(operator_matches(r->o, r->d));
  }
  r->o->share = r->share;
  return pool_create(&r->threads, threads);
}

dkho_status opened_model(opened *r, const char *run, const char *data, int threads) {
  dkho_status s = load_selected(r, run, data, threads);
  if (r->share) s = comm_agree(r->share->ranks, s);
  return s == DKHO_OK ? evaluator_create(&r->j, r->o, r->d, r->threads) : s;
}

void opened_close(opened *r) {
  evaluator_free(r->j);
  pool_free(r->threads);
  operator_free(r->o);
  config_free(&r->cfg);
  dataset_free(r->d);
  *r = (opened){0};
}

dkho_status opened_split(const opened *r, const char *split, const int64_t **sample, int64_t *count) {
  *count = 0;
  for (int i = 0; i < DATA_SPLITS; i++)
    if (strcmp(split, data_split_name((data_split)i)) == 0) *sample = dataset_split(r->d, (data_split)i, count);
  return *count ? DKHO_OK : fail(DKHO_E_INPUT, "split '%s': expected train, val or test, with samples in it", split);
}

dkho_status opened_compatibility(const char *lower, const char *upper, const char *data, const char *split, int threads,
                                 const mesh_share *share, double *out) {
  opened a = {.share = share}, b = {.share = share};
  const int64_t *sample;
  int64_t count;
  dkho_status s;
  TRY_GOTO(opened_model(&a, lower, data, threads));
  TRY_GOTO(opened_model(&b, upper, data, threads));
  if (strcmp(a.cfg.data_hash, b.cfg.data_hash) != 0) {
    s = fail(DKHO_E_INPUT, "%s and %s were trained on different data", lower, upper);
    goto done;
  }
  TRY_GOTO(opened_split(&a, split, &sample, &count));
  s = evaluator_pair(a.j, b.j, count, sample, out);
done:
  opened_close(&a);
  opened_close(&b);
  return s;
}

/* The plain model must be the model that predicts: their fields on one sample may differ by rounding only. */
typedef struct replay {
  const opened *r;
  double found; /* relative error by the predicting path, negative when there is none */
} replay;

static dkho_status note_error(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  replay *p = ctx;
  const data_field *t = &p->r->o->spec.field[p->r->o->target];
  (void)count;
  p->found = metric_field_error(dataset_count(p->r->d, complex, t->degree) * t->channels, prediction,
                                dataset_value(p->r->d, p->r->o->target, sample[0]));
  return DKHO_OK;
}

dkho_status opened_phase(opened *r, int64_t limit, const phase_request *request, phase_result *out) {
  const data_field *target = &r->o->spec.field[r->o->target];
  const int64_t *sample;
  int64_t count;
  TRY(opened_split(r, "test", &sample, &count));
  if (limit < 0) return fail(DKHO_E_INPUT, "limit: found %lld, expected ≥ 0", (long long)limit);
  if (limit > 0 && limit < count) count = limit;
  replay p = {r, 0};
  TRY(evaluator_predict(r->j, r->o->value, 1, sample, NULL, note_error, &p));
  const problem *of = problem_named(dataset_info(r->d)->problem);
  const problem_phase *known = of && of->phase && of->phase->degree == target->degree ? of->phase : NULL;
  phase_rule rule = known ? (phase_rule){known->up, known->down, known->last, known->q} : (phase_rule){0};
  phase_request ruled = {request->q, request->zero_diagonal, known ? &rule : NULL};
  TRY(phase_run(out, r->o, r->d, count, sample, r->threads, &ruled));
  if (p.found >= 0 && !(fabs(p.found - out->each[0].error) <= 2e-2 * fmax(p.found, 1e-3))) {
    dkho_status s = fail(DKHO_E_INTERNAL, "the recorded model has error %g on sample %lld, the predicting one %g",
                         out->each[0].error, (long long)sample[0], p.found);
    phase_free(out);
    return s;
  }
  return DKHO_OK;
}
