/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/recovery.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "cli/retry.h"
#include "kernel/kernel.h"
#include "tracer/session.h"
#include "vmm/warden/channel.h"
#include "vmm/warden/far.h"
#include "vmm/warden/near.h"
#include "vmm/warden/sandbox.h"

#define CHILD_NS (300 * HV_NS_PER_S)

/* What the child says beside its questions about the guest. */
enum {
	RECOVERY_WAITS = 512, /* a line */
	RECOVERY_ENDS, /* whether changes were found, error's code, facts, where its reason is;
			  the report and the error's message, each with its NUL */
};

/* The child: without rights. */

static struct hv_err *recover_once(struct hv_guest *guest, struct recovery *r)
{
	HV_AUTO_KERNEL struct hv_kernel *kernel = NULL;
	bool was_stopped;
	struct hv_err *err = hv_guest_let_run(guest, &was_stopped);

	if (!err && was_stopped)
		hv_text_add(&r->report, "the guest was still stopped by a hold: it runs again\n");
	if (!err)
		err = hv_guest_refusal(guest);
	if (!err)
		err = hv_kernel_open_core(guest, &kernel);
	if (!err)
		err = hv_session_recover(guest, kernel, &r->report, &r->found);
	return err;
}

static void say_what_is_waited_for(int socket, const struct hv_guest *guest,
				   const struct hv_err *why)
{
	HV_AUTO_FREE char *line = hv_format("domain '%s': recover waits: %s",
					    hv_guest_info(guest)->name, why->message);
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	hv_err_free(hv_channel_ask(socket,
				   &(struct hv_message){.kind = RECOVERY_WAITS,
							.bytes = (uint8_t *)line,
							.len_bytes = strlen(line)},
				   &answer));
}

/* Says why it waits, again if the reason changes. */
static struct hv_err *recover(int socket, struct hv_guest *guest, struct recovery *r)
{
	uint64_t until_ns = hv_now_ns() + RETRY_FOR_NS;
	struct hv_err *err = recover_once(guest, r);
	int said = 0;

	for (uint64_t delay_ns = RETRY_FIRST_NS;
	     err && retry_may_succeed(err) && hv_now_ns() < until_ns;
	     delay_ns = retry_next_ns(delay_ns)) {
		struct recovery more = {0};

		if (err->code != said)
			say_what_is_waited_for(socket, guest, err);
		said = err->code;
		hv_err_free(err);
		poll(NULL, 0, (int)(delay_ns / 1000000));
		err = recover_once(guest, &more);
		if ((!err || !retry_may_succeed(err)) && more.report.data)
			hv_text_add(&r->report, more.report.data);
		r->found |= more.found;
		hv_text_deinit(&more.report);
	}
	return err;
}

static struct hv_err *recover_without_rights(int socket, struct recovery *r)
{
	HV_AUTO_GUEST struct hv_guest *guest = NULL;
	struct hv_err *err = hv_near_guest(socket, &guest);

	if (!err)
		err = hv_sandbox_enter(socket, hv_near_windows(guest));
	return err ? err : recover(socket, guest, r);
}

/* The child must not have what its parent reaches the guest and libvirt by. Returns the socket. */
static int keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR);
	struct hv_err *err = hv_sandbox_keep(&socket);

	if (err || null < 0)
		_exit(1);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
	close_range((unsigned)socket + 1, ~0u, 0);
	return socket;
}

static _Noreturn void run_child(int socket)
{
	struct recovery r = {0};
	struct hv_message end = {.kind = RECOVERY_ENDS};
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err;

	socket = keep_only(socket);
	prctl(PR_SET_NAME, "hvtrace:recover");
	err = recover_without_rights(socket, &r);
	end.args[0] = r.found;
	hv_text_add_bytes(&text, r.report.data ? r.report.data : "", r.report.len_bytes);
	hv_text_add_bytes(&text, "", 1);
	if (err) {
		end.args[1] = (uint64_t)err->code;
		end.args[2] = err->facts;
		end.args[3] = (uint64_t)(err->reason - err->message);
		hv_text_add_bytes(&text, err->message, strlen(err->message) + 1);
	}
	end.bytes = (uint8_t *)text.data;
	end.len_bytes = text.len_bytes;
	hv_err_free(hv_channel_send(socket, &end));
	_exit(0);
}

/* This process: with rights. */

/* The child may say what the guest wants. */
static void add_lines(struct hv_text *to, const char *lines)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		hv_text_add_guest(to, lines, len);
		hv_text_add(to, "\n");
		lines += len + (lines[len] == '\n');
	}
}

static struct hv_err *take_end(const struct hv_message *m, struct recovery *r)
{
	const char *report = (const char *)m->bytes;
	size_t len = strlen(report);
	struct hv_err *err;

	add_lines(&r->report, report);
	r->found |= m->args[0] != 0;
	if (!m->args[1])
		return NULL;
	err = hv_err_new((int)m->args[1], "%s", len < m->len_bytes ? report + len + 1 : "");
	err->facts = (unsigned)m->args[2];
	if (m->args[3] <= strlen(err->message))
		err->reason = err->message + m->args[3];
	return err;
}

static struct hv_err *serve_child(struct hv_far *far, int socket, struct recovery *r,
				  void (*say)(void *ctx, const char *line), void *ctx)
{
	uint64_t deadline_ns = hv_now_ns() + CHILD_NS;
	struct hv_err *err = NULL;

	while (!err && poll(&(struct pollfd){socket, POLLIN, 0}, 1, hv_left_ms(deadline_ns)) > 0) {
		HV_AUTO_MESSAGE struct hv_message m = {0};

		err = hv_channel_receive(socket, &m);
		if (!err && m.kind == RECOVERY_ENDS)
			return take_end(&m, r);
		if (!err && m.kind != RECOVERY_WAITS) {
			err = hv_far_answer(far, socket, &m);
			continue;
		}
		if (!err && say) {
			HV_AUTO_TEXT struct hv_text line = {0};

			hv_text_add_guest(&line, (const char *)m.bytes, m.len_bytes);
			say(ctx, line.data ? line.data : "");
		}
		if (!err)
			err = hv_channel_answer(socket, NULL, &(struct hv_message){0});
	}
	hv_err_free(err);
	return hv_err_new(ECHILD, "the process that recovers has died");
}

struct hv_err *recovery_run(struct hv_guest *guest, struct hv_far *known, struct recovery *r,
			    void (*say)(void *ctx, const char *line), void *ctx)
{
	HV_AUTO_FD int ours = -1;
	struct hv_far *far;
	struct hv_err *err;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return hv_err_new(errno, "socketpair: %s", strerror(errno));
	ours = ends[0];
	pid = fork();
	if (pid == 0)
		run_child(ends[1]);
	close(ends[1]);
	if (pid < 0)
		return hv_err_new(errno, "fork: %s", strerror(errno));
	far = known ? known : hv_far_new(guest, true);
	hv_far_renew(far); /* what is held, ends */
	err = serve_child(far, ours, r, say, ctx);
	if (!known)
		hv_far_free(far);
	kill(pid, SIGKILL); /* it has nothing to do any more */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}
