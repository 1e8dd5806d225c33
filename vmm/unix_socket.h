/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unix sockets, named by absolute or relative paths. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

/* Makes a stream socket, and the address of PATH to bind or connect it to. FLAGS is SOCK_NONBLOCK
 * or 0. *RET_FD is close-on-exec; the caller closes it. ENAMETOOLONG: PATH does not fit into an
 * address. EINVAL: it is empty. */
struct hv_err *hv_unix_socket(const char *path, int flags, struct sockaddr_un *ret_address,
			      int *ret_fd) hv_must_use;
/* Connects to PATH, which may be one in the mount namespace of another process (root_path.h).
 * *RET_FD is non-blocking and close-on-exec; the caller closes it. ETIMEDOUT: it was not accepted
 * by DEADLINE_NS. */
struct hv_err *hv_unix_connect(const char *path, uint64_t deadline_ns, int *ret_fd) hv_must_use;
/* The process at the other end of a connection: the one that called listen(2), as the kernel knows
 * it. */
struct hv_unix_peer {
	pid_t pid;
	int pidfd; /* the caller closes it */
};
#define HV_UNIX_PEER_NONE ((struct hv_unix_peer){.pidfd = -1})
/* Looks at the peer of the connected socket FD. EXPECTED: the process that must be there; 0: any
 * one. PATH is for messages. ESRCH: it is another one, has ended, or is of another pid namespace.
 */
struct hv_err *hv_unix_peer(int fd, const char *path, pid_t expected,
			    struct hv_unix_peer *ret) hv_must_use;
/* As hv_unix_connect(), of the socket FD, which hv_unix_socket() made with ADDRESS. */
struct hv_err *hv_unix_connect_socket(int fd, const struct sockaddr_un *address, const char *path,
				      uint64_t deadline_ns) hv_must_use;
/* Whether PATH fits into an address. */
int hv_unix_path_fits(const char *path);
