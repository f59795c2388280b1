/* sum_tree.c: see sum_tree.h. Leaves are pushed like the digits of a counter: a node waits until its right neighbour comes, and takes it
 * in. What is to be added is first written down as a list, then done for one stretch of entries after the other, over the pool. */
#include "base/sum_tree.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

enum { STRETCH = 8192, LEVELS = 40, TAG = COMM_TAGS - 100 /* and the level */, HEAD = 64, OPEN = 2 * LEVELS };

/* What travels before the reals of a node. */
typedef struct node_head {
  double number;
  int64_t code; /* dkho_status of whoever made it */
} node_head;

typedef struct node {
  int level;
  int64_t at; /* its number in the level */
  int leaf;   /* of the leaves being added: it is there; -1: in a buffer */
  unsigned char *buffer;
  double number;
} node;

/* into += from, or into = from when `copies`; the nodes as they were when it was written down. */
typedef struct task_line {
  node into, from;
  int copies;
} task_line;

struct sum_tree {
  int64_t size, n;
  comm *c;
  int64_t next; /* leaf */
  node open[OPEN];
  int opened;
  unsigned char *buffer[OPEN]; /* HEAD bytes and the reals each; owned, NULL: not yet needed */
  int used[OPEN];
  /* the leaves being added */
  int pieces;
  const sum_piece *piece;
  task_line *line;
  int64_t lines, lines_room;
};

static size_t node_bytes(const sum_tree *t) {
  return HEAD + (size_t)t->size * sizeof(real);
}

static real *reals_of(unsigned char *buffer) {
  return (real *)(void *)(buffer + HEAD);
}

void sum_tree_free(sum_tree *t) {
  if (!t) return;
  for (int i = 0; i < OPEN; i++) mem_free(t->buffer[i]);
  mem_free(t->line);
  mem_free(t);
}

/* Two merges at most for every leaf, and a copy for every node that stays open. */
static dkho_status provide_lines(sum_tree *t, int64_t count) {
  int64_t wanted = 2 * count + OPEN;
  t->lines = 0;
  if (wanted <= t->lines_room) return DKHO_OK;
  mem_free(t->line);
  t->lines_room = 0;
  if (!MEM_NEW(t->line, wanted)) return DKHO_E_MEMORY;
  t->lines_room = wanted;
  return DKHO_OK;
}

dkho_status sum_tree_create(sum_tree **out, int64_t size, int64_t portion) {
  *out = NULL;
  sum_tree *t;
  if (!MEM_NEW(t, 1)) return DKHO_E_MEMORY;
  t->size = size;
  dkho_status s = provide_lines(t, portion);
  if (s == DKHO_OK && !MEM_NEW(t->buffer[0], node_bytes(t))) s = DKHO_E_MEMORY;
  if (s == DKHO_OK)
    *out = t;
  else
    sum_tree_free(t);
  return s;
}

int64_t sum_tree_first(int64_t n, int ranks, int r) {
  return (n * r + ranks - 1) / ranks;
}

static dkho_status take_buffer(sum_tree *t, unsigned char **out) {
  for (int i = 0; i < OPEN; i++) {
    if (t->used[i]) continue;
    if (!t->buffer[i] && !MEM_NEW(t->buffer[i], node_bytes(t))) return DKHO_E_MEMORY;
    t->used[i] = 1;
    *out = t->buffer[i];
    return DKHO_OK;
  }
  return fail(DKHO_E_INTERNAL, "a sum of %lld leaves has too many open nodes", (long long)t->n);
}

static void give_buffer(sum_tree *t, const unsigned char *buffer) {
  for (int i = 0; i < OPEN; i++)
    if (buffer && t->buffer[i] == buffer) t->used[i] = 0;
}

void sum_tree_open(sum_tree *t, comm *c, int64_t n) {
  assert(n > 0 && n < (int64_t)1 << LEVELS);
  t->c = c ? c : comm_serial();
  t->n = n;
  t->next = sum_tree_first(n, t->c->size, t->c->rank);
  t->opened = 0;
  memset(t->used, 0, sizeof t->used);
}

/* Whether the tree has this node. */
static int exists(const sum_tree *t, int level, int64_t at) {
  return at << level < t->n;
}

static void note_line(sum_tree *t, const node *into, const node *from, int copies) {
  assert(t->lines < t->lines_room);
  t->line[t->lines++] = (task_line){*into, *from, copies};
}

