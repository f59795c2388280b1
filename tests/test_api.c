/* test_api.c: complexes and exterior calculus through dkho.h: right use, and what wrong use is told. */
#include "api.h"
#include "base/st.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>

static void test_texts(void **state) {
  (void)state;
  assert_non_null(strchr(dkho_version(), '.'));
#define DKHO_X(code, text) assert_string_equal(dkho_status_text(code), text);
  DKHO_STATUS_LIST(DKHO_X)
#undef DKHO_X
  assert_non_null(dkho_status_text((dkho_status)999));
  assert_non_null(dkho_status_text((dkho_status)-1));
  dkho_text_free(NULL);
}

static void *other_thread(void *unused) {
  (void)unused;
  dkho_complex *c;
  assert_int_equal(dkho_complex_generate(&c, "moon", "smoke"), DKHO_E_INPUT);
  assert_non_null(strstr(dkho_error(), "moon"));
  return NULL;
}

static void test_error_is_per_thread(void **state) {
  (void)state;
  dkho_complex *c = (dkho_complex *)&c;
  REFUSED(DKHO_E_INPUT, dkho_complex_generate(&c, "klein", "smoke"), "klein");
  assert_null(c);
  pthread_t t;
  assert_int_equal(pthread_create(&t, NULL, other_thread, NULL), 0);
  pthread_join(t, NULL);
  assert_non_null(strstr(dkho_error(), "klein"));
}

/* χ two ways, incidence against vertices, and the exactness d∘d = 0 of the signs. */
static void check_complex(const dkho_complex *c) {
  int64_t betti[4], relative[4], alternating = 0, topological = 0;
  int dim = dkho_complex_dim(c);
  FINE(dkho_complex_betti(c, 0, betti));
  FINE(dkho_complex_betti(c, 1, relative));
  for (int k = 0; k <= 3; k++) {
    alternating += (k % 2 ? -1 : 1) * dkho_complex_count(c, k);
    topological += (k % 2 ? -1 : 1) * betti[k];
  }
  assert_int_equal(alternating, topological);
  assert_true(betti[0] == 1 && relative[dim] == 1); /* connected and oriented */
  for (int k = 0; k < dim; k++) assert_int_equal(betti[k], relative[dim - k]);
  for (int k = 2; k <= dim; k++) {
    const int32_t *up = dkho_complex_faces(c, k), *down = dkho_complex_faces(c, k - 1);
    const int8_t *s = dkho_complex_signs(c, k), *t = dkho_complex_signs(c, k - 1);
    for (int64_t i = 0; i < dkho_complex_count(c, k); i++) {
      int64_t sum = 0, weighted = 0;
      for (int j = 0; j <= k; j++)
        for (int l = 0; l < k; l++) {
          int64_t face = up[i * (k + 1) + j], part = s[i * (k + 1) + j] * t[face * k + l];
          sum += part, weighted += part * (down[face * k + l] + 1);
        }
      assert_true(sum == 0 && weighted == 0);
    }
    for (int64_t i = 0; i < dkho_complex_count(c, k); i++) assert_true(dkho_complex_measures(c, k)[i] > 0);
  }
}

