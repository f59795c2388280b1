/* problem.c: the list of problems and the driver that makes a data set of any of them. */
#include "problem/coarse.h"
#include "problem/problem_impl.h"

#include "base/comm.h"
#include "base/report.h"
#include "data/static.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const problem *const list[] = {
    &problem_darcy,      &problem_torus,    &problem_cavity,         &problem_heat, &problem_reaction,
    &problem_lamination, &problem_ironloss, &problem_wells,          &problem_flow, &problem_waves,
    &problem_elasticity, &problem_maxwell,  &problem_magnetostatics, &problem_hts,  &problem_subsonic};
static const char GENERATOR[] = "dkho data"; /* in the files it makes */
enum { COUNT = sizeof list / sizeof *list };

int problem_count(void) {
  return COUNT;
}
const problem *problem_at(int i) {
  return list[i];
}

const problem *problem_named(const char *name) {
  for (int i = 0; i < COUNT; i++)
    if (strcmp(name, list[i]->name) == 0) return list[i];
  return NULL;
}

dkho_status problem_find(const char *name, const problem **out) {
  char names[256] = "";
  if ((*out = problem_named(name))) return DKHO_OK;
  for (int i = 0; i < COUNT; i++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", list[i]->name);
  return fail(DKHO_E_INPUT, "unknown problem '%s'; there are %s", name, names);
}

dkho_status problem_find_law(const problem *p, const char *law, const problem **out) {
  char names[128] = "";
  *out = p;
  if (!law) return DKHO_OK;
  if (!p->law) return fail(DKHO_E_INPUT, "unknown law '%.40s'; %s has no choice of laws", law, p->name);
  for (const problem *q = p; q; q = q->other) {
    *out = q;
    if (strcmp(q->law, law) == 0) return DKHO_OK;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", q == p ? "" : ", ", q->law);
  }
  *out = NULL;
  return fail(DKHO_E_INPUT, "unknown law '%.40s'; %s has %s", law, p->name, names);
}

dkho_status problem_of_data(const data_info *info, const problem **out) {
  *out = strcmp(info->generator, GENERATOR) == 0 ? problem_named(info->problem) : NULL;
  if (!*out) return DKHO_OK;
  json_t *made = json_loads(info->params, 0, NULL);
  dkho_status s = problem_find_law(*out, json_string_value(json_object_get(made, "law")), out);
  json_decref(made);
  return s;
}

const char *data_metrics_definition(const char *name) {
  const problem *p = problem_named(name);
  return p && p->metrics ? p->metrics : name;
}

int problem_target(const problem *p, int k) {
  for (int r = 0; r < p->recipes; r++)
    for (int i = 0; i < p->fields; i++)
      if (strcmp(p->field[i].name, p->recipe[r].target) == 0 && p->field[i].degree == k) return r;
  return -1;
}

void problem_pack(int64_t n, const double *block, double *rows) {
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < PROBLEM_GROUP; k++) rows[i * PROBLEM_GROUP + k] = block[k * n + i];
}

void problem_unpack(int64_t n, const double *rows, double *block) {
  problem_unpack_strip(n, 0, n, rows, block);
}

void problem_unpack_strip(int64_t n, int64_t first, int64_t count, const double *rows, double *block) {
  enum { TILE = 64 }; /* rows that the nearest cache keeps while the samples take turns */
  for (int64_t i = 0; i < count; i += TILE) {
    int64_t end = i + TILE < count ? i + TILE : count;
    for (int k = 0; k < PROBLEM_GROUP; k++)
      for (int64_t r = i; r < end; r++) block[k * n + first + r] = rows[r * PROBLEM_GROUP + k];
  }
}

dkho_status problem_fill_common(const cx *c, const char *name, double *out) {
  size_t length = strlen(name);
  int k = length ? name[length - 1] - '0' : -1;
  if (strncmp(name, "position", 8) == 0)
    static_positions(c, k, out);
  else if (strcmp(name, "label2") == 0) {
    double *one = mem_alloc((size_t)c->n[0] * (size_t)c->labels, sizeof *one);
    if (!one) return DKHO_E_MEMORY;
    static_onehot(c, 0, one);
    static_vertex_mean(c, 2, c->labels, one, out);
    mem_free(one);
  } else if (strncmp(name, "label", 5) == 0)
    static_onehot(c, k, out);
  else if (strcmp(name, "tangent") == 0)
    static_tangents(c, out);
  else if (strcmp(name, "length") == 0)
    memcpy(out, c->measure[1], (size_t)c->n[1] * sizeof *out);
  else if (strcmp(name, "area") == 0)
    memcpy(out, c->measure[2], (size_t)c->n[2] * sizeof *out);
  else if (strcmp(name, "normal") == 0)
    static_normals(c, out);
  else if (strcmp(name, "weight") == 0)
    static_lumped(c, out);
  else
    return fail(DKHO_E_INTERNAL, "no rule fills the static field '%s'", name);
  return DKHO_OK;
}

dkho_status problem_fill(const problem *p, const problem_state *s, const cx *c, const char *name, double *out) {
  return p->fill ? p->fill(s, name, out) : problem_fill_common(c, name, out);
}

