/* test_api_memory.c: every public call that allocates, with its n-th allocation failing (memory.h): complexes, calculus, data,
 * training, judging, models. Whole studies and measurements are in test_study_memory.c. */
#include "memory.h"

static dkho_complex *shape;
static dkho_calculus *calc;
static dkho_dataset *data;
static dkho_model *model;

/* ---- complexes and calculus ---- */

static dkho_status make_darcy(void) {
  return dkho_complex_generate(&cx_out, "darcy", "smoke");
}
static dkho_status make_torus(void) {
  return dkho_complex_generate(&cx_out, "torus", "smoke");
}
static dkho_status make_cavity(void) {
  return dkho_complex_generate(&cx_out, "cavity", "smoke");
}
static dkho_status make_planar(void) {
  const double hole[1][3] = {{0, 0, 0.4}};
  return dkho_complex_planar(&cx_out, 1, 1, hole, 0.25, 0.3, 0.1, 0.5, 0);
}
static dkho_status make_grid(void) {
  return dkho_complex_torus(&cx_out, 1, 0.3, 6, 5);
}
static dkho_status make_built(void) {
  const double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  const int32_t top[4] = {0, 1, 2, 3};
  return dkho_complex_build(&cx_out, 3, 4, x, 3, 1, top);
}
static dkho_status read_own(void) {
  return dkho_complex_read(&cx_out, w.data);
}
static dkho_status read_msh(void) {
  return dkho_complex_read(&cx_out, TEST_DATA "/mesh/annulus_41_bin.msh");
}
static dkho_status read_vtu(void) {
  return dkho_complex_read(&cx_out, TEST_DATA "/mesh/shell_appended_zlib.vtu");
}
static dkho_status read_obj(void) {
  return dkho_complex_read(&cx_out, TEST_DATA "/mesh/torus.obj");
}
static dkho_status read_off(void) {
  return dkho_complex_read(&cx_out, TEST_DATA "/mesh/torus.off");
}

static void test_make(void **state) {
  (void)state;
  static const trial list[] = {{"generate darcy", make_darcy, NULL, NULL, 0},
                               {"generate torus", make_torus, NULL, NULL, 0},
                               {"generate cavity", make_cavity, NULL, NULL, 0},
                               {"planar", make_planar, NULL, NULL, 0},
                               {"torus", make_grid, NULL, NULL, 0},
                               {"build", make_built, NULL, NULL, 0},
                               {"read a data set", read_own, NULL, NULL, 0},
                               {"read .msh", read_msh, NULL, NULL, 0},
                               {"read .vtu", read_vtu, NULL, NULL, 0},
                               {"read .obj", read_obj, NULL, NULL, 0},
                               {"read .off", read_off, NULL, NULL, 0}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) sweep(&list[i], i < 3 ? 12 : 60);
}

static dkho_status save_shape(void) {
  return dkho_complex_save(shape, w.file, 0);
}
static dkho_status save_bases(void) {
  dkho_complex *c = NULL;
  dkho_status s = dkho_complex_torus(&c, 1, 0.4, 9, 7);
  if (s == DKHO_OK) s = dkho_complex_bases(c, 3);
  if (s == DKHO_OK) s = dkho_complex_save(c, w.file, 0);
  dkho_complex_free(c);
  return s;
}
static dkho_status describe_shape(void) {
  return dkho_complex_describe(shape, &text);
}
static dkho_status betti(void) {
  int64_t b[4];
  return dkho_complex_betti(shape, 0, b);
}
static dkho_status betti_relative(void) {
  int64_t b[4];
  return dkho_complex_betti(shape, 1, b);
}
static double field[4096], result[3][4096];
static dkho_status export_shape(void) {
  const dkho_field f[2] = {{"u", 0, 1, field}, {"q", 1, 1, field}};
  return dkho_complex_export(shape, w.file, 0, 2, f);
}
static dkho_status calculus_unit(void) {
  return dkho_calculus_create(&calc_out, shape, DKHO_UNIT);
}
static dkho_status calculus_hodge(void) {
  return dkho_calculus_create(&calc_out, shape, DKHO_HODGE);
}
static dkho_status laplacian(void) {
  return dkho_calculus_laplacian(calc, 1, 1, field, result[0]);
}
static dkho_status decompose(void) {
  return dkho_calculus_decompose(calc, 1, 1, field, result[0], result[1], result[2]);
}
static dkho_status harmonic(void) {
  int64_t n;
  return dkho_calculus_harmonic(calc, 1, 4, result[0], &n, NULL);
}
static dkho_status count_harmonic(void) {
  int64_t n;
  return dkho_calculus_harmonic(calc, 1, 0, NULL, &n, NULL);
}
static dkho_status spectrum(void) {
  int64_t n;
  return dkho_calculus_spectrum(calc, 1, 3, result[1], result[0], &n);
}

