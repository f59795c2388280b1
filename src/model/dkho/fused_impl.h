/* fused_impl.h: what the files fused*.c share. */
#ifndef MODEL_DKHO_FUSED_IMPL_H
#define MODEL_DKHO_FUSED_IMPL_H

#include "base/mem.h"
#include "model/dkho/fused.h"

#include <stdatomic.h>

enum { LANES = KERN_LANES, DEG = FUSED_DEGREES, CHUNK = 64, BLOCK = 4 }; /* tiles a chunk, a block */

/* Weights as the passes want them, rebuilt by fused_prepare. States are kept without the affine part of their norm; it is
 * folded into every matrix that reads them ("in" below), while transposes, for the way back, are of the bare matrices. */
typedef struct packed_maps {
  real *w, *b, *wt; /* in: h × 3c, 3c; bare: 3c × h */
} packed_maps;

typedef struct packed_rank {
  real *w1, *b1,
      *w1t; /* in [W_z; W_read W_p; parts]: wide × h, b_1 + b_read W_p; bare h × wide. CARRIER: rows of m times σ */
  real *w2, *w2t;     /* in: h × h; bare: h × h. CARRIER: times τ, as b_2 */
  real *gain1;        /* of the inner norm */
  real *skip, *skipt; /* h × h */
  real *carry, *lift; /* z + b_2 + shift_1 W_2 = carry ⊙ xhat + lift */
  real *gain;         /* of the layer's norm */
  packed_maps maps;   /* of this layer, fed by the pass before */
  packed_maps
      cross[2]; /* of links that map first, from below and above: in (the sender's): h × parts·h; bare parts·h × h */
  real *ret, *ret_t; /* h × h */
  real sigma;
} packed_rank;

typedef struct packed_layer {
  packed_rank rank[DEG];
  real tau;
  real *scale, *rise; /* of all degrees, padded to lanes: z = scale ⊙ xhat + rise of the state it reads */
  real *mix, *mix_t, *mix1, *mix2; /* as in the slab; mix_t transposed */
} packed_layer;

typedef struct packed_codec {
  real *w1, *b1, *w1t, *gain, *w2, *b2, *w2t; /* encoder: w1 holds the varying rows only */
  real *fixed, *global;                       /* encoder: fixed.count × h, global.count × h */
} packed_codec;

/* A unit is what one backward pass accumulates: places, from the unit's start, of its gradients. Rows are padded to
 * whole lanes. */
typedef struct grad_unit {
  size_t base, size; /* place in the packed gradient */
  size_t w1, b1, w2, b2, skip, norm1, norm2, maps_w, maps_b, fixed, global, start_w, start_b;
  size_t cross_w[2], cross_b[2]; /* of links that map this state first, to below and above */
  size_t low;                    /* modes × h: cotangent of what the modes bring */
  int apart;                     /* 1: no gradient, but sums of the forward pass: to the state's `low` */
} grad_unit;

/* From one neighbouring degree: simplices of this one add up rows of the other, the parts of an exchange side by side, and map them;
 * or, where the other has fewer simplices, it maps its rows and they are added up. Transports go by `there`, cotangents by `back`. */
typedef struct fused_link {
  int used, maps_first;
  int faces; /* n > 0: the parts are those that W_u/n + W_s and W_u/n - W_s meet; 0: W_s and W_u, or the one there is */
  kern_csr there, back;
} fused_link;

/* Places in the packed gradient of a layer's maps across modes, not padded. */
typedef struct mix_unit {
  size_t mix, mix1, mix2, ret[DEG];
} mix_unit;

typedef struct chunk {
  int k, first, last; /* degree and tiles */
  int leaf;           /* of its degree's tree */
  int rim;            /* 1: some of its neighbours belong to other ranks */
} chunk;

/* The tree along which the chunks of one degree are summed: chunk i is leaf i; node j of level l + 1 is the sum of the nodes 2j and
 * 2j + 1 of level l, of the first alone where there is no second. It depends on the mesh alone. A process may hold some of the leaves
 * only: a root is then a node all of whose leaves it holds, and not all those of the node above. */
