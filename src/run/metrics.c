/* metrics.c: the lists of metrics and their evaluation. Formulas are in metrics.h's functions and docs/METRICS.md; this
 * file leaves out anything about models, splits or files. */
#include "run/metrics.h"

#include "data/dataset.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LIST_MAX = 16, LEVELS_MAX = 10 };
/* A part of the reference smaller than this beside the reference itself is rounding: fields are kept in float, and a derivative
 * of values near 1 that should be 0 comes out near 1e-7. What is measured relative to such a part means nothing. */
#define VANISHING 1e-5

/* Everything a metric may read about the target, and its scratch, for one sample. */
typedef struct view {
  const metrics *m;
  const double *p, *y;   /* the fields as stored: n × channels */
  const double *fp, *fy; /* the cochains that differential metrics see (edge flux for nodal vectors) */
  double *dp, *dy;       /* scratch, the largest count of simplices each */
  uint8_t *mp, *my;      /* masks */
  int32_t *parent;
} view;

typedef struct metric_def {
  metric_info info;
  double (*sample)(const view *v, const struct metric_def *def);
  double eta; /* floor of the formula */
  int levels; /* thresholds: 3 (0.2, 0.5, 0.8), 10 equally spaced, -10 equally spaced with Gaussian weights */
} metric_def;

struct metrics {
  const cx *c;
  int degree, channels, count;
  int64_t n;           /* entries of the field: N_k × channels */
  int flux_of_vectors; /* differential metrics act on the edge integrals of nodal vectors */
  int64_t biggest;     /* largest N_j × 1, for scratch */
  metrics_given given;
  metric_def def[LIST_MAX];
  int64_t pairs; /* adjacency of the simplices whose level sets are compared */
  int32_t *pair;
  double *weight;   /* measure of those simplices, summing to 1 */
  int64_t interior; /* vertices with label 0 */
};

double metric_rel_l2(int64_t n, const double *p, const double *y, double floor) {
  double e = 0, r = 0;
  for (int64_t i = 0; i < n; i++) e += (p[i] - y[i]) * (p[i] - y[i]), r += y[i] * y[i];
  return sqrt(e) / fmax(sqrt(r), floor);
}

double metric_field_error(int64_t n, const float *p, const float *y) {
  double e = 0, r = 0;
  for (int64_t i = 0; i < n; i++) {
    double gap = (double)p[i] - (double)y[i];
    e += gap * gap, r += (double)y[i] * (double)y[i];
  }
  return sqrt(r) <= 1e-12 ? -1 : sqrt(e) / sqrt(r);
}

double metric_cosine(int64_t n, const double *a, const double *b, const double *w, double eta) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < n; i++) {
    double s = w ? w[i] : 1.0;
    ab += s * a[i] * b[i], aa += s * a[i] * a[i], bb += s * b[i] * b[i];
  }
  return 0.5 * (1 + ab / (sqrt(aa) * sqrt(bb) + eta));
}

static int32_t find_component(int32_t *parent, int32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

int64_t metric_components(int64_t n, const uint8_t *mask, int64_t pairs, const int32_t *pair, int32_t *parent) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) parent[i] = (int32_t)i, count += mask[i];
  for (int64_t e = 0; e < pairs; e++) {
    int32_t a = pair[2 * e], b = pair[2 * e + 1];
    if (!mask[a] || !mask[b]) continue;
    a = find_component(parent, a), b = find_component(parent, b);
    if (a != b) parent[a > b ? a : b] = a < b ? a : b, count--;
  }
  return count;
}

/* ---- metrics on the field as it is ---- */

static double mse(const view *v, const metric_def *def) {
  (void)def;
  double e = 0;
  for (int64_t i = 0; i < v->m->n; i++) e += (v->p[i] - v->y[i]) * (v->p[i] - v->y[i]);
  return e / (double)v->m->n;
}

/* √e / max(√r, floor) of sums of squares; nothing to say when the reference is nothing beside a field of square `whole`. */
static double ratio(double e, double r, double whole, double floor) {
  return r <= VANISHING * VANISHING * whole || r <= floor * floor ? NAN : sqrt(e) / sqrt(r);
}

static double square(int64_t n, const double *u) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += u[i] * u[i];
  return sum;
}

/* Whether a derivative of the reference, n entries, vanishes beside the cochain it was taken of, of degree k. */
static int vanishes(const view *v, int64_t n, const double *derivative, int k) {
  return square(n, derivative) <= VANISHING * VANISHING * square(v->m->c->n[k], v->fy);
}

