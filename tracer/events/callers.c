/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/callers.h"

#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "kernel/kernel.h"
#include "kernel/tasks/unwind.h"
#include "ringbuf/abi.h"

struct hv_callers {
	const struct hv_kernel *kernel;		/* borrowed */
	const struct hv_gva_range *trampolines; /* borrowed */
	struct hv_orc *orc;			/* owned; NULL: not prepared, or not needed */
};

struct hv_callers *hv_callers_new(const struct hv_kernel *k, const struct hv_gva_range *trampolines)
{
	struct hv_callers *c = hv_alloc(sizeof(*c));

	c->kernel = k;
	c->trampolines = trampolines;
	return c;
}

void hv_callers_free(struct hv_callers *c)
{
	if (!c)
		return;
	hv_orc_free(c->orc);
	free(c);
}

/* Returns whether functions keep frame records, which the trampoline follows. */
static bool has_records(const struct hv_callers *c)
{
	return c->kernel->core.as.arch->frame_register &&
	       c->kernel->core.as.arch->trampolines.function_stack_off;
}

/* Checks the kernel properties that only the trampolines need. */
static struct hv_err *check_layout(const struct hv_callers *c)
{
	const struct hv_arch *arch = c->kernel->core.as.arch;
	struct hv_err *err = hv_kernel_need_irq_stack(c->kernel);

	if (!err && arch->frame_register && !has_records(c))
		err = hv_err_new(EOPNOTSUPP, "stacks are not supported yet for %s guests",
				 arch->name);
	if (!err && !c->kernel->layout.has_task_stack)
		err = hv_err_new(EOPNOTSUPP, "BTF: no member stack in struct task_struct");
	return err;
}

struct hv_err *hv_callers_check(const struct hv_callers *c)
{
	struct hv_err *err = c->orc ? NULL : check_layout(c);

	return err || c->orc || has_records(c) ? err : hv_orc_check(c->kernel);
}

struct hv_err *hv_callers_prepare(struct hv_callers *c)
{
	struct hv_err *err = c->orc ? NULL : check_layout(c);

	return err || c->orc || has_records(c) ? err : hv_orc_new(c->kernel, &c->orc);
}

void hv_callers_forget_modules(struct hv_callers *c)
{
	if (c->orc)
		hv_orc_forget_modules(c->orc);
}

static size_t unwind(struct hv_callers *c, const struct hv_stack_words *words, struct hv_gva *ret,
		     size_t max, bool *ret_early)
{
	const struct hv_trampoline_image *image = &c->kernel->core.as.arch->trampolines;
	struct hv_gva readers = hv_gva_add(c->trampolines->start,
					   HV_TRAMPOLINES_CODE_OFF + image->ftrace_readers_off);
	const struct hv_unwind_trampolines trampolines = {
		{readers,
		 hv_gva_add(readers, HV_NR_FTRACE_READERS * image->ftrace_reader_len_bytes)},
		image->ftrace_reader_rule,
	};

	return hv_unwind(c->orc, c->kernel->core.as.arch, words, &trampolines, ret, max, ret_early);
}

size_t hv_callers_find(struct hv_callers *c, const struct hv_stack_words *words, struct hv_gva *ret,
		       size_t max, bool *ret_early)
{
	size_t nr = 0, known = 0;

	*ret_early = true;
	if (has_records(c))
		nr = hv_unwind_records(words, ret, max, ret_early);
	else if (c->orc)
		nr = unwind(c, words, ret, max, ret_early);
	/* The trampoline replaces a graph's handler by the real caller if it can. If it could not,
	 * the stack ends there. */
	while (known < nr && !hv_gva_in(ret[known], *c->trampolines))
		known++;
	if (known < nr)
		*ret_early = true;
	return known;
}

/* Matches trace_event_raw_event_NAME, with the parts that compilers and macros split off it, and
 * __traceiter_NAME. */
static bool is_of_callback(const struct hv_callers *c, struct hv_gva at)
{
	static const char *const prefixes[] = {"trace_event_raw_event_",
					       "do_trace_event_raw_event_", "__traceiter_"};
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(c->kernel, at, &name, &module, &off))
		return false;
	for (size_t i = 0; i < HV_ARRAY_LEN(prefixes); i++)
		if (hv_starts_with(name, prefixes[i]))
			return true;
	return false;
}

size_t hv_callers_leave_callback(const struct hv_callers *c, struct hv_gva *list, size_t nr)
{
	size_t first = 0;

	while (first < nr && is_of_callback(c, list[first]))
		first++;
	memmove(list, list + first, (nr - first) * sizeof(*list));
	return nr - first;
}
