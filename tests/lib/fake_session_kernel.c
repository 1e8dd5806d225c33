/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_session_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/core/function_code.h"
#include "kernel/programs/program.h"
#include "kernel/tasks/tasks.h"

/* These registers are known at a call. */
static bool find_register(const char *name, struct hv_arch_register *ret)
{
	static const char *const names[] = {"ip", "sp", "", "di", "si"};

	for (uint8_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret = (struct hv_arch_register){i, i == 0};
		return true;
	}
	return false;
}

static bool find_return_register(const char *name, struct hv_arch_register *ret)
{
	*ret = (struct hv_arch_register){HV_REGS_RETVAL, 0};
	return strcmp(name, "ax") == 0;
}

static bool find_any_register(const char *name, struct hv_arch_register *ret)
{
	*ret = (struct hv_arch_register){15, 0};
	return strcmp(name, "ax") == 0 || find_register(name, ret);
}

static bool has_register(const char *name)
{
	struct hv_arch_register found;

	return find_return_register(name, &found) || find_register(name, &found);
}

const struct hv_arch fake_arch = {
	.counter_name = "x86-tsc",
	.find_register = find_register,
	.user_regs_bytes = 168,
	.find_return_register = find_return_register,
	.find_any_register = find_any_register,
	.has_register = has_register,
	.argument_registers = {"di", "si"},
};

bool hv_program_read(struct hv_kernel *k hv_unused, uint32_t pid, struct hv_program *ret)
{
	static const struct hv_program_map maps[] = {
		{.start = 0x401000, .end = 0x403000, .path = "/bin/frames"},
		{.start = 0x403000, .end = 0x404000, .path = "/lib/a\nb.so (deleted)"},
		{.start = 0x7000000000, .end = 0x7000001000, .path = "[vdso]"}};

	if (pid != 7)
		return false;
	*ret = (struct hv_program){.tgid = pid, .nr = HV_ARRAY_LEN(maps)};
	ret->maps = hv_alloc(sizeof(maps));
	memcpy(ret->maps, maps, sizeof(maps));
	return true;
}

void hv_program_deinit(struct hv_program *p)
{
	free(p->maps);
	*p = (struct hv_program){0};
}

struct hv_err *hv_kernel_need_steal_time(const struct hv_kernel *k)
{
	return k->layout.has_steal_time ? NULL : hv_err_new(EOPNOTSUPP, "no steal time");
}

bool hv_kernel_symbol_at(const struct hv_kernel *k, struct hv_gva addr, const char **ret_name,
			 const char **ret_module, uint64_t *ret_off)
{
	const struct hv_site *best = NULL;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->ip.v <= addr.v && (!best || site->ip.v > best->ip.v))
			best = site;
	}
	if (!best)
		return false;
	*ret_name = best->name;
	*ret_module = best->module;
	*ret_off = addr.v - best->ip.v;
	return true;
}

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret)
{
	for (size_t i = 0; i < k->sites.nr; i++) {
		if (strcmp(k->sites.list[i].name, name) != 0)
			continue;
		*ret = k->sites.list[i].ip;
		return true;
	}
	return false;
}

/* The functions of this kernel have no code. */
bool hv_function_refers_to(const struct hv_kernel_core *core hv_unused,
			   const char *function hv_unused, const char *text hv_unused)
{
	return false;
}

uint64_t hv_kernel_symbol_size(const struct hv_kernel *k, struct hv_gva addr)
{
	uint64_t next = 0, start = 0;

	for (size_t i = 0; i < k->sites.nr; i++) {
		uint64_t ip = k->sites.list[i].ip.v;

		if (ip <= addr.v && ip > start)
			start = ip;
		if (ip > addr.v && (!next || ip < next))
			next = ip;
	}
	return next ? next - start : 0x100;
}

size_t hv_sites_named(const struct hv_sites *s, const char *name, size_t from)
{
	while (from < s->nr && strcmp(s->list[from].name, name) != 0)
		from++;
	return from < s->nr ? from : SIZE_MAX;
}

bool hv_kernel_in_lock_functions(const struct hv_kernel *k, struct hv_gva at)
{
	struct hv_gva_range text;

	return hv_kernel_symbol(k, "__lock_text_start", &text.start) &&
	       hv_kernel_symbol(k, "__lock_text_end", &text.end) && hv_gva_in(at, text);
}

const char *hv_kernel_preempt_model(const struct hv_kernel *k hv_unused)
{
	return "preempt";
}

/* Each vCPU executes the task 1 + CPU with nice 0. */
struct hv_err *hv_task_line_of_cpu(const struct hv_kernel *k hv_unused, unsigned cpu,
				   struct hv_task_line *ret)
{
	*ret = (struct hv_task_line){.pid = 1 + cpu, .prio = 120};
	return NULL;
}

/* Tasks with a pid of 1000 or more have exited. */
struct hv_err *hv_task_line_of(struct hv_kernel *k hv_unused, uint32_t pid,
			       struct hv_task_line *ret)
{
	if (pid >= 1000)
		return hv_err_new(ENOENT, "there is no task %u", pid);
	*ret = (struct hv_task_line){
		.pid = pid, .uid = pid, .nice = -5, .policy = 2, .rt_priority = 30};
	return NULL;
}
