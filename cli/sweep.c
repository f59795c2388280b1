/* sweep.c: `dkho sweep`: many trainings from one specification, each on one rank, or as the tasks of a Slurm array. A run that is finished
 * is left alone, one that was stopped goes on: so the same command continues. */
#include "cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOBS_MAX = 100000, NAME_ROOM = 512, TEXT_ROOM = 64, PATH_ROOM = 4096 };

static int run_sweep(int argc, char **argv);
const verb verb_sweep = {
    "sweep",
    "train many models from one specification, over ranks or as a Slurm array",
    "SPEC.json [-o DIR] | --slurm SCRIPT --tasks N | --table",
    "SPEC.json names the data set, settings that all runs share, and lists of settings; every combination is trained:\n\n"
    "  {\"data\": \"darcy.st\", \"fixed\": {\"epochs\": 10},\n"
    "   \"over\": {\"target\": [\"p\", \"q\"], \"size\": [\"small\", \"large\"], \"seed\": [1, 2, 3]}}\n\n"
    "Keys are target, model, size, variant, profile, metric, optimizer, schedule, epochs, batch, warmup, train_samples,\n"
    "lr, weight_decay, clip, ema, minutes, seed; any other is an option of the model. Runs become folders of DIR\n"
    "(default: the specification's name without .json), table.csv in it lists what is finished. The ranks of an MPI job take\n"
    "the runs in turn; --slurm writes the script of an array of N tasks instead. Stopped, the same command continues.\n\n"
    "  dkho sweep seeds.json -o seeds\n"
    "  mpirun -n 8 dkho sweep seeds.json -o seeds --threads 1\n"
    "  dkho sweep seeds.json -o seeds --slurm seeds.sh --tasks 20 && sbatch seeds.sh",
    run_sweep,
};

/* What is asked for: of `jobs` combinations those with number % parts == part. */
typedef struct sweep {
  json_t *spec, *over;
  const char *path, *data, *dir;
  int64_t jobs, part, parts;
  int threads;
} sweep;

static int refuse(const sweep *s, const char *what) {
  if (dkho_rank() == 0) fprintf(stderr, "dkho: %s: %s\n", s->path, what);
  return EXIT_FAILED;
}

/* The value of list `key` in combination `job`; the last list turns fastest. */
static const json_t *value_of(const sweep *s, const char *key, int64_t job) {
  const char *name;
  json_t *list;
  int64_t block = s->jobs;
  json_object_foreach(s->over, name, list) {
    block /= (int64_t)json_array_size(list);
    if (strcmp(name, key) == 0) return json_array_get(list, (size_t)(job / block) % json_array_size(list));
  }
  return json_object_get(json_object_get(s->spec, "fixed"), key);
}

/* As few digits as say the number exactly: two numbers never make one text. */
static void text_of_real(double x, char *out, size_t size) {
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(out, size, "%.*g", digits, x);
    if (strtod(out, NULL) == x) return;
  }
}

static void text_of(const json_t *v, char *out, size_t size) {
  if (json_is_string(v))
    snprintf(out, size, "%s", json_string_value(v));
  else if (json_is_integer(v))
    snprintf(out, size, "%lld", (long long)json_integer_value(v));
  else if (json_is_real(v))
    text_of_real(json_real_value(v), out, size);
  else
    snprintf(out, size, "%s", json_is_true(v) ? "true" : "false");
}

/* Adds text to a folder's name; what one should not hold as %XX, so that no two combinations share a folder. */
static void add_text(char out[NAME_ROOM], const char *text) {
  size_t used = strlen(out);
  for (const unsigned char *c = (const unsigned char *)text; *c && used + 4 < NAME_ROOM; c++)
    used += (size_t)snprintf(out + used, 4, *c <= ' ' || strchr("/%,\177", *c) ? "%%%02X" : "%c", *c);
}

