/* test_meshio.c: mesh files read, written, read back; the rules for odd but honest input. Bad files are in
 * test_meshio_bad.c. */
#include "mesh_files.h"

#include "base/rng.h"
#include "mesh/scan.h"

#include <locale.h>
#include <math.h>

static char logged[4096];

static void keep_log(void *user, const char *line) {
  (void)user;
  size_t used = strlen(logged);
  snprintf(logged + used, sizeof logged - used, "%s\n", line);
}

static int start_log(void **state) {
  (void)state;
  logged[0] = 0;
  dkho_report_set(&(dkho_report){.log = keep_log});
  return 0;
}

static int stop_log(void **state) {
  (void)state;
  dkho_report_set(NULL);
  return 0;
}

static int label_number(const cx *c, const char *name) {
  for (int i = 0; i < c->labels; i++)
    if (strcmp(c->label_name[i], name) == 0) return i;
  fail_msg("no label %s", name);
  return -1;
}

static double radius(const cx *c, int64_t vertex) {
  double sum = 0;
  for (int a = 0; a < c->gdim; a++) sum += c->x[vertex * c->gdim + a] * c->x[vertex * c->gdim + a];
  return sqrt(sum);
}

/* One mesh by Gmsh in four codings and by meshio in three: one complex. */
static void formats_agree(void **state) {
  (void)state;
  static const char *const same[] = {DATA "annulus_22_bin.msh", DATA "annulus_41_ascii.msh", DATA "annulus_41_bin.msh",
                                     DATA "annulus_ascii.vtu",  DATA "annulus_binary.vtu",   DATA "annulus_zlib.vtu"};
  cx *a = load(DATA "annulus_22_ascii.msh");
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    cx *b = load(same[i]);
    assert_same(a, b, strstr(same[i], "ascii.vtu") ? 1e-11 : 1e-15, 1);
    cx_free(b);
  }
  cx_free(a);
  a = load(DATA "shell_22_bin.msh");
  static const char *const shell[] = {DATA "shell_appended_raw.vtu",  DATA "shell_appended_base64.vtu",
                                      DATA "shell_appended_zlib.vtu", DATA "shell_appended_base64_zlib.vtu",
                                      DATA "shell_inline_big.vtu",    DATA "shell_inline_zlib.vtu",
                                      DATA "shell_41_ascii.msh"};
  for (size_t i = 0; i < sizeof shell / sizeof *shell; i++) {
    cx *b = load(shell[i]);
    assert_same(a, b, 1e-7, strstr(shell[i], ".msh") != NULL); /* those .vtu hold floats and no labels */
    cx_free(b);
  }
  cx_free(a);
  a = load(DATA "torus_41_ascii.msh");
  static const char *const torus[] = {DATA "torus_41_parametric.msh", DATA "torus.obj", DATA "torus.off"};
  for (size_t i = 0; i < sizeof torus / sizeof *torus; i++) {
    cx *b = load(torus[i]);
    assert_same(a, b, 1e-14, 0);
    cx_free(b);
  }
  cx_free(a);
}

static void annulus_labels(void **state) {
  (void)state;
  cx *c = load(DATA "annulus_41_bin.msh");
  int probe = label_number(c, "probe"), outer = label_number(c, "outer"), inner = label_number(c, "inner");
  assert_int_equal(c->dim, 2);
  assert_int_equal(c->gdim, 2);
  assert_string_equal(c->label_name[0], "interior");
  for (int64_t i = 0; i < c->n[2]; i++) assert_int_equal(c->label[2][i], label_number(c, "fluid"));
  /* Exactly the boundary edges are labelled, by the circle they lie on. */
  for (int64_t i = 0; i < c->n[1]; i++) {
    double r = radius(c, c->vert[1][2 * i]);
    assert_int_equal(c->label[1][i], !c->on_boundary[1][i] ? 0 : r > 0.7 ? outer : inner);
  }
  int probes = 0;
  for (int64_t i = 0; i < c->n[0]; i++) {
    int is_probe = c->x[2 * i] == 1 && c->x[2 * i + 1] == 0;
    probes += is_probe;
    assert_int_equal(c->label[0][i], is_probe ? probe : !c->on_boundary[0][i] ? 0 : radius(c, i) > 0.7 ? outer : inner);
  }
  assert_int_equal(probes, 1); /* the point's own group goes before the curve it lies on */
  cx_free(c);
}

