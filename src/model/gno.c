/* gno.c: the graph neural operator of the paper's comparison. Its "kernel integral" is a plain mean over the vertices within a
 * radius, which enters a network at each vertex:
 *   h ← lift2 GELU lift1 [x]                       x: narrowed channels, or channels and raw coordinates
 *   a_i = mean_{|x_j - x_i| < r} h_j,  ρ_i = mean x_j - x_i,
 *   m = msg2 GELU msg1 [h, a, ρ],  h ← h + norm(upd2 GELU upd1 [h, m]),   `layers` times
 *   û = proj2 GELU proj1 mean_{vertices of the simplex} h
 * Two exact savings: nothing nonlinear stands between msg2 and upd1, so their matrices are multiplied once per step; and the
 * mean over a simplex's vertices commutes with proj1, so that map is applied at the vertices. */
#include "model/blocks.h"

#include <stdio.h>

enum { OPT_WIDTH, OPT_PROJECT, OPT_LAYERS, OPT_RADIUS, OPT_FORM, OPT_BEHAVIOUR };
static const char *const behaviour_names[] = {"repaired", "published", NULL};
static const model_option options[] = {
    [OPT_WIDTH] = {"h", OPTION_INT, 0, 0, 4096, NULL, "hidden width; 0: 120, in a volume 84"},
    [OPT_PROJECT] = {"project", OPTION_INT, 0, 0, 4096, NULL, "width of the output network; 0: 68, in a volume 96"},
    [OPT_LAYERS] = {"layers", OPTION_INT, 0, 0, 64, NULL, "layers; 0: 3, in a volume 5"},
    [OPT_RADIUS] = {"radius", OPTION_REAL, 0, 0, 1e6, NULL, "radius of the neighbourhood; 0: 0.15, in a volume 0.20"},
    [OPT_FORM] = {"form", OPTION_CHOICE, FORM_AUTO, 0, 3, block_form_names, "how the network meets the complex"},
    [OPT_BEHAVIOUR] =
        {"behaviour", OPTION_CHOICE, 0, 0, 1, behaviour_names,
         "published: vector predictions are compared component by component with targets vertex by vertex"},
    {0},
};

typedef struct {
  block_form form;
  int h, project, layers;
  double radius;
} shape;

static shape shape_of(const model_setup *s) {
  block_form f = block_form_of(s, model_int(s, OPT_FORM));
  double r = model_real(s, OPT_RADIUS);
  return (shape){f, block_size(s, OPT_WIDTH, f, 120, 120, 84), block_size(s, OPT_PROJECT, f, 68, 68, 96),
                 block_size(s, OPT_LAYERS, f, 3, 3, 5),
                 r > 0              ? r
                 : f == FORM_VOLUME ? 0.20
                                    : 0.15};
}

static const char *reader_of(const model_setup *s) {
  return block_reader(s, model_int(s, OPT_FORM));
}

static dkho_status gno_declare(const model_setup *s, params *p) {
  shape f = shape_of(s);
  block_label n;
  if (f.form == FORM_PLANE) params_add_affine(p, "adapter", s->features[0], 4, 1);
  params_add_affine(p, "lift1", f.form == FORM_PLANE ? 4 : s->features[0] + 3, f.h, 1);
  params_add_affine(p, "lift2", f.h, f.h, 1);
  for (int l = 0; l < f.layers; l++) {
    params_add_affine(p, block_name(n, "layer%d.msg1", l), 2 * f.h + 3, f.h, 1);
    params_add_affine(p, block_name(n, "layer%d.msg2", l), f.h, f.h, 1);
    params_add_affine(p, block_name(n, "layer%d.upd1", l), 2 * f.h, f.h, 1);
    params_add_affine(p, block_name(n, "layer%d.upd2", l), f.h, f.h, 1);
    params_add_norm(p, block_name(n, "layer%d.norm", l), f.h);
  }
  params_add_affine(p, "proj1", f.h, f.project, 1);
  params_add_affine(p, "proj2", f.project, s->channels, 1);
  return p->status;
}

