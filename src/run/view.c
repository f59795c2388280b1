/* view.c: complexes as an operator sees them, made on demand. A view holds no buffers; a cache keeps a few that nobody holds, so that
 * a data set of a thousand complexes needs the memory of some. Making one takes no lock; two threads that miss the same view make it
 * twice, and one copy is thrown away. */
#include "run/view_impl.h"

#include "base/seal.h"
#include "data/proof.h"
#include "dec/proof.h"

#include <stdio.h>
#include <string.h>

enum { VIEWS_KEPT = 1 }; /* beside those that are held: batches of many complexes hardly meet one again in time */

static void view_free(complex_view *v) {
  if (!v) return;
  tape_free(v->t);
  features_free(v->f);
  geometry_free(v->g);
  known_free(&v->known);
  dec_free(v->metric);
  cx_free(v->own);
  mem_free(v);
}

/* Row-major n × count as the column-major basis that geometry wants. */
static dkho_status column_basis(dec_basis *b, int64_t n, int64_t count, const double *rows) {
  b->n = n, b->count = count;
  if (!MEM_NEW(b->vec, n * count)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < count; j++) b->vec[j * n + i] = rows[i * count + j];
  return DKHO_OK;
}

static dkho_status copy_basis(dec_basis *b, const dec_basis *from) {
  *b = (dec_basis){.n = from->n, .count = from->count};
  if (!MEM_NEW(b->vec, b->n * b->count)) return DKHO_E_MEMORY;
  memcpy(b->vec, from->vec, (size_t)(b->n * b->count) * sizeof *b->vec);
  return DKHO_OK;
}

static dkho_status find_basis(const neural_operator *o, const complex_view *v, const dec *metric, dec_basis *b) {
  int k = operator_target(o)->degree, unit = metric->metric == DEC_UNIT;
  char name[64];
  snprintf(name, sizeof name, "c%d/%s%d", v->complex, unit ? "harmonic" : "hodge_harmonic", k);
  if (o->packed.harmonic[k].count && unit) return copy_basis(b, &o->packed.harmonic[k]);
  const st_tensor *t = st_find(o->source, name);
  if (!t) return dec_harmonic(metric, k, b);
  int64_t n = v->c->n[k];
  if (t->dtype != ST_F64 || t->rank != 2 || t->shape[0] != (uint64_t)n || t->shape[1] > (uint64_t)n)
    return fail(DKHO_E_FORMAT, "%s: tensor '%s' is not a table of doubles with %lld rows", st_path(o->source), name,
                (long long)n);
  if (!o->d) TRY(st_need_finite(o->source, t));
  TRY(column_basis(b, n, (int64_t)t->shape[1], t->data));
  if (o->d && unit) return DKHO_OK; /* proven when the data set was opened */
  dkho_status s = dec_basis_prove(metric, o->source, name, k, b);
  if (s != DKHO_OK) dec_basis_free(b);
  return s;
}

dkho_status view_basis(const neural_operator *o, const complex_view *v, dec_basis *b) {
  return find_basis(o, v, v->metric, b);
}

/* The harmonic fields that known periods are made of, those of the unit metric whatever the model's, by rows. */
static dkho_status period_basis(const neural_operator *o, const complex_view *v, int64_t *count, double **rows) {
  dec *unit = NULL;
  dec_basis b = {0};
  *count = 0, *rows = NULL;
  if (!known_needs_harmonic(operator_target(o)->name, o->spec.knowns, o->spec.known)) return DKHO_OK;
  dkho_status s = dec_create(&unit, v->c, DEC_UNIT);
  if (s == DKHO_OK) s = find_basis(o, v, unit, &b);
  if (s == DKHO_OK && b.count && !MEM_NEW(*rows, b.n * b.count)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK && b.count) dec_basis_rows(&b, *count = b.count, *rows);
  dec_basis_free(&b);
  dec_free(unit);
  return s;
}

/* Whose descriptor rows the model reads on this complex. */
static const char *reader_of(const neural_operator *o, const complex_view *v) {
  model_setup s = o->setup;
  s.gdim = v->c->gdim;
  return s.m->reader ? s.m->reader(&s) : NULL;
}

