/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/serve.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "cli/service/host_client.h"
#include "cli/service/ending.h"
#include "cli/service/files.h"
#include "cli/service/requests.h"
#include "cli/service/trail.h"
#include "cli/service/watch.h"
#include "base/cancel.h"
#include "tree/tree.h"

#define WAIT_NS	   (5 * HV_NS_PER_MS) /* retry interval of waiting reads */
#define RELEASE_NS HV_NS_PER_MS	      /* between two steps that release memory */

/* -- clients ---------------------------------------------------------------------------------- */

/* Unmounts the mount of a process that died. Every access to it would fail. */
static void unmount_of(struct service *s, const struct peer *p)
{
	if (!p->mount_dir)
		return;
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i] != p && s->peers[i]->mount_dir &&
		    strcmp(s->peers[i]->mount_dir, p->mount_dir) == 0)
			return;
	host_umount(s, p->mount_dir);
}

static size_t nr_regular_peers(const struct service *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_peers; i++)
		nr += !s->peers[i]->is_extra;
	return nr;
}

/* Turns clients above the limit into regular clients when others have disconnected. */
static void admit_extra_peers(struct service *s)
{
	size_t nr = nr_regular_peers(s);

	for (size_t i = 0; i < s->nr_peers && nr < SERVE_PEERS_MAX; i++) {
		nr += s->peers[i]->is_extra;
		s->peers[i]->is_extra = false;
	}
}

static void drop_peer(struct service *s, size_t index)
{
	struct peer *p = s->peers[index];
	bool owner = p->owns_session;

	s->peers[index] = s->peers[--s->nr_peers];
	admit_extra_peers(s);
	unmount_of(s, p);
	if (s->state == SERVE_RUNS) {
		files_abandon_all(p);
		made_things_orphan(s, p);
	}
	if (s->detach.peer == p)
		s->detach.peer = NULL;
	peer_free(p);
	if (owner && s->state == SERVE_RUNS) {
		audit_log(&s->audit, "the client that owned this session has gone");
		ending_begin_detach(s, NULL);
	}
}

/* Drops disconnected clients with their files and mounts. */
static void clients_drop_gone(struct service *s)
{
	for (size_t i = s->nr_peers; i-- > 0;)
		if (s->peers[i]->gone)
			drop_peer(s, i);
}

/* Whether P has an unanswered request. Clients that hung up do not count. */
static bool asks(const struct peer *p)
{
	char byte;

	return !p->gone && (p->in.len_bytes || peer_has_output(p) ||
			    recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0);
}

/* Drops the oldest client above the limit that does not wait for a detach, preferably one without a
 * pending request. */
static void drop_an_extra_peer(struct service *s)
{
	size_t found = s->nr_peers;
	bool found_asks = true;

	for (size_t i = 0; i < s->nr_peers; i++) {
		const struct peer *p = s->peers[i];
		bool p_asks;

		if (!p->is_extra || s->detach.peer == p)
			continue;
		p_asks = asks(p);
		if (found < s->nr_peers &&
		    (p_asks > found_asks ||
		     (p_asks == found_asks && p->number > s->peers[found]->number)))
			continue;
		found = i;
		found_asks = p_asks;
	}
	if (found < s->nr_peers)
		drop_peer(s, found);
}

static void admit(struct service *s, struct peer *p)
{
	if (!p)
		return;
	/* Looks up the process now: if the client is a mount process, a later read of /proc could
	 * deadlock with it. */
	p->who = host_actor(s, p->cred.uid, p->cred.pid);
	if (!access_admits(s, p)) {
		peer_free(p);
		return;
	}
	if (s->nr_peers == HV_ARRAY_LEN(s->peers))
		drop_an_extra_peer(s);
	p->is_extra = nr_regular_peers(s) >= SERVE_PEERS_MAX;
	p->number = s->nr_admitted++;
	s->peers[s->nr_peers++] = p;
}

/* Accepts a connection if access.h admits it, even above the limit, because the client may want to
 * detach. */
static void clients_accept(struct service *s)
{
	admit(s, peer_accept(s->listen_fd));
}

void clients_adopt(struct service *s, int fd)
{
	admit(s, peer_of(fd));
}

