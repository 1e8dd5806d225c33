/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/hostport.h"

#include <netdb.h>
#include <string.h>

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
