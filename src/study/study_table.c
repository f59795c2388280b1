/* study_table.c: the tables of a study as Markdown and CSV, ours beside the printed figures. */
#include "study/study.h"

#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_member(const json_t *o, const char *key) {
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : "";
}

static double number_member(const json_t *o, const char *key) {
  const json_t *v = json_object_get(o, key);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

/* Four digits, as the paper prints: 0.0123, 1.23e-05; a dash for a figure that is not there, n/a for one that cannot be: what it
 * refers to vanishes. */
static void figure_text(const json_t *value, char out[32]) {
  double v = json_number_value(value);
  if (!value)
    snprintf(out, 32, "-");
  else if (!json_is_number(value))
    snprintf(out, 32, "n/a");
  else if (v == 0 || (fabs(v) >= 1e-3 && fabs(v) < 1e4))
    snprintf(out, 32, "%.4f", v);
  else
    snprintf(out, 32, "%.3e", v);
}

/* Where a row's figures come from; what was trained says how long. */
static void row_source(const json_t *row, char out[64]) {
  double epochs = number_member(row, "epochs");
  if (strcmp(text_member(row, "source"), "paper") == 0)
    snprintf(out, 64, "paper");
  else if (isfinite(epochs))
    snprintf(out, 64, "ours, %.0f epochs", epochs);
  else
    snprintf(out, 64, "ours");
}

static dkho_status put_table(file_out *f, table *t) {
  char *markdown = NULL;
  dkho_status s = table_markdown(t, &markdown);
  if (s == DKHO_OK) s = file_write(f, markdown, strlen(markdown));
  if (s == DKHO_OK) s = file_write(f, "\n", 1);
  mem_free(markdown);
  return s;
}

enum { COLUMNS_MAX = 24 };

/* A row per method, a column per metric; - where a method has none. */
static dkho_status fill_target(table *t, const json_t *target) {
  size_t i, k;
  json_t *row, *metric;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    char from[64], cell[32];
    row_source(row, from);
    TRY(table_add(t, text_member(row, "name")));
    TRY(table_add(t, from));
    double parameters = number_member(row, "parameters");
    TRY(isfinite(parameters) ? table_addf(t, "%.0f", parameters) : table_add(t, "-"));
    json_array_foreach(json_object_get(target, "metrics"), k, metric) {
      figure_text(json_object_get(json_object_get(row, "metrics"), text_member(metric, "key")), cell);
      TRY(table_add(t, cell));
    }
  }
  return DKHO_OK;
}

/* Metrics that do not fit into COLUMNS_MAX are left to table.csv. */
static dkho_status target_table(file_out *f, const json_t *whole, const json_t *target) {
  const char *head[COLUMNS_MAX] = {"row", "source", "parameters"};
  char align[COLUMNS_MAX + 1] = "llr", titles[COLUMNS_MAX][64];
  int columns = 3;
  size_t i;
  json_t *metric;
  json_array_foreach(json_object_get(target, "metrics"), i, metric) {
    if (columns == COLUMNS_MAX) break;
    snprintf(titles[columns], sizeof titles[columns], "%s %s", text_member(metric, "title"),
             number_member(metric, "better") > 0 ? "↑" : "↓");
    head[columns] = titles[columns];
    align[columns++] = 'r';
  }
  align[columns] = 0;
  table *t = NULL;
  TRY(file_printf(f, "### %s C%d: `%s`\n\n", text_member(whole, "problem"), (int)number_member(target, "degree"),
                  text_member(target, "target")));
  dkho_status s = table_open(&t, columns, align, head);
  if (s == DKHO_OK) s = fill_target(t, target);
  if (s == DKHO_OK) s = put_table(f, t);
  table_close(t);
  return s;
}