static void add_mark(char out[NAME_ROOM], char mark) {
  size_t used = strlen(out);
  if (used + 1 < NAME_ROOM) out[used] = mark, out[used + 1] = 0;
}

/* "target=q,seed=3"; the checks of open_sweep keep it short enough. */
static void name_of(const sweep *s, int64_t job, char out[NAME_ROOM]) {
  const char *key;
  json_t *list;
  out[0] = 0;
  json_object_foreach(s->over, key, list) {
    char text[TEXT_ROOM];
    text_of(value_of(s, key, job), text, sizeof text);
    if (out[0]) add_mark(out, ',');
    add_text(out, key);
    add_mark(out, '=');
    add_text(out, text);
  }
}

/* Texts, numbers, true and false, none longer than what fits. */
static int is_setting(const json_t *v) {
  if (json_is_string(v)) return strlen(json_string_value(v)) < TEXT_ROOM;
  return json_is_number(v) || json_is_boolean(v);
}

/* Two values that make one text would be two runs in one folder. */
static int has_twins(const json_t *list) {
  json_t *seen = json_object(), *v;
  size_t i;
  char text[TEXT_ROOM];
  json_array_foreach(list, i, v) {
    text_of(v, text, sizeof text);
    json_object_set_new(seen, text, json_true());
  }
  int twins = json_object_size(seen) != json_array_size(list);
  json_decref(seen);
  return twins;
}

/* Whether all settings are such, and the longest name that they make is one of a folder. */
static const char *wrong_settings(const sweep *s) {
  const char *key;
  json_t *list, *v;
  size_t i, length = 0;
  json_object_foreach(s->over, key, list) {
    size_t longest = 0;
    json_array_foreach(list, i, v) {
      char text[TEXT_ROOM], name[NAME_ROOM] = "";
      if (!is_setting(v)) return "\"over\": expected numbers, true, false, and texts of at most 63 bytes";
      text_of(v, text, sizeof text);
      add_text(name, text);
      longest = strlen(name) > longest ? strlen(name) : longest;
    }
    if (has_twins(list)) return "\"over\": a list holds the same value twice";
    char name[NAME_ROOM] = "";
    add_text(name, key);
    length += strlen(name) + longest + 2;
  }
  v = json_object_get(s->spec, "fixed");
  if (v && !json_is_object(v)) return "\"fixed\": expected an object of settings";
  json_object_foreach(json_object_get(s->spec, "fixed"), key, v)
    if (!is_setting(v)) return "\"fixed\": expected numbers, true, false, and texts of at most 63 bytes";
  return length > 250 ? "\"over\": the settings of a run make a name of more than 250 bytes" : NULL;
}

static int open_sweep(sweep *s) {
  json_error_t where;
  const char *key;
  json_t *list;
  s->spec = json_load_file(s->path, JSON_REJECT_DUPLICATES, &where);
  if (!s->spec) return refuse(s, where.text);
  s->data = json_string_value(json_object_get(s->spec, "data"));
  s->over = json_object_get(s->spec, "over");
  if (!s->data) return refuse(s, "\"data\": expected the path of a data set");
  if (!json_is_object(s->over) || !json_object_size(s->over))
    return refuse(s, "\"over\": expected an object of lists, found none");
  json_object_foreach(s->spec, key, list)
    if (strcmp(key, "data") != 0 && strcmp(key, "over") != 0 && strcmp(key, "fixed") != 0)
      return refuse(s, "expected the keys data, fixed and over only");
  s->jobs = 1;
  json_object_foreach(s->over, key, list) {
    if (!json_array_size(list)) return refuse(s, "\"over\": a value is not a list, or empty");
    s->jobs *= (int64_t)json_array_size(list);
    if (s->jobs > JOBS_MAX) return refuse(s, "more than 100000 combinations");
  }
  const char *wrong = wrong_settings(s);
  return wrong ? refuse(s, wrong) : EXIT_DONE;
}

