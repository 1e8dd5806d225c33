/* Connecting to a unix socket within a time. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* *RET_FD: connected, non-blocking, close-on-exec; caller closes. Relative and absolute paths; too
 * long ones are ENAMETOOLONG. */
struct hv_err *hv_unix_connect(const char *path, uint64_t deadline_ns, int *ret_fd) hv_must_use;
/* Whether PATH fits into an address. */
int hv_unix_path_fits(const char *path);