static double rel_l2(const view *v, const metric_def *def) {
  double e = 0;
  for (int64_t i = 0; i < v->m->n; i++) e += (v->p[i] - v->y[i]) * (v->p[i] - v->y[i]);
  return ratio(e, square(v->m->n, v->y), 0, def->eta);
}

/* ‖p-y‖ / √(Σy² + η) */
static double rel_l2_soft(const view *v, const metric_def *def) {
  double e = 0, r = 0;
  for (int64_t i = 0; i < v->m->n; i++) e += (v->p[i] - v->y[i]) * (v->p[i] - v->y[i]), r += v->y[i] * v->y[i];
  return r <= def->eta ? NAN : sqrt(e) / sqrt(r + def->eta);
}

static double rel_l1(const view *v, const metric_def *def) {
  double e = 0, r = 0;
  for (int64_t i = 0; i < v->m->n; i++) e += fabs(v->p[i] - v->y[i]), r += fabs(v->y[i]);
  return r <= def->eta ? NAN : e / r;
}

static double interior_rel_l2(const view *v, const metric_def *def) {
  const int32_t *label = v->m->c->label[0];
  double e = 0, r = 0;
  for (int64_t i = 0; i < v->m->c->n[0]; i++)
    if (!label || label[i] == 0) e += (v->p[i] - v->y[i]) * (v->p[i] - v->y[i]), r += v->y[i] * v->y[i];
  return ratio(e, r, square(v->m->n, v->y), def->eta);
}

/* ‖Ψᵀ(p-y)‖ / max(‖Ψᵀy‖, η) */
static double harmonic_rel_l2(const view *v, const metric_def *def) {
  const metrics *m = v->m;
  double e = 0, r = 0;
  for (int64_t j = 0; j < m->given.harmonics; j++) {
    const double *h = m->given.harmonic + j * m->n;
    double ce = 0, cy = 0;
    for (int64_t i = 0; i < m->n; i++) ce += h[i] * (v->p[i] - v->y[i]), cy += h[i] * v->y[i];
    e += ce * ce, r += cy * cy;
  }
  return ratio(e, r, square(m->n, v->y), def->eta);
}

/* ---- derivative fidelities: ½(1 + cos(Dp, Dy)) ---- */

static double fidelity_up(const view *v, const metric_def *def) {
  int k = v->m->flux_of_vectors ? 1 : v->m->degree;
  cx_d(v->m->c, k, 1, v->fp, v->dp);
  cx_d(v->m->c, k, 1, v->fy, v->dy);
  int64_t n = v->m->c->n[k + 1];
  return vanishes(v, n, v->dy, k) ? NAN : metric_cosine(n, v->dp, v->dy, NULL, def->eta);
}

static void codifferentials(const view *v) {
  int k = v->m->flux_of_vectors ? 1 : v->m->degree;
  cx_dt(v->m->c, k - 1, 1, v->fp, v->dp);
  cx_dt(v->m->c, k - 1, 1, v->fy, v->dy);
}

static double fidelity_down(const view *v, const metric_def *def) {
  int k = v->m->flux_of_vectors ? 1 : v->m->degree;
  int64_t n = v->m->c->n[k - 1];
  codifferentials(v);
  return vanishes(v, n, v->dy, k) ? NAN : metric_cosine(n, v->dp, v->dy, NULL, def->eta);
}

/* ‖d₁p - d₁y‖ / max(‖d₁y‖, η): d₁ of a Darcy flux target is the circulation target. */
static double curl_to_target(const view *v, const metric_def *def) {
  cx_d(v->m->c, 1, 1, v->fp, v->dp);
  cx_d(v->m->c, 1, 1, v->fy, v->dy);
  int64_t n = v->m->c->n[2];
  return vanishes(v, n, v->dy, 1) ? NAN : metric_rel_l2(n, v->dp, v->dy, def->eta);
}

/* 1/(1 + |ln((a+η)/(b+η))|) */
static double log_ratio(double a, double b, double eta) {
  return 1 / (1 + fabs(log((a + eta) / (b + eta))));
}

static double energy_fid(const view *v, const metric_def *def) {
  double a = 0, b = 0;
  int64_t n = v->m->c->n[v->m->flux_of_vectors ? 1 : v->m->degree];
  for (int64_t i = 0; i < n; i++) a += v->fp[i] * v->fp[i], b += v->fy[i] * v->fy[i];
  return b <= def->eta ? NAN : log_ratio(a, b, def->eta);
}