/* The statics in the source, by field. */
static dkho_status find_statics(const neural_operator *o, const complex_view *v, const double **array) {
  for (int f = 0; f < o->spec.fields; f++) {
    const data_field *field = &o->spec.field[f];
    if (field->role != DATA_STATIC) continue;
    if (o->packed.fixed) {
      array[f] = o->packed.fixed[f];
      continue;
    }
    char name[ST_NAME_MAX + 1];
    const st_tensor *t;
    int64_t shape[2] = {v->c->n[field->degree], field->channels};
    snprintf(name, sizeof name, "c%d/static/%s", v->complex, field->name);
    TRY(st_need(o->source, name, ST_F64, 2, shape, &t));
    if (!o->d) TRY(data_prove_static(o->source, t)); /* a data set has proven its own */
    array[f] = t->data;
  }
  return DKHO_OK;
}

/* What is given, and its geometry. */
static dkho_status view_known(const neural_operator *o, complex_view *v, const double *const *array) {
  double *harmonic;
  known_world w = {.c = v->c, .fields = o->spec.fields, .field = o->spec.field, .array = array};
  dkho_status s = period_basis(o, v, &w.harmonics, &harmonic);
  w.harmonic = harmonic;
  if (s == DKHO_OK) s = known_find(&v->known, &w, o->target, o->spec.knowns, o->spec.known);
  mem_free(harmonic);
  v->g->givens = v->known.count, v->g->given = v->known.row;
  return s == DKHO_OK ? geometry_keep_periods(v->g, operator_target(o)->degree, v->known.periods, v->known.basis) : s;
}

/* The compiled descriptors and the given values. */
static dkho_status view_features(const neural_operator *o, complex_view *v) {
  const data_spec *spec = &o->spec;
  const double **array;
  if (!MEM_NEW(array, spec->fields)) return DKHO_E_MEMORY;
  dkho_status s = find_statics(o, v, array);
  if (s == DKHO_OK) s = view_known(o, v, array);
  if (s == DKHO_OK)
    s = features_create_for(&v->f, &spec->table, reader_of(o, v), v->c, spec->fields, spec->field, array, o->profile,
                            o->modes);
  mem_free(array);
  return s;
}

/* The complex: the data set's first, the one made again for a packed file, or read from the file. */
static dkho_status view_complex(const neural_operator *o, complex_view *v) {
  char prefix[32];
  if (o->packed.c || (o->d && v->complex == 0)) {
    v->c = o->d ? dataset_cx(o->d, 0) : o->packed.c;
    return DKHO_OK;
  }
  snprintf(prefix, sizeof prefix, "c%d/", v->complex);
  TRY(cx_get(&v->own, o->source, prefix));
  v->c = v->own;
  return DKHO_OK;
}

/* Calculus, basis, geometry, descriptors, given values. β is the first complex's, and the others must agree. */
static dkho_status view_fill(const neural_operator *o, complex_view *v, int64_t *beta) {
  int degree = operator_target(o)->degree;
  dec_basis basis = {0};
  TRY(view_complex(o, v));
  TRY(dec_create(&v->metric, v->c, o->setup.metric));
  if (o->harmonic) TRY(view_basis(o, v, &basis));
  *beta = basis.count;
  dkho_status s = geometry_create(&v->g, v->metric, o->setup.degrees - 1, degree, basis.count ? &basis : NULL);
  dec_basis_free(&basis);
  TRY(s);
  return view_features(o, v);
}

/* A view with one holder. beta: harmonic fields of the target's degree on this complex. */
static dkho_status view_new(const neural_operator *o, int complex, complex_view **out, int64_t *beta) {
  complex_view *v;
  *out = NULL;
  if (!MEM_NEW(v, 1)) return DKHO_E_MEMORY;
  v->complex = complex;
  v->holders = 1;
  dkho_status s = view_fill(o, v, beta);
  if (s == DKHO_OK)
    *out = v;
  else
    view_free(v);
  return s;
}

/* ---- the cache; all under its lock ---- */

static complex_view *cache_find(neural_operator *o, int complex) {
  complex_view *v = o->cache.first;
  while (v && v->complex != complex) v = v->next;
  if (v) v->holders++, v->used = ++o->cache.clock;
  return v;
}

static void cache_add(neural_operator *o, complex_view *v) {
  v->used = ++o->cache.clock;
  v->next = o->cache.first;
  o->cache.first = v;
}

