/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the graph trampolines in a machine without a kernel: every path through them, alone and
 * interrupted at every instruction by a trap whose handler is traced as well. Each call and each
 * return must be recorded once, every function must return to its caller, and every return stack
 * must have the same frames as before. */
#include <string.h>

#include "tests/kvm/graph_room.h"

#define FRAME	  sizeof(struct hv_frame)
#define STEPS_MAX 1500 /* the longest path includes two full searches for counts */

/* A new task's call drops the frames of a dead task, so the expected return stack loses them,
 * too. */
static void expect_forgotten(const struct world_case *c)
{
	struct hv_stack *was;

	if (c->trampoline != WORLD_NEW_TASK)
		return;
	was = (struct hv_stack *)(room->expected + MACHINE_FREE_OFF + WORLD_STACKS_OFF) +
	      hv_stack_home(room->world.stack.v, WORLD_HOMES_SHIFT);
	was->word &= ~(uint64_t)(HV_STACK_NR_MASK | HV_STACK_SLOW);
}

static unsigned nr_cases(void)
{
	return world_nr_graph_cases + world_nr_probe_cases;
}

static const struct world_case *case_at(unsigned i)
{
	return i < world_nr_graph_cases ? &world_graph_cases[i]
					: &world_probe_cases[i - world_nr_graph_cases];
}

static void check_outer(const struct world_case *c, const struct graph_found *found)
{
	unsigned nr_entries = found->outer.entries, nr_exits = found->outer.exits;

	if (c->nr_entries == 2) { /* a jump: the other function is part of the call */
		nr_entries += found->inner.entries;
		nr_exits += found->inner.exits;
		ck_assert_uint_eq(found->inner.entry_depth, found->outer.entry_depth + 1);
	}
	ck_assert_uint_eq(nr_entries, c->nr_entries);
	ck_assert_uint_eq(nr_exits, c->nr_exits);
	ck_assert_uint_eq(found->outer.calls, c->nr_calls);
	ck_assert_uint_eq(found->outer.returns, c->nr_returns != 0);
	ck_assert_uint_eq(found->outer.mores, c->nr_mores);
	ck_assert_uint_eq(found->outer.functions, c->nr_function_records);
	ck_assert_uint_eq(graph_counted(WORLD_TRACED_OFF).hits, c->nr_hits);
	if (c->nr_entries)
		ck_assert_uint_eq(found->outer.entry_depth, found->outer.exit_depth);
}

/* Returns whether the caller's direction flag must be clear: the trampoline has string instructions
 * and relies on the clear flag at calls of C functions, or clears it and does not restore it. */
static bool copies(const struct world_case *c)
{
	return c->trampoline == WORLD_REGS_FETCH || c->trampoline == WORLD_PROBED_FETCH ||
	       c->trampoline == WORLD_PROBED_ARGS_FETCH ||
	       c->trampoline == WORLD_ENTRY_REGS_FUNCTION ||
	       (c->chained && c->trampoline == WORLD_ENTRY_REGS);
}

static bool keeps_all(const struct world_case *c)
{
	return !c->chained &&
	       (c->trampoline == WORLD_ENTRY_REGS || c->trampoline == WORLD_ENTRY_REGS_FETCH);
}

START_TEST(a_call)
{
	static const uint64_t flags[] = {0, ROOM_FLAG_IF, ROOM_FLAGS_ALL};
	const struct world_case *c = case_at((unsigned)_i);
	struct graph_found found;

	for (unsigned i = 0; i < 3; i++) {
		room_set_up(room, c);
		room_begin(room, flags[i] & ~(copies(c) ? ROOM_FLAG_DF : 0));
		expect_forgotten(c);
		room_ends();
		found = graph_check();
		check_outer(c, &found);
		ck_assert_uint_eq(found.tasks, c->nr_task_records);
		ck_assert_uint_eq(found.missed, c->nr_missed);
		ck_assert_uint_eq(found.inner.returns, c->nr_returns > 1);
	}
}
END_TEST

/* At the first instruction of the traced function's own code, all registers except %rax, %r10 and
 * %r11 have the caller's values. These three have them, too, if the trampoline records all
 * registers and does nothing else. */
