/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/func_commands.h"

#include <inttypes.h>
#include <string.h>

#include "tree/settings/filter.h"
#include "tree/settings/glob.h"
#include "tree/settings/token.h"

/* All commands need HV_RIGHT_FUNCTIONS, because a command patches its function regardless of the
 * tracer. */
#define SWITCHES_EVENTS (HV_RIGHT_FUNCTIONS | HV_RIGHT_EVENTS)

static const struct {
	const char *name;
	uint32_t need;
} commands[HV_NR_FUNC_COMMAND_KINDS] = {
	[HV_FUNC_COMMAND_TRACEON] = {"traceon", HV_RIGHT_FUNCTIONS},
	[HV_FUNC_COMMAND_TRACEOFF] = {"traceoff", HV_RIGHT_FUNCTIONS},
	[HV_FUNC_COMMAND_STACKTRACE] = {"stacktrace", HV_RIGHT_FUNCTIONS},
	[HV_FUNC_COMMAND_SNAPSHOT] = {"snapshot", HV_RIGHT_FUNCTIONS},
	[HV_FUNC_COMMAND_DUMP] = {"dump", HV_RIGHT_FUNCTIONS},
	[HV_FUNC_COMMAND_CPUDUMP] = {"cpudump", HV_RIGHT_FUNCTIONS},
	[HV_FUNC_COMMAND_ENABLE_EVENT] = {"enable_event", SWITCHES_EVENTS},
	[HV_FUNC_COMMAND_DISABLE_EVENT] = {"disable_event", SWITCHES_EVENTS},
};

/* Returns whether COMMAND runs only once, regardless of its count (ftrace_trace_dump_callback,
 * ftrace_trace_cpudump_callback). */
static bool acts_once(enum hv_func_command_kind command)
{
	return command == HV_FUNC_COMMAND_DUMP || command == HV_FUNC_COMMAND_CPUDUMP;
}

void hv_func_commands_deinit(struct hv_func_commands *p)
{
	for (size_t i = 0; i < p->nr; i++)
		free(p->sets[i].list);
	*p = (struct hv_func_commands){0};
}

bool hv_func_commands_have(const struct hv_func_commands *p, enum hv_func_command_kind command)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->sets[i].command == command)
			return true;
	return false;
}

bool hv_func_commands_have_events(const struct hv_func_commands *p)
{
	return hv_func_commands_have(p, HV_FUNC_COMMAND_ENABLE_EVENT) ||
	       hv_func_commands_have(p, HV_FUNC_COMMAND_DISABLE_EVENT);
}

struct hv_func_commands hv_func_commands_dup(const struct hv_func_commands *p)
{
	struct hv_func_commands copy = *p;

	for (size_t i = 0; i < p->nr; i++) {
		struct hv_func_command_set *set = &copy.sets[i];

		set->list = hv_realloc_array(NULL, set->nr, sizeof(*set->list));
		memcpy(set->list, p->sets[i].list, set->nr * sizeof(*set->list));
	}
	return copy;
}

bool hv_func_command_has_event(enum hv_func_command_kind command)
{
	return command == HV_FUNC_COMMAND_ENABLE_EVENT || command == HV_FUNC_COMMAND_DISABLE_EVENT;
}

uint32_t hv_func_command_need(enum hv_func_command_kind command)
{
	return commands[command].need;
}

const char *hv_func_command_name(enum hv_func_command_kind command)
{
	return commands[command].name;
}

bool hv_func_command_find(const char *name, enum hv_func_command_kind *ret)
{
	for (unsigned i = 0; i < HV_NR_FUNC_COMMAND_KINDS; i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static struct hv_func_command_set *find_set(struct hv_func_commands *p,
					    enum hv_func_command_kind command, unsigned counted)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->sets[i].command == command && p->sets[i].counted == counted)
			return &p->sets[i];
	return NULL;
}

