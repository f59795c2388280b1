/* oper.c: making, loading, saving operators. */
#include "run/oper.h"

#include "nn/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void site_free(site *s) {
  tape_free(s->t);
  features_free(s->f);
  geometry_free(s->g);
  dec_free(s->metric);
  cx_free(s->own);
}

void oper_free(oper *o) {
  if (!o) return;
  for (int i = 0; o->site && i < o->sites; i++) site_free(&o->site[i]);
  params_free(o->p);
  mem_free(o->value);
  st_close(o->own_source);
  oper_parts_free(&o->parts);
  arena_free(&o->mem);
  mem_free(o);
}

static const data_field *target_of(const oper *o) {
  return &o->spec.field[o->target];
}

/* Row-major n × count as the column-major basis that geometry wants. */
static dkho_status column_basis(dec_basis *b, int64_t n, int64_t count, const double *rows) {
  b->n = n, b->count = count;
  if (!MEM_NEW(b->vec, n * count)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < count; j++) b->vec[j * n + i] = rows[i * count + j];
  return DKHO_OK;
}

/* The harmonic basis of the target's degree in the operator's metric: kept in the file, else computed. */
static dkho_status find_basis(const oper *o, int i, dec_basis *b) {
  int k = target_of(o)->degree;
  char name[64];
  snprintf(name, sizeof name, "c%d/%s%d", i, o->cfg.metric == DEC_UNIT ? "harmonic" : "hodge_harmonic", k);
  if (o->parts.harmonic[k].count && o->cfg.metric == DEC_UNIT) {
    const dec_basis *made = &o->parts.harmonic[k];
    *b = (dec_basis){.n = made->n, .count = made->count};
    if (!MEM_NEW(b->vec, b->n * b->count)) return DKHO_E_MEMORY;
    memcpy(b->vec, made->vec, (size_t)(b->n * b->count) * sizeof *b->vec);
    return DKHO_OK;
  }
  const st_tensor *t = st_find(o->source, name);
  if (!t) return dec_harmonic(o->site[i].metric, k, b);
  int64_t n = o->site[i].c->n[k];
  if (t->dtype != ST_F64 || t->rank != 2 || t->shape[0] != (uint64_t)n || t->shape[1] > (uint64_t)n)
    return fail(DKHO_E_FORMAT, "%s: tensor '%s' is not a table of doubles with %lld rows", st_path(o->source), name,
                (long long)n);
  return column_basis(b, n, (int64_t)t->shape[1], t->data);
}

/* The compiled descriptors of a site, from the statics in the source. */
static dkho_status site_features(oper *o, int i) {
  const double **array = arena_take(&o->mem, (size_t)o->spec.fields, sizeof *array);
  if (!array) return DKHO_E_MEMORY;
  for (int f = 0; f < o->spec.fields; f++) {
    const data_field *field = &o->spec.field[f];
    if (field->role != DATA_STATIC) continue;
    if (o->parts.fixed) {
      array[f] = o->parts.fixed[f];
      continue;
    }
    char name[ST_NAME_MAX + 1];
    const st_tensor *t;
    int64_t shape[2] = {o->site[i].c->n[field->degree], field->channels};
    snprintf(name, sizeof name, "c%d/static/%s", i, field->name);
    TRY(st_need(o->source, name, ST_F64, 2, shape, &t));
    array[f] = t->data;
  }
  return features_create(&o->site[i].f, &o->spec.table, o->site[i].c, o->spec.fields, o->spec.field, array, o->profile,
                         o->modes);
}

