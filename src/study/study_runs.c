/* study_runs.c: which trainings a study consists of: models, sizes, variants and inputs, target by target. */
#include "study/study.h"

#include <stdio.h>
#include <string.h>

int study_has(const study_run *r, const char *name) {
  char path[PATH_LIMIT];
  snprintf(path, sizeof path, "%.*s/%s", PATH_LIMIT - 64, r->dir, name);
  return file_exists(path);
}

static int is_full(const study_run *r, const char *target) {
  return strcmp(r->variant, "full") == 0 && strcmp(r->recipe->target, target) == 0;
}

const study_run *study_full_run(const study *s, const char *target, const char *size) {
  const study_run *found = NULL;
  for (int i = 0; i < s->runs; i++) {
    const study_run *r = &s->run[i];
    if (r->m != model_at(0) || !is_full(r, target)) continue;
    if (!size || strcmp(r->size, size) == 0) found = r; /* small comes before large */
  }
  return found;
}

const study_run *study_main_run(const study *s, const char *target) {
  const study_run *found = study_full_run(s, target, NULL);
  for (int i = 0; !found && i < s->runs; i++)
    if (is_full(&s->run[i], target)) found = &s->run[i];
  return found;
}

int study_full_runs(const study *s, const char *target) {
  int n = 0;
  for (int i = 0; i < s->runs; i++) n += is_full(&s->run[i], target);
  return n;
}

static study_run *add_run(study *s, const data_recipe *r, const model_type *m, const char *size) {
  if (s->runs == STUDY_RUNS) return NULL;
  study_run *run = &s->run[s->runs++];
  *run = (study_run){.recipe = r, .m = m, .size = size, .variant = "full"};
  return run;
}

static void place_run(const study *s, study_run *run) {
  char part[160];
  snprintf(part, sizeof part, "runs/%s", run->name);
  study_path(s, part, run->dir);
}

/* A run of the model under study. */
static study_run *add_own(study *s, const data_recipe *r, const char *size, const char *variant) {
  study_run *run = add_run(s, r, model_at(0), size);
  if (!run) return NULL;
  int full = strcmp(variant, "full") == 0;
  run->variant = variant;
  snprintf(run->name, sizeof run->name, "%.60s-%s%s%s", r->target, size, full ? "" : "-", full ? "" : variant);
  snprintf(run->title, sizeof run->title, "DKHO-%s%s%s", size, full ? "" : ", ", full ? "" : variant);
  place_run(s, run);
  return run;
}

/* What nobody asks for is part of the study when it was asked for before and is finished. */
static void drop_unless_finished(study *s, const study_run *run) {
  if (run && !study_has(run, "result.json")) s->runs--;
}

static void add_variant(study *s, const data_recipe *r, const char *size, const char *variant) {
  study_run *run = add_own(s, r, size, variant);
  if (!s->o->ablations) drop_unless_finished(s, run);
}

static void add_own_runs(study *s, const data_recipe *r, int small, int large) {
  if (small) add_own(s, r, "small", "full");
  if (large) add_own(s, r, "large", "full");
  add_variant(s, r, small ? "small" : "large", "no_dirac");
  add_variant(s, r, small ? "small" : "large", "no_phase");
  if (r->harmonic) add_variant(s, r, small ? "small" : "large", "no_harmonic");
}

static int has_size(const model_type *m, const char *size) {
  for (int i = 0; size && m->size && m->size[i].name; i++)
    if (strcmp(m->size[i].name, size) == 0) return 1;
  return 0;
}

/* A model beside the one under study, in the size that is asked for if it has it. inputs NULL: what it is made for. */
static void add_other(study *s, const data_recipe *r, const model_type *m, const char *inputs, int wanted) {
  const char *size = has_size(m, s->o->size) ? s->o->size : NULL, *dash = size ? "-" : "", *of = size ? size : "";
  study_run *run = add_run(s, r, m, size);
  if (!run) return;
  run->inputs = inputs;
  snprintf(run->name, sizeof run->name, "%.60s-%.30s%s%s%s%s", r->target, m->name, dash, of, inputs ? "-" : "",
           inputs ? inputs : "");
  snprintf(run->title, sizeof run->title, "%.40s%s%s%s", m->name, dash, of,
           !inputs            ? ""
           : inputs[0] == 'n' ? " (N)"
                              : " (F)");
  place_run(s, run);
  if (!wanted) drop_unless_finished(s, run);
}

/* A model made for the descriptors of the one under study reads those; any other the plain fields, the descriptors, or each in turn. */
static void add_others(study *s, const data_recipe *r) {
  const char *inputs = s->o->inputs ? s->o->inputs : "native";
  for (int i = 1; model_at(i); i++) {
    const model_type *m = model_at(i);
    int asked = 0;
    for (int k = 0; k < s->models; k++) asked |= s->model[k] == m;
    if (m->profile == model_at(0)->profile) {
      add_other(s, r, m, NULL, asked);
      continue;
    }
    add_other(s, r, m, "native", asked && strcmp(inputs, "matched") != 0);
    add_other(s, r, m, "matched", asked && strcmp(inputs, "native") != 0);
  }
}

/* s->model from a list with commas, "all" or NULL. */
static dkho_status list_models(study *s) {
  const char *at = s->o->models ? s->o->models : model_at(0)->name, *inputs = s->o->inputs;
  if (inputs && strcmp(inputs, "native") != 0 && strcmp(inputs, "matched") != 0 && strcmp(inputs, "both") != 0)
    return fail(DKHO_E_INPUT, "unknown inputs '%s'; there are native, matched, both", inputs);
  for (int i = 0; strcmp(at, "all") == 0 && model_at(i) && s->models < STUDY_MODELS; i++)
    s->model[s->models++] = model_at(i);
  while (!s->models || (*at && strcmp(at, "all") != 0)) {
    char name[64];
    size_t n = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), at);
    if (s->models == STUDY_MODELS) return fail(DKHO_E_INPUT, "more than %d models are asked for", STUDY_MODELS);
    TRY(model_find(name, &s->model[s->models++]));
    at += n + (at[n] == ',');
  }
  return DKHO_OK;
}

dkho_status study_list_runs(study *s) {
  const char *size = s->o->size;
  if (size && strcmp(size, "small") != 0 && strcmp(size, "large") != 0 && strcmp(size, "both") != 0)
    return fail(DKHO_E_INPUT, "unknown size '%s'; there are small, large, both", size);
  TRY(list_models(s));
  int small = !size || strcmp(size, "large") != 0, large = size ? strcmp(size, "small") != 0 : s->budget.large;
  int wanted = 0, own = 0;
  char names[512] = "";
  for (int k = 0; k < s->models; k++) own |= s->model[k] == model_at(0);
  for (int i = 0; i < s->p->recipes; i++) {
    const data_recipe *r = &s->p->recipe[i];
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", r->target);
    if (s->o->target && strcmp(s->o->target, r->target) != 0) continue;
    wanted++;
    if (own) add_own_runs(s, r, small, large);
    add_others(s, r);
  }
  if (!wanted) return fail(DKHO_E_INPUT, "problem %s has no target '%s'; it has %s", s->p->name, s->o->target, names);
  return DKHO_OK;
}