static int is_root(const sum_tree *t, const node *x) {
  return x->at == 0 && !exists(t, x->level, 1);
}

/* A node whose right neighbour the tree does not have stands for its parent too. */
static void climb(const sum_tree *t, node *x) {
  while (x->at > 0 && x->at % 2 == 0 && !exists(t, x->level, x->at + 1)) x->level++, x->at >>= 1;
}

/* Puts x on the pile of open nodes; those that are complete with it are merged. */
static void push(sum_tree *t, node x) {
  for (;;) {
    climb(t, &x);
    node *top = t->opened ? &t->open[t->opened - 1] : NULL;
    if (!(x.at % 2) || !top || top->level != x.level || top->at != x.at - 1) break;
    note_line(t, top, &x, 0);
    top->number += x.number;
    x = *top;
    t->opened--;
    x.level++, x.at >>= 1;
  }
  assert(t->opened < OPEN);
  t->open[t->opened++] = x;
}

/* The entries i0 … i1-1 of a piece of a node: from `skip` on in its buffer. */
static real *part_of(const sum_tree *t, const node *x, int piece, int64_t skip) {
  return x->leaf < 0 ? reals_of(x->buffer) + skip : t->piece[piece].at + x->leaf * t->piece[piece].stride;
}

static void do_line(const sum_tree *t, const task_line *l, int64_t i0, int64_t i1) {
  int64_t skip = 0;
  for (int k = 0; k < t->pieces; skip += t->piece[k++].size) {
    int64_t a = i0 > skip ? i0 - skip : 0, b = i1 - skip < t->piece[k].size ? i1 - skip : t->piece[k].size;
    if (a >= b) continue;
    real *into = part_of(t, &l->into, k, skip) + a;
    const real *from = part_of(t, &l->from, k, skip) + a;
    if (l->copies)
      memcpy(into, from, (size_t)(b - a) * sizeof *into);
    else
      for (int64_t i = 0; i < b - a; i++) into[i] += from[i];
  }
}

static dkho_status stretch_task(void *ctx, size_t task, int worker) {
  const sum_tree *t = ctx;
  int64_t i0 = (int64_t)task * STRETCH, i1 = i0 + STRETCH < t->size ? i0 + STRETCH : t->size;
  (void)worker;
  for (int64_t i = 0; i < t->lines; i++) do_line(t, &t->line[i], i0, i1);
  return DKHO_OK;
}

/* Open nodes that lie in a leaf move to a buffer: the leaves' memory is the caller's again. A buffer is free once its node was merged
 * into the one before it. */
static dkho_status keep_open(sum_tree *t) {
  memset(t->used, 0, sizeof t->used);
  for (int i = 0; i < t->opened; i++)
    for (int b = 0; b < OPEN; b++)
      if (t->open[i].leaf < 0 && t->buffer[b] == t->open[i].buffer) t->used[b] = 1;
  for (int i = 0; i < t->opened; i++) {
    node *x = &t->open[i], kept = *x;
    if (x->leaf < 0) continue;
    TRY(take_buffer(t, &kept.buffer));
    kept.leaf = -1;
    note_line(t, &kept, x, 1);
    *x = kept;
  }
  return DKHO_OK;
}

dkho_status sum_tree_add(sum_tree *t, pool *p, int64_t count, int pieces, const sum_piece *piece,
                         const double *number) {
  int64_t end = sum_tree_first(t->n, t->c->size, t->c->rank + 1), size = 0;
  for (int k = 0; k < pieces; k++) size += piece[k].size;
  assert(pieces <= SUM_TREE_PIECES && size == t->size && t->next + count <= end);
  (void)end;
  (void)size;
  t->pieces = pieces, t->piece = piece;
  TRY(provide_lines(t, count));
  for (int64_t i = 0; i < count; i++)
    push(t, (node){.level = 0, .at = t->next++, .leaf = (int)i, .number = number ? number[i] : 0});
  TRY(keep_open(t));
  return pool_run(p, (size_t)((t->size + STRETCH - 1) / STRETCH), stretch_task, t);
}

/* ---- over the ranks ---- */

static int owner_of(const sum_tree *t, int level, int64_t at) {
  int64_t leaf = at << level;
  int r = (int)(leaf * t->c->size / t->n);
  while (sum_tree_first(t->n, t->c->size, r + 1) <= leaf) r++;
  while (sum_tree_first(t->n, t->c->size, r) > leaf) r--;
  return r;
}

