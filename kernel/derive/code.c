/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/derive/code.h"

#include <string.h>

#include "arch/arch.h"
#include "kernel/core/function_code.h"

#define CODE_BYTES 4096u

struct search {
	const struct hv_code_current *current;
	const struct hv_code_rule *rule;
	uint32_t through_off;
	struct hv_code_offs *ret;
};

static bool is_root(const struct search *s, const struct hv_member_use *use)
{
	if (s->rule->argument != HV_CODE_CURRENT)
		return use->from == HV_ROOT_ARGUMENT && use->root == s->rule->argument;
	if (use->from == HV_ROOT_CURRENT)
		return true;
	for (unsigned i = 0; use->from == HV_ROOT_PERCPU && i < s->current->nr; i++)
		if (use->root == s->current->percpu[i])
			return true;
	return false;
}

static bool is_structure(const struct search *s, const struct hv_member_use *use)
{
	if (!s->rule->through)
		return !use->nr_steps;
	return use->nr_steps == 1 && use->steps[0] == s->through_off;
}

static void add_off(struct hv_code_offs *offs, uint32_t off)
{
	unsigned i = 0;

	while (i < offs->nr && offs->list[i] < off)
		i++;
	if (i < offs->nr && offs->list[i] == off)
		return;
	if (offs->nr == HV_CODE_OFFS_MAX || off > HV_CODE_OFF_MAX) {
		offs->has_more = true;
		return;
	}
	memmove(&offs->list[i + 1], &offs->list[i], (offs->nr - i) * sizeof(offs->list[0]));
	offs->list[i] = off;
	offs->nr++;
}

static void note(void *ctx, const struct hv_member_use *use)
{
	const struct search *s = ctx;
	const struct hv_code_rule *r = s->rule;

	if (!(is_root(s, use) && is_structure(s, use) && (!r->kinds || r->kinds >> use->kind & 1) &&
	      (!r->len_bytes || r->len_bytes == use->len_bytes) &&
	      (!r->mask || (use->has_mask && use->mask == r->mask))))
		return;
	add_off(s->ret, use->off);
	*(use->has_mask ? &s->ret->nr_masked : &s->ret->nr_plain) += 1;
}

void hv_code_offs_find(const struct hv_kernel_core *core, const struct hv_code_current *current,
		       const struct hv_code_rule *rule, uint32_t through_off,
		       struct hv_code_offs *ret)
{
	struct search s = {current, rule, through_off, ret};
	struct hv_gva at;

	*ret = (struct hv_code_offs){0};
	if (!rule->function || !core->as.arch->follow_members ||
	    !hv_core_symbol(core, rule->function, &at))
		return;
	core->as.arch->follow_members(hv_function_code(core, at, CODE_BYTES), at, note, &s);
}

bool hv_code_offs_have(const struct hv_code_offs *offs, uint32_t off)
{
	for (unsigned i = 0; i < offs->nr; i++)
		if (offs->list[i] == off)
			return true;
	return false;
}

bool hv_code_follow(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		    void *ctx)
{
	struct hv_gva at;

	if (!core->as.arch->follow_members || !hv_core_symbol(core, function, &at))
		return false;
	core->as.arch->follow_members(hv_function_code(core, at, CODE_BYTES), at, fn, ctx);
	return true;
}

bool hv_code_list_all(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		      void *ctx)
{
	struct hv_gva at;

	if (!core->as.arch->list_uses || !hv_core_symbol(core, function, &at))
		return false;
	core->as.arch->list_uses(hv_function_code(core, at, CODE_BYTES), at, fn, ctx);
	return true;
}

struct pointers {
	hv_member_use_fn fn;
	void *ctx;
};

static void pass_pointers(void *ctx, const struct hv_member_use *use)
{
	const struct pointers *p = ctx;

	if (use->from == HV_ROOT_UNKNOWN)
		p->fn(p->ctx, use);
}

bool hv_code_list(const struct hv_kernel_core *core, const char *function, hv_member_use_fn fn,
		  void *ctx)
{
	struct pointers p = {fn, ctx};

	return hv_code_list_all(core, function, pass_pointers, &p);
}
