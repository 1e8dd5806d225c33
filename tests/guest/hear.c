/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hear WHERE: receives a report like `hvtrace stat --agent=WHERE`, inside a guest, through its vsock
 * loopback. Prints the number of entries of each kind, and the clock. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/agent.h"

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "";
	struct agent_round r = {0};
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = agent_connect(where, &fd);

	if (!err)
		err = agent_read(fd, where, &r);
	if (err) {
		printf("%s\n", err->message);
		hv_err_free(err);
		return 1;
	}
	printf("%zu tasks, %zu files, %zu maps, at %" PRIu64 "\n", r.nr, r.nr_files, r.nr_maps,
	       r.clock.realtime_ns);
	agent_round_deinit(&r);
	return 0;
}
