/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows on the terminal that an operation is in progress: after one second, and every second from
 * then on, a status line on standard error names the operation and the elapsed time. The line
 * disappears at the end. Prints nothing if standard error is not a terminal. A child process prints
 * it, so the caller may block; the child ends with the caller. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Zero-initialised is inactive. */
struct progress {
	pid_t pid;
	int end; /* owned; a byte written here ends the process, because the parent may lack the
		    right to signal it */
};

/* Starts the display for an operation on NAME ("attaching", "web1"). LIMIT_NS: the expected
 * duration; 0: unknown. */
void progress_begin(struct progress *p, uint64_t limit_ns, const char *what, const char *name);
/* Call it before you print anything. May be called repeatedly. */
void progress_end(struct progress *p);
