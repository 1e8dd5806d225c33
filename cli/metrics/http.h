/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An HTTP server with one page, GET /metrics, based on libmicrohttpd. Builds without the library
 * use http_none.c, which returns an error. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct http;

/* Generates the page. If it fails, the client receives the error as HTTP status 500. */
typedef struct hv_err *(*http_page_fn)(void *ctx, struct hv_text *ret);

/* Serves on the listening socket FD until http_stop(), and closes it. A separate thread calls PAGE,
 * one call at a time. */
struct hv_err *http_start(int fd, http_page_fn page, void *ctx, struct http **ret) hv_must_use;
/* H may be NULL. */
void http_stop(struct http *h);
