/* fused_link.c: links between neighbouring degrees, over which content is exchanged: which rows meet which, the matrices, and their
 * gradients. An exchange is a transport A and a map W, (A z) W = A (z W): the map stands on the side with fewer simplices. */
#include "model/dkho/fused_impl.h"

#include <string.h>

/* A matrix by compressed rows with `parts` weights an entry. */
typedef struct entries {
  int64_t rows, *ptr;
  int32_t *col;
  real *val;
  int parts;
} entries;

static dkho_status take_entries(arena *a, int64_t rows, int64_t count, int parts, entries *e) {
  e->rows = rows, e->parts = parts;
  return ARENA_NEW(a, e->ptr, rows + 1) && ARENA_NEW(a, e->col, count + KERN_AHEAD) &&
                 ARENA_NEW(a, e->val, count * parts)
             ? DKHO_OK
             : DKHO_E_MEMORY;
}

/* The neighbours of degree k on one side, row by row: where the list of simplex i begins, and the place of its j-th entry. */
typedef struct side {
  const int64_t *ptr; /* NULL: `faces` each */
  const int32_t *col;
  const int8_t *sign;
  const double *own, *other; /* stars, NULL: one */
  int faces;
} side;

static side side_of(const fused_mesh *m, int k, int up) {
  if (!up) return (side){NULL, m->face[k], m->sign[k], NULL, NULL, k + 1};
  return (side){m->coptr[k], m->coface[k], m->cosign[k], m->star[k], m->star[k + 1], 0};
}
static int64_t begins(const side *s, int64_t i) {
  return s->ptr ? s->ptr[i] : i * s->faces;
}

/* Weights of entry p of simplex i: the signed image s, the mean m; in parts for W_u/n ± W_s they are (n m ± s)/2. */
static void weigh_entry(const side *s, int kinds, int n, int64_t i, int64_t p, real *out) {
  double mean = 1 / (double)(begins(s, i + 1) - begins(s, i)), image = s->sign[p];
  if (s->own) image *= s->other[s->col[p]] / s->own[i];
  if (kinds == FUSED_SIGNED) out[0] = (real)image;
  if (kinds == FUSED_UNSIGNED) out[0] = (real)mean;
  if (kinds == (FUSED_SIGNED | FUSED_UNSIGNED)) {
    out[0] = (real)(n ? (n * mean + image) / 2 : image);
    out[1] = (real)(n ? (n * mean - image) / 2 : mean);
  }
}

/* From numbers of rows to places of their first numbers. */
static kern_csr csr_of(const entries *e, int h) {
  for (int64_t p = 0; p < e->ptr[e->rows]; p++) e->col[p] *= kern_pad(h);
  return (kern_csr){e->ptr, e->col, e->val};
}

/* Rows of a list of the whole mesh: up to a whole tile, those beyond the simplices empty. */
static int64_t rows_of_all(const fused *f, int k) {
  return (int64_t)kern_tiles(f->whole[k]) * LANES;
}

static dkho_status list_side(const fused *f, const side *s, int k, int n, entries *e, arena *a) {
  int64_t rows = rows_of_all(f, k), have = f->whole[k];
  TRY(take_entries(a, rows, begins(s, have), f->parts, e));
  for (int64_t i = 0; i < rows; i++) e->ptr[i + 1] = begins(s, i < have ? i + 1 : have);
  for (int64_t i = 0; i < have; i++)
    for (int64_t p = begins(s, i); p < begins(s, i + 1); p++) {
      e->col[p] = s->col[p];
      weigh_entry(s, f->s.exchange, n, i, p, e->val + p * f->parts);
    }
  return DKHO_OK;
}

/* out = inᵀ of `rows` rows, entries of a row in the order of the rows they come from. */
static dkho_status turn_entries(const entries *in, int64_t rows, entries *out, arena *a) {
  int64_t count = in->ptr[in->rows], *at;
  TRY(take_entries(a, rows, count, in->parts, out));
  if (!ARENA_NEW(a, at, rows + 1)) return DKHO_E_MEMORY;
  for (int64_t p = 0; p < count; p++) out->ptr[in->col[p] + 1]++;
  for (int64_t i = 0; i < rows; i++) out->ptr[i + 1] += out->ptr[i], at[i] = out->ptr[i];
  for (int64_t i = 0; i < in->rows; i++)
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) {
      int64_t to = at[in->col[p]]++;
      out->col[to] = (int32_t)i;
      for (int q = 0; q < in->parts; q++) out->val[to * in->parts + q] = in->val[p * in->parts + q];
    }
  return DKHO_OK;
}

