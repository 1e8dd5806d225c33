/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal of a machine of `hvtrace run`: keys go to the machine's serial port, and Ctrl-A x
 * ends the machine. The terminal gets its settings back on every exit except by SIGKILL, and while
 * the program is stopped. The console is a thread of its own, which also receives SIGINT, SIGTERM,
 * SIGHUP and SIGQUIT for the program, and the signals that stop and continue it. Leaves to others:
 * output of the guest (the serial port writes it itself). */
#pragma once

#include "base/err.h"

struct console;

/* Call this before other threads are made: the signals are blocked for all of them. The machine
 * reads from *RET_IN_FD, which the console owns. */
struct hv_err *console_open(struct console **ret, int *ret_in_fd) hv_must_use;
/* Begins to handle keys and signals. STOP(CTX) is called once, when the user or a signal ends the
 * machine. */
struct hv_err *console_start(struct console *c, void (*stop)(void *ctx), void *ctx) hv_must_use;
/* Gives the terminal its settings back. Returns the signal that ended the machine, or 0. NULL is
 * fine. */
int console_close(struct console *c);
