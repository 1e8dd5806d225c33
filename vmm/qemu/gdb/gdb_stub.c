/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/gdb/gdb_stub.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

/* -- packets ----------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static unsigned sum_of(const char *bytes, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += (unsigned char)bytes[i];
	return sum & 0xff;
}

void hv_rsp_frame(struct hv_text *out, const char *payload, size_t len_bytes)
{
	static const char hex[] = "0123456789abcdef";
	unsigned sum = sum_of(payload, len_bytes);
	char tail[3] = {'#', hex[sum >> 4], hex[sum & 15]};

	hv_text_add_bytes(out, "$", 1);
	hv_text_add_bytes(out, payload, len_bytes);
	hv_text_add_bytes(out, tail, sizeof(tail));
}

void hv_rsp_feed(struct hv_rsp_reader *r, const void *bytes, size_t len_bytes)
{
	if (r->taken_bytes) {
		memmove(r->in.data, r->in.data + r->taken_bytes, r->in.len_bytes - r->taken_bytes);
		r->in.len_bytes -= r->taken_bytes;
		r->taken_bytes = 0;
	}
	hv_text_add_bytes(&r->in, bytes, len_bytes);
}

/* Decodes `X*n`, which means X and n - 29 more of it, and `}Y`, which means Y ^ 0x20. */
static bool expand(struct hv_text *out, const char *raw, size_t len)
{
	hv_text_clear(out);
	for (size_t i = 0; i < len; i++) {
		char c = raw[i];
		int more;

		if (c == '}') {
			if (++i >= len)
				return false;
			c = (char)(raw[i] ^ 0x20);
			hv_text_add_bytes(out, &c, 1);
			continue;
		}
		if (c != '*') {
			hv_text_add_bytes(out, &c, 1);
			continue;
		}
		if (!out->len_bytes || ++i >= len)
			return false;
		more = (unsigned char)raw[i] - 29;
		if (more < 3 || more > 97)
			return false;
		c = out->data[out->len_bytes - 1];
		while (more--)
			hv_text_add_bytes(out, &c, 1);
		if (out->len_bytes > HV_RSP_PACKET_MAX_BYTES)
			return false;
	}
	hv_text_add_bytes(out, "", 0);
	return true;
}

static enum hv_rsp_next take_packet(struct hv_rsp_reader *r)
{
	const char *start = r->in.data + r->taken_bytes + 1;
	size_t room = r->in.len_bytes - r->taken_bytes - 1;
	const char *hash = memchr(start + r->scanned_bytes, '#', room - r->scanned_bytes);
	size_t len = hash ? (size_t)(hash - start) : room;
	int high, low;

	r->scanned_bytes = len;
	if (!hash && room > HV_RSP_PACKET_MAX_BYTES) {
		r->taken_bytes = r->in.len_bytes;
		r->scanned_bytes = 0;
		return HV_RSP_BAD;
	}
	if (!hash || room - len < 3)
		return HV_RSP_MORE;
	r->scanned_bytes = 0;
	r->taken_bytes += 1 + len + 3;
	high = hex_digit(hash[1]);
	low = hex_digit(hash[2]);
	if (high < 0 || low < 0 || sum_of(start, len) != (unsigned)(high << 4 | low))
		return HV_RSP_BAD;
	return expand(&r->packet, start, len) ? HV_RSP_PACKET : HV_RSP_BAD;
}

enum hv_rsp_next hv_rsp_next(struct hv_rsp_reader *r)
{
	while (r->taken_bytes < r->in.len_bytes) {
		char c = r->in.data[r->taken_bytes];

		if (c == '$')
			return take_packet(r);
		r->taken_bytes++;
		r->nr_acks += c == '+';
		if (c == '-')
			return HV_RSP_NAK;
	}
	return HV_RSP_MORE;
}

void hv_rsp_reader_deinit(struct hv_rsp_reader *r)
{
	hv_text_deinit(&r->in);
	hv_text_deinit(&r->packet);
}

/* -- the connection ---------------------------------------------------------------------------- */

/* Limits for packets that are sent before their answers are read. They are smaller than the
 * socket's buffers, so that the two ends never wait for each other with both buffers full. */
#define WINDOW_PACKETS 512
#define CHUNK_BYTES    16384

