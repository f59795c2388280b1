/* darcy_world.h: one world (api.h) with Darcy's flux for all tests of a program. */
#ifndef TESTS_DARCY_WORLD_H
#define TESTS_DARCY_WORLD_H

#include "api.h"

static world w;

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  world_remove(&w);
  return 0;
}

#endif
