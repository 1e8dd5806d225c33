/* A process that has a file of a mount open, seen from outside through /proc: how it came to close
 * it, and whether it has it open once more. PIDs are thread ids as FUSE gives them.
 * Leaves to others: what follows from it (fusefs_file.c). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum holder_state {
	HOLDER_LIVES,
	HOLDER_EXITS,	/* is ending by itself */
	HOLDER_KILLED,	/* is ending by a signal */
	HOLDER_UNKNOWN, /* has gone, or the kernel closes for it: it ended, one way or the other */
};

enum holder_state holder_look(pid_t pid);
/* The process of a thread; PID itself when it has gone. */
pid_t holder_process(pid_t pid);
/* Has an open file whose path ends with TAIL ("/per_cpu/cpu0/trace_pipe_raw"). */
bool holder_has_open(pid_t pid, const char *tail);

/* Starts a child that gives the files of PID with this TAIL the flag O_DIRECT as soon as they are
 * there. A splice(2) from them is then a read of ours, whatever the kernel; without it kernels
 * since 6.5 look into the page cache, which has nothing. CLOSE_FD is not kept open by the child. */
void holder_make_direct(pid_t pid, const char *tail, int close_fd);