/* Limits for the VMM's output: the answers to one exchange, and the data sent while the guest runs.
 * A stop reply has about 20 bytes and is sent each time that another client stops the guest. */
#define ANSWERS_MAX_BYTES (8u << 20)
#define IDLE_MAX_BYTES	  (1u << 20)

void hv_packets_add(struct hv_packets *p, const char *payload)
{
	hv_text_add_bytes(&p->bytes, payload, strlen(payload) + 1);
	p->nr++;
}

void hv_packets_deinit(struct hv_packets *p)
{
	hv_text_deinit(&p->bytes);
	p->nr = 0;
}

static struct hv_err *too_late(void)
{
	return hv_err_new(ECANCELED, "gdb stub: no answer in time");
}

/* Whether the deadline has passed and the socket was checked once since. Data that came in time is
 * accepted, but a VMM cannot extend the deadline by sending endlessly. */
static bool is_over(struct hv_gdb_stub *s, struct hv_gdb_limit limit)
{
	if (hv_now_ns() < limit.deadline_ns)
		return false;
	if (s->looked_ns == limit.deadline_ns)
		return true;
	s->looked_ns = limit.deadline_ns;
	return false;
}

/* *RET: the events of the stub's socket. Fails with ECANCELED if LIMIT was reached. */
static struct hv_err *wait_for(struct hv_gdb_stub *s, short events, struct hv_gdb_limit limit,
			       short *ret)
{
	struct pollfd p[2] = {
		{.fd = s->fd, .events = events},
		{.fd = limit.hangup_fd, .events = POLLRDHUP},
	};

	if (is_over(s, limit))
		return too_late();
	for (;;) {
		int nr = poll(p, 2, hv_left_ms(limit.deadline_ns));

		if (nr < 0 && errno != EINTR)
			return hv_err_new(errno, "gdb stub: %s", strerror(errno));
		if (nr == 0 || (nr > 0 && p[1].revents))
			return too_late();
		if (nr < 0)
			continue;
		*ret = p[0].revents;
		return NULL;
	}
}

/* *RET_NR: the number of bytes received. */
static struct hv_err *receive_some(struct hv_gdb_stub *s, size_t *ret_nr)
{
	char buf[65536];
	ssize_t nr = recv(s->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (nr == 0)
		return hv_err_new(ECONNRESET, "gdb stub: the VMM closed the connection");
	if (nr < 0 && errno != EAGAIN && errno != EINTR)
		return hv_err_new(errno, "gdb stub: %s", strerror(errno));
	if (nr > 0)
		hv_rsp_feed(&s->in, buf, (size_t)nr);
	*ret_nr = nr > 0 ? (size_t)nr : 0;
	return NULL;
}

static struct hv_err *receive(struct hv_gdb_stub *s)
{
	size_t nr;

	return receive_some(s, &nr);
}

static struct hv_err *send_all(struct hv_gdb_stub *s, const char *bytes, size_t len,
			       struct hv_gdb_limit limit)
{
	while (len) {
		ssize_t nr = send(s->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct hv_err *err;
		short events;

		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return hv_err_new(errno, "gdb stub: %s", strerror(errno));
		if (nr > 0) {
			bytes += nr;
			len -= (size_t)nr;
			continue;
		}
		err = wait_for(s, POLLOUT, limit, &events);
		if (err)
			return err;
	}
	return NULL;
}

static bool is_stop_reply(const char *packet)
{
	return packet[0] == 'T' || packet[0] == 'S';
}

/* Waits for the next stop reply (STOP) or other packet (!STOP), and drops packets of the other
 * kind. */
static struct hv_err *next_packet(struct hv_gdb_stub *s, bool stop, struct hv_gdb_limit limit)
{
	for (;;) {
		enum hv_rsp_next next = hv_rsp_next(&s->in);
		struct hv_err *err;
		short events;

		if (next == HV_RSP_PACKET && is_stop_reply(s->in.packet.data) == stop)
			return NULL;
		if (next == HV_RSP_BAD || next == HV_RSP_NAK)
			return hv_err_new(EPROTO, "gdb stub: %s",
					  next == HV_RSP_BAD ? "a damaged packet"
							     : "it asks for a packet again");
		if (next == HV_RSP_PACKET)
			continue;
		err = wait_for(s, POLLIN, limit, &events);
		if (!err)
			err = receive(s);
		if (err)
			return err;
	}
}

struct hv_err *hv_gdb_stub_interrupt(struct hv_gdb_stub *s, struct hv_gdb_limit limit)
{
	struct hv_err *err = hv_gdb_stub_drain(s);

