/* phase.c: recording corrections while predicting, and what they add up to. */
#include "run/phase.h"

#include "base/report.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

typedef struct rule {
  const char *problem;
  int degree, up, down, last; /* last: only the last substep, bare */
  double q;
  const char *what;
} rule;

static const rule rules[] = {
    {"darcy", 2, 0, 1, 0, 0.24, "sum of tau |sigma c_down| over layers and substeps"},
    {"torus", 1, 1, 1, 0, 0.20, "sum of tau |sigma (c_down + c_up)| over layers and substeps"},
    {"cavity", 0, 1, 0, 1, 0.18, "|c_up| of the last substep"},
    {NULL, 0, 1, 1, 0, 0.20, "sum of tau |sigma (c_down + c_up)| over layers and substeps"},
};

typedef struct recorder {
  const oper *o;
  const dataset *d;
  const site *s;
  const rule *rule;
  const csr *smoother;
  phase_result *out;
  real **work, **summary; /* per lane, of the descriptors */
  double **score, **pde;  /* per lane */
  align_work *align;      /* per lane */
} recorder;

static const rule *find_rule(const char *problem, int degree) {
  const rule *r = rules;
  while (r->problem && (strcmp(r->problem, problem) != 0 || r->degree != degree)) r++;
  return r;
}

/* Corrections of the target's degree at a substep, VAR_NONE where the rule leaves one out or the model has none. */
static var correction(const recorder *r, int layer, int substep, int up) {
  const dkho_net *net = &r->s->net;
  int k = r->o->cfg.target;
  if (!(up ? r->rule->up : r->rule->down)) return VAR_NONE;
  return up ? net->up[layer][substep][k] : net->down[layer][substep][k];
}

static int counts(const recorder *r, int layer, int substep) {
  return !r->rule->last || (layer == r->o->cfg.layers - 1 && substep == r->o->cfg.substeps - 1);
}

/* Keeps what the rule reads; gives how many corrections there are. */
static int keep(const recorder *r) {
  int found = 0, k = r->o->cfg.target;
  for (int l = 0; l < r->o->cfg.layers; l++) {
    for (int j = 0; j < r->o->cfg.substeps; j++)
      for (int up = 0; up < 2; up++) {
        var v = counts(r, l, j) ? correction(r, l, j, up) : VAR_NONE;
        if (v == VAR_NONE) continue;
        tape_keep(r->s->t, v);
        found++;
      }
    if (r->rule->last || !found) continue;
    tape_keep(r->s->t, r->s->net.tau[l]);
    tape_keep(r->s->t, r->s->net.sigma[l][k]);
  }
  return found;
}

static dkho_status fill(void *ctx, const lane *l, int64_t i) {
  recorder *r = ctx;
  const dkho_net *net = &r->s->net;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  real *out[CX_DEGREES] = {0}, *summary = r->summary[lane_index(l)];
  dataset_inputs(r->d, r->out->sample[i], in, global);
  for (int k = 0; k < r->o->cfg.degrees; k++) out[k] = lane_input(l, net->feature[k]);
  features_eval(r->s->f, in, global, r->work[lane_index(l)], out, summary);
  real *head = net->summary == VAR_NONE ? NULL : lane_input(l, net->summary);
  if (head) memcpy(head, summary, (size_t)r->o->cfg.summary * sizeof *head);
  return DKHO_OK;
}

/* score += weight · ‖sum of the corrections‖ per simplex. */
static void add_norms(const recorder *r, const lane *l, int layer, int substep, double weight, double *score) {
  const real *part[2] = {0};
  for (int up = 0; up < 2; up++) {
    var v = correction(r, layer, substep, up);
    if (v != VAR_NONE) part[up] = lane_value(l, v);
  }
  int channels = r->o->cfg.c;
  for (int64_t i = 0; i < r->out->n; i++) {
    double sum = 0;
    for (int c = 0; c < channels; c++) {
      double v = (part[0] ? (double)part[0][i * channels + c] : 0) + (part[1] ? (double)part[1][i * channels + c] : 0);
      sum += v * v;
    }
    score[i] += weight * sqrt(sum);
  }
}

