/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace cat: shows one file of a guest's tracefs tree, as cat(1) does. */
#include <fcntl.h>

#include "cli/client.h"
#include "cli/verbs/verb.h"

static int copy(struct client *c, const char *file, uint32_t handle)
{
	struct hv_span data;

	for (;;) {
		struct hv_err *err = client_read(c, handle, WIRE_WAIT_FOREVER, &data);

		if (err)
			return fail_file(file, err);
		if (!data.len_bytes)
			return EXIT_OK;
		if (put_out(data.data, data.len_bytes))
			return EXIT_FAILED;
	}
}

static int run(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	const char *file;
	uint32_t handle;
	struct hv_err *err;
	int exit_code;

	if (!verb_no_options(cli, argc, argv, 2, 2, &exit_code))
		return exit_code;
	file = argv[optind + 1];
	err = client_connect(cli->run_dir, argv[optind], cli->libvirt_uri, &c);
	if (err)
		return fail(err);
	err = client_open(&c, file, O_RDONLY, &handle);
	if (err)
		return fail_file(file, err);
	return copy(&c, file, handle);
}

static const char help[] =
	"cat follows trace_pipe until SIGINT or until the session is detached. If the guest ends\n"
	"or reboots first, cat fails.\n";

const struct verb verb_cat = {
	.name = "cat",
	.args = "DOMAIN FILE",
	.summary = "Show a file of a guest's tracefs tree",
	.help = help,
	.run = run,
};
