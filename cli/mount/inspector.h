/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks through /proc at a process that has a file of a mount open: how it came to close it, and
 * whether it has it open once more. Sets O_DIRECT for a file that it opened. PIDs are thread ids as
 * FUSE gives them.
 *
 * A process that looks may have to wait: in execve(2) the other process has locked what /proc
 * needs, while it closes files and waits for the mount. So the process that serves the mount never
 * looks itself. A child does, and the process waits for it only a moment.
 * Leaves to others: what follows from the answer (fusefs_inspector.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum closer_state {
	CLOSER_LIVES,
	CLOSER_EXITS,	/* is ending by itself */
	CLOSER_KILLED,	/* is ending by a signal */
	CLOSER_UNKNOWN, /* has gone, or the kernel closes for it: it ended, one way or the other */
};

enum inspector_job {
	INSPECTOR_LOOK, /* how the thread fares, and whether it has the file open */
	/* Give the file the flag O_DIRECT, wherever its process has it open. A splice(2) from it is
	 * then a read of ours, whatever the kernel; without it kernels since 6.5 look into the page
	 * cache, which has nothing. The child has the file open itself meanwhile. */
	INSPECTOR_MAKE_DIRECT,
	INSPECTOR_NOTHING, /* the answer says that what was asked before is done */
};

struct inspector_view {
	uint64_t id; /* of the question */
	enum closer_state state;
	bool has_open; /* a file whose path ends with the question's */
};

/* The child. Its own closing of files asks the mount, too. */
struct inspector {
	int fd;	   /* where it is asked; -1: nobody can be */
	int pidfd; /* readable when it has ended, and what it had open is closed */
	pid_t pid;
};

#define INSPECTOR_NONE ((struct inspector){-1, -1, 0})

/* FUSE_FD and LINK_FD are not kept open by it. False: there is none. */
bool inspector_start(int fuse_fd, int link_fd, struct inspector *ret);
/* It ends as soon as the kernel lets it; inspector_has_ended() reaps it. */
void inspector_kill(struct inspector *h);
bool inspector_has_ended(const struct inspector *h);
/* One that lives ends when it has nothing left to answer. */
void inspector_close(struct inspector *h);

/* Asks; answers come in the order of the questions. TAIL is the end of a path
 * ("/per_cpu/cpu0/trace_pipe_raw"). False: not now. Not blocking. */
bool inspector_ask(const struct inspector *h, enum inspector_job job, uint64_t id, pid_t pid,
		   const char *tail);
/* It has answered, or would if it had a CPU: is not stopped, not dead, and waits for nobody. */
bool inspector_makes_progress(const struct inspector *h);
/* The next answer, if there is one. */
bool inspector_answer(const struct inspector *h, struct inspector_view *ret);

/* The thread is no more. Asks the kernel, not /proc. */
bool thread_is_gone(pid_t pid);
