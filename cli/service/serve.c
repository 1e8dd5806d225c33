/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/serve.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "cli/service/clients.h"
#include "cli/service/doors.h"
#include "cli/service/ending.h"
#include "cli/service/trail.h"
#include "cli/service/watch.h"
#include "kernel/cancel.h"
#include "tree/tree.h"

#define WAIT_NS (5 * HV_NS_PER_MS) /* how often a waiting read is tried again */

static int poll_timeout_ms(const struct service *s, const struct watch *w, uint64_t now_ns)
{
	uint64_t next = w->alive_ns;

	if (clients_have_request(s) || dumps_has_work(&s->dumps))
		return 0;
	if (s->state == SERVE_DETACHING && s->detach.retry.next_ns < next)
		next = s->detach.retry.next_ns;
	if (clients_wait(s) && now_ns + WAIT_NS < next)
		next = now_ns + WAIT_NS;
	if (s->state == SERVE_RUNS && hv_tree_drains(s->tree) && now_ns + HV_DRAIN_NS < next)
		next = now_ns + HV_DRAIN_NS;
	return next <= now_ns ? 0 : (int)((next - now_ns + HV_NS_PER_MS - 1) / HV_NS_PER_MS);
}

static void tick(struct service *s, struct watch *w)
{
	uint64_t now = hv_now_ns();

	watch_guest(s, w, now);
	if (s->state == SERVE_DONE)
		return;
	if (s->state == SERVE_RUNS) {
		hv_tree_drain(s->tree);
		limits_keep(s, now);
	}
	if (s->state == SERVE_RUNS)
		dumps_write(s);
	clients_retry(s, now);
	ending_try_detach(s, now);
}

static void reached_stop(struct service *s)
{
	if (s->tree)
		hv_tree_refresh(s->tree);
	else
		hv_session_refresh(s->session);
	/* The guest runs on after a stop, whatever the reason for the stop. */
	hv_guest_end_stop(s->guest);
}

static void take_signal(struct service *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	audit_log(&s->audit, "signal %u from pid %u: detaching", info.ssi_signo, info.ssi_pid);
	if (s->state == SERVE_RUNS) {
		ending_begin_detach(s, NULL);
		s->detach.who = doors_actor(s, info.ssi_uid, (pid_t)info.ssi_pid);
	}
	s->detach.must_end = true;
}

enum { POLL_GUEST, POLL_SIGNAL, POLL_LISTEN, POLL_STOP, POLL_WARDEN, POLL_PEERS };

static void serve_once(struct service *s, struct watch *w)
{
	struct pollfd fds[POLL_PEERS + SERVE_PEERS_MAX + SERVE_PEERS_EXTRA] = {
		[POLL_GUEST] = {hv_guest_exit_fd(s->guest), POLLIN, 0},
		[POLL_SIGNAL] = {s->signal_fd, POLLIN, 0},
		[POLL_LISTEN] = {s->listen_fd, POLLIN, 0},
		[POLL_STOP] = {hv_guest_stop_fd(s->guest), POLLIN, 0},
		[POLL_WARDEN] = {s->warden.control, POLLRDHUP, 0},
	};
	size_t nr = s->nr_peers;

	for (size_t i = 0; i < nr; i++)
		fds[POLL_PEERS + i] = (struct pollfd){s->peers[i]->fd, peer_events(s->peers[i]), 0};
	if (poll(fds, POLL_PEERS + nr, poll_timeout_ms(s, w, hv_now_ns())) < 0)
		return;
	if (fds[POLL_GUEST].revents) {
		ending_because(s, hv_err_new(ECONNRESET, "has ended"));
		return;
	}
	if (fds[POLL_WARDEN].revents) {
		ending_because(s, hv_err_mark(hv_err_new(EPIPE, "its process with root's rights "
								"was killed"),
					      HV_ERR_NEEDS_RECOVERY));
		return;
	}
	if (fds[POLL_STOP].revents)
		reached_stop(s);
	if (fds[POLL_SIGNAL].revents)
		take_signal(s);
	for (size_t i = 0; i < nr && s->state != SERVE_DONE; i++)
		clients_serve(s, s->peers[i], fds[POLL_PEERS + i].revents);
	if (fds[POLL_LISTEN].revents)
		clients_accept(s);
	clients_drop_gone(s);
	if (s->state != SERVE_DONE)
		tick(s, w);
	if (s->state != SERVE_DONE)
		trail_holds(s, NULL);
}

/* While the session runs, modules are read anew now and then. */
static bool is_asked_to_stop(void *ctx)
{
	const struct service *s = ctx;
	struct pollfd fd = {s->signal_fd, POLLIN, 0};

	return s->state == SERVE_RUNS && poll(&fd, 1, 0) > 0;
}

void serve(struct service *s)
{
	struct watch w = {0};

	hv_cancel_when(is_asked_to_stop, s);
	while (s->state != SERVE_DONE)
		serve_once(s, &w);
	hv_cancel_when(NULL, NULL);
	ending_finish(s);
}
