/* A complex in parts: every simplex in one part, ghosts that suffice and no more, messages that match, and the whole recovered from
 * the parts, on random partitions of surfaces and of a solid. */
#include "base/rng.h"
#include "dec/dec.h"
#include "mesh/generate.h"
#include "mesh/partition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PARTITIONS = 200, PARTS_MAX = 9 };

/* A partition and all its parts. */
typedef struct whole {
  cx *c;
  incidence m;
  partition *p;
  mesh_part *part[PARTS_MAX];
} whole;

static cx *make_mesh(int which) {
  cx *c = NULL;
  dkho_status s = which == 0   ? cx_darcy(&c, "smoke")
                  : which == 1 ? cx_torus_grid(&c, 2, 0.7, 17, 11, 0)
                               : cx_shell(&c, 220);
  assert_int_equal(s, DKHO_OK);
  return c;
}

static void divide(whole *w, cx *c, int parts, int block, partition_method method, uint64_t seed) {
  w->c = c;
  w->m = incidence_of(c);
  assert_int_equal(partition_create(&w->p, &w->m, block, parts), DKHO_OK);
  assert_int_equal(partition_divide(w->p, &w->m, method, seed), DKHO_OK);
  for (int q = 0; q < parts; q++) assert_int_equal(part_create(&w->part[q], w->p, &w->m, q, 16), DKHO_OK);
}

static void release(whole *w) {
  for (int q = 0; q < w->p->parts; q++) part_free(w->part[q]);
  partition_free(w->p);
}

/* Which simplex a row is; -1: none. */
static int64_t simplex_of(const mesh_part *t, int k, int64_t row) {
  const part_degree *d = &t->at[k];
  if (row < d->own) return part_simplex(t, k, row);
  return row >= d->ghost_at && row < d->ghost_at + d->ghosts ? d->ghost[row - d->ghost_at] : -1;
}

static void check_owners(const whole *w) {
  for (int k = 0; k < w->m.degrees; k++) {
    unsigned char *seen = mem_alloc((size_t)w->m.n[k], 1);
    for (int q = 0; q < w->p->parts; q++) {
      const part_degree *d = &w->part[q]->at[k];
      for (int64_t r = 0; r < d->own; r++) seen[part_simplex(w->part[q], k, r)]++;
      for (int64_t g = 0; g < d->ghosts; g++) assert_true(partition_owner(w->p, k, d->ghost[g]) != q);
      for (int64_t r = 1; r < d->own; r++)
        assert_true(part_simplex(w->part[q], k, r - 1) < part_simplex(w->part[q], k, r));
    }
    for (int64_t i = 0; i < w->m.n[k]; i++) assert_int_equal(seen[i], 1);
    mem_free(seen);
  }
}

/* Every ghost is the face or coface of a row of the part's own. */
static void check_ghosts(const whole *w) {
  for (int q = 0; q < w->p->parts; q++)
    for (int k = 0; k < w->m.degrees; k++) {
      const part_degree *d = &w->part[q]->at[k], *below = d - 1, *above = d + 1;
      unsigned char *used = mem_alloc((size_t)(d->ghost_at + d->ghosts), 1);
      for (int64_t e = 0; k > 0 && e < below->coptr[below->own]; e++) used[below->coface[e]] = 1;
      for (int64_t e = 0; k + 1 < w->m.degrees && e < above->own * (k + 2); e++) used[above->face[e]] = 1;
      for (int64_t g = 0; g < d->ghosts; g++) assert_int_equal(used[d->ghost_at + g], 1);
      mem_free(used);
    }
}

/* What q sends to r is what r receives from q, row by row, and of that kind. */
static void check_messages(const whole *w) {
  for (int q = 0; q < w->p->parts; q++)
    for (int r = 0; r < w->p->parts; r++)
      for (int k = 0; k < w->m.degrees; k++)
        for (int kind = 1; kind < PART_KINDS; kind++) {
          const part_rows *from = &w->part[q]->at[k].send[kind], *to = &w->part[r]->at[k].receive[kind];
          int64_t count = from->ptr[r + 1] - from->ptr[r];
          assert_int_equal(count, to->ptr[q + 1] - to->ptr[q]);
          for (int64_t i = 0; i < count; i++)
            assert_int_equal(simplex_of(w->part[q], k, from->row[from->ptr[r] + i]),
                             simplex_of(w->part[r], k, to->row[to->ptr[q] + i]));
        }
}

