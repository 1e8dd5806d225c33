/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace latency: measures for some time why a guest's tasks wait, and reports the worst waits and
 * their causes. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/prefix.h"
#include "cli/client.h"
#include "cli/parse.h"
#include "cli/session_stat.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "cli/verbs/latency/functions.h"
#include "cli/verbs/latency/host.h"
#include "cli/verbs/latency/neighbours.h"
#include "cli/verbs/latency/report.h"
#include "cli/verbs/latency/sources.h"
#include "cli/verbs/own_session.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/record/request.h"
#include "cli/verbs/verb.h"

#define TURN_MS		 20
#define SWITCH_TURNS	 10		    /* a busy guest always has more events */
#define DRAIN_MS	 300		    /* longer than a reader waits for records */
#define DRAIN_MAX_NS	 (30 * HV_NS_PER_S) /* limit even if the session reports more events */
#define ANSWER_S	 180 /* limit for an answer of the session, during which signals wait */
#define SETTLE_NS	 HV_NS_PER_S /* after this time the consequences of a stall have ended, too */
#define FOR_NS		 (10 * HV_NS_PER_S)  /* default */
#define THRESHOLD_NS	 (10 * HV_NS_PER_MS) /* default */
#define THRESHOLD_MIN_NS (HV_NS_PER_MS / 10)
#define OVERHEAD_PPM	 20000 /* default */
#define HOST_CLOCK	 "host-mono"
#define COSTLY		 "raw_syscalls" /* disabled after the stacks */
#define TICKS		 "irq_vectors"	/* disabled before the stacks */

struct latency {
	struct record_request request;
	uint64_t threshold_ns;
	bool watches, reports_all;

	struct own_session session;
	struct recording recording;
	struct hv_latency *analysis; /* owned by the recording's file */
	struct latency_sections sections;
	struct latency_stacks stacks;
	struct latency_limits limits;
	struct latency_calls calls;
	struct latency_functions functions;
	struct latency_host host;
	struct latency_neighbours neighbours;
	struct latency_host_events host_events;
	int signals;	     /* fd */
	struct hv_text gaps; /* things not measured, a line each */
	uint64_t vmm_pid, load_ppm;
	uint64_t begin_ns, end_ns, looked_ns, found_ns;
	bool clock_is_hosts, has_costly, has_ticks;
	int out_error; /* 0: standard output works */
};

static void latency_deinit(struct latency *r)
{
	own_session_close(&r->session);
	recording_deinit(&r->recording);
	latency_calls_deinit(&r->calls);
	latency_functions_deinit(&r->functions);
	latency_host_deinit(&r->host);
	latency_neighbours_deinit(&r->neighbours);
	hv_text_deinit(&r->gaps);
	hv_close_at(&r->signals);
}

static struct hv_err *in_domain_of(const struct latency *r, struct hv_err *err)
{
	return err && !client_is_gone(err) ? hv_err_in(err, "domain '%s'", r->request.spec) : err;
}

static void add_gap(struct latency *r, const char *what, const char *why)
{
	if (!why)
		return;
	hv_text_printf(&r->gaps, "not measured: %s: ", what);
	hv_text_add_lines(&r->gaps, why); /* the service forwards text of guests */
	hv_text_add(&r->gaps, "\n");
}

/* -- settings ---------------------------------------------------------------------------------- */

/* Returns whether W is an event of probes that are not defined. A separate line in `gaps` reports
 * that. */
static bool is_undefined(const struct latency *r, const struct hv_wanted_event *w)
{
	if (w->kind == HV_MOMENT_SAMPLE)
		return !r->functions.is_on;
	return !r->limits.is_on &&
	       (w->kind == HV_MOMENT_THROTTLE || w->kind == HV_MOMENT_UNTHROTTLE);
}

/* Returns the wanted events that the guest has, as words of set_event. */
static struct hv_err *find_events(struct latency *r, struct hv_text *words)
{
	HV_AUTO_TEXT struct hv_text available = {0}, absent = {0};
	struct hv_err *err = client_get(&r->session.client, "available_events", &available);

