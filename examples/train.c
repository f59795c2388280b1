/* train.c: make a small data set, train on it, and say how good the result is. Build against the installed library:
 *   cc train.c $(pkg-config --cflags --libs dkho) -o train && ./train data.st run */
#include <dkho.h>
#include <stdio.h>

static int stop(void) {
  return fprintf(stderr, "%s\n", dkho_error()), 1;
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: train DATA RUN\n"), 2;
  dkho_generate_options data = {.resolution = "smoke", .samples = 48, .seed = 42};
  if (dkho_dataset_generate("torus", argv[1], &data)) return stop();

  dkho_train_options options;
  dkho_train_defaults(&options);
  options.target = "0"; /* the concentration on the vertices */
  options.options = (const char *const[]){"h=8", "c=2", "layers=2", NULL}, options.epochs = 3;
  if (dkho_train(argv[1], argv[2], &options)) return stop();

  char *json;
  if (dkho_evaluate(argv[2], NULL, "test", 0, &json)) return stop();
  puts(json);
  dkho_text_free(json);
  return 0;
}
