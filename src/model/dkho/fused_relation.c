/* fused_relation.c: what joins the simplices, and its reverse. One Dirac–Kuramoto substep over all degrees
 * (docs/MODEL.md, section 2), for any metric:
 *   A_k = sin(d θ_{k-1} - γ_k⊙θ_k - λ_k),  B_k = sin(δ θ_{k+1} + γ_k⊙θ_k - λ_k),
 *   θ_k ← θ_k - τ(ω_k + σ_k(δ A_{k+1} + d B_{k-1})).
 * Two sweeps each: residuals everywhere, then updates. Parts that the output cannot feel are left out. Without coupling one
 * sweep over the target degree does; without phases there is the hop of the carrier. */
#include "model/dkho/fused_impl.h"

#include <string.h>

static int layer_of(const pass *p) {
  return p->step / p->f->s.substeps;
}
/* A_k is felt by θ_{k-1}, B_k by θ_{k+1}. */
static int wants_a(const pass *p, int k) {
  return k > 0 && fused_wants(p->f, p->step + 1, k - 1);
}
static int wants_b(const pass *p, int k) {
  return fused_wants(p->f, p->step + 1, k + 1);
}

static void residual_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)w, (void)partial;
  const fused *f = p->f;
  sample_state *s = p->s;
  int k = c->k, i = p->step;
  const real *maps = s->maps[layer_of(p)][k], *theta = s->theta[k][i];
  if (wants_a(p, k))
    f->k->rel_sin(c->first, c->last, f->s.c, &f->down[k], s->theta[k - 1][i], -1, theta, maps, s->res_a[k]);
  if (wants_b(p, k))
    f->k->rel_sin(c->first, c->last, f->s.c, &f->up[k], s->theta[k + 1][i], 1, theta, maps, s->res_b[k]);
}

static void step_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)w, (void)partial;
  const fused *f = p->f;
  sample_state *s = p->s;
  const packed_layer *layer = &f->layer[layer_of(p)];
  int k = c->k, i = p->step, top = k + 1 == f->s.degrees;
  f->k->rel_step(c->first, c->last, f->s.c, top ? NULL : &f->up[k], top ? NULL : s->res_a[k + 1],
                 k ? &f->down[k] : NULL, k ? s->res_b[k - 1] : NULL, layer->tau, layer->rank[k].sigma, s->theta[k][i],
                 s->maps[layer_of(p)][k], s->theta[k][i + 1]);
}

static void alone_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)w, (void)partial;
  const fused *f = p->f;
  int k = c->k, i = p->step, l = layer_of(p);
  f->k->rel_alone(c->first, c->last, f->s.c, f->layer[l].tau, f->layer[l].rank[k].sigma, p->s->theta[k][i],
                  p->s->maps[l][k], p->s->theta[k][i + 1]);
}

/* Dots in the places of σ_{k+1}, here σ_k, and ω_k. */
static void alone_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)w, (void)partial;
  const fused *f = p->f;
  sample_state *s = p->s;
  int k = c->k, l = layer_of(p);
  real *dot = s->dots + (size_t)(c - f->chunks) * 3 * LANES;
  memset(dot, 0, 3 * LANES * sizeof *dot);
  f->k->rel_alone_back(c->first, c->last, f->s.c, f->layer[l].tau, f->layer[l].rank[k].sigma, s->theta[k][p->step],
                       s->maps[l][k], s->gt[k], s->gmaps[k], dot + LANES);
}

static unsigned mask_where(const pass *p, int (*want)(const pass *, int)) {
  unsigned mask = 0;
  for (int k = 0; k < p->f->s.degrees; k++) mask |= want(p, k) ? 1U << k : 0U;
  return mask;
}
static int wants_after(const pass *p, int k) {
  return fused_wants(p->f, p->step + 1, k);
}
static int wants_before(const pass *p, int k) {
  return fused_wants(p->f, p->step, k);
}

/* θ, or T on the way back, of the degrees whose neighbours the residuals of this substep read: A_{k+1} and B_{k-1} are wanted where
 * θ_k is after it. */
static void send_rows(const pass *p, int step, int back) {
  exchange_field field[DEG];
  int count = 0;
  for (int k = 0; k < p->f->s.degrees; k++)
    if (fused_wants(p->f, step + 1, k))
      field[count++] = (exchange_field){k, PART_BOTH, back ? p->s->gt[k] : p->s->theta[k][step]};
  share_begin(p, SHARE_RELATION, count, field);
}

