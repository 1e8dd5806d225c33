/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stubs of a graph and of a profile of riscv64, the very bytes that a guest gets, on an
 * emulated CPU: every path through them, alone and disturbed before each instruction by an
 * interrupt or another task whose function is traced, too, or by a move to the other vCPU. Each
 * call and each return must be recorded once, every return must go to its caller, and every return
 * stack must have the frames that it had. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/riscv64_world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define INTERRUPT_FRAME 0x150 /* as much as the kernel pushes */
#define HARDIRQ		0x10000
#define STEPS_MAX	1500 /* no path is longer; it includes two full searches for counts */
#define FRAME		sizeof(struct hv_frame)

/* Numbers of registers */
#define RA 1
#define SP 2
#define T0 5
#define A0 10
#define A1 11
#define T3 28

static struct riscv64_world *world;

static const struct hv_decode decode = {
	.arch = &hv_arch_riscv64,
	.text_base = {RISCV64_WORLD_TEXT_BASE},
};

/* What the rings say about one of the two functions. */
struct recorded {
	unsigned functions, entries, exits, mores;
	unsigned entry_depth, exit_depth;
	uint64_t called, retval;
	uint32_t overrun;
};

struct found {
	struct recorded outer, inner;
	unsigned tasks;
};

static void set_up(void)
{
	world = riscv64_world_new();
}

static void tear_down(void)
{
	riscv64_world_free(world);
}

static void note_event(const struct hv_record *record, const struct hv_record *more,
		       struct found *found)
{
	struct hv_event e;
	struct recorded *r;

	hv_decode_event(&decode, record, more, &e);
	if (e.ip.v == riscv64_world_gva(RISCV64_WORLD_TRACED_OFF))
		r = &found->outer;
	else if (e.ip.v == riscv64_world_gva(RISCV64_WORLD_TRACED_OTHER_OFF))
		r = &found->inner;
	else
		ck_abort_msg("a record of %#llx", (unsigned long long)e.ip.v);
	ck_assert(e.flags & HV_TRACE_IRQS_OFF);
	if (e.kind == HV_EVENT_FUNCTION) {
		r->functions++;
		return;
	}
	if (e.kind == HV_EVENT_GRAPH_ENTRY) {
		r->entries++;
		r->entry_depth = e.depth;
		r->called = hv_record_tsc(record);
		return;
	}
	ck_assert_int_eq(e.kind, HV_EVENT_GRAPH_EXIT);
	r->exits++;
	r->exit_depth = e.depth;
	r->mores += more != NULL;
	r->retval = e.retval;
	r->overrun = e.overrun;
	if (r->entries == 1 && r->exits == 1)
		ck_assert_uint_eq(hv_record_call_tsc(record), r->called);
}

static void read_ring(unsigned cpu, struct found *found)
{
	struct hv_record record, before = {0};
	struct hv_ring ring;
	uint64_t lost = 0;

	hv_ring_init(&ring, riscv64_world_state(world, cpu), riscv64_world_ring(world, cpu),
		     RISCV64_WORLD_NR_SLOTS);
	while (hv_ring_read(&ring, 0, &record, &lost) == HV_RING_RECORD) {
		unsigned kind = hv_record_kind(&record);
		bool has_more = hv_record_kind(&before) == HV_RECORD_MORE;

		if (has_more)
			ck_assert_uint_eq(before.word[0], record.word[0]);
		if (kind == HV_RECORD_TASK)
			found->tasks++;
		else if (kind != HV_RECORD_MORE)
			note_event(&record, has_more ? &before : NULL, found);
		before = record;
	}
	ck_assert_uint_eq(lost, 0);
	ck_assert_uint_eq(ring.position, hv_ring_head(&ring));
}

static struct found read_rings(void)
{
	struct found found = {0};

	for (unsigned cpu = 0; cpu < RISCV64_WORLD_NR_CPUS; cpu++)
		read_ring(cpu, &found);
	return found;
}

