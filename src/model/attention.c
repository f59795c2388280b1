/* attention.c: a transformer whose tokens are the simplices of all degrees. Attention between all pairs would cost N²; two mixers go
 * through a few tokens instead, per head, with widths c = w/heads:
 *   slices (physics attention):  W = softmax_m(slice f),  z_m = Σ_n W_nm v_n / (Σ_n W_nm + 1e-5),  z' = softmax(q z (k z)ᵀ/√c) v z,
 *                                y_n = Σ_m W_nm z'_m                   f and v two maps of the tokens
 *   latent (low-rank attention): z = softmax_n(Q Kᵀ) V,  y = softmax_m(K Qᵀ) z        Q: M learned queries
 * Layers: x ← x + out(mixer(norm1 x)), x ← x + mlp2 GELU mlp1 norm2 x;  û = head2 GELU head1 norm x_q. A map per degree makes tokens of
 * descriptors; everything after it is shared by the degrees. */
#include "model/blocks.h"

#include <math.h>
#include <stdio.h>

enum { MIX_SLICES, MIX_LATENT };
enum { OPT_MIXER, OPT_WIDTH, OPT_LAYERS, OPT_HEADS, OPT_TOKENS, OPT_RATIO };
static const char *const mixer_names[] = {"slices", "latent", NULL};
static const model_option options[] = {
    [OPT_MIXER] = {"mixer", OPTION_CHOICE, MIX_SLICES, 0, 1, mixer_names, "how tokens exchange what they know"},
    [OPT_WIDTH] = {"w", OPTION_INT, 88, 1, 4096, NULL, "width of the tokens, a multiple of heads"},
    [OPT_LAYERS] = {"layers", OPTION_INT, 4, 1, 64, NULL, "layers"},
    [OPT_HEADS] = {"heads", OPTION_INT, 4, 1, 32, NULL, "heads"},
    [OPT_TOKENS] = {"tokens", OPTION_INT, 64, 1, 1024, NULL, "slices, or latent tokens, per head"},
    [OPT_RATIO] = {"ratio", OPTION_INT, 2, 1, 16, NULL, "width of the network between, over w"},
    {0},
};

static int active_degrees(int dim, int target) {
  int top = dim < 2 ? dim : 2;
  return (target > top ? dim : top) + 1;
}

static dkho_status attention_check(const model_setup *s) {
  int w = model_int(s, OPT_WIDTH), heads = model_int(s, OPT_HEADS);
  return w % heads == 0 ? DKHO_OK
                        : fail(DKHO_E_INPUT, "model attention: w: found %d, expected a multiple of %d heads", w, heads);
}

static void declare_mixer(const model_setup *s, params *p, int l) {
  int w = model_int(s, OPT_WIDTH), heads = model_int(s, OPT_HEADS), c = w / heads, m = model_int(s, OPT_TOKENS);
  block_label n;
  params_add_affine(p, block_name(n, "layer%d.key", l), w, w, 1);
  params_add_affine(p, block_name(n, "layer%d.value", l), w, w, 1);
  if (model_int(s, OPT_MIXER) == MIX_SLICES) {
    params_add_affine(p, block_name(n, "layer%d.slice", l), c, m, 1);
    params_add_vector(p, block_name(n, "layer%d.sharpness", l), heads, INIT_CONST, 2);
    params_add_affine(p, block_name(n, "layer%d.q", l), c, c, 0);
    params_add_affine(p, block_name(n, "layer%d.k", l), c, c, 0);
    params_add_affine(p, block_name(n, "layer%d.v", l), c, c, 0);
  } else
    params_add(p, block_name(n, "layer%d.query", l), 2, (const int64_t[]){w, m}, INIT_NORMAL, 1 / sqrt(c));
  params_add_affine(p, block_name(n, "layer%d.out", l), w, w, 1);
}

static dkho_status attention_declare(const model_setup *s, params *p) {
  int w = model_int(s, OPT_WIDTH), wide = w * model_int(s, OPT_RATIO);
  block_label n;
  for (int r = 0; r < s->degrees; r++) params_add_affine(p, block_name(n, "enc%d", r), s->features[r], w, 1);
  for (int l = 0; l < model_int(s, OPT_LAYERS); l++) {
    params_add_norm(p, block_name(n, "layer%d.norm1", l), w);
    declare_mixer(s, p, l);
    params_add_norm(p, block_name(n, "layer%d.norm2", l), w);
    params_add_affine(p, block_name(n, "layer%d.mlp1", l), w, wide, 1);
    params_add_affine(p, block_name(n, "layer%d.mlp2", l), wide, w, 1);
  }
  params_add_norm(p, "norm", w);
  params_add_affine(p, "head1", w, w, 1);
  params_add_affine(p, "head2", w, s->channels, 1);
  return p->status;
}

