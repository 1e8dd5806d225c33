#include "vmm/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/guard.h"

#define FAR_FD 1000 /* above all that is to be closed */

/* In the child. */
static _Noreturn void become(const struct hv_helper_kind *kind, int control, int service, void *ctx)
{
	int null = open("/dev/null", O_RDWR);
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
	if (chdir("/") < 0)
		_exit(1);
	control = fcntl(control, F_DUPFD_CLOEXEC, FAR_FD);
	service = fcntl(service, F_DUPFD_CLOEXEC, FAR_FD);
	for (int fd = 0; fd < HV_HELPER_CONTROL; fd++)
		dup2(null, fd);
	dup2(control, HV_HELPER_CONTROL);
	dup2(service, HV_HELPER_SERVICE);
	close_range(HV_HELPER_SERVICE + 1, ~0u, 0);
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
	*ret = (struct hv_helper){.pid = pid, .control = hv_take_fd(&ours)};
	return NULL;
}

void hv_helper_end(struct hv_helper *h, int wait_ms)
{
	HV_AUTO_FD int pidfd = -1;

	hv_close_at(&h->control);
	h->control = -1;
	if (h->pid <= 0)
		return;
	pidfd = pidfd_open(h->pid, 0);
	if (pidfd >= 0)
		poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, wait_ms);
	waitpid(h->pid, NULL, WNOHANG);
	h->pid = -1;
}

bool hv_helper_is_alive(const struct hv_helper *h)
{
	struct pollfd p = {.fd = h->control, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 0;
}
