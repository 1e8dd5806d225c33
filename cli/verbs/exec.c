/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace exec, hvtrace sh: run programs that see a guest's tracefs instead of the host's. */
#include <stdio.h>
#include <string.h>

#include "cli/mount/enter.h"
#include "cli/verbs/verb.h"

enum { EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 }; /* as in sh(1) */

static void name_guest(const char *spec)
{
	setenv("HVTRACE_DOMAIN", spec, 1);
}

/* Returns only on errors. */
static int become(const char *file, char **argv)
{
	int code;

	fflush(stdout);
	execvp(file, argv);
	code = errno;
	fprintf(stderr, "hvtrace: %s: %s\n", file, strerror(code));
	return code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static int run_exec(struct cli *cli, int argc, char **argv)
{
	const char *spec;
	struct hv_err *err;
	int exit_code;

	if (verb_option(cli, argc, argv, "", NULL, &exit_code) == VERB_OPTION_STOP)
		return exit_code;
	spec = argv[optind];
	if (optind < argc && optind + 1 < argc && strcmp(argv[optind + 1], "--") == 0)
		optind++;
	if (!verb_operands(cli, argc, argv, 2, argc, &exit_code))
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	err = enter_guest(cli->run_dir, spec, cli->libvirt_uri);
	if (err)
		return fail(err);
	name_guest(spec);
	return become(argv[optind + 1], argv + optind + 1);
}

static const char exec_help[] =
	"COMMAND and its child processes find the guest's tree in /sys/kernel/tracing and\n"
	"/sys/kernel/debug/tracing, and the guest's /proc/kallsyms, /proc/version and number of\n"
	"CPUs. They cannot reach the host's own tracing. The domain must be attached. The exit\n"
	"status is COMMAND's. Options come before DOMAIN. The environment variable\n"
	"HVTRACE_DOMAIN is DOMAIN.\n\n"
	"  hvtrace exec web1 trace-cmd record -p function -l 'vfs_*' sleep 2\n";

const struct verb verb_exec = {
	.name = "exec",
	.args = "DOMAIN [--] COMMAND [ARGS...]",
	.summary = "Run a program with a guest's tree as its tracefs",
	.help = exec_help,
	.options_end_after = 1,
	.run = run_exec,
};

static int run_sh(struct cli *cli, int argc, char **argv)
{
	char *words[] = {(char *)"sh", NULL, NULL, NULL};
	struct hv_err *err;
	int exit_code;
	int c;

	/* -c after the domain is an option of the shell. */
	if ((c = verb_option(cli, argc, argv, "", NULL, &exit_code)) == VERB_OPTION_STOP)
		return exit_code;
	if (argc - optind >= 2 && strcmp(argv[optind + 1], "-c") == 0) {
		if (argc - optind == 2)
			return usage_error(cli, "option '-c' needs a value");
		words[1] = argv[optind + 1];
		words[2] = argv[optind + 2];
	}
	if (!verb_operands(cli, argc, argv, 1, words[1] ? 3 : 1, &exit_code))
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	err = enter_guest(cli->run_dir, argv[optind], cli->libvirt_uri);
	if (err)
		return fail(err);
	if (chdir(ENTER_TRACING) != 0)
		return fail(hv_err_new(errno, ENTER_TRACING ": %s", strerror(errno)));
	name_guest(argv[optind]);
	/* The shell expands the variable, but not its value again. */
	setenv("PS1", "${HVTRACE_DOMAIN}# ", 1);
	return become("/bin/sh", words);
}

static const char sh_help[] =
	"Runs /bin/sh as `hvtrace exec` would, in /sys/kernel/tracing. Options come before\n"
	"DOMAIN, except -c SCRIPT, which the shell takes.\n\n"
	"  hvtrace sh web1 -c 'echo \"vfs_*\" >set_ftrace_filter; cat trace'\n";

const struct verb verb_sh = {
	.name = "sh",
	.args = "DOMAIN [-c SCRIPT]",
	.summary = "Run a shell in a guest's tracefs tree",
	.help = sh_help,
	.options_end_after = 1,
	.run = run_sh,
};
