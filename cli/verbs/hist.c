/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace hist: how long calls of a function take. It is record with the format histogram. */
#include <limits.h>

#include "cli/verbs/verb.h"

/* Words of `hvtrace record` beside those that two can be made of for each word of hist. */
#define WORDS_MORE 16

/* The command line of `hvtrace record`. */
struct words {
	char **list; /* owned; the words are not */
	int nr;
};

static void add(struct words *w, const char *word)
{
	w->list[w->nr++] = (char *)word;
}

static void add_option(struct words *w, const char *option, const char *value)
{
	add(w, option);
	add(w, value);
}

/* False: return *RET_EXIT. */
static bool translate(struct cli *cli, int argc, char **argv, struct words *w, int *ret_exit)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'}, {"for", required_argument, NULL, 'f'}, {0}};
	const char *format = "histogram";
	int option;

	while ((option = verb_option(cli, argc, argv, "jP:", longs, ret_exit)) != -1) {
		if (option == VERB_OPTION_STOP)
			return false;
		if (option == 'j')
			format = "histogram-json";
		else
			add_option(w, option == 'f' ? "--for" : "-P", optarg);
	}
	if (!verb_operands(cli, argc, argv, 2, INT_MAX, ret_exit))
		return false;
	for (int i = optind + 1; i < argc; i++)
		add_option(w, "-l", argv[i]);
	add_option(w, "-p", "function_graph");
	add_option(w, "-o", "-");
	add_option(w, "--format", format);
	add(w, argv[optind]);
	return true;
}

static int run(struct cli *cli, int argc, char **argv)
{
	size_t size = 2 * (size_t)argc + WORDS_MORE;
	HV_AUTO_FREE char **list = hv_alloc(size * sizeof(*list));
	struct words w = {.list = list};
	int exit_code;

	add(&w, argv[0]);
	if (!translate(cli, argc, argv, &w, &exit_code))
		return exit_code;
	optind = 0; /* getopt begins anew */
	cli->nr_operands = 0;
	return verb_record.run(cli, w.nr, w.list);
}

static const char help[] =
	"Counts how long each call of a function takes, what it calls included, in powers of two,\n"
	"and prints that after DURATION or at Ctrl-C. FUNCTION is a name or a glob; more than one\n"
	"can be given. It is `hvtrace record` of function_graph, so settings of other users stay "
	"as\n"
	"they are, and a domain without a session is attached for as long.\n\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h\n"
	"  -P PID                 count only this task of the guest\n"
	"  -j, --json             for programs: a line of JSON for each function\n";

const struct verb verb_hist = {
	.name = "hist",
	.args = "[--for=DURATION] [-P PID]... [--json] DOMAIN FUNCTION...",
	.summary = "Show how long calls of a function take",
	.help = help,
	.run = run,
};
