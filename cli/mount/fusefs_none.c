/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Used in builds without libfuse3. */
#include "cli/mount/fusefs.h"

#include <unistd.h>

struct hv_err *fusefs_available(void)
{
	return hv_err_new(ENOTSUP, "this hvtrace was built without libfuse3, which `hvtrace mount`,"
				   " exec and sh need; ls, cat, echo and record work without");
}

void fusefs_serve(int fuse_fd, struct link *l hv_unused, int stop_fd hv_unused,
		  const struct mounted *m hv_unused)
{
	close(fuse_fd);
}