static var layer_tensor(tape *t, int l, const char *what) {
  block_label n;
  return tape_param(t, block_name(n, "layer%d.%s", l, what));
}

/* softmax(q k ᵀ/√c) v of the few tokens z; kᵀ enters as a product of turned matrices. */
static var attend_tokens(tape *t, int l, int c, var z) {
  var q = op_matmul(t, z, layer_tensor(t, l, "q.w")), k = op_matmul(t, z, layer_tensor(t, l, "k.w"));
  var score = op_matmul(t, q, op_turn(t, k));
  score = op_softmax(t, op_sum(t, 1, (const double[]){1 / sqrt(c)}, &score));
  return op_matmul(t, score, op_matmul(t, z, layer_tensor(t, l, "v.w")));
}

/* One head of the slices. key, value: [N × c]. */
static var mix_slices(tape *t, int l, int head, int c, var key, var value) {
  block_label n;
  var sharp = op_slice(t, layer_tensor(t, l, "sharpness"), 0, 1, head, head + 1);
  var w = op_softmax(t, op_scale(t, sharp, block_affine(t, block_name(n, "layer%d.slice", l), 1, &key)));
  var z = op_divide_rows(t, op_gram(t, w, value), op_sum_rows(t, 1, w), 1e-5);
  return op_matmul(t, w, attend_tokens(t, l, c, z));
}

/* One head of the latent tokens. */
static var mix_latent(tape *t, int l, int head, int c, int m, var key, var value) {
  var query = op_slice(t, layer_tensor(t, l, "query"), head * c, (head + 1) * c, 0, m),
      score = op_matmul(t, key, query);
  return op_matmul(t, op_softmax(t, score), op_gram(t, op_softmax_columns(t, score), value));
}

static var mixer(const model_setup *s, tape *t, int l, var x) {
  int heads = model_int(s, OPT_HEADS), c = model_int(s, OPT_WIDTH) / heads, m = model_int(s, OPT_TOKENS);
  block_label n;
  var key = block_affine(t, block_name(n, "layer%d.key", l), 1, &x), part[32];
  var value = block_affine(t, block_name(n, "layer%d.value", l), 1, &x);
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows;
  for (int h = 0; h < heads; h++) {
    var k = op_slice(t, key, 0, rows, h * c, (h + 1) * c), v = op_slice(t, value, 0, rows, h * c, (h + 1) * c);
    part[h] = model_int(s, OPT_MIXER) == MIX_SLICES ? mix_slices(t, l, h, c, k, v) : mix_latent(t, l, h, c, m, k, v);
  }
  var y = heads == 1 ? part[0] : op_concat(t, heads, part);
  return block_affine(t, block_name(n, "layer%d.out", l), 1, &y);
}

static dkho_status attention_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  block_label n;
  var part[CX_DEGREES];
  int64_t first = 0;
  for (int r = 0; r < s->degrees; r++) {
    var f = block_feature(s, v, t, r, net);
    part[r] = block_affine(t, block_name(n, "enc%d", r), 1, &f);
    if (r < s->target) first += v->c->n[r];
  }
  var x = s->degrees == 1 ? part[0] : op_stack(t, s->degrees, part);
  for (int l = 0; l < model_int(s, OPT_LAYERS); l++) {
    x = op_axpy(t, 1, x, mixer(s, t, l, block_norm(t, block_name(n, "layer%d.norm1", l), x)));
    var y = block_norm(t, block_name(n, "layer%d.norm2", l), x);
    y = op_fn(t, FN_GELU, block_affine(t, block_name(n, "layer%d.mlp1", l), 1, &y));
    x = op_axpy(t, 1, x, block_affine(t, block_name(n, "layer%d.mlp2", l), 1, &y));
  }
  x = block_norm(t, "norm", op_slice(t, x, first, first + v->c->n[s->target], 0, model_int(s, OPT_WIDTH)));
  x = op_fn(t, FN_GELU, block_affine(t, "head1", 1, &x));
  block_finish(s, v, t, block_affine(t, "head2", 1, &x), net);
  return t->status;
}

const model_type model_attention = {
    .name = "attention",
    .summary = "transformer on simplices, mixing through slices or latent tokens",
    .option = options,
    .profile = FEAT_SUMMARY,
    .degrees = active_degrees,
    .check = attention_check,
    .declare = attention_declare,
    .record = attention_record,
};
