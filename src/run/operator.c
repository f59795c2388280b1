/* operator.c: making, loading, saving operators. */
#include "run/operator.h"

#include "base/seal.h"
#include "nn/state.h"
#include "run/view_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void operator_free(neural_operator *o) {
  if (!o) return;
  view_cache_close(o);
  params_free(o->p);
  mem_free(o->value);
  st_close(o->own_source);
  packed_free(&o->packed);
  arena_free(&o->mem);
  mem_free(o);
}

const data_field *operator_target(const neural_operator *o) {
  return &o->spec.field[o->target];
}

int64_t operator_extent(const neural_operator *o, const complex_view *v) {
  return v->c->n[operator_target(o)->degree] * operator_target(o)->channels;
}

/* Coefficients a of the scaled target (w - shift)/scale, or Q a. */
static void given_periods(const known_rows *k, const data_field *t, const float *const *in, const double *const *global,
                          int spread, real *out) {
  double a[KNOWN_PERIODS_MAX];
  known_periods(k, in, global, a);
  for (int64_t i = 0; i < k->n && t->shift != 0; i++)
    for (int64_t j = 0; j < k->periods; j++) a[j] -= k->basis[i * k->periods + j] * t->shift;
  for (int64_t j = 0; j < k->periods && !spread; j++) out[j] = (real)(a[j] / t->scale);
  for (int64_t i = 0; i < k->n && spread; i++) {
    double sum = 0;
    for (int64_t j = 0; j < k->periods; j++) sum += k->basis[i * k->periods + j] * a[j];
    out[i] = (real)(sum / t->scale);
  }
}

void operator_given(const neural_operator *o, const complex_view *v, const float *const *in,
                    const double *const *global, int spread, real *out) {
  const data_field *t = operator_target(o);
  const known_rows *k = &v->known;
  if (k->periods) {
    given_periods(k, t, in, global, spread, out);
    return;
  }
  if (spread) memset(out, 0, (size_t)operator_extent(o, v) * sizeof *out);
  for (int64_t i = 0; i < k->count * k->channels; i++) {
    int64_t at = spread ? (int64_t)k->row[i / k->channels] * k->channels + i % k->channels : i;
    out[at] = (real)(((double)known_value(k, i, in, global) - t->shift) / t->scale);
  }
}

/* Widths and counts from the first complex. */
static dkho_status fill_setup(neural_operator *o, const complex_view *v) {
  model_setup *m = &o->setup;
  m->gdim = v->c->gdim;
  for (int k = 0; k < CX_DEGREES; k++) m->n[k] = v->c->n[k];
  for (int k = 0; k < m->degrees; k++) {
    m->features[k] = features_width(v->f, k);
    if (m->features[k] == 0)
      return fail(DKHO_E_INPUT,
                  "the data set describes no input of degree %d, which the model needs for a target of degree %d", k,
                  m->target);
  }
  m->summary = features_summary_width(v->f);
  if (m->summary == 0) m->harmonic = 0; /* the branch reads the summary alone */
  return DKHO_OK;
}

/* Fills in what the first complex decides, declares the parameters, records it. weights NULL, or the file that they will be read
 * from: what it does not hold is not made room for. */
static dkho_status build_model(neural_operator *o, int dim, const st_file *weights) {
  const data_field *target = operator_target(o);
  o->setup.target = target->degree;
  o->setup.channels = target->channels;
  o->setup.dim = dim;
  o->setup.degrees = o->setup.m->degrees(dim, target->degree);
  TRY(view_prepare(o));
  TRY(fill_setup(o, o->first));
  TRY(model_params(&o->setup, &o->p));
  if (weights) TRY(state_check(weights, o->p, "w/"));
  TRY(view_record(o));
  return params_slab(o->p, &o->value);
}

/* An operator with nothing but the description of its data; source is borrowed (own_source makes a
 * model file the operator's). */
static dkho_status open_source(neural_operator **out, const st_file *source, neural_operator **made) {
  *out = NULL;
  neural_operator *o = mem_alloc(1, sizeof *o);
  if (!o) return DKHO_E_MEMORY;
  pthread_mutex_init(&o->cache.lock, NULL);
  o->source = source;
  const char *text = NULL;
  dkho_status s = st_need_meta(source, "dkho.dataset", &text);
  if (s == DKHO_OK && !(o->spec_text = arena_strdup(&o->mem, text))) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) s = spec_read(&o->spec, &o->mem, o->spec_text);
  if (s != DKHO_OK) {
    operator_free(o);
    return s;
  }
  *made = o;
  return DKHO_OK;
}

