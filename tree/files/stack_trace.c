/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stack_trace, stack_max_size and stack_tracer_enabled: the stack tracer
 * (kernel/trace/trace_stack.c). stack_tracer_enabled is a sysctl in the kernel, not a tracefs file.
 * filter.c has stack_trace_filter; instance/latency/stack_tracer.h finds the deepest stack. */
#include <inttypes.h>

#include "kernel/kernel.h"
#include "tree/files/files.h"
#include "tree/instance/latency/stack_tracer.h"
#include "tree/settings/token.h"

bool hv_path_has_stack_tracer(const struct hv_path *at)
{
	HV_AUTO_ERR struct hv_err *err = hv_stack_tracer_check(hv_instance_all(at->instance));

	return !err;
}

/* Like %pS, does not subtract 1, so a return address may be shown as the start of the next
 * function. */
static void add_symbol(struct hv_file *f, struct hv_gva addr)
{
	const struct hv_kernel *kernel = hv_file_session(f)->kernel;
	const char *name, *module = NULL;
	uint64_t off;

	if (!hv_kernel_symbol_at(kernel, addr, &name, &module, &off)) {
		hv_text_printf(&f->text, "0x%" PRIx64, addr.v);
		return;
	}
	hv_text_add_guest(&f->text, name, SIZE_MAX);
	hv_text_printf(&f->text, "+0x%" PRIx64 "/0x%" PRIx64, off,
		       hv_kernel_symbol_size(kernel, addr));
	if (!module)
		return;
	hv_text_add(&f->text, " [");
	hv_text_add_guest(&f->text, module, SIZE_MAX);
	hv_text_add(&f->text, "]");
}

static void show_stack(struct hv_file *f)
{
	struct hv_instances *all = hv_file_instances(f);
	const struct hv_stack_tracer *s = hv_stack_tracer_of(all);

	hv_instances_drain(all);
	hv_text_printf(&f->text,
		       "        Depth    Size   Location    (%zu entries)\n"
		       "        -----    ----   --------\n",
		       s->nr);
	if (!s->is_on && !s->max_bytes)
		hv_text_add(&f->text, "#\n"
				      "#  Stack tracer disabled\n"
				      "#\n"
				      "# To enable the stack tracer:\n"
				      "# 'echo 1 > stack_tracer_enabled'\n"
				      "#\n");
	for (size_t i = 0; i < s->nr; i++) {
		uint32_t next = i + 1 < s->nr ? s->list[i + 1].depth_bytes : 0;

		hv_text_printf(&f->text, "%3zu) %8" PRIu32 "   %5" PRIu32 "   ", i,
			       s->list[i].depth_bytes, s->list[i].depth_bytes - next);
		add_symbol(f, s->list[i].ip);
		hv_text_add(&f->text, "\n");
	}
}

static void show_max(struct hv_file *f)
{
	struct hv_instances *all = hv_file_instances(f);

	hv_instances_drain(all);
	hv_text_printf(&f->text, "%" PRIu64 "\n", hv_stack_tracer_of(all)->max_bytes);
}

static struct hv_err *write_max(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	hv_stack_tracer_set_max(hv_file_instances(f), value);
	*ret_len = len_bytes;
	return NULL;
}

static void show_enabled(struct hv_file *f)
{
	hv_text_printf(&f->text, "%d\n", hv_stack_tracer_of(hv_file_instances(f))->is_on);
}

static struct hv_err *write_enabled(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err)
		err = hv_stack_tracer_switch(hv_file_instances(f), value != 0);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

const struct hv_node hv_stack_max_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_RIGHT_FUNCTIONS,
	.help = "the depth of the stack in stack_trace in bytes; a number written here keeps "
		"only\ndeeper ones from then on",
	.show = show_max,
	.write = write_max,
};

const struct hv_node hv_stack_trace_node = {
	.reads = HV_RIGHT_READ,
	.help = "the deepest stack that a task has had while stack_tracer_enabled was 1",
	.show = show_stack,
};

const struct hv_node hv_stack_tracer_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_RIGHT_FUNCTIONS,
	.help = "1: keep the deepest stack of all tasks, in stack_trace. In the kernel this is "
		"the\n"
		"sysctl kernel.stack_tracer_enabled",
	.show = show_enabled,
	.write = write_enabled,
};
