/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the function trampoline in a machine without a kernel: every path through it, alone and
 * interrupted at every instruction by a trap whose handler is traced as well. Checks every byte of
 * memory. */
#include <stdio.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/kvm/room_suite.h"

#define STEPS_MAX 600 /* longest path; its only loop is the one over a stack */

#define NR_CASES ((int)(world_nr_cases + world_nr_stack_cases))

static const struct world_case *case_at(int i)
{
	int nr = (int)world_nr_cases;

	return i < nr ? &world_cases[i] : &world_stack_cases[i - nr];
}

static void call_once(const struct world_case *c, uint64_t flags)
{
	struct room_call outer;
	unsigned nr_tasks;

	room_begin(room, flags);
	outer = room_outer(room);
	room_ends();
	ck_assert(room_check(room, c->nr_function_records ? &outer : NULL, NULL, &nr_tasks));
	ck_assert_uint_eq(nr_tasks, c->nr_task_records);
	ck_assert_uint_eq(room->nr_stacks, c->nr_stacks);
}

START_TEST(a_call)
{
	static const uint64_t flags[] = {0, ROOM_FLAG_IF, ROOM_FLAGS_ALL};
	const struct world_case *c = case_at(_i);

	for (unsigned i = 0; i < 3; i++) {
		room_set_up(room, c);
		call_once(c, flags[i]);
	}
}
END_TEST

START_TEST(laps)
{
	static const uint64_t positions[] = {0, ROOM_NR_SLOTS - 2, 7 * ROOM_NR_SLOTS - 3,
					     (UINT64_C(1) << 58) - 3};

	for (unsigned i = 0; i < 4; i++) {
		uint64_t end = positions[i] + 2 * ROOM_NR_SLOTS + 3;

		room_set_up(room, &world_cases[0]);
		world_state(&room->world, 0)->head = hv_ring_head_at(positions[i], ROOM_NR_SLOTS);
		for (unsigned n = 0; n < 2 * ROOM_NR_SLOTS + 3; n++)
			call_once(&world_cases[0], ROOM_FLAG_IF);
		ck_assert_uint_eq(world_state(&room->world, 0)->head,
				  hv_ring_head_at(end, ROOM_NR_SLOTS));
	}
}
END_TEST

/* The task record is the last of a lap, and its function record the first of the next lap. */
START_TEST(a_task_record_before_a_lap)
{
	room_set_up(room, &world_cases[1]);
	world_state(&room->world, 0)->head = hv_ring_head_at(3 * ROOM_NR_SLOTS - 1, ROOM_NR_SLOTS);
	call_once(&world_cases[1], 0);
	ck_assert_uint_eq(world_head(&room->world, 0), 3 * ROOM_NR_SLOTS + 1);
}
END_TEST

START_TEST(no_path_has_too_many_steps)
{
	room_way_is_shorter(case_at(_i), STEPS_MAX);
}
END_TEST

static const struct trap traps[] = {
	{"interrupt", false, ROOM_FLAGS_ON, false, false},
	{"NMI, interrupts off", true, 0, false, false},
	{"NMI, interrupts on", true, ROOM_FLAGS_ON, false, false},
	{"preempted", false, ROOM_FLAGS_ON, true, false},
	{"preempted and migrated", false, ROOM_FLAGS_ON, true, true},
};
#define NR_TRAPS ((int)(sizeof(traps) / sizeof(*traps)))

/* Changes the per-CPU data as an interrupt does when it begins (ENTERING) and ends. */
static void change_world(const struct trap *t, bool entering, const struct world_task *outer_task)
{
	struct world_cpu *cpu = world_cpu(&room->world);
	const struct world_task *other = outer_task == &cpu->cat ? &cpu->dd : &cpu->cat;

	cpu->preempt_count += entering ? 0x10000 : -0x10000U;
	if (t->other_task)
		world_set_current(&room->world, entering ? other : outer_task);
	if (t->other_cpu && !entering) {
		cpu->cpu_number ^= 1;
		memcpy(room->expected + MACHINE_FREE_OFF + WORLD_CPU_OFF, cpu, sizeof(*cpu));
	}
}