dkho_status operator_create(neural_operator **out, const dataset *d, const operator_request *r) {
  neural_operator *o = NULL;
  TRY(open_source(out, dataset_file(d), &o));
  o->d = d;
  o->target = r->target;
  o->setup = r->setup;
  o->profile = r->profile;
  o->modes = r->modes;
  o->harmonic = r->harmonic && r->setup.m->harmonic;
  o->complexes = dataset_complexes(d);
  dkho_status s = build_model(o, dataset_dim(d), NULL);
  if (s == DKHO_OK && !(o->training = arena_strdup(&o->mem, "{}"))) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) {
    params_init(o->p, r->seed, o->value);
    *out = o;
  } else
    operator_free(o);
  return s;
}

/* ---- model files ---- */

static json_t *config_json(const neural_operator *o) {
  const model_setup *m = &o->setup;
  return json_pack("{s:s, s:s, s:o, s:s, s:s, s:i, s:i, s:f, s:I}", "model", m->m->name, "target",
                   operator_target(o)->name, "options", options_json(m->m->option, m->option), "metric",
                   dec_metric_name(m->metric), "profile", feat_profile_name(o->profile), "modes", o->modes, "harmonic",
                   m->harmonic, "loss_eps", m->loss_eps, "parameters", (json_int_t)o->p->total);
}

/* Complexes, statics and bases are the source's tensors "cN/…" without its samples. */
static int belongs(const char *name) {
  size_t digits = name[0] == 'c' ? strspn(name + 1, "0123456789") : 0;
  if (!digits || name[1 + digits] != '/') return 0;
  const char *rest = name + 2 + digits;
  return strncmp(rest, "in/", 3) != 0 && strncmp(rest, "target/", 7) != 0 && strncmp(rest, "hodge_", 6) != 0;
}

/* A basis in the hodge metric is no part of a data set, so the model file keeps it. */
static int keeps_bases(const neural_operator *o) {
  return o->setup.metric == DEC_HODGE && o->setup.harmonic;
}

/* Tensors in the order in which write_operator gives their values: what the source says of complexes and statics, bases in the model's own
 * metric (n × β), weights. */
static dkho_status declare_operator(const neural_operator *o, st_writer *w) {
  for (int i = 0; i < st_count(o->source); i++) {
    const st_tensor *t = st_at(o->source, i);
    if (belongs(t->name)) TRY(st_declare(w, t->name, t->dtype, t->rank, t->shape));
  }
  for (int i = 0; i < o->complexes && keeps_bases(o); i++) {
    char name[64];
    const complex_view *v;
    TRY(operator_hold(o, i, &v));
    uint64_t shape[2] = {(uint64_t)v->c->n[o->setup.target], (uint64_t)o->setup.harmonic};
    operator_release(o, v);
    snprintf(name, sizeof name, "c%d/hodge_harmonic%d", i, o->setup.target);
    TRY(st_declare(w, name, ST_F64, 2, shape));
  }
  return state_declare(w, o->p, "w/");
}

/* The harmonic basis of complex i by rows, as files keep it; bases are stored by columns. */
static dkho_status write_basis(const neural_operator *o, int i, st_writer *w) {
  const complex_view *v;
  dec_basis b = {0};
  TRY(operator_hold(o, i, &v));
  dkho_status s = view_basis(o, v, &b);
  for (int64_t r = 0; s == DKHO_OK && r < b.n; r++)
    for (int64_t j = 0; s == DKHO_OK && j < b.count; j++) s = st_write(w, &b.vec[j * b.n + r], sizeof(double));
  dec_basis_free(&b);
  operator_release(o, v);
  return s;
}

static dkho_status write_operator(const neural_operator *o, st_writer *w, const real *weights) {
  for (int i = 0; i < st_count(o->source); i++) {
    const st_tensor *t = st_at(o->source, i);
    if (belongs(t->name)) TRY(st_write(w, t->data, (size_t)t->count * st_dtype_size(t->dtype)));
  }
  for (int i = 0; i < o->complexes && keeps_bases(o); i++) TRY(write_basis(o, i, w));
  return state_write(w, o->p, weights);
}

/* topology: that of a packed file, else NULL. */
static dkho_status put_metas(const neural_operator *o, const char *training, const char *topology, st_writer *w) {
  json_t *config = config_json(o);
  char *text = config ? json_dumps(config, JSON_REAL_PRECISION(17)) : NULL;
  json_decref(config);
  dkho_status s = text ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a model's description");
  if (s == DKHO_OK) s = st_seal(w);
  if (s == DKHO_OK) s = st_put_meta(w, "dkho.kind", "model");
  if (s == DKHO_OK) s = st_put_meta(w, "dkho.version", dkho_version());
  if (s == DKHO_OK) s = st_put_meta(w, "dkho.model", text);
  if (s == DKHO_OK) s = st_put_meta(w, "dkho.training", training);
  if (s == DKHO_OK) s = st_put_meta(w, "dkho.dataset", o->spec_text);
  if (s == DKHO_OK && topology) s = st_put_meta(w, "dkho.topology", topology);
  free(text);
  return s;
}

