/* report.h: what the library says while it works, through the sink of dkho_report_set; silence by default. Of the
 * ranks of a job the first one speaks. */
#ifndef BASE_REPORT_H
#define BASE_REPORT_H

#include <stdint.h>

void report_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* `note` may be NULL. Cheap enough to call per sample: the sink limits its own rate. */
void report_progress(const char *label, uint64_t done, uint64_t total, const char *note);

#endif
