/* test_dataset.c: data sets: what is written is read, scaling and splits, nothing of the test split or of the targets
 * where it does not belong, malformed files, failing allocations, no file left half-written, scores over several complexes. */
#include "scratch.h"

#include "feature_tables.h"
#include "run/score.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

enum { S = 11 };
static const feat_row rows[] = {{"f", 0, FEAT_NATIVE, "f"},
                                {"df", 1, FEAT_NATIVE, "d(f)"},
                                {"position", 0, FEAT_NATIVE, "position0"},
                                {"modes", 0, FEAT_SPECTRAL, "modes(spectral0)"},
                                {"all", 2, FEAT_SUMMARY, "broadcast(g, mean)"}};
static const feat_summary summary[] = {{"g", "value(g)"}, {"mean", "average(f, 1)"}};
static const feat_table table = TABLE(rows, summary);
static const data_field fields[] = {
    {.name = "f", .role = DATA_INPUT, .channels = 1, .rule = DATA_SCALE_MEANSTD, .eps = 1e-6},
    FIXED("position0", 0, 2),
    {.name = "g", .role = DATA_GLOBAL, .channels = 2, .rule = DATA_SCALE_MEANSTD, .eps = 1e-6},
    {.name = "p", .role = DATA_TARGET, .channels = 1, .rule = DATA_SCALE_MAXABS, .eps = 1e-8},
    {.name = "q", .role = DATA_TARGET, .degree = 1, .channels = 2, .rule = DATA_SCALE_RMS, .with_val = 1, .eps = 1e-9},
    FIXED("spectral0", 0, 3)};
enum { FIELDS = sizeof fields / sizeof *fields };
static const data_recipe recipes[] = {{"p", "", 1e-3, 1e-6, 1e-12, 200, 16, 3, 1, "darcy_c0"},
                                      {"q", "dkho.tau_range=0.1", 1e-3, 1e-5, 1e-10, 300, 16, 2, 0, "generic"}};
static const data_info info = {"darcy", "a test", UINT64_C(18446744073709551615), "{\"h\": 0.1}"};

/* What the writer is fed with; two complexes, samples 0 … 6 on the first. */
typedef struct feed {
  cx *c[2];
  float *f[2], *p[2], *q[2];
  double g[2 * S];
} feed;
static const int64_t share[2] = {7, 4};

static feed feed_make(void) {
  feed d = {.c = {square(2), square(3)}};
  rng r = rng_open(5, RNG_TEST, 0);
  for (int i = 0; i < 2; i++) {
    int64_t n0 = d.c[i]->n[0] * share[i], n1 = d.c[i]->n[1] * share[i] * 2;
    assert_true(MEM_NEW(d.f[i], n0) && MEM_NEW(d.p[i], n0) && MEM_NEW(d.q[i], n1));
    for (int64_t j = 0; j < n0; j++) d.f[i][j] = (float)rng_range(&r, 2, 5), d.p[i][j] = (float)rng_range(&r, -1, 1);
    for (int64_t j = 0; j < n1; j++) d.q[i][j] = (float)rng_range(&r, -1, 1);
  }
  for (int j = 0; j < 2 * S; j++) d.g[j] = rng_range(&r, 0.5, 1.5);
  return d;
}

static void feed_free(feed *d) {
  for (int i = 0; i < 2; i++) mem_free(d->f[i]), mem_free(d->p[i]), mem_free(d->q[i]), cx_free(d->c[i]);
}

static dkho_status put_complex(dataset_writer *w, const feed *d, int i) {
  double position[64], spectral[64] = {0}, column[16];
  static_positions(d->c[i], 0, position);
  for (int j = 0; j < 48; j++) spectral[j] = j + i;
  for (int j = 0; j < 16; j++) column[j] = 1 / sqrt((double)d->c[i]->n[0]);
  TRY(dataset_put_static(w, i, "position0", position));
  TRY(dataset_put_static(w, i, "spectral0", spectral));
  return dataset_put_harmonic(w, i, 0, 1, column);
}