static void test_generate(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int dim, space;
    int64_t betti[4];
  } known[] = {{"darcy", 2, 2, {1, 2, 0, 0}}, {"torus", 2, 3, {1, 2, 1, 0}}, {"cavity", 3, 3, {1, 0, 1, 0}}};
  for (int i = 0; i < 3; i++) {
    dkho_complex *c;
    int64_t betti[4];
    FINE(dkho_complex_generate(&c, known[i].name, "smoke"));
    assert_int_equal(dkho_complex_dim(c), known[i].dim);
    assert_int_equal(dkho_complex_space(c), known[i].space);
    FINE(dkho_complex_betti(c, 0, betti));
    assert_memory_equal(betti, known[i].betti, sizeof betti);
    check_complex(c);
    dkho_complex_free(c);
  }
  dkho_complex *c;
  REFUSED(DKHO_E_INPUT, dkho_complex_generate(&c, "darcy", "tiny"), "tiny");
  REFUSED(DKHO_E_INPUT, dkho_complex_generate(&c, "torus", "tiny"), "tiny");
  REFUSED(DKHO_E_INPUT, dkho_complex_generate(&c, "cavity", "tiny"), "tiny");
  REFUSED(DKHO_E_INPUT, dkho_complex_generate(&c, "heat", "tiny"), "tiny");
  REFUSED(DKHO_E_INPUT, dkho_complex_generate(&c, "reaction", "tiny"), "tiny");
  FINE(dkho_complex_generate(&c, "torus", NULL));
  dkho_complex_free(c);
  REFUSED(DKHO_E_INPUT, dkho_complex_generate(&c, "", "smoke"), "there are darcy, torus, cavity, heat, reaction");
  dkho_complex_free(NULL);
}

static void test_shapes(void **state) {
  (void)state;
  dkho_complex *c;
  const double hole[2][3] = {{-0.4, 0, 0.2}, {0.4, 0.1, 0.25}}, bad[1][3] = {{0.9, 0, 0.2}};
  FINE(dkho_complex_planar(&c, 1, 2, hole, 0.1, 0.2, 0.1, 0.4, 0));
  int64_t betti[4];
  FINE(dkho_complex_betti(c, 0, betti));
  assert_int_equal(betti[1], 2);
  int names = 0;
  while (dkho_complex_label_name(c, names)) names++;
  assert_int_equal(names, 4); /* inside, outer, two holes */
  assert_non_null(dkho_complex_labels(c, 0));
  dkho_complex_free(c);
  FINE(dkho_complex_planar(&c, 1, 0, NULL, 0.25, 0.25, 0, 1, 40));
  FINE(dkho_complex_betti(c, 0, betti));
  assert_int_equal(betti[1], 0);
  dkho_complex_free(c);
  REFUSED(DKHO_E_INPUT, dkho_complex_planar(&c, 1, 1, bad, 0.1, 0.2, 0.1, 0.4, 0), "hole 1");
  assert_null(c);
  REFUSED(DKHO_E_INPUT, dkho_complex_planar(&c, 1, 1, NULL, 0.1, 0.2, 0.1, 0.4, 0), "hole");
  REFUSED(DKHO_E_INPUT, dkho_complex_planar(&c, NAN, 0, NULL, 0.1, 0.2, 0.1, 0.4, 0), "half");
  REFUSED(DKHO_E_INPUT, dkho_complex_planar(&c, 1, 0, NULL, 0, 0.2, 0.1, 0.4, 0), "h_near");
  REFUSED(DKHO_E_INPUT, dkho_complex_planar(&c, 1, 0, NULL, 0.1, 0.2, 0.5, 0.4, 0), "near");
  REFUSED(DKHO_E_INPUT, dkho_complex_planar(&c, 1, -1, NULL, 0.1, 0.2, 0.1, 0.4, 0), "holes");
  FINE(dkho_complex_torus(&c, 2, 0.5, 8, 6));
  assert_int_equal(dkho_complex_count(c, 0), 48);
  check_complex(c);
  dkho_complex_free(c);
  REFUSED(DKHO_E_INPUT, dkho_complex_torus(&c, 0.5, 2, 8, 6), "major > minor");
  REFUSED(DKHO_E_INPUT, dkho_complex_torus(&c, 2, 0.5, 2, 6), "grid");
}

static const double square[8] = {0, 0, 1, 0, 1, 1, 0, 1};
static const int32_t halves[6] = {0, 1, 2, 0, 2, 3};

