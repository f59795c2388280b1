/* model.c: trained operators of the public header. */
#include "api/api.h"
#include "base/finite.h"
#include "mesh/meshio.h"
#include "study/pack.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An engine with its threads; a call takes an idle one and puts it back, so calls may overlap. */
typedef struct predictor {
  struct predictor *next;
  int threads; /* as asked for */
  pool *pool;
  runner *run;
} predictor;

struct dkho_model {
  neural_operator *o;
  int inputs, *input; /* fields of role input and global, in field order, inputs first */
  pthread_mutex_t lock;
  predictor *idle;
};

static void predictor_free(predictor *d) {
  if (!d) return;
  runner_free(d->run);
  pool_free(d->pool);
  mem_free(d);
}

static dkho_status predictor_take(dkho_model *m, int threads, predictor **out) {
  pthread_mutex_lock(&m->lock);
  predictor **at = &m->idle;
  while (*at && (*at)->threads != threads) at = &(*at)->next;
  predictor *d = *at;
  if (d) *at = d->next;
  pthread_mutex_unlock(&m->lock);
  *out = d;
  if (d) return DKHO_OK;
  if (!MEM_NEW(d, 1)) return DKHO_E_MEMORY;
  d->threads = threads;
  dkho_status s = pool_create(&d->pool, threads);
  if (s == DKHO_OK) s = runner_create(&d->run, m->o, ENGINE_PREDICT, d->pool);
  if (s != DKHO_OK) {
    predictor_free(d);
    return s;
  }
  runner_bind(d->run, m->o->value);
  *out = d;
  return DKHO_OK;
}

static void predictor_return(dkho_model *m, predictor *d) {
  pthread_mutex_lock(&m->lock);
  d->next = m->idle;
  m->idle = d;
  pthread_mutex_unlock(&m->lock);
}

static dkho_status list_inputs(dkho_model *m) {
  const data_spec *s = &m->o->spec;
  if (!MEM_NEW(m->input, s->fields)) return DKHO_E_MEMORY;
  for (int role = 0; role < 2; role++)
    for (int i = 0; i < s->fields; i++)
      if (s->field[i].role == (role ? DATA_GLOBAL : DATA_INPUT)) m->input[m->inputs++] = i;
  return DKHO_OK;
}

dkho_status dkho_model_load(dkho_model **out, const char *path) {
  char best[PATH_LIMIT];
  struct stat st;
  *out = NULL;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    if (snprintf(best, sizeof best, "%s/best.st", path) >= PATH_LIMIT)
      return fail(DKHO_E_INPUT, "the name of the run is too long");
    path = best;
  }
  dkho_model *m;
  if (!MEM_NEW(m, 1)) return DKHO_E_MEMORY;
  pthread_mutex_init(&m->lock, NULL);
  dkho_status s = operator_load(&m->o, path, pack_rebuild);
  if (s == DKHO_OK) s = list_inputs(m);
  if (s == DKHO_OK)
    *out = m;
  else
    dkho_model_free(m);
  return s;
}

json_t *api_known_json(const dkho_model *m) {
  return known_json(m->o->spec.knowns, m->o->spec.known);
}

dkho_status dkho_model_list(char **json) {
  *json = NULL;
  return api_json(model_list_json(), json);
}

dkho_status dkho_model_save(const dkho_model *m, const char *path, int force) {
  return operator_save(m->o, NULL, path, force);
}

static void drop_predictors(dkho_model *m) {
  while (m->idle) {
    predictor *d = m->idle;
    m->idle = d->next;
    predictor_free(d);
  }
}

dkho_status api_model_divide(dkho_model *m, rank_groups *g) {
  int parts, ranks = comm_world()->size;
  TRY(groups_wanted(&parts));
  if (parts > 1 && parts != ranks)
    return fail(DKHO_E_INPUT, "parts: found %d, expected the number of ranks, %d (mpirun -n)", parts, ranks);
  TRY(groups_form(g, comm_world(), parts));
  if (!groups_share(g)) return DKHO_OK;
  drop_predictors(m);
  m->o->share = groups_share(g);
  return DKHO_OK;
}

void api_model_unite(dkho_model *m, rank_groups *g) {
  if (groups_share(g)) drop_predictors(m);
  m->o->share = NULL;
  groups_free(g);
}

void dkho_model_free(dkho_model *m) {
  if (!m) return;
  drop_predictors(m);
  operator_free(m->o);
  mem_free(m->input);
  pthread_mutex_destroy(&m->lock);
  mem_free(m);
}

