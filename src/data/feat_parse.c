/* feat_parse.c: descriptor expressions, from text to a graph of shared nodes, every shape checked. Values are
 * feat_eval.c's business. */
#include "data/feat_impl.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
  feat_graph *g;
  const char *text, *at;
  int depth;
} parser;

typedef struct value {
  int is_number, node;
  double number;
} value;

static dkho_status expression(parser *p, value *out);

static void skip_spaces(parser *p) {
  while (isspace((unsigned char)*p->at)) p->at++;
}

static dkho_status bad_expression(const parser *p, const char *what) {
  return fail(DKHO_E_INPUT, "expression \"%.200s\": %s at character %d", p->text, what, (int)(p->at - p->text) + 1);
}

/* The next identifier, as a view of the text. */
static int word(parser *p, const char **from) {
  skip_spaces(p);
  *from = p->at;
  if (!isalpha((unsigned char)*p->at) && *p->at != '_') return 0;
  while (isalnum((unsigned char)*p->at) || *p->at == '_') p->at++;
  return (int)(p->at - *from);
}

static int same(const char *name, const char *from, int length) {
  return strlen(name) == (size_t)length && memcmp(name, from, (size_t)length) == 0;
}

/* Where their values are is decided later. */
static int equal(const feat_node *a, const feat_node *b) {
  return a->op == b->op && memcmp(a->arg, b->arg, sizeof a->arg) == 0 && a->field == b->field && a->first == b->first &&
         a->num[0] == b->num[0] && a->num[1] == b->num[1] && a->steps == b->steps &&
         memcmp(a->step, b->step, sizeof a->step) == 0 && a->degree == b->degree && a->channels == b->channels &&
         a->constant == b->constant;
}

/* The index of an equal node, or of a new one. */
static dkho_status intern(parser *p, const feat_node *n, value *out) {
  feat_graph *g = p->g;
  *out = (value){0};
  for (int i = 0; i < g->nodes; i++)
    if (equal(&g->node[i], n)) return out->node = i, DKHO_OK;
  if (g->nodes == FEAT_NODES_MAX) return bad_expression(p, "too many terms in the table");
  g->node[g->nodes] = *n;
  out->node = g->nodes++;
  return DKHO_OK;
}

static feat_node blank(feat_op op) {
  return (feat_node){.op = op, .arg = {-1, -1, -1}, .field = -1};
}

/* NAME: an input, a static or a global. */
static dkho_status leaf(parser *p, const char *from, int length, value *out) {
  feat_graph *g = p->g;
  int inputs = 0, globals = 0;
  for (int i = 0; i < g->fields; i++) {
    const data_field *f = &g->field[i];
    if (same(f->name, from, length)) {
      if (f->role == DATA_TARGET)
        return fail(DKHO_E_INPUT, "expression \"%.200s\": %s is a target; descriptors may not see targets", p->text,
                    f->name);
      if (f->role != DATA_GLOBAL && f->degree > g->dim)
        return fail(DKHO_E_INPUT, "field %s: degree %d on a complex of dimension %d", f->name, f->degree, g->dim);
      feat_node n = blank(f->role == DATA_INPUT ? OP_INPUT : f->role == DATA_GLOBAL ? OP_GLOBAL : OP_STATIC);
      n.field = f->role == DATA_INPUT ? inputs : f->role == DATA_GLOBAL ? globals : i;
      n.degree = f->role == DATA_GLOBAL ? -1 : f->degree;
      n.channels = f->channels;
      n.constant = f->role == DATA_STATIC;
      return intern(p, &n, out);
    }
    inputs += f->role == DATA_INPUT;
    globals += f->role == DATA_GLOBAL;
  }
  return fail(DKHO_E_INPUT, "expression \"%.200s\": no field is called %.*s", p->text, length, from);
}

