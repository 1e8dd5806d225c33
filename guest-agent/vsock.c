/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest-agent/vsock.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* This header needs sys/socket.h first. */
#include <linux/vm_sockets.h>

#define WAITING_MAX 4
#define PATIENCE_S  10

static int parse_number(const char *text, char end, const char **ret_end, unsigned *ret)
{
	char *after;
	unsigned long long value;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	value = strtoull(text, &after, 10);
	*ret_end = after;
	*ret = (unsigned)value;
	return !errno && value < UINT32_MAX && *after == end;
}

int vsock_parse(const char *text, unsigned *ret_from, unsigned *ret_port)
{
	const char *end = text + strlen(VSOCK);

	*ret_from = VMADDR_CID_HOST;
	if (strchr(end, ':') && !parse_number(end, ':', &end, ret_from))
		return 0;
	return parse_number(end + (*end == ':'), '\0', &end, ret_port);
}

int vsock_listen(unsigned port)
{
	struct sockaddr_vm at = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port};
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(fd, WAITING_MAX) == 0)
		return fd;
	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

static FILE *file_of(int fd)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	FILE *file = NULL;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0)
		file = fdopen(fd, "w");
	if (!file)
		close(fd);
	return file;
}

FILE *vsock_accept(int listener, unsigned from)
{
	for (;;) {
		struct sockaddr_vm peer = {0};
		socklen_t len = sizeof(peer);
		int fd = accept4(listener, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);

		if (fd >= 0 && peer.svm_family == AF_VSOCK && peer.svm_cid == from)
			return file_of(fd);
		if (fd >= 0)
			close(fd);
		else if (errno != EINTR && errno != ECONNABORTED && errno != ECONNRESET)
			return NULL;
	}
}
