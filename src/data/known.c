/* known.c: see known.h. */
#include "data/known.h"

#include "data/spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_CONSTANT = -1 };
typedef struct known_place {
  int list, global; /* position in in[] or global[]; PLACE_CONSTANT: `value` */
  int64_t at;       /* in that array */
  float value;
  int factors;          /* > 0: as many numbers from there on, */
  const double *factor; /* times these, added up */
} known_place;

/* ---- JSON ---- */

static dkho_status read_labels(json_t *o, const char *where, arena *mem, data_known *k) {
  json_t *v = json_object_get(o, "label"), *one = json_is_array(v) ? json_array_get(v, 0) : v;
  size_t count = json_is_array(v) ? json_array_size(v) : 1;
  if (!json_is_string(one) || count > KNOWN_LABELS_MAX)
    return fail(DKHO_E_FORMAT, "%s.label: expected the name of a label, or a list of names", where);
  if (!ARENA_NEW(mem, k->label, count)) return DKHO_E_MEMORY;
  for (k->labels = 0; k->labels < (int)count; k->labels++) {
    json_t *name = json_is_array(v) ? json_array_get(v, (size_t)k->labels) : v;
    if (!json_is_string(name)) return fail(DKHO_E_FORMAT, "%s.label[%d]: expected text", where, k->labels);
    if (!(k->label[k->labels] = arena_strdup(mem, json_string_value(name)))) return DKHO_E_MEMORY;
  }
  return DKHO_OK;
}

static dkho_status read_constant(json_t *v, const char *where, arena *mem, data_known *k) {
  size_t count = json_is_array(v) ? json_array_size(v) : 1;
  double *value;
  if (count < 1 || count > DATA_CHANNELS_MAX)
    return fail(DKHO_E_FORMAT, "%s.value: %zu numbers, expected 1 to %d", where, count, DATA_CHANNELS_MAX);
  if (!ARENA_NEW(mem, value, count)) return DKHO_E_MEMORY;
  for (size_t i = 0; i < count; i++) {
    json_t *x = json_is_array(v) ? json_array_get(v, i) : v;
    if (!json_is_number(x) || !isfinite((float)json_number_value(x)))
      return fail(DKHO_E_FORMAT, "%s.value: expected a finite number, or a list of them", where);
    value[i] = json_number_value(x);
  }
  k->source = KNOWN_CONSTANT, k->values = (int)count, k->value = value;
  return DKHO_OK;
}

static dkho_status read_entry(json_t *o, const char *where, arena *mem, data_known *k) {
  static const char *const keys[] = {"target", "label", "value", "input", "global", "component", "static"};
  static const int64_t all = -1;
  json_t *value, *input, *global;
  int64_t component;
  TRY(spec_keys(o, where, 7, keys));
  TRY(spec_text(o, where, "target", NULL, mem, &k->target));
  TRY(read_labels(o, where, mem, k));
  value = json_object_get(o, "value"), input = json_object_get(o, "input"), global = json_object_get(o, "global");
  if (!value + !input + !global != 2)
    return fail(DKHO_E_FORMAT, "%s: expected one of value, input, global: where the numbers come from", where);
  TRY(spec_int(o, where, "component", &all, value ? -1 : 0, value ? -1 : DATA_CHANNELS_MAX - 1, &component));
  k->component = (int)component;
  if (json_object_get(o, "static")) {
    if (!global || component >= 0)
      return fail(DKHO_E_FORMAT, "%s.static: expected beside global, without component", where);
    TRY(spec_text(o, where, "static", NULL, mem, &k->fixed));
  }
  if (value) return read_constant(value, where, mem, k);
  k->source = input ? KNOWN_INPUT : KNOWN_GLOBAL;
  return spec_text(o, where, input ? "input" : "global", NULL, mem, &k->field);
}

dkho_status known_read(json_t *root, const char *where, arena *mem, int *count, data_known **out) {
  json_t *list;
  *count = 0;
  TRY(spec_array(root, where, "known", 0, KNOWN_MAX, &list));
  if (!ARENA_NEW(mem, *out, json_array_size(list) + 1)) return DKHO_E_MEMORY;
  for (size_t i = 0; i < json_array_size(list); i++) {
    char at[32];
    snprintf(at, sizeof at, "known[%zu]", i);
    TRY(read_entry(json_array_get(list, i), at, mem, &(*out)[i]));
    ++*count;
  }
  return DKHO_OK;
}

json_t *known_json(int count, const data_known *list) {
  json_t *all = json_array();
  for (int i = 0; i < count; i++) {
    const data_known *k = &list[i];
    json_t *labels = json_array(), *value = json_array();
    for (int j = 0; j < k->labels; j++) json_array_append_new(labels, json_string(k->label[j]));
    for (int j = 0; j < k->values; j++) json_array_append_new(value, json_real(k->value[j]));
    json_t *o = json_pack("{s:s, s:o}", "target", k->target, "label", labels);
    if (k->source == KNOWN_CONSTANT)
      json_object_set(o, "value", value);
    else
      json_object_set_new(o, k->source == KNOWN_INPUT ? "input" : "global", json_string(k->field));
    if (k->component >= 0) json_object_set_new(o, "component", json_integer(k->component));
    if (k->fixed) json_object_set_new(o, "static", json_string(k->fixed));
    json_decref(value);
    json_array_append_new(all, o);
  }
  return all;
}

