/* The terminal of a machine of our own: keys go to its serial port, Ctrl-A x ends it. The terminal
 * is as before on every exit but that by SIGKILL, and while the program is stopped. A thread of its
 * own, which also hears SIGINT, SIGTERM, SIGHUP and SIGQUIT for the program, and what stops and
 * continues it. Leaves to others: what the guest prints (the serial port
 * writes it itself). */
#pragma once

#include "base/err.h"

struct console;

/* Call before other threads are made: the signals are blocked for all of them. *RET_IN_FD is what
 * the machine reads; it is the console's. */
struct hv_err *console_open(struct console **ret, int *ret_in_fd) hv_must_use;
/* From here on keys and signals count. STOP(CTX) is called, once, when the user or a signal wants
 * the end. */
struct hv_err *console_start(struct console *c, void (*stop)(void *ctx), void *ctx) hv_must_use;
/* Gives the terminal back; returns the signal that wanted the end, else 0. NULL is fine. */
int console_close(struct console *c);
