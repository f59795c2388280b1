/* table.c: cells, column widths, three ways to write them. Widths count code points, combining marks none. */
#include "report/table.h"

#include "base/file.h"
#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CELL_MAX = 1024, GUTTER = 2, NARROWEST = 4 };

struct table {
  int columns;
  int64_t cells, room; /* the first `columns` cells are the heads */
  char *align;
  char **cell;
};

dkho_status table_open(table **out, int columns, const char *align, const char *const *head) {
  assert(columns > 0 && (int)strlen(align) == columns);
  table *t = mem_alloc(1, sizeof *t);
  *out = NULL;
  if (!t) return DKHO_E_MEMORY;
  t->columns = columns;
  t->align = mem_strdup(align);
  dkho_status s = t->align ? DKHO_OK : DKHO_E_MEMORY;
  for (int i = 0; i < columns && s == DKHO_OK; i++) s = table_add(t, head[i]);
  if (s == DKHO_OK)
    *out = t;
  else
    table_close(t);
  return s;
}

void table_close(table *t) {
  if (!t) return;
  for (int64_t i = 0; i < t->cells; i++) mem_free(t->cell[i]);
  mem_free(t->cell);
  mem_free(t->align);
  mem_free(t);
}

dkho_status table_add(table *t, const char *text) {
  if (t->cells == t->room) {
    char **more = mem_resize(t->cell, (size_t)t->cells, (size_t)(2 * t->room + 32), sizeof *more);
    if (!more) return DKHO_E_MEMORY;
    t->cell = more;
    t->room = 2 * t->room + 32;
  }
  char *copy = mem_strdup(text ? text : "");
  if (!copy) return DKHO_E_MEMORY;
  t->cell[t->cells++] = copy;
  return DKHO_OK;
}

dkho_status table_addf(table *t, const char *fmt, ...) {
  char text[CELL_MAX];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (n < 0 || n >= CELL_MAX)
    return fail(DKHO_E_INPUT, "a table cell of %d bytes, expected fewer than %d", n, CELL_MAX);
  return table_add(t, text);
}

/* Text that grows; after a failure it stays empty and says so at the end. */
typedef struct {
  char *at;
  size_t used, room;
  int failed;
} text;

static void put_bytes(text *b, const char *bytes, size_t n) {
  if (b->failed) return;
  if (!b->at || b->used + n + 1 > b->room) {
    size_t room = 2 * (b->used + n + 1) + 256;
    char *more = mem_resize(b->at, b->used, room, 1);
    if (!more) {
      b->failed = 1;
      return;
    }
    b->at = more;
    b->room = room;
  }
  memcpy(b->at + b->used, bytes, n);
  b->used += n;
  b->at[b->used] = 0;
}

static void puts_(text *b, const char *s) {
  put_bytes(b, s, strlen(s));
}

static void repeat(text *b, const char *s, int n) {
  for (int i = 0; i < n; i++) puts_(b, s);
}

static dkho_status finish_text(text *b, char **out) {
  put_bytes(b, "", 0);
  *out = b->failed ? NULL : b->at;
  if (b->failed) mem_free(b->at);
  return b->failed ? DKHO_E_MEMORY : DKHO_OK;
}

/* Bytes of the letter at s, combining marks (U+0300 … U+036F) with it. */
static size_t letter(const char *s) {
  size_t n = s[0] != 0;
  while (((unsigned char)s[n] & 0xc0) == 0x80) n++;
  while (((unsigned char)s[n] == 0xcc && (unsigned char)s[n + 1] >= 0x80) ||
         ((unsigned char)s[n] == 0xcd && (unsigned char)s[n + 1] >= 0x80 && (unsigned char)s[n + 1] <= 0xaf))
    n += 2;
  return n;
}

static int width_of(const char *s, size_t bytes) {
  int w = 0;
  for (size_t at = 0; at < bytes && s[at]; w++) at += letter(s + at);
  return w;
}

/* The bytes of s that go on one line of `width` letters; *next is where the following line begins. */
static size_t line_of(const char *s, int width, size_t *next) {
  size_t at = 0, space = 0;
  for (int w = 0; w < width && s[at] && s[at] != '\n'; w++) {
    if (s[at] == ' ') space = at;
    at += letter(s + at);
  }
  if (s[at] == 0 || s[at] == '\n' || s[at] == ' ')
    *next = at + (s[at] != 0);
  else if (space)
    at = space, *next = at + 1;
  else
    *next = at;
  return at;
}

static int64_t rows_of(const table *t) { /* with the heads; a last row may be incomplete */
  return (t->cells + t->columns - 1) / t->columns;
}

static const char *cell_of(const table *t, int64_t row, int column) {
  int64_t i = row * t->columns + column;
  return i < t->cells ? t->cell[i] : "";
}

