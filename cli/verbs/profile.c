/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace profile: samples the code that a guest's vCPUs execute, and shows the samples as a tree or
 * writes them as a flame graph. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/prefix.h"
#include "cli/client.h"
#include "cli/parse.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "cli/verbs/own_session.h"
#include "cli/verbs/profile/diff.h"
#include "cli/verbs/profile/programs.h"
#include "cli/verbs/profile/stacks.h"
#include "cli/verbs/profile/switches.h"
#include "cli/verbs/profile/ticks.h"
#include "cli/verbs/profile/write.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/record/request.h"
#include "cli/verbs/verb.h"
#include "profile/offcpu.h"
#include "profile/perfetto.h"
#include "profile/pprof.h"
#include "profile/profile.h"

#define TURN_MS	     20
#define DRAIN_MS     300
#define DRAIN_MAX_NS (10 * HV_NS_PER_S)
#define ANSWER_S     60
#define FOR_NS	     (10 * HV_NS_PER_S) /* default */
#define MIN_PPM	     10000		/* default */
#define OVERHEAD_PPM 20000		/* default */
#define RATE_MAX     1000
#define HOTTEST	     10
#define FILE_MAX     (512u << 20) /* bytes */
#define BUFFER_KB    "1024"	  /* of each vCPU: some seconds of samples */
#define SWITCHES_KB  "4096"	  /* of each vCPU, for the events of the scheduler */
#define COPIES_KB    "8192"	  /* of each vCPU, for copies of stacks: some seconds */

enum output {
	OUTPUT_TREE,
	OUTPUT_FOLDED,
	OUTPUT_SVG,
	OUTPUT_JSONL,
	OUTPUT_PERF,
	OUTPUT_PPROF,
	OUTPUT_PERFETTO,
};

static const struct {
	const char *suffix;
	enum output output;
} outputs[] = {
	{".folded", OUTPUT_FOLDED}, {".svg", OUTPUT_SVG},     {".jsonl", OUTPUT_JSONL},
	{".perf", OUTPUT_PERF},	    {".pb.gz", OUTPUT_PPROF}, {".pftrace", OUTPUT_PERFETTO},
};

struct profile {
	struct record_request request;
	const char *path; /* of -o; NULL: none */
	enum output output;
	uint64_t min_ppm;
	unsigned one_of;
	enum hv_profile_per per;

	struct own_session session;
	struct recording recording;
	struct hv_profile *samples; /* owned by the recording's file */
	struct profile_ticks ticks;
	struct profile_switches switches;
	struct programs programs;
	struct stacks stacks; /* of programs, if ticks have copies */
	struct profile_file file;
	int signals;	  /* fd */
	bool compares;	  /* two files */
	bool is_of_guest; /* an option needs a guest */
	uint64_t begin_ns, end_ns;
	struct hv_text gaps; /* things that are not sampled, a line each */
	bool is_cut;	     /* the file would be larger than FILE_MAX */
	int out_error;	     /* 0: standard output works */
};

static void profile_deinit(struct profile *r)
{
	own_session_close(&r->session);
	recording_deinit(&r->recording);
	stacks_deinit(&r->stacks);
	programs_deinit(&r->programs);
	hv_text_deinit(&r->gaps);
	profile_file_close(&r->file);
	hv_close_at(&r->signals);
}

/* Whether the profile has times of tasks, not samples. */
static bool is_timed(const struct profile *r)
{
	return r->switches.has_stacks || r->switches.has_wakers || r->switches.has_running;
}

static struct hv_err *in_domain_of(const struct profile *r, struct hv_err *err)
{
	return err && !client_is_gone(err) ? hv_err_in(err, "domain '%s'", r->request.spec) : err;
}

static void add_gap(struct profile *r, const char *what, const char *why)
{
	if (!why)
		return;
	hv_text_printf(&r->gaps, "not measured: %s: ", what);
	hv_text_add_lines(&r->gaps, why); /* the service forwards text of guests */
	hv_text_add(&r->gaps, "\n");
}

/* -- measuring ---------------------------------------------------------------------------------- */

static struct hv_err *put_settings(struct profile *r)
{
	HV_AUTO_FREE char *instance = hv_format("profile-%d", (int)getpid());
	HV_AUTO_FREE char *no_users = NULL, *no_stacks = NULL;
	struct hv_err *err;

