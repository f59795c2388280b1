/* test_more_memory.c: the public calls that test_api_memory.c leaves out, with the n-th allocation failing (memory.h): all mesh formats, checks and
 * imports with given values, the other problems and models, predictions from arrays, pages, figures, lists, measurements. */
#include "memory.h"

#include "data/npy.h"

static const char *subject; /* what the present trial is about: a file, a problem, a model */
static char spec[128], given_f[160], given_T[160], data_file[128], given_run[128];
static dkho_model *model;

/* ---- meshes ---- */

static dkho_status read_mesh(void) {
  return dkho_complex_read(&cx_out, subject);
}
static dkho_status import_mesh(void) {
  const dkho_import_options o = {.repair = 1, .merge = 1, .tolerance = 1e-9};
  return dkho_complex_import(&cx_out, subject, &o);
}

static void test_meshes(void **state) {
  (void)state;
  static const char *const file[] = {"annulus_1.msh",
                                     "annulus_22_bin.msh",
                                     "annulus_40_ascii.msh",
                                     "annulus_41_parts.msh",
                                     "annulus_ascii.vtu",
                                     "annulus.inp",
                                     "annulus.mesh",
                                     "annulus.su2",
                                     "annulus_ascii.stl",
                                     "shell.node",
                                     "shell_51_bin.vtk",
                                     "shell_42_bin.vtk",
                                     "torus_ascii.ply",
                                     "torus_bin.ply",
                                     "torus_zlib.vtp",
                                     "torus_bin.stl",
                                     "box.vtk"};
  for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
    char path[256];
    snprintf(path, sizeof path, TEST_DATA "/mesh/%s", file[i]);
    subject = path;
    sweep(&(trial){file[i], read_mesh, NULL, NULL, 0}, 25);
    if (i % 4 == 0) sweep(&(trial){"repair", import_mesh, NULL, NULL, 0}, 25);
  }
}

/* ---- data ---- */

static void write_text(const char *name, char path[128], const char *contents) {
  FILE *f = fopen(scratch_path(path, w.dir, name), "w");
  assert_non_null(f);
  fputs(contents, f);
  fclose(f);
}

/* Two triangles with the left side marked, on which u is given by a value, a global and an input in turn. */
static void write_data(void) {
  static double f[8][4], u[8][4], T[8];
  char path[128];
  for (int s = 0; s < 8; s++) {
    T[s] = 0.1 * s - 0.3;
    for (int i = 0; i < 4; i++)
      f[s][i] = (s * 5 + i * 3) % 7 / 3.0, u[s][i] = i == 0   ? 0.25
                                                     : i == 3 ? T[s]
                                                     : i == 1 ? f[s][1]
                                                              : f[s][i] * f[s][i];
  }
  write_text("m.off", path, "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n");
  FINE(npy_save(scratch_path(path, w.dir, "f.npy"), 1, ST_F64, 2, (uint64_t[]){8, 4}, f));
  FINE(npy_save(scratch_path(path, w.dir, "u.npy"), 1, ST_F64, 2, (uint64_t[]){8, 4}, u));
  FINE(npy_save(scratch_path(path, w.dir, "T.npy"), 1, ST_F64, 1, (uint64_t[]){8}, T));
  write_text(
      "spec.json", spec,
      "{\"problem\":\"square\",\"mesh\":\"m.off\",\"seed\":1,\"modes\":2,\"labels\":["
      "{\"name\":\"corner\",\"box\":{\"min\":[-1,-1],\"max\":[0.1,0.1]}},"
      "{\"name\":\"above\",\"box\":{\"min\":[-1,0.9],\"max\":[0.1,2]}},"
      "{\"name\":\"right\",\"box\":{\"min\":[0.9,-1],\"max\":[2,0.1]}}],\"fields\":["
      "{\"name\":\"f\",\"role\":\"input\",\"degree\":0,\"file\":\"f.npy\"},"
      "{\"name\":\"T\",\"role\":\"global\",\"file\":\"T.npy\"},"
      "{\"name\":\"u\",\"role\":\"target\",\"degree\":0,\"file\":\"u.npy\"}],\"known\":["
      "{\"target\":\"u\",\"label\":\"corner\",\"value\":0.25},{\"target\":\"u\",\"label\":[\"above\"],\"global\":\"T\"},"
      "{\"target\":\"u\",\"label\":\"right\",\"input\":\"f\"}],"
      "\"split\":{\"train\":0.5,\"val\":0.25,\"test\":0.25}}");
  FINE(dkho_dataset_import(spec, scratch_path(data_file, w.dir, "given.st"), 0));
}

static dkho_status import_spec(void) {
  return dkho_dataset_import(spec, w.file, 0);
}
static dkho_status check_file(void) {
  return dkho_dataset_check(subject, &text);
}
static dkho_status generate(void) {
  dkho_generate_options g = {.resolution = "smoke", .samples = 3, .seed = 3, .threads = 1};
  return dkho_dataset_generate(subject, w.file, &g);
}
static dkho_status list_problems(void) {
  return dkho_problem_list(&text);
}
static dkho_status list_models(void) {
  return dkho_model_list(&text);
}

