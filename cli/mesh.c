/* mesh.c: `dkho mesh`: build or import a complex, report what it is, write it out. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_mesh(int argc, char **argv);
const verb verb_mesh = {
    "mesh",
    "build or import a complex; report counts, Betti numbers, quality",
    "darcy|torus|cavity|heat|reaction|planar|FILE [-o OUT]",
    "Builds one of the benchmark domains, a square with round holes (planar), or reads a mesh file: .msh, .vtu, .vtp,\n"
    ".vtk, .obj, .off, .stl, .ply, .mesh, .inp, .su2, .node/.ele, or a container written by dkho. Prints its topology,\n"
    "its quality and what was repaired. With -o it is written as a container (.st) or, for ParaView, as .vtm or .vtu.\n\n"
    "  dkho mesh darcy                                  the perforated square of the paper\n"
    "  dkho mesh torus --resolution smoke -o torus.vtu\n"
    "  dkho mesh planar --hole 0,0,0.3 --h-near 0.03 --h-far 0.1 -o disk.st\n"
    "  dkho mesh part.msh --bases 16 -o part.st            with its eigenvectors and harmonic fields\n"
    "  dkho mesh part.vtu --merge 1e-9 --repair --json     points made one, flat elements dropped",
    run_mesh,
};

/* "x,y,r" into three numbers. */
static int parse_hole(const char *text, double hole[3]) {
  char tail;
  return sscanf(text, "%lf,%lf,%lf%c", &hole[0], &hole[1], &hole[2], &tail) == 3;
}

static void print_line(const char *name, const char *value) {
  printf("  %-20s %s\n", name, value);
}

/* What a mesh file held, and what was repaired in it. */
static void print_import(const json_t *import) {
  char line[160];
  const char *key;
  json_t *count;
  if (!import) return;
  snprintf(line, sizeof line, "%s points; elements by dimension %s",
           grouped((int64_t)json_integer_value(json_object_get(import, "points"))),
           json_numbers(json_object_get(import, "elements")));
  print_line("in the file", line);
  json_object_foreach(json_object_get(import, "repairs"), key, count) {
    snprintf(line, sizeof line, "%s: %s", key, grouped((int64_t)json_integer_value(count)));
    print_line("repairs", line);
  }
}

/* A complex's description as a table. */
void print_complex(const json_t *d) {
  char line[160];
  const json_t *q = json_object_get(d, "quality");
  print_line("simplices", json_numbers(json_object_get(d, "simplices")));
  print_line("Betti numbers", json_numbers(json_object_get(d, "betti")));
  print_line("relative to boundary", json_numbers(json_object_get(d, "betti_relative")));
  snprintf(line, sizeof line, "%d (in %d-dimensional space)", (int)json_integer_value(json_object_get(d, "dimension")),
           (int)json_integer_value(json_object_get(d, "space")));
  print_line("dimension", line);
  snprintf(line, sizeof line, "%.6g", json_number_value(json_object_get(q, "total_measure")));
  print_line("total measure", line);
  snprintf(line, sizeof line, "%.4g / %.4g / %.4g", json_number_value(json_object_get(q, "edge_min")),
           json_number_value(json_object_get(q, "edge_mean")), json_number_value(json_object_get(q, "edge_max")));
  print_line("edge min/mean/max", line);
  snprintf(line, sizeof line, "%.1f … %.1f degrees", json_number_value(json_object_get(q, "min_angle")),
           json_number_value(json_object_get(q, "max_angle")));
  print_line("angles", line);
  snprintf(line, sizeof line, "%.2f (regular simplex: 1)", json_number_value(json_object_get(q, "worst_aspect")));
  print_line("worst aspect", line);
  print_line("boundary faces", grouped((int64_t)json_integer_value(json_object_get(q, "boundary_faces"))));
  if (json_integer_value(json_object_get(q, "nonmanifold_faces")) > 0)
    print_line("non-manifold faces", grouped((int64_t)json_integer_value(json_object_get(q, "nonmanifold_faces"))));
  print_line("oriented coherently", json_is_true(json_object_get(q, "oriented")) ? "yes" : "no");
  const json_t *bases = json_object_get(d, "bases");
  if (bases) {
    print_line("eigenvectors", json_numbers(json_object_get(bases, "spectral")));
    print_line("harmonic fields", json_numbers(json_object_get(bases, "harmonic")));
  }
  print_import(json_object_get(d, "import"));
  const json_t *labels = json_object_get(d, "labels");
  for (size_t i = 1; i < json_array_size(labels); i++) {
    const json_t *l = json_array_get(labels, i);
    snprintf(line, sizeof line, "%s: %s", json_text(l, "name"), json_numbers(json_object_get(l, "counts")));
    print_line(i == 1 ? "labels" : "", line);
  }
}

