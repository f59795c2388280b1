/* deeponet.c: the deep operator network of the paper's comparison.
 *   û_o(x) = Σ_d branch_od(f) trunk_od(x) + bias_o
 * f: all vertex channels as one vector (or one learned channel of them), x: the raw centroid of a target simplex; both networks
 * are affine maps with GELU between. The trunk does not depend on the sample and is computed once per step. The branch's first
 * map has a row per vertex, so a model serves complexes of one size. */
#include "model/blocks.h"

enum { DEPTH = 3, OPT_BRANCH = 0, OPT_TRUNK, OPT_LAST, OPT_BASIS, OPT_FORM };
static const model_option options[] = {
    [OPT_BRANCH] = {"branch", OPTION_INT, 0, 0, 4096, NULL, "first two widths of the branch; 0: 96, in a volume 64"},
    [OPT_TRUNK] = {"trunk", OPTION_INT, 0, 0, 4096, NULL, "first two widths of the trunk; 0: 68, in a volume 64"},
    [OPT_LAST] = {"last", OPTION_INT, 0, 0, 4096, NULL, "third width of both; 0: 64"},
    [OPT_BASIS] = {"basis", OPTION_INT, 0, 0, 4096, NULL, "basis functions per output channel; 0: 64, in a volume 74"},
    [OPT_FORM] = {"form", OPTION_CHOICE, FORM_AUTO, 0, 3, block_form_names, "how the network meets the complex"},
    {0},
};

typedef struct {
  block_form form;
  int branch[DEPTH + 1], trunk[DEPTH + 1];
} shape;

static shape shape_of(const model_setup *s) {
  block_form f = block_form_of(s, model_int(s, OPT_FORM));
  int b = block_size(s, OPT_BRANCH, f, 96, 96, 64), t = block_size(s, OPT_TRUNK, f, 68, 68, 64);
  int last = block_size(s, OPT_LAST, f, 64, 64, 64), out = block_size(s, OPT_BASIS, f, 64, 64, 74) * s->channels;
  return (shape){f, {b, b, last, out}, {t, t, last, out}};
}

static void declare_net(params *p, const char *name, int64_t in, const int *width) {
  block_label n;
  for (int i = 0; i <= DEPTH; i++)
    params_add_affine(p, block_name(n, "%s%d", name, i), i ? width[i - 1] : in, width[i], 1);
}

static const char *reader_of(const model_setup *s) {
  return block_reader(s, model_int(s, OPT_FORM));
}

static dkho_status deeponet_declare(const model_setup *s, params *p) {
  shape f = shape_of(s);
  if (f.form == FORM_PLANE) params_add_affine(p, "adapter", s->features[0], 1, 1);
  declare_net(p, "branch", f.form == FORM_PLANE ? s->n[0] : s->n[0] * s->features[0], f.branch);
  declare_net(p, "trunk", 3, f.trunk);
  params_add_vector(p, "bias", s->channels, INIT_CONST, 0);
  return p->status;
}

static var run_net(tape *t, const char *name, var x) {
  block_label n;
  for (int i = 0; i <= DEPTH; i++) {
    x = block_affine(t, block_name(n, "%s%d", name, i), 1, &x);
    if (i < DEPTH) x = op_fn(t, FN_GELU, x);
  }
  return x;
}

static dkho_status deeponet_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  shape f = shape_of(s);
  if (v->c->n[0] != s->n[0])
    return fail(DKHO_E_INPUT, "model deeponet: a complex of %lld vertices, expected %lld as in the first",
                (long long)v->c->n[0], (long long)s->n[0]);
  var x = block_feature(s, v, t, 0, net), points = block_points(t, v->c, s->target);
  TRY(t->status);
  if (f.form == FORM_PLANE) x = block_affine(t, "adapter", 1, &x);
  x = op_reshape(t, x, 1, s->n[0] * (f.form == FORM_PLANE ? 1 : s->features[0]));
  var y = op_contract(t, run_net(t, "branch", x), run_net(t, "trunk", points), tape_param(t, "bias"));
  block_finish(s, v, t, y, net);
  return t->status;
}

const model_type model_deeponet = {
    .name = "deeponet",
    .summary = "deep operator network: a branch of the input's values times a trunk of positions",
    .option = options,
    .profile = FEAT_NATIVE,
    .degrees = block_vertices_alone,
    .reader = reader_of,
    .declare = deeponet_declare,
    .record = deeponet_record,
};