/* Shapes of the operations. `a` is the first argument's node where the signature has one. */
static dkho_status need_int(const parser *p, double v, int lo, int hi, int *out) {
  if (!(v >= lo && v <= hi) || v != floor(v))
    return fail(DKHO_E_INPUT, "expression \"%.200s\": %g is not a whole number from %d to %d", p->text, v, lo, hi);
  *out = (int)v;
  return DKHO_OK;
}

static dkho_status require_rule(const parser *p, int ok, const char *rule) {
  return ok ? DKHO_OK : fail(DKHO_E_INPUT, "expression \"%.200s\": %s", p->text, rule);
}

/* columns(name, first, count), or modes(name), whose width the caller of the compiler decides. */
static dkho_status shape_columns(parser *p, feat_node *n, const feat_node *a, const value *v, int count) {
  TRY(require_rule(p, a->op == OP_STATIC, "columns() and modes() take the name of a static array"));
  if (count == 3) {
    TRY(need_int(p, v[1].number, 0, a->channels - 1, &n->first));
    TRY(need_int(p, v[2].number, 1, a->channels - n->first, &n->channels));
  } else {
    n->channels = p->g->modes < 0 ? a->channels : p->g->modes;
    if (n->channels > a->channels)
      return fail(DKHO_E_INPUT, "expression \"%.200s\": %d modes asked of an array with %d columns", p->text,
                  n->channels, a->channels);
  }
  n->op = OP_COLUMNS;
  return DKHO_OK;
}

static dkho_status shape_derivative(parser *p, feat_node *n, const feat_node *a) {
  if (n->op == OP_D) {
    TRY(require_rule(p, a->degree >= 0 && a->degree < p->g->dim, "d() of something that has no coboundary"));
    n->degree = a->degree + 1;
  } else {
    TRY(require_rule(p, a->degree >= 1, "dt() takes a cochain of degree 1 or more"));
    n->degree = a->degree - 1;
  }
  return DKHO_OK;
}

static dkho_status shape_mean(parser *p, feat_node *n, const feat_node *a, double degree) {
  TRY(require_rule(p, a->degree == 0, "mean() and integral() take a vertex field"));
  return need_int(p, degree, 1, p->g->dim, &n->degree);
}

static dkho_status shape_flux(parser *p, feat_node *n, const feat_node *a, const feat_node *b) {
  TRY(require_rule(p, a->degree == 0, "flux() takes a vertex field first"));
  TRY(require_rule(p, b->degree == 1 && b->channels == 1 && b->constant,
                   "flux() takes a static edge field with one channel"));
  n->degree = 1;
  return DKHO_OK;
}

/* heat(e, a, n1, …): channels of e times the number of counts. */
static dkho_status shape_heat(parser *p, feat_node *n, const feat_node *a, const value *v, int count) {
  TRY(require_rule(p, a->degree == 0 && p->g->dim >= 1, "heat() takes a vertex field of a complex with edges"));
  TRY(require_rule(p, isfinite(v[1].number) && v[1].number > 0, "the step of heat() must be positive"));
  TRY(require_rule(p, count - 2 <= FEAT_STEPS_MAX, "heat() takes at most 16 counts"));
  n->num[0] = v[1].number;
  n->steps = count - 2;
  for (int i = 0; i < n->steps; i++) {
    TRY(need_int(p, v[2 + i].number, 1, 10000, &n->step[i]));
    TRY(require_rule(p, i == 0 || n->step[i] > n->step[i - 1], "the counts of heat() must ascend"));
  }
  n->channels = a->channels * n->steps;
  return DKHO_OK;
}

static dkho_status shape_lift(parser *p, feat_node *n, const feat_node *a, const feat_node *b) {
  TRY(require_rule(p, a->op == OP_GLOBAL, "lift() takes the name of a global field first"));
  TRY(require_rule(p, b->degree >= 0 && b->constant, "lift() takes a static array second"));
  if (a->channels != b->channels)
    return fail(DKHO_E_INPUT, "expression \"%.200s\": lift() of %d values onto %d columns", p->text, a->channels,
                b->channels);
  n->degree = b->degree;
  n->channels = 1;
  return DKHO_OK;
}