/* Samples in two blocks on the first complex and one on the second. */
static dkho_status append(dataset_writer *w, const feed *d) {
  int64_t n0 = d->c[0]->n[0], n1 = d->c[0]->n[1] * 2;
  const void *first[] = {d->f[0], d->g, d->p[0], d->q[0]};
  const void *second[] = {d->f[0] + 3 * n0, d->g + 6, d->p[0] + 3 * n0, d->q[0] + 3 * n1};
  const void *third[] = {d->f[1], d->g + 14, d->p[1], d->q[1]};
  TRY(dataset_append(w, 0, 3, first));
  TRY(dataset_append(w, 0, 4, second));
  return dataset_append(w, 1, 4, third);
}

static dkho_status fill(dataset_writer *w, const feed *d) {
  for (int i = 0; i < 2; i++) TRY(dataset_put_cx(w, d->c[i]));
  for (int i = 0; i < FIELDS; i++) TRY(dataset_put_field(w, &fields[i]));
  for (int i = 0; i < 2; i++) TRY(put_complex(w, d, i));
  TRY(dataset_put_table(w, &table));
  for (int i = 0; i < 2; i++) TRY(dataset_put_recipe(w, &recipes[i]));
  TRY(append(w, d));
  return dataset_split_random(w, 42, 6, 2, 3);
}

static dkho_status make(const char *path, const feed *d) {
  dataset_writer *w;
  TRY(dataset_create(&w, path, 1, &info));
  dkho_status s = fill(w, d);
  if (s == DKHO_OK) return dataset_commit(w);
  dataset_abort(w);
  return s;
}

typedef struct place {
  char dir[64], path[128];
  feed d;
  dataset *set;
} place;

static place place_make(void) {
  place p = {.d = feed_make()};
  scratch_make(p.dir);
  scratch_path(p.path, p.dir, "d.st");
  assert_int_equal(make(p.path, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&p.set, p.path), DKHO_OK);
  return p;
}

static void place_free(place *p) {
  dataset_free(p->set);
  feed_free(&p->d);
  scratch_remove(p->dir);
}

static void test_round_trip(void **state) {
  (void)state;
  place p = place_make();
  const dataset *d = p.set;
  assert_int_equal(scratch_count(p.dir), 1);
  assert_int_equal(dataset_samples(d), S);
  assert_int_equal(dataset_complexes(d), 2);
  assert_string_equal(dataset_info(d)->problem, "darcy");
  assert_true(dataset_info(d)->seed == info.seed);
  assert_string_equal(dataset_info(d)->params, "{\"h\":0.10000000000000001}");
  assert_int_equal(strlen(dataset_mesh_hash(d, 0)), 32);
  assert_string_not_equal(dataset_mesh_hash(d, 0), dataset_mesh_hash(d, 1));
  for (int64_t s = 0; s < S; s++) {
    int ci;
    int64_t row;
    const float *in[1];
    const double *global[1];
    dataset_locate(d, s, &ci, &row);
    assert_int_equal(ci, s >= 7);
    assert_int_equal(row, s >= 7 ? s - 7 : s);
    int64_t n0 = dataset_count(d, ci, 0), n1 = 2 * dataset_count(d, ci, 1);
    dataset_inputs(d, s, in, global);
    assert_memory_equal(in[0], p.d.f[ci] + row * n0, (size_t)n0 * 4);
    assert_memory_equal(global[0], p.d.g + 2 * s, 16);
    assert_memory_equal(dataset_value(d, 3, s), p.d.p[ci] + row * n0, (size_t)n0 * 4);
    assert_memory_equal(dataset_value(d, 4, s), p.d.q[ci] + row * n1, (size_t)n1 * 4);
  }
  for (int i = 0; i < 2; i++) {
    int64_t count;
    cx *c;
    assert_int_equal(dataset_load_cx(d, i, &c), DKHO_OK);
    assert_memory_equal(c->x, p.d.c[i]->x, (size_t)p.d.c[i]->n[0] * 16);
    cx_free(c);
    assert_true(dataset_static(d, 5, i)[7] == 7 + i);
    assert_non_null(dataset_harmonic(d, i, 0, &count));
    assert_int_equal(count, 1);
    assert_null(dataset_harmonic(d, i, 1, &count));
  }
  const data_recipe *r = dataset_recipe(d, "q");
  assert_true(strcmp(r->options, "dkho.tau_range=0.1") == 0 && r->weight_decay == 1e-5 && r->loss_eps == 1e-10 &&
              r->epochs == 300);
  assert_true(r->modes == 2 && !r->harmonic);
  assert_string_equal(r->metrics, "generic");
  assert_null(dataset_recipe(d, "f"));
  assert_int_equal(dataset_role_count(d, DATA_TARGET), 2);
  int t;
  assert_int_equal(dataset_need_target(d, "q", &t), DKHO_OK);
  assert_int_equal(dataset_need_target(d, "f", &t), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "expected one of p, q"));
  place_free(&p);
}

