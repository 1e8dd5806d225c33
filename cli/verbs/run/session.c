/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/run/session.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/service/config.h"
#include "kernel/early.h"
#include "kernel/kernel.h"
#include "vmm/minivm/minivm.h"
#include "vmm/broker/server.h"

/* -- in the service: waiting for the kernel --------------------------------------------------- */

/* Waits until the kernel of a machine of `hvtrace run` can be traced. Runs in the service's
 * unprivileged process, because it parses the guest's data. */

#define LOOK_FIRST_MS 100 /* delay before the first check for a kernel; doubles with each check */
#define LOOK_LAST_MS  1600
#define SILENT_NS     (30 * HV_NS_PER_S)

struct wait {
	struct hv_guest *guest;
	int end_fd;
	uint64_t silent_until_ns;
	struct hv_err *last; /* why the kernel could not be opened; owned */
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

static bool machine_has_ended(const struct wait *w, int wait_ms)
{
	struct pollfd fd = {w->end_fd, POLLIN, 0};

	return poll(&fd, 1, wait_ms) > 0;
}

static void keep_last(struct wait *w, struct hv_err *err)
{
	hv_err_free(w->last);
	w->last = err;
}

/* Reports once that the kernel is not up, after a delay. */
static void say_if_late(struct wait *w)
{
	HV_AUTO_FREE char *line = NULL;

	if (hv_now_ns() < w->silent_until_ns)
		return;
	w->silent_until_ns = UINT64_MAX;
	line = hv_format("domain '%s': its kernel is not up after %llu s; still waiting%s%s",
			 hv_guest_info(w->guest)->name,
			 (unsigned long long)(SILENT_NS / HV_NS_PER_S), w->last ? ": " : "",
			 w->last ? w->last->message : "");
	w->say(w->ctx, line);
}

/* Returns false if the machine ended first. */
static bool wait_for_kernel(struct wait *w)
{
	HV_AUTO_KERNEL struct hv_kernel *kernel = NULL;
	int look_ms = LOOK_FIRST_MS;

	while (!machine_has_ended(w, kernel ? LOOK_FIRST_MS : look_ms)) {
		if (kernel && hv_early_is_up(&kernel->core))
			return true;
		say_if_late(w);
		if (kernel || !hv_early_in_kernel(w->guest))
			continue;
		keep_last(w, hv_kernel_open(w->guest, NULL, NULL, &kernel));
		if (look_ms < LOOK_LAST_MS)
			look_ms *= 2;
	}
	return false;
}

static struct hv_err *run_to_ftrace(struct hv_guest *guest)
{
	struct hv_gva at;
	struct hv_err *err = hv_early_symbol(guest, "ftrace_init", &at);

	if (!err)
		err = hv_guest_run_to(guest, at);
	if (!err)
		err = hv_early_return(guest, &at);
	if (!err)
		err = hv_guest_run_to(guest, at);
	return err;
}

/* See struct service_machine. With from_boot, the machine is stopped where ftrace_init() has
 * returned; otherwise it runs, and its kernel has freed its init code. ECANCELED: the machine ended
 * first. */
static struct hv_err *run_until_up(struct hv_guest *guest, const struct service_machine *machine,
				   void (*say)(void *ctx, const char *line), void *ctx)
{
	struct wait w = {guest, machine->end_fd, hv_now_ns() + SILENT_NS, NULL, say, ctx};
	bool is_up;

	if (machine->from_boot)
		return run_to_ftrace(guest);
	is_up = wait_for_kernel(&w);
	if (!is_up && w.last)
		return w.last;
	hv_err_free(w.last);
	return is_up ? NULL : hv_err_new(ECANCELED, "the machine ended before its kernel was up");
}

/* -- in the VMM ------------------------------------------------------------------------------- */

#define LAST_NS	  (20 * HV_NS_PER_S) /* limit for waiting for the processes of an ended session */
#define LOOK_MS	  5
/* Limit for lines of the service before the session begins, because it parses the guest's data. */
#define LINES_MAX 100

struct run_session {
	struct hv_minivm *vm;
	const char *name;
	int socket;    /* to the broker */
	int client_fd; /* to the service */
	int up_fd;     /* closed when the machine has ended */
	struct service_child service;
	bool has_begun;
	unsigned nr_lines; /* lines received from the service */
	int status;	   /* exit status of the service */
};

/* Creates both ends of a connection. */
static struct hv_err *connect_ends(int flags, int ret[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) != 0)
		return hv_err_new(errno,
				  "cannot connect the machine to its session: socketpair: %s",
				  strerror(errno));
	if (flags && fcntl(ret[1], F_SETFL, flags) != 0)
		return hv_err_new(errno, "cannot connect the machine to its session: fcntl: %s",
				  strerror(errno));
	return NULL;
}

static void close_pair(int *ends)
{
	hv_close_at(&ends[0]);
	hv_close_at(&ends[1]);
}