int dkho_model_inputs(const dkho_model *m) {
  return m->inputs;
}
int64_t dkho_model_parameters(const dkho_model *m) {
  return m->o->p->total;
}

dkho_status dkho_model_input(const dkho_model *m, int i, dkho_field_info *out) {
  if (i < 0 || i >= m->inputs) return fail(DKHO_E_INPUT, "input %d: expected 0 … %d", i, m->inputs - 1);
  api_field_info(&m->o->spec.field[m->input[i]], m->o->first->c, out);
  return DKHO_OK;
}

dkho_status dkho_model_output(const dkho_model *m, dkho_field_info *out) {
  api_field_info(&m->o->spec.field[m->o->target], m->o->first->c, out);
  return DKHO_OK;
}

dkho_status dkho_model_complex(const dkho_model *m, dkho_complex **out) {
  cx *c = NULL;
  *out = NULL;
  TRY(cx_copy(&c, m->o->first->c));
  return api_wrap(out, c);
}

typedef struct caller_arrays {
  const dkho_model *m;
  const void *const *inputs;
  float *out;
} caller_arrays;

static int64_t field_extent(const dkho_model *m, int field) {
  const data_field *f = &m->o->spec.field[field];
  return (f->role == DATA_GLOBAL ? 1 : m->o->first->c->n[f->degree]) * f->channels;
}

static void read_caller_inputs(void *ctx, int64_t i, const float **in, const double **global) {
  const caller_arrays *c = ctx;
  int ins = 0, globals = 0;
  for (int k = 0; k < c->m->inputs; k++) {
    int field = c->m->input[k];
    int64_t at = i * field_extent(c->m, field);
    if (c->m->o->spec.field[field].role == DATA_INPUT)
      in[ins++] = (const float *)c->inputs[k] + at;
    else
      global[globals++] = (const double *)c->inputs[k] + at;
  }
}

static float *caller_output(void *ctx, int64_t i) {
  const caller_arrays *c = ctx;
  return c->out + i * field_extent(c->m, c->m->o->target);
}

/* Names the first input value that is not finite: it would spread over the prediction unseen. */
static dkho_status check_inputs(const dkho_model *m, int64_t batch, const void *const *inputs) {
  for (int i = 0; i < m->inputs; i++) {
    const data_field *f = &m->o->spec.field[m->input[i]];
    if (!inputs[i]) return fail(DKHO_E_INPUT, "input '%s' is missing", f->name);
    int64_t each = field_extent(m, m->input[i]), n = batch * each;
    int64_t bad = f->role == DATA_GLOBAL ? finite_until_f64(inputs[i], n) : finite_until_f32(inputs[i], n);
    if (bad < n)
      return fail(DKHO_E_NONFINITE, "input '%s' of sample %lld: value %lld is not finite", f->name,
                  (long long)(bad / each), (long long)(bad % each));
  }
  return DKHO_OK;
}

static dkho_status check_output(const dkho_model *m, int64_t batch, const float *out) {
  int64_t each = field_extent(m, m->o->target), n = batch * each, bad = finite_until_f32(out, n);
  return bad == n ? DKHO_OK
                  : fail(DKHO_E_NONFINITE, "prediction of sample %lld: value %lld is not finite",
                         (long long)(bad / each), (long long)(bad % each));
}

dkho_status dkho_model_predict(dkho_model *m, int threads, int64_t batch, const void *const *inputs, float *out) {
  if (m->o->complexes != 1)
    return fail(DKHO_E_INPUT, "the model lives on %d complexes; predict a data set that says which sample is on which",
                m->o->complexes);
  if (batch < 0) return fail(DKHO_E_INPUT, "batch %lld: expected ≥ 0", (long long)batch);
  if (batch == 0) return DKHO_OK;
  if (!inputs && m->inputs) return fail(DKHO_E_INPUT, "no inputs are given; the model needs %d", m->inputs);
  if (!out) return fail(DKHO_E_INPUT, "no room for the prediction is given");
  TRY(check_inputs(m, batch, inputs));
  predictor *d = NULL;
  TRY(predictor_take(m, threads, &d));
  caller_arrays c = {m, inputs, out};
  runner_batch b = {.count = batch, .inputs = read_caller_inputs, .out = caller_output, .ctx = &c};
  dkho_status s = runner_predict(d->run, &b);
  predictor_return(m, d);
  return s == DKHO_OK ? check_output(m, batch, out) : s;
}

