/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ops of functions and of graphs: decode the events of the tracers function and function_graph. */
#include <errno.h>
#include <string.h>

#include "lib/ops.h"

enum { CALL_IP, CALL_PARENT_IP };
static const struct format_number call_numbers[RECORD_NUMBERS_MAX] = {
	[CALL_IP] = {"ip", false},
	[CALL_PARENT_IP] = {"parent_ip", false},
};

/* Events of calls have only the first two. */
enum { GRAPH_IP, GRAPH_DEPTH, GRAPH_CALL_NS, GRAPH_RETURN_NS, GRAPH_VALUE, GRAPH_HOST_NS };
static const struct format_number entry_numbers[RECORD_NUMBERS_MAX] = {
	[GRAPH_IP] = {"func", false},
	[GRAPH_DEPTH] = {"depth", false},
};
static const struct format_number return_numbers[RECORD_NUMBERS_MAX] = {
	[GRAPH_IP] = {"func", false},	       [GRAPH_DEPTH] = {"depth", false},
	[GRAPH_CALL_NS] = {"calltime", false}, [GRAPH_RETURN_NS] = {"rettime", false},
	[GRAPH_VALUE] = {"retval", true},      [GRAPH_HOST_NS] = {"host_ns", true},
};

enum { FORMAT_CALL, FORMAT_ENTRY = 0, FORMAT_RETURN };

/* NAME is the path of an event's format in the instance of OPS. */
static struct hvt_error *read_format(struct hvt_ops *ops, const char *name,
				     const struct format_number *numbers, struct record_format *ret)
{
	HV_AUTO_FREE char *text = NULL;
	char path[WIRE_PATH_MAX];
	struct hvt_error *error = conn_path(ops->path, name, path);

	if (!error)
		error = conn_read_file(ops->conn, WIRE_OPEN, path, &text, NULL);
	if (error)
		return error;
	if (!format_record(text, numbers, ret))
		return error_new(EPROTO, "%s: lacks a field of the event", path);
	return NULL;
}

/* -- functions -------------------------------------------------------------------------------- */

static struct hvt_error *read_function_format(struct hvt_ops *ops)
{
	return read_format(ops, "events/ftrace/function/format", call_numbers,
			   &ops->formats[FORMAT_CALL]);
}

static bool decode_call(const struct hvt_ops *ops, const struct lane_event *e,
			union ops_record *ret)
{
	uint64_t numbers[RECORD_NUMBERS_MAX];
	struct record_context context;

	if (!format_decode(&ops->formats[FORMAT_CALL], e->payload, &context, numbers))
		return false;
	ret->call = (struct hvt_call){
		.ip = numbers[CALL_IP],
		.parent_ip = numbers[CALL_PARENT_IP],
		.time_ns = e->time_ns,
		.cpu = e->cpu,
		.pid = context.pid,
		.flags = context.flags,
		.preempt_depth = context.preempt_depth,
		.migrate_depth = context.migrate_depth,
	};
	return true;
}

static void call_function(const struct hvt_ops *ops, const union ops_record *record)
{
	ops->function(&record->call, ops->data);
}

const struct ops_kind ops_of_functions = {
	.tracer = "function",
	.stack_option = "options/func_stack_trace",
	.prepare = read_function_format,
	.decode = decode_call,
	.call = call_function,
};

/* -- graphs ----------------------------------------------------------------------------------- */

/* Since 6.5 the format has the value whether or not it is recorded. */
static struct hvt_error *check_value(struct hvt_ops *ops)
{
	HV_AUTO_FREE char *text = NULL;
	char path[WIRE_PATH_MAX];
	struct hvt_error *error = conn_path(ops->path, "options/funcgraph-retval", path);

	if (!error)
		error = conn_read_file(ops->conn, WIRE_OPEN, path, &text, NULL);
	if (!error && text[0] != '1')
		ops->formats[FORMAT_RETURN].numbers[GRAPH_VALUE] = (struct format_field){0};
	return error;
}

static struct hvt_error *read_graph_formats(struct hvt_ops *ops)
{
	struct hvt_error *error = read_format(ops, "events/ftrace/funcgraph_entry/format",
					      entry_numbers, &ops->formats[FORMAT_ENTRY]);

	if (!error)
		error = read_format(ops, "events/ftrace/funcgraph_exit/format", return_numbers,
				    &ops->formats[FORMAT_RETURN]);
	return error ? error : check_value(ops);
}

static bool decode_graph(const struct hvt_ops *ops, const struct lane_event *e,
			 union ops_record *ret)
{
	const struct record_format *f = &ops->formats[FORMAT_RETURN];
	uint64_t numbers[RECORD_NUMBERS_MAX];
	uint32_t what = HVT_GRAPH_RETURN;
	struct record_context context;

	if (format_decode(&ops->formats[FORMAT_ENTRY], e->payload, &context, numbers))
		what = 0;
	else if (!format_decode(f, e->payload, &context, numbers))
		return false;
	if (what && f->numbers[GRAPH_VALUE].len_bytes)
		what |= HVT_GRAPH_HAS_VALUE;
	if (what && f->numbers[GRAPH_HOST_NS].len_bytes)
		what |= HVT_GRAPH_HAS_HOST;
	ret->graph = (struct hvt_graph){
		.ip = numbers[GRAPH_IP],
		.time_ns = e->time_ns,
		.duration_ns = numbers[GRAPH_RETURN_NS] - numbers[GRAPH_CALL_NS],
		.return_value = numbers[GRAPH_VALUE],
		.host_ns = numbers[GRAPH_HOST_NS],
		.what = what,
		.depth = (uint32_t)numbers[GRAPH_DEPTH],
		.cpu = e->cpu,
		.pid = context.pid,
		.flags = context.flags,
		.preempt_depth = context.preempt_depth,
		.migrate_depth = context.migrate_depth,
	};
	return true;
}

static void call_graph(const struct hvt_ops *ops, const union ops_record *record)
{
	hvt_graph_t callback =
		record->graph.what & HVT_GRAPH_RETURN ? ops->graph_return : ops->graph_call;

	if (callback)
		callback(&record->graph, ops->data);
}

const struct ops_kind ops_of_graph = {
	.tracer = "function_graph",
	.prepare = read_graph_formats,
	.decode = decode_graph,
	.call = call_graph,
};