static unsigned hits_of(uint64_t off)
{
	unsigned hits = 0;

	for (unsigned cpu = 0; cpu < RISCV64_WORLD_NR_CPUS; cpu++)
		for (unsigned i = 0; i < RISCV64_WORLD_NR_COUNTS; i++) {
			const struct hv_count *c = &riscv64_world_counts(world, cpu)[i];

			if (c->function_low != riscv64_world_site_end(off))
				continue;
			ck_assert_uint_le(c->hits, 1);
			ck_assert_uint_eq(c->squares, c->ticks * c->ticks);
			hits += (unsigned)c->hits;
		}
	return hits;
}

/* -- one call ----------------------------------------------------------------------------------
 */

static struct riscv64_regs before;
static uint8_t memory_before[RISCV64_WORLD_LEN];

static void begin(const struct riscv64_case *c)
{
	riscv64_world_set_up(world, c);
	memcpy(memory_before, world->host, sizeof(memory_before));
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF,
			    riscv64_world_sp(0));
	riscv64_world_get(world, &before);
}

static bool is_temporary(unsigned x)
{
	return (x >= T0 && x < T0 + 3) || x >= T3;
}

static bool is_argument(unsigned x)
{
	return x >= A0 && x < A0 + 8;
}

/* The handler may change what any function may change, but for what a function returns. */
static void check_registers(void)
{
	struct riscv64_regs after;

	riscv64_world_get(world, &after);
	ck_assert_uint_eq(after.x[A0], before.x[A1]); /* what the function returns */
	ck_assert_uint_eq(after.x[A1], before.x[A1]); /* likewise */
	for (unsigned i = 0; i < HV_ARRAY_LEN(after.x); i++)
		if (i != RA && !is_temporary(i) && !is_argument(i))
			ck_assert_uint_eq(after.x[i], before.x[i]);
}

/* Every return stack has the frames that it had, and no count is left. */
static void check_stacks(const struct riscv64_case *c)
{
	const struct hv_stack *stacks =
		(const struct hv_stack *)(memory_before + RISCV64_WORLD_STACKS_OFF);

	for (unsigned i = 0; i < RISCV64_WORLD_NR_STACKS; i++) {
		const struct hv_stack *is = riscv64_world_stack(world, i);
		struct hv_stack was = stacks[i];

		if (c->role == HV_ROLE_NEW_TASK) {
			was.word &= ~(uint64_t)(HV_STACK_NR_MASK | HV_STACK_SLOW);
			was.stopped = 0;
		}
		ck_assert_uint_eq(is->word & HV_STACK_NR_MASK, was.word & HV_STACK_NR_MASK);
		ck_assert_uint_eq(is->inside, was.inside);
		ck_assert_uint_eq(is->muted, was.muted);
		ck_assert_uint_eq(is->stopped, was.stopped);
		if (was.word & HV_STACK_NR_MASK)
			ck_assert_uint_eq(is->word, was.word | (is->overrun ? HV_STACK_SLOW : 0));
	}
}

static void check_outer(const struct riscv64_case *c, struct found found)
{
	if (c->nr_entries == 2) { /* by a jump: the other function is part of it */
		found.outer.entries += found.inner.entries;
		found.outer.exits += found.inner.exits;
		ck_assert_uint_eq(found.inner.entry_depth, found.outer.entry_depth + 1);
	}
	ck_assert_uint_eq(found.outer.entries, c->nr_entries);
	ck_assert_uint_eq(found.outer.exits, c->nr_exits);
	ck_assert_uint_eq(found.outer.mores, c->nr_mores);
	ck_assert_uint_eq(found.outer.functions, c->nr_function_records);
	ck_assert_uint_eq(hits_of(RISCV64_WORLD_TRACED_OFF), c->nr_hits);
	if (c->nr_entries)
		ck_assert_uint_eq(found.outer.entry_depth, found.outer.exit_depth);
	if (riscv64_world_params(world)->graph_flags & HV_GRAPH_RETVAL && c->nr_exits)
		ck_assert_uint_eq(found.outer.retval, before.x[A1]);
	else if (c->nr_mores)
		ck_assert_uint_eq(found.outer.overrun, 7);
}