/* By way of JSON: one place knows what an entry holds. */
dkho_status known_copy(arena *mem, const data_known *from, data_known *to) {
  int count;
  data_known *made = NULL;
  json_t *root = json_pack("{s:o}", "known", known_json(1, from));
  dkho_status s = root ? known_read(root, "known", mem, &count, &made) : fail(DKHO_E_MEMORY, "no memory for JSON");
  json_decref(root);
  if (s == DKHO_OK) *to = *made;
  return s;
}

/* ---- checks ---- */

static int find_field(int fields, const data_field *field, const char *name) {
  for (int i = 0; i < fields; i++)
    if (strcmp(field[i].name, name) == 0) return i;
  return -1;
}

/* A static with one column for each number of the global, and a target of one channel. */
static dkho_status check_factors(const data_known *k, int i, int fields, const data_field *field,
                                 const data_field *global, const data_field *target) {
  int at = find_field(fields, field, k->fixed);
  if (at < 0 || field[at].role != DATA_STATIC)
    return fail(DKHO_E_INPUT, "known[%d].static: no static is called '%.60s'", i, k->fixed);
  if (field[at].degree != target->degree)
    return fail(DKHO_E_INPUT, "known[%d].static: '%s' has degree %d, the target '%s' has %d", i, k->fixed,
                field[at].degree, target->name, target->degree);
  if (field[at].channels != global->channels || target->channels != 1)
    return fail(
        DKHO_E_INPUT,
        "known[%d].static: '%s' has %d channels, '%s' %d, the target %d; expected as many of the first two, and 1", i,
        k->fixed, field[at].channels, k->field, global->channels, target->channels);
  return DKHO_OK;
}

static dkho_status check_source(const data_known *k, int i, int fields, const data_field *field,
                                const data_field *target) {
  int at = find_field(fields, field, k->field);
  data_role role = k->source == KNOWN_INPUT ? DATA_INPUT : DATA_GLOBAL;
  if (at < 0 || field[at].role != role)
    return fail(DKHO_E_INPUT, "known[%d].%s: no %s is called '%.60s'", i, data_role_name(role), data_role_name(role),
                k->field);
  if (role == DATA_INPUT && field[at].degree != target->degree)
    return fail(DKHO_E_INPUT, "known[%d].input: '%s' has degree %d, the target '%s' has %d", i, k->field,
                field[at].degree, target->name, target->degree);
  if (k->component >= field[at].channels)
    return fail(DKHO_E_INPUT, "known[%d].component: found %d, '%s' has %d", i, k->component, k->field,
                field[at].channels);
  if (k->fixed) return check_factors(k, i, fields, field, &field[at], target);
  if (k->component < 0 && field[at].channels != target->channels)
    return fail(DKHO_E_INPUT,
                "known[%d]: '%s' has %d channels, the target '%s' has %d; \"component\" says which one is meant", i,
                k->field, field[at].channels, target->name, target->channels);
  return DKHO_OK;
}

dkho_status known_check(const data_known *k, int i, int fields, const data_field *field) {
  int at = find_field(fields, field, k->target);
  if (at < 0 || field[at].role != DATA_TARGET)
    return fail(DKHO_E_INPUT, "known[%d].target: no target is called '%.60s'", i, k->target);
  if (k->source != KNOWN_CONSTANT) return check_source(k, i, fields, field, &field[at]);
  if (k->values != 1 && k->values != field[at].channels)
    return fail(DKHO_E_INPUT, "known[%d].value: %d numbers, the target '%s' has %d channels", i, k->values, k->target,
                field[at].channels);
  return DKHO_OK;
}

/* ---- on a complex ---- */

static int label_of(const cx *c, const char *name) {
  for (int l = 0; l < c->labels; l++)
    if (strcmp(c->label_name[l], name) == 0) return l;
  return -1;
}

/* entry[l] ← the first entry of the target that names label l, -1: none does. */
static dkho_status map_labels(const cx *c, const data_field *target, int count, const data_known *list, int *entry) {
  int k = target->degree;
  for (int l = 0; l < c->labels; l++) entry[l] = -1;
  for (int i = 0; i < count; i++) {
    if (strcmp(list[i].target, target->name) != 0) continue;
    for (int j = 0; j < list[i].labels; j++) {
      int l = label_of(c, list[i].label[j]);
      int64_t some = 0;
      for (int64_t r = 0; l >= 0 && c->label[k] && r < c->n[k] && !some; r++) some = c->label[k][r] == l;
      if (!some)
        return fail(DKHO_E_INPUT, "known[%d].label: the mesh has no '%.60s' on simplices of degree %d", i,
                    list[i].label[j], k);
      if (entry[l] < 0) entry[l] = i;
    }
  }
  return DKHO_OK;
}

