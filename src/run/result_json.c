/* result_json.c: see result_json.h. */
#include "run/result_json.h"

#include <math.h>

/* null where there is nothing to say. */
static json_t *figure_json(double v) {
  return isfinite(v) ? json_real(v) : json_null();
}

json_t *score_json(const score_result *r, int each) {
  json_t *values = json_object(), *counted = json_object();
  for (int i = 0; i < r->count; i++) {
    json_object_set_new(values, r->info[i].key, figure_json(r->value[i]));
    json_object_set_new(counted, r->info[i].key, json_integer((json_int_t)r->counted[i]));
  }
  json_t *out = json_pack("{s:I, s:o, s:o}", "samples", (json_int_t)r->samples, "metrics", values, "counted", counted);
  if (!each || !out) return out;
  json_t *list = json_array();
  for (int64_t i = 0; i < r->samples; i++) json_array_append_new(list, figure_json(r->each[i]));
  json_object_set_new(out, "rel_l2_each", list);
  return out;
}

static json_t *reference_json(const reference_row *r) {
  json_t *row = score_json(&r->found, 0);
  json_object_set_new(row, "name", json_string(r->name));
  json_object_set_new(row, "what", json_string(r->what));
  if (!r->fitted) return row;
  if (r->lambda > 0) json_object_set_new(row, "lambda", json_real(r->lambda));
  if (r->length > 0) json_object_set_new(row, "length", json_real(r->length));
  json_object_set_new(row, "inputs", json_integer((json_int_t)r->inputs));
  if (r->width) {
    json_object_set_new(row, "components", json_integer((json_int_t)r->components));
    json_object_set_new(row, "width", json_integer((json_int_t)r->width));
  }
  json_object_set_new(row, "val_rel_l2", json_real(r->val_rel_l2));
  json_object_set_new(row, "seconds", json_real(r->seconds));
  return row;
}

json_t *references_json(const references *r) {
  json_t *rows = json_array();
  for (int i = 0; i < r->count; i++)
    if (json_array_append_new(rows, reference_json(&r->row[i])) != 0) {
      json_decref(rows);
      return NULL;
    }
  return rows;
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
