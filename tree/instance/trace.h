/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes the functions and events that an instance traces. The guest records the union over all
 * instances, so each change passes a new union to the session, through functions.h, commands.h and
 * core/sharing.h. On error the guest and the instance keep their previous state. */
#pragma once

#include "base/switch.h"
#include "tree/instance/core/instance.h"

/* EBUSY: another instance traces function_graph with a different sleep-time, or one of the two
 * instances records stacks (func_stack_trace) of a function in the other's function_graph. */
struct hv_err *hv_instance_set_tracer(struct hv_instance *in,
				      const struct hv_tracer_ops *tracer) hv_must_use;
/* On success IN owns the contents of LIST, and LIST is empty. */
struct hv_err *hv_instance_set_list(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_filter *list) hv_must_use;
/* Like hv_instance_set_list(). WHICH is HV_LIST_FILTER or HV_LIST_NOTRACE. */
struct hv_err *hv_instance_set_pids(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_pidlist *list) hv_must_use;
/* MUTED has a byte per vCPU, as in struct hv_selection, and is copied. */
void hv_instance_set_muted(struct hv_instance *in, const uint8_t *muted);
/* Adds or removes the command FUNC:COMMAND[:PARAM]; see hv_func_commands_apply() and
 * hv_event_command_prepare(). Modifies PARAM. */
struct hv_err *hv_instance_set_command(struct hv_instance *in, const char *func,
				       enum hv_func_command_kind command, char *param) hv_must_use;
/* Sets OPTION and updates the guest and the buffer. EBUSY: function-fork while several instances
 * trace, or the reasons listed at hv_instance_set_tracer(). */
struct hv_err *hv_instance_set_option(struct hv_instance *in, enum hv_option option,
				      enum hv_switch to) hv_must_use;
/* Enables or disables the profile of IN (function_profile_enabled). The top instance's options
 * determine its times. */
struct hv_err *hv_instance_set_profile(struct hv_instance *in, enum hv_switch to) hv_must_use;

/* Sets the tracer to nop, disables the profile and all events, and removes all function
 * commands. */
struct hv_err *hv_instance_stop(struct hv_instance *in) hv_must_use;

/* See hv_instance_retrace(). */
struct hv_err *hv_trace_again(struct hv_instance *in) hv_must_use;
