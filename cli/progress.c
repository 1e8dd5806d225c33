/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/terminal.h"

#define ERASE	    "\r\033[K"
#define MESSAGE_MAX 256

static void put(const char *text, size_t len)
{
	ssize_t n = write(STDERR_FILENO, text, len);

	(void)n; /* a terminal that is gone shows nothing */
}

/* The cursor goes back to the beginning, where the next message overwrites the line. */
static void say(const char *text, uint64_t began_ns, uint64_t limit_ns)
{
	unsigned long long s = (hv_now_ns() - began_ns) / HV_NS_PER_S;
	HV_AUTO_TEXT struct hv_text line = {0};

	hv_text_printf(&line, ERASE "%.*s: %llu s", MESSAGE_MAX, text, s);
	if (limit_ns)
		hv_text_printf(&line, " of %g s", (double)limit_ns / HV_NS_PER_S);
	hv_text_add_char(&line, '\r');
	put(line.data, line.len_bytes);
}

static void watch(const char *text, uint64_t limit_ns, const sigset_t *end)
{
	uint64_t began_ns = hv_now_ns(), next_ns = began_ns + HV_NS_PER_S;
	bool has_said = false;

	for (;;) {
		int left_ms = hv_left_ms(next_ns);
		struct timespec left = {left_ms / 1000, left_ms % 1000 * 1000000};

		if (sigtimedwait(end, NULL, &left) > 0)
			break;
		if (errno != EAGAIN)
			continue;
		say(text, began_ns, limit_ns);
		has_said = true;
		next_ns += HV_NS_PER_S;
	}
	if (has_said)
		put(ERASE, strlen(ERASE));
}

/* It has no use for the files of its parent, with which it ends. The terminal's signals are for its
 * PARENT, which may have ended before it could be told so. */
static void become(const char *text, uint64_t limit_ns, const sigset_t *end, pid_t parent)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	watch(text, limit_ns, end);
	_exit(0);
}

/* SIGTERM, which ends the process, is blocked from its beginning on. */
void progress_begin(struct progress *p, uint64_t limit_ns, const char *what, const char *name)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	sigset_t end, before;
	pid_t self = getpid();

	progress_end(p);
	if (!terminal_of(STDERR_FILENO).has_cursor)
		return;
	hv_text_printf(&text, "%s ", what);
	hv_text_add_utf8(&text, name, MESSAGE_MAX);
	hv_text_add(&text, "");
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, &before);
	p->pid = fork();
	if (p->pid == 0)
		become(text.data, limit_ns, &end, self);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (p->pid < 0)
		p->pid = 0;
}

void progress_end(struct progress *p)
{
	if (!p->pid)
		return;
	kill(p->pid, SIGTERM);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
}