/* ---- edge flux and face vorticity of nodal vectors ---- */

static double flux_mse(const view *v, const metric_def *def) {
  (void)def;
  double e = 0;
  int64_t n = v->m->c->n[1];
  for (int64_t i = 0; i < n; i++) e += (v->fp[i] - v->fy[i]) * (v->fp[i] - v->fy[i]);
  return e / (double)n;
}

static double divergence_mse(const view *v, const metric_def *def) {
  (void)def;
  codifferentials(v);
  double e = 0;
  int64_t n = v->m->c->n[0];
  for (int64_t i = 0; i < n; i++) e += (v->dp[i] - v->dy[i]) * (v->dp[i] - v->dy[i]);
  return e / (double)n;
}

/* v_j = (d₁f)_j / max(A_j, 1e-10) into dp, dy; gives whether the reference has any. */
static int vorticities(const view *v) {
  const cx *c = v->m->c;
  cx_d(c, 1, 1, v->fp, v->dp);
  cx_d(c, 1, 1, v->fy, v->dy);
  int there = !vanishes(v, c->n[2], v->dy, 1);
  for (int64_t j = 0; j < c->n[2]; j++) {
    double a = fmax(c->measure[2][j], 1e-10);
    v->dp[j] /= a, v->dy[j] /= a;
  }
  return there;
}

static double curl_mse(const view *v, const metric_def *def) {
  (void)def;
  vorticities(v);
  double e = 0;
  for (int64_t j = 0; j < v->m->c->n[2]; j++) e += v->m->weight[j] * (v->dp[j] - v->dy[j]) * (v->dp[j] - v->dy[j]);
  return e;
}

static double vort_fid(const view *v, const metric_def *def) {
  if (!vorticities(v)) return NAN;
  double ab = 0, aa = 0, bb = 0;
  for (int64_t j = 0; j < v->m->c->n[2]; j++) {
    double w = v->m->weight[j];
    ab += w * v->dp[j] * v->dy[j], aa += w * v->dp[j] * v->dp[j], bb += w * v->dy[j] * v->dy[j];
  }
  return 0.5 * (1 + ab / (sqrt(aa * bb) + def->eta));
}

static double enst_fid(const view *v, const metric_def *def) {
  if (!vorticities(v)) return NAN;
  double a = 0, b = 0;
  for (int64_t j = 0; j < v->m->c->n[2]; j++) {
    double w = v->m->weight[j];
    a += w * v->dp[j] * v->dp[j], b += w * v->dy[j] * v->dy[j];
  }
  return log_ratio(a, b, def->eta);
}

/* ---- level sets ---- */

/* Least and largest value; gives whether there is anything between them to put a level at. */
static int range(int64_t n, const double *y, double *lo, double *hi) {
  *lo = *hi = y[0];
  for (int64_t i = 1; i < n; i++) *lo = fmin(*lo, y[i]), *hi = fmax(*hi, y[i]);
  return *hi - *lo > VANISHING * fmax(fabs(*lo), fabs(*hi));
}

/* The α of each level and its weight. */
static int level_list(int levels, double *alpha, double *weight) {
  static const double three[] = {0.2, 0.5, 0.8};
  int n = levels == 3 ? 3 : 10;
  double sum = 0;
  for (int i = 0; i < n; i++) {
    alpha[i] = levels == 3 ? three[i] : (i + 1) / 11.0;
    weight[i] = levels < 0 ? exp(-4 * (alpha[i] - 0.5) * (alpha[i] - 0.5)) : 1.0;
    sum += weight[i];
  }
  for (int i = 0; i < n; i++) weight[i] /= sum;
  return n;
}

static void masks(const view *v, int64_t n, const double *p, const double *y, double threshold) {
  for (int64_t i = 0; i < n; i++) v->mp[i] = p[i] >= threshold, v->my[i] = y[i] >= threshold;
}

/* mean over levels of exp(-1.5 |β(P) - β(Y)| / max(β(P), β(Y), 1)), thresholds from the reference */
static double s_beta0(const view *v, const metric_def *def) {
  const metrics *m = v->m;
  double lo, hi, alpha[LEVELS_MAX], weight[LEVELS_MAX], score = 0;
  if (!range(m->n, v->y, &lo, &hi)) return NAN;
  int levels = level_list(def->levels, alpha, weight);
  for (int l = 0; l < levels; l++) {
    masks(v, m->n, v->p, v->y, lo + alpha[l] * (hi - lo));
    double b = (double)metric_components(m->n, v->mp, m->pairs, m->pair, v->parent);
    double t = (double)metric_components(m->n, v->my, m->pairs, m->pair, v->parent);
    score += weight[l] * exp(-1.5 * fabs(b - t) / fmax(fmax(b, t), 1));
  }
  return score;
}