START_TEST(arguments_arrive)
{
	uint64_t body = world_gva(&room->world, WORLD_TRACED_OFF + 5).v;
	struct kvm_regs regs;
	unsigned port, steps = 0;

	room_set_up(room, case_at((unsigned)_i));
	room_begin(room, ROOM_FLAGS_ON);
	do {
		ck_assert_int_eq(machine_step(room->machine, &port), MACHINE_STEP);
		ck_assert_uint_lt(++steps, STEPS_MAX);
		machine_get_regs(room->machine, &regs);
	} while (regs.rip != body);
	ck_assert_uint_eq(regs.rsp, room->before.rsp - 8);
	regs.rsp = room->before.rsp;
	regs.rip = room->before.rip;
	if (!keeps_all(case_at((unsigned)_i))) {
		regs.rax = room->before.rax;
		regs.r10 = room->before.r10;
		regs.r11 = room->before.r11;
		regs.rflags = room->before.rflags;
	}
	regs.rflags &= ~(uint64_t)ROOM_FLAG_TF;
	ck_assert_mem_eq(&regs, &room->before, sizeof(regs));
}
END_TEST

static const struct trap traps[] = {
	{"interrupt", false, ROOM_FLAGS_ON, false, false},
	{"NMI, interrupts off", true, 0, false, false},
	{"preempted and migrated", false, ROOM_FLAGS_ON, true, true},
};
#define NR_TRAPS ((int)(sizeof(traps) / sizeof(*traps)))

static void change_world(const struct trap *t, bool entering, const struct world_task *outer)
{
	struct world_cpu *cpu = world_cpu(&room->world);

	cpu->preempt_count += entering ? 0x10000 : -0x10000U;
	if (t->other_task)
		world_set_current(&room->world, entering ? &cpu->dd : outer);
	if (t->other_cpu && !entering)
		cpu->cpu_number ^= 1;
	if (!entering)
		memcpy(room->expected + MACHINE_FREE_OFF + WORLD_CPU_OFF, cpu, sizeof(*cpu));
}

/* A snapshot of a run that the test can return to. */
struct moment {
	struct kvm_regs regs;
	uint8_t memory[MACHINE_LEN];
	uint8_t expected[MACHINE_LEN];
};

static void save(struct moment *m)
{
	machine_get_regs(room->machine, &m->regs);
	memcpy(m->memory, room->machine->memory, MACHINE_LEN);
	memcpy(m->expected, room->expected, MACHINE_LEN);
}

static void come_back(const struct moment *m)
{
	memcpy(room->machine->memory, m->memory, MACHINE_LEN);
	memcpy(room->expected, m->expected, MACHINE_LEN);
	machine_set_regs(room->machine, &m->regs, world_gva(&room->world, WORLD_CPU_OFF));
}

/* Interrupts the run here, and runs to the end. */
static void interrupt_now(const struct world_case *c, const struct trap *t)
{
	struct graph_found found;

	trap_springs(t);
	change_world(t, true, &world_cpu(&room->world)->cat);
	trap_has_called();
	change_world(t, false, &world_cpu(&room->world)->cat);
	room_ends();
	found = graph_check();
	/* The handler's call is recorded completely, or not at all if the case or the interrupted
	 * instruction requires it. */
	if (c->nr_entries == 2) { /* one of the two belongs to the call itself */
		found.inner.entries--;
		found.inner.exits--;
		ck_assert_uint_eq(found.outer.entries, 1);
		ck_assert_uint_eq(found.outer.exits, 1);
	} else {
		check_outer(c, &found);
	}
	if (c->nr_entries)
		ck_assert_uint_eq(found.inner.entries, found.inner.exits);
	if (c->nr_entries && c->trampoline == WORLD_GRAPH && !t->other_task)
		ck_assert_uint_eq(found.inner.entries, 1);
	ck_assert_uint_eq(found.inner.calls, c->nr_calls);
	ck_assert_uint_eq(found.inner.returns, c->nr_returns);
	ck_assert_uint_eq(graph_counted(WORLD_TRACED_OTHER_OFF).hits, c->nr_hits);
}

START_TEST(interrupted_at_every_instruction)
{
	const struct world_case *c = case_at((unsigned)(_i / NR_TRAPS));
	const struct trap *t = &traps[_i % NR_TRAPS];
	static struct moment moment;
	struct kvm_regs regs;
	unsigned nr = 0, port;

	/* Other traps give the same result for a call that is not recorded. */
	if (_i % NR_TRAPS && !c->nr_exits && c->trampoline == WORLD_GRAPH)
		return;
	if (c->calm ||
	    (t->other_cpu && !c->nr_exits && !c->nr_hits && !c->nr_calls && !c->nr_returns))
		return;
	room_set_up(room, c);
	room_begin(room, t->flags);
	expect_forgotten(c);
	room->stack_used_max = 8 + 2 * room->trampoline_stack_bytes + ROOM_HANDLER_BYTES;
	do {
		ck_assert_uint_lt(++nr, STEPS_MAX);
		save(&moment);
		interrupt_now(c, t);
		come_back(&moment);
		if (machine_step(room->machine, &port) != MACHINE_STEP)
			break;
		machine_get_regs(room->machine, &regs);
	} while (regs.rip != ROOM_END_GVA);
	ck_assert_uint_gt(nr, 5);
}
END_TEST

