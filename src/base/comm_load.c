/* comm_load.c: the process's world: whether a launcher started it, and the module that then talks to the other ranks. */
#include "base/comm.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local comm *chosen; /* of this thread, by comm_set_world */
static comm *world;                /* NULL: serial */
static comm *opened;               /* by the module, ours to free */

comm *comm_world(void) {
  return chosen ? chosen : world ? world : comm_serial();
}

comm *comm_set_world(comm *c) {
  comm *before = chosen;
  chosen = c;
  return before;
}

static int number_in(const char *name) {
  const char *text = getenv(name);
  return text ? atoi(text) : 0;
}

/* What the launchers of Open MPI, MPICH and its kin, and Slurm tell their processes. A batch script of Slurm knows the number of
 * tasks too, but only srun starts a step. DKHO_MPI=0: each process is on its own, whatever started it. */
int comm_launched(void) {
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"};
  const char *choice = getenv("DKHO_MPI");
  int most = 1;
  if (choice && strcmp(choice, "0") == 0) return 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (number_in(sizes[i]) > most) most = number_in(sizes[i]);
  return most;
}

/* Beside the library (or the program that holds it), then where the system looks. */
static void *load_module(void) {
  static const char name[] = "libdkho-mpi.so";
  const char *wanted = getenv("DKHO_MPI_MODULE");
  char path[4096];
  Dl_info here;
  void *module = NULL;
  if (wanted) return dlopen(wanted, RTLD_NOW | RTLD_GLOBAL);
  if (dladdr((void *)(uintptr_t)load_module, &here) && here.dli_fname && strrchr(here.dli_fname, '/')) {
    int n = (int)(strrchr(here.dli_fname, '/') - here.dli_fname);
    if (snprintf(path, sizeof path, "%.*s/%s", n, here.dli_fname, name) < (int)sizeof path)
      module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  }
  return module ? module : dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

static dkho_status open_module(const void *handle, size_t size, const char *library) {
  static const comm_host host = {(fail), mem_alloc, mem_free};
  void *module = load_module();
  if (!module)
    return fail(
        DKHO_E_IO,
        "MPI: the module libdkho-mpi.so is not there (%s); build with MPI, or set DKHO_MPI=0 for separate processes",
        dlerror());
  comm_open *open;
  *(void **)&open = dlsym(module, COMM_MODULE);
  if (!open) return fail(DKHO_E_IO, "MPI: the module has no %s", COMM_MODULE);
  comm_stop();
  TRY(open(&host, handle, size, library, &opened));
  world = opened;
  return DKHO_OK;
}

dkho_status comm_start(int wanted) {
  int launched = comm_launched();
  if (world || (launched == 1 && !wanted)) return DKHO_OK;
  TRY(open_module(NULL, 0, NULL));
  if (world->size >= launched) return DKHO_OK;
  int found = world->size;
  comm_stop();
  return fail(
      DKHO_E_INPUT,
      "MPI: the launcher started %d processes, but MPI sees %d: the launcher and libdkho-mpi.so belong to different MPIs "
      "(with Slurm: srun --mpi=pmix or pmi2)",
      launched, found);
}

dkho_status comm_use(const void *handle, size_t size, const char *library) {
  return open_module(handle, size, library);
}

void comm_watch(comm_watching how) {
  if (opened && opened->table->watch) opened->table->watch(opened, how);
}

void comm_stop(void) {
  if (opened && opened->broken) comm_abort(opened, fail_text());
  if (world == opened) world = NULL;
  comm_free(opened);
  opened = NULL;
}
