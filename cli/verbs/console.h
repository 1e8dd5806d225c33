/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal of a machine of `hvtrace run`. Forwards keys to the machine's serial port; Ctrl-A x
 * ends the machine. Restores the terminal's settings on every exit except by SIGKILL, and while the
 * program is stopped. The console has a thread, which also receives SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT for the program, and the job-control signals. The serial port writes the guest's output
 * itself. */
#pragma once

#include "base/err.h"

struct console;

/* Call it before creating other threads, because it blocks the signals for all of them. The machine
 * reads from *RET_IN_FD, which the console owns. */
struct hv_err *console_open(struct console **ret, int *ret_in_fd) hv_must_use;
/* Starts to handle keys and signals. Calls STOP(CTX) once, when the user or a signal ends the
 * machine. */
struct hv_err *console_start(struct console *c, void (*stop)(void *ctx), void *ctx) hv_must_use;
/* Restores the terminal. Returns the signal that ended the machine, or 0. C may be NULL. */
int console_close(struct console *c);
