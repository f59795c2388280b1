/* fused_cross.c: content over the links (fused_link.c), block by block. The update of degree k in layer l reads rows that its neighbours
 * left of state l; on the way back they read rows that it left of cotangents. Rows of even and odd states lie apart, so a pass may
 * write those of the next state while neighbours still read. */
#include "model/dkho/fused_impl.h"

real *cross_rows(const block *b, int l, int k, int q, int p) {
  int64_t row = (int64_t)p * fused_near(b->f, k) + (k == b->k ? (int64_t)b->first * LANES : 0);
  return b->s->rows[l & 1][k][q] + row * kern_pad(b->h);
}

/* All rows q of state l of a neighbouring degree. */
static const real *rows_of(const block *b, int l, int k, int q) {
  return b->s->rows[l & 1][k][q];
}

/* Those of degree k. A degree below reads this one as cofaces, one above as faces. Over a link that maps on one side, parts travel from
 * there, and rows of h on the way to there. */
static int list_fields(const pass *p, int l, int k, int back, exchange_field *field) {
  const fused *f = p->f;
  real *const *rows = p->s->rows[l & 1][k];
  int count = 0, plain = 0;
  for (int up = 0; up < 2; up++) {
    int kind = up ? PART_BELOW : PART_ABOVE;
    const fused_link *link = back ? &f->link[k][up] : fused_sends(f, l, k, up);
    if (!link || !link->used || (back && !fused_lives(f, l + 1, k))) continue;
    if (link->maps_first == back) plain |= kind;
    for (int q = 0; link->maps_first != back && q < f->parts; q++)
      field[count++] = (exchange_field){k, kind, rows[1 + up] + q * fused_near(f, k) * kern_pad(f->s.h)};
  }
  if (plain) field[count++] = (exchange_field){k, plain, rows[0]};
  return count;
}

void cross_begin(const pass *p, int l, int back) {
  exchange_field field[4 * DEG];
  int count = 0;
  if (!p->f->ranks || !p->f->parts || l == p->f->s.layers) return;
  for (int k = 0; k < p->f->s.degrees; k++)
    if (fused_lives(p->f, l, k)) count += list_fields(p, l, k, back, field + count);
  share_begin(p, SHARE_CONTENT, count, field);
}

/* x = A z for links that gather first, into the state; base = Σ A (z W) for those that map first. */
void cross_load(block *b) {
  kern_carry mapped[2];
  int count = 0, at = b->h + 2 * b->c;
  for (int up = 0; up < 2; up++) {
    const fused_link *link = &b->f->link[b->k][up];
    int j = up ? b->k + 1 : b->k - 1;
    if (!link->used) continue;
    if (link->maps_first) {
      mapped[count++] = (kern_carry){link->there, rows_of(b, b->l, j, 2 - up)};
      continue;
    }
    kern_carry from = {link->there, rows_of(b, b->l, j, 0)};
    b->K->carry(b->first, b->first + b->n, b->f->parts, b->h, 1, &from, 0, state_at(b, b->l) + at * LANES,
                state_stride(b));
    at += b->f->parts * b->h;
  }
  if (!count) return;
  b->K->carry(b->first, b->first + b->n, 1, b->h, count, mapped, 0, b->w->base, (size_t)b->h * LANES);
  b->base = b->w->base;
}

/* Parts x W + b to rows q of state l; W has row length ld, its parts are h columns apart. */
static void put_parts(const block *b, int l, int q, const real *x, size_t xs, const real *w, int ld, const real *bias) {
  for (int p = 0; p < b->f->parts; p++)
    b->K->mm_rows(b->n, x, xs, b->h, w + p * b->h, ld, b->h, bias ? bias + p * b->h : NULL,
                  cross_rows(b, l, b->k, q, p));
}

/* z = scale ⊙ xhat + rise in rows. */
static void send_content(const block *b, int l) {
  const packed_layer *at = &b->f->layer[l];
  int pad = kern_pad(b->h);
  real *rows = cross_rows(b, l, b->k, 0, 0);
  b->K->transpose(b->n, state_at(b, l), state_stride(b), b->h, rows);
  if (l) b->K->col_affine(b->n * LANES, pad, rows, b->f->zeros, at->scale + b->k * pad, at->rise + b->k * pad, 0, rows);
}

void cross_send(const block *b, int l) {
  int content = b->f->s.modes && l < b->f->s.layers;
  for (int up = 0; up < 2; up++) {
    const fused_link *link = fused_sends(b->f, l, b->k, up);
    if (!link) continue;
    content |= !link->maps_first;
    if (!link->maps_first) continue;
    const packed_maps *m = &b->f->layer[l].rank[up ? b->k + 1 : b->k - 1].cross[!up];
    put_parts(b, l, 1 + up, state_at(b, l), state_stride(b), m->w, b->f->parts * b->h, m->b);
  }
  if (content) send_content(b, l);
}

/* g_x = g_a Wᵀ of the parts that were mapped here; g_a itself is in rows already. */
void cross_back(const block *b, const packed_rank *r) {
  int at = b->h + 2 * b->c;
  for (int up = 0; up < 2; up++) {
    const fused_link *link = &b->f->link[b->k][up];
    if (!link->used || link->maps_first) continue;
    put_parts(b, b->l, 1 + up, b->w->g, (size_t)b->h * LANES, r->w1t + at, b->wide, NULL);
    at += b->f->parts * b->h;
  }
}

/* Through a link of which this is the side that maps: g_y = Aᵀ g_a; g_z += g_y Wᵀ; g_W += stateᵀ g_y. */
static void return_mapped(const block *b, int l, int up, const grad_unit *u, real *gz, real *partial) {
  const fused_link *link = fused_sends(b->f, l, b->k, up);
  int k = up ? b->k + 1 : b->k - 1, wide = b->f->parts * b->h;
  size_t stride = (size_t)wide * LANES;
  kern_carry from = {link->back, rows_of(b, l, k, 0)};
  b->K->carry(b->first, b->first + b->n, b->f->parts, b->h, 1, &from, 0, b->w->parts, stride);
  kern_mm(b->K, b->n, b->w->parts, stride, wide, b->f->layer[l].rank[k].cross[!up].wt, b->h, b->h, NULL, 1, gz,
          (size_t)b->h * LANES);
  linear_grads(b, state_at(b, l), state_stride(b), b->h, b->w->parts, wide, partial + u->cross_w[up],
               partial + u->cross_b[up]);
}

void cross_return(const block *b, int l, const grad_unit *u, real *gz, real *partial) {
  kern_carry parts[2];
  int count = 0, modes = b->f->s.modes;
  size_t hs = (size_t)b->h * LANES;
  for (int up = 0; up < 2; up++) {
    const fused_link *link = fused_sends(b->f, l, b->k, up);
    if (!link) continue;
    if (link->maps_first)
      return_mapped(b, l, up, u, gz, partial);
    else
      parts[count++] = (kern_carry){link->back, rows_of(b, l, up ? b->k + 1 : b->k - 1, 2 - up)};
  }
  if (count) b->K->carry(b->first, b->first + b->n, 1, b->h, count, parts, 1, gz, hs);
  if (modes && l < b->f->s.layers) /* g_z += M Φ g_C */
    kern_mm(b->K, b->n, tile_at(b->f->analyse[b->k], b->first, modes), (size_t)modes * LANES, modes,
            b->s->g_low + (int64_t)b->k * modes * b->h, b->h, b->h, NULL, 1, gz, hs);
}
