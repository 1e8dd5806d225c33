/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/parse.h"

#include <netdb.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"

/* -- quantities -------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses a number in thousandths, so that "0.25" keeps its value; drops further digits. Moves *AT
 * to the first character after the number. False: there is no number, or it has more than twelve
 * digits before the point. */
static bool parse_decimal(const char **at, uint64_t *ret_thousandths)
{
	const char *p = *at;
	uint64_t n = 0;
	unsigned digits = 0;
	uint64_t scale = 1000;

	for (; is_digit(*p); p++, digits++) {
		if (digits == 12)
			return false;
		n = n * 10 + (uint64_t)(*p - '0');
	}
	n *= 1000;
	if (*p == '.') {
		for (p++; is_digit(*p); p++, digits++) {
			scale /= 10;
			n += scale * (uint64_t)(*p - '0');
		}
	}
	if (!digits)
		return false;
	*at = p;
	*ret_thousandths = n;
	return true;
}

bool percent_parse(const char *text, uint64_t *ret_ppm)
{
	uint64_t thousandths;

	if (!parse_decimal(&text, &thousandths) ||
	    (strcmp(text, "") != 0 && strcmp(text, "%") != 0))
		return false;
	if (thousandths == 0 || thousandths > 100000)
		return false;
	*ret_ppm = thousandths * 10;
	return true;
}

static bool unit_shift(const char *unit, unsigned *ret)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = {{"", 20}, {"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].name);

		/* "G" or "GiB" */
		if (strncasecmp(unit, units[i].name, len) != 0)
			continue;
		if (unit[len] && (!len || strcasecmp(unit + len, "ib") != 0))
			continue;
		*ret = units[i].shift;
		return true;
	}
	return false;
}

bool size_parse(const char *text, uint64_t *ret_bytes)
{
	unsigned __int128 bytes;
	uint64_t thousandths;
	unsigned shift;

	if (!parse_decimal(&text, &thousandths) || !unit_shift(text, &shift))
		return false;
	bytes = ((unsigned __int128)thousandths << shift) / 1000;
	if (bytes >> 63)
		return false;
	*ret_bytes = (uint64_t)bytes & ~UINT64_C(0xfff);
	return true;
}

static bool unit_ns(const char *unit, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", HV_NS_PER_S},	   {"s", HV_NS_PER_S},
		{"ms", 1000000},	   {"us", 1000},
		{"m", 60 * HV_NS_PER_S},   {"min", 60 * HV_NS_PER_S},
		{"h", 3600 * HV_NS_PER_S},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			*ret = units[i].ns;
			return true;
		}
	}
	return false;
}

bool duration_parse(const char *text, uint64_t *ret_ns)
{
	uint64_t thousandths;
	uint64_t unit;
	uint64_t ns;

	if (!parse_decimal(&text, &thousandths) || !unit_ns(text, &unit))
		return false;
	if (__builtin_mul_overflow(thousandths, unit / 1000, &ns))
		return false;
	if (ns == 0 || ns > DURATION_MAX_NS)
		return false;
	*ret_ns = ns;
	return true;
}

/* -- network addresses ------------------------------------------------------------------------- */

/* Terminates the host in TEXT and returns its start. *PORT stays unchanged if TEXT has no port. */
static char *split(char *text, const char **port)
{
	char *colon = strrchr(text, ':');
	char *bracket = strchr(text, ']');

	if (*text == '[' && bracket && (!bracket[1] || bracket[1] == ':')) {
		if (bracket[1])
			*port = bracket + 2;
		*bracket = '\0';
		return text + 1;
	}
	/* more than one colon: an IPv6 address */
	if (colon && strchr(text, ':') == colon) {
		*colon = '\0';
		*port = colon + 1;
	}
	return text;
}

struct hv_err *hostport_parse(const char *text, const char *default_port, enum hostport_kind kind,
			      struct hostport *ret)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM};
	HV_AUTO_FREE char *copy = hv_strdup(text);
	const char *port = default_port;
	const char *host = split(copy, &port);
	struct addrinfo *found = NULL;
	int code;

	if (kind == HOSTPORT_NUMERIC)
		hints.ai_flags |= AI_NUMERICHOST;
	if (!*host || !*port || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 ||
	    atoi(port) < 1 || atoi(port) > 65535)
		return hv_err_new(EINVAL, "'%s' is not %s[:PORT]", text,
				  kind == HOSTPORT_NUMERIC ? "ADDRESS" : "HOST");
	code = getaddrinfo(host, port, &hints, &found);
	if (code)
		return hv_err_new(EINVAL, "'%s': %s", text, gai_strerror(code));
	memcpy(&ret->addr, found->ai_addr, found->ai_addrlen);
	ret->len = found->ai_addrlen;
	freeaddrinfo(found);
	return NULL;
}
