/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server of one page, GET /metrics, by libmicrohttpd. Where it was not there at build time,
 * http_none.c takes its place, and says so. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct http;

/* Makes the page. ERR is told to whoever asked, as status 500. */
typedef struct hv_err *(*http_page_fn)(void *ctx, struct hv_text *ret);

/* Serves in a thread of its own, in which PAGE is called, once at a time, until http_stop().
 * FD listens; the server closes it. */
struct hv_err *http_start(int fd, http_page_fn page, void *ctx, struct http **ret) hv_must_use;
/* H may be NULL. */
void http_stop(struct http *h);
