/* metrics.h: how a predicted field is judged against its reference, per sample, on denormalised fields in double.
 *
 * A metric is a function of one sample's pair (p, y) and a rule that joins the samples: mean, root of the mean, or
 * exp(-10·mean). Lists name what a target is judged by; docs/METRICS.md has every formula beside the paper's captions. */
#ifndef RUN_METRICS_H
#define RUN_METRICS_H

#include "mesh/cx.h"

typedef enum { METRIC_MEAN, METRIC_ROOT, METRIC_EXP10 } metric_join;

typedef struct metric_info {
  const char *key;   /* "grad_fid" */
  const char *title; /* "Grad Fid" */
  int better;        /* +1: larger is better, -1: smaller */
  metric_join join;
} metric_info;

typedef struct metrics metrics;
/* What a list may need beside the complex; borrowed for the life of the metrics. */
typedef struct metrics_given {
  int64_t harmonics;      /* columns of the harmonic basis, 0: none */
  const double *harmonic; /* N × harmonics column-major, orthonormal (unit metric) */
} metrics_given;

/* The list for a target; degree and channels of the target choose within it:
 *   generic    cochains of any degree; vectors by the plain errors alone
 *   soft       as generic; on vertices with √(Σy² + η) below the error and ten Gaussian-weighted levels, for densities near zero
 *   edge_flux  3-vectors on vertices by their integrals along edges: divergence, vorticity, energy
 * A benchmark's name stands for its list (data_metrics_definition). An unknown list or a target it has no metrics for is refused with what there is. */
dkho_status metrics_create(metrics **out, const cx *c, const char *list, int degree, int channels,
                           const metrics_given *given);
void metrics_free(metrics *m);
int metrics_count(const metrics *m);
const metric_info *metrics_at(const metrics *m, int i);
int metrics_find(const metrics *m, const char *key); /* -1 when absent */
size_t metrics_work(const metrics *m);               /* doubles of scratch that one thread needs */
/* One sample: p (finite) and y are N_k × channels doubles; value gets metrics_count numbers, NaN where what a metric refers to
 * vanishes: a part or derivative of y whose norm is at most 1e-5 of y's, a range of values at most 1e-5 of the largest, y = 0.
 * Thread-safe with separate work. */
void metrics_sample(const metrics *m, const double *p, const double *y, double *work, double *value);
/* Joins `samples` rows of metrics_count values in order, leaving out NaN; NaN when there is nothing else. counted (or NULL):
 * how many samples each result rests on. */
void metrics_reduce(const metrics *m, int64_t samples, const double *values, double *result, int64_t *counted);

/* The pieces, for diagnostics and tests. All floors as in the specification of each benchmark. */
double metric_rel_l2(int64_t n, const double *p, const double *y, double floor);
/* ‖p - y‖ / ‖y‖ of fields as they are kept; -1 where ‖y‖ ≤ 1e-12, which has no relative error and counts in no mean. */
double metric_field_error(int64_t n, const float *p, const float *y);
/* ½(1 + <a,b>/(‖a‖‖b‖ + eta)), weights w or NULL. */
double metric_cosine(int64_t n, const double *a, const double *b, const double *w, double eta);
/* Connected components of {v : mask} under pairs (adjacent simplices); parent: n ints of scratch. */
int64_t metric_components(int64_t n, const uint8_t *mask, int64_t pairs, const int32_t *pair, int32_t *parent);

#endif
