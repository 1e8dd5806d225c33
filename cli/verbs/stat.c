/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace stat: shows the statistics of a session. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/text.h"
#include "cli/agent.h"
#include "cli/session_stat.h"
#include "cli/verbs/verb.h"

/* -- the report of the agent ------------------------------------------------------------------- */

/* Shows the report of a guest's agent (cli/agent.h) as part of `hvtrace stat`. */

#define PIDS_SHOWN   8
#define BUILD_ID_LEN (2 * AGENT_BUILD_ID_MAX + 1)

/* Returns the number of tasks from AT on that share a cgroup. */
static size_t group_of(const struct agent_round *r, size_t at)
{
	size_t nr = 1;

	while (at + nr < r->nr && strcmp(r->tasks[at + nr].cgroup, r->tasks[at].cgroup) == 0)
		nr++;
	return nr;
}

static void build_id_of(const struct agent_file *f, char text[BUILD_ID_LEN])
{
	text[0] = '\0';
	for (unsigned i = 0; i < f->build_id_len; i++)
		snprintf(text + 2 * i, 3, "%02x", f->build_id[i]);
}

/* Text. */

static void print_groups(const struct agent_round *r)
{
	for (size_t at = 0, nr; at < r->nr; at += nr) {
		nr = group_of(r, at);
		printf("agent tasks  %s: pid", r->tasks[at].cgroup);
		for (size_t i = 0; i < nr && i < PIDS_SHOWN; i++)
			printf("%s %u", i ? "," : "", r->tasks[at + i].pid);
		if (nr > PIDS_SHOWN)
			printf(" and %zu more", nr - PIDS_SHOWN);
		printf("\n");
	}
}

/* Prints a label, the time of day REALTIME_NS, its difference from the host's time HOST_NS, and
 * END. */
static void print_clock_time(const char *what, uint64_t realtime_ns, uint64_t host_ns,
			     const char *end)
{
	time_t seconds = (time_t)(realtime_ns / HV_NS_PER_S);
	bool is_ahead = realtime_ns > host_ns;
	uint64_t apart_ns = is_ahead ? realtime_ns - host_ns : host_ns - realtime_ns;
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%-12s %s.%09llu UTC, %.3f s %s this host's%s", what, date,
	       (unsigned long long)realtime_ns % HV_NS_PER_S, (double)apart_ns / HV_NS_PER_S,
	       is_ahead ? "ahead of" : "behind", end);
}

static void print_clock(const struct agent_clock *c)
{
	print_clock_time("agent clock", c->realtime_ns, c->heard_ns, "; ");
	printf("monotonic %.6f s, %s %" PRIu64 "\n", (double)c->monotonic_ns / HV_NS_PER_S,
	       c->counter, c->counter_value);
}

static void print_maps(const struct agent_round *r, uint32_t pid)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_maps; i++) {
		const struct agent_map *m = &r->maps[i];
		const struct agent_file *f = &r->files[m->file];
		char id[BUILD_ID_LEN];

		if (m->pid != pid)
			continue;
		build_id_of(f, id);
		printf("agent maps   %" PRIx64 "-%" PRIx64 " %s+0x%" PRIx64 " build id %s\n",
		       m->start, m->end, f->path, m->offset, *id ? id : "not known");
		nr++;
	}
	if (!nr)
		printf("agent maps   pid %u: none reported\n", pid);
}

/* Prints the report as lines, with the mappings of process MAPS_OF unless that is 0. */
static void print_agent(const struct agent_round *r, uint32_t maps_of)
{
	print_groups(r);
	if (r->has_clock)
		print_clock(&r->clock);
	if (maps_of)
		print_maps(r, maps_of);
	if (r->is_cut)
		printf("agent maps   incomplete: the processes have too many\n");
}

/* JSON. */

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

static void add_address(json_object *o, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_object_object_add(o, key, json_object_new_string(text));
}

static json_object *groups_of(const struct agent_round *r)
{
	json_object *groups = json_object_new_array();

	for (size_t at = 0, nr; at < r->nr; at += nr) {
		json_object *group = json_object_new_object(), *pids = json_object_new_array();

		nr = group_of(r, at);
		for (size_t i = 0; i < nr; i++)
			json_object_array_add(pids, json_object_new_int64(r->tasks[at + i].pid));
		json_object_object_add(group, "cgroup",
				       json_object_new_string(r->tasks[at].cgroup));
		json_object_object_add(group, "pids", pids);
		json_object_array_add(groups, group);
	}
	return groups;
}

