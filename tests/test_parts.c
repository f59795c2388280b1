/* One mesh over several ranks: outputs and gradients have the bits of one process, for every number of ranks, partition, relation,
 * start, metric and dimension. Ranks are threads. PARTS_ALL=1 for the long form: every number of ranks in every case. */
#include "base/mem.h"
#include "base/rng.h"
#include "comm_threads.h"
#include "mesh/exchange.h"
#include "mesh/generate.h"
#include "model/dkho/fused_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fused_case.h"

static const int sizes[] = {1, 2, 3, 4, 7, 8};

/* What one process finds, and what the ranks are to find again. */
typedef struct {
  const net_case *n;
  const kern *k;
  partition_method method;
  int threads;
  real *gradient, *output; /* of CASE_SAMPLES samples; of sample 2 */
} trial;

static dkho_status rank_gradient(comm *c, const trial *t, fused *f, pool *p) {
  const net_case *n = t->n;
  fused_team *team;
  real *packed = mem_alloc(fused_grads(f), sizeof *packed), *g = mem_alloc(n->params, sizeof *g);
  net_case ctx = *n;
  TRY(fused_team_create(&team, f, p, 3));
  TRY(fused_train(team, CASE_SAMPLES, n->sample, case_loss, &ctx, packed));
  if (c->rank == 0) {
    fused_collect(f, n->theta, packed, g);
    RANK_HOLDS(c, memcmp(g, t->gradient, n->params * sizeof *g) == 0);
  }
  mem_free(packed), mem_free(g);
  fused_team_free(team);
  return DKHO_OK;
}

static dkho_status rank_output(comm *c, const trial *t, fused *f, pool *p) {
  const net_case *n = t->n;
  fused_team *team;
  size_t size = (size_t)(n->s.n[n->s.target] * n->s.outputs);
  real *y = mem_alloc(size, sizeof *y);
  TRY(fused_team_create_predict(&team, f, p, 2));
  for (int again = 0; again < 2; again++) {
    memset(y, 0, size * sizeof *y);
    TRY(fused_predict(team, 1, &n->sample[2], &y));
    TRY(fused_gather(f, y));
    RANK_HOLDS(c, memcmp(y, t->output, size * sizeof *y) == 0);
  }
  mem_free(y);
  fused_team_free(team);
  return DKHO_OK;
}

static dkho_status run_rank(comm *c, void *ctx) {
  const trial *t = ctx;
  mesh_share how = {c, t->method, (uint64_t)c->size};
  fused_mesh m = t->n->mesh;
  fused *f;
  pool *p;
  m.share = &how;
  TRY(pool_create(&p, t->threads));
  TRY(fused_create(&f, t->k, &t->n->s, &m, (const real *const *)t->n->fixed));
  fused_prepare(f, p, t->n->theta);
  TRY(rank_gradient(c, t, f, p));
  TRY(rank_output(c, t, f, p));
  fused_free(f);
  pool_free(p);
  return DKHO_OK;
}

/* `few`: fewer numbers of ranks. Consumes n. */
static void check_parts(net_case *n, int threads, int few) {
  trial t = {.n = n, .threads = threads};
  assert_int_equal(kern_get(&t.k), DKHO_OK);
  t.gradient = case_gradient(n, t.k, 1, 4, CASE_SAMPLES);
  t.output = case_output(n, t.k, 1, 2);
  if (getenv("PARTS_ALL")) few = 0;
  int launched = comm_world()->size > 1; /* by MPI's launcher, with as many ranks as it says */
  for (size_t i = few ? 2 : 0; i < (launched ? 1 + (size_t)few * 2 : sizeof sizes / sizeof *sizes); i += few ? 2 : 1)
    for (t.method = PARTITION_METIS; t.method <= PARTITION_RANDOM; t.method++) {
      dkho_status s = launched ? run_rank(comm_world(), &t) : ranks_run(sizes[i], run_rank, &t);
      if (s != DKHO_OK) fail_msg("%d ranks, method %d: %s", sizes[i], (int)t.method, fail_text());
    }
  mem_free(t.gradient), mem_free(t.output);
  case_free(n);
}

