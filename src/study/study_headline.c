/* study_headline.c: the paper's efficiency table and the two figures of its abstract, from the results of a folder: printed rows and
 * our own, each by itself. With e the RelL2 on the test samples and P the parameters, per target
 *   leading baseline b    the row of least e among those with native inputs (N), or with matched ones (F)
 *   reduction             1 - e(DKHO-large) / e(b)
 *   share                 P(DKHO-small) / P(b)
 * and over all: the mean over problems of the mean over their targets of the reduction, and the range of the share. The printed rows
 * give the abstract's figures with inputs N; the paper prints no P with inputs F. */
#include "study/study.h"

#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *row_text(const json_t *row, const char *key) {
  const char *s = json_string_value(json_object_get(row, key));
  return s ? s : "";
}

static double row_number(const json_t *row, const char *key) {
  const json_t *v = json_object_get(row, key);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

static double row_error(const json_t *row) {
  return row_number(json_object_get(row, "metrics"), "rel_l2");
}

static int has_mark(const char *name, const char *mark) {
  size_t n = strlen(name), m = strlen(mark);
  return n > m && strcmp(name + n - m, mark) == 0;
}

/* The row of this name, or with `mark` the baseline of least error. NULL: none. */
static const json_t *pick_row(const json_t *target, const char *source, const char *name, const char *mark) {
  const json_t *best = NULL;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    const char *is = row_text(row, "name");
    if (strcmp(row_text(row, "source"), source) != 0 || !isfinite(row_error(row))) continue;
    if (mark ? !has_mark(is, mark) : strcmp(is, name) != 0) continue;
    if (!best || row_error(row) < row_error(best)) best = row;
  }
  return best;
}

static json_t *real_or_null(double v) {
  return isfinite(v) ? json_real(v) : json_null();
}

/* One line of the efficiency table; NULL where the target has no baseline or no DKHO. */
static json_t *target_line(const json_t *whole, const json_t *target, const char *source, const char *mark) {
  const json_t *base = pick_row(target, source, NULL, mark), *small = pick_row(target, source, "DKHO-small", NULL),
               *large = pick_row(target, source, "DKHO-large", NULL);
  if (!base || (!small && !large)) return NULL;
  double e = row_error(base), p = row_number(base, "parameters");
  double reached = large ? row_error(large) : NAN, own = small ? row_number(small, "parameters") : NAN;
  return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "problem", row_text(whole, "problem"),
                   "target", row_text(target, "target"), "baseline", row_text(base, "name"), "baseline_parameters",
                   real_or_null(p), "small_parameters", real_or_null(own), "share", real_or_null(own / p),
                   "baseline_rel_l2", json_real(e), "small_rel_l2", real_or_null(small ? row_error(small) : NAN),
                   "large_rel_l2", real_or_null(reached), "reduction", real_or_null(1 - reached / e));
}

/* Mean over problems of the mean over their targets; NaN without one. Lines of a problem stand together. */
static double mean_reduction(const json_t *lines) {
  double sum = 0, of_problem = 0, problems = 0, targets = 0;
  size_t i, n = json_array_size(lines);
  for (i = 0; i < n; i++) {
    const json_t *line = json_array_get(lines, i), *next = json_array_get(lines, i + 1);
    double r = row_number(line, "reduction");
    if (isfinite(r)) of_problem += r, targets++;
    if (next && strcmp(row_text(next, "problem"), row_text(line, "problem")) == 0) continue;
    if (targets > 0) sum += of_problem / targets, problems++;
    of_problem = targets = 0;
  }
  return problems > 0 ? sum / problems : NAN;
}

static void share_range(const json_t *lines, double *least, double *most) {
  size_t i;
  json_t *line;
  *least = INFINITY, *most = -INFINITY;
  json_array_foreach(lines, i, line) {
    double s = row_number(line, "share");
    if (isfinite(s)) *least = fmin(*least, s), *most = fmax(*most, s);
  }
}

