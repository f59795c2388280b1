/* trivial.c: the relative error of predicting the mean of the training targets, and of predicting zero, on the test split; the
 * smaller of the two is what a trained operator has to beat. Usage: trivial DATA TARGET */
#include <dkho.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double error(const dkho_dataset *d, int field, int64_t n, const double *mean) {
  int64_t count;
  const int64_t *test = dkho_dataset_split(d, "test", &count);
  double sum = 0;
  for (int64_t s = 0; s < count; s++) {
    const float *y = dkho_dataset_value(d, field, test[s]);
    double off = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
      off += pow((double)y[i] - (mean ? mean[i] : 0), 2);
      size += pow((double)y[i], 2);
    }
    sum += sqrt(off / size);
  }
  return sum / (double)count;
}

int main(int argc, char **argv) {
  dkho_dataset *d;
  dkho_field_info f;
  int64_t count;
  if (argc != 3) return 2;
  if (dkho_dataset_open(&d, argv[1]) || dkho_dataset_field(d, dkho_dataset_find(d, argv[2]), &f)) {
    fprintf(stderr, "%s\n", dkho_error());
    return 1;
  }
  int field = dkho_dataset_find(d, argv[2]);
  int64_t n = f.rows * f.channels;
  const int64_t *train = dkho_dataset_split(d, "train", &count);
  double *mean = calloc((size_t)n, sizeof *mean);
  for (int64_t s = 0; s < count; s++) {
    const float *y = dkho_dataset_value(d, field, train[s]);
    for (int64_t i = 0; i < n; i++) mean[i] += (double)y[i] / (double)count;
  }
  printf("%.6f\n", fmin(error(d, field, n, NULL), error(d, field, n, mean)));
  free(mean);
  dkho_dataset_free(d);
  return 0;
}