/* What each run was given, and whether its validation error was still falling when it ended. */
static dkho_status fill_training(table *t, const json_t *target) {
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    const json_t *how = json_object_get(row, "training");
    char cell[32];
    if (!how) continue;
    TRY(table_add(t, text_member(target, "target")));
    TRY(table_add(t, text_member(row, "name")));
    TRY(table_addf(t, "%s, %s, lr %g, batch %.0f", text_member(how, "optimizer"), text_member(how, "schedule"),
                   number_member(how, "lr"), number_member(how, "batch")));
    TRY(table_addf(t, "%.0f (best %.0f)", number_member(row, "epochs"), number_member(row, "best_epoch")));
    TRY(table_addf(t, "%.0f", number_member(row, "seconds") / 60));
    figure_text(json_object_get(row, "val_rel_l2"), cell);
    TRY(table_add(t, cell));
    figure_text(json_object_get(json_object_get(row, "metrics"), "rel_l2"), cell);
    TRY(table_add(t, cell));
    double fall = number_member(how, "late_fall");
    TRY(isfinite(fall) ? table_addf(t, "%.1f %%", 100 * fall) : table_add(t, "-"));
  }
  return DKHO_OK;
}

static dkho_status training_table(file_out *f, const json_t *whole) {
  static const char *const head[] = {"target",  "row",       "optimiser",  "epochs",
                                     "minutes", "val RelL2", "test RelL2", "fell in the last tenth"};
  table *t = NULL;
  size_t i;
  json_t *target;
  TRY(file_printf(f,
                  "### %s: training\n\nThe last column is the share of the validation error that the last tenth of the "
                  "epochs removed; see the training curves.\n\n",
                  text_member(whole, "problem")));
  dkho_status s = table_open(&t, 8, "lllrrrrr", head);
  json_array_foreach(json_object_get(whole, "targets"), i, target)
    if (s == DKHO_OK) s = fill_training(t, target);
  if (s == DKHO_OK) s = put_table(f, t);
  table_close(t);
  return s;
}

/* Time per sample and the number of solves after which training has paid for itself. */
static dkho_status fill_cost(table *t, const json_t *target) {
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    const json_t *cost = json_object_get(row, "cost"), *even = json_object_get(cost, "break_even_solves");
    if (!cost) continue;
    TRY(table_add(t, text_member(target, "target")));
    TRY(table_add(t, text_member(row, "name")));
    TRY(table_addf(t, "%.1f", number_member(row, "seconds")));
    TRY(table_addf(t, "%.3f", 1e3 * number_member(row, "seconds_per_training_sample")));
    TRY(table_addf(t, "%.3f", 1e3 * number_member(cost, "learned_seconds_per_sample")));
    TRY(table_addf(t, "%.3f", 1e3 * number_member(json_object_get(cost, "classical"), "seconds_per_sample")));
    if (json_is_integer(even))
      TRY(table_addf(t, "%lld", (long long)json_integer_value(even)));
    else
      TRY(table_add(t, json_is_string(even) ? json_string_value(even) : "-"));
  }
  return DKHO_OK;
}

static dkho_status cost_table(file_out *f, const json_t *whole) {
  static const char *const head[] = {
      "target",           "row", "training, s", "ms per training sample", "ms per prediction", "ms per classical solve",
      "pays after solves"};
  table *t = NULL;
  size_t i;
  json_t *target;
  TRY(file_printf(
      f,
      "### %s: cost with %d threads\n\nA classical solve gives all targets at once, after %.3g s of set-up for "
      "the mesh; a prediction gives one. Times of training hold a look at the validation samples after every "
      "epoch.\n\n",
      text_member(whole, "problem"), (int)number_member(whole, "threads"),
      number_member(json_object_get(whole, "classical"), "setup_seconds")));
  dkho_status s = table_open(&t, 7, "llrrrrr", head);
  json_array_foreach(json_object_get(whole, "targets"), i, target)
    if (s == DKHO_OK) s = fill_cost(t, target);
  if (s == DKHO_OK) s = put_table(f, t);
  table_close(t);
  return s;
}

/* Members of a population are numbers, or [mean, deviation]. */
static dkho_status phase_row(table *t, const char *name, const json_t *population) {
  static const char *const keys[] = {"rho", "dice", "lift", "enrichment", "permuted_dice", "above_chance"};
  TRY(table_add(t, name));
  for (int k = 0; k < 6; k++) {
    const json_t *v = json_object_get(population, keys[k]);
    if (json_is_array(v))
      TRY(table_addf(t, "%.3f ± %.3f", json_number_value(json_array_get(v, 0)),
                     json_number_value(json_array_get(v, 1))));
    else
      TRY(table_addf(t, "%.3f", json_number_value(v)));
  }
  return DKHO_OK;
}

