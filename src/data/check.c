/* check.c: see check.h. */
#include "data/check.h"

#include "base/finite.h"
#include "base/st.h"
#include "data/spec.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 10, TEXT_MAX = 512 }; /* of one kind of finding, the rest is counted; bytes of a text */

/* As JSON: names of files, and messages that quote or cut, may hold bytes that it has no place for. */
static json_t *readable(const char *text) {
  char *copy = mem_strdup(text);
  if (!copy) return NULL;
  st_mend_utf8(copy);
  json_t *out = json_string(copy);
  mem_free(copy);
  return out;
}

static void append(json_t *list, const char *fmt, va_list args) {
  char text[TEXT_MAX];
  vsnprintf(text, sizeof text, fmt, args);
  json_array_append_new(list, readable(text));
}
void findings_warn(findings *f, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  append(f->warnings, fmt, args);
  va_end(args);
}
void findings_error(findings *f, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  append(f->errors, fmt, args);
  va_end(args);
}

static int is_listed(const json_t *list, const json_t *text) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (json_equal(json_array_get(list, i), text)) return 1;
  return 0;
}

dkho_status findings_note(findings *f, dkho_status s) {
  if (s == DKHO_OK || !f || s == DKHO_E_MEMORY) return s;
  json_t *text = readable(fail_text());
  if (text && !is_listed(f->errors, text)) json_array_append(f->errors, text);
  json_decref(text);
  return DKHO_OK;
}

/* ---- samples ---- */

/* The inputs of a sample in short. */
typedef struct fingerprint {
  char hash[33];
  int64_t sample;
  int split; /* -1: none */
} fingerprint;

typedef struct scan {
  findings *f;
  const sample_source *s;
  const void **value;
  int64_t *count;
  void **first;      /* of each field: the values of sample 0 */
  uint8_t *varies;   /* the field is not always that of sample 0 */
  int64_t *bad;      /* samples with values that are not finite */
  int64_t *disagree; /* samples whose target is not what is known of it */
  uint8_t *differs;  /* [input][target]: not the same numbers in every sample */
  fingerprint *print;
  arena mem;
} scan;

static size_t width_of(const data_field *f) {
  return f->role == DATA_GLOBAL ? sizeof(double) : sizeof(float);
}
static int is_read(const sample_source *s, int i) {
  return s->field[i].role != DATA_STATIC && !(s->missing && s->missing[i]);
}
static int is_input(const sample_source *s, int i) {
  return is_read(s, i) && s->field[i].role != DATA_TARGET;
}

static dkho_status look_at_field(scan *c, int64_t sample, int i) {
  const data_field *f = &c->s->field[i];
  const void *v = c->value[i];
  int64_t n = c->count[i], until = f->role == DATA_GLOBAL ? finite_until_f64(v, n) : finite_until_f32(v, n);
  size_t bytes = (size_t)n * width_of(f);
  if (until < n && !c->bad[i]++)
    findings_error(c->f, "field %s: sample %lld: element %lld is not finite", f->name, (long long)sample,
                   (long long)until);
  if (sample == 0) {
    if (!(c->first[i] = arena_take(&c->mem, bytes + 1, 1))) return DKHO_E_MEMORY;
    memcpy(c->first[i], v, bytes);
  }
  c->varies[i] |= c->first[i] && memcmp(c->first[i], v, bytes) != 0;
  for (int t = 0; f->role == DATA_INPUT && t < c->s->fields; t++) {
    int same = is_read(c->s, t) && c->s->field[t].role == DATA_TARGET && c->s->field[t].degree == f->degree &&
               c->count[t] == n && memcmp(v, c->value[t], bytes) == 0;
    c->differs[i * c->s->fields + t] |= !same;
  }
  return DKHO_OK;
}

static void look_at_known(scan *c, int64_t sample, int i) {
  const cx *mesh = NULL;
  const known_rows *k = c->s->known ? c->s->known(c->s->ctx, sample, i, &mesh) : NULL;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  int ins = 0, globals = 0;
  if (!k || !known_any(k)) return;
  for (int j = 0; j < c->s->fields; j++) {
    if (c->s->field[j].role == DATA_INPUT) in[ins++] = c->value[j];
    if (c->s->field[j].role == DATA_GLOBAL) global[globals++] = c->value[j];
  }
  if (known_agree(k, mesh, &c->s->field[i], sample, in, global, c->value[i]) == DKHO_OK) return;
  if (!c->disagree[i]++) findings_error(c->f, "%s", fail_text());
}

static void take_fingerprint(scan *c, int64_t sample) {
  char all[DATA_FIELDS_MAX > 64 ? 64 * 33 : DATA_FIELDS_MAX * 33] = "";
  size_t used = 0;
  for (int i = 0; i < c->s->fields; i++) {
    char hash[33];
    if (!is_input(c->s, i)) continue;
    st_hash_bytes(c->value[i], (size_t)c->count[i] * width_of(&c->s->field[i]), hash);
    if (used + 33 > sizeof all) { /* many fields: fold what there is */
      st_hash_bytes(all, used, all);
      used = 32;
    }
    memcpy(all + used, hash, 32);
    used += 32;
  }
  st_hash_bytes(all, used, c->print[sample].hash);
  c->print[sample].sample = sample;
}

