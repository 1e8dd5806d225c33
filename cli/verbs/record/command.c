/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"

#define STOP_MS 2000

struct hv_err *record_command_start(struct record_command *c)
{
	int err_pipe[2];
	ssize_t n;
	int code;

	if (!c->words)
		return NULL;
	if (pipe2(err_pipe, O_CLOEXEC) != 0)
		return hv_err_new(errno, "pipe: %s", strerror(errno));
	c->pid = fork();
	if (c->pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		/* The trace goes to standard output. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(c->words[0], c->words);
		code = errno;
		n = write(err_pipe[1], &code, sizeof(code));
		_exit(127 + (n < 0));
	}
	close(err_pipe[1]);
	do
		n = read(err_pipe[0], &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	close(err_pipe[0]);
	if (n != sizeof(code))
		return NULL;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	return hv_err_new(code, "command '%s': %s", c->words[0], strerror(code));
}

bool record_command_has_ended(struct record_command *c)
{
	if (!c->pid || waitpid(c->pid, &c->status, WNOHANG) != c->pid)
		return false;
	c->pid = 0;
	return true;
}

void record_command_stop(struct record_command *c)
{
	uint64_t until = hv_now_ns() + STOP_MS * 1000000ull;

	if (!c->pid)
		return;
	kill(c->pid, SIGTERM);
	while (!record_command_has_ended(c) && hv_now_ns() < until)
		poll(NULL, 0, 20);
	if (c->pid) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
			;
	}
	c->pid = 0;
	c->status = 0;
}

struct hv_err *record_command_result(const struct record_command *c)
{
	if (!c->words || !c->status)
		return NULL;
	if (WIFSIGNALED(c->status))
		return hv_err_new(ECHILD, "command '%s': died of signal %d", c->words[0],
				  WTERMSIG(c->status));
	return hv_err_new(ECHILD, "command '%s': exit status %d", c->words[0],
			  WEXITSTATUS(c->status));
}