static void find_score(const recorder *r, const lane *l, double *score) {
  const dkho_net *net = &r->s->net;
  memset(score, 0, (size_t)r->out->n * sizeof *score);
  for (int layer = 0; layer < r->o->cfg.layers; layer++)
    for (int j = 0; j < r->o->cfg.substeps; j++) {
      if (!counts(r, layer, j)) continue;
      double weight = 1;
      if (!r->rule->last)
        weight = (double)*lane_value(l, net->tau[layer]) * (double)*lane_value(l, net->sigma[layer][r->o->cfg.target]);
      add_norms(r, l, layer, j, weight, score);
    }
}

/* ‖û - y‖ / max(‖y‖, 1e-12) in physical units, and ‖y‖ per simplex. */
static double find_reference(const recorder *r, const lane *l, int64_t sample, double *pde) {
  const data_field *t = &r->o->spec.field[r->o->target];
  const real *p = lane_value(l, r->s->net.predicted);
  const float *y = dataset_value(r->d, r->o->target, sample);
  double error = 0, norm = 0;
  for (int64_t i = 0; i < r->out->n; i++) {
    double size = 0;
    for (int c = 0; c < t->channels; c++) {
      double v = (double)y[i * t->channels + c], gap = (double)p[i * t->channels + c] * t->scale + t->shift - v;
      size += v * v, error += gap * gap;
    }
    pde[i] = sqrt(size);
    norm += size;
  }
  return sqrt(error) / fmax(sqrt(norm), 1e-12);
}

static dkho_status take(void *ctx, const lane *l, int64_t i) {
  recorder *r = ctx;
  int at = lane_index(l);
  int64_t n = r->out->n;
  alignment *a = &r->out->each[i];
  find_score(r, l, r->score[at]);
  double error = find_reference(r, l, r->out->sample[i], r->pde[at]);
  rng draw = rng_open(0, RNG_PERMUTE, (uint64_t)i);
  rng_permute(&draw, r->align[at].permutation, n);
  align_compare(r->smoother, r->out->q, r->score[at], r->pde[at], &r->align[at], a);
  a->error = error;
  for (int64_t k = 0; k < n; k++) {
    r->out->phase[i * n + k] = (float)r->score[at][k];
    r->out->pde[i * n + k] = (float)r->pde[at][k];
  }
  return DKHO_OK;
}

static dkho_status take_scratch(recorder *r, arena *mem, int lanes) {
  const features *f = r->s->f;
  if (!ARENA_NEW(mem, r->work, lanes) || !ARENA_NEW(mem, r->summary, lanes) || !ARENA_NEW(mem, r->score, lanes) ||
      !ARENA_NEW(mem, r->pde, lanes) || !ARENA_NEW(mem, r->align, lanes))
    return DKHO_E_MEMORY;
  for (int i = 0; i < lanes; i++) {
    if (!ARENA_NEW(mem, r->work[i], features_work_size(f)) ||
        !ARENA_NEW(mem, r->summary[i], features_summary_width(f) + 1) || !ARENA_NEW(mem, r->score[i], r->out->n) ||
        !ARENA_NEW(mem, r->pde[i], r->out->n))
      return DKHO_E_MEMORY;
    TRY(align_work_take(&r->align[i], mem, r->out->n));
  }
  return DKHO_OK;
}

enum { CHUNK = 32 };

/* Chunks, so that progress shows: the i-th of a chunk is instance from + i. */
typedef struct shifted {
  recorder *r;
  int64_t from;
} shifted;
static dkho_status shifted_fill(void *ctx, const lane *l, int64_t i) {
  shifted *s = ctx;
  return fill(s->r, l, s->from + i);
}
static dkho_status shifted_take(void *ctx, const lane *l, int64_t i) {
  shifted *s = ctx;
  return take(s->r, l, s->from + i);
}

static dkho_status record(recorder *r, pool *threads) {
  arena mem = {0};
  engine *e = NULL;
  phase_result *out = r->out;
  dkho_status s = engine_create(&e, r->s->t, ENGINE_PREDICT, VAR_NONE, threads);
  if (s == DKHO_OK) s = take_scratch(r, &mem, pool_width(threads));
  if (s == DKHO_OK) engine_bind(e, r->o->value);
  for (int64_t at = 0; s == DKHO_OK && at < out->count; at += CHUNK) {
    shifted chunk = {r, at};
    engine_batch b = {.count = out->count - at < CHUNK ? out->count - at : CHUNK,
                      .fill = shifted_fill,
                      .take = shifted_take,
                      .ctx = &chunk};
    s = engine_predict(e, &b);
    report_progress("phase", (uint64_t)(at + b.count), (uint64_t)out->count, NULL);
  }
  engine_free(e);
  arena_free(&mem);
  return s;
}

