/* read_msh.c: Gmsh .msh, versions 1, 2.x, 4.0 and 4.1: the sections, names of physical groups, node numbers. The layouts of
 * nodes and elements are in read_msh2.c and read_msh4.c. Sections that carry no mesh are passed over. */
#include "mesh/read_msh_impl.h"

#include <string.h>

enum { SEEN_NAMES = 1, SEEN_ENTITIES = 2, SEEN_NODES = 4, SEEN_ELEMENTS = 8, SEEN_PARTS = 16 };

static dkho_status in_range(const scan *at, const char *field, int64_t x, int64_t lo, int64_t hi) {
  if (x >= lo && x <= hi) return DKHO_OK;
  return scan_fail(at, "%s: found %lld, expected %lld to %lld", field, (long long)x, (long long)lo, (long long)hi);
}

dkho_status msh_int(msh *f, const char *field, int64_t lo, int64_t hi, int64_t *out) {
  if (!f->binary) return scan_int(f->s, field, lo, hi, out);
  scan before = *f->s;
  int32_t x;
  TRY(scan_bytes(f->s, field, &x, sizeof x));
  *out = x;
  return in_range(&before, field, x, lo, hi);
}

dkho_status msh_size(msh *f, const char *field, int64_t lo, int64_t hi, int64_t *out) {
  if (!f->binary) return scan_int(f->s, field, lo, hi, out);
  scan before = *f->s;
  TRY(scan_bytes(f->s, field, out, sizeof *out)); /* beyond 2^63 reads as negative, which no caller takes */
  return in_range(&before, field, *out, lo, hi);
}

dkho_status msh_real(msh *f, const char *field, double *out) {
  return f->binary ? scan_bytes(f->s, field, out, sizeof *out) : scan_double(f->s, field, out);
}

dkho_status msh_count(msh *f, const char *field, int64_t count, size_t text, size_t bytes) {
  size_t least = f->binary ? bytes : text;
  if ((uint64_t)count <= (scan_left(f->s) + 1) / least) return DKHO_OK; /* +1: the last record needs no separator */
  return scan_fail(f->s, "%s: %lld declared, but only %zu bytes are left", field, (long long)count, scan_left(f->s));
}

dkho_status msh_element(msh *f, const msh_shape *t, int32_t group, msh_reader *read) {
  int32_t vert[RAW_SOLID_MAX];
  int64_t tag;
  for (int i = 0; i < t->nodes; i++) {
    TRY(read(f, "node of an element", 0, INT64_MAX, &tag));
    if (i >= t->corners) continue;
    vert[i] = ids_find(&f->node, tag);
    if (vert[i] < 0) return scan_fail(f->s, "an element names node %lld, which is not among the nodes", (long long)tag);
  }
  f->mesh->report->count[MESH_HIGH_ORDER] += t->nodes > t->corners;
  return raw_element(f->mesh, t->shape, t->corners, vert, group);
}

/* A word at the present place, which must be `mark`. */
static dkho_status expect(scan *s, const char *mark) {
  scan_view word;
  scan_space(s);
  scan before = *s;
  if (!scan_word(s, &word)) return scan_fail(&before, "the file ends, expected %s", mark);
  if (!scan_is(word, mark)) return scan_fail(&before, "found \"%.*s\", expected %s", SCAN_SHOW(word), mark);
  return DKHO_OK;
}

dkho_status msh_end_of_line(scan *s) {
  while (s->at < s->size && s->bytes[s->at] != '\n') {
    if (!scan_is_space(s->bytes[s->at])) return scan_fail(s, "expected the end of the line before binary data");
    s->at++;
  }
  if (s->at == s->size) return scan_fail(s, "the file ends, expected binary data");
  s->at++;
  return DKHO_OK;
}

/* What else is called .msh. */
static dkho_status refuse_others(const scan *s) {
  scan ahead = *s;
  scan_view word;
  int64_t count;
  if (!scan_word(&ahead, &word)) return DKHO_OK;
  if (word.p[0] == '(')
    return scan_fail(s, "a Fluent mesh: meshio convert --input-format ansys FILE mesh.vtu converts it");
  if (scan_view_int(word, &count))
    return scan_fail(s, "a FreeFEM mesh? Its savemesh(Th, \"mesh.mesh\") writes Medit's format, which is read");
  return DKHO_OK;
}

/* 2, 2.0, 2.1, 2.2 (also as 2.200000) have one layout; 4.0 and 4.1 differ. */
static int version_of(scan_view word) {
  double v;
  if (!scan_view_double(word, &v)) return 0;
  return v >= 2 && v < 3 ? 2 : v == 4 ? 40 : v == 4.1 ? 41 : 0;
}

static dkho_status format(msh *f) {
  scan_view word;
  int64_t type, size;
  TRY(refuse_others(f->s));
  scan ahead = *f->s;
  if (scan_word(&ahead, &word) && scan_is(word, "$NOD")) { /* version 1 has no head */
    f->version = 1;
    return DKHO_OK;
  }
  TRY(expect(f->s, "$MeshFormat"));
  scan before = *f->s;
  if (!scan_word(f->s, &word)) return scan_fail(f->s, "the file ends, expected the format version");
  f->version = version_of(word);
  if (!f->version)
    return scan_fail(&before,
                     "format version %.*s: only 1, 2.x, 4.0 and 4.1 are read; gmsh -save -format msh41 converts it",
                     SCAN_SHOW(word));
  TRY(scan_int(f->s, "file type", 0, 1, &type));
  TRY(scan_int(f->s, "data size", 8, 8, &size));
  f->binary = (int)type;
  if (f->binary) {
    int32_t one;
    f->s->binary = 1;
    TRY(msh_end_of_line(f->s));
    before = *f->s;
    TRY(scan_bytes(f->s, "byte order mark", &one, sizeof one));
    if (one == 0x01000000)
      return scan_fail(&before, "the file has the other byte order; save it on this kind of machine, or as ASCII");
    if (one != 1) return scan_fail(&before, "byte order mark: found %d, expected 1", one);
  }
  return expect(f->s, "$EndMeshFormat");
}