	hv_text_add(&available, "\n");
	hv_text_add(words, ""); /* the guest may have no such events */
	for (size_t i = 0; !err && i < hv_nr_wanted_events; i++) {
		const struct hv_wanted_event *w = &hv_wanted_events[i];
		HV_AUTO_FREE char *name = hv_format("%s:%s", w->system, w->name);
		HV_AUTO_FREE char *line = hv_format("%s\n", name);

		if (hv_wanted_event_is_hosts(w) || is_undefined(r, w))
			continue;
		if (strstr(available.data, line))
			hv_text_printf(words, "%s%s", words->len_bytes ? " " : "", name);
		else
			hv_text_printf(&absent, "%s%s", absent.len_bytes ? ", " : "", name);
	}
	if (absent.len_bytes)
		add_gap(r, absent.data, "the guest has no such event");
	return err;
}

/* The service omits events that can never be recorded. */
static void report_refused(struct latency *r)
{
	HV_AUTO_TEXT struct hv_text refused = {0};
	char *rest;

	hv_err_free(record_events_refused(&r->session.client, r->recording.dir, &refused));
	hv_text_add(&refused, "");
	rest = refused.data;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			add_gap(r, "events", line);
}

/* Returns WHY without a leading name of EVENT. */
static const char *without_name(const char *why, const char *event)
{
	const char *rest = hv_after_prefix(why, event);

	rest = rest ? hv_after_prefix(rest, ": ") : NULL;
	return rest ? rest : why;
}

/* Enables all events of WORDS together or, if one of them fails, one by one. */
static struct hv_err *put_each(struct latency *r, const char *words)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", r->recording.dir);
	HV_AUTO_FREE char *copy = hv_strdup(words);
	char *rest = copy;
	struct hv_err *err;

	hv_err_free(recording_set(&r->recording, "error_log", NULL));
	err = recording_set(&r->recording, "set_event", words);
	if (!err)
		report_refused(r);
	if (!err || client_is_gone(err))
		return err;
	hv_err_free(err);
	for (char *word; (word = strsep(&rest, " "));) {
		HV_AUTO_FREE char *line = hv_format("%s\n", word);

		err = client_put(&r->session.client, path, O_WRONLY | O_APPEND, line);
		if (client_is_gone(err))
			return err;
		if (err)
			add_gap(r, word, without_name(err->reason, word));
		hv_err_free(err);
	}
	return NULL;
}

static struct hv_err *put_events(struct latency *r)
{
	HV_AUTO_TEXT struct hv_text words = {0};
	struct hv_err *err = find_events(r, &words);

	if (!err && words.len_bytes)
		err = put_each(r, words.data);
	if (!err)
		r->has_costly = strstr(words.data, COSTLY);
	if (!err)
		r->has_ticks = strstr(words.data, TICKS);
	return err;
}

static const char *clock_of(const struct latency *r)
{
	return r->clock_is_hosts ? HOST_CLOCK : "local";
}

static struct hv_err *find_clock(struct latency *r)
{
	HV_AUTO_TEXT struct hv_text clocks = {0};
	struct hv_err *err = client_get(&r->session.client, "trace_clock", &clocks);

	if (err)
		return err;
	hv_text_add(&clocks, "");
	r->clock_is_hosts = strstr(clocks.data, HOST_CLOCK);
	r->request.clock = clock_of(r);
	return NULL;
}

static struct hv_err *put_settings(struct latency *r)
{
	HV_AUTO_FREE char *instance = hv_format("latency-%d", (int)getpid());
	HV_AUTO_FREE char *no_sections = NULL, *no_host_events = NULL, *no_stacks = NULL;
	HV_AUTO_FREE char *no_host = NULL, *no_limits = NULL, *no_functions = NULL;
	struct hv_err *err = find_clock(r);

	r->request.instance = instance;
	if (!err)
		err = recording_begin(&r->recording, &r->session.client, &r->request);
	r->request.instance = NULL;
	if (err)
		return err;
	err = latency_sections_begin(&r->sections, &r->session.client, r->recording.dir,
				     r->threshold_ns, &no_sections);
	add_gap(r, "interrupts or preemption off", no_sections);
	if (!err)
		err = latency_limits_begin(&r->limits, &r->session.client, &no_limits);
	add_gap(r, "limits of CPU time of the guest's cgroups", no_limits);
	if (!err)
		err = latency_functions_begin(&r->functions, &r->session.client, &no_functions);
	add_gap(r, "functions of programs", no_functions);
	if (!err)
		err = put_events(r);
	if (!err)
		err = latency_stacks_begin(&r->stacks, &r->session.client, r->recording.dir,
					   &no_stacks);
	add_gap(r, "where tasks sleep and wait", no_stacks);
	if (!err)
		err = latency_host_events_begin(&r->host_events, &r->session.client,
						r->recording.dir, &no_host_events);
	add_gap(r, "exits, and who had the CPU of a vCPU", no_host_events);
	if (!err)
		err = latency_calls_begin(&r->calls, &r->session.client, clock_of(r), &no_host);
	add_gap(r, "how much of a call the host took", no_host);
	return err;
}

