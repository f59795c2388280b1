/* param.c: configuration and tensors of the model; see dkho.h. */
#include "model/dkho/dkho.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const dkho_variant_names[] = {"full", "no_dirac", "no_phase", "no_harmonic", NULL};
const char *const dkho_exchange_names[] = {"off", "signed", "unsigned", "both", NULL};
const char *const dkho_relation_names[] = {"kuramoto", "none", NULL};
const char *const dkho_entrywise_names[] = {"none", "relation", "modes", "both", NULL};
const char *const dkho_branch_names[] = {"alone", "added", "weighed", NULL};
const char *const dkho_start_names[] = {"zero", "deterministic", "random_learnable", NULL};

int dkho_active_degrees(int dim, int target) {
  return target == 3 ? 4 : (dim < 2 ? dim : 2) + 1;
}

static dkho_status in_range(const char *field, int value, int lo, int hi) {
  if (value >= lo && value <= hi) return DKHO_OK;
  return fail(DKHO_E_INPUT, "model: %s: found %d, expected %d to %d", field, value, lo, hi);
}

dkho_status dkho_check(const dkho_config *f) {
  TRY(in_range("h", f->h, 1, 4096));
  TRY(in_range("c", f->c, 1, 1024));
  TRY(in_range("layers", f->layers, 1, DKHO_LAYERS_MAX));
  TRY(in_range("substeps", f->substeps, 1, DKHO_SUBSTEPS_MAX));
  TRY(in_range("degrees", f->degrees, 2, CX_DEGREES));
  TRY(in_range("target", f->target, 0, f->degrees - 1));
  TRY(in_range("channels", f->channels, 1, 1024));
  for (int k = 0; k < f->degrees; k++) TRY(in_range("features", f->features[k], 1, 4096));
  TRY(in_range("harmonic", f->harmonic, 0, 1 << 20));
  TRY(in_range("exchange_width", f->exchange_width, 0, f->h));
  TRY(in_range("slots", f->slots, 0, 4096));
  TRY(in_range("latent", f->latent, 0, 1024));
  if (f->latent && f->h % DKHO_HEADS)
    return fail(DKHO_E_INPUT, "model: latent: h: found %d, expected a multiple of %d heads", f->h, DKHO_HEADS);
  TRY(in_range("summary", f->summary, f->harmonic > 0, 4096));
  if (f->relation == DKHO_RELATION_NONE && (f->variant == DKHO_NO_PHASE || f->variant == DKHO_NO_DIRAC))
    return fail(DKHO_E_INPUT, "model: relation none: there is no relation of which variant %s could leave out a part",
                dkho_variant_names[f->variant]);
  if (f->variant == DKHO_NO_HARMONIC && f->harmonic == 0)
    return fail(DKHO_E_INPUT, "model: variant no_harmonic: this target has no harmonic branch to leave out");
  if (!(f->tau_lo >= 0 && f->tau_range >= 0 && f->lag_scale >= 0 && f->loss_eps > 0) || !isfinite(f->tau_lo) ||
      !isfinite(f->tau_range) || !isfinite(f->lag_scale) || !isfinite(f->loss_eps))
    return fail(
        DKHO_E_INPUT,
        "model: tau_lo %g, tau_range %g, lag_scale %g, loss_eps %g: expected finite numbers, the first three not "
        "negative, the last positive",
        f->tau_lo, f->tau_range, f->lag_scale, f->loss_eps);
  return DKHO_OK;
}

