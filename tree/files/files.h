/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of all files, and the entries of directories with variable contents. To add a file,
 * write tree/files/NOUN.c, add a line here, and add a line to a directory in nodes.c. */
#pragma once

#include "tree/files/file.h"

/* Return whether the guest's architecture supports function_graph, or the profile. */
bool hv_path_has_graph(const struct hv_path *at);
bool hv_path_has_profile(const struct hv_path *at);

/* cpus.c: directories with one entry per vCPU, whose names are a word and a number ("cpu7") */
/* Implement name and find of struct hv_entries, for entries whose names begin with WORD. */
bool hv_cpu_name(const struct hv_path *dir, const char *word, size_t index, struct hv_text *ret);
bool hv_cpu_find(struct hv_path *at, const char *word, const char *name);
extern const struct hv_entries hv_per_cpu_entries;
extern const struct hv_node hv_cpumask_node;

/* file.c */
extern const struct hv_node hv_errors_node;

/* event.c */
extern const struct hv_node hv_event_format_node;
extern const struct hv_node hv_event_id_node;
extern const struct hv_node hv_event_hist_node;
extern const struct hv_node hv_event_enable_node;
extern const struct hv_node hv_event_system_enable_node;
extern const struct hv_node hv_events_enable_node;
extern const struct hv_node hv_event_filter_node;
extern const struct hv_node hv_event_system_filter_node;
extern const struct hv_node hv_event_trigger_node;
extern const struct hv_node hv_available_events_node;
extern const struct hv_node hv_set_event_node;

/* event_dirs.c */
extern const struct hv_entries hv_event_system_entries;
extern const struct hv_entries hv_event_entries;
extern const struct hv_node hv_header_page_node;
extern const struct hv_node hv_header_event_node;
extern const struct hv_node hv_printk_formats_node;

/* filter.c */
extern const struct hv_node hv_ftrace_filter_node;
extern const struct hv_node hv_ftrace_notrace_node;
extern const struct hv_node hv_graph_function_node;
extern const struct hv_node hv_graph_notrace_node;
extern const struct hv_node hv_functions_node;
extern const struct hv_node hv_function_addrs_node;
extern const struct hv_node hv_enabled_functions_node;

/* instances.c */
extern const struct hv_entries hv_instance_entries;

/* dynamic_events.c */
extern const struct hv_node hv_kprobe_events_node;
extern const struct hv_node hv_dynamic_events_node;
extern const struct hv_node hv_synthetic_events_node;
extern const struct hv_node hv_kprobe_profile_node;

/* marker.c */
extern const struct hv_node hv_marker_node;
extern const struct hv_node hv_raw_marker_node;

/* options.c */
extern const struct hv_node hv_options_node;
extern const struct hv_node hv_option_node;
extern const struct hv_entries hv_option_entries;

/* pipe.c */
extern const struct hv_node hv_pipe_node;
extern const struct hv_node hv_raw_node;

/* profile.c */
extern const struct hv_node hv_profile_enabled_node;
extern const struct hv_node hv_profile_node;
extern const struct hv_entries hv_profile_entries;

/* stack_trace.c, filter.c; the first returns whether the stack tracer is supported */
bool hv_path_has_stack_tracer(const struct hv_path *at);
extern const struct hv_node hv_stack_filter_node;
extern const struct hv_node hv_stack_max_node;
extern const struct hv_node hv_stack_trace_node;
extern const struct hv_node hv_stack_tracer_node;

/* readme.c */
extern const struct hv_node hv_readme_node;

/* buffer.c */
extern const struct hv_node hv_size_node;
extern const struct hv_node hv_total_size_node;
extern const struct hv_node hv_subbuf_size_node;
extern const struct hv_node hv_free_buffer_node;
extern const struct hv_node hv_percent_node;
extern const struct hv_node hv_stats_node;
extern const struct hv_node hv_clock_node;
extern const struct hv_node hv_timestamps_node;
extern const struct hv_node hv_tracing_on_node;

/* tasks.c */
extern const struct hv_node hv_comms_node;
extern const struct hv_node hv_comms_size_node;
extern const struct hv_node hv_tgids_node;
extern const struct hv_node hv_ftrace_pid_node;
extern const struct hv_node hv_ftrace_notrace_pid_node;
extern const struct hv_node hv_event_pid_node;
extern const struct hv_node hv_event_notrace_pid_node;

/* trace.c; a dump (instance/core/buffers.h) is a file without a name in the tree */
/* Opens the waiting dump; NULL if there is none. Read it to the end, which consumes its events, and
 * close it. No other dump starts before that. */
struct hv_file *hv_dump_open(struct hv_tree *tree) hv_must_use;
extern const struct hv_node hv_trace_node;
extern const struct hv_node hv_snapshot_node;

/* tracer.c */
extern const struct hv_node hv_tracers_node;
extern const struct hv_node hv_tracer_node;
extern const struct hv_node hv_max_latency_node;
extern const struct hv_node hv_graph_depth_node;
extern const struct hv_node hv_thresh_node;
