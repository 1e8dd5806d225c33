/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace record: traces for some time, with separate settings. */
#include "cli/verbs/record/request.h"
#include "cli/verbs/verb.h"

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct record_request *q, int option, int *ret_exit)
{
	*ret_exit = EXIT_OK;
	if (option == 'o')
		q->target.path = optarg;
	else if (option == 'F')
		q->format = optarg;
	else if (option == 'C')
		q->target.compression = HV_COMPRESSION_ZSTD;
	else
		return record_request_take_option(cli, q, option, ret_exit);
	return true;
}

static bool parse(struct cli *cli, int argc, char **argv, struct record_request *q, int *ret_exit)
{
	static const struct option longs[] = {
		RECORD_LONGS,
		{"format", required_argument, NULL, 'F'},
		{"compress", no_argument, NULL, 'C'},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, RECORD_LETTERS "o:", longs, ret_exit)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, q, option, ret_exit))
			return false;
	return record_request_take_operands(cli, argc, argv, q, ret_exit);
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(record_request_deinit) struct record_request q = {
		.clock = RECORD_CLOCK_OF_TOP,
	};
	int exit_code;

	return parse(cli, argc, argv, &q, &exit_code) ? record_run(cli, &q) : exit_code;
}

static const char help[] =
	"If the domain has no session, attaches first and detaches at the end. Ends after\n"
	"DURATION, when COMMAND ends, or at Ctrl-C. COMMAND runs on this host; its standard\n"
	"output goes to standard error. Settings of other users stay as they are. The last line\n"
	"on standard error reports the number of events, the number of lost events, and how long\n"
	"the guest was held.\n\n"
	"  -p TRACER              as in available_tracers; irqsoff, preemptoff, preemptirqsoff,\n"
	"                         wakeup, wakeup_rt and wakeup_dl print the longest section or\n"
	"                         wait at the end\n" RECORD_EVENT_HELP
	"  -l GLOB                trace only these functions (with the six: in sections, waits)\n"
	"  -n GLOB                do not trace these\n"
	"  -g GLOB                function_graph: only these and their callees\n"
	"  --host-time            function_graph: how long the host did not run the vCPU during\n"
	"                         each call, as KVM reports it to the guest\n"
	"  -P PID                 trace only this task of the guest\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h\n"
	"  --max-overhead=PERCENT limit on the part of a vCPU's time that tracing takes; above\n"
	"                         it, hvtrace stops tracing the costliest functions; the last\n"
	"                         line names them\n"
	"  -o FILE                write the events to FILE (-: standard output), in the format\n"
	"                         of its suffix: .dat (trace-cmd, KernelShark), .pftrace\n"
	"                         (Perfetto), .ctf (a directory: babeltrace2, Trace Compass),\n"
	"                         .jsonl, .txt; with .zst after .pftrace, .jsonl and .txt, FILE\n"
	"                         is compressed\n"
	"  --format=FORMAT        trace.dat, perfetto, ctf, jsonl, text or histogram (durations\n"
	"                         of function_graph's calls), whatever the name of FILE\n"
	"  --compress             compress FILE with zstd\n"
	"  -j, --json             the last line is an object on standard output\n"
	"  --date                 times in FILE are, or can be shown as, the guest's times of "
	"day\n";

const struct verb verb_record = {
	.name = "record",
	.args = RECORD_ARGS "DOMAIN [--max-overhead=PERCENT] [-o FILE [--date] [--json]] "
			    "[--for=DURATION | -- COMMAND...]",
	.summary = "Trace for a while, to standard output or a file, and put the settings back",
	.help = help,
	.run = run,
};