typedef struct chunk_tree {
  int leaves, levels; /* of the whole mesh; the top has level `levels` */
  int *before;        /* leaves + 1: how many leaves before this one are held */
  int first;          /* place of the first one in the list of chunks */
  int roots;
  int *root; /* by held leaf: the number of the root that begins with it */
} chunk_tree;

/* A node of the tree of degree k, and the place of its sum. */
typedef struct tree_node {
  int k, level, at, slot;
} tree_node;

typedef struct shared_mesh shared_mesh;

struct fused {
  const kern *k;
  fused_shape s;      /* n: of the rows held here */
  shared_mesh *ranks; /* NULL: the mesh is not shared */
  int64_t whole[DEG]; /* simplices of the whole mesh */
  int64_t cols[DEG];  /* rows that gathers may name: those held here, from a whole tile on those of neighbours */
  int tiles[DEG];
  int32_t *order[DEG]; /* which of the caller's simplices is held at each place */
  kern_gather up[DEG], down[DEG], up_adj[DEG], down_adj[DEG];
  fused_link link[DEG][2];              /* from below, from above */
  int parts;                            /* of an exchange: 0, 1 or 2 */
  int wide[DEG];                        /* channels of a state: h, 2c, parts that are mapped here */
  real *zeros;                          /* kern_pad(h) */
  real *analyse[DEG], *synthesise[DEG]; /* [t][modes]; the latter may be the former, */
  real grow[DEG];                       /* to be multiplied by this */
  real *fixed[DEG];                     /* [t][fixed.count] */
  real *fixed_product[DEG];             /* [t][h] */
  packed_codec encoder[DEG], decoder;
  packed_layer layer[FUSED_LAYERS];
  packed_maps start[DEG], view; /* of θ at the start: h × c; CARRIER: the last layer's maps at the final state */
  grad_unit enc_unit[DEG], dec_unit, unit[FUSED_LAYERS][DEG], low_unit[DEG];
  mix_unit mix[FUSED_LAYERS];
  size_t scalars, grads, unit_max; /* scalars: per layer σ_0 … σ_{DEG-1}, τ */
  chunk *chunks;
  int chunk_count;
  chunk_tree tree[DEG];
  int roots;                       /* the most of any tree */
  int partials;                    /* the most sums that a pass holds at a time, with the one at hand */
  unsigned char *need;             /* [layers·substeps + 1][DEG]: is θ wanted there? */
  unsigned live[FUSED_LAYERS + 1]; /* degrees whose state l the output can feel; never more than at l - 1 */
  arena mem;
};

/* Block buffers of one thread. */
typedef struct scratch {
  real *a, *hat, *g, *base;  /* [block][h] */
  real *parts;               /* [block][parts·h] */
  real *small, *rows, *rstd; /* [block][max(3c, outputs)], transposed cotangents, [block][1] */
  real *lanes;               /* [4][h] lane sums of norm gradients */
  real *thin[2], *sums;      /* [h+1][few] lane sums of maps and of the decoder's output, and room to sum them up */
} scratch;

/* Maps with so few outputs that a transposed cotangent would be mostly padding take their gradients lane by lane. */
static inline int fused_thin(int out) {
  return out <= LANES / 2;
}

/* State of one sample in flight. */
typedef struct sample_state {
  real *varying[DEG];             /* [t][varying.count] */
  real *row[DEG];                 /* h: bias and global columns of the encoder */
  real *z[FUSED_LAYERS + 1][DEG]; /* [t][wide]: encoder output, then normalised states; cos θ, sin θ; parts */
  real *pre[FUSED_LAYERS][DEG];   /* [t][h]: before GELU, kept where it takes gathers to make; else NULL */
  real *rows
      [2][DEG]
      [3]; /* of even and odd states, in rows of kern_pad(h), fused_near of them: z itself; parts for the degree below, and
                          * above. On the way back cotangents: of the update's first map; of parts from below, and above */
  real *low;                         /* [roots][degrees][modes][kern_pad(h)]: coefficients of the state; back: g_T */
  real *mixed[FUSED_LAYERS];         /* fused_modes.c */
  real *far, *g_low;                 /* [degrees·modes][h]: what modes bring, cotangent of the coefficients; */
  real *mix_work;                    /* room */
  real *rstd[FUSED_LAYERS + 1][DEG]; /* [t][1] */
  real *maps[FUSED_LAYERS + 1][DEG]; /* [t][3c] */
  real **theta[DEG];                 /* layers·substeps + 1 arrays of rows [t+1][16][c]; CARRIER: x of layer l */
  real *res_a[DEG], *res_b[DEG];     /* rows of sines, on the way back their cotangents; CARRIER: a is m, then g_x */
  real *y, *g_y;                     /* [t][outputs] */
  real *gz[DEG], *gz0[DEG], *gt[DEG], *gmaps[DEG]; /* gt: rows; CARRIER: g_m */
  real *dots;                                      /* per chunk: [3][16] lane sums of σ_{k-1}, σ_{k+1}, ω_k */
  double *leaf;                                    /* [chunks of a degree][3]: the same as numbers */
  double *sums;                                    /* [roots][layers·substeps][DEG][3]: their sums */
  real *partial;                                   /* `partials` of the team: a chunk's share of a unit's gradient */
  tree_node *waiting;                              /* as many: nodes whose sums are in these */
  real *packed;                                    /* [roots] gradients of the sample, borrowed from the team */
  real *flat_y, *flat_g;                           /* row-major output and cotangent */
  dkho_status status;                              /* of messages between ranks: the first failure */
} sample_state;