static json_object *clock_of(const struct agent_clock *c)
{
	json_object *o = json_object_new_object();

	add_number(o, "realtime_ns", c->realtime_ns);
	add_number(o, "monotonic_ns", c->monotonic_ns);
	json_object_object_add(o, "counter", json_object_new_string(c->counter));
	add_number(o, "counter_value", c->counter_value);
	add_number(o, "heard_ns", c->heard_ns);
	return o;
}

static json_object *maps_of_pid(const struct agent_round *r, uint32_t pid)
{
	json_object *maps = json_object_new_array();

	for (size_t i = 0; i < r->nr_maps; i++) {
		const struct agent_map *m = &r->maps[i];
		const struct agent_file *f = &r->files[m->file];
		json_object *o = m->pid == pid ? json_object_new_object() : NULL;
		char id[BUILD_ID_LEN];

		if (!o)
			continue;
		build_id_of(f, id);
		add_address(o, "start", m->start);
		add_address(o, "end", m->end);
		add_address(o, "offset", m->offset);
		json_object_object_add(o, "file", json_object_new_string(f->path));
		if (*id)
			json_object_object_add(o, "build_id", json_object_new_string(id));
		json_object_array_add(maps, o);
	}
	return maps;
}

/* Adds the members agent_says, agent_clock, agent_is_cut and, unless MAPS_OF is 0, agent_maps. */
static void add_agent(json_object *o, const struct agent_round *r, uint32_t maps_of)
{
	json_object_object_add(o, "agent_says", groups_of(r));
	if (r->has_clock)
		json_object_object_add(o, "agent_clock", clock_of(&r->clock));
	if (maps_of)
		json_object_object_add(o, "agent_maps", maps_of_pid(r, maps_of));
	json_object_object_add(o, "agent_is_cut", json_object_new_boolean(r->is_cut));
}

/* -- the session ------------------------------------------------------------------------------- */

struct stat_options {
	bool json;
	const char *agent; /* NULL: no agent */
	uint32_t maps_of;  /* show the agent's mappings of this process; 0: no process */
};

#define N(o, path) ((unsigned long long)session_stat_number(o, path))

static void print_refused(json_object *o)
{
	HV_AUTO_TEXT struct hv_text names = {0};

	session_stat_refused(o, &names);
	if (names.len_bytes)
		printf("refused      %s\n", names.data);
}

static void print_held_modules(json_object *o)
{
	size_t nr = session_stat_count(o, "held_modules");

	if (!nr)
		return;
	printf("modules held");
	for (size_t i = 0; i < nr; i++)
		printf("%s %s", i ? "," : "", session_stat_text_at(o, "held_modules", i));
	printf("\n");
}

static void print_users(json_object *o)
{
	for (size_t i = 0; i < session_stat_count(o, "mounts"); i++)
		printf("mounted at   %s\n", session_stat_text_at(o, "mounts", i));
	for (size_t i = 0; i < session_stat_count(o, "readers"); i++) {
		json_object *reader = session_stat_element(o, "readers", i);

		printf("reader       pid %llu, of %s\n", N(reader, "pid"),
		       session_stat_string(reader, "file"));
	}
}

static void print_processes(json_object *o)
{
	for (size_t i = 0; i < session_stat_count(o, "processes"); i++) {
		json_object *p = session_stat_element(o, "processes", i);
		bool filtered = strcmp(session_stat_string(p, "seccomp"), "true") == 0;

		printf("process      pid %llu, %s: user %llu, capabilities: %s%s\n", N(p, "pid"),
		       session_stat_string(p, "name"), N(p, "uid"),
		       session_stat_string(p, "capabilities"),
		       filtered ? ", a seccomp filter" : "");
	}
}

static void print_missing_tasks(json_object *o)
{
	for (size_t i = 0; i < session_stat_count(o, "missing_tasks"); i++)
		printf("no such task %s\n", session_stat_text_at(o, "missing_tasks", i));
}