static void shell_labels(void **state) {
  (void)state;
  cx *c = load(DATA "shell_41_ascii.msh");
  cx_quality q;
  assert_int_equal(cx_measure(c, &q), DKHO_OK);
  assert_int_equal(q.oriented, 1);
  assert_int_equal(c->n[0] - c->n[1] + c->n[2] - c->n[3], 2); /* a ball with a cavity */
  int wall = label_number(c, "wall");
  for (int k = 0; k < 3; k++)
    for (int64_t i = 0; i < c->n[k]; i++) assert_int_equal(c->label[k][i], c->on_boundary[k][i] ? wall : 0);
  for (int64_t i = 0; i < c->n[3]; i++) assert_int_equal(c->label[3][i], label_number(c, "solid"));
  cx_free(c);
}

static void unnamed_groups(void **state) {
  (void)state;
  cx *c = load(DATA "annulus_zlib.vtu");
  assert_int_equal(c->labels, 5);
  label_number(c, "point 30");
  label_number(c, "curve 10");
  label_number(c, "curve 20");
  label_number(c, "surface 5");
  cx_free(c);
}

/* The rules, each on a mesh small enough to see. */

#define SQUARE "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"

static void unused_points(void **state) {
  (void)state;
  cx *c = load_text("obj", "v 9 9 9\n" SQUARE "v 8 8 8\nf 2 3 4\nf 2 4 5\n");
  assert_int_equal(c->n[0], 4);
  assert_int_equal(c->gdim, 2); /* the dropped points alone left the plane */
  assert_true(c->x[0] == 0 && c->x[2] == 1);
  assert_non_null(strstr(logged, "text: 2 points belong to no element of the mesh and are dropped"));
  cx_free(c);
}

static void repeated_elements(void **state) {
  (void)state;
  cx *c = load_text("obj", SQUARE "f 1 2 3\nf 1 3 4\nf 3 1 2\n");
  assert_int_equal(c->n[2], 2);
  assert_non_null(strstr(logged, "1 repeated elements dropped"));
  cx_free(c);
  /* Gmsh 2.2 repeats an element for each of its groups: the first that is set counts. */
  c = load_text("msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 7 \"seven of \\\"nine\\\"\"\n"
                       "$EndPhysicalNames\n$Nodes\n3\n5 0 0 0\n9 1 0 0\n2 0 1 0\n$EndNodes\n$Elements\n3\n"
                       "1 2 2 0 1 5 9 2\n2 2 2 7 1 9 2 5\n3 2 2 8 1 9 2 5\n$EndElements\n");
  assert_int_equal(c->n[2], 1);
  assert_string_equal(c->label_name[c->label[2][0]], "seven of \\\"nine\\\"");
  cx_free(c);
}

static void clockwise_is_turned(void **state) {
  (void)state;
  cx *c = load_text("off", "OFF 4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 2 1\n3 0 2 3\n");
  cx_quality q;
  assert_int_equal(cx_measure(c, &q), DKHO_OK);
  assert_int_equal(q.oriented, 1);
  assert_true(fabs(q.total - 1) < 1e-15);
  cx_free(c);
}

/* The torus with every third triangle turned round comes back as it was: fewer than half are turned. */
static void surface_is_oriented(void **state) {
  (void)state;
  cx *a = load(DATA "torus.off");
  char *text = malloc(1 << 16);
  int at = sprintf(text, "OFF\n%lld %lld 0\n", (long long)a->n[0], (long long)a->n[2]);
  for (int64_t i = 0; i < a->n[0]; i++)
    at += sprintf(text + at, "%.17g %.17g %.17g\n", a->x[3 * i], a->x[3 * i + 1], a->x[3 * i + 2]);
  for (int64_t i = 0; i < a->n[2]; i++) {
    const int32_t *v = a->vert[2] + 3 * i;
    int odd = i % 3 == 0;
    at += sprintf(text + at, "3 %d %d %d\n", v[0], v[odd ? 2 : 1], v[odd ? 1 : 2]);
  }
  cx *b = load_text("off", text);
  assert_same(a, b, 0, 0);
  assert_non_null(strstr(logged, "text: 72 elements turned round to agree with the others"));
  free(text);
  cx_free(a);
  cx_free(b);
}