static dkho_status check(const oper *o, const dataset *d, int64_t count, const phase_request *q) {
  if (dataset_complexes(d) != 1)
    return fail(DKHO_E_INPUT, "the phase diagnostic needs data on one complex, found %d", dataset_complexes(d));
  if (o->cfg.variant == DKHO_NO_PHASE || o->cfg.variant == DKHO_NO_DIRAC)
    return fail(DKHO_E_INPUT, "variant %s has no corrections to look at; the variants that have are full, no_harmonic",
                dkho_variant_name(o->cfg.variant));
  if (!(q->q >= 0 && q->q < 1)) return fail(DKHO_E_INPUT, "q: found %g, expected a fraction in (0, 1)", q->q);
  return count ? DKHO_OK : fail(DKHO_E_INPUT, "no samples to look at");
}

dkho_status phase_run(phase_result *out, oper *o, const dataset *d, int64_t count, const int64_t *sample, pool *threads,
                      const phase_request *request) {
  *out = (phase_result){0};
  TRY(check(o, d, count, request));
  TRY(dataset_prove(d, o->target, count, sample));
  recorder r = {.o = o, .d = d, .s = &o->site[0], .out = out};
  r.rule = find_rule(dataset_info(d)->problem, o->cfg.target);
  out->score = r.rule->what, out->degree = o->cfg.target, out->zero_diagonal = request->zero_diagonal;
  out->q = request->q > 0 ? request->q : r.rule->q;
  out->count = count, out->n = r.s->c->n[out->degree];
  if (!keep(&r)) return fail(DKHO_E_INPUT, "this model applies no corrections to degree %d", out->degree);
  csr smoother = {0};
  dkho_status s = align_smoother(&smoother, r.s->c, out->degree, out->zero_diagonal);
  r.smoother = &smoother;
  if (s == DKHO_OK &&
      !(ARENA_NEW(&out->mem, out->sample, count) && ARENA_NEW(&out->mem, out->each, count) &&
        ARENA_NEW(&out->mem, out->phase, count * out->n) && ARENA_NEW(&out->mem, out->pde, count * out->n)))
    s = DKHO_E_MEMORY;
  if (s == DKHO_OK) memcpy(out->sample, sample, (size_t)count * sizeof *sample);
  if (s == DKHO_OK) s = record(&r, threads);
  if (s == DKHO_OK) {
    align_summarise(count, out->each, out->q, &out->all);
    s = align_cases(count, out->each, PHASE_CASES, out->chosen, &out->cases);
  }
  csr_free(&smoother);
  if (s != DKHO_OK) phase_free(out);
  return s;
}

void phase_free(phase_result *r) {
  arena_free(&r->mem);
  *r = (phase_result){0};
}

static json_t *case_json(const phase_result *r, int64_t i) {
  const alignment *a = &r->each[i];
  return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "sample", (json_int_t)r->sample[i], "dice", a->dice, "lift",
                   a->lift, "enrichment", a->enrichment, "rho", a->rho, "rel_l2", a->error);
}

json_t *phase_json(const phase_result *r) {
  const align_summary *a = &r->all;
  json_t *cases = json_array(), *each = json_array();
  for (int i = 0; i < r->cases; i++) json_array_append_new(cases, case_json(r, r->chosen[i]));
  for (int64_t i = 0; i < r->count; i++) json_array_append_new(each, case_json(r, i));
  json_t *all = json_pack("{s:[ff], s:[ff], s:[ff], s:[ff], s:f, s:f, s:f}", "rho", a->rho[0], a->rho[1], "dice",
                          a->dice[0], a->dice[1], "lift", a->lift[0], a->lift[1], "enrichment", a->enrichment[0],
                          a->enrichment[1], "permuted_dice", a->permuted_dice, "permuted_enrichment",
                          a->permuted_enrichment, "above_chance", a->above_chance);
  return json_pack("{s:s, s:i, s:f, s:s, s:I, s:o, s:o, s:o}", "score", r->score, "degree", r->degree, "q", r->q,
                   "adjacency", r->zero_diagonal ? "zero diagonal" : "incidence products", "instances",
                   (json_int_t)r->count, "population", all, "cases", cases, "each", each);
}