static void add_headline(json_t *list, const json_t *problems, const char *source, const char *mark) {
  json_t *lines = json_array(), *whole, *target;
  size_t i, k;
  double least, most;
  json_array_foreach(problems, i, whole)
    json_array_foreach(json_object_get(whole, "targets"), k, target) {
      json_t *line = target_line(whole, target, source, mark);
      if (line) json_array_append_new(lines, line);
    }
  share_range(lines, &least, &most);
  if (json_array_size(lines))
    json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:O}", "source", source, "inputs",
                                          mark[2] == 'N' ? "native" : "matched", "mean_reduction",
                                          real_or_null(mean_reduction(lines)), "least_share", real_or_null(least),
                                          "most_share", real_or_null(most), "targets", lines));
  json_decref(lines);
}

json_t *study_headline(const json_t *problems) {
  static const char *const source[] = {"paper", "ours"}, *const mark[] = {" (N)", " (F)"};
  json_t *list = json_array();
  for (int s = 0; list && s < 2; s++)
    for (int m = 0; m < 2; m++) add_headline(list, problems, source[s], mark[m]);
  return list;
}

static dkho_status add_cell(table *t, const char *format, double v) {
  return isfinite(v) ? table_addf(t, format, v) : table_add(t, "-");
}

static dkho_status fill_efficiency(table *t, const json_t *headline) {
  size_t i, k;
  json_t *part, *line;
  json_array_foreach(headline, i, part)
    json_array_foreach(json_object_get(part, "targets"), k, line) {
      TRY(table_addf(t, "%s %s", row_text(line, "problem"), row_text(line, "target")));
      TRY(table_add(t, row_text(part, "source")));
      TRY(table_add(t, row_text(line, "baseline")));
      TRY(add_cell(t, "%.0f", row_number(line, "small_parameters")));
      TRY(add_cell(t, "%.0f", row_number(line, "baseline_parameters")));
      TRY(add_cell(t, "%.1f %%", 100 * row_number(line, "share")));
      TRY(add_cell(t, "%.4f", row_number(line, "small_rel_l2")));
      TRY(add_cell(t, "%.4f", row_number(line, "large_rel_l2")));
      TRY(add_cell(t, "%.4f", row_number(line, "baseline_rel_l2")));
      TRY(add_cell(t, "%.1f %%", 100 * row_number(line, "reduction")));
    }
  return DKHO_OK;
}

/* "ours, native inputs: error of DKHO-large 12.3 % below …, DKHO-small has 11.5 to 24.3 % of its parameters." */
static dkho_status headline_sentence(file_out *f, const json_t *part) {
  double r = row_number(part, "mean_reduction"), least = row_number(part, "least_share");
  TRY(file_printf(f, "- %s, %s inputs:", row_text(part, "source"), row_text(part, "inputs")));
  if (isfinite(r)) TRY(file_printf(f, " mean reduction of the error by DKHO-large %.1f %%;", 100 * r));
  if (isfinite(least))
    TRY(file_printf(f, " DKHO-small has %.1f to %.1f %% of the parameters;", 100 * least,
                    100 * row_number(part, "most_share")));
  return file_printf(f, " %d targets.\n", (int)json_array_size(json_object_get(part, "targets")));
}

dkho_status study_headline_section(file_out *f, const json_t *headline) {
  static const char *const head[] = {"target", "source",           "leading baseline", "DKHO-small, P", "baseline, P",
                                     "share",  "DKHO-small RelL2", "DKHO-large",       "baseline",      "reduction"};
  table *t = NULL;
  char *text = NULL;
  size_t i;
  json_t *part;
  if (!json_array_size(headline)) return DKHO_OK;
  TRY(file_printf(
      f, "## Efficiency\n\nThe leading baseline is the one of least test RelL2 among those with native inputs (N), and "
         "among those with matched ones (F). Share: parameters of DKHO-small over the baseline's. Reduction: 1 - "
         "RelL2 of DKHO-large over the baseline's; its mean is taken over the targets of each problem, then over "
         "the problems.\n\n"));
  dkho_status s = table_open(&t, 10, "lllrrrrrrr", head);
  if (s == DKHO_OK) s = fill_efficiency(t, headline);
  if (s == DKHO_OK) s = table_markdown(t, &text);
  if (s == DKHO_OK) s = file_printf(f, "%s\n", text);
  mem_free(text);
  table_close(t);
  json_array_foreach(headline, i, part)
    if (s == DKHO_OK) s = headline_sentence(f, part);
  return s;
}
