/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace hist: how long calls of a function take, and how long it is from an event to the one that
 * ends it. It is record with the format histogram. */
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "cli/verbs/record.h"
#include "export/event_pairs.h"

/* Words of `hvtrace record` for a word of hist, and beside these. */
#define WORDS_EACH 4
#define WORDS_MORE 16

/* The command line of `hvtrace record`. */
struct words {
	char **list; /* owned; the words are not */
	int nr;
	char **ends; /* owned, and so are they: globs of events that end others */
	size_t nr_ends;
	struct hv_text pairs; /* lines: an event and the one that ends it */
};

static void words_deinit(struct words *w)
{
	for (size_t i = 0; i < w->nr_ends; i++)
		free(w->ends[i]);
	free(w->ends);
	hv_text_deinit(&w->pairs);
	free(w->list);
}

static void add(struct words *w, const char *word)
{
	w->list[w->nr++] = (char *)word;
}

static void add_option(struct words *w, const char *option, const char *value)
{
	add(w, option);
	add(w, value);
}

/* EVENT is SYSTEM:NAME. False: nothing is known that ends it. */
static bool add_event(struct words *w, const char *event)
{
	const char *name = strchr(event, ':') + 1;
	HV_AUTO_FREE char *system = hv_format("%.*s", (int)(name - 1 - event), event);
	HV_AUTO_TEXT struct hv_text end = {0};

	if (!hv_event_pair_end(system, name, &end))
		return false;
	if (!strpbrk(event, "*?[\\")) {
		hv_text_printf(&w->pairs, "%s %s:%s\n", event, system, end.data);
		return true;
	}
	add_option(w, "-e", event);
	w->ends[w->nr_ends] = hv_format("%s:%s", system, end.data);
	add_option(w, "-e", w->ends[w->nr_ends++]);
	return true;
}

/* What is counted; of calls also what the host took, if TELLS_HOST. False: return *RET_EXIT. */
static bool add_subjects(struct cli *cli, char **subjects, int nr, bool tells_host, struct words *w,
			 int *ret_exit)
{
	bool has_functions = false;

	for (int i = 0; i < nr; i++) {
		if (!strchr(subjects[i], ':')) {
			add_option(w, "-l", subjects[i]);
			has_functions = true;
		} else if (!add_event(w, subjects[i])) {
			*ret_exit = usage_error(
				cli,
				"'%s': it is not known which event ends it: wanted *_entry, "
				"*_enter, *_begin, *_start, syscalls:sys_enter_*, "
				"raw_syscalls:sys_enter, block:block_rq_insert, "
				"block:block_rq_issue, block:block_bio_queue, sched:sched_waking, "
				"sched:sched_wakeup, host:kvm_exit or host:sched_waking",
				subjects[i]);
			return false;
		}
	}
	if (tells_host && !has_functions) {
		*ret_exit = usage_error(cli, "--host-time is for functions: none is given");
		return false;
	}
	if (tells_host)
		add(w, "--host-time");
	if (has_functions)
		add_option(w, "-p", "function_graph");
	return true;
}

/* False: return *RET_EXIT. */
static bool translate(struct cli *cli, int argc, char **argv, struct words *w, int *ret_exit)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"for", required_argument, NULL, 'f'},
		{"host-time", no_argument, NULL, 'H'},
		{0},
	};
	const char *format = "histogram";
	bool tells_host = false;
	int option;

	while ((option = verb_option(cli, argc, argv, "jP:", longs, ret_exit)) != -1) {
		if (option == VERB_OPTION_STOP)
			return false;
		if (option == 'j')
			format = "histogram-json";
		else if (option == 'H')
			tells_host = true;
		else
			add_option(w, option == 'f' ? "--for" : "-P", optarg);
	}
	if (!verb_operands(cli, argc, argv, 2, INT_MAX, ret_exit))
		return false;
	if (!add_subjects(cli, argv + optind + 1, argc - optind - 1, tells_host, w, ret_exit))
		return false;
	add_option(w, "-o", "-");
	add_option(w, "--format", format);
	add(w, argv[optind]);
	return true;
}

static int run(struct cli *cli, int argc, char **argv)
{
	size_t size = WORDS_EACH * (size_t)argc + WORDS_MORE;
	hv_cleanup(words_deinit) struct words w = {0};
	int exit_code;

	w.list = hv_alloc(size * sizeof(*w.list));
	w.ends = hv_alloc((size_t)argc * sizeof(*w.ends));

	add(&w, argv[0]);
	if (!translate(cli, argc, argv, &w, &exit_code))
		return exit_code;
	optind = 0; /* getopt begins anew */
	cli->nr_operands = 0;
	return record_pairs(cli, w.nr, w.list, w.pairs.data);
}

static const char help[] =
	"Counts how long each call of a function takes, what it calls included, in powers of two,\n"
	"and prints that after DURATION or at Ctrl-C. FUNCTION is a name or a glob; more than one\n"
	"can be given. EVENT is SYSTEM:NAME, and counted is the time until the event that ends "
	"it:\n"
	"irq:irq_handler_entry, block:block_rq_issue, sched:sched_waking (until the task runs),\n"
	"raw_syscalls:sys_enter, and others whose names end in _entry, _enter, _begin or _start.\n"
	"It is `hvtrace record`, so settings of other users stay as they are, and a domain "
	"without\n"
	"a session is attached for as long.\n\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h\n"
	"  -P PID                 count only this task of the guest\n"
	"  --host-time            also for how long of calls the host did not run their vCPU, as\n"
	"                         KVM tells the guest\n"
	"  -j, --json             for programs: a line of JSON for each\n";

const struct verb verb_hist = {
	.name = "hist",
	.args = "[--for=DURATION] [-P PID]... [--host-time] [--json] DOMAIN FUNCTION|EVENT...",
	.summary = "Show how long calls of functions take, or events until those that end them",
	.help = help,
	.run = run,
};
