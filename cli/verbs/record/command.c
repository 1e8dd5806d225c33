/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/command.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"

static _Noreturn void become_command(const struct record_command *c, int go, int failure)
{
	char byte;
	ssize_t n;
	int code;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0); /* it is not wanted any more */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	/* The trace goes to standard output. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(c->words[0], c->words);
	code = errno;
	n = write(failure, &code, sizeof(code));
	_exit(127 + (n < 0));
}

struct hv_err *record_command_prepare(struct record_command *c)
{
	HV_AUTO_FD int go = -1, failure = -1;
	int ends[2];

	if (!c->words)
		return NULL;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return hv_err_new(errno, "pipe: %s", strerror(errno));
	go = ends[0];
	c->go = ends[1];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return hv_err_new(errno, "pipe: %s", strerror(errno));
	c->failure = ends[0];
	failure = ends[1];
	c->pid = fork();
	if (c->pid == 0) {
		hv_close_at(&c->go);
		become_command(c, go, failure);
	}
	if (c->pid > 0)
		return NULL;
	c->pid = 0;
	return hv_err_new(errno, "fork: %s", strerror(errno));
}

struct hv_err *record_command_start(struct record_command *c)
{
	int code = EPIPE;
	ssize_t n;

	if (!c->pid)
		return NULL;
	n = write(c->go, "", 1);
	if (n == 1)
		do
			n = read(c->failure, &code, sizeof(code));
		while (n < 0 && errno == EINTR);
	record_command_deinit(c);
	if (n == 0)
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

void record_command_deinit(struct record_command *c)
{
	hv_close_at(&c->go);
	hv_close_at(&c->failure);
	c->go = c->failure = -1;
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