/* The weight of a summary: a static vertex field normalised, or the number 1 for equal weights. */
static dkho_status weight(parser *p, const feat_node *a, const value *v, int *out) {
  *out = -1;
  if (v->is_number) return require_rule(p, v->number == 1, "a weight is a static field or the number 1");
  const feat_node *w = &p->g->node[v->node];
  TRY(require_rule(p, w->constant && w->degree == a->degree && w->channels == 1,
                   "a weight must be static, of the field's degree, with one channel"));
  feat_node n = blank(OP_WEIGHT);
  n.arg[0] = v->node;
  n.degree = w->degree;
  n.channels = n.constant = 1;
  value made;
  TRY(intern(p, &n, &made));
  *out = made.node;
  return DKHO_OK;
}

/* average, rms, centred_rms, moment: numbers of a sample, so degree -1. Arguments: field, weight, then additions and floors, or the static
 * array of a moment. */
static dkho_status shape_summary(parser *p, feat_node *n, const feat_node *a, const value *v, int count) {
  TRY(require_rule(p, a->degree >= 0, "a summary is taken of a cochain"));
  feat_node field = *a; /* weight() may move the nodes' list on, not away; a copy is simpler to trust */
  TRY(weight(p, &field, &v[1], &n->arg[1]));
  n->degree = -1;
  n->constant = 0;
  if (n->op == OP_MOMENT) {
    const feat_node *s = &p->g->node[v[2].node];
    TRY(require_rule(p, s->constant && s->degree == field.degree,
                     "moment() takes a static array of the field's degree"));
    n->arg[2] = v[2].node;
    n->channels = field.channels * s->channels;
  } else {
    for (int i = 2; i < count; i++) {
      TRY(require_rule(p, isfinite(v[i].number) && v[i].number >= 0, "additions and floors cannot be negative"));
      n->num[i - 2] = v[i].number;
    }
  }
  return DKHO_OK;
}

/* Signature: e expression, n number, w expression or number, ? more numbers or none, + one more number or several. */
static const struct {
  const char *name, *signature;
  feat_op op;
} ops[] = {{"columns", "enn", OP_COLUMNS},
           {"modes", "e", OP_COLUMNS},
           {"d", "e", OP_D},
           {"dt", "e", OP_DT},
           {"mean", "en", OP_MEAN},
           {"integral", "en", OP_INTEGRAL},
           {"flux", "ee", OP_FLUX},
           {"heat", "en+", OP_HEAT},
           {"lift", "ee", OP_LIFT},
           {"zero", "nn", OP_ZERO},
           {"around", "e", OP_AROUND},
           {"unit", "e", OP_UNIT},
           {"value", "e", OP_GLOBAL},
           {"average", "ew", OP_AVERAGE},
           {"moment", "ewe", OP_MOMENT},
           {"rms", "ew??", OP_RMS},
           {"centred_rms", "ew??", OP_CENTRED_RMS}};

/* A signature has a letter per argument: e expression, n number, w either; ? an optional one, + any number of the last. */
static dkho_status match(const parser *p, const char *name, const char *signature, const value *v, int count) {
  int least = 0, most = 0;
  for (const char *s = signature; *s; s++) {
    least += *s != '?';
    most = *s == '+' ? FEAT_ARGS_MAX : most + 1;
  }
  if (count < least || count > most)
    return fail(DKHO_E_INPUT, "expression \"%.200s\": %s() has %d arguments", p->text, name, count);
  for (int i = 0; i < count; i++) {
    size_t last = strlen(signature) - 1, at = (size_t)i < last ? (size_t)i : last;
    int number = signature[at] != 'e';
    if (v[i].is_number != number && signature[at] != 'w')
      return fail(DKHO_E_INPUT, "expression \"%.200s\": argument %d of %s() must be %s", p->text, i + 1, name,
                  number ? "a number" : "an expression");
  }
  return DKHO_OK;
}