static dkho_status kuramoto(void) {
  double energy[3];
  memset(result[0], 0, sizeof result[0]);
  return dkho_kuramoto(calc, 1, 1, 0.5, field, 0.01, 2, result[0], energy);
}

static void test_use(void **state) {
  (void)state;
  static const trial list[] = {{"save", save_shape, NULL, NULL, 0},
                               {"save with bases", save_bases, NULL, NULL, 0},
                               {"describe a complex", describe_shape, NULL, NULL, 0},
                               {"betti", betti, NULL, NULL, 0},
                               {"relative betti", betti_relative, NULL, NULL, 0},
                               {"export", export_shape, NULL, NULL, 0},
                               {"unit calculus", calculus_unit, NULL, NULL, 0},
                               {"hodge calculus", calculus_hodge, NULL, NULL, 0},
                               {"laplacian", laplacian, NULL, NULL, 0},
                               {"decompose", decompose, NULL, NULL, 0},
                               {"harmonic", harmonic, NULL, NULL, 0},
                               {"count harmonic fields", count_harmonic, NULL, NULL, 0},
                               {"spectrum", spectrum, NULL, NULL, 0},
                               {"kuramoto", kuramoto, NULL, NULL, 0}};
  FINE(dkho_complex_torus(&shape, 1, 0.4, 9, 7));
  FINE(dkho_calculus_create(&calc, shape, DKHO_HODGE));
  for (int i = 0; i < 4096; i++) field[i] = (i * 37 % 101) / 50.0 - 1;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) sweep(&list[i], 80);
  dkho_calculus_free(calc);
  dkho_complex_free(shape);
}

/* ---- data sets ---- */

static dkho_status generate(const char *problem) {
  dkho_generate_options g = {.resolution = "smoke", .samples = 9, .seed = 3, .threads = 1};
  return dkho_dataset_generate(problem, w.file, &g);
}
static dkho_status generate_darcy(void) {
  return generate("darcy");
}
static dkho_status generate_torus(void) {
  return generate("torus");
}
static dkho_status generate_heat(void) {
  return generate("heat");
}
static dkho_status generate_reaction(void) {
  return generate("reaction");
}
static dkho_status open_data(void) {
  return dkho_dataset_open(&data_out, w.data);
}
static dkho_status describe_data(void) {
  return dkho_describe(w.data, &text);
}
static dkho_status describe_model(void) {
  char path[160];
  snprintf(path, sizeof path, "%s/best.st", w.run);
  return dkho_describe(path, &text);
}
static dkho_status describe_run(void) {
  return dkho_describe(w.run, &text);
}
static char spec[128];
static dkho_status import(void) {
  return dkho_dataset_import(spec, w.file, 0);
}