/* Options of one run; what is no option of training belongs to the model. */
typedef struct job_options {
  dkho_train_options o;
  char text[64][128];
  const char *model[65];
  int models;
} job_options;

static int set_count(const json_t *v, int *to) {
  json_int_t n = json_integer_value(v);
  *to = (int)n;
  return json_is_integer(v) && n >= 0 && n <= INT_MAX;
}

static int set_option(job_options *j, const char *key, const json_t *v) {
  const struct {
    const char *key, **to;
  } texts[] = {{"target", &j->o.target},       {"model", &j->o.model},       {"size", &j->o.size},
               {"variant", &j->o.variant},     {"profile", &j->o.profile},   {"metric", &j->o.metric},
               {"optimizer", &j->o.optimizer}, {"schedule", &j->o.schedule}, {"from", &j->o.from_model}};
  const struct {
    const char *key;
    int *to;
  } counts[] = {{"epochs", &j->o.epochs}, {"batch", &j->o.batch}, {"warmup", &j->o.warmup}, {"modes", &j->o.modes}};
  const struct {
    const char *key;
    double *to;
  } reals[] = {{"lr", &j->o.lr},
               {"weight_decay", &j->o.weight_decay},
               {"clip", &j->o.clip},
               {"ema", &j->o.ema},
               {"minutes", &j->o.minutes}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(key, texts[i].key) == 0) return *texts[i].to = json_string_value(v), json_is_string(v);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (strcmp(key, counts[i].key) == 0) return set_count(v, counts[i].to);
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
    if (strcmp(key, reals[i].key) == 0) return *reals[i].to = json_number_value(v), json_is_number(v);
  if (strcmp(key, "seed") == 0) return j->o.seed = (uint64_t)json_integer_value(v), json_is_integer(v);
  if (strcmp(key, "train_samples") == 0) return j->o.train_samples = json_integer_value(v), json_is_integer(v);
  char text[TEXT_ROOM];
  if (j->models == 64) return 0;
  text_of(v, text, sizeof text);
  snprintf(j->text[j->models], sizeof *j->text, "%.60s=%s", key, text);
  j->model[j->models] = j->text[j->models];
  j->models++;
  return 1;
}

static int fill_options(const sweep *s, int64_t job, job_options *j) {
  json_t *fixed = json_object_get(s->spec, "fixed"), *v;
  const char *key, *bad = NULL;
  *j = (job_options){.models = 0};
  dkho_train_defaults(&j->o);
  json_object_foreach(fixed, key, v)
    if (!json_object_get(s->over, key) && !set_option(j, key, v)) bad = key;
  json_object_foreach(s->over, key, v)
    if (!set_option(j, key, value_of(s, key, job))) bad = key;
  j->o.options = j->model;
  j->o.threads = s->threads;
  j->o.stop = stop_asked;
  if (bad) fprintf(stderr, "dkho: %s: \"%s\": the value has the wrong type or size\n", s->path, bad);
  return bad ? EXIT_FAILED : EXIT_DONE;
}

static int exists_in(const char *dir, const char *name) {
  char path[PATH_ROOM + 64];
  struct stat st;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return stat(path, &st) == 0;
}

/* One run, begun or continued. A failure is told and does not keep the others from running. */
static int train_one(const sweep *s, int64_t job) {
  char name[NAME_ROOM], dir[PATH_ROOM];
  job_options j;
  name_of(s, job, name);
  snprintf(dir, sizeof dir, "%.3000s/%s", s->dir, name);
  if (exists_in(dir, "result.json")) return EXIT_DONE;
  if (fill_options(s, job, &j) != EXIT_DONE) return EXIT_FAILED;
  fprintf(stderr, "dkho: %s (%lld of %lld)\n", name, (long long)job + 1, (long long)s->jobs);
  dkho_status st = exists_in(dir, "config.json") ? dkho_train_resume(dir, NULL, &j.o) : dkho_train(s->data, dir, &j.o);
  meter_end();
  if (st == DKHO_OK) return EXIT_DONE;
  failed();
  return st == DKHO_E_STOPPED ? (stop_by_scheduler() ? EXIT_LATER : EXIT_FAILED) : EXIT_FAILED;
}

