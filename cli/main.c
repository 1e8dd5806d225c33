/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/verb.h"

int main(int argc, char **argv)
{
	static const struct cli cli = {
		.run_dir = "/run/hvtrace",
		.conf_path = "/etc/hvtrace.conf",
		.audit_target = AUDIT_SYSLOG,
		.needs_root = true,
	};

	return program_run(&cli, argc, argv);
}