/* Same input, same bytes. */
static void test_deterministic(void **state) {
  (void)state;
  place p = place_make();
  char other[128], a[33], b[33];
  dataset *again;
  scratch_path(other, p.dir, "e.st");
  assert_int_equal(make(other, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&again, other), DKHO_OK);
  st_hash(dataset_file(p.set), a), st_hash(dataset_file(again), b);
  assert_string_equal(a, b);
  dataset_free(again);
  place_free(&p);
}

static void test_splits(void **state) {
  (void)state;
  place p = place_make();
  int seen[S] = {0};
  static const int64_t sizes[] = {6, 2, 3};
  for (data_split s = 0; s < DATA_SPLITS; s++) {
    int64_t n;
    const int64_t *v = dataset_split(p.set, s, &n);
    assert_int_equal(n, sizes[s]);
    for (int64_t i = 0; i < n; i++) {
      seen[v[i]]++;
      assert_true(i == 0 || v[i] > v[i - 1]);
    }
  }
  for (int i = 0; i < S; i++) assert_int_equal(seen[i], 1);
  place_free(&p);
}

/* The numbers of a field over train, or train and val, found again the slow way. */
static void scaling(const dataset *d, int field, int with_val, double *mean, double *std, double *most) {
  const data_field *f = &dataset_field(d)[field];
  double sum[3] = {0}, peak = 0;
  for (int pass = 0; pass < 2; pass++)
    for (data_split s = 0; s <= (with_val ? DATA_VAL : DATA_TRAIN); s++) {
      int64_t n;
      const int64_t *v = dataset_split(d, s, &n);
      for (int64_t i = 0; i < n; i++) {
        int ci;
        int64_t row;
        dataset_locate(d, v[i], &ci, &row);
        int64_t count = f->role == DATA_GLOBAL ? f->channels : dataset_count(d, ci, f->degree) * f->channels;
        for (int64_t j = 0; j < count; j++) {
          double x =
              f->role == DATA_GLOBAL ? dataset_global(d, field, v[i])[j] : (double)dataset_value(d, field, v[i])[j];
          if (pass == 0) sum[0] += x, sum[1] += 1;
          if (pass == 1) sum[2] += (x - sum[0] / sum[1]) * (x - sum[0] / sum[1]);
          peak = fmax(peak, fabs(x));
        }
      }
    }
  *mean = sum[0] / sum[1], *std = sqrt(sum[2] / sum[1]), *most = peak;
}

