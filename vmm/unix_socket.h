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
/* Connects to PATH. *RET_FD is non-blocking and close-on-exec; the caller closes it. ETIMEDOUT: it
 * was not accepted by DEADLINE_NS. */
struct hv_err *hv_unix_connect(const char *path, uint64_t deadline_ns, int *ret_fd) hv_must_use;
/* Whether PATH fits into an address. */
int hv_unix_path_fits(const char *path);
