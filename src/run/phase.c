/* phase.c: recording corrections while predicting, and what they add up to. */
#include "run/phase.h"

#include "base/report.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

static const phase_rule plain_rule = {.up = 1, .down = 1, .q = 0.20};

/* What one substep adds to the score: weight ‖up + down‖, weight τσ, or 1 where tau is VAR_NONE. Absent parts are VAR_NONE. */
typedef struct correction {
  var up, down, tau, sigma;
} correction;

typedef struct recorder {
  const neural_operator *o;
  const dataset *d;
  const complex_view *v;
  tape *t; /* its own recording, with the corrections kept */
  model_net net;
  int count;
  correction *list;
  const phase_rule *rule;
  const csr *smoother;
  phase_result *out;
  real **work, **summary; /* per lane, of the descriptors */
  double **score, **pde;  /* per lane */
  align_work *align;      /* per lane */
} recorder;

/* The formula of a rule, in ASCII, for results. */
static const char *rule_text(const phase_rule *r) {
  if (r->last)
    return r->up && r->down ? "|c_down + c_up| of the last substep"
           : r->up          ? "|c_up| of the last substep"
                            : "|c_down| of the last substep";
  if (r->up && r->down) return "sum of tau |sigma (c_down + c_up)| over layers and substeps";
  return r->up ? "sum of tau |sigma c_up| over layers and substeps"
               : "sum of tau |sigma c_down| over layers and substeps";
}

/* The substep's corrections of degree k that the rule reads; 0 when the model has no such substep. */
static int find_correction(const recorder *r, int layer, int substep, correction *c) {
  int k = r->o->setup.target;
  var up = tape_find(r->t, "%d.%d.up.%d", layer, substep, k),
      down = tape_find(r->t, "%d.%d.down.%d", layer, substep, k);
  *c = (correction){r->rule->up ? up : VAR_NONE, r->rule->down ? down : VAR_NONE, VAR_NONE, VAR_NONE};
  if (!r->rule->last) c->tau = tape_find(r->t, "%d.tau", layer), c->sigma = tape_find(r->t, "%d.sigma.%d", layer, k);
  return up != VAR_NONE || down != VAR_NONE;
}

static void keep_present(tape *t, var v) {
  if (v != VAR_NONE) tape_keep(t, v);
}

/* Lists the substeps in order, or the last one alone if the rule says so, and keeps what they read. */
static dkho_status list_corrections(recorder *r, arena *mem) {
  enum { MOST = 256 };
  correction c;
  if (!ARENA_NEW(mem, r->list, MOST)) return DKHO_E_MEMORY;
  for (int l = 0, some = 1; some; l++) {
    some = 0;
    for (int j = 0; find_correction(r, l, j, &c); j++) {
      some = 1;
      if (c.up == VAR_NONE && c.down == VAR_NONE) continue;
      if (r->rule->last) r->count = 0;
      if (r->count < MOST) r->list[r->count++] = c;
    }
  }
  for (int i = 0; i < r->count; i++) {
    keep_present(r->t, r->list[i].up), keep_present(r->t, r->list[i].down);
    keep_present(r->t, r->list[i].tau), keep_present(r->t, r->list[i].sigma);
  }
  return r->count ? DKHO_OK
                  : fail(DKHO_E_INPUT, "this model applies no corrections to degree %d: there is nothing to look at",
                         r->o->setup.target);
}

/* Features of sample number i of the request into the lane's inputs, as training fills them. */
static dkho_status fill_lane(void *ctx, const lane *l, int64_t i) {
  recorder *r = ctx;
  const model_net *net = &r->net;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  real *out[CX_DEGREES] = {0}, *summary = r->summary[lane_index(l)];
  dataset_inputs(r->d, r->out->sample[i], in, global);
  for (int k = 0; k < r->o->setup.degrees; k++) out[k] = lane_input(l, net->feature[k]);
  features_eval(r->v->f, in, global, r->work[lane_index(l)], out, summary);
  real *head = net->summary == VAR_NONE ? NULL : lane_input(l, net->summary);
  real *given = net->given == VAR_NONE ? NULL : lane_input(l, net->given);
  if (given) operator_given(r->o, r->v, in, global, 1, given);
  if (head) memcpy(head, summary, (size_t)r->o->setup.summary * sizeof *head);
  return DKHO_OK;
}

/* score += weight · ‖up + down‖ per simplex. */
static void add_norms(const recorder *r, const lane *l, const correction *c, double *score) {
  const real *up = c->up == VAR_NONE ? NULL : lane_value(l, c->up);
  const real *down = c->down == VAR_NONE ? NULL : lane_value(l, c->down);
  double weight = 1;
  if (c->tau != VAR_NONE) weight = (double)*lane_value(l, c->tau) * (double)*lane_value(l, c->sigma);
  int64_t channels = r->t->var[c->up == VAR_NONE ? c->down : c->up].cols;
  for (int64_t i = 0; i < r->out->n; i++) {
    double sum = 0;
    for (int64_t j = i * channels; j < (i + 1) * channels; j++) {
      double v = (down ? (double)down[j] : 0) + (up ? (double)up[j] : 0);
      sum += v * v;
    }
    score[i] += weight * sqrt(sum);
  }
}