static void test_scaling(void **state) {
  (void)state;
  place p = place_make();
  double mean, std, most;
  const data_field *f = dataset_field(p.set);
  scaling(p.set, 0, 0, &mean, &std, &most);
  assert_true(fabs(f[0].shift - mean) < 1e-14 && fabs(f[0].scale - std - 1e-6) < 1e-14);
  scaling(p.set, 2, 0, &mean, &std, &most); /* one pair for both globals */
  assert_true(fabs(f[2].shift - mean) < 1e-14 && fabs(f[2].scale - std - 1e-6) < 1e-14);
  scaling(p.set, 3, 0, &mean, &std, &most);
  assert_true(f[3].shift == 0 && f[3].scale == most + 1e-8);
  scaling(p.set, 4, 1, &mean, &std, &most);
  assert_true(f[4].shift == 0 && fabs(f[4].scale - sqrt(mean * mean + std * std) - 1e-9) < 1e-14);
  assert_true(f[1].shift == 0 && f[1].scale == 1);
  place_free(&p);
}

/* Multiplies the samples of a split by a thousand. */
static void disturb(place *p, data_split s) {
  int64_t n;
  const int64_t *v = dataset_split(p->set, s, &n);
  for (int64_t i = 0; i < n; i++) {
    int ci;
    int64_t row;
    dataset_locate(p->set, v[i], &ci, &row);
    int64_t n0 = p->d.c[ci]->n[0], n1 = 2 * p->d.c[ci]->n[1];
    for (int64_t j = 0; j < n0; j++) p->d.f[ci][row * n0 + j] *= 1000, p->d.p[ci][row * n0 + j] *= 1000;
    for (int64_t j = 0; j < n1; j++) p->d.q[ci][row * n1 + j] *= 1000;
    p->d.g[2 * v[i]] *= 1000;
  }
}

static void test_scaling_ignores(void **state) {
  (void)state;
  for (data_split s = DATA_VAL; s <= DATA_TEST; s++) {
    place p = place_make();
    dataset *other;
    char path[128];
    disturb(&p, s);
    scratch_path(path, p.dir, "e.st");
    assert_int_equal(make(path, &p.d), DKHO_OK);
    assert_int_equal(dataset_open(&other, path), DKHO_OK);
    for (int i = 0; i < FIELDS; i++) {
      const data_field *a = &dataset_field(p.set)[i], *b = &dataset_field(other)[i];
      int same = a->shift == b->shift && a->scale == b->scale;
      assert_int_equal(same, !(s == DATA_VAL && i == 4)); /* q alone looks at val */
    }
    dataset_free(other);
    place_free(&p);
  }
}

/* The descriptors of sample 0 of a set, n0 × 5 + n1 + n2 × 3 numbers. */
static void describe(const dataset *d, real *out) {
  features *f;
  const float *in[1];
  const double *global[1];
  real sum[3], *work;
  const cx *c = dataset_cx(d, 0);
  assert_int_equal(dataset_features(&f, d, FEAT_SUMMARY, 2), DKHO_OK);
  assert_int_equal(features_width(f, 0), 5);
  assert_non_null(MEM_NEW(work, features_work_size(f)));
  real *at[] = {out, out + 5 * c->n[0], out + 5 * c->n[0] + c->n[1]};
  dataset_inputs(d, 0, in, global);
  features_eval(f, in, global, work, at, sum);
  mem_free(work);
  features_free(f);
}

/* Other targets, the same descriptors, to the bit. */
static void test_targets_do_not_leak(void **state) {
  (void)state;
  place p = place_make();
  real a[256] = {0}, b[256] = {0};
  dataset *other;
  char path[128];
  describe(p.set, a);
  for (int i = 0; i < 2; i++) {
    for (int64_t j = 0; j < p.d.c[i]->n[0] * share[i]; j++) p.d.p[i][j] = (float)j;
    for (int64_t j = 0; j < p.d.c[i]->n[1] * share[i] * 2; j++) p.d.q[i][j] = 3 - (float)j;
  }
  scratch_path(path, p.dir, "e.st");
  assert_int_equal(make(path, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&other, path), DKHO_OK);
  describe(other, b);
  assert_memory_equal(a, b, sizeof a);
  assert_true(dataset_field(other)[3].scale != dataset_field(p.set)[3].scale);
  dataset_free(other);
  place_free(&p);
}