/* The node of operation `which` on its arguments: degree, channels, whether it is constant. Equal nodes are one node. */
static dkho_status apply(parser *p, size_t which, const value *v, int count, value *out) {
  TRY(match(p, ops[which].name, ops[which].signature, v, count));
  feat_op op = ops[which].op;
  feat_node n = blank(op), a = blank(op), b = blank(op);
  if (op == OP_ZERO) {
    TRY(need_int(p, v[0].number, 0, p->g->dim, &n.degree));
    TRY(need_int(p, v[1].number, 1, DATA_CHANNELS_MAX, &n.channels));
    n.constant = 1;
    return intern(p, &n, out);
  }
  a = p->g->node[v[0].node];
  if (op == OP_GLOBAL) {
    *out = v[0];
    return require_rule(p, a.op == OP_GLOBAL, "value() takes the name of a global field");
  }
  n.arg[0] = v[0].node;
  n.degree = a.degree, n.channels = a.channels, n.constant = a.constant;
  if (count > 1 && !v[1].is_number) {
    b = p->g->node[v[1].node];
    n.arg[1] = v[1].node;
  }
  switch (op) {
  case OP_COLUMNS:
    TRY(shape_columns(p, &n, &a, v, count));
    break;
  case OP_D:
  case OP_DT:
    TRY(shape_derivative(p, &n, &a));
    break;
  case OP_MEAN:
  case OP_INTEGRAL:
    TRY(shape_mean(p, &n, &a, v[1].number));
    break;
  case OP_FLUX:
    TRY(shape_flux(p, &n, &a, &b));
    break;
  case OP_HEAT:
    TRY(shape_heat(p, &n, &a, v, count));
    break;
  case OP_LIFT:
    TRY(shape_lift(p, &n, &a, &b));
    break;
  case OP_AROUND:
    TRY(require_rule(p, a.degree >= 1, "around() takes a cochain of degree 1 or more"));
    n.degree = 0;
    break;
  case OP_UNIT:
    TRY(require_rule(p, a.degree >= 0 && a.constant, "unit() takes something static"));
    break;
  default:
    TRY(shape_summary(p, &n, &a, v, count));
    break;
  }
  TRY(require_rule(p, n.channels <= DATA_CHANNELS_MAX, "too many columns"));
  return intern(p, &n, out);
}

static dkho_status arguments(parser *p, value *v, int *count) {
  *count = 0;
  do {
    if (*count == FEAT_ARGS_MAX) return bad_expression(p, "too many arguments");
    p->at++; /* the bracket or the comma */
    TRY(expression(p, &v[(*count)++]));
    skip_spaces(p);
  } while (*p->at == ',');
  if (*p->at != ')') return bad_expression(p, "expected , or )");
  p->at++;
  return DKHO_OK;
}

static dkho_status parse_number(parser *p, value *out) {
  char *end;
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* the host program may write decimal commas */
  if (!plain) return fail(DKHO_E_MEMORY, "no memory for a locale");
  double v = strtod_l(p->at, &end, plain);
  freelocale(plain);
  if (end == p->at) return bad_expression(p, *p->at ? "expected a name or a number" : "unexpected end");
  if (!isfinite(v)) return bad_expression(p, "a number that is not finite");
  *out = (value){.is_number = 1, .node = -1, .number = v};
  p->at = end;
  return DKHO_OK;
}

static dkho_status expression(parser *p, value *out) {
  const char *from;
  int length = word(p, &from);
  if (length == 0) return parse_number(p, out);
  skip_spaces(p);
  if (*p->at != '(') return leaf(p, from, length, out);
  size_t which = 0, total = sizeof ops / sizeof *ops;
  while (which < total && !same(ops[which].name, from, length)) which++;
  if (which == total)
    return fail(DKHO_E_INPUT, "expression \"%.200s\": no operation is called %.*s", p->text, length, from);
  if (++p->depth > FEAT_DEPTH_MAX) return bad_expression(p, "nested too deeply");
  value v[FEAT_ARGS_MAX];
  int count;
  TRY(arguments(p, v, &count));
  p->depth--;
  return apply(p, which, v, count, out);
}

