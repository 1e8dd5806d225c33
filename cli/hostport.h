/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A place in the network as a user writes it: HOST, HOST:PORT, [IPv6]:PORT, IPv6 without a port.
 * Leaves to others: what is sent or taken there. */
#pragma once

#include <sys/socket.h>

#include "base/err.h"

struct hostport {
	struct sockaddr_storage addr;
	socklen_t len;
};

enum hostport_kind {
	HOSTPORT_NAME,	  /* a host, by its name or its address */
	HOSTPORT_NUMERIC, /* an address of this host */
};

/* EINVAL, or what the resolver says: TEXT is no such place. The error names TEXT. */
struct hv_err *hostport_parse(const char *text, const char *default_port, enum hostport_kind kind,
			      struct hostport *ret) hv_must_use;