/* A specification beside its mesh and arrays, for import. */
static void write_spec(void) {
  static const char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (6, 4), }";
  char path[128];
  FILE *f = fopen(scratch_path(path, w.dir, "m.off"), "w");
  assert_non_null(f);
  fputs("OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n", f);
  fclose(f);
  f = fopen(scratch_path(path, w.dir, "a.npy"), "wb");
  assert_non_null(f);
  fwrite(head, 1, sizeof head - 1, f);
  for (size_t i = sizeof head - 1; i < 127; i++) fputc(' ', f);
  fputc('\n', f);
  for (int i = 0; i < 24; i++) fwrite(&(double){i * 0.1}, sizeof(double), 1, f);
  fclose(f);
  f = fopen(scratch_path(spec, w.dir, "spec.json"), "w");
  assert_non_null(f);
  fputs("{\"problem\": \"square\", \"mesh\": \"m.off\", \"seed\": 1, \"fields\": ["
        "{\"name\": \"f\", \"role\": \"input\", \"degree\": 0, \"file\": \"a.npy\"},"
        "{\"name\": \"u\", \"role\": \"target\", \"degree\": 0, \"file\": \"a.npy\"}],"
        "\"split\": {\"train\": 0.5, \"val\": 0.25, \"test\": 0.25}, \"modes\": 2}",
        f);
  fclose(f);
}

static void test_data(void **state) {
  (void)state;
  static const trial list[] = {{"generate darcy data", generate_darcy, NULL, NULL, 0},
                               {"generate torus data", generate_torus, NULL, NULL, 0},
                               {"generate heat data", generate_heat, NULL, NULL, 0},
                               {"generate reaction data", generate_reaction, NULL, NULL, 0},
                               {"open", open_data, NULL, NULL, 0},
                               {"import", import, NULL, NULL, 0},
                               {"describe data", describe_data, NULL, NULL, 0},
                               {"describe a model", describe_model, NULL, NULL, 0},
                               {"describe a run", describe_run, NULL, NULL, 0}};
  write_spec();
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) sweep(&list[i], i < 4 ? 12 : 80);
}

/* ---- learning ---- */

static dkho_status train(void) {
  dkho_train_options o = api_options();
  o.target = "q", o.checkpoint_seconds = 1e-9;
  return dkho_train(w.data, w.file, &o);
}

/* Whatever a failed training left behind can be trained to the end, to the same bits as an undisturbed run. */
static void finish_training(void) {
  char path[512], reference[512], config[512];
  snprintf(path, sizeof path, "%s/best.st", w.file);
  snprintf(config, sizeof config, "%s/config.json", w.file);
  snprintf(reference, sizeof reference, "%s/best.st", w.run);
  FINE(access(config, F_OK) == 0 ? dkho_train_resume(w.file, NULL, NULL) : train());
  assert_true(api_same_file(path, reference));
}

static int stop_soon(void *calls) {
  return ++*(int *)calls == 2;
}
static void stopped_run(void) {
  dkho_train_options o = api_options();
  int calls = 0;
  o.target = "q", o.stop = stop_soon, o.stop_user = &calls;
  assert_int_equal(dkho_train(w.data, w.file, &o), DKHO_E_STOPPED);
}
static dkho_status resume(void) {
  dkho_train_options o = api_options();
  return dkho_train_resume(w.file, NULL, &o);
}
static dkho_status begin(void) {
  dkho_train_options o = api_options();
  o.target = "q", o.epochs = 1, o.from_model = w.run;
  return dkho_train(w.data, w.file, &o);
}
static dkho_status count(void) {
  int64_t n;
  return dkho_parameter_count("torus", NULL, &n);
}
static dkho_status evaluate(void) {
  return dkho_evaluate(w.run, NULL, "test", 1, &text);
}

static dkho_status metric_list(void) {
  return dkho_metric_list(w.run, NULL, &text);
}
static dkho_status honesty(void) {
  return dkho_honesty(w.run, NULL, 1, &text);
}
static dkho_status phase(void) {
  return dkho_phase(w.run, NULL, 1, NULL, &text);
}

static void test_judging(void **state) {
  (void)state;
  static const trial list[] = {{"metric list", metric_list, NULL, NULL, 0},
                               {"honesty", honesty, NULL, NULL, 0},
                               {"phase", phase, NULL, NULL, 0}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) sweep(&list[i], i == 1 ? 8 : 24);
}