START_TEST(a_call)
{
	const struct riscv64_case *c = &riscv64_graph_cases[_i];
	struct found found;

	begin(c);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	check_registers();
	found = read_rings();
	check_outer(c, found);
	ck_assert_uint_eq(found.tasks, c->nr_task_records);
	check_stacks(c);
	ck_assert_mem_eq(world->host, memory_before, RISCV64_WORLD_STACKS_OFF);
}
END_TEST

/* At the function's own first instruction all registers are the caller's, but t0 to t6 and, in a
 * graph, ra. */
START_TEST(arguments_arrive)
{
	struct riscv64_regs now;

	begin(&riscv64_graph_cases[_i]);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_TRACED_OFF + 8));
	riscv64_world_get(world, &now);
	for (unsigned i = 0; i < HV_ARRAY_LEN(now.x); i++)
		if (i != RA && !is_temporary(i))
			ck_assert_uint_eq(now.x[i], before.x[i]);
}
END_TEST

/* -- before each instruction -------------------------------------------------------------------
 */

static void call_other(uint64_t sp)
{
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OTHER_OFF, RISCV64_WORLD_CALLER_OTHER_OFF,
			    sp);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OTHER_OFF));
}

/* An interrupt whose handler stays on the stack. */
static void interrupt(void)
{
	struct riscv64_task *task = &riscv64_world_tasks(world)->cat;
	struct riscv64_regs regs;

	riscv64_world_get(world, &regs);
	task->preempt_count += HARDIRQ;
	call_other(regs.x[SP] - INTERRUPT_FRAME);
	task->preempt_count -= HARDIRQ;
	riscv64_world_set(world, &regs);
}

/* And one whose handler has a stack of its own, and uses all of it. */
static void interrupt_elsewhere(void)
{
	struct riscv64_task *task = &riscv64_world_tasks(world)->cat;
	struct riscv64_regs regs;

	riscv64_world_get(world, &regs);
	task->preempt_count += HARDIRQ;
	call_other(riscv64_world_stack_end(2));
	task->preempt_count -= HARDIRQ;
	riscv64_world_set(world, &regs);
}

/* Another task runs, and the first one goes on on the other vCPU. */
static void migrate(void)
{
	struct riscv64_tasks *tasks = riscv64_world_tasks(world);
	struct riscv64_regs regs;

	riscv64_world_get(world, &regs);
	riscv64_world_set_current(world, &tasks->dd);
	tasks->dd.cpu_number = tasks->cat.cpu_number;
	call_other(riscv64_world_sp(1));
	riscv64_world_set_current(world, &tasks->cat);
	tasks->cat.cpu_number ^= 1;
	riscv64_world_set(world, &regs);
}

static const struct {
	void (*happens)(void);
	bool same_stack;
} disturbances[] = {{interrupt, true}, {interrupt_elsewhere, false}, {migrate, false}};
#define NR_DISTURBANCES HV_ARRAY_LEN(disturbances)

/* Whether what this vCPU is told to leave out may differ on the other one. */
static bool depends_on_cpu(void)
{
	return riscv64_world_control(world)->mode & HV_MODE_CPUS;
}

