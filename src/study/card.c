/* card.c: cards of packed models and their index. */
#include "study/card.h"
#include "report/table.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

dkho_status card_path(const char *model, char *out) {
  size_t length = strlen(model);
  if (length < 4 || strcmp(model + length - 3, ".st") != 0 || length > PATH_LIMIT - 8)
    return fail(DKHO_E_INPUT, "%s: the name of a packed model ends in .st", model);
  snprintf(out, PATH_LIMIT, "%.*s.json", (int)length - 3, model);
  return DKHO_OK;
}

dkho_status card_file(const char *model, json_t **out) {
  st_file *f = NULL;
  struct stat st;
  char hash[33];
  TRY(st_open(&f, model));
  st_hash(f, hash);
  st_close(f);
  if (stat(model, &st) != 0) return fail(DKHO_E_IO, "%s: cannot be examined", model);
  *out = json_pack("{s:s, s:I}", "hash", hash, "bytes", (json_int_t)st.st_size);
  return *out ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

static const char *text_member_or(const json_t *o, const char *key, const char *otherwise) {
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : otherwise;
}

static const char *text_member(const json_t *o, const char *key) {
  return text_member_or(o, key, "-");
}

static double number_member(const json_t *o, const char *key) {
  const json_t *v = json_object_get(o, key);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

/* The row to compare with that comes closest. */
static const json_t *closest_reference(const json_t *card, double *error) {
  const json_t *best = NULL;
  json_t *row;
  size_t i;
  *error = NAN;
  json_array_foreach(json_object_get(json_object_get(card, "honest"), "rows"), i, row) {
    double here = number_member(json_object_get(row, "metrics"), "rel_l2");
    if (best && !(here < *error)) continue;
    *error = here;
    best = row;
  }
  return best;
}

static dkho_status add_card(table *t, const char *name, const json_t *card) {
  const json_t *training = json_object_get(card, "training"), *config = json_object_get(training, "config");
  double error;
  const json_t *other = closest_reference(card, &error);
  TRY(table_add(t, name));
  TRY(table_addf(t, "%s %s", text_member(json_object_get(training, "data"), "problem"), text_member(config, "target")));
  TRY(table_addf(t, "%.0f", number_member(training, "parameters")));
  TRY(table_addf(t, "%s, %s", text_member_or(config, "optimizer", optim_name(OPTIM_ADAMW)),
                 text_member_or(config, "schedule", lr_name(LR_COSINE))));
  TRY(table_addf(t, "%.0f (best %.0f)", number_member(training, "epochs"), number_member(training, "best_epoch")));
  TRY(table_addf(t, "%.0f", number_member(training, "seconds") / 60));
  TRY(table_addf(t, "%.4f", number_member(training, "val_rel_l2")));
  TRY(table_addf(t, "%.4f", number_member(json_object_get(json_object_get(training, "test"), "metrics"), "rel_l2")));
  TRY(other ? table_addf(t, error < 1e-3 ? "%.0e (%s)" : "%.4f (%s)", error, text_member(other, "name"))
            : table_add(t, "-"));
  TRY(table_addf(t, "%.0f", number_member(json_object_get(card, "file"), "bytes") / 1000));
  return table_add(t, text_member(json_object_get(card, "file"), "hash"));
}

static int is_card(const struct dirent *e) {
  size_t n = strlen(e->d_name);
  return n > 5 && strcmp(e->d_name + n - 5, ".json") == 0;
}

static dkho_status fill_index(table *t, const char *dir) {
  struct dirent **list = NULL;
  int n = scandir(dir, &list, is_card, alphasort);
  dkho_status s = n < 0 ? fail(DKHO_E_IO, "%s: cannot be listed", dir) : DKHO_OK;
  for (int i = 0; i < n; i++) {
    char path[PATH_LIMIT], name[256];
    json_t *card = NULL;
    snprintf(name, sizeof name, "%.*s", (int)strlen(list[i]->d_name) - 5, list[i]->d_name);
    if (snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name) < PATH_LIMIT && s == DKHO_OK &&
        config_load_json(path, &card) == DKHO_OK && json_object_get(card, "training")) /* others are no cards */
      s = add_card(t, name, card);
    json_decref(card);
    free(list[i]);
  }
  free(list);
  return s;
}

#define TITLE "# Trained operators\n\nWritten by `dkho pack`;"

/* Whether the file may be written: it is not there, or was written here before. */
static int index_is_ours(const char *path) {
  file_map m;
  if (!file_exists(path)) return 1;
  if (file_map_open(&m, path) != DKHO_OK) return 0;
  int ours = m.size >= strlen(TITLE) && memcmp(m.bytes, TITLE, strlen(TITLE)) == 0;
  file_map_close(&m);
  return ours;
}

static dkho_status write_index(const char *path, const table *t) {
  char *rows = NULL;
  file_out f = {0};
  TRY(table_markdown(t, &rows));
  dkho_status s = file_open(&f, path, 1);
  if (s == DKHO_OK)
    s = file_printf(
        &f, TITLE
        " each model (`NAME.st`) has a card (`NAME.json`) that documents it. "
        "A model file holds weights, scaling and descriptors; the mesh is regenerated when the file is loaded and "
        "verified against checksums in the file. RelL2 is the mean over the split.\n\n"
        "    dkho info models/NAME.st\n    dkho check models/NAME.st      # predicts a few regenerated test samples\n"
        "    dkho data PROBLEM -o data.st && dkho predict models/NAME.st --data data.st -o fields.st\n\n");
  if (s == DKHO_OK) s = file_write(&f, rows, strlen(rows));
  mem_free(rows);
  if (s == DKHO_OK) return file_commit(&f);
  file_abort(&f);
  return s;
}

dkho_status card_index(const char *model) {
  static const char *const head[] = {"model",     "target",     "parameters",
                                     "optimiser", "epochs",     "minutes",
                                     "val RelL2", "test RelL2", "closest simple predictor",
                                     "file, kB",  "hash"};
  enum { COLUMNS = sizeof head / sizeof *head };
  char dir[PATH_LIMIT], path[PATH_LIMIT];
  const char *slash = strrchr(model, '/');
  snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - model) : 1, slash ? model : ".");
  if (snprintf(path, sizeof path, "%s/README.md", dir) >= PATH_LIMIT)
    return fail(DKHO_E_INPUT, "%s: the name of the folder is too long", dir);
  if (!index_is_ours(path)) return fail(DKHO_E_EXISTS, "%s: was written by somebody else; it is kept", path);
  table *t = NULL;
  TRY(table_open(&t, COLUMNS, "llrlrrrrrrl", head));
  dkho_status s = fill_index(t, dir);
  if (s == DKHO_OK) s = write_index(path, t);
  table_close(t);
  return s;
}
