/* exchange.c: see exchange.h. */
#include "mesh/exchange.h"

#include <assert.h>
#include <string.h>

enum { TAG_GHOSTS = 102, FIELDS = 4 * CX_DEGREES };

struct exchange {
  const mesh_part *p;
  comm *ranks;
  exchange_shape shape;
  int fields; /* under way; 0: none */
  exchange_field field[FIELDS];
  real *out, *in;
  comm_request *send, *receive; /* by mesh_part */
  arena mem;
};

static const part_rows *rows_of(const exchange *e, const exchange_field *f, int receive) {
  const part_degree *d = &e->p->at[f->k];
  return receive ? &d->receive[f->kind] : &d->send[f->kind];
}

/* Numbers in the message to or from part q. */
static int64_t message_length(const exchange *e, int q, int receive) {
  int64_t rows = 0;
  for (int i = 0; i < e->fields; i++) {
    const part_rows *r = rows_of(e, &e->field[i], receive);
    rows += r->ptr[q + 1] - r->ptr[q];
  }
  return rows * e->shape.width;
}

/* Rows of one field ABOVE and one BELOW of every degree. */
static int64_t longest(const mesh_part *p, int receive) {
  int64_t rows = 0;
  for (int k = 0; k < p->degrees; k++)
    for (int kind = PART_ABOVE; kind <= PART_BELOW; kind++)
      rows += (receive ? p->at[k].receive[kind] : p->at[k].send[kind]).ptr[p->parts];
  return rows;
}

dkho_status exchange_create(exchange **out, const mesh_part *p, comm *ranks, const exchange_shape *shape) {
  exchange *e;
  *out = NULL;
  assert(ranks->rank == p->rank && ranks->size == p->parts);
  if (!MEM_NEW(e, 1)) return DKHO_E_MEMORY;
  e->p = p, e->ranks = ranks, e->shape = *shape;
  int64_t each = (int64_t)shape->width * shape->fields;
  if (!ARENA_NEW(&e->mem, e->out, longest(p, 0) * each) || !ARENA_NEW(&e->mem, e->in, longest(p, 1) * each) ||
      !ARENA_NEW(&e->mem, e->send, p->parts) || !ARENA_NEW(&e->mem, e->receive, p->parts)) {
    exchange_free(e);
    return DKHO_E_MEMORY;
  }
  *out = e;
  return DKHO_OK;
}

void exchange_free(exchange *e) {
  if (!e) return;
  arena_free(&e->mem);
  mem_free(e);
}

/* Between the fields and the message with part q, which begins at `at`; returns its end. */
static real *copy_message(const exchange *e, int q, int receive, real *at) {
  size_t wide = (size_t)e->shape.width, stride = (size_t)e->shape.stride;
  for (int i = 0; i < e->fields; i++) {
    const part_rows *r = rows_of(e, &e->field[i], receive);
    for (int64_t j = r->ptr[q]; j < r->ptr[q + 1]; j++, at += wide) {
      real *row = e->field[i].rows + (size_t)r->row[j] * stride;
      memcpy(receive ? row : at, receive ? at : row, wide * sizeof *at);
    }
  }
  return at;
}

static dkho_status post_receives(exchange *e) {
  real *at = e->in;
  for (int q = 0; q < e->p->parts; q++) {
    int64_t n = message_length(e, q, 1);
    if (n) TRY(comm_post_receive(e->ranks, q, TAG_GHOSTS + e->shape.tag, at, (size_t)n * sizeof *at, &e->receive[q]));
    at += n;
  }
  return DKHO_OK;
}

dkho_status exchange_begin(exchange *e, int count, const exchange_field *field) {
  real *at = e->out;
  assert(!e->fields && count <= FIELDS);
  e->fields = count;
  for (int i = 0; i < count; i++) e->field[i] = field[i];
  TRY(post_receives(e));
  for (int q = 0; q < e->p->parts; q++) {
    real *end = copy_message(e, q, 0, at);
    size_t bytes = (size_t)(end - at) * sizeof *at;
    if (bytes) TRY(comm_post_send(e->ranks, q, TAG_GHOSTS + e->shape.tag, at, bytes, &e->send[q]));
    at = end;
  }
  return DKHO_OK;
}

dkho_status exchange_finish(exchange *e) {
  real *at = e->in;
  if (!e->fields) return DKHO_OK;
  TRY(comm_wait_all(e->ranks, e->p->parts, e->receive));
  TRY(comm_wait_all(e->ranks, e->p->parts, e->send));
  for (int q = 0; q < e->p->parts; q++) at = copy_message(e, q, 1, at);
  e->fields = 0;
  return DKHO_OK;
}
