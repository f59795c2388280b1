/* read_file.c: the entrance of mesh reading: which format it is, then reader, then rules. */
#include "mesh/meshio.h"
#include "mesh/raw.h"

#include <string.h>
#include <strings.h>

static const struct {
  const char *format;
  dkho_status (*read)(raw *, scan *);
} readers[] = {{"msh", read_msh}, {"vtu", read_vtu}, {"obj", read_obj}, {"off", read_off}};
enum { READERS = sizeof readers / sizeof *readers };

static dkho_status read_as(int reader, scan *s, const mesh_options *o, mesh_report *report, cx **out) {
  raw m = {.file = s->name, .report = report};
  dkho_status status = readers[reader].read(&m, s);
  if (status == DKHO_OK) status = raw_complex(&m, o, out);
  raw_free(&m);
  if (status == DKHO_OK) mesh_report_log(report, s->name);
  return status;
}

dkho_status mesh_read_memory(cx **out, const void *bytes, size_t size, const char *format, const char *name,
                             const mesh_options *options, mesh_report *report) {
  static const mesh_options plain;
  mesh_report own = {0}, *r = report ? report : &own;
  scan s = {.name = name, .bytes = size ? bytes : (const void *)"", .size = size};
  int reader = 0;
  *out = NULL;
  *r = (mesh_report){0};
  if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) s.at = 3; /* a byte order mark */
  while (reader < READERS && strcasecmp(format, readers[reader].format) != 0) reader++;
  if (reader == READERS) return fail(DKHO_E_INPUT, "%s: mesh format \"%s\" is not known", name, format);
  dkho_status status = read_as(reader, &s, options ? options : &plain, r, out);
  if (status != DKHO_OK || !report) mesh_report_free(r);
  return status;
}

static int starts(const file_map *map, const char *text) {
  return map->size >= strlen(text) && memcmp(map->bytes, text, strlen(text)) == 0;
}

/* The first bytes decide where they are clear (an .obj has no mark of its own), else the ending. */
static const char *format_of(const file_map *map, const char *path) {
  if (starts(map, "$MeshFormat")) return "msh";
  if (starts(map, "<?xml") || starts(map, "<VTKFile")) return "vtu";
  if (starts(map, "OFF")) return "off";
  const char *dot = strrchr(path, '.');
  for (int i = 0; dot && i < READERS; i++)
    if (strcasecmp(dot + 1, readers[i].format) == 0) return readers[i].format;
  return NULL;
}

dkho_status mesh_read(cx **out, const char *path, const mesh_options *options, mesh_report *report) {
  file_map map;
  *out = NULL;
  if (report) *report = (mesh_report){0};
  TRY(file_map_open(&map, path));
  const char *format = format_of(&map, path);
  dkho_status s = format ? mesh_read_memory(out, map.bytes, map.size, format, path, options, report)
                         : fail(DKHO_E_FORMAT,
                                "%s: neither its ending nor its first bytes are those of a mesh: expected "
                                ".msh, .vtu, .obj or .off",
                                path);
  file_map_close(&map);
  return s;
}
