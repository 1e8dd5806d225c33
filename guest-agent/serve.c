/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest-agent/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "guest-agent/round.h"
#include "guest-agent/vsock.h"

#define INTERVAL_S 2

static int fail(const char *port, int error)
{
	fprintf(stderr, "hvtrace-agent: %s: %s\n", port, strerror(error));
	return 1;
}

/* Does not create PORT: if the device is missing, a regular file in /dev would grow without
 * limit. */
static FILE *open_port(const char *port)
{
	int fd = open(port, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

static int serve_port(const char *port, int is_once)
{
	FILE *file = open_port(port);
	int error = file ? 0 : errno;

	while (!error) {
		error = round_put(file);
		if (is_once)
			break;
		nanosleep(&(struct timespec){INTERVAL_S, 0}, NULL);
	}
	if (file)
		fclose(file);
	return error ? fail(port, error) : 0;
}

/* A client that disconnects or stops reading loses its report; the next client is served. */
static int serve_vsock(const char *port, unsigned from, unsigned number, int is_once)
{
	int listener = vsock_listen(number);
	FILE *file;

	if (listener < 0)
		return fail(port, errno);
	while ((file = vsock_accept(listener, from))) {
		round_put(file);
		fclose(file);
		if (is_once)
			return 0;
	}
	return fail(port, errno);
}

int serve(const char *port, int is_once)
{
	unsigned from, number;

	signal(SIGPIPE, SIG_IGN); /* writes return EPIPE instead */
	if (strncmp(port, VSOCK, strlen(VSOCK)) != 0)
		return serve_port(port, is_once);
	if (vsock_parse(port, &from, &number))
		return serve_vsock(port, from, number, is_once);
	fprintf(stderr, "hvtrace-agent: '%s' is not vsock:PORT or vsock:CID:PORT\n", port);
	return 2;
}