static int report_mesh(const dkho_complex *c, const char *name, int as_json) {
  char *text;
  if (dkho_complex_describe(c, &text) != DKHO_OK) return failed();
  if (as_json) {
    print_json(text);
    return EXIT_DONE;
  }
  json_t *d = json_loads(text, 0, NULL);
  dkho_text_free(text);
  printf("%s\n", name);
  print_complex(d);
  json_decref(d);
  return EXIT_DONE;
}

static int is_benchmark(const char *name) {
  json_t *list = problem_list();
  int found = problem_in(list, name) != NULL;
  json_decref(list);
  return found;
}

static int has_ending(const char *path, const char *ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n >= m && strcmp(path + n - m, ending) == 0;
}

static int run_mesh(int argc, char **argv) {
  const char *out = NULL, *resolution = "main";
  opt_list holes = {0};
  double half = 1, h_near = 0.05, h_far = 0.1, near = 0.05, far = 0.5;
  int64_t interior = 0, modes = 0;
  dkho_import_options import = {.tolerance = -1};
  const opt opts[] = {
      {"-o", OPT_TEXT, &out, "OUT", "write the complex (.st) or its ParaView form (.vtm: blocks; .vtu: one grid)"},
      {"--bases", OPT_INT, &modes, "K", "compute and store K eigenvectors per degree and the harmonic fields"},
      {"--repair", OPT_FLAG, &import.repair, NULL, "mesh file: drop elements without extent"},
      {"--merge", OPT_REAL, &import.tolerance, "TOL",
       "mesh file: merge points at most TOL apart (0: at the same place)"},
      {"--resolution", OPT_TEXT, &resolution, "R", "smoke or main (default) for the benchmark domains"},
      {"--hole", OPT_REPEAT, &holes, "X,Y,R", "planar: a hole; may be repeated"},
      {"--half", OPT_REAL, &half, "L", "planar: half the side of the square (default 1)"},
      {"--h-near", OPT_REAL, &h_near, "H", "planar: triangle size near holes (default 0.05)"},
      {"--h-far", OPT_REAL, &h_far, "H", "planar: triangle size away from them (default 0.1)"},
      {"--near", OPT_REAL, &near, "D", "planar: distance up to which h-near holds (default 0.05)"},
      {"--far", OPT_REAL, &far, "D", "planar: distance from which h-far holds (default 0.5)"},
      {"--interior", OPT_INT, &interior, "N", "planar: exactly this many interior vertices"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_mesh, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1) return misuse(&verb_mesh, "expected one domain or mesh file, found %d", nargs);
  if (out && (s = check_ending(&verb_mesh, out, ".st .safetensors .vtu .vtm"))) return s;
  if (modes > INT32_MAX) return misuse(&verb_mesh, "--bases: found %lld, too many", (long long)modes);
  static const char *const of_file[] = {"-o", "--bases", "--repair", "--merge", NULL}, *const of_benchmark[] = {
                                                                                           "-o", "--bases",
                                                                                           "--resolution", NULL};
  const char *name = args[0];
  int planar = strcmp(name, "planar") == 0, benchmark = is_benchmark(name);
  if ((planar || benchmark) && (import.repair || import.tolerance >= 0))
    return misuse(&verb_mesh, "--repair and --merge are for mesh files");
  if (planar && strcmp(resolution, "main") != 0)
    return misuse(&verb_mesh, "--resolution: belongs to the benchmark domains; planar has --h-near and --h-far");
  if (!planar && (s = only(&verb_mesh, opts, &shared, benchmark ? "belongs to planar" : "not for a mesh file",
                           benchmark ? of_benchmark : of_file)))
    return s;
  dkho_complex *c = NULL;
  dkho_status status;
  if (planar) {
    double hole[REPEAT_MAX][3];
    for (int i = 0; i < holes.count; i++)
      if (!parse_hole(holes.item[i], hole[i]))
        return misuse(&verb_mesh, "--hole: expected X,Y,R, found '%s'", holes.item[i]);
    status = dkho_complex_planar(&c, half, holes.count, (const double(*)[3])hole, h_near, h_far, near, far, interior);
  } else if (benchmark) {
    status = dkho_complex_generate(&c, name, resolution);
  } else {
    import.merge = import.tolerance >= 0;
    status = dkho_complex_import(&c, name, &import);
  }
  if (status == DKHO_OK && modes) status = dkho_complex_bases(c, (int)modes);
  if (status == DKHO_OK && out)
    status = has_ending(out, ".vtu") || has_ending(out, ".vtm") ? dkho_complex_export(c, out, shared.force, 0, NULL)
                                                                : dkho_complex_save(c, out, shared.force);
  s = status == DKHO_OK ? report_mesh(c, name, shared.json) : failed();
  dkho_complex_free(c);
  return s;
}
