#include "vmm/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "vmm/clock.h"
#include "vmm/guardian_wire.h"

/* The guardian bounds what it does itself; this is for one that does not answer at all. */
#define ANSWER_NS (20 * HV_NS_PER_S)
#define END_NS	  (2 * HV_NS_PER_S)

struct hv_guardian {
	pid_t pid;
	int control;
};

pid_t hv_guardian_pid(const struct hv_guardian *g)
{
	return g->pid;
}

bool hv_guardian_is_alive(const struct hv_guardian *g)
{
	struct pollfd p = {.fd = g->control, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 0;
}

/* In the child: a process of its own session that no signal for the service reaches, holding
 * nothing but its two ends. */
static _Noreturn void become_guardian(int control, int service)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setsid();
	prctl(PR_SET_NAME, "hvtrace-guard");
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir("/") < 0)
		_exit(1);
	control = fcntl(control, F_DUPFD_CLOEXEC, 1000);
	service = fcntl(service, F_DUPFD_CLOEXEC, 1000);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(control, 3);
	dup2(service, 4);
	close_range(5, ~0u, 0);
	guardian_run(3, 4);
}

static struct hv_err *fork_guardian(struct hv_guardian *g)
{
	HV_AUTO_FD int ours = -1;
	HV_AUTO_FD int its = -1;
	HV_AUTO_FD int service = pidfd_open(getpid(), 0);
	int ends[2];

	if (service < 0)
		return hv_err_new(errno, "guardian: pidfd: %s", strerror(errno));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return hv_err_new(errno, "guardian: socketpair: %s", strerror(errno));
	ours = ends[0];
	its = ends[1];
	g->pid = fork();
	if (g->pid < 0)
		return hv_err_new(errno, "guardian: fork: %s", strerror(errno));
	if (g->pid == 0)
		become_guardian(its, service);
	g->control = hv_take_fd(&ours);
	return NULL;
}

static struct hv_err *lost(void)
{
	return hv_err_new(EPIPE, "guardian: it has died");
}

static struct hv_err *send_all(struct hv_guardian *g, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t nr = send(g->control, at, len, MSG_NOSIGNAL);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return lost();
		at += nr;
		len -= (size_t)nr;
	}
	return NULL;
}

static struct hv_err *receive_all(struct hv_guardian *g, void *bytes, size_t len,
				  uint64_t deadline_ns)
{
	char *at = bytes;

	while (len) {
		struct pollfd p = {.fd = g->control, .events = POLLIN};
		int ready = poll(&p, 1, hv_left_ms(deadline_ns));
		ssize_t nr;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return hv_err_new(ETIME, "guardian: no answer");
		nr = recv(g->control, at, len, 0);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return lost();
		at += nr;
		len -= (size_t)nr;
	}
	return NULL;
}

static struct hv_err *receive_reply(struct hv_guardian *g, struct guardian_reply *ret,
				    char **ret_bytes)
{
	uint64_t deadline_ns = hv_now_ns() + ANSWER_NS;
	struct hv_err *err = receive_all(g, ret, sizeof(*ret), deadline_ns);

	if (err)
		return err;
	if (ret->len_bytes > GUARDIAN_BYTES_MAX)
		return hv_err_new(EPROTO, "guardian: %u bytes of answers", ret->len_bytes);
	*ret_bytes = hv_alloc((size_t)ret->len_bytes + 1);
	return receive_all(g, *ret_bytes, ret->len_bytes, deadline_ns);
}

static struct hv_err *call(struct hv_guardian *g, enum guardian_op op, uint64_t arg,
			   const struct hv_packets *strings, struct hv_packets *answers,
			   uint64_t *ret_ns)
{
	struct guardian_request request = {
		.op = op,
		.nr = strings ? (uint32_t)strings->nr : 0,
		.len_bytes = strings ? (uint32_t)strings->bytes.len_bytes : 0,
		.arg = arg,
	};
	HV_AUTO_FREE char *bytes = NULL;
	struct guardian_reply reply;
	struct hv_err *err = send_all(g, &request, sizeof(request));

	if (!err && strings)
		err = send_all(g, strings->bytes.data, strings->bytes.len_bytes);
	if (!err)
		err = receive_reply(g, &reply, &bytes);
	if (err)
		return err;
	if (ret_ns)
		*ret_ns = reply.held_ns;
	if (reply.code)
		return hv_err_new(reply.code, "%s", bytes);
	if (answers) {
		hv_text_add_bytes(&answers->bytes, bytes, reply.len_bytes);
		answers->nr += reply.nr;
	}
	return NULL;
}

struct hv_err *hv_guardian_start(const char *socket_path, struct hv_guardian **ret)
{
	struct hv_guardian *g = hv_alloc(sizeof(*g));
	HV_AUTO_PACKETS struct hv_packets path = {0};
	struct hv_err *err;

	g->pid = -1;
	g->control = -1;
	hv_packets_add(&path, socket_path);
	err = fork_guardian(g);
	if (!err)
		err = call(g, GUARDIAN_OPEN, 0, &path, NULL, NULL);
	if (err) {
		hv_guardian_free(g);
		return err;
	}
	*ret = g;
	return NULL;
}

struct hv_err *hv_guardian_hold(struct hv_guardian *g, uint64_t max_ns)
{
	return call(g, GUARDIAN_HOLD, max_ns, NULL, NULL, NULL);
}

struct hv_err *hv_guardian_exchange(struct hv_guardian *g, const struct hv_packets *packets,
				    struct hv_packets *answers)
{
	return call(g, GUARDIAN_EXCHANGE, 0, packets, answers, NULL);
}

struct hv_err *hv_guardian_release(struct hv_guardian *g, uint64_t *ret_ns)
{
	return call(g, GUARDIAN_RELEASE, 0, NULL, NULL, ret_ns);
}

void hv_guardian_free(struct hv_guardian *g)
{
	HV_AUTO_FD int pidfd = -1;

	if (!g)
		return;
	hv_close_at(&g->control);
	if (g->pid > 0) {
		pidfd = pidfd_open(g->pid, 0);
		if (pidfd >= 0)
			poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1,
			     (int)(END_NS / HV_NS_PER_MS));
		/* one that still waits for the VMM is needed; it ends by itself */
		waitpid(g->pid, NULL, WNOHANG);
	}
	free(g);
}