	r->request.instance = instance;
	r->request.buffer_kb = is_timed(r)	     ? SWITCHES_KB
			       : r->ticks.has_copies ? COPIES_KB
						     : BUFFER_KB;
	err = recording_begin(&r->recording, &r->session.client, &r->request);
	r->request.instance = NULL;
	if (!err && (!is_timed(r) || r->switches.has_running))
		err = profile_ticks_begin(&r->ticks, &r->recording, &no_users, &no_stacks);
	if (!err && is_timed(r))
		err = profile_switches_begin(&r->switches, &r->recording, &r->ticks, &no_users,
					     &no_stacks);
	add_gap(r, "the functions of programs", no_users);
	add_gap(r, "callers in the kernel", no_stacks);
	return err;
}

static bool has_ended(const struct profile *r)
{
	struct pollfd signals = {.fd = r->signals, .events = POLLIN};

	return poll(&signals, 1, 0) > 0 || hv_now_ns() >= r->begin_ns + r->request.for_ns;
}

static struct hv_err *measure(struct profile *r)
{
	struct progress progress = {0};
	struct hv_err *err = recording_start(&r->recording);
	bool more = true;

	r->begin_ns = hv_now_ns();
	progress_begin(&progress, r->request.for_ns, "profiling", r->request.spec);
	while (!err && !has_ended(r))
		err = recording_take(&r->recording, TURN_MS, &more);
	progress_end(&progress);
	r->end_ns = hv_now_ns();
	if (!err)
		err = recording_stop(&r->recording);
	for (more = true; !err && more && hv_now_ns() < r->end_ns + DRAIN_MAX_NS;)
		err = recording_take(&r->recording, DRAIN_MS, &more);
	return err ? err : record_file_end(&r->recording.file);
}

static struct hv_err *sample(struct profile *r)
{
	struct hv_err *err = in_domain_of(r, put_settings(r));

	if (!err)
		err = recording_open(&r->recording);
	if (err)
		return err;
	r->samples = hv_profile_of(r->recording.file.export);
	r->samples->per = r->per;
	r->samples->one_of = r->one_of;
	if (is_timed(r)) {
		struct hv_offcpu *times = hv_offcpu_of(r->recording.file.export);

		times->has_stacks = r->switches.has_stacks;
		times->has_wakers = r->switches.has_wakers;
		times->has_running = r->switches.has_running;
	}
	r->programs.client = &r->session.client;
	r->stacks.programs = &r->programs;
	r->samples->files = (struct hv_profile_files){
		.find = programs_find,
		.cgroup = programs_cgroup,
		.ctx = &r->programs,
		.unwind = stacks_unwind,
		.unwind_ctx = &r->stacks,
	};
	err = in_domain_of(r, measure(r));
	if (client_is_gone(err))
		return err;
	if (!err)
		err = in_domain_of(
			r, programs_name(&r->programs, &r->samples->chains, 0, PROGRAMS_NAMES_NS));
	hv_profile_name_rest(r->samples);
	hv_err_keep_first(&err, recording_close(&r->recording));
	return err;
}

/* -- output ------------------------------------------------------------------------------------- */

/* O is the timed profile P. */
static const struct hv_offcpu *times_of(const struct hv_profile *p)
{
	return (const struct hv_offcpu *)p;
}

static void add_times(const struct hv_offcpu *o, struct hv_text *out)
{
	struct hv_offcpu_times sum = hv_offcpu_sum(o);

	hv_text_printf(out,
		       "tasks were blocked for %.3f s, waited for a vCPU for %.3f s, and ran "
		       "for %.3f s",
		       (double)sum.ns[HV_OFFCPU_BLOCKED] / HV_NS_PER_S,
		       (double)sum.ns[HV_OFFCPU_WAITING] / HV_NS_PER_S,
		       (double)sum.ns[HV_OFFCPU_RUNNING] / HV_NS_PER_S);
	if (sum.ns[HV_OFFCPU_UNCOUNTED])
		hv_text_printf(out, "; %.3f s not counted, because events are missing",
			       (double)sum.ns[HV_OFFCPU_UNCOUNTED] / HV_NS_PER_S);
	if (o->nr_no_room)
		hv_text_add(out, "; further tasks not counted, because there was no room");
}

