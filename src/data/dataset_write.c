/* dataset_write.c: declarations, and samples streamed into spools, one per field.
 *
 * A container holds each field contiguously while generators make all fields of a sample at once; the spools stand
 * between the two, and let the scaling numbers be known before the header is written (dataset_commit.c). */
#include "base/rng.h"
#include "data/data_impl.h"
#include "data/proof.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `list` with one more item at its end, moved to a larger place of the arena by doubling. */
static void *grow_in_arena(arena *a, void *list, int count, size_t size) {
  if (count & (count - 1)) return list; /* room is the next power of two */
  void *fresh = arena_take(a, count ? 2 * (size_t)count : 1, size);
  if (fresh && count) memcpy(fresh, list, (size_t)count * size);
  return fresh;
}

int data_writer_find(const dataset_writer *w, const char *name) {
  for (int i = 0; i < w->spec.fields; i++)
    if (strcmp(w->spec.field[i].name, name) == 0) return i;
  return -1;
}

static dkho_status copy_text(arena *a, const char *from, const char **to) {
  *to = arena_strdup(a, from ? from : "");
  return *to ? DKHO_OK : DKHO_E_MEMORY;
}

/* Texts are copied; parameters have to be a JSON object. */
static dkho_status copy_info(dataset_writer *w, const data_info *info) {
  data_info *own = &w->spec.info;
  json_t *params = json_loads(info->params, JSON_REJECT_DUPLICATES, NULL);
  int object = json_is_object(params);
  json_decref(params);
  if (!object) return fail(DKHO_E_INPUT, "parameters: found \"%.80s\", expected a JSON object", info->params);
  own->seed = info->seed;
  TRY(copy_text(&w->mem, info->problem, &own->problem));
  TRY(copy_text(&w->mem, info->generator, &own->generator));
  TRY(copy_text(&w->mem, info->params, &own->params));
  return copy_text(&w->mem, dkho_version(), &w->spec.library);
}

/* The work may take hours: a second process is told at once that it is being done. */
static dkho_status lock_output(dataset_writer *w) {
  size_t room = strlen(w->path) + 8;
  char *name = mem_alloc(room, 1);
  if (!name) return DKHO_E_MEMORY;
  snprintf(name, room, "%s.lock", w->path);
  dkho_status s = lock_take(&w->owned, w->path, name);
  mem_free(name);
  return s;
}

dkho_status dataset_create_shared(dataset_writer **out, const char *path, int force, const data_info *info,
                                  comm *ranks) {
  *out = NULL;
  file_out probe = {0};
  if (ranks->rank == 0) TRY(file_open(&probe, path, force)); /* what cannot be written is known before the work */
  file_abort(&probe);
  dataset_writer *w = mem_alloc(1, sizeof *w);
  if (!w) return DKHO_E_MEMORY;
  w->force = force;
  w->ranks = ranks;
  dkho_status s = copy_info(w, info);
  if (s == DKHO_OK && !(w->path = arena_strdup(&w->mem, path))) s = DKHO_E_MEMORY;
  if (s == DKHO_OK && ranks->rank == 0) s = lock_output(w);
  if (s == DKHO_OK)
    *out = w;
  else
    dataset_abort(w);
  return s;
}

dkho_status dataset_create(dataset_writer **out, const char *path, int force, const data_info *info) {
  return dataset_create_shared(out, path, force, info, comm_serial());
}

void dataset_abort(dataset_writer *w) {
  if (!w) return;
  for (int i = 0; w->spool && i < w->spec.fields; i++) spool_close(&w->spool[i]);
  for (int ci = 0; ci < w->spec.complexes; ci++)
    for (int i = 0; w->part[ci].known && i < w->spec.fields; i++) known_free(&w->part[ci].known[i]);
  lock_release(&w->owned);
  arena_free(&w->mem);
  mem_free(w);
}