/* A packed operator stays packed: its projections are copied like the parts of others. */
dkho_status operator_save(const neural_operator *o, const real *weights, const char *path, int force) {
  st_writer *w = NULL;
  TRY(st_create(&w, path, force));
  dkho_status s = put_metas(o, o->training, o->packed.fixed ? st_meta(o->source, "dkho.topology") : NULL, w);
  if (s == DKHO_OK) s = declare_operator(o, w);
  if (s == DKHO_OK) s = write_operator(o, w, weights ? weights : o->value);
  if (s == DKHO_OK) return st_commit(w);
  st_abort(w);
  return s;
}

dkho_status operator_pack(const neural_operator *o, const char *training, const char *path, int force) {
  char topology[33];
  if (o->packed.fixed || o->complexes != 1)
    return fail(DKHO_E_INPUT, "a model file is packed from a self-contained one, on one complex");
  packed_topology(o->first->c, topology);
  st_writer *w = NULL;
  TRY(st_create(&w, path, force));
  dkho_status s = put_metas(o, training, topology, w);
  if (s == DKHO_OK) s = packed_declare_checks(o->source, w);
  if (s == DKHO_OK) s = state_declare(w, o->p, "w/");
  if (s == DKHO_OK) s = packed_write_checks(o->source, w);
  if (s == DKHO_OK) s = state_write(w, o->p, o->value);
  if (s == DKHO_OK) return st_commit(w);
  st_abort(w);
  return s;
}

/* The file's name before what is wrong with it, once. */
static dkho_status name_file(dkho_status s, const char *path) {
  return strncmp(fail_text(), path, strlen(path)) == 0 ? s : fail_prefix(s, "%s", path);
}

/* Reads the "dkho.model" object; the name of the target is taken from mem. */
static dkho_status read_request(json_t *j, arena *mem, operator_request *r, const char **target) {
  static const char *const where = "dkho.model";
  const char *name, *metric, *profile;
  const model_type *m;
  int64_t modes, beta;
  TRY(spec_text(j, where, "model", NULL, mem, &name));
  TRY(model_find(name, &m));
  TRY(model_choose(&r->setup, m, NULL, NULL, NULL));
  options_defaults(m->option, r->setup.option); /* what a file does not name is as it was before there was a choice */
  json_t *options = json_object_get(j, "options");
  TRY(options_read(where, m->option, r->setup.option, options ? options : j));
  TRY(spec_text(j, where, "target", NULL, mem, target));
  TRY(spec_text(j, where, "metric", NULL, mem, &metric));
  TRY(spec_text(j, where, "profile", NULL, mem, &profile));
  TRY(spec_int(j, where, "modes", NULL, 1, DATA_CHANNELS_MAX, &modes));
  TRY(spec_int(j, where, "harmonic", NULL, 0, 1 << 20, &beta));
  TRY(spec_number(j, where, "loss_eps", NULL, &r->setup.loss_eps));
  TRY(dec_metric_parse(metric, &r->setup.metric));
  TRY(feat_profile_parse(profile, &r->profile));
  r->modes = (int)modes;
  r->harmonic = beta > 0;
  return DKHO_OK;
}

static dkho_status read_model_text(const st_file *f, arena *mem, operator_request *r, const char **target) {
  json_error_t error;
  const char *text;
  TRY(st_need_meta(f, "dkho.model", &text));
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!j) return fail(DKHO_E_FORMAT, "dkho.model: %s", error.text);
  dkho_status s =
      json_is_object(j) ? read_request(j, mem, r, target) : fail(DKHO_E_FORMAT, "dkho.model: not a JSON object");
  json_decref(j);
  return s;
}

dkho_status operator_asked(const st_file *f, operator_request *out) {
  arena mem = {0};
  const char *target;
  *out = (operator_request){0};
  dkho_status s = read_model_text(f, &mem, out, &target);
  arena_free(&mem);
  return s == DKHO_OK ? s : name_file(s, st_path(f));
}

/* What the model file says of the operator. */
static dkho_status read_config(neural_operator *o) {
  operator_request r = {0};
  const char *target;
  TRY(read_model_text(o->source, &o->mem, &r, &target));
  o->setup = r.setup, o->profile = r.profile, o->modes = r.modes, o->harmonic = r.harmonic;
  for (o->target = 0; o->target < o->spec.fields; o->target++)
    if (strcmp(o->spec.field[o->target].name, target) == 0 && o->spec.field[o->target].role == DATA_TARGET)
      return DKHO_OK;
  return fail(DKHO_E_FORMAT, "dkho.model: target '%s' is no target of its fields", target);
}