void problem_fill_holes(const cx *c, int holes, double *out) {
  for (int64_t i = 0; i < c->n[0]; i++)
    for (int j = 0; j < holes; j++) out[holes * i + j] = c->label[0][i] == 2 + j;
}

void problem_statics_free(problem_statics *t) {
  for (int i = 0; i < PROBLEM_FIELDS_MAX; i++) mem_free(t->fixed[i]);
  for (int k = 0; k < CX_DEGREES; k++) dec_basis_free(&t->harmonic[k]);
  *t = (problem_statics){0};
}

static dkho_status fill_statics(problem_statics *t, const problem *p, const cx *c, const problem_state *s,
                                const dec_basis *modes) {
  for (int i = 0; i < p->fields; i++) {
    const data_field *f = &p->field[i];
    if (f->role != DATA_STATIC) continue;
    if (!MEM_NEW(t->fixed[i], c->n[f->degree] * f->channels)) return DKHO_E_MEMORY;
    if (strncmp(f->name, "spectral", 8) == 0)
      dec_basis_rows(&modes[f->degree], PROBLEM_MODES, t->fixed[i]);
    else
      TRY(problem_fill(p, s, c, f->name, t->fixed[i]));
  }
  return DKHO_OK;
}

dkho_status problem_statics_make(problem_statics *t, const problem *p, const cx *c, const problem_state *s) {
  dec_bases bases;
  *t = (problem_statics){0};
  report_progress("spectra", 0, 1, NULL);
  TRY(dec_bases_find(&bases, c, DEC_UNIT, c->dim < 2 ? c->dim : 2, PROBLEM_MODES));
  report_progress("spectra", 1, 1, NULL);
  memcpy(t->harmonic, bases.harmonic, sizeof t->harmonic); /* handed over */
  memset(bases.harmonic, 0, sizeof bases.harmonic);
  dkho_status st = fill_statics(t, p, c, s, bases.spectral);
  dec_bases_free(&bases);
  if (st != DKHO_OK) problem_statics_free(t);
  return st;
}

static dkho_status put_fixed_arrays(dataset_writer *w, const problem *p, const problem_statics *t) {
  for (int k = 0; k < CX_DEGREES; k++)
    if (t->harmonic[k].count) TRY(dataset_put_harmonic(w, 0, k, t->harmonic[k].count, t->harmonic[k].vec));
  for (int i = 0; i < p->fields; i++)
    if (t->fixed[i]) TRY(dataset_put_static(w, 0, p->field[i].name, t->fixed[i]));
  return DKHO_OK;
}

static dkho_status room_for_statics(problem_statics *t, const problem *p, const cx *c) {
  for (int k = 0; k < CX_DEGREES; k++) {
    dec_basis *h = &t->harmonic[k];
    if (h->count && !MEM_NEW(h->vec, h->n * h->count)) return DKHO_E_MEMORY;
  }
  for (int i = 0; i < p->fields; i++)
    if (p->field[i].role == DATA_STATIC && !MEM_NEW(t->fixed[i], c->n[p->field[i].degree] * p->field[i].channels))
      return DKHO_E_MEMORY;
  return DKHO_OK;
}

/* Those of the first rank, to all. */
static dkho_status share_statics(problem_statics *t, const problem *p, const cx *c, comm *ranks) {
  int64_t extent[CX_DEGREES][2];
  for (int k = 0; k < CX_DEGREES; k++) extent[k][0] = t->harmonic[k].n, extent[k][1] = t->harmonic[k].count;
  TRY(comm_broadcast(ranks, 0, extent, sizeof extent));
  for (int k = 0; k < CX_DEGREES; k++) t->harmonic[k].n = extent[k][0], t->harmonic[k].count = extent[k][1];
  TRY(comm_agree(ranks, ranks->rank ? room_for_statics(t, p, c) : DKHO_OK));
  for (int k = 0; k < CX_DEGREES; k++)
    TRY(comm_broadcast(ranks, 0, t->harmonic[k].vec, (size_t)(extent[k][0] * extent[k][1]) * sizeof(double)));
  for (int i = 0; i < p->fields; i++) {
    const data_field *f = &p->field[i];
    if (f->role == DATA_STATIC)
      TRY(comm_broadcast(ranks, 0, t->fixed[i], (size_t)(c->n[f->degree] * f->channels) * sizeof(double)));
  }
  return DKHO_OK;
}

/* The first rank finds them, so that all have the same bits. */
static dkho_status put_statics(dataset_writer *w, const problem *p, const cx *c, const problem_state *state) {
  comm *ranks = comm_world();
  problem_statics t = {0};
  dkho_status s = comm_agree(ranks, ranks->rank ? DKHO_OK : problem_statics_make(&t, p, c, state));
  if (s == DKHO_OK && ranks->size > 1) s = share_statics(&t, p, c, ranks);
  if (s == DKHO_OK) s = put_fixed_arrays(w, p, &t);
  problem_statics_free(&t);
  return comm_agree(ranks, s);
}

