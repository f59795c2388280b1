/* suggest.c: the known word that somebody may have meant. */
#include "cli.h"

#include <string.h>

enum { WORD_MAX = 40 };

static int smaller(int a, int b) {
  return a < b ? a : b;
}

/* Letters to insert, leave out, change or swap with a neighbour between two words. */
static int edit_distance(const char *a, const char *b) {
  int d[WORD_MAX + 1][WORD_MAX + 1], n = (int)strlen(a), m = (int)strlen(b);
  if (n > WORD_MAX || m > WORD_MAX) return WORD_MAX;
  for (int i = 0; i <= n; i++) d[i][0] = i;
  for (int j = 0; j <= m; j++) d[0][j] = j;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = smaller(change, 1 + smaller(d[i - 1][j], d[i][j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[n][m];
}

void suggest(suggestion *s, const char *word, const char *known) {
  int letters = (int)strlen(word), d = edit_distance(word, known);
  int begun = letters > 3 && strncmp(word, known, (size_t)letters) == 0; /* the start of a longer word */
  if (begun && d > 1) d = 1;
  if (d > 1 + letters / 4 || (s->word && d >= s->distance)) return;
  s->word = known;
  s->distance = d;
}
