/* alignment.c: sparse smoothing, sorting, and sums. Sorting breaks ties by index, so nothing depends on the library's qsort. */
#include "run/alignment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* |d_k|: n[k+1] × n[k]. */
static dkho_status unsigned_incidence(csr *a, const cx *c, int k) {
  int width = k + 2;
  TRY(csr_alloc(a, c->n[k + 1], c->n[k], c->n[k + 1] * width));
  for (int64_t i = 0; i <= c->n[k + 1]; i++) a->ptr[i] = i * width;
  for (int64_t p = 0; p < a->nnz; p++) a->col[p] = c->face[k + 1][p], a->val[p] = 1;
  return DKHO_OK;
}

/* sum += B Bᵀ, or Bᵀ B. */
static dkho_status add_product(csr *sum, const csr *b, int transposed_first) {
  csr t = {0}, product = {0}, next = {0};
  dkho_status s = csr_transpose(&t, b);
  if (s == DKHO_OK) s = transposed_first ? csr_multiply(&product, &t, b) : csr_multiply(&product, b, &t);
  if (s == DKHO_OK) s = csr_add(&next, 1, sum, 1, &product);
  if (s == DKHO_OK) {
    csr_free(sum);
    *sum = next;
  }
  csr_free(&t);
  csr_free(&product);
  return s;
}

/* a ← a + |d_{k-1}| |d_{k-1}|ᵀ + |d_k|ᵀ |d_k|, k the degree: which simplices share a face, or a coface. */
static dkho_status add_neighbours(csr *a, const cx *c, int degree) {
  csr b = {0};
  dkho_status s = DKHO_OK;
  if (degree > 0) {
    s = unsigned_incidence(&b, c, degree - 1);
    if (s == DKHO_OK) s = add_product(a, &b, 0);
    csr_free(&b);
  }
  if (s == DKHO_OK && degree < c->dim) {
    s = unsigned_incidence(&b, c, degree);
    if (s == DKHO_OK) s = add_product(a, &b, 1);
    csr_free(&b);
  }
  return s;
}

dkho_status align_smoother(csr *out, const cx *c, int degree, int zero_diagonal) {
  int64_t n = c->n[degree];
  TRY(csr_alloc(out, n, n, n)); /* the identity */
  for (int64_t i = 0; i < n; i++) out->ptr[i + 1] = i + 1, out->col[i] = (int32_t)i, out->val[i] = 1;
  dkho_status s = add_neighbours(out, c, degree);
  if (s != DKHO_OK) {
    csr_free(out);
    return s;
  }
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t p = out->ptr[i]; p < out->ptr[i + 1]; p++) {
      if (zero_diagonal && out->col[p] == i) out->val[p] = 1;
      sum += out->val[p];
    }
    for (int64_t p = out->ptr[i]; p < out->ptr[i + 1]; p++) out->val[p] /= sum;
  }
  return DKHO_OK;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double align_quantile(int64_t n, const double *v, double at, double *scratch) {
  memcpy(scratch, v, (size_t)n * sizeof *v);
  qsort(scratch, (size_t)n, sizeof *scratch, by_value);
  double place = at * (double)(n - 1);
  int64_t low = (int64_t)floor(place), high = low + 1 < n ? low + 1 : low;
  double t = place - (double)low, gap = scratch[high] - scratch[low];
  /* from the nearer end, as NumPy does: the last bit decides whether an entry equal to the quantile is in the mask */
  return t < 0.5 ? scratch[low] + gap * t : scratch[high] - gap * (1 - t);
}

static int by_indexed(const void *a, const void *b, void *values) {
  const double *v = values;
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  return v[i] < v[j] ? -1 : v[i] > v[j] ? 1 : (i > j) - (i < j);
}

