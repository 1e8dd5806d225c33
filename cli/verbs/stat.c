/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace stat: shows the counts of a session. */
#include <stdio.h>
#include <string.h>

#include "cli/session_stat.h"
#include "cli/verbs/verb.h"

#define N(o, path) ((unsigned long long)session_stat_number(o, path))

static void print_refused(json_object *o)
{
	json_object *names = session_stat_member(o, "sites.refused_first");
	size_t nr = names ? json_object_array_length(names) : 0;
	uint64_t nr_refused = session_stat_number(o, "sites.refused");

	if (!nr)
		return;
	printf("refused     ");
	for (size_t i = 0; i < nr; i++)
		printf("%s %s", i ? "," : "",
		       json_object_get_string(json_object_array_get_idx(names, i)));
	if (nr_refused > nr)
		printf(" and %llu more", (unsigned long long)(nr_refused - nr));
	printf("\n");
}

static void print_users(json_object *o)
{
	json_object *mounts = session_stat_member(o, "mounts");
	json_object *readers = session_stat_member(o, "readers");

	for (size_t i = 0; mounts && i < json_object_array_length(mounts); i++)
		printf("mounted at   %s\n",
		       json_object_get_string(json_object_array_get_idx(mounts, i)));
	for (size_t i = 0; readers && i < json_object_array_length(readers); i++) {
		json_object *reader = json_object_array_get_idx(readers, i);

		printf("reader       pid %llu, of %s\n", N(reader, "pid"),
		       session_stat_string(reader, "file"));
	}
}

static void print_processes(json_object *o)
{
	json_object *list = session_stat_member(o, "processes");

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		json_object *p = json_object_array_get_idx(list, i);
		bool filtered = strcmp(session_stat_string(p, "seccomp"), "true") == 0;

		printf("process      pid %llu, %s: user %llu, capabilities: %s%s\n", N(p, "pid"),
		       session_stat_string(p, "name"), N(p, "uid"),
		       session_stat_string(p, "capabilities"),
		       filtered ? ", a seccomp filter" : "");
	}
}

static void print_missing_tasks(json_object *o)
{
	json_object *lines = session_stat_member(o, "missing_tasks");

	for (size_t i = 0; lines && i < json_object_array_length(lines); i++)
		printf("no such task %s\n",
		       json_object_get_string(json_object_array_get_idx(lines, i)));
}

/* Of the tracers preemptoff, irqsoff and preemptirqsoff; --json has the places. */
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
	printf("sites        %llu patched of %llu, %llu refused\n", N(o, "sites.patched"),
	       N(o, "sites.traceable"), N(o, "sites.refused"));
	print_refused(o);
	printf("events       %llu, %llu lost\n", N(o, "events"), N(o, "lost"));
	if (N(o, "graph_no_stack") || N(o, "graph_no_room"))
		printf("not traced   %llu calls: no return stack free; %llu: too deep a stack\n",
		       N(o, "graph_no_stack"), N(o, "graph_no_room"));
	if (N(o, "profile_no_count"))
		printf("not counted  %llu calls: no place left in a vCPU's profile\n",
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
	print_users(o);
	print_processes(o);
}

static struct hv_err *show(struct client *c, bool json)
{
	AUTO_SESSION_STAT json_object *o = NULL;
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err = json ? session_stat_text(c, &text) : session_stat_get(c, &o);

	if (err)
		return err;
	if (json)
		printf("%s\n", text);
	else
		print_table(o);
	return NULL;
}

static int run(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct hv_err *err;
	bool json;
	int exit_code;
	const char *spec = verb_shown(cli, argc, argv, &json, &exit_code);

	if (!spec)
		return exit_code;
	err = client_connect(cli->run_dir, spec, cli->libvirt_uri, &c);
	if (!err)
		err = show(&c, json);
	return fail_if(err);
}

const struct verb verb_stat = {
	.name = "stat",
	.args = "[--json] DOMAIN",
	.summary = "Show the counts of a session: sites, events, lost, holds, memory",
	.help = VERB_SHOWN_HELP,
	.run = run,
};
