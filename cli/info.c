/* info.c: `dkho info`: what is in a file or a run. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);
const verb verb_info = {
    "info",
    "what is in a file or a run",
    "FILE|RUN",
    "Describes a complex, a data set, a model, a checkpoint, a run directory, or a mesh file.\n\n"
    "  dkho info torus.st\n"
    "  dkho info darcy.st --json",
    run,
};

/* Nested objects and arrays with two spaces per level; numbers as they are. */
static void print_tree(const json_t *v, const char *key, int depth) {
  if (json_is_object(v)) {
    if (key) printf("%*s%s\n", 2 * depth, "", key);
    const char *k;
    json_t *m;
    json_object_foreach((json_t *)(uintptr_t)v, k, m) print_tree(m, k, depth + 1);
    return;
  }
  char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
  if (json_is_string(v))
    printf("%*s%-20s %s\n", 2 * depth, "", key, json_string_value(v));
  else
    printf("%*s%-20s %.200s\n", 2 * depth, "", key ? key : "", text ? text : "");
  free(text);
}

static int run(int argc, char **argv) {
  const opt opts[] = {{0}};
  common shared;
  char **args, *text;
  int nargs, s = parse(&verb_info, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1) return misuse(&verb_info, "expected one file or run directory, found %d", nargs);
  if (dkho_describe(args[0], &text) != DKHO_OK) return failed();
  if (shared.json) {
    print_json(text);
    return EXIT_DONE;
  }
  json_t *d = json_loads(text, 0, NULL);
  dkho_text_free(text);
  printf("%s: %s\n", args[0], json_text(d, "kind"));
  if (strcmp(json_text(d, "kind"), "complex") == 0)
    print_complex(d);
  else
    print_tree(d, NULL, 0);
  json_decref(d);
  return EXIT_DONE;
}
