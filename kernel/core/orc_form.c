/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives the format of ORC entries.
 *
 * For each function of the image, arch/ decodes the code from the first instruction on, where the
 * unwind rule is known, and returns the rule after every instruction that it understands. The ORC
 * entry for the same address has the same offsets, and its numbers refer to the registers in the
 * rule. So each address is a vote for the meaning of a number, which is accepted if almost all
 * votes agree. Afterwards the entries are decoded with the result and compared with the rules
 * again.
 *
 * Functions switch to the interrupt stack in their middle, beyond the decoded code. Therefore, for
 * numbers that are still unknown, the code immediately before the entry is checked for the two
 * instructions that switch stacks. */
#include "kernel/core/orc_form.h"

#include <endian.h>
#include <string.h>

#include "base/bisect.h"
#include "base/cancel.h"
#include "kernel/core/core.h"

#define STEPS_MAX     32  /* for one function */
#define CODE_MAX      128 /* bytes for one function */
#define FUNCTIONS_MIN 16  /* fewer functions prove nothing */
#define FUNCTIONS_MAX 200000
#define ENTRIES_MAX   4000000 /* kernels have some 500,000 */
#define COMPARED      4000    /* approximate number of functions to compare */

/* This number of 64 votes or comparisons must agree. Functions written in assembly can begin with
 * any code, so not all agree. */
#define AGREE_OF_64 60

static bool find_bits(const struct hv_kernel_core *core, uint32_t entry_bytes, const char *member,
		      struct hv_orc_bits *ret)
{
	if (hv_btf_bits(core->btf, "orc_entry", member, &ret->off, &ret->nr) && ret->nr <= 16 &&
	    ret->off + ret->nr <= entry_bytes * 8)
		return true;
	*ret = (struct hv_orc_bits){0};
	return false;
}

static bool find_members(const struct hv_kernel_core *core, struct hv_orc_form *f)
{
	if (!core->btf || !hv_btf_size(core->btf, "orc_entry", &f->entry_bytes) ||
	    !f->entry_bytes || f->entry_bytes > HV_ORC_ENTRY_MAX)
		return false;
	find_bits(core, f->entry_bytes, "signal", &f->signal);
	find_bits(core, f->entry_bytes, "end", &f->end);
	return find_bits(core, f->entry_bytes, "sp_offset", &f->sp_offset) &&
	       find_bits(core, f->entry_bytes, "bp_offset", &f->bp_offset) &&
	       find_bits(core, f->entry_bytes, "sp_reg", &f->sp_reg) &&
	       find_bits(core, f->entry_bytes, "bp_reg", &f->bp_reg) &&
	       find_bits(core, f->entry_bytes, "type", &f->type) &&
	       1u << f->sp_reg.nr <= HV_ORC_NR_NUMBERS && 1u << f->bp_reg.nr <= HV_ORC_NR_NUMBERS;
}

static bool between(const struct hv_kernel_core *core, const char *from, const char *to,
		    struct hv_gva *ret, struct hv_span *ret_span)
{
	struct hv_gva end;
	struct hv_span span;

	if (!hv_core_symbol(core, from, ret) || !hv_core_symbol(core, to, &end) || end.v <= ret->v)
		return false;
	span = hv_image_part(&core->image, *ret, end.v - ret->v);
	if (span.len_bytes < end.v - ret->v)
		return false;
	*ret_span = span;
	return true;
}

bool hv_orc_image_table(const struct hv_kernel_core *core, const struct hv_orc_form *form,
			struct hv_orc_table *ret)
{
	struct hv_orc_table t;

	if (!between(core, "__start_orc_unwind_ip", "__stop_orc_unwind_ip", &t.ips_gva, &t.ips) ||
	    !between(core, "__start_orc_unwind", "__stop_orc_unwind", &t.entries_gva, &t.entries))
		return false;
	t.nr = t.ips.len_bytes / 4;
	*ret = t;
	return t.nr && t.nr <= ENTRIES_MAX && t.nr == t.entries.len_bytes / form->entry_bytes;
}

static uint64_t ip_of(const struct hv_orc_table *t, size_t index)
{
	uint32_t rel = 0;

	hv_span_u32(t->ips, index * 4, &rel);
	return t->ips_gva.v + index * 4 + (uint64_t)(int64_t)(int32_t)rel;
}

bool hv_orc_search(const struct hv_orc_table *t, struct hv_gva ip, size_t *ret)
{
	size_t nr = HV_BISECT(i, t->nr, ip_of(t, i) <= ip.v);

	*ret = nr - 1;
	return nr > 0;
}

