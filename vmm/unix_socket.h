/* Unix sockets by their paths, relative or absolute. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

/* A stream socket and PATH as an address, to bind or to connect. FLAGS: SOCK_NONBLOCK or 0. *RET_FD
 * is close-on-exec; caller closes. ENAMETOOLONG: PATH does not fit; EINVAL: it is empty. */
struct hv_err *hv_unix_socket(const char *path, int flags, struct sockaddr_un *ret_address,
			      int *ret_fd) hv_must_use;
/* Connects within a time. *RET_FD: non-blocking, close-on-exec; caller closes. */
struct hv_err *hv_unix_connect(const char *path, uint64_t deadline_ns, int *ret_fd) hv_must_use;
/* Whether PATH fits into an address. */
int hv_unix_path_fits(const char *path);
