/* machine.c: see machine.h. */
#include "base/machine.h"

#include <stdio.h>
#include <string.h>

void machine_cpu(char *out, size_t size) {
  snprintf(out, size, "unknown");
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
    if (!colon) continue;
    colon[strcspn(colon, "\n")] = 0;
    snprintf(out, size, "%s", colon + 2);
    break;
  }
  if (f) fclose(f);
}