static void test_build(void **state) {
  (void)state;
  dkho_complex *c;
  FINE(dkho_complex_build(&c, 2, 4, square, 2, 2, halves));
  assert_int_equal(dkho_complex_count(c, 1), 5);
  assert_memory_equal(dkho_complex_vertices(c, 2), halves, sizeof halves);
  assert_memory_equal(dkho_complex_points(c), square, sizeof square);
  /* the edges stand as in a file with the same mesh: by their vertices, not as they are met */
  static const int32_t turned[6] = {2, 3, 0, 0, 1, 2}, edges[10] = {0, 1, 0, 2, 0, 3, 1, 2, 2, 3};
  dkho_complex_free(c);
  FINE(dkho_complex_build(&c, 2, 4, square, 2, 2, turned));
  assert_memory_equal(dkho_complex_vertices(c, 1), edges, sizeof edges);
  dkho_complex_free(c);
  FINE(dkho_complex_build(&c, 2, 4, square, 2, 2, halves));
  assert_memory_equal(dkho_complex_vertices(c, 1), edges, sizeof edges);
  /* beyond the degrees there is nothing */
  for (int k = -1; k <= 5; k += 4) {
    assert_int_equal(dkho_complex_count(c, k), 0);
    assert_null(dkho_complex_vertices(c, k));
    assert_null(dkho_complex_faces(c, k));
    assert_null(dkho_complex_signs(c, k));
    assert_null(dkho_complex_measures(c, k));
    assert_null(dkho_complex_labels(c, k));
    assert_null(dkho_complex_label_name(c, k < 0 ? -1 : 1000000));
  }
  assert_null(dkho_complex_vertices(c, 0));
  assert_null(dkho_complex_measures(c, 0));
  dkho_complex_free(c);
  const int32_t out_of_range[3] = {0, 1, 4}, twice[3] = {0, 1, 1};
  const double nowhere[8] = {0, 0, 1, 0, INFINITY, 1, 0, 1};
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 4, square, 2, 1, out_of_range), "vertex index 4");
  assert_null(c);
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 4, square, 2, 1, twice), "twice");
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 4, nowhere, 2, 2, halves), "not finite");
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 4, 4, square, 2, 2, halves), "space dimension");
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 4, square, 3, 1, halves), "top simplices");
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 0, square, 2, 2, halves), "number of vertices");
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 4, square, 2, -1, halves), "top simplices");
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 4, NULL, 2, 2, halves), "points");
  REFUSED(DKHO_E_INPUT, dkho_complex_build(&c, 2, 4, square, 2, 2, NULL), "simplices");
}

static void test_files(void **state) {
  (void)state;
  char dir[64], path[128], other[128], *json;
  scratch_make(dir);
  dkho_complex *c, *back;
  FINE(dkho_complex_generate(&c, "darcy", "smoke"));
  scratch_path(path, dir, "c.st");
  FINE(dkho_complex_save(c, path, 0));
  REFUSED(DKHO_E_EXISTS, dkho_complex_save(c, path, 0), "c.st");
  FINE(dkho_complex_save(c, path, 1));
  FINE(dkho_complex_read(&back, path));
  for (int k = 1; k <= 2; k++)
    assert_memory_equal(dkho_complex_vertices(c, k), dkho_complex_vertices(back, k),
                        (size_t)(dkho_complex_count(c, k) * (k + 1)) * sizeof(int32_t));
  FINE(dkho_complex_save(back, scratch_path(other, dir, "d.st"), 0));
  assert_true(api_same_file(path, other));
  dkho_complex_free(back);
  FINE(dkho_describe(path, &json));
  assert_non_null(strstr(json, "\"kind\": \"complex\""));
  dkho_text_free(json);
  FINE(dkho_complex_describe(c, &json));
  assert_non_null(strstr(json, "\"betti_relative\""));
  dkho_text_free(json);
  FINE(dkho_describe(TEST_DATA "/mesh/torus.off", &json));
  assert_non_null(strstr(json, "\"betti\""));
  dkho_text_free(json);
  json = path;
  REFUSED(DKHO_E_IO, dkho_describe(scratch_path(other, dir, "none"), &json), "none");
  assert_null(json);
  REFUSED(DKHO_E_FORMAT, dkho_describe(dir, &json), "config.json");
  REFUSED(DKHO_E_IO, dkho_complex_read(&back, scratch_path(other, dir, "none.obj")), "none.obj");
  assert_null(back);
  REFUSED(DKHO_E_IO, dkho_complex_save(c, scratch_path(other, dir, "no/where.st"), 0), "where.st");
  FILE *f = fopen(scratch_path(other, dir, "noise.obj"), "w");
  fputs("v 0 0 0\nf 1 2 3\n", f);
  fclose(f);
  REFUSED(DKHO_E_FORMAT, dkho_complex_read(&back, other), "noise.obj");
  dkho_complex_free(c);
  scratch_remove(dir);
}