/* Σ_l weight_l |A_l ∩ B_l| / |A_l ∪ B_l|, A_l and B_l where p and y reach the level min y + α_l (max y - min y), sizes weighted by
 * measure. NaN: y is constant. */
static double score_overlap(const view *v, const metric_def *def, int64_t n, const double *p, const double *y) {
  double lo, hi, alpha[LEVELS_MAX], weight[LEVELS_MAX], score = 0;
  if (!range(n, y, &lo, &hi)) return NAN;
  int levels = level_list(def->levels, alpha, weight);
  for (int l = 0; l < levels; l++) {
    masks(v, n, p, y, lo + alpha[l] * (hi - lo));
    double both = 0, any = 0;
    for (int64_t i = 0; i < n; i++) {
      double w = v->m->weight[i];
      if (v->mp[i] & v->my[i]) both += w;
      if (v->mp[i] | v->my[i]) any += w;
    }
    score += weight[l] * both / fmax(any, 1e-12);
  }
  return score;
}

static double iou(const view *v, const metric_def *def) {
  return score_overlap(v, def, v->m->n, v->p, v->y);
}

static double vorticity_iou(const view *v, const metric_def *def) {
  if (!vorticities(v)) return NAN;
  int64_t n = v->m->c->n[2];
  for (int64_t j = 0; j < n; j++) v->dp[j] = fabs(v->dp[j]), v->dy[j] = fabs(v->dy[j]);
  return score_overlap(v, def, n, v->dp, v->dy);
}

/* ---- lists ---- */

#define LOWER -1, METRIC_MEAN
#define HIGHER +1, METRIC_MEAN
static const metric_def MSE = {{"mse", "MSE", LOWER}, mse, 0, 0},
                        REL_L2 = {{"rel_l2", "RelL2", LOWER}, rel_l2, 1e-12, 0},
                        REL_L1 = {{"rel_l1", "RelL1", LOWER}, rel_l1, 1e-12, 0},
                        GRAD = {{"grad_fid", "Grad Fid", HIGHER}, fidelity_up, 1e-12, 0},
                        CODIFF = {{"codiff_fid", "Co-diff Fid", HIGHER}, fidelity_down, 1e-12, 0},
                        CURL = {{"curl_fid", "Curl Fid", HIGHER}, fidelity_up, 1e-12, 0},
                        COBOUNDARY = {{"coboundary_fid", "Co-boundary Fid", HIGHER}, fidelity_down, 1e-12, 0},
                        DIVERGENCE = {{"div_fid", "Div Fid", HIGHER}, fidelity_up, 1e-12, 0},
                        ENERGY = {{"energy_fid", "Energy Fid", HIGHER}, energy_fid, 1e-12, 0},
                        S_BETA0 = {{"s_beta0", "S_beta0", HIGHER}, s_beta0, 0, 3},
                        IOU = {{"iou", "IoU", +1, METRIC_ROOT}, iou, 0, 3},
                        IOU_PLAIN = {{"iou_plain", "IoU (plain mean)", HIGHER}, iou, 0, 3},
                        HARMONIC = {{"harmonic_rel_l2", "Harmonic RelL2", LOWER}, harmonic_rel_l2, 1e-12, 0},
                        INTERIOR = {{"interior_rel_l2", "Interior RelL2", LOWER}, interior_rel_l2, 1e-12, 0},
                        CURL_TO_TARGET = {{"curl_rel_l2", "Curl RelL2", LOWER}, curl_to_target, 1e-12, 0};

static void put_metric(metrics *m, metric_def def) {
  assert(m->count < LIST_MAX);
  m->def[m->count++] = def;
}

static metric_def with(metric_def def, double eta, int levels) {
  def.eta = eta;
  def.levels = levels;
  return def;
}