	if (!err)
		err = send_all(s, "\x03", 1, limit);
	return err ? err : hv_gdb_stub_await_stop(s, limit);
}

/* The stub answers in order, so after the stop reply no answers to earlier packets follow. */
struct hv_err *hv_gdb_stub_await_stop(struct hv_gdb_stub *s, struct hv_gdb_limit limit)
{
	struct hv_err *err = next_packet(s, true, limit);

	if (!err)
		s->nr_late = s->idle_bytes = 0;
	return err;
}

/* The rest of an exchange to send: packets that are not framed yet, and framed bytes in OUT. */
struct pipeline {
	const char *next; /* payload to frame next */
	size_t nr_left;
	struct hv_text out; /* framed */
	size_t sent_bytes;  /* of OUT */
	struct hv_packets *answers;
};

static void refill(struct hv_gdb_stub *s, struct pipeline *p)
{
	if (p->sent_bytes < p->out.len_bytes)
		return;
	hv_text_clear(&p->out);
	p->sent_bytes = 0;
	while (p->nr_left && s->nr_unanswered < WINDOW_PACKETS && p->out.len_bytes < CHUNK_BYTES) {
		size_t len = strlen(p->next);

		hv_rsp_frame(&p->out, p->next, len);
		p->next += len + 1;
		p->nr_left--;
		s->nr_sent++;
		s->nr_unanswered++;
	}
}

static struct hv_err *take_answers(struct hv_gdb_stub *s, struct hv_packets *answers)
{
	for (;;) {
		enum hv_rsp_next next = hv_rsp_next(&s->in);

		if (next == HV_RSP_MORE)
			return NULL;
		if (next != HV_RSP_PACKET)
			return hv_err_new(EPROTO, "gdb stub: an answer is damaged");
		if (is_stop_reply(s->in.packet.data)) {
			s->was_stopped = true;
			continue;
		}
		if (s->nr_late) {
			s->nr_late--;
			continue;
		}
		if (!s->nr_unanswered)
			return hv_err_new(EPROTO, "gdb stub: more answers than packets");
		if (answers->bytes.len_bytes > ANSWERS_MAX_BYTES)
			return hv_err_new(EPROTO, "gdb stub: answers of more than %u bytes",
					  ANSWERS_MAX_BYTES);
		s->nr_unanswered--;
		hv_packets_add(answers, s->in.packet.data);
	}
}

static struct hv_err *step(struct hv_gdb_stub *s, struct pipeline *p, struct hv_gdb_limit limit)
{
	short events = 0;
	struct hv_err *err;
	ssize_t nr;

	refill(s, p);
	err = wait_for(s, p->sent_bytes < p->out.len_bytes ? POLLIN | POLLOUT : POLLIN, limit,
		       &events);
	if (err)
		return err;
	if (events & (POLLIN | POLLHUP | POLLERR))
		err = receive(s);
	if (!err)
		err = take_answers(s, p->answers);
	if (err || !(events & POLLOUT))
		return err;
	nr = send(s->fd, p->out.data + p->sent_bytes, p->out.len_bytes - p->sent_bytes,
		  MSG_NOSIGNAL | MSG_DONTWAIT);
	if (nr < 0 && errno != EAGAIN && errno != EINTR)
		return hv_err_new(errno, "gdb stub: %s", strerror(errno));
	p->sent_bytes += nr > 0 ? (size_t)nr : 0;
	return NULL;
}

struct hv_err *hv_gdb_stub_exchange(struct hv_gdb_stub *s, const struct hv_packets *packets,
				    struct hv_gdb_limit limit, struct hv_packets *answers)
{
	struct pipeline p = {
		.next = packets->bytes.data,
		.nr_left = packets->nr,
		.answers = answers,
	};
	struct hv_err *err = NULL;

