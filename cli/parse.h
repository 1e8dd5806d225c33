/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses values that a user enters: quantities and network addresses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

/* -- quantities -------------------------------------------------------------------------------- */

/* Parses quantities that a user writes as a number and a unit. Numbers are decimal: "2", "1.5",
 * ".5". Digits after the third decimal are dropped. */

/* Parses a percentage such as "5", "0.5" or "5%" into parts per million. False: TEXT is not a
 * percentage, or it is below 0.001 or above 100. */
bool percent_parse(const char *text, uint64_t *ret_ppm);
#define PERCENT_WANTED "a percentage from 0.001 to 100"

/* Parses a memory size such as "512M", "2G", "1.5G" or "262144K", and rounds it down to 4 KiB. The
 * default unit is MiB. False: TEXT is not a size, or it is 2^63 bytes or more. */
bool size_parse(const char *text, uint64_t *ret_bytes);

#define DURATION_MAX_NS (366ull * 24 * 3600 * 1000000000ull)

/* Parses a duration such as "2", "1.5s", "500ms", "1m" or "1h". The default unit is seconds. False:
 * TEXT is not a duration, or it is zero or more than a year. */
bool duration_parse(const char *text, uint64_t *ret_ns);
#define DURATION_WANTED "a duration: write 2, 1.5s, 500ms, 1m or 1h"

/* -- network addresses ------------------------------------------------------------------------- */

/* Parses network addresses that a user enters: HOST, HOST:PORT, [IPv6]:PORT, or IPv6 without a
 * port. */

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
