/* study_optimizer.c: which optimiser each model of a study is given. A list with commas between: "NAME[:RATE]" holds for every
 * model, "MODEL=NAME[:RATE]" for one of them; the more particular word wins. */
#include "study/study.h"

#include "nn/optim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "NAME[:RATE]" */
static dkho_status parse_optimizer(const char *text, study_optimizer *out) {
  const char *colon = strchr(text, ':');
  char *end = NULL, name[32];
  out->lr = 0;
  snprintf(name, sizeof name, "%.*s", (int)(colon ? colon - text : (int)strlen(text)), text);
  TRY(optim_parse(name, &out->kind));
  if (!colon) return DKHO_OK;
  out->lr = strtod(colon + 1, &end);
  if (end == colon + 1 || *end || !(out->lr > 0) || !isfinite(out->lr))
    return fail(DKHO_E_INPUT, "optimizer '%s': expected NAME:RATE with a rate above zero", text);
  return DKHO_OK;
}

dkho_status study_optimizer_of(const char *list, const model_type *m, study_optimizer *out) {
  int named = 0;
  *out = (study_optimizer){OPTIM_ADAMW, 0};
  for (const char *at = list ? list : ""; *at;) {
    char item[96];
    size_t n = strcspn(at, ",");
    snprintf(item, sizeof item, "%.*s", (int)(n < 95 ? n : 95), at);
    at += n + (at[n] == ',');
    char *is = strchr(item, '=');
    const model_type *whose = NULL;
    study_optimizer found;
    if (is) *is = 0;
    if (is) TRY(model_find(item, &whose));
    TRY(parse_optimizer(is ? is + 1 : item, &found));
    if (whose ? whose == m : !named) *out = found;
    named |= whose == m;
  }
  return DKHO_OK;
}
