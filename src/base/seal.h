/* seal.h: containers that prove themselves: a hash of the contents inside the file, and numbers that are all finite. */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

#include "base/st.h"

/* Before the first byte of data: the file will hold the hash of its own contents. st_open reads and hashes such a file once and
 * refuses it when the contents have changed. */
dkho_status st_seal(st_writer *w);
/* Whether all numbers of a tensor are finite; the error names file, tensor and element. */
dkho_status st_need_finite(const st_file *f, const st_tensor *t);

#endif
