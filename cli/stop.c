/* stop.c: interrupts that let work end at a good place. */
#include "cli.h"

#include <signal.h>
#include <stdlib.h>

static volatile sig_atomic_t stopping, terminated;

static void on_signal(int number) {
  if (number == SIGTERM) terminated = 1;        /* may come often: launchers and schedulers repeat it */
  if (number == SIGINT && stopping) _Exit(130); /* asked twice: at once; the last checkpoint is whole */
  stopping = 1;
}

int stop_asked(void *user) {
  (void)user;
  return stopping;
}

int stop_by_scheduler(void) {
  return terminated;
}

void stop_watch(void) {
  struct sigaction a = {.sa_handler = on_signal};
  sigaction(SIGINT, &a, NULL);
  sigaction(SIGTERM, &a, NULL);
}
