/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says on the terminal that something goes on: after a second, and each second from then on, a line
 * of standard error says what and for how long; it goes when that has ended. If standard error is
 * no terminal nothing is said. A process of its own does it, which needs nothing of the caller's
 * and ends with it. Leaves to others: what has happened. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Zero-initialised there is none. */
struct progress {
	pid_t pid;
	int end; /* owned; a byte here ends the process, which its parent may have no right to
		    signal */
};

/* WHAT happens to NAME ("attaching", "web1"). LIMIT_NS: it takes so long; 0: nobody knows. */
void progress_begin(struct progress *p, uint64_t limit_ns, const char *what, const char *name);
/* Call it before anything is printed. May be called again. */
void progress_end(struct progress *p);