/* The complex and what belongs to it, made again and compared with what the file remembers. */
static dkho_status rebuild(neural_operator *o, packed_maker maker, const char *topology) {
  char hex[33], *hash = arena_take(&o->mem, 33, 1);
  if (!hash) return DKHO_E_MEMORY;
  if (!maker || o->spec.complexes != 1)
    return fail(DKHO_E_INPUT, "is a packed model, which cannot be used here (%d complexes)", o->spec.complexes);
  TRY(maker(&o->spec, &o->packed));
  packed_topology(o->packed.c, hex);
  if (strcmp(hex, topology) != 0)
    return fail(DKHO_E_INPUT,
                "the mesh of '%s' made here (topology %s) is not the one the model was trained on (%.40s)",
                o->spec.info.problem, hex, topology);
  TRY(packed_verify(&o->packed, &o->spec, o->source));
  data_mesh_hash(o->packed.c, hash); /* that of data sets made here, should the last bits of positions differ */
  o->spec.mesh_hash[0] = hash;
  return DKHO_OK;
}

/* Fills an operator from its model file. maker makes what a packed file leaves out. The parameters follow from options and descriptors; the
 * weights in the file have to fit them. */
static dkho_status load_model(neural_operator *o, packed_maker maker) {
  const char *kind, *training;
  int dim;
  TRY(st_need_meta(o->source, "dkho.kind", &kind));
  if (strcmp(kind, "model") != 0) return fail(DKHO_E_FORMAT, "is a %s, not a model", kind);
  TRY(st_need_meta(o->source, "dkho.training", &training));
  if (!(o->training = arena_strdup(&o->mem, training))) return DKHO_E_MEMORY;
  TRY(read_config(o));
  const char *topology = st_meta(o->source, "dkho.topology");
  if (topology) TRY(rebuild(o, maker, topology));
  o->complexes = o->spec.complexes;
  TRY(view_check_complexes(o, &dim));
  TRY(spec_check(&o->spec, dim));
  TRY(build_model(o, dim, o->source));
  return state_read(o->source, o->p, "w/", o->value);
}

dkho_status operator_load(neural_operator **out, const char *path, packed_maker maker) {
  st_file *file = NULL;
  neural_operator *o = NULL;
  *out = NULL;
  TRY(st_open(&file, path));
  dkho_status s = open_source(out, file, &o);
  if (s != DKHO_OK) {
    st_close(file);
    return name_file(s, path);
  }
  o->own_source = file;
  s = load_model(o, maker);
  if (s == DKHO_OK)
    *out = o;
  else
    operator_free(o);
  return s == DKHO_OK ? s : name_file(s, path);
}

dkho_status operator_matches(const neural_operator *o, const dataset *d) {
  if (dataset_complexes(d) != o->complexes)
    return fail(DKHO_E_INPUT, "%s: has %d complexes, the model %d", st_path(dataset_file(d)), dataset_complexes(d),
                o->complexes);
  for (int i = 0; i < o->complexes; i++)
    if (strcmp(dataset_mesh_hash(d, i), o->spec.mesh_hash[i]) != 0)
      return fail(DKHO_E_INPUT, "%s: complex %d (mesh hash %s) is not the one the model was trained on (%s)",
                  st_path(dataset_file(d)), i, dataset_mesh_hash(d, i), o->spec.mesh_hash[i]);
  const data_field *mine = o->spec.field, *theirs = dataset_field(d);
  int same = dataset_fields(d) == o->spec.fields;
  for (int i = 0; same && i < o->spec.fields; i++)
    same = strcmp(mine[i].name, theirs[i].name) == 0 && mine[i].role == theirs[i].role &&
           mine[i].degree == theirs[i].degree && mine[i].channels == theirs[i].channels;
  return same ? DKHO_OK
              : fail(DKHO_E_INPUT, "%s: its fields are not those the model was trained on", st_path(dataset_file(d)));
}

dkho_status operator_count(const operator_request *r, const operator_place *at, const char *target, int64_t *count,
                           int64_t *reals) {
  model_setup m = r->setup;
  params *p = NULL;
  for (int i = 0; i < at->fields; i++)
    if (strcmp(at->field[i].name, target) == 0) m.target = at->field[i].degree, m.channels = at->field[i].channels;
  m.dim = at->dim, m.gdim = at->gdim;
  for (int k = 0; k < CX_DEGREES; k++) m.n[k] = at->n[k];
  m.degrees = m.m->degrees(m.dim, m.target);
  m.harmonic = r->harmonic && m.m->harmonic ? (int)at->betti[m.target] : 0;
  const char *reader = m.m->reader ? m.m->reader(&m) : NULL;
  TRY(feat_widths_for(at->table, reader, m.dim, at->fields, at->field, r->profile, r->modes, m.features, &m.summary));
  if (m.summary == 0) m.harmonic = 0;
  TRY(model_params(&m, &p));
  *count = p->total;
  *reals = p->reals;
  params_free(p);
  return DKHO_OK;
}
