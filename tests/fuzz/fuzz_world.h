/* fuzz_world.h: the smallest data set of one's own, two triangles and ten samples, and a run on it stopped in its first epoch; arrays that
 * specifications may name besides: q.npy (edges), T.npy (a global). Made once per process. */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "fuzz_container.h"

#include "data/npy.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

static char world_spec[FUZZ_PATH], world_data[FUZZ_PATH], world_run[FUZZ_PATH], world_hash[33];

static inline void world_files(void) {
  static const char mesh[] = "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n";
  static const char spec[] = "{\"problem\":\"mine\",\"mesh\":\"m.off\",\"seed\":7,\"fields\":["
                             "{\"name\":\"f\",\"role\":\"input\",\"degree\":0,\"file\":\"f.npy\"},"
                             "{\"name\":\"u\",\"role\":\"target\",\"degree\":0,\"file\":\"f.npy\"}],"
                             "\"split\":{\"train\":0.6,\"val\":0.2,\"test\":0.2}}";
  char path[FUZZ_PATH];
  double value[50];
  for (int i = 0; i < 50; i++) value[i] = (i * 7 % 11 - 5) / 4.0;
  fuzz_write(fuzz_path(path, "m.off"), mesh, sizeof mesh - 1);
  CHECK(npy_save(fuzz_path(path, "f.npy"), 1, ST_F64, 2, (const uint64_t[]){10, 4}, value) == DKHO_OK);
  CHECK(npy_save(fuzz_path(path, "q.npy"), 1, ST_F64, 2, (const uint64_t[]){10, 5}, value) == DKHO_OK);
  CHECK(npy_save(fuzz_path(path, "T.npy"), 1, ST_F64, 1, (const uint64_t[]){10}, value) == DKHO_OK);
  fuzz_write(fuzz_path(world_spec, "spec.json"), spec, sizeof spec - 1);
  CHECK(dkho_dataset_import(world_spec, fuzz_path(world_data, "data.st"), 1) == DKHO_OK);
  size_t size;
  uint8_t *bytes = fuzz_read(world_data, &size);
  st_hash_bytes(bytes, size, world_hash);
  free(bytes);
}

static int world_stop(void *user) {
  return ++*(int *)user > 1;
}

static inline dkho_train_options world_options(void) {
  static const char *const small[] = {"h=2", "c=1", "layers=1", "substeps=1", NULL};
  dkho_train_options o;
  dkho_train_defaults(&o);
  o.model = "dkho", o.options = small, o.modes = 1, o.epochs = 3, o.batch = 2, o.threads = 1, o.optimizer = "adamw";
  return o;
}

static inline void world_train(void) {
  int polls = 0;
  dkho_train_options o = world_options();
  o.stop = world_stop, o.stop_user = &polls;
  CHECK(dkho_train(world_data, fuzz_path(world_run, "run"), &o) == DKHO_E_STOPPED);
}

/* A copy of the bytes with the data set's own hash behind the key; freed by the caller. */
static inline uint8_t *world_copy(const uint8_t *data, size_t size, const char *key) {
  uint8_t *copy = malloc(size + 1);
  CHECK(copy);
  memcpy(copy, data, size);
  copy[size] = 0;
  uint8_t *at = fuzz_digits(copy, size, key);
  if (at) memcpy(at, world_hash, 32);
  return copy;
}

/* FUZZ_SEED=FILE: the file that a target begins with, as a seed for the corpus. */
static inline void world_seed(const char *path) {
  const char *to = getenv("FUZZ_SEED");
  size_t size;
  if (!to) return;
  uint8_t *bytes = fuzz_read(path, &size);
  fuzz_write(to, bytes, size);
  free(bytes);
}

#endif
