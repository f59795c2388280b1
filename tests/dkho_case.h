/* dkho_case.h: DKHO's configuration as its options and sizes give it, for tests that record the network themselves. */
#ifndef TESTS_DKHO_CASE_H
#define TESTS_DKHO_CASE_H

#include "model/dkho/fast.h"

#include <string.h>

static inline dkho_status case_config(const char *size, dkho_config *out) {
  const model_type *m;
  model_setup s;
  TRY(model_find("dkho", &m));
  TRY(model_choose(&s, m, size, NULL, NULL));
  s.loss_eps = 1e-6;
  *out = dkho_config_of(&s);
  return DKHO_OK;
}

/* Index of a name in a list that ends with NULL, or -1. */
static inline int case_index(const char *const *names, const char *name) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

/* Records, and marks what is live. */
static inline dkho_status case_record(const dkho_config *f, params *p, const geometry *g, tape *t, dkho_net *net) {
  TRY(dkho_record(f, NULL, g, t, net));
  return tape_mark_live(t, net->loss, p);
}

#endif
