/* The baselines in double against independent PyTorch models: output, loss, gradients, three AdamW steps. */
#include "baseline_replay.h"

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(baseline_replay_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
