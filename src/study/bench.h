/* bench.h: how fast this machine trains and predicts. */
#ifndef STUDY_BENCH_H
#define STUDY_BENCH_H

#include "base/mem.h"

/* What is timed: a training step, predictions one by one and in batches. */
enum { BENCH_TRAIN, BENCH_PREDICT1, BENCH_PREDICT16, BENCH_TASKS };
extern const char *const bench_task[BENCH_TASKS]; /* their names in reports */

/* One operator with one number of threads. Times are milliseconds per sample. */
typedef struct bench_row {
  const char *task; /* the problem's name */
  char size[64];    /* of the model, or the model's name where it has no sizes */
  int threads, turns;
  const char *engine;
  int64_t parameters, train_bytes;
  double median_ms[BENCH_TASKS], best_ms[BENCH_TASKS],
      speedup[BENCH_TASKS];                /* speedup: against the row of one thread */
  double train_gflops, peak_gflops, share; /* share: of the peak, in training */
} bench_row;

typedef struct bench_report {
  const char *isa; /* of the kernels */
  int count, room;
  bench_row *row;
  arena mem;
} bench_report;
/* Arguments as dkho_bench and dkho_bench_model describe them. On success bench_report_free is due. */
dkho_status bench_problems(const char *problem, const char *size, const char *resolution, int threads, double seconds,
                           bench_report *out);
dkho_status bench_model(const char *problem, const char *model, const char *resolution, int threads, double seconds,
                        bench_report *out);
void bench_report_free(bench_report *r); /* zero is fine */

/* Steps on meshes of growing size. */
enum { BENCH_STAGES = 6 };
typedef struct scaling_row {
  int64_t simplices, batch, train_bytes, held_bytes; /* held: beside training, by complex and descriptors */
  /* per sample, the last three per simplex too: medians, the best turn, and processor time of all threads */
  double train_ms, train_us, train_best_us, processor_us;
} scaling_row;
typedef struct scaling_report {
  int threads, turns;
  scaling_row row[BENCH_STAGES];
} scaling_report;
/* Training steps of one size of DKHO on the ranks of this job. Seconds, medians of turns. */
typedef enum { RANKS_SAMPLES, RANKS_PARTS, RANKS_WAYS } ranks_way;
typedef struct ranks_measured {
  int batch;
  double alone, together, predicted; /* the first rank alone; all of them; all of them by the model */
  double alone_best, together_best;  /* of the turns */
  double communication;              /* share of the time that a rank waits for others, mean over ranks */
  double messages, bytes;            /* that a rank sends in a step, mean over ranks */
} ranks_measured;
typedef struct ranks_row {
  const char *model, *size;
  int turns;
  int64_t parameters, simplices;
  double sample, fixed,
      described; /* the model's: one sample, what a step takes beside samples, descriptors in `sample` */
  double share;  /* of the work of a sample on the rank with most, in parts */
  double gflops; /* useful ones of `sample` */
  ranks_measured way[RANKS_WAYS];
} ranks_row;
enum { RANKS_ROWS = 3 };
typedef struct ranks_report {
  int ranks, threads;
  const char *isa, *library, *problem;
  double latency, per_byte, add_per_byte; /* seconds: of a message, of its bytes, of adding them */
  double peak_gflops;                     /* of the first rank */
  ranks_row row[RANKS_ROWS];
} ranks_report;
/* As dkho_bench_ranks describes it. */
dkho_status bench_ranks(const char *problem, const char *resolution, int threads, double seconds, ranks_report *out);

/* As dkho_bench_scaling describes it. */
dkho_status bench_scaling(const char *size, int64_t largest, int turns, int threads, const char *figure, int force,
                          scaling_report *out);

#endif
