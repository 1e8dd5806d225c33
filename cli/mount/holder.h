/* A process that has a file of a mount open, seen from outside through /proc: how it came to close
 * it, whether it has it open once more, and the flag O_DIRECT for what it opened. PIDs are thread
 * ids as FUSE gives them.
 *
 * Who looks may have to wait for that process: in execve(2) it holds what /proc asks for while it
 * closes files, and waits for the mount. So the process that serves the mount never looks itself. A
 * child does, and is not waited for beyond a moment.
 * Leaves to others: what follows from it (fusefs_holder.c). */
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

enum holder_job {
	HOLDER_LOOK, /* how the thread fares, and whether it has the file open */
	/* Give the file the flag O_DIRECT, wherever its process has it open. A splice(2) from it is
	 * then a read of ours, whatever the kernel; without it kernels since 6.5 look into the page
	 * cache, which has nothing. The child has the file open itself meanwhile. */
	HOLDER_MAKE_DIRECT,
	HOLDER_NOTHING, /* the answer says that what was asked before is done */
};

struct holder_view {
	uint64_t id; /* of the question */
	enum holder_state state;
	bool has_open; /* a file whose path ends with the question's */
};

/* The child. Its own closing of files asks the mount, too. */
struct holder {
	int fd;	   /* where it is asked; -1: nobody can be */
	int pidfd; /* readable when it has ended, and what it had open is closed */
	pid_t pid;
};

#define HOLDER_NONE ((struct holder){-1, -1, 0})

/* FUSE_FD and LINK_FD are not kept open by it. False: there is none. */
bool holder_start(int fuse_fd, int link_fd, struct holder *ret);
/* It ends as soon as the kernel lets it; holder_has_ended() reaps it. */
void holder_kill(struct holder *h);
bool holder_has_ended(const struct holder *h);
/* One that lives ends when it has nothing left to answer. */
void holder_close(struct holder *h);

/* Asks; answers come in the order of the questions. TAIL is the end of a path
 * ("/per_cpu/cpu0/trace_pipe_raw"). False: not now. Not blocking. */
bool holder_ask(const struct holder *h, enum holder_job job, uint64_t id, pid_t pid,
		const char *tail);
/* It has answered, or would if it had a CPU: is not stopped, not dead, and waits for nobody. */
bool holder_is_at_it(const struct holder *h);
/* The next answer, if there is one. */
bool holder_answer(const struct holder *h, struct holder_view *ret);

/* The thread is no more. Asks the kernel, not /proc. */
bool holder_is_gone(pid_t pid);