/* Of a list of degree k for the whole mesh the rows held here, with the numbers that rows of degree j have here; all, when ranks do not
 * share the mesh. */
static dkho_status take_held(const fused *f, int k, int j, entries *e, arena *a, arena *work) {
  entries all = *e;
  int64_t at = 0, count = 0, have = f->s.n[k];
  int32_t *place;
  if (!f->ranks) return DKHO_OK;
  for (int64_t i = 0; i < have; i++) {
    int64_t from = share_simplex(f, k, i);
    count += all.ptr[from + 1] - all.ptr[from];
  }
  TRY(take_entries(a, (int64_t)f->tiles[k] * LANES, count, all.parts, e));
  if (!ARENA_NEW(work, place, f->whole[j])) return DKHO_E_MEMORY;
  share_places(f, j, place);
  for (int64_t i = 0; i < e->rows; i++) {
    for (int64_t from = i < have ? share_simplex(f, k, i) : 0, p = all.ptr[from]; i < have && p < all.ptr[from + 1];
         p++) {
      e->col[at] = place[all.col[p]];
      for (int q = 0; q < e->parts; q++) e->val[at * e->parts + q] = all.val[p * e->parts + q];
      at++;
    }
    e->ptr[i + 1] = at;
  }
  return DKHO_OK;
}

/* The parts as entries of their own: part q of row j of the other degree, which has `apart` rows, is row q·apart + j. */
static dkho_status merge_parts(const entries *in, int64_t apart, entries *out, arena *a) {
  int64_t at = 0;
  TRY(take_entries(a, in->rows, in->ptr[in->rows] * in->parts, 1, out));
  for (int64_t i = 0; i < in->rows; i++) {
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++)
      for (int q = 0; q < in->parts; q++) {
        if (in->val[p * in->parts + q] == 0) continue;
        out->col[at] = (int32_t)(q * apart + in->col[p]);
        out->val[at++] = in->val[p * in->parts + q];
      }
    out->ptr[i + 1] = at;
  }
  return DKHO_OK;
}

/* From the degree below or above to degree k. Seen from above, most simplices have two cofaces on a manifold of their dimension and
 * one, so that parts for W_u/2 ± W_s meet one of them each. */
static dkho_status plan_link(fused *f, const fused_mesh *m, int k, int up, arena *work) {
  fused_link *link = &f->link[k][up];
  int j = up ? k + 1 : k - 1;
  int64_t here = fused_near(f, k), there = fused_near(f, j);
  if ((here > there ? here : there) * f->parts * kern_pad(f->s.h) > INT32_MAX)
    return fail(DKHO_E_INPUT, "exchange: %lld simplices of width %d are too many for 31-bit places",
                (long long)(here > there ? here : there), f->s.h);
  side s = side_of(m, k, up);
  entries list, turned, merged;
  link->used = 1;
  link->maps_first = f->whole[j] < f->whole[k];
  if (f->parts == 2) link->faces = !up ? k + 1 : link->maps_first ? 2 : 0;
  arena *first = link->maps_first ? work : &f->mem, *second = link->maps_first ? &f->mem : work;
  TRY(list_side(f, &s, k, link->faces, &list, f->ranks ? work : first));
  TRY(turn_entries(&list, rows_of_all(f, j), &turned, f->ranks ? work : second));
  TRY(take_held(f, k, j, &list, first, work));
  TRY(take_held(f, j, k, &turned, second, work));
  TRY(merge_parts(link->maps_first ? &list : &turned, link->maps_first ? there : here, &merged, &f->mem));
  link->there = csr_of(link->maps_first ? &merged : &list, f->s.h);
  link->back = csr_of(link->maps_first ? &turned : &merged, f->s.h);
  return DKHO_OK;
}

