/* real.h: the number type of learning. float in the product, double in the twin library that checks gradients. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#ifdef DKHO_REAL_DOUBLE
typedef double real;
#define REAL_ST ST_F64
#define REAL_EPS 2.220446049250313e-16
#else
typedef float real;
#define REAL_ST ST_F32
#define REAL_EPS 1.1920929e-07
#endif

#endif
