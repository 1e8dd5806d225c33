/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/unix_socket.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "vmm/root_path.h"

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

struct hv_err *hv_unix_connect_socket(int fd, const struct sockaddr_un *address, const char *path,
				      uint64_t deadline_ns)
{
	/* If the backlog is full, connect(2) fails immediately with EAGAIN, and there is nothing to
	 * poll for (unix(7)). */
	while (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		if (errno == ECONNREFUSED)
			return hv_err_new(errno, "socket %s: nothing listens there", path);
		if (errno != EAGAIN && errno != EINTR)
			return hv_err_new(errno, "socket %s: %s", path, strerror(errno));
		if (hv_now_ns() >= deadline_ns)
			return hv_err_new(ETIMEDOUT, "socket %s: the connection is not accepted",
					  path);
		poll(NULL, 0, 10);
	}
	return NULL;
}

struct hv_err *hv_unix_connect(const char *path, uint64_t deadline_ns, int *ret_fd)
{
	struct sockaddr_un address;
	HV_AUTO_FREE char *opened = NULL;
	HV_AUTO_FD int file = -1;
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = NULL;

	if (hv_root_path_rest(path, NULL)) {
		err = hv_root_path_open(path, &file);
		opened = hv_format("/proc/self/fd/%d", file);
	}
	if (!err)
		err = hv_unix_socket(opened ? opened : path, SOCK_NONBLOCK, &address, &fd);
	if (!err)
		err = hv_unix_connect_socket(fd, &address, path, deadline_ns);
	if (!err)
		*ret_fd = hv_take_fd(&fd);
	return err;
}

/* Since Linux 6.5 (7b26952a91cf). */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Reads the effective user of process PID from /proc. Returns false if it is unknown. */
static bool user_of(pid_t pid, uid_t *ret)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if (stat(path, &st) < 0)
		return false;
	*ret = st.st_uid;
	return true;
}

/* A process with another user than the peer had may have executed a set-uid program. Without
 * SO_PEERPIDFD, where the kernel reports only a process id, another process may have that id now. Root
 * may have become the VMM's user (-runas). */
static struct hv_err *open_peer(int fd, const char *path, const struct ucred *peer, int *ret)
{
	HV_AUTO_FD int pidfd = -1;
	socklen_t len = sizeof(pidfd);
	uid_t uid;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0 && errno == ENOPROTOOPT)
		pidfd = pidfd_open(peer->pid, 0);
	if (pidfd < 0)
		return hv_err_new(ESRCH, "socket %s: process %d, which made it: %s", path,
				  (int)peer->pid, strerror(errno));
	if (!user_of(peer->pid, &uid) || (uid != peer->uid && peer->uid != 0))
		return hv_err_new(
			ESRCH,
			"socket %s: process %d, which made it, has ended or changed its user", path,
			(int)peer->pid);
	*ret = hv_take_fd(&pidfd);
	return NULL;
}

struct hv_err *hv_unix_peer(int fd, const char *path, pid_t expected, struct hv_unix_peer *ret)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return hv_err_new(errno, "socket %s: its peer: %s", path, strerror(errno));
	if (peer.pid <= 0)
		return hv_err_new(ESRCH,
				  "socket %s: its process is in a pid namespace that is not "
				  "visible here: run hvtrace in the pid namespace of the host",
				  path);
	if (expected && peer.pid != expected)
		return hv_err_new(ESRCH, "socket %s: it belongs to process %d, not to process %d",
				  path, (int)peer.pid, (int)expected);
	*ret = (struct hv_unix_peer){.pid = peer.pid, .pidfd = -1};
	return open_peer(fd, path, &peer, &ret->pidfd);
}
