/* read_inp.c: Abaqus and CalculiX .inp: *NODE, *ELEMENT, *ELSET; everything else in it is no mesh and passed over. Element sets are groups: an
 * element belongs to the set of its own *ELEMENT line, else to the first *ELSET that lists it. One part is read; *INCLUDE is refused. */
#include "mesh/ids.h"
#include "mesh/read_inp_impl.h"

#include <string.h>
#include <strings.h>

typedef struct {
  raw *mesh;
  scan *s;
  ids node, element; /* element: of all cells, in their order */
  int parts, sets;
  scan_view *set; /* names, in the file; tag = place + 1 */
  int64_t set_room;
} inp;

static scan_view trimmed(const char *p, const char *end) {
  while (p < end && scan_is_space(*p)) p++;
  while (end > p && scan_is_space(end[-1])) end--;
  return (scan_view){p, (size_t)(end - p)};
}

/* The next field between commas; 0 when the line is over. */
static int next_field(scan *line, scan_view *out) {
  if (!scan_left(line)) return 0;
  const char *from = (const char *)line->bytes + line->at, *comma = memchr(from, ',', scan_left(line));
  const char *end = comma ? comma : (const char *)line->bytes + line->size;
  *out = trimmed(from, end);
  line->at = (size_t)(end - (const char *)line->bytes) + (comma != NULL);
  return 1;
}

/* A data line: not a keyword, not a comment, not blank. Stops before a keyword. */
static int next_data(scan *s, scan *line) {
  for (;;) {
    scan before = *s;
    if (!scan_line(s, line, 0)) return 0;
    scan_space(line);
    if (!scan_left(line)) continue;
    const unsigned char *p = line->bytes + line->at;
    if (p[0] != '*') return 1;
    if (scan_left(line) > 1 && p[1] == '*') continue;
    *s = before;
    return 0;
  }
}

/* The value of KEY=VALUE on a keyword line; n 0 when there is none. */
static scan_view parameter(scan line, const char *key) {
  scan_view field;
  while (next_field(&line, &field)) {
    const char *equals = field.n ? memchr(field.p, '=', field.n) : NULL;
    scan_view name = equals ? trimmed(field.p, equals) : field;
    if (!scan_is_any_case(name, key)) continue;
    return equals ? trimmed(equals + 1, field.p + field.n) : name;
  }
  return (scan_view){"", 0};
}

/* The tag of a set's name, which case does not tell apart. */
static dkho_status set_tag(inp *f, scan_view name, int32_t *tag) {
  *tag = 0;
  if (name.n && name.p[0] == '"')
    name = (scan_view){name.p + 1, name.n - 1 - (name.n > 1 && name.p[name.n - 1] == '"')};
  if (!name.n) return DKHO_OK;
  for (int i = 0; i < f->sets; i++)
    if (f->set[i].n == name.n && strncasecmp(f->set[i].p, name.p, name.n) == 0) *tag = i + 1;
  if (*tag) return DKHO_OK;
  void *block = f->set;
  TRY(raw_grow(&block, f->sets, &f->set_room, sizeof *f->set));
  f->set = block;
  f->set[f->sets++] = name;
  *tag = f->sets;
  return raw_group(f->mesh, -1, *tag, name);
}

/* number, x, y, z (those left out are 0) */
static dkho_status read_nodes(inp *f) {
  scan line;
  while (next_data(f->s, &line)) {
    double x[3] = {0};
    int64_t number = -1;
    scan_view field = {"", 0};
    scan before = line;
    if (!next_field(&line, &field) || !scan_view_int(field, &number) || number < 0)
      return scan_fail(&before, "*NODE: found \"%.*s\", expected the number of a node", SCAN_SHOW(field));
    for (int c = 0; c < 3 && next_field(&line, &field); c++)
      if (field.n && !scan_view_double(field, &x[c]))
        return scan_fail(&before, "*NODE: found \"%.*s\", expected a coordinate", SCAN_SHOW(field));
    TRY(ids_add(&f->node, number));
    TRY(raw_point(f->mesh, &before, x));
  }
  return DKHO_OK;
}

/* The next whole number of an element, which may go on on the next line. */
static dkho_status next_number(inp *f, scan *line, int64_t *out) {
  scan_view field = {"", 0};
  for (;;) {
    while (next_field(line, &field))
      if (field.n) {
        if (scan_view_int(field, out)) return DKHO_OK;
        return scan_fail(line, "*ELEMENT: found \"%.*s\", expected the number of a node", SCAN_SHOW(field));
      }
    if (!next_data(f->s, line)) return scan_fail(f->s, "*ELEMENT: the data end within an element");
  }
}