/* A file made from a good one: text of the description replaced, or a tensor left out or given another shape or type. */
static void tamper(const dataset *d, const char *path, const char *from, const char *to, const char *tensor,
                   const st_tensor *instead) {
  const st_file *f = dataset_file(d);
  st_tensor list[64];
  int n = 0;
  for (int i = 0; i < st_count(f); i++) {
    const st_tensor *t = st_at(f, i);
    if (!tensor || strcmp(t->name, tensor) != 0)
      list[n++] = *t;
    else if (instead) {
      list[n] = *instead;
      list[n++].name = t->name;
    }
  }
  char text[16384];
  const char *old = st_meta(f, "dkho.dataset"), *hit = from ? strstr(old, from) : old;
  assert_non_null(hit);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(hit - old), old, from ? to : "", hit + (from ? strlen(from) : 0));
  const char *meta[2][2] = {{"dkho.kind", "dataset"}, {"dkho.dataset", text}};
  assert_int_equal(st_save(path, 1, n, list, 2, meta), DKHO_OK);
}

static const struct {
  const char *from, *to, *expect;
} wrong_text[] = {
    {"{\"version\":1", "{\"version\":2", "dataset.version: found 2, expected 1 to 1"},
    {"{\"version\":1", "{\"version\":\"1\"", "dataset.version: found text, expected a whole number"},
    {"{\"version\":1", "[", "not JSON: line 1"},
    {"\"problem\":\"darcy\"", "\"problem\":7", "dataset.problem: found a whole number, expected text"},
    {"\"problem\":\"darcy\",", "", "dataset.problem: found nothing, expected text"},
    {"\"problem\":", "\"problems\":", "dataset.problems: unknown key"},
    {"\"seed\":\"18446744073709551615\"", "\"seed\":\"x\"", "provenance.seed: found \"x\", expected digits"},
    {"\"parameters\":{", "\"parameters\":[{}],\"x\":{", "provenance.x: unknown key"},
    {"\"mesh_hash\":\"", "\"mesh_hash\":\"0", "complexes[0].mesh_hash: the complex has"},
    {"\"samples\":7", "\"samples\":8", "c0/in/f"},
    {"\"samples\":7", "\"samples\":-7", "complexes[0].samples: found -7, expected 0 to"},
    {"\"name\":\"f\"", "\"name\":\"f-1\"", "field \"f-1\": a name has 1 to 63 letters, digits and _"},
    {"\"name\":\"f\"", "\"name\":\"g\"", "field g: two fields have this name"},
    {"\"role\":\"input\"", "\"role\":\"output\"", "fields[0].role: found \"output\", expected one of input, target"},
    {"\"role\":\"input\"", "\"role\":\"target\"", "f is a target; descriptors may not see targets"},
    {"\"role\":\"input\",\"degree\":0", "\"role\":\"input\",\"degree\":3",
     "field f: degree 3 on a complex of dimension 2"},
    {"\"degree\":0", "\"degree\":4", "fields[0].degree: found 4, expected 0 to 3"},
    {"\"channels\":1", "\"channels\":0", "fields[0].channels: found 0, expected 1 to 4096"},
    {"\"channels\":1", "\"channels\":2", "c0/in/f"},
    {"\"rule\":\"meanstd\"", "\"rule\":\"median\"", "fields[0].scaling.rule: found \"median\", expected one of none"},
    {"\"over\":\"train\"", "\"over\":\"test\"",
     "fields[0].scaling.over: found \"test\", expected one of train, train+val"},
    {"\"scale\":1", "\"scale\":0,\"x\":1", "scaling.x: unknown key"},
    {"\"scale\":1.0}", "\"scale\":0.0}", "expected finite numbers and a positive scale"},
    {"\"shift\":", "\"shift\":\"a\",\"scale\":", "not JSON: line 1: duplicate object key"},
    {"\"group\":\"native\"", "\"group\":\"foreign\"",
     "features.rows[0].group: found \"foreign\", expected one of native"},
    {"\"expr\":\"f\"", "\"expr\":\"f)\"", "descriptors: row 0 \"f\": expression \"f)\": unexpected text"},
    {"\"expr\":\"d(f)\"", "\"expr\":\"p\"", "p is a target; descriptors may not see targets"},
    {"\"recipes\":[", "\"recipes\":{},\"x\":[", "dataset.x: unknown key"},
    {"\"target\":\"p\"", "\"target\":\"f\"", "recipe 0: no target is called \"f\""},
    {"\"target\":\"p\"", "\"target\":\"q\"", "recipe 1: target q has one already"},
    {"\"epochs\":200", "\"epochs\":0", "recipes[0].epochs: found 0, expected 1 to 1000000"},
    {"\"lr\":0.001", "\"lr\":-1", "recipe p: lr is -1, expected a number ≥ 0"},
    {"\"harmonic\":0", "\"harmonic\":1", "target q has a harmonic head but c0/harmonic1 is missing"},
};

