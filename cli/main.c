/* main.c: `dkho VERB …`. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static const verb *const verbs[] = {&verb_mesh, &verb_data,  &verb_train,  &verb_eval,      &verb_predict,
                                    &verb_view, &verb_phase, &verb_models, &verb_reproduce, &verb_demo,
                                    &verb_info, &verb_bench, &verb_pack,   &verb_check};
enum { VERBS = sizeof verbs / sizeof *verbs };

static int help(void) {
  printf(
      "dkho %s: learn solution operators of PDEs on meshes with holes, tunnels and cavities\n\nusage: dkho VERB …\n\n",
      dkho_version());
  for (int i = 0; i < VERBS; i++) printf("  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
  puts("\n`dkho VERB --help` explains a verb with examples.\nExit status: 0 done, 1 failed, 2 bad usage.");
  return EXIT_DONE;
}

int main(int argc, char **argv) {
  if (argc < 2) return misuse(NULL, "a verb is missing");
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) return help();
  if (strcmp(name, "--version") == 0) return puts(dkho_version()), EXIT_DONE;
  for (int i = 0; i < VERBS; i++)
    if (strcmp(name, verbs[i]->name) == 0) {
      int s = verbs[i]->run(argc - 2, argv + 2);
      if (s == EXIT_DONE && fflush(stdout) != 0) {
        perror("dkho: cannot write to standard output");
        return EXIT_FAILED;
      }
      return s;
    }
  return misuse(NULL, "unknown verb '%s'", name);
}
