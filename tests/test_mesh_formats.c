/* test_mesh_formats.c: .stl, .ply, .vtk, .vtp, .mesh, .inp, .su2, .node/.ele and Gmsh 4.0: files of the formats' own tools agree with those of
 * Gmsh; spellings; malformed files. */
#include "mesh_files.h"

/* One mesh by many tools: one complex. The labels differ in what the formats can say. */
static void formats_agree(void **state) {
  (void)state;
  static const struct {
    const char *as, *same[14];
    double tolerance;
  } list[] = {
      {"torus_41_ascii.msh",
       {"torus_ascii.ply", "torus_bin.ply", "torus_big.ply", "torus_poly_42.vtk", "torus_poly_51.vtk", "torus_zlib.vtp",
        "torus_ascii.vtp"},
       1e-6},
      {"shell_41_ascii.msh",
       {"shell_51_ascii.vtk", "shell_51_bin.vtk", "shell_42_bin.vtk", "shell_meshio.vtk", "shell.inp", "shell.node",
        "shell.ele"},
       1e-6},
      {"annulus_22_ascii.msh",
       {"annulus_1.msh", "annulus_40_ascii.msh", "annulus_40_bin.msh", "annulus.mesh", "annulus_gmsh.mesh",
        "annulus.su2", "annulus.inp"},
       1e-6},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    char path[512];
    snprintf(path, sizeof path, DATA "%s", list[i].as);
    cx *a = load(path);
    for (int j = 0; list[i].same[j]; j++) {
      snprintf(path, sizeof path, DATA "%s", list[i].same[j]);
      cx *b = load(path);
      if (b->n[0] != a->n[0] || b->n[a->dim] != a->n[a->dim]) fail_msg("%s differs", path);
      assert_same(a, b, list[i].tolerance, 0);
      cx_free(b);
    }
    cx_free(a);
  }
}

/* A mesh in two parts is one mesh, with the labels of the whole. */
static void partitions(void **state) {
  (void)state;
  static const char *const list[] = {DATA "annulus_41_parts.msh", DATA "annulus_41_parts_bin.msh"};
  cx *whole = load(DATA "annulus_41_ascii.msh");
  for (size_t i = 0; i < 2; i++) {
    cx *c = load(list[i]);
    for (int k = 0; k < 3; k++) assert_int_equal(c->n[k], whole->n[k]);
    for (int l = 1; l < whole->labels; l++) {
      int64_t here = 0, there = 0;
      for (int64_t e = 0; e < c->n[1]; e++) {
        here += strcmp(c->label_name[label_at(c, 1, e)], whole->label_name[l]) == 0;
        there += label_at(whole, 1, e) == l;
      }
      assert_int_equal(here, there);
    }
    cx_free(c);
  }
  cx_free(whole);
}

/* Hexahedra and prisms: corners may be listed in another order, so the tetrahedra may be too; but they are the same ones. */
static void solids_agree(void **state) {
  (void)state;
  static const char *const same[] = {DATA "box.mesh", DATA "box.su2", DATA "box.inp", DATA "box.vtk"};
  cx *a = load(DATA "box.msh");
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    cx *b = load(same[i]);
    for (int k = 0; k < 4; k++) assert_int_equal(a->n[k], b->n[k]);
    for (int k = 1; k < 3; k++)
      assert_memory_equal(a->vert[k], b->vert[k], (size_t)(a->n[k] * (k + 1)) * sizeof(int32_t));
    for (int64_t t = 0; t < a->n[3]; t++) {
      int32_t v[4], hit = 0;
      memcpy(v, a->vert[3] + 4 * t, sizeof v);
      for (int64_t o = 0; o < b->n[3]; o++) {
        int shared = 0;
        for (int p = 0; p < 16; p++) shared += v[p / 4] == b->vert[3][4 * o + p % 4];
        hit += shared == 4;
      }
      assert_int_equal(hit, 1);
    }
    cx_free(b);
  }
  cx_free(a);
}

