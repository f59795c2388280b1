/* read_file.c: the entrance of mesh reading: which format it is, then reader, then rules. */
#include "mesh/meshio.h"
#include "mesh/raw.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
  const char *format;
  dkho_status (*read)(raw *, scan *);
  const char *magic; /* the file's first bytes, or NULL when they are not clear */
} readers[] = {{"msh", read_msh, "$MeshFormat"},
               {"vtu", read_vtu, "<VTKFile"},
               {"vtp", read_vtu, "<?xml"},
               {"vtk", read_vtk, "# vtk DataFile"},
               {"obj", read_obj, NULL},
               {"off", read_off, "OFF"},
               {"stl", read_stl, NULL},
               {"ply", read_ply, "ply\n"},
               {"mesh", read_medit, "MeshVersionFormatted"},
               {"inp", read_inp, NULL},
               {"su2", read_su2, NULL},
               {"node", read_node_ele, NULL},
               {"ele", read_node_ele, NULL}};
enum { READERS = sizeof readers / sizeof *readers };
#define EXPECTED ".msh, .vtu, .vtp, .vtk, .obj, .off, .stl, .ply, .mesh, .inp, .su2 or .node/.ele"

/* What makes a mesh that is read out of a file that is not. */
static const struct {
  const char *endings, *advice; /* endings between blanks */
} converters[] = {
    {" geo step stp iges igs brep ", "a geometry without a mesh: gmsh -3 FILE -o mesh.msh makes one"},
    {" unv p3d mail bdf nas cgns med ", "gmsh FILE -save -o mesh.msh converts it"},
    {" xdmf xmf exo e ex2 h5m hmf mdpa meshb ugrid tec f3grid xml avs dato wkt ",
     "meshio convert FILE mesh.vtu converts it"},
    {" gltf glb fbx dae 3mf 3ds x3d wrl blend ", "assimp export FILE mesh.ply converts it"},
    {" vti vtr vts pvtu pvtp vtm pvd ", "ParaView's Save Data writes it as .vtu"},
};

static const mesh_options as_it_is;

static scan start_scan(const char *name, const void *bytes, size_t size) {
  scan s = {.name = name, .bytes = size ? bytes : (const void *)"", .size = size};
  if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) s.at = 3; /* a byte order mark */
  return s;
}

/* The rules, after a reader that ended with `status`. Frees m. */
static dkho_status finish_reading(raw *m, dkho_status status, const mesh_options *o, cx **out) {
  if (status == DKHO_OK) status = raw_complex(m, o, out);
  if (status == DKHO_OK) mesh_report_log(m->report, m->file);
  raw_free(m);
  return status;
}

static dkho_status read_as(int reader, scan *s, const mesh_options *o, mesh_report *report, cx **out) {
  raw m = {.file = s->name, .report = report};
  return finish_reading(&m, readers[reader].read(&m, s), o, out);
}

dkho_status mesh_read_memory(cx **out, const void *bytes, size_t size, const char *format, const char *name,
                             const mesh_options *options, mesh_report *report) {
  mesh_report own = {0}, *r = report ? report : &own;
  scan s = start_scan(name, bytes, size);
  int reader = 0;
  *out = NULL;
  *r = (mesh_report){0};
  while (reader < READERS && strcasecmp(format, readers[reader].format) != 0) reader++;
  if (reader == READERS) return fail(DKHO_E_INPUT, "%s: mesh format \"%s\", expected " EXPECTED, name, format);
  dkho_status status = read_as(reader, &s, options ? options : &as_it_is, r, out);
  if (status != DKHO_OK || !report) mesh_report_free(r);
  return status;
}

/* The first bytes decide where they are clear, else the ending. READERS: neither does. */
static int reader_of(const scan *s, const char *ending) {
  for (int i = 0; i < READERS; i++) {
    size_t n = readers[i].magic ? strlen(readers[i].magic) : 0;
    if (n && scan_left(s) >= n && memcmp(s->bytes + s->at, readers[i].magic, n) == 0) return i;
  }
  for (int i = 0; ending && i < READERS; i++)
    if (strcasecmp(ending, readers[i].format) == 0) return i;
  return READERS;
}

static dkho_status refuse_format(const char *path, const char *ending) {
  char word[16];
  int n = ending ? snprintf(word, sizeof word, " %s ", ending) : 0;
  for (size_t i = 0; n > 0 && n < (int)sizeof word && i < sizeof converters / sizeof *converters; i++)
    if (strcasestr(converters[i].endings, word))
      return fail(DKHO_E_FORMAT, "%s: .%s is not read: %s", path, ending, converters[i].advice);
  return fail(DKHO_E_FORMAT,
              "%s: neither its ending nor its first bytes are those of a mesh: expected " EXPECTED
              "; meshio convert or gmsh -save makes one of most others",
              path);
}

/* TetGen's two files: the other one lies beside. */
static dkho_status read_pair(cx **out, const char *path, const scan *given, const mesh_options *o,
                             mesh_report *report) {
  file_map map;
  size_t stem = strlen(path) - strlen(strrchr(path, '.'));
  int nodes = strcasecmp(path + stem, ".node") == 0;
  char *beside = mem_alloc(stem + 6, 1);
  if (!beside) return DKHO_E_MEMORY;
  snprintf(beside, stem + 6, "%.*s.%s", (int)stem, path, nodes ? "ele" : "node");
  dkho_status s = file_map_open(&map, beside);
  if (s == DKHO_OK) {
    scan other = {.name = beside, .bytes = map.size ? map.bytes : (const void *)"", .size = map.size}, own = *given;
    raw m = {.file = path, .report = report};
    s = read_tetgen(&m, nodes ? &own : &other, nodes ? &other : &own);
    s = finish_reading(&m, s, o, out);
    file_map_close(&map);
  }
  mem_free(beside);
  return s;
}

dkho_status mesh_read(cx **out, const char *path, const mesh_options *options, mesh_report *report) {
  file_map map;
  mesh_report own = {0}, *r = report ? report : &own;
  const char *dot = strrchr(path, '.'), *ending = dot && !strchr(dot, '/') ? dot + 1 : NULL;
  *out = NULL;
  *r = (mesh_report){0};
  TRY(file_map_open(&map, path));
  scan s = start_scan(path, map.bytes, map.size);
  int reader = reader_of(&s, ending);
  dkho_status status;
  if (reader == READERS)
    status = refuse_format(path, ending);
  else if (readers[reader].read == read_node_ele)
    status = read_pair(out, path, &s, options ? options : &as_it_is, r);
  else
    status = read_as(reader, &s, options ? options : &as_it_is, r, out);
  if (status != DKHO_OK || !report) mesh_report_free(r);
  file_map_close(&map);
  return status;
}
