/* dkho.h: the one public header of libdkho.
 *
 * Learn solution operators of PDEs on simplicial complexes. Plain C types, opaque handles, status codes. The library
 * never prints, exits or aborts: what it has to say goes through the report sink (dkho_report_set) and the last-error
 * text (dkho_error). Handles are freed by their _free call, which accepts NULL. */
#ifndef DKHO_H
#define DKHO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DKHO_API __attribute__((visibility("default")))
#else
#define DKHO_API
#endif

/* Status codes and their texts, in one list. */
#define DKHO_STATUS_LIST(X)                                                                                            \
  X(DKHO_OK, "ok")                                                                                                     \
  X(DKHO_E_INPUT, "invalid argument or input")                                                                         \
  X(DKHO_E_FORMAT, "malformed file")                                                                                   \
  X(DKHO_E_IO, "file system error")                                                                                    \
  X(DKHO_E_EXISTS, "target exists already")                                                                            \
  X(DKHO_E_MEMORY, "out of memory")                                                                                    \
  X(DKHO_E_NOCONV, "a solver did not converge")                                                                        \
  X(DKHO_E_NONFINITE, "a value is not finite")                                                                         \
  X(DKHO_E_STOPPED, "stopped on request")                                                                              \
  X(DKHO_E_INTERNAL, "internal inconsistency")

typedef enum {
#define DKHO_X(code, text) code,
  DKHO_STATUS_LIST(DKHO_X)
#undef DKHO_X
} dkho_status;

DKHO_API const char *dkho_version(void);
DKHO_API const char *dkho_status_text(dkho_status status);
/* What went wrong in the last failed call of this thread: one line naming file, field, found and expected. */
DKHO_API const char *dkho_error(void);

/* Where the library reports. Any member may be NULL; a NULL sink (the default) is silence. Called from the thread that
 * made the library call. `total` is 0 when unknown; `done == total` ends a meter. `note` is a short live text
 * ("loss 0.0123"), possibly empty. */
typedef struct dkho_report {
  void *user;
  void (*log)(void *user, const char *line);
  void (*progress)(void *user, const char *label, uint64_t done, uint64_t total, const char *note);
} dkho_report;
DKHO_API void dkho_report_set(const dkho_report *sink);

#ifdef __cplusplus
}
#endif
#endif