/* Nodal vectors, judged by their integrals along edges. */
static void list_edge_flux(metrics *m) {
  m->flux_of_vectors = 1;
  put_metric(m, (metric_def){{"mse", "MSE", LOWER}, flux_mse, 0, 0});
  put_metric(m, REL_L2);
  put_metric(m, (metric_def){{"div_fid", "Div Fid", +1, METRIC_EXP10}, divergence_mse, 0, 0});
  put_metric(m, (metric_def){{"curl_mse", "Curl MSE", LOWER}, curl_mse, 0, 0});
  put_metric(m, (metric_def){{"vort_fid", "Vort Fid", HIGHER}, vort_fid, 1e-10, 0});
  put_metric(m, (metric_def){{"enst_fid", "Enst Fid", HIGHER}, enst_fid, 1e-10, 0});
  put_metric(m, with(ENERGY, 1e-10, 0));
  put_metric(m, (metric_def){{"iou", "IoU", +1, METRIC_ROOT}, vorticity_iou, 0, 10});
  put_metric(m, (metric_def){{"mse_node", "MSE (nodes)", LOWER}, mse, 0, 0});
  put_metric(m, (metric_def){{"div_cosine", "Div Fid (cosine)", HIGHER}, fidelity_down, 1e-12, 0});
  put_metric(m, (metric_def){{"iou_plain", "IoU (plain mean)", HIGHER}, vorticity_iou, 0, 10});
  put_metric(m, REL_L1);
}

/* Scalar fields by degree. soft: on vertices, floors under the root and ten Gaussian-weighted levels. */
static void list_scalar(metrics *m, int soft_lists) {
  int k = m->degree, top = m->c->dim, soft = soft_lists && k == 0;
  put_metric(m, MSE);
  put_metric(m, soft ? (metric_def){{"rel_l2", "RelL2", LOWER}, rel_l2_soft, 1e-10, 0} : REL_L2);
  put_metric(m, REL_L1);
  if (k == 0 && top > 0) put_metric(m, soft ? with(GRAD, 1e-10, 0) : GRAD);
  if (k == 1) put_metric(m, CODIFF);
  if (k == 1 && top > 1) put_metric(m, CURL), put_metric(m, CURL_TO_TARGET);
  if (k >= 2) put_metric(m, COBOUNDARY);
  if (k == 2 && top > 2) put_metric(m, DIVERGENCE);
  if (k == 1) put_metric(m, ENERGY);
  if (k == 0 || k == top) {
    put_metric(m, S_BETA0);
    put_metric(m, with(IOU, 0, soft ? -10 : 3));
    put_metric(m, with(IOU_PLAIN, 0, soft ? -10 : 3));
  }
  if (m->given.harmonics) put_metric(m, HARMONIC);
  if (k == 0 && m->interior && m->interior < m->c->n[0]) put_metric(m, INTERIOR);
}

static void list_vector(metrics *m) {
  put_metric(m, MSE);
  put_metric(m, REL_L2);
  put_metric(m, REL_L1);
}

/* Neighbours whose level-set components are counted: vertices of an edge, or top simplices with a common face. */
static dkho_status adjacency(metrics *m) {
  const cx *c = m->c;
  if (m->channels != 1 || c->dim == 0 || (m->degree != 0 && m->degree != c->dim)) return DKHO_OK;
  if (m->degree == 0) {
    m->pairs = c->n[1];
    if (!MEM_NEW(m->pair, 2 * m->pairs)) return DKHO_E_MEMORY;
    memcpy(m->pair, c->vert[1], (size_t)m->pairs * 2 * sizeof *m->pair);
    return DKHO_OK;
  }
  int k = c->dim - 1;
  for (int64_t i = 0; i < c->n[k]; i++)
    m->pairs += c->coptr[k][i + 1] - c->coptr[k][i] > 1 ? c->coptr[k][i + 1] - c->coptr[k][i] - 1 : 0;
  if (!MEM_NEW(m->pair, 2 * m->pairs)) return DKHO_E_MEMORY;
  int64_t at = 0;
  for (int64_t i = 0; i < c->n[k]; i++)
    for (int64_t q = c->coptr[k][i] + 1; q < c->coptr[k][i + 1]; q++, at++)
      m->pair[2 * at] = c->coface[k][q - 1], m->pair[2 * at + 1] = c->coface[k][q];
  return DKHO_OK;
}

/* Measures of the simplices that level sets live on, as shares of their total. */
static dkho_status make_weights(metrics *m) {
  const cx *c = m->c;
  int k = m->flux_of_vectors ? 2 : m->degree;
  const double *measure = k == 0 ? c->dual[0] : c->measure[k];
  if (!MEM_NEW(m->weight, c->n[k])) return DKHO_E_MEMORY;
  double sum = 0;
  for (int64_t i = 0; i < c->n[k]; i++) sum += measure[i];
  for (int64_t i = 0; i < c->n[k]; i++) m->weight[i] = measure[i] / sum;
  return DKHO_OK;
}

