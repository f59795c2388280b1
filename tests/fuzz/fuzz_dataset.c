/* fuzz_dataset.c: whatever the bytes, a data set opens or is refused with a message; what it shows can be read. Written again by the library's
 * own writer it holds the same (but for the scaling numbers, which are found anew), and written once more it is the same file. */
#include "fuzz_container.h"

#include "data/dataset.h"

static double read_all(const dkho_dataset *d) {
  double sum = 0;
  int64_t count;
  dkho_field_info f;
  for (int i = 0; i < dkho_dataset_fields(d); i++) {
    CHECK(dkho_dataset_field(d, i, &f) == DKHO_OK && dkho_dataset_find(d, f.name) == i);
    for (int64_t s = 0; s < dkho_dataset_samples(d); s++) {
      const void *v = dkho_dataset_value(d, i, s);
      int64_t last = f.rows * f.channels - 1;
      if (v && last >= 0) sum += strcmp(f.role, "global") == 0 ? ((const double *)v)[last] : ((const float *)v)[last];
    }
  }
  static const char *const names[] = {"train", "val", "test"};
  for (int i = 0; i < 3; i++) {
    const int64_t *sample = dkho_dataset_split(d, names[i], &count);
    for (int64_t j = 0; j < count; j++) CHECK(sample[j] >= 0 && sample[j] < dkho_dataset_samples(d));
  }
  return sum;
}

static dkho_status put_known(const dataset *d, dataset_writer *w) {
  arena mem = {0};
  data_known *list;
  int count;
  json_t *root = json_object(), *known = dataset_known_json(d);
  CHECK(root && known && json_object_set_new(root, "known", known) == 0);
  dkho_status s = known_read(root, "again", &mem, &count, &list);
  for (int i = 0; s == DKHO_OK && i < count; i++) s = dataset_put_known(w, &list[i]);
  json_decref(root);
  arena_free(&mem);
  return s;
}

static dkho_status declare(const dataset *d, dataset_writer *w, cx **c) {
  for (int ci = 0; ci < dataset_complexes(d); ci++) {
    CHECK(dataset_load_cx(d, ci, &c[ci]) == DKHO_OK);
    TRY(dataset_put_cx(w, c[ci]));
  }
  for (int i = 0; i < dataset_fields(d); i++) TRY(dataset_put_field(w, &dataset_field(d)[i]));
  TRY(dataset_put_table(w, dataset_table(d)));
  for (int i = 0; i < dataset_fields(d); i++) {
    const data_recipe *r = dataset_recipe(d, dataset_field(d)[i].name);
    if (r) TRY(dataset_put_recipe(w, r));
  }
  return put_known(d, w);
}

/* What belongs to a complex: statics and bases, turned as the writer wants them. */
static dkho_status put_complex(const dataset *d, dataset_writer *w, int ci, const cx *c) {
  for (int i = 0; i < dataset_fields(d); i++)
    if (dataset_field(d)[i].role == DATA_STATIC)
      TRY(dataset_put_static(w, ci, dataset_field(d)[i].name, dataset_static(d, i, ci)));
  for (int k = 0; k <= c->dim; k++) {
    int64_t count, n = c->n[k];
    const double *rows = dataset_harmonic(d, ci, k, &count);
    double *columns = calloc((size_t)(n * count) + 1, sizeof *columns);
    CHECK(columns);
    for (int64_t i = 0; i < n * count; i++) columns[i % count * n + i / count] = rows[i];
    dkho_status s = dataset_put_harmonic(w, ci, k, count, columns);
    free(columns);
    TRY(s);
  }
  return DKHO_OK;
}

static dkho_status put_samples(const dataset *d, dataset_writer *w) {
  const void **block = calloc((size_t)dataset_fields(d) + 1, sizeof *block);
  dkho_status status = DKHO_OK;
  CHECK(block);
  for (int64_t s = 0; status == DKHO_OK && s < dataset_samples(d); s++) {
    int ci, b = 0;
    int64_t row;
    dataset_locate(d, s, &ci, &row);
    for (int i = 0; i < dataset_fields(d); i++) {
      data_role role = dataset_field(d)[i].role;
      if (role == DATA_STATIC) continue;
      block[b++] = role == DATA_GLOBAL ? (const void *)dataset_global(d, i, s) : dataset_value(d, i, s);
    }
    status = dataset_append(w, ci, 1, block);
  }
  for (data_split p = DATA_TRAIN; status == DKHO_OK && p < DATA_SPLITS; p++) {
    int64_t count;
    const int64_t *sample = dataset_split(d, p, &count);
    status = dataset_split_list(w, p, count, sample);
  }
  free(block);
  return status;
}

static dkho_status save(const dataset *d, const char *path) {
  cx **c = calloc((size_t)dataset_complexes(d) + 1, sizeof *c);
  dataset_writer *w;
  CHECK(c && dataset_create(&w, path, 1, dataset_info(d)) == DKHO_OK);
  dkho_status s = declare(d, w, c);
  for (int ci = 0; s == DKHO_OK && ci < dataset_complexes(d); ci++) s = put_complex(d, w, ci, c[ci]);
  if (s == DKHO_OK) s = put_samples(d, w);
  if (s == DKHO_OK)
    s = dataset_commit(w);
  else
    dataset_abort(w);
  for (int ci = 0; ci < dataset_complexes(d); ci++) cx_free(c[ci]);
  free(c);
  return s;
}

static void same_arrays(const dataset *a, const dataset *b) {
  const st_file *f = dataset_file(a), *g = dataset_file(b);
  CHECK(dataset_fields(a) == dataset_fields(b) && dataset_samples(a) == dataset_samples(b));
  for (int i = 0; i < st_count(g); i++) {
    const st_tensor *t = st_at(g, i), *s = st_find(f, t->name);
    CHECK(s && s->count == t->count && s->dtype == t->dtype);
    CHECK(t->count == 0 || memcmp(s->data, t->data, (size_t)t->count * st_dtype_size(t->dtype)) == 0);
  }
}

/* Values that are no part of a sample's promise on opening (not finite, other than what is known of them) the writer refuses. */
static void write_again(const char *path) {
  static char first[FUZZ_PATH], second[FUZZ_PATH];
  dataset *d, *again;
  CHECK(dataset_open(&d, path) == DKHO_OK);
  if (save(d, fuzz_path(first, "first.st")) == DKHO_OK) {
    CHECK(dataset_open(&again, first) == DKHO_OK);
    same_arrays(d, again);
    CHECK(save(again, fuzz_path(second, "second.st")) == DKHO_OK && fuzz_same(first, second));
    dataset_free(again);
  } else {
    CHECK(dkho_error()[0]);
    unlink(first);
  }
  dataset_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[32];
  double sum = 0;
  dkho_dataset *d;
  fuzz_run run = fuzz_begin(size);
  int fd = fuzz_file(data, size, path);
  if (dkho_dataset_open(&d, path) == DKHO_OK) {
    sum = read_all(d);
    dkho_dataset_free(d);
    write_again(path);
  } else {
    CHECK(!d);
    fuzz_refused(path);
  }
  close(fd);
  fuzz_end(&run);
  return sum == 42; /* keeps the reads; libFuzzer takes any value but -1 as 0 */
}