static dkho_status case_rows(table *t, const char *source, const json_t *cases) {
  static const struct {
    const char *key, *form;
  } column[] = {{"dice", "%.3f"}, {"lift", "%.2f"}, {"enrichment", "%.2f"}, {"rho", "%.3f"}, {"rel_l2", "%.4f"}};
  size_t i;
  json_t *one;
  json_array_foreach(cases, i, one) {
    TRY(table_add(t, source));
    TRY(json_object_get(one, "sample") ? table_addf(t, "%d", (int)number_member(one, "sample")) : table_add(t, "-"));
    for (int k = 0; k < 5; k++) TRY(table_addf(t, column[k].form, number_member(one, column[k].key)));
  }
  return DKHO_OK;
}

/* The instances of the figure beside those that the paper shows. */
static dkho_status case_table(file_out *f, const json_t *phase) {
  static const char *const head[] = {"source", "test sample", "Dice", "Lift", "Enrichment", "rho", "RelL2"};
  table *t = NULL;
  TRY(file_printf(f, "Cases, ours the best by our own rule%s.\n\n",
                  json_object_get(phase, "paper") ? "; the paper gives none for its three" : ""));
  dkho_status s = table_open(&t, 7, "lrrrrrr", head);
  if (s == DKHO_OK) s = case_rows(t, "paper", json_object_get(json_object_get(phase, "paper"), "cases"));
  if (s == DKHO_OK) s = case_rows(t, "ours", json_object_get(phase, "cases"));
  if (s == DKHO_OK) s = put_table(f, t);
  table_close(t);
  return s;
}

static dkho_status phase_table(file_out *f, const json_t *whole) {
  static const char *const head[] = {"source", "rho", "Dice", "Lift", "Enrichment", "permuted Dice", "above chance"};
  const json_t *phase = json_object_get(whole, "phase"), *printed = json_object_get(phase, "paper");
  table *t = NULL;
  if (!json_object_get(phase, "population")) return DKHO_OK;
  TRY(file_printf(f, "### %s: phase diagnostic\n\nRun `%s`, %s, q = %g, %d instances.\n\n",
                  text_member(whole, "problem"), text_member(phase, "run"), text_member(phase, "score"),
                  number_member(phase, "q"), (int)number_member(phase, "instances")));
  dkho_status s = table_open(&t, 7, "lrrrrrr", head);
  if (s == DKHO_OK && printed) s = phase_row(t, "paper", printed);
  if (s == DKHO_OK) s = phase_row(t, "ours", json_object_get(phase, "population"));
  if (s == DKHO_OK) s = phase_row(t, "ours, zero diagonal", json_object_get(phase, "zero_diagonal"));
  if (s == DKHO_OK) s = put_table(f, t);
  table_close(t);
  return s == DKHO_OK ? case_table(f, phase) : s;
}

static dkho_status pair_lines(file_out *f, const json_t *whole) {
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(whole, "pairs"), i, p)
    TRY(file_printf(f, "The %s models of `%s` and `%s` contradict each other by %.4f (mean of |d u - w| / |w|).\n\n",
                    text_member(p, "size"), text_member(p, "lower"), text_member(p, "upper"),
                    number_member(p, "value")));
  return DKHO_OK;
}