/* The times of tasks add up to the guest's time from the first to the last event. */
static uint64_t duration_ns(const struct profile *r)
{
	const struct hv_offcpu *o = times_of(r->samples);

	return is_timed(r) ? o->now_ns - o->begin_ns : r->end_ns - r->begin_ns;
}

static void add_summary(const struct profile *r, const struct hv_flame *f, struct hv_text *out)
{
	const struct hv_profile *p = r->samples;
	uint64_t nr = f->nodes[0].total, ms = duration_ns(r) / HV_NS_PER_MS;

	hv_text_printf(out, "profiled %" PRIu64 ".%" PRIu64 " s on %u vCPU%s: ", ms / 1000,
		       ms % 1000 / 100, p->nr_cpus, hv_plural(p->nr_cpus));
	if (is_timed(r))
		add_times(times_of(p), out);
	else
		hv_text_printf(out, "%" PRIu64 " sample%s at the timer tick", nr, hv_plural(nr));
	if (nr && !is_timed(r))
		hv_text_printf(out, ", %.0f %% in programs, %.0f %% in the kernel",
			       100.0 * (double)p->nr_user / (double)nr,
			       100.0 * (double)p->nr_kernel / (double)nr);
	if (p->nr_lost)
		hv_text_printf(out, "; %" PRIu64 " events lost", p->nr_lost);
	if (p->nr_dropped)
		hv_text_printf(out, "; %" PRIu64 " samples not counted, because there was no room",
			       p->nr_dropped);
	if (r->is_cut)
		hv_text_printf(out, "; %s is incomplete, because it would be too large", r->path);
	hv_text_add(out, "\n");
	if (r->gaps.len_bytes)
		hv_text_add(out, r->gaps.data);
	stacks_report(&r->stacks, out);
	if (is_timed(r) && times_of(p)->nr_tasks) {
		hv_text_add(out, "\ntasks by wall time:\n");
		hv_offcpu_table(times_of(p), HOTTEST, out);
	}
}

static void add_tree(const struct profile *r, const struct hv_flame *f, struct hv_text *out)
{
	add_summary(r, f, out);
	if (!f->nodes[0].total)
		return;
	hv_text_add(out, !is_timed(r) || r->switches.has_running
				 ? "\nfunctions by their own time:\n"
			 : r->switches.has_wakers ? "\nfunctions that wake blocked tasks:\n"
						  : "\nfunctions in which tasks are blocked:\n");
	hv_flame_hottest(f, HOTTEST, out);
	hv_text_add(out, "\ncalls, by time including callees:\n");
	hv_flame_text(f, r->min_ppm, out);
}

/* The name of a sample's task is its group's, which may end with the pid. */
static const char *comm_of(const struct hv_chains *c, uint32_t node)
{
	const char *name = "?";

	for (; node != HV_CHAINS_ROOT; node = c->nodes[node].parent)
		if (c->frames[c->nodes[node].frame].kind == HV_CHAIN_GROUP) {
			name = c->frames[c->nodes[node].frame].name;
			break;
		}
	return name;
}

/* Returns false if not all samples are added. */
static bool add_samples(const struct hv_profile *p, struct hv_text *out)
{
	size_t i = 0;

	for (; i < p->nr_samples && out->len_bytes < FILE_MAX; i++)
		hv_flame_perf(&p->chains, &p->samples[i], comm_of(&p->chains, p->samples[i].node),
			      out);
	return i == p->nr_user + p->nr_kernel;
}

