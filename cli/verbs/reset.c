/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace reset: ends tracing, and empties the filters and the buffer of a guest's tracefs tree. */
#include "cli/client.h"
#include "cli/verbs/verb.h"

/* The tracer comes first. Otherwise an emptied filter would briefly select all functions. */
static const struct {
	const char *file;
	const char *text; /* NULL: truncated */
} settings[] = {
	{"current_tracer", "nop"},
	{"function_profile_enabled", "0"},
	{"stack_tracer_enabled", "0"},
	{"stack_trace_filter", NULL},
	{"set_ftrace_filter", NULL},
	{"set_ftrace_notrace", NULL},
	{"set_graph_function", NULL},
	{"set_graph_notrace", NULL},
	{"set_ftrace_pid", NULL},
	{"set_ftrace_notrace_pid", NULL},
	{"max_graph_depth", "0"},
	{"tracing_thresh", "0"},
	{"trace", NULL},
	{"tracing_on", "1"},
};

/* Resets each setting that exists in DIR, which is "" or a path that ends with '/'. */
static struct hv_err *reset_dir(struct client *c, const char *dir)
{
	struct hv_err *first = NULL;

	for (size_t i = 0; i < HV_ARRAY_LEN(settings); i++) {
		HV_AUTO_TEXT struct hv_text path = {0};
		struct hv_err *err;

		hv_text_printf(&path, "%s%s", dir, settings[i].file);
		err = client_echo(c, path.data, settings[i].text);
		if (err && err->code == ENOENT)
			hv_err_free(err);
		else
			hv_err_keep_first(&first, err);
	}
	return first;
}

static int run(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct hv_err *err;
	int exit_code;

	if (!verb_no_options(cli, argc, argv, 1, 1, &exit_code))
		return exit_code;
	err = client_connect(cli->run_dir, argv[optind], cli->libvirt_uri, &c);
	if (!err)
		err = reset_dir(&c, "");
	return fail_if(err);
}

const struct verb verb_reset = {
	.name = "reset",
	.args = "DOMAIN",
	.summary = "End tracing, and empty the filters and the buffer",
	.help = "Sets the tracer to nop, ends the profile and the stack tracer, empties the\n"
		"filters, the lists of tasks and the buffer, and sets max_graph_depth,\n"
		"tracing_thresh and tracing_on back.\n"
		"Directories of instances/, options and sizes stay.\n",
	.run = run,
};
