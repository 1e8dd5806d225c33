/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Used in builds without libmicrohttpd. */
#include "cli/metrics/http.h"

#include <unistd.h>

struct hv_err *http_start(int fd, http_page_fn page hv_unused, void *ctx hv_unused,
			  struct http **ret hv_unused)
{
	close(fd);
	return hv_err_new(ENOTSUP, "this hvtrace was built without libmicrohttpd");
}

void http_stop(struct http *h hv_unused)
{
}
