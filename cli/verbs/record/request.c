/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/request.h"

#include "cli/parse.h"
#include "cli/verbs/record/settings.h"
#include "cli/verbs/verb.h"

void record_request_deinit(struct record_request *q)
{
	record_settings_deinit(&q->settings);
}

bool record_request_take_option(struct cli *cli, struct record_request *q, int option,
				int *ret_exit)
{
	struct record_settings *s = &q->settings;

	*ret_exit = EXIT_OK;
	if (option == 'p')
		s->tracer = optarg;
	else if (option == 'l')
		record_settings_add_glob(&s->filter, optarg);
	else if (option == 'n')
		record_settings_add_glob(&s->notrace, optarg);
	else if (option == 'g')
		record_settings_add_glob(&s->graph, optarg);
	else if (option == 'e')
		record_settings_add_event(s, optarg);
	else if (option == 'k')
		record_settings_add_probe(s, optarg);
	else if (option == 'M')
		record_settings_add_probe(s, RECORD_PROBES_MARK);
	else if (option == 'f' && !s->event)
		*ret_exit = usage_error(cli, "-f: give it after the -e EVENT that it is for");
	else if (option == 'f')
		record_filters_add(&s->event_filters, s->event, optarg);
	else if (option == 'P' && !record_settings_add_pid(s, optarg))
		*ret_exit = usage_error(cli, "-P: '%s' is not a process id", optarg);
	else if (option == 'j')
		q->is_json = true;
	else if (option == 'H')
		s->tells_host = true;
	else if (option == 'D')
		q->target.has_date = true;
	else if (option == 'T' && !duration_parse(optarg, &q->for_ns))
		*ret_exit = usage_error(cli, "--for: '%s' is not " DURATION_WANTED, optarg);
	else if (option == 'O' && !percent_parse(optarg, &q->max_overhead_ppm))
		*ret_exit = usage_error(cli, "--max-overhead: '%s' is not " PERCENT_WANTED, optarg);
	return *ret_exit == EXIT_OK;
}

bool record_request_take_operands(struct cli *cli, int argc, char **argv, struct record_request *q,
				  int *ret_exit)
{
	if (cli->nr_operands > 1) {
		*ret_exit =
			usage_error(cli, "write `--` before the command: '%s'", argv[optind + 1]);
		return false;
	}
	if (!cli->nr_operands) {
		*ret_exit = usage_error(cli, "missing operands: wanted: DOMAIN");
		return false;
	}
	q->spec = argv[optind];
	q->command = optind + 1 < argc ? argv + optind + 1 : NULL;
	return true;
}
