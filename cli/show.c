/* show.c: printing of JSON descriptions and numbers. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static char *rotating(void) {
  static char buffers[16][128];
  static int turn;
  turn = (turn + 1) % 16;
  buffers[turn][0] = 0;
  return buffers[turn];
}

json_t *problem_list(void) {
  char *text = NULL;
  if (dkho_problem_list(&text) != DKHO_OK) return NULL;
  json_t *list = json_loads(text, 0, NULL);
  dkho_text_free(text);
  return list;
}

const json_t *problem_in(const json_t *list, const char *name) {
  size_t i;
  json_t *p;
  json_array_foreach(list, i, p)
    if (strcmp(json_text(p, "name"), name) == 0) return p;
  return NULL;
}

void print_json(char *json) {
  puts(json);
  dkho_text_free(json);
}

const char *json_text(const json_t *object, const char *key) {
  const char *s = json_string_value(json_object_get(object, key));
  return s ? s : "";
}

const char *grouped(int64_t n) {
  char *out = rotating(), digits[32];
  int length = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;
  for (int i = 0; i < length; i++) {
    if (i && digits[i - 1] != '-' && (length - i) % 3 == 0) out[at++] = ',';
    out[at++] = digits[i];
  }
  out[at] = 0;
  return out;
}

const char *json_numbers(const json_t *array) {
  char *out = rotating();
  size_t at = 0, i;
  json_t *v;
  json_array_foreach(array, i, v) {
    int n = snprintf(out + at, 128 - at, "%s%s", i ? "  " : "", grouped((int64_t)json_integer_value(v)));
    if (n < 0 || (size_t)n >= 128 - at) break;
    at += (size_t)n;
  }
  return out;
}
