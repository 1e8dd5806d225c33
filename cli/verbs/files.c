/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace ls, cat, echo, mkdir, rmdir, reset: use the files of a guest's tracefs tree, as the
 * commands of these names use those of a file system; reset ends tracing, and empties the filters
 * and the buffer. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/verbs/verb.h"

/* Checks the operands of a verb without options, and connects to the domain, which is the first
 * one. False: return *RET_EXIT. */
static bool connect_to(struct cli *cli, int argc, char **argv, int min, int max, struct client *ret,
		       int *ret_exit)
{
	struct hv_err *err;

	if (!verb_no_options(cli, argc, argv, min, max, ret_exit))
		return false;
	err = client_connect(cli->run_dir, argv[optind], cli->libvirt_uri, ret);
	if (err)
		*ret_exit = fail(err);
	return !err;
}

/* -- ls --------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Prints NAMES, one per line, in the order of ls(1), which differs from the tree's. */
static int put_sorted(char *names)
{
	HV_AUTO_FREE char **lines = hv_alloc((strlen(names) + 1) * sizeof(*lines));
	HV_AUTO_TEXT struct hv_text sorted = {0};
	char *rest = NULL;
	size_t nr = 0;

	for (char *line = strtok_r(names, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		lines[nr++] = line;
	qsort(lines, nr, sizeof(*lines), by_text);
	for (size_t i = 0; i < nr; i++)
		hv_text_printf(&sorted, "%s\n", lines[i]);
	return put_out(sorted.data, sorted.len_bytes) ? EXIT_FAILED : EXIT_OK;
}

static int run_ls(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	HV_AUTO_FREE char *names = NULL;
	const char *dir;
	struct hv_err *err;
	int exit_code;

	if (!connect_to(cli, argc, argv, 1, 2, &c, &exit_code))
		return exit_code;
	dir = argc - optind == 2 ? argv[optind + 1] : "";
	err = client_list(&c, dir, &names);
	if (err)
		return fail_file(*dir ? dir : ".", err);
	return put_sorted(names);
}

const struct verb verb_ls = {
	.name = "ls",
	.args = "DOMAIN [DIR]",
	.summary = "List the files of a guest's tracefs tree",
	.help = "One name a line, sorted; directories end in '/'.\n",
	.run = run_ls,
};

/* -- cat -------------------------------------------------------------------------------------- */

static int copy(struct client *c, const char *file, uint32_t handle)
{
	struct hv_span data;

	for (;;) {
		struct hv_err *err = client_read(c, handle, HVT_WAIT_FOREVER, &data);

		if (err)
			return fail_file(file, err);
		if (!data.len_bytes)
			return EXIT_OK;
		if (put_out(data.data, data.len_bytes))
			return EXIT_FAILED;
	}
}

static int run_cat(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	const char *file;
	uint32_t handle;
	struct hv_err *err;
	int exit_code;

	if (!connect_to(cli, argc, argv, 2, 2, &c, &exit_code))
		return exit_code;
	file = argv[optind + 1];
	err = client_open(&c, file, O_RDONLY, &handle);
	if (err)
		return fail_file(file, err);
	return copy(&c, file, handle);
}

static const char cat_help[] =
	"cat follows trace_pipe until SIGINT or until the session is detached. If the guest ends\n"
	"or reboots first, cat fails.\n";

const struct verb verb_cat = {
	.name = "cat",
	.args = "DOMAIN FILE",
	.summary = "Show a file of a guest's tracefs tree",
	.help = cat_help,
	.run = run_cat,
};

/* -- echo ------------------------------------------------------------------------------------- */

static void join(char **words, int nr, struct hv_text *ret)
{
	for (int i = 0; i < nr; i++) {
		if (i)
			hv_text_add(ret, " ");
		hv_text_add(ret, words[i]);
	}
	hv_text_add(ret, "\n");
}

static int run_echo(struct cli *cli, int argc, char **argv)
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

static const char echo_help[] =
	"Works like `echo TEXT > FILE` in tracefs: writes the words joined by blanks, and a\n"
	"newline, and fails with the errors of tracefs. Options come before TEXT, which may\n"
	"begin with '-'.\n\n"
	"  -a, --append           as `>> FILE`: add to a list instead of replacing it\n";

const struct verb verb_echo = {
	.name = "echo",
	.args = "[--append] DOMAIN FILE [TEXT...]",
	.summary = "Write to a file of a guest's tracefs tree",
	.help = echo_help,
	.options_end_after = 2,
	.run = run_echo,
};

/* -- mkdir, rmdir ----------------------------------------------------------------------------- */

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

	if (!connect_to(cli, argc, argv, 2, argc, &c, &exit_code))
		return exit_code;
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

/* -- reset ------------------------------------------------------------------------------------ */

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

static int run_reset(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	int exit_code;

	if (!connect_to(cli, argc, argv, 1, 1, &c, &exit_code))
		return exit_code;
	return fail_if(reset_dir(&c, ""));
}

const struct verb verb_reset = {
	.name = "reset",
	.args = "DOMAIN",
	.summary = "End tracing, and empty the filters and the buffer",
	.help = "Sets the tracer to nop, ends the profile and the stack tracer, empties the\n"
		"filters, the lists of tasks and the buffer, and sets max_graph_depth,\n"
		"tracing_thresh and tracing_on back.\n"
		"Directories of instances/, options and sizes stay.\n",
	.run = run_reset,
};