static int by_hash(const void *a, const void *b) {
  const fingerprint *x = a, *y = b;
  int order = strcmp(x->hash, y->hash);
  return order ? order : (x->sample > y->sample) - (x->sample < y->sample);
}

/* Equal inputs stand side by side now. */
static void report_twins(scan *c) {
  int64_t n = c->s->samples, leaks = 0, twins = 0;
  qsort(c->print, (size_t)n, sizeof *c->print, by_hash);
  for (int64_t i = 0, j; i < n; i = j)
    for (j = i + 1; j < n && strcmp(c->print[i].hash, c->print[j].hash) == 0; j++) {
      const fingerprint *a = &c->print[i], *b = &c->print[j];
      twins++;
      if (a->split == b->split || a->split < 0 || b->split < 0) continue;
      if (leaks++ < LISTED)
        findings_error(c->f, "leak: sample %lld (%s) has the same inputs as sample %lld (%s)", (long long)b->sample,
                       data_split_name((data_split)b->split), (long long)a->sample,
                       data_split_name((data_split)a->split));
    }
  if (leaks > LISTED) findings_error(c->f, "leak: %lld more such pairs", (long long)(leaks - LISTED));
  if (twins > leaks)
    findings_warn(c->f, "%lld samples repeat the inputs of another in their split", (long long)(twins - leaks));
}

static void report_fields(scan *c) {
  const sample_source *s = c->s;
  for (int i = 0; i < s->fields; i++) {
    if (!is_read(s, i)) continue;
    if (c->bad[i] > 1)
      findings_error(c->f, "field %s: %lld samples hold values that are not finite", s->field[i].name,
                     (long long)c->bad[i]);
    if (c->disagree[i] > 1)
      findings_error(c->f, "known: target %s: %lld samples differ from what is said to be known", s->field[i].name,
                     (long long)c->disagree[i]);
    if (s->samples > 1 && !c->varies[i])
      findings_warn(c->f, "field %s: the same in every sample%s", s->field[i].name,
                    s->field[i].role == DATA_TARGET ? ": there is nothing to learn" : ", so it tells nothing");
    for (int t = 0; s->field[i].role == DATA_INPUT && t < s->fields; t++)
      if (is_read(s, t) && s->field[t].role == DATA_TARGET && !c->differs[i * s->fields + t])
        findings_error(c->f, "leak: input %s is the target %s in every sample", s->field[i].name, s->field[t].name);
  }
}

static void mark_splits(scan *c) {
  for (int64_t i = 0; i < c->s->samples; i++) c->print[i].split = -1;
  for (int k = 0; k < DATA_SPLITS; k++)
    for (int64_t i = 0; c->s->split[k] && i < c->s->splits[k]; i++) c->print[c->s->split[k][i]].split = k;
  if (!c->s->split[DATA_TRAIN]) return;
  int64_t used = 0;
  for (int k = 0; k < DATA_SPLITS; k++) {
    used += c->s->splits[k];
    if (k != DATA_TRAIN && !c->s->splits[k])
      findings_warn(c->f, "split %s is empty: %s", data_split_name((data_split)k),
                    k == DATA_VAL ? "training has nothing to select a model by"
                                  : "there is nothing to judge a model by");
  }
  if (used < c->s->samples)
    findings_warn(c->f, "%lld of %lld samples are in no split", (long long)(c->s->samples - used),
                  (long long)c->s->samples);
}

static dkho_status take_room(scan *c) {
  int64_t n = c->s->fields;
  return ARENA_NEW(&c->mem, c->value, n) && ARENA_NEW(&c->mem, c->count, n) && ARENA_NEW(&c->mem, c->first, n) &&
                 ARENA_NEW(&c->mem, c->varies, n) && ARENA_NEW(&c->mem, c->bad, n) &&
                 ARENA_NEW(&c->mem, c->disagree, n) && ARENA_NEW(&c->mem, c->differs, n * n) &&
                 ARENA_NEW(&c->mem, c->print, c->s->samples)
             ? DKHO_OK
             : DKHO_E_MEMORY;
}

dkho_status scan_samples(findings *f, const sample_source *source) {
  scan c = {.f = f, .s = source};
  dkho_status s = take_room(&c);
  int inputs = 0;
  for (int i = 0; i < source->fields; i++) inputs += is_input(source, i);
  for (int64_t k = 0; s == DKHO_OK && k < source->samples; k++) {
    s = source->read(source->ctx, k, c.value, c.count);
    for (int i = 0; s == DKHO_OK && i < source->fields; i++) {
      if (is_read(source, i)) s = look_at_field(&c, k, i);
      if (s == DKHO_OK && is_read(source, i)) look_at_known(&c, k, i);
    }
    if (s == DKHO_OK) take_fingerprint(&c, k);
  }
  if (s == DKHO_OK) {
    report_fields(&c);
    mark_splits(&c);
    if (inputs) report_twins(&c);
  }
  arena_free(&c.mem);
  return s;
}

