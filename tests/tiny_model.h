/* tiny_model.h: a model of thirty lines, for tests to register: û = affine(GELU(affine(F_q))) on each simplex of the target's
 * degree, with a batch norm and a linear map beside it as options. */
#ifndef TESTS_TINY_MODEL_H
#define TESTS_TINY_MODEL_H

#include "model/model.h"

enum { TINY_WIDTH, TINY_SKIP, TINY_NORM };
static const char *const off_on[] = {"off", "on", NULL};
static const model_option tiny_options[] = {
    [TINY_WIDTH] = {"width", OPTION_INT, 8, 1, 256, NULL, "hidden width"},
    [TINY_SKIP] = {"skip", OPTION_CHOICE, 0, 0, 0, off_on, "a linear map beside the network"},
    [TINY_NORM] = {"norm", OPTION_CHOICE, 0, 0, 0, off_on, "batch norm of the hidden layer"},
    {0},
};
static const model_size tiny_sizes[] = {{"small", "width=8"}, {"large", "width=16"}, {0}};

static int tiny_degrees(int dim, int target) {
  (void)dim;
  return target + 1;
}

static dkho_status tiny_declare(const model_setup *s, params *p) {
  int in = s->features[s->target], width = model_int(s, TINY_WIDTH);
  params_add_affine(p, "first", in, width, 1);
  params_add_affine(p, "second", width, s->channels, 1);
  if (model_int(s, TINY_NORM)) params_add_batch_norm(p, "norm", width);
  if (model_int(s, TINY_SKIP)) params_add_affine(p, "skip", in, s->channels, 0);
  return p->status;
}

static dkho_status tiny_record(const model_setup *s, const model_view *v, tape *t, model_net *net) {
  int q = s->target;
  var x = net->feature[q] = tape_input(t, v->c->n[q], s->features[q]);
  var a = op_affine(t, 1, &x, tape_param(t, "first.w"), tape_param(t, "first.b"));
  if (model_int(s, TINY_NORM)) a = op_batch_norm(t, "norm", a);
  a = op_fn(t, FN_GELU, a);
  net->predicted = op_affine(t, 1, &a, tape_param(t, "second.w"), tape_param(t, "second.b"));
  if (model_int(s, TINY_SKIP)) net->predicted = op_axpy(t, 1, net->predicted, op_matmul(t, x, tape_param(t, "skip.w")));
  tape_keep(t, net->predicted);
  net->target = tape_input(t, v->c->n[q], s->channels);
  net->loss = op_rel_l2(t, net->predicted, net->target, s->loss_eps);
  return t->status;
}

static const model_type tiny = {.name = "tiny",
                                .summary = "a network on each simplex by itself",
                                .option = tiny_options,
                                .size = tiny_sizes,
                                .profile = FEAT_NATIVE,
                                .degrees = tiny_degrees,
                                .declare = tiny_declare,
                                .record = tiny_record};

#endif
