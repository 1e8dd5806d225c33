/* What set_ftrace_filter asks for besides functions to trace: commands, and words that wait for
 * modules. */
#include "tree/instance/commands.h"

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

/* Takes PROBES. */
static struct hv_err *set_probes(struct hv_instance *in, enum hv_tracer tracer,
				 struct hv_probes probes)
{
	struct hv_probes before = in->probes;
	struct hv_err *err;

	in->probes = probes;
	err = hv_instance_trace(in, tracer, in->lists);
	if (err) {
		in->probes = before;
		hv_probes_deinit(&probes);
		hv_err_free(hv_commands_publish(in, in->tracer));
	} else {
		hv_probes_deinit(&before);
	}
	return err;
}

/* Counts are those of this moment: the drain uses them up. */
struct hv_err *hv_instance_probe(struct hv_instance *in, const char *func,
				 enum hv_probe_command command, const char *param)
{
	const struct hv_sites *sites = &hv_session_kernel(in->tree->session)->sites;
	struct hv_err *err = func[0] == '!' ? NULL : prepare(in, command);
	struct hv_probes probes;

	if (err)
		return err;
	hv_tree_drain(in->tree);
	probes = hv_probes_dup(&in->probes);
	err = hv_probes_apply(&probes, sites, func, command, param);
	if (err) {
		hv_probes_deinit(&probes);
		return err;
	}
	return set_probes(in, in->tracer, probes);
}

struct hv_err *hv_instance_stop(struct hv_instance *in)
{
	struct hv_err *err;

	if (in->tracer == HV_TRACER_NOP && !in->probes.nr)
		return NULL;
	err = set_probes(in, HV_TRACER_NOP, (struct hv_probes){0});
	if (!err)
		in->tracer = HV_TRACER_NOP;
	return err;
}

int64_t hv_instance_probe_left(void *ctx, enum hv_probe_command command,
			       const struct hv_probe *probe)
{
	return hv_commands_left(ctx, command, probe);
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
