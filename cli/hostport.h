/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses network addresses that a user enters: HOST, HOST:PORT, [IPv6]:PORT, or IPv6 without a
 * port. */
#pragma once

#include <sys/socket.h>

#include "base/err.h"

struct hostport {
	struct sockaddr_storage addr;
	socklen_t len;
};

enum hostport_kind {
	HOSTPORT_NAME,	  /* a host name or address */
	HOSTPORT_NUMERIC, /* an address of this host */
};

/* EINVAL or a resolver error: TEXT is not a valid address. The error names TEXT. */
struct hv_err *hostport_parse(const char *text, const char *default_port, enum hostport_kind kind,
			      struct hostport *ret) hv_must_use;
