/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/part.h"

#include <stddef.h>

#include "tree/instance/budget.h"
#include "tree/instance/commands.h"
#include "tree/instance/demux/demux.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_pids.h"
#include "tree/instance/events/event_stacks.h"
#include "tree/instance/events/match.h"
#include "tree/instance/events/user_stacks.h"
#include "tree/instance/functions.h"
#include "tree/instance/hist/hists.h"
#include "tree/instance/housekeeping.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/stack_tracer.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/instance/publish.h"
#include "tree/instance/trace.h"
#include "tree/instance/triggers/triggers.h"

static const struct hv_part *const parts[HV_NR_PARTS] = {
	[HV_PART_BUDGET] = &hv_budget_part,
	[HV_PART_DEMUX] = &hv_demux_part,
	[HV_PART_MATCH] = &hv_match_part,
	[HV_PART_EVENT_FILTERS] = &hv_event_filters_part,
	[HV_PART_TRIGGERS] = &hv_triggers_part,
	[HV_PART_EVENT_COMMANDS] = &hv_event_commands_part,
	[HV_PART_HISTS] = &hv_hists_part,
	[HV_PART_EVENT_PIDS] = &hv_event_pids_part,
	[HV_PART_EVENT_STACKS] = &hv_event_stacks_part,
	[HV_PART_USER_STACKS] = &hv_user_stacks_part,
	[HV_PART_HOST_MADE] = &hv_host_made_part,
	[HV_PART_SYSCALLS] = &hv_syscalls_part,
	[HV_PART_KPROBES] = &hv_kprobes_part,
	[HV_PART_EPROBES] = &hv_eprobes_part,
	[HV_PART_SYNTHS] = &hv_synths_part,
	[HV_PART_SECTIONS] = &hv_sections_part,
	[HV_PART_WAKEUPS] = &hv_wakeups_part,
	[HV_PART_STACK_TRACER] = &hv_stack_tracer_part,
	[HV_PART_FUNCTIONS] = &hv_functions_part,
	[HV_PART_HOUSEKEEPING] = &hv_housekeeping_part,
};

const struct hv_publisher hv_publisher = {
	.parts = parts,
	.retrace = hv_trace_again,
	.events = hv_publish_events,
	.filter = hv_publish_filter,
	.commands = hv_commands_publish,
};