/* Prints what the guest's own tracers do with the functions. */
static void print_own(json_object *o)
{
	if (N(o, "sites.in_use") || N(o, "sites.joined"))
		printf("guest's own  %llu sites in use by the guest itself, %llu of them traced, "
		       "too\n",
		       N(o, "sites.in_use"), N(o, "sites.joined"));
	if (N(o, "sites.unseen.now"))
		printf("not seen     %llu functions that the guest has changed\n",
		       N(o, "sites.unseen.now"));
	if (N(o, "sites.unseen.times"))
		printf("not seen     %llu times a function that the guest changed, for up to %.0f "
		       "ms\n",
		       N(o, "sites.unseen.times"),
		       (double)session_stat_number(o, "sites.unseen.longest_ns") / HV_NS_PER_MS);
}

/* Prints how many places the tracers preemptoff, irqsoff and preemptirqsoff cover; --json includes
 * the places. */
static void print_sections(json_object *o)
{
	if (!session_stat_member(o, "sections"))
		return;
	printf("sections     %llu places covered, %llu of them retargeted, %llu not covered, %llu"
	       " refused\n",
	       N(o, "sections.covered"), N(o, "sections.retargeted"), N(o, "sections.not_covered"),
	       N(o, "sections.refused"));
	printf("sections     %llu without a beginning, %llu without an end, %llu lengthened by the"
	       " host\n",
	       N(o, "sections.no_begin"), N(o, "sections.no_end"), N(o, "sections.stolen"));
}

/* Prints the time of the guest's timekeeper; print_agent() prints the agent's times. */
static void print_time(json_object *o)
{
	uint64_t realtime_ns = session_stat_number(o, "guest_time.realtime_ns");
	struct timespec now = {0};

	if (realtime_ns && clock_gettime(CLOCK_REALTIME, &now) == 0)
		print_clock_time("guest time", realtime_ns,
				 (uint64_t)now.tv_sec * HV_NS_PER_S + (uint64_t)now.tv_nsec, "\n");
}

static void print_names(json_object *o)
{
	if (session_stat_member(o, "names_stay"))
		printf("task names   are those before an exec or a rename: %s\n",
		       session_stat_string(o, "names_stay"));
}

static void print_table(json_object *o)
{
	printf("domain       %s (%s)\n", session_stat_string(o, "domain"),
	       session_stat_string(o, "id"));
	printf("kernel       Linux %s\n", session_stat_string(o, "kernel"));
	printf("transport    %s\n", session_stat_string(o, "transport"));
	printf("service      pid %llu, attached for %llu s, VMM pid %llu\n", N(o, "service_pid"),
	       N(o, "attached_ms") / 1000, N(o, "vmm_pid"));
	printf("tracer       %s, tracing %s, clock %s\n", session_stat_string(o, "current_tracer"),
	       strcmp(session_stat_string(o, "tracing_on"), "true") == 0 ? "on" : "off",
	       session_stat_string(o, "clock"));
	print_time(o);
	printf("sites        %llu patched of %llu, %llu refused\n", N(o, "sites.patched"),
	       N(o, "sites.traceable"), N(o, "sites.refused"));
	print_refused(o);
	print_own(o);
	printf("events       %llu, %llu lost\n", N(o, "events"), N(o, "lost"));
	if (N(o, "graph_no_stack") || N(o, "graph_no_room"))
		printf("not traced   %llu calls: no return stack free; %llu: too deep a stack\n",
		       N(o, "graph_no_stack"), N(o, "graph_no_room"));
	if (N(o, "profile_no_count"))
		printf("not counted  %llu calls: no bucket left in a vCPU's profile\n",
		       N(o, "profile_no_count"));
	print_sections(o);
	if (N(o, "budget.limit_ppm"))
		printf("overhead     %.3f %% of a vCPU's time, limited to %.3f %%\n",
		       (double)N(o, "budget.load_ppm") / 1e4,
		       (double)N(o, "budget.limit_ppm") / 1e4);
	if (*session_stat_string(o, "budget.not_traced") &&
	    session_stat_member(o, "budget.not_traced"))
		printf("not traced   %s\n", session_stat_string(o, "budget.not_traced"));
	if (N(o, "dumps.written"))
		printf("dumps        %llu, in %s\n", N(o, "dumps.written"),
		       session_stat_string(o, "dumps.path"));
	printf("holds        %llu, in all %.3f ms, last %.3f ms, longest %.3f ms\n",
	       N(o, "holds.count"), (double)session_stat_number(o, "holds.total_ns") / 1e6,
	       (double)session_stat_number(o, "holds.last_ns") / 1e6,
	       (double)session_stat_number(o, "holds.max_ns") / 1e6);
	printf("memory       region %llu MiB, rings %llu MiB for %llu vCPU%s\n",
	       N(o, "memory.region_bytes") >> 20, N(o, "memory.ring_bytes") >> 20, N(o, "vcpus"),
	       hv_plural(N(o, "vcpus")));
	print_missing_tasks(o);
	print_held_modules(o);
	print_names(o);
	print_users(o);
	print_processes(o);
}