/* A of the cofaces, B of the faces; on the way back their cotangents. */
static void send_residuals(const pass *p) {
  exchange_field field[2 * DEG];
  int count = 0;
  for (int k = 0; k < p->f->s.degrees; k++) {
    if (wants_a(p, k)) field[count++] = (exchange_field){k, PART_ABOVE, p->s->res_a[k]};
    if (wants_b(p, k)) field[count++] = (exchange_field){k, PART_BELOW, p->s->res_b[k]};
  }
  share_begin(p, SHARE_RELATION, count, field);
}

/* θ of the next substep sets off as soon as it is there, and travels while the content is updated. */
void relation_forward(pass *p, int step) {
  p->step = step;
  if (p->f->s.relation == FUSED_ALONE) {
    run_chunks(p, 1U << p->f->s.target, alone_chunk, NULL);
    return;
  }
  if (step == 0 && p->f->s.start != FUSED_ZERO) send_rows(p, 0, 0);
  run_across(p, SHARE_RELATION, mask_where(p, wants_a) | mask_where(p, wants_b), residual_chunk, NULL);
  send_residuals(p);
  run_across(p, SHARE_RELATION, mask_where(p, wants_after), step_chunk, NULL);
  if (step + 1 < p->f->s.layers * p->f->s.substeps) send_rows(p, step + 1, 0);
}

/* Cotangents of the arguments of A_k and B_k into res_a, res_b; those of the maps added; dots by chunk. */
static void residual_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)w, (void)partial;
  const fused *f = p->f;
  sample_state *s = p->s;
  const packed_layer *layer = &f->layer[layer_of(p)];
  int k = c->k, i = p->step, l = layer_of(p);
  real *dot = s->dots + (size_t)(c - f->chunks) * 3 * LANES;
  memset(dot, 0, 3 * LANES * sizeof *dot);
  if (wants_a(p, k))
    f->k->rel_sin_back(c->first, c->last, f->s.c, &f->down[k], s->theta[k - 1][i], -1, s->theta[k][i], s->maps[l][k],
                       &f->down_adj[k], s->gt[k - 1], -layer->tau * layer->rank[k - 1].sigma, s->res_a[k], s->gmaps[k],
                       dot);
  if (wants_b(p, k))
    f->k->rel_sin_back(c->first, c->last, f->s.c, &f->up[k], s->theta[k + 1][i], 1, s->theta[k][i], s->maps[l][k],
                       &f->up_adj[k], s->gt[k + 1], -layer->tau * layer->rank[k + 1].sigma, s->res_b[k], s->gmaps[k],
                       dot + LANES);
  if (wants_after(p, k))
    f->k->rel_drive_back(c->first, c->last, f->s.c, layer->tau, s->gt[k], s->maps[l][k], s->gmaps[k], dot + 2 * LANES);
}

/* T_k += dᵀ a_{k+1} + δᵀ b_{k-1} + γ_k⊙(b_k - a_k) */
static void step_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)w, (void)partial;
  const fused *f = p->f;
  sample_state *s = p->s;
  int k = c->k, after = wants_after(p, k), up = after && k + 1 < f->s.degrees, down = after && k > 0;
  f->k->rel_step_back(c->first, c->last, f->s.c, up ? &f->up_adj[k] : NULL, up ? s->res_a[k + 1] : NULL,
                      down ? &f->down_adj[k] : NULL, down ? s->res_b[k - 1] : NULL, wants_a(p, k) ? s->res_a[k] : NULL,
                      wants_b(p, k) ? s->res_b[k] : NULL, s->maps[layer_of(p)][k], s->gt[k]);
}

static double lane_sum(const real *x) {
  double s = 0;
  for (int l = 0; l < LANES; l++) s += (double)x[l];
  return s;
}

/* The dots of one degree summed over its chunks. */
static void sum_dots(const pass *p, int k) {
  const chunk_tree *t = &p->f->tree[k];
  int held = t->before[t->leaves];
  for (int i = 0; i < held; i++)
    for (int q = 0; q < 3; q++) p->s->leaf[3 * i + q] = lane_sum(p->s->dots + (size_t)((t->first + i) * 3 + q) * LANES);
  tree_sum(t, 3, p->s->leaf);
  for (int i = 0; i < held; i++)
    if (t->root[i] >= 0)
      memcpy(sums_at(p->f, p->s, t->root[i], p->step, k), p->s->leaf + (size_t)3 * (size_t)i, 3 * sizeof(double));
}

