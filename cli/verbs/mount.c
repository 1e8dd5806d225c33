/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace mount: mounts a guest's tracefs tree at a directory. */
#include <stdio.h>

#include "cli/mount/mounter.h"
#include "cli/verbs/verb.h"

static int run(struct cli *cli, int argc, char **argv)
{
	HV_AUTO_FREE char *dir = NULL;
	struct hv_err *err;
	int exit_code;

	if (!verb_no_options(cli, argc, argv, 1, 2, &exit_code))
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	err = mounter_mount(cli->run_dir, argv[optind], cli->libvirt_uri, argv[optind + 1], &dir);
	if (err)
		return fail(err);
	printf("%s\n", dir);
	return EXIT_OK;
}

static const char help[] =
	"Mounts the tree, for root, at DIR, an empty directory, or "
	"at\n/run/hvtrace/tracing/DOMAIN, and prints where. `hvtrace umount`, `hvtrace "
	"detach`\nand the end of the guest unmount it. The domain must be attached.\n";

const struct verb verb_mount = {
	.name = "mount",
	.args = "DOMAIN [DIR]",
	.summary = "Mount a guest's tracefs tree",
	.help = help,
	.run = run,
};