/* Operators of the complex, the basis, the descriptors; β is the first site's, and the others must agree. */
static dkho_status site_prepare(oper *o, int i, int harmonic) {
  site *s = &o->site[i];
  const data_field *target = target_of(o);
  TRY(dec_create(&s->metric, s->c, o->cfg.metric));
  dec_basis basis = {0};
  if (harmonic) TRY(find_basis(o, i, &basis));
  dkho_status st = DKHO_OK;
  if (i > 0 && basis.count != o->cfg.harmonic)
    st = fail(DKHO_E_INPUT,
              "complex %d has %lld harmonic fields of degree %d, complex 0 has %d: one model cannot serve both", i,
              (long long)basis.count, target->degree, o->cfg.harmonic);
  o->cfg.harmonic = (int)basis.count;
  if (st == DKHO_OK)
    st = geometry_create(&s->g, s->metric, o->cfg.degrees - 1, target->degree, basis.count ? &basis : NULL);
  dec_basis_free(&basis);
  TRY(st);
  return site_features(o, i);
}

/* Fills in what the sites decide, declares the parameters, records every site. weights NULL, or the file that they will be read
 * from: what it does not hold is not made room for. */
static dkho_status build(oper *o, int harmonic, const st_file *weights) {
  const data_field *target = target_of(o);
  o->cfg.target = target->degree;
  o->cfg.channels = target->channels;
  o->cfg.degrees = dkho_active_degrees(o->site[0].c->dim, target->degree);
  for (int i = 0; i < o->sites; i++) TRY(site_prepare(o, i, harmonic));
  const features *f = o->site[0].f;
  for (int k = 0; k < o->cfg.degrees; k++) {
    o->cfg.features[k] = features_width(f, k);
    if (o->cfg.features[k] == 0)
      return fail(DKHO_E_INPUT,
                  "the data set describes no input of degree %d, which the model needs for a target of degree %d", k,
                  target->degree);
  }
  o->cfg.summary = features_summary_width(f);
  if (o->cfg.summary == 0) o->cfg.harmonic = 0; /* the branch reads the summary alone */
  TRY(dkho_check(&o->cfg));
  TRY(params_create(&o->p));
  TRY(dkho_declare(&o->cfg, o->p));
  TRY(params_layout(o->p));
  if (weights) TRY(state_check(weights, o->p, "w/"));
  for (int i = 0; i < o->sites; i++) {
    TRY(tape_create(&o->site[i].t, o->p));
    TRY(dkho_record(&o->cfg, o->p, o->site[i].g, o->site[i].t, &o->site[i].net));
  }
  return params_slab(o->p, &o->value);
}

static dkho_status start(oper **out, const st_file *source, oper **made) {
  *out = NULL;
  oper *o = mem_alloc(1, sizeof *o);
  if (!o) return DKHO_E_MEMORY;
  o->source = source;
  const char *text = NULL;
  dkho_status s = st_need_meta(source, "dkho.dataset", &text);
  if (s == DKHO_OK && !(o->spec_text = arena_strdup(&o->mem, text))) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) s = spec_read(&o->spec, &o->mem, o->spec_text);
  if (s == DKHO_OK && !(o->site = arena_take(&o->mem, (size_t)o->spec.complexes, sizeof *o->site))) s = DKHO_E_MEMORY;
  if (s != DKHO_OK) {
    oper_free(o);
    return s;
  }
  *made = o;
  return DKHO_OK;
}

dkho_status oper_create(oper **out, const dataset *d, const oper_request *r) {
  oper *o = NULL;
  TRY(start(out, dataset_file(d), &o));
  o->target = r->target;
  o->cfg = r->cfg;
  o->profile = r->profile;
  o->modes = r->modes;
  o->sites = dataset_complexes(d);
  for (int i = 0; i < o->sites; i++) o->site[i].c = dataset_cx(d, i);
  dkho_status s = build(o, r->harmonic, NULL);
  if (s == DKHO_OK && !(o->training = arena_strdup(&o->mem, "{}"))) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) {
    params_init(o->p, r->seed, o->value);
    *out = o;
  } else
    oper_free(o);
  return s;
}

/* ---- model files ---- */

