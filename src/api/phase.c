/* phase.c: the phase diagnostic of the public header. */
#include "api/api.h"
#include "api/opened.h"

#include <math.h>

/* The plain model must be the model that predicts: their fields on one sample may differ by rounding only. */
typedef struct replay {
  const opened *r;
  double found; /* relative error by the predicting path, negative when there is none */
} replay;

static dkho_status note_error(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  replay *p = ctx;
  const data_field *t = &p->r->o->spec.field[p->r->o->target];
  (void)count;
  p->found = metric_field_error(p->r->o->site[complex].c->n[t->degree] * t->channels, prediction,
                                dataset_value(p->r->d, p->r->o->target, sample[0]));
  return DKHO_OK;
}

dkho_status api_phase(opened *r, int64_t limit, const phase_request *request, phase_result *out) {
  const int64_t *sample;
  int64_t count;
  TRY(opened_split(r, "test", &sample, &count));
  if (limit < 0) return fail(DKHO_E_INPUT, "limit: found %lld, expected ≥ 0", (long long)limit);
  if (limit > 0 && limit < count) count = limit;
  replay p = {r, 0};
  TRY(judge_predict(r->j, r->o->value, 1, sample, NULL, note_error, &p));
  TRY(phase_run(out, r->o, r->d, count, sample, r->threads, request));
  if (p.found >= 0 && !(fabs(p.found - out->each[0].error) <= 2e-2 * fmax(p.found, 1e-3))) {
    dkho_status s = fail(DKHO_E_INTERNAL, "the recorded model has error %g on sample %lld, the predicting one %g",
                         out->each[0].error, (long long)sample[0], p.found);
    phase_free(out);
    return s;
  }
  return DKHO_OK;
}

dkho_status dkho_phase(const char *run, const char *data, int threads, const dkho_phase_options *o, char **json) {
  opened r = {0};
  phase_result found = {0};
  phase_request request = {0};
  if (o) request = (phase_request){o->q, o->zero_diagonal};
  *json = NULL;
  dkho_status s = opened_model(&r, run, data, threads);
  if (s == DKHO_OK) s = api_phase(&r, o ? o->limit : 0, &request, &found);
  if (s == DKHO_OK) s = api_json(phase_json(&found), json);
  phase_free(&found);
  opened_close(&r);
  return s;
}