void align_ranks(int64_t n, const double *v, double *rank, int64_t *order) {
  for (int64_t i = 0; i < n; i++) order[i] = i;
  qsort_r(order, (size_t)n, sizeof *order, by_indexed, (void *)(uintptr_t)v);
  for (int64_t i = 0, j; i < n; i = j) {
    for (j = i + 1; j < n && v[order[j]] == v[order[i]];) j++;
    for (int64_t k = i; k < j; k++) rank[order[k]] = 0.5 * (double)(i + 1 + j);
  }
}

dkho_status align_work_take(align_work *w, arena *mem, int64_t n) {
  for (int i = 0; i < 3; i++)
    if (!ARENA_NEW(mem, w->value[i], n)) return DKHO_E_MEMORY;
  for (int i = 0; i < 2; i++)
    if (!ARENA_NEW(mem, w->mask[i], n)) return DKHO_E_MEMORY;
  if (!ARENA_NEW(mem, w->order, n) || !ARENA_NEW(mem, w->permutation, n)) return DKHO_E_MEMORY;
  return DKHO_OK;
}

static void smooth_score(const csr *s, double *v, double *scratch) {
  csr_apply(s, 1, v, scratch);
  csr_apply(s, 1, scratch, v);
}

static double mean(int64_t n, const double *v) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i];
  return sum / (double)n;
}

/* Dice of the masks, and the mean of pde over the first divided by its mean everywhere. */
static void measure_overlap(int64_t n, const uint8_t *chosen, const uint8_t *strong, const double *pde, double *dice,
                            double *enrichment) {
  int64_t both = 0, a = 0, b = 0;
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    a += chosen[i], b += strong[i], both += chosen[i] & strong[i];
    if (chosen[i]) sum += pde[i];
  }
  *dice = 2 * (double)both / fmax((double)(a + b), 1);
  *enrichment = sum / (double)a / fmax(mean(n, pde), 1e-12);
}

static double pearson(int64_t n, const double *a, const double *b) {
  double ma = mean(n, a), mb = mean(n, b), ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = a[i] - ma, y = b[i] - mb;
    ab += x * y, aa += x * x, bb += y * y;
  }
  return ab / fmax(sqrt(aa * bb), 1e-12);
}

/* Contrast (q90-q10)/(q90+q10), share of the peak, coefficient of variation. */
static void salience(int64_t n, const double *v, double *scratch, alignment *out) {
  double low = align_quantile(n, v, 0.1, scratch), high = align_quantile(n, v, 0.9, scratch);
  double m = mean(n, v), top = 0, square = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    square += (v[i] - m) * (v[i] - m);
    if (v[i] >= high) top += v[i], count++;
  }
  out->contrast = (high - low) / fmax(high + low, 1e-300);
  out->peak = top / (double)count / fmax(m, 1e-300);
  out->variation = sqrt(square / (double)n) / fmax(m, 1e-300);
}

void align_compare(const csr *smoother, double q, double *phase, double *pde, align_work *w, alignment *out) {
  int64_t n = smoother->rows;
  double *a = w->value[0], *b = w->value[1], *scratch = w->value[2];
  smooth_score(smoother, phase, scratch);
  smooth_score(smoother, pde, scratch);
  double cut = align_quantile(n, phase, 1 - q, scratch), strong = align_quantile(n, pde, 1 - q, scratch);
  for (int64_t i = 0; i < n; i++) w->mask[0][i] = phase[i] >= cut, w->mask[1][i] = pde[i] >= strong;
  measure_overlap(n, w->mask[0], w->mask[1], pde, &out->dice, &out->enrichment);
  out->lift = out->dice / q;
  align_ranks(n, phase, a, w->order);
  align_ranks(n, pde, b, w->order);
  out->rho = pearson(n, a, b);
  for (int64_t i = 0; i < n; i++) w->mask[0][i] = phase[w->permutation[i]] >= cut;
  measure_overlap(n, w->mask[0], w->mask[1], pde, &out->permuted_dice, &out->permuted_enrichment);
  salience(n, pde, scratch, out);
}

static void add_moments(double sums[2], double v) {
  sums[0] += v, sums[1] += v * v;
}

