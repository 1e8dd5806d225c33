/* hvtrace stat: the counts of a session. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/verbs/verb.h"

/* "a.b" of O; NULL when it is not there. */
static json_object *member(json_object *o, const char *path)
{
	char key[64];

	while (o && *path) {
		size_t len = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		if (!json_object_object_get_ex(o, key, &o))
			return NULL;
		path += len + (path[len] == '.');
	}
	return o;
}

static const char *text_of(json_object *o, const char *path)
{
	json_object *m = member(o, path);

	return m ? json_object_get_string(m) : "?";
}

static uint64_t number_of(json_object *o, const char *path)
{
	json_object *m = member(o, path);

	return m ? json_object_get_uint64(m) : 0;
}

#define N(o, path) ((unsigned long long)number_of(o, path))

static void print_table(json_object *o)
{
	printf("domain       %s (%s)\n", text_of(o, "domain"), text_of(o, "id"));
	printf("kernel       Linux %s\n", text_of(o, "kernel"));
	printf("transport    %s\n", text_of(o, "transport"));
	printf("service      pid %llu, attached for %llu s, VMM pid %llu\n", N(o, "service_pid"),
	       N(o, "attached_ms") / 1000, N(o, "vmm_pid"));
	printf("tracer       %s, tracing %s, clock %s\n", text_of(o, "current_tracer"),
	       strcmp(text_of(o, "tracing_on"), "true") == 0 ? "on" : "off", text_of(o, "clock"));
	printf("sites        %llu patched of %llu, %llu refused\n", N(o, "sites.patched"),
	       N(o, "sites.traceable"), N(o, "sites.refused"));
	printf("events       %llu, %llu lost\n", N(o, "events"), N(o, "lost"));
	if (N(o, "graph_no_stack") || N(o, "graph_no_room"))
		printf("not traced   %llu calls: no return stack free; %llu: too deep a stack\n",
		       N(o, "graph_no_stack"), N(o, "graph_no_room"));
	if (N(o, "profile_no_count"))
		printf("not counted  %llu calls: no place left in a vCPU's profile\n",
		       N(o, "profile_no_count"));
	if (N(o, "dumps.written"))
		printf("dumps        %llu, in %s\n", N(o, "dumps.written"),
		       text_of(o, "dumps.path"));
	printf("holds        %llu, last %.3f ms, longest %.3f ms\n", N(o, "holds.count"),
	       (double)number_of(o, "holds.last_ns") / 1e6,
	       (double)number_of(o, "holds.max_ns") / 1e6);
	printf("memory       region %llu MiB, rings %llu MiB for %llu vCPUs\n",
	       N(o, "memory.region_bytes") >> 20, N(o, "memory.ring_bytes") >> 20, N(o, "vcpus"));
}

static int show(const struct hv_span *data, bool json)
{
	HV_AUTO_FREE char *text = NULL;
	json_object *o;

	if (!wire_string(*data, WIRE_DATA_MAX, &text))
		return fail(hv_err_new(EPROTO, "stat: the service's answer is garbled"));
	if (json) {
		printf("%s\n", text);
		return EXIT_OK;
	}
	o = json_tokener_parse(text);
	if (!o)
		return fail(hv_err_new(EPROTO, "stat: the service's answer is no JSON"));
	print_table(o);
	json_object_put(o);
	return EXIT_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct wire_frame answer;
	struct hv_err *err;
	bool json;
	int exit_code;
	const char *spec = verb_shown(cli, argc, argv, &json, &exit_code);

	if (!spec)
		return exit_code;
	err = client_connect(cli->run_dir, spec, cli->libvirt_uri, &c);
	if (!err)
		err = client_call(&c, &(struct wire_frame){.kind = WIRE_STAT}, &answer);
	if (err)
		return fail(err);
	return show(&answer.data, json);
}

const struct verb verb_stat = {
	.name = "stat",
	.args = "[--json] DOMAIN",
	.summary = "Show the counts of a session: sites, events, lost, holds, memory",
	.help = VERB_SHOWN_HELP,
	.run = run,
};
