/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace umount: unmounts a guest's tree everywhere, or at one directory. */
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/mountpoint.h"
#include "cli/verbs/verb.h"

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

/* DIRS are the mounts that the session knows of. A mount that was just unmounted is among them
 * until its process is seen to have ended. */
static struct hv_err *umount_all(json_object *dirs, enum mountpoint_how how, size_t *ret_nr)
{
	struct hv_err *err = NULL;
	size_t nr = dirs ? json_object_array_length(dirs) : 0;

	*ret_nr = 0;
	for (size_t i = 0; !err && i < nr; i++) {
		const char *dir = json_object_get_string(json_object_array_get_idx(dirs, i));

		if (mountpoint_look(dir) != MOUNTPOINT_OURS)
			continue;
		err = mountpoint_umount(dir, how);
		++*ret_nr;
	}
	return err;
}

static struct hv_err *umount_domain(const struct cli *cli, const char *spec,
				    enum mountpoint_how how)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	HV_AUTO_FREE char *text = NULL;
	struct wire_frame answer;
	json_object *o, *dirs = NULL;
	size_t nr;
	struct hv_err *err = client_connect(cli->run_dir, spec, cli->libvirt_uri, &c);

	if (!err)
		err = client_call(&c, &(struct wire_frame){.kind = WIRE_STAT}, &answer);
	if (err)
		return err;
	o = wire_string(answer.data, WIRE_DATA_MAX, &text) ? json_tokener_parse(text) : NULL;
	json_object_object_get_ex(o, "mounts", &dirs);
	err = umount_all(dirs, how, &nr);
	if (!err && !nr)
		err = hv_err_new(EINVAL, "domain '%s': its tree is not mounted", spec);
	json_object_put(o);
	return err;
}

static int run(struct cli *cli, int argc, char **argv)
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

static const char help[] =
	"Unmounts everywhere, or at DIR, a path that begins with '/' or '.'. The session\ngoes "
	"on.\n\n  -l, --lazy             also while a process has a file open or works there\n";

const struct verb verb_umount = {
	.name = "umount",
	.args = "[--lazy] DOMAIN|DIR",
	.summary = "Unmount a guest's tracefs tree",
	.help = help,
	.run = run,
};
