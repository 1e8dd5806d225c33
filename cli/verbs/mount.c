/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace mount, hvtrace umount: mount a guest's tracefs tree at a directory, and unmount it
 * everywhere or at one directory. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/mount/mounter.h"
#include "cli/mountpoint.h"
#include "cli/verbs/verb.h"

/* -- mount ------------------------------------------------------------------------------------ */

static int run_mount(struct cli *cli, int argc, char **argv)
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

static const char mount_help[] =
	"Mounts the tree, for root, at DIR, an empty directory, or "
	"at\n/run/hvtrace/tracing/DOMAIN, and prints where. `hvtrace umount`, `hvtrace "
	"detach`\nand the end of the guest unmount it. The domain must be attached.\n";

const struct verb verb_mount = {
	.name = "mount",
	.args = "DOMAIN [DIR]",
	.summary = "Mount a guest's tracefs tree",
	.help = mount_help,
	.run = run_mount,
};

/* -- umount ----------------------------------------------------------------------------------- */

static struct hv_err *umount_dir(const char *dir, enum mountpoint_how how)
{
	char real[PATH_MAX];
	const char *at = realpath(dir, real);

	if (!at && errno != ENOTCONN)
		return hv_err_new(errno, "%s: %s", dir, strerror(errno));
	at = at ? at : dir;
	if (mountpoint_look(at) != MOUNTPOINT_OURS)
		return hv_err_new(EINVAL, "%s: no guest's tree is mounted there", dir);
	return mountpoint_umount(at, how);
}

struct umount_all {
	enum mountpoint_how how;
	size_t nr;
	struct hv_err *err; /* owned; the first error */
};

static void umount_one(void *ctx, const char *dir)
{
	struct umount_all *all = ctx;

	all->nr++;
	if (!all->err)
		all->err = mountpoint_umount(dir, all->how);
}

/* Takes the mount points from the mounting processes' notes, not from the service. */
static struct hv_err *umount_domain(const struct cli *cli, const char *spec,
				    enum mountpoint_how how)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	struct umount_all all = {.how = how};
	struct hv_err *why = NULL;
	bool found = false;
	struct hv_err *err =
		client_look_up(cli->run_dir, spec, cli->libvirt_uri, &found, &info, &why);

	if (err || !found)
		return err ? err : why;
	mountpoint_for_each_noted(info.path, umount_one, &all);
	if (!all.nr)
		return hv_err_new(EINVAL, "domain '%s': its tree is not mounted", spec);
	return all.err;
}

static int run_umount(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {{"lazy", no_argument, NULL, 'l'}, {0}};
	enum mountpoint_how how = MOUNTPOINT_NOW;
	const char *what;
	int exit_code;
	int option;

	while ((option = verb_option(cli, argc, argv, "l", longs, &exit_code)) != -1) {
		if (option == VERB_OPTION_STOP)
			return exit_code;
		how = MOUNTPOINT_LAZY;
	}
	if (!verb_operands(cli, argc, argv, 1, 1, &exit_code))
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	what = argv[optind];
	mountpoint_clear_dead(cli->run_dir);
	if (what[0] == '/' || what[0] == '.')
		return fail_if(umount_dir(what, how));
	return fail_if(umount_domain(cli, what, how));
}

static const char umount_help[] =
	"Unmounts everywhere, or at DIR, a path that begins with '/' or '.'. The session\n"
	"continues.\n\n"
	"  -l, --lazy             also while a process has a file open or works there\n";

const struct verb verb_umount = {
	.name = "umount",
	.args = "[--lazy] DOMAIN|DIR",
	.summary = "Unmount a guest's tracefs tree",
	.help = umount_help,
	.run = run_umount,
};