/* Returns the time since 1970. */
static uint64_t date_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * HV_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Returns false if not all samples are added. */
static bool add_protobuf(const struct profile *r, struct hv_text *out)
{
	const struct programs *programs = &r->programs;
	const struct hv_profile *samples = r->samples;
	HV_AUTO_FREE struct hv_pprof_file *files =
		hv_alloc((programs->nr_files + 1) * sizeof(*files));
	struct hv_pprof p = {
		.files = files,
		.nr_files = programs->nr_files,
		.nr_groups =
			r->per == HV_PROFILE_PER_CPU || r->per == HV_PROFILE_PER_CONTAINER ? 2 : 1,
		.begin_ns = date_ns() - (hv_now_ns() - r->begin_ns),
		.duration_ns = r->end_ns - r->begin_ns,
	};

	for (size_t i = 0; i < p.nr_files; i++) {
		const struct program_file *f = &programs->files[i];

		files[i] = (struct hv_pprof_file){f->path, programs_build_id(f), f->len_bytes};
	}
	if (r->output == OUTPUT_PPROF)
		return hv_pprof_write(&samples->chains, &p, FILE_MAX, out);
	return hv_flame_perfetto(&samples->chains, samples->samples, samples->nr_samples, &p,
				 comm_of, FILE_MAX, out) &&
	       samples->nr_samples == samples->nr_user + samples->nr_kernel;
}

/* Returns false if the file is not complete. */
static bool add_output(const struct profile *r, const struct hv_flame *f, struct hv_text *out)
{
	HV_AUTO_FREE char *title = is_timed(r)
					   ? hv_format("%s: time of tasks, %.3f s", r->request.spec,
						       (double)f->nodes[0].total / HV_NS_PER_S)
					   : hv_format("%s: CPU time, %" PRIu64 " samples",
						       r->request.spec, f->nodes[0].total);

	if (r->output == OUTPUT_FOLDED)
		return hv_flame_folded(f, FILE_MAX, out);
	if (r->output == OUTPUT_JSONL)
		return hv_flame_jsonl(f, FILE_MAX, out);
	if (r->output == OUTPUT_SVG)
		return hv_flame_svg(f, title, FILE_MAX, out);
	if (r->output == OUTPUT_PERF)
		return add_samples(r->samples, out);
	if (r->output == OUTPUT_PPROF || r->output == OUTPUT_PERFETTO)
		return add_protobuf(r, out);
	add_tree(r, f, out);
	return true;
}

static struct hv_err *show(struct profile *r)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	HV_AUTO_TEXT struct hv_text out = {0}, summary = {0};
	struct hv_err *err = NULL;

	hv_flame_make(&r->samples->chains, &f);
	r->is_cut = !add_output(r, &f, &out);
	if (r->file.fd < 0) {
		r->out_error = put_out(out.data, out.len_bytes);
		return NULL;
	}
	err = profile_file_write(&r->file, &out);
	add_summary(r, &f, &summary);
	if (!err)
		r->out_error = put_out(summary.data, summary.len_bytes);
	return err;
}

/* -- the verb ----------------------------------------------------------------------------------- */

/* SYMFS may be NULL. */
static struct hv_err *leave_rights(const char *symfs)
{
	struct hv_confinement c = {
		.may = HV_MAY_START | HV_MAY_READ,
		.readable = {"/usr/lib/debug", symfs},
		.dir_fd = -1,
	};

	return hv_confine(&c);
}

static struct hv_err *profile(const struct cli *cli, struct profile *r)
{
	struct hv_err *err = r->path ? profile_file_open(&r->file, r->path) : NULL;

	if (!err)
		err = own_session_open(cli, r->request.spec, &r->session);
	if (err)
		return err;
	r->signals = stop_signals_fd();
	/* The file is open; the service's answers are parsed without rights. */
	err = leave_rights(r->programs.symfs);
	if (!err)
		err = own_session_set_budget(&r->session, r->request.max_overhead_ppm);
	if (err)
		return err;
	client_limit(&r->session.client, ANSWER_S);
	err = sample(r);
	if (!err)
		err = show(r);
	if (client_is_gone(err))
		return err; /* the service removes the instance with the connection */
	hv_err_keep_first(&err, in_domain_of(r, recording_remove(&r->recording)));
	hv_err_keep_first(&err, in_domain_of(r, profile_ticks_end(&r->ticks, &r->session.client)));
	hv_err_keep_first(&err,
			  in_domain_of(r, profile_switches_end(&r->switches, &r->session.client)));
	hv_err_keep_first(&err, own_session_end(&r->session));
	return err;
}

static bool choose_output(struct profile *r)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(outputs); i++)
		if (hv_ends_with(r->path, outputs[i].suffix))
			r->output = outputs[i].output;
	return r->output != OUTPUT_TREE;
}