static json_t *config_json(const oper *o) {
  const dkho_config *c = &o->cfg;
  return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:I}", "model",
                   "dkho", "target", target_of(o)->name, "h", c->h, "c", c->c, "layers", c->layers, "substeps",
                   c->substeps, "tau_lo", c->tau_lo, "tau_range", c->tau_range, "lag_scale", c->lag_scale, "variant",
                   dkho_variant_name(c->variant), "start", dkho_start_name(c->start), "metric",
                   dec_metric_name(c->metric), "profile", feat_profile_name(o->profile), "modes", o->modes, "harmonic",
                   c->harmonic, "loss_eps", c->loss_eps, "parameters", (json_int_t)o->p->total);
}

/* Complexes, statics and bases are the source's tensors "cN/…" without its samples. */
static int belongs(const char *name) {
  size_t digits = name[0] == 'c' ? strspn(name + 1, "0123456789") : 0;
  if (!digits || name[1 + digits] != '/') return 0;
  const char *rest = name + 2 + digits;
  return strncmp(rest, "in/", 3) != 0 && strncmp(rest, "target/", 7) != 0 && strncmp(rest, "hodge_", 6) != 0;
}

static dkho_status declare_parts(const oper *o, st_writer *w) {
  for (int i = 0; i < st_count(o->source); i++) {
    const st_tensor *t = st_at(o->source, i);
    if (belongs(t->name)) TRY(st_declare(w, t->name, t->dtype, t->rank, t->shape));
  }
  for (int i = 0; i < o->sites && o->cfg.metric == DEC_HODGE && o->cfg.harmonic; i++) {
    char name[64];
    uint64_t shape[2] = {(uint64_t)o->site[i].c->n[o->cfg.target], (uint64_t)o->cfg.harmonic};
    snprintf(name, sizeof name, "c%d/hodge_harmonic%d", i, o->cfg.target);
    TRY(st_declare(w, name, ST_F64, 2, shape));
  }
  return state_declare(w, o->p, "w/");
}

static dkho_status write_parts(const oper *o, st_writer *w, const real *weights) {
  for (int i = 0; i < st_count(o->source); i++) {
    const st_tensor *t = st_at(o->source, i);
    if (belongs(t->name)) TRY(st_write(w, t->data, (size_t)t->count * st_dtype_size(t->dtype)));
  }
  for (int i = 0; i < o->sites && o->cfg.metric == DEC_HODGE && o->cfg.harmonic; i++) {
    dec_basis b = {0};
    TRY(find_basis(o, i, &b));
    dkho_status s = DKHO_OK;
    for (int64_t r = 0; s == DKHO_OK && r < b.n; r++)
      for (int64_t j = 0; s == DKHO_OK && j < b.count; j++) s = st_write(w, &b.vec[j * b.n + r], sizeof(double));
    dec_basis_free(&b);
    TRY(s);
  }
  return state_write(w, o->p, weights);
}