static void test_data(void **state) {
  (void)state;
  static const char *const problem[] = {"waves", "lamination", "ironloss", "wells", "elasticity", "maxwell", "hts"};
  sweep(&(trial){"import with given values", import_spec, NULL, NULL, 0}, 250);
  subject = spec;
  sweep(&(trial){"check a specification", check_file, NULL, NULL, 0}, 250);
  subject = w.data;
  sweep(&(trial){"check a data set", check_file, NULL, NULL, 0}, 100);
  size_t problems = memory_effort() > 1 ? sizeof problem / sizeof *problem : 2;
  for (size_t i = 0; i < problems; i++) {
    subject = problem[i];
    sweep(&(trial){problem[i], generate, NULL, NULL, 0}, 2);
  }
  sweep(&(trial){"list of problems", list_problems, NULL, NULL, 0}, 40);
  sweep(&(trial){"list of models", list_models, NULL, NULL, 0}, 40);
}

/* ---- the other models ---- */

static dkho_train_options short_options(void) {
  dkho_train_options o;
  dkho_train_defaults(&o);
  o.epochs = 1, o.batch = 4, o.threads = 1, o.modes = 2;
  return o;
}
static dkho_status train(void) {
  dkho_train_options o = short_options();
  o.model = subject, o.target = "u";
  return dkho_train(data_file, w.file, &o);
}
static dkho_status count(void) {
  int64_t n, reals;
  dkho_train_options o = short_options();
  o.model = subject;
  return dkho_parameter_counts("darcy", &o, &n, &reals);
}

static void test_models(void **state) {
  (void)state;
  static const char *const name[] = {"dkho",     "dkho-x", "gno", "fno", "mgn",
                                     "deeponet", "geofno", "hsd", "tno", "attention"};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
    subject = name[i];
    sweep(&(trial){name[i], train, NULL, NULL, 1}, 6);
    sweep(&(trial){"parameter counts", count, NULL, NULL, 0}, 12);
  }
}

/* ---- predictions, pages, figures ---- */

static dkho_status predict_arrays(void) {
  const char *const in[] = {given_f, given_T, NULL};
  char path[192];
  int64_t samples;
  snprintf(path, sizeof path, "%s.%s", w.file, subject);
  return dkho_predict_arrays(model, in, path, 0, 1, &samples);
}
static dkho_status view(void) {
  char path[192];
  const dkho_view_options o = {.samples = 1, .threads = 1};
  snprintf(path, sizeof path, "%s.html", w.file);
  return dkho_view(subject, path, &o);
}
static dkho_status plot(void) {
  const dkho_plot_options o = {.format = "svg", .threads = 1};
  return dkho_plot(1, &subject, w.file, &o, &text);
}

static void open_model(void) {
  FINE(dkho_model_load(&model, given_run));
}
static void close_model(void) {
  dkho_model_free(model);
}

static void test_outputs(void **state) {
  (void)state;
  static const char *const kind[] = {"npy", "csv", "st", "vtu"};
  const char *const path[] = {TEST_DATA "/mesh/annulus_22_bin.msh", data_file, given_run};
  dkho_train_options o = short_options();
  o.target = "u";
  FINE(dkho_train(data_file, scratch_path(given_run, w.dir, "given"), &o));
  snprintf(given_f, sizeof given_f, "f=%s/f.npy", w.dir);
  snprintf(given_T, sizeof given_T, "T=%s/T.npy", w.dir);
  for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
    subject = kind[i];
    sweep(&(trial){kind[i], predict_arrays, open_model, close_model, 1}, 60);
  }
  for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
    subject = path[i];
    sweep(&(trial){"view", view, NULL, NULL, 0}, 12);
    sweep(&(trial){"plot", plot, NULL, NULL, 1}, 12);
  }
}

/* ---- measurements, cards ---- */

static dkho_status bench_model(void) {
  return dkho_bench_model("darcy", subject, "smoke", 1, 1e-6, &text);
}
static dkho_status bench_scaling(void) {
  return dkho_bench_scaling("small", 2000, 1, 1, NULL, 0, &text);
}
static dkho_status card_table(void) {
  char path[192];
  snprintf(path, sizeof path, "%s/packed/a.st", w.dir);
  return dkho_model_table(path);
}

static void test_measurements(void **state) {
  (void)state;
  char path[192];
  subject = "deeponet";
  FINE(bench_model()); /* finds the machine's peak, once in a process */
  drop_outputs();
  sweep(&(trial){"bench of a model", bench_model, NULL, NULL, 0}, 1);
  if (memory_effort() > 1) sweep(&(trial){"bench of scaling", bench_scaling, NULL, NULL, 0}, 1);
  snprintf(path, sizeof path, "%s/packed", w.dir);
  assert_int_equal(mkdirat(AT_FDCWD, path, 0777), 0);
  strcat(path, "/a.st");
  FINE(dkho_model_pack(w.run, NULL, path, 0, 1, NULL));
  sweep(&(trial){"table of cards", card_table, NULL, NULL, 0}, 60);
}

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  write_data();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  tell_failures();
  world_remove(&w);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_meshes), cmocka_unit_test(test_data),
                                     cmocka_unit_test(test_models), cmocka_unit_test(test_outputs),
                                     cmocka_unit_test(test_measurements)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