/* g_σk -= τ<T_k, feedback_k>, g_τ -= <T_k, ω_k + σ_k feedback_k>, over the degrees in order. */
static void add_scalars(const pass *p) {
  const fused *f = p->f;
  const packed_layer *layer = &f->layer[layer_of(p)];
  double back[DEG + 2] = {0}, drive = 0; /* back[k+1] belongs to degree k */
  int alone = f->s.relation == FUSED_ALONE;
  for (int k = 0; k < f->s.degrees; k++) {
    const double *sum = sums_at(f, p->s, 0, p->step, k);
    if (alone && k != f->s.target) continue;
    back[k] += sum[0];
    back[k + 2 - alone] += sum[1];
    drive += sum[2];
  }
  real *out = p->s->packed + f->scalars + (size_t)(layer_of(p) * (DEG + 1));
  double g_tau = -drive;
  for (int k = 0; k < f->s.degrees; k++) {
    out[k] -= (real)((double)layer->tau * back[k + 1]);
    g_tau -= (double)layer->rank[k].sigma * back[k + 1];
  }
  out[DEG] += (real)g_tau;
}

void relation_scalars(const pass *p) {
  pass q = *p;
  for (q.step = p->f->s.layers * p->f->s.substeps - 1; q.step >= 0; q.step--) add_scalars(&q);
}

void relation_backward(pass *p, int step) {
  int alone = p->f->s.relation == FUSED_ALONE;
  p->step = step;
  if (alone) {
    run_chunks(p, 1U << p->f->s.target, alone_back_chunk, NULL);
  } else {
    send_rows(p, step, 1);
    run_across(p, SHARE_RELATION, (1U << p->f->s.degrees) - 1, residual_back_chunk, NULL);
  }
  for (int k = 0; k < p->f->s.degrees; k++)
    if (!alone || k == p->f->s.target) sum_dots(p, k);
  if (alone || (step == 0 && p->f->s.start == FUSED_ZERO)) return; /* nothing depends on a start at zero */
  send_residuals(p);
  run_across(p, SHARE_RELATION, mask_where(p, wants_before), step_back_chunk, NULL);
}

/* m_k = d x_{k-1} + δ x_{k+1}; σ_k is in the matrix that reads it. */
void carrier_hop(const fused *f, sample_state *s, int k, int l, int first, int last) {
  int up = k + 1 < f->s.degrees, down = k > 0;
  size_t tile = (size_t)f->s.c * LANES;
  memset(s->res_a[k] + (size_t)first * tile, 0, (size_t)(last - first) * tile * sizeof(real));
  f->k->rel_step_back(first, last, f->s.c, up ? &f->up[k] : NULL, up ? s->theta[k + 1][l] : NULL,
                      down ? &f->down[k] : NULL, down ? s->theta[k - 1][l] : NULL, NULL, NULL, s->maps[l][k],
                      s->res_a[k]);
}

/* g_x of degree k += dᵀ g_m of degree k+1 + δᵀ g_m of degree k-1, from zero where the layer leaves x itself unread. */
static void hop_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)w, (void)partial;
  const fused *f = p->f;
  sample_state *s = p->s;
  int k = c->k, l = p->layer, up = fused_lives(f, l + 1, k + 1), down = fused_lives(f, l + 1, k - 1);
  size_t tile = (size_t)f->s.c * LANES;
  if (!fused_lives(f, l + 1, k))
    memset(s->res_a[k] + (size_t)c->first * tile, 0, (size_t)(c->last - c->first) * tile * sizeof(real));
  f->k->rel_step_back(c->first, c->last, f->s.c, up ? &f->up_adj[k] : NULL, up ? s->gt[k + 1] : NULL,
                      down ? &f->down_adj[k] : NULL, down ? s->gt[k - 1] : NULL, NULL, NULL, s->maps[l][k],
                      s->res_a[k]);
}

/* x of layer l, or g_m on the way back, of the degrees whose neighbours read it. */
static void send_carriers(const pass *p, int l, int back) {
  exchange_field field[DEG];
  int count = 0;
  for (int k = 0; k < p->f->s.degrees; k++)
    if (back ? fused_lives(p->f, l + 1, k) : fused_lives(p->f, l + 1, k - 1) || fused_lives(p->f, l + 1, k + 1))
      field[count++] = (exchange_field){k, PART_BOTH, back ? p->s->gt[k] : p->s->theta[k][l]};
  share_begin(p, SHARE_RELATION, count, field);
}

void carrier_forward(pass *p, int l) {
  p->layer = l;
  send_carriers(p, l, 0);
  run_across(p, SHARE_RELATION, p->f->live[l + 1], content_chunk, NULL);
}

void carrier_backward(pass *p, int l) {
  p->layer = l;
  send_carriers(p, l, 1);
  run_across(p, SHARE_RELATION, p->f->live[l], hop_back_chunk, NULL);
}
