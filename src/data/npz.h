/* npz.h: NumPy's .npz: a zip archive whose members NAME.npy are stored or deflated. Reads the central directory, also of archives
 * beyond 4 GB; leaves out encryption, other compression and archives in several parts. */
#ifndef DATA_NPZ_H
#define DATA_NPZ_H

#include "data/npy.h"

enum { NPZ_NAME_MAX = 255, NPZ_MEMBERS_MAX = 4096 };

typedef struct npz_member {
  char name[NPZ_NAME_MAX + 1]; /* without ".npy" */
  int method;                  /* 0: stored, 8: deflated */
  uint32_t crc;
  uint64_t packed, size, at; /* bytes in the file, of the array file, and where the member's local header lies */
} npz_member;

typedef struct npz {
  const char *path; /* borrowed, for messages */
  file_map map;
  int members;
  npz_member *member; /* owned */
} npz;
dkho_status npz_open(npz *out, const char *path);
/* The same from memory; bytes and name are borrowed. The fuzzer's entrance. */
dkho_status npz_parse(npz *out, const void *bytes, size_t size, const char *name);
void npz_close(npz *z);
/* Opens member i. *room is what its bytes were unpacked to, NULL when they are the file's own; mem_free it after npy_close. */
dkho_status npz_array(const npz *z, int i, npy *out, void **room);

#endif