static dkho_status whole(feat_graph *g, const char *text, int *node) {
  parser p = {.g = g, .text = text, .at = text};
  value v;
  TRY(expression(&p, &v));
  skip_spaces(&p);
  if (*p.at) return bad_expression(&p, "unexpected text");
  if (v.is_number) return fail(DKHO_E_INPUT, "expression \"%.200s\": a number alone", text);
  *node = v.node;
  return DKHO_OK;
}

/* broadcast(s1, s2, …): 1 when the text is one. */
static dkho_status broadcast(feat_graph *g, const char *text, feat_out *o, int *is) {
  parser p = {.g = g, .text = text, .at = text};
  const char *from;
  int length = word(&p, &from);
  skip_spaces(&p);
  *is = same("broadcast", from, length) && *p.at == '(';
  if (!*is) return DKHO_OK;
  o->node = -1;
  do {
    p.at++;
    length = word(&p, &from);
    int s = 0;
    while (s < g->table->summaries && !same(g->table->summary[s].name, from, length)) s++;
    if (s == g->table->summaries)
      return fail(DKHO_E_INPUT, "expression \"%.200s\": no summary entry is called \"%.*s\"", text, length, from);
    if (o->spans == FEAT_ARGS_MAX) return bad_expression(&p, "too many entries");
    o->span[o->spans++] = g->summary_span[s];
    o->width += g->summary_span[s].count;
    skip_spaces(&p);
  } while (*p.at == ',');
  if (*p.at++ != ')') return bad_expression(&p, "expected , or )");
  skip_spaces(&p);
  return *p.at ? bad_expression(&p, "unexpected text") : DKHO_OK;
}

/* for(READER, e): the reader's name and e, copied; other texts: no name, and the text as it is. */
static dkho_status split_reader(feat_graph *g, const char *text, const char **reader, const char **expr) {
  parser p = {.g = g, .text = text, .at = text};
  const char *from, *rest;
  char *copy;
  int length = word(&p, &from);
  *reader = NULL;
  *expr = text;
  skip_spaces(&p);
  if (!same("for", from, length) || *p.at != '(') return DKHO_OK;
  p.at++;
  length = word(&p, &from);
  skip_spaces(&p);
  if (!length || *p.at != ',') return bad_expression(&p, "for() takes a name and an expression");
  rest = p.at + 1;
  const char *end = strrchr(rest, ')');
  if (!end) return bad_expression(&p, "for() without its closing bracket");
  for (p.at = end + 1; *p.at; p.at++)
    if (!isspace((unsigned char)*p.at)) return bad_expression(&p, "unexpected text");
  if (!(copy = arena_take(&g->mem, (size_t)(length + (end - rest)) + 2, 1))) return DKHO_E_MEMORY;
  memcpy(copy, from, (size_t)length);
  memcpy(copy + length + 1, rest, (size_t)(end - rest));
  *reader = copy;
  *expr = copy + length + 1;
  return DKHO_OK;
}

/* Whether the reader sees row i. */
static dkho_status sees_row(feat_graph *g, const char *reader, int i, const char **expr, int *sees) {
  const feat_table *t = g->table;
  const char *own, *other, *text;
  TRY(split_reader(g, t->row[i].expr, &own, expr));
  *sees = reader && *reader == 0 ? 1 : own ? reader && strcmp(own, reader) == 0 : 1;
  if (own || !reader || *reader == 0) return DKHO_OK;
  for (int j = 0; *sees && j < t->rows; j++) {
    if (t->row[j].degree != t->row[i].degree) continue;
    TRY(split_reader(g, t->row[j].expr, &other, &text));
    *sees = !(other && strcmp(other, reader) == 0);
  }
  return DKHO_OK;
}

