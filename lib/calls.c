/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ops of functions and of graphs: decode the events of the tracers function and function_graph. */
#include <errno.h>
#include <string.h>

#include "lib/ops.h"

#define PREEMPT_MASK  15
#define MIGRATE_SHIFT 4

struct named_number {
	const char *name; /* NULL: the end */
	bool is_optional;
};

enum { CALL_IP, CALL_PARENT_IP };
static const struct named_number call_numbers[RECORD_NUMBERS_MAX] = {
	[CALL_IP] = {"ip", false},
	[CALL_PARENT_IP] = {"parent_ip", false},
};

/* Entries have the first two. */
enum { GRAPH_IP, GRAPH_DEPTH, GRAPH_CALL_NS, GRAPH_RETURN_NS, GRAPH_VALUE, GRAPH_HOST_NS };
static const struct named_number entry_numbers[RECORD_NUMBERS_MAX] = {
	[GRAPH_IP] = {"func", false},
	[GRAPH_DEPTH] = {"depth", false},
};
static const struct named_number return_numbers[RECORD_NUMBERS_MAX] = {
	[GRAPH_IP] = {"func", false},	       [GRAPH_DEPTH] = {"depth", false},
	[GRAPH_CALL_NS] = {"calltime", false}, [GRAPH_RETURN_NS] = {"rettime", false},
	[GRAPH_VALUE] = {"retval", true},      [GRAPH_HOST_NS] = {"host_ns", true},
};

enum { FORMAT_CALL, FORMAT_ENTRY = 0, FORMAT_RETURN };

static bool parse_format(const char *text, const struct named_number *numbers,
			 struct record_format *ret)
{
	*ret = (struct record_format){0};
	if (!format_id(text, &ret->id) || !format_field(text, "common_pid", &ret->pid) ||
	    !format_field(text, "common_flags", &ret->flags) ||
	    !format_field(text, "common_preempt_count", &ret->preempt_count))
		return false;
	for (unsigned i = 0; i < RECORD_NUMBERS_MAX && numbers[i].name; i++)
		if (!format_field(text, numbers[i].name, &ret->numbers[i]) &&
		    !numbers[i].is_optional)
			return false;
	return true;
}

/* NAME: the format of the event, in the ops' instance. */
static struct hvt_error *read_format(struct hvt_ops *ops, const char *name,
				     const struct named_number *numbers, struct record_format *ret)
{
	HV_AUTO_FREE char *text = NULL;
	char path[WIRE_PATH_MAX];
	struct hvt_error *error = conn_path(ops->path, name, path);

	if (!error)
		error = conn_read_file(ops->conn, WIRE_OPEN, path, &text, NULL);
	if (error)
		return error;
	if (!parse_format(text, numbers, ret))
		return error_new(EPROTO, "%s: lacks a field of the event", path);
	return NULL;
}

/* What every event has. */
struct context {
	uint32_t pid, flags;
	uint8_t preempt_depth, migrate_depth;
};

/* Returns false if the event has another id, or is too short. Absent numbers are 0. */
static bool decode_record(const struct record_format *f, struct hv_span payload,
			  struct context *ret, uint64_t ret_numbers[RECORD_NUMBERS_MAX])
{
	uint64_t pid, flags, preempt;
	uint16_t id;

	if (!hv_span_u16(payload, 0, &id) || id != f->id || !format_value(&f->pid, payload, &pid) ||
	    !format_value(&f->flags, payload, &flags) ||
	    !format_value(&f->preempt_count, payload, &preempt))
		return false;
	*ret = (struct context){
		.pid = (uint32_t)pid,
		.flags = (uint32_t)flags,
		.preempt_depth = preempt & PREEMPT_MASK,
		.migrate_depth = preempt >> MIGRATE_SHIFT & PREEMPT_MASK,
	};
	for (unsigned i = 0; i < RECORD_NUMBERS_MAX; i++)
		if (!format_value(&f->numbers[i], payload, &ret_numbers[i]))
			return false;
	return true;
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
	struct context context;

	if (!decode_record(&ops->formats[FORMAT_CALL], e->payload, &context, numbers))
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
	.read_formats = read_function_format,
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
	struct context context;

	if (decode_record(&ops->formats[FORMAT_ENTRY], e->payload, &context, numbers))
		what = 0;
	else if (!decode_record(f, e->payload, &context, numbers))
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
	.read_formats = read_graph_formats,
	.decode = decode_graph,
	.call = call_graph,
};