/* Everything about one problem, as table.md has it. */
static dkho_status problem_section(file_out *f, const json_t *whole) {
  const json_t *samples = json_object_get(whole, "samples");
  size_t i;
  json_t *target;
  TRY(file_printf(f, "## %s\n\nBudget %s: %s resolution, %d training, %d validation, %d test samples, ",
                  text_member(whole, "problem"), text_member(whole, "budget"), text_member(whole, "resolution"),
                  (int)number_member(samples, "train"), (int)number_member(samples, "val"),
                  (int)number_member(samples, "test")));
  TRY(number_member(whole, "epochs") > 0 ? file_printf(f, "%d epochs", (int)number_member(whole, "epochs"))
                                         : file_printf(f, "the recipe's epochs"));
  if (number_member(whole, "batch") > 0) TRY(file_printf(f, " in batches of %d", (int)number_member(whole, "batch")));
  TRY(file_printf(f, ", seed %d, dkho %s. Rows marked paper are printed figures, from the authors' own data.\n\n",
                  (int)number_member(whole, "seed"), text_member(whole, "version")));
  json_array_foreach(json_object_get(whole, "targets"), i, target) TRY(target_table(f, whole, target));
  TRY(training_table(f, whole));
  TRY(pair_lines(f, whole));
  TRY(cost_table(f, whole));
  return phase_table(f, whole);
}

static dkho_status write_markdown(const char *root, const json_t *problems, const json_t *headline) {
  char path[PATH_LIMIT];
  file_out f = {0};
  size_t i;
  json_t *whole;
  snprintf(path, sizeof path, "%.*s/table.md", PATH_LIMIT - 64, root);
  TRY(file_open(&f, path, 1));
  dkho_status s = file_printf(&f, "# Results\n\nWritten by `dkho reproduce`. docs/METRICS.md has the formulas.\n\n");
  json_array_foreach(problems, i, whole)
    if (s == DKHO_OK) s = problem_section(&f, whole);
  if (s == DKHO_OK) s = study_headline_section(&f, headline);
  if (s == DKHO_OK) return file_commit(&f);
  file_abort(&f);
  return s;
}

/* One line per figure: problem, target, degree, row, source, budget, parameters, metric, value. */
static dkho_status fill_csv(table *t, const json_t *whole, const json_t *target) {
  size_t i;
  json_t *row, *value;
  const char *key;
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    int paper = strcmp(text_member(row, "source"), "paper") == 0;
    json_object_foreach(json_object_get(row, "metrics"), key, value) {
      TRY(table_add(t, text_member(whole, "problem")));
      TRY(table_add(t, text_member(target, "target")));
      TRY(table_addf(t, "%d", (int)number_member(target, "degree")));
      TRY(table_add(t, text_member(row, "name")));
      TRY(table_add(t, text_member(row, "source")));
      TRY(table_add(t, paper ? "paper" : text_member(whole, "budget")));
      TRY(json_object_get(row, "parameters") ? table_addf(t, "%.0f", number_member(row, "parameters"))
                                             : table_add(t, NULL));
      TRY(table_add(t, key));
      TRY(json_is_number(value) ? table_addf(t, "%.9g", json_number_value(value)) : table_add(t, NULL));
    }
  }
  return DKHO_OK;
}

static dkho_status write_csv(const char *root, const json_t *problems) {
  static const char *const head[] = {"problem", "target",     "degree", "row",  "source",
                                     "budget",  "parameters", "metric", "value"};
  char path[PATH_LIMIT];
  table *t = NULL;
  size_t i, k;
  json_t *whole, *target;
  snprintf(path, sizeof path, "%.*s/table.csv", PATH_LIMIT - 64, root);
  dkho_status s = table_open(&t, 9, "lllllllll", head);
  json_array_foreach(problems, i, whole)
    json_array_foreach(json_object_get(whole, "targets"), k, target)
      if (s == DKHO_OK) s = fill_csv(t, whole, target);
  if (s == DKHO_OK) s = table_write(t, path, 1);
  table_close(t);
  return s;
}

dkho_status study_tables(const char *root, json_t *problems) {
  char path[PATH_LIMIT];
  json_t *headline = study_headline(problems);
  dkho_status s =
      headline ? write_markdown(root, problems, headline) : fail(DKHO_E_MEMORY, "no memory for a JSON array");
  if (s == DKHO_OK) s = write_csv(root, problems);
  snprintf(path, sizeof path, "%.*s/result.json", PATH_LIMIT - 64, root);
  if (s == DKHO_OK) s = config_save_json(json_pack("{s:O, s:O}", "problems", problems, "headline", headline), path, 1);
  json_decref(headline);
  return s;
}
