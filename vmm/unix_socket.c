/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/unix_socket.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"

int hv_unix_path_fits(const char *path)
{
	return strlen(path) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

struct hv_err *hv_unix_socket(const char *path, int flags, struct sockaddr_un *ret_address,
			      int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (!*path)
		return hv_err_new(EINVAL, "socket: no path is given");
	if (!hv_unix_path_fits(path))
		return hv_err_new(ENAMETOOLONG, "socket %s: path is %zu bytes long, at most %zu",
				  path, strlen(path), sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (*ret_fd < 0)
		return hv_err_new(errno, "socket %s: %s", path, strerror(errno));
	*ret_address = address;
	return NULL;
}

struct hv_err *hv_unix_connect(const char *path, uint64_t deadline_ns, int *ret_fd)
{
	struct sockaddr_un address;
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = hv_unix_socket(path, SOCK_NONBLOCK, &address, &fd);

	if (err)
		return err;
	/* connect(2) to a full backlog fails with EAGAIN at once, and nothing can be polled for
	 * (unix(7)). */
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == ECONNREFUSED)
			return hv_err_new(errno, "socket %s: nothing listens there", path);
		if (errno != EAGAIN && errno != EINTR)
			return hv_err_new(errno, "socket %s: %s", path, strerror(errno));
		if (hv_now_ns() >= deadline_ns)
			return hv_err_new(ETIMEDOUT, "socket %s: the connection is not accepted",
					  path);
		poll(NULL, 0, 10);
	}
	*ret_fd = hv_take_fd(&fd);
	return NULL;
}