/* How many fields of this role come before it. */
static int position_among(const data_field *field, int at) {
  int n = 0;
  for (int i = 0; i < at; i++) n += field[i].role == field[at].role;
  return n;
}

/* Row j is Σ_i global_i static_i. */
static dkho_status fill_factors(known_rows *out, int64_t j, const data_known *k, int fields, const data_field *field,
                                const double *const *array) {
  int fixed = find_field(fields, field, k->fixed), n = field[fixed].channels;
  double *factor;
  if (!array[fixed]) return fail(DKHO_E_INPUT, "static field %s has no values", k->fixed);
  if (!ARENA_NEW(&out->mem, factor, n)) return DKHO_E_MEMORY;
  memcpy(factor, array[fixed] + (int64_t)out->row[j] * n, (size_t)n * sizeof *factor);
  out->place[j] = (known_place){position_among(field, find_field(fields, field, k->field)), 1, 0, 0, n, factor};
  return DKHO_OK;
}

static void fill_row(known_rows *out, int64_t j, const data_known *k, int fields, const data_field *field) {
  int at = k->field ? find_field(fields, field, k->field) : -1, list = at >= 0 ? position_among(field, at) : 0;
  for (int c = 0; c < out->channels; c++) {
    known_place *p = &out->place[j * out->channels + c];
    int64_t from = k->component >= 0 ? k->component : c;
    if (k->source == KNOWN_CONSTANT)
      *p = (known_place){.list = PLACE_CONSTANT, .value = (float)k->value[k->values > 1 ? c : 0]};
    else if (k->source == KNOWN_GLOBAL)
      *p = (known_place){.list = list, .global = 1, .at = from};
    else
      *p = (known_place){.list = list, .at = (int64_t)out->row[j] * field[at].channels + from};
  }
}

dkho_status known_find(known_rows *out, const cx *c, int fields, const data_field *field, const double *const *array,
                       int target, int count, const data_known *list) {
  const data_field *t = &field[target];
  int *entry;
  *out = (known_rows){.channels = t->channels};
  if (!count || !c->labels) return count ? map_labels(c, t, count, list, NULL) : DKHO_OK;
  if (!MEM_NEW(entry, c->labels)) return DKHO_E_MEMORY;
  dkho_status s = map_labels(c, t, count, list, entry);
  const int32_t *label = c->label[t->degree];
  for (int64_t i = 0; s == DKHO_OK && label && i < c->n[t->degree]; i++) out->count += entry[label[i]] >= 0;
  if (s == DKHO_OK && out->count &&
      (!ARENA_NEW(&out->mem, out->row, out->count) || !ARENA_NEW(&out->mem, out->place, out->count * t->channels)))
    s = DKHO_E_MEMORY;
  if (s != DKHO_OK) out->count = 0;
  for (int64_t i = 0, j = 0; s == DKHO_OK && label && j < out->count; i++) {
    if (entry[label[i]] < 0) continue;
    const data_known *k = &list[entry[label[i]]];
    out->row[j] = (int32_t)i;
    if (k->fixed)
      s = fill_factors(out, j, k, fields, field, array);
    else
      fill_row(out, j, k, fields, field);
    j++;
  }
  mem_free(entry);
  if (s != DKHO_OK) known_free(out);
  return s;
}

void known_free(known_rows *k) {
  arena_free(&k->mem);
  *k = (known_rows){0};
}

float known_value(const known_rows *k, int64_t i, const float *const *in, const double *const *global) {
  const known_place *p = &k->place[i];
  double sum = 0;
  if (p->list == PLACE_CONSTANT) return p->value;
  for (int j = 0; j < p->factors; j++) sum += p->factor[j] * global[p->list][j];
  if (p->factors) return (float)sum;
  return p->global ? (float)global[p->list][p->at] : in[p->list][p->at];
}

void known_impose(const known_rows *k, const float *const *in, const double *const *global, float *field) {
  for (int64_t j = 0; j < k->count; j++)
    for (int c = 0; c < k->channels; c++)
      field[(int64_t)k->row[j] * k->channels + c] = known_value(k, j * k->channels + c, in, global);
}

dkho_status known_agree(const known_rows *k, const cx *c, const data_field *target, int64_t sample,
                        const float *const *in, const double *const *global, const float *y) {
  double most = 0;
  for (int64_t i = 0; k->count && i < c->n[target->degree] * k->channels; i++) most = fmax(most, fabs((double)y[i]));
  for (int64_t i = 0; i < k->count * k->channels; i++) {
    int64_t row = k->row[i / k->channels];
    double found = (double)y[row * k->channels + i % k->channels], given = (double)known_value(k, i, in, global);
    if (!(fabs(found - given) <= 1e-3 * most))
      return fail(DKHO_E_INPUT,
                  "known: label '%s': target '%s' of sample %lld is %g on simplex %lld, where it is said to be %g",
                  c->label_name[c->label[target->degree][row]], target->name, (long long)sample, found, (long long)row,
                  given);
  }
  return DKHO_OK;
}
