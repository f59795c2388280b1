/* test_mesh_repair.c: elements that are no simplices, points at the same place, degenerate and repeated elements: what becomes of them, and
 * what the report says. */
#include "scratch.h"

#include "base/rng.h"
#include "mesh/meshio.h"

#include <math.h>

#define DATA TEST_DATA "/mesh/"

static cx *read_text(const char *format, const char *text, const mesh_options *o, mesh_report *r) {
  cx *c;
  if (mesh_read_memory(&c, text, strlen(text), format, "text", o, r) != DKHO_OK) fail_msg("%s", dkho_error());
  if (cx_check(c) != DKHO_OK) fail_msg("%s", dkho_error());
  return c;
}

static cx_quality quality_of(const cx *c) {
  cx_quality q;
  assert_int_equal(cx_measure(c, &q), DKHO_OK);
  return q;
}

/* ---- a .vtu of any cells ---- */

typedef struct {
  int points, cells, verts;
  double x[4096][3];
  int vert[16384], end[2048], type[2048], label[2048];
  int faces, face[16384], face_end[2048]; /* of polyhedra */
} grid;

static int add_point(grid *g, double x, double y, double z) {
  double p[3] = {x, y, z};
  memcpy(g->x[g->points], p, sizeof p);
  return g->points++;
}

static void add_cell(grid *g, int type, int label, int n, const int *v) {
  g->face_end[g->cells] = g->faces > 0 && type == 42 ? g->faces : -1;
  memcpy(g->vert + g->verts, v, (size_t)n * sizeof *v);
  g->verts += n;
  g->type[g->cells] = type;
  g->label[g->cells] = label;
  g->end[g->cells++] = g->verts;
}

static char *print_numbers(char *at, const char *head, int n, const int *v) {
  at += sprintf(at, "%s", head);
  for (int i = 0; i < n; i++) at += sprintf(at, "%d ", v[i]);
  return at + sprintf(at, "</DataArray>");
}

static cx *read_grid(const grid *g, const mesh_options *o, mesh_report *r) {
  char *text = malloc(1 << 20), *at = text;
  at += sprintf(at,
                "<VTKFile type='UnstructuredGrid'><UnstructuredGrid><Piece NumberOfPoints='%d' NumberOfCells='%d'>"
                "<Points><DataArray type='Float64' NumberOfComponents='3'>",
                g->points, g->cells);
  for (int i = 0; i < g->points; i++) at += sprintf(at, "%.17g %.17g %.17g ", g->x[i][0], g->x[i][1], g->x[i][2]);
  at += sprintf(at, "</DataArray></Points><Cells>");
  at = print_numbers(at, "<DataArray type='Int32' Name='connectivity'>", g->verts, g->vert);
  at = print_numbers(at, "<DataArray type='Int32' Name='offsets'>", g->cells, g->end);
  at = print_numbers(at, "<DataArray type='UInt8' Name='types'>", g->cells, g->type);
  if (g->faces) at = print_numbers(at, "<DataArray type='Int32' Name='faces'>", g->faces, g->face);
  if (g->faces) at = print_numbers(at, "<DataArray type='Int32' Name='faceoffsets'>", g->cells, g->face_end);
  at += sprintf(at, "</Cells><CellData>");
  at = print_numbers(at, "<DataArray type='Int32' Name='label'>", g->cells, g->label);
  sprintf(at, "</CellData></Piece></UnstructuredGrid></VTKFile>");
  cx *c = read_text("vtu", text, o, r);
  free(text);
  return c;
}

enum { NX = 3, NY = 4, NZ = 2 };

static int node(int i, int j, int k) {
  return (k * (NY + 1) + j) * (NX + 1) + i;
}

/* A box of NX × NY × NZ cells whose points are numbered at random. `kind`: 0 hexahedra, 1 voxels, 2 each cut into two prisms, 3 each into six
 * pyramids over its centre, 4 polyhedra, 5 all of them in turn. */