typedef struct sweep sweep;
/* Where a worker shows the pass it is at. */
typedef struct post {
  _Atomic(sweep *) open; /* NULL: none that would want help */
  _Atomic int guests;    /* who may hold it */
  char apart[64];        /* a line of its own */
} post;

struct fused_team {
  const fused *f;
  pool *p;
  int samples;         /* at a time */
  int predicts;        /* only: layers update states and maps in place, and phases go to and fro between two arrays */
  sample_state *state; /* one per thread that takes whole samples */
  scratch *work;       /* one per thread */
  real *packed;        /* samples × roots × grads */
  int partials;        /* of a sample: one per chunk where threads may share it, and what the tree holds on its way */
  post *post;          /* one per thread; NULL: there is but one */
  _Atomic int free;    /* workers without a sample */
  int stagger;         /* lines by which the last array was moved */
  arena mem;
};

/* Of the chunks of a pass: all, those without neighbours of other ranks, the others. */
typedef enum { ALL_CHUNKS, INNER_CHUNKS, RIM_CHUNKS } chunk_range;
/* What crosses between ranks: phases and residuals, or a carrier; content over links. */
typedef enum { SHARE_RELATION, SHARE_CONTENT, SHARE_KINDS } share_kind;

/* One pass over all chunks. */
typedef struct pass {
  const fused *f;
  sample_state *s;
  scratch *work;     /* of all threads */
  int worker;        /* who owns the sample */
  post *post;        /* its own; NULL: nobody could help */
  _Atomic int *free; /* of the team */
  int layer, step;
  int turned; /* chunks from the last to the first */
  chunk_range which;
} pass;
typedef void (*chunk_fn)(const pass *p, const chunk *c, scratch *w, real *partial);

/* One block: tiles first … first+n-1 of degree k in layer l. */
typedef struct block {
  const fused *f;
  const kern *K;
  sample_state *s;
  scratch *w;
  int k, l, first, n, h, c, wide;
  real *a;          /* before GELU: w->a or kept */
  const real *base; /* what links bring ready, or NULL */
} block;

static inline real *tile_at(real *x, int tile, int ch) {
  return x + (size_t)tile * (size_t)ch * LANES;
}
/* State l of the block: [xhat or z_0, cos θ, sin θ, parts], stride state_stride. */
static inline size_t state_stride(const block *b) {
  return (size_t)b->wide * LANES;
}
static inline real *state_at(const block *b, int l) {
  return tile_at(b->s->z[l][b->k], b->first, b->wide);
}
/* Weight and bias gradients of y = x W + b from g_y [n][out]. */
void linear_grads(const block *b, const real *x, size_t xs, int in, const real *gy, int out, real *gw, real *gb);

/* fused_link.c: lists, matrices and their gradients. m: all of the mesh, in order. */
dkho_status plan_links(fused *f, const fused_mesh *m);
dkho_status alloc_links(fused *f);
void plan_cross(const fused *f, int l, int k, grad_unit *u); /* of the unit that ends with state l */
void pack_gathered(const fused *f, int l, int k, const real *params, real *w1);
void pack_links(const fused *f, int l, int k, const real *params);
void collect_links(const fused *f, int l, int k, const real *params, real *packed, real *out);