/* NULL: there is none, or (*broken) it cannot be read. */
static json_t *result_of(const sweep *s, const char *name, int *broken) {
  char dir[PATH_ROOM], path[PATH_ROOM + 64];
  snprintf(dir, sizeof dir, "%.3000s/%s", s->dir, name);
  snprintf(path, sizeof path, "%s/result.json", dir);
  json_t *r = json_load_file(path, 0, NULL);
  if (r || !exists_in(dir, "result.json")) return r;
  fprintf(stderr, "dkho: %s: cannot be read\n", path);
  *broken = 1;
  return NULL;
}

/* A cell of a .csv, in quotes where it needs them. */
static void print_cell(const char *text, FILE *f) {
  if (!strpbrk(text, ",\"\n\r")) {
    fputs(text, f);
    return;
  }
  fputc('"', f);
  for (const char *c = text; *c; c++) fputs((const char[]){*c, *c == '"' ? '"' : 0, 0}, f);
  fputc('"', f);
}

/* One line for every finished run: its settings, parameters, validation and test error, seconds. */
static int print_sweep_table(const sweep *s, FILE *f, int64_t *finished) {
  const char *key;
  json_t *list;
  int broken = 0;
  *finished = 0;
  json_object_foreach(s->over, key, list) fprintf(f, "%s,", key);
  fputs("parameters,val_rel_l2,test_rel_l2,seconds\n", f);
  for (int64_t job = 0; job < s->jobs; job++) {
    char name[NAME_ROOM], text[TEXT_ROOM];
    name_of(s, job, name);
    json_t *r = result_of(s, name, &broken);
    if (!r) continue;
    json_object_foreach(s->over, key, list) {
      text_of(value_of(s, key, job), text, sizeof text);
      print_cell(text, f);
      fputc(',', f);
    }
    const json_t *test = json_object_get(json_object_get(json_object_get(r, "test"), "metrics"), "rel_l2");
    fprintf(f, "%lld,%.9g,%.9g,%.1f\n", (long long)json_integer_value(json_object_get(r, "parameters")),
            json_number_value(json_object_get(r, "val_rel_l2")), json_number_value(test),
            json_number_value(json_object_get(r, "seconds")));
    json_decref(r);
    ++*finished;
  }
  return broken || ferror(f) ? EXIT_FAILED : EXIT_DONE;
}

/* table.csv, replaced as a whole: several ranks may end at the same time. */
static int write_table(const sweep *s, int64_t *finished) {
  char path[PATH_ROOM];
  whole_file w;
  snprintf(path, sizeof path, "%.3000s/table.csv", s->dir);
  FILE *f = whole_begin(&w, path);
  int bad = !f || print_sweep_table(s, f, finished) != EXIT_DONE;
  if (whole_end(&w, bad) == EXIT_DONE) return EXIT_DONE;
  fprintf(stderr, "dkho: %s: cannot be written\n", path);
  return EXIT_FAILED;
}

static void print_slurm(const sweep *s, FILE *f, int64_t tasks) {
  fprintf(f,
          "#!/bin/bash\n#SBATCH --array=0-%lld\n#SBATCH --ntasks=1 --cpus-per-task=%d --requeue --signal=B:TERM@120\n"
          "# %lld runs of %s; sbatch this file again to continue. Status 75: stopped with checkpoints written.\n"
          "dkho sweep '%s' -o '%s' --threads \"$SLURM_CPUS_PER_TASK\" --part \"$SLURM_ARRAY_TASK_ID\" --tasks %lld &\n"
          "trap 'kill -TERM $!' TERM\nwait $!; status=$?\nif [ $status -gt 128 ]; then wait $!; status=$?; fi\n"
          "[ $status = 75 ] && scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\nexit $status\n",
          (long long)tasks - 1, s->threads > 0 ? s->threads : 1, (long long)s->jobs, s->path, s->path, s->dir,
          (long long)tasks);
}

