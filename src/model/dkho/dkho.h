/* dkho.h: the Dynamic Kuramoto–Hodge Operator and its ablations, recorded on a tape.
 *
 * Content z_k (N_k × h) and relation θ_k (N_k × c) on every active degree k:
 *   z_k⁰ = enc_k(F_k),  MLP(i, w, o) = affine, GELU, layer norm, affine
 *   per layer, with Ω_k = drive_k(z_k), G_k = tanh(gate_k(z_k)), Λ_k = lag_scale · tanh(lag_k(z_k)),
 *   τ = tau_lo + tau_range · sigmoid(t), σ_k = softplus(s_k) + 1e-4, R times, all degrees at once:
 *     c↑_k = δ_{k+1} sin(d_k θ_k - G_{k+1} ⊙ θ_{k+1} - Λ_{k+1})
 *     c↓_k = d_{k-1} sin(δ_k θ_k + G_{k-1} ⊙ θ_{k-1} - Λ_{k-1})
 *     θ_k ← θ_k - τ Ω_k - τ σ_k (c↑_k + c↓_k)
 *   then z_k ← norm_k(z_k + upd_k[z_k, read_k[cos θ_k, sin θ_k]] + S_k z_k⁰)
 *   ũ = dec[z_q, cos θ_q, sin θ_q];  û = ũ - H Hᵀ M ũ + H harm(g)
 * Terms of degrees that are not active vanish.
 *
 * Extensions, all off in the paper's network, added to the first affine map of upd_k with maps that start at zero:
 *   exchange: d z_{k-1} W + δ z_{k+1} W' + mean_{faces} z_{k-1} V + mean_{cofaces} z_{k+1} V', h × h each; with exchange_width w < h
 *   of z_j D_j in place of z_j, D_j (h × w) one map for both neighbours, and W … V' are w × h;
 *   spectral: Φ_k V_k R_k with V = A₂ GELU(A₁ C B), C the stacked coefficients Φ_kᵀ M z_k of the M lowest modes of every degree
 *   (harmonic ones included), A₁ (slots × modes of all degrees) and A₂ (its reverse) across modes, B and R_k across channels;
 *   latent: Y_k R_k, where every simplex of all degrees attends to M latent tokens, and these to all simplices, in four heads:
 *   Y = softmax_m(K Q) softmax_n(K Q)ᵀ V, K = Z W, V = Z W', Z the stacked z_k, Q (h × M) learned;
 *   relation none: θ, its maps and the readout are not there; upd_k reads z_k alone, the decoder z_q.
 * branch added: û = ũ + H harm(g), so that the network has a say in the harmonic part, too; weighed: û = ũ + H (harm(g) - s ⊙ Hᵀ M ũ)
 * with one learned s for every harmonic field and channel, ½ at the start.
 *
 * Ablations: no_dirac: θ_k ← θ_k - τ (Ω_k + σ_k sin(G_k ⊙ θ_k - Λ_k)), degrees never meet. no_phase: no θ; a carrier
 * x_k = sigmoid(gate_k(z_k)) ⊙ tanh(drive_k(z_k)) + tanh(lag_k(z_k)), one Dirac hop m_k = σ_k (d_{k-1} x_{k-1} + δ_{k+1}
 * x_{k+1}), z_k ← norm_k(z_k + τ upd_k[z_k, read_k[m_k, x_k]] + S_k z_k⁰), and the decoder reads [z_q, x_q,
 * tanh(gate_q(z_q))] from the last layer's maps at the final z_q. no_harmonic: û = ũ. */
#ifndef MODEL_DKHO_DKHO_H
#define MODEL_DKHO_DKHO_H

#include "model/geometry.h"

enum { DKHO_LAYERS_MAX = 16, DKHO_SUBSTEPS_MAX = 16, DKHO_HEADS = 4 };

typedef enum { DKHO_FULL, DKHO_NO_DIRAC, DKHO_NO_PHASE, DKHO_NO_HARMONIC } dkho_variant;
extern const char *const dkho_variant_names[]; /* "full", "no_dirac", "no_phase", "no_harmonic", NULL */

/* Whether content travels between degrees inside the update, beside the relation: as signed images d z_{k-1}, δ z_{k+1}, as plain
 * means of z over the same neighbours, or both. */
typedef enum { DKHO_EXCHANGE_OFF, DKHO_EXCHANGE_SIGNED, DKHO_EXCHANGE_UNSIGNED, DKHO_EXCHANGE_BOTH } dkho_exchange;
extern const char *const dkho_exchange_names[]; /* "off", "signed", "unsigned", "both", NULL */
typedef enum { DKHO_KURAMOTO, DKHO_RELATION_NONE } dkho_relation;
extern const char *const dkho_relation_names[]; /* "kuramoto", "none", NULL */