/* Frees what nobody holds but the VIEWS_KEPT used last. */
static void cache_trim(neural_operator *o) {
  for (;;) {
    int idle = 0;
    complex_view **oldest = NULL;
    for (complex_view **at = &o->cache.first; *at; at = &(*at)->next) {
      if ((*at)->holders) continue;
      idle++;
      if (!oldest || (*at)->used < (*oldest)->used) oldest = at;
    }
    if (idle <= VIEWS_KEPT) return;
    complex_view *gone = *oldest;
    *oldest = gone->next;
    view_free(gone);
  }
}

void view_cache_close(neural_operator *o) {
  while (o->cache.first) {
    complex_view *v = o->cache.first;
    o->cache.first = v->next;
    view_free(v);
  }
  pthread_mutex_destroy(&o->cache.lock);
}

/* ---- ---- */

dkho_status view_prepare(neural_operator *o) {
  complex_view *v;
  int64_t beta;
  TRY(view_new(o, 0, &v, &beta));
  o->setup.harmonic = (int)beta;
  cache_add(o, v);
  o->first = v;
  return DKHO_OK;
}

static dkho_status record_view(const neural_operator *o, complex_view *v) {
  model_view seen = {v->c, v->metric, v->g, v->f, NULL};
  return model_record(&o->setup, o->p, &seen, &v->t, &v->net);
}

dkho_status view_record(neural_operator *o) {
  complex_view *v = o->cache.first; /* the only one yet */
  TRY(record_view(o, v));
  return tape_mark_live(v->t, v->net.loss, o->p);
}

/* A view that is not the first: it must fit the model as declared. */
static dkho_status view_fits(const neural_operator *o, const complex_view *v, int64_t beta) {
  int64_t expected = o->setup.harmonic;
  if (o->harmonic && o->setup.summary > 0 && beta != expected)
    return fail(DKHO_E_INPUT,
                "complex %d has %lld harmonic fields of degree %d, complex 0 has %lld: one model cannot serve both",
                v->complex, (long long)beta, o->setup.target, (long long)expected);
  return DKHO_OK;
}

/* A view that fits the model, with its tape recorded. Complexes of one model have as many harmonic fields where the model's head needs them. */
static dkho_status make_view(const neural_operator *o, int complex, complex_view **out) {
  int64_t beta;
  complex_view *v;
  TRY(view_new(o, complex, &v, &beta));
  dkho_status s = view_fits(o, v, beta);
  if (s == DKHO_OK) s = record_view(o, v);
  if (s == DKHO_OK)
    *out = v;
  else
    view_free(v);
  return s;
}

/* The cache is no part of what an operator is: const callers may share it. */
static neural_operator *unlocked(const neural_operator *o) {
  union {
    const neural_operator *from;
    neural_operator *to;
  } u = {o};
  return u.to;
}

dkho_status operator_hold(const neural_operator *shared, int complex, const complex_view **out) {
  neural_operator *o = unlocked(shared);
  complex_view *made = NULL;
  *out = NULL;
  pthread_mutex_lock(&o->cache.lock);
  complex_view *v = cache_find(o, complex);
  pthread_mutex_unlock(&o->cache.lock);
  if (!v) {
    TRY(make_view(o, complex, &made));
    pthread_mutex_lock(&o->cache.lock);
    v = cache_find(o, complex); /* somebody else may have been faster */
    if (!v) {
      cache_add(o, v = made);
      made = NULL;
    }
    pthread_mutex_unlock(&o->cache.lock);
    view_free(made);
  }
  *out = v;
  return DKHO_OK;
}

void operator_release(const neural_operator *shared, const complex_view *held) {
  neural_operator *o = unlocked(shared);
  if (!held) return;
  pthread_mutex_lock(&o->cache.lock);
  for (complex_view *v = o->cache.first; v; v = v->next)
    if (v == held) v->holders--;
  cache_trim(o);
  pthread_mutex_unlock(&o->cache.lock);
}

dkho_status view_check_complexes(neural_operator *o, int *dim) {
  if (o->packed.c) {
    *dim = o->packed.c->dim;
    return DKHO_OK;
  }
  for (int i = 0; i < o->complexes; i++) {
    complex_view v = {.complex = i};
    TRY(view_complex(o, &v));
    int found = v.c->dim;
    cx_free(v.own);
    if (i == 0) *dim = found;
    if (found != *dim) return fail(DKHO_E_FORMAT, "complex %d has dimension %d, the first has %d", i, found, *dim);
  }
  return DKHO_OK;
}
