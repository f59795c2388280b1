/* model.c: the list of models, and what all of them have in common. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const model_type model_dkho, model_dkho_x, model_gno, model_fno, model_mgn, model_deeponet, model_geofno,
    model_hsd, model_tno, model_attention;

static const model_type *const built_in[] = {&model_dkho,     &model_dkho_x, &model_gno, &model_fno, &model_mgn,
                                             &model_deeponet, &model_geofno, &model_hsd, &model_tno, &model_attention};
enum { BUILT_IN = sizeof built_in / sizeof *built_in, EXTRA_MAX = 16 };
static const model_type *extra[EXTRA_MAX];
static int extras;

const model_type *model_at(int i) {
  return i < BUILT_IN ? built_in[i] : i - BUILT_IN < extras ? extra[i - BUILT_IN] : NULL;
}

dkho_status model_register(const model_type *m) {
  for (int i = 0; model_at(i); i++)
    if (strcmp(model_at(i)->name, m->name) == 0) return fail(DKHO_E_INPUT, "there is a model '%s' already", m->name);
  if (extras == EXTRA_MAX) return fail(DKHO_E_INPUT, "no room for more than %d added models", EXTRA_MAX);
  extra[extras++] = m;
  return DKHO_OK;
}

dkho_status model_find(const char *name, const model_type **out) {
  char names[512] = "";
  size_t used = 0;
  for (int i = 0; (*out = model_at(i)); i++) {
    if (strcmp((*out)->name, name) == 0) return DKHO_OK;
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", (*out)->name);
  }
  return fail(DKHO_E_INPUT, "there is no model '%.60s'; there are %s", name, names);
}

static dkho_status assign_size(model_setup *s, const char *size) {
  char names[256] = "";
  size_t used = 0;
  const model_size *z = s->m->size;
  if (!z) return size ? fail(DKHO_E_INPUT, "model %s: has no sizes, found '%.60s'", s->m->name, size) : DKHO_OK;
  for (int i = 0; z[i].name; i++) {
    if (!size || strcmp(size, z[i].name) == 0)
      return options_assign_list(s->m->name, s->m->option, s->option, NULL, z[i].options);
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", z[i].name);
  }
  return fail(DKHO_E_INPUT, "size: found %.60s, expected one of %s", size, names);
}

dkho_status model_choose(model_setup *s, const model_type *m, const char *size, const char *recipe,
                         const char *const *set) {
  *s = (model_setup){.m = m};
  options_defaults(m->option, s->option);
  TRY(assign_size(s, size));
  TRY(options_assign_list(m->name, m->option, s->option, m->name, recipe));
  for (int i = 0; set && set[i]; i++) TRY(options_assign(m->name, m->option, s->option, set[i]));
  return DKHO_OK;
}

static dkho_status check_range(const char *field, int value, int lo, int hi) {
  if (value >= lo && value <= hi) return DKHO_OK;
  return fail(DKHO_E_INPUT, "model: %s: found %d, expected %d to %d", field, value, lo, hi);
}

dkho_status model_check(const model_setup *s) {
  TRY(check_range("degrees", s->degrees, 1, CX_DEGREES));
  TRY(check_range("target", s->target, 0, s->dim));
  TRY(check_range("channels", s->channels, 1, 1024));
  for (int k = 0; k < s->degrees; k++) TRY(check_range("features", s->features[k], 1, DATA_CHANNELS_MAX));
  TRY(check_range("harmonic", s->harmonic, 0, 1 << 20));
  TRY(check_range("summary", s->summary, s->harmonic > 0, 4096));
  if (!(s->loss_eps > 0 && isfinite(s->loss_eps)))
    return fail(DKHO_E_INPUT, "model: loss_eps: found %g, expected a positive number", s->loss_eps);
  return s->m->check ? s->m->check(s) : DKHO_OK;
}

dkho_status model_params(const model_setup *s, params **out) {
  params *p = NULL;
  *out = NULL;
  TRY(model_check(s));
  TRY(params_create(&p));
  dkho_status st = s->m->declare(s, p);
  if (st == DKHO_OK) st = params_layout(p);
  if (st == DKHO_OK)
    *out = p;
  else
    params_free(p);
  return st;
}

dkho_status model_record(const model_setup *s, const params *p, const model_view *v, tape **out, model_net *net) {
  tape *t = NULL;
  *out = NULL;
  memset(net, 0xff, sizeof *net); /* VAR_NONE everywhere */
  TRY(tape_create(&t, p));
  dkho_status st = s->m->record(s, v, t, net);
  if (st == DKHO_OK) st = t->status;
  if (st == DKHO_OK)
    *out = t;
  else
    tape_free(t);
  return st;
}

static json_t *sizes_json(const model_size *size) {
  json_t *list = json_array();
  for (; size && size->name; size++)
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", size->name, "options", size->options));
  return list;
}

json_t *model_list_json(void) {
  json_t *list = json_array();
  const model_type *m;
  for (int i = 0; (m = model_at(i)); i++)
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", m->name, "summary", m->summary,
                                          "profile", feat_profile_name(m->profile), "sizes", sizes_json(m->size),
                                          "options", options_describe(m->option)));
  return list;
}
