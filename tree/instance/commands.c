/* Commands of functions: what the guest is told to do at their calls, and what the host does. */
#include "tree/instance/commands.h"

#include "tree/instance/dump.h"
#include "tree/instance/share.h"

/* Of a command without a count, and with one: as the guest obeys it, or has it obeyed. */
static const enum hv_action actions[HV_NR_PROBE_COMMANDS][2] = {
	[HV_PROBE_TRACEON] = {HV_ACTION_ON, HV_ACTION_ON_COUNTED},
	[HV_PROBE_TRACEOFF] = {HV_ACTION_OFF, HV_ACTION_OFF_COUNTED},
	[HV_PROBE_STACKTRACE] = {HV_ACTION_STACK, HV_ACTION_STACK_COUNTED},
	[HV_PROBE_SNAPSHOT] = {HV_ACTION_TELL, HV_ACTION_TELL_COUNTED},
	[HV_PROBE_DUMP] = {HV_ACTION_TELL, HV_ACTION_TELL_COUNTED},
	[HV_PROBE_CPUDUMP] = {HV_ACTION_TELL, HV_ACTION_TELL_COUNTED},
};

static bool guest_counts(enum hv_probe_command command)
{
	return command == HV_PROBE_TRACEON || command == HV_PROBE_TRACEOFF ||
	       command == HV_PROBE_STACKTRACE;
}

/* -- what the session is told ------------------------------------------------------------- */

static int compare_ips(const void *pa, const void *pb)
{
	const struct hv_site_actions *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

/* All that happens at one function in one entry. */
static size_t join(struct hv_site_actions *list, size_t nr)
{
	size_t kept = 0;

	qsort(list, nr, sizeof(*list), compare_ips);
	for (size_t i = 0; i < nr; i++) {
		struct hv_site_actions *last = kept ? &list[kept - 1] : NULL;

		if (!last || last->ip != list[i].ip) {
			list[kept++] = list[i];
			continue;
		}
		last->bits |= list[i].bits;
		for (unsigned a = 0; a < HV_NR_ACTIONS; a++)
			if (list[i].bits >> a & 1)
				last->left[a] = list[i].left[a];
	}
	return kept;
}

/* As the host has them counted, it is told of every call, and no more once a count is used up. */
static void add_set(const struct hv_probe_set *set, unsigned host_obeys,
		    struct hv_site_actions *list, size_t *nr)
{
	enum hv_action action = actions[set->command][set->counted && !host_obeys];

	if (host_obeys && set->command != HV_PROBE_STACKTRACE)
		action = HV_ACTION_TELL;
	for (size_t i = 0; i < set->nr; i++) {
		struct hv_site_actions *to;

		if (host_obeys && set->counted && set->list[i].count <= 0)
			continue;
		to = &list[(*nr)++];
		*to = (struct hv_site_actions){.ip = set->list[i].ip, .bits = 1u << action};
		to->left[action] = set->list[i].count;
	}
}

static struct hv_err *tell(struct hv_tree *t)
{
	HV_AUTO_FREE struct hv_site_actions *list = NULL;
	size_t nr = 0;

	for (struct hv_instance *in = &t->top; in; in = in->next)
		for (size_t i = 0; i < in->probes.nr; i++)
			nr += in->probes.sets[i].nr;
	list = hv_alloc(nr * sizeof(*list));
	nr = 0;
	for (struct hv_instance *in = &t->top; in; in = in->next)
		for (size_t i = 0; i < in->probes.nr; i++)
			add_set(&in->probes.sets[i], t->host_obeys, list, &nr);
	return hv_session_set_actions(t->session, list, join(list, nr));
}

/* -- who obeys --------------------------------------------------------------------------------- */

/* Two counts of a function are two here, though the guest keeps them in one place. */
static bool guest_can_count(const struct hv_probes *p)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr; i++)
		nr += p->sets[i].counted ? p->sets[i].nr : 0;
	return nr <= HV_ACTIONS_COUNTED_MAX;
}

static bool must_host_obey(const struct hv_instance *in, enum hv_tracer tracer)
{
	const struct hv_instance *top = &in->tree->top;
	bool others_trace = false, others_command = false;

	for (const struct hv_instance *i = top->next; i; i = i->next) {
		others_trace |= (i == in ? tracer : i->tracer) != HV_TRACER_NOP;
		others_command |= i->probes.nr != 0;
	}
	if (others_command || (others_trace && top->probes.nr))
		return true;
	/* They end recording, and what is recorded behind the call is not in them. */
	return hv_probes_have(&top->probes, HV_PROBE_DUMP) ||
	       hv_probes_have(&top->probes, HV_PROBE_CPUDUMP) || !guest_can_count(&top->probes);
}

