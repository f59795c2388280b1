/* features.c: a table compiled for one complex, and its evaluation sample by sample. */
#include "data/feat_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const group_names[FEAT_GROUPS] = {"native", "boundary", "spectral", "diffusion", "summary"};
static const char *const profile_names[FEAT_GROUPS] = {"native", "boundary", "spectral", "diffusion_spectral",
                                                       "conditioned"};

const char *feat_group_name(feat_group g) {
  assert((int)g >= 0 && g < FEAT_GROUPS);
  return group_names[g];
}

const char *feat_profile_name(feat_profile p) {
  assert((int)p >= 0 && p < FEAT_GROUPS);
  return profile_names[p];
}

dkho_status feat_profile_parse(const char *name, feat_profile *out) {
  for (int i = 0; i < FEAT_GROUPS; i++)
    if (strcmp(name, profile_names[i]) == 0) return *out = (feat_profile)i, DKHO_OK;
  return fail(DKHO_E_INPUT, "profile \"%.40s\": expected native, boundary, spectral, diffusion_spectral or conditioned",
              name);
}

dkho_status feat_check(const feat_table *t, int dim, int fields, const data_field *field) {
  feat_graph g;
  TRY(feat_graph_build(&g, t, FEAT_EVERY_READER, dim, fields, field, FEAT_SUMMARY, -1));
  feat_graph_free(&g);
  return DKHO_OK;
}

dkho_status feat_widths_for(const feat_table *t, const char *reader, int dim, int fields, const data_field *field,
                            feat_profile profile, int modes, int width[CX_DEGREES], int *summary) {
  feat_graph g;
  TRY(feat_graph_build(&g, t, reader, dim, fields, field, profile, modes));
  for (int k = 0; k < CX_DEGREES; k++) width[k] = 0;
  for (int i = 0; i < g.outs; i++) width[g.out[i].degree] += g.out[i].width;
  *summary = g.summary_width;
  feat_graph_free(&g);
  return DKHO_OK;
}

dkho_status feat_widths(const feat_table *t, int dim, int fields, const data_field *field, feat_profile profile,
                        int modes, int width[CX_DEGREES], int *summary) {
  return feat_widths_for(t, NULL, dim, fields, field, profile, modes, width, summary);
}

struct features {
  const cx *c;
  feat_graph g;
  feat_prep prep;
  int top;
  int width[CX_DEGREES], class_width[CX_DEGREES][FEAT_CLASSES];
  feat_column *column[CX_DEGREES];
  real *fixed[CX_DEGREES]; /* n[k] × static width */
  real *constants;         /* values of constant nodes */
  size_t work;
  arena mem;
};

static feat_class class_of(const feat_graph *g, const feat_out *o) {
  if (o->node < 0) return FEAT_CLASS_GLOBAL;
  return g->node[o->node].constant ? FEAT_CLASS_STATIC : FEAT_CLASS_SAMPLE;
}

/* Columns of each degree in the order of the rows, each with its class (static, of the sample, of the whole sample) and its place among those
 * of its class: models treat the classes apart. */
static dkho_status lay_columns(features *f) {
  for (int i = 0; i < f->g.outs; i++) {
    const feat_out *o = &f->g.out[i];
    f->width[o->degree] += o->width;
    if (o->degree > f->top) f->top = o->degree;
  }
  for (int k = 0; k < CX_DEGREES; k++)
    if (!ARENA_NEW(&f->mem, f->column[k], f->width[k] + 1)) return DKHO_E_MEMORY;
  int used[CX_DEGREES] = {0};
  for (int i = 0; i < f->g.outs; i++) {
    feat_out *o = &f->g.out[i];
    feat_class cl = class_of(&f->g, o);
    feat_column *col = f->column[o->degree] + used[o->degree];
    o->slot = f->class_width[o->degree][cl];
    for (int j = 0; j < o->width; j++) col[j] = (feat_column){o->row, cl, o->slot + j};
    for (int s = 0, j = 0; s < o->spans; s++)
      for (int q = 0; q < o->span[s].count; q++) col[j++].slot = o->span[s].first + q;
    used[o->degree] += o->width;
    f->class_width[o->degree][cl] += o->width;
  }
  return DKHO_OK;
}