/* ---- predictions of a data set into files ---- */

typedef struct sink {
  const dkho_model *m;
  const dataset *d;
  const char *path;
  int force;
  const rank_groups *in; /* who has the mesh together: the first rank writes */
  st_writer *w;
  int64_t limit, written;
} sink;

static dkho_status to_container(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  sink *s = ctx;
  (void)complex, (void)sample;
  if (!api_writes(s->in)) return DKHO_OK;
  return st_write(s->w, prediction, (size_t)(count * field_extent(s->m, s->m->o->target)) * sizeof *prediction);
}

static int ends_in(const char *path, const char *ending) {
  return strlen(path) > 4 && strcmp(path + strlen(path) - 4, ending) == 0;
}
static int is_for_paraview(const char *path) {
  return ends_in(path, ".vtu") || ends_in(path, ".vtm") || ends_in(path, ".pvd");
}

/* NAME.vtu becomes NAME-000123.vtu; NAME.vtm and NAME.pvd become NAME-000123.vtm. */
static void name_file(const sink *s, int64_t sample, char path[PATH_LIMIT]) {
  snprintf(path, PATH_LIMIT, "%.*s-%06lld.%s", (int)strlen(s->path) - 4, s->path, (long long)sample,
           ends_in(s->path, ".vtu") ? "vtu" : "vtm");
}

/* A file with the prediction, the reference and their difference. */
static dkho_status to_paraview(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  sink *s = ctx;
  const neural_operator *o = s->m->o;
  const data_field *t = &o->spec.field[o->target];
  int64_t n = dataset_count(s->d, complex, t->degree) * t->channels;
  const complex_view *v;
  double *values;
  if (!api_writes(s->in)) return DKHO_OK;
  TRY(operator_hold(o, complex, &v));
  dkho_complex shown = {.c = v->own ? v->own : o->packed.c};
  dkho_status status = MEM_NEW(values, 3 * n) ? DKHO_OK : DKHO_E_MEMORY;
  for (int64_t i = 0; status == DKHO_OK && i < count && s->written < s->limit; i++) {
    const float *p = prediction + i * n, *y = dataset_value(s->d, o->target, sample[i]);
    for (int64_t k = 0; k < n; k++) {
      values[k] = (double)p[k], values[n + k] = (double)y[k];
      values[2 * n + k] = values[k] - values[n + k];
    }
    char path[PATH_LIMIT];
    name_file(s, sample[i], path);
    dkho_field fields[3] = {{"prediction", t->degree, t->channels, values},
                            {"reference", t->degree, t->channels, values + n},
                            {"difference", t->degree, t->channels, values + 2 * n}};
    status = dkho_complex_export(&shown, path, s->force, 3, fields);
    s->written += status == DKHO_OK;
  }
  operator_release(o, v);
  mem_free(values);
  return status;
}

static dkho_status open_container(sink *s, int64_t count, const int64_t *sample) {
  if (!api_writes(s->in)) return DKHO_OK;
  const data_field *t = &s->m->o->spec.field[s->m->o->target];
  uint64_t list = (uint64_t)count, shape[3] = {list, (uint64_t)s->m->o->first->c->n[t->degree], (uint64_t)t->channels};
  TRY(st_create(&s->w, s->path, s->force));
  TRY(st_put_meta(s->w, "dkho.kind", "prediction"));
  TRY(st_put_meta(s->w, "dkho.version", dkho_version()));
  TRY(st_put_meta(s->w, "dkho.target", t->name));
  TRY(st_declare(s->w, "sample", ST_I64, 1, &list));
  TRY(st_declare(s->w, "prediction", ST_F32, 3, shape));
  return st_write(s->w, sample, (size_t)count * sizeof *sample);
}

static dkho_status write_series(const sink *s, int64_t count, const int64_t *sample) {
  mesh_step *step = NULL;
  char(*name)[PATH_LIMIT] = NULL;
  const char *slash = strrchr(s->path, '/');
  size_t folder = slash ? (size_t)(slash + 1 - s->path) : 0;
  dkho_status status = MEM_NEW(step, count) && MEM_NEW(name, count) ? DKHO_OK : DKHO_E_MEMORY;
  for (int64_t i = 0; status == DKHO_OK && i < count; i++) {
    name_file(s, sample[i], name[i]);
    step[i] = (mesh_step){(double)sample[i], name[i] + folder};
  }
  if (status == DKHO_OK) status = mesh_write_pvd(s->path, s->force, count, step);
  mem_free(name);
  mem_free(step);
  return status;
}

