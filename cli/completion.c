/* completion.c: `dkho completion`: completion scripts for bash, zsh and fish, from the same tables as --help. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int run_completion(int argc, char **argv);
const verb verb_completion = {
    "completion",
    "completion script for bash, zsh or fish",
    "bash|zsh|fish",
    "Prints a script that completes verbs, options and file names. `make install` puts all three in place.\n\n"
    "  source <(dkho completion bash)\n"
    "  dkho completion zsh >~/.zfunc/_dkho\n"
    "  dkho completion fish >~/.config/fish/completions/dkho.fish",
    run_completion,
};

/* Text within single quotes of a shell. `escape`: characters that get a backslash besides. */
static void put_quoted(const char *text, const char *escape) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", stdout);
    else {
      if (strchr(escape, *text)) putchar('\\');
      putchar(*text);
    }
  }
}

static void put_names(const opt *o, int values_only) {
  for (; o->name; o++)
    if (o->kind != OPT_FLAG || !values_only) printf("%s ", o->name);
}

static void bash_verb(const verb *v, const opt *opts, const opt *shared) {
  printf("  %s)\n    opts='", v->name);
  put_names(opts, 0);
  put_names(shared, 0);
  fputs("'\n    values='", stdout);
  put_names(opts, 1);
  put_names(shared, 1);
  puts("' ;;");
}

static void put_verbs(void) {
  int count;
  const verb *const *verbs = all_verbs(&count);
  for (int i = 0; i < count; i++) printf("%s ", verbs[i]->name);
}

static void bash_script(void) {
  fputs("# bash completion for dkho, written by dkho completion bash\n_dkho() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verbs='",
        stdout);
  put_verbs();
  puts("help' opts='' values=''\n"
       "  if [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$COMP_CWORD\" -eq 2 ] && [ \"$prev\" = help ]; }; then\n"
       "    mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$cur\")\n    return\n  fi\n  case ${COMP_WORDS[1]} in");
  each_verb(bash_verb);
  puts("  esac\n  case \" $values \" in *\" $prev \"*) cur=${cur#-}; opts='' ;; esac\n"
       "  if [[ $cur == -* && -n $opts ]]; then\n    mapfile -t COMPREPLY < <(compgen -W \"$opts\" -- \"$cur\")\n"
       "  else\n    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n  fi\n}\ncomplete -o filenames -F _dkho dkho");
}

static void zsh_option(const opt *o) {
  printf(" \\\n      '%s%s[", o->kind == OPT_REPEAT ? "*" : "", o->name);
  put_quoted(o->help, "[]:\\");
  putchar(']');
  if (o->kind != OPT_FLAG) {
    fputs(":", stdout);
    put_quoted(o->meta, ":\\");
    fputs(":_files", stdout);
  }
  putchar('\'');
}

static void zsh_verb(const verb *v, const opt *opts, const opt *shared) {
  printf("  %s)\n    _arguments", v->name);
  for (; opts->name; opts++) zsh_option(opts);
  for (; shared->name; shared++) zsh_option(shared);
  puts(" \\\n      '*:file:_files' ;;");
}

static void zsh_script(void) {
  int count;
  const verb *const *verbs = all_verbs(&count);
  puts("#compdef dkho\n# zsh completion for dkho, written by dkho completion zsh\nlocal -a verbs\nverbs=(");
  for (int i = 0; i < count; i++) {
    printf("  '%s:", verbs[i]->name);
    put_quoted(verbs[i]->summary, ":\\");
    puts("'");
  }
  puts("  'help:what a verb does'\n)\nif (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n  _describe verb verbs\n"
       "  return\nfi\nshift words\n(( CURRENT-- ))\ncase $words[1] in");
  each_verb(zsh_verb);
  puts("esac");
}

/* The same for fish, whose quotes know two escapes. */
static void put_fish(const char *text) {
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\') putchar('\\');
    putchar(*text);
  }
}

static void fish_option(const char *name, const opt *o) {
  int is_long = strncmp(o->name, "--", 2) == 0;
  printf("complete -c dkho -n '__fish_seen_subcommand_from %s' -%s %s%s -d '", name, is_long ? "l" : "s",
         o->name + 1 + is_long, o->kind == OPT_FLAG ? "" : " -r");
  put_fish(o->help);
  puts("'");
}

static void fish_verb(const verb *v, const opt *opts, const opt *shared) {
  printf("complete -c dkho -n __fish_use_subcommand -f -a %s -d '", v->name);
  put_fish(v->summary);
  puts("'");
  for (; opts->name; opts++) fish_option(v->name, opts);
  for (; shared->name; shared++) fish_option(v->name, shared);
}

static int run_completion(int argc, char **argv) {
  const opt opts[] = {{0}};
  common shared;
  char **args;
  int nargs, s = parse(&verb_completion, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1) return misuse(&verb_completion, "expected one shell: bash, zsh or fish");
  if (strcmp(args[0], "bash") == 0)
    bash_script();
  else if (strcmp(args[0], "zsh") == 0)
    zsh_script();
  else if (strcmp(args[0], "fish") == 0) {
    puts("# fish completion for dkho, written by dkho completion fish");
    each_verb(fish_verb);
  } else
    return misuse(&verb_completion, "found '%s', expected bash, zsh or fish", args[0]);
  return EXIT_DONE;
}
