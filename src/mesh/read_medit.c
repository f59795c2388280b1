/* read_medit.c: Medit's .mesh in ASCII (also INRIA's GMF in text). References of elements become groups. Sections that carry no mesh (corners,
 * ridges, normals, …) are passed over; the binary .meshb is refused. */
#include "mesh/raw.h"

enum { MEDIT_CORNERS = 8 };

/* The next word, comments left out. */
static int next_word(scan *s, scan_view *word) {
  scan line;
  while (scan_word(s, word)) {
    if (word->p[0] != '#') return 1;
    s->at -= word->n;
    scan_line(s, &line, 0);
  }
  return 0;
}

/* Numbers may be parted by comments. */
static void skip_comments(scan *s) {
  scan_view word;
  scan ahead = *s;
  if (next_word(&ahead, &word)) s->at = ahead.at - word.n;
}

static dkho_status read_count(scan *s, const char *field, int64_t lo, int64_t hi, int64_t *out) {
  skip_comments(s);
  return scan_int(s, field, lo, hi, out);
}

/* n, then x y [z] reference */
static dkho_status read_vertices(raw *m, scan *s, int64_t dim) {
  int64_t n;
  double x[3] = {0}, reference;
  TRY(read_count(s, "number of vertices", 0, INT32_MAX, &n));
  for (int64_t i = 0; i < n; i++) {
    skip_comments(s);
    for (int64_t c = 0; c < dim; c++) TRY(scan_double(s, "coordinate", &x[c]));
    TRY(scan_double(s, "reference of a vertex", &reference));
    TRY(raw_point(m, s, x));
  }
  return DKHO_OK;
}

typedef struct {
  const char *keyword;
  raw_shape shape;
  int corners, nodes;
} medit_shape;

/* n, then nodes (from 1) and reference */
static dkho_status read_elements(raw *m, scan *s, const medit_shape *k) {
  int64_t n, v;
  TRY(read_count(s, k->keyword, 0, INT32_MAX, &n));
  for (int64_t i = 0; i < n; i++) {
    int32_t vert[MEDIT_CORNERS];
    skip_comments(s);
    for (int j = 0; j < k->nodes; j++) {
      TRY(scan_int(s, "vertex of an element", 1, INT32_MAX, &v));
      if (j < k->corners) vert[j] = (int32_t)(v - 1);
    }
    TRY(scan_int(s, "reference of an element", INT32_MIN + 1, INT32_MAX, &v));
    m->report->count[MESH_HIGH_ORDER] += k->nodes > k->corners;
    TRY(raw_element(m, k->shape, k->corners, vert, (int32_t)(v < 0 ? -v : v)));
  }
  return DKHO_OK;
}

static const medit_shape *find_shape(scan_view word) {
  static const medit_shape known[] = {
      {"Edges", RAW_LINE, 2, 2},        {"Triangles", RAW_POLYGON, 3, 3},   {"Quadrilaterals", RAW_POLYGON, 4, 4},
      {"Tetrahedra", RAW_TET, 4, 4},    {"Hexahedra", RAW_PRISM, 8, 8},     {"Hexaedra", RAW_PRISM, 8, 8},
      {"Prisms", RAW_PRISM, 6, 6},      {"Pentahedra", RAW_PRISM, 6, 6},    {"Pyramids", RAW_PYRAMID, 5, 5},
      {"EdgesP2", RAW_LINE, 2, 3},      {"TrianglesP2", RAW_POLYGON, 3, 6}, {"QuadrilateralsQ2", RAW_POLYGON, 4, 9},
      {"TetrahedraP2", RAW_TET, 4, 10}, {"HexahedraQ2", RAW_PRISM, 8, 27},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (scan_is_any_case(word, known[i].keyword)) return &known[i];
  return NULL;
}

/* Numbers of a section that is not wanted. */
static void pass_numbers(scan *s) {
  scan_view word;
  double value;
  for (scan ahead = *s; next_word(&ahead, &word) && scan_view_double(word, &value);) *s = ahead;
}

static dkho_status read_head(scan *s) {
  scan_view word;
  int64_t version;
  skip_comments(s);
  scan before = *s;
  if (!next_word(s, &word)) return scan_fail(&before, "the file is empty, expected MeshVersionFormatted");
  if (scan_is(word, "MFEM"))
    return scan_fail(&before, "an MFEM mesh: glvis or MFEM's Mesh::PrintVTU writes it as .vtu, which is read");
  if (!scan_is_any_case(word, "MeshVersionFormatted"))
    return scan_fail(&before,
                     "found \"%.*s\", expected MeshVersionFormatted; meshio convert makes ASCII of a binary one",
                     SCAN_SHOW(word));
  return read_count(s, "MeshVersionFormatted", 0, 4, &version);
}

dkho_status read_medit(raw *m, scan *s) {
  int64_t dim = 0;
  int vertices = 0;
  scan_view word;
  TRY(read_head(s));
  for (;;) {
    scan_space(s);
    scan before = *s;
    if (!next_word(s, &word) || scan_is_any_case(word, "End")) break;
    const medit_shape *shape = find_shape(word);
    if (scan_is_any_case(word, "Dimension")) {
      TRY(read_count(s, "Dimension", 2, 3, &dim));
    } else if (scan_is_any_case(word, "Vertices")) {
      if (!dim || vertices++)
        return scan_fail(&before, dim ? "a second section Vertices" : "Vertices before Dimension");
      TRY(read_vertices(m, s, dim));
    } else if (shape) {
      TRY(read_elements(m, s, shape));
    } else {
      double value;
      if (scan_view_double(word, &value))
        return scan_fail(&before, "found \"%.*s\", expected the name of a section", SCAN_SHOW(word));
      pass_numbers(s);
    }
  }
  return vertices ? DKHO_OK : scan_fail(s, "the file ends, expected Vertices");
}
