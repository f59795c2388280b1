/* The baselines in float against independent PyTorch models: output, loss, gradients, three AdamW steps; same bits for any threads. */
#include "baseline_replay.h"

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(baseline_replay_all), cmocka_unit_test(baseline_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