/* ---- a data set ---- */

typedef struct set_reader {
  const dataset *d;
  known_rows *known; /* [complex][field] */
  cx **own;          /* per complex, NULL for the first */
} set_reader;

static dkho_status read_set(void *ctx, int64_t sample, const void **value, int64_t *count) {
  const set_reader *r = ctx;
  int ci;
  int64_t row;
  dataset_locate(r->d, sample, &ci, &row);
  for (int i = 0; i < dataset_fields(r->d); i++) {
    const data_field *f = &dataset_field(r->d)[i];
    if (f->role == DATA_STATIC) continue;
    value[i] = f->role == DATA_GLOBAL ? (const void *)dataset_global(r->d, i, sample) : dataset_value(r->d, i, sample);
    count[i] = (f->role == DATA_GLOBAL ? 1 : dataset_count(r->d, ci, f->degree)) * f->channels;
  }
  return DKHO_OK;
}

static const known_rows *set_known(void *ctx, int64_t sample, int i, const cx **c) {
  const set_reader *r = ctx;
  int ci;
  int64_t row;
  dataset_locate(r->d, sample, &ci, &row);
  *c = r->own[ci] ? r->own[ci] : dataset_cx(r->d, 0);
  return &r->known[ci * dataset_fields(r->d) + i];
}

static dkho_status find_set_known(set_reader *r, findings *f) {
  const dataset *d = r->d;
  for (int ci = 0; ci < dataset_complexes(d); ci++) {
    if (ci) TRY(dataset_load_cx(d, ci, &r->own[ci]));
    for (int i = 0; i < dataset_fields(d); i++)
      if (dataset_field(d)[i].role == DATA_TARGET)
        TRY(findings_note(f, dataset_known(d, i, ci, &r->known[ci * dataset_fields(d) + i])));
  }
  return DKHO_OK;
}

static dkho_status check_set(const char *path, findings *f, int64_t *samples) {
  dataset *d = NULL;
  dkho_status s = dataset_open(&d, path);
  if (s != DKHO_OK) return findings_note(f, s);
  set_reader r = {.d = d};
  int64_t complexes = dataset_complexes(d), fields = dataset_fields(d);
  sample_source source = {.samples = *samples = dataset_samples(d),
                          .fields = (int)fields,
                          .field = dataset_field(d),
                          .read = read_set,
                          .ctx = &r};
  for (int k = 0; k < DATA_SPLITS; k++) source.split[k] = dataset_split(d, (data_split)k, &source.splits[k]);
  if (!MEM_NEW(r.known, complexes * fields) || !MEM_NEW(r.own, complexes)) s = DKHO_E_MEMORY;
  json_t *known = dataset_known_json(d);
  if (s == DKHO_OK && json_array_size(known)) {
    source.known = set_known;
    s = find_set_known(&r, f);
  }
  json_decref(known);
  if (s == DKHO_OK) s = scan_samples(f, &source);
  for (int64_t i = 0; r.known && i < complexes * fields; i++) known_free(&r.known[i]);
  for (int64_t i = 0; r.own && i < complexes; i++) cx_free(r.own[i]);
  mem_free(r.known);
  mem_free(r.own);
  dataset_free(d);
  return s;
}

/* ---- ---- */

/* A container begins with the length of its header, and a specification with a brace: it is text. */
static dkho_status looks_like_spec(const char *path, int *is) {
  file_map m;
  size_t at = 0;
  TRY(file_map_open(&m, path));
  while (at < m.size && at < 64 && m.bytes[at] && strchr(" \t\r\n", m.bytes[at])) at++;
  *is = at < m.size && (m.bytes[at] == '{' || m.bytes[at] == '[') && !(m.size > 8 && memchr(m.bytes, 0, 8));
  file_map_close(&m);
  return DKHO_OK;
}

dkho_status data_check(const char *path, const import_hooks *hooks, json_t **out) {
  int spec;
  int64_t samples = 0;
  *out = NULL;
  TRY(looks_like_spec(path, &spec));
  findings f = {json_array(), json_array()};
  dkho_status s = spec ? import_check(path, hooks, &f, &samples) : check_set(path, &f, &samples);
  if (s == DKHO_OK && !(*out = json_pack("{s:o, s:s, s:I, s:O, s:O}", "path", readable(path), "kind",
                                         spec ? "specification" : "dataset", "samples", (json_int_t)samples, "errors",
                                         f.errors, "warnings", f.warnings)))
    s = fail(DKHO_E_MEMORY, "no memory for a JSON object");
  json_decref(f.errors);
  json_decref(f.warnings);
  return s;
}