/* The nodes that a rank's run of leaves makes, in order, as pushing them leaves them; a failed rank stands in with empty ones. */
static dkho_status make_dummies(sum_tree *t) {
  int64_t end = sum_tree_first(t->n, t->c->size, t->c->rank + 1);
  t->opened = 0;
  memset(t->used, 0, sizeof t->used);
  TRY(provide_lines(t, end - sum_tree_first(t->n, t->c->size, t->c->rank)));
  for (int64_t i = sum_tree_first(t->n, t->c->size, t->c->rank); i < end; i++) push(t, (node){.at = i, .leaf = -1});
  for (int i = 0; i < t->opened; i++) TRY(take_buffer(t, &t->open[i].buffer));
  return DKHO_OK;
}

static void set_head(const node *x, dkho_status code) {
  node_head h = {x->number, (int64_t)code};
  memcpy(x->buffer, &h, sizeof h);
}

/* To the owner of the node's left neighbour. */
static dkho_status send_node(sum_tree *t, const node *x, dkho_status code, comm_request *r) {
  set_head(x, code);
  return comm_post_send(t->c, owner_of(t, x->level, x->at - 1), TAG + x->level, x->buffer, node_bytes(t), r);
}

static void add_reals(const sum_tree *t, unsigned char *into, unsigned char *from) {
  real *x = reals_of(into), *y = reals_of(from);
  for (int64_t i = 0; i < t->size; i++) x[i] += y[i];
}

/* x += its right neighbour, of another rank. */
static dkho_status absorb(sum_tree *t, node *x, dkho_status *code) {
  unsigned char *room;
  node_head h;
  TRY(take_buffer(t, &room));
  TRY(comm_receive(t->c, owner_of(t, x->level, x->at + 1), TAG + x->level, room, node_bytes(t)));
  memcpy(&h, room, sizeof h);
  if (*code == DKHO_OK) *code = (dkho_status)h.code;
  x->number += h.number;
  add_reals(t, x->buffer, room);
  give_buffer(t, room);
  return DKHO_OK;
}

/* Of a run of leaves the first nodes may be right children, with growing levels: they go to the left at once. Those after them are left
 * children, with falling levels: the last one grows, by its right neighbours of other ranks and into its left one here, until it is the
 * root or itself a right child, and goes. */
static dkho_status gather_nodes(sum_tree *t, dkho_status *code, comm_request *r, int *sent) {
  node *x;
  int first = 0;
  for (; first < t->opened && t->open[first].at % 2; first++) TRY(send_node(t, &t->open[first], *code, &r[(*sent)++]));
  while (first < t->opened) {
    x = &t->open[t->opened - 1];
    climb(t, x);
    if (is_root(t, x)) return DKHO_OK;
    if (x->at % 2 == 0) {
      TRY(absorb(t, x, code));
    } else if (t->opened - 1 > first) {
      assert(x[-1].level == x->level && x[-1].at == x->at - 1);
      add_reals(t, x[-1].buffer, x->buffer);
      x[-1].number += x->number;
      give_buffer(t, x->buffer);
      t->opened--;
      x--;
    } else
      return send_node(t, x, *code, &r[(*sent)++]);
    x->level++, x->at >>= 1;
  }
  return DKHO_OK;
}

dkho_status sum_tree_total(sum_tree *t, dkho_status mine, real **total, double *number) {
  dkho_status code = mine, s = DKHO_OK;
  comm_request sends[OPEN] = {{{0}, 0, 0, 0}};
  int sent = 0;
  node_head h;
  unsigned char *root;
  if (t->c->size == 1 && mine != DKHO_OK) return mine;
  if (mine != DKHO_OK) s = make_dummies(t);
  if (s == DKHO_OK) s = gather_nodes(t, &code, sends, &sent);
  if (s == DKHO_OK) s = comm_wait_all(t->c, sent, sends);
  if (s == DKHO_OK && t->c->rank) s = take_buffer(t, &root);
  if (s != DKHO_OK) {
    t->c->broken = t->c->size > 1; /* the others wait for what will not come */
    return s;
  }
  if (t->c->rank == 0) {
    root = t->open[0].buffer;
    set_head(&t->open[0], code);
  }
  TRY(comm_broadcast(t->c, 0, root, node_bytes(t)));
  memcpy(&h, root, sizeof h);
  if (h.code != DKHO_OK) return comm_agree(t->c, mine);
  *total = reals_of(root);
  *number = h.number;
  return DKHO_OK;
}
