/* test_meshio_bad.c: malformed mesh files. Each is refused with a message that names the file, the place and the fault;
 * nothing leaks, and memory stays in proportion to the file. */
#include "mesh_files.h"

#define MSH2 "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define MSH4 "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define NODES2 "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n$EndNodes\n"
#define NODES4 "$Nodes\n1 4 1 4\n2 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n$EndNodes\n"

static const bad_file gmsh[] = {
    {"msh", "", "bad: line 1: the file ends, expected $MeshFormat"},
    {"msh", "(0 \"Fluent\")", "a Fluent mesh: meshio convert"},
    {"msh", "$MeshFormat\n3 0 8\n$EndMeshFormat\n", "bad: line 1: format version 3: only 1, 2.x, 4.0 and 4.1 are read"},
    {"msh", "$MeshFormat\n2.2 2 8\n", "file type: found 2, expected 0 to 1"},
    {"msh", "$MeshFormat\n2.2 0 4\n", "data size: found 4"},
    {"msh", "$MeshFormat\n2.2 0 8\n$Nodes\n", "found \"$Nodes\", expected $EndMeshFormat"},
    {"msh", "$MeshFormat\n2.2 1 8\n\1", "bad: byte 20: byte order mark: 1 bytes left, expected 4"},
    {"msh", MSH2, "the file ends, expected $Nodes"},
    {"msh", MSH2 NODES2, "the file ends, expected $Elements"},
    {"msh", MSH2 "$Elements\n0\n$EndElements\n", "$Elements stands before $Nodes"},
    {"msh", MSH2 NODES2 NODES2, "a second section $Nodes"},
    {"msh", MSH2 "$Nodes\n-1\n", "number of nodes: found -1"},
    {"msh", MSH2 "$Nodes\n99999999999999999999\n", "found \"99999999999999999999\", expected a whole number"},
    {"msh", MSH2 "$Nodes\n2000000000\n1 0 0 0\n", "number of nodes: 2000000000 declared, but only 9 bytes are left"},
    {"msh", MSH2 "$Nodes\n1\n1 0 zero 0\n$EndNodes\n", "bad: line 6: node coordinate: found \"zero\""},
    {"msh", MSH2 "$Nodes\n1\n1 0 nan 0\n$EndNodes\n", "point 0: coordinate y is not finite"},
    {"msh", MSH2 "$Nodes\n1\n1 0 0 1e999\n$EndNodes\n", "point 0: coordinate z is not finite"},
    {"msh", MSH2 "$Nodes\n3\n1 0 0 0\n3 0 0 0\n1 0 0 0\n$EndNodes\n", "node 1 is defined twice"},
    {"msh", MSH2 "$Nodes\n1\n1 0 0 0\n1 0 0 0\n$EndNodes\n", "found \"1\", expected $EndNodes"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 3 0 1 2 4 5\n$EndElements\n", "node 5, which is not among the nodes"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 34 0 1 2 3 4\n", "element type 34: only points, lines"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 99 0 1 2 3\n", "node of an element: the data end here"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 2 0 1 2 5\n$EndElements\n", "node 5, which is not among the nodes"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 2 0 1 2 2\n$EndElements\n", "no element with any extent is left"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 1 2 1 1 3 3\n$EndElements\n", "no element with any extent is left"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 2 -1 1 2 3\n", "number of tags: found -1"},
    {"msh", MSH2 NODES2 "$Elements\n9\n1 2 0 1 2 3\n$EndElements\n", "number of elements: 9 declared"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 15 0 1\n$EndElements\n", "no line, surface or solid element in it"},
    {"msh", MSH2 NODES2 "$Elements\n0\n$EndElements\n", "no line, surface or solid element in it"},
    {"msh", MSH2 NODES2 "$Elements\n1\n1 2 0 1 2 3\n", "the file ends, expected $EndElements"},
    {"msh", MSH2 "$PhysicalNames\n1\nfluid\n$EndPhysicalNames\n", "tag of a physical name: found \"fluid\""},
    {"msh", MSH2 "$PhysicalNames\n1\n4 1 \"fluid\"\n", "dimension of a physical name: found 4"},
    {"msh", MSH2 "$Comments\nnever closed\n", "the file ends, expected $EndComments"},
    {"msh", MSH2 "stray", "found \"stray\", expected the start of a section"},
    {"msh", MSH4 "$PartitionedEntities\n2\n9999999999\n", "number of ghost entities: 9999999999 declared"},
    {"msh", MSH4 "$Entities\n1 0 0 9000000000000000000\n1 0 0 0 0\n",
     "number of entities: 9000000000000000000 declared"},
    {"msh", MSH4 "$Entities\n1 0 0 0\n1 0 0 0 888888888888 1\n", "number of physical tags: 888888888888 declared"},
    {"msh", MSH4 "$Nodes\n1 4 1 4\n2 1 0 5\n1 2 3 4 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
     "nodes in the block: found 5, expected 0 to 4"},
    {"msh", MSH4 "$Nodes\n1 4 1 4\n2 1 2 4\n1 2 3 4 0 0 0 0 0 0 0 0 0 0 0 0\n", "parametric: found 2"},
    {"msh", MSH4 "$Nodes\n1 2 1 2\n2 1 0 1\n1\n0 0 0\n$EndNodes\n", "1 nodes fewer than declared"},
    {"msh", MSH4 "$Nodes\n1 2000000000 1 2\n2 1 0 1\n1\n0 0 0\n", "number of nodes: 2000000000 declared"},
    {"msh", MSH4 NODES4 "$Elements\n1 1 1 1\n2 1 35 1\n1 1 2 4 3\n", "element type 35: only points"},
    {"msh", MSH4 NODES4 "$Elements\n1 2 1 2\n2 1 2 1\n1 1 2 3\n$EndElements\n", "1 elements fewer than declared"},
    {"msh", MSH4 NODES4 "$Elements\n1 1 1 1\n2 1 2 1\n1 1 2 77\n", "node 77, which is not among the nodes"},
    {"msh", MSH4 NODES4 "$Elements\n1 1 1 1\n4 1 2 1\n1 1 2 3\n", "entity dimension of an element block: found 4"},
};

static const bad_file text[] = {
    {"obj", "v 0 0\n", "bad: line 1: coordinate: the data end here"},
    {"obj", "v 0 0 inf\n", "coordinate z is not finite"},
    {"obj", "v 0 0 0\nf 1 2 3\n", "bad: triangle 0: vertex 1, but there are 1 points"},
    {"obj", "v 0 0 0\nf 0 1 1\n", "bad: line 2: vertex: found \"0\""},
    {"obj", "v 0 0 0\nf -2 1 1\n", "vertex: found -2 with 1 points so far"},
    {"obj", "v 0 0 0\nf 1 1\n", "no element with any extent is left"},
    {"obj", "v 0 0 0\nf 1 2 3 4\n", "bad: element 0: vertex 1, but there are 1 points"},
    {"obj", "v 0 0 0\nf 99999999999 2 3\n", "found \"99999999999\""},
    {"obj", "v 0 0 0\nf a/b/c 2 3\n", "found \"a/b/c\""},
    {"obj", "v 0 0 0\nl\n", "a line without vertices"},
    {"obj", "v 0 0 0\ncurv 0 1 1 2\n", "found \"curv\""},
    {"obj", "v 0 0 0\n", "no line, surface or solid element"},
    {"obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "bad: triangle 0 of the file has no extent"},
    {"obj", "<html>", "found \"<html>\""},
    {"off", "", "the file is empty, expected OFF"},
    {"off", "OFX\n", "found \"OFX\", expected OFF"},
    {"off", "XOFF\n", "found \"XOFF\", expected OFF"},
    {"off", "4OFF\n", "expected points with three coordinates"},
    {"off", "OFF BINARY\n", "binary OFF is not supported"},
    {"off", "OFF\n", "the file ends before the counts"},
    {"off", "OFF\n-3 1 0\n", "number of points: found -3"},
    {"off", "OFF\n2000000000 1 0\n0 0 0\n", "the file ends after 1 points, expected 2000000000"},
    {"off", "OFF\n1 1 0\n0 0 0\n", "the file ends after 0 faces, expected 1"},
    {"off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "bad: line 6: vertex of the face: found 3, expected 0 to 2"},
    {"off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n9 0 1 2\n", "a face of 9 vertices, but they are not on its line"},
    {"off", "OFF\n1 0 0\n0 0 1.2.3\n", "found \"1.2.3\", expected a number"},
};

#define GRID(inside) "<VTKFile type='UnstructuredGrid'><UnstructuredGrid>" inside "</UnstructuredGrid></VTKFile>"
#define ARRAY(type, name, rest, values) "<DataArray type='" type "' Name='" name "' " rest ">" values "</DataArray>"
#define PIECE(x, connectivity, offsets, types)                                                                         \
  GRID("<Piece NumberOfPoints='3' NumberOfCells='1'><Points>" x "</Points><Cells>" connectivity offsets types          \
       "</Cells></Piece>")
#define X ARRAY("Float64", "Points", "NumberOfComponents='3'", "0 0 0 1 0 0 0 1 0")
#define CON ARRAY("Int32", "connectivity", "", "0 1 2")
#define OFS ARRAY("Int32", "offsets", "", "3")
#define TYP ARRAY("UInt8", "types", "", "5")
#define POLYHEDRON(faces, ends)                                                                                        \
  ARRAY("UInt8", "types", "", "42") ARRAY("Int32", "faces", "", faces) ARRAY("Int32", "faceoffsets", "", ends)
#define COMPRESSED(order, base64)                                                                                      \
  "<VTKFile type='UnstructuredGrid' byte_order='" order "' compressor='vtkZLibDataCompressor'><UnstructuredGrid>"      \
  "<Piece NumberOfPoints='3' NumberOfCells='1'><Points>" ARRAY("Float64", "Points",                                    \
                                                               "NumberOfComponents='3' format='binary'",               \
                                                               base64) "</Points><Cells>" CON OFS TYP                  \
                                                                       "</Cells></Piece></UnstructuredGrid></VTKFile>"
#define ALLOTTED(compressor, points, cells, array, rest, data)                                                         \
  "<VTKFile type='UnstructuredGrid' byte_order='LittleEndian' " compressor "><UnstructuredGrid><Piece "                \
  "NumberOfPoints='" points "' NumberOfCells='" cells "'><Points>" array "</Points><Cells>" rest                       \
  "</Cells></Piece></UnstructuredGrid><AppendedData encoding='base64'>_" data "</AppendedData></VTKFile>"
#define ZEROS "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" /* 36 bytes */

static const bad_file vtu[] = {
    {"vtu", "", "expected <VTKFile>"},
    {"vtu", "<html></html>", "found <html>, expected <VTKFile>"},
    {"vtu", "<VTKFile type='ImageData'/>", "found \"ImageData\", expected UnstructuredGrid or PolyData"},
    {"vtu", "<VTKFile type='UnstructuredGrid' byte_order='Middle'/>", "byte_order: found \"Middle\""},
    {"vtu", "<VTKFile type='UnstructuredGrid' header_type='Int8'/>", "header_type: found \"Int8\""},
    {"vtu", "<VTKFile type='UnstructuredGrid' compressor='vtkLZ4DataCompressor'/>", "found \"vtkLZ4DataCompressor\""},
    {"vtu", "<VTKFile type='UnstructuredGrid'></VTKFile>", "no <Piece>"},
    {"vtu", "<VTKFile type='UnstructuredGrid'>", "the file ends, expected </VTKFile>"},
    {"vtu", "<VTKFile type='UnstructuredGrid'></Other>", "found </Other>, expected </VTKFile>"},
    {"vtu", "<VTKFile type='UnstructuredGrid></VTKFile>", "attribute type: the quote is not closed"},
    {"vtu", "<VTKFile type=UnstructuredGrid></VTKFile>", "attribute type: expected a quote"},
    {"vtu", "<VTKFile type></VTKFile>", "attribute type: expected ="},
    {"vtu", "<!DOCTYPE x [<!ENTITY a 'aaaa'>]><VTKFile/>", "document types and CDATA are not supported"},
    {"vtu", "<!-- open <VTKFile/>", "a comment has no end"},
    {"vtu", "<VTKFile type='UnstructuredGrid'><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>",
     "more than 16 deep"},
    {"vtu", GRID("<Piece NumberOfPoints='3'/>"), "<Piece>: no attribute NumberOfCells"},
    {"vtu", GRID("<Piece NumberOfPoints='x' NumberOfCells='1'/>"), "NumberOfPoints: found \"x\""},
    {"vtu", GRID("<Piece NumberOfPoints='-1' NumberOfCells='1'/>"), "NumberOfPoints: found \"-1\""},
    {"vtu", GRID("<Piece NumberOfPoints='9999999999' NumberOfCells='1'/>"), "9999999999 points and 1 cells"},
    {"vtu", GRID("<Piece NumberOfPoints='3' NumberOfCells='1'/>"), "bad: piece 0: no array Points"},
    {"vtu", PIECE(X, CON, OFS, ""), "bad: piece 0: no array types"},
    {"vtu", PIECE(X X, CON, OFS, TYP), "a second array for the same thing"},
    {"vtu", PIECE(ARRAY("Float64", "Points", "NumberOfComponents='2'", "0 0 1 0 0 1"), CON, OFS, TYP), "2 components"},
    {"vtu", PIECE(ARRAY("Float64", "P", "NumberOfComponents='3'", "0.5 0 0 1 0 0 0 1"), CON, OFS, TYP),
     "the data end here"},
    {"vtu", PIECE(ARRAY("Float64", "P", "NumberOfComponents='3'", "0"), CON, OFS, TYP), "more than its data can hold"},
    {"vtu", PIECE(ARRAY("Float64", "P", "NumberOfComponents='3'", "0 0 0 1 0 0 0 1 0 7"), CON, OFS, TYP),
     "more than the 9 values"},
    {"vtu", PIECE(ARRAY("Float64", "P", "NumberOfComponents='3'", "0 0 nan 1 0 0 0 1 0"), CON, OFS, TYP), "not finite"},
    {"vtu", PIECE(ARRAY("Complex", "P", "NumberOfComponents='3'", "0"), CON, OFS, TYP), "type: found \"Complex\""},
    {"vtu", PIECE(ARRAY("Float64", "P", "NumberOfComponents='3' format='morse'", "0"), CON, OFS, TYP),
     "found \"morse\""},
    {"vtu", PIECE(ARRAY("Float64", "P", "NumberOfComponents='3' format='appended'", ""), CON, OFS, TYP),
     "attribute offset"},
    {"vtu", PIECE(ARRAY("Float64", "P", "NumberOfComponents='3' format='appended' offset='0'", ""), CON, OFS, TYP),
     "the file has no AppendedData"},
    {"vtu", PIECE(X, ARRAY("Float32", "connectivity", "", "0 1 2"), OFS, TYP), "expected whole numbers"},
    {"vtu", PIECE(X, ARRAY("Int32", "connectivity", "", "0 1 3"), OFS, TYP), "connectivity: cell 0 has vertex 3 of 3"},
    {"vtu", PIECE(X, ARRAY("Int32", "connectivity", "", "0 1 -1"), OFS, TYP),
     "connectivity: cell 0 has vertex -1 of 3"},
    {"vtu", PIECE(X, CON, ARRAY("Int32", "offsets", "", "9"), TYP),
     "connectivity: 9 values expected, more than its data can hold"},
    {"vtu", PIECE(X, CON, OFS, ARRAY("UInt8", "types", "", "9")), "cell 0 of type 9 has 3 points, expected 4"},
    {"vtu", PIECE(X, CON, OFS, ARRAY("UInt8", "types", "", "42")),
     "cell 0 has type 42 (polyhedron), which is not read without lists of faces"},
    {"vtu", PIECE(X, CON, OFS, POLYHEDRON("1 9 0 1 2", "5")), "faces: cell 0: face 0 does not fit"},
    {"vtu", PIECE(X, CON, OFS, POLYHEDRON("1 3 0 1 9", "5")), "faces: cell 0 has vertex 9 of 3"},
    {"vtu", PIECE(X, CON, OFS, POLYHEDRON("1 2 0 1 2", "5")), "faces: cell 0 does not end where faceoffsets say"},
    {"vtu", PIECE(X, CON, OFS, POLYHEDRON("999999999 3 0 1 2", "5")), "faces: cell 0: face 1 does not fit"},
    {"vtu", PIECE(X, CON, OFS, POLYHEDRON("1 3 0 1 2", "0")), "faceoffsets: cell 0 ends at 0"},
    {"vtu", PIECE(X, CON, OFS, POLYHEDRON("1 3 0 1 2", "5")), "no element with any extent"},
    {"vtu",
     PIECE(ARRAY("Float64", "P", "NumberOfComponents='3' format='binary'",
                 "SAAAAA%%"
                 "AAAAAAAAAAAAAAAAAAAAAAAA"
                 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
           CON, OFS, TYP),
     "is not base64"},
    {"vtu",
     PIECE(ARRAY("Float64", "P", "NumberOfComponents='3' format='binary'",
                 "SAAAAA==AAAA"
                 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
           CON, OFS, TYP),
     "Points: 72 bytes declared, 54 are there"},
    {"vtu",
     PIECE(ARRAY("Float64", "P", "NumberOfComponents='3' format='binary'",
                 "/////wAA"
                 "AAAAAAAAAAAAAAAAAAAAAAAA"
                 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
           CON, OFS, TYP),
     "Points: 4294967295 bytes declared, expected 72"},
    /* Block headers: 2^32-1 blocks; a block of 0 bytes; 72 bytes that are not zlib. */
    {"vtu", COMPRESSED("LittleEndian", "/////0gAAAAAAAAASAAAAA=="), "4294967295 compressed blocks declared"},
    {"vtu", COMPRESSED("LittleEndian", "AQAAAAAAAAAAAAAASAAAAA=="), "blocks of 0 bytes"},
    {"vtu", COMPRESSED("LittleEndian", "AQAAAEkAAAAAAAAASAAAAA=="), "73 bytes declared, expected 72"},
    {"vtu", COMPRESSED("LittleEndian", "AQAAAEgAAAAAAAAASAAAAA=="),
     "compressed block 0: 72 bytes declared, 0 are there"},
    {"vtu", COMPRESSED("LittleEndian", "AQAAAEgAAAAAAAAAAwAAAA==AAAA"),
     "a compressed block is damaged or not of 72 bytes"},
    {"vtu", COMPRESSED("BigEndian", "AQAAAEgAAAAAAAAAAwAAAA==AAAA"), "16777216 compressed blocks declared"},
    /* Much from little: one block of 72,000 bytes out of four; two arrays of 36 bytes in the same place. */
    {"vtu",
     ALLOTTED("compressor='vtkZLibDataCompressor'", "3000", "1",
              ARRAY("Float64", "P", "NumberOfComponents='3' format='appended' offset='96'", ""), CON OFS TYP,
              ZEROS ZEROS "AQAAAEAZAQAAAAAABAAAAA==AAAAAA=="),
     "Points: 72000 bytes cannot come from"},
    {"vtu",
     ALLOTTED("", "3", "3", ARRAY("Float32", "P", "NumberOfComponents='3' format='appended' offset='0'", ""),
              ARRAY("Int32", "connectivity", "format='appended' offset='0'", "") ARRAY("Int32", "offsets", "", "3 6 9")
                  ARRAY("UInt8", "types", "", "5 5 5"),
              "JAAAAA==" ZEROS),
     "connectivity: arrays overlap in the appended data"},
};

static void bad_gmsh(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof gmsh / sizeof *gmsh; i++) refuse(&gmsh[i]);
}
static void bad_text(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) refuse(&text[i]);
}
static void bad_vtu(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof vtu / sizeof *vtu; i++) refuse(&vtu[i]);
}

/* The pieces above are sound where they are not broken. */
static void sound_parts(void **state) {
  (void)state;
  static const char *const good[][2] = {{"vtu", PIECE(X, CON, OFS, TYP)},
                                        {"msh", MSH2 NODES2 "$Elements\n1\n1 2 0 1 2 3\n$EndElements\n"},
                                        {"msh", MSH4 NODES4 "$Elements\n1 1 1 1\n2 1 2 1\n1 1 2 3\n$EndElements\n"}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    cx *c;
    if (mesh_read_memory(&c, good[i][1], strlen(good[i][1]), good[i][0], "good", NULL, NULL) != DKHO_OK)
      fail_msg("%s", dkho_error());
    cx_free(c);
  }
}

/* One place in a sound binary file overwritten: after `mark` (plus `skip` bytes) come `count` new bytes. */
static void bad_binary(void **state) {
  (void)state;
  static const struct {
    const char *file, *mark;
    size_t skip;
    const char *bytes;
    size_t count;
    const char *message;
  } list[] = {
      {"annulus_22_bin.msh", "2.2 1 8\n", 0, "\0\0\0\1", 4, "byte 20: the file has the other byte order"},
      {"annulus_22_bin.msh", "2.2 1 8\n", 0, "\7\0\0\0", 4, "byte order mark: found 7, expected 1"},
      {"annulus_22_bin.msh", "$Nodes\n", 0, "99", 2, "node 256 is defined twice"},
      {"annulus_22_bin.msh", "$Nodes\n52\n", 4, "\0\0\0\0\0\0\xf0\x7f", 8, "point 0: coordinate x is not finite"},
      {"annulus_22_bin.msh", "$Nodes\n52\n", 0, "\0\0\0\x80", 4, "node number: found -2147483648"},
      {"annulus_22_bin.msh", "$Elements\n105\n", 0, "\43", 1, "element type 35: only points"},
      {"annulus_22_bin.msh", "$Elements\n105\n", 4, "\xff\xff\xff\x7f", 4, "elements in the block: found 2147483647"},
      {"annulus_22_bin.msh", "$Elements\n105\n", 8, "\xff\xff\x0f", 3, "element tag: "},
      {"annulus_41_bin.msh", "$Nodes\n", 8, "\0\0\0\0\0\0\0\x80", 8, "number of nodes: found -9223372036854775808"},
      {"annulus_41_bin.msh", "$Nodes\n", 8, "\xff\xff\xff\x7f", 4, "number of nodes: 2147483647 declared"},
      {"annulus_41_bin.msh", "$Nodes\n", 0, "\xff\xff\xff\x7f", 4, "number of node blocks: 2147483647 declared"},
      {"annulus_41_bin.msh", "$Elements\n", 8, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8, "number of elements: "},
      {"annulus_41_bin.msh", "$Entities\n", 0, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8, "number of entities: "},
      {"shell_appended_raw.vtu", "   _", 0, "\xff\xff\xff\xff", 4, "Points: 4294967295 bytes declared, expected 960"},
      {"shell_appended_raw.vtu", "offset=\"", 0, "99999", 1, "Points: "},
      {"shell_appended_raw.vtu", "NumberOfPoints=\"", 0, "99", 2, "Points: 960 bytes declared, expected 1188"},
      {"shell_appended_raw.vtu", "NumberOfCells=\"", 0, "219", 3, "offsets: 1760 bytes declared, expected 1752"},
      {"shell_appended_raw.vtu", "encoding=\"", 0, "RAW", 3, "encoding: found \"RAW\", expected raw or base64"},
      {"shell_appended_raw.vtu", "encoding=\"raw\">\n   ", 0, "-", 1, "expected an underscore"},
      {"shell_appended_raw.vtu", "</AppendedDat", 0, "e", 1, "expected </AppendedData>"},
      {"shell_appended_zlib.vtu", "   _", 0, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "compressed blocks declared"},
      {"shell_appended_zlib.vtu", "   _", 8, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8, "blocks of 9223372036854775807"},
      {"shell_appended_zlib.vtu", "   _", 24, "\xff\xff\xff\x7f", 4, "compressed block 0: 2147483647 bytes declared"},
      {"shell_appended_zlib.vtu", "   _", 60, "\xff\xff\xff\x7f", 4, "a compressed block is damaged"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    size_t size;
    unsigned char *bytes = slurp(list[i].file, &size), *at = memmem(bytes, size, list[i].mark, strlen(list[i].mark));
    assert_non_null(at);
    memcpy(at + strlen(list[i].mark) + list[i].skip, list[i].bytes, list[i].count);
    cx *c;
    size_t live = mem_live_blocks();
    dkho_status s = mesh_read_memory(&c, bytes, size, strrchr(list[i].file, '.') + 1, "bad", NULL, NULL);
    if (s == DKHO_OK || !strstr(dkho_error(), list[i].message))
      fail_msg("%zu: %s\n  gave      \"%s\"\n  expected  \"%s\"", i, list[i].file, s ? dkho_error() : "no error",
               list[i].message);
    assert_int_equal(mem_live_blocks(), live);
    free(bytes);
  }
}

/* One array that asks for more than zlib could give, and two over the same bytes: no memory is spent on them. */
static void bombs(void **state) {
  (void)state;
  static const bad_file list[] = {
      {"vtu",
       "<VTKFile type='UnstructuredGrid' byte_order='LittleEndian'><UnstructuredGrid>"
       "<Piece NumberOfPoints='3' NumberOfCells='9'><Points>" X
       "</Points><Cells>" ARRAY("UInt8", "connectivity", "format='appended' offset='0'", "")
           ARRAY("UInt8", "types", "format='appended' offset='0'", "")
               ARRAY("Int8", "offsets", "",
                     "1 2 3 4 5 6 7 8 9") "</Cells></Piece></UnstructuredGrid><AppendedData "
                                          "encoding='base64'>_CQAAAAEBAQEBAQEBAQ==</AppendedData></VTKFile>",
       "connectivity: arrays overlap in the appended data"},
  };
  size_t before = mem_peak_bytes();
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) refuse(&list[i]);
  assert_true(mem_peak_bytes() - before < 1 << 20);
}

static const char *const fixtures[] = {"annulus_22_ascii.msh",
                                       "annulus_22_bin.msh",
                                       "annulus_41_ascii.msh",
                                       "annulus_41_bin.msh",
                                       "annulus_ascii.vtu",
                                       "annulus_binary.vtu",
                                       "annulus_zlib.vtu",
                                       "order2_22_ascii.msh",
                                       "quads_41_ascii.msh",
                                       "shell_22_bin.msh",
                                       "shell_41_ascii.msh",
                                       "shell_appended_base64.vtu",
                                       "shell_appended_base64_zlib.vtu",
                                       "shell_appended_raw.vtu",
                                       "shell_appended_zlib.vtu",
                                       "shell_inline_big.vtu",
                                       "shell_inline_zlib.vtu",
                                       "torus.obj",
                                       "torus.off",
                                       "torus_41_ascii.msh",
                                       "torus_41_parametric.msh"};

static void truncated(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
    check_truncated(fixtures[i], strcmp(fixtures[i], "torus.obj") == 0);
}

static void starved(void **state) {
  (void)state;
  static const char *const list[] = {"annulus_22_ascii.msh", "annulus_41_bin.msh", "annulus_zlib.vtu",
                                     "shell_appended_raw.vtu", "torus.off"};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) check_starved(list[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bad_gmsh),   cmocka_unit_test(bad_text),
                                     cmocka_unit_test(bad_vtu),    cmocka_unit_test(sound_parts),
                                     cmocka_unit_test(bad_binary), cmocka_unit_test(bombs),
                                     cmocka_unit_test(truncated),  cmocka_unit_test(starved)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
