/* dec.h: discrete exterior calculus on a complex: stars, d, δ, Laplacians, Dirac, topology, harmonic bases, spectra.
 *
 * Two metrics (docs/MODEL.md): unit, M_k = I; hodge, diagonal circumcentric stars (dual over primal measure) with
 * barycentric replacements where not positive (below a thousandth of the barycentric value counts as zero), on the mesh
 * scaled to unit mean edge length.
 *   d_k = incidence,  δ_k = M_{k-1}⁻¹ d_{k-1}ᵀ M_k,  Δ_k = d_{k-1} δ_k + δ_{k+1} d_k,  (𝒟v)_k = d_{k-1} v_{k-1} +
 * δ_{k+1} v_{k+1}. */
#ifndef DEC_DEC_H
#define DEC_DEC_H

#include "la/la.h"
#include "mesh/cx.h"

typedef enum { DEC_UNIT, DEC_HODGE } dec_metric;
const char *dec_metric_name(dec_metric m);
dkho_status dec_metric_parse(const char *name, dec_metric *out);

/* The diagonal metric of every degree. */
typedef struct dec {
  const cx *c; /* borrowed */
  dec_metric metric;
  double scale;                 /* factor by which lengths were scaled (1 for unit) */
  double *star[CX_DEGREES];     /* n[k] positive numbers, k = 0 … dim */
  int64_t replaced[CX_DEGREES]; /* barycentric replacements */
  arena mem;
} dec;
dkho_status dec_create(dec **out, const cx *c, dec_metric metric);
void dec_free(dec *d);

/* Row-major fields with ch channels; 0 ≤ k ≤ dim. A field of a degree that is not there has no entries, or is zero. */
void dec_d(const dec *d, int k, int ch, const double *u, double *out);     /* C^k → C^{k+1} */
void dec_delta(const dec *d, int k, int ch, const double *u, double *out); /* C^k → C^{k-1} */
dkho_status dec_laplacian(const dec *d, int k, int ch, const double *u, double *out);
/* fields[k] and out[k] for k = 0 … dim; out[k] = d u_{k-1} + δ u_{k+1}. */
dkho_status dec_dirac(const dec *d, int ch, const double *const *fields, double *const *out);
double dec_dot(const dec *d, int k, int ch, const double *u, const double *v); /* <u, v>_{M_k} summed over channels */
/* M_k^{1/2} Δ_k M_k^{-1/2}, symmetric; down and up parts can be had alone. */
typedef enum { DEC_DOWN = 1, DEC_UP = 2, DEC_BOTH = 3 } dec_part;
dkho_status dec_matrix(const dec *d, int k, dec_part part, csr *out);

/* Betti numbers over the rationals (exact elimination modulo a large prime, certified against a second prime), absolute
 * and relative to the boundary subcomplex; β[k] for k = 0 … dim, zeros above. */
dkho_status dec_betti(const cx *c, int64_t betti[CX_DEGREES]);
dkho_status dec_betti_relative(const cx *c, int64_t betti[CX_DEGREES]);
/* The same of any complex by elimination, without the shorter way that surfaces have. */
dkho_status dec_betti_eliminated(const cx *c, int relative, int64_t betti[CX_DEGREES]);

/* An M_k-orthonormal basis of ker Δ_k: n[k] × β_k column-major; certificates are max over columns of ‖dh‖ and ‖δh‖ in
 * the metric (zero in spectral bases). Signs as in dec_spectrum. */
typedef struct dec_basis {
  int64_t n, count;
  double *vec;    /* n × count column-major, owned */
  double *lambda; /* count (spectral bases), NULL for harmonic ones */
  double closed, coclosed;
} dec_basis;
void dec_basis_free(dec_basis *b);
dkho_status dec_harmonic(const dec *d, int k, dec_basis *out);

/* u = d a + h + δ b, parts written to exact, harmonic, coexact (n[k] × ch each). */
dkho_status dec_decompose(const dec *d, int k, int ch, const double *u, double *exact, double *harmonic,
                          double *coexact);

/* The `count` lowest positive eigenpairs of Δ_k for every degree k = 0 … top, M_k-orthonormal, ascending; sign: entry
 * of largest modulus positive (first such index on ties within 1e-9 relative); inside a degenerate cluster a canonical
 * basis. Modes shared by neighbouring degrees are solved once. fewer modes than count: the basis is shorter. out[0 …
 * top]. */
dkho_status dec_spectrum(const dec *d, int top, int count, dec_basis *out);
/* The columns of a basis row-major, n × columns; zeros where the basis is shorter. */
void dec_basis_rows(const dec_basis *b, int64_t columns, double *out);

/* Spectral and harmonic bases of the degrees 0 … top in one metric, as data sets, models and mesh files carry them. */
typedef struct dec_bases {
  dec_metric metric;
  int top;
  int64_t modes; /* pairs asked for: a spectral basis is shorter where there are no more */
  dec_basis spectral[CX_DEGREES], harmonic[CX_DEGREES];
} dec_bases;
dkho_status dec_bases_find(dec_bases *out, const cx *c, dec_metric metric, int top, int modes);
void dec_bases_free(dec_bases *b); /* zeroed is fine */
/* In the container of a complex, after its own tensors: declared, then written. Reading (degrees up to 2) refuses bases that
 * are not those of this complex. */
dkho_status dec_bases_declare(const dec_bases *b, st_writer *w);
dkho_status dec_bases_write(const dec_bases *b, st_writer *w);
int dec_bases_stored(const st_file *f);
dkho_status dec_bases_get(dec_bases *out, const cx *c, const st_file *f);

#endif