/* Triangles that share no points become the surface they are: numbered by first appearance, in single precision. */
static void stl_is_merged(void **state) {
  (void)state;
  static const char *const list[][2] = {
      {"torus_bin.stl", "torus.off"}, {"torus_vtk.stl", "torus.off"}, {"annulus_ascii.stl", "annulus_22_ascii.msh"}};
  for (size_t i = 0; i < 3; i++) {
    char path[512];
    mesh_report r;
    cx *c, *whole;
    snprintf(path, sizeof path, DATA "%s", list[i][0]);
    assert_int_equal(mesh_read(&c, path, NULL, &r), DKHO_OK);
    snprintf(path, sizeof path, DATA "%s", list[i][1]);
    whole = load(path);
    cx_quality p, q;
    assert_int_equal(cx_measure(c, &p), DKHO_OK);
    assert_int_equal(cx_measure(whole, &q), DKHO_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(c->n[k], whole->n[k]);
    assert_true(p.boundary_faces == q.boundary_faces && p.oriented && p.components == 1);
    assert_true(fabs(p.total - q.total) < 1e-5 * q.total);
    assert_int_equal(r.count[MESH_MERGED], 3 * c->n[2] - c->n[0]);
    assert_int_equal(r.count[MESH_UNUSED], 0);
    for (int64_t t = 0; t < c->n[2]; t++) assert_int_equal(r.origin[2][t], t);
    mesh_report_free(&r);
    cx_free(c);
    cx_free(whole);
  }
}

static const char *label_of(const cx *c, int k, int64_t i) {
  return c->label_name[label_at(c, k, i)];
}

static int has_label(const cx *c, const char *name) {
  for (int i = 0; i < c->labels; i++)
    if (strcmp(c->label_name[i], name) == 0) return 1;
  return 0;
}

static void labels_of_formats(void **state) {
  (void)state;
  cx *c = load(DATA "annulus.su2");
  for (int64_t i = 0; i < c->n[1]; i++) {
    const double *x = c->x + 2 * c->vert[1][2 * i];
    assert_string_equal(label_of(c, 1, i), !c->on_boundary[1][i]     ? "interior"
                                           : hypot(x[0], x[1]) > 0.7 ? "outer"
                                                                     : "inner");
  }
  cx_free(c);
  c = load(DATA "annulus.mesh");
  assert_true(has_label(c, "curve 10") && has_label(c, "curve 20") && has_label(c, "surface 5"));
  cx_free(c);
  c = load(DATA "box.vtk");
  assert_true(has_label(c, "surface 3") && has_label(c, "volume 1") && has_label(c, "volume 2"));
  cx_free(c);
  c = load(DATA "box.inp");
  assert_true(has_label(c, "Volume1") && has_label(c, "Surface2"));
  cx_free(c);
}

#define FACET(a, b, c) "facet normal 0 0 nan\nouter loop\nvertex " a "\nvertex " b "\nvertex " c "\nendloop\nendfacet\n"
#define ONE FACET("0 0 0", "1 0 0", "0 1 0")
#define PLY(format, rest) "ply\nformat " format " 1.0\n" rest
#define VTK(kind, rest) "# vtk DataFile Version 3.0\ntitle\n" kind "\n" rest
#define GRID "DATASET UNSTRUCTURED_GRID\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n"
#define MEDIT "MeshVersionFormatted 2\nDimension 2\n"
#define INP "*NODE\n1, 0, 0\n2, 1, 0\n3, 0, 1\n4, 1, 1\n"
#define SU2 "NDIME= 2\nNPOIN= 4\n0 0 0\n1 0 1\n0 1 2\n1 1 3\n"

/* Each a triangle, or two of them that share an edge. */
static void spellings(void **state) {
  (void)state;
  static const struct {
    const char *format, *text;
    int triangles;
    const char *label; /* of the last triangle */
  } list[] = {
      {"stl", "solid\n" ONE "endsolid\n", 1, NULL},
      {"stl",
       "SOLID a b\r\n FACET NORMAL 0 0 1 OUTER LOOP VERTEX 0 0 0 VERTEX 1 0 0 VERTEX 0 1 0 ENDLOOP ENDFACET ENDSOLID a b",
       1, NULL},
      {"stl", "solid one\n" ONE "endsolid one\nsolid the other\n" FACET("1 0 0", "1 1 0", "0 1 0") "endsolid\n", 2,
       "the other"},
      {"ply",
       PLY("ascii",
           "comment x\nobj_info y\nelement vertex 4\nproperty float x\nproperty float y\nproperty uchar red\n"
           "element face 2\nproperty uchar flags\nproperty list uchar int vertex_index\nproperty list uchar float uv\n"
           "element edge 1\nproperty int vertex1\nproperty int vertex2\nelement nothing 1000000000\nend_header\n"
           "0 0 9\n1 0 9\n0 1 9\n1 1 9\n7 3 0 1 2 2 0.5 .5\n7 3 1 3 2 0\n0 1\n"),
       2, NULL},
      {"ply",
       PLY("ascii",
           "element vertex 4\r\nproperty double x\r\nproperty double y\r\nproperty double z\r\nelement face 1\r\n"
           "property list uint8 uint32 vertex_indices\r\nend_header\r\n0 0 0\r\n1 0 0\r\n1 1 0\r\n0 1 0\r\n4 0 1 2 3\r\n"),
       2, NULL},
      {"vtk", VTK("ASCII", GRID "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\n"), 1, NULL},
      {"vtk",
       VTK("ascii",
           "dataset unstructured_grid\npoints 3 double\n0 0 0 1 0 0 0 1 0\n\nMETADATA\nINFORMATION 0\n\ncells 1 4\n3 0 1 2\n"
           "cell_types 1\n5\nPOINT_DATA 3\nSCALARS t float\nLOOKUP_TABLE default\n1 2 3\nCELL_DATA 1\nFIELD f 2\n"
           "x 2 1 float\n1 2\nlabel 1 1 int\n7\nVECTORS v float\n1 2 3\n"),
       1, "surface 7"},
      {"vtk",
       VTK("ASCII",
           "DATASET POLYDATA\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 1 1 0\nLINES 1 3\n2 0 1\nTRIANGLE_STRIPS 1 5\n4 0 1 2 3\n"),
       2, NULL},
      {"mesh",
       "# c\nMeshVersionFormatted\n1\n\nDimension # d\n3\nVertices\n3\n0 0 0 0\n1 0 0 0 # e\n0 1 0 0\nCorners\n2\n1 2\nRequiredVertices 1 2\n"
       "Triangles 1\n1 2 3 -8\nNormals 1 0 0 1\nEnd\nrubbish",
       1, "surface 8"},
      {"mesh", MEDIT "Vertices 4 0 0 1 1 0 1 0 1 1 1 1 1 Quadrilaterals 1 1 2 4 3 5", 2, "surface 5"},
      {"inp",
       "** c\n*heading\nsome text\n*Node, nset=all\n 10, 0., 0., 0.\n20, 1.\n30, 0., 1., 0.\n** c\n*Element, type=CPS3, elset=Plate\n"
       "7, 10, 20,\n 30\n*material, name=x\n*elastic\n1, 2\n",
       1, "Plate"},
      {"inp",
       "*ELEMENT, TYPE=S4R\n5, 1, 2, 4, 3\n*ELEMENT, TYPE=SPRINGA\n9, 1, 2\n" INP
       "*ELSET, ELSET=a\n 9,\n*ELSET, ELSET=Range, GENERATE\n4, 9, 1\n",
       2, "Range"},
      {"inp", INP "*ELEMENT, TYPE=CPE6\n5, 1, 2, 3, 4, 4, 4\n*ELSET, ELSET=x\nall, 5\n", 1, "x"},
      {"su2", SU2 "NELEM=1\n5 0 1 2\nNMARK= 1\nMARKER_TAG= rim\nMARKER_ELEMS= 1\n3 0 1\nSEND_RECV= 0\n", 1, NULL},
      {"su2", "% c\nNDIME = 2 % d\nNELEM= 1\n9 0 1 3 2 0\nNPOIN= 4 4\n0 0 0\n1 0 1\n0 1 2\n1 1 3\nNMARK= 0\n", 2, NULL},
      {"su2", SU2 "NELEM= 1\n22 0 1 2 3 3 3 0\nNMARK= 1\nMARKER_TAG= rim\nMARKER_ELEMS= 1\n21 0 1 3\n", 1, NULL},
      {"msh", "$NOD\n3\n7 0 0 0\n8 1 0 0\n9 0 1 0\n$ENDNOD\n$ELM\n2\n1 1 3 1 2 7 8\n2 2 -4 1 3 7 8 9\n$ENDELM\n", 1,
       "surface 4"},
      {"ply",
       PLY("ascii", "element vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n"
                    "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n2 0 1\n3 0 1 2\n"),
       1, NULL},
      {"off", "OFF3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", 1, NULL},
      {"vtk",
       VTK("ASCII",
           GRID "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\nPOINT_DATA 3\nVECTORS v float\n0 0 0 0 0 0 0 0 0\nMETADATA\nx\n\n"
                "CELL_DATA 1\nFIELD f 1\nMETADATA\ny\n\nlabel 1 1 int\n3\nSCALARS s string\nwhat\n"),
       1, "surface 3"},
      {"inp",
       INP
       "*ELEMENT, TYPE=B31\n8, 1, 2\n*ELEMENT, TYPE=PIPE32\n9, 1, 2, 3\n*ELEMENT, TYPE=S3, ELSET=\"Bod\303\251 \342\202\254 \360\237\214\215\"\n5, 1, 2, 3\n",
       1, "Bod\303\251 \342\202\254 \360\237\214\215"},
      /* names that are not UTF-8, or hold control characters: those bytes become _ */
      {"inp", INP "*ELEMENT, TYPE=S3, ELSET=a\001\177\377b\303c\355\240\200\300\200\342\202\n5, 1, 2, 3\n", 1,
       "a___b_c_______"},
      {"inp", INP "*ELEMENT, TYPE=SAX1\n9, 1, 2\n*ELEMENT, TYPE=CIN3D8\n*ELEMENT, TYPE=S3\n5, 1, 2, 3\n", 1, NULL},
      {"node", "# c\n3 2 1 1\n1 0 0 5.5 1\n2 1 0 5.5 1\n3 0 1 5.5 1\n# d\n1 3 1\n1 1 2 3 4\n", 1, "surface 4"},
      {"node", "4 2 0 0\n0 0 0\n1 1 0\n2 0 1\n3 1 1\n2 3 0\n0 0 1 2\n1 1 3 2\n", 2, NULL},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    cx *c = load_text(list[i].format, list[i].text);
    if (c->n[2] != list[i].triangles) fail_msg("%s: %lld triangles", list[i].text, (long long)c->n[2]);
    const char *label = c->labels ? label_of(c, 2, c->n[2] - 1) : "none";
    if (list[i].label && strcmp(label, list[i].label) != 0) fail_msg("%s: label %s", list[i].text, label);
    cx_free(c);
  }
}

static const bad_file bad[] = {
    {"stl", "", "neither text that begins with \"solid\" nor binary"},
    {"stl", "hello", "neither text that begins with \"solid\" nor binary"},
    {"msh", "$NOD\n", "number of nodes"},
    {"msh", "$NOD\n1\n1 0 0 0\n$EndNodes\n", "found \"$EndNodes\", expected $ENDNOD"},
    {"msh", "$NOD\n2\n1 0 0 0\n2 1 0 0\n$ENDNOD\n$ELM\n1\n1 1 0 0 3 1 2 2\n$ENDELM\n",
     "nodes of an element: found 3, expected 2"},
    {"msh", "$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n2000000000\n1 1 0\n", "2000000000 declared, but only"},
    {"msh", "$ELM\n0\n$ENDELM\n", "expected $MeshFormat"},
    {"msh", "(0 \"x\")", "meshio convert --input-format ansys"},
    {"msh", "4 2 4\n0 0 1\n", "FreeFEM"},
    {"inp", "*NGEN\n1, 5\n", "*NGEN: nodes and elements must be listed"},
    {"stl", "solid", "the file ends, expected facet or endsolid"},
    {"stl", "solid\n" ONE, "the file ends, expected facet or endsolid"},
    {"stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0\nendloop",
     "vertex: found \"endloop\", expected a number"},
    {"stl", "solid\n" FACET("0 0 0", "1 0 0", "0 inf 0") "endsolid", "coordinate y is not finite"},
    {"stl", "solid\nendsolid\n", "no line, surface or solid element"},
    {"stl", "solid\n" FACET("0 0 0", "0 0 0", "0 1 0") "endsolid", "no element with any extent"},
    {"ply", "", "expected \"ply\" on the first line"},
    {"ply", "ply\nformat morse 1.0\n", "format: found \"morse\""},
    {"ply", "ply\nelement vertex 3\nend_header\n", "end_header before the format"},
    {"ply", PLY("ascii", "property float x\n"), "a property before any element"},
    {"ply", PLY("ascii", "element vertex -3\n"), "element: number: found -3"},
    {"ply", PLY("ascii", "element vertex 3\nproperty real x\n"), "type \"real\""},
    {"ply", PLY("ascii", "element face 3\nproperty list float int vertex_index\n"),
     "the length of a list is a floating-point"},
    {"ply", PLY("ascii", "element face 3\nproperty list int float vertex_index\n"), "corners are floating-point"},
    {"ply", PLY("ascii", "rubbish\n"), "found \"rubbish\", expected a line of a .ply header"},
    {"ply", PLY("ascii", "element vertex 3\nproperty float x\n"), "the file ends, expected end_header"},
    {"ply", PLY("ascii", "element vertex 2000000000\nproperty float x\nend_header\n0 0"),
     "2000000000 records declared, but only 3 bytes are left"},
    {"ply",
     PLY("ascii",
         "element vertex 1\nproperty float x\nelement face 1\nproperty list int int vertex_index\nend_header\n0\n99999999 0\n"),
     "length of a list: found 99999999"},
    {"ply",
     PLY("ascii",
         "element vertex 1\nproperty float x\nelement face 1\nproperty list int int vertex_index\nend_header\n0\n3 0 1 2\n"),
     "triangle 0: vertex 1, but there are 1 points"},
    {"ply", PLY("binary_little_endian", "element vertex 2\nproperty float x\nend_header\nabcdabc"),
     "bad: byte 85: property: 3 bytes left, expected 4"},
    {"vtk", "", "expected \"# vtk DataFile\""},
    {"vtk", VTK("MORSE", ""), "expected ASCII or BINARY"},
    {"vtk", VTK("ASCII", ""), "the file ends, expected DATASET"},
    {"vtk", VTK("ASCII", "DATASET STRUCTURED_GRID\n"),
     "DATASET STRUCTURED_GRID: only UNSTRUCTURED_GRID and POLYDATA are read; meshio convert"},
    {"vtk", VTK("ASCII", "DATASET UNSTRUCTURED_GRID\n"), "the file ends, expected POINTS"},
    {"vtk", VTK("ASCII", "DATASET POLYDATA\nPOINTS 2000000000 float\n0 0 0\n"), "POINTS: 6000000000 values declared"},
    {"vtk", VTK("ASCII", "DATASET POLYDATA\nPOINTS 1 quaternion\n0 0 0\n"), "data type \"quaternion\""},
    {"vtk", VTK("ASCII", GRID "CELLS 1 4\n9 0 1 2\n"), "cell 0: 9 corners declared with 3 values left"},
    {"vtk", VTK("ASCII", GRID "CELLS 1 4\n3 0 1 2\nCELL_TYPES 2\n5 5\n"), "2 cell types, expected 1"},
    {"vtk", VTK("ASCII", GRID "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n42\n"), "cell 0 has type 42 (polyhedron)"},
    {"vtk", VTK("ASCII", GRID "CELLS 1 4\n3 0 1 7\nCELL_TYPES 1\n5\n"), "triangle 0: vertex 7, but there are 3 points"},
    {"vtk", VTK("ASCII", GRID "CELLS 1 99999999\n3 0 1 2\n"), "cells: 99999999 values declared"},
    {"vtk",
     VTK("ASCII", GRID "CELLS 2 3\nOFFSETS vtktypeint64\n0 9\nCONNECTIVITY vtktypeint64\n0 1 2\nCELL_TYPES 1\n5\n"),
     "cell 0: corners 0 to 9 of 3"},
    {"vtk", VTK("ASCII", GRID "CELLS 2 3\nOFFSETS vtktypeint64\n1 3\nCONNECTIVITY vtktypeint64\n0 1 2\n"),
     "OFFSETS: begin with 1"},
    {"vtk", VTK("ASCII", GRID "WHAT 1\n"), "found \"WHAT\", expected a section"},
    {"vtk", VTK("ASCII", GRID GRID), "found \"DATASET\", expected a section"},
    {"vtu", "<VTKFile type='PolyData'><PolyData><Piece NumberOfPoints='3' NumberOfPolys='1'/></PolyData></VTKFile>",
     "piece 0: no array Points"},
    {"vtu",
     "<VTKFile type='PolyData'><PolyData><Piece NumberOfPoints='3' NumberOfPolys='9999999999'/></PolyData></VTKFile>",
     "9999999999 cells"},
    {"mesh", "", "the file is empty, expected MeshVersionFormatted"},
    {"mesh", "MFEM mesh v1.0\n", "an MFEM mesh"},
    {"mesh", "MeshVersionFormatted 9\n", "MeshVersionFormatted: found 9"},
    {"mesh", "MeshVersionFormatted 1\nVertices 1\n", "Vertices before Dimension"},
    {"mesh", MEDIT "Vertices 1 0 0 0 Vertices 1 0 0 0", "a second section Vertices"},
    {"mesh", MEDIT "Vertices 2 0 0 0", "coordinate: the data end here"},
    {"mesh", MEDIT "Vertices 3 0 0 0 1 0 0 0 1 0 Triangles 1 1 2 0 0", "vertex of an element: found 0, expected 1"},
    {"mesh", MEDIT "Vertices 3 0 0 0 1 0 0 0 1 0 Triangles 1 1 2 9 0", "triangle 0: vertex 8"},
    {"mesh", MEDIT "7 Vertices", "found \"7\", expected the name of a section"},
    {"mesh", MEDIT, "expected Vertices"},
    {"inp", "1 2 3\n", "meshio convert --input-format avsucd"},
    {"inp", "*INCLUDE, INPUT=x.inp\n", "*INCLUDE: other files are not read"},
    {"inp", "*PART, NAME=a\n*END PART\n*PART, NAME=b\n", "a second *PART"},
    {"inp", "*NODE\nx, 0, 0\n", "*NODE: found \"x\", expected the number of a node"},
    {"inp", "*NODE\n1, 0, zero\n", "found \"zero\", expected a coordinate"},
    {"inp", "*NODE\n1, 0, 1e999\n", "coordinate y is not finite"},
    {"inp", "*NODE\n1, 0\n2, 0\n1, 1\n", "node 1 is defined twice"},
    {"inp", INP "*ELEMENT, TYPE=X99\n", "type \"X99\" is not known"},
    {"inp", INP "*ELEMENT\n", "type \"\" is not known"},
    {"inp", INP "*ELEMENT, TYPE=S3\n1, 1, 2\n", "the data end within an element"},
    {"inp", INP "*ELEMENT, TYPE=S3\n1, 1, 2, 9\n", "names node 9, which is not among the nodes"},
    {"inp", INP "*ELEMENT, TYPE=S3\n1, 1, 2, x\n", "found \"x\", expected the number of a node"},
    {"inp", INP, "no line, surface or solid element"},
    {"su2", "", "the file ends, expected NELEM="},
    {"su2", "NDIME= 4\n", "NDIME: found 4"},
    {"su2", "NZONE= 2\n", "NZONE (one zone is read): found 2"},
    {"su2", "NPOIN= 1\n0 0\n", "NPOIN before NDIME"},
    {"su2", SU2 "NPOIN= 1\n0 0\n", "a second NPOIN"},
    {"su2", "NDIME= 2\nNPOIN= 2000000000\n0 0\n", "the file ends after 1 points, expected 2000000000"},
    {"su2", SU2 "NELEM= 1\n7 0 1 2\n", "element type: found 7, expected 1, 3"},
    {"su2", SU2 "NELEM= 2\n5 0 1 2\n", "the file ends after 1 elements, expected 2"},
    {"su2", SU2 "NELEM= 1\n5 0 1 9\n", "triangle 0: vertex 9"},
    {"su2", SU2 "rubbish\n", "expected KEY= VALUE"},
    {"node", "", "no points"},
    {"node", "0 2 0 0\n", "points in a .poly file are not read"},
    {"node", "2 5 0 0\n", "dimension: found 5"},
    {"node", "2 2 0 0\n1 0 0\n3 0 0\n", "number of a point: found 3, expected 2"},
    {"node", "2 2 0 0\n1 0 0\n", "the file ends after 1 points, expected 2"},
    {"node", "1 2 0 0\n1 0 0\n1 5 0\n", "nodes of an element: found 5, expected 3, 4, 6 or 10"},
    {"node", "1 2 0 0\n1 0 0\n1 3 0\n1 1 1 2\n", "node of an element: found 2, expected 1 to 1"},
    {"node", "1 2 0 0\n1 0 0\n2 3 0\n1 1 1 1\n", "the file ends after 1 elements, expected 2"},
};

static void malformed(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuse(&bad[i]);
}

static void truncated(void **state) {
  (void)state;
  static const char *const list[] = {
      "torus_bin.stl",        "annulus_ascii.stl", "torus_ascii.ply",  "torus_bin.ply",     "torus_big.ply",
      "torus_poly_42.vtk",    "torus_poly_51.vtk", "torus_zlib.vtp",   "torus_ascii.vtp",   "shell_51_ascii.vtk",
      "shell_51_bin.vtk",     "shell_42_bin.vtk",  "shell_meshio.vtk", "annulus_gmsh.mesh", "annulus.su2",
      "annulus_40_ascii.msh", "annulus_40_bin.msh"};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    check_truncated(list[i], strstr(list[i], ".vtk") || strstr(list[i], ".mesh") || strstr(list[i], ".su2"));
  check_truncated("box.inp", 1);
  check_truncated("shell.node", 0);
}

static void starved(void **state) {
  (void)state;
  static const char *const list[] = {"torus_bin.stl", "torus_big.ply", "torus_zlib.vtp", "shell_51_bin.vtk",
                                     "box.vtk",       "box.inp",       "box.mesh",       "annulus.su2",
                                     "shell.node",    "shell.ele"};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) check_starved(list[i]);
}