/* Who decides the harmonic part of the output: harm(g) alone, as in the paper, or harm(g) and what ũ has of it. */
typedef enum { DKHO_BRANCH_ALONE, DKHO_BRANCH_ADDED, DKHO_BRANCH_WEIGHED } dkho_branch;
extern const char *const dkho_branch_names[]; /* "alone", "added", "weighed", NULL */

/* Which square-looking maps Muon and SOAP treat entry by entry all the same, as AdamW does: the relation's (which are matrices to them from
 * c = 8 on), those across modes (degrees · spectral square: most of an optimiser's time on small meshes), or both. */
typedef enum { DKHO_ENTRYWISE_NONE, DKHO_ENTRYWISE_RELATION, DKHO_ENTRYWISE_MODES, DKHO_ENTRYWISE_BOTH } dkho_entrywise;
extern const char *const dkho_entrywise_names[]; /* "none", "relation", "modes", "both", NULL */

/* θ at the start: zero; π tanh(rel_k(z_k⁰)); one learned c-vector per degree. */
typedef enum { DKHO_ZERO, DKHO_DETERMINISTIC, DKHO_LEARNABLE } dkho_start;
extern const char *const dkho_start_names[]; /* "zero", "deterministic", "random_learnable", NULL */

typedef struct dkho_config {
  int h, c, layers, substeps;
  double tau_lo, tau_range, lag_scale;
  dkho_variant variant;
  dkho_start start;
  dkho_exchange exchange;
  dkho_relation relation;
  dkho_entrywise entrywise;
  dkho_branch branch;
  int exchange_width;       /* w: content is narrowed to it before it is exchanged; 0 or h: it is not */
  int spectral;             /* low modes per degree that carry content far; 0: none */
  int slots;                /* s: inner width of the maps across modes; 0: degrees · spectral */
  int latent;               /* latent tokens per head that content passes through; 0: none */
  dec_metric metric;        /* of the geometry it is recorded for */
  int degrees;              /* active: 0 … degrees-1 */
  int target, channels;     /* degree q and channels C of the output */
  int features[CX_DEGREES]; /* widths D_k of the inputs F_k, k < degrees */
  int summary;              /* width S of the global summary; 0: none */
  int harmonic;             /* β of the harmonic branch, 0: no branch */
  double loss_eps;          /* the loss is ‖û - y‖ / max(‖y‖, loss_eps) */
} dkho_config;

/* Active degrees of a complex of dimension dim for a target of degree q: 0 … min(dim, 2), or all four when q = 3. */
int dkho_active_degrees(int dim, int target);
dkho_status dkho_check(const dkho_config *cfg);
/* The width at which content is exchanged, and whether that takes a map of its own. */
static inline int dkho_exchange_width(const dkho_config *cfg) {
  return cfg->exchange_width ? cfg->exchange_width : cfg->h;
}
static inline int dkho_narrows(const dkho_config *cfg) {
  return cfg->exchange != DKHO_EXCHANGE_OFF && dkho_exchange_width(cfg) != cfg->h;
}
/* Inner width of the maps across modes. */
static inline int dkho_slots(const dkho_config *cfg) {
  return cfg->slots ? cfg->slots : cfg->degrees * cfg->spectral;
}

/* Adds the model's tensors to an empty table; params_layout is left to the caller. */
dkho_status dkho_declare(const dkho_config *cfg, params *p);

/* The variables of a recorded model. Absent ones are VAR_NONE. Corrections and states of every layer are there for
 * diagnostics: tape_keep them before making a predicting engine. */
typedef struct dkho_net {
  var feature[CX_DEGREES], summary, target; /* inputs: N_k × D_k, 1 × S, N_q × C */
  var given;                                /* as in model_net */
  var predicted, loss;
  var decoded;                                                  /* ũ */
  var local, modes;                                             /* ũ less what the branch replaces, and H harm(g) */
  var tau[DKHO_LAYERS_MAX], sigma[DKHO_LAYERS_MAX][CX_DEGREES]; /* 1 × 1 each */
  var drive[DKHO_LAYERS_MAX][CX_DEGREES], gate[DKHO_LAYERS_MAX][CX_DEGREES],
      lag[DKHO_LAYERS_MAX][CX_DEGREES]; /* maps of z, plain */
  var z[DKHO_LAYERS_MAX + 1][CX_DEGREES];
  var theta[DKHO_LAYERS_MAX][DKHO_SUBSTEPS_MAX + 1][CX_DEGREES];
  var up[DKHO_LAYERS_MAX][DKHO_SUBSTEPS_MAX][CX_DEGREES], down[DKHO_LAYERS_MAX][DKHO_SUBSTEPS_MAX][CX_DEGREES];
} dkho_net;

/* Records the model for a complex; `predicted` is kept. metric, which g was made from, is read for the modes of `spectral` alone and
 * may be NULL without them; g must outlive the tape. */
dkho_status dkho_record(const dkho_config *cfg, const dec *metric, const geometry *g, tape *t, dkho_net *net);

#endif