/* Quads and a point too many: what became of them is told, kept in the container, and not taken on trust. */
static void test_import_report(void **state) {
  (void)state;
  char dir[64], path[128], again[128], *json;
  scratch_make(dir);
  FILE *f = fopen(scratch_path(path, dir, "q.off"), "w");
  fputs("OFF 7 2 0\n9 9 9\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n2 0 0\n2 1 0\n4 1 2 3 4\n4 2 5 6 3\n", f);
  fclose(f);
  dkho_complex *c, *back;
  FINE(dkho_complex_read(&c, path));
  assert_null(dkho_complex_origin(c, 1));
  FINE(dkho_complex_save(c, scratch_path(again, dir, "q.st"), 0));
  dkho_import_options merge = {.merge = 1};
  REFUSED(DKHO_E_INPUT, dkho_complex_import(&back, again, &merge), "only mesh files are repaired");
  FINE(dkho_complex_read(&back, again));
  for (int i = 0; i < 6; i++) assert_int_equal(dkho_complex_origin(back, 0)[i], i + 1);
  for (int i = 0; i < 4; i++) assert_int_equal(dkho_complex_origin(back, 2)[i], i / 2);
  FINE(dkho_complex_describe(back, &json));
  assert_non_null(strstr(json, "\"cut\": 2"));
  assert_non_null(strstr(json, "\"unused\": 1"));
  dkho_text_free(json);
  dkho_complex_free(c);
  dkho_complex_free(back);
  static const char *const forged[] = {"{\"points\":6,\"elements\":[0,0,2,0]}",
                                       "{\"points\":7,\"elements\":[0,0,1,0]}",
                                       "{\"points\":\"7\",\"elements\":[0,0,2,0]}",
                                       "{",
                                       "{\"points\":7}",
                                       "{\"points\":7,\"elements\":[0,0,2,0],\"repairs\":{\"cut\":-1}}"};
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
    st_file *sound;
    FINE(st_open(&sound, again));
    st_tensor list[16];
    for (int t = 0; t < st_count(sound); t++) list[t] = *st_at(sound, t);
    const char *const meta[][2] = {{"dkho.import", forged[i]}, {"dkho.kind", "complex"}};
    FINE(st_save(path, 1, st_count(sound), list, 2, meta));
    st_close(sound);
    REFUSED(DKHO_E_FORMAT, dkho_complex_read(&back, path), "q.off");
  }
  scratch_remove(dir);
}