dkho_status plan_links(fused *f, const fused_mesh *m) {
  arena work = {0};
  dkho_status s = DKHO_OK;
  f->parts = (f->s.exchange & 1) + (f->s.exchange >> 1);
  for (int k = 0; k < f->s.degrees; k++) {
    f->wide[k] = f->s.h + 2 * f->s.c;
    for (int up = 0; up < 2 && f->parts; up++) {
      if (up ? k + 1 == f->s.degrees : k == 0) continue;
      if (s == DKHO_OK) s = plan_link(f, m, k, up, &work);
      if (!f->link[k][up].maps_first) f->wide[k] += f->parts * f->s.h;
    }
  }
  arena_free(&work);
  return s;
}

void plan_cross(const fused *f, int l, int k, grad_unit *u) {
  for (int up = 0; up < 2; up++) {
    const fused_link *link = fused_sends(f, l, k, up);
    if (!link || !link->maps_first) continue;
    u->cross_w[up] = take_place(&u->size, (size_t)f->s.h, f->parts * f->s.h);
    u->cross_b[up] = take_place(&u->size, 1, f->parts * f->s.h);
  }
}

static dkho_status alloc_cross(fused *f, packed_rank *r, int up) {
  packed_maps *m = &r->cross[up];
  size_t h = (size_t)f->s.h, out = h * (size_t)f->parts;
  return ARENA_NEW(&f->mem, m->w, h * out) && ARENA_NEW(&f->mem, m->b, out) && ARENA_NEW(&f->mem, m->wt, h * out)
             ? DKHO_OK
             : DKHO_E_MEMORY;
}

dkho_status alloc_links(fused *f) {
  size_t pad = (size_t)kern_pad(f->s.h) * DEG;
  if (!fused_extended(f)) return DKHO_OK;
  if (!ARENA_NEW(&f->mem, f->zeros, pad)) return DKHO_E_MEMORY;
  for (int l = 0; l < f->s.layers; l++) {
    if (!ARENA_NEW(&f->mem, f->layer[l].scale, pad) || !ARENA_NEW(&f->mem, f->layer[l].rise, pad)) return DKHO_E_MEMORY;
    for (int k = 0; k < f->s.degrees; k++)
      for (int up = 0; up < 2; up++)
        if (f->link[k][up].maps_first) TRY(alloc_cross(f, &f->layer[l].rank[k], up));
  }
  return DKHO_OK;
}

/* What part q's matrix holds of W_s and of W_u. */
static void part_shares(const fused *f, const fused_link *link, int q, double share[2]) {
  share[0] = f->parts == 2 && link->faces ? (q ? -1 : 1) : f->parts == 2 ? !q : f->s.exchange == FUSED_SIGNED;
  share[1] = f->parts == 2 && link->faces ? 1.0 / link->faces : f->parts == 2 ? q : f->s.exchange == FUSED_UNSIGNED;
}

/* Where the sender's map stands, h × width. */
static size_t send_at(const fused *f, int l, int k, int up) {
  return f->s.layer[l].rank[up ? k + 1 : k - 1].send;
}

/* Entry of W, or of D W of content that is narrowed by D. */
static double link_entry(const fused *f, int l, int k, int up, int u, const real *p, int i, int o) {
  const real *w = p + f->s.layer[l].rank[k].link[up][u];
  int h = f->s.h, width = f->s.width;
  if (width == h) return (double)w[i * h + o];
  const real *d = p + send_at(f, l, k, up);
  double s = 0;
  for (int m = 0; m < width; m++) s += (double)d[i * width + m] * (double)w[m * h + o];
  return s;
}

/* Its gradient g to W, or to D and W. */
static void link_grad(const fused *f, int l, int k, int up, int u, const real *p, int i, int o, real g, real *out) {
  size_t w = f->s.layer[l].rank[k].link[up][u], d = send_at(f, l, k, up);
  size_t h = (size_t)f->s.h, width = (size_t)f->s.width, row = (size_t)i, col = (size_t)o;
  if (width == h) out[w + row * h + col] += g;
  for (size_t m = 0; width < h && m < width; m++) {
    out[d + row * width + m] += g * p[w + m * h + col];
    out[w + m * h + col] += g * p[d + row * width + m];
  }
}