dkho_status problem_prepare(problem_state **out, const problem *p, const cx *c, uint64_t seed) {
  *out = NULL;
  if (c->dim != p->dim || c->gdim != p->gdim)
    return fail(DKHO_E_INPUT, "not a complex of %s: dimension %d in space of %d, expected %d in %d", p->name, c->dim,
                c->gdim, p->dim, p->gdim);
  if (p->labels && (!c->label[0] || c->labels != p->labels))
    return fail(DKHO_E_INPUT, "not a complex of %s: its vertices have %d labels, expected %d", p->name,
                c->label[0] ? c->labels : 0, p->labels);
  return p->prepare(out, c, seed);
}

dkho_status problem_check_resolution(const problem *p, const char *wanted) {
  static const char *const usual[] = {"smoke", "main", NULL};
  const char *const *known = p->resolutions ? p->resolutions : usual;
  char names[128] = "";
  size_t used = 0;
  for (; *known; known++) {
    if (strcmp(*known, wanted) == 0) return DKHO_OK;
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", *known);
  }
  return fail(DKHO_E_INPUT, "unknown resolution '%.40s'; there are %s", wanted, names);
}

/* The proportions of the problem's own sizes; each part gets at least one sample. */
static dkho_status split_sizes(const problem *p, const problem_request *r, int64_t size[DATA_SPLITS],
                               int64_t *samples) {
  TRY(problem_check_resolution(p, r->resolution));
  const int64_t *own = strcmp(r->resolution, "smoke") == 0 ? p->smoke_sizes : p->sizes;
  int64_t total = own[DATA_TRAIN] + own[DATA_VAL] + own[DATA_TEST];
  *samples = r->samples ? r->samples : total;
  if (*samples < 3 || *samples > INT64_C(100000000))
    return fail(DKHO_E_INPUT, "%lld samples asked for: expected 3 … 100,000,000", (long long)*samples);
  for (int i = DATA_VAL; i <= DATA_TEST; i++) {
    size[i] = (int64_t)((double)own[i] * (double)*samples / (double)total + 0.5);
    if (size[i] < 1) size[i] = 1;
  }
  size[DATA_TRAIN] = *samples - size[DATA_VAL] - size[DATA_TEST];
  return DKHO_OK;
}

static dkho_status declare_contents(dataset_writer *w, const problem *p, const cx *c) {
  TRY(dataset_put_cx(w, c));
  for (int i = 0; i < p->fields; i++) TRY(dataset_put_field(w, &p->field[i]));
  TRY(dataset_put_table(w, &p->table));
  for (int i = 0; i < p->recipes; i++) TRY(dataset_put_recipe(w, &p->recipe[i]));
  for (int i = 0; i < p->knowns; i++) TRY(dataset_put_known(w, &p->known[i]));
  return DKHO_OK;
}

static dkho_status end_file(dataset_writer **w, const problem_request *r, const int64_t *size) {
  TRY(comm_agree(comm_world(), dataset_split_random(*w, r->seed, size[DATA_TRAIN], size[DATA_VAL], size[DATA_TEST])));
  dataset_writer *done = *w;
  *w = NULL;
  return dataset_commit(done);
}

dkho_status problem_generate(const problem *p, const problem_request *r, const char *path) {
  int64_t size[DATA_SPLITS] = {0}, samples = 0;
  TRY(split_sizes(p, r, size, &samples));
  char params[2048];
  int used = snprintf(params, sizeof params, "{\"resolution\": \"%s\", ", r->resolution);
  if (r->coarse) used += snprintf(params + used, sizeof params - (size_t)used, "\"coarse\": \"%.40s\", ", r->coarse);
  if (p != problem_named(p->name) && p->law)
    used += snprintf(params + used, sizeof params - (size_t)used, "\"law\": \"%s\", ", p->law);
  snprintf(params + used, sizeof params - (size_t)used, "\"samples\": %lld, \"notes\": \"%s\"}", (long long)samples,
           p->notes);
  data_info info = {p->name, GENERATOR, r->seed, params};
  comm *ranks = comm_world();
  dataset_writer *w = NULL;
  cx *c = NULL;
  problem_state *state = NULL;
  coarse *low = NULL;
  pool *threads = NULL;
  dkho_status s = dataset_create_shared(&w, path, r->force, &info, ranks);
  if (s == DKHO_OK) s = p->build(&c, r->resolution);
  if (s == DKHO_OK) s = pool_create(&threads, r->threads);
  if (s == DKHO_OK) s = problem_prepare(&state, p, c, r->seed);
  if (s == DKHO_OK && r->coarse) s = coarse_create(&low, p, c, r->coarse, r->seed);
  if (s == DKHO_OK) s = declare_contents(w, low ? coarse_problem(low) : p, c);
  TRY_GOTO(comm_agree(ranks, s));
  TRY_GOTO(put_statics(w, low ? coarse_problem(low) : p, c, state));
  TRY_GOTO(problem_put_samples(w, p, low, c, state, r->seed, samples, threads));
  s = end_file(&w, r, size);
done:
  dataset_abort(w);
  coarse_free(low);
  p->release(state);
  pool_free(threads);
  cx_free(c);
  return s;
}