/* A binary file with bytes behind its facets, and one that begins like text. */
static void stl_tails(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = slurp("torus_bin.stl", &size), *longer = calloc(size + 9, 1);
  memcpy(longer, bytes, size);
  for (int text = 0; text < 2; text++) {
    cx *c;
    if (text) memcpy(longer, "solid of bytes", 14);
    assert_int_equal(mesh_read_memory(&c, longer, size + (text ? 0 : 9), "stl", "x", NULL, NULL), DKHO_OK);
    assert_int_equal(c->n[2], 214);
    cx_free(c);
  }
  free(bytes);
  free(longer);
}

/* More groups than labels: the file is read, the rest counted. */
static void many_groups(void **state) {
  (void)state;
  enum { N = 5000 };
  char *text = malloc(64 * N), *at = text;
  at += sprintf(at, MEDIT "Vertices %d\n0 0 0\n", N + 1);
  for (int i = 0; i < N; i++) at += sprintf(at, "1 %d 0\n", i);
  at += sprintf(at, "Triangles %d\n", N - 1);
  for (int i = 0; i < N - 1; i++) at += sprintf(at, "1 %d %d %d\n", i + 2, i + 3, i + 1);
  mesh_report r;
  cx *c;
  if (mesh_read_memory(&c, text, strlen(text), "mesh", "x", NULL, &r) != DKHO_OK) fail_msg("%s", dkho_error());
  assert_int_equal(r.count[MESH_GROUPS], N - 1 - (CX_LABELS_MAX - 1));
  assert_int_equal(c->labels, CX_LABELS_MAX);
  mesh_report_free(&r);
  cx_free(c);
  free(text);
}