static cx *torus(int nu, int nv) {
  cx *c;
  assert_int_equal(cx_torus_grid(&c, 1.0, 0.4, nu, nv, 0), DKHO_OK);
  return c;
}

static void test_relations(void **state) {
  (void)state;
  for (int relation = FUSED_COUPLED; relation <= FUSED_CARRIER; relation++)
    for (int start = FUSED_ZERO; start <= (relation == FUSED_CARRIER ? FUSED_ZERO : FUSED_COMMON); start++) {
      net_case *n = case_make(torus(41, 27), 3, 8, 2, 2, 2, start, 1, start == 1);
      n->s.relation = (fused_relation)relation, n->s.start = (fused_start)start;
      check_parts(n, 1, relation != FUSED_COUPLED || start == FUSED_COMMON);
    }
}

/* Content over links and low modes, with and without phases, in both metrics, on widths with tails. */
static void test_extensions(void **state) {
  (void)state;
  for (int how = 0; how < 8; how++) {
    net_case *n = case_make(torus(41, 27), 3, how % 3 ? 8 : 19, 2, 2 + how % 2, 1, how % 3, 1, how == 3 || how == 6);
    n->s.relation = how % 2 ? FUSED_COUPLED : FUSED_NONE;
    n->s.start = how == 5 ? FUSED_CONTENT : FUSED_ZERO;
    n->s.exchange = how < 4 ? FUSED_SIGNED | FUSED_UNSIGNED : how - 4,
    n->s.modes = how == 0 || how == 5 ? 0 : CASE_MODES;
    check_parts(n, 1, how > 1);
  }
}

/* Threads of a rank take part in its chunks. */
static void test_threads(void **state) {
  (void)state;
  check_parts(case_make(torus(41, 27), 3, 8, 2, 2, 2, 1, 2, 0), 2, 1);
  net_case *n = case_make(torus(41, 27), 3, 8, 2, 2, 2, 1, 2, 0);
  n->s.exchange = FUSED_SIGNED | FUSED_UNSIGNED, n->s.modes = CASE_MODES;
  check_parts(n, 2, 1);
}

/* A mesh with holes, every target; and tetrahedra, with all four degrees and with three. */
static void test_meshes(void **state) {
  (void)state;
  cx *c;
  for (int target = 0; target < 3; target++) {
    assert_int_equal(cx_darcy(&c, "main"), DKHO_OK);
    check_parts(case_make(c, 3, 4, 1, 2, 1, target, 1, 1), 1, target != 1);
  }
  for (int degrees = 3; degrees <= 4; degrees++) {
    assert_int_equal(cx_shell(&c, 700), DKHO_OK);
    check_parts(case_make(c, degrees, 4, 2, 1, 2, degrees - 1, 1, degrees == 3), 1, degrees == 3);
  }
}

/* The same with links and low modes. */
static void test_extended_meshes(void **state) {
  (void)state;
  for (int mesh = 0; mesh < 4; mesh++) {
    cx *c;
    assert_int_equal(mesh < 2 ? cx_darcy(&c, "main") : cx_shell(&c, 700), DKHO_OK);
    net_case *n = case_make(c, mesh < 3 ? 3 : 4, 4, 1, 2, 1, mesh < 2 ? 1 - mesh : mesh, 1, mesh % 2);
    n->s.relation = mesh % 2 ? FUSED_NONE : FUSED_COUPLED;
    n->s.exchange = FUSED_SIGNED | FUSED_UNSIGNED, n->s.modes = CASE_MODES;
    check_parts(n, 1, mesh % 2 == 0);
  }
}

/* Own rows of a field of degree k by the lot, ghosts not a number. */
static real *draw_rows(const fused *f, comm *c, int k, uint64_t stream) {
  int wide = kern_pad(f->s.h);
  real *x = mem_alloc((size_t)(f->parts * fused_near(f, k) * wide), sizeof *x);
  rng r = rng_open((uint64_t)c->rank, RNG_TEST, stream);
  for (int64_t i = 0; i < f->parts * fused_near(f, k); i++)
    for (int h = 0; h < wide; h++)
      x[i * wide + h] = i % fused_near(f, k) < f->s.n[k] ? (real)rng_normal(&r) : (real)NAN;
  return x;
}