static void expect_refused(const char *path, const char *expect) {
  dataset *d = NULL;
  size_t live = mem_live_blocks();
  dkho_status s = dataset_open(&d, path);
  assert_true(s == DKHO_E_FORMAT || s == DKHO_E_NONFINITE);
  assert_null(d);
  assert_int_equal(mem_live_blocks(), live);
  if (!strstr(fail_text(), expect) || !strstr(fail_text(), "bad.st: ")) {
    print_error("\"%s\": expected \"%s\"\n", fail_text(), expect);
    assert_true(0);
  }
}

static void test_wrong_text(void **state) {
  (void)state;
  place p = place_make();
  char path[128];
  scratch_path(path, p.dir, "bad.st");
  for (size_t i = 0; i < sizeof wrong_text / sizeof *wrong_text; i++) {
    tamper(p.set, path, wrong_text[i].from, wrong_text[i].to, NULL, NULL);
    expect_refused(path, wrong_text[i].expect);
  }
  const char *meta[2][2] = {{"dkho.kind", "model"}, {"dkho.dataset", "{}"}};
  assert_int_equal(st_save(path, 1, 0, NULL, 2, (const char *const(*)[2])meta), DKHO_OK);
  expect_refused(path, "dkho.kind: found \"model\", expected \"dataset\"");
  assert_int_equal(st_save(path, 1, 0, NULL, 1, (const char *const(*)[2])meta + 1), DKHO_OK);
  expect_refused(path, "dkho.kind");
  place_free(&p);
}

static void test_wrong_tensors(void **state) {
  (void)state;
  static const int64_t descending[] = {3, 2}, outside[] = {1, 99}, negative[] = {-1, 4}, twice[] = {4, 4};
  static const double bad_g[2 * S] = {[5] = INFINITY};
  static const struct {
    const char *name, *expect;
    st_tensor instead;
  } cases[] = {
      {"split/train", "split/train", {.rank = -1}},
      {"split/val", "split/val[1] is 2, not above the one before", {NULL, ST_I64, 1, {2}, 2, descending}},
      {"split/val", "split/val[1] is 99, expected 0 to 10", {NULL, ST_I64, 1, {2}, 2, outside}},
      {"split/val", "split/val[0] is -1, expected 0 to 10", {NULL, ST_I64, 1, {2}, 2, negative}},
      {"split/val", "split/val[1] is 4, not above", {NULL, ST_I64, 1, {2}, 2, twice}},
      {"split/train", "split/train is empty", {NULL, ST_I64, 1, {0}, 0, descending}},
      {"split/test", "split/test", {NULL, ST_F64, 1, {2}, 2, bad_g}},
      {"global/g", "global/g: element 5 is not finite", {NULL, ST_F64, 2, {S, 2}, 2 * S, bad_g}},
      {"global/g", "global/g", {NULL, ST_F64, 2, {2, S}, 2 * S, bad_g}},
      {"c1/in/f", "c1/in/f", {.rank = -1}},
      {"c0/static/spectral0", "c0/static/spectral0", {.rank = -1}},
      {"c1/harmonic0", "target p has a harmonic head but c1/harmonic0 is missing", {.rank = -1}},
      {"c0/x", "c0/x", {.rank = -1}},
  };
  place p = place_make();
  char path[128];
  scratch_path(path, p.dir, "bad.st");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tamper(p.set, path, NULL, NULL, cases[i].name, cases[i].instead.rank < 0 ? NULL : &cases[i].instead);
    expect_refused(path, cases[i].expect);
  }
  int64_t n, shared;
  shared = dataset_split(p.set, DATA_TRAIN, &n)[2];
  st_tensor one = {NULL, ST_I64, 1, {1}, 1, &shared};
  tamper(p.set, path, NULL, NULL, "split/test", &one);
  expect_refused(path, "is in split/train and in split/test");
  place_free(&p);
}

