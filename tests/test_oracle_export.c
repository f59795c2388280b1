/* Writes one solved group of a benchmark in double, with everything the solve read, for tools/oracle_*.py to solve again (tests/
 * sh_oracle.sh). Usage: t_oracle_export PROBLEM RESOLUTION FILE [LAW]; as a test, without arguments, it checks that what it would write can be
 * read back. */
#include "scratch.h"

#include "problem/problem.h"

typedef struct exported {
  const problem *p;
  cx *c;
  problem_state *state;
  arena mem;
  double *block[PROBLEM_FIELDS_MAX]; /* by field */
  void *work;
} exported;

static dkho_status export_solve(exported *x, const char *name, const char *resolution, const char *law) {
  double *varying[PROBLEM_FIELDS_MAX];
  TRY(problem_find(name, &x->p));
  TRY(problem_find_law(x->p, law, &x->p));
  TRY(x->p->build(&x->c, resolution));
  TRY(x->p->prepare(&x->state, x->c, 42));
  TRY(problem_room(x->p, x->state, x->c, &x->mem, varying, &x->work));
  TRY(problem_group(x->p, x->state, x->c, x->work, 42, 0, varying));
  for (int i = 0, j = 0; i < x->p->fields; i++) {
    const data_field *f = &x->p->field[i];
    if (f->role != DATA_STATIC) {
      x->block[i] = varying[j++];
    } else if (strncmp(f->name, "spectral", 8) != 0) {
      if (!ARENA_NEW(&x->mem, x->block[i], x->c->n[f->degree] * f->channels)) return DKHO_E_MEMORY;
      TRY(problem_fill(x->p, x->state, x->c, f->name, x->block[i]));
    }
  }
  return DKHO_OK;
}

/* Shape of field i: [group, n, channels], [group, channels] for a global, [n, channels] for a static. */
static int export_shape(const exported *x, int i, uint64_t shape[3]) {
  const data_field *f = &x->p->field[i];
  int rank = 0;
  if (f->role != DATA_STATIC) shape[rank++] = PROBLEM_GROUP;
  if (f->role != DATA_GLOBAL) shape[rank++] = (uint64_t)x->c->n[f->degree];
  shape[rank++] = (uint64_t)f->channels;
  return rank;
}

/* As in a data set: the complex first, statics apart from its labels. */
static dkho_status export_declare(const exported *x, st_writer *w) {
  if (x->p->law) TRY(st_put_meta(w, "law", x->p->law));
  TRY(cx_declare(x->c, w, "c0/"));
  for (int i = 0; i < x->p->fields; i++) {
    const data_field *f = &x->p->field[i];
    char name[96];
    uint64_t shape[3];
    int rank = export_shape(x, i, shape);
    if (!x->block[i]) continue;
    snprintf(name, sizeof name, "%s%s", f->role == DATA_STATIC ? "c0/static/" : "", f->name);
    TRY(st_declare(w, name, ST_F64, rank, shape));
  }
  return DKHO_OK;
}

static dkho_status export_write(const exported *x, st_writer *w) {
  TRY(export_declare(x, w));
  TRY(cx_write(x->c, w));
  for (int i = 0; i < x->p->fields; i++) {
    uint64_t shape[3], count = 1;
    int rank = export_shape(x, i, shape);
    for (int j = 0; j < rank; j++) count *= shape[j];
    if (x->block[i]) TRY(st_write(w, x->block[i], (size_t)count * sizeof(double)));
  }
  return DKHO_OK;
}

static dkho_status export_file(const char *name, const char *resolution, const char *path, const char *law) {
  exported x = {0};
  st_writer *w = NULL;
  dkho_status s = export_solve(&x, name, resolution, law);
  if (s == DKHO_OK) s = st_create(&w, path, 1);
  if (s == DKHO_OK) s = export_write(&x, w);
  if (s == DKHO_OK)
    s = st_commit(w);
  else
    st_abort(w);
  if (x.p) problem_leave(x.p, x.work), x.p->release(x.state);
  cx_free(x.c);
  arena_free(&x.mem);
  return s;
}

static void read_back(void **state) {
  (void)state;
  char dir[64], path[128];
  size_t blocks = mem_live_blocks();
  scratch_make(dir);
  for (int i = 0; i < problem_count(); i++) {
    st_file *f;
    cx *c;
    if (export_file(problem_at(i)->name, "smoke", scratch_path(path, dir, "solved.st"), NULL) != DKHO_OK)
      fail_msg("%s", fail_text());
    assert_int_equal(st_open(&f, path), DKHO_OK);
    assert_int_equal(cx_get(&c, f, "c0/"), DKHO_OK);
    assert_int_equal(c->dim, problem_at(i)->dim);
    cx_free(c);
    st_close(f);
  }
  scratch_remove(dir);
  assert_int_equal(mem_live_blocks(), blocks);
}

int main(int argc, char **argv) {
  if (argc == 4 || argc == 5) {
    dkho_status s = export_file(argv[1], argv[2], argv[3], argv[4]);
    if (s != DKHO_OK) fprintf(stderr, "%s\n", fail_text());
    return s != DKHO_OK;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(read_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