/* Trims blanks, then quotes if it has both or ends in one of them. */
static scan_view unquoted(const scan *line) {
  const char *p = (const char *)line->bytes + line->at, *end = (const char *)line->bytes + line->size;
  while (p < end && scan_is_space(*p)) p++;
  while (end > p && scan_is_space(end[-1])) end--;
  if (p < end && *p == '"') p++;
  if (end > p && end[-1] == '"') end--;
  return (scan_view){p, (size_t)(end - p)};
}

/* [dimension] tag name, the name in quotes or not; without a dimension (2.0) it holds for every one. */
static dkho_status physical_name(msh *f, scan *line) {
  int64_t dim = -1, tag, next;
  scan_view word;
  TRY(scan_int(line, "tag of a physical name", INT32_MIN + 1, INT32_MAX, &tag));
  scan ahead = *line;
  if (scan_word(&ahead, &word) && scan_view_int(word, &next) && scan_word(&ahead, &word)) {
    if (tag < 0 || tag > 3)
      return scan_fail(line, "dimension of a physical name: found %lld, expected 0 to 3", (long long)tag);
    dim = tag;
    TRY(scan_int(line, "tag of a physical name", INT32_MIN + 1, INT32_MAX, &tag));
  }
  return raw_group(f->mesh, (int)dim, (int32_t)(tag < 0 ? -tag : tag), unquoted(line));
}

/* Number of names, then one on each line. Text in binary files too. */
static dkho_status physical_names(msh *f) {
  int64_t count;
  scan line;
  TRY(scan_int(f->s, "number of physical names", 0, INT32_MAX, &count));
  for (int64_t i = 0; i < count; i++) {
    scan_space(f->s);
    if (!scan_line(f->s, &line, 0)) return scan_fail(f->s, "the file ends, expected a physical name");
    TRY(physical_name(f, &line));
  }
  return DKHO_OK;
}

/* To just before the end mark of a section that is not wanted. */
static dkho_status pass_over(msh *f, const char *end_mark) {
  size_t n = strlen(end_mark);
  const unsigned char *hit = memmem(f->s->bytes + f->s->at, scan_left(f->s), end_mark, n);
  if (!hit) return scan_fail(f->s, "the file ends, expected %s", end_mark);
  f->s->at = (size_t)(hit - f->s->bytes);
  return DKHO_OK;
}

static dkho_status read_section(msh *f, scan_view mark, const char *end_mark, int *seen) {
  static const struct {
    const char *mark;
    int bit, needs, layout;
    dkho_status (*read)(msh *);
  } table[] = {{"$PhysicalNames", SEEN_NAMES, 0, 0, physical_names},
               {"$Entities", SEEN_ENTITIES, 0, 4, msh4_entities},
               {"$PartitionedEntities", SEEN_PARTS, 0, 4, msh4_partitioned},
               {"$NOD", SEEN_NODES, 0, 1, msh2_nodes},
               {"$ELM", SEEN_ELEMENTS, SEEN_NODES, 1, msh1_elements},
               {"$Nodes", SEEN_NODES, 0, 2, msh2_nodes},
               {"$Nodes", SEEN_NODES, 0, 4, msh4_nodes},
               {"$Elements", SEEN_ELEMENTS, SEEN_NODES, 2, msh2_elements},
               {"$Elements", SEEN_ELEMENTS, SEEN_NODES, 4, msh4_elements}};
  int layout = f->version < 4 ? f->version : 4;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (!scan_is(mark, table[i].mark) || (table[i].layout && table[i].layout != layout)) continue;
    if (*seen & table[i].bit) return scan_fail(f->s, "a second section %s", table[i].mark);
    if ((*seen & table[i].needs) != table[i].needs) return scan_fail(f->s, "%s stands before $Nodes", table[i].mark);
    *seen |= table[i].bit;
    if (f->binary && table[i].read != physical_names && table[i].layout == 4) TRY(msh_end_of_line(f->s));
    return table[i].read(f);
  }
  return pass_over(f, end_mark);
}

static dkho_status sections(msh *f, int *seen) {
  scan_view mark;
  char end_mark[64];
  for (;;) {
    scan_space(f->s);
    scan before = *f->s;
    if (!scan_word(f->s, &mark)) return DKHO_OK;
    if (mark.p[0] != '$' || mark.n < 2 || mark.n > sizeof end_mark - 4)
      return scan_fail(&before, "found \"%.*s\", expected the start of a section", SCAN_SHOW(mark));
    memcpy(end_mark, f->version == 1 ? "$END" : "$End", 4);
    memcpy(end_mark + 4, mark.p + 1, mark.n - 1);
    end_mark[mark.n + 3] = 0;
    TRY(read_section(f, mark, end_mark, seen));
    TRY(expect(f->s, end_mark));
  }
}

dkho_status read_msh(raw *m, scan *s) {
  msh f = {.mesh = m, .s = s};
  int seen = 0;
  dkho_status status = format(&f);
  if (status == DKHO_OK) status = sections(&f, &seen);
  if (status == DKHO_OK && !(seen & SEEN_NODES)) status = scan_fail(s, "the file ends, expected $Nodes");
  if (status == DKHO_OK && !(seen & SEEN_ELEMENTS)) status = scan_fail(s, "the file ends, expected $Elements");
  ids_free(&f.node);
  mem_free(f.entity);
  return status;
}
