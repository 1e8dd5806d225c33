/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace mkdir, hvtrace rmdir: make and remove directories of a guest's tracefs tree. */
#include "cli/client.h"
#include "cli/verbs/verb.h"

static struct hv_err *make(struct client *c, const char *path)
{
	return client_mkdir(c, path, CLIENT_DIR_STAYS);
}

static int change_dirs(struct cli *cli, int argc, char **argv,
		       struct hv_err *(*change)(struct client *c, const char *path))
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct hv_err *err;
	int exit_code;

	if (!verb_no_options(cli, argc, argv, 2, argc, &exit_code))
		return exit_code;
	err = client_connect(cli->run_dir, argv[optind], cli->libvirt_uri, &c);
	if (err)
		return fail(err);
	for (int i = optind + 1; i < argc; i++) {
		err = change(&c, argv[i]);
		if (err)
			exit_code = fail_file(argv[i], err);
	}
	return exit_code;
}

static int run_mkdir(struct cli *cli, int argc, char **argv)
{
	return change_dirs(cli, argc, argv, make);
}

static int run_rmdir(struct cli *cli, int argc, char **argv)
{
	return change_dirs(cli, argc, argv, client_rmdir);
}

const struct verb verb_mkdir = {
	.name = "mkdir",
	.args = "DOMAIN DIR...",
	.summary = "Make directories in a guest's tracefs tree",
	.help = "A directory in instances/ has its own tracer, filters and buffer.\n",
	.run = run_mkdir,
};

const struct verb verb_rmdir = {
	.name = "rmdir",
	.args = "DOMAIN DIR...",
	.summary = "Remove directories of a guest's tracefs tree",
	.help = "Removing a directory in instances/ ends its tracing.\n",
	.run = run_rmdir,
};