START_TEST(no_path_has_too_many_steps)
{
	room_way_is_shorter(case_at((unsigned)_i), STEPS_MAX);
}
END_TEST

static const struct world_case *find_probe_case(const char *name)
{
	for (unsigned i = 0; i < world_nr_probe_cases; i++)
		if (strcmp(world_probe_cases[i].name, name) == 0)
			return &world_probe_cases[i];
	ck_abort_msg("no case '%s'", name);
	return NULL;
}

/* Some frames were left without a return. The trampoline finds the returning frame below them and
 * stops tracing the stack. */
START_TEST(frames_left_without_return)
{
	const struct world_case *c = &world_graph_cases[0];
	struct hv_stack *stack = world_home(&room->world, room->world.stack.v);
	unsigned below;

	room_set_up(room, c);
	graph_run_to_the_body();
	ck_assert_uint_eq(stack->word & HV_STACK_NR_MASK, 3 * FRAME);
	below = 2;
	stack->frames[3] = stack->frames[2];
	stack->frames[3].retp_gva -= 64;
	stack->frames[3].caller_gva = 0x1234;
	stack->frames[4] = stack->frames[3];
	stack->frames[4].retp_gva -= 8;
	stack->word += 2 * FRAME;
	room_ends();
	ck_assert(room_registers_are_right(room));
	ck_assert_uint_eq(stack->word, room->world.stack.v | HV_STACK_SLOW | below * FRAME);
	ck_assert_uint_eq(stack->stopped, 1);
}
END_TEST

static void own_frame(struct hv_frame *frame, uint64_t retp_off, uint64_t caller, unsigned flags)
{
	*frame = (struct hv_frame){.retp_gva = machine_gva(retp_off).v,
				   .caller_gva = caller,
				   .flags = (uint16_t)flags};
}

/* The frames that stay lose their stored arguments. */
START_TEST(new_task_loses_stored_arguments)
{
	const struct world_case *c = graph_case("a new task's first call");
	struct hv_stack *stack = world_home(&room->world, room->world.stack.v);
	uint64_t handler =
		world_gva(&room->world, WORLD_CODE_OFF).v + hv_arch_x86_64.trampolines.handler_off;
	uint64_t own_off = ROOM_RETP_OFF + 0x40, other_off = ROOM_RETP_OFF + 0x80;
	unsigned flags = HV_FRAME_PROBED | HV_FRAME_ARGS;

	room_set_up(room, c);
	memset(stack->frames, 0, sizeof(stack->frames));
	own_frame(&stack->frames[3], other_off, 11, flags); /* the dead task's */
	own_frame(&stack->frames[7], other_off, 22, flags);
	own_frame(&stack->frames[11], own_off, 33, flags);
	stack->word = room->world.stack.v | HV_STACK_SLOW | 12 * FRAME;
	stack->depth -= 9u << (HV_RECORD_DEPTH_SHIFT - HV_RECORD_HIGH);
	memcpy(room->machine->memory + own_off, &handler, 8);
	memcpy(room->machine->memory + other_off, &handler, 8);
	room_begin(room, 0);
	room_ends();
	ck_assert(room_registers_are_right(room));
	ck_assert_uint_eq(stack->word, room->world.stack.v | 2 * FRAME);
	ck_assert_uint_eq(stack->depth, HV_STACK_DEPTH_0);
	ck_assert_uint_eq(stack->frames[0].caller_gva, 22);
	ck_assert_uint_eq(stack->frames[0].flags, HV_FRAME_PROBED);
	ck_assert_uint_eq(stack->frames[1].caller_gva, 33);
	ck_assert_uint_eq(stack->frames[1].flags, HV_FRAME_PROBED);
}
END_TEST

/* The guest can set the flag of a frame for which no arguments are stored. */
START_TEST(arguments_forged_by_the_guest)
{
	struct hv_stack *stack = world_home(&room->world, room->world.stack.v);
	struct graph_found found;

	room_set_up(room, find_probe_case("return probe"));
	graph_run_to_the_body();
	ck_assert_uint_eq(stack->word & HV_STACK_NR_MASK, 3 * FRAME);
	stack->frames[2].flags |= HV_FRAME_ARGS;
	room_ends();
	found = graph_check();
	ck_assert_uint_eq(found.outer.returns, 1);
}
END_TEST

