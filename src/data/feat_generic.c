/* feat_generic.c: a descriptor table for data nobody wrote one for. */
#include "data/feat_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
  arena *mem;
  int top;
  feat_row *row;
  feat_summary *summary;
  int rows, summaries;
  dkho_status status;
} builder;

static const char *text(builder *b, const char *fmt, va_list args) {
  char line[512];
  vsnprintf(line, sizeof line, fmt, args);
  const char *own = arena_strdup(b->mem, line);
  if (!own) b->status = DKHO_E_MEMORY;
  return own;
}

static void row(builder *b, int degree, feat_group group, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds a row unless its degree is not used; the first failure stays in b->status. */
static void row(builder *b, int degree, feat_group group, const char *name, const char *fmt, ...) {
  va_list args;
  if (b->status != DKHO_OK || degree > b->top) return;
  if (b->rows == FEAT_ROWS_MAX) {
    b->status = fail(DKHO_E_INPUT, "descriptors: the fields ask for more than %d rows", FEAT_ROWS_MAX);
    return;
  }
  va_start(args, fmt);
  const char *expr = text(b, fmt, args);
  va_end(args);
  const char *own = arena_strdup(b->mem, name);
  if (!own) b->status = DKHO_E_MEMORY;
  b->row[b->rows++] = (feat_row){own, degree, group, expr};
}

static const char *add_summary(builder *b, const char *prefix, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds the summary PREFIX_NAME and gives its name back; "" after a failure. */
static const char *add_summary(builder *b, const char *prefix, const char *name, const char *fmt, ...) {
  va_list args;
  char full[2 * DATA_NAME_MAX];
  if (b->status != DKHO_OK) return "";
  if (b->summaries == FEAT_ROWS_MAX) {
    b->status = fail(DKHO_E_INPUT, "descriptors: the fields ask for more than %d summary entries", FEAT_ROWS_MAX);
    return "";
  }
  snprintf(full, sizeof full, "%s_%s", prefix, name);
  va_start(args, fmt);
  const char *expr = text(b, fmt, args);
  va_end(args);
  const char *own = arena_strdup(b->mem, full);
  if (!own) b->status = DKHO_E_MEMORY;
  b->summary[b->summaries++] = (feat_summary){own, expr};
  return own;
}

/* spectral0 … distance3: the degree's digit after a known word. */
static int is_named(const data_field *f, const char *word) {
  size_t n = strlen(word);
  return f->role == DATA_STATIC && strncmp(f->name, word, n) == 0 && f->name[n] == '0' + f->degree && !f->name[n + 1];
}

/* What an input says of each degree by d, its adjoint, means and integrals. */
static void native_rows(builder *b, const data_field *f) {
  const char *u = f->name;
  if (f->role == DATA_GLOBAL) {
    const char *value = add_summary(b, "value", u, "value(%s)", u);
    for (int k = 0; k <= b->top; k++) row(b, k, FEAT_NATIVE, u, "broadcast(%s)", value);
  } else if (f->role == DATA_INPUT && f->degree == 0) {
    row(b, 0, FEAT_NATIVE, u, "%s", u);
    row(b, 1, FEAT_NATIVE, u, "d(%s)", u);
    for (int k = 2; k <= b->top; k++) row(b, k, FEAT_NATIVE, u, "integral(%s, %d)", u, k);
    for (int k = 1; k <= b->top; k++) row(b, k, FEAT_NATIVE, u, "mean(%s, %d)", u, k);
  } else if (f->role == DATA_INPUT) {
    row(b, f->degree - 1, FEAT_NATIVE, u, "dt(%s)", u);
    row(b, f->degree, FEAT_NATIVE, u, "%s", u);
    row(b, f->degree + 1, FEAT_NATIVE, u, "d(%s)", u);
  }
}

/* A static where it lives; of vertices, but for positions and labels, its means on higher simplices too. */
static void static_rows(builder *b, const data_field *f) {
  const char *u = f->name;
  if (f->role != DATA_STATIC || strcmp(u, "weight") == 0) return;
  if (is_named(f, "spectral")) {
    row(b, f->degree, FEAT_SPECTRAL, u, "modes(%s)", u);
    return;
  }
  feat_group group = is_named(f, "distance") ? FEAT_BOUNDARY : FEAT_NATIVE;
  row(b, f->degree, group, u, "%s", u);
  if (f->degree > 0 || is_named(f, "position") || is_named(f, "label")) return;
  for (int k = 1; k <= b->top; k++) row(b, k, group, u, "mean(%s, %d)", u, k);
}

static void heat_rows(builder *b, const data_field *f, double step) {
  if (f->role != DATA_INPUT || f->degree != 0 || step <= 0) return;
  char heat[160];
  snprintf(heat, sizeof heat, "heat(%s, %.17g, 1, 4, 12)", f->name, step);
  row(b, 0, FEAT_DIFFUSION, f->name, "%s", heat);
  row(b, 1, FEAT_DIFFUSION, f->name, "d(%s)", heat);
  for (int k = 2; k <= b->top; k++) row(b, k, FEAT_DIFFUSION, f->name, "integral(%s, %d)", heat, k);
}

/* Mean, root mean square and (moments) first moments of an input, told to every simplex. */
static void summary_rows(builder *b, const data_field *f, const char *weight, int moments) {
  const char *u = f->name, *parts[3] = {NULL};
  if (f->role != DATA_INPUT) return;
  if (f->degree > 0) weight = "1";
  parts[0] = add_summary(b, "mean", u, "average(%s, %s)", u, weight);
  parts[1] = add_summary(b, "rms", u, "rms(%s, %s, 0, 1e-12)", u, weight);
  if (moments && f->degree == 0) parts[2] = add_summary(b, "moment", u, "moment(%s, %s, position0)", u, weight);
  for (int k = 0; k <= b->top; k++) {
    if (parts[2])
      row(b, k, FEAT_SUMMARY, u, "broadcast(%s, %s, %s)", parts[0], parts[1], parts[2]);
    else
      row(b, k, FEAT_SUMMARY, u, "broadcast(%s, %s)", parts[0], parts[1]);
  }
}

dkho_status feat_generic(feat_table *out, arena *mem, int top, double heat_step, int fields, const data_field *field) {
  builder b = {.mem = mem, .top = top};
  if (!ARENA_NEW(mem, b.row, FEAT_ROWS_MAX) || !ARENA_NEW(mem, b.summary, FEAT_ROWS_MAX)) return DKHO_E_MEMORY;
  const char *weight = "1";
  int moments = 0;
  for (int i = 0; i < fields; i++) {
    if (field[i].role != DATA_STATIC || field[i].degree != 0) continue;
    if (strcmp(field[i].name, "weight") == 0 && field[i].channels == 1) weight = "weight";
    moments |= strcmp(field[i].name, "position0") == 0;
  }
  for (int i = 0; i < fields; i++) native_rows(&b, &field[i]);
  for (int i = 0; i < fields; i++) static_rows(&b, &field[i]);
  for (int i = 0; i < fields; i++) heat_rows(&b, &field[i], heat_step);
  for (int i = 0; i < fields; i++) summary_rows(&b, &field[i], weight, moments);
  if (b.status != DKHO_OK) return b.status;
  *out = (feat_table){b.rows, b.summaries, b.row, b.summary};
  return DKHO_OK;
}