/* Natural widths; while the sum is too wide, the widest column gives way. */
static void fit_widths(const table *t, int width, int *column) {
  int total = GUTTER * (t->columns - 1);
  for (int j = 0; j < t->columns; j++) {
    column[j] = 1;
    for (int64_t i = 0; i < rows_of(t); i++) {
      const char *s = cell_of(t, i, j);
      for (size_t next = 0; *s; s += next) {
        int w = width_of(s, line_of(s, CELL_MAX, &next));
        column[j] = w > column[j] ? w : column[j];
      }
    }
    total += column[j];
  }
  while (width > 0 && total > width) {
    int widest = 0;
    for (int j = 1; j < t->columns; j++)
      if (column[j] > column[widest]) widest = j;
    if (column[widest] <= NARROWEST) return;
    column[widest]--;
    total--;
  }
}

static void put_aligned(text *b, const char *s, size_t bytes, int width, char align, int last) {
  int gap = width - width_of(s, bytes), left = align == 'r' ? gap : align == 'c' ? gap / 2 : 0;
  repeat(b, " ", left);
  put_bytes(b, s, bytes);
  if (!last) repeat(b, " ", gap - left + GUTTER);
}

/* One row on as many lines as its tallest cell; `from` is scratch, a place in each cell. */
static void put_row(text *b, const table *t, int64_t row, const int *column, const char **from) {
  int more = 1;
  for (int j = 0; j < t->columns; j++) from[j] = cell_of(t, row, j);
  while (more) {
    more = 0;
    size_t start = b->used;
    for (int j = 0; j < t->columns; j++) {
      size_t next = 0, n = line_of(from[j], column[j], &next);
      put_aligned(b, from[j], n, column[j], t->align[j], j == t->columns - 1);
      from[j] += next;
      more |= *from[j] != 0;
    }
    while (b->used > start && b->at[b->used - 1] == ' ') b->at[--b->used] = 0;
    puts_(b, "\n");
  }
}

dkho_status table_text(const table *t, int width, char **out) {
  text b = {0};
  int *column = mem_alloc((size_t)t->columns, sizeof *column);
  const char **from = mem_alloc((size_t)t->columns, sizeof *from);
  b.failed = !column || !from;
  if (!b.failed) {
    fit_widths(t, width, column);
    for (int64_t i = 0; i < rows_of(t); i++) {
      put_row(&b, t, i, column, from);
      for (int j = 0; i == 0 && j < t->columns; j++) {
        repeat(&b, "─", column[j]);
        repeat(&b, " ", j + 1 < t->columns ? GUTTER : 0);
      }
      if (i == 0) puts_(&b, "\n");
    }
  }
  mem_free(column);
  mem_free(from);
  return finish_text(&b, out);
}

dkho_status table_markdown(const table *t, char **out) {
  text b = {0};
  for (int64_t i = 0; i < rows_of(t); i++) {
    for (int j = 0; j < t->columns; j++) {
      puts_(&b, "| ");
      for (const char *s = cell_of(t, i, j); *s; s++) {
        if (*s == '|') puts_(&b, "\\");
        if (*s == '\n')
          puts_(&b, "<br>");
        else
          put_bytes(&b, s, 1);
      }
      puts_(&b, " ");
    }
    puts_(&b, "|\n");
    for (int j = 0; i == 0 && j < t->columns; j++)
      puts_(&b, t->align[j] == 'r' ? "|---:" : t->align[j] == 'c' ? "|:---:" : "|:---");
    if (i == 0) puts_(&b, "|\n");
  }
  return finish_text(&b, out);
}

/* RFC 4180, lines ended by \n. */
dkho_status table_csv(const table *t, char **out) {
  text b = {0};
  for (int64_t i = 0; i < rows_of(t); i++)
    for (int j = 0; j < t->columns; j++) {
      const char *s = cell_of(t, i, j);
      int quoted = strpbrk(s, ",\"\r\n") != NULL;
      if (quoted) puts_(&b, "\"");
      for (; *s; s++) put_bytes(&b, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
      puts_(&b, quoted ? "\"" : "");
      puts_(&b, j + 1 < t->columns ? "," : "\n");
    }
  return finish_text(&b, out);
}

dkho_status table_write(const table *t, const char *path, int force) {
  const char *ending = strrchr(path, '.');
  int md = ending && strcasecmp(ending, ".md") == 0, csv = ending && strcasecmp(ending, ".csv") == 0;
  if (!md && !csv && !(ending && strcasecmp(ending, ".txt") == 0))
    return fail(DKHO_E_INPUT, "%s: expected a name ending in .txt, .md or .csv", path);
  char *bytes = NULL;
  TRY(md ? table_markdown(t, &bytes) : csv ? table_csv(t, &bytes) : table_text(t, 0, &bytes));
  file_out f = {0};
  dkho_status s = file_open(&f, path, force);
  if (s == DKHO_OK) s = file_write(&f, bytes, strlen(bytes));
  if (s == DKHO_OK) s = file_commit(&f);
  file_abort(&f);
  mem_free(bytes);
  return s;
}