	while (!err && (p.nr_left || s->nr_unanswered || p.sent_bytes < p.out.len_bytes))
		err = step(s, &p, limit);
	if (err && err->code == ECANCELED && p.sent_bytes < p.out.len_bytes) {
		/* Complete a packet that was sent in part; otherwise the stub would read the next
		 * packet as its continuation. */
		struct hv_gdb_limit grace = {hv_now_ns() + HV_NS_PER_S, -1};
		struct hv_err *late = send_all(s, p.out.data + p.sent_bytes,
					       p.out.len_bytes - p.sent_bytes, grace);

		if (late) {
			hv_err_free(err);
			err = late;
		}
	}
	hv_text_deinit(&p.out);
	return err;
}

struct hv_err *hv_gdb_stub_acknowledge(struct hv_gdb_stub *s, struct hv_gdb_limit limit)
{
	return send_all(s, "+", 1, limit);
}

/* The stub acknowledges each packet when it has read it, before it acts on it. */
struct hv_err *hv_gdb_stub_await_taken(struct hv_gdb_stub *s, struct hv_gdb_limit limit)
{
	for (;;) {
		struct hv_err *err;
		short events;

		while (hv_rsp_next(&s->in) != HV_RSP_MORE)
			;
		if (s->in.nr_acks >= s->nr_sent)
			return NULL;
		err = wait_for(s, POLLIN, limit, &events);
		if (!err)
			err = receive(s);
		if (err)
			return err;
	}
}

struct hv_err *hv_gdb_stub_continue(struct hv_gdb_stub *s, struct hv_gdb_limit limit)
{
	struct hv_err *err = NULL;

	while (!err && s->nr_unanswered) {
		err = next_packet(s, false, limit);
		if (!err)
			s->nr_unanswered--;
	}
	hv_err_free(err); /* the guest is resumed even if an answer is missing */
	s->nr_late += s->nr_unanswered;
	s->nr_unanswered = 0;
	s->idle_bytes = 0;
	err = send_all(s, "$c#63", 5, limit);
	if (err)
		return err;
	s->nr_sent++;
	return hv_gdb_stub_await_taken(s, limit);
}

struct hv_err *hv_gdb_stub_drain(struct hv_gdb_stub *s)
{
	struct hv_gdb_limit limit = {hv_now_ns() + HV_NS_PER_S, -1};
	enum hv_rsp_next next = HV_RSP_PACKET;
	size_t nr = 0;
	struct hv_err *err = receive_some(s, &nr);

	s->idle_bytes += nr;
	if (!err && s->idle_bytes > IDLE_MAX_BYTES)
		err = hv_err_new(EPROTO, "gdb stub: it does not stop sending while the guest runs");
	while (!err && (next = hv_rsp_next(&s->in)) != HV_RSP_MORE) {
		bool is_packet = next == HV_RSP_PACKET;

		if (is_packet && is_stop_reply(s->in.packet.data))
			err = send_all(s, "+", 1, limit);
		else if (is_packet && s->nr_late)
			s->nr_late--;
	}
	return err;
}

struct hv_err *hv_gdb_stub_open(int fd, struct hv_gdb_limit limit, struct hv_gdb_stub *ret)
{
	struct hv_gdb_stub s = {.fd = fd, .nr_sent = 1};
	struct hv_err *err;

	/* This packet announces no features. Its answer shows that the guest is stopped and the
	 * stub reads. */
	err = send_all(&s, "$qSupported#37", 14, limit);
	if (!err)
		err = next_packet(&s, false, limit);
	if (err) {
		hv_gdb_stub_close(&s);
		return err;
	}
	*ret = s;
	return NULL;
}

void hv_gdb_stub_close(struct hv_gdb_stub *s)
{
	hv_close_at(&s->fd);
	s->fd = -1;
	hv_rsp_reader_deinit(&s->in);
}

struct hv_err *hv_packets_all_ok(const struct hv_packets *packets, const struct hv_packets *answers)
{
	const char *packet = packets->bytes.data;
	const char *answer = answers->bytes.data;

	if (answers->nr != packets->nr)
		return hv_err_new(EPROTO, "gdb stub: %zu answers for %zu packets", answers->nr,
				  packets->nr);
	for (size_t i = 0; i < packets->nr; i++) {
		if (strcmp(answer, "OK"))
			return hv_err_new(EIO, "gdb stub: '%s' answered with '%.40s'", packet,
					  *answer ? answer : "(nothing)");
		packet += strlen(packet) + 1;
		answer += strlen(answer) + 1;
	}
	return NULL;
}