/* Runs from the handler's write to its first port until HLT. */
static void finish(const struct trap *t, struct room_call *inner, const struct room_call *outer)
{
	struct world_cpu *cpu = world_cpu(&room->world);

	change_world(t, true, outer->task);
	inner->task =
		t->other_task ? (outer->task == &cpu->cat ? &cpu->dd : &cpu->cat) : outer->task;
	inner->preempt_count = cpu->preempt_count;
	trap_has_called();
	change_world(t, false, outer->task);
	room_ends();
}

/* The handler was entered at AT. Its frame contains the interrupted address. */
static void check_frame(uint64_t at, struct room_call *ret_inner)
{
	struct kvm_regs regs;
	const uint64_t *stack;

	machine_get_regs(room->machine, &regs);
	stack = (const uint64_t *)(room->machine->memory + (regs.rsp - MACHINE_GVA));
	ck_assert_uint_eq(stack[8], at);
	/* The 2-byte `out` has been executed; the call is next. */
	*ret_inner = (struct room_call){.site_off = WORLD_TRACED_OTHER_OFF,
					.caller = hv_gva(regs.rip + 5),
					.flags = (uint16_t)(regs.rflags & ~ROOM_FLAG_TF)};
}

/* Runs the case once, interrupted before instruction NR. Returns false if it ended before. */
static bool interrupted_at(const struct world_case *c, const struct trap *t, unsigned nr)
{
	struct room_call outer, inner;
	uint32_t cpu;
	unsigned port, nr_tasks;
	struct kvm_regs regs;
	bool inner_recorded;

	room_set_up(room, c);
	room_begin(room, t->flags);
	room->stepped = true;
	room->stack_used_max = 8 + 2 * room->trampoline_stack_bytes + ROOM_HANDLER_BYTES;
	outer = room_outer(room);
	cpu = world_cpu(&room->world)->cpu_number;
	for (unsigned i = 0; i < nr; i++)
		if (machine_step(room->machine, &port) != MACHINE_STEP)
			return false;
	machine_get_regs(room->machine, &regs);
	if (regs.rip == ROOM_END_GVA) /* some KVMs report a step into HLT as a step */
		return false;
	trap_springs(t);
	check_frame(regs.rip, &inner);
	finish(t, &inner, &outer);
	inner_recorded = world_records(&room->world, inner.task->pid, cpu) &&
			 (c->trampoline != WORLD_SECTION_FUNCTION ||
			  world_state(&room->world, cpu)->sections.open.tsc);
	if (!room_check(room, c->nr_function_records ? &outer : NULL,
			inner_recorded ? &inner : NULL, &nr_tasks))
		return printf("... %s, %s, before instruction %u at %#llx\n", c->name, t->name, nr,
			      regs.rip),
		       ck_abort(), false;
	ck_assert_uint_ge(nr_tasks,
			  inner_recorded || outer.task == inner.task ? c->nr_task_records : 0);
	ck_assert_uint_le(nr_tasks, c->nr_stacks ? 3 : 2);
	ck_assert_uint_eq(room->nr_stacks,
			  c->nr_stacks + (inner_recorded && c->trampoline == WORLD_FUNCTION_STACK));
	return true;
}

START_TEST(interrupted_at_every_instruction)
{
	const struct world_case *c = case_at(_i / NR_TRAPS);
	const struct trap *t = &traps[_i % NR_TRAPS];
	unsigned nr = 0;

	/* Nothing is written, so migration cannot move anything to the other vCPU's ring. */
	if (t->other_cpu && c->nr_function_records == 0)
		return;
	/* These paths are long, and the test starts each again for each of its instructions. */
	if (c->nr_stacks &&
	    (c->nr_task_records || (t != &traps[0] && (!t->other_cpu || c->hooked))))
		return;
	while (interrupted_at(c, t, nr))
		ck_assert_uint_lt(++nr, STEPS_MAX);
	ck_assert_uint_gt(nr, 5);
}
END_TEST

static void add_tests(TCase *tc)
{
	room_suite_init(tc);
	tcase_add_loop_test(tc, a_call, 0, NR_CASES);
	tcase_add_test(tc, laps);
	tcase_add_test(tc, a_task_record_before_a_lap);
	tcase_add_loop_test(tc, no_path_has_too_many_steps, 0, NR_CASES);
	tcase_add_loop_test(tc, interrupted_at_every_instruction, 0, NR_CASES * NR_TRAPS);
}

int main(void)
{
	return room_suite_main("trampolines in a machine", add_tests);
}
