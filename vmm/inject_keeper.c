#include "vmm/inject_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "vmm/clock.h"
#include "vmm/inject_keeper_run.h"

/* The keeper bounds what it does itself; this is for one that does not answer at all. */
#define ANSWER_MS 20000
#define END_MS	  2000

struct hv_keeper {
	pid_t pid;
	int control;
};

/* In the child: a process of its own session that no signal for the service reaches, holding
 * nothing but its two ends. */
static _Noreturn void become_keeper(int control, int service, pid_t vmm,
				    const struct hv_call_code *code)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setsid();
	prctl(PR_SET_NAME, "hvtrace-keep");
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
	keeper_run(3, 4, vmm, code);
}

struct hv_err *hv_keeper_start(pid_t pid, const struct hv_call_code *code, struct hv_keeper **ret)
{
	HV_AUTO_FD int ours = -1;
	HV_AUTO_FD int its = -1;
	HV_AUTO_FD int service = pidfd_open(getpid(), 0);
	struct hv_keeper *k;
	int ends[2];
	pid_t child;

	if (service < 0)
		return hv_err_new(errno, "keeper: pidfd: %s", strerror(errno));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return hv_err_new(errno, "keeper: socketpair: %s", strerror(errno));
	ours = ends[0];
	its = ends[1];
	child = fork();
	if (child < 0)
		return hv_err_new(errno, "keeper: fork: %s", strerror(errno));
	if (child == 0)
		become_keeper(its, service, pid, code);
	k = hv_alloc(sizeof(*k));
	k->pid = child;
	k->control = hv_take_fd(&ours);
	*ret = k;
	return NULL;
}

void hv_keeper_free(struct hv_keeper *k)
{
	HV_AUTO_FD int pidfd = -1;

	if (!k)
		return;
	hv_close_at(&k->control);
	pidfd = pidfd_open(k->pid, 0);
	if (pidfd >= 0)
		poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, END_MS);
	waitpid(k->pid, NULL, WNOHANG);
	free(k);
}

bool hv_keeper_is_alive(const struct hv_keeper *k)
{
	struct pollfd p = {.fd = k->control, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 0;
}

pid_t hv_keeper_pid(const struct hv_keeper *k)
{
	return k->pid;
}

static struct hv_err *ask(struct hv_keeper *k, struct keeper_message *m)
{
	struct pollfd p = {.fd = k->control, .events = POLLIN};
	ssize_t nr = send(k->control, m, sizeof(*m), MSG_NOSIGNAL);
	int ready;

	if (nr != (ssize_t)sizeof(*m))
		return hv_err_new(EPIPE, "keeper: it has died");
	do
		ready = poll(&p, 1, ANSWER_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0) {
		/* A late answer would be taken for that to the next request. */
		shutdown(k->control, SHUT_RDWR);
		return hv_err_new(ETIME, "keeper: no answer");
	}
	nr = recv(k->control, m, sizeof(*m), 0);
	if (nr != (ssize_t)sizeof(*m)) {
		shutdown(k->control, SHUT_RDWR);
		return hv_err_new(EPIPE, "keeper: it has died");
	}
	m->text[sizeof(m->text) - 1] = '\0';
	return m->code ? hv_err_new(m->code, "%s", m->text) : NULL;
}

struct hv_err *hv_keeper_hold(struct hv_keeper *k, const pid_t *tids, size_t nr, uint64_t max_ns,
			      bool *ret_all_in_run)
{
	HV_AUTO_FREE struct keeper_message *m = hv_alloc(sizeof(*m));
	struct hv_err *err;

	if (nr > HV_KEEPER_THREADS_MAX)
		return hv_err_new(E2BIG, "keeper: %zu threads", nr);
	m->op = KEEPER_HOLD;
	m->ns = max_ns;
	m->nr = (uint32_t)nr;
	memcpy(m->tids, tids, nr * sizeof(*tids));
	err = ask(k, m);
	*ret_all_in_run = !err && m->all_in_run;
	return err;
}

struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes)
{
	HV_AUTO_FREE struct keeper_message *m = hv_alloc(sizeof(*m));
	struct hv_err *err;

	if (nr > HV_KEEPER_CALLS_MAX || len_bytes > HV_CALL_DATA_MAX)
		return hv_err_new(E2BIG, "keeper: %zu calls, %zu bytes", nr, len_bytes);
	m->op = KEEPER_CALLS;
	m->nr = (uint32_t)nr;
	m->len_bytes = (uint32_t)len_bytes;
	memcpy(m->calls, calls, nr * sizeof(*calls));
	if (len_bytes)
		memcpy(m->data, data, len_bytes);
	err = ask(k, m);
	if (err)
		return err;
	memcpy(calls, m->calls, nr * sizeof(*calls));
	if (len_bytes)
		memcpy(data, m->data, len_bytes);
	return NULL;
}

struct hv_err *hv_keeper_release(struct hv_keeper *k, uint64_t *ret_ns)
{
	HV_AUTO_FREE struct keeper_message *m = hv_alloc(sizeof(*m));
	struct hv_err *err;

	m->op = KEEPER_RELEASE;
	err = ask(k, m);
	if (ret_ns && (!err || err->code == ETIMEDOUT))
		*ret_ns = m->ns;
	return err;
}
