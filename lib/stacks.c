/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of calls and events: the events kernel_stack that follow them. */
#include "lib/stacks.h"

#include <errno.h>
#include <string.h>

#include "export/field_values.h"

enum { STACK_SIZE };
static const struct format_number stack_numbers[RECORD_NUMBERS_MAX] = {
	[STACK_SIZE] = {"size", false},
};

static bool find_callers(const char *text, uint32_t *ret_off)
{
	static const char name[] = "caller";
	char line[FORMAT_LINE_MAX];
	struct hv_field_line f;

	while (format_next_line(&text, line)) {
		if (!hv_field_line_parse(line, &f) || f.name.len != strlen(name) ||
		    memcmp(f.name.text, name, f.name.len) != 0)
			continue;
		*ret_off = f.off;
		return true;
	}
	return false;
}

struct hvt_error *stacks_prepare(struct hvt_ops *ops)
{
	struct stack_format *f = &ops->stack_format;
	HV_AUTO_FREE char *text = NULL;
	char path[WIRE_PATH_MAX];
	struct hvt_error *error;

	error = conn_write_in(ops->conn, ops->path, ops->kind->stack_option, "1");
	if (!error)
		error = conn_path(ops->path, "events/ftrace/kernel_stack/format", path);
	if (!error)
		error = conn_read_file(ops->conn, WIRE_OPEN, path, &text, NULL);
	if (error)
		return error;
	if (!format_record(text, stack_numbers, &f->record) || !find_callers(text, &f->callers_off))
		return error_new(EPROTO, "%s: lacks a field of the event", path);
	return NULL;
}

bool stacks_pass(const struct hvt_ops *ops, const struct lane_event *e)
{
	const struct stack_format *f = &ops->stack_format;
	uint64_t numbers[RECORD_NUMBERS_MAX], callers[HVT_CALLERS_MAX];
	struct record_context context;
	struct hvt_stack stack;
	size_t nr = 0;

	if (!format_decode(&f->record, e->payload, &context, numbers))
		return false;
	while (nr < numbers[STACK_SIZE] && nr < HVT_CALLERS_MAX &&
	       hv_span_u64(e->payload, (size_t)f->callers_off + 8 * nr, &callers[nr]))
		nr++;
	stack = (struct hvt_stack){
		.callers = callers,
		.nr_callers = nr,
		.time_ns = e->time_ns,
		.cpu = e->cpu,
		.pid = context.pid,
	};
	ops->stack(&stack, ops->data);
	return true;
}
