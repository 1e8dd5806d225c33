/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/report.h"

#include <string.h>
#include <sys/socket.h>

/* Writes a frame to the socket. */
static bool report(int fd, const struct wire_frame *frame)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	size_t sent = 0;

	wire_encode(&out, frame);
	while (sent < out.len_bytes) {
		ssize_t n = send(fd, out.data + sent, out.len_bytes - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		sent += (size_t)n;
	}
	return true;
}

bool report_text(int fd, enum wire_kind kind, int code, const char *text)
{
	size_t len = strlen(text);

	return report(fd, &(struct wire_frame){
				  .kind = (uint16_t)kind,
				  .arg = (uint32_t)code,
				  .data = {(const uint8_t *)text,
					   len < WIRE_DATA_MAX ? len : WIRE_DATA_MAX},
			  });
}

struct hv_err *report_error(const struct wire_frame *frame)
{
	return hv_err_received(&(struct hv_err_sent){
		.code = frame->arg,
		.text = frame->data.data,
		.len_bytes = frame->data.len_bytes,
	});
}

/* The first frame of what was received, which is consumed by drop_frame(). */
static enum wire_result first_frame(const struct service_child *c, struct wire_frame *ret,
				    size_t *ret_used)
{
	return wire_decode((struct hv_span){(uint8_t *)c->in.data, c->in.len_bytes}, ret, ret_used);
}

static struct hv_err *bad_report(void)
{
	return hv_err_new(EPROTO, "service: bad report");
}

static void drop_frame(struct service_child *c, size_t used)
{
	c->in.len_bytes -= used;
	memmove(c->in.data, c->in.data + used, c->in.len_bytes);
}

static struct hv_err *receive_report(struct service_child *c)
{
	char buf[4096];
	ssize_t n = recv(c->report_fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		return hv_err_new(ECONNRESET, "the service died while it attached");
	hv_text_add_bytes(&c->in, buf, n > 0 ? (size_t)n : 0);
	return NULL;
}

struct hv_err *service_hear(struct service_child *c, char **ret_line, bool *ret_attached)
{
	struct wire_frame frame;
	size_t used;
	enum wire_result result = first_frame(c, &frame, &used);
	struct hv_err *err = NULL;

	*ret_line = NULL;
	*ret_attached = false;
	if (result == WIRE_MORE) {
		err = receive_report(c);
		result = first_frame(c, &frame, &used);
	}
	if (!err && result == WIRE_BAD)
		err = bad_report();
	if (err || result != WIRE_FRAME)
		return err;
	if (frame.kind != WIRE_OK && frame.kind != WIRE_NOTE)
		return report_error(&frame);
	if (!wire_string(frame.data, WIRE_DATA_MAX, ret_line))
		return bad_report();
	*ret_attached = frame.kind == WIRE_OK;
	drop_frame(c, used);
	return NULL;
}

void service_child_close(struct service_child *c)
{
	hv_close_at(&c->report_fd);
	c->report_fd = -1;
	hv_text_deinit(&c->in);
}
