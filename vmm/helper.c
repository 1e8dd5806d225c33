/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "base/guard.h"

#define FAR_FD	 1000 /* higher than any descriptor that the child closes */
#define END_MS	 2000
/* Timeout of one poll(2). If it returns more than LATE_NS after that, this process could not run.
 */
#define SLICE_MS 500
#define LATE_NS	 (HV_NS_PER_S / 2)

uint64_t hv_helper_answer_ns = 20 * HV_NS_PER_S;

/* Runs in the child. */
static _Noreturn void become(const struct hv_helper_kind *kind, int control, int service, void *ctx)
{
	HV_AUTO_ERR struct hv_err *err = hv_capabilities_keep(kind->needs);
	int null = open("/dev/null", O_RDWR);
	int other = -1;
	sigset_t none;

	setsid();
	prctl(PR_SET_NAME, kind->comm);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (err || chdir("/") < 0)
		_exit(1);
	control = fcntl(control, F_DUPFD_CLOEXEC, FAR_FD);
	service = fcntl(service, F_DUPFD_CLOEXEC, FAR_FD);
	if (kind->other_fd > 0)
		other = fcntl(kind->other_fd, F_DUPFD_CLOEXEC, FAR_FD);
	for (int fd = 0; fd < HV_HELPER_CONTROL; fd++)
		dup2(null, fd);
	dup2(control, HV_HELPER_CONTROL);
	dup2(service, HV_HELPER_SERVICE);
	if (other >= 0)
		dup2(other, HV_HELPER_OTHER);
	close_range(other >= 0 ? HV_HELPER_OTHER + 1 : HV_HELPER_OTHER, ~0u, 0);
	kind->run(ctx);
	_exit(0);
}

struct hv_err *hv_helper_start(const struct hv_helper_kind *kind, void *ctx, struct hv_helper *ret)
{
	HV_AUTO_FD int ours = -1;
	HV_AUTO_FD int its = -1;
	HV_AUTO_FD int service = pidfd_open(getpid(), 0);
	int ends[2];
	pid_t pid;

	if (service < 0)
		return hv_err_new(errno, "%s: pidfd: %s", kind->noun, strerror(errno));
	if (socketpair(AF_UNIX, kind->socket_type | SOCK_CLOEXEC, 0, ends) < 0)
		return hv_err_new(errno, "%s: socketpair: %s", kind->noun, strerror(errno));
	ours = ends[0];
	its = ends[1];
	pid = fork();
	if (pid < 0)
		return hv_err_new(errno, "%s: fork: %s", kind->noun, strerror(errno));
	if (pid == 0)
		become(kind, its, service, ctx);
	*ret = (struct hv_helper){.kind = kind, .pid = pid, .control = hv_take_fd(&ours)};
	return NULL;
}

void hv_helper_end(struct hv_helper *h)
{
	HV_AUTO_FD int pidfd = -1;

	hv_close_at(&h->control);
	h->control = -1;
	if (h->pid <= 0)
		return;
	pidfd = pidfd_open(h->pid, 0);
	if (pidfd >= 0)
		poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, END_MS);
	waitpid(h->pid, NULL, WNOHANG);
	h->pid = -1;
}

bool hv_helper_is_alive(const struct hv_helper *h)
{
	struct pollfd p = {.fd = h->control, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 0;
}

static struct hv_err *lost(const struct hv_helper *h)
{
	shutdown(h->control, SHUT_RDWR);
	return hv_err_new(EPIPE, "%s: it has ended", h->kind->noun);
}

/* Waits until the connection is ready for EVENTS, or until DEADLINE_NS. If the machine is paused or
 * too busy to run this process, it does not run the helper either, so the delay extends the
 * deadline. Returns like poll(2). */
static int wait_for(const struct hv_helper *h, short events, uint64_t *deadline_ns)
{
	struct pollfd p = {.fd = h->control, .events = events};

	for (;;) {
		uint64_t from_ns = hv_now_ns(), late_ns;
		int left_ms = hv_left_ms(*deadline_ns);
		int ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
		int ready = poll(&p, 1, ms);

		if (ready)
			return ready;
		late_ns = hv_now_ns() - from_ns - (uint64_t)ms * HV_NS_PER_MS;
		if (late_ns > LATE_NS)
			*deadline_ns += late_ns;
		else if (ms == left_ms)
			return 0;
	}
}

static struct hv_err *given_up(const struct hv_helper *h, const char *why)
{
	shutdown(h->control, SHUT_RDWR);
	return hv_err_new(ETIME, "%s: %s", h->kind->noun, why);
}

struct hv_err *hv_helper_send(const struct hv_helper *h, const void *bytes, size_t len_bytes)
{
	uint64_t deadline_ns = hv_now_ns() + hv_helper_answer_ns;
	const char *at = bytes;

	while (len_bytes) {
		ssize_t nr = send(h->control, at, len_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (nr > 0) {
			at += nr;
			len_bytes -= (size_t)nr;
			continue;
		}
		if (nr == 0 || (errno != EAGAIN && errno != EINTR))
			return lost(h);
		if (wait_for(h, POLLOUT, &deadline_ns) == 0)
			return given_up(h, "it does not read");
	}
	return NULL;
}

struct hv_err *hv_helper_receive(const struct hv_helper *h, void *bytes, size_t len_bytes,
				 uint64_t deadline_ns)
{
	char *at = bytes;

	while (len_bytes) {
		int ready = wait_for(h, POLLIN, &deadline_ns);
		ssize_t nr;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return given_up(h, "no answer");
		nr = recv(h->control, at, len_bytes, 0);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return lost(h);
		at += nr;
		len_bytes -= (size_t)nr;
	}
	return NULL;
}

struct hv_helper_wake hv_helper_wait(int other_fd, uint64_t deadline_ns)
{
	struct pollfd p[] = {
		{.fd = HV_HELPER_CONTROL, .events = POLLIN},
		{.fd = HV_HELPER_SERVICE, .events = POLLIN},
		{.fd = other_fd, .events = POLLIN},
	};

	if (poll(p, 3, deadline_ns == UINT64_MAX ? -1 : hv_left_ms(deadline_ns)) < 0)
		return (struct hv_helper_wake){.is_alone = errno != EINTR};
	return (struct hv_helper_wake){p[0].revents != 0, p[1].revents != 0, p[2].revents != 0};
}