/* topology: that of a packed file, else NULL. */
static dkho_status put_metas(const oper *o, const char *training, const char *topology, st_writer *w) {
  json_t *config = config_json(o);
  char *text = config ? json_dumps(config, JSON_REAL_PRECISION(17)) : NULL;
  json_decref(config);
  dkho_status s = text ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a model's description");
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
dkho_status oper_save(const oper *o, const real *weights, const char *path, int force) {
  st_writer *w = NULL;
  TRY(st_create(&w, path, force));
  dkho_status s = put_metas(o, o->training, o->parts.fixed ? st_meta(o->source, "dkho.topology") : NULL, w);
  if (s == DKHO_OK) s = declare_parts(o, w);
  if (s == DKHO_OK) s = write_parts(o, w, weights ? weights : o->value);
  if (s == DKHO_OK) return st_commit(w);
  st_abort(w);
  return s;
}

dkho_status oper_pack(const oper *o, const char *training, const char *path, int force) {
  char topology[33];
  if (o->parts.fixed || o->sites != 1)
    return fail(DKHO_E_INPUT, "a model file is packed from a self-contained one, on one complex");
  parts_topology(o->site[0].c, topology);
  st_writer *w = NULL;
  TRY(st_create(&w, path, force));
  dkho_status s = put_metas(o, training, topology, w);
  if (s == DKHO_OK) s = parts_declare(o->source, w);
  if (s == DKHO_OK) s = state_declare(w, o->p, "w/");
  if (s == DKHO_OK) s = parts_write(o->source, w);
  if (s == DKHO_OK) s = state_write(w, o->p, o->value);
  if (s == DKHO_OK) return st_commit(w);
  st_abort(w);
  return s;
}

/* Reads the "dkho.model" object into the operator. */
static dkho_status read_config(oper *o, json_t *j, int *harmonic) {
  const char *target, *variant, *start_name, *metric, *profile;
  int64_t h, c, layers, substeps, modes, beta;
  TRY(spec_text(j, "dkho.model", "target", NULL, &o->mem, &target));
  TRY(spec_text(j, "dkho.model", "variant", NULL, &o->mem, &variant));
  TRY(spec_text(j, "dkho.model", "start", NULL, &o->mem, &start_name));
  TRY(spec_text(j, "dkho.model", "metric", NULL, &o->mem, &metric));
  TRY(spec_text(j, "dkho.model", "profile", NULL, &o->mem, &profile));
  TRY(spec_int(j, "dkho.model", "h", NULL, 1, 4096, &h));
  TRY(spec_int(j, "dkho.model", "c", NULL, 1, 4096, &c));
  TRY(spec_int(j, "dkho.model", "layers", NULL, 1, DKHO_LAYERS_MAX, &layers));
  TRY(spec_int(j, "dkho.model", "substeps", NULL, 1, DKHO_SUBSTEPS_MAX, &substeps));
  TRY(spec_int(j, "dkho.model", "modes", NULL, 1, 4096, &modes));
  TRY(spec_int(j, "dkho.model", "harmonic", NULL, 0, 1 << 20, &beta));
  TRY(spec_number(j, "dkho.model", "tau_lo", NULL, &o->cfg.tau_lo));
  TRY(spec_number(j, "dkho.model", "tau_range", NULL, &o->cfg.tau_range));
  TRY(spec_number(j, "dkho.model", "lag_scale", NULL, &o->cfg.lag_scale));
  TRY(spec_number(j, "dkho.model", "loss_eps", NULL, &o->cfg.loss_eps));
  TRY(dkho_variant_parse(variant, &o->cfg.variant));
  TRY(dkho_start_parse(start_name, &o->cfg.start));
  TRY(dec_metric_parse(metric, &o->cfg.metric));
  TRY(feat_profile_parse(profile, &o->profile));
  o->cfg.h = (int)h, o->cfg.c = (int)c, o->cfg.layers = (int)layers, o->cfg.substeps = (int)substeps;
  o->modes = (int)modes;
  *harmonic = beta > 0;
  for (o->target = 0; o->target < o->spec.fields; o->target++)
    if (strcmp(o->spec.field[o->target].name, target) == 0 && o->spec.field[o->target].role == DATA_TARGET)
      return DKHO_OK;
  return fail(DKHO_E_FORMAT, "dkho.model: target '%s' is no target of its fields", target);
}

/* The complex and what belongs to it, made again and compared with what the file remembers. */
static dkho_status rebuild(oper *o, oper_maker maker, const char *topology) {
  char hex[33], *hash = arena_take(&o->mem, 33, 1);
  if (!hash) return DKHO_E_MEMORY;
  if (!maker || o->spec.complexes != 1)
    return fail(DKHO_E_INPUT, "is a packed model, which cannot be used here (%d complexes)", o->spec.complexes);
  TRY(maker(&o->spec, &o->parts));
  parts_topology(o->parts.c, hex);
  if (strcmp(hex, topology) != 0)
    return fail(DKHO_E_INPUT,
                "the mesh of '%s' made here (topology %s) is not the one the model was trained on (%.40s)",
                o->spec.info.problem, hex, topology);
  TRY(parts_verify(&o->parts, &o->spec, o->source));
  data_mesh_hash(o->parts.c, hash); /* that of data sets made here, should the last bits of positions differ */
  o->spec.mesh_hash[0] = hash;
  o->site[0].c = o->site[0].own = o->parts.c;
  o->parts.c = NULL;
  o->sites = 1;
  return DKHO_OK;
}

static dkho_status load(oper *o, oper_maker maker) {
  const char *kind, *text, *training;
  TRY(st_need_meta(o->source, "dkho.kind", &kind));
  if (strcmp(kind, "model") != 0) return fail(DKHO_E_FORMAT, "is a %s, not a model", kind);
  TRY(st_need_meta(o->source, "dkho.model", &text));
  TRY(st_need_meta(o->source, "dkho.training", &training));
  if (!(o->training = arena_strdup(&o->mem, training))) return DKHO_E_MEMORY;
  json_error_t error;
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!j) return fail(DKHO_E_FORMAT, "dkho.model: %s", error.text);
  int harmonic = 0;
  dkho_status s =
      json_is_object(j) ? read_config(o, j, &harmonic) : fail(DKHO_E_FORMAT, "dkho.model: not a JSON object");
  json_decref(j);
  TRY(s);
  const char *topology = st_meta(o->source, "dkho.topology");
  if (topology) TRY(rebuild(o, maker, topology));
  for (int i = 0; !topology && i < o->spec.complexes; i++) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "c%d/", i);
    TRY(cx_get(&o->site[i].own, o->source, prefix));
    o->site[i].c = o->site[i].own;
    o->sites = i + 1;
    if (o->site[i].c->dim != o->site[0].c->dim)
      return fail(DKHO_E_FORMAT, "complex %d has dimension %d, the first has %d", i, o->site[i].c->dim,
                  o->site[0].c->dim);
  }
  TRY(spec_check(&o->spec, o->site[0].c->dim));
  TRY(build(o, harmonic, o->source));
  return state_read(o->source, o->p, "w/", o->value);
}