/* A Möbius band of five quads: it stays as given, and that is said. */
static void moebius_stays(void **state) {
  (void)state;
  char text[2048];
  int at = sprintf(text, "OFF\n10 10 0\n");
  for (int i = 0; i < 5; i++) {
    double t = 2 * 3.14159265358979 * i / 5, r[2];
    for (int s = 0; s < 2; s++) {
      r[s] = 1 + (s ? 0.3 : -0.3) * cos(t / 2);
      at += sprintf(text + at, "%.17g %.17g %.17g\n", r[s] * cos(t), r[s] * sin(t), (s ? 0.3 : -0.3) * sin(t / 2));
    }
  }
  for (int i = 0; i < 5; i++) {
    int a = 2 * i, b = 2 * i + 1, c = i < 4 ? a + 2 : 1, d = i < 4 ? b + 2 : 0;
    at += sprintf(text + at, "3 %d %d %d\n3 %d %d %d\n", a, b, c, b, d, c);
  }
  cx *c = load_text("off", text);
  cx_quality q;
  assert_int_equal(cx_measure(c, &q), DKHO_OK);
  assert_int_equal(q.oriented, 0);
  assert_int_equal(c->n[0] - c->n[1] + c->n[2], 0);
  assert_non_null(strstr(logged, "1 pieces of the surface cannot be oriented"));
  cx_free(c);
}

static void tets_are_turned(void **state) {
  (void)state;
  cx *c =
      load_text("msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n"
                       "$EndNodes\n$Elements\n2\n1 4 2 0 1 1 3 2 4\n2 4 2 0 1 2 3 4 5\n$EndElements\n");
  cx_quality q;
  assert_int_equal(cx_measure(c, &q), DKHO_OK);
  assert_int_equal(q.oriented, 1);
  assert_non_null(strstr(logged, "1 elements turned round"));
  cx_free(c);
}

/* Three triangles on one edge; two points at one place; a line that hangs in the air. All accepted, all said. */
static void tolerated(void **state) {
  (void)state;
  cx *c = load_text("obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 1 0\nf 1 2 3\nf 2 1 4\nf 1 2 5\n"
                           "f 2 6 5\nl 3 4\n");
  cx_quality q;
  assert_int_equal(cx_measure(c, &q), DKHO_OK);
  assert_int_equal(q.nonmanifold_faces, 1);
  assert_int_equal(c->n[0], 6);
  assert_non_null(strstr(logged, "1 points coincide with another"));
  assert_non_null(strstr(logged, "1 elements of lower dimension are no faces"));
  cx_free(c);
}

static void obj_spellings(void **state) {
  (void)state;
  cx *a = load_text("obj", "v 0 0 0\nv 1 0 0\nv 0 1 1\nv 1 1 1\nf 1 2 3\nf 2 4 3\n");
  cx *b = load_text("obj",
                    "# a comment\r\nmtllib x.mtl\r\no thing\r\nv 0 0 0 1.0\r\nv +1 0. .0e0 0.1 0.2 0.3\r\nv 0 1 1\r\n"
                    "vt 0 0\r\nvn 0 0 1\r\ng one two\r\nusemtl m\r\ns off\r\nf -3/1/1 -2//1 -1/1 # first\r\n"
                    "v 1 1 1\r\nf -3 -1 -2");
  assert_same(a, b, 0, 1);
  cx_free(a);
  cx_free(b);
}

static void off_spellings(void **state) {
  (void)state;
  cx *a = load_text("off", "OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 1\n1 1 1\n3 0 1 2\n3 1 3 2\n");
  static const char *const same[] = {"OFF 4 2 5\n0 0 0\n1 0 0\n0 1 1\n1 1 1\n3 0 1 2\n3 1 3 2\n",
                                     "# first\n\nCOFF # kind\n# counts\n4 2\n\n0 0 0 255 0 0 255\n1 0 0 1 1 1\n0 1 "
                                     "1\n1 1 1\n3 0 1 2 0.5 0.5 0.5\n3 1 3 2",
                                     "4 2 0\r\n0 0 0\r\n1 0 0\r\n0 1 1\r\n1 1 1\r\n3 0 1 2\r\n3 1 3 2\r\n",
                                     "\xef\xbb\xbfOFF\n4 2 0\n0 0 0\n1 0 0\n0 1 1\n1 1 1\n3 0 1 2\n3 1 3 2\n"};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    cx *b = load_text("off", same[i]);
    assert_same(a, b, 0, 1);
    cx_free(b);
  }
  cx_free(a);
}

