/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/agent.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* After sys/socket.h, which it needs. */
#include <linux/vm_sockets.h>

#include "base/clock.h"

#define VSOCK "vsock:"

static uint64_t time_of_day_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * HV_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static struct hv_err *system_error(const char *where, int error)
{
	return hv_err_new(error, "%s: %s", where, strerror(error));
}

/* The agent's side may never accept, and a blocking connect would then wait forever. */
static struct hv_err *connect_unix(const char *path, int *ret_fd)
{
	HV_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(at.sun_path))
		return system_error(path, ENAMETOOLONG);
	strcpy(at.sun_path, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		return errno == EAGAIN ? hv_err_new(EAGAIN,
						    "%s: too many clients are waiting for the "
						    "agent; try again",
						    path)
				       : system_error(path, errno);
	*ret_fd = hv_take_fd(&fd);
	return NULL;
}

static bool parse_vsock(const char *where, struct sockaddr_vm *ret)
{
	unsigned long long numbers[2];
	const char *at = where + strlen(VSOCK);

	for (unsigned i = 0; i < HV_ARRAY_LEN(numbers); i++) {
		char *end;

		errno = 0;
		if (*at < '0' || *at > '9')
			return false;
		numbers[i] = strtoull(at, &end, 10);
		if (errno || numbers[i] >= UINT32_MAX || *end != (i ? '\0' : ':'))
			return false;
		at = end + 1;
	}
	*ret = (struct sockaddr_vm){.svm_family = AF_VSOCK,
				    .svm_cid = (unsigned)numbers[0],
				    .svm_port = (unsigned)numbers[1]};
	return true;
}

static int wait_connected(int fd)
{
	uint64_t until_ns = hv_now_ns() + AGENT_PATIENCE_S * HV_NS_PER_S;
	struct pollfd one = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0, left_ms;

	while ((left_ms = hv_left_ms(until_ns)) && poll(&one, 1, left_ms) <= 0)
		if (errno != EINTR)
			break;
	if (!one.revents)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

static struct hv_err *connect_vsock(const char *where, int *ret_fd)
{
	HV_AUTO_FD int fd = -1;
	struct sockaddr_vm at;
	int error = 0;

	if (!parse_vsock(where, &at))
		return hv_err_new(EINVAL, "'%s' is not vsock:CID:PORT", where);
	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return system_error(where, errno);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		error = errno == EINPROGRESS ? wait_connected(fd) : errno;
	if (error)
		return system_error(where, error);
	*ret_fd = hv_take_fd(&fd);
	return NULL;
}

struct hv_err *agent_connect(const char *where, int *ret_fd)
{
	bool is_vsock = strncmp(where, VSOCK, strlen(VSOCK)) == 0;

	return is_vsock ? connect_vsock(where, ret_fd) : connect_unix(where, ret_fd);
}

static struct hv_err *no_round(const char *where)
{
	return hv_err_new(EPROTO, "%s: the peer does not speak the protocol of hvtrace-agent",
			  where);
}

static struct hv_err *hear(struct agent_hearing *h, int fd, const char *where)
{
	uint64_t until_ns = hv_now_ns() + AGENT_PATIENCE_S * HV_NS_PER_S;
	char bytes[16384];
	size_t nr_bytes = 0;

	while (h->heard == AGENT_GOES_ON) {
		struct pollfd one = {.fd = fd, .events = POLLIN};
		int left_ms = hv_left_ms(until_ns);
		ssize_t n;

		if (!left_ms || (poll(&one, 1, left_ms) < 0 && errno != EINTR))
			return hv_err_new(ETIMEDOUT, "%s: no agent answered within %d s", where,
					  AGENT_PATIENCE_S);
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return system_error(where, errno);
		nr_bytes += (size_t)n;
		if (!n || nr_bytes > AGENT_BYTES_MAX)
			return no_round(where);
		agent_hearing_take(h, bytes, (size_t)n, time_of_day_ns());
	}
	if (h->heard == AGENT_OTHER_VERSION)
		return hv_err_new(EPROTO, "%s: the agent speaks another version of the protocol",
				  where);
	return NULL;
}

struct hv_err *agent_read(int fd, const char *where, struct agent_round *ret)
{
	struct agent_hearing *h = hv_alloc(sizeof(*h));
	struct hv_err *err = hear(h, fd, where);

	if (!err)
		agent_hearing_finish(h, ret);
	agent_hearing_deinit(h);
	free(h);
	return err;
}