static void test_export(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "c.vtu");
  dkho_complex *c, *back;
  FINE(dkho_complex_build(&c, 2, 4, square, 2, 2, halves));
  const double v[5] = {1, 2, 3, 4, 5};
  dkho_field good[3] = {{"u", 0, 1, v}, {"q", 1, 1, v}, {"w", 2, 2, v}};
  FINE(dkho_complex_export(c, path, 0, 3, good));
  REFUSED(DKHO_E_EXISTS, dkho_complex_export(c, path, 0, 3, good), "c.vtu");
  FINE(dkho_complex_export(c, path, 1, 0, NULL));
  FINE(dkho_complex_read(&back, path));
  assert_int_equal(dkho_complex_count(back, 2), 2);
  dkho_complex_free(back);
  dkho_field bad[4] = {{"u", 3, 1, v}, {"u", 0, 0, v}, {"u", 0, 1, NULL}, {NULL, 0, 1, v}};
  scratch_path(path, dir, "e.vtu");
  for (int i = 0; i < 4; i++) REFUSED(DKHO_E_INPUT, dkho_complex_export(c, path, 0, 1, &bad[i]), "field 0");
  REFUSED(DKHO_E_INPUT, dkho_complex_export(c, path, 0, -1, good), "-1 fields");
  /* arrays of one name on cells, the vectors beside a 1-cochain included; points have names of their own */
  const double one[4] = {0};
  dkho_field same[5] = {
      {"u", 1, 1, v}, {"u", 2, 1, v}, {"u_vector", 2, 1, v}, {"u_0_vector", 1, 1, v}, {"u", 0, 1, one}};
  for (int i = 1; i < 4; i++) {
    dkho_field pair[2] = {same[i], same[0]};
    REFUSED(DKHO_E_INPUT, dkho_complex_export(c, path, 0, 2, pair), "arrays of the same name");
  }
  dkho_field apart[2] = {same[0], same[4]};
  FINE(dkho_complex_export(c, scratch_path(path, dir, "c.vtu"), 1, 2, apart));
  assert_int_equal(scratch_count(dir), 1);
  dkho_complex_free(c);
  scratch_remove(dir);
}

static double dot(int64_t n, const double *star, const double *a, const double *b) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += star[i] * a[i] * b[i];
  return sum;
}

/* ⟨du, w⟩ = ⟨u, δw⟩, d∘d = 0, u = exact + harmonic + coexact, eigenpairs, all through the header. */
static void calculus_identities(const dkho_complex *c, dkho_metric metric) {
  enum { MODES = 3 };
  dkho_calculus *a;
  FINE(dkho_calculus_create(&a, c, metric));
  int64_t n0 = dkho_complex_count(c, 0), n1 = dkho_complex_count(c, 1), n2 = dkho_complex_count(c, 2), beta, found;
  double *u = calloc((size_t)(n0 + 6 * n1 + n2), sizeof *u), *w = u + n0, *du = w + n1, *e = du + n1, *h = e + n1,
         *x = h + n1, *back = x + n1, *ddu = back + n1;
  for (int64_t i = 0; i < n0; i++) u[i] = sin((double)i);
  for (int64_t i = 0; i < n1; i++) w[i] = cos(3.0 * (double)i);
  FINE(dkho_calculus_d(a, 0, 1, u, du));
  FINE(dkho_calculus_d(a, 1, 1, du, ddu));
  for (int64_t i = 0; i < n2; i++) assert_true(fabs(ddu[i]) < 1e-12);
  FINE(dkho_calculus_delta(a, 1, 1, w, back));
  double left = dot(n1, dkho_calculus_star(a, 1), du, w), right = dot(n0, dkho_calculus_star(a, 0), u, back);
  assert_true(fabs(left - right) < 1e-9 * (1 + fabs(left)));
  FINE(dkho_calculus_decompose(a, 1, 1, w, e, h, x));
  const double *s1 = dkho_calculus_star(a, 1);
  for (int64_t i = 0; i < n1; i++) assert_true(fabs(e[i] + h[i] + x[i] - w[i]) < 1e-9);
  double size = dot(n1, s1, w, w);
  assert_true(fabs(dot(n1, s1, e, h)) < 1e-8 * size && fabs(dot(n1, s1, e, x)) < 1e-8 * size);
  FINE(dkho_calculus_laplacian(a, 1, 1, h, back));
  for (int64_t i = 0; i < n1; i++) assert_true(fabs(back[i]) < 1e-6);
  FINE(dkho_calculus_harmonic(a, 1, 0, NULL, &beta, NULL));
  double *basis = calloc((size_t)(n1 * (beta + MODES)), sizeof *basis), certificate[2], lambda[MODES];
  FINE(dkho_calculus_harmonic(a, 1, beta, basis, &beta, certificate));
  assert_true(certificate[0] < 1e-8 && certificate[1] < 1e-6);
  for (int64_t i = 0; i < beta; i++)
    for (int64_t j = 0; j < beta; j++)
      assert_true(fabs(dot(n1, s1, basis + i * n1, basis + j * n1) - (double)(i == j)) < 1e-9);
  REFUSED(DKHO_E_INPUT, dkho_calculus_harmonic(a, 1, beta - 1, basis, &beta, NULL), "room for");
  FINE(dkho_calculus_spectrum(a, 1, MODES, lambda, basis, &found));
  assert_int_equal(found, MODES);
  for (int m = 0; m < MODES; m++) {
    assert_true(lambda[m] > 0 && (m == 0 || lambda[m] >= lambda[m - 1] * (1 - 1e-9)));
    FINE(dkho_calculus_laplacian(a, 1, 1, basis + m * n1, back));
    for (int64_t i = 0; i < n1; i++) assert_true(fabs(back[i] - lambda[m] * basis[m * n1 + i]) < 1e-5);
  }
  free(basis);
  free(u);
  dkho_calculus_free(a);
}