static void remove_file(const sink *s, int64_t sample) {
  char path[PATH_LIMIT];
  name_file(s, sample, path);
  if (ends_in(path, ".vtm"))
    mesh_remove_vtm(path);
  else
    unlink(path);
}

/* All files or none. */
static dkho_status predict_paraview(sink *s, evaluator *j, int64_t count, const int64_t *sample) {
  int series = ends_in(s->path, ".pvd");
  dkho_status status = DKHO_OK;
  if (series && !s->force && file_exists(s->path))
    status = fail(DKHO_E_EXISTS, "%s: exists already; it is kept", s->path);
  TRY(api_agreed(s->in, status));
  status = evaluator_predict(j, s->m->o->value, count, sample, "predicting", to_paraview, s);
  if (status == DKHO_OK && series && api_writes(s->in)) status = write_series(s, s->written, sample);
  status = api_agreed(s->in, status);
  for (int64_t i = 0; status != DKHO_OK && i < s->written; i++) remove_file(s, sample[i]);
  return status;
}

static dkho_status predict_all(sink *s, evaluator *j, int64_t count, const int64_t *sample) {
  if (is_for_paraview(s->path)) return predict_paraview(s, j, count, sample);
  if (s->m->o->complexes != 1)
    return fail(DKHO_E_INPUT, "predictions on several complexes go to .vtu, .vtm or .pvd files only");
  dkho_status status = api_agreed(s->in, open_container(s, count, sample));
  if (status == DKHO_OK) status = evaluator_predict(j, s->m->o->value, count, sample, "predicting", to_container, s);
  if (status == DKHO_OK) return api_agreed(s->in, s->w ? st_commit(s->w) : DKHO_OK);
  st_abort(s->w);
  return status;
}

/* The samples of a split, or all, at most `limit`. */
static dkho_status choose_samples(const dataset *d, const char *split, int64_t **all, const int64_t **sample,
                                  int64_t *count) {
  for (int i = 0; split && i < DATA_SPLITS; i++)
    if (strcmp(split, data_split_name((data_split)i)) == 0) {
      *sample = dataset_split(d, (data_split)i, count);
      return DKHO_OK;
    }
  if (split) return fail(DKHO_E_INPUT, "unknown split '%s'; there are train, val, test", split);
  *count = dataset_samples(d);
  if (!MEM_NEW(*all, *count)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < *count; i++) (*all)[i] = i;
  *sample = *all;
  return DKHO_OK;
}

/* Which samples of which data, proved; only files for ParaView hold the reference. */
typedef struct chosen {
  dataset *d;
  int64_t *all, count;
  const int64_t *sample;
} chosen;

static dkho_status choose_data(chosen *c, const dkho_model *m, const char *data, const char *split, const char *path,
                               int64_t limit) {
  if (strlen(path) > PATH_LIMIT - 64) return fail(DKHO_E_INPUT, "the name of the output is too long");
  TRY(dataset_open(&c->d, data));
  TRY(operator_matches(m->o, c->d));
  TRY(choose_samples(c->d, split, &c->all, &c->sample, &c->count));
  if (limit > 0 && limit < c->count) c->count = limit;
  return dataset_prove(c->d, is_for_paraview(path) ? m->o->target : -1, c->count, c->sample);
}

dkho_status dkho_predict_file(dkho_model *m, const char *data, const char *split, const char *path, int force,
                              int threads, int64_t limit) {
  rank_groups in = {0};
  chosen c = {0};
  evaluator *j = NULL;
  pool *p = NULL;
  dkho_status s;
  comm_watch(COMM_ENTER);
  TRY_GOTO(api_model_divide(m, &in));
  TRY_GOTO(api_agreed(&in, choose_data(&c, m, data, split, path, limit)));
  TRY_GOTO(api_agreed(&in, pool_create(&p, threads)));
  TRY_GOTO(evaluator_create(&j, m->o, c.d, p));
  sink out = {.m = m, .d = c.d, .path = path, .force = force, .in = &in, .limit = limit > 0 ? limit : INT64_MAX};
  s = predict_all(&out, j, c.count, c.sample);
  if (s == DKHO_E_NONFINITE) fail_prefix(s, "%s", path);
done:
  evaluator_free(j);
  pool_free(p);
  mem_free(c.all);
  dataset_free(c.d);
  api_model_unite(m, &in);
  comm_watch(COMM_LEAVE);
  return s;
}