struct hv_err *run_session_new(struct hv_minivm *o, const struct service_config *config,
			       unsigned from_boot, struct run_session **ret)
{
	struct run_session *s = hv_alloc(sizeof(*s));
	struct service_config in = *config;
	struct service_machine machine = {.until_up = run_until_up, .from_boot = from_boot};
	int asks[2] = {-1, -1}, client[2] = {-1, -1}, up[2] = {-1, -1};
	struct hv_err *err = connect_ends(0, asks);

	*s = (struct run_session){.vm = o, .name = config->spec, .service = SERVICE_CHILD_NONE};
	if (!err)
		err = connect_ends(O_NONBLOCK, client);
	if (!err)
		err = connect_ends(0, up);
	machine.socket = asks[1];
	machine.client_fd = client[1];
	machine.end_fd = up[1];
	in.machine = &machine;
	/* If the service dies, this process becomes the broker's parent. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!err)
		err = service_fork(&in, &s->service);
	if (err) {
		close_pair(asks);
		close_pair(client);
		close_pair(up);
		free(s);
		return err;
	}
	close(asks[1]);
	close(client[1]);
	close(up[1]);
	s->socket = asks[0];
	s->client_fd = client[0];
	s->up_fd = up[0];
	*ret = s;
	return NULL;
}

struct hv_err *run_session_enter_sandbox(struct run_session *s)
{
	return hv_minivm_sandbox_enter(s->socket, s->client_fd);
}

int run_session_take_client(struct run_session *s)
{
	return hv_take_fd(&s->client_fd);
}

/* The machine has ended; stops a service that waits for its kernel. */
static void machine_ended(struct run_session *s)
{
	hv_close_at(&s->up_fd);
	s->up_fd = -1;
}

/* Handles all available lines. */
static struct hv_err *hear(struct run_session *s, void (*ready)(void *ctx, const char *line),
			   void *ctx, void (*tell)(const char *line))
{
	bool has_more = true;

	while (has_more && !s->has_begun) {
		HV_AUTO_FREE char *line = NULL;
		struct hv_err *err = service_hear(&s->service, &line, &s->has_begun);

		if (line && s->nr_lines++ == LINES_MAX)
			err = hv_err_new(EPROTO, "the service sent too many reports");
		if (err)
			return err;
		has_more = line != NULL;
		if (s->has_begun)
			ready(ctx, line);
		else if (line)
			tell(line);
	}
	if (s->has_begun)
		service_child_close(&s->service);
	return NULL;
}

/* Returns false if there will be no more requests. */
static bool answer(struct run_session *s, struct hv_broker_server *server)
{
	HV_AUTO_MESSAGE struct hv_message question = {0};
	struct hv_err *err = hv_channel_receive(s->socket, &question);

	if (!err)
		err = hv_broker_server_answer(server, s->socket, &question);
	hv_err_free(err);
	return err == NULL;
}

/* Waits for the children. Returns false if some have not ended in time. */
static bool reap(struct run_session *s)
{
	uint64_t until_ns = hv_now_ns() + LAST_NS;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) >= 0 && hv_now_ns() < until_ns) {
		if (pid == s->service.pid)
			s->status = status;
		if (pid == 0)
			poll(NULL, 0, LOOK_MS);
	}
	return pid < 0;
}

static bool has_ended(const struct run_session *s)
{
	struct pollfd fd = {hv_minivm_end_fd(s->vm), POLLIN, 0};

	return poll(&fd, 1, 0) > 0;
}

/* Call it after the last request. */
static struct hv_err *how_it_ended(struct run_session *s)
{
	bool have_ended = reap(s);

	if (has_ended(s))
		return NULL;
	if (hv_minivm_is_patched(s->vm))
		return hv_err_new(ECHILD, "the session's broker was killed: the guest stays "
					  "patched until the machine ends");
	if (WIFSIGNALED(s->status))
		return hv_err_new(ECHILD, "the session's service was killed: its broker has put "
					  "everything back");
	return have_ended ? NULL
			  : hv_err_new(ETIME, "the session is over, but not all of its processes "
					      "have ended");
}

struct hv_err *run_session_serve(struct run_session *s, struct hv_guest *guest,
				 void (*ready)(void *ctx, const char *line), void *ctx,
				 void (*tell)(const char *line))
{
	struct hv_broker_server *server = hv_broker_server_new(guest, HV_ADOPTS_NOTHING);
	struct hv_err *err = NULL;
	bool goes_on = true;

	while (goes_on) {
		struct pollfd fds[3] = {
			{s->socket, POLLIN, 0},
			{s->service.report_fd, POLLIN, 0},
			{s->up_fd < 0 ? -1 : hv_minivm_end_fd(s->vm), POLLIN, 0},
		};

		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[2].revents)
			machine_ended(s);
		if (fds[1].revents && !err)
			err = hear(s, ready, ctx, tell);
		if (err)
			service_child_close(&s->service);
		if (fds[0].revents)
			goes_on = answer(s, server);
	}
	hv_broker_server_free(server);
	hv_guest_end_stop(guest);
	/* The service reports after its broker has exited. */
	while (!err && !s->has_begun)
		if (poll(&(struct pollfd){s->service.report_fd, POLLIN, 0}, 1, -1) > 0)
			err = hear(s, ready, ctx, tell);
	return err ? err : how_it_ended(s);
}

void run_session_free(struct run_session *s)
{
	if (!s)
		return;
	hv_close_at(&s->socket);
	hv_close_at(&s->client_fd);
	hv_close_at(&s->up_fd);
	service_child_close(&s->service);
	reap(s);
	free(s);
}
