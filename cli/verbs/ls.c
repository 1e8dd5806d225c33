/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace ls: lists names in a guest's tracefs tree. */
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/verbs/verb.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Prints NAMES, one per line, in the order of ls(1), which differs from the tree's. */
static int put_sorted(struct hv_span names)
{
	HV_AUTO_FREE char **lines = hv_alloc((names.len_bytes + 1) * sizeof(*lines));
	HV_AUTO_TEXT struct hv_text sorted = {0};
	HV_AUTO_TEXT struct hv_text text = {0};
	char *rest = NULL;
	size_t nr = 0;

	hv_text_add_bytes(&text, names.data, names.len_bytes);
	hv_text_add(&text, "");
	for (char *line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		lines[nr++] = line;
	qsort(lines, nr, sizeof(*lines), by_text);
	for (size_t i = 0; i < nr; i++)
		hv_text_printf(&sorted, "%s\n", lines[i]);
	return put_out(sorted.data, sorted.len_bytes) ? EXIT_FAILED : EXIT_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct wire_frame answer;
	const char *dir;
	struct hv_err *err;
	int exit_code;

	if (!verb_no_options(cli, argc, argv, 1, 2, &exit_code))
		return exit_code;
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
	return put_sorted(answer.data);
}

const struct verb verb_ls = {
	.name = "ls",
	.args = "DOMAIN [DIR]",
	.summary = "List the files of a guest's tracefs tree",
	.help = "One name a line, sorted; directories end in '/'.\n",
	.run = run,
};
