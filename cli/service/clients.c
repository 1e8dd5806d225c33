/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/clients.h"

#include <string.h>
#include <sys/socket.h>

#include "cli/service/doors.h"
#include "cli/service/ending.h"
#include "cli/service/files.h"
#include "cli/service/requests.h"

/* Unmounts a mount whose process died without unmounting. It would give everybody errors. */
static void unmount_of(struct service *s, const struct peer *p)
{
	if (!p->mount_dir)
		return;
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i] != p && s->peers[i]->mount_dir &&
		    strcmp(s->peers[i]->mount_dir, p->mount_dir) == 0)
			return;
	doors_umount(s, p->mount_dir);
}

static size_t nr_regular_peers(const struct service *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_peers; i++)
		nr += !s->peers[i]->is_extra;
	return nr;
}

/* Clients above the limit become regular clients when others have gone. */
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
		made_dirs_orphan(s, p);
	}
	if (s->detach.peer == p)
		s->detach.peer = NULL;
	peer_free(p);
	if (owner && s->state == SERVE_RUNS) {
		audit_log(&s->audit, "the client that owned this session has gone");
		ending_begin_detach(s, NULL);
	}
}

void clients_drop_gone(struct service *s)
{
	for (size_t i = s->nr_peers; i-- > 0;)
		if (s->peers[i]->gone)
			drop_peer(s, i);
}

/* Whether P has asked for something that it has no answer to yet. Who has hung up does not. */
static bool asks(const struct peer *p)
{
	char byte;

	return !p->gone && (p->in.len_bytes || peer_has_output(p) ||
			    recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0);
}

/* Drops a client above the limit that does not wait for a detach: of those that ask for nothing the
 * one that came first, else the one that came first of all. */
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
	/* Asked now, not later: if the client is a mount process, a read of /proc could wait for it
	 * while it waits for us. */
	p->who = doors_actor(s, p->cred.uid, p->cred.pid);
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

void clients_accept(struct service *s)
{
	admit(s, peer_accept(s->listen_fd));
}

void clients_adopt(struct service *s, int fd)
{
	admit(s, peer_of(fd));
}

void clients_serve(struct service *s, struct peer *p, short events)
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

bool clients_have_request(const struct service *s)
{
	struct wire_frame frame;
	size_t used;

	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i] != s->detach.peer && peer_next(s->peers[i], &frame, &used))
			return true;
	return false;
}

bool clients_wait(const struct service *s)
{
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i]->nr_waits)
			return true;
	return false;
}

void clients_retry(struct service *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->nr_peers; i++)
		files_retry(s, s->peers[i], now_ns);
}