static void make_box(grid *g, int kind, uint64_t seed) {
  enum { NODES = (NX + 1) * (NY + 1) * (NZ + 1) };
  int64_t order[NODES];
  int where[NODES];
  rng r = rng_open(seed, RNG_TEST, 0);
  rng_permute(&r, order, NODES);
  for (int i = 0; i < NODES; i++) where[i] = (int)order[i];
  *g = (grid){.points = NODES};
  for (int k = 0; k <= NZ; k++)
    for (int j = 0; j <= NY; j++)
      for (int i = 0; i <= NX; i++) {
        double p[3] = {i, j, k + 0.1 * i};
        memcpy(g->x[where[node(i, j, k)]], p, sizeof p);
      }
  for (int e = 0; e < NX * NY * NZ; e++) {
    int i = e % NX, j = e / NX % NY, k = e / NX / NY, how = kind == 5 ? e % 5 : kind;
    int h[8] = {node(i, j, k),     node(i + 1, j, k),     node(i + 1, j + 1, k),     node(i, j + 1, k),
                node(i, j, k + 1), node(i + 1, j, k + 1), node(i + 1, j + 1, k + 1), node(i, j + 1, k + 1)};
    for (int v = 0; v < 8; v++) h[v] = where[h[v]];
    if (how == 0) add_cell(g, 12, 1, 8, h);
    if (how == 1) add_cell(g, 11, 1, 8, (int[]){h[0], h[1], h[3], h[2], h[4], h[5], h[7], h[6]});
    if (how == 2) {
      /* the diagonal of a prism's quads is the rule's, that of its triangles is given: take the rule's there too */
      int low = 0;
      for (int v = 1; v < 4; v++) low = h[v] < h[low] ? v : low;
      int top = 4;
      for (int v = 5; v < 8; v++) top = h[v] < h[top] ? v : top;
      if ((low + top) % 2) {
        add_cell(g, 12, 1, 8, h);
        continue;
      }
      int a = low, b = (low + 1) % 4, c = (low + 2) % 4, d = (low + 3) % 4;
      add_cell(g, 13, 1, 6, (int[]){h[a], h[b], h[c], h[a + 4], h[b + 4], h[c + 4]});
      add_cell(g, 13, 1, 6, (int[]){h[a], h[c], h[d], h[a + 4], h[c + 4], h[d + 4]});
    }
    static const int side[6][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
    if (how == 4) {
      g->face[g->faces++] = 6;
      for (int f = 0; f < 6; f++) {
        g->face[g->faces++] = 4;
        for (int v = 0; v < 4; v++) g->face[g->faces++] = h[side[f][v]];
      }
      add_cell(g, 42, 1, 8, h);
    }
    if (how == 3) {
      int m = add_point(g, i + 0.5, j + 0.5, k + 0.5 + 0.1 * (i + 0.5));
      for (int f = 0; f < 6; f++)
        add_cell(g, 14, 1, 5, (int[]){h[side[f][0]], h[side[f][1]], h[side[f][2]], h[side[f][3]], m});
    }
  }
}

/* However the box is made up and numbered, its cells fit: nothing is open inside, nothing overlaps, the volume is the box's. */
static void solids_conform(void **state) {
  (void)state;
  grid *g = malloc(sizeof *g);
  for (int kind = 0; kind < 6; kind++)
    for (uint64_t seed = 0; seed < 5; seed++) {
      mesh_report r;
      make_box(g, kind, seed);
      cx *c = read_grid(g, NULL, &r);
      cx_quality q = quality_of(c);
      assert_int_equal(c->dim, 3);
      assert_true(fabs(q.total - NX * NY * NZ) < 1e-12);
      assert_int_equal(q.boundary_faces, 4 * (NX * NY + NX * NZ + NY * NZ));
      assert_int_equal(q.nonmanifold_faces, 0);
      assert_int_equal(q.oriented, 1);
      assert_int_equal(c->n[0] - c->n[1] + c->n[2] - c->n[3], 1);
      assert_int_equal(r.count[MESH_CUT], g->cells);
      assert_int_equal(r.points, g->points);
      assert_int_equal(r.elements[3], g->cells);
      assert_int_equal(r.n[3], c->n[3]);
      /* every simplex lies in the element it is said to come from */
      for (int64_t i = 0; i < c->n[3]; i++) {
        int e = r.origin[3][i], start = e ? g->end[e - 1] : 0;
        for (int j = 0; j < 4; j++) {
          int hit = 0;
          for (int p = start; p < g->end[e]; p++) hit |= g->vert[p] == r.origin[0][c->vert[3][4 * i + j]];
          assert_true(hit);
        }
        assert_true(i == 0 || r.origin[3][i - 1] <= e);
      }
      mesh_report_free(&r);
      cx_free(c);
    }
  free(g);
}

/* Quads that label a side of the box label both of their triangles, whichever way they are cut. */
static void quads_label_sides(void **state) {
  (void)state;
  grid *g = malloc(sizeof *g);
  make_box(g, 0, 7);
  int found[4], cells = g->cells;
  for (int e = 0; e < cells; e++) {
    const int *h = g->vert + (e ? g->end[e - 1] : 0);
    int n = 0;
    for (int v = 0; v < 8; v++)
      if (g->x[h[v]][0] == 0) found[n++] = h[v];
    if (n == 4)
      add_cell(g, 9, 3, 4, (int[]){found[0], found[1], found[3], found[2]}); /* 0, 3, 4, 7 of the hexahedron */
  }
  add_cell(g, 5, 4, 3, (int[]){0, 0, 1}); /* a bad label element */
  add_cell(g, 5, 4, 3, (int[]){0, 1, 2}); /* one that is no face, as a rule */
  mesh_report r;
  cx *c = read_grid(g, NULL, &r);
  int64_t labelled = 0;
  for (int64_t i = 0; i < c->n[2]; i++) {
    int side = 1;
    for (int j = 0; j < 3; j++) side &= c->x[3 * c->vert[2][3 * i + j]] == 0;
    assert_int_equal(strcmp(c->label_name[c->label[2][i]], "surface 3") == 0, side);
    labelled += side;
  }
  assert_int_equal(labelled, 2 * NY * NZ);
  assert_int_equal(r.count[MESH_COLLAPSED], 1);
  assert_int_equal(r.count[MESH_LOOSE], 1);
  mesh_report_free(&r);
  cx_free(c);
  free(g);
}

/* Cells that share no points are dust until they are merged; then the mesh is the one of shared points. */
static void dust_is_merged(void **state) {
  (void)state;
  grid *g = malloc(sizeof *g), *dust = malloc(sizeof *dust);
  make_box(g, 0, 3);
  *dust = (grid){0};
  for (int e = 0; e < g->cells; e++) {
    int v[8];
    for (int i = 0; i < 8; i++) {
      const double *p = g->x[g->vert[8 * e + i]];
      v[i] = add_point(dust, p[0], p[1], p[2] + 1e-9 * ((e + i) % 3));
    }
    add_cell(dust, 12, 0, 8, v);
  }
  mesh_report r;
  cx *c = read_grid(dust, NULL, &r);
  assert_int_equal(quality_of(c).components, NX * NY * NZ);
  assert_true(r.count[MESH_COINCIDENT] > 0 && r.count[MESH_MERGED] == 0);
  cx_free(c);
  mesh_report_free(&r);
  c = read_grid(dust, &(mesh_options){.merge = 1, .tolerance = 1e-6}, &r);
  cx_quality q = quality_of(c);
  assert_int_equal(q.components, 1);
  assert_int_equal(c->n[0], g->points);
  assert_int_equal(q.boundary_faces, 4 * (NX * NY + NX * NZ + NY * NZ));
  assert_true(fabs(q.total - NX * NY * NZ) < 1e-6);
  assert_int_equal(r.count[MESH_MERGED], dust->points - g->points);
  assert_int_equal(r.count[MESH_UNUSED], 0);
  for (int64_t i = 1; i < c->n[0]; i++) assert_true(r.origin[0][i] > r.origin[0][i - 1]);
  cx_free(c);
  mesh_report_free(&r);
  free(g);
  free(dust);
}

#define SQUARE "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"

static void merging_by_distance(void **state) {
  (void)state;
  static const char text[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0 -0.001\nv -0 1 0\nv 1 1 0\nf 1 2 3\nf 4 6 5\n";
  mesh_report r;
  cx *c = read_text("obj", text, &(mesh_options){.merge = 1}, &r);
  assert_int_equal(c->n[0], 5); /* -0 is 0 */
  cx_free(c);
  mesh_report_free(&r);
  c = read_text("obj", text, &(mesh_options){.merge = 1, .tolerance = 0.0011}, &r);
  assert_int_equal(c->n[0], 4);
  assert_int_equal(c->n[1], 5);
  assert_true(r.origin[0][1] == 1 && r.origin[0][3] == 5);
  cx_free(c);
  mesh_report_free(&r);
  assert_int_equal(mesh_read_memory(&c, text, strlen(text), "obj", "t", &(mesh_options){0, 1, 3}, NULL), DKHO_E_FORMAT);
  assert_non_null(strstr(dkho_error(), "no element with any extent is left"));
  assert_int_equal(mesh_read_memory(&c, text, strlen(text), "obj", "t", &(mesh_options){0, 1, 1e-300}, NULL),
                   DKHO_E_INPUT);
  assert_non_null(strstr(dkho_error(), "too small"));
  assert_int_equal(mesh_read_memory(&c, text, strlen(text), "obj", "t", &(mesh_options){0, 1, NAN}, NULL),
                   DKHO_E_INPUT);
}

/* Polygons: area and boundary stay, whatever the corner with the smallest number. */
static void polygons(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double area;
    int triangles, boundary;
  } list[] = {
      {SQUARE "f 1 2 3 4\n", 1, 2, 4},
      {SQUARE "f 3 4 1 2\n", 1, 2, 4},
      {SQUARE "f 4 3 2 1\n", 1, 2, 4},
      /* a dart: the fan from its first corner would fold */
      {"v 0 1 0\nv -1 -1 0\nv 0 0 0\nv 1 -1 0\nf 1 2 3 4\n", 1, 2, 4},
      {"v -1 -1 0\nv 0 0 0\nv 1 -1 0\nv 0 1 0\nf 1 2 3 4\n", 1, 2, 4},
      /* an L, and an L in space */
      {"v 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 0\nf 1 2 3 4 5 6\n", 3, 4, 6},
      {"v 2 0 2\nv 2 1 2\nv 1 1 1\nv 1 2 1\nv 0 2 0\nv 0 0 0\nf 1 2 3 4 5 6\n", 3 * 1.4142135623730951, 4, 6},
      /* a corner in the middle of a side: the fan from it is fine, from its neighbour it is flat */
      {"v 0.5 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 0\nf 1 2 3 4 5\n", 1, 3, 5},
      {"v 0 0 0\nv 0.5 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4 5\n", 1, 3, 5},
      {"v 0 0 0\nv 0.5 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 4\n", 0.5, 2, 4},
      /* a quad with a corner twice is a triangle; a face of two corners is none */
      {SQUARE "f 1 2 3 3\nf 1 3 4 1\nf 1 2\n", 1, 2, 4},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    cx *c = read_text("obj", list[i].text, NULL, NULL);
    cx_quality q = quality_of(c);
    if (fabs(q.total - list[i].area) > 1e-14 || c->n[2] != list[i].triangles || q.boundary_faces != list[i].boundary)
      fail_msg("%s: area %.17g, %lld triangles, %lld boundary edges", list[i].text, q.total, (long long)c->n[2],
               (long long)q.boundary_faces);
    cx_free(c);
  }
}

/* A closed surface of quads by Gmsh, and one of second order: the corner mesh of the same geometry. */
static void gmsh_quads_and_orders(void **state) {
  (void)state;
  mesh_report r;
  cx *c, *flat;
  assert_int_equal(mesh_read(&c, DATA "quads_41_ascii.msh", NULL, &r), DKHO_OK);
  assert_true(fabs(quality_of(c).total - 1) < 1e-12);
  assert_int_equal(c->n[2], 2 * r.elements[2]);
  cx_free(c);
  mesh_report_free(&r);
  assert_int_equal(mesh_read(&c, DATA "order2_22_ascii.msh", NULL, &r), DKHO_OK);
  assert_int_equal(mesh_read(&flat, DATA "annulus_22_ascii.msh", NULL, NULL), DKHO_OK);
  assert_int_equal(r.count[MESH_HIGH_ORDER], r.elements[1] + r.elements[2]);
  assert_int_equal(r.count[MESH_UNUSED], r.points - c->n[0]);
  for (int k = 0; k < 3; k++) assert_int_equal(c->n[k], flat->n[k]);
  assert_true(fabs(quality_of(c).total - quality_of(flat).total) < 1e-12);
  cx_free(c);
  cx_free(flat);
  mesh_report_free(&r);
}

/* An element without extent refuses the file by name; with repair it goes, and the map knows. A vertex twice never refuses. */
static void flat_elements(void **state) {
  (void)state;
  static const char text[] = SQUARE "v 2 0 0\nf 1 1 2\nf 1 2 3\nf 1 2 5\nf 1 3 4\nf 3 1 2\n";
  mesh_report r;
  cx *c;
  assert_int_equal(mesh_read_memory(&c, text, strlen(text), "obj", "t", NULL, &r), DKHO_E_FORMAT);
  assert_string_equal(dkho_error(),
                      "t: triangle 2 of the file has no extent (counting from 0); --repair drops such elements");
  assert_null(r.origin[0]);
  c = read_text("obj", text, &(mesh_options){.repair = 1}, &r);
  assert_int_equal(c->n[2], 2);
  assert_int_equal(r.count[MESH_FLAT], 1);
  assert_int_equal(r.count[MESH_COLLAPSED], 1);
  assert_int_equal(r.count[MESH_REPEATED], 1);
  assert_int_equal(r.count[MESH_UNUSED], 1);
  assert_true(r.origin[2][0] == 1 && r.origin[2][1] == 3);
  cx_free(c);
  mesh_report_free(&r);
}

static void bad_labels_are_dropped(void **state) {
  (void)state;
  mesh_report r;
  cx *c = read_text("obj", SQUARE "f 1 2 3\nf 1 3 4\nl 1 9\nl 1 2\n", NULL, &r);
  assert_int_equal(r.count[MESH_BAD_LABEL], 1);
  assert_int_equal(c->n[2], 2);
  cx_free(c);
  mesh_report_free(&r);
}

/* Every cell type of VTK that is a part of the unit cube in its own way: volume or area is known. */
static void vtk_types(void **state) {
  (void)state;
  static const double x[12][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0},  {0, 1, 0},    {0, 0, 1}, {1, 0, 1},
                                  {1, 1, 1}, {0, 1, 1}, {.5, 0, 0}, {.5, .5, .5}, {2, 0, 0}, {2, 1, 0}};
  static const struct {
    int type, n, v[12];
    double total;
  } list[] = {
      {4, 3, {0, 1, 2}, 2},
      {5, 3, {0, 1, 2}, 0.5},
      {6, 4, {0, 1, 3, 2}, 1},
      {7, 4, {0, 1, 2, 3}, 1},
      {8, 4, {0, 1, 3, 2}, 1},
      {9, 4, {0, 1, 2, 3}, 1},
      {10, 4, {0, 1, 3, 4}, 1. / 6},
      {11, 8, {0, 1, 3, 2, 4, 5, 7, 6}, 1},
      {12, 8, {0, 1, 2, 3, 4, 5, 6, 7}, 1},
      {13, 6, {0, 1, 3, 4, 5, 7}, 0.5},
      {14, 5, {0, 1, 2, 3, 4}, 1. / 3},
      {21, 3, {0, 1, 8}, 1},
      {22, 6, {0, 1, 2, 8, 8, 8}, 0.5},
      {36, 8, {0, 1, 2, 3, 8, 8, 8, 8}, 1},
      {24, 10, {0, 1, 3, 4, 8, 8, 8, 8, 8, 8}, 1. / 6},
      {70, 9, {0, 1, 2, 3, 8, 8, 8, 8, 9}, 1},
      /* a hexahedron with two corners in one place is a prism */
      {12, 8, {0, 1, 2, 3, 4, 5, 5, 4}, 0.5},
  };
  grid *g = malloc(sizeof *g);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    *g = (grid){0};
    for (int p = 0; p < 12; p++) add_point(g, x[p][0], x[p][1], x[p][2]);
    add_cell(g, list[i].type, 0, list[i].n, list[i].v);
    cx *c = read_grid(g, NULL, NULL);
    if (fabs(quality_of(c).total - list[i].total) > 1e-14)
      fail_msg("type %d: %.17g", list[i].type, quality_of(c).total);
    cx_free(c);
  }
  free(g);
}

