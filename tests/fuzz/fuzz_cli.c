/* fuzz_cli.c: whatever the words, the command line is understood or refused with status 0, 1 or 2. The words are the lines of the input. What
 * would compute or write is replaced by an error, and no ranks are started: this is about the words. */
#include "fuzz_file.h"

int cli_main(int argc, char **argv);
int LLVMFuzzerInitialize(int *argc, char ***argv);

dkho_status fail(dkho_status s, const char *fmt, ...);
#define REPLACED(name, result)                                                                                         \
  dkho_status __wrap_##name(void);                                                                                     \
  dkho_status __wrap_##name(void) {                                                                                    \
    return result;                                                                                                     \
  }
#define REFUSES fail(DKHO_E_INPUT, "not here")
REPLACED(dkho_bench, REFUSES)
REPLACED(dkho_bench_model, REFUSES)
REPLACED(dkho_bench_ranks, REFUSES)
REPLACED(dkho_bench_scaling, REFUSES)
REPLACED(dkho_complex_generate, REFUSES)
REPLACED(dkho_complex_planar, REFUSES)
REPLACED(dkho_dataset_generate, REFUSES)
REPLACED(dkho_dataset_import, REFUSES)
REPLACED(dkho_evaluate, REFUSES)
REPLACED(dkho_model_pack, REFUSES)
REPLACED(dkho_phase, REFUSES)
REPLACED(dkho_plot, REFUSES)
REPLACED(dkho_reproduce, REFUSES)
REPLACED(dkho_train, REFUSES)
REPLACED(dkho_train_resume, REFUSES)
REPLACED(dkho_view, REFUSES)
REPLACED(dkho_ranks_start, DKHO_OK)

/* In an empty directory. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  char path[FUZZ_PATH];
  fuzz_path(path, "");
  CHECK(chdir(fuzz_dir) == 0);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { WORDS = 64 };
  if (memmem(data, size, "/", 1)) return 0; /* nothing outside the directory */
  fuzz_run run = fuzz_begin(size);
  char *text = malloc(size + 1), *argv[WORDS + 2] = {(char[]){"dkho"}}, *next = text;
  int argc = 1;
  CHECK(text);
  memcpy(text, data, size);
  text[size] = 0;
  for (char *word; argc <= WORDS && (word = strsep(&next, "\n"));) argv[argc++] = word;
  argv[argc] = NULL;
  int status = cli_main(argc, argv);
  CHECK(status >= 0 && status <= 2);
  free(text);
  fuzz_end(&run);
  return 0;
}