/* Calls for which there was no place, because another task took it meanwhile, are counted. */
static void check_disturbed(const struct riscv64_case *c, bool same_stack)
{
	struct found found = read_rings();
	uint64_t nr_no_stack = 0, nr_no_count = 0;

	for (unsigned cpu = 0; cpu < RISCV64_WORLD_NR_CPUS; cpu++) {
		nr_no_stack += riscv64_world_state(world, cpu)->nr_no_stack;
		nr_no_count += riscv64_world_state(world, cpu)->nr_no_count;
	}
	check_registers();
	check_stacks(c);
	if (c->nr_entries == 2) { /* one of the two is the call's own */
		found.inner.entries--;
		found.inner.exits--;
		ck_assert_uint_eq(found.outer.entries, 1);
		ck_assert_uint_eq(found.outer.exits, 1);
	} else if (!depends_on_cpu() && !(nr_no_stack && c->nr_entries)) {
		check_outer(c, found);
	}
	if (c->nr_entries)
		ck_assert_uint_eq(found.inner.entries, found.inner.exits);
	if (c->nr_entries && c->trace == HV_TRACE_GRAPH && same_stack && !c->profiled &&
	    c->role == HV_ROLE_NONE)
		ck_assert_uint_eq(found.inner.entries, 1);
	if (c->nr_entries && same_stack)
		ck_assert_uint_eq(nr_no_stack, 0);
	if (c->nr_hits && c->trace == HV_TRACE_NOTHING)
		ck_assert_uint_eq(hits_of(RISCV64_WORLD_TRACED_OTHER_OFF) + nr_no_count, 1);
}

START_TEST(disturbed_before_each_instruction)
{
	const struct riscv64_case *c = &riscv64_graph_cases[_i / NR_DISTURBANCES];
	unsigned d = (unsigned)_i % NR_DISTURBANCES;
	static struct riscv64_moment start;
	uint64_t nr;

	begin(c);
	riscv64_world_save(world, &start);
	nr = world->nr_done;
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	nr = world->nr_done - nr;
	ck_assert_uint_gt(nr, 5);
	ck_assert_uint_lt(nr, STEPS_MAX);
	for (uint64_t n = 0; n < nr; n++) {
		riscv64_world_come_back(world, &start);
		ck_assert(riscv64_world_step(world, n));
		disturbances[d].happens();
		ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
		check_disturbed(c, disturbances[d].same_stack);
	}
}
END_TEST

/* An interrupt that is itself interrupted: two calls at once. */
static void interrupt_twice(void)
{
	struct riscv64_regs regs, handler;

	riscv64_world_get(world, &regs);
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OTHER_OFF, RISCV64_WORLD_CALLER_OTHER_OFF,
			    regs.x[SP] - INTERRUPT_FRAME);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_TRACED_OTHER_OFF + 8));
	riscv64_world_get(world, &handler);
	call_other(handler.x[SP] - INTERRUPT_FRAME);
	riscv64_world_set(world, &handler);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OTHER_OFF));
	riscv64_world_set(world, &regs);
}

/* There is room for one more frame, or two. What an interrupt finds no room for makes the stack
 * slow, at whatever instruction it comes, and that is not lost. */
START_TEST(overruns_of_interrupts_are_kept)
{
	unsigned nr_open = HV_FRAMES_MAX - 1 - (unsigned)_i, nr_missed = 0;
	static struct riscv64_moment start;
	struct hv_stack *stack = riscv64_world_home(world, 0);
	uint64_t nr;

	begin(&riscv64_graph_cases[0]);
	riscv64_world_open(world, 0, nr_open);
	memcpy(memory_before, world->host, sizeof(memory_before));
	riscv64_world_save(world, &start);
	nr = world->nr_done;
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	nr = world->nr_done - nr;
	for (uint64_t n = 0; n < nr; n++) {
		struct found found;

		riscv64_world_come_back(world, &start);
		ck_assert(riscv64_world_step(world, n));
		interrupt_twice();
		ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
		check_registers();
		check_stacks(&riscv64_graph_cases[0]);
		found = read_rings();
		ck_assert_uint_eq(found.outer.entries, found.outer.exits);
		ck_assert_uint_eq(found.inner.entries, found.inner.exits);
		ck_assert_uint_eq(found.outer.entries + found.inner.entries + stack->overrun, 3);
		nr_missed += stack->overrun;
	}
	ck_assert_uint_gt(nr_missed, 0);
}
END_TEST

/* -- stacks ------------------------------------------------------------------------------------
 */

static void run_to_the_body(void)
{
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_TRACED_OFF + 8));
}

/* Some frames were left without a return. The frame that returns is found below them, and the stack
 * is not traced any more. */