/* Gmsh's old and odd spellings are one mesh. */
static void gmsh_versions(void **state) {
  (void)state;
#define BODY                                                                                                           \
  "$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n$EndNodes\n$Elements\n2\n1 2 2 7 1 1 2 3\n2 1 2 7 1 1 2\n$EndElements\n"
#define MSH(version, names) "$MeshFormat\n" version " 0 8\n$EndMeshFormat\n" names BODY
#define NAMES(lines) "$PhysicalNames\n1\n" lines "\n$EndPhysicalNames\n"
  static const char *const list[] = {
      MSH("2", NAMES("7 \"fluid\"")),
      MSH("2.0", NAMES("7 fluid")),
      MSH("2.1", NAMES("2 7 \"fluid\"")),
      MSH("2.2", NAMES("2 7 fluid")),
      MSH("2.200000", NAMES("  2 7 \"fluid\"  ")),
      MSH("2.2", NAMES("2 7 \"fluid\"\r")),
      "$MeshFormat\n4.0 0 8\n$EndMeshFormat\n" NAMES(
          "2 7 \"fluid\"") "$Entities\n1 0 1 0\n5 0 0 0 0 0 0 0\n"
                           "9 0 0 0 1 1 0 1 7 0\n$EndEntities\n$Nodes\n1 3\n9 2 0 3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n$EndNodes\n"
                           "$Elements\n1 1\n9 2 2 1\n1 1 2 3\n$EndElements\n",
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    cx *c = read_text("msh", list[i], NULL, NULL);
    assert_int_equal(c->n[2], 1);
    if (strcmp(c->label_name[c->label[2][0]], "fluid") != 0) fail_msg("%s: %s", list[i], c->label_name[c->label[2][0]]);
    cx_free(c);
  }
}