/* Names stand in quotes in the script. */
static int cannot_quote(const char *name) {
  if (!strpbrk(name, "'\n")) return 0;
  fprintf(stderr, "dkho: %s: a name in a script may hold no ' and no line end\n", name);
  return 1;
}

static int write_slurm(const sweep *s, const char *script, int64_t tasks, int force) {
  if (cannot_quote(s->path) || cannot_quote(s->dir)) return EXIT_FAILED;
  if (!force && access(script, F_OK) == 0) {
    fprintf(stderr, "dkho: %s: exists already; it is kept (--force replaces it)\n", script);
    return EXIT_FAILED;
  }
  whole_file w;
  FILE *f = whole_begin(&w, script);
  if (f) print_slurm(s, f, tasks);
  if (whole_end(&w, 0) != EXIT_DONE) {
    fprintf(stderr, "dkho: %s: cannot be written\n", script);
    return EXIT_FAILED;
  }
  printf("%s: %lld tasks for %lld runs\n", script, (long long)tasks, (long long)s->jobs);
  return EXIT_DONE;
}

static int train_all(sweep *s) {
  int worst = EXIT_DONE;
  int64_t finished = 0;
  mkdir(s->dir, 0777);
  stop_watch();
  for (int64_t job = s->part; job < s->jobs; job += s->parts) {
    int one = train_one(s, job);
    if (one != EXIT_DONE) worst = one;
    if (stop_asked(NULL)) break;
  }
  int written = write_table(s, &finished);
  if (written == EXIT_DONE)
    printf("%s/table.csv: %lld of %lld runs\n", s->dir, (long long)finished, (long long)s->jobs);
  return worst ? worst : written;
}

static int run_sweep(int argc, char **argv) {
  const char *dir = NULL, *slurm = NULL;
  char own[PATH_ROOM];
  int64_t tasks = 1, part = 0, finished = 0;
  int table = 0;
  const opt opts[] = {
      {"-o", OPT_TEXT, &dir, "DIR", "folder of the runs"},
      {"--slurm", OPT_TEXT, &slurm, "SCRIPT", "write the script of a Slurm array instead of training"},
      {"--tasks", OPT_INT, &tasks, "N", "tasks that share the runs (default 1)"},
      {"--part", OPT_INT, &part, "I", "train every N-th run from number I on (0 … N-1)"},
      {"--table", OPT_FLAG, &table, NULL, "print the table of what is finished, as CSV, and train nothing"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_sweep, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1) return misuse(&verb_sweep, "expected one specification");
  if (tasks < 1 || tasks > JOBS_MAX || part >= tasks) return misuse(&verb_sweep, "--part: expected 0 … tasks-1");
  size_t length = strlen(args[0]);
  int bare = length > 5 && strcmp(args[0] + length - 5, ".json") == 0 ? (int)length - 5 : (int)length;
  snprintf(own, sizeof own, "%.*s%s", bare, args[0], bare == (int)length ? ".runs" : "");
  sweep w = {.path = args[0], .dir = dir ? dir : own, .threads = (int)shared.threads};
  w.part = part * dkho_ranks() + dkho_rank(), w.parts = tasks * dkho_ranks();
  if (dkho_ranks() > 1 && !w.threads) w.threads = 1;
  dkho_ranks_stop(); /* from here on every rank works for itself */
  s = open_sweep(&w);
  if (s == EXIT_DONE && slurm)
    s = write_slurm(&w, slurm, tasks, shared.force);
  else if (s == EXIT_DONE)
    s = table ? print_sweep_table(&w, stdout, &finished) : train_all(&w);
  json_decref(w.spec);
  return s;
}
