/* manual.c: manual pages in roff, from the same texts and tables as --help. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* Text as roff takes it: hyphens that may be typed back, no line that begins like a request. */
static void put_roff(const char *text, size_t n) {
  if (n && (text[0] == '.' || text[0] == '\'')) fputs("\\&", stdout);
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '-')
      fputs("\\-", stdout);
    else if (text[i] == '\\')
      fputs("\\e", stdout);
    else
      putchar(text[i]);
  }
}

/* Lines that begin with blanks (examples) stay as they are; the others are filled. */
static void put_paragraphs(const char *text) {
  int verbatim = 0;
  while (*text) {
    size_t n = strcspn(text, "\n");
    int indented = text[0] == ' ';
    if (indented != verbatim) puts(indented ? ".PP\n.nf" : ".fi");
    verbatim = indented;
    if (n == 0)
      puts(".PP");
    else {
      put_roff(text, n);
      putchar('\n');
    }
    text += n + (text[n] == '\n');
  }
  if (verbatim) puts(".fi");
}

static void put_option(const opt *o) {
  fputs(".TP\n\\fB", stdout);
  put_roff(o->name, strlen(o->name));
  fputs("\\fR", stdout);
  if (o->meta) printf(" \\fI%s\\fR", o->meta);
  putchar('\n');
  put_roff(o->help, strlen(o->help));
  putchar('\n');
}

static void put_head(const char *name, const char *summary) {
  printf(".TH \"%s\" 1 \"\" \"dkho %s\" \"dkho\"\n.SH NAME\n", name, dkho_version());
  put_roff(name, strlen(name));
  fputs(" \\- ", stdout);
  put_roff(summary, strlen(summary));
  puts("\n.SH SYNOPSIS");
}

static void put_tail(void) {
  puts(".SH EXIT STATUS\n0 done, 1 failed, 2 bad usage.");
}

void manual_verb(const verb *v, const opt *opts, const opt *shared) {
  char name[64];
  snprintf(name, sizeof name, "dkho-%s", v->name);
  put_head(name, v->summary);
  fputs("\\fBdkho ", stdout);
  put_roff(v->name, strlen(v->name));
  fputs("\\fR ", stdout);
  put_roff(v->usage, strlen(v->usage));
  puts("\n.SH DESCRIPTION");
  put_paragraphs(v->help);
  if (opts->name) puts(".SH OPTIONS");
  for (; opts->name; opts++) put_option(opts);
  puts(".SH COMMON OPTIONS");
  for (; shared->name; shared++) put_option(shared);
  put_tail();
  puts(".SH SEE ALSO\n\\fBdkho\\fR(1)");
}

void manual_overview(int count, const verb *const *verbs) {
  put_head("dkho", DKHO_SUMMARY);
  puts("\\fBdkho\\fR \\fIVERB\\fR \\fI...\\fR\n.SH VERBS");
  for (int i = 0; i < count; i++) {
    printf(".TP\n\\fBdkho\\-%s\\fR(1)\n", verbs[i]->name);
    put_roff(verbs[i]->summary, strlen(verbs[i]->summary));
    putchar('\n');
  }
  put_tail();
}