/* A writer that fails leaves nothing: neither target nor temporary files. */
static void test_writer_refusals(void **state) {
  (void)state;
  feed d = feed_make();
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "d.st");
  size_t live = mem_live_blocks();
  dataset_writer *w;
  data_info bad_info = info;
  bad_info.params = "[1]";
  assert_int_equal(dataset_create(&w, path, 0, &bad_info), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "expected a JSON object"));

  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_OK);
  assert_int_equal(dataset_commit(w), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "a data set needs samples"));

  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_OK);
  assert_int_equal(fill(w, &d), DKHO_OK);
  assert_int_equal(dataset_split_random(w, 1, 6, 4, 2), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "split 6 + 4 + 2 of 11 samples"));
  const int64_t repeated[] = {3, 3};
  assert_int_equal(dataset_split_list(w, DATA_TEST, 2, repeated), DKHO_OK);
  assert_int_equal(dataset_commit(w), DKHO_E_FORMAT);

  d.p[1][5] = NAN;
  assert_int_equal(make(path, &d), DKHO_E_NONFINITE);
  assert_non_null(strstr(fail_text(), "d.st: field p: sample 7: element 5 is not finite"));
  d.p[1][5] = 0;

  /* a static without values on the second complex */
  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_OK);
  for (int i = 0; i < 2; i++) assert_int_equal(dataset_put_cx(w, d.c[i]), DKHO_OK);
  for (int i = 0; i < FIELDS; i++) assert_int_equal(dataset_put_field(w, &fields[i]), DKHO_OK);
  assert_int_equal(put_complex(w, &d, 0), DKHO_OK);
  assert_int_equal(dataset_put_static(w, 0, "g", d.g), DKHO_E_INPUT);
  assert_int_equal(dataset_put_table(w, &table), DKHO_OK);
  assert_int_equal(append(w, &d), DKHO_OK);
  assert_int_equal(dataset_split_random(w, 1, 6, 2, 3), DKHO_OK);
  assert_int_equal(dataset_commit(w), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "static field position0 has no values on complex 1"));
  assert_int_equal(scratch_count(dir), 0);

  assert_int_equal(make(path, &d), DKHO_OK);
  assert_int_equal(dataset_create(&w, path, 0, &info), DKHO_E_EXISTS);
  assert_int_equal(dataset_create(&w, "no such directory/d.st", 0, &info), DKHO_E_IO);
  assert_int_equal(dataset_create(&w, dir, 1, &info), DKHO_E_EXISTS);
  assert_int_equal(dataset_create(&w, "", 1, &info), DKHO_E_INPUT);
  assert_int_equal(scratch_count(dir), 1);
  assert_int_equal(mem_live_blocks(), live);
  feed_free(&d);
  scratch_remove(dir);
}

