/* args.c: options of the command line, and help made from the same table. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_option(const opt *o) {
  char left[64];
  snprintf(left, sizeof left, "%s%s%s", o->name, o->meta ? " " : "", o->meta ? o->meta : "");
  printf("  %-24s %s\n", left, o->help);
}

static void print_help(const verb *v, const opt *opts, const opt *shared) {
  printf("usage: dkho %s %s\n\n%s\n\n", v->name, v->usage, v->help);
  if (opts->name) puts("options:");
  for (; opts->name; opts++) print_option(opts);
  puts("common options:");
  for (; shared->name; shared++) print_option(shared);
}

static options_printer *printer = print_help;

void print_options_with(options_printer *print) {
  printer = print ? print : print_help;
}

int misuse(const verb *v, const char *fmt, ...) {
  va_list args;
  if (dkho_rank()) return EXIT_USAGE;
  fputs("dkho: ", stderr);
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  if (v)
    fprintf(stderr, "\nusage: dkho %s %s\n       see dkho %s --help\n", v->name, v->usage, v->name);
  else
    fputs("\n       see dkho --help\n", stderr);
  return EXIT_USAGE;
}

int failed(void) {
  meter_end();
  if (dkho_rank()) return EXIT_FAILED; /* all ranks fail alike */
  fprintf(stderr, "dkho: %s%s\n", dkho_error(),
          strstr(dkho_error(), "exists already; it is kept") ? " (--force replaces it)" : "");
  return EXIT_FAILED;
}

static int set_value(const verb *v, const opt *o, const char *text) {
  char *end = NULL;
  errno = 0;
  switch (o->kind) {
  case OPT_INT: {
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end || n < 0) return misuse(v, "%s: '%s' is not a whole number ≥ 0", o->name, text);
    *(int64_t *)o->value = n;
    return EXIT_DONE;
  }
  case OPT_REAL: {
    double d = strtod(text, &end);
    if (errno || end == text || *end || !(d >= 0 && isfinite(d)))
      return misuse(v, "%s: '%s' is not a number ≥ 0", o->name, text);
    *(double *)o->value = d;
    return EXIT_DONE;
  }
  case OPT_REPEAT: {
    opt_list *list = o->value;
    if (list->count == REPEAT_MAX) return misuse(v, "%s: given more than %d times", o->name, REPEAT_MAX);
    list->item[list->count++] = text;
    return EXIT_DONE;
  }
  case OPT_TEXT:
    *(const char **)o->value = text;
    return EXIT_DONE;
  case OPT_FLAG: /* has no value */
    break;
  }
  return EXIT_USAGE;
}

static const opt *find_option(const opt *opts, const char *name, size_t length) {
  for (; opts->name; opts++)
    if (strlen(opts->name) == length && strncmp(opts->name, name, length) == 0) return opts;
  return NULL;
}

static int unknown_option(const verb *v, const opt *opts, const opt *shared, const char *given, size_t length) {
  char word[64];
  suggestion near = {0};
  snprintf(word, sizeof word, "%.*s", (int)length, given);
  for (; opts->name; opts++) suggest(&near, word, opts->name);
  for (; shared->name; shared++) suggest(&near, word, shared->name);
  if (near.word) return misuse(v, "unknown option '%s'; did you mean '%s'?", given, near.word);
  return misuse(v, "unknown option '%s'", given);
}

int parse(const verb *v, const opt *opts, common *shared, int argc, char **argv, char ***args, int *nargs) {
  const opt everywhere[] = {
      {"--json", OPT_FLAG, &shared->json, NULL, "print JSON instead of text"},
      {"--seed", OPT_INT, &shared->seed, "N", "random seed (default 42)"},
      {"--threads", OPT_INT, &shared->threads, "N", "threads (default: one per core); never changes a result"},
      {"--force", OPT_FLAG, &shared->force, NULL, "replace files that exist (never a run or a study)"},
      {"--mpi", OPT_FLAG, &shared->mpi, NULL, "join MPI even if no launcher is noticed (mpirun and srun are)"},
      {"--quiet", OPT_FLAG, &shared->quiet, NULL, "no progress display (data: no summary either)"},
      {"--help", OPT_FLAG, &shared->help, NULL, "this text; also -h"},
      {0},
  };
  *shared = (common){.seed = 42};
  int count = 0;
  while (opts[count].name) count++;
  *nargs = 0;
  *args = argv; /* positional arguments are moved to the front */
  for (int i = 0, plain = 0; i < argc; i++) {
    const char *a = argv[i];
    if (plain || a[0] != '-' || a[1] == 0) {
      argv[(*nargs)++] = argv[i];
      continue;
    }
    if (strcmp(a, "-h") == 0) {
      shared->help = 1;
      continue;
    }
    if (strcmp(a, "--") == 0) {
      plain = 1;
      continue;
    }
    const char *equals = strchr(a, '=');
    size_t length = equals ? (size_t)(equals - a) : strlen(a);
    const opt *o = find_option(opts, a, length);
    if (!o) o = find_option(everywhere, a, length);
    if (!o) return unknown_option(v, opts, everywhere, a, length);
    if (o >= opts && o < opts + count) shared->given |= UINT64_C(1) << (o - opts);
    if (o->kind == OPT_FLAG) {
      if (equals) return misuse(v, "%s takes no value", o->name);
      *(int *)o->value = 1;
      continue;
    }
    const char *text = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
    if (!text) return misuse(v, "%s needs a value (%s)", o->name, o->meta);
    int s = set_value(v, o, text);
    if (s != EXIT_DONE) return s;
  }
  if (shared->help) {
    printer(v, opts, everywhere);
    shared->help = printer == print_help ? HELP_TEXT : HELP_TABLES;
  } else if (shared->threads > 1024)
    return misuse(v, "--threads: expected 0 … 1024");
  meter_install(shared->quiet || shared->json);
  if (dkho_rank() == 0 && strcmp(dkho_ranks_library(), "serial") != 0 && !shared->quiet && !shared->help)
    fprintf(stderr, "dkho: %d rank%s (%s)\n", dkho_ranks(), dkho_ranks() == 1 ? "" : "s", dkho_ranks_library());
  return EXIT_DONE;
}

int only(const verb *v, const opt *opts, const common *shared, const char *why, const char *const *allowed) {
  for (int i = 0; opts[i].name; i++) {
    int fine = !(shared->given >> i & 1);
    for (const char *const *a = allowed; *a && !fine; a++) fine = strcmp(*a, opts[i].name) == 0;
    if (!fine) return misuse(v, "%s: %s", opts[i].name, why);
  }
  return EXIT_DONE;
}

int whole(const verb *v, const char *name, int64_t value, int64_t limit, int *out) {
  if (value < 0 || value > limit)
    return misuse(v, "%s: found %lld, expected 0 … %lld", name, (long long)value, (long long)limit);
  *out = (int)value;
  return EXIT_DONE;
}

int check_ending(const verb *v, const char *path, const char *endings) {
  size_t length = strlen(path);
  for (const char *e = endings; *e;) {
    size_t n = strcspn(e, " ");
    if (length > n && strncmp(path + length - n, e, n) == 0) return EXIT_DONE;
    e += n + strspn(e + n, " ");
  }
  return misuse(v, "-o: '%s' has none of the endings that are written: %s", path, endings);
}