/* Part q's matrix, h × h, into rows of length ld. */
static void pack_part(const fused *f, int l, int k, int up, int q, const real *p, real *to, int ld) {
  int h = f->s.h;
  double share[2];
  part_shares(f, &f->link[k][up], q, share);
  for (int i = 0; i < h; i++)
    for (int o = 0; o < h; o++) {
      double s = 0;
      for (int u = 0; u < 2; u++)
        if (share[u] != 0) s += share[u] * link_entry(f, l, k, up, u, p, i, o);
      to[i * ld + o] = (real)s;
    }
}

/* Its gradient, rows of length ld, to those of W_s and W_u; p: the parameters. */
static void collect_part(const fused *f, int l, int k, int up, int q, const real *p, const real *g, int ld, real *out) {
  int h = f->s.h;
  double share[2];
  part_shares(f, &f->link[k][up], q, share);
  for (int u = 0; u < 2; u++)
    for (int i = 0; share[u] != 0 && i < h; i++)
      for (int o = 0; o < h; o++) link_grad(f, l, k, up, u, p, i, o, (real)share[u] * g[i * ld + o], out);
}

/* The parts that are mapped here, as rows of the update's first matrix. */
void pack_gathered(const fused *f, int l, int k, const real *params, real *w1) {
  int h = f->s.h, row = h + 2 * f->s.c;
  for (int up = 0; up < 2; up++)
    for (int q = 0; f->link[k][up].used && !f->link[k][up].maps_first && q < f->parts; q++, row += h)
      pack_part(f, l, k, up, q, params, w1 + row * h, h);
}

static void pack_cross(const fused *f, int l, int k, int up, const real *params) {
  const packed_maps *m = &f->layer[l].rank[k].cross[up];
  int h = f->s.h, out = f->parts * h;
  affine state = state_affine(f, params, l, up ? k + 1 : k - 1);
  memset(m->b, 0, (size_t)out * sizeof *m->b);
  for (int q = 0; q < f->parts; q++) pack_part(f, l, k, up, q, params, m->w + q * h, out);
  flip(m->wt, m->w, h, out);
  absorb(&state, h, out, m->w, m->b);
}

/* Also the affine part of state l of degree k, for whoever reads its rows. */
void pack_links(const fused *f, int l, int k, const real *params) {
  int h = f->s.h, pad = kern_pad(h);
  affine state = state_affine(f, params, l, k);
  if (!fused_extended(f)) return;
  for (int i = 0; i < pad; i++) {
    f->layer[l].scale[k * pad + i] = state.gain && i < h ? state.gain[i] : 1;
    f->layer[l].rise[k * pad + i] = state.gain && i < h ? state.shift[i] : 0;
  }
  for (int up = 0; up < 2; up++)
    if (f->link[k][up].used && f->link[k][up].maps_first) pack_cross(f, l, k, up, params);
}

/* The sender's unit has the gradient, taken on xhat. */
static void collect_cross(const fused *f, int l, int k, int up, const real *params, real *packed, real *out) {
  int j = up ? k + 1 : k - 1, h = f->s.h, wide = f->parts * h;
  const grad_unit *u = l ? &f->unit[l - 1][j] : &f->enc_unit[j];
  real *g = packed + u->base;
  affine state = state_affine(f, params, l, j);
  release(&state, h, wide, g + u->cross_w[!up], g + u->cross_b[!up]);
  for (int q = 0; q < f->parts; q++)
    collect_part(f, l, k, up, q, params, g + u->cross_w[!up] + q * h, kern_pad(wide), out);
}

void collect_links(const fused *f, int l, int k, const real *params, real *packed, real *out) {
  const grad_unit *u = &f->unit[l][k];
  int h = f->s.h, row = h + 2 * f->s.c;
  for (int up = 0; up < 2; up++) {
    if (f->link[k][up].used && f->link[k][up].maps_first) collect_cross(f, l, k, up, params, packed, out);
    for (int q = 0; f->link[k][up].used && !f->link[k][up].maps_first && q < f->parts; q++, row += h)
      collect_part(f, l, k, up, q, params, packed + u->base + u->w1 + row * kern_pad(h), kern_pad(h), out);
  }
}
