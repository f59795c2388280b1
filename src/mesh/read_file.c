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

dkho_status mesh_read_memory(cx **out, const void *bytes, size_t size, const char *format, const char *name) {
  *out = NULL;
  scan s = {.name = name, .bytes = size ? bytes : (const void *)"", .size = size};
  if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) s.at = 3; /* a byte order mark */
  for (int i = 0; i < READERS; i++) {
    if (strcasecmp(format, readers[i].format) != 0) continue;
    raw m = {.file = name};
    dkho_status status = readers[i].read(&m, &s);
    if (status == DKHO_OK) status = raw_complex(&m, out);
    raw_free(&m);
    return status;
  }
  return fail(DKHO_E_INPUT, "%s: mesh format \"%s\", expected msh, vtu, obj or off", name, format);
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

dkho_status mesh_read(cx **out, const char *path) {
  file_map map;
  *out = NULL;
  TRY(file_map_open(&map, path));
  const char *format = format_of(&map, path);
  dkho_status s = format ? mesh_read_memory(out, map.bytes, map.size, format, path)
                         : fail(DKHO_E_FORMAT,
                                "%s: neither its ending nor its first bytes are those of a mesh: expected "
                                ".msh, .vtu, .obj or .off",
                                path);
  file_map_close(&map);
  return s;
}
