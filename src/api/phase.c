/* phase.c: the phase diagnostic of the public header. */
#include "api/api.h"
#include "run/result_json.h"
#include "study/opened.h"

dkho_status dkho_phase(const char *run, const char *data, int threads, const dkho_phase_options *o, char **json) {
  opened r = {0};
  phase_result found = {0};
  phase_request request = {0};
  if (o) request = (phase_request){.q = o->q, .zero_diagonal = o->zero_diagonal};
  *json = NULL;
  dkho_status s = opened_model(&r, run, data, threads);
  if (s == DKHO_OK) s = opened_phase(&r, o ? o->limit : 0, &request, &found);
  if (s == DKHO_OK) s = api_json(phase_json(&found), json);
  phase_free(&found);
  opened_close(&r);
  return s;
}
