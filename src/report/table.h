/* table.h: a table of texts, written for a terminal, as Markdown, or as CSV. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "base/status.h"

typedef struct table table;
/* One letter a column in `align`: l left, r right, c centre. Heads are copied. */
dkho_status table_open(table **out, int columns, const char *align, const char *const *head);
/* Cells row by row; a row is complete when it has all columns. NULL adds an empty cell. */
dkho_status table_add(table *t, const char *text);
dkho_status table_addf(table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_close(table *t);

/* The table as text, owned by the caller (mem_free). For a terminal of `width` columns (0: as wide as it likes): columns
 * that are too wide are wrapped at spaces, and at need inside words. */
dkho_status table_text(const table *t, int width, char **out);
dkho_status table_markdown(const table *t, char **out);
dkho_status table_csv(const table *t, char **out);
/* Into a file, by its ending: .txt, .md, .csv. */
dkho_status table_write(const table *t, const char *path, int force);

#endif