/* fused_cross.c: what neighbours bring to the update of b->l, into the state and b->base; state l for them; and the ways back: parts'
 * cotangents from those in w->g, and g_z += what came back of state l. */
void cross_load(block *b);
void cross_send(const block *b, int l);
void cross_back(const block *b, const packed_rank *r);
void cross_return(const block *b, int l, const grad_unit *u, real *gz, real *partial);
/* Where rows q of state l of degree k from the block's first on are held, part p. */
real *cross_rows(const block *b, int l, int k, int q, int p);
/* Rows of state l that neighbours on other ranks read, or on the way back of the cotangents that the update of layer l left, set off. */
void cross_begin(const pass *p, int l, int back);

/* fused_modes.c: low modes. The layer's part of the first map from the coefficients of state l in `low`; and back, from the sums of the
 * units of layer l to g_low and the gradients of its maps. */
dkho_status plan_modes(fused *f, const fused_mesh *m);
void plan_mix(fused *f);
void pack_modes(const fused *f, int l, const real *params);
void collect_modes(const fused *f, int l, const real *packed, real *out);
size_t mix_room(const fused *f);
void mix_forward(const pass *p, int l);
void mix_backward(const pass *p, int l);

/* fused_pack.c */
/* The affine part of a state's norm: NULL for the encoder's output, which has none. */
typedef struct {
  const real *gain, *shift;
} affine;
affine state_affine(const fused *f, const real *params, int l, int k);
/* (gain ⊙ x + shift) W + b = x (diag(gain) W) + (b + shift W), for the first h rows of W (… × out), in place. */
void absorb(const affine *a, int h, int out, real *w, real *b);
/* Its reverse: the first h rows of a gradient taken on xhat, made one on gain ⊙ xhat + shift: g_W ← diag(gain) g_W + shift ⊗ g_b. */
void release(const affine *a, int h, int out, real *gw, const real *gb);
/* to (cols × rows) = fromᵀ */
void flip(real *to, const real *from, int rows, int cols);
/* A place in a unit for a matrix of padded rows. */
size_t take_place(size_t *at, size_t rows, int cols);

/* Chooses `order`; *out is the mesh in that order. All arrays are in `a`. */
dkho_status order_mesh(const fused *f, const fused_mesh *m, int32_t *order[DEG], fused_mesh *out, arena *a);

/* Trees over the chunks, which are planned. */
dkho_status plan_trees(fused *f);
int tree_is_root(const chunk_tree *t, int level, int at);
static inline int tree_has(const chunk_tree *t, int level, int at) {
  return (int64_t)at << level < t->leaves;
}
/* value: [held leaves][m], used up; the sum of a root is left in the place of its first leaf. */
void tree_sum(const chunk_tree *t, int m, double *value);
/* Nodes that wait for those beside them. */
typedef struct tree_pile {
  tree_node *node;
  int count;
} tree_pile;
/* Takes x, with its sum, up the tree as far as the nodes beside it wait: into += from for each of them. x is then the root it has come to,
 * and 1 is returned; or it waits. add NULL: nothing is added. */
int tree_climb(const fused *f, tree_pile *pile, tree_node *x, void (*add)(void *ctx, int into, int from), void *ctx);
/* Chunk number `at` of a pass in one direction; -1: not in the range. */
static inline int fused_chunk_at(const fused *f, chunk_range which, int turned, int at) {
  int i = turned ? f->chunk_count - 1 - at : at;
  return which == ALL_CHUNKS || f->chunks[i].rim == (which == RIM_CHUNKS) ? i : -1;
}
/* When the rims are known. */
dkho_status plan_partials(fused *f);