static void test_calculus(void **state) {
  (void)state;
  dkho_complex *c;
  FINE(dkho_complex_generate(&c, "torus", "smoke"));
  calculus_identities(c, DKHO_UNIT);
  calculus_identities(c, DKHO_HODGE);
  dkho_calculus *a;
  REFUSED(DKHO_E_INPUT, dkho_calculus_create(&a, c, (dkho_metric)7), "metric 7");
  assert_null(a);
  FINE(dkho_calculus_create(&a, c, DKHO_UNIT));
  double v[4] = {0}, lambda;
  int64_t n;
  for (int k = -1; k <= 3; k += 4) {
    assert_null(dkho_calculus_star(a, k));
    REFUSED(DKHO_E_INPUT, dkho_calculus_d(a, k, 1, v, v), "degree");
    REFUSED(DKHO_E_INPUT, dkho_calculus_delta(a, k, 1, v, v), "degree");
    REFUSED(DKHO_E_INPUT, dkho_calculus_laplacian(a, k, 1, v, v), "degree");
    REFUSED(DKHO_E_INPUT, dkho_calculus_decompose(a, k, 1, v, v, v, v), "degree");
    REFUSED(DKHO_E_INPUT, dkho_calculus_harmonic(a, k, 1, v, &n, NULL), "degree");
    REFUSED(DKHO_E_INPUT, dkho_calculus_spectrum(a, k, 1, &lambda, v, &n), "degree");
  }
  REFUSED(DKHO_E_INPUT, dkho_calculus_d(a, 2, 1, v, v), "no degree 3");
  REFUSED(DKHO_E_INPUT, dkho_calculus_delta(a, 0, 1, v, v), "degree 0");
  REFUSED(DKHO_E_INPUT, dkho_calculus_d(a, 0, 0, v, v), "channels 0");
  REFUSED(DKHO_E_INPUT, dkho_calculus_laplacian(a, 0, -1, v, v), "channels -1");
  REFUSED(DKHO_E_INPUT, dkho_calculus_laplacian(a, 0, 1, v, v), "in place");
  REFUSED(DKHO_E_INPUT, dkho_calculus_spectrum(a, 0, 0, &lambda, v, &n), "at least 1");
  dkho_calculus_free(a);
  dkho_calculus_free(NULL);
  dkho_complex_free(c);
}

