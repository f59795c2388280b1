/* machine.h: what this machine is. */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stddef.h>

/* The processor's name as the system gives it, "unknown" where it gives none. */
void machine_cpu(char *out, size_t size);

#endif