/* ENTRY has room for HV_ORC_ENTRY_MAX bytes and four more. A member has at most 16 bits. */
static uint32_t take(const uint8_t *entry, struct hv_orc_bits bits)
{
	uint32_t word;

	memcpy(&word, entry + bits.off / 8, sizeof(word));
	return le32toh(word) >> bits.off % 8 & ((UINT32_C(1) << bits.nr) - 1);
}

/* An entry before its numbers are converted to registers. */
struct raw {
	struct hv_unwind_rule rule; /* without registers */
	uint8_t sp_number, bp_number;
};

/* ORC_TYPE_* since 6.4, UNWIND_HINT_TYPE_* before. The latter have no types for the end of a stack
 * and for "no rule": entries have a separate bit for the end instead (fb799447ae29). In both cases
 * the sp number is 0 in all kernels, because the rest of the entry is zero. The bit SIGNAL was
 * added in 6.3. */
static enum hv_unwind_kind kind_of(const struct hv_orc_form *f, uint32_t type, bool ends,
				   unsigned sp_number)
{
	static const enum hv_unwind_kind kinds[] = {HV_UNWIND_NONE, HV_UNWIND_END, HV_UNWIND_CALL,
						    HV_UNWIND_REGS, HV_UNWIND_REGS_PARTIAL};

	if (!f->end.nr)
		return type < HV_ARRAY_LEN(kinds) ? kinds[type] : HV_UNWIND_NONE;
	if (!sp_number)
		return ends ? HV_UNWIND_END : HV_UNWIND_NONE;
	return type + 2 < HV_ARRAY_LEN(kinds) ? kinds[type + 2] : HV_UNWIND_NONE;
}

static bool read_entry(const struct hv_orc_form *f, const struct hv_orc_table *t, size_t index,
		       struct raw *ret)
{
	uint8_t entry[HV_ORC_ENTRY_MAX + sizeof(uint32_t)] = {0};

	if (!hv_span_copy(t->entries, index * f->entry_bytes, entry, f->entry_bytes))
		return false;
	*ret = (struct raw){
		.rule = {.sp_off = (int16_t)take(entry, f->sp_offset),
			 .bp_off = (int16_t)take(entry, f->bp_offset)},
		.sp_number = (uint8_t)take(entry, f->sp_reg),
		.bp_number = (uint8_t)take(entry, f->bp_reg),
	};
	ret->rule.kind = kind_of(f, take(entry, f->type), take(entry, f->end), ret->sp_number);
	ret->rule.exact = f->signal.nr ? take(entry, f->signal) : ret->rule.kind != HV_UNWIND_CALL;
	return true;
}

struct hv_unwind_rule hv_orc_rule(const struct hv_orc_form *f, const struct hv_orc_table *t,
				  size_t index)
{
	struct hv_unwind_rule none = {.kind = HV_UNWIND_NONE};
	struct raw raw;

	if (!read_entry(f, t, index, &raw))
		return none;
	if (raw.rule.kind == HV_UNWIND_NONE || raw.rule.kind == HV_UNWIND_END)
		return raw.rule;
	raw.rule.sp_reg = f->sp_regs[raw.sp_number];
	raw.rule.bp_reg = f->bp_regs[raw.bp_number];
	if (raw.rule.sp_reg == HV_ORC_UNKNOWN || raw.rule.bp_reg == HV_ORC_UNKNOWN)
		return none;
	return raw.rule;
}

/* The votes for one member: how often the code indicated that a number means a register. */
struct votes {
	uint32_t nr[HV_ORC_NR_NUMBERS][HV_UNWIND_NR_REGS];
};

struct search {
	const struct hv_kernel_core *core;
	struct hv_orc_form *form;
	struct hv_orc_table table;
	struct votes sp, bp;
	size_t nr_functions;
	size_t nr_checked, nr_agree; /* in the check of the result */
};

typedef void (*check_fn)(struct search *s, size_t index, const struct hv_unwind_rule *rule);

/* An entry votes only if it has the offsets of RULE: then it most likely describes the same
 * state. */
static void vote(struct search *s, size_t index, const struct hv_unwind_rule *rule)
{
	struct raw raw;

	if (!read_entry(s->form, &s->table, index, &raw) || raw.rule.kind != HV_UNWIND_CALL ||
	    raw.rule.sp_off != rule->sp_off || raw.rule.bp_off != rule->bp_off)
		return;
	s->sp.nr[raw.sp_number][rule->sp_reg]++;
	s->bp.nr[raw.bp_number][rule->bp_reg]++;
}

static void compare(struct search *s, size_t index, const struct hv_unwind_rule *rule)
{
	struct hv_unwind_rule told = hv_orc_rule(s->form, &s->table, index);

	s->nr_checked++;
	s->nr_agree += told.kind == HV_UNWIND_CALL && told.sp_reg == rule->sp_reg &&
		       told.sp_off == rule->sp_off && told.bp_reg == rule->bp_reg &&
		       (!rule->bp_reg || told.bp_off == rule->bp_off);
}

