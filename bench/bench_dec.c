/* bench_dec.c: times Betti numbers, harmonic bases and the lowest eigenpairs of every degree on a benchmark complex and
 * prints the worst residuals. Usage: bench_dec darcy|torus|cavity [smoke|main] [unit|hodge] [pairs] [dump prefix]. With a
 * prefix, the coboundaries go to PREFIX<k>.txt (row, column, sign) and the eigenvalues to PREFIXspectrum.txt, for
 * dec_vs_scipy.py. */
#include "dec/dec.h"
#include "mesh/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CPU seconds: everything here runs on one thread. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(dkho_status s) {
  if (s == DKHO_OK) return;
  fprintf(stderr, "bench_dec: %s\n", dkho_error());
  exit(1);
}

/* max_j ‖Δ v_j - λ_j v_j‖_M */
static double worst_residual(const dec *d, int k, const dec_basis *b) {
  double *y = mem_alloc((size_t)b->n, sizeof *y), worst = 0;
  if (!y) check(DKHO_E_MEMORY);
  for (int64_t j = 0; j < b->count; j++) {
    const double *v = b->vec + j * b->n;
    check(dec_laplacian(d, k, 1, v, y));
    for (int64_t i = 0; i < b->n; i++) y[i] -= b->lambda[j] * v[i];
    worst = fmax(worst, sqrt(dec_dot(d, k, 1, y, y)));
  }
  mem_free(y);
  return worst;
}

static FILE *dump_open(const char *prefix, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s%s.txt", prefix, name);
  FILE *f = fopen(path, "w");
  if (!f) {
    perror(path);
    exit(1);
  }
  return f;
}

static void dump(const cx *c, const dec_basis *b, const char *prefix) {
  for (int k = 0; k < c->dim; k++) {
    FILE *f = dump_open(prefix, (const char *[]){"0", "1", "2"}[k]);
    for (int64_t p = 0; p < c->n[k + 1] * (k + 2); p++)
      fprintf(f, "%lld %d %d\n", (long long)(p / (k + 2)), c->face[k + 1][p], c->sign[k + 1][p]);
    fclose(f);
  }
  FILE *f = dump_open(prefix, "spectrum");
  for (int k = 0; k < CX_DEGREES; k++)
    for (int64_t j = 0; j < b[k].count; j++) fprintf(f, "%d %.17g\n", k, b[k].lambda[j]);
  fclose(f);
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "darcy", *size = argc > 2 ? argv[2] : "main";
  dec_metric metric;
  check(dec_metric_parse(argc > 3 ? argv[3] : "unit", &metric));
  int pairs = argc > 4 ? atoi(argv[4]) : 16;
  cx *c;
  double t = now();
  check(!strcmp(name, "torus")    ? cx_torus(&c, size)
        : !strcmp(name, "cavity") ? cx_cavity(&c, size)
                                  : cx_darcy(&c, size));
  printf("%s %s: %lld %lld %lld %lld  mesh %.3f s\n", name, size, (long long)c->n[0], (long long)c->n[1],
         (long long)c->n[2], (long long)c->n[3], now() - t);
  int64_t betti[CX_DEGREES], relative[CX_DEGREES];
  t = now();
  check(dec_betti(c, betti));
  double t_betti = now() - t;
  t = now();
  check(dec_betti_relative(c, relative));
  printf("betti %lld %lld %lld %lld  %.3f s; relative %lld %lld %lld %lld  %.3f s\n", (long long)betti[0],
         (long long)betti[1], (long long)betti[2], (long long)betti[3], t_betti, (long long)relative[0],
         (long long)relative[1], (long long)relative[2], (long long)relative[3], now() - t);
  dec *d;
  check(dec_create(&d, c, metric));
  int top = c->dim < 2 ? c->dim : 2;
  printf("%s metric: replaced %lld %lld %lld %lld\n", dec_metric_name(metric), (long long)d->replaced[0],
         (long long)d->replaced[1], (long long)d->replaced[2], (long long)d->replaced[3]);
  double start = now();
  for (int k = 0; k <= top; k++) {
    dec_basis h;
    t = now();
    check(dec_harmonic(d, k, &h));
    printf("harmonic %d: %lld  closed %.1e coclosed %.1e  %.3f s\n", k, (long long)h.count, h.closed, h.coclosed,
           now() - t);
    dec_basis_free(&h);
  }
  dec_basis b[CX_DEGREES] = {{0}};
  t = now();
  check(dec_spectrum(d, top, pairs, b));
  printf("spectrum: %d pairs of degrees 0 to %d  %.3f s\n", pairs, top, now() - t);
  printf("total %.4f\n", now() - start);
  for (int k = 0; k <= top; k++)
    if (b[k].count)
      printf("  degree %d: %lld pairs, %.6g to %.6g, worst residual %.1e\n", k, (long long)b[k].count, b[k].lambda[0],
             b[k].lambda[b[k].count - 1], worst_residual(d, k, &b[k]));
  if (argc > 5) dump(c, b, argv[5]);
  for (int k = 0; k < CX_DEGREES; k++) dec_basis_free(&b[k]);
  dec_free(d);
  cx_free(c);
  return 0;
}
