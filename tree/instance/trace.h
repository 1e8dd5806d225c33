/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes the functions and events that an instance traces. The guest records the union over all
 * instances, so each change passes a new union to the session. On error the guest and the instance
 * keep their previous state.
 * Leaves to others: how the session is told (sites.h, tasks.h, commands.h, recording.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* EBUSY: another instance traces function_graph with the other sleep-time, or one of the two
 * records stacks (func_stack_trace) of a function that is in the other's function_graph. */
struct hv_err *hv_instance_set_tracer(struct hv_instance *in,
				      const struct hv_tracer_ops *tracer) hv_must_use;
/* On success IN owns the contents of LIST, and LIST is empty. */
struct hv_err *hv_instance_set_list(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_filter *list) hv_must_use;
/* Likewise. WHICH is HV_LIST_FILTER or HV_LIST_NOTRACE. */
struct hv_err *hv_instance_set_pids(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_pidlist *list) hv_must_use;
/* MUTED has a byte per vCPU, as in struct hv_selection, and is copied. */
void hv_instance_set_muted(struct hv_instance *in, const uint8_t *muted);
/* Adds or removes the command FUNC:COMMAND[:PARAM], as hv_probes_apply() and
 * hv_event_command_prepare() describe. Changes the text PARAM. */
struct hv_err *hv_instance_set_command(struct hv_instance *in, const char *func,
				       enum hv_probe_command command, char *param) hv_must_use;
/* Sets OPTION, and changes in the guest and in the buffer what depends on it. EBUSY for
 * function-fork: several instances trace. EBUSY also as hv_instance_set_tracer() describes. */
struct hv_err *hv_instance_set_option(struct hv_instance *in, enum hv_option option,
				      unsigned on) hv_must_use;
/* Switches the profile of IN on or off (function_profile_enabled). The options for its times are
 * the top's. */
struct hv_err *hv_instance_set_profile(struct hv_instance *in, unsigned on) hv_must_use;

/* Changes the sites that wait until IN records (sites.h). Callers do this before tracing_on of IN
 * is set. */
struct hv_err *hv_instance_before_recording(struct hv_instance *in) hv_must_use;

/* Sets the tracer to nop, switches the profile and all events off, and removes all commands of
 * functions. */
struct hv_err *hv_instance_stop(struct hv_instance *in) hv_must_use;

/* As hv_instance_retrace(). */
struct hv_err *hv_trace_again(struct hv_instance *in) hv_must_use;
