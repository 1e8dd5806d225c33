/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/parts.h"

#include <stddef.h>

#include "tree/instance/budget.h"
#include "tree/instance/commands.h"
#include "tree/instance/demux/demux.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_pids.h"
#include "tree/instance/events/event_stacks.h"
#include "tree/instance/events/host_events.h"
#include "tree/instance/hist/hists.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/stack_tracer.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/instance/publish.h"
#include "tree/instance/trace.h"
#include "tree/instance/triggers/event_commands.h"
#include "tree/instance/triggers/triggers.h"

static const struct hv_part *const parts[] = {
	&hv_budget_part,
	&hv_demux_part,
	&hv_event_filters_part,
	&hv_triggers_part,
	&hv_event_commands_part,
	&hv_hists_part,
	&hv_event_pids_part,
	&hv_event_stacks_part,
	&hv_host_events_part,
	&hv_syscalls_part,
	&hv_kprobes_part,
	&hv_eprobes_part,
	&hv_synths_part,
	&hv_sections_part,
	&hv_wakeups_part,
	&hv_stack_tracer_part,
	NULL,
};

const struct hv_publisher hv_publisher = {
	.parts = parts,
	.retrace = hv_trace_again,
	.events = hv_publish_events,
	.filter = hv_publish_filter,
	.commands = hv_commands_publish,
};
