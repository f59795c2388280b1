/* bench.h: how fast this machine trains and predicts. */
#ifndef STUDY_BENCH_H
#define STUDY_BENCH_H

#include "dkho.h"

#include <jansson.h>

/* Arguments and objects as dkho_bench, dkho_bench_model and dkho_bench_scaling describe them. */
dkho_status bench_problems(const char *problem, const char *size, const char *resolution, int threads, double seconds,
                           json_t **out);
dkho_status bench_model(const char *problem, const char *model, const char *resolution, int threads, double seconds,
                        json_t **out);
dkho_status bench_scaling(const char *size, int64_t largest, int turns, int threads, const char *figure, int force,
                          json_t **out);

#endif
