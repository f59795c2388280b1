/* known.c: see known.h; text is known_json.c's business, periods are known_periods.c's. */
#include "data/known_impl.h"

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

int known_field(int fields, const data_field *field, const char *name) {
  for (int i = 0; i < fields; i++)
    if (strcmp(field[i].name, name) == 0) return i;
  return -1;
}

/* A static with one column for each number of the global, and a target of one channel. */
static dkho_status check_factors(const data_known *k, int i, int fields, const data_field *field,
                                 const data_field *global, const data_field *target) {
  int at = known_field(fields, field, k->fixed);
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
  int at = known_field(fields, field, k->field);
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

static dkho_status check_periods(const data_known *k, int i, const data_field *target) {
  if (target->degree < 1 || target->channels != 1)
    return fail(DKHO_E_INPUT,
                "known[%d].of: target '%s' has degree %d and %d channels; periods are of one channel on edges or faces",
                i, k->target, target->degree, target->channels);
  if (k->source == KNOWN_GLOBAL && !k->fixed)
    return fail(DKHO_E_INPUT, "known[%d].global: periods need a static beside it", i);
  return DKHO_OK;
}

dkho_status known_check(const data_known *k, int i, int fields, const data_field *field) {
  int at = known_field(fields, field, k->target);
  if (at < 0 || field[at].role != DATA_TARGET)
    return fail(DKHO_E_INPUT, "known[%d].target: no target is called '%.60s'", i, k->target);
  if (!k->labels) TRY(check_periods(k, i, &field[at]));
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
int known_position(const data_field *field, int at) {
  int n = 0;
  for (int i = 0; i < at; i++) n += field[i].role == field[at].role;
  return n;
}

/* Row j is Σ_i global_i static_i. */
static dkho_status fill_factors(known_rows *out, int64_t j, const data_known *k, int fields, const data_field *field,
                                const double *const *array) {
  int fixed = known_field(fields, field, k->fixed), n = field[fixed].channels;
  double *factor;
  if (!array[fixed]) return fail(DKHO_E_INPUT, "static field %s has no values", k->fixed);
  if (!ARENA_NEW(&out->mem, factor, n)) return DKHO_E_MEMORY;
  memcpy(factor, array[fixed] + (int64_t)out->row[j] * n, (size_t)n * sizeof *factor);
  out->place[j] = (known_place){known_position(field, known_field(fields, field, k->field)), 1, 0, 0, n, factor};
  return DKHO_OK;
}

static void fill_row(known_rows *out, int64_t j, const data_known *k, int fields, const data_field *field) {
  int at = k->field ? known_field(fields, field, k->field) : -1, list = at >= 0 ? known_position(field, at) : 0;
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

/* Row after row, once their number is known. */
static dkho_status fill_rows(known_rows *out, const known_world *w, const int32_t *label, const int *entry,
                             const data_known *list) {
  dkho_status s = DKHO_OK;
  for (int64_t i = 0, j = 0; s == DKHO_OK && j < out->count; i++) {
    if (entry[label[i]] < 0) continue;
    const data_known *k = &list[entry[label[i]]];
    out->row[j] = (int32_t)i;
    if (k->fixed)
      s = fill_factors(out, j, k, w->fields, w->field, w->array);
    else
      fill_row(out, j, k, w->fields, w->field);
    j++;
  }
  return s;
}

static dkho_status find_rows(known_rows *out, const known_world *w, int target, int count, const data_known *list) {
  const data_field *t = &w->field[target];
  const int32_t *label = w->c->label[t->degree];
  int *entry;
  if (!w->c->labels) return map_labels(w->c, t, count, list, NULL);
  if (!MEM_NEW(entry, w->c->labels)) return DKHO_E_MEMORY;
  dkho_status s = map_labels(w->c, t, count, list, entry);
  for (int64_t i = 0; s == DKHO_OK && label && i < w->c->n[t->degree]; i++) out->count += entry[label[i]] >= 0;
  if (s == DKHO_OK && out->count &&
      (!ARENA_NEW(&out->mem, out->row, out->count) || !ARENA_NEW(&out->mem, out->place, out->count * t->channels)))
    s = DKHO_E_MEMORY;
  if (s == DKHO_OK && out->count) s = fill_rows(out, w, label, entry, list);
  mem_free(entry);
  return s;
}

/* The entry for the target's periods, -1: there is none. */
static int find_periods_entry(const char *target, int count, const data_known *list) {
  for (int i = 0; i < count; i++)
    if (!list[i].labels && strcmp(list[i].target, target) == 0) return i;
  return -1;
}

int known_needs_harmonic(const char *target, int count, const data_known *list) {
  return find_periods_entry(target, count, list) >= 0;
}

dkho_status known_find(known_rows *out, const known_world *w, int target, int count, const data_known *list) {
  const data_field *t = &w->field[target];
  *out = (known_rows){.channels = t->channels};
  if (!count) return DKHO_OK;
  int periods = find_periods_entry(t->name, count, list);
  dkho_status s = find_rows(out, w, target, count, list);
  if (s == DKHO_OK && periods >= 0)
    s = out->count ? fail(DKHO_E_INPUT,
                          "known[%d].of: values of '%s' are known by label, too; only one of them can hold exactly",
                          periods, t->name)
                   : known_find_periods(out, w, target, &list[periods]);
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
  known_impose_periods(k, in, global, field);
}

dkho_status known_agree(const known_rows *k, const cx *c, const data_field *target, int64_t sample,
                        const float *const *in, const double *const *global, const float *y) {
  double most = 0;
  if (k->periods) return known_periods_agree(k, target, sample, in, global, y);
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
