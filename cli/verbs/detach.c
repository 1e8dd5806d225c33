/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace detach: ends a session. */
#include <string.h>

#include "cli/client.h"
#include "cli/terminal.h"
#include "cli/verbs/verb.h"

static int run(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct progress progress = {0};
	const char *spec;
	bool is_json;
	HV_AUTO_FREE char *report = NULL;
	struct hv_err *err;
	int exit_code;

	spec = verb_shown(cli, argc, argv, &is_json, &exit_code);
	if (!spec)
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	err = client_connect(cli->run_dir, spec, cli->libvirt_uri, &c);
	if (err)
		return fail(err);
	progress_begin(&progress, 0, "detaching", spec);
	err = client_detach(&c, note, &report);
	progress_end(&progress);
	if (err)
		return fail(err);
	if (is_json)
		return put_report(spec, report, strlen(report)) ? EXIT_FAILED : EXIT_OK;
	return put_out(report, strlen(report)) ? EXIT_FAILED : EXIT_OK;
}

static const char help[] =
	"Restores every byte that hvtrace changed, and compares. If a task may still return into\n"
	"a trampoline, detach waits up to ten seconds for it.\n\n" VERB_SHOWN_HELP;

const struct verb verb_detach = {
	.name = "detach",
	.args = "[--json] DOMAIN",
	.summary = "End the session with a guest",
	.help = help,
	.run = run,
};
