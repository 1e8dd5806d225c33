/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program: finds the verb and runs it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/commit.h"
#include "cli/terminal.h"
#include "cli/verbs/verb.h"

static const struct verb *const verbs[] = {
#define X(name_) &verb_##name_,
	VERBS(X)
#undef X
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

static int unknown_verb(const struct cli *cli, const char *name)
{
	struct hv_nearest nearest = hv_nearest_to(name);
	HV_AUTO_FREE char *question = NULL;

	for (size_t i = 0; i < HV_ARRAY_LEN(verbs); i++)
		hv_nearest_try(&nearest, verbs[i]->name);
	hv_nearest_try(&nearest, "help");
	question = hv_nearest_question(&nearest);
	return usage_error(cli, "unknown verb '%s'%s", name, question);
}

static void print_help(void)
{
	printf("usage: hvtrace [-c URI] VERB [ARGS...]\n\n"
	       "Traces the Linux kernel of a running KVM/QEMU guest from outside, as its own "
	       "ftrace would.\n\n");
	for (size_t i = 0; i < HV_ARRAY_LEN(verbs); i++)
		printf("  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
	printf("\n  -c, --connect=URI   libvirt to ask (default: libvirt's own, qemu:///system)\n"
	       "  -h, --help          this text; hvtrace help VERB describes a verb\n"
	       "  -V, --version       the version, and the commit it was built from\n\n"
	       "The options of a verb may be anywhere after it, but exec and sh take them only "
	       "before\n"
	       "DOMAIN, and echo only before TEXT.\n\n"
	       "DOMAIN is a libvirt domain's name, id or UUID; qmp:PATH, a QEMU's QMP socket;\n"
	       "pid:N, a process with a KVM machine; or vmm:ID, the id in its arguments.\n"
	       "Exit status: 0 ok, 1 failed, 2 usage.\n");
}

/* Parses the options before the verb. False: return *RET_EXIT. */
static bool global_options(struct cli *cli, int argc, char **argv, int *ret_exit)
{
	static const struct option longs[] = {
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{"connect", required_argument, NULL, 'c'},
		{0},
	};
	int c;

	opterr = 0;
	*ret_exit = EXIT_OK;
	while ((c = getopt_long(argc, argv, "+:hVc:", longs, NULL)) != -1) {
		if (c == 'h') {
			print_help();
			return false;
		}
		if (c == 'V') {
			printf("hvtrace %s (commit %s)\n", HVTRACE_VERSION, HVTRACE_COMMIT);
			return false;
		}
		if (c != 'c') {
			*ret_exit = usage_error(
				cli, c == ':' ? "'%s' needs a value" : "unknown option '%s'",
				argv[optind - 1]);
			return false;
		}
		cli->libvirt_uri = optarg;
	}
	return true;
}

/* `hvtrace help [VERB]`. */
static int help_on(struct cli *cli, char *name)
{
	char *argv[] = {name, "--help", NULL};

	if (!name) {
		print_help();
		return EXIT_OK;
	}
	cli->verb = find_verb(name);
	if (!cli->verb)
		return unknown_verb(cli, name);
	optind = 0;
	return cli->verb->run(cli, 2, argv);
}

static int run_verb(struct cli *cli, int argc, char **argv)
{
	int exit_code;

	if (!global_options(cli, argc, argv, &exit_code))
		return exit_code;
	if (optind == argc)
		return usage_error(cli, "no verb given");
	if (strcmp(argv[optind], "help") == 0)
		return help_on(cli, argv[optind + 1]);
	cli->verb = find_verb(argv[optind]);
	if (!cli->verb)
		return unknown_verb(cli, argv[optind]);
	argc -= optind;
	argv += optind;
	/* Resets getopt for another ARGV. */
	optind = 0;
	return cli->verb->run(cli, argc, argv);
}

/* Opens standard files that are closed, so that no other file gets their descriptors. Reads and
 * writes of these replacements fail. */
static void fill_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int program_run(const struct cli *defaults, int argc, char **argv)
{
	struct cli cli = *defaults;
	int exit_code;

	fill_standard_files();
	terminal_filter_output();
	exit_code = run_verb(&cli, argc, argv);

	if ((fflush(stdout) != 0 || ferror(stdout)) && exit_code == EXIT_OK) {
		fprintf(stderr, "hvtrace: standard output: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	return exit_code;
}
