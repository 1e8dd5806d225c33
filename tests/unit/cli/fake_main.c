/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command hvtrace on top of fake_layers.c: `fake_hvtrace RUN_DIR ARGS...`. Needs no root.
 * HVTRACE_CONF is the path of its hvtrace.conf. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/verbs/verb.h"

int main(int argc, char **argv)
{
	struct cli cli = {.audit_target = AUDIT_LOG_ONLY};

	if (argc < 2)
		return EXIT_USAGE;
	cli.run_dir = argv[1];
	cli.conf_path = getenv("HVTRACE_CONF");
	return program_run(&cli, argc - 1, argv + 1);
}