dkho_status dataset_put_cx(dataset_writer *w, const cx *c) {
  assert(!w->spooling);
  data_spec *s = &w->spec;
  if (s->complexes == DATA_COMPLEXES_MAX)
    return fail(DKHO_E_INPUT, "%s: more than %d complexes", w->path, DATA_COMPLEXES_MAX);
  if (s->complexes && c->dim != w->part[0].c->dim)
    return fail(DKHO_E_INPUT, "%s: complex %d has dimension %d, the first has %d", w->path, s->complexes, c->dim,
                w->part[0].c->dim);
  data_part *parts = grow_in_arena(&w->mem, w->part, s->complexes, sizeof *parts);
  int64_t *samples = grow_in_arena(&w->mem, s->samples, s->complexes, sizeof *samples);
  const char **hash = grow_in_arena(&w->mem, s->mesh_hash, s->complexes, sizeof *hash);
  if (!parts || !samples || !hash) return DKHO_E_MEMORY;
  w->part = parts, s->samples = samples, s->mesh_hash = hash;
  parts[s->complexes] = (data_part){.c = c};
  samples[s->complexes] = 0;
  if (!ARENA_NEW(&w->mem, parts[s->complexes].fixed, DATA_FIELDS_MAX)) return DKHO_E_MEMORY;
  char hex[33];
  data_mesh_hash(c, hex);
  TRY(copy_text(&w->mem, hex, &hash[s->complexes]));
  s->complexes++;
  return DKHO_OK;
}

dkho_status dataset_put_field(dataset_writer *w, const data_field *f) {
  assert(!w->spooling);
  data_spec *s = &w->spec;
  if (s->fields == DATA_FIELDS_MAX) return fail(DKHO_E_INPUT, "%s: more than %d fields", w->path, DATA_FIELDS_MAX);
  if (data_writer_find(w, f->name) >= 0)
    return fail(DKHO_E_INPUT, "%s: field %s: two fields have this name", w->path, f->name);
  data_field *fresh = grow_in_arena(&w->mem, s->field, s->fields, sizeof *fresh);
  if (!fresh) return DKHO_E_MEMORY;
  s->field = fresh;
  fresh[s->fields] = *f;
  fresh[s->fields].shift = 0, fresh[s->fields].scale = 1;
  TRY(copy_text(&w->mem, f->name, &fresh[s->fields].name));
  s->fields++;
  return DKHO_OK;
}

static dkho_status check_finite(const dataset_writer *w, const char *what, const char *name, int64_t n,
                                const double *v) {
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(v[i]))
      return fail(DKHO_E_NONFINITE, "%s: %s %s: element %lld is not finite", w->path, what, name, (long long)i);
    if (fabs(v[i]) > DATA_STATIC_MAX)
      return fail(DKHO_E_INPUT, "%s: %s %s: element %lld is %g, expected at most %g: its square must fit a float",
                  w->path, what, name, (long long)i, v[i], DATA_STATIC_MAX);
  }
  return DKHO_OK;
}

dkho_status dataset_put_static(dataset_writer *w, int ci, const char *name, const double *data) {
  assert(ci >= 0 && ci < w->spec.complexes);
  int i = data_writer_find(w, name);
  if (i < 0 || w->spec.field[i].role != DATA_STATIC)
    return fail(DKHO_E_INPUT, "%s: no static field is called %.80s", w->path, name);
  const data_field *f = &w->spec.field[i];
  const cx *c = w->part[ci].c;
  if (f->degree < 0 || f->degree > c->dim || f->channels < 1)
    return fail(DKHO_E_INPUT, "%s: static field %s: degree %d on a complex of dimension %d", w->path, name, f->degree,
                c->dim);
  int64_t count = c->n[f->degree] * f->channels;
  TRY(check_finite(w, "static field", name, count, data));
  double *own;
  if (!ARENA_NEW(&w->mem, own, count)) return DKHO_E_MEMORY;
  memcpy(own, data, (size_t)count * sizeof *own);
  w->part[ci].fixed[i] = own;
  return DKHO_OK;
}

dkho_status dataset_put_harmonic(dataset_writer *w, int ci, int degree, int64_t count, const double *columns) {
  assert(ci >= 0 && ci < w->spec.complexes);
  data_part *p = &w->part[ci];
  assert(degree >= 0 && degree <= p->c->dim && count >= 0);
  if (count == 0) return DKHO_OK;
  int64_t n = p->c->n[degree];
  TRY(check_finite(w, "harmonic basis", "", n * count, columns));
  double *own;
  if (!ARENA_NEW(&w->mem, own, n * count)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < count; j++) own[i * count + j] = columns[j * n + i];
  p->harmonic[degree] = own;
  p->harmonics[degree] = count;
  return DKHO_OK;
}