dkho_status oper_load(oper **out, const char *path, oper_maker maker) {
  st_file *file = NULL;
  oper *o = NULL;
  *out = NULL;
  TRY(st_open(&file, path));
  dkho_status s = start(out, file, &o);
  if (s != DKHO_OK) {
    st_close(file);
    return fail_prefix(s, "%s", path);
  }
  o->own_source = file;
  s = load(o, maker);
  if (s == DKHO_OK)
    *out = o;
  else
    oper_free(o);
  return s == DKHO_OK ? s : fail_prefix(s, "%s", path);
}

dkho_status oper_matches(const oper *o, const dataset *d) {
  if (dataset_complexes(d) != o->sites)
    return fail(DKHO_E_INPUT, "%s: has %d complexes, the model %d", st_path(dataset_file(d)), dataset_complexes(d),
                o->sites);
  for (int i = 0; i < o->sites; i++)
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

dkho_status oper_count(const oper_request *r, int dim, int fields, const data_field *field, const feat_table *table,
                       const char *target, const int64_t betti[CX_DEGREES], int64_t *count) {
  dkho_config c = r->cfg;
  params *p = NULL;
  for (int i = 0; i < fields; i++)
    if (strcmp(field[i].name, target) == 0) c.target = field[i].degree, c.channels = field[i].channels;
  c.degrees = dkho_active_degrees(dim, c.target);
  c.harmonic = r->harmonic ? (int)betti[c.target] : 0;
  TRY(feat_widths(table, dim, fields, field, r->profile, r->modes, c.features, &c.summary));
  if (c.summary == 0) c.harmonic = 0;
  TRY(dkho_check(&c));
  TRY(params_create(&p));
  dkho_status s = dkho_declare(&c, p);
  if (s == DKHO_OK) s = params_layout(p);
  *count = p->total;
  params_free(p);
  return s;
}