START_TEST(frames_that_were_left)
{
	struct hv_stack *stack = riscv64_world_home(world, 0);

	begin(&riscv64_graph_cases[0]);
	run_to_the_body();
	ck_assert_uint_eq(stack->word & HV_STACK_NR_MASK, 3 * FRAME);
	stack->frames[3] = stack->frames[2];
	stack->frames[3].slot_gva -= 64;
	stack->frames[3].caller_gva = 0x1234;
	stack->frames[4] = stack->frames[3];
	stack->frames[4].slot_gva -= 16;
	stack->word += 2 * FRAME;
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	check_registers();
	ck_assert_uint_eq(stack->word, riscv64_world_key(0) | HV_STACK_SLOW | 2 * FRAME);
	ck_assert_uint_eq(stack->stopped, 1);
}
END_TEST

/* Recording is paused, and maybe switched off, while a call is open. */
START_TEST(a_return_in_a_pause)
{
	static const uint32_t modes[] = {HV_MODE_PAUSED, HV_MODE_OFF, HV_MODE_SILENT};
	struct found found;

	begin(&riscv64_graph_cases[0]);
	run_to_the_body();
	riscv64_world_control(world)->mode = modes[_i];
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	check_registers();
	found = read_rings();
	ck_assert_uint_eq(found.outer.entries, 1);
	ck_assert_uint_eq(found.outer.exits, 0);
	check_stacks(&riscv64_graph_cases[0]);
}
END_TEST

/* What an interrupt calls on its own stack is as deep as what it interrupted, and one more. */
START_TEST(an_interrupt_continues_the_depth)
{
	struct found found;

	begin(&riscv64_graph_cases[0]);
	run_to_the_body();
	interrupt_elsewhere();
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	found = read_rings();
	ck_assert_uint_eq(found.outer.entry_depth, 2);
	ck_assert_uint_eq(found.inner.entry_depth, 3);
	ck_assert_uint_eq(found.inner.exit_depth, 3);
	check_stacks(&riscv64_graph_cases[0]);
}
END_TEST

/* The square of a call that took very long has more than 64 bits. */
START_TEST(a_long_call)
{
	const struct riscv64_case *c = NULL;
	unsigned __int128 square;
	const struct hv_count *count = NULL;

	for (unsigned i = 0; i < riscv64_nr_graph_cases; i++)
		if (strcmp(riscv64_graph_cases[i].name, "profile") == 0)
			c = &riscv64_graph_cases[i];
	ck_assert_ptr_nonnull(c);
	begin(c);
	run_to_the_body();
	riscv64_world_home(world, 0)->frames[2].tsc = 0;
	for (unsigned i = 0; i < RISCV64_WORLD_NR_COUNTS; i++)
		if (riscv64_world_counts(world, 0)[i].hits)
			count = &riscv64_world_counts(world, 0)[i];
	ck_assert_ptr_nonnull(count);
	riscv64_world_counts(world, 0)[count - riscv64_world_counts(world, 0)].squares = UINT64_MAX;
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	square = (unsigned __int128)count->ticks * count->ticks + UINT64_MAX;
	ck_assert_uint_eq(count->squares, (uint64_t)square);
	ck_assert_uint_eq(count->squares_high, (uint64_t)(square >> 64));
}
END_TEST

static void add_tests(TCase *tc)
{
	int nr = (int)riscv64_nr_graph_cases;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_call, 0, nr);
	tcase_add_loop_test(tc, arguments_arrive, 0, nr);
	tcase_add_loop_test(tc, overruns_of_interrupts_are_kept, 0, 2);
	tcase_add_test(tc, frames_that_were_left);
	tcase_add_loop_test(tc, a_return_in_a_pause, 0, 3);
	tcase_add_test(tc, an_interrupt_continues_the_depth);
	tcase_add_test(tc, a_long_call);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0, nr * (int)NR_DISTURBANCES);
}

int main(void)
{
	return run_suite("stub_riscv64_graph", add_tests);
}