/* TEXT is 1 or 1/N. */
static bool parse_rate(struct profile *r, const char *text)
{
	char *end;
	unsigned long nr;

	if (strncmp(text, "1/", 2) != 0) {
		r->one_of = 1;
		return strcmp(text, "1") == 0;
	}
	nr = strtoul(text + 2, &end, 10);
	r->one_of = (unsigned)nr;
	return text[2] >= '1' && text[2] <= '9' && !*end && nr <= RATE_MAX;
}

static bool parse_per(struct profile *r, const char *text)
{
	if (strcmp(text, "task") == 0)
		r->per = HV_PROFILE_PER_TASK;
	else if (strcmp(text, "cpu") == 0)
		r->per = HV_PROFILE_PER_CPU;
	else if (strcmp(text, "container") == 0)
		r->per = HV_PROFILE_PER_CONTAINER;
	else
		return strcmp(text, "name") == 0;
	return true;
}

static bool parse_user_stack(struct profile *r, const char *text)
{
	r->ticks.has_copies = strcmp(text, "dwarf") == 0;
	return r->ticks.has_copies || strcmp(text, "fp") == 0;
}

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct profile *r, int option, int *ret_exit)
{
	*ret_exit = EXIT_OK;
	if (option != 'd' && option != 'm' && option != 'o')
		r->is_of_guest = true;
	if (option == 'o')
		r->path = optarg;
	if (option == 'f')
		r->switches.has_stacks = true;
	if (option == 'n')
		r->switches.has_running = true;
	if (option == 'w')
		r->switches.has_wakers = true;
	if (option == 'o' && !choose_output(r))
		*ret_exit = usage_error(
			cli,
			"-o: '%s' must end with .svg, .folded, .jsonl, .perf, .pb.gz or .pftrace",
			optarg);
	else if (option == 'T' && !duration_parse(optarg, &r->request.for_ns))
		*ret_exit = usage_error(cli, "--for: '%s' is not " DURATION_WANTED, optarg);
	else if (option == 'r' && !parse_rate(r, optarg))
		*ret_exit = usage_error(cli, "--rate: '%s' is neither 1 nor 1/N, with N up to %d",
					optarg, RATE_MAX);
	else if (option == 's')
		r->programs.symfs = optarg;
	else if (option == 'u' && !parse_user_stack(r, optarg))
		*ret_exit = usage_error(cli, "--user-stack: '%s' is neither fp nor dwarf", optarg);
	else if (option == 'd')
		r->compares = true;
	else if (option == 'P' && !parse_per(r, optarg))
		*ret_exit =
			usage_error(cli, "--per: '%s' is not name, task, container or cpu", optarg);
	else if (option == 'm' && !percent_parse(optarg, &r->min_ppm))
		*ret_exit = usage_error(cli, "--min: '%s' is not " PERCENT_WANTED, optarg);
	else if (option == 'O' && !percent_parse(optarg, &r->request.max_overhead_ppm))
		*ret_exit = usage_error(cli, "--max-overhead: '%s' is not " PERCENT_WANTED, optarg);
	return *ret_exit == EXIT_OK;
}

/* PATHS: two operands. */
static int compare(struct cli *cli, const struct profile *r, char **paths)
{
	const struct profile_diff d = {
		.paths = {paths[0], paths[1]}, .out_path = r->path, .min_ppm = r->min_ppm};
	int out_error = 0, exit_code;

	if (r->is_of_guest)
		return usage_error(cli, "--diff reads files: it takes only -o and --min");
	if (r->path && r->output != OUTPUT_SVG && r->output != OUTPUT_FOLDED)
		return usage_error(cli, "--diff: '%s' must end with .svg or .folded", r->path);
	exit_code = fail_if(profile_diff(&d, &out_error));
	return out_error ? EXIT_FAILED : exit_code;
}

