/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that examines through /proc a process that closes a file of a mount: whether it closes
 * the file because it exits or was killed, and whether another of its descriptors has the file open.
 * Also sets O_DIRECT on a file that a process opened. PIDs are thread ids as FUSE gives them.
 *
 * Reading /proc can block: in execve(2) the other process holds a lock that /proc needs, while it
 * closes files and waits for the mount. So the server, the process that serves the mount, never
 * reads it, and waits for the inspector only briefly. fusefs_ask.c acts on the answers.
 *
 * The server parses what a service sends, so a guest may have taken it over. Its requests have a
 * fixed size, and the inspector acts only on files of its own mount. The server's helper starts
 * inspectors (mount_errands.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/capabilities.h"

/* The inspector's capabilities. SYS_PTRACE: descriptors of other processes. DAC_READ_SEARCH:
 * directories /proc/PID/fd of processes of other users. */
#define INSPECTOR_NEEDS (HV_CAP(SYS_PTRACE) | HV_CAP(DAC_READ_SEARCH))

enum closer_state {
	CLOSER_LIVES,
	CLOSER_EXITS,	/* exits voluntarily */
	CLOSER_KILLED,	/* killed by a signal */
	CLOSER_UNKNOWN, /* it is gone, or a kernel thread closes the file for it: the reason is
			   unknown */
};

enum inspector_job {
	INSPECTOR_LOOK, /* the state of the thread, and whether it has the file open */
	/* Sets O_DIRECT on the file in its process, wherever it is open. A splice(2) from it then
	 * causes a read request on any kernel; without the flag, kernels since 6.5 read the page
	 * cache, which is empty. The inspector has the file open while it does this. */
	INSPECTOR_MAKE_DIRECT,
	INSPECTOR_NOTHING, /* the answer confirms that earlier requests are complete */
};

struct inspector_view {
	uint64_t id;
	enum closer_state state;
	bool has_open; /* a file of the mount whose path ends with the request's tail */
};

/* In the helper. */

/* Starts an inspector of the mount with the device number DEVICE, which keeps no file of this
 * process open. Returns its pid, or -1. *RET_FD is the socket for requests. */
pid_t inspector_fork(dev_t device, int *ret_fd);
/* Returns whether it runs or waits for a processor, so that it is neither stopped nor blocked. */
bool inspector_runs(pid_t pid);

/* In the server. */

/* An inspector. When it closes files, the kernel sends requests to the mount, too. */
struct inspector {
	int fd;	   /* socket for requests; -1: it is being ended, or not running */
	int pidfd; /* readable when the inspector has ended and its files are closed */
	pid_t pid;
};

#define INSPECTOR_NONE ((struct inspector){-1, -1, 0})

bool inspector_has_ended(const struct inspector *h);
/* A running inspector ends when it has answered all requests. */
void inspector_close(struct inspector *h);

/* Sends a request; answers arrive in the same order. TAIL is the end of a path
 * ("/per_cpu/cpu0/trace_pipe_raw"). Non-blocking; returns false if it cannot be sent now. */
bool inspector_ask(const struct inspector *h, enum inspector_job job, uint64_t id, pid_t pid,
		   const char *tail);
/* Returns whether an answer has arrived. */
bool inspector_has_answered(const struct inspector *h);
/* Gets the next answer, if there is one. */
bool inspector_answer(const struct inspector *h, struct inspector_view *ret);

/* Whether the thread has ended. Does not use /proc. */
bool thread_is_gone(pid_t pid);