static void finish_mean(double sums[2], double n) {
  sums[0] /= n;
  sums[1] = sqrt(fmax(sums[1] / n - sums[0] * sums[0], 0));
}

void align_summarise(int64_t count, const alignment *a, double q, align_summary *out) {
  *out = (align_summary){0};
  double n = (double)count;
  for (int64_t i = 0; i < count; i++) {
    add_moments(out->rho, a[i].rho), add_moments(out->dice, a[i].dice);
    add_moments(out->lift, a[i].lift), add_moments(out->enrichment, a[i].enrichment);
    out->permuted_dice += a[i].permuted_dice / n, out->permuted_enrichment += a[i].permuted_enrichment / n;
    out->above_chance += a[i].dice > q && a[i].enrichment > 1;
  }
  out->above_chance /= n;
  finish_mean(out->rho, n), finish_mean(out->dice, n), finish_mean(out->lift, n), finish_mean(out->enrichment, n);
}

/* Adds weight × (rank / n) of one member of the alignments to sum. */
static void add_ranks(int64_t n, const alignment *a, size_t member, double sign, double weight, double *sum,
                      double *scratch, int64_t *order) {
  double *rank = scratch + n;
  for (int64_t i = 0; i < n; i++)
    memcpy(&scratch[i], (const char *)&a[i] + member, sizeof *scratch), scratch[i] *= sign;
  align_ranks(n, scratch, rank, order);
  for (int64_t i = 0; i < n; i++) sum[i] += weight * rank[i] / (double)n;
}

/* The highest bound on what there is to see that leaves enough instances to choose from. */
static double visible_bound(int64_t n, const alignment *a, double limit, const double *shown) {
  static const double bounds[] = {0.55, 0.50, 0.40};
  int64_t accurate = 0;
  for (int64_t i = 0; i < n; i++) accurate += a[i].error <= limit;
  int64_t wanted = (int64_t)fmin(fmax(5, ceil(0.03 * (double)n)), (double)accurate);
  for (int b = 0; b < 3; b++) {
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++) left += a[i].error <= limit && shown[i] >= bounds[b];
    if (left >= wanted) return bounds[b];
  }
  return -INFINITY;
}

dkho_status align_cases(int64_t n, const alignment *a, int wanted, int64_t *chosen, int *found) {
  double *shown, *score = NULL, *scratch = NULL;
  int64_t *order = NULL;
  arena mem = {0};
  *found = 0;
  if (!ARENA_NEW(&mem, shown, n) || !ARENA_NEW(&mem, score, n) || !ARENA_NEW(&mem, scratch, 2 * n) ||
      !ARENA_NEW(&mem, order, n)) {
    arena_free(&mem);
    return DKHO_E_MEMORY;
  }
#define RANKS(member, sign, weight, sum) add_ranks(n, a, offsetof(alignment, member), sign, weight, sum, scratch, order)
  RANKS(contrast, 1, 1.0 / 3, shown);
  RANKS(peak, 1, 1.0 / 3, shown);
  RANKS(variation, 1, 1.0 / 3, shown);
  RANKS(error, -1, 0.15, score);
  RANKS(dice, 1, 0.30, score);
  RANKS(enrichment, 1, 0.20, score);
  RANKS(rho, 1, 0.10, score);
#undef RANKS
  for (int64_t i = 0; i < n; i++) scratch[n + i] = a[i].error, score[i] += 0.25 * shown[i];
  double limit = align_quantile(n, scratch + n, 0.4, scratch), bound = visible_bound(n, a, limit, shown);
  for (int64_t i = 0; i < n; i++)
    if (!(a[i].error <= limit && shown[i] >= bound)) score[i] = -INFINITY;
  for (; *found < wanted; ++*found) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
      if (score[i] > score[best]) best = i;
    if (n == 0 || isinf(score[best])) break;
    chosen[*found] = best;
    score[best] = -INFINITY;
  }
  arena_free(&mem);
  return DKHO_OK;
}