static int compare_probes(const void *pa, const void *pb)
{
	const struct hv_func_command *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

struct hv_func_command *hv_func_commands_find(const struct hv_func_command_set *set, uint64_t ip)
{
	struct hv_func_command key = {.ip = ip};

	return set->nr ? bsearch(&key, set->list, set->nr, sizeof(key), compare_probes) : NULL;
}

void hv_func_commands_drop(struct hv_func_commands *p, struct hv_func_command_set *set)
{
	size_t at = (size_t)(set - p->sets);

	free(set->list);
	p->nr--;
	memmove(set, set + 1, (p->nr - at) * sizeof(*set));
}

static struct hv_func_command_set *new_set(struct hv_func_commands *p,
					   enum hv_func_command_kind command, unsigned counted)
{
	memmove(p->sets + 1, p->sets, p->nr * sizeof(*p->sets));
	p->sets[0] = (struct hv_func_command_set){.command = command, .counted = counted};
	p->nr++;
	return &p->sets[0];
}

/* Parses the number at the start of COUNT, up to a colon. An empty number means -1; after an event
 * it is an error. */
static struct hv_err *parse_count(enum hv_func_command_kind command, const char *count,
				  int64_t *ret)
{
	size_t len = strcspn(count, ":");
	HV_AUTO_FREE char *number = hv_strdup(count);
	struct hv_err *err;
	uint64_t value;

	number[len] = '\0';
	*ret = -1;
	if (!len && hv_func_command_has_event(command))
		return hv_err_new(EINVAL, "a count is missing after the event");
	if (!len)
		return NULL;
	err = hv_number_parse(number, 0, &value);
	if (!err)
		*ret = (int64_t)value;
	return err;
}

static struct hv_err *add(struct hv_func_commands *p, const struct hv_sites *sites,
			  const char *func, enum hv_func_command_kind command,
			  struct hv_event_ref event, const char *count)
{
	struct hv_func_command_set *set = find_set(p, command, count != NULL);
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
		struct hv_func_command_set old = {.list = set->list, .nr = before};

		if (!hv_func_commands_find(&old, matched.ips[i]))
			set->list[set->nr++] =
				(struct hv_func_command){matched.ips[i], left, event};
	}
	qsort(set->list, set->nr, sizeof(*set->list), compare_probes);
	if (set->nr == before)
		err = hv_err_new(EINVAL,
				 matched.nr ? "every function that matches '%s' already has it"
					    : "no traceable function matches '%s'",
				 func);
	if (!set->nr)
		hv_func_commands_drop(p, set);
	hv_filter_deinit(&matched);
	return err;
}

static struct hv_err *take_away(struct hv_func_commands *p, const struct hv_sites *sites,
				const char *func, enum hv_func_command_kind command,
				unsigned counted)
{
	struct hv_func_command_set *set = find_set(p, command, counted);
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
		hv_func_commands_drop(p, set);
	if (kept == before)
		return hv_err_new(EINVAL, "no function that matches '%s' has %s", func,
				  commands[command].name);
	return NULL;
}

struct hv_err *hv_func_commands_apply(struct hv_func_commands *p, const struct hv_sites *sites,
				      const char *func, enum hv_func_command_kind command,
				      struct hv_event_ref event, const char *count)
{
	if (acts_once(command))
		count = "1";
	if (func[0] == '!')
		return take_away(p, sites, func + 1, command, count != NULL);
	return add(p, sites, func, command, event, count);
}

static void add_line(struct hv_text *out, const struct hv_site *site,
		     const struct hv_func_command_set *set,
		     const struct hv_func_command *func_command,
		     const struct hv_func_commands_shown *shown)
{
	hv_site_text(site, out);
	hv_text_printf(out, ":%s:", commands[set->command].name);
	if (hv_func_command_has_event(set->command)) {
		HV_AUTO_FREE char *event = shown->event(shown->ctx, func_command->event);

		hv_text_printf(out, "%s:", event ? event : "(gone)");
	}
	/* The kernel shows cpudump without its count (cpudump_probe_ops has no init). */
	if (set->counted && set->command != HV_FUNC_COMMAND_CPUDUMP)
		hv_text_printf(out, "count=%" PRId64 "\n",
			       shown->left(shown->ctx, set->command, func_command));
	else
		hv_text_add(out, "unlimited\n");
}

void hv_func_commands_text(const struct hv_func_commands *p, const struct hv_sites *sites,
			   const struct hv_func_commands_shown *shown, struct hv_text *ret)
{
	for (size_t i = 0; i < p->nr; i++) {
		const struct hv_func_command_set *set = &p->sets[i];

		for (size_t j = 0; j < sites->nr; j++) {
			const struct hv_func_command *func_command =
				hv_func_commands_find(set, sites->list[j].ip.v);

			if (func_command)
				add_line(ret, &sites->list[j], set, func_command, shown);
		}
	}
}