static void lines_alone(void **state) {
  (void)state;
  cx *c = load_text("obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nl 1 2 3\n");
  assert_int_equal(c->dim, 1);
  assert_int_equal(c->n[1], 2);
  cx_free(c);
}

/* Two pieces are one mesh; an array of labels beside one of the same name that is no label. */
static void vtu_pieces(void **state) {
  (void)state;
#define PIECE(z)                                                                                                       \
  "<Piece NumberOfPoints='3' NumberOfCells='1'><CellData><DataArray type='Float32' Name='label'>1</DataArray>"         \
  "<DataArray Name='gmsh:physical' type='Int16' format='ascii'>4</DataArray></CellData><Cells>"                        \
  "<DataArray type='Int32' Name='connectivity' format='ascii'>0 1 2</DataArray>"                                       \
  "<DataArray type='Int32' Name='offsets' format='ascii'>3</DataArray>"                                                \
  "<DataArray type='UInt8' Name='types' format='ascii'>5</DataArray></Cells>"                                          \
  "<Points><DataArray type='Float64' NumberOfComponents='3'>0 0 " z " 1 0 " z " 0 1 " z                                \
  "</DataArray></Points></Piece>"
  cx *c = load_text("vtu", "<VTKFile type='UnstructuredGrid'><UnstructuredGrid>" PIECE("0")
                               PIECE("1") "<Piece NumberOfPoints='0' NumberOfCells='0'/></UnstructuredGrid></VTKFile>");
  assert_int_equal(c->n[0], 6);
  assert_int_equal(c->n[2], 2);
  assert_string_equal(c->label_name[c->label[2][1]], "surface 4");
  cx_free(c);
}

static void formats_are_told(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  static const struct {
    const char *name, *text;
    dkho_status status;
  } list[] = {{"a.bin", "OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", DKHO_OK},
              {"a.OBJ", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", DKHO_OK},
              {"a.txt", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", DKHO_E_FORMAT},
              {"none", "", DKHO_E_FORMAT},
              {"empty.off", "", DKHO_E_FORMAT}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    FILE *f = fopen(scratch_path(path, dir, list[i].name), "w");
    fputs(list[i].text, f);
    fclose(f);
    cx *c;
    assert_int_equal(mesh_read(&c, path, NULL, NULL), list[i].status);
    if (!c) assert_int_equal(strncmp(dkho_error(), path, strlen(path)), 0);
    cx_free(c);
  }
  cx *c;
  assert_int_equal(mesh_read(&c, "there is no such file.msh", NULL, NULL), DKHO_E_IO);
  assert_int_equal(mesh_read_memory(&c, "", 0, "xyz", "x", NULL, NULL), DKHO_E_INPUT);
  scratch_remove(dir);
}

/* Reading a number gives the double that the C library gives in the "C" locale, whatever the locale is now. */
static void numbers(void **state) {
  (void)state;
  static const char *const word[] = {"0",
                                     "-0",
                                     "1",
                                     "+1.5",
                                     ".5",
                                     "5.",
                                     "1e22",
                                     "1e23",
                                     "-1E-5",
                                     "123456789012345678",
                                     "12345678901234567890123",
                                     "0.1",
                                     "2.2250738585072011e-308",
                                     "4.9e-324",
                                     "1e-400",
                                     "1e400",
                                     "9007199254740993",
                                     "0.000000000000000000000000000000000001",
                                     "00000000000000000000000000000000001.25",
                                     "1.7976931348623157e308",
                                     "inf",
                                     "-nan"};
  static const char *const bad[] = {"",     "+",  ".",   "e5",    "1e",        "1e+", "1,5",
                                    "0x10", "1f", "--1", "1.2.3", "infinity5", "1 "};
  char text[64];
  double x, y;
  setlocale(LC_ALL, "de_DE.UTF-8"); /* where it is installed */
  rng r = rng_open(1, RNG_TEST, 0);
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = (uint64_t)rng_u32(&r) << 32 | rng_u32(&r);
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x)) continue;
    setlocale(LC_ALL, "C");
    int n = snprintf(text, sizeof text, "%.*g", 1 + i % 20, x);
    double expected = strtod(text, NULL);
    setlocale(LC_ALL, "de_DE.UTF-8");
    assert_int_equal(scan_view_double((scan_view){text, (size_t)n}, &y), 1);
    assert_memory_equal(&expected, &y, sizeof y);
  }
  setlocale(LC_ALL, "C");
  for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
    assert_int_equal(scan_view_double((scan_view){word[i], strlen(word[i])}, &y), 1);
    x = strtod(word[i], NULL);
    assert_true(isnan(x) ? isnan(y) : memcmp(&x, &y, sizeof x) == 0);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(scan_view_double((scan_view){bad[i], strlen(bad[i])}, &y), 0);
  int64_t n;
  assert_true(scan_view_int((scan_view){"-9223372036854775808", 20}, &n) && n == INT64_MIN);
  assert_true(scan_view_int((scan_view){"9223372036854775807", 19}, &n) && n == INT64_MAX);
  assert_false(scan_view_int((scan_view){"9223372036854775808", 19}, &n));
  assert_false(scan_view_int((scan_view){"-", 1}, &n));
}

