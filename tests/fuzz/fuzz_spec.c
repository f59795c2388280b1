/* fuzz_spec.c: whatever the bytes of an import specification, `dkho data check` answers, and the import ends with a data set or a message. A mesh
 * of eight triangles and arrays for it lie beside: m.off, f.npy (degree 0), q.npy (degree 1), T.npy (a global). */
#include "data/npy.h"
#include "fuzz_file.h"

static char dir[64], spec[96], out[96];

static void leave(void) {
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", dir);
  if (system(command) != 0) perror(dir);
}

static void save(const char *name, int rank, const uint64_t *shape, int count) {
  static double values[5 * 16];
  char path[96];
  for (int i = 0; i < count; i++) values[i] = (i * 37 % 11) / 7.0;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  CHECK(npy_save(path, 1, ST_F64, rank, shape, values) == DKHO_OK);
}

static void prepare(void) {
  strcpy(dir, "/tmp/fuzz_spec.XXXXXX");
  CHECK(mkdtemp(dir));
  atexit(leave);
  snprintf(spec, sizeof spec, "%s/spec.json", dir);
  snprintf(out, sizeof out, "%s/out.st", dir);
  char path[96];
  snprintf(path, sizeof path, "%s/m.off", dir);
  FILE *f = fopen(path, "w");
  CHECK(f);
  fprintf(f, "OFF\n9 8 0\n");
  for (int i = 0; i < 9; i++) fprintf(f, "%d %d 0\n", i % 3, i / 3);
  for (int i = 0; i < 4; i++) {
    int a = i / 2 * 3 + i % 2;
    fprintf(f, "3 %d %d %d\n3 %d %d %d\n", a, a + 1, a + 3, a + 1, a + 4, a + 3);
  }
  fclose(f);
  save("f.npy", 2, (uint64_t[]){5, 9}, 45);
  save("q.npy", 2, (uint64_t[]){5, 16}, 80);
  save("T.npy", 1, (uint64_t[]){5}, 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *json;
  if (!dir[0]) prepare();
  FILE *f = fopen(spec, "wb");
  CHECK(f && fwrite(data, 1, size, f) == size);
  fclose(f);
  size_t live = mem_live_blocks();
  if (dkho_dataset_check(spec, &json) == DKHO_OK) {
    CHECK(json);
    dkho_text_free(json);
  } else
    CHECK(!json && dkho_error()[0]);
  if (dkho_dataset_import(spec, out, 1) != DKHO_OK) CHECK(dkho_error()[0]);
  CHECK(mem_live_blocks() == live);
  return 0;
}