/* Calls FN for the first instructions of the function in RANGE. */
static void look_at_function(struct search *s, struct hv_gva_range range, check_fn fn)
{
	const struct hv_arch *arch = s->core->as.arch;
	struct hv_span code = hv_image_part(&s->core->image, range.start, CODE_MAX);
	struct hv_unwind_step steps[STEPS_MAX];
	size_t index, nr;

	if (code.len_bytes > range.end.v - range.start.v)
		code.len_bytes = range.end.v - range.start.v;
	nr = arch->follow_code(code, &arch->entry_rule, steps, STEPS_MAX);
	/* If the first instruction is unknown, this may not be a function. */
	if (!nr || !hv_orc_search(&s->table, range.start, &index))
		return;
	s->nr_functions++;
	fn(s, index, &arch->entry_rule);
	/* Code after the last byte belongs to another function. */
	for (size_t i = 0; i < nr && steps[i].off < code.len_bytes; i++)
		if (hv_orc_search(&s->table, hv_gva_add(range.start, steps[i].off), &index))
			fn(s, index, &steps[i].rule);
}

static bool is_function(const struct hv_symbol *symbol)
{
	return symbol->type == 't' || symbol->type == 'T' || symbol->type == 'W';
}

/* Processes one of every STEP functions. A function ends at the next symbol. */
static void look_at_functions(struct search *s, unsigned step, check_fn fn)
{
	const struct hv_symbols *symbols = &s->core->symbols;
	struct hv_gva_range range = {.end = s->core->image.text.end};

	s->nr_functions = 0;
	for (size_t i = symbols->nr;
	     i-- > 0 && s->nr_functions < FUNCTIONS_MAX && !hv_cancel_now(i);) {
		const struct hv_symbol *symbol = &symbols->by_addr[i];

		if (!hv_gva_in(symbol->addr, s->core->image.text) ||
		    (i && symbols->by_addr[i - 1].addr.v == symbol->addr.v))
			continue;
		range.start = symbol->addr;
		if (is_function(symbol) && i % step == 0)
			look_at_function(s, range, fn);
		range.end = range.start;
	}
}

static bool agrees(uint64_t part, uint64_t all)
{
	return all && part * 64 >= all * AGREE_OF_64;
}

/* Returns whether NUMBER means REG: almost all votes for NUMBER are for REG, and almost all votes
 * for REG are for NUMBER. */
static bool is_elected(const struct votes *v, unsigned number, unsigned reg)
{
	uint64_t of_number = 0, of_reg = 0;

	for (unsigned i = 0; i < HV_UNWIND_NR_REGS; i++)
		of_number += v->nr[number][i];
	for (unsigned i = 0; i < HV_ORC_NR_NUMBERS; i++)
		of_reg += v->nr[i][reg];
	return agrees(v->nr[number][reg], of_number) && agrees(v->nr[number][reg], of_reg);
}

static void elect(const struct votes *v, uint8_t regs[HV_ORC_NR_NUMBERS])
{
	for (unsigned number = 0; number < HV_ORC_NR_NUMBERS; number++) {
		regs[number] = HV_ORC_UNKNOWN;
		for (unsigned reg = 0; reg < HV_UNWIND_NR_REGS; reg++)
			if (is_elected(v, number, reg))
				regs[number] = (uint8_t)reg;
	}
}

/* Adds the votes of entries that follow a stack switch and have an unknown sp number. */
static void vote_for_switches(struct search *s)
{
	const struct hv_arch *arch = s->core->as.arch;
	size_t len = arch->switch_len_bytes;
	struct hv_unwind_step step[2];

	for (size_t i = 1; i < s->table.nr; i++) {
		struct hv_gva at = hv_gva(ip_of(&s->table, i) - len);
		struct hv_span code = hv_image_part(&s->core->image, at, len);
		struct hv_unwind_rule before;
		struct raw raw;
		size_t index;

		if (hv_cancel_now(i))
			return;
		if (!read_entry(s->form, &s->table, i, &raw) || raw.rule.kind != HV_UNWIND_CALL ||
		    s->form->sp_regs[raw.sp_number] != HV_ORC_UNKNOWN ||
		    !hv_orc_search(&s->table, at, &index))
			continue;
		before = hv_orc_rule(s->form, &s->table, index);
		if (before.kind == HV_UNWIND_CALL && hv_span_has(code, 0, len) &&
		    arch->follow_code((struct hv_span){code.data, len}, &before, step, 2) == 1)
			vote(s, i, &step[0].rule);
	}
}