static int run(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {
		{"for", required_argument, NULL, 'T'},
		{"on-cpu", no_argument, NULL, 'n'},
		{"off-cpu", no_argument, NULL, 'f'},
		{"wakeups", no_argument, NULL, 'w'},
		{"diff", no_argument, NULL, 'd'},
		{"rate", required_argument, NULL, 'r'},
		{"per", required_argument, NULL, 'P'},
		{"min", required_argument, NULL, 'm'},
		{"symfs", required_argument, NULL, 's'},
		{"user-stack", required_argument, NULL, 'u'},
		{"max-overhead", required_argument, NULL, 'O'},
		{0},
	};
	hv_cleanup(profile_deinit) struct profile r = {
		.session = OWN_SESSION_NONE,
		.recording = RECORDING_NONE,
		.min_ppm = MIN_PPM,
		.request.for_ns = FOR_NS,
		.request.max_overhead_ppm = OVERHEAD_PPM,
		.file = PROFILE_FILE_NONE,
		.signals = -1,
	};
	int option, exit_code;

	while ((option = verb_option(cli, argc, argv, "o:", longs, &exit_code)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, &r, option, &exit_code))
			return exit_code;
	if (!verb_operands(cli, argc, argv, 1 + r.compares, 1 + r.compares, &exit_code))
		return exit_code;
	if (r.compares)
		return compare(cli, &r, argv + optind);
	if (is_timed(&r) && (r.one_of || r.output == OUTPUT_PERF || r.output == OUTPUT_PERFETTO))
		return usage_error(cli, "--off-cpu, --wakeups and --on-cpu measure times: no "
					"--rate, no file .perf or .pftrace");
	if (is_timed(&r) && r.ticks.has_copies)
		return usage_error(cli, "--user-stack=dwarf: --off-cpu, --wakeups and --on-cpu "
					"support only fp");
	r.request.spec = argv[optind];
	r.request.target.path = "profile";
	r.request.target.format = is_timed(&r) ? &hv_offcpu_format : &hv_profile_format;
	recording_init(&r.recording, &r.request.target);
	exit_code = fail_if(profile(cli, &r));
	return r.out_error ? EXIT_FAILED : exit_code;
}

static const char help[] =
	"Samples each vCPU at the guest's timer tick, for DURATION or until Ctrl-C: the task, the\n"
	"functions of its program, and the kernel's. The guest records the samples itself, "
	"without\n"
	"VM exits. Prints the functions with the most time, and the calls as a tree. Idle vCPUs "
	"are\n"
	"not sampled. A domain without a session is attached for this time; settings of other "
	"users\n"
	"stay as they are.\n\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h (default: 10s)\n"
	"  -o FILE                write FILE instead of the tree, by its suffix: .svg (a flame\n"
	"                         graph for a browser), .folded (a line for each stack), .jsonl,\n"
	"                         .perf (the text of perf script), .pb.gz (pprof),\n"
	"                         .pftrace (Perfetto)\n"
	"  --off-cpu              measure for how long tasks are blocked or wait for a vCPU, by\n"
	"                         the stack with which they block, instead of taking samples\n"
	"  --wakeups              measure it by the waker and its stack; with --off-cpu by both\n"
	"  --on-cpu               with one of these, add the time that tasks run, by the samples\n"
	"  --diff                 compare two files .folded or .jsonl, as a tree or, with -o, as\n"
	"                         .svg or .folded; needs no guest\n"
	"  --rate=1/N             count one of N ticks of each vCPU (default: all); the guest\n"
	"                         still records all of them, so the cost does not change\n"
	"  --per=name|task|container|cpu\n"
	"                         group the samples by the names of tasks (default), by task, or\n"
	"                         by container or vCPU and name\n"
	"  --min=PERCENT          leave smaller parts out of the tree (default: 1)\n"
	"  --user-stack=fp|dwarf  find the callers in programs by their frame pointers (default),\n"
	"                         or by their .eh_frame, from a copy of their stack: also those\n"
	"                         without frame pointers\n"
	"  --symfs=DIR            a directory with files of the guest, also with debug "
	"information:\n"
	"                         names functions that the guest's memory does not\n"
	"  --max-overhead=PERCENT as for record (default: 2)\n";

const struct verb verb_profile = {
	.name = "profile",
	.args = "[--for=DURATION] [-o FILE] [--off-cpu] [--wakeups] [--on-cpu] [--rate=1/N] "
		"[--per=name|task|container|cpu] [--min=PERCENT] "
		"[--user-stack=fp|dwarf] [--symfs=DIR] [--max-overhead=PERCENT] DOMAIN | --diff "
		"[-o FILE] FILE FILE",
	.summary = "Show where a guest's CPU time goes, as a flame graph",
	.help = help,
	.run = run,
};