/* Incidence put together from the parts is that of the whole; every ghost is somebody's neighbour. */
static void check_glued(const whole *w, const int64_t betti[CX_DEGREES]) {
  cx *glued;
  int64_t again[CX_DEGREES];
  assert_int_equal(cx_copy(&glued, w->c), DKHO_OK);
  for (int k = 0; k < w->m.degrees; k++) {
    if (k > 0) memset(glued->face[k], 0xff, (size_t)(w->m.n[k] * (k + 1)) * sizeof(int32_t));
    if (k > 0) memset(glued->sign[k], 0, (size_t)(w->m.n[k] * (k + 1)));
    if (k + 1 < w->m.degrees) memset(glued->coface[k], 0xff, (size_t)w->m.coptr[k][w->m.n[k]] * sizeof(int32_t));
    if (k + 1 < w->m.degrees) memset(glued->cosign[k], 0, (size_t)w->m.coptr[k][w->m.n[k]]);
  }
  for (int q = 0; q < w->p->parts; q++)
    for (int k = 0; k < w->m.degrees; k++) {
      const part_degree *d = &w->part[q]->at[k];
      for (int64_t r = 0; r < d->own; r++) {
        int64_t i = part_simplex(w->part[q], k, r);
        for (int j = 0; k > 0 && j <= k; j++) {
          glued->face[k][i * (k + 1) + j] = (int32_t)simplex_of(w->part[q], k - 1, d->face[r * (k + 1) + j]);
          glued->sign[k][i * (k + 1) + j] = d->sign[r * (k + 1) + j];
        }
        for (int64_t e = 0; k + 1 < w->m.degrees && e < d->coptr[r + 1] - d->coptr[r]; e++) {
          glued->coface[k][w->m.coptr[k][i] + e] = (int32_t)simplex_of(w->part[q], k + 1, d->coface[d->coptr[r] + e]);
          glued->cosign[k][w->m.coptr[k][i] + e] = d->cosign[d->coptr[r] + e];
        }
      }
    }
  assert_int_equal(cx_check(glued), DKHO_OK);
  for (int k = 1; k < w->m.degrees; k++) {
    assert_memory_equal(glued->face[k], w->c->face[k], (size_t)(w->m.n[k] * (k + 1)) * sizeof(int32_t));
    assert_memory_equal(glued->sign[k], w->c->sign[k], (size_t)(w->m.n[k] * (k + 1)));
  }
  assert_int_equal(dec_betti(glued, again), DKHO_OK);
  assert_memory_equal(betti, again, sizeof again);
  cx_free(glued);
}

/* A field of degree k by parts, ghosts NAN until they are received. */
typedef struct pieces {
  double *x[PARTS_MAX];
} pieces;

static pieces new_pieces(const whole *w, int k) {
  pieces f;
  for (int q = 0; q < w->p->parts; q++) {
    const part_degree *d = &w->part[q]->at[k];
    f.x[q] = mem_alloc((size_t)(d->ghost_at + d->ghosts), sizeof(double));
    for (int64_t i = 0; i < d->ghost_at + d->ghosts; i++) f.x[q][i] = NAN;
  }
  return f;
}
static void free_pieces(const whole *w, pieces *f) {
  for (int q = 0; q < w->p->parts; q++) mem_free(f->x[q]);
}
/* The messages of one kind; transposed: what the ghosts hold is added to the owner's. */
static void deliver(const whole *w, int k, int kind, int transposed, pieces *f) {
  for (int q = 0; q < w->p->parts; q++)
    for (int r = 0; r < w->p->parts; r++) {
      const part_rows *from = &w->part[q]->at[k].send[kind], *to = &w->part[r]->at[k].receive[kind];
      for (int64_t i = 0; i < from->ptr[r + 1] - from->ptr[r]; i++) {
        double *a = &f->x[q][from->row[from->ptr[r] + i]], *b = &f->x[r][to->row[to->ptr[q] + i]];
        if (transposed)
          *a += *b;
        else
          *b = *a;
      }
    }
}

