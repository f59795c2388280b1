/* extend.c: the layers' part of extend.h, recorded. */
#include "model/dkho/extend.h"

#include <stdio.h>

static var layer_tensor(tape *t, int l, const char *what, int k) {
  char name[PARAM_NAME_MAX + 1];
  if (k < 0)
    snprintf(name, sizeof name, "layer%d.%s.w", l, what);
  else
    snprintf(name, sizeof name, "layer%d.%s%d.w", l, what, k);
  return tape_param(t, name);
}

static void add_term(carried *c, var x, var w) {
  c->x[c->terms] = x;
  c->w[c->terms++] = w;
}

/* The maps of the parts as they travel: W_s and W_u, of those asked for; from n faces W_u/n + W_s, which positive faces meet, and
 * W_u/n - W_s. Returns how many. */
static int part_maps(const dkho_config *f, tape *t, const crossing *c, int l, int k, int down, var w[2]) {
  int n = 0;
  if (f->exchange & DKHO_EXCHANGE_SIGNED) w[n++] = layer_tensor(t, l, down ? "sdn" : "sup", k);
  if (f->exchange & DKHO_EXCHANGE_UNSIGNED) w[n++] = layer_tensor(t, l, down ? "udn" : "uup", k);
  if (!c->faces) return n;
  const var given[2] = {w[0], w[1]};
  for (int q = 0; q < 2; q++) w[q] = op_sum(t, 2, (const double[]){q ? -1 : 1, 1.0 / c->faces}, given);
  return n;
}

/* The neighbours' states z, narrow or not, transported and mapped, or mapped and transported: the latter are left for the caller to sum up. */
static void cross(const dkho_config *f, tape *t, const crossing *c, int l, int k, int down, const extension_maps *m,
                  const var *z, carried *out, int *waiting, const sparse **with, var *mapped) {
  int j = down ? k - 1 : k + 1, straight = 0;
  var w[2] = {VAR_NONE, VAR_NONE};
  if (!c->m) return;
  int n = part_maps(f, t, c, l, k, down, w);
  if (c->maps_first) {
    with[*waiting] = c->m;
    mapped[(*waiting)++] = op_matmul(t, z[j], n > 1 ? op_concat(t, n, w) : w[0]);
  } else {
    add_term(out, op_gather(t, 1, &c->m, &straight, &z[j], dkho_exchange_width(f), m->g->n[k]),
             n > 1 ? op_stack(t, n, w) : w[0]);
  }
}

static void exchange_degree(const dkho_config *f, tape *t, const extension_maps *m, int l, int k, const var *z,
                            carried *out) {
  const sparse *with[2];
  const int straight[2] = {0, 0};
  var mapped[2];
  int waiting = 0;
  cross(f, t, &m->below[k], l, k, 1, m, z, out, &waiting, with, mapped);
  cross(f, t, &m->above[k], l, k, 0, m, z, out, &waiting, with, mapped);
  if (waiting) out->added = op_gather(t, waiting, with, straight, mapped, f->h, m->g->n[k]);
}

/* Φ_k (A₂ GELU(A₁ C B))_k R_k for every degree. The return map acts on the coefficients, which are few; with Φ_k they are one more term
 * of the affine map. */
static void spectral_layer(const dkho_config *f, tape *t, const extension_maps *m, int l, const var *z, carried *c) {
  var low[CX_DEGREES];
  for (int k = 0; k < f->degrees; k++) low[k] = op_coefficients(t, m->analyse[k], z[k]);
  var all = op_matmul(t, op_stack(t, f->degrees, low), layer_tensor(t, l, "mix", -1));
  all = op_fn(t, FN_GELU, op_matmul(t, layer_tensor(t, l, "mix1", -1), all));
  all = op_matmul(t, layer_tensor(t, l, "mix2", -1), all);
  for (int k = 0; k < f->degrees; k++) {
    var own = op_slice(t, all, k * f->spectral, (k + 1) * f->spectral, 0, f->h);
    add_term(&c[k], m->synthesise[k], op_matmul(t, own, layer_tensor(t, l, "ret", k)));
  }
}

/* One head: softmax_m(S) softmax_n(S)ᵀ V with S = K Q; key and value [N × h], this head's columns of them. */
static var attend(tape *t, int h, int tokens, int head, var key, var value, var query) {
  int width = h / DKHO_HEADS, from = head * width, to = from + width;
  int64_t rows = t->var[key].rows;
  var score = op_matmul(t, op_slice(t, key, 0, rows, from, to), op_slice(t, query, from, to, 0, tokens));
  var heard = op_gram(t, op_softmax_columns(t, score), op_slice(t, value, 0, rows, from, to));
  return op_matmul(t, op_softmax(t, score), heard);
}

static void latent_layer(const dkho_config *f, tape *t, int l, const var *z, carried *c) {
  var all = f->degrees > 1 ? op_stack(t, f->degrees, z) : z[0], part[DKHO_HEADS];
  var key = op_matmul(t, all, layer_tensor(t, l, "key", -1)),
      value = op_matmul(t, all, layer_tensor(t, l, "value", -1));
  if (t->status != DKHO_OK) return;
  for (int i = 0; i < DKHO_HEADS; i++)
    part[i] = attend(t, f->h, f->latent, i, key, value, layer_tensor(t, l, "query", -1));
  var heard = op_concat(t, DKHO_HEADS, part);
  int64_t at = 0;
  for (int k = 0; k < f->degrees && t->status == DKHO_OK; k++) {
    int64_t n = t->var[z[k]].rows;
    add_term(&c[k], op_slice(t, heard, at, at + n, 0, f->h), layer_tensor(t, l, "back", k));
    at += n;
  }
}

void extend_layer(const dkho_config *f, tape *t, const extension_maps *m, int l, const var *z,
                  carried out[CX_DEGREES]) {
  var sent[CX_DEGREES];
  for (int k = 0; k < f->degrees; k++)
    sent[k] = dkho_narrows(f) ? op_matmul(t, z[k], layer_tensor(t, l, "send", k)) : z[k];
  for (int k = 0; k < f->degrees; k++) {
    out[k] = (carried){.added = VAR_NONE};
    exchange_degree(f, t, m, l, k, sent, &out[k]);
  }
  if (f->spectral) spectral_layer(f, t, m, l, z, out);
  if (f->latent) latent_layer(f, t, l, z, out);
}