/* -- measuring --------------------------------------------------------------------------------- */

static bool sees_host(const struct latency *r)
{
	return r->host.nr_vcpus || r->host_events.is_on;
}

/* The session itself puts back the functions whose calls cost most. */
static void note_put_back(struct latency *r, json_object *stat)
{
	const char *names = session_stat_string(stat, "budget.not_traced");

	if (!session_stat_member(stat, "budget.not_traced") || !*names || r->calls.reports_put_back)
		return;
	r->calls.reports_put_back = true;
	add_gap(r, "calls of some functions, put back to limit the overhead", names);
}

static struct hv_err *give_up_functions(struct latency *r)
{
	r->functions.is_on = false;
	add_gap(r, "functions of programs from then on",
		"tracing took more time than --max-overhead");
	return recording_set(&r->recording,
			     "events/" HV_SAMPLE_SYSTEM "/" HV_SAMPLE_EVENT "/enable", "0");
}

static struct hv_err *give_up_limits(struct latency *r)
{
	if (!r->limits.is_on)
		return NULL;
	r->limits.is_on = false;
	add_gap(r, "limits of CPU time of the guest's cgroups, from then on",
		"tracing took more time than --max-overhead");
	return recording_set(&r->recording, "events/" HV_LIMIT_SYSTEM "/enable", "0");
}

/* If tracing exceeds its limit, disables the most expensive events. */
static struct hv_err *look_at_load(struct latency *r)
{
	AUTO_SESSION_STAT json_object *stat = NULL;
	uint64_t now = hv_now_ns(), load_ppm;
	struct hv_err *err;

	if (now - r->looked_ns < HV_NS_PER_S)
		return NULL;
	r->looked_ns = now;
	err = session_stat_get(&r->session.client, &stat);
	if (err)
		return err;
	load_ppm = session_stat_number(stat, "budget.load_ppm");
	if (load_ppm > r->load_ppm)
		r->load_ppm = load_ppm;
	if (r->calls.recording.dir)
		note_put_back(r, stat);
	if (load_ppm <= r->request.max_overhead_ppm)
		return NULL;
	if (r->calls.is_on) {
		add_gap(r, "calls of functions from then on",
			"tracing took more time than --max-overhead");
		return latency_calls_give_up(&r->calls);
	}
	if (r->has_ticks) {
		r->has_ticks = false;
		add_gap(r, "where system calls and sections spend their time, from then on",
			"tracing took more time than --max-overhead");
		return recording_set(&r->recording, "events/" TICKS "/enable", "0");
	}
	if (r->functions.is_on)
		return give_up_functions(r);
	if (r->stacks.kinds) {
		add_gap(r, "where tasks sleep and wait, from then on",
			"tracing took more time than --max-overhead");
		return latency_stacks_end(&r->stacks, &r->session.client, r->recording.dir,
					  r->analysis);
	}
	if (!r->has_costly)
		return give_up_limits(r);
	r->has_costly = false;
	hv_finders_miss_syscalls(&r->analysis->finders);
	add_gap(r, "system calls and page faults from then on",
		"tracing took more time than --max-overhead");
	return recording_set(&r->recording, "events/" COSTLY "/enable", "0");
}

static struct hv_err *look_at_host(struct latency *r)
{
	bool gave_up = false;
	struct hv_err *err;

	latency_takers_look(&r->analysis->threads.takers, r->vmm_pid);
	err = latency_host_events_look(&r->host_events, &r->session.client, r->recording.dir,
				       r->analysis, r->request.max_overhead_ppm, &gave_up);
	if (gave_up)
		add_gap(r, "exits from then on",
			"recording them took more time than --max-overhead");
	return err;
}

static struct hv_err *take(struct latency *r, uint32_t wait_ms, bool *ret_more)
{
	struct hv_err *err = recording_take(&r->recording, wait_ms, ret_more);

	latency_host_take(&r->host, r->analysis);
	if (!err)
		err = latency_calls_take(&r->calls, ret_more);
	if (!err)
		err = latency_sections_take(&r->sections, &r->session.client, r->recording.dir,
					    r->analysis);
	return err ? err : look_at_host(r);
}

