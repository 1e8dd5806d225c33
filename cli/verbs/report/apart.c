/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/report/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/text.h"
#include "cli/verbs/verb.h"

#define MEMORY_BYTES (2ull << 30)
#define NR_FILES     4096 /* a CTF trace has a file for each vCPU */
#define SILENCE_NS   (60 * HV_NS_PER_S)
#define LOOK_MS	     1000
#define MESSAGE_MAX  4096

/* Exit codes of the child; libraries that abort use lower numbers. */
enum { SHOWN = 0, REFUSED = 100, CANNOT_PRINT = 101 };

struct child {
	pid_t pid;
	int text, message; /* read ends of pipes; owned */
};

static void child_close(struct child *c)
{
	hv_close_at(&c->text);
	hv_close_at(&c->message);
}

/* -- the child -------------------------------------------------------------------------------- */

static struct hv_err *confine_child(const struct report_apart *r)
{
	struct hv_confinement c = HV_CONFINEMENT_NONE;
	struct hv_err *err;

	c.memory_bytes = MEMORY_BYTES;
	c.nr_files = NR_FILES;
	if (r->dir_fd >= 0) {
		c.may = HV_MAY_READ;
		c.dir_fd = r->dir_fd;
	}
	err = hv_confine(&c);
	/* changing to another user resets the death signal */
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		err = hv_err_new(
			errno,
			"cannot prepare the process that reads the file: PR_SET_PDEATHSIG: %s",
			strerror(errno));
	return err;
}

static _Noreturn void become_child(const struct report_apart *r, int text, int message)
{
	const char *dir = hv_confined_path(r->path);
	bool cannot_print = false;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct hv_err *err;
	ssize_t n = 0;

	dup2(text, STDOUT_FILENO);
	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO); /* discards messages of crashing libraries */
	if (r->prepare)
		r->prepare(r->ctx);
	err = confine_child(r);
	if (!err)
		err = r->show(r->ctx, dir, &cannot_print);
	if (err)
		n = write(message, err->message, strlen(err->message));
	_exit(err && n > 0 ? REFUSED : cannot_print ? CANNOT_PRINT : err ? REFUSED : SHOWN);
}

static struct hv_err *start(const struct report_apart *r, struct child *ret)
{
	int text[2], message[2];
	int code;

	if (pipe2(text, O_CLOEXEC) != 0)
		return hv_err_new(errno, "%s: cannot start a process to read it: pipe: %s", r->path,
				  strerror(errno));
	if (pipe2(message, O_CLOEXEC) != 0) {
		code = errno;
		close(text[0]);
		close(text[1]);
		return hv_err_new(code, "%s: cannot start a process to read it: pipe: %s", r->path,
				  strerror(code));
	}
	ret->pid = fork();
	if (ret->pid == 0) {
		close(text[0]);
		close(message[0]);
		become_child(r, text[1], message[1]);
	}
	code = errno;
	close(text[1]);
	close(message[1]);
	ret->text = text[0];
	ret->message = message[0];
	return ret->pid < 0 ? hv_err_new(code, "%s: cannot start a process to read it: fork: %s",
					 r->path, strerror(code))
			    : NULL;
}

/* -- its parent ------------------------------------------------------------------------------- */

static uint64_t processor_ns(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * HV_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Copies until the child ends or standard output fails. Returns false if the child uses CPU time
 * without output. */
static bool copy(const struct child *c, bool *ret_cannot_print)
{
	struct pollfd p = {c->text, POLLIN, 0};
	uint64_t said_ns = 0;
	char bytes[64 << 10];

	for (;;) {
		int ready = poll(&p, 1, LOOK_MS);
		ssize_t n;

		if (!ready && processor_ns(c->pid) >= said_ns + SILENCE_NS)
			return false;
		if (ready <= 0)
			continue;
		n = read(c->text, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		*ret_cannot_print = put_out(bytes, (size_t)n) != 0;
		if (*ret_cannot_print)
			return true;
		said_ns = processor_ns(c->pid);
	}
}

/* Returns the child's error message, which is untrusted because a file may have compromised the
 * child. */
static struct hv_err *refusal(const struct report_apart *r, const struct child *c)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	char message[MESSAGE_MAX];
	ssize_t n = read(c->message, message, sizeof(message));

	hv_text_add_utf8(&shown, message, n > 0 ? (size_t)n : 0);
	hv_text_add(&shown, "");
	if (!shown.len_bytes)
		hv_text_printf(&shown, "%s: it cannot be read", r->path);
	return hv_err_new(EINVAL, "%s", shown.data);
}

static struct hv_err *result(const struct report_apart *r, const struct child *c, int status,
			     bool *ret_cannot_print)
{
	if (!WIFEXITED(status))
		return hv_err_new(EINVAL,
				  "%s: damaged or malicious: the process that read it died of "
				  "signal %d (%s); nothing else was affected",
				  r->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == CANNOT_PRINT)
		*ret_cannot_print = true;
	if (WEXITSTATUS(status) == SHOWN || WEXITSTATUS(status) == CANNOT_PRINT)
		return NULL;
	if (WEXITSTATUS(status) == REFUSED)
		return refusal(r, c);
	return hv_err_new(EINVAL,
			  "%s: damaged or malicious: the process that read it gave up (status %d); "
			  "nothing else was affected",
			  r->path, WEXITSTATUS(status));
}

struct hv_err *report_apart(const struct report_apart *r, bool *ret_cannot_print)
{
	hv_cleanup(child_close) struct child c = {.text = -1, .message = -1};
	struct hv_err *err = start(r, &c);
	bool has_ended;
	int status;

	/* the child runs as another user */
	if (!err)
		err = hv_capabilities_keep(HV_CAP(KILL));
	if (c.pid <= 0 || err)
		return err;
	has_ended = copy(&c, ret_cannot_print);
	if (!has_ended || *ret_cannot_print)
		kill(c.pid, SIGKILL);
	while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (*ret_cannot_print)
		return NULL;
	if (!has_ended)
		return hv_err_new(
			EINVAL,
			"%s: damaged or malicious: no event was found in a minute of CPU time",
			r->path);
	return result(r, &c, status, ret_cannot_print);
}
