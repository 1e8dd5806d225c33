/* Changes of what an instance traces. The guest records what any instance wants, so with each
 * change the session is told what all of them want then. On error the guest and the instance are as
 * before.
 * Leaves to others: how the session is told (sites.h, tasks.h, commands.h, recording.h). */
#pragma once

#include "tree/instance/instance.h"

/* EBUSY: function_graph is traced by one instance alone, and no other one traces then. */
struct hv_err *hv_instance_set_tracer(struct hv_instance *in, enum hv_tracer tracer) hv_must_use;
/* On success IN owns what LIST had, and LIST is empty. */
struct hv_err *hv_instance_set_list(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_filter *list) hv_must_use;
/* Likewise; WHICH is HV_LIST_FILTER or HV_LIST_NOTRACE. */
struct hv_err *hv_instance_set_pids(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_pidlist *list) hv_must_use;
/* MUTED has a byte a vCPU, as in struct hv_selection, and is copied. */
void hv_instance_set_muted(struct hv_instance *in, const uint8_t *muted);
/* FUNC:COMMAND[:PARAM], as hv_probes_apply() has it. */
struct hv_err *hv_instance_set_command(struct hv_instance *in, const char *func,
				       enum hv_probe_command command,
				       const char *param) hv_must_use;
/* Whatever an option changes, of the guest and of the buffer, is changed with it. EBUSY for
 * function-fork: several instances trace. */
struct hv_err *hv_instance_set_option(struct hv_instance *in, enum hv_option option,
				      unsigned on) hv_must_use;
/* function_profile_enabled. */
struct hv_err *hv_instances_set_profile(struct hv_instances *all, unsigned on) hv_must_use;

/* The tracer is nop and functions have no commands any more. */
struct hv_err *hv_instance_stop(struct hv_instance *in) hv_must_use;
/* Tells the session once more what the instances want, after a change of something else that sites
 * depend on: the guest's modules, or counts of commands. */
struct hv_err *hv_instance_retrace(struct hv_instance *in) hv_must_use;