/* Divides the mesh m, which is in the order `order`: own rows and their neighbours take its place, in f and in *m. */
dkho_status share_create(fused *f, const mesh_share *how, int32_t *order[DEG], fused_mesh *m, arena *a);
/* When the chunks are planned. */
dkho_status share_plan(fused *f);
void share_free(shared_mesh *s);
dkho_status share_total(const fused *f, int k, int m, double *value, double *total);
/* The leaves of the chunks of degree k that are held here, ascending; NULL: all. */
const int32_t *share_leaves(const fused *f, int k);
/* Row i of degree k held here: which one it is of the whole mesh; and the other way round for all rows that gathers may name. */
int64_t share_simplex(const fused *f, int k, int64_t i);
void share_places(const fused *f, int k, int32_t *place);
/* Rows of neighbours on their way. Without ranks nothing happens; a failure is left in the state. */
void share_begin(const pass *p, share_kind kind, int count, const exchange_field *field);
void share_finish(const pass *p, share_kind kind);
/* to [degrees][modes][kern_pad(h)]: sums of the roots of the degrees in `mask`; that of root r of degree k is at from[k] + r·stride. */
void share_low(const pass *p, unsigned mask, const real *const *from, size_t stride, real *to);
/* The first rank gets the gradient of all, in the place of root 0. */
void share_gradient(const pass *p);
/* The sums of a root, of a substep and degree. */
static inline double *sums_at(const fused *f, const sample_state *s, int root, int step, int k) {
  int steps = f->s.layers * f->s.substeps;
  return s->sums + (((size_t)root * (size_t)steps + (size_t)step) * DEG + (size_t)k) * 3;
}

/* Forward passes and their reverses over one chunk. */
void encoder_chunk(const pass *p, const chunk *c, scratch *w, real *partial);
void content_chunk(const pass *p, const chunk *c, scratch *w, real *partial);
void decoder_chunk(const pass *p, const chunk *c, scratch *w, real *partial);
void encoder_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial);
void content_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial);
void decoder_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial);

/* Substep `step` (0 … layers·substeps-1) and its reverse; the latter leaves its share of g_σ and g_τ in `sums`. */
void relation_forward(pass *p, int step);
void relation_backward(pass *p, int step);
/* The scalars of the packed gradient from the sums of all substeps. */
void relation_scalars(const pass *p);
/* CARRIER: m of tiles first … last-1 of degree k in layer l, into res_a; and g_x of layer l from the cotangents of [m, x]. */
void carrier_hop(const fused *f, sample_state *s, int k, int l, int first, int last);
/* The content of layer l, which begins with the hop. */
void carrier_forward(pass *p, int l);
void carrier_backward(pass *p, int l);

/* Runs fn over the chunks of the degrees in `mask`; unit_of, when given, says where a chunk's partial gradient belongs. */
void run_chunks(pass *p, unsigned mask, chunk_fn fn, const grad_unit *(*unit_of)(const pass *p, int k));

/* The same where fn gathers rows of neighbours, which are under way: what needs none from other ranks first, then, when they are there,
 * the rest. */
void run_across(pass *p, share_kind kind, unsigned mask, chunk_fn fn,
                const grad_unit *(*unit_of)(const pass *p, int k));

static inline int fused_lives(const fused *f, int l, int k) {
  return k >= 0 && (f->live[l] >> k & 1U);
}

/* Rows of degree k that gathers may name, in whole tiles. */
static inline int64_t fused_near(const fused *f, int k) {
  return (int64_t)kern_tiles(f->cols[k]) * LANES;
}
/* Numbers in the coefficients of all degrees. */
static inline size_t fused_low_size(const fused *f) {
  return (size_t)(f->s.degrees * f->s.modes) * (size_t)kern_pad(f->s.h);
}
/* Whether the update of layer l takes in what links and modes bring. */
static inline int fused_extended(const fused *f) {
  return f->parts || f->s.modes;
}
/* Whether simplices ever meet their neighbours. */
static inline int fused_meets(const fused *f) {
  return f->s.exchange || f->s.relation == FUSED_COUPLED || f->s.relation == FUSED_CARRIER;
}
/* Whether layer l of the degree below (up 0) or above (1) reads state l of degree k through a link, and which. */
static inline const fused_link *fused_sends(const fused *f, int l, int k, int up) {
  int to = up ? k + 1 : k - 1;
  if (to < 0 || to >= f->s.degrees || l >= f->s.layers || !fused_lives(f, l + 1, to)) return NULL;
  return f->link[to][!up].used ? &f->link[to][!up] : NULL;
}

static inline int fused_wants(const fused *f, int step, int k) {
  return k >= 0 && k < f->s.degrees && f->need[step * DEG + k];
}

#endif