static dkho_status fill_static(const features *f, const feat_node *n, const double *data, real *y) {
  const data_field *field = &f->g.field[n->field];
  int64_t count = f->c->n[n->degree] * n->channels;
  assert(data);
  for (int64_t i = 0; i < count; i++) {
    y[i] = (real)data[i];
    if (!isfinite(y[i]))
      return fail(DKHO_E_NONFINITE, "static field %s: element %lld is %g, expected a number that a float can hold",
                  field->name, (long long)i, data[i]);
  }
  return DKHO_OK;
}

static dkho_status check_weight(const features *f, const feat_node *n, const real *w) {
  double total = 0;
  for (int64_t i = 0; i < f->c->n[n->degree]; i++) total += (double)w[i];
  if (total > 0) return DKHO_OK;
  const feat_node *a = &f->g.node[n->arg[0]];
  const char *name = a->op == OP_STATIC ? f->g.field[a->field].name : "of a summary";
  return fail(DKHO_E_INPUT, "weight %s: the sum is %g, expected a positive one", name, total);
}

/* Places of all nodes: constants in one array, evaluated here once; the others in the scratch of an evaluation, f->work reals. */
static dkho_status make_constants(features *f, const double *const *array) {
  size_t total = 0;
  for (int i = 0; i < f->g.nodes; i++) {
    size_t *at = f->g.node[i].constant ? &total : &f->work;
    f->g.node[i].at = *at;
    *at += feat_node_size(&f->g, f->c, i);
  }
  if (!ARENA_NEW(&f->mem, f->constants, total + 1)) return DKHO_E_MEMORY;
  feat_run run = {.c = f->c, .g = &f->g, .prep = &f->prep, .constants = f->constants};
  for (int i = 0; i < f->g.nodes; i++) {
    const feat_node *n = &f->g.node[i];
    if (!n->constant) continue;
    if (n->op == OP_STATIC) TRY(fill_static(f, n, array[n->field], f->constants + n->at));
    if (n->op == OP_WEIGHT) TRY(check_weight(f, n, feat_node_value(&run, n->arg[0])));
    feat_node_eval(&run, i);
  }
  return DKHO_OK;
}

/* Copies an n × width block into columns at … of an n × stride array. */
static void copy_columns(int64_t n, int width, const real *from, real *to, int stride, int at) {
  to += at;
  if (width == 1) /* the common row */
    for (int64_t i = 0; i < n; i++) to[i * stride] = from[i];
  else /* a call of memcpy per row would dominate */
    for (int64_t i = 0; i < n; i++, to += stride)
      for (int j = 0; j < width; j++) to[j] = *from++;
}

/* The static columns of each degree side by side, n × class_width. */
static dkho_status make_fixed(features *f) {
  for (int k = 0; k < CX_DEGREES; k++) {
    size_t size = k <= f->c->dim ? (size_t)f->c->n[k] * (size_t)f->class_width[k][FEAT_CLASS_STATIC] : 0;
    if (!ARENA_NEW(&f->mem, f->fixed[k], size + 1)) return DKHO_E_MEMORY;
  }
  for (int i = 0; i < f->g.outs; i++) {
    const feat_out *o = &f->g.out[i];
    if (class_of(&f->g, o) != FEAT_CLASS_STATIC) continue;
    copy_columns(f->c->n[o->degree], o->width, f->constants + f->g.node[o->node].at, f->fixed[o->degree],
                 f->class_width[o->degree][FEAT_CLASS_STATIC], o->slot);
  }
  return DKHO_OK;
}

