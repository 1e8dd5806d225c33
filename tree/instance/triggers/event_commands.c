/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/triggers/event_commands.h"

#include <string.h>

#include "kernel/events/catalogue.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/triggers/triggers.h"

struct hv_err *hv_event_command_prepare(struct hv_instance *in, char *param,
					struct hv_event_ref *ret, const char **ret_count)
{
	const char *system = strsep(&param, ":");
	const char *event = strsep(&param, ":");
	const struct hv_event_type *type;
	const struct hv_catalogue *c;
	struct hv_err *err;

	if (!event)
		return hv_err_new(EINVAL, "'%s' is not SYSTEM:EVENT", system ? system : "");
	err = hv_event_types_catalogue(hv_instance_session(in)->types, &c);
	if (err)
		return err;
	type = hv_catalogue_find(c, system, event);
	if (!type || !type->is_available)
		return hv_err_new(EINVAL, "the guest has no event %s:%s", system, event);
	if (hv_kprobes_is(type) || hv_eprobes_is(type))
		return hv_err_new(EOPNOTSUPP,
				  "a function's command cannot switch a probe of the session");
	*ret = hv_event_ref_of(type);
	*ret_count = param;
	err = hv_host_made_need(in, c, type);
	return err ? err : hv_instances_begin_sharing(hv_instance_all(in));
}

static bool acts_on(const struct hv_instance *in, struct hv_event_ref ref)
{
	for (size_t i = 0; i < hv_instance_commands(in)->nr; i++) {
		const struct hv_probe_set *set = &hv_instance_commands(in)->sets[i];

		for (size_t j = 0; hv_probe_command_has_event(set->command) && j < set->nr; j++)
			if (hv_event_ref_is_same(set->list[j].event, ref))
				return true;
	}
	return false;
}

/* Returns NULL if the type was removed. */
static const struct hv_event_type *find(const struct hv_catalogue *c, struct hv_event_ref ref)
{
	const struct hv_event_type *type = hv_catalogue_by_id(c, ref.id);

	return type && type->call.v == ref.call ? type : NULL;
}

char *hv_event_command_target(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_event_type *type = NULL;
	const struct hv_catalogue *c;
	HV_AUTO_ERR struct hv_err *err =
		hv_event_types_catalogue(hv_instance_session(in)->types, &c);

	if (!err)
		type = find(c, ref);
	return type ? hv_format("%s:%s", type->system, type->name) : NULL;
}

static void forget_gone(struct hv_instance *in, const struct hv_catalogue *c)
{
	for (size_t i = hv_instance_commands(in)->nr; i-- > 0;) {
		struct hv_probe_set *set = &hv_instance_commands(in)->sets[i];
		size_t nr = set->nr;

		set->nr = 0;
		for (size_t j = 0; j < nr; j++)
			if (!hv_probe_command_has_event(set->command) ||
			    find(c, set->list[j].event))
				set->list[set->nr++] = set->list[j];
		if (!set->nr)
			hv_probes_drop(hv_instance_commands(in), set);
	}
}

bool hv_event_command_obey(struct hv_instance *in, enum hv_probe_command command,
			   const struct hv_probe *probe)
{
	bool on = command == HV_PROBE_ENABLE_EVENT;

	if (hv_event_set_has(hv_instance_events(in), probe->event) == on)
		return false;
	hv_instance_switch_event(in, probe->event, on);
	return true;
}

const struct hv_part hv_event_commands_part = {
	.acts_on = acts_on,
	.forget_gone = forget_gone,
};
