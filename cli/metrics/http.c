/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/http.h"

#include <microhttpd.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_MAX 16
#define IDLE_S		10

struct http {
	struct MHD_Daemon *daemon;
	http_page_fn page;
	void *ctx;
};

/* Takes TEXT. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status,
			      struct hv_text *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(text->len_bytes, text->data, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	hv_text_deinit(text);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; version=0.0.4; charset=utf-8");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version hv_unused,
			      const char *upload hv_unused, size_t *upload_bytes, void **state)
{
	static int begun;
	struct http *h = ctx;
	struct hv_text text = {0};
	struct hv_err *err;

	/* The first call has only the request's header. */
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*upload_bytes) {
		*upload_bytes = 0;
		return MHD_YES;
	}
	hv_text_add(&text, "");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
		hv_text_add(&text, "only GET is answered\n");
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, &text);
	}
	if (strcmp(url, "/metrics") != 0) {
		hv_text_add(&text, "/metrics is the only page\n");
		return answer(connection, MHD_HTTP_NOT_FOUND, &text);
	}
	err = h->page(h->ctx, &text);
	if (err) {
		hv_text_deinit(&text);
		hv_text_printf(&text, "%s\n", err->message);
		hv_err_free(err);
		return answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, &text);
	}
	return answer(connection, MHD_HTTP_OK, &text);
}

struct hv_err *http_start(int fd, http_page_fn page, void *ctx, struct http **ret)
{
	struct http *h = hv_alloc(sizeof(*h));

	*h = (struct http){.page = page, .ctx = ctx};
	h->daemon =
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL,
				 handle, h, MHD_OPTION_LISTEN_SOCKET, fd,
				 MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
				 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_END);
	if (!h->daemon) {
		close(fd);
		free(h);
		return hv_err_new(EIO, "libmicrohttpd cannot start a server");
	}
	*ret = h;
	return NULL;
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	MHD_stop_daemon(h->daemon);
	free(h);
}
