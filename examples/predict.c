/* predict.c: load a trained operator and predict one sample of a data set. Build against the installed library:
 *   cc predict.c $(pkg-config --cflags --libs dkho) -o predict && ./predict runs/flux darcy.st */
#include <dkho.h>
#include <stdio.h>
#include <stdlib.h>

static int stop(void) {
  return fprintf(stderr, "%s\n", dkho_error()), 1;
}

int main(int argc, char **argv) {
  dkho_model *model;
  dkho_dataset *data;
  dkho_field_info field;
  if (argc != 3) return fprintf(stderr, "usage: predict RUN|MODEL DATA\n"), 2;
  if (dkho_model_load(&model, argv[1]) || dkho_dataset_open(&data, argv[2])) return stop();

  const void *input[16]; /* whatever the operator eats, here straight from the data set's first sample */
  for (int i = 0; i < dkho_model_inputs(model) && i < 16; i++) {
    dkho_model_input(model, i, &field);
    input[i] = dkho_dataset_value(data, dkho_dataset_find(data, field.name), 0);
  }
  dkho_model_output(model, &field);
  float *out = malloc(sizeof *out * (size_t)(field.rows * field.channels));
  if (dkho_model_predict(model, 0, 1, input, out)) return stop();

  double sum = 0;
  for (int64_t i = 0; i < field.rows * field.channels; i++) sum += (double)out[i] * (double)out[i];
  printf("%s: %lld values of degree %d, mean square %.6g\n", field.name, (long long)(field.rows * field.channels),
         field.degree, sum / (double)(field.rows * field.channels));
  free(out);
  dkho_dataset_free(data);
  dkho_model_free(model);
  return 0;
}