/* What the guest did by now is where the host goes on. */
static void learn(struct hv_instance *top)
{
	struct hv_probes *p = &top->probes;

	top->recording = hv_instance_tracing_on(top);
	for (size_t i = 0; i < p->nr; i++)
		for (size_t j = 0; p->sets[i].counted && j < p->sets[i].nr; j++)
			p->sets[i].list[j].count =
				hv_commands_left(top, p->sets[i].command, &p->sets[i].list[j]);
}

struct hv_err *hv_commands_publish(struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_tree *t = in->tree;
	unsigned host_obeys = must_host_obey(in, tracer);
	struct hv_err *err = host_obeys ? hv_instance_need_host(&t->top) : NULL;

	if (err)
		return err;
	if (host_obeys && !t->host_obeys)
		learn(&t->top);
	t->host_obeys = host_obeys;
	return tell(t);
}

int64_t hv_commands_left(struct hv_instance *in, enum hv_probe_command command,
			 const struct hv_probe *probe)
{
	if (in->tree->host_obeys || !guest_counts(command))
		return probe->count;
	return hv_session_action_left(in->tree->session, probe->ip, actions[command][1],
				      probe->count);
}

static bool has_left(const struct hv_probe_set *set)
{
	for (size_t i = 0; i < set->nr; i++)
		if (!set->counted || set->list[i].count > 0)
			return true;
	return false;
}

bool hv_commands_need_recording(const struct hv_instance *in)
{
	bool on = false;

	for (size_t i = 0; in->tree->host_obeys && i < in->probes.nr; i++) {
		const struct hv_probe_set *set = &in->probes.sets[i];

		on |= set->command == HV_PROBE_TRACEON && has_left(set);
		on |= set->command == HV_PROBE_STACKTRACE && in->recording;
	}
	return on;
}

/* -- obeying ----------------------------------------------------------------------------------- */

/* Whether COMMAND is due at IP, with a count or without; one of the count is used up then. */
static bool is_due(struct hv_instance *in, enum hv_probe_command command, uint64_t ip)
{
	bool due = false;

	for (size_t i = 0; i < in->probes.nr; i++) {
		const struct hv_probe_set *set = &in->probes.sets[i];
		struct hv_probe *probe = set->command == command ? hv_probes_find(set, ip) : NULL;

		if (!probe || (set->counted && probe->count <= 0))
			continue;
		due = true;
		if (set->counted && !--probe->count)
			in->tree->commands_spent = 1;
	}
	return due;
}

/* What changes nothing is not done, and not counted. */
static bool would_change(const struct hv_instance *in, enum hv_probe_command command)
{
	switch (command) {
	case HV_PROBE_TRACEON:
		return in->tree->host_obeys && !in->recording;
	case HV_PROBE_TRACEOFF:
		return in->tree->host_obeys && in->recording;
	case HV_PROBE_STACKTRACE: /* has an event of its own */
		return false;
	default:
		return true;
	}
}

static void obey(struct hv_instance *in, enum hv_probe_command command,
		 const struct hv_event *event)
{
	switch (command) {
	case HV_PROBE_TRACEON:
		hv_instance_switch_recording(in, 1);
		return;
	case HV_PROBE_TRACEOFF:
		hv_instance_switch_recording(in, 0);
		return;
	case HV_PROBE_SNAPSHOT:
		hv_instance_swap_snapshot(in);
		return;
	case HV_PROBE_DUMP:
	case HV_PROBE_CPUDUMP:
		hv_dump_begin(in->tree, command, event);
		return;
	default:
		return;
	}
}

void hv_commands_obey(struct hv_instance *in, const struct hv_event *event)
{
	for (unsigned command = 0; command < HV_NR_PROBE_COMMANDS; command++)
		if (would_change(in, command) && is_due(in, command, event->ip.v))
			obey(in, command, event);
}

/* The guest has judged already what it obeys itself. */
bool hv_commands_take_stack(struct hv_instance *in, const struct hv_event *event)
{
	if (!in->tree->host_obeys)
		return in == &in->tree->top;
	return in->recording && !in->nr_pauses && !in->muted[event->cpu] &&
	       is_due(in, HV_PROBE_STACKTRACE, event->ip.v);
}
