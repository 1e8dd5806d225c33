/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/terminal_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/guard.h"

#define PIPE_FD 3 /* in the child, after standard input, output and error */

struct terminal_guard {
	pid_t pid;
	int fd; /* write end of the child's pipe; a byte means that the terminal was restored */
};

/* Ignores job signals, including those that stop a job that changes another job's terminal. */
static void ignore_signals(void)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT, SIGTSTP,
				      SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH};
	sigset_t none;

	for (size_t i = 0; i < HV_ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The child. Closes inherited files, because a session's connection must end when the parent
 * ends. */
static void wait_and_restore(int fd, const struct termios *before, const char *bytes)
{
	char byte;
	ssize_t n;

	ignore_signals();
	prctl(PR_SET_NAME, "hvtrace:screen");
	if (fd != PIPE_FD && dup2(fd, PIPE_FD) < 0)
		_exit(1);
	close_range(PIPE_FD + 1, ~0u, 0);
	do
		n = read(PIPE_FD, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);
	tcsetattr(STDIN_FILENO, TCSANOW, before);
	n = write(STDOUT_FILENO, bytes, strlen(bytes));
	_exit(n < 0);
}

struct hv_err *terminal_guard_start(const char *bytes, struct terminal_guard **ret)
{
	struct termios before;
	int fds[2];
	pid_t pid;

	if (tcgetattr(STDIN_FILENO, &before) != 0)
		return hv_err_new(errno, "terminal: %s", strerror(errno));
	if (pipe2(fds, O_CLOEXEC) != 0)
		return hv_err_new(errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		wait_and_restore(fds[0], &before, bytes);
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return hv_err_new(errno, "fork: %s", strerror(errno));
	}
	*ret = hv_alloc(sizeof(**ret));
	**ret = (struct terminal_guard){pid, fds[1]};
	return NULL;
}

void terminal_guard_stop(struct terminal_guard *g)
{
	if (!g)
		return;
	if (write(g->fd, "", 1) != 1)
		errno = 0; /* it may have ended */
	close(g->fd);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(g);
}