static void find_score(const recorder *r, const lane *l, double *score) {
  memset(score, 0, (size_t)r->out->n * sizeof *score);
  for (int i = 0; i < r->count; i++) add_norms(r, l, &r->list[i], score);
}

/* ‖û - y‖ / max(‖y‖, 1e-12) in physical units, and ‖y‖ per simplex. */
static double find_reference(const recorder *r, const lane *l, int64_t sample, double *pde) {
  const data_field *t = &r->o->spec.field[r->o->target];
  const real *p = lane_value(l, r->net.predicted);
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

/* After the forward pass of sample i: the score of the model's corrections beside that of the field, and both kept (out->n floats each).
 * The permutation is drawn from the sample's own stream. */
static dkho_status compare_lane(void *ctx, const lane *l, int64_t i) {
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

/* Per lane: scratch of the features, their summary, both scores (n each), scratch of the comparison. */
static dkho_status take_scratch(recorder *r, arena *mem, int lanes) {
  const features *f = r->v->f;
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
static dkho_status fill_chunk_lane(void *ctx, const lane *l, int64_t i) {
  shifted *s = ctx;
  return fill_lane(s->r, l, s->from + i);
}
static dkho_status compare_chunk_lane(void *ctx, const lane *l, int64_t i) {
  shifted *s = ctx;
  return compare_lane(s->r, l, s->from + i);
}

/* All samples of the request in chunks; the engine runs them on any number of threads, each result in its own place. */
static dkho_status run_recording(recorder *r, pool *threads) {
  arena mem = {0};
  engine *e = NULL;
  phase_result *out = r->out;
  dkho_status s = engine_create(&e, r->t, ENGINE_PREDICT, VAR_NONE, threads);
  if (s == DKHO_OK) s = take_scratch(r, &mem, pool_width(threads));
  if (s == DKHO_OK) engine_bind(e, r->o->value);
  for (int64_t at = 0; s == DKHO_OK && at < out->count; at += CHUNK) {
    shifted chunk = {r, at};
    engine_batch b = {.count = out->count - at < CHUNK ? out->count - at : CHUNK,
                      .fill = fill_chunk_lane,
                      .take = compare_chunk_lane,
                      .ctx = &chunk};
    s = engine_predict(e, &b);
    report_progress("phase", (uint64_t)(at + b.count), (uint64_t)out->count, NULL);
  }
  engine_free(e);
  arena_free(&mem);
  return s;
}

static dkho_status check_request(const dataset *d, int64_t count, const phase_request *q) {
  if (dataset_complexes(d) != 1)
    return fail(DKHO_E_INPUT, "the phase diagnostic needs data on one complex, found %d", dataset_complexes(d));
  if (!(q->q >= 0 && q->q < 1)) return fail(DKHO_E_INPUT, "q: found %g, expected a fraction in (0, 1)", q->q);
  return count ? DKHO_OK : fail(DKHO_E_INPUT, "no samples to look at");
}

/* Room for the result, and the model recorded once more with what the rule reads kept. */
static dkho_status prepare_recorder(recorder *r, const int64_t *sample, csr *smoother, arena *mem) {
  phase_result *out = r->out;
  int64_t count = out->count;
  TRY(operator_hold(r->o, 0, &r->v));
  out->n = r->v->c->n[out->degree];
  model_view seen = {r->v->c, r->v->metric, r->v->g, r->v->f, NULL};
  TRY(model_record(&r->o->setup, r->o->p, &seen, &r->t, &r->net));
  TRY(list_corrections(r, mem));
  TRY(align_smoother(smoother, r->v->c, out->degree, out->zero_diagonal));
  r->smoother = smoother;
  if (!(ARENA_NEW(&out->mem, out->sample, count) && ARENA_NEW(&out->mem, out->each, count) &&
        ARENA_NEW(&out->mem, out->phase, count * out->n) && ARENA_NEW(&out->mem, out->pde, count * out->n)))
    return DKHO_E_MEMORY;
  memcpy(out->sample, sample, (size_t)count * sizeof *sample);
  return DKHO_OK;
}

dkho_status phase_run(phase_result *out, const neural_operator *o, const dataset *d, int64_t count,
                      const int64_t *sample, pool *threads, const phase_request *request) {
  *out = (phase_result){0};
  TRY(check_request(d, count, request));
  TRY(dataset_prove(d, o->target, count, sample));
  recorder r = {.o = o, .d = d, .out = out, .rule = request->rule ? request->rule : &plain_rule};
  out->score = rule_text(r.rule), out->degree = o->setup.target, out->zero_diagonal = request->zero_diagonal;
  out->q = request->q > 0 ? request->q : r.rule->q;
  out->count = count;
  csr smoother = {0};
  arena mem = {0};
  dkho_status s = prepare_recorder(&r, sample, &smoother, &mem);
  if (s == DKHO_OK) s = run_recording(&r, threads);
  if (s == DKHO_OK) {
    align_summarise(count, out->each, out->q, &out->all);
    s = align_cases(count, out->each, PHASE_CASES, out->chosen, &out->cases);
  }
  tape_free(r.t);
  operator_release(o, r.v);
  csr_free(&smoother);
  arena_free(&mem);
  if (s != DKHO_OK) phase_free(out);
  return s;
}

void phase_free(phase_result *r) {
  arena_free(&r->mem);
  *r = (phase_result){0};
}