/* EVENTS are from poll(2). Handles at most one request. */
static void clients_serve(struct service *s, struct peer *p, short events)
{
	struct wire_frame frame;
	size_t used;

	if (events & POLLOUT)
		peer_send(p);
	if (events & POLLIN)
		peer_receive(p);
	/* A client that closes its end while it waits for an answer has died or was interrupted. */
	if (events & (POLLHUP | POLLERR | POLLRDHUP))
		p->gone = true;
	if (s->detach.peer == p || !peer_next(p, &frame, &used))
		return;
	request_handle(s, p, &frame);
	peer_next_done(p, used);
}

/* Returns whether a received request is not handled yet. */
static bool clients_have_request(const struct service *s)
{
	struct wire_frame frame;
	size_t used;

	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i] != s->detach.peer && peer_next(s->peers[i], &frame, &used))
			return true;
	return false;
}

/* Returns whether a request waits for data; clients_retry() retries it. */
static bool clients_wait(const struct service *s)
{
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i]->nr_waits)
			return true;
	return false;
}

static void clients_retry(struct service *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->nr_peers; i++)
		files_retry(s, s->peers[i], now_ns);
}

/* -- the loop --------------------------------------------------------------------------------- */

static int poll_timeout_ms(const struct service *s, const struct watch *w, uint64_t now_ns)
{
	uint64_t next = watch_next_ns(s, w);

	if (clients_have_request(s) || dumps_has_work(&s->dumps))
		return 0;
	if (s->state == SERVE_RUNS && w->releases && now_ns + RELEASE_NS < next)
		next = now_ns + RELEASE_NS;
	if (s->state == SERVE_DETACHING && s->detach.retry.next_ns < next)
		next = s->detach.retry.next_ns;
	if (clients_wait(s) && now_ns + WAIT_NS < next)
		next = now_ns + WAIT_NS;
	if (s->state == SERVE_RUNS && hv_tree_drains(s->tree) && now_ns + HV_DRAIN_NS < next)
		next = now_ns + HV_DRAIN_NS;
	if (s->state == SERVE_RUNS && hv_session_is_followed(s->session) &&
	    now_ns + HV_REJOIN_NS < next)
		next = now_ns + HV_REJOIN_NS;
	return next <= now_ns ? 0 : (int)((next - now_ns + HV_NS_PER_MS - 1) / HV_NS_PER_MS);
}

static void tick(struct service *s, struct watch *w)
{
	uint64_t now = hv_now_ns();

	watch_release_memory(s, w);
	if (s->state == SERVE_RUNS) {
		hv_tree_drain(s->tree);
		hv_tree_rejoin(s->tree);
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
	/* The guest stays stopped until this call. */
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
		s->detach.who = host_actor(s, info.ssi_uid, (pid_t)info.ssi_pid);
	}
	s->detach.must_end = true;
}

enum { POLL_GUEST, POLL_SIGNAL, POLL_LISTEN, POLL_STOP, POLL_BROKER, POLL_PEERS };

static void serve_once(struct service *s, struct watch *w)
{
	struct pollfd fds[POLL_PEERS + SERVE_PEERS_MAX + SERVE_PEERS_EXTRA] = {
		[POLL_GUEST] = {hv_guest_exit_fd(s->guest), POLLIN, 0},
		[POLL_SIGNAL] = {s->signal_fd, POLLIN, 0},
		[POLL_LISTEN] = {s->listen_fd, POLLIN, 0},
		[POLL_STOP] = {hv_guest_stop_fd(s->guest), POLLIN, 0},
		[POLL_BROKER] = {s->broker.control, POLLRDHUP, 0},
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
	if (fds[POLL_BROKER].revents) {
		ending_because(s,
			       hv_err_mark(hv_err_new(EPIPE, "its privileged process was killed"),
					   HV_ERR_NEEDS_RECOVERY));
		return;
	}
	if (fds[POLL_STOP].revents)
		reached_stop(s);
	if (fds[POLL_SIGNAL].revents)
		take_signal(s);
	if (s->state != SERVE_DONE)
		watch_guest(s, w, hv_now_ns());
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

/* Cancels reading the guest's modules again when a signal asks the service to end. */
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
