/* study_json.c: see study_json.h. */
#include "study/study_json.h"

#include "run/result_json.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static dkho_status hand_out(json_t *object, json_t **out) {
  *out = object;
  return object ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

/* By source. */
static const char *const classical_what[] = {"", "all targets of a sample, after one set-up for the mesh",
                                             "as given with the data"};

dkho_status classical_json(const classical_cost *c, json_t **out) {
  if (!c->source) return hand_out(json_object(), out);
  TRY(hand_out(json_pack("{s:f, s:f, s:s}", "seconds_per_sample", c->seconds_per_sample, "setup_seconds",
                         c->setup_seconds, "what", classical_what[c->source]),
               out));
  if (c->coarse_seconds > 0) json_object_set_new(*out, "coarse_seconds", json_real(c->coarse_seconds));
  return DKHO_OK;
}

classical_cost classical_read(const json_t *object) {
  const json_t *seconds = json_object_get(object, "seconds_per_sample");
  const char *what = json_string_value(json_object_get(object, "what"));
  cost_source source = what && strcmp(what, classical_what[COST_TOLD]) == 0 ? COST_TOLD : COST_MEASURED;
  return (classical_cost){json_is_number(seconds) ? source : COST_UNKNOWN, json_number_value(seconds),
                          json_number_value(json_object_get(object, "setup_seconds")),
                          json_number_value(json_object_get(object, "coarse_seconds"))};
}

static json_t *restart_json(const restart_cost *c) {
  return json_pack("{s:i, s:[ff], s:[ff], s:f}", "samples", c->samples, "steps", c->steps[0], c->steps[1], "seconds",
                   c->seconds[0], c->seconds[1], "difference", c->difference);
}

dkho_status run_cost_json(const run_cost *c, json_t **out) {
  json_t *classical = NULL;
  double even = c->break_even_solves;
  if (c->classical.source) TRY(classical_json(&c->classical, &classical));
  TRY(hand_out(json_pack("{s:i, s:f, s:o?}", "threads", c->threads, "learned_seconds_per_sample", c->seconds_per_sample,
                         "classical", classical),
               out));
  if (isfinite(c->training_seconds)) json_object_set_new(*out, "training_seconds", json_real(c->training_seconds));
  if (c->restart.samples) json_object_set_new(*out, "newton", restart_json(&c->restart));
  json_object_set_new(*out, "break_even_solves",
                      isfinite(even) ? json_integer((json_int_t)even) : json_string(isnan(even) ? "unknown" : "never"));
  return DKHO_OK;
}

dkho_status cost_report_json(const cost_report *r, json_t **out) {
  json_t *cost;
  TRY(run_cost_json(&r->cost, &cost));
  return hand_out(json_pack("{s:s, s:o, s:o}", "target", r->target, "rows", references_json(&r->rows), "cost", cost),
                  out);
}

static json_t *bench_row_json(const bench_row *r) {
  json_t *row = json_pack("{s:i, s:s, s:I, s:i, s:I}", "threads", r->threads, "engine", r->engine, "parameters",
                          (json_int_t)r->parameters, "turns", r->turns, "train_bytes", (json_int_t)r->train_bytes);
  for (int i = 0; i < BENCH_TASKS; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s_ms", bench_task[i]);
    json_object_set_new(row, name, json_real(r->median_ms[i]));
    snprintf(name, sizeof name, "%s_best_ms", bench_task[i]);
    json_object_set_new(row, name, json_real(r->best_ms[i]));
    snprintf(name, sizeof name, "%s_speedup", bench_task[i]);
    json_object_set_new(row, name, json_real(r->speedup[i]));
  }
  json_object_set_new(row, "train_gflops", json_real(r->train_gflops));
  json_object_set_new(row, "peak_gflops", json_real(r->peak_gflops));
  json_object_set_new(row, "share", json_real(r->share));
  json_object_set_new(row, "task", json_string(r->task));
  json_object_set_new(row, "size", json_string(r->size));
  return row;
}

dkho_status bench_json(const bench_report *r, json_t **out) {
  json_t *rows = json_array();
  for (int i = 0; i < r->count; i++) json_array_append_new(rows, bench_row_json(&r->row[i]));
  return hand_out(
      json_pack("{s:s, s:s, s:s, s:o}", "version", dkho_version(), "commit", DKHO_COMMIT, "isa", r->isa, "rows", rows),
      out);
}

dkho_status scaling_json(const scaling_report *r, json_t **out) {
  json_t *rows = json_array();
  for (int i = 0; i < BENCH_STAGES; i++) {
    const scaling_row *s = &r->row[i];
    json_array_append_new(rows, json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I}", "simplices",
                                          (json_int_t)s->simplices, "batch", (json_int_t)s->batch, "train_ms",
                                          s->train_ms, "train_us_per_simplex", s->train_us, "train_best_us_per_simplex",
                                          s->train_best_us, "processor_us_per_simplex", s->processor_us, "train_bytes",
                                          (json_int_t)s->train_bytes, "held_bytes", (json_int_t)s->held_bytes));
  }
  return hand_out(json_pack("{s:s, s:s, s:i, s:i, s:o}", "version", dkho_version(), "commit", DKHO_COMMIT, "threads",
                            r->threads, "turns", r->turns, "rows", rows),
                  out);
}

static json_t *ranks_measured_json(const ranks_measured *m) {
  return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "batch", m->batch, "alone_best_ms",
                   1e3 * m->alone_best, "together_best_ms", 1e3 * m->together_best, "best_speedup",
                   m->alone_best / m->together_best, "alone_ms", 1e3 * m->alone, "together_ms", 1e3 * m->together,
                   "predicted_ms", 1e3 * m->predicted, "speedup", m->alone / m->together, "communication",
                   m->communication, "messages", m->messages, "bytes", m->bytes);
}

dkho_status ranks_json(const ranks_report *r, json_t **out) {
  json_t *rows = json_array();
  for (int i = 0; i < RANKS_ROWS; i++) {
    const ranks_row *w = &r->row[i];
    json_array_append_new(rows,
                          json_pack("{s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "model", w->model,
                                    "size", w->size, "turns", w->turns, "parameters", (json_int_t)w->parameters,
                                    "simplices", (json_int_t)w->simplices, "sample_ms", 1e3 * w->sample, "fixed_ms",
                                    1e3 * w->fixed, "described_ms", 1e3 * w->described, "share", w->share, "gflops",
                                    w->gflops, "samples", ranks_measured_json(&w->way[RANKS_SAMPLES]), "parts",
                                    ranks_measured_json(&w->way[RANKS_PARTS])));
  }
  return hand_out(json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:o}", "version", dkho_version(),
                            "commit", DKHO_COMMIT, "isa", r->isa, "library", r->library, "problem", r->problem, "ranks",
                            r->ranks, "threads", r->threads, "latency_us", 1e6 * r->latency, "bandwidth_gb_s",
                            1e-9 / r->per_byte, "adding_gb_s", 1e-9 / r->add_per_byte, "peak_gflops", r->peak_gflops,
                            "rows", rows),
                  out);
}
