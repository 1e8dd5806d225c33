/* hvtrace built without libfuse3. */
#include "cli/fusefs.h"

struct hv_err *fusefs_available(void)
{
	return hv_err_new(
		ENOTSUP,
		"this hvtrace was built without libfuse3: no mount, and no programs that know "
		"tracefs; its files can be had with ls, cat and echo, a trace with record");
}

void fusefs_serve(int fuse_fd, struct link *l hv_unused, int stop_fd hv_unused)
{
	close(fuse_fd);
}
