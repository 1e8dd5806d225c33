/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/link.h"

#include <poll.h>
#include <string.h>

#include "lib/conn.h"

struct request {
	uint32_t tag;
	link_done done;
	void *arg;
};

struct link {
	struct conn *conn;
	struct request *waiting; /* owned */
	size_t nr_waiting;
	bool gone;
};

/* Like hv_alloc(): without memory, the process ends. */
struct link *link_new(int fd)
{
	struct link *l = hv_alloc(sizeof(*l));
	struct hvt_error *error = conn_adopt(fd, &(struct conn_peer){.domain = "mount"}, &l->conn);

	if (error)
		abort();
	return l;
}

void link_free(struct link *l)
{
	if (!l)
		return;
	conn_close(l->conn);
	free(l->waiting);
	free(l);
}

int link_fd(const struct link *l)
{
	return l->conn->fd;
}

short link_events(const struct link *l)
{
	return POLLIN | (conn_has_output(l->conn) ? POLLOUT : 0);
}

/* Returns whether the connection is usable. Frees ERROR. */
static bool note_error(struct link *l, struct hvt_error *error)
{
	l->gone |= error != NULL;
	hvt_error_free(error);
	return !l->gone;
}

uint32_t link_send(struct link *l, const struct wire_frame *frame, link_done done, void *arg)
{
	uint32_t tag = 0;

	if (!note_error(l, conn_queue(l->conn, frame, &tag)))
		return tag;
	l->waiting = hv_realloc_array(l->waiting, l->nr_waiting + 1, sizeof(*l->waiting));
	l->waiting[l->nr_waiting++] = (struct request){tag, done, arg};
	return tag;
}

static void answer(struct link *l, const struct wire_frame *frame)
{
	size_t i = 0;

	if (frame->kind == WIRE_NOTE)
		return;
	while (i < l->nr_waiting && l->waiting[i].tag != frame->tag)
		i++;
	if (i < l->nr_waiting) {
		struct request r = l->waiting[i];

		l->nr_waiting--;
		memmove(&l->waiting[i], &l->waiting[i + 1],
			(l->nr_waiting - i) * sizeof(*l->waiting));
		if (r.done)
			r.done(r.arg, frame);
	}
}

/* Receives once, so that a service that sends forever does not keep the loop from its other
 * work. */
static bool receive(struct link *l)
{
	struct wire_frame frame;
	bool has;

	if (!note_error(l, conn_fill(l->conn, &has)))
		return false;
	while (note_error(l, conn_next(l->conn, &has, &frame)) && has)
		answer(l, &frame);
	return !l->gone;
}

bool link_step(struct link *l)
{
	return note_error(l, conn_flush(l->conn)) && receive(l) &&
	       note_error(l, conn_flush(l->conn));
}
