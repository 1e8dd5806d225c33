/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/probes.h"

#include <inttypes.h>
#include <string.h>

#include "tree/settings/filter.h"
#include "tree/settings/glob.h"
#include "tree/settings/token.h"

/* A command patches its function, regardless of the tracer. */
#define SWITCHES_EVENTS (HV_RIGHT_FUNCTIONS | HV_RIGHT_EVENTS)

static const struct {
	const char *name;
	uint32_t need;
} commands[HV_NR_PROBE_COMMANDS] = {
	[HV_PROBE_TRACEON] = {"traceon", HV_RIGHT_FUNCTIONS},
	[HV_PROBE_TRACEOFF] = {"traceoff", HV_RIGHT_FUNCTIONS},
	[HV_PROBE_STACKTRACE] = {"stacktrace", HV_RIGHT_FUNCTIONS},
	[HV_PROBE_SNAPSHOT] = {"snapshot", HV_RIGHT_FUNCTIONS},
	[HV_PROBE_DUMP] = {"dump", HV_RIGHT_FUNCTIONS},
	[HV_PROBE_CPUDUMP] = {"cpudump", HV_RIGHT_FUNCTIONS},
	[HV_PROBE_ENABLE_EVENT] = {"enable_event", SWITCHES_EVENTS},
	[HV_PROBE_DISABLE_EVENT] = {"disable_event", SWITCHES_EVENTS},
};

/* Returns whether COMMAND runs only once, regardless of its count (ftrace_trace_dump_callback,
 * ftrace_trace_cpudump_callback). */
static bool acts_once(enum hv_probe_command command)
{
	return command == HV_PROBE_DUMP || command == HV_PROBE_CPUDUMP;
}

void hv_probes_deinit(struct hv_probes *p)
{
	for (size_t i = 0; i < p->nr; i++)
		free(p->sets[i].list);
	*p = (struct hv_probes){0};
}

bool hv_probes_have(const struct hv_probes *p, enum hv_probe_command command)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->sets[i].command == command)
			return true;
	return false;
}

bool hv_probes_have_events(const struct hv_probes *p)
{
	return hv_probes_have(p, HV_PROBE_ENABLE_EVENT) ||
	       hv_probes_have(p, HV_PROBE_DISABLE_EVENT);
}

struct hv_probes hv_probes_dup(const struct hv_probes *p)
{
	struct hv_probes copy = *p;

	for (size_t i = 0; i < p->nr; i++) {
		struct hv_probe_set *set = &copy.sets[i];

		set->list = hv_realloc_array(NULL, set->nr, sizeof(*set->list));
		memcpy(set->list, p->sets[i].list, set->nr * sizeof(*set->list));
	}
	return copy;
}

bool hv_probe_command_has_event(enum hv_probe_command command)
{
	return command == HV_PROBE_ENABLE_EVENT || command == HV_PROBE_DISABLE_EVENT;
}

uint32_t hv_probe_command_need(enum hv_probe_command command)
{
	return commands[command].need;
}

const char *hv_probe_command_name(enum hv_probe_command command)
{
	return commands[command].name;
}

bool hv_probe_command_find(const char *name, enum hv_probe_command *ret)
{
	for (unsigned i = 0; i < HV_NR_PROBE_COMMANDS; i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static struct hv_probe_set *find_set(struct hv_probes *p, enum hv_probe_command command,
				     unsigned counted)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->sets[i].command == command && p->sets[i].counted == counted)
			return &p->sets[i];
	return NULL;
}

