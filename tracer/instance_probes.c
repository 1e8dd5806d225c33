/* What set_ftrace_filter asks for besides functions to trace: commands, and words that wait for
 * modules. */
#include "tracer/node.h"

static const enum hv_action actions[HV_NR_PROBE_COMMANDS][2] = {
	[HV_PROBE_TRACEON] = {HV_ACTION_ON, HV_ACTION_ON_COUNTED},
	[HV_PROBE_TRACEOFF] = {HV_ACTION_OFF, HV_ACTION_OFF_COUNTED},
	[HV_PROBE_STACKTRACE] = {HV_ACTION_STACK, HV_ACTION_STACK_COUNTED},
	[HV_PROBE_SNAPSHOT] = {HV_ACTION_SNAPSHOT, HV_ACTION_SNAPSHOT_COUNTED},
};

static int compare_ips(const void *pa, const void *pb)
{
	const struct hv_site_actions *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

static void add_set(const struct hv_probe_set *set, struct hv_site_actions *list, size_t *nr)
{
	enum hv_action action = actions[set->command][set->counted];

	for (size_t i = 0; i < set->nr; i++) {
		struct hv_site_actions *to = &list[(*nr)++];

		*to = (struct hv_site_actions){.ip = set->list[i].ip, .bits = 1u << action};
		to->left[action] = set->list[i].count;
	}
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

/* The session's list. What is counted goes on from where it is. */
static struct hv_err *set_actions(struct hv_instance *in, const struct hv_probes *probes)
{
	struct hv_session *session = in->tree->session;
	HV_AUTO_FREE struct hv_site_actions *list = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < probes->nr; i++)
		nr += probes->sets[i].nr;
	list = hv_alloc(nr * sizeof(*list));
	nr = 0;
	for (size_t i = 0; i < probes->nr; i++)
		add_set(&probes->sets[i], list, &nr);
	return hv_session_set_actions(session, list, join(list, nr));
}

/* Recording is switched in the guest, for everybody. */
static struct hv_err *check_others(const struct hv_instance *in)
{
	for (const struct hv_instance *i = &in->tree->top; i; i = i->next)
		if (i != in && i->tracer != HV_TRACER_NOP)
			return hv_err_new(EBUSY, "another instance traces: %s",
					  i->name ? i->name : "the top");
	return NULL;
}

/* What has to be there before COMMAND can be obeyed. */
static struct hv_err *prepare(struct hv_instance *in, enum hv_probe_command command)
{
	struct hv_err *err = NULL;

	if (command == HV_PROBE_STACKTRACE)
		return hv_session_can_unwind(in->tree->session);
	if (command == HV_PROBE_SNAPSHOT)
		err = hv_instance_need_host(in);
	return err || command != HV_PROBE_SNAPSHOT ? err : hv_instance_need_snapshot(in);
}

struct hv_err *hv_instance_probe(struct hv_instance *in, const char *func,
				 enum hv_probe_command command, const char *param)
{
	const struct hv_sites *sites = &hv_session_kernel(in->tree->session)->sites;
	struct hv_probes probes = hv_probes_dup(&in->probes);
	struct hv_err *err = check_others(in);

	if (!err && func[0] != '!')
		err = prepare(in, command);
	if (!err)
		err = hv_probes_apply(&probes, sites, func, command, param);
	if (!err)
		err = set_actions(in, &probes);
	if (!err) {
		err = hv_instance_trace(in, in->tracer, in->lists);
		/* The guest is as before: what it was told is taken back. */
		if (err)
			hv_err_free(set_actions(in, &in->probes));
	}
	if (err) {
		hv_probes_deinit(&probes);
		return err;
	}
	hv_probes_deinit(&in->probes);
	in->probes = probes;
	return NULL;
}

int64_t hv_instance_probe_left(void *ctx, enum hv_probe_command command,
			       const struct hv_probe *probe)
{
	struct hv_instance *in = ctx;

	return hv_session_action_left(in->tree->session, probe->ip, actions[command][1],
				      probe->count);
}

static void module_came(struct hv_instance *in, unsigned list, const char *module)
{
	const struct hv_sites *sites = &hv_session_kernel(in->tree->session)->sites;
	char *func;

	while (hv_modcache_take(&in->waiting[list], module, &func)) {
		hv_filter_change(&in->lists[list], sites, func[0] ? func : "*", module);
		free(func);
	}
}

void hv_instance_modules_came(struct hv_instance *in)
{
	const struct hv_modules *modules = &hv_session_kernel(in->tree->session)->modules;

	for (unsigned list = 0; list < HV_NR_FILTER_LISTS; list++) {
		for (size_t i = 0; i < modules->nr && in->waiting[list].nr; i++)
			module_came(in, list, modules->list[i].name);
		in->lists[list].awaits_modules &= in->waiting[list].nr != 0;
	}
}
