/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unix stream sockets that have a path: creates and connects them, and identifies the peer. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

/* Creates a stream socket, and the address of PATH to bind or connect it to. FLAGS is SOCK_NONBLOCK
 * or 0. *RET_FD is close-on-exec; the caller closes it. Fails with ENAMETOOLONG if PATH does not
 * fit into an address, or EINVAL if it is empty. */
struct hv_err *hv_unix_socket(const char *path, int flags, struct sockaddr_un *ret_address,
			      int *ret_fd) hv_must_use;
/* Connects to PATH, which may be in the mount namespace of another process (root_path.h). *RET_FD
 * is non-blocking and close-on-exec; the caller closes it. Fails with ETIMEDOUT if the connection
 * was not accepted by DEADLINE_NS. */
struct hv_err *hv_unix_connect(const char *path, uint64_t deadline_ns, int *ret_fd) hv_must_use;
/* The peer of a connection: the process that called listen(2), as reported by the kernel. */
struct hv_unix_peer {
	pid_t pid;
	int pidfd; /* the caller closes it */
};
#define HV_UNIX_PEER_NONE ((struct hv_unix_peer){.pidfd = -1})
/* Returns the peer of the connected socket FD. EXPECTED is the required process, or 0 for any. PATH
 * is for messages. Fails with ESRCH if the peer is another process, has ended, or is in another pid
 * namespace. */
struct hv_err *hv_unix_peer(int fd, const char *path, pid_t expected,
			    struct hv_unix_peer *ret) hv_must_use;
/* Like hv_unix_connect(), for the socket FD that hv_unix_socket() created with ADDRESS. */
struct hv_err *hv_unix_connect_socket(int fd, const struct sockaddr_un *address, const char *path,
				      uint64_t deadline_ns) hv_must_use;
/* Whether PATH fits into an address. */
int hv_unix_path_fits(const char *path);
