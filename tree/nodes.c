/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/lookup.h"

#include "tree/files/event_dirs.h"
#include "tree/files/files.h"

static const struct hv_child cpu_children[] = {
	{"buffer_size_kb", &hv_size_node, .help = "size of this vCPU's buffer in KiB"},
	{"snapshot", &hv_snapshot_node, .help = "the snapshot of this vCPU alone"},
	{"stats", &hv_stats_node},
	{"trace", &hv_trace_node, .help = "the trace of this vCPU alone"},
	{"trace_pipe", &hv_pipe_node, .help = "the trace_pipe of this vCPU alone"},
	{"trace_pipe_raw", &hv_raw_node},
	{0},
};

static const struct hv_node cpu_node = {.children = cpu_children};

static const struct hv_node per_cpu_node = {
	.help = "a directory for each vCPU, with its part of the buffer",
	.entries = &hv_per_cpu_entries,
	.entry = &cpu_node,
};

static const struct hv_child event_children[] = {
	{"enable", &hv_event_enable_node, .is_in = hv_event_can_switch},
	{"filter", &hv_event_filter_node, .is_in = hv_event_can_switch},
	{"format", &hv_event_format_node},
	{"hist", &hv_event_hist_node},
	{"id", &hv_event_id_node, .is_in = hv_event_has_id},
	{"trigger", &hv_event_trigger_node, .is_in = hv_event_has_trigger},
	{0},
};

static const struct hv_node event_node = {.children = event_children};

static const struct hv_child event_system_children[] = {
	{"enable", &hv_event_system_enable_node, .is_in = hv_event_system_can_switch},
	{"filter", &hv_event_system_filter_node, .is_in = hv_event_system_can_switch},
	{0},
};

static const struct hv_node event_system_node = {
	.help = "a part of the guest's kernel, or a module, with its events; ftrace: the events\n"
		"that tracers record",
	.children = event_system_children,
	.entries = &hv_event_entries,
	.entry = &event_node,
};

static const struct hv_child events_children[] = {
	{"enable", &hv_events_enable_node},
	{"header_event", &hv_header_event_node},
	{"header_page", &hv_header_page_node},
	{0},
};

static const struct hv_node events_node = {
	.help = "the guest's own events, and the format of trace_pipe_raw",
	.mode = 0755,
	.children = events_children,
	.entries = &hv_event_system_entries,
	.entry = &event_system_node,
};

static const struct hv_node options_node = {
	.help = "a file for each option of every tracer",
	.entries = &hv_option_entries,
	.entry = &hv_option_node,
};

static const struct hv_node trace_stat_node = {
	.help = "the counts of function_profile_enabled, kept until it is switched on again",
	.entries = &hv_profile_entries,
	.entry = &hv_profile_node,
};

static const struct hv_node instance_node; /* defined below: it has the root's children */

static const struct hv_node instances_node = {
	.help = "mkdir makes a directory like the top one here, with its own tracer, filters\n"
		"and buffer",
	.reads = HV_RIGHT_READ,
	.writes = HV_RIGHT_CONTROL,
	.entries = &hv_instance_entries,
	.entry = &instance_node,
};

/* README and listings use this order. */
static const struct hv_child root_children[] = {
	{"README", &hv_readme_node, .only_top = 1},
	{"available_events", &hv_available_events_node, .only_top = 1},
	{"available_filter_functions", &hv_functions_node, .only_top = 1},
	{"available_filter_functions_addrs", &hv_function_addrs_node, .only_top = 1},
	{"available_tracers", &hv_tracers_node},
	{"buffer_percent", &hv_percent_node},
	{"buffer_size_kb", &hv_size_node},
	{"buffer_subbuf_size_kb", &hv_subbuf_size_node},
	{"buffer_total_size_kb", &hv_total_size_node},
	{"current_tracer", &hv_tracer_node},
	{"dynamic_events", &hv_dynamic_events_node, .only_top = 1},
	{"enabled_functions", &hv_enabled_functions_node, .only_top = 1},
	{"events", &events_node},
	{"free_buffer", &hv_free_buffer_node},
	{"function_profile_enabled", &hv_profile_enabled_node, .is_in = hv_path_has_profile},
	{"instances", &instances_node, .only_top = 1},
	{"kprobe_events", &hv_kprobe_events_node, .only_top = 1},
	{"kprobe_profile", &hv_kprobe_profile_node, .only_top = 1},
	{"options", &options_node},
	{"error_log", &hv_errors_node},
	{"max_graph_depth", &hv_graph_depth_node, .only_top = 1, .is_in = hv_path_has_graph},
	{"per_cpu", &per_cpu_node},
	{"printk_formats", &hv_printk_formats_node, .only_top = 1},
	{"saved_cmdlines", &hv_comms_node, .only_top = 1},
	{"saved_cmdlines_size", &hv_comms_size_node, .only_top = 1},
	{"saved_tgids", &hv_tgids_node, .only_top = 1},
	{"set_event", &hv_set_event_node},
	{"set_event_notrace_pid", &hv_event_notrace_pid_node},
	{"set_event_pid", &hv_event_pid_node},
	{"set_ftrace_filter", &hv_ftrace_filter_node},
	{"set_ftrace_notrace", &hv_ftrace_notrace_node},
	{"set_ftrace_notrace_pid", &hv_ftrace_notrace_pid_node},
	{"set_ftrace_pid", &hv_ftrace_pid_node},
	{"set_graph_function", &hv_graph_function_node, .is_in = hv_path_has_graph},
	{"set_graph_notrace", &hv_graph_notrace_node, .is_in = hv_path_has_graph},
	{"stack_max_size", &hv_stack_max_node, .only_top = 1, .is_in = hv_path_has_stack_tracer},
	{"stack_trace", &hv_stack_trace_node, .only_top = 1, .is_in = hv_path_has_stack_tracer},
	{"stack_trace_filter", &hv_stack_filter_node, .only_top = 1,
	 .is_in = hv_path_has_stack_tracer},
	{"stack_tracer_enabled", &hv_stack_tracer_node, .only_top = 1,
	 .is_in = hv_path_has_stack_tracer},
	{"synthetic_events", &hv_synthetic_events_node, .only_top = 1},
	{"timestamp_mode", &hv_timestamps_node},
	{"snapshot", &hv_snapshot_node},
	{"trace", &hv_trace_node},
	{"trace_clock", &hv_clock_node},
	{"trace_marker", &hv_marker_node},
	{"trace_marker_raw", &hv_raw_marker_node},
	{"trace_options", &hv_options_node},
	{"trace_pipe", &hv_pipe_node},
	{"trace_stat", &trace_stat_node, .is_in = hv_path_has_profile},
	{"tracing_cpumask", &hv_cpumask_node},
	{"tracing_max_latency", &hv_max_latency_node},
	{"tracing_on", &hv_tracing_on_node},
	{"tracing_thresh", &hv_thresh_node, .only_top = 1},
	{0},
};

static const struct hv_node instance_node = {.children = root_children};

const struct hv_node hv_root_node = {.mode = 0700, .children = root_children};
