/* main.c: `dkho VERB …`. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const verb *const verbs[] = {&verb_mesh,  &verb_data,      &verb_train, &verb_eval,   &verb_predict,
                                    &verb_view,  &verb_plot,      &verb_phase, &verb_models, &verb_reproduce,
                                    &verb_demo,  &verb_info,      &verb_sweep, &verb_bench,  &verb_pack,
                                    &verb_check, &verb_completion};
enum { VERBS = sizeof verbs / sizeof *verbs };

const verb *const *all_verbs(int *count) {
  *count = VERBS;
  return verbs;
}

static const verb *find_verb(const char *name) {
  for (int i = 0; i < VERBS; i++)
    if (strcmp(name, verbs[i]->name) == 0) return verbs[i];
  return NULL;
}

static int unknown_verb(const char *name) {
  suggestion near = {0};
  for (int i = 0; i < VERBS; i++) suggest(&near, name, verbs[i]->name);
  if (near.word) return misuse(NULL, "unknown verb '%s'; did you mean '%s'?", name, near.word);
  return misuse(NULL, "unknown verb '%s'", name);
}

static int show_options(const verb *v, options_printer *print) {
  char ask[] = "--help", *argv[] = {ask, NULL};
  print_options_with(print);
  int s = v->run(1, argv);
  print_options_with(NULL);
  return s;
}

void each_verb(options_printer *print) {
  for (int i = 0; i < VERBS; i++) show_options(verbs[i], print);
}

static int overview(void) {
  printf("dkho %s: " DKHO_SUMMARY "\n\nusage: dkho VERB …\n\n", dkho_version());
  for (int i = 0; i < VERBS; i++) printf("  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
  puts("\n`dkho help VERB` or `dkho VERB --help` explains a verb with examples; `dkho --version` prints the version.\n"
       "Exit status: 0 done, 1 failed, 2 bad usage, 75 stopped by SIGTERM with a checkpoint written.");
  return EXIT_DONE;
}

/* help [VERB] [--man | --verbs]: the text, its manual page, or the names of the verbs for scripts. */
static int help_on_verb(int argc, char **argv) {
  const verb *v = NULL;
  int man = 0, names = 0;
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "--man") == 0)
      man = 1;
    else if (strcmp(argv[i], "--verbs") == 0)
      names = 1;
    else if (v || argv[i][0] == '-')
      return misuse(NULL, "help: found '%s', expected one verb", argv[i]);
    else if (!(v = find_verb(argv[i])))
      return unknown_verb(argv[i]);
  }
  if (v) return show_options(v, man ? manual_verb : NULL);
  if (man) return manual_overview(VERBS, verbs), EXIT_DONE;
  for (int i = 0; names && i < VERBS; i++) puts(verbs[i]->name);
  return names ? EXIT_DONE : overview();
}

/* Whether the ranks of an MPI job do it together. The other verbs are the first rank's alone. */
static int is_shared(const verb *v) {
  return v == &verb_train || v == &verb_eval || v == &verb_data || v == &verb_sweep || v == &verb_bench ||
         v == &verb_predict;
}

int leave_ranks(void) {
  int rank = dkho_rank();
  dkho_ranks_stop();
  return rank;
}

static int run_verb(int argc, char **argv) {
  if (argc < 2) return misuse(NULL, "a verb is missing");
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return overview();
  if (strcmp(name, "help") == 0) return help_on_verb(argc - 2, argv + 2);
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) return puts(dkho_version()), EXIT_DONE;
  const verb *v = find_verb(name);
  if (!v) return unknown_verb(name);
  return is_shared(v) || leave_ranks() == 0 ? v->run(argc - 2, argv + 2) : EXIT_DONE;
}

/* Under an MPI launcher, or when asked: the other ranks. The first one prints. */
static int join_ranks(int argc, char **argv) {
  int wanted = 0;
  for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) wanted |= strcmp(argv[i], "--mpi") == 0;
  if (dkho_ranks_start(wanted) != DKHO_OK) return failed();
  if (dkho_rank() && !freopen("/dev/null", "w", stdout)) return EXIT_FAILED;
  return EXIT_DONE;
}

int main(int argc, char **argv) {
  int s = join_ranks(argc, argv);
  if (s == EXIT_DONE) s = run_verb(argc, argv);
  int bad = 0;
  while (s == EXIT_DONE && (bad = fflush(stdout) != 0) && errno == EINTR) continue;
  if (bad) {
    perror("dkho: cannot write to standard output");
    s = EXIT_FAILED;
  }
  dkho_ranks_stop();
  return s;
}