/* Votes for the unknown sp number of the entry before INDEX, if the code between both entries ends
 * with an instruction of one byte that returns to another stack: then both entries describe the same
 * registers. */
static void vote_for_return(struct search *s, size_t index)
{
	const struct hv_arch *arch = s->core->as.arch;
	const struct hv_unwind_rule after = hv_orc_rule(s->form, &s->table, index);
	struct hv_span code =
		hv_image_part(&s->core->image, hv_gva(ip_of(&s->table, index) - 1), 1);
	struct hv_unwind_step step[2];
	struct raw before;

	if (after.kind != HV_UNWIND_REGS || !code.len_bytes ||
	    !read_entry(s->form, &s->table, index - 1, &before) ||
	    before.rule.kind != HV_UNWIND_REGS ||
	    s->form->sp_regs[before.sp_number] != HV_ORC_UNKNOWN)
		return;
	for (uint8_t reg = 0; reg < HV_UNWIND_NR_REGS; reg++) {
		struct hv_unwind_rule rule = after;

		rule.sp_reg = reg;
		rule.sp_off = before.rule.sp_off;
		if (arch->follow_code(code, &rule, step, 2) == 1 &&
		    step[0].rule.sp_reg == after.sp_reg && step[0].rule.sp_off == after.sp_off)
			s->sp.nr[before.sp_number][reg]++;
	}
}

/* For older kernels, such as 4.19: there, only assembler code switches to the interrupt stack, and
 * the decoding of functions does not follow it. */
static void vote_for_returns(struct search *s)
{
	for (size_t i = 1; i < s->table.nr && !hv_cancel_now(i); i++)
		vote_for_return(s, i);
}

static struct hv_err *derive_registers(struct search *s)
{
	struct hv_err *err;

	look_at_functions(s, 1, vote); /* all functions, because some registers are rare */
	elect(&s->sp, s->form->sp_regs);
	elect(&s->bp, s->form->bp_regs);
	vote_for_switches(s);
	elect(&s->sp, s->form->sp_regs);
	vote_for_returns(s);
	elect(&s->sp, s->form->sp_regs);
	/* Use an odd step: in some kernels every second symbol marks the padding before a
	 * function. */
	look_at_functions(s, (unsigned)(s->nr_functions / COMPARED) | 1, compare);
	err = hv_cancel_check();
	if (err)
		return err;
	if (s->nr_functions < FUNCTIONS_MIN)
		return hv_err_new(EOPNOTSUPP, "ORC: only %zu functions begin with known code",
				  s->nr_functions);
	if (!agrees(s->nr_agree, s->nr_checked))
		return hv_err_new(EOPNOTSUPP,
				  "ORC: its entries agree with the code at only %zu of %zu places",
				  s->nr_agree, s->nr_checked);
	return NULL;
}

static struct hv_err *find_tables(const struct hv_kernel_core *core, struct hv_orc_form *form,
				  struct hv_orc_table *table)
{
	if (!core->as.arch->follow_code)
		return hv_err_new(EOPNOTSUPP, "ORC: not supported on %s", core->as.arch->name);
	if (!find_members(core, form))
		return hv_err_new(EOPNOTSUPP, "BTF: unknown layout of struct orc_entry: cannot "
					      "read this kernel's stacks");
	if (!hv_orc_image_table(core, form, table))
		return hv_err_new(EOPNOTSUPP, "no ORC tables (__start_orc_unwind) in this kernel's"
					      " image");
	return NULL;
}

struct hv_err *hv_orc_form_find(const struct hv_kernel_core *core, struct hv_orc_form *ret)
{
	struct hv_orc_form form = {0};
	struct search s = {.core = core, .form = &form};
	struct hv_err *err = find_tables(core, &form, &s.table);

	if (err)
		return err;
	err = derive_registers(&s);
	if (!err)
		*ret = form;
	return err;
}

struct hv_err *hv_orc_form_check(const struct hv_kernel_core *core)
{
	const struct hv_orc_found *found = core->orc;
	struct hv_orc_form form = {0};
	struct hv_orc_table table;

	if (found && found->was_sought)
		return found->none ? hv_err_copy(found->none) : NULL;
	return find_tables(core, &form, &table);
}

struct hv_err *hv_orc_form_of(const struct hv_kernel_core *core, const struct hv_orc_form **ret)
{
	struct hv_orc_found *found = core->orc;

	if (!found)
		return hv_err_new(EOPNOTSUPP, "no ORC tables were looked for");
	if (!found->was_sought) {
		struct hv_err *err = hv_orc_form_find(core, &found->form);

		if (err && err->code == ECANCELED)
			return err;
		found->none = err;
		found->was_sought = 1;
	}
	if (found->none)
		return hv_err_copy(found->none);
	*ret = &found->form;
	return NULL;
}