/* Output i of the graph: a node of the row's degree, or a broadcast of summaries; columns are counted as they come. */
static dkho_status compile_row(feat_graph *g, int i, const char *expr) {
  const feat_row *row = &g->table->row[i];
  feat_out *o = &g->out[g->outs];
  *o = (feat_out){.row = i, .degree = row->degree};
  if (row->degree < 0 || row->degree > g->dim)
    return fail(DKHO_E_INPUT, "degree %d of a complex of dimension %d", row->degree, g->dim);
  int is;
  TRY(broadcast(g, expr, o, &is));
  if (!is) {
    TRY(whole(g, expr, &o->node));
    const feat_node *n = &g->node[o->node];
    if (n->degree != row->degree) {
      const char *hint = n->degree < 0 ? " (a number per sample; use broadcast)" : "";
      return fail(DKHO_E_INPUT, "expression \"%.200s\" has degree %d, expected %d%s", expr, n->degree, row->degree,
                  hint);
    }
    o->width = n->channels;
  }
  int64_t width = o->width;
  for (int j = 0; j < g->outs; j++)
    if (g->out[j].degree == o->degree) width += g->out[j].width;
  if (width > DATA_CHANNELS_MAX)
    return fail(DKHO_E_INPUT, "%lld columns of degree %d so far, at most %d are possible", (long long)width, o->degree,
                DATA_CHANNELS_MAX);
  g->outs++;
  return DKHO_OK;
}

/* Entry i of the summary vector, behind those before it. */
static dkho_status compile_summary(feat_graph *g, int i) {
  const feat_summary *s = &g->table->summary[i];
  for (int j = 0; j < i; j++)
    if (strcmp(g->table->summary[j].name, s->name) == 0)
      return fail(DKHO_E_INPUT, "two summary entries have this name");
  TRY(whole(g, s->expr, &g->summary_node[i]));
  const feat_node *n = &g->node[g->summary_node[i]];
  if (n->degree >= 0) return fail(DKHO_E_INPUT, "expression \"%.200s\" is a cochain, expected numbers", s->expr);
  g->summary_span[i] = (feat_span){g->summary_width, n->channels};
  g->summary_width += n->channels;
  if (g->summary_width > DATA_CHANNELS_MAX)
    return fail(DKHO_E_INPUT, "%d numbers so far, at most %d are possible", g->summary_width, DATA_CHANNELS_MAX);
  return DKHO_OK;
}

dkho_status feat_graph_build(feat_graph *g, const feat_table *t, const char *reader, int dim, int fields,
                             const data_field *field, feat_profile profile, int modes) {
  *g = (feat_graph){.table = t, .dim = dim, .modes = modes, .fields = fields, .field = field};
  dkho_status s = DKHO_OK;
  if (t->rows > FEAT_ROWS_MAX || t->summaries > FEAT_ROWS_MAX)
    return fail(DKHO_E_INPUT, "descriptors: more than %d rows", FEAT_ROWS_MAX);
  if (!ARENA_NEW(&g->mem, g->node, FEAT_NODES_MAX) || !ARENA_NEW(&g->mem, g->out, t->rows + 1) ||
      !ARENA_NEW(&g->mem, g->summary_node, t->summaries + 1) || !ARENA_NEW(&g->mem, g->summary_span, t->summaries + 1))
    s = DKHO_E_MEMORY;
  for (int i = 0; s == DKHO_OK && i < t->summaries; i++) {
    s = compile_summary(g, i);
    if (s != DKHO_OK) fail_prefix(s, "descriptors: summary \"%.60s\"", t->summary[i].name);
  }
  for (int i = 0; s == DKHO_OK && i < t->rows; i++) {
    const char *expr;
    int sees = 0;
    if (t->row[i].group > profile) continue;
    s = sees_row(g, reader, i, &expr, &sees);
    if (s == DKHO_OK && sees) s = compile_row(g, i, expr);
    if (s != DKHO_OK) fail_prefix(s, "descriptors: row %d \"%.60s\"", i, t->row[i].name);
  }
  if (s != DKHO_OK) feat_graph_free(g);
  return s;
}

void feat_graph_free(feat_graph *g) {
  arena_free(&g->mem);
  *g = (feat_graph){0};
}