static void test_learning(void **state) {
  (void)state;
  static const trial list[] = {{"train", train, NULL, finish_training, 1},
                               {"resume", resume, stopped_run, finish_training, 1},
                               {"begin with a model", begin, NULL, NULL, 1},
                               {"parameter count", count, NULL, NULL, 0},
                               {"evaluate", evaluate, NULL, NULL, 0}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) sweep(&list[i], i < 3 ? 4 : 30);
}

static dkho_status load_model(void) {
  return dkho_model_load(&model_out, w.run);
}
static dkho_status save_model(void) {
  return dkho_model_save(model, w.file, 0);
}
static char packed[192];
static dkho_status pack(void) {
  char path[192];
  snprintf(path, sizeof path, "%s.st", w.file);
  return dkho_model_pack(w.run, NULL, path, 0, 1, &text);
}
static dkho_status load_packed(void) {
  return dkho_model_load(&model_out, packed);
}
static dkho_status check_packed(void) {
  return dkho_model_check(packed, 1, &text);
}
static dkho_status evaluate_packed(void) {
  return dkho_evaluate(packed, w.data, "test", 1, &text);
}

static void test_packed(void **state) {
  (void)state;
  static const trial list[] = {{"pack", pack, NULL, NULL, 1},
                               {"load a packed model", load_packed, NULL, NULL, 0},
                               {"check a packed model", check_packed, NULL, NULL, 0},
                               {"evaluate a packed model", evaluate_packed, NULL, NULL, 0}};
  snprintf(packed, sizeof packed, "%s/packed.st", w.dir);
  FINE(dkho_model_pack(w.run, NULL, packed, 0, 1, NULL));
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) sweep(&list[i], 6);
}

static dkho_status model_complex(void) {
  return dkho_model_complex(model, &cx_out);
}
static dkho_status predict(void) {
  const void *in[8];
  dkho_field_info f;
  for (int i = 0; i < dkho_model_inputs(model); i++) {
    dkho_model_input(model, i, &f);
    in[i] = dkho_dataset_value(data, dkho_dataset_find(data, f.name), 0);
  }
  float out[4096];
  return dkho_model_predict(model, 1, 1, in, out);
}
static dkho_status predict_container(void) {
  return dkho_predict_file(model, w.data, "test", w.file, 0, 1, 0);
}
static dkho_status predict_vtu(void) {
  char path[192];
  snprintf(path, sizeof path, "%s.vtu", w.file);
  return dkho_predict_file(model, w.data, "test", path, 0, 1, 2);
}
static dkho_status predict_pvd(void) {
  char path[192];
  snprintf(path, sizeof path, "%s.pvd", w.file);
  return dkho_predict_file(model, w.data, "test", path, 0, 1, 2);
}
static void open_model(void) {
  FINE(dkho_model_load(&model, w.run));
  FINE(dkho_dataset_open(&data, w.data));
}
static void close_model(void) {
  dkho_model_free(model);
  dkho_dataset_free(data);
}

static void test_model(void **state) {
  (void)state;
  static const trial list[] = {{"load", load_model, NULL, NULL, 0},
                               {"save a model", save_model, open_model, close_model, 0},
                               {"complex of a model", model_complex, open_model, close_model, 0},
                               {"predict", predict, open_model, close_model, 0},
                               {"predict into a container", predict_container, open_model, close_model, 0},
                               {"predict into .vtu", predict_vtu, open_model, close_model, 1},
                               {"predict into .pvd", predict_pvd, open_model, close_model, 0}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) sweep(&list[i], 30);
}

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  tell_failures();
  world_remove(&w);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_make),    cmocka_unit_test(test_use),
                                     cmocka_unit_test(test_data),    cmocka_unit_test(test_learning),
                                     cmocka_unit_test(test_judging), cmocka_unit_test(test_model),
                                     cmocka_unit_test(test_packed)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
