/* train_mpi.c: a program that runs MPI itself. All ranks make a data set together; then they form two groups, each of which trains a model
 * of its own with another seed. Build against the installed library:
 *   mpicc train_mpi.c $(pkg-config --cflags --libs dkho) -o train_mpi && mpirun -n 4 ./train_mpi data.st run */
#include <dkho_mpi.h>
#include <stdio.h>

/* A failure of one rank alone leaves the others waiting, so it ends the job. */
static void check(dkho_status s) {
  if (s == DKHO_OK) return;
  fprintf(stderr, "%s\n", dkho_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void train_group(const char *data, const char *run, int group) {
  char dir[4096];
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.target = "0"; /* the concentration on the vertices */
  options.options = (const char *const[]){"h=8", "c=2", "layers=2", NULL}, options.epochs = 3;
  options.threads = 1, options.seed = (uint64_t)group;
  snprintf(dir, sizeof dir, "%s-%d", run, group);
  check(dkho_train(data, dir, &options));
  if (dkho_rank() == 0) printf("%s: trained by %d ranks\n", dir, dkho_ranks());
}

int main(int argc, char **argv) {
  int level, rank;
  MPI_Comm half;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE,
                  &level); /* lower levels work, but nobody then looks for lost ranks */
  if (argc != 3) return fprintf(stderr, "usage: train_mpi DATA RUN\n"), MPI_Finalize(), 2;

  dkho_generate_options data = {.resolution = "smoke", .samples = 48, .seed = 42, .threads = 1};
  check(dkho_mpi_use(MPI_COMM_WORLD));
  check(dkho_dataset_generate("torus", argv[1], &data));
  dkho_ranks_stop();

  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  check(dkho_mpi_use(half));
  train_group(argv[1], argv[2], rank % 2);
  dkho_ranks_stop();
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