static int compare_probes(const void *pa, const void *pb)
{
	const struct hv_probe *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

struct hv_probe *hv_probes_find(const struct hv_probe_set *set, uint64_t ip)
{
	struct hv_probe key = {.ip = ip};

	return set->nr ? bsearch(&key, set->list, set->nr, sizeof(key), compare_probes) : NULL;
}

void hv_probes_drop(struct hv_probes *p, struct hv_probe_set *set)
{
	size_t at = (size_t)(set - p->sets);

	free(set->list);
	p->nr--;
	memmove(set, set + 1, (p->nr - at) * sizeof(*set));
}

static struct hv_probe_set *new_set(struct hv_probes *p, enum hv_probe_command command,
				    unsigned counted)
{
	memmove(p->sets + 1, p->sets, p->nr * sizeof(*p->sets));
	p->sets[0] = (struct hv_probe_set){.command = command, .counted = counted};
	p->nr++;
	return &p->sets[0];
}

/* Parses the number at the start of COUNT, up to a colon. An empty number means -1, but not after
 * an event. */
static struct hv_err *parse_count(enum hv_probe_command command, const char *count, int64_t *ret)
{
	size_t len = strcspn(count, ":");
	HV_AUTO_FREE char *number = hv_strdup(count);
	struct hv_err *err;
	uint64_t value;

	number[len] = '\0';
	*ret = -1;
	if (!len && hv_probe_command_has_event(command))
		return hv_err_new(EINVAL, "a count is missing after the event");
	if (!len)
		return NULL;
	err = hv_number_parse(number, 0, &value);
	if (!err)
		*ret = (int64_t)value;
	return err;
}

static struct hv_err *add(struct hv_probes *p, const struct hv_sites *sites, const char *func,
			  enum hv_probe_command command, struct hv_event_ref event,
			  const char *count)
{
	struct hv_probe_set *set = find_set(p, command, count != NULL);
	struct hv_filter matched;
	int64_t left = -1;
	struct hv_err *err = count ? parse_count(command, count, &left) : NULL;
	size_t before;

	if (err)
		return err;
	matched = hv_filter_match(sites, func, NULL);
	if (!set)
		set = new_set(p, command, count != NULL);
	before = set->nr;
	set->list = hv_realloc_array(set->list, set->nr + matched.nr + 1, sizeof(*set->list));
	for (size_t i = 0; i < matched.nr; i++) {
		struct hv_probe_set old = {.list = set->list, .nr = before};

		if (!hv_probes_find(&old, matched.ips[i]))
			set->list[set->nr++] = (struct hv_probe){matched.ips[i], left, event};
	}
	qsort(set->list, set->nr, sizeof(*set->list), compare_probes);
	if (set->nr == before)
		err = hv_err_new(EINVAL,
				 matched.nr ? "every function that matches '%s' already has it"
					    : "no traceable function matches '%s'",
				 func);
	if (!set->nr)
		hv_probes_drop(p, set);
	hv_filter_deinit(&matched);
	return err;
}

static struct hv_err *take_away(struct hv_probes *p, const struct hv_sites *sites, const char *func,
				enum hv_probe_command command, unsigned counted)
{
	struct hv_probe_set *set = find_set(p, command, counted);
	HV_AUTO_FREE char *text = hv_strdup(func);
	struct hv_glob glob = hv_glob_parse(text);
	bool all = !func[0] || strcmp(func, "*") == 0;
	struct hv_filter gone = {0};
	size_t kept = 0, before;

	if (glob.negated)
		return hv_err_new(EINVAL, "'!%s' has more than one '!'", func);
	if (!set)
		return hv_err_new(ENODEV, "no function has %s%s", commands[command].name,
				  counted && !acts_once(command) ? " with a count" : "");
	before = set->nr;
	if (!all)
		gone = hv_filter_match(sites, func, NULL);
	for (size_t i = 0; i < before; i++)
		if (!all &&
		    (glob.kind == HV_GLOB_INDEX || !hv_filter_has(&gone, hv_gva(set->list[i].ip))))
			set->list[kept++] = set->list[i];
	hv_filter_deinit(&gone);
	set->nr = kept;
	if (!kept)
		hv_probes_drop(p, set);
	if (kept == before)
		return hv_err_new(EINVAL, "no function that matches '%s' has %s", func,
				  commands[command].name);
	return NULL;
}

struct hv_err *hv_probes_apply(struct hv_probes *p, const struct hv_sites *sites, const char *func,
			       enum hv_probe_command command, struct hv_event_ref event,
			       const char *count)
{
	if (acts_once(command))
		count = "1";
	if (func[0] == '!')
		return take_away(p, sites, func + 1, command, count != NULL);
	return add(p, sites, func, command, event, count);
}

static void add_line(struct hv_text *out, const struct hv_site *site,
		     const struct hv_probe_set *set, const struct hv_probe *probe,
		     const struct hv_probes_shown *shown)
{
	hv_site_text(site, out);
	hv_text_printf(out, ":%s:", commands[set->command].name);
	if (hv_probe_command_has_event(set->command)) {
		HV_AUTO_FREE char *event = shown->event(shown->ctx, probe->event);

		hv_text_printf(out, "%s:", event ? event : "(gone)");
	}
	/* The kernel shows cpudump without its count (cpudump_probe_ops has no init). */
	if (set->counted && set->command != HV_PROBE_CPUDUMP)
		hv_text_printf(out, "count=%" PRId64 "\n",
			       shown->left(shown->ctx, set->command, probe));
	else
		hv_text_add(out, "unlimited\n");
}

void hv_probes_text(const struct hv_probes *p, const struct hv_sites *sites,
		    const struct hv_probes_shown *shown, struct hv_text *ret)
{
	for (size_t i = 0; i < p->nr; i++) {
		const struct hv_probe_set *set = &p->sets[i];

		for (size_t j = 0; j < sites->nr; j++) {
			const struct hv_probe *probe = hv_probes_find(set, sites->list[j].ip.v);

			if (probe)
				add_line(ret, &sites->list[j], set, probe, shown);
		}
	}
}
