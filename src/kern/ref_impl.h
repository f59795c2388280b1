/* ref_impl.h: what ref.c takes from ref_rows.c: the definitions of the kernels on matrices. */
#ifndef KERN_REF_IMPL_H
#define KERN_REF_IMPL_H

#include "kern/kern.h"

double ref_apply(kern_fn f, double x); /* f(x) */

void ref_row_mm(const kern_rows *j);
void ref_row_grad(int64_t rows, int in, int out, const real *x, size_t xs, const real *g, size_t gs, real *gw);
void ref_row_norm(int64_t rows, int n, const real *x, const real *gain, const real *shift, real *y);
void ref_row_norm_back(int64_t rows, int n, const real *x, const real *gain, const real *gy, int add, real *gx,
                       real *sums);
void ref_col_sum(int64_t rows, int n, real a, const real *x, real *sum);
void ref_col_dot(int64_t rows, int n, const real *x, const real *centre, const real *y, real *sum);
void ref_col_affine(int64_t rows, int n, const real *x, const real *centre, const real *scale, const real *shift,
                    int add, real *y);
void ref_col_scale(int64_t rows, int n, const real *s, const real *x, int add, real *y);
void ref_mode_mm(const kern_mode *m, real *yr, real *yi);
void ref_mode_back(const kern_mode *m, const real *gr, const real *gi, real *gxr, real *gxi, real *gw);
void ref_gather(const kern_csr *a, int64_t first, int64_t last, int n, const real *x, int add, real *y);
void ref_unary(kern_fn f, size_t n, real a, real b, const real *x, real *y);
void ref_unary_back(kern_fn f, size_t n, real a, const real *x, const real *gy, int add, real *gx);
void ref_relu(size_t n, real slope, const real *x, real *y);
void ref_relu_back(size_t n, real slope, const real *x, const real *gy, int add, real *gx);
void ref_gate(size_t n, const real *a, const real *b, real *y);
void ref_gate_back(size_t n, const real *a, const real *b, const real *gy, int add_a, real *ga, int add_b, real *gb);
void ref_combine(size_t n, int terms, const real *a, const real *const *x, real *y);
void ref_mul(size_t n, const real *a, const real *b, int add, real *y);

#endif