/* y = d x, or y = dᵀ x, on own rows from rows and ghosts. */
static void apply(const whole *w, int k, int up, const pieces *x, pieces *y) {
  for (int q = 0; q < w->p->parts; q++) {
    const part_degree *d = &w->part[q]->at[k];
    for (int64_t r = 0; r < d->own; r++) {
      double sum = 0;
      for (int64_t j = up ? 0 : d->coptr[r]; j < (up ? k + 1 : d->coptr[r + 1]); j++)
        sum += up ? d->sign[r * (k + 1) + j] * x->x[q][d->face[r * (k + 1) + j]] : d->cosign[j] * x->x[q][d->coface[j]];
      y->x[q][r] = sum;
    }
  }
}

/* d and dᵀ in parts are those of the whole, and d d = 0, in whole numbers; faces need the messages BELOW alone, cofaces ABOVE. */
static void check_operators(const whole *w, uint64_t seed) {
  rng r = rng_open(seed, RNG_TEST, 5);
  for (int k = 0; k + 1 < w->m.degrees; k++) {
    pieces x = new_pieces(w, k), y = new_pieces(w, k + 1), z = new_pieces(w, k);
    double *all = mem_alloc((size_t)w->m.n[k], sizeof *all), *up = mem_alloc((size_t)w->m.n[k + 1], sizeof *up);
    for (int64_t i = 0; i < w->m.n[k]; i++) all[i] = (double)rng_below(&r, 1000) - 500;
    for (int q = 0; q < w->p->parts; q++)
      for (int64_t i = 0; i < w->part[q]->at[k].own; i++) x.x[q][i] = all[part_simplex(w->part[q], k, i)];
    deliver(w, k, PART_BELOW, 0, &x);
    apply(w, k + 1, 1, &x, &y);
    cx_d(w->c, k, 1, all, up);
    for (int q = 0; q < w->p->parts; q++)
      for (int64_t i = 0; i < w->part[q]->at[k + 1].own; i++)
        assert_true(y.x[q][i] == up[part_simplex(w->part[q], k + 1, i)]);
    deliver(w, k + 1, PART_ABOVE, 0, &y);
    apply(w, k, 0, &y, &z);
    cx_dt(w->c, k, 1, up, all);
    for (int q = 0; q < w->p->parts; q++)
      for (int64_t i = 0; i < w->part[q]->at[k].own; i++) assert_true(z.x[q][i] == all[part_simplex(w->part[q], k, i)]);
    if (k + 2 < w->m.degrees) {
      pieces dd = new_pieces(w, k + 2);
      deliver(w, k + 1, PART_BELOW, 0, &y);
      apply(w, k + 2, 1, &y, &dd);
      for (int q = 0; q < w->p->parts; q++)
        for (int64_t i = 0; i < w->part[q]->at[k + 2].own; i++) assert_true(dd.x[q][i] == 0);
      free_pieces(w, &dd);
    }
    mem_free(all), mem_free(up);
    free_pieces(w, &x), free_pieces(w, &y), free_pieces(w, &z);
  }
}

static double pieces_dot(const whole *w, int k, int ghosts, const pieces *a, const pieces *b) {
  double sum = 0;
  for (int q = 0; q < w->p->parts; q++) {
    const part_degree *d = &w->part[q]->at[k];
    for (int64_t i = 0; i < d->own; i++) sum += a->x[q][i] * b->x[q][i];
    for (int64_t i = d->ghost_at; ghosts && i < d->ghost_at + d->ghosts; i++) sum += a->x[q][i] * b->x[q][i];
  }
  return sum;
}

