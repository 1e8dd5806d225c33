/* hvtrace ls: names in a guest's tracefs tree. */
#include <string.h>

#include "cli/client.h"
#include "cli/verb.h"

static int run(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct wire_frame answer;
	const char *dir;
	struct hv_err *err;
	int exit_code;

	if (!verb_no_options(cli, argc, argv, 1, 2, &exit_code))
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	dir = argc - optind == 2 ? argv[optind + 1] : "";
	err = client_connect(cli->run_dir, argv[optind], cli->libvirt_uri, &c);
	if (err)
		return fail(err);
	err = client_call(&c,
			  &(struct wire_frame){.kind = WIRE_LIST,
					       .data = {(const uint8_t *)dir, strlen(dir)}},
			  &answer);
	if (err)
		return fail_file(*dir ? dir : ".", err);
	return put_out(answer.data.data, answer.data.len_bytes) ? EXIT_FAILED : EXIT_OK;
}

const struct verb verb_ls = {
	.name = "ls",
	.args = "DOMAIN [DIR]",
	.summary = "List the files of a guest's tracefs tree",
	.help = "One name a line; directories end in '/'.\n",
	.run = run,
};