dkho_status dataset_put_table(dataset_writer *w, const feat_table *t) {
  feat_row *row;
  feat_summary *entry;
  if (!ARENA_NEW(&w->mem, row, t->rows + 1) || !ARENA_NEW(&w->mem, entry, t->summaries + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < t->rows; i++) {
    row[i] = t->row[i];
    TRY(copy_text(&w->mem, t->row[i].name, &row[i].name));
    TRY(copy_text(&w->mem, t->row[i].expr, &row[i].expr));
  }
  for (int i = 0; i < t->summaries; i++) {
    TRY(copy_text(&w->mem, t->summary[i].name, &entry[i].name));
    TRY(copy_text(&w->mem, t->summary[i].expr, &entry[i].expr));
  }
  w->spec.table = (feat_table){t->rows, t->summaries, row, entry};
  w->table_set = 1;
  return DKHO_OK;
}

dkho_status dataset_put_recipe(dataset_writer *w, const data_recipe *r) {
  data_spec *s = &w->spec;
  data_recipe *fresh = grow_in_arena(&w->mem, s->recipe, s->recipes, sizeof *fresh);
  if (!fresh) return DKHO_E_MEMORY;
  s->recipe = fresh;
  fresh[s->recipes] = *r;
  TRY(copy_text(&w->mem, r->target, &fresh[s->recipes].target));
  TRY(copy_text(&w->mem, r->options, &fresh[s->recipes].options));
  TRY(copy_text(&w->mem, r->metrics, &fresh[s->recipes].metrics));
  s->recipes++;
  return DKHO_OK;
}

dkho_status dataset_put_known(dataset_writer *w, const data_known *k) {
  assert(!w->spooling);
  data_spec *s = &w->spec;
  data_known *fresh = grow_in_arena(&w->mem, s->known, s->knowns, sizeof *fresh);
  if (!fresh) return DKHO_E_MEMORY;
  s->known = fresh;
  TRY(known_copy(&w->mem, k, &fresh[s->knowns]));
  s->knowns++;
  return DKHO_OK;
}

static dkho_status find_known_of(known_rows *out, const data_spec *s, const data_part *p, int target) {
  int k = s->field[target].degree;
  known_world w = {p->c, s->fields, s->field, (const double *const *)p->fixed, p->harmonics[k], p->harmonic[k]};
  return known_find(out, &w, target, s->knowns, s->known);
}

/* Which rows are given, on every complex. */
static dkho_status find_known(dataset_writer *w) {
  const data_spec *s = &w->spec;
  for (int ci = 0; s->knowns && ci < s->complexes; ci++) {
    data_part *p = &w->part[ci];
    if (!ARENA_NEW(&w->mem, p->known, s->fields)) return DKHO_E_MEMORY;
    for (int i = 0; i < s->fields; i++)
      if (s->field[i].role == DATA_TARGET) TRY(find_known_of(&p->known[i], s, p, i));
  }
  return DKHO_OK;
}

/* The targets of a block hold what is said of them. */
static dkho_status check_known(const dataset_writer *w, int ci, int64_t count, const void *const *block) {
  const data_spec *spec = &w->spec;
  const data_part *p = &w->part[ci];
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  for (int64_t s = 0; p->known && s < count; s++) {
    int b = 0, ins = 0, globals = 0;
    for (int i = 0; i < spec->fields; i++) {
      if (spec->field[i].role == DATA_STATIC) continue;
      int64_t at = s * data_extent(w, i, ci);
      if (spec->field[i].role == DATA_INPUT) in[ins++] = (const float *)block[b] + at;
      if (spec->field[i].role == DATA_GLOBAL) global[globals++] = (const double *)block[b] + at;
      b++;
    }
    for (int i = b = 0; i < spec->fields; i++) {
      if (spec->field[i].role == DATA_STATIC) continue;
      if (known_any(&p->known[i]))
        TRY(known_agree(&p->known[i], p->c, &spec->field[i], w->total + s, in, global,
                        (const float *)block[b] + s * data_extent(w, i, ci)));
      b++;
    }
  }
  return DKHO_OK;
}

/* The declarations are complete: check them before any sample is computed in vain. */
static dkho_status start(dataset_writer *w) {
  if (w->spec.complexes == 0) return fail(DKHO_E_INPUT, "%s: a data set needs a complex", w->path);
  if (!w->table_set) return fail(DKHO_E_INPUT, "%s: a data set needs a table of descriptors", w->path);
  dkho_status s = spec_check(&w->spec, w->part[0].c->dim);
  if (s == DKHO_OK) s = find_known(w);
  if (s != DKHO_OK) return fail_prefix(s, "%s", w->path);
  spool *list;
  if (!ARENA_NEW(&w->mem, list, w->spec.fields)) return DKHO_E_MEMORY;
  for (int i = 0; i < w->spec.fields; i++) list[i] = (spool){.fd = -1};
  w->spool = list;
  for (int i = 0; i < w->spec.fields; i++)
    if (w->spec.field[i].role != DATA_STATIC) TRY(spool_open(&list[i], w->path));
  w->spooling = 1;
  return DKHO_OK;
}

static dkho_status finite_block(const dataset_writer *w, const data_field *f, int64_t per, int64_t count,
                                const void *block) {
  const float *single = block;
  const double *pair = block;
  for (int64_t i = 0; i < per * count; i++)
    if (!isfinite(f->role == DATA_GLOBAL ? pair[i] : (double)single[i]))
      return fail(DKHO_E_NONFINITE, "%s: field %s: sample %lld: element %lld is not finite", w->path, f->name,
                  (long long)(w->total + i / per), (long long)(i % per));
  return DKHO_OK;
}

/* The next samples are this rank's. */
static dkho_status extend_runs(dataset_writer *w, int64_t count, int rank) {
  if (w->runs == 0 || w->run[w->runs - 1].rank != rank) {
    data_run *fresh = grow_in_arena(&w->mem, w->run, w->runs, sizeof *fresh);
    if (!fresh) return DKHO_E_MEMORY;
    w->run = fresh;
    fresh[w->runs++] = (data_run){.first = w->total, .before = w->own, .rank = rank};
  }
  w->run[w->runs - 1].count += count;
  if (rank == w->ranks->rank) w->own += count;
  w->total += count;
  return DKHO_OK;
}

dkho_status dataset_skip(dataset_writer *w, int64_t count, int rank) {
  assert(w->spec.complexes == 1 && rank != w->ranks->rank);
  if (!w->spooling) TRY(start(w));
  w->spec.samples[0] += count;
  return extend_runs(w, count, rank);
}

dkho_status dataset_append(dataset_writer *w, int ci, int64_t count, const void *const *block) {
  assert(ci >= 0 && ci < w->spec.complexes && count >= 0);
  if (!w->spooling) TRY(start(w));
  for (int i = ci + 1; i < w->spec.complexes; i++) assert(w->spec.samples[i] == 0);
  for (int i = 0, b = 0; i < w->spec.fields; i++) {
    const data_field *f = &w->spec.field[i];
    if (f->role == DATA_STATIC) continue;
    int64_t per = data_extent(w, i, ci);
    TRY(finite_block(w, f, per, count, block[b]));
    TRY(spool_write(&w->spool[i], block[b++], (size_t)(per * count) * data_width(f)));
  }
  TRY(check_known(w, ci, count, block));
  w->spec.samples[ci] += count;
  return extend_runs(w, count, w->ranks->rank);
}

static int ascending_samples(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

void data_sort_samples(int64_t count, int64_t *sample) {
  qsort(sample, (size_t)count, sizeof *sample, ascending_samples);
}

dkho_status dataset_split_list(dataset_writer *w, data_split s, int64_t count, const int64_t *sample) {
  int64_t *own;
  if (!ARENA_NEW(&w->mem, own, count + 1)) return DKHO_E_MEMORY;
  if (count) memcpy(own, sample, (size_t)count * sizeof *own);
  data_sort_samples(count, own);
  w->split[s] = own;
  w->splits[s] = count;
  return DKHO_OK;
}

void data_split_order(uint64_t seed, int64_t samples, int64_t *order) {
  rng r = rng_open(seed, RNG_SPLIT, 0);
  rng_permute(&r, order, samples);
}

dkho_status dataset_split_random(dataset_writer *w, uint64_t seed, int64_t train, int64_t val, int64_t test) {
  int64_t *order, sizes[DATA_SPLITS] = {train, val, test};
  if (train < 0 || val < 0 || test < 0 || train > w->total || val > w->total || test > w->total ||
      train + val + test > w->total)
    return fail(DKHO_E_INPUT, "%s: split %lld + %lld + %lld of %lld samples", w->path, (long long)train, (long long)val,
                (long long)test, (long long)w->total);
  if (!ARENA_NEW(&w->mem, order, w->total + 1)) return DKHO_E_MEMORY;
  data_split_order(seed, w->total, order);
  for (int i = 0; i < DATA_SPLITS; order += sizes[i++]) TRY(dataset_split_list(w, (data_split)i, sizes[i], order));
  return DKHO_OK;
}