/* <E x, y> = <x, Eᵀ y>, E from own values to own values and ghosts. */
static void check_adjoint(const whole *w, uint64_t seed) {
  rng r = rng_open(seed, RNG_TEST, 6);
  for (int k = 0; k < w->m.degrees; k++) {
    pieces x = new_pieces(w, k), y = new_pieces(w, k);
    double size = 0;
    for (int q = 0; q < w->p->parts; q++) {
      const part_degree *d = &w->part[q]->at[k];
      for (int64_t i = 0; i < d->ghost_at + d->ghosts; i++) x.x[q][i] = rng_normal(&r), y.x[q][i] = rng_normal(&r);
      size += (double)(d->own + d->ghosts);
    }
    deliver(w, k, PART_BOTH, 0, &x);
    double left = pieces_dot(w, k, 1, &x, &y);
    deliver(w, k, PART_BOTH, 1, &y);
    double right = pieces_dot(w, k, 0, &x, &y);
    assert_true(fabs(left - right) <= 1e-14 * size);
    free_pieces(w, &x), free_pieces(w, &y);
  }
}

static void test_random_partitions(void **state) {
  (void)state;
  static const int blocks[] = {1, 3, 16, 64, 1024};
  cx *mesh[3];
  int64_t betti[3][CX_DEGREES];
  for (int i = 0; i < 3; i++) {
    mesh[i] = make_mesh(i);
    assert_int_equal(dec_betti(mesh[i], betti[i]), DKHO_OK);
  }
  for (uint64_t seed = 0; seed < PARTITIONS; seed++) {
    whole w = {0};
    int which = (int)(seed % 3), parts = 1 + (int)(seed / 3 % PARTS_MAX);
    divide(&w, mesh[which], parts, blocks[seed % 5], seed % 4 ? PARTITION_RANDOM : PARTITION_METIS, seed);
    check_owners(&w);
    check_ghosts(&w);
    check_messages(&w);
    check_glued(&w, betti[which]);
    check_operators(&w, seed);
    check_adjoint(&w, seed);
    release(&w);
  }
  for (int i = 0; i < 3; i++) cx_free(mesh[i]);
}

/* METIS cuts far less than the lot, and its parts are of one size but for a block. */
static void test_metis_quality(void **state) {
  (void)state;
  cx *c = make_mesh(1);
  for (int parts = 2; parts <= 8; parts++) {
    whole metis = {0}, lot = {0};
    divide(&metis, c, parts, 16, PARTITION_METIS, 1);
    divide(&lot, c, parts, 16, PARTITION_RANDOM, 1);
    assert_true(2 * partition_cut(metis.p, &metis.m) < partition_cut(lot.p, &lot.m));
    int64_t all = 0, most = 0;
    for (int q = 0; q < parts; q++) {
      int64_t own = 0;
      for (int k = 0; k < 3; k++) own += metis.part[q]->at[k].own;
      all += own, most = own > most ? own : most;
    }
    assert_true(most <= all / parts + 64);
    release(&metis), release(&lot);
  }
  cx_free(c);
}

static void test_memory_failures(void **state) {
  (void)state;
  cx *c = make_mesh(1);
  incidence m = incidence_of(c);
  size_t before = mem_live_blocks();
  int tries = 0;
  for (dkho_status s = DKHO_E_MEMORY; s != DKHO_OK; tries++) {
    partition *p = NULL;
    mesh_part *t = NULL;
    mem_fail_at(tries + 1);
    s = partition_create(&p, &m, 16, 3);
    if (s == DKHO_OK) s = partition_divide(p, &m, PARTITION_METIS, 1);
    if (s == DKHO_OK) s = part_create(&t, p, &m, 1, 16);
    mem_fail_at(0);
    part_free(t), partition_free(p);
    assert_int_equal(mem_live_blocks(), before);
    assert_true(tries < 1000);
  }
  assert_true(tries > 5);
  cx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_partitions),
      cmocka_unit_test(test_metis_quality),
      cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