/* On a new task's stack, a frame stays if its retp is above the call's retp and the handler's
 * address is stored there. */
START_TEST(new_task_keeps_its_frames)
{
	const struct world_case *c = graph_case("a new task's first call");
	struct hv_stack *stack = world_home(&room->world, room->world.stack.v);
	uint64_t handler =
		world_gva(&room->world, WORLD_CODE_OFF).v + hv_arch_x86_64.trampolines.handler_off;
	uint64_t own_off = ROOM_RETP_OFF + 0x40, other_off = ROOM_RETP_OFF + 0x80;

	room_set_up(room, c);
	stack->word = room->world.stack.v | 4 * FRAME;
	stack->frames[0].retp_gva = machine_gva(other_off).v; /* the dead task's */
	stack->frames[1].retp_gva = machine_gva(ROOM_RETP_OFF - 0x100).v;
	stack->frames[2].retp_gva = machine_gva(other_off).v;
	stack->frames[2].flags = HV_FRAME_ROOT;
	stack->frames[2].caller_gva = 22;
	stack->frames[3].retp_gva = machine_gva(own_off).v;
	stack->frames[3].caller_gva = 33;
	memcpy(room->machine->memory + own_off, &handler, 8);
	memcpy(room->machine->memory + other_off, &handler, 8);
	room_begin(room, 0);
	room_ends();
	ck_assert(room_registers_are_right(room));
	ck_assert_uint_eq(stack->word, room->world.stack.v | 2 * FRAME);
	ck_assert_uint_eq(stack->inside, 1);
	ck_assert_uint_eq(stack->frames[0].caller_gva, 22);
	ck_assert_uint_eq(stack->frames[1].caller_gva, 33);
}
END_TEST

/* The first frame of an interrupt stack continues at the depth of the stack that its last word
 * leads to. */
START_TEST(an_interrupt_continues_the_interrupted_depth)
{
	static const unsigned insides[] = {0, 1};
	uint64_t left = MACHINE_GVA + 0x7000000, last_off = MACHINE_STACK_END - 8;
	uint64_t sp = left + 0x1000;

	for (unsigned i = 0; i < 2; i++) {
		const struct world_case *c = graph_case("call and return, of a stack seen first");
		struct hv_stack *interrupted = world_home(&room->world, left);
		struct graph_found found;

		room_set_up(room, c);
		world_cpu(&room->world)->irq_stack = machine_gva(last_off);
		memcpy(room->machine->memory + last_off, &sp, 8);
		interrupted->word = left | 5 * FRAME;
		interrupted->depth += 10u << (HV_RECORD_DEPTH_SHIFT - HV_RECORD_HIGH);
		interrupted->inside = insides[i];
		world_params(&room->world)->graph_flags |= HV_GRAPH_SUBTREE;
		world_choose_ways(&room->world);
		room_begin(room, 0);
		room_ends();
		found = graph_check();
		ck_assert_uint_eq(found.outer.entries, insides[i]);
		ck_assert_uint_eq(found.outer.exits, insides[i]);
		if (insides[i])
			ck_assert_uint_eq(found.outer.entry_depth, 15);
	}
}
END_TEST

/* An interrupt stack gets a key that marks it as one, even if its memory was a task's stack before
 * and an empty return stack still has that task's key. */
START_TEST(an_interrupt_stack_is_not_a_task_stack)
{
	static const char *const names[] = {"call and return, first frame of a stack",
					    "profile, first frame of a stack"};
	uint64_t last_off = MACHINE_STACK_END - 8;

	for (unsigned i = 0; i < HV_ARRAY_LEN(names); i++) {
		unsigned nr = 0;

		room_set_up(room, graph_case(names[i]));
		world_cpu(&room->world)->irq_stack = machine_gva(last_off);
		graph_run_to_the_body();
		for (unsigned s = 0; s < WORLD_NR_STACKS; s++) {
			uint64_t word = world_stack(&room->world, s)->word;

			ck_assert(!(word & HV_STACK_NR_MASK) || word & HV_STACK_IRQ);
			nr += (word & HV_STACK_NR_MASK) / FRAME;
		}
		ck_assert_uint_eq(nr, 1);
		room_ends();
		graph_check();
	}
}
END_TEST