static struct hv_err *show(struct client *c, const struct agent_round *agents,
			   const struct stat_options *options)
{
	AUTO_SESSION_STAT json_object *o = NULL;
	struct hv_err *err = session_stat_get(c, &o);

	if (err)
		return err;
	if (options->json) {
		if (agents)
			add_agent(o, agents, options->maps_of);
		printf("%s\n", json_object_to_json_string_ext(
				       o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
						  JSON_C_TO_STRING_NOSLASHESCAPE));
		return NULL;
	}
	print_table(o);
	if (agents)
		print_agent(agents, options->maps_of);
	return NULL;
}

/* Parses the guest's report without rights. */
static struct hv_err *hear_agent(const char *where, struct agent_round *ret)
{
	const struct hv_confinement confinement = HV_CONFINEMENT_NONE;
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = agent_connect(where, &fd);

	if (!err)
		err = hv_confine(&confinement);
	if (!err)
		err = agent_read(fd, where, ret);
	return err ? hv_err_in(err, "--agent") : NULL;
}

static int take_pid(const struct cli *cli, const char *text, uint32_t *ret)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !pid || pid > INT32_MAX)
		return usage_error(cli, "--maps: '%s' is not a pid", text);
	*ret = (uint32_t)pid;
	return EXIT_OK;
}

static int take_option(const struct cli *cli, int option, struct stat_options *ret)
{
	if (option == 'm')
		return take_pid(cli, optarg, &ret->maps_of);
	if (option == 'a')
		ret->agent = optarg;
	else
		ret->json = true;
	return EXIT_OK;
}

/* NULL: return *RET_EXIT. */
static const char *parse(struct cli *cli, int argc, char **argv, struct stat_options *ret,
			 int *ret_exit)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'},
					      {"agent", required_argument, NULL, 'a'},
					      {"maps", required_argument, NULL, 'm'},
					      {0}};
	int option;

	while ((option = verb_option(cli, argc, argv, "j", longs, ret_exit)) != -1) {
		if (option == VERB_OPTION_STOP)
			return NULL;
		*ret_exit = take_option(cli, option, ret);
		if (*ret_exit != EXIT_OK)
			return NULL;
	}
	if (ret->maps_of && !ret->agent) {
		*ret_exit =
			usage_error(cli, "--maps: only the agent knows them: give --agent, too");
		return NULL;
	}
	return verb_operands(cli, argc, argv, 1, 1, ret_exit) ? argv[optind] : NULL;
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(agent_round_deinit) struct agent_round agents = {0};
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct stat_options options = {0};
	struct hv_err *err;
	int exit_code;
	const char *spec = parse(cli, argc, argv, &options, &exit_code);

	if (!spec)
		return exit_code;
	err = client_connect(cli->run_dir, spec, cli->libvirt_uri, &c);
	if (!err && options.agent)
		err = hear_agent(options.agent, &agents);
	if (!err)
		err = show(&c, options.agent ? &agents : NULL, &options);
	return fail_if(err);
}

static const char help[] = VERB_SHOWN_HELP
	"  --agent=WHERE          also the report of `hvtrace-agent serve` in the guest: the\n"
	"                         cgroups of its processes, and its clocks. hvtrace does not\n"
	"                         verify it. WHERE is the Unix socket that is this host's end of\n"
	"                         the agent's port, or vsock:CID:PORT\n"
	"  --maps=PID             also the executable mappings of the process, as the agent "
	"reports\n"
	"                         them: the files, the offsets in them, and their build ids\n";

const struct verb verb_stat = {
	.name = "stat",
	.args = "[--json] [--agent=WHERE [--maps=PID]] DOMAIN",
	.summary = "Show the counts of a session: sites, events, lost, holds, memory",
	.help = help,
	.run = run,
};
