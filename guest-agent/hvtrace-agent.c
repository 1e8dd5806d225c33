/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace-agent runs in the guest and reports to hvtrace on the host. It is optional. It is linked
 * statically and needs no privileges to make marks, so that it runs in any container. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* This header needs sys/socket.h first. */
#include <linux/vm_sockets.h>

#include "guest-agent/hvtrace-mark.h"
#include "guest-agent/round.h"

/* -- vsock connections ------------------------------------------------------------------------ */

/* Accepts vsock connections from the host. vsock needs no virtio-serial port in the configuration
 * of the virtual machine. */

#define VSOCK "vsock:"

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

/* Parses "vsock:PORT" or "vsock:CID:PORT". *RET_FROM is CID, or VMADDR_CID_HOST without one.
 * Returns 0 if TEXT is neither. */
static int vsock_parse(const char *text, unsigned *ret_from, unsigned *ret_port)
{
	const char *end = text + strlen(VSOCK);

	*ret_from = VMADDR_CID_HOST;
	if (strchr(end, ':') && !parse_number(end, ':', &end, ret_from))
		return 0;
	return parse_number(end + (*end == ':'), '\0', &end, ret_port);
}

/* Returns a listening socket, or -1 and sets errno. */
static int vsock_listen(unsigned port)
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

/* Waits for a connection from CID FROM and returns it for writing. Closes connections from other
 * CIDs, because a local program must not learn the mappings of other users' processes.
 *
 * A write fails if the client does not read for 10 seconds. Returns NULL and sets errno if
 * the listener fails. */
static FILE *vsock_accept(int listener, unsigned from)
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

/* -- hvtrace-agent serve ---------------------------------------------------------------------- */

/* Implements `hvtrace-agent serve`: reports to the host the cgroup and the mappings of each process
 * and the guest's time, which the host cannot learn from outside. docs/users/agent.md describes the
 * format. Marks (hvtrace-mark.h) are independent of it. */

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

/* Sends reports to PORT until writing fails.
 *
 * A virtio-serial port receives one report every two seconds, or only one if IS_ONCE. If PORT is
 * "vsock:PORT" or "vsock:CID:PORT", listens on that vsock port and sends one report to each client
 * that connects from the host or from CID; if IS_ONCE, only to the first one.
 *
 * Returns the exit status of the program. */
static int serve(const char *port, int is_once)
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

/* -- the program ------------------------------------------------------------------------------ */

#define MARK_MAX (HVTRACE_MARK_PARTS * HVTRACE_MARK_WORDS * sizeof(unsigned long))

static const char usage[] =
	"usage: hvtrace-agent mark TEXT...\n"
	"       hvtrace-agent mark -\n"
	"       hvtrace-agent serve [--once] PORT\n"
	"       hvtrace-agent --help | --version\n"
	"\n"
	"mark adds TEXT to the trace that hvtrace on the host takes of this machine. With '-',\n"
	"it adds each line of standard input as soon as it is read. Without a trace, a mark\n"
	"costs one system call.\n"
	"serve reports to the host the cgroup and the mappings of each process, and the time.\n"
	"PORT is a virtio-serial port such as /dev/virtio-ports/hvtrace.agent, which receives\n"
	"a report every two seconds, or only one with --once. With vsock:PORT, each client\n"
	"that connects to this vsock port from the host receives a report; with\n"
	"vsock:CID:PORT, each client from machine CID.\n";

/* Marks the NR words, joined by spaces. Text beyond MARK_MAX bytes is cut off. */
static void mark_words(char *const *words, int nr)
{
	char text[MARK_MAX + 1] = "";
	size_t len = 0;

	for (int i = 0; i < nr && len < MARK_MAX; i++) {
		int more = snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "", words[i]);

		len += more < 0 ? 0 : (size_t)more;
	}
	hvtrace_mark(text);
}

static int mark_lines(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int failed;

	while ((len = getline(&line, &cap, stdin)) >= 0)
		hvtrace_mark_bytes(line, (size_t)len - (len && line[len - 1] == '\n'));
	failed = ferror(stdin);
	if (failed)
		fprintf(stderr, "hvtrace-agent: standard input: %s\n", strerror(errno));
	free(line);
	return failed != 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "--help") == 0)
		return fputs(usage, stdout) < 0;
	if (strcmp(verb, "--version") == 0)
		return puts("hvtrace-agent " HVTRACE_VERSION) < 0;
	if (strcmp(verb, "mark") == 0 && argc == 3 && strcmp(argv[2], "-") == 0)
		return mark_lines();
	if (strcmp(verb, "mark") == 0 && argc > 2) {
		mark_words(argv + 2, argc - 2);
		return 0;
	}
	if (strcmp(verb, "serve") == 0 && argc == 3 && argv[2][0] != '-')
		return serve(argv[2], 0);
	if (strcmp(verb, "serve") == 0 && argc == 4 && strcmp(argv[2], "--once") == 0)
		return serve(argv[3], 1);
	fputs(usage, stderr);
	return 2;
}