typedef char text[PARAM_NAME_MAX + 1];
static const char *name_of(text out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *name_of(text out, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(out, sizeof(text), fmt, args);
  va_end(args);
  return out;
}

static void declare_mlp(params *p, const char *name, int in, int width, int out) {
  text t;
  params_add_affine(p, name_of(t, "%s.lin1", name), in, width, 1);
  params_add_norm(p, name_of(t, "%s.norm", name), width);
  params_add_affine(p, name_of(t, "%s.lin2", name), width, out, 1);
}

/* Everything that θ needs in a layer. */
static void declare_relation(const dkho_config *f, params *p, int l, int k) {
  text t;
  int first = p->count;
  params_add_affine(p, name_of(t, "layer%d.drive%d", l, k), f->h, f->c, 1);
  params_add_affine(p, name_of(t, "layer%d.gate%d", l, k), f->h, f->c, 1);
  params_add_affine(p, name_of(t, "layer%d.lag%d", l, k), f->h, f->c, 1);
  params_add_affine(p, name_of(t, "layer%d.read%d", l, k), 2 * f->c, f->h, 1);
  if (f->entrywise & DKHO_ENTRYWISE_RELATION) params_entrywise(p, first);
}

static void declare_zero_map(params *p, const char *name, int in, int out) {
  params_add(p, name, 2, (const int64_t[]){in, out}, INIT_CONST, 0);
}

/* Maps of what comes from below (dn) and above (up), signed (s) and unsigned (u); before them, of what is sent. */
static void declare_exchange(const dkho_config *f, params *p, int l, int k) {
  static const char *const kind[2] = {"s", "u"};
  text t;
  int w = dkho_exchange_width(f);
  if (dkho_narrows(f)) params_add_affine(p, name_of(t, "layer%d.send%d", l, k), f->h, w, 0);
  for (int u = 0; u < 2; u++) {
    if (!(f->exchange >> u & 1)) continue;
    if (k > 0) declare_zero_map(p, name_of(t, "layer%d.%sdn%d.w", l, kind[u], k), w, f->h);
    if (k + 1 < f->degrees) declare_zero_map(p, name_of(t, "layer%d.%sup%d.w", l, kind[u], k), w, f->h);
  }
}

/* A₁ and A₂ act from the left: what they sum over is their second extent. */
static void declare_spectral(const dkho_config *f, params *p, int l) {
  text t;
  int modes = f->degrees * f->spectral, slots = dkho_slots(f);
  params_add_affine(p, name_of(t, "layer%d.mix", l), f->h, f->h, 0);
  int first = p->count;
  params_add(p, name_of(t, "layer%d.mix1.w", l), 2, (const int64_t[]){slots, modes}, INIT_UNIFORM, 1 / sqrt(modes));
  params_add(p, name_of(t, "layer%d.mix2.w", l), 2, (const int64_t[]){modes, slots}, INIT_UNIFORM, 1 / sqrt(slots));
  if (f->entrywise & DKHO_ENTRYWISE_MODES) params_entrywise(p, first);
  for (int k = 0; k < f->degrees; k++) declare_zero_map(p, name_of(t, "layer%d.ret%d.w", l, k), f->h, f->h);
}

static void declare_latent(const dkho_config *f, params *p, int l) {
  text t;
  params_add_affine(p, name_of(t, "layer%d.key", l), f->h, f->h, 0);
  params_add_affine(p, name_of(t, "layer%d.value", l), f->h, f->h, 0);
  params_add(p, name_of(t, "layer%d.query.w", l), 2, (const int64_t[]){f->h, f->latent}, INIT_NORMAL,
             1 / sqrt(f->h / DKHO_HEADS));
  for (int k = 0; k < f->degrees; k++) declare_zero_map(p, name_of(t, "layer%d.back%d.w", l, k), f->h, f->h);
}

static void declare_layer(const dkho_config *f, params *p, int l) {
  text t;
  int related = f->relation == DKHO_KURAMOTO;
  if (related) {
    params_add_vector(p, name_of(t, "layer%d.t", l), 1, INIT_CONST, -1.35);
    params_add_vector(p, name_of(t, "layer%d.s", l), f->degrees, INIT_CONST, 0);
  }
  for (int k = 0; k < f->degrees; k++) {
    if (related) declare_relation(f, p, l, k);
    declare_mlp(p, name_of(t, "layer%d.upd%d", l, k), related ? 2 * f->h : f->h, f->h, f->h);
    params_add_affine(p, name_of(t, "layer%d.skip%d", l, k), f->h, f->h, 0);
    params_add_norm(p, name_of(t, "layer%d.norm%d", l, k), f->h);
    declare_exchange(f, p, l, k);
  }
  if (f->spectral) declare_spectral(f, p, l);
  if (f->latent) declare_latent(f, p, l);
}

static void declare_start(const dkho_config *f, params *p, int k) {
  text t;
  if (f->variant == DKHO_NO_PHASE || f->start == DKHO_ZERO || f->relation == DKHO_RELATION_NONE) return;
  if (f->start == DKHO_DETERMINISTIC)
    params_add_affine(p, name_of(t, "rel%d", k), f->h, f->c, 1);
  else
    params_add_vector(p, name_of(t, "rel%d.theta", k), f->c, INIT_NORMAL, 0.05);
}

dkho_status dkho_declare(const dkho_config *f, params *p) {
  text t;
  TRY(dkho_check(f));
  for (int k = 0; k < f->degrees; k++) declare_mlp(p, name_of(t, "enc%d", k), f->features[k], f->h, f->h);
  for (int l = 0; l < f->layers; l++) declare_layer(f, p, l);
  declare_mlp(p, "dec", f->h + (f->relation == DKHO_KURAMOTO ? 2 * f->c : 0), f->h, f->channels);
  if (f->harmonic && f->variant != DKHO_NO_HARMONIC) {
    declare_mlp(p, "harm", f->summary, f->h, f->harmonic * f->channels);
    if (f->branch == DKHO_BRANCH_WEIGHED)
      params_add_vector(p, "harm.s", (int64_t)f->harmonic * f->channels, INIT_CONST, 0.5);
  }
  for (int k = 0; k < f->degrees; k++) declare_start(f, p, k);
  return p->status;
}
