/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace hist: shows how long calls of a function take, or the time between an event and the event
 * that ends it. Works like record with the format histogram. */
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "cli/verbs/record/request.h"
#include "cli/verbs/verb.h"
#include "export/event_pairs.h"

/* EVENT is SYSTEM:NAME. False: its end event is unknown. */
static bool add_event(struct record_settings *s, const char *event)
{
	const char *name = strchr(event, ':') + 1;
	HV_AUTO_FREE char *system = hv_format("%.*s", (int)(name - 1 - event), event);
	HV_AUTO_TEXT struct hv_text end = {0};
	HV_AUTO_FREE char *glob = NULL;

	if (!hv_event_pair_end(system, name, &end))
		return false;
	if (!strpbrk(event, "*?[\\")) {
		hv_text_printf(&s->pairs, "%s %s:%s\n", event, system, end.data);
		return true;
	}
	glob = hv_format("%s:%s", system, end.data);
	record_settings_add_glob(&s->events, event);
	record_settings_add_glob(&s->events, glob);
	return true;
}

/* Parses the functions and events to measure. False: return *RET_EXIT. */
static bool add_subjects(struct cli *cli, char **subjects, int nr, struct record_settings *s,
			 int *ret_exit)
{
	bool has_functions = false;

	for (int i = 0; i < nr; i++) {
		if (!strchr(subjects[i], ':')) {
			record_settings_add_glob(&s->filter, subjects[i]);
			has_functions = true;
		} else if (!add_event(s, subjects[i])) {
			*ret_exit = usage_error(
				cli,
				"'%s': hvtrace knows no event that ends it: wanted *_entry, "
				"*_enter, *_begin, *_start, syscalls:sys_enter_*, "
				"raw_syscalls:sys_enter, block:block_rq_insert, "
				"block:block_rq_issue, block:block_bio_queue, sched:sched_waking, "
				"sched:sched_wakeup, host:kvm_exit or host:sched_waking",
				subjects[i]);
			return false;
		}
	}
	if (s->reports_host && !has_functions) {
		*ret_exit = usage_error(cli, "--host-time needs a FUNCTION");
		return false;
	}
	if (has_functions)
		s->tracer = "function_graph";
	return true;
}

/* False: return *RET_EXIT. */
static bool parse(struct cli *cli, int argc, char **argv, struct record_request *q, int *ret_exit)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"for", required_argument, NULL, 'T'},
		{"host-time", no_argument, NULL, 'H'},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, "jP:", longs, ret_exit)) != -1) {
		if (option == VERB_OPTION_STOP)
			return false;
		if (option == 'j')
			q->format = "histogram-json";
		else if (!record_request_take_option(cli, q, option, ret_exit))
			return false;
	}
	if (!verb_operands(cli, argc, argv, 2, INT_MAX, ret_exit))
		return false;
	q->spec = argv[optind];
	return add_subjects(cli, argv + optind + 1, argc - optind - 1, &q->settings, ret_exit);
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(record_request_deinit) struct record_request q = {
		.clock = RECORD_CLOCK_OF_TOP,
		.target.path = "-",
		.format = "histogram",
	};
	int exit_code;

	return parse(cli, argc, argv, &q, &exit_code) ? record_run(cli, &q) : exit_code;
}

static const char help[] =
	"Counts how long each call of a function takes, including its callees, in powers of two,\n"
	"and prints the counts after DURATION or at Ctrl-C. FUNCTION is a name or a glob; more "
	"than\n"
	"one can be given. EVENT is SYSTEM:NAME: hist measures the time until the event that ends "
	"it:\n"
	"irq:irq_handler_entry, block:block_rq_issue, sched:sched_waking (until the task runs),\n"
	"raw_syscalls:sys_enter, and others whose names end in _entry, _enter, _begin or _start.\n"
	"It uses `hvtrace record`: settings of other users stay as they are, and a domain without\n"
	"a session is attached for this time.\n\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h\n"
	"  -P PID                 count only this task of the guest\n"
	"  --host-time            also how long the host did not run the vCPU during the calls,\n"
	"                         as KVM reports it to the guest\n"
	"  -j, --json             for programs: a line of JSON for each function or event\n";

const struct verb verb_hist = {
	.name = "hist",
	.args = "[--for=DURATION] [-P PID]... [--host-time] [--json] DOMAIN FUNCTION|EVENT...",
	.summary = "Show how long function calls take, or the time from one event to another",
	.help = help,
	.run = run,
};