static const char *const counting_cases[] = {
	"host: call and return, the vCPU did not run",
	"host: a task leaves the CPU",
	"host: a task comes back",
	"host: a task comes back from an unknown vCPU",
	"host: profile",
	"call and return",
	"call and return, with the value",
	"a new task's first call",
	"a task leaves the CPU",
	"a task comes back",
	"profile",
	"profile, without the calls in it",
	"profile and graph",
};

static void expect_as_it_is(uint64_t from_off, uint64_t to_off)
{
	memcpy(room->expected + MACHINE_FREE_OFF + from_off, room->world.host + from_off,
	       to_off - from_off);
}

/* The guest can write anything into the word of a return stack. With any number of frames in it,
 * the trampolines return to their callers and write only to return stacks, counts and rings. */
START_TEST(a_number_of_frames_that_the_guest_wrote)
{
	static const unsigned numbers[] = {
		1,
		FRAME - 1,
		FRAME + 1,
		HV_FRAMES_MAX * FRAME - 1,
		HV_FRAMES_MAX * FRAME + 1,
		HV_STACK_NR_MASK,
	};
	struct hv_stack *stack = world_home(&room->world, room->world.stack.v);

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		room_set_up(room, graph_case(counting_cases[_i]));
		stack->word = room->world.stack.v | numbers[i];
		room_begin(room, 0);
		room_ends();
		ck_assert(room_registers_are_right(room));
		expect_as_it_is(WORLD_STACKS_OFF, WORLD_LEN(ROOM_NR_SLOTS));
		expect_as_it_is(WORLD_CPU_OFF + offsetof(struct world_cpu, steal_ns),
				WORLD_CPU_OFF + offsetof(struct world_cpu, cpu_number));
		ck_assert(room_memory_is_right(room));
	}
}
END_TEST

/* Open calls return to their callers even if the tracer has changed. */
START_TEST(the_end_of_the_tracer)
{
	struct graph_found found;

	room_set_up(room, &world_graph_cases[0]);
	graph_run_to_the_body();
	world_params(&room->world)->graph_flags = 0;
	world_choose_ways(&room->world);
	memcpy(room->expected + MACHINE_FREE_OFF, room->world.host, WORLD_VCPUS_OFF);
	memcpy(room->expected + MACHINE_FREE_OFF + WORLD_CONTROL_OFF, world_control(&room->world),
	       sizeof(struct hv_control));
	room_ends();
	found = graph_check();
	ck_assert_uint_eq(found.outer.entries, 1);
	ck_assert_uint_eq(found.outer.exits, 0);
}
END_TEST

/* Recording is paused, and in some modes switched off, while a call is open. */
START_TEST(a_return_in_a_pause)
{
	static const uint32_t modes[] = {HV_MODE_PAUSED, HV_MODE_OFF, HV_MODE_SILENT};
	struct graph_found found;

	room_set_up(room, &world_graph_cases[0]);
	graph_run_to_the_body();
	world_control(&room->world)->mode = modes[_i];
	memcpy(room->expected + MACHINE_FREE_OFF + WORLD_CONTROL_OFF, world_control(&room->world),
	       sizeof(struct hv_control));
	room_ends();
	found = graph_check();
	ck_assert_uint_eq(found.outer.entries, 1);
	ck_assert_uint_eq(found.outer.exits, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	int nr = (int)nr_cases();

	room_suite_init(tc);
	tcase_add_loop_test(tc, a_call, 0, nr);
	tcase_add_loop_test(tc, arguments_arrive, 0, nr);
	tcase_add_loop_test(tc, no_path_has_too_many_steps, 0, nr);
	tcase_add_test(tc, frames_left_without_return);
	tcase_add_test(tc, new_task_keeps_its_frames);
	tcase_add_test(tc, new_task_loses_stored_arguments);
	tcase_add_test(tc, arguments_forged_by_the_guest);
	tcase_add_test(tc, an_interrupt_continues_the_interrupted_depth);
	tcase_add_test(tc, an_interrupt_stack_is_not_a_task_stack);
	tcase_add_loop_test(tc, a_number_of_frames_that_the_guest_wrote, 0,
			    HV_ARRAY_LEN(counting_cases));
	tcase_add_test(tc, the_end_of_the_tracer);
	tcase_add_loop_test(tc, a_return_in_a_pause, 0, 3);
	tcase_add_loop_test(tc, interrupted_at_every_instruction, 0, nr * NR_TRAPS);
}

int main(void)
{
	return room_suite_main("graph in a machine", add_tests);
}
