/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/progress.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/terminal.h"

#define ERASE	    "\r\033[K"
#define MESSAGE_MAX 256

static void put(const char *text, size_t len)
{
	ssize_t n = write(STDERR_FILENO, text, len);

	(void)n; /* the terminal may be gone */
}

/* Leaves the cursor at the start of the line, so that the next message overwrites it. */
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

static void watch(const char *text, uint64_t limit_ns, int end)
{
	uint64_t began_ns = hv_now_ns(), next_ns = began_ns + HV_NS_PER_S;
	struct pollfd ended = {end, POLLIN, 0};
	bool has_said = false;

	for (;;) {
		int ready = poll(&ended, 1, hv_left_ms(next_ns));

		if (ready > 0)
			break;
		if (ready < 0)
			continue;
		say(text, began_ns, limit_ns);
		has_said = true;
		next_ns += HV_NS_PER_S;
	}
	if (has_said)
		put(ERASE, strlen(ERASE));
}

/* Closes the files of the parent and ignores the terminal's signals. Ends with PARENT, which may
 * already have ended. */
static void become(const char *text, uint64_t limit_ns, int end, pid_t parent)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close(STDOUT_FILENO);
	dup2(end, STDIN_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	watch(text, limit_ns, STDIN_FILENO);
	_exit(0);
}

void progress_begin(struct progress *p, uint64_t limit_ns, const char *what, const char *name)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	pid_t self = getpid();
	int ends[2];

	progress_end(p);
	if (!terminal_of(STDERR_FILENO).has_cursor || pipe2(ends, O_CLOEXEC) != 0)
		return;
	hv_text_printf(&text, "%s ", what);
	hv_text_add_utf8(&text, name, MESSAGE_MAX);
	hv_text_add(&text, "");
	p->end = ends[1];
	p->pid = fork();
	if (p->pid == 0)
		become(text.data, limit_ns, ends[0], self);
	close(ends[0]);
	if (p->pid > 0)
		return;
	p->pid = 0;
	close(p->end);
}

/* Writes a byte because end of file may not arrive: processes that were forked in between also have
 * the pipe open. */
void progress_end(struct progress *p)
{
	ssize_t n;

	if (!p->pid)
		return;
	n = write(p->end, "", 1);
	(void)n; /* it may have ended */
	close(p->end);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
}
