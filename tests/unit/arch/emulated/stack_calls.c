/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/arch/emulated/stack_calls.h"

#include <string.h>

#include "ringbuf/ring.h"
#include "tracer/events/decode.h"

struct emu_world *world;

static const struct hv_decode decode = {
	.arch = &EMU_ARCH,
	.text_base = {EMU_TEXT_BASE},
};

static const struct emu_case *case_named(const char *name)
{
	for (unsigned i = 0; i < emu_nr_stack_cases; i++)
		if (strcmp(emu_stack_cases[i].name, name) == 0)
			return &emu_stack_cases[i];
	ck_abort_msg("no case %s", name);
	return NULL;
}

void stack_set_up(void)
{
	world = emu_new();
	emu_set_up(world, case_named("record and stack"));
}

void stack_tear_down(void)
{
	emu_free(world);
}

static void take_stack(const struct hv_parts *parts, const struct hv_record *record,
		       uint64_t position, struct stack *ret)
{
	ck_assert(hv_parts_are_of(parts, record, position, 0));
	hv_decode_words(&decode, parts->list, parts->nr, &ret->words);
	ret->nr = hv_unwind_records(&ret->words, ret->list, HV_CALLERS_MAX, &ret->early);
	ret->of_command = record->word[3] >> HV_STACK_COMMAND_BIT & 1;
	ret->stacks++;
}

/* Reads from CPU's ring the records of the function at OFF. Every record must be complete. */
static void read_ring(unsigned cpu, uint64_t off, struct stack *ret)
{
	static struct hv_parts parts;
	struct hv_record record;
	struct hv_ring ring;
	uint64_t lost = 0;

	parts.nr = 0;
	hv_ring_init(&ring, emu_state(world, cpu), emu_ring(world, cpu), EMU_NR_SLOTS);
	for (uint64_t p = 0; hv_ring_read(&ring, 0, &record, &lost) == HV_RING_RECORD; p++) {
		struct hv_call_addresses at = EMU_ARCH.decode_call(record.word[1]);
		unsigned kind = hv_record_kind(&record);

		ret->tasks += kind == HV_RECORD_TASK;
		if (kind == HV_RECORD_WORDS)
			hv_parts_add(&parts, &record, p, 0);
		if (kind == HV_RECORD_TASK || kind == HV_RECORD_WORDS ||
		    (at.site_end | HV_TEXT_BIT) != emu_site_end(off))
			continue;
		ret->functions += kind == HV_RECORD_FUNCTION;
		ret->commands += kind == HV_RECORD_COMMAND;
		if (kind == HV_RECORD_STACK)
			take_stack(&parts, &record, p, ret);
	}
	ck_assert_uint_eq(lost, 0);
	ck_assert_uint_eq(ring.position, hv_ring_head(&ring));
}

struct stack stack_read(uint64_t off)
{
	struct stack s = {0};

	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++)
		read_ring(cpu, off, &s);
	return s;
}

void stack_check_kept(const struct emu_regs *before)
{
	struct emu_regs after;

	emu_get(world, &after);
	ck_assert_uint_eq(after.x[EMU_A0], before->x[EMU_A1]); /* the function's return value */
	for (unsigned i = 0; i < EMU_NR_REGS; i++)
		if (i != EMU_A0 && !emu_is_free(i))
			ck_assert_uint_eq(after.x[i], before->x[i]);
}

void stack_call_at(uint64_t sp, uint64_t fp)
{
	struct emu_regs before;

	world->fp = fp;
	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, sp);
	emu_get(world, &before);
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	stack_check_kept(&before);
}

struct stack stack_call(uint64_t sp, uint64_t fp)
{
	emu_state(world, 0)->head = hv_ring_head_at(0, EMU_NR_SLOTS);
	memset(emu_ring(world, 0), 0, EMU_NR_SLOTS * sizeof(struct hv_record));
	stack_call_at(sp, fp);
	return stack_read(EMU_TRACED_OFF);
}

void stack_expect(const struct stack *s, unsigned first, unsigned nr, bool early)
{
	ck_assert_uint_eq(s->stacks, 1);
	ck_assert_uint_eq(s->nr, nr + 1);
	ck_assert_uint_eq(s->list[0].v, emu_gva(EMU_CALLER_OFF));
	for (unsigned i = 0; i < nr; i++)
		ck_assert_uint_eq(s->list[1 + i].v, emu_caller(first + i));
	ck_assert_int_eq(s->early, early);
}

struct emu_record *record_at(uint64_t fp)
{
	return emu_record(world, fp);
}