dkho_status metrics_create(metrics **out, const cx *c, const char *list, int degree, int channels,
                           const metrics_given *given) {
  *out = NULL;
  const char *kind = data_metrics_definition(list);
  int soft = strcmp(kind, "soft") == 0, edge_flux = strcmp(kind, "edge_flux") == 0;
  if (!soft && !edge_flux && strcmp(kind, "generic") != 0)
    return fail(DKHO_E_INPUT, "unknown list of metrics '%s'; there are generic, soft, edge_flux", list);
  if (degree < 0 || degree > c->dim || channels < 1)
    return fail(DKHO_E_INPUT, "no metrics for degree %d with %d channels on a complex of dimension %d", degree,
                channels, c->dim);
  if (edge_flux && (degree != 0 || channels != 3 || c->gdim != 3 || c->dim < 2))
    return fail(DKHO_E_INPUT,
                "the metrics edge_flux judge vectors (3 channels) on vertices; found degree %d, %d channels", degree,
                channels);
  metrics *m;
  if (!MEM_NEW(m, 1)) return DKHO_E_MEMORY;
  m->c = c, m->degree = degree, m->channels = channels;
  m->n = c->n[degree] * channels;
  if (given && channels == 1) m->given = *given;
  for (int k = 0; k <= c->dim; k++) m->biggest = c->n[k] > m->biggest ? c->n[k] : m->biggest;
  for (int64_t i = 0; c->label[0] && i < c->n[0]; i++) m->interior += c->label[0][i] == 0;
  if (edge_flux)
    list_edge_flux(m);
  else if (channels == 1)
    list_scalar(m, soft);
  else
    list_vector(m);
  dkho_status s = adjacency(m);
  if (s == DKHO_OK) s = make_weights(m);
  if (s == DKHO_OK)
    *out = m;
  else
    metrics_free(m);
  return s;
}

void metrics_free(metrics *m) {
  if (!m) return;
  mem_free(m->pair);
  mem_free(m->weight);
  mem_free(m);
}

int metrics_count(const metrics *m) {
  return m->count;
}
const metric_info *metrics_at(const metrics *m, int i) {
  return &m->def[i].info;
}

int metrics_find(const metrics *m, const char *key) {
  for (int i = 0; i < m->count; i++)
    if (strcmp(m->def[i].info.key, key) == 0) return i;
  return -1;
}

/* Four fields of doubles, two masks of bytes, one array of ints, each as long as the largest degree. */
size_t metrics_work(const metrics *m) {
  return (size_t)m->biggest * 6;
}

/* f_e = ½(Y_a + Y_b)·(x_b - x_a) */
static void edge_flux(const cx *c, const double *vectors, double *f) {
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1];
    f[e] = 0;
    for (int j = 0; j < 3; j++)
      f[e] += 0.5 * (vectors[3 * a + j] + vectors[3 * b + j]) * (c->x[3 * b + j] - c->x[3 * a + j]);
  }
}

void metrics_sample(const metrics *m, const double *p, const double *y, double *work, double *value) {
  int64_t n = m->biggest;
  double *fp = work + 2 * n, *fy = work + 3 * n;
  view v = {.m = m, .p = p, .y = y, .fp = p, .fy = y, .dp = work, .dy = work + n};
  v.parent = (int32_t *)(work + 4 * n);
  v.mp = (uint8_t *)(work + 5 * n), v.my = v.mp + n;
  if (m->flux_of_vectors) {
    edge_flux(m->c, p, fp), edge_flux(m->c, y, fy);
    v.fp = fp, v.fy = fy;
  }
  for (int i = 0; i < m->count; i++) value[i] = m->def[i].sample(&v, &m->def[i]);
}

void metrics_reduce(const metrics *m, int64_t samples, const double *values, double *result, int64_t *counted) {
  for (int i = 0; i < m->count; i++) {
    double sum = 0;
    int64_t there = 0;
    for (int64_t s = 0; s < samples; s++) {
      double v = values[s * m->count + i];
      if (!isnan(v)) sum += v, there++;
    }
    if (counted) counted[i] = there;
    result[i] = NAN;
    if (!there) continue;
    sum /= (double)there;
    metric_join join = m->def[i].info.join;
    result[i] = join == METRIC_ROOT ? sqrt(sum) : join == METRIC_EXP10 ? fmin(fmax(exp(-10 * sum), 0), 1) : sum;
  }
}
