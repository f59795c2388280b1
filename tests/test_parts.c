/* One mesh over several ranks: outputs and gradients have the bits of one process, for every number of ranks, partition, relation,
 * start, metric and dimension. Ranks are threads. */
#include "base/mem.h"
#include "base/rng.h"
#include "comm_threads.h"
#include "mesh/exchange.h"
#include "mesh/generate.h"
#include "model/dkho/fused.h"

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

/* Threads of a rank take part in its chunks. */
static void test_threads(void **state) {
  (void)state;
  check_parts(case_make(torus(41, 27), 3, 8, 2, 2, 2, 1, 2, 0), 2, 1);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_relations),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_meshes),
  };
  if (comm_start(0) != DKHO_OK) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  comm_stop();
  return failed;
}
