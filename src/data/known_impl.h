/* known_impl.h: what known.c and known_periods.c share. */
#ifndef DATA_KNOWN_IMPL_H
#define DATA_KNOWN_IMPL_H

#include "data/known.h"

int known_field(int fields, const data_field *field, const char *name); /* index, or -1 */
int known_position(const data_field *field, int at);                    /* how many fields of its role come before it */
/* The one entry that says of a target's periods. */
dkho_status known_find_periods(known_rows *out, const known_world *w, int target, const data_known *k);
void known_impose_periods(const known_rows *k, const float *const *in, const double *const *global, float *field);
dkho_status known_periods_agree(const known_rows *k, const data_field *target, int64_t sample, const float *const *in,
                                const double *const *global, const float *y);

#endif
