/* The model in float against an independent PyTorch twin: activations, output, loss, gradients, ten AdamW steps. */
#include "twin_replay.h"

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(replay_all), cmocka_unit_test(replay_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
