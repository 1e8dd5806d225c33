/* A process that has a file of a mount open, seen from outside through /proc: how it came to close
 * it, and whether it has it open once more. PIDs are thread ids as FUSE gives them.
 *
 * Who looks may have to wait for that process: in execve(2) it holds what /proc asks for while it
 * closes files, and waits for the mount. So the process that serves the mount never looks itself. A
 * child does, and is not waited for beyond a moment.
 * Leaves to others: what follows from it (fusefs_file.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum holder_state {
	HOLDER_LIVES,
	HOLDER_EXITS,	/* is ending by itself */
	HOLDER_KILLED,	/* is ending by a signal */
	HOLDER_UNKNOWN, /* has gone, or the kernel closes for it: it ended, one way or the other */
};

struct holder_view {
	uint64_t id; /* of the question */
	enum holder_state state;
	bool has_open; /* a file whose path ends with the question's */
};

/* Starts the child; *RET is where it is asked, and it ends when that is closed. FUSE_FD and LINK_FD
 * are not kept open by it. False: there is none. */
bool holder_start(int fuse_fd, int link_fd, int *ret);
/* Asks; TAIL is the end of a path ("/per_cpu/cpu0/trace_pipe_raw"). False: not now. Not blocking.
 */
bool holder_ask(int fd, uint64_t id, pid_t pid, const char *tail);
/* The next answer, if there is one. */
bool holder_answer(int fd, struct holder_view *ret);

/* The thread is no more. Asks the kernel, not /proc. */
bool holder_is_gone(pid_t pid);

/* Starts a child that gives the files of PID with this TAIL the flag O_DIRECT as soon as they are
 * there. A splice(2) from them is then a read of ours, whatever the kernel; without it kernels
 * since 6.5 look into the page cache, which has nothing. */
void holder_make_direct(pid_t pid, const char *tail, int fuse_fd, int link_fd);