/* What is not read is told how to convert; half of a pair is told what is missing. */
static void advice(void **state) {
  (void)state;
  static const char *const list[][2] = {{"a.step", "gmsh -3 FILE -o mesh.msh"},
                                        {"a.unv", "gmsh FILE -save"},
                                        {"a.xdmf", "meshio convert FILE mesh.vtu"},
                                        {"a.GLB", "assimp export FILE mesh.ply"},
                                        {"a.pvtu", "ParaView"},
                                        {"a.xyz", "meshio convert or gmsh -save"},
                                        {"a.node", "a.ele"},
                                        {"a", "expected .msh"}};
  char dir[64], path[128];
  cx *c;
  scratch_make(dir);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    FILE *f = fopen(scratch_path(path, dir, list[i][0]), "w");
    fputs("1 2 3\n", f);
    fclose(f);
    assert_true(mesh_read(&c, path, NULL, NULL) != DKHO_OK);
    if (!strstr(dkho_error(), list[i][1])) fail_msg("%s: %s", list[i][0], dkho_error());
    assert_non_null(strstr(dkho_error(), dir));
  }
  scratch_remove(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formats_agree), cmocka_unit_test(solids_agree),      cmocka_unit_test(partitions),
      cmocka_unit_test(stl_is_merged), cmocka_unit_test(labels_of_formats), cmocka_unit_test(spellings),
      cmocka_unit_test(malformed),     cmocka_unit_test(truncated),         cmocka_unit_test(starved),
      cmocka_unit_test(advice),        cmocka_unit_test(stl_tails),         cmocka_unit_test(many_groups)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
