/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace echo: like `echo TEXT > FILE` in a guest's tracefs tree. */
#include <fcntl.h>

#include "cli/client.h"
#include "cli/verbs/verb.h"

static void join(char **words, int nr, struct hv_text *ret)
{
	for (int i = 0; i < nr; i++) {
		if (i)
			hv_text_add(ret, " ");
		hv_text_add(ret, words[i]);
	}
	hv_text_add(ret, "\n");
}

static int run(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {{"append", no_argument, NULL, 'a'}, {0}};
	AUTO_CLIENT struct client c = CLIENT_NONE;
	HV_AUTO_TEXT struct hv_text text = {0};
	int flags = O_WRONLY | O_TRUNC;
	struct hv_err *err;
	int exit_code;
	int option;

	while ((option = verb_option(cli, argc, argv, "a", longs, &exit_code)) != -1) {
		if (option == VERB_OPTION_STOP)
			return exit_code;
		flags = O_WRONLY | O_APPEND;
	}
	if (!verb_operands(cli, argc, argv, 2, argc, &exit_code))
		return exit_code;
	err = client_connect(cli->run_dir, argv[optind], cli->libvirt_uri, &c);
	if (err)
		return fail(err);
	join(argv + optind + 2, argc - optind - 2, &text);
	err = client_put(&c, argv[optind + 1], flags, text.data);
	return err ? fail_file(argv[optind + 1], err) : EXIT_OK;
}

static const char help[] =
	"Works like `echo TEXT > FILE` in tracefs: writes the words joined by blanks, and a\n"
	"newline, and fails with the errors of tracefs. Options come before TEXT, which may\n"
	"begin with '-'.\n\n"
	"  -a, --append           as `>> FILE`: add to a list instead of replacing it\n";

const struct verb verb_echo = {
	.name = "echo",
	.args = "[--append] DOMAIN FILE [TEXT...]",
	.summary = "Write to a file of a guest's tracefs tree",
	.help = help,
	.options_end_after = 2,
	.run = run,
};
