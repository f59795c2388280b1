/* mesh_report.c: names, log lines and memory of a mesh report. */
#include "mesh/mesh_report.h"
#include "base/report.h"

#include <string.h>

static const struct {
  const char *key, *text;
} repairs[MESH_REPAIRS] = {
#define MESH_X(name, key, text) {key, text},
    MESH_REPAIR_LIST(MESH_X)
#undef MESH_X
};

const char *mesh_repair_key(mesh_repair r) {
  return repairs[r].key;
}

int mesh_repair_find(const char *key) {
  for (int i = 0; i < MESH_REPAIRS; i++)
    if (strcmp(repairs[i].key, key) == 0) return i;
  return -1;
}

void mesh_report_log(const mesh_report *r, const char *file) {
  for (int i = 0; i < MESH_REPAIRS; i++)
    if (r->count[i]) report_log("%s: %lld %s", file, (long long)r->count[i], repairs[i].text);
}

void mesh_report_free(mesh_report *r) {
  for (int k = 0; k < CX_DEGREES; k++) mem_free(r->origin[k]);
  *r = (mesh_report){0};
}
