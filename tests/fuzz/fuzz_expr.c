/* fuzz_expr.c: whatever the text, a descriptor compiles or is refused with a message, and nothing leaks. The first byte
 * chooses between a row and a summary entry. */
#include "fuzz.h"

#include "data/features.h"

static const data_field fields[] = {{.name = "u", .role = DATA_INPUT, .channels = 2, .scale = 1},
                                    {.name = "q", .role = DATA_INPUT, .degree = 1, .channels = 1, .scale = 1},
                                    {.name = "g", .role = DATA_GLOBAL, .channels = 2, .scale = 1},
                                    {.name = "s", .role = DATA_STATIC, .channels = 2, .scale = 1},
                                    {.name = "w", .role = DATA_STATIC, .channels = 1, .scale = 1},
                                    {.name = "v", .role = DATA_STATIC, .degree = 1, .channels = 1, .scale = 1},
                                    {.name = "y", .role = DATA_TARGET, .channels = 1, .scale = 1}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 || size > 4096) return 0;
  char *text = malloc(size);
  if (!text) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  feat_row row = {"row", data[0] & 3, FEAT_NATIVE, text};
  feat_summary entries[] = {{"all", "value(g)"}, {"own", text}};
  int summary = data[0] >> 7;
  feat_table t = {!summary, 1 + summary, &row, entries};
  fuzz_run run = fuzz_begin(size);
  if (feat_check(&t, 3, (int)(sizeof fields / sizeof *fields), fields) != DKHO_OK &&
      strncmp(dkho_error(), "descriptors: ", 13) != 0)
    abort();
  fuzz_end(&run);
  free(text);
  return 0;
}