/* upd1 [h, msg2 g] with the matrices multiplied: h U + g (M V) + (b_m V + b_u), U and V the halves of upd1. */
static var update_input(tape *t, int l, int width, var h, var g) {
  block_label n;
  var upd = tape_param(t, block_name(n, "layer%d.upd1.w", l));
  var lower = op_slice(t, upd, width, 2 * width, 0, width);
  var message = op_matmul(t, tape_param(t, block_name(n, "layer%d.msg2.w", l)), lower);
  var bias = tape_param(t, block_name(n, "layer%d.msg2.b", l));
  bias = op_affine(t, 1, &bias, lower, tape_param(t, block_name(n, "layer%d.upd1.b", l)));
  var folded = op_stack(t, 2, (const var[]){op_slice(t, upd, 0, width, 0, width), message});
  return op_affine(t, 2, (const var[]){h, g}, folded, bias);
}

static var gno_layer(tape *t, int l, int width, const sparse *near, var offset, var h) {
  block_label n;
  const var x[3] = {h, op_sparse(t, near, 0, h), offset};
  var g = op_fn(t, FN_GELU, block_affine(t, block_name(n, "layer%d.msg1", l), 3, x));
  var u = op_fn(t, FN_GELU, update_input(t, l, width, h, g));
  u = block_affine(t, block_name(n, "layer%d.upd2", l), 1, &u);
  return op_axpy(t, 1, h, block_norm(t, block_name(n, "layer%d.norm", l), u));
}

/* The published comparison in training: the prediction, one component after the other, against the target as it is. */
static void finish_published(const model_setup *s, const model_view *v, tape *t, var y, model_net *net) {
  int64_t rows = t->status == DKHO_OK ? t->var[y].rows : 0, count = rows * s->channels, *ptr = NULL;
  int32_t *col = NULL;
  double *val = NULL;
  block_finish(s, v, t, y, net);
  if (t->status == DKHO_OK && MEM_NEW(ptr, count + 1) && MEM_NEW(col, count) && MEM_NEW(val, count)) {
    for (int64_t i = 0; i < count; i++) {
      ptr[i + 1] = i + 1;
      col[i] = (int32_t)(i % rows * s->channels + i / rows);
      val[i] = 1;
    }
    const sparse *turn = block_sparse(t, count, count, ptr, col, val);
    if (turn) {
      var flat = op_sparse(t, turn, 0, op_reshape(t, net->predicted, count, 1));
      net->loss = op_rel_l2(t, flat, op_reshape(t, net->target, count, 1), s->loss_eps);
    }
  } else if (t->status == DKHO_OK)
    t->status = DKHO_E_MEMORY;
  mem_free(ptr);
  mem_free(col);
  mem_free(val);
}

static dkho_status gno_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  shape f = shape_of(s);
  var points = block_points(t, v->c, 0), x[2] = {block_feature(s, v, t, 0, net), points};
  const sparse *near = block_neighbours(t, v->c, f.radius, f.form != FORM_PLANE);
  TRY(t->status);
  if (f.form == FORM_PLANE) x[0] = block_affine(t, "adapter", 1, x);
  var h = op_fn(t, FN_GELU, block_affine(t, "lift1", f.form == FORM_PLANE ? 1 : 2, x));
  h = block_affine(t, "lift2", 1, &h);
  var offset = op_axpy(t, -1, points, op_sparse(t, near, 0, points));
  for (int l = 0; l < f.layers; l++) h = gno_layer(t, l, f.h, near, offset, h);
  var y = op_fn(t, FN_GELU, block_pool(t, v->c, s->target, block_affine(t, "proj1", 1, &h)));
  y = block_affine(t, "proj2", 1, &y);
  if (model_int(s, OPT_BEHAVIOUR) && s->channels > 1)
    finish_published(s, v, t, y, net);
  else
    block_finish(s, v, t, y, net);
  return t->status;
}

const model_type model_gno = {
    .name = "gno",
    .summary = "graph neural operator: means over a radius graph and networks at the vertices",
    .option = options,
    .profile = FEAT_NATIVE,
    .degrees = block_vertices_alone,
    .reader = reader_of,
    .declare = gno_declare,
    .record = gno_record,
};