/* number, nodes */
static dkho_status read_elements(inp *f, const scan *head) {
  inp_shape shape;
  scan line;
  int32_t tag;
  TRY(inp_type(head, parameter(*head, "TYPE"), &shape));
  TRY(set_tag(f, parameter(*head, "ELSET"), &tag));
  while (next_data(f->s, &line)) {
    int32_t vert[RAW_SOLID_MAX];
    int64_t number, node;
    if (!shape.nodes) continue; /* springs, masses, … */
    TRY(next_number(f, &line, &number));
    for (int i = 0; i < shape.nodes; i++) {
      TRY(next_number(f, &line, &node));
      if (i >= shape.corners) continue;
      /* nodes are looked up at the end: they may come later */
      if (node < 0 || node > INT32_MAX) return scan_fail(&line, "*ELEMENT: node %lld", (long long)node);
      vert[i] = (int32_t)node;
    }
    f->mesh->report->count[MESH_HIGH_ORDER] += shape.nodes > shape.corners;
    TRY(ids_add(&f->element, number));
    TRY(raw_element(f->mesh, shape.shape, shape.corners, vert, tag));
  }
  return DKHO_OK;
}

static void join_set(inp *f, int64_t number, int32_t tag) {
  int32_t cell = ids_find(&f->element, number);
  if (cell >= 0 && f->mesh->cell[cell].tag == 0) f->mesh->cell[cell].tag = tag;
}

/* first, last, step: by what is fewer, the numbers or the elements there are. */
static void join_range(inp *f, const int64_t range[3], int32_t tag) {
  if (range[2] < 1 || range[0] < 0 || range[1] < range[0]) return;
  if ((range[1] - range[0]) / range[2] < f->element.n) {
    for (int64_t id = range[0]; id <= range[1] && id <= INT64_MAX - range[2]; id += range[2]) join_set(f, id, tag);
    return;
  }
  for (int64_t i = 0; i < f->element.n; i++) {
    int64_t id = f->element.entry[i].id;
    if (id >= range[0] && id <= range[1] && (id - range[0]) % range[2] == 0) join_set(f, id, tag);
  }
}

/* Element numbers, or with GENERATE ranges. Names of other sets are passed over. */
static dkho_status read_set(inp *f, const scan *head) {
  scan line;
  scan_view field;
  int32_t tag;
  int generate = parameter(*head, "GENERATE").n > 0;
  TRY(set_tag(f, parameter(*head, "ELSET"), &tag));
  ids_sort(&f->element);
  while (next_data(f->s, &line)) {
    int64_t number, range[3] = {0, -1, 1};
    for (int i = 0; next_field(&line, &field);) {
      if (!scan_view_int(field, &number)) continue;
      if (!generate) join_set(f, number, tag);
      if (i < 3) range[i++] = number;
    }
    if (generate) join_range(f, range, tag);
  }
  return DKHO_OK;
}

static dkho_status read_keyword(inp *f, scan *line) {
  scan head = *line;
  scan_view word;
  head.at++; /* the star */
  if (!next_field(&head, &word)) return DKHO_OK;
  if (scan_is_any_case(word, "INCLUDE"))
    return scan_fail(line, "*INCLUDE: other files are not read; put their lines in its place");
  static const char *const makers[] = {"NGEN", "NFILL", "NCOPY", "ELGEN", "ELCOPY"};
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
    if (scan_is_any_case(word, makers[i]))
      return scan_fail(line, "*%s: nodes and elements must be listed; those that Abaqus generates are not made",
                       makers[i]);
  if (scan_is_any_case(word, "PART") && f->parts++)
    return scan_fail(line, "a second *PART: write the assembly as one part without instances");
  if (scan_is_any_case(word, "NODE")) return read_nodes(f);
  if (scan_is_any_case(word, "ELEMENT")) return read_elements(f, &head);
  return scan_is_any_case(word, "ELSET") ? read_set(f, &head) : DKHO_OK;
}

/* Node numbers of elements into points. */
static dkho_status resolve_nodes(inp *f) {
  TRY(ids_seal(&f->node, f->s, "node"));
  for (int64_t i = 0; i < f->mesh->verts; i++) {
    int32_t point = ids_find(&f->node, f->mesh->vert[i]);
    if (point < 0) return scan_fail(f->s, "an element names node %d, which is not among the nodes", f->mesh->vert[i]);
    f->mesh->vert[i] = point;
  }
  return DKHO_OK;
}

static dkho_status read_file(inp *f) {
  scan line;
  scan_space(f->s);
  if (scan_left(f->s) && f->s->bytes[f->s->at] != '*')
    return scan_fail(
        f->s, "expected a keyword of Abaqus; meshio convert --input-format avsucd FILE mesh.vtu converts AVS-UCD");
  while (scan_line(f->s, &line, 0)) {
    scan_space(&line);
    if (!scan_left(&line) || line.bytes[line.at] != '*') continue; /* data of a keyword that was passed over */
    if (scan_left(&line) > 1 && line.bytes[line.at + 1] == '*') continue;
    TRY(read_keyword(f, &line));
  }
  return resolve_nodes(f);
}

dkho_status read_inp(raw *m, scan *s) {
  inp f = {.mesh = m, .s = s};
  dkho_status status = read_file(&f);
  ids_free(&f.node);
  ids_free(&f.element);
  mem_free(f.set);
  return status;
}