static bool has_ended(const struct latency *r)
{
	struct pollfd signals = {.fd = r->signals, .events = POLLIN};

	return poll(&signals, 1, 0) > 0 ||
	       (r->request.for_ns && hv_now_ns() >= r->begin_ns + r->request.for_ns);
}

/* For --watch: whether there is a stall whose consequences have had time to appear. */
static bool is_found(struct latency *r)
{
	struct hv_verdict *verdict;

	if (!r->watches || (sees_host(r) && !hv_latency_knows_clock(r->analysis)))
		return false;
	if (!r->found_ns) {
		verdict = hv_alloc(sizeof(*verdict));
		hv_latency_verdict(r->analysis, verdict);
		if (verdict->nr ||
		    hv_finders_have_long_series(&r->analysis->finders, r->analysis->newest_ns))
			r->found_ns = hv_now_ns();
		free(verdict);
	}
	return r->found_ns && hv_now_ns() - r->found_ns >= SETTLE_NS;
}

/* While events are enabled one after another, the first ones already record. */
static struct hv_err *switch_on(struct latency *r)
{
	struct hv_err *err = recording_start(&r->recording);
	bool more = true;

	for (unsigned i = 0; !err && more && i < SWITCH_TURNS; i++)
		err = recording_take(&r->recording, 0, &more);
	if (!err)
		hv_latency_forget(r->analysis);
	return err ? err : latency_calls_start(&r->calls);
}

static struct hv_err *measure(struct latency *r)
{
	struct progress progress = {0};
	bool more = true;
	struct hv_err *err = switch_on(r);

	r->begin_ns = hv_now_ns();
	if (!err)
		latency_host_begin(&r->host);
	latency_neighbours_begin(&r->neighbours);
	note(r->watches ? "waiting for a stall" : "measuring");
	progress_begin(&progress, r->request.for_ns, r->watches ? "watching" : "measuring",
		       r->request.spec);
	do {
		if (!err)
			err = take(r, TURN_MS, &more);
		if (!err)
			err = look_at_load(r);
	} while (!err && !has_ended(r) && !is_found(r));
	progress_end(&progress);
	latency_host_end(&r->host);
	latency_neighbours_end(&r->neighbours, r->vmm_pid);
	r->end_ns = hv_now_ns();
	if (!err)
		err = recording_stop(&r->recording);
	if (!err)
		err = latency_calls_stop(&r->calls);
	for (more = true; !err && more && hv_now_ns() < r->end_ns + DRAIN_MAX_NS;)
		err = take(r, DRAIN_MS, &more);
	if (!err)
		err = record_file_end(&r->recording.file);
	if (!err)
		err = latency_calls_end(&r->calls);
	if (!err)
		hv_latency_end(r->analysis, r->end_ns);
	return err;
}

/* *RET_WHY, which the caller frees, explains why the host cannot be observed. */
static void begin_host(struct latency *r, char **ret_why)
{
	r->vmm_pid = (uint64_t)r->session.client.info.vmm_pid;
	latency_host_open(&r->host, r->vmm_pid, ret_why);
	r->neighbours.nr_cpus = latency_host_cpus(&r->host);
}

/* SYMFS may be NULL. */
static struct hv_err *leave_rights(const char *symfs)
{
	struct hv_confinement c = {
		.may = HV_MAY_START | HV_MAY_READ,
		/* /proc: later threads, and takers of a vCPU's CPU */
		.readable = {"/proc", "/usr/lib/debug", symfs},
		.dir_fd = -1,
	};

	return hv_confine(&c);
}

/* NO_HOST: why the host cannot be observed; NULL: it can. */
static struct hv_err *begin(struct latency *r, const char *no_host)
{
	struct hv_err *err = put_settings(r);

	if (!r->host_events.is_on)
		add_gap(r, "when the host did not run a vCPU", no_host);
	return in_domain_of(r, err);
}

static struct hv_err *trace(struct latency *r, const char *no_host)
{
	struct hv_err *err = begin(r, no_host);

