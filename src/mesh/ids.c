/* ids.c: a table of numbers, sorted unless they are consecutive. */
#include "mesh/ids.h"

#include <stdlib.h>

dkho_status ids_add(ids *t, int64_t id) {
  void *block = t->entry;
  TRY(raw_grow(&block, t->n, &t->room, sizeof *t->entry));
  t->entry = block;
  if (t->n == 0) t->first = id;
  if (t->first >= 0 && id - t->first != t->n) t->first = -1;
  t->entry[t->n] = (ids_entry){id, (int32_t)t->n};
  t->n++;
  return DKHO_OK;
}

static int by_id(const void *a, const void *b) {
  int64_t s = ((const ids_entry *)a)->id, t = ((const ids_entry *)b)->id;
  return (s > t) - (s < t);
}

void ids_sort(ids *t) {
  if (t->first < 0 && t->sorted < t->n) qsort(t->entry, (size_t)t->n, sizeof *t->entry, by_id);
  t->sorted = t->n;
}

dkho_status ids_seal(ids *t, const scan *s, const char *noun) {
  ids_sort(t);
  for (int64_t i = 1; t->first < 0 && i < t->n; i++)
    if (t->entry[i].id == t->entry[i - 1].id)
      return scan_fail(s, "%s %lld is defined twice", noun, (long long)t->entry[i].id);
  return DKHO_OK;
}

int32_t ids_find(const ids *t, int64_t id) {
  ids_entry key = {id, 0};
  if (t->n == 0) return -1;
  if (t->first >= 0) return id >= t->first && id - t->first < t->n ? (int32_t)(id - t->first) : -1;
  const ids_entry *hit = bsearch(&key, t->entry, (size_t)t->n, sizeof key, by_id);
  return hit ? hit->index : -1;
}

void ids_free(ids *t) {
  mem_free(t->entry);
  *t = (ids){0};
}