/* The cochain of a constant field is its integral along edges; Whitney's vectors at the barycentres give the field back,
 * on a surface its tangential part. */
static void whitney_reproduces(const char *path) {
  static const double field[3] = {0.7, -1.3, 0.4};
  cx *c = load(path);
  double *u = mem_alloc((size_t)c->n[1], sizeof *u), *w = mem_alloc((size_t)(c->n[c->dim] * c->gdim), sizeof *w);
  for (int64_t e = 0; e < c->n[1]; e++)
    for (int a = 0; a < c->gdim; a++)
      u[e] += field[a] *
              (c->x[(int64_t)c->vert[1][2 * e + 1] * c->gdim + a] - c->x[(int64_t)c->vert[1][2 * e] * c->gdim + a]);
  mesh_whitney(c, u, w);
  for (int64_t t = 0; t < c->n[c->dim]; t++) {
    double expected[3] = {field[0], field[1], c->gdim == 3 ? field[2] : 0};
    if (c->dim == 2 && c->gdim == 3) {
      const int32_t *v = c->vert[2] + 3 * t;
      const double *p = c->x + 3 * (int64_t)v[0], *q = c->x + 3 * (int64_t)v[1], *r = c->x + 3 * (int64_t)v[2];
      double n[3], along = 0, square = 0;
      for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, d = (a + 2) % 3;
        n[a] = (q[b] - p[b]) * (r[d] - p[d]) - (q[d] - p[d]) * (r[b] - p[b]);
        along += n[a] * field[a];
        square += n[a] * n[a];
      }
      for (int a = 0; a < 3; a++) expected[a] -= along / square * n[a];
    }
    for (int a = 0; a < c->gdim; a++) assert_true(fabs(w[t * c->gdim + a] - expected[a]) < 1e-12);
  }
  mem_free(u);
  mem_free(w);
  cx_free(c);
}

static void whitney(void **state) {
  (void)state;
  whitney_reproduces(DATA "annulus_22_bin.msh");
  whitney_reproduces(DATA "torus.off");
  whitney_reproduces(DATA "shell_22_bin.msh");
}

static void *read_whole(const char *path, size_t *size) {
  file_map map;
  assert_int_equal(file_map_open(&map, path), DKHO_OK);
  void *copy = malloc(map.size + 1);
  memcpy(copy, map.bytes, map.size);
  *size = map.size;
  file_map_close(&map);
  return copy;
}

/* read → write → read: the same complex, labels and names, bit for bit; writing twice gives the same bytes. */
static void round_trip(void **state) {
  (void)state;
  static const char *const list[] = {DATA "annulus_41_bin.msh", DATA "shell_22_bin.msh", DATA "torus_41_ascii.msh",
                                     DATA "torus.obj"};
  char dir[64], path[128], again[128];
  scratch_make(dir);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    cx *a = load(list[i]);
    double *data = mem_alloc((size_t)(2 * (a->n[0] + a->n[1] + a->n[2] + a->n[3])), sizeof *data);
    mesh_field field[] = {{"p", 0, 1, data}, {"flux <&\">", 1, 2, data}, {"u", 1, 1, data}, {"w", 2, 1, data}};
    assert_int_equal(mesh_write_vtu(scratch_path(path, dir, "a.vtu"), 0, a, 4, field), DKHO_OK);
    assert_int_equal(mesh_write_vtu(path, 0, a, 4, field), DKHO_E_EXISTS);
    cx *b = load(path);
    assert_same(a, b, 0, 1);
    assert_int_equal(a->labels, b->labels);
    for (int l = 0; l < a->labels; l++) assert_string_equal(a->label_name[l], b->label_name[l]);
    assert_int_equal(mesh_write_vtu(scratch_path(again, dir, "b.vtu"), 1, b, 4, field), DKHO_OK);
    size_t n, m;
    void *p = read_whole(path, &n), *q = read_whole(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(p, q, n);
    free(p);
    free(q);
    unlink(path);
    mem_free(data);
    cx_free(a);
    cx_free(b);
  }
  scratch_remove(dir);
}