	if (!err)
		err = recording_open(&r->recording);
	if (err)
		return err;
	r->analysis = hv_latency_of(r->recording.file.export);
	hv_latency_begin(r->analysis, r->threshold_ns);
	if (r->clock_is_hosts)
		hv_latency_begin_on_hosts_clock(r->analysis);
	if (r->host.nr_vcpus > 0)
		hv_latency_begin_seeing_host(r->analysis);
	if (r->host.counts_instructions)
		hv_latency_begin_counted(r->analysis);
	latency_stacks_report(&r->stacks, r->analysis);
	latency_functions_follow(&r->functions, &r->session.client, r->analysis);
	if (r->host_events.is_on)
		hv_latency_begin_host_events(r->analysis);
	err = in_domain_of(r, measure(r));
	if (client_is_gone(err))
		return err;
	hv_err_keep_first(&err, recording_close(&r->recording));
	return err;
}

static const char *vcpus_cgroup(const struct latency_host *h)
{
	return h->nr_vcpus ? h->threads[0].cgroup : NULL;
}

static struct hv_err *print(struct latency *r)
{
	static const struct terminal_mark marks[] = {
		{"nothing above", TERMINAL_GREEN, 0, 0},
		{"   fault: ", TERMINAL_YELLOW, 10, 0},
		{"   more: ", TERMINAL_PLAIN, 0, 1},
	};
	HV_AUTO_FREE struct hv_verdict *verdict = hv_alloc(sizeof(*verdict));
	HV_AUTO_TEXT struct hv_text out = {0};
	struct hv_err *err;
	struct latency_report report = {
		.domain = r->request.spec,
		.latency = r->analysis,
		.verdict = verdict,
		.measured_ns = r->end_ns - r->begin_ns,
		.threshold_ns = r->threshold_ns,
		.nr_cpus = r->recording.file.head.head.nr_cpus,
		.vmm_pid = r->vmm_pid,
		.load_ppm = r->load_ppm,
		.reports_before = r->watches,
		.reports_all = r->reports_all,
		.vmm_limit = vmm_limits_worst(&r->host.limits, vcpus_cgroup(&r->host)),
		.neighbours = &r->neighbours,
		.functions = r->functions.list,
		.calls = r->calls.recording.file.export,
		.gaps = &r->gaps,
	};

	latency_host_shares(&r->host, report.nr_cpus, &r->analysis->shares);
	hv_latency_verdict(r->analysis, verdict);
	err = latency_functions_name(&r->functions, verdict);
	if (err)
		add_gap(r, "names of functions of programs", err->reason);
	else if (r->functions.programs.is_off)
		add_gap(r, "names of functions of programs",
			"the session's service refused to name them");
	if (r->calls.recording.file.export)
		hv_calls_sort(hv_calls_of(r->calls.recording.file.export));
	if (hv_latency_clock_is_apart(r->analysis))
		add_gap(r, "when the host did not run a vCPU",
			"the guest's clock does not follow the host's");
	else if (sees_host(r) && !hv_latency_knows_clock(r->analysis))
		add_gap(r, "when the host did not run a vCPU",
			"there were too few events to know the guest's clock");
	if (r->request.is_json)
		latency_json(&out, &report);
	else
		latency_text(&out, &report);
	r->out_error = r->request.is_json ? put_out(out.data, out.len_bytes)
					  : put_lines(out.data, 3, marks, HV_ARRAY_LEN(marks));
	return err;
}

static struct hv_err *latency(const struct cli *cli, struct latency *r)
{
	HV_AUTO_FREE char *no_host = NULL;
	struct hv_err *err = own_session_open(cli, r->request.spec, &r->session);

	if (err)
		return err;
	r->signals = stop_signals_fd();
	begin_host(r, &no_host);
	/* The VMM's threads are open; the service's answers are parsed without rights. */
	err = leave_rights(r->functions.programs.symfs);
	if (!err)
		err = own_session_set_budget(&r->session, r->request.max_overhead_ppm);
	if (err)
		return err;
	client_limit(&r->session.client, ANSWER_S);
	err = trace(r, no_host);
	if (!err)
		err = in_domain_of(r, print(r));
	if (client_is_gone(err))
		return err; /* the service removes the instance with the connection */
	hv_err_keep_first(&err, in_domain_of(r, latency_calls_close(&r->calls)));
	hv_err_keep_first(&err, in_domain_of(r, recording_remove(&r->recording)));
	hv_err_keep_first(&err,
			  in_domain_of(r, latency_limits_end(&r->limits, &r->session.client)));
	hv_err_keep_first(
		&err, in_domain_of(r, latency_functions_end(&r->functions, &r->session.client)));
	hv_err_keep_first(&err, own_session_end(&r->session));
	return err;
}