/* The unforced flow loses energy at every step; a harmonic field stands still; wrong numbers are refused. */
static void test_kuramoto(void **state) {
  (void)state;
  enum { STEPS = 40 };
  dkho_complex *c;
  dkho_calculus *a;
  double energy[STEPS + 1], harmonic[2];
  int64_t beta;
  FINE(dkho_complex_generate(&c, "torus", "smoke"));
  FINE(dkho_calculus_create(&a, c, DKHO_UNIT));
  int64_t n = dkho_complex_count(c, 1);
  double *theta = calloc((size_t)(4 * n), sizeof *theta), *basis = theta + n;
  for (int64_t i = 0; i < n; i++) theta[i] = 0.6 * sin(7.0 * (double)i);
  FINE(dkho_kuramoto(a, 1, 1, 1.0, NULL, 0.05, STEPS, theta, energy));
  for (int i = 0; i < STEPS; i++) assert_true(energy[i + 1] < energy[i]);
  FINE(dkho_calculus_harmonic(a, 1, 2, basis, &beta, harmonic));
  memcpy(theta, basis, (size_t)n * sizeof *theta);
  FINE(dkho_kuramoto(a, 1, 1, 1.0, NULL, 0.05, STEPS, theta, NULL));
  for (int64_t i = 0; i < n; i++) assert_true(fabs(theta[i] - basis[i]) < 1e-10);
  REFUSED(DKHO_E_INPUT, dkho_kuramoto(a, 4, 1, 1.0, NULL, 0.05, 1, theta, NULL), "degree");
  REFUSED(DKHO_E_INPUT, dkho_kuramoto(a, 1, 1, 0.0, NULL, 0.05, 1, theta, NULL), "positive");
  free(theta);
  dkho_calculus_free(a);
  dkho_complex_free(c);
}

/* More eigenpairs than there are: the complex decides. */
static void test_few_modes(void **state) {
  (void)state;
  dkho_complex *c;
  dkho_calculus *a;
  double lambda[32], vectors[32 * 5];
  int64_t found;
  FINE(dkho_complex_build(&c, 2, 4, square, 2, 2, halves));
  FINE(dkho_calculus_create(&a, c, DKHO_UNIT));
  FINE(dkho_calculus_spectrum(a, 0, 32, lambda, vectors, &found));
  assert_int_equal(found, 3); /* four vertices less the constants */
  FINE(dkho_calculus_spectrum(a, 1, 32, lambda, vectors, &found));
  assert_int_equal(found, 5); /* a disc has no harmonic 1-field */
  dkho_calculus_free(a);
  dkho_complex_free(c);
}

/* Every listed benchmark can be built; its demonstration names one of its targets; one of them comes first. */
static void test_problem_list(void **state) {
  char *text = NULL;
  size_t i, k;
  json_t *p, *target;
  int first = 0;
  (void)state;
  FINE(dkho_problem_list(&text));
  json_t *list = json_loads(text, 0, NULL);
  dkho_text_free(text);
  assert_true(json_array_size(list) >= 5);
  json_array_foreach(list, i, p) {
    const json_t *demo = json_object_get(p, "demo");
    dkho_complex *c = NULL;
    int known = !demo;
    FINE(dkho_complex_generate(&c, json_string_value(json_object_get(p, "name")), "smoke"));
    json_array_foreach(json_object_get(p, "targets"), k, target) {
      assert_true(json_integer_value(json_object_get(target, "degree")) <= dkho_complex_dim(c));
      known |= json_equal(json_object_get(target, "name"), json_object_get(demo, "target"));
    }
    assert_true(known && k > 0);
    first += json_is_true(json_object_get(demo, "first"));
    dkho_complex_free(c);
  }
  assert_int_equal(first, 1);
  json_decref(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts),         cmocka_unit_test(test_error_is_per_thread),
                                     cmocka_unit_test(test_generate),      cmocka_unit_test(test_shapes),
                                     cmocka_unit_test(test_build),         cmocka_unit_test(test_files),
                                     cmocka_unit_test(test_import_report), cmocka_unit_test(test_export),
                                     cmocka_unit_test(test_calculus),      cmocka_unit_test(test_few_modes),
                                     cmocka_unit_test(test_kuramoto),      cmocka_unit_test(test_problem_list)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