/* Every allocation in turn fails while elements are cut and points merged. */
static void starved(void **state) {
  (void)state;
  static const char text[] = SQUARE "v 1 1 0\nv 2 1 0\nv 2 2 0\nv 1 2 0\nf 1 2 3 4\nf 5 6 7 8\nl 1 2\n";
  size_t live = mem_live_blocks();
  for (int64_t n = 1;; n++) {
    cx *c;
    mesh_report r;
    mem_fail_at(n);
    dkho_status s = mesh_read_memory(&c, text, strlen(text), "obj", "t", &(mesh_options){1, 1, 1e-3}, &r);
    mem_fail_at(0);
    cx_free(c);
    mesh_report_free(&r);
    assert_int_equal(mem_live_blocks(), live);
    if (s == DKHO_OK) {
      assert_true(n > 20);
      break;
    }
    assert_int_equal(s, DKHO_E_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(solids_conform), cmocka_unit_test(quads_label_sides),
                                     cmocka_unit_test(dust_is_merged), cmocka_unit_test(merging_by_distance),
                                     cmocka_unit_test(polygons),       cmocka_unit_test(gmsh_quads_and_orders),
                                     cmocka_unit_test(flat_elements),  cmocka_unit_test(bad_labels_are_dropped),
                                     cmocka_unit_test(vtk_types),      cmocka_unit_test(gmsh_versions),
                                     cmocka_unit_test(starved)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
