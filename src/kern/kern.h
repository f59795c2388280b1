/* kern.h: the arithmetic of learning on raw arrays, as one table of functions per instruction set.
 *
 * Layout. A field of C channels on N simplices is held in tiles of 16 simplices: element (i, ch) stands at
 * (i/16)·16C + 16·ch + i%16, so that per-simplex maps run down the lanes without horizontal sums. "[t][C]" below means
 * such an array: t tiles of C rows of 16 lanes; a stride (xs, ys, …) counts numbers from one tile to the next. Tile
 * arrays are aligned to 64 bytes. Lanes beyond N hold finite numbers in values and zeros in cotangents; every kernel
 * keeps it so, hence sums over lanes need no masks. Phases alone are rows, [t][16][C], element (i, ch) at C·i + ch.
 *
 * ref.c defines every function in plain loops, in `real`; the fast tables are float and agree with it to rounding. A
 * sum's order depends on the arguments only. Functions named X_back take cotangents (g_…) and quote X's equation.
 * No mesh, no tape and no memory is known here: every array is the caller's. */
#ifndef KERN_KERN_H
#define KERN_KERN_H

#include "base/real.h"
#include "base/status.h"

enum { KERN_LANES = 16 };

static inline int kern_tiles(int64_t n) {
  return (int)((n + KERN_LANES - 1) / KERN_LANES);
}
/* n rounded up to whole lanes: the leading dimension of gradients and of transposed blocks. */
static inline int kern_pad(int n) {
  return (n + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
}

/* Rows (n × ch, row-major) to tiles and back: place i of the tiles holds row order[i]; lanes beyond n become zero. */
void kern_tile(int64_t n, int ch, const int32_t *order, const real *rows, real *tiles);
void kern_untile(int64_t n, int ch, const int32_t *order, const real *tiles, real *rows);

/* Signed sums over neighbours: row i of a sparse matrix with entries ±1 (val NULL) or val, in gather form.
 * Slots start[t] … start[t+1]-1 serve tile t; slot p has 16 entries at[16p + lane]: bits 0–30 the place of (j, channel
 * 0) in rows of the width the list was built for, bit 31 set for a minus sign. Short rows are padded with the
 * place just behind the last tile, so a gathered array has one more tile, of zeros. */
typedef struct kern_gather {
  int tiles;
  const int32_t *start;
  const uint32_t *at;
  const real *val; /* 16 per slot, signs included; NULL: ±1 by bit 31 */
} kern_gather;

/* Slots needed by a list of n rows, row i having ptr[i+1]-ptr[i] entries. */
int64_t kern_gather_slots(int64_t n, const int64_t *ptr);
/* Fills start (tiles + 1), at and, when weight is given (one per entry, signs included), val (16·slots each).
 * Columns are 0 … cols-1; `width` channels in the gathered arrays. Rejects arrays too large for 31 bits. */
dkho_status kern_gather_fill(int64_t n, const int64_t *ptr, const int32_t *col, const int8_t *sign,
                             const double *weight, int64_t cols, int width, int32_t *start, uint32_t *at, real *val);

/* Elementwise functions y = f(x) for fields of any shape. */
typedef enum {
  KERN_SIN, /* |x| ≤ 1e4 */
  KERN_COS, /* |x| ≤ 1e4 */
  KERN_TANH,
  KERN_ERF,
  KERN_EXP,
  KERN_LOG1P, /* x > -1 */
  KERN_SOFTPLUS,
  KERN_SIGMOID,
  KERN_GELU,       /* x Φ(x), Φ the normal distribution function */
  KERN_GELU_SLOPE, /* Φ(x) + x φ(x) */
  KERN_SILU,       /* x sigmoid(x) */
  KERN_FN_COUNT
} kern_fn;
const char *kern_fn_name(kern_fn f);

/* Y = gain ⊙ base + shift + X_0 W_0 + X_1 W_1 on tiles, gain and shift per channel; gain NULL is one, shift NULL zero,
 * base NULL leaves it out. y may be base. On the way the `lines` cache lines (64 bytes) at each `ahead` are brought,
 * which the caller will want next. */
typedef struct kern_term {
  const real *x; /* [t][in] */
  size_t xs;
  int in;
  const real *w; /* in × out, row length ld */
  int ld;
} kern_term;
typedef struct kern_sum {
  int tiles, out, terms; /* one or two */
  kern_term term[2];
  const real *base;
  size_t bs;
  const real *gain, *shift;
  real *y;
  size_t ys;
  const real *ahead[2];
  size_t lines[2];
} kern_sum;

/* The same on matrices (below): Y = shift + Σ X_i W_i, or Y += … when `add`. A term's xs is then the length of X's rows. */
typedef struct kern_rows {
  int64_t rows;
  int out, terms; /* one at least */
  const kern_term *term;
  const real *shift; /* out, NULL: zero */
  int add;
  real *y;
  size_t ys;
} kern_rows;

/* A sparse matrix by compressed rows: row i has the entries ptr[i] … ptr[i+1]-1. */
typedef struct kern_csr {
  const int64_t *ptr;
  const int32_t *col;
  const real *val;
} kern_csr;

/* Rows of length kern_pad(h), and where those begin that a simplex adds up (col: numbers from the first row's), with `parts` weights an entry. Simplices that fill the last tile have
 * no entries. Behind the last entry are KERN_AHEAD more such places: kernels bring rows before they need them. */
enum { KERN_AHEAD = 32 };
typedef struct kern_carry {
  kern_csr list;
  const real *rows;
} kern_carry;

/* One mode of a spectral convolution: x = x' + i x'' and W = W' + i W'' by parts. */
typedef struct kern_mode {
  int in, out;
  const real *xr, *xi; /* in */
  const real *w;       /* W', then W'': in × out each */
} kern_mode;

typedef struct kern {
  const char *name; /* "ref", "avx2", "avx512", "neon" */

  /* Thin products. */
  void (*mm_sum)(const kern_sum *s);
  /* The same for one product that is wanted in rows: R[16t+l] = X[t]_l W + b, W in × out with row length ld, b NULL zero; rows of length
   * kern_pad(out), in which what is beyond `out` is zero or left. */
  void (*mm_rows)(int tiles, const real *x, size_t xs, int in, const real *w, int ld, int out, const real *b, real *r);
  /* R[16t+l][ch] = X[t][ch][l], rows of length ldr = kern_pad(ch), padded with zeros. */
  void (*transpose)(int tiles, const real *x, size_t xs, int ch, real *r);
  /* g_W += Xᵀ R, for R (16·tiles × kern_pad(out)) the transposed cotangent of Y; g_W in × kern_pad(out). */
  void (*grad_w)(int tiles, const real *x, size_t xs, int in, const real *r, int out, real *gw);
  /* The same lane by lane, for few outputs: lanes[i][o][16] += X_i ⊙ G_o tile by tile, G [t][out] not transposed; row
   * `in` takes G itself, for the bias. Summing over the lanes is left to the caller. */
  void (*grad_lanes)(int tiles, const real *x, size_t xs, int in, const real *g, size_t gs, int out, real *lanes);
  /* g_b += column sums of R. */
  void (*grad_b)(int tiles, const real *r, int out, real *gb);

  /* Layer norm over the channels without its affine part, eps 1e-5: xhat = (u - mean)/√(var + eps), rstd =
   * 1/√(var + eps) [t][1]. xhat may be u. Callers fold gain and shift into the next matrix. */
  void (*norm)(int tiles, int ch, const real *u, size_t us, real *xhat, size_t hs, real *rstd);
  /* xhat = norm(gelu(a)); xhat may be a. */
  void (*gelu_norm)(int tiles, int ch, real *a, size_t as, real *xhat, size_t hs);
  /* The same for the way back: keeps rstd and, in place of a, the slope gelu'(a). */
  void (*gelu_norm_keep)(int tiles, int ch, real *a, size_t as, real *xhat, size_t hs, real *rstd);
  /* g_u = slope ⊙ rstd (q - mean q - xhat mean(q ⊙ xhat)), q = gain ⊙ g_y; slope NULL is one. g_u may be g_y.
   * lanes [2][ch][16] += g_y ⊙ xhat and g_y, tile by tile. */
  void (*norm_back)(int tiles, int ch, const real *gy, size_t gs, const real *xhat, size_t hs, const real *rstd,
                    const real *gain, const real *slope, size_t ss, real *gu, size_t us, real *lanes);

  /* Between [t][c] (stride xs) and rows [t][16][c]. */
  void (*to_rows)(int tiles, int c, const real *x, size_t xs, real *rows);
  void (*from_rows)(int tiles, int c, const real *rows, real *x, size_t xs);
  /* Phases and what is gathered from them (θ, x, T, and the fields other, a, b, own_…, out below) are rows: [t][16][c],
   * simplex by simplex, so that a neighbour's channels lie together.
   * [cos θ, sin θ] : θ → [t][2c]. */
  void (*phasor)(int tiles, int c, const real *theta, real *cs, size_t ss);
  /* g_θ += cos θ ⊙ g_sin - sin θ ⊙ g_cos. */
  void (*phasor_back)(int tiles, int c, const real *cs, size_t ss, const real *g, size_t gs, real *g_theta);
  /* Conditioning maps [t][3c] in place: drive as it is, gate tanh, lag scale·tanh. */
  void (*cond)(int tiles, int c, real scale, real *maps);
  /* g_pre from g_maps, maps the activated values. */
  void (*cond_back)(int tiles, int c, real scale, const real *maps, const real *g_maps, real *g_pre, size_t ps);
  /* The network without phases: maps [t][3c] in place to [a, s, b] = [tanh drive, sigmoid gate, tanh lag], rows x =
   * s⊙a + b; turn (stride ts) = tanh gate unless NULL. */
  void (*carrier)(int tiles, int c, real *maps, real *x, real *turn, size_t ts);
  /* g_pre from g_x and, unless turn is NULL, g_turn, both rows. */
  void (*carrier_back)(int tiles, int c, const real *maps, const real *g_x, const real *turn, size_t ts,
                       const real *g_turn, real *g_pre, size_t ps);

  /* Relation substep (docs/MODEL.md, section 2) on tiles first … last-1; M = [ω, γ, λ] [t][3c] on the rows' degree.
   * out = sin(list·other + s γ⊙θ - λ). */
  void (*rel_sin)(int first, int last, int c, const kern_gather *list, const real *other, real s, const real *theta,
                  const real *maps, real *out);
  /* out = θ - τ(ω + σ(up·a + down·b)); a list may be NULL. */
  void (*rel_step)(int first, int last, int c, const kern_gather *up, const real *a, const kern_gather *down,
                   const real *b, real tau, real sigma, const real *theta, const real *maps, real *out);
  /* With x = list·other + s γ⊙θ - λ (rel_sin's argument) and v = adj·T: out = weight·cos x ⊙ v; g_γ += s θ⊙out;
   * g_λ -= out; dot[16] += sin x ⊙ v by lane. */
  void (*rel_sin_back)(int first, int last, int c, const kern_gather *list, const real *other, real s,
                       const real *theta, const real *maps, const kern_gather *adj, const real *t, real weight,
                       real *out, real *g_maps, real *dot);
  /* T += up·a + down·b + γ⊙(own_b - own_a); missing parts are NULL. */
  void (*rel_step_back)(int first, int last, int c, const kern_gather *up, const real *a, const kern_gather *down,
                        const real *b, const real *own_a, const real *own_b, const real *maps, real *t);
  /* g_ω -= τ T; dot[16] += ω ⊙ T by lane. */
  void (*rel_drive_back)(int first, int last, int c, real tau, const real *t, const real *maps, real *g_maps,
                         real *dot);
  /* The substep of a simplex by itself: out = θ - τ(ω + σ sin(γ⊙θ - λ)). */
  void (*rel_alone)(int first, int last, int c, real tau, real sigma, const real *theta, const real *maps, real *out);
  /* With x = γ⊙θ - λ and r = -τσ cos x ⊙ T: g_ω -= τ T; g_γ += θ⊙r; g_λ -= r; dot[32] += sin x ⊙ T, then ω ⊙ T, by
   * lane; T += γ⊙r. */
  void (*rel_alone_back)(int first, int last, int c, real tau, real sigma, const real *theta, const real *maps, real *t,
                         real *g_maps, real *dot);

  /* Sums over neighbours at full width, tiles first … last-1 of the lists, of which there are one or two; y at the first of these tiles.
   * Y_p [t][h], p < parts ≤ 2, h rows of lanes apart: Y_p = (add ? Y_p : 0) + Σ_lists Σ_e val[parts·e + p] row at col[e]. */
  void (*carry)(int first, int last, int parts, int h, int count, const kern_carry *from, int add, real *y, size_t ys);

  /* Matrices: row-major, any width, no alignment, nothing padded: what the tape works on. A stride (xs, …) counts numbers
   * from one row to the next; without one the rows are close together. `add` adds to the result instead of writing it. */
  void (*row_mm)(const kern_rows *j);
  /* g_W += Xᵀ G: X rows × in, G rows × out, g_W in × out. */
  void (*row_grad)(int64_t rows, int in, int out, const real *x, size_t xs, const real *g, size_t gs, real *gw);
  /* Layer norm of each row, eps 1e-5: y = gain ⊙ xhat + shift, xhat = (x - mean)/√(var + eps). */
  void (*row_norm)(int64_t rows, int n, const real *x, const real *gain, const real *shift, real *y);
  /* g_x = (q - mean q - xhat mean(q ⊙ xhat))/√(var + eps), q = gain ⊙ g_y, unless g_x is NULL;
   * sums [2][n] += Σ g_y ⊙ xhat and Σ g_y over the rows, unless NULL. */
  void (*row_norm_back)(int64_t rows, int n, const real *x, const real *gain, const real *gy, int add, real *gx,
                        real *sums);
  void (*col_sum)(int64_t rows, int n, real a, const real *x, real *sum);                 /* sum += a Σ_r x_r */
  void (*col_scale)(int64_t rows, int n, const real *s, const real *x, int add, real *y); /* y_r = s ⊙ x_r */
  /* sum += Σ_r (x_r - centre) ⊙ y_r; centre NULL is zero, y NULL is x_r - centre again. */
  void (*col_dot)(int64_t rows, int n, const real *x, const real *centre, const real *y, real *sum);
  /* y_r = (x_r - centre) ⊙ scale + shift. */
  void (*col_affine)(int64_t rows, int n, const real *x, const real *centre, const real *scale, const real *shift,
                     int add, real *y);
  /* y_i = Σ_p val[p] x[col[p]], rows i = first … last-1 of a, n columns. */
  void (*gather)(const kern_csr *a, int64_t first, int64_t last, int n, const real *x, int add, real *y);

  /* y' = x' W' - x'' W'', y'' = x' W'' + x'' W'. */
  void (*mode_mm)(const kern_mode *m, real *yr, real *yi);
  /* g_x += g_y Wᴴ: g_x' += g' W'ᵀ + g'' W''ᵀ, g_x'' += g'' W'ᵀ - g' W''ᵀ, unless NULL (both);
   * g_W += xᴴ g_y: g_W' += x'ᵀ g' + x''ᵀ g'', g_W'' += x'ᵀ g'' - x''ᵀ g', unless NULL. */
  void (*mode_back)(const kern_mode *m, const real *gr, const real *gi, real *gxr, real *gxi, real *gw);

  /* Plain vectors. */
  void (*map)(kern_fn f, size_t n, const real *x, real *y);
  void (*unary)(kern_fn f, size_t n, real a, real b, const real *x, real *y); /* y = a f(x) + b */
  /* g_x = a f'(x) ⊙ g_y; f' of gelu's slope is not there. */
  void (*unary_back)(kern_fn f, size_t n, real a, const real *x, const real *gy, int add, real *gx);
  void (*relu)(size_t n, real slope, const real *x, real *y); /* y = x where x > 0, slope·x elsewhere */
  void (*relu_back)(size_t n, real slope, const real *x, const real *gy, int add,
                    real *gx);                                   /* g_x = (1 or slope) g_y */
  void (*gate)(size_t n, const real *a, const real *b, real *y); /* y = a ⊙ silu(b) */
  /* g_a = silu(b) ⊙ g_y, g_b = a ⊙ silu'(b) ⊙ g_y; a NULL one is left out. */
  void (*gate_back)(size_t n, const real *a, const real *b, const real *gy, int add_a, real *ga, int add_b, real *gb);
  void (*combine)(size_t n, int terms, const real *a, const real *const *x, real *y); /* y = Σ a_i x_i */
  void (*mul)(size_t n, const real *a, const real *b, int add, real *y);              /* y = a ⊙ b */
  void (*axpy)(size_t n, real a, const real *x, real *y);                             /* y += a x */
  /* For measuring: independent chains of multiply-adds in registers, nothing else. Returns how many were done. */
  double (*peak)(size_t rounds, real *sink);
} kern;

/* One product by k->mm_sum. X [t][in], Y [t][out], W in × out with row length ld. Y = X W + b, or Y += X W + b when `add`; b
 * NULL is zero. */
void kern_mm(const kern *k, int tiles, const real *x, size_t xs, int in, const real *w, int ld, int out, const real *b,
             int add, real *y, size_t ys);

/* The best table of this CPU, or the one named by the environment variable DKHO_ISA. Fails when that name is unknown or
 * asks for instructions the CPU lacks. */
dkho_status kern_get(const kern **out);
/* By name; NULL when unknown or not runnable here. */
const kern *kern_find(const char *isa);
/* Names for messages and tests: kern_isa(0), kern_isa(1), … up to NULL, runnable or not, best first. */
const char *kern_isa(int i);

extern const kern kern_ref;

#endif