/* Ghosts of all parts of a field, or of its first part. */
static void fill_ghosts(const fused *f, sample_state *s, int k, int parts, int kind, real *x) {
  pass p = {.f = f, .s = s};
  exchange_field field[2];
  for (int q = 0; q < parts; q++) field[q] = (exchange_field){k, kind, x + q * fused_near(f, k) * kern_pad(f->s.h)};
  share_begin(&p, SHARE_CONTENT, parts, field);
  share_finish(&p, SHARE_CONTENT);
}

/* The list applied to rows, against rows of the other side: Σ_i y_i · Σ_e w_e x_e over own rows i, on one channel. Parts of the result
 * are rows `apart` after each other; parts of x are named by the list, which then has one weight an entry. */
static double pair_rows(const kern_csr *list, int64_t rows, int weights, int64_t apart, int wide, const real *x,
                        const real *y) {
  double sum = 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t e = list->ptr[i]; e < list->ptr[i + 1]; e++)
      for (int q = 0; q < weights; q++)
        sum += (double)y[(q * apart + i) * wide] * (double)list->val[e * weights + q] * (double)x[list->col[e]];
  return sum;
}

/* <A x, y> = <x, Aᵀ y> of the link from degree j to degree k, ghosts by messages: parts are on the side that does not map. */
static dkho_status check_link(comm *c, const fused *f, sample_state *s, int k, int up) {
  const fused_link *link = &f->link[k][up];
  int j = up ? k + 1 : k - 1, wide = kern_pad(f->s.h), first = link->maps_first;
  real *x = draw_rows(f, c, j, 7), *y = draw_rows(f, c, k, 8);
  fill_ghosts(f, s, j, first ? f->parts : 1, up ? PART_ABOVE : PART_BELOW, x);
  fill_ghosts(f, s, k, first ? 1 : f->parts, up ? PART_BELOW : PART_ABOVE, y);
  double both[2] = {pair_rows(&link->there, f->s.n[k], first ? 1 : f->parts, fused_near(f, k), wide, x, y),
                    pair_rows(&link->back, f->s.n[j], first ? f->parts : 1, fused_near(f, j), wide, y, x)};
  TRY(s->status);
  TRY(comm_sum(c, both, 2));
  RANK_HOLDS(c, both[0] != 0 && fabs(both[0] - both[1]) <= 1e-14 * (double)(f->whole[k] + f->whole[j]));
  mem_free(x), mem_free(y);
  return DKHO_OK;
}

static dkho_status adjoint_rank(comm *c, void *ctx) {
  const trial *t = ctx;
  mesh_share how = {c, t->method, (uint64_t)c->size};
  fused_mesh m = t->n->mesh;
  sample_state s = {.status = DKHO_OK};
  fused *f;
  m.share = &how;
  TRY(fused_create(&f, t->k, &t->n->s, &m, (const real *const *)t->n->fixed));
  for (int k = 0; k < f->s.degrees; k++)
    for (int up = 0; up < 2; up++)
      if (f->link[k][up].used) TRY(check_link(c, f, &s, k, up));
  fused_free(f);
  return DKHO_OK;
}

static void test_adjoints(void **state) {
  (void)state;
  for (int how = 1; how <= 6; how++) {
    cx *c = how % 2 ? torus(41, 27) : NULL;
    if (!c) assert_int_equal(cx_shell(&c, 700), DKHO_OK);
    net_case *n = case_make(c, how % 2 ? 3 : 4, 5, 2, 1, 1, 0, 1, how > 3);
    n->s.exchange = 1 + how % 3;
    trial t = {.n = n, .method = how % 4 ? PARTITION_RANDOM : PARTITION_METIS};
    assert_int_equal(kern_get(&t.k), DKHO_OK);
    for (int size = 1; size < 8; size += 3)
      if (ranks_run(size, adjoint_rank, &t) != DKHO_OK) fail_msg("%d ranks, case %d: %s", size, how, fail_text());
    case_free(n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_relations), cmocka_unit_test(test_extensions),      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_meshes),    cmocka_unit_test(test_extended_meshes), cmocka_unit_test(test_adjoints),
  };
  if (comm_start(0) != DKHO_OK) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  comm_stop();
  return failed;
}