/* The graph keeps its own copy of the fields' list, for the scaling numbers. */
static dkho_status keep_fields(features *f, int fields, const data_field *field, data_field **out) {
  if (!ARENA_NEW(&f->mem, *out, fields + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < fields; i++) {
    (*out)[i] = field[i];
    if (!((*out)[i].name = arena_strdup(&f->mem, field[i].name))) return DKHO_E_MEMORY;
    if (field[i].role != DATA_STATIC && !(isfinite(field[i].shift) && isfinite(field[i].scale) && field[i].scale > 0))
      return fail(DKHO_E_INPUT, "field %s: scaling (%g, %g), expected finite numbers and a positive scale",
                  field[i].name, field[i].shift, field[i].scale);
  }
  return DKHO_OK;
}

dkho_status features_create(features **out, const feat_table *t, const cx *c, int fields, const data_field *field,
                            const double *const *array, feat_profile profile, int modes) {
  return features_create_for(out, t, NULL, c, fields, field, array, profile, modes);
}

dkho_status features_create_for(features **out, const feat_table *t, const char *reader, const cx *c, int fields,
                                const data_field *field, const double *const *array, feat_profile profile, int modes) {
  assert((int)profile >= 0 && profile < FEAT_GROUPS && modes >= 1);
  TRY(feat_check(t, c->dim, fields, field));
  features *f = mem_alloc(1, sizeof *f);
  if (!f) return DKHO_E_MEMORY;
  f->c = c;
  data_field *own;
  dkho_status s;
  TRY_GOTO(keep_fields(f, fields, field, &own));
  TRY_GOTO(feat_graph_build(&f->g, t, reader, c->dim, fields, own, profile, modes));
  f->g.table = NULL; /* borrowed for the build only */
  TRY_GOTO(lay_columns(f));
  TRY_GOTO(feat_prepare(&f->prep, &f->mem, &f->g, c));
  TRY_GOTO(make_constants(f, array));
  TRY_GOTO(make_fixed(f));
  *out = f;
  return DKHO_OK;
done:
  features_free(f);
  return s;
}

void features_free(features *f) {
  if (!f) return;
  feat_graph_free(&f->g);
  arena_free(&f->mem);
  mem_free(f);
}

int features_top(const features *f) {
  return f->top;
}

int features_width(const features *f, int k) {
  return f->width[k];
}

const feat_column *features_columns(const features *f, int k) {
  return f->column[k];
}

int features_class_width(const features *f, int k, feat_class cl) {
  return f->class_width[k][cl];
}

int features_summary_width(const features *f) {
  return f->g.summary_width;
}

const real *features_static(const features *f, int k) {
  return f->fixed[k];
}

size_t features_work_size(const features *f) {
  return f->work + 1;
}

/* All sample nodes and the summary. */
static feat_run evaluate_summaries(const features *f, const float *const *in, const double *const *global, real *work,
                                   real *summary) {
  feat_run run = {
      .c = f->c, .g = &f->g, .prep = &f->prep, .constants = f->constants, .work = work, .in = in, .global = global};
  for (int i = 0; i < f->g.nodes; i++)
    if (!f->g.node[i].constant) feat_node_eval(&run, i);
  for (int s = 0, at = 0; at < f->g.summary_width; s++) {
    feat_span span = f->g.summary_span[s];
    memcpy(summary + at, feat_node_value(&run, f->g.summary_node[s]), (size_t)span.count * sizeof *summary);
    at += span.count;
  }
  return run;
}

void features_eval_sample(const features *f, const float *const *in, const double *const *global, real *work,
                          real *const *sample, real *summary) {
  feat_run run = evaluate_summaries(f, in, global, work, summary);
  for (int i = 0; i < f->g.outs; i++) {
    const feat_out *o = &f->g.out[i];
    if (class_of(&f->g, o) == FEAT_CLASS_SAMPLE)
      copy_columns(f->c->n[o->degree], o->width, feat_node_value(&run, o->node), sample[o->degree],
                   f->class_width[o->degree][FEAT_CLASS_SAMPLE], o->slot);
  }
}

void features_eval(const features *f, const float *const *in, const double *const *global, real *work, real *const *out,
                   real *summary) {
  feat_run run = evaluate_summaries(f, in, global, work, summary);
  int used[CX_DEGREES] = {0};
  for (int i = 0; i < f->g.outs; i++) {
    const feat_out *o = &f->g.out[i];
    int k = o->degree, at = used[k];
    used[k] += o->width;
    if (!out[k]) continue;
    if (o->node >= 0) {
      copy_columns(f->c->n[k], o->width, feat_node_value(&run, o->node), out[k], f->width[k], at);
      continue;
    }
    for (int s = 0; s < o->spans; at += o->span[s++].count)
      for (int64_t j = 0; j < f->c->n[k]; j++)
        memcpy(out[k] + j * f->width[k] + at, summary + o->span[s].first, (size_t)o->span[s].count * sizeof *summary);
  }
}
