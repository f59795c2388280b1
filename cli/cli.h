/* cli.h: what the verbs of the command line share. The tool uses dkho.h and nothing else of the library. */
#ifndef CLI_H
#define CLI_H

#include "dkho.h"

#include <jansson.h>
#include <stdio.h>

/* Exit statuses: 0 done, 1 failed, 2 bad usage, 75 (EX_TEMPFAIL) stopped by a scheduler: to be continued. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_LATER = 75 };

typedef enum { OPT_FLAG, OPT_INT, OPT_REAL, OPT_TEXT, OPT_REPEAT } opt_kind;
enum { REPEAT_MAX = 64 };
/* The values of a repeatable text option. */
typedef struct opt_list {
  int count;
  const char *item[REPEAT_MAX];
} opt_list;
typedef struct opt {
  const char *name; /* "--force" */
  opt_kind kind;
  void *value;      /* int, int64_t, double, const char *, opt_list by kind */
  const char *meta; /* "N", "FILE"; NULL for flags */
  const char *help;
} opt;

typedef struct verb {
  const char *name, *summary;
  const char *usage; /* after "dkho NAME " */
  const char *help;  /* what it does, with examples */
  int (*run)(int argc, char **argv);
} verb;

/* What common.help says: the help was printed as text, or its tables went to another printer. */
enum { HELP_TEXT = 1, HELP_TABLES = 2 };

/* Options every verb has. */
typedef struct common {
  int json, force, quiet, help, mpi;
  int64_t seed, threads;
  uint64_t given; /* which of the verb's own options, by place */
} common;

/* Splits argv into options and positional arguments (kept in *args, *nargs). Returns EXIT_DONE, or EXIT_USAGE after
 * saying what is wrong; common->help is set when help was asked for and printed. opts ends with a NULL name. */
int parse(const verb *v, const opt *opts, common *shared, int argc, char **argv, char ***args, int *nargs);

/* What happens to a verb's tables when its help is asked for; the default prints the help. */
typedef void options_printer(const verb *v, const opt *opts, const opt *shared);
void print_options_with(options_printer *print); /* NULL: the default */
/* Hands the tables of every verb to `print`, in the order of the overview. */
void each_verb(options_printer *print);
const verb *const *all_verbs(int *count);

/* manual.c: pages in roff on stdout. */
#define DKHO_SUMMARY "learn solution operators of PDEs on meshes with holes, tunnels and cavities"
void manual_verb(const verb *v, const opt *opts, const opt *shared);
void manual_overview(int count, const verb *const *verbs);

/* The nearest of the known words to a mistyped one; zero-initialise, offer every known word, look at `word` (NULL: none is near). */
typedef struct suggestion {
  const char *word;
  int distance;
} suggestion;
void suggest(suggestion *s, const char *word, const char *known);

/* Refuses an output whose name has none of these endings (".st .vtu"). */
int check_ending(const verb *v, const char *path, const char *endings);

/* Refuses an option of the verb's own that was given but is none of `allowed` (up to NULL), saying why. */
int only(const verb *v, const opt *opts, const common *shared, const char *why, const char *const *allowed);

/* An option's value as an int, refused unless 0 … limit. */
int whole(const verb *v, const char *name, int64_t value, int64_t limit, int *out);

/* Says why the last library call failed; returns EXIT_FAILED. */
int failed(void);
/* Says what is wrong with the request; returns EXIT_USAGE. */
int misuse(const verb *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Log lines and progress to stderr: a bar with rate and time left on a terminal, plain lines otherwise. */
void meter_install(int quiet);
/* Ends a bar in progress so that other output starts on its own line. */
void meter_end(void);
/* From here on every rank of an MPI job is on its own; returns which this one was. */
int leave_ranks(void);

/* Ctrl-C sets a flag instead of ending the process (a second one ends it); stop_asked is the poll that the library wants. */
void stop_watch(void);
int stop_asked(void *user);
int stop_by_scheduler(void); /* whether SIGTERM asked for it */

/* The models by name and summary, with their options if asked for; name NULL: all of them. */
int print_models(const char *name, int options);

/* A text file that appears under its name whole, at the end, or not at all; path is borrowed. */
typedef struct whole_file {
  const char *path;
  char temp[4096];
  FILE *file;
} whole_file;
FILE *whole_begin(whole_file *w, const char *path); /* NULL: it cannot be made */
int whole_end(whole_file *w, int bad);              /* bad: leave nothing; EXIT_DONE or EXIT_FAILED */

/* The benchmarks that the library has (dkho_problem_list), a new reference; NULL after a failure. */
json_t *problem_list(void);
/* The member of this name, borrowed, or NULL. */
const json_t *problem_in(const json_t *list, const char *name);

/* Prints text as it is, and frees it. */
void print_json(char *json);
/* The member as text, "" when absent. */
const char *json_text(const json_t *object, const char *key);
/* "[1, 2, 0]" of an array of integers as "1 2 0" in a rotating static buffer. */
const char *json_numbers(const json_t *array);
/* 16013 as "16,013", in a rotating static buffer. */
const char *grouped(int64_t n);

/* A complex description as a table. */
void print_complex(const json_t *description);

/* Any description as a table, headed by its name; frees the text. */
void print_description(const char *name, char *json);

extern const verb verb_mesh, verb_info, verb_data, verb_train, verb_models, verb_eval, verb_predict, verb_view,
    verb_plot, verb_phase, verb_reproduce, verb_demo, verb_sweep, verb_bench, verb_pack, verb_check, verb_completion;

#endif