/* A full disk, in the samples and in the container: an error, and no file. */
static void test_no_room(void **state) {
  (void)state;
  static const rlim_t limits[] = {512, 6000};
  feed d = feed_make();
  char dir[64], path[128];
  struct rlimit old;
  scratch_make(dir);
  scratch_path(path, dir, "d.st");
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 2; i++) {
    struct rlimit tight = {limits[i], old.rlim_max};
    size_t live = mem_live_blocks();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    dkho_status s = make(path, &d);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(s, DKHO_E_IO);
    assert_non_null(strstr(fail_text(), i ? "d.st: cannot write: " : "d.st: cannot write beside it: "));
    assert_int_equal(scratch_count(dir), 0);
    assert_int_equal(mem_live_blocks(), live);
  }
  signal(SIGXFSZ, handler);
  feed_free(&d);
  scratch_remove(dir);
}

static void test_no_memory(void **state) {
  (void)state;
  feed d = feed_make();
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "d.st");
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    mem_fail_at(n);
    s = make(path, &d);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    assert_int_equal(scratch_count(dir), s == DKHO_OK);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(n < 2000);
  }
  s = DKHO_E_MEMORY;
  for (int n = 1; s != DKHO_OK; n++) {
    dataset *set = NULL;
    mem_fail_at(n);
    s = dataset_open(&set, path);
    mem_fail_at(0);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
    dataset_free(set);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(n < 2000);
  }
  feed_free(&d);
  scratch_remove(dir);
}

/* One row of figures for samples on both complexes; refused when they cannot be judged by the same metrics. */
static void test_scores_on_both(void **state) {
  (void)state;
  place p = place_make();
  static const int64_t sample[2] = {6, 8};
  double mean = 0;
  scorer *s;
  score_result found;
  assert_int_equal(scorer_create(&s, p.set, dataset_find(p.set, "p"), "darcy", 2, NULL), DKHO_OK);
  for (int i = 0; i < 2; i++) {
    double a = 0, b = 0;
    float guess[16] = {0};
    int64_t n = scorer_extent(s, i);
    const float *y = dataset_value(p.set, dataset_find(p.set, "p"), sample[i]);
    assert_int_equal(n, p.d.c[i]->n[0]);
    for (int64_t j = 0; j < n; j++) {
      guess[j] = y[j] + (float)(i + 1) * 0.5F;
      a += ((double)guess[j] - (double)y[j]) * ((double)guess[j] - (double)y[j]), b += (double)y[j] * (double)y[j];
    }
    mean += sqrt(a / b) / 2;
    assert_int_equal(scorer_take(s, i, 1, &sample[i], guess), DKHO_OK);
  }
  assert_int_equal(scorer_result(s, &found), DKHO_OK);
  double got = found.value[metrics_find(scorer_metrics(s), "rel_l2")];
  assert_true(fabs(got - mean) < 1e-12);
  score_free(&found);
  scorer_free(s);
  dataset_free(p.set);
  static const char *const names[] = {"interior", "rim"};
  static const int32_t rim[16] = {1};
  assert_int_equal(cx_name_labels(p.d.c[1], 2, names), DKHO_OK);
  assert_int_equal(cx_set_labels(p.d.c[1], 0, rim), DKHO_OK);
  assert_int_equal(make(p.path, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&p.set, p.path), DKHO_OK);
  assert_int_equal(scorer_create(&s, p.set, dataset_find(p.set, "p"), "darcy", 2, NULL), DKHO_E_INPUT);
  assert_non_null(
      strstr(fail_text(), "d.st: complex 1 and complex 0 differ in having labels or a harmonic basis of degree 0"));
  place_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_deterministic),
                                     cmocka_unit_test(test_splits),          cmocka_unit_test(test_scaling),
                                     cmocka_unit_test(test_scaling_ignores), cmocka_unit_test(test_targets_do_not_leak),
                                     cmocka_unit_test(test_wrong_text),      cmocka_unit_test(test_wrong_tensors),
                                     cmocka_unit_test(test_writer_refusals), cmocka_unit_test(test_no_room),
                                     cmocka_unit_test(test_no_memory),       cmocka_unit_test(test_scores_on_both)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
