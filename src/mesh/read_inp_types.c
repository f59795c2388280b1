/* read_inp_types.c: names of Abaqus's element types: a family says the dimension, the number after it how many nodes. */
#include "mesh/read_inp_impl.h"

#include <string.h>
#include <strings.h>

/* Longer names before those they begin with. dimension -1: no element of a mesh; -2: a line whose number is its order. */
static const struct {
  const char *name;
  int dimension;
} family[] = {{"DCC3D", 3},  {"COH3D", 3},   {"CIN3D", 3}, {"EMC3D", 3},    {"GK3D", 3},     {"DC3D", 3},  {"AC3D", 3},
              {"C3D", 3},    {"Q3D", 3},     {"SC", 3},    {"DCCAX", 2},    {"DCC2D", 2},    {"SFM3D", 2}, {"DCAX", 2},
              {"DC2D", 2},   {"CGAX", 2},    {"CPEG", 2},  {"AC2D", 2},     {"ACAX", 2},     {"STRI", 2},  {"CPS", 2},
              {"CPE", 2},    {"CAX", 2},     {"M3D", 2},   {"R3D", 2},      {"COH2D", 2},    {"DS", 2},    {"DC1D", 1},
              {"AC1D", 1},   {"R2D", 1},     {"RAX", 1},   {"RB2D", 1},     {"RB3D", 1},     {"SAX", -2},  {"T2D", 1},
              {"T3D", 1},    {"SPRING", -1}, {"MASS", -1}, {"ROTARYI", -1}, {"DASHPOT", -1}, {"CONN", -1}, {"GAP", -1},
              {"DCOUP", -1}, {"S", 2}};

/* Beams and pipes name their space, then their order: B31 has two nodes, B32 three, B33 two. */
static int beam(scan_view name, inp_shape *out) {
  static const char *const prefix[] = {"PIPE", "B"};
  for (int i = 0; i < 2; i++) {
    size_t n = strlen(prefix[i]);
    if (name.n < n + 2 || strncasecmp(name.p, prefix[i], n) != 0) continue;
    char space = name.p[n], order = name.p[n + 1];
    if ((space != '2' && space != '3') || order < '1' || order > '3') continue;
    *out = (inp_shape){RAW_LINE, 2, order == '2' ? 3 : 2};
    return 1;
  }
  return 0;
}

static int suits(int dimension, int nodes, inp_shape *out) {
  static const struct {
    int dimension;
    inp_shape shape;
  } known[] = {{1, {RAW_LINE, 2, 2}},     {1, {RAW_LINE, 2, 3}},    {2, {RAW_POLYGON, 3, 3}}, {2, {RAW_POLYGON, 4, 4}},
               {2, {RAW_POLYGON, 3, 6}},  {2, {RAW_POLYGON, 4, 8}}, {2, {RAW_POLYGON, 4, 9}}, {3, {RAW_TET, 4, 4}},
               {3, {RAW_PYRAMID, 5, 5}},  {3, {RAW_PRISM, 6, 6}},   {3, {RAW_PRISM, 8, 8}},   {3, {RAW_TET, 4, 10}},
               {3, {RAW_PYRAMID, 5, 13}}, {3, {RAW_PRISM, 6, 15}},  {3, {RAW_PRISM, 8, 20}},  {3, {RAW_PRISM, 8, 27}}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].dimension == dimension && known[i].shape.nodes == nodes) {
      *out = known[i].shape;
      return 1;
    }
  return 0;
}

dkho_status inp_type(const scan *at, scan_view name, inp_shape *out) {
  if (beam(name, out)) return DKHO_OK;
  for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
    size_t n = strlen(family[i].name);
    int nodes = 0;
    if (name.n < n || strncasecmp(name.p, family[i].name, n) != 0) continue;
    *out = (inp_shape){0};
    if (family[i].dimension == -1) return DKHO_OK;
    for (size_t j = n; j < name.n && name.p[j] >= '0' && name.p[j] <= '9' && nodes < 100; j++)
      nodes = 10 * nodes + name.p[j] - '0';
    if (family[i].dimension == -2) {
      *out = (inp_shape){RAW_LINE, 2, nodes + 1};
      return nodes == 1 || nodes == 2 ? DKHO_OK
                                      : scan_fail(at, "*ELEMENT: type \"%.*s\" is not known", SCAN_SHOW(name));
    }
    if (nodes == 65) nodes = 6; /* STRI65: six nodes, five degrees of freedom each */
    if (suits(family[i].dimension, nodes, out)) return DKHO_OK;
  }
  return scan_fail(at, "*ELEMENT: type \"%.*s\" is not known", SCAN_SHOW(name));
}