/* -- options ----------------------------------------------------------------------------------- */

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct latency *r, int option, int *ret_exit)
{
	*ret_exit = EXIT_OK;
	if (option == 'j')
		r->request.is_json = true;
	else if (option == 'w')
		r->watches = true;
	else if (option == 'a')
		r->reports_all = true;
	else if (option == 'l')
		latency_calls_want(&r->calls, optarg);
	else if (option == 's')
		r->functions.programs.symfs = optarg;
	else if (option == 'T' && !duration_parse(optarg, &r->request.for_ns))
		*ret_exit = usage_error(cli, "--for: '%s' is not " DURATION_WANTED, optarg);
	else if (option == 't' && !duration_parse(optarg, &r->threshold_ns))
		*ret_exit = usage_error(cli, "--threshold: '%s' is not " DURATION_WANTED, optarg);
	else if (option == 't' && r->threshold_ns < THRESHOLD_MIN_NS)
		*ret_exit = usage_error(
			cli, "--threshold: '%s' is too short to measure: give 100us or more",
			optarg);
	else if (option == 'O' && !percent_parse(optarg, &r->request.max_overhead_ppm))
		*ret_exit = usage_error(cli, "--max-overhead: '%s' is not " PERCENT_WANTED, optarg);
	return *ret_exit == EXIT_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {
		{"for", required_argument, NULL, 'T'},
		{"threshold", required_argument, NULL, 't'},
		{"max-overhead", required_argument, NULL, 'O'},
		{"watch", no_argument, NULL, 'w'},
		{"all", no_argument, NULL, 'a'},
		{"symfs", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	hv_cleanup(latency_deinit) struct latency r = {
		.session = OWN_SESSION_NONE,
		.recording = RECORDING_NONE,
		.calls = LATENCY_CALLS_NONE,
		.threshold_ns = THRESHOLD_NS,
		.request.max_overhead_ppm = OVERHEAD_PPM,
		.signals = -1,
	};
	int option, exit_code;

	while ((option = verb_option(cli, argc, argv, "ajwl:", longs, &exit_code)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, &r, option, &exit_code))
			return exit_code;
	if (!verb_operands(cli, argc, argv, 1, 1, &exit_code))
		return exit_code;
	r.request.spec = argv[optind];
	if (!r.request.for_ns && !r.watches)
		r.request.for_ns = FOR_NS;
	r.request.target.path = "latency";
	r.request.target.format = &hv_latency_format;
	recording_init(&r.recording, &r.request.target);
	exit_code = fail_if(latency(cli, &r));
	return r.out_error ? EXIT_FAILED : exit_code;
}

static const char help[] =
	"Measures for DURATION, or until Ctrl-C. The first line explains why the guest is slow. "
	"The\n"
	"causes follow, worst first: how long and how often, the task, whose fault it is, and the\n"
	"command that shows more. The last part shows how the host ran each vCPU. latency sees\n"
	"interrupts and preemption off, waits for a vCPU, limits of CPU time, time in which the\n"
	"host did not run a vCPU and who had its CPU, exits, block requests, system calls,\n"
	"softirqs and interrupts, locks, reclaim and page faults. A domain without a session is\n"
	"attached for this time; settings of other users stay as they are.\n\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h (default: 10s)\n"
	"  --threshold=DURATION   ignore shorter stalls (default: 10ms)\n"
	"  -a, --all              print all causes and vCPUs, not only the worst 5 and 8\n"
	"  -w, --watch            wait for the first stall, report it, and end\n"
	"  -l GLOB                also report the longest call of each of these functions\n"
	"  --symfs=DIR            a directory with files of the guest, also with debug "
	"information:\n"
	"                         for functions whose names are not in the guest's memory\n"
	"  --max-overhead=PERCENT as for record (default: 2). Above it, latency stops recording\n"
	"                         calls of functions first, then samples, functions of programs,\n"
	"                         stacks, system calls and limits\n"
	"  -j, --json             for programs\n";

const struct verb verb_latency = {
	.name = "latency",
	.args = "[--for=DURATION] [--threshold=DURATION] [--watch] [-l GLOB]... "
		"[--symfs=DIR] [--max-overhead=PERCENT] [--all] [--json] DOMAIN",
	.summary = "Find out why a guest's tasks wait, and which side causes it",
	.help = help,
	.run = run,
};
