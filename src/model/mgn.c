/* mgn.c: MeshGraphNets as in the paper's comparison: states on vertices and on both directions of every edge.
 *   x = enc_v [channels],  e = enc_e [shape of the edge]
 *   e_{s→r} ← M_e [x_s, x_r, e_{s→r}]              (replaced)
 *   x_r ← x_r + M_v [x_r, Σ_{s→r} e_{s→r}],        `steps` times
 *   û = dec2 ReLU dec1 mean_{vertices of the simplex} x;   M = affine, norm, ReLU, affine, norm
 * The first map of M_e is applied to x at the vertices and then carried to the edges, which halves the work; dec1 likewise is
 * applied before the mean. The first step's products with e do not depend on the sample. */
#include "model/blocks.h"

enum { OPT_WIDTH, OPT_STEPS, OPT_FORM };
static const model_option options[] = {
    [OPT_WIDTH] = {"h", OPTION_INT, 0, 0, 4096, NULL, "hidden width; 0: 72, in a volume 58"},
    [OPT_STEPS] = {"steps", OPTION_INT, 0, 0, 64, NULL, "message-passing steps; 0: 8, in a volume 10"},
    [OPT_FORM] = {"form", OPTION_CHOICE, FORM_AUTO, 0, 3, block_form_names, "how the network meets the complex"},
    {0},
};

typedef struct {
  block_form form;
  int h, steps;
} shape;

static shape shape_of(const model_setup *s) {
  block_form f = block_form_of(s, model_int(s, OPT_FORM));
  return (shape){f, block_size(s, OPT_WIDTH, f, 72, 72, 58), block_size(s, OPT_STEPS, f, 8, 8, 10)};
}

static const char *reader_of(const model_setup *s) {
  return block_reader(s, model_int(s, OPT_FORM));
}

static dkho_status mgn_check(const model_setup *s) {
  return s->dim >= 1 ? DKHO_OK : fail(DKHO_E_INPUT, "model mgn: a complex without edges");
}

static void declare_net(params *p, const char *name, int in, int h) {
  block_label n;
  params_add_affine(p, block_name(n, "%s.lin1", name), in, h, 1);
  params_add_norm(p, block_name(n, "%s.norm1", name), h);
  params_add_affine(p, block_name(n, "%s.lin2", name), h, h, 1);
  params_add_norm(p, block_name(n, "%s.norm2", name), h);
}

static dkho_status mgn_declare(const model_setup *s, params *p) {
  shape f = shape_of(s);
  block_label n;
  if (f.form == FORM_PLANE) params_add_affine(p, "adapter", s->features[0], 4, 1);
  params_add_affine(p, "enc_v", f.form == FORM_PLANE ? 4 : s->features[0] + 3, f.h, 1);
  params_add_affine(p, "enc_e", 3, f.h, 1);
  for (int l = 0; l < f.steps; l++) {
    declare_net(p, block_name(n, "step%d.edge", l), 3 * f.h, f.h);
    declare_net(p, block_name(n, "step%d.node", l), 2 * f.h, f.h);
  }
  params_add_affine(p, "dec1", f.h, f.h, 1);
  params_add_affine(p, "dec2", f.h, s->channels, 1);
  return p->status;
}

/* What follows the first map of M. */
static var finish_net(tape *t, const char *name, var y) {
  block_label n;
  y = op_relu(t, 0, block_norm(t, block_name(n, "%s.norm1", name), y));
  y = block_affine(t, block_name(n, "%s.lin2", name), 1, &y);
  return block_norm(t, block_name(n, "%s.norm2", name), y);
}

/* [x_s, x_r, e] W + b = carry[x W_s; x W_r] + e W_e + b */
static var edge_input(tape *t, const char *name, int h, const sparse *ends, var x, var e) {
  block_label n;
  var w = tape_param(t, block_name(n, "%s.lin1.w", name)), b = tape_param(t, block_name(n, "%s.lin1.b", name));
  var part[3];
  for (int i = 0; i < 3; i++) part[i] = op_slice(t, w, i * h, (i + 1) * h, 0, h);
  var at_vertices = op_stack(t, 2, (const var[]){op_matmul(t, x, part[0]), op_matmul(t, x, part[1])});
  return op_axpy(t, 1, op_sparse(t, ends, 0, at_vertices), op_affine(t, 1, &e, part[2], b));
}

static dkho_status mgn_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  shape f = shape_of(s);
  block_label n;
  var in[2] = {block_feature(s, v, t, 0, net), block_points(t, v->c, 0)};
  block_edges edges = block_directed_edges(t, v->c);
  TRY(t->status);
  if (f.form == FORM_PLANE) in[0] = block_affine(t, "adapter", 1, in);
  var x = block_affine(t, "enc_v", f.form == FORM_PLANE ? 1 : 2, in), e = block_affine(t, "enc_e", 1, &edges.shape);
  for (int l = 0; l < f.steps; l++) {
    block_name(n, "step%d.edge", l);
    e = finish_net(t, n, edge_input(t, n, f.h, edges.ends, x, e));
    block_name(n, "step%d.node", l);
    block_label lin;
    const var both[2] = {x, op_sparse(t, edges.gather, 0, e)};
    x = op_axpy(t, 1, x, finish_net(t, n, block_affine(t, block_name(lin, "step%d.node.lin1", l), 2, both)));
  }
  var y = op_relu(t, 0, block_pool(t, v->c, s->target, block_affine(t, "dec1", 1, &x)));
  block_finish(s, v, t, block_affine(t, "dec2", 1, &y), net);
  return t->status;
}

const model_type model_mgn = {
    .name = "mgn",
    .summary = "MeshGraphNets: messages along both directions of every edge",
    .option = options,
    .profile = FEAT_NATIVE,
    .degrees = block_vertices_alone,
    .reader = reader_of,
    .check = mgn_check,
    .declare = mgn_declare,
    .record = mgn_record,
};
