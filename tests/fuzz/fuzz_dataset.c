/* fuzz_dataset.c: whatever the bytes, a data set opens or is refused with a message; what it shows can be read. */
#include "fuzz_container.h"

static double read_all(const dkho_dataset *d) {
  double sum = 0;
  int64_t count;
  dkho_field_info f;
  for (int i = 0; i < dkho_dataset_fields(d); i++) {
    CHECK(dkho_dataset_field(d, i, &f) == DKHO_OK && dkho_dataset_find(d, f.name) == i);
    for (int64_t s = 0; s < dkho_dataset_samples(d); s++) {
      const void *v = dkho_dataset_value(d, i, s);
      int64_t last = f.rows * f.channels - 1;
      if (v && last >= 0) sum += strcmp(f.role, "global") == 0 ? ((const double *)v)[last] : ((const float *)v)[last];
    }
  }
  static const char *const names[] = {"train", "val", "test"};
  for (int i = 0; i < 3; i++) {
    const int64_t *sample = dkho_dataset_split(d, names[i], &count);
    for (int64_t j = 0; j < count; j++) CHECK(sample[j] >= 0 && sample[j] < dkho_dataset_samples(d));
  }
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[32];
  double sum = 0;
  dkho_dataset *d;
  fuzz_run run = fuzz_begin(size);
  int fd = fuzz_file(data, size, path);
  if (dkho_dataset_open(&d, path) == DKHO_OK) {
    sum = read_all(d);
    dkho_dataset_free(d);
  } else {
    CHECK(!d);
    fuzz_refused(path);
  }
  close(fd);
  fuzz_end(&run);
  return sum == 42; /* keeps the reads; libFuzzer takes any value but -1 as 0 */
}
