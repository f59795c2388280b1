/* ids.h: numbers that a file gives to its points or elements, in any order and with gaps, and what stands behind them. */
#ifndef MESH_IDS_H
#define MESH_IDS_H

#include "mesh/raw.h"

typedef struct ids_entry {
  int64_t id;
  int32_t index;
} ids_entry;

/* Zero-initialise; add in order of index 0, 1, …; sort or seal; find; add more and sort again. */
typedef struct ids {
  int64_t n, room;
  ids_entry *entry;
  int64_t first;  /* the first number when they are consecutive, else -1 */
  int64_t sorted; /* entries up to here are in order */
} ids;

dkho_status ids_add(ids *t, int64_t id);
void ids_sort(ids *t);
/* Sorts; a number given twice is an error that names it (`noun` 5 is defined twice), at the place of `s`. */
dkho_status ids_seal(ids *t, const scan *s, const char *noun);
int32_t ids_find(const ids *t, int64_t id); /* -1: none */
void ids_free(ids *t);

#endif
