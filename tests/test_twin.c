/* The model in float against the PyTorch twin's fixtures. */
#include "twin.h"

static void topology(void **state) {
  (void)state;
  for (int i = 0; i < TWIN_CASES; i++) {
    twin w;
    twin_open(&w, twin_cases[i]);
    twin_check_topology(&w);
    twin_close(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(topology)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