static void bad_fields(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "a.vtu");
  cx *c = load(DATA "torus.off");
  double *data = mem_alloc((size_t)c->n[1], sizeof *data);
  mesh_field bad[] = {{"u", 3, 1, data},    {"u", -1, 1, data},    {"u", 0, 0, data}, {"", 0, 1, data},
                      {"a\nb", 0, 1, data}, {"label", 1, 1, data}, {NULL, 0, 1, data}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(mesh_write_vtu(path, 0, c, 1, &bad[i]), DKHO_E_INPUT);
  mesh_field good = {"u", 1, 1, data};
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  for (int64_t n = 1; s != DKHO_OK; n++) {
    mem_fail_at(n);
    s = mesh_write_vtu(path, 0, c, 1, &good);
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), live);
    if (s == DKHO_OK) break;
    assert_int_equal(s, DKHO_E_MEMORY);
    /* A failure after the file is in place (syncing its directory) leaves the whole file. */
    unlink(path);
    assert_int_equal(scratch_count(dir), 0);
  }
  mem_free(data);
  cx_free(c);
  scratch_remove(dir);
}

/* For tests/sh_vtu_meshio.sh: IN to OUT with p = x on vertices, u = (0.7, -1.3, 0.4)·edge on edges, w = index on
 * triangles, w2 = two channels of it. */
static int export_vtu(const char *in, const char *out) {
  static const double constant[3] = {0.7, -1.3, 0.4};
  cx *c = load(in);
  double *p = mem_alloc((size_t)c->n[0], sizeof *p), *u = mem_alloc((size_t)c->n[1], sizeof *u),
         *w = mem_alloc((size_t)(2 * c->n[2]), sizeof *w);
  for (int64_t i = 0; i < c->n[0]; i++) p[i] = c->x[i * c->gdim];
  for (int64_t i = 0; i < 2 * c->n[1]; i++)
    for (int a = 0; a < c->gdim; a++)
      u[i / 2] += (i % 2 ? 1 : -1) * constant[a] * c->x[(int64_t)c->vert[1][i] * c->gdim + a];
  for (int64_t i = 0; i < 2 * c->n[2]; i++) w[i] = (double)i;
  mesh_field field[] = {{"p", 0, 1, p}, {"u", 1, 1, u}, {"w", 2, 1, w}, {"w2", 2, 2, w}};
  dkho_status s = mesh_write_vtu(out, 1, c, 4, field);
  if (s != DKHO_OK) fprintf(stderr, "%s\n", dkho_error());
  mem_free(p);
  mem_free(u);
  mem_free(w);
  cx_free(c);
  return s != DKHO_OK;
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "export") == 0) return export_vtu(argv[2], argv[3]);
#define RULE(f) cmocka_unit_test_setup_teardown(f, start_log, stop_log)
  const struct CMUnitTest tests[] = {cmocka_unit_test(formats_agree),
                                     cmocka_unit_test(annulus_labels),
                                     cmocka_unit_test(shell_labels),
                                     cmocka_unit_test(unnamed_groups),
                                     RULE(unused_points),
                                     RULE(repeated_elements),
                                     RULE(clockwise_is_turned),
                                     RULE(surface_is_oriented),
                                     RULE(moebius_stays),
                                     RULE(tets_are_turned),
                                     RULE(tolerated),
                                     cmocka_unit_test(obj_spellings),
                                     cmocka_unit_test(off_spellings),
                                     cmocka_unit_test(lines_alone),
                                     cmocka_unit_test(vtu_pieces),
                                     cmocka_unit_test(formats_are_told),
                                     cmocka_unit_test(numbers),
                                     cmocka_unit_test(whitney),
                                     cmocka_unit_test(round_trip),
                                     cmocka_unit_test(bad_fields)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
