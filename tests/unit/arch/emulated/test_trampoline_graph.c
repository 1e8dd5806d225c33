/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graph and profile trampolines of another architecture on an emulated CPU, with the code bytes
 * that a guest gets. Every path runs alone and disturbed before each instruction: by an interrupt
 * or another task whose function is traced as well, or by a move to the other vCPU. Each call and
 * each return must be recorded once, every function must return to its caller, and every return
 * stack must have the same frames as before. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/emulated/disturbances.h"
#include "tests/lib/emulated/world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define STEPS_MAX 1500 /* the longest path includes two full searches for counts */
#define FRAME	  sizeof(struct hv_frame)

static struct emu_world *world;

static const struct hv_decode decode = {
	.arch = &EMU_ARCH,
	.text_base = {EMU_TEXT_BASE},
};

/* The records of one of the two functions. */
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
	world = emu_new();
}

static void tear_down(void)
{
	emu_free(world);
}

static void note_event(const struct hv_record *record, const struct hv_record *more,
		       struct found *found)
{
	struct hv_event e;
	struct recorded *r;

	hv_decode_event(&decode, record, more, &e);
	if (e.ip.v == emu_gva(EMU_TRACED_OFF) + EMU_SITE)
		r = &found->outer;
	else if (e.ip.v == emu_gva(EMU_TRACED_OTHER_OFF) + EMU_SITE)
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

	hv_ring_init(&ring, emu_state(world, cpu), emu_ring(world, cpu), EMU_NR_SLOTS);
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

	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++)
		read_ring(cpu, &found);
	return found;
}

static unsigned hits_of(uint64_t off)
{
	unsigned hits = 0;

	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++)
		for (unsigned i = 0; i < EMU_NR_COUNTS; i++) {
			const struct hv_count *c = &emu_counts(world, cpu)[i];

			if (c->function_low != emu_site_end(off))
				continue;
			ck_assert_uint_le(c->hits, 1);
			ck_assert_uint_eq(c->squares, c->ticks * c->ticks);
			hits += (unsigned)c->hits;
		}
	return hits;
}

/* -- one call ---------------------------------------------------------------------------------- */

static struct emu_regs before;
static uint8_t memory_before[EMU_LEN];

static void begin(const struct emu_case *c)
{
	emu_set_up(world, c);
	memcpy(memory_before, world->host, sizeof(memory_before));
	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, emu_sp(0));
	emu_get(world, &before);
}

/* The handler may change the registers that any function may change, except the return value. */
static void check_registers(void)
{
	struct emu_regs after;

	emu_get(world, &after);
	ck_assert_uint_eq(after.x[EMU_A0], before.x[EMU_A1]); /* the function's return value */
	for (unsigned i = 0; i < HV_ARRAY_LEN(after.x); i++)
		if (emu_handler_keeps(i))
			ck_assert_uint_eq(after.x[i], before.x[i]);
}

/* Every return stack has the same frames and counters as before. */
static void check_stacks(const struct emu_case *c)
{
	const struct hv_stack *stacks = (const struct hv_stack *)(memory_before + EMU_STACKS_OFF);

	for (unsigned i = 0; i < EMU_NR_STACKS; i++) {
		const struct hv_stack *is = emu_stack(world, i);
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

static void check_outer(const struct emu_case *c, struct found found)
{
	if (c->nr_entries == 2) { /* the function jumps to the other one */
		found.outer.entries += found.inner.entries;
		found.outer.exits += found.inner.exits;
		ck_assert_uint_eq(found.inner.entry_depth, found.outer.entry_depth + 1);
	}
	ck_assert_uint_eq(found.outer.entries, c->nr_entries);
	ck_assert_uint_eq(found.outer.exits, c->nr_exits);
	ck_assert_uint_eq(found.outer.mores, c->nr_mores);
	ck_assert_uint_eq(found.outer.functions, c->nr_function_records);
	ck_assert_uint_eq(hits_of(EMU_TRACED_OFF), c->nr_hits);
	if (c->nr_entries)
		ck_assert_uint_eq(found.outer.entry_depth, found.outer.exit_depth);
	if (emu_params(world)->graph_flags & HV_GRAPH_RETVAL && c->nr_exits)
		ck_assert_uint_eq(found.outer.retval, before.x[EMU_A1]);
	else if (c->nr_mores)
		ck_assert_uint_eq(found.outer.overrun, 7);
}

START_TEST(a_call)
{
	const struct emu_case *c = &emu_graph_cases[_i];
	struct found found;

	begin(c);
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	check_registers();
	found = read_rings();
	check_outer(c, found);
	ck_assert_uint_eq(found.tasks, c->nr_task_records);
	check_stacks(c);
	ck_assert_mem_eq(world->host, memory_before, EMU_STACKS_OFF);
}
END_TEST

/* The function's own code starts with the caller's registers, except those that the trampoline may
 * change and, in a graph, the return address. */
START_TEST(arguments_arrive)
{
	struct emu_regs now;

	begin(&emu_graph_cases[_i]);
	ck_assert(emu_run(world, EMU_TRACED_OFF + 8));
	emu_get(world, &now);
	for (unsigned i = 0; i < HV_ARRAY_LEN(now.x); i++)
		if (i != EMU_RA && !emu_is_free(i))
			ck_assert_uint_eq(now.x[i], before.x[i]);
}
END_TEST

/* -- before each instruction ------------------------------------------------------------------- */

static const struct {
	emu_disturbance *happens;
	bool same_stack;
} disturbances[] = {{emu_interrupt, true}, {emu_interrupt_elsewhere, false}, {emu_migrate, false}};
#define NR_DISTURBANCES HV_ARRAY_LEN(disturbances)

/* Returns true if calls may be muted on one vCPU and recorded on the other. */
static bool depends_on_cpu(void)
{
	return emu_control(world)->mode & HV_MODE_CPUS;
}

/* A call without records must be counted: the disturbance took its return stack or counter. */
static void check_disturbed(const struct emu_case *c, bool same_stack)
{
	struct found found = read_rings();
	uint64_t nr_no_stack = 0, nr_no_count = 0;

	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++) {
		nr_no_stack += emu_state(world, cpu)->nr_no_stack;
		nr_no_count += emu_state(world, cpu)->nr_no_count;
	}
	check_registers();
	check_stacks(c);
	if (c->nr_entries == 2) { /* one of the two belongs to the call itself */
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
		ck_assert_uint_eq(hits_of(EMU_TRACED_OTHER_OFF) + nr_no_count, 1);
}

START_TEST(disturbed_before_each_instruction)
{
	const struct emu_case *c = &emu_graph_cases[_i / NR_DISTURBANCES];
	unsigned d = (unsigned)_i % NR_DISTURBANCES;
	static struct emu_moment start;
	uint64_t nr;

	begin(c);
	emu_save(world, &start);
	nr = world->nr_done;
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	nr = world->nr_done - nr;
	ck_assert_uint_gt(nr, 5);
	ck_assert_uint_lt(nr, STEPS_MAX);
	for (uint64_t n = 0; n < nr; n++) {
		emu_come_back(world, &start);
		ck_assert(emu_step(world, n));
		ck_assert(disturbances[d].happens(world));
		ck_assert(emu_run(world, EMU_CALLER_OFF));
		check_disturbed(c, disturbances[d].same_stack);
	}
}
END_TEST

/* There is room for one more frame, or for two. If an interrupt at any instruction finds no room,
 * it marks the stack slow. That mark must not get lost. */
START_TEST(overruns_of_interrupts_are_kept)
{
	unsigned nr_open = HV_FRAMES_MAX - 1 - (unsigned)_i, nr_missed = 0;
	static struct emu_moment start;
	struct hv_stack *stack = emu_home(world, 0);
	uint64_t nr;

	begin(&emu_graph_cases[0]);
	emu_open(world, 0, nr_open);
	memcpy(memory_before, world->host, sizeof(memory_before));
	emu_save(world, &start);
	nr = world->nr_done;
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	nr = world->nr_done - nr;
	for (uint64_t n = 0; n < nr; n++) {
		struct found found;

		emu_come_back(world, &start);
		ck_assert(emu_step(world, n));
		ck_assert(emu_interrupt_twice(world));
		ck_assert(emu_run(world, EMU_CALLER_OFF));
		check_registers();
		check_stacks(&emu_graph_cases[0]);
		found = read_rings();
		ck_assert_uint_eq(found.outer.entries, found.outer.exits);
		ck_assert_uint_eq(found.inner.entries, found.inner.exits);
		ck_assert_uint_eq(found.outer.entries + found.inner.entries + stack->overrun, 3);
		nr_missed += stack->overrun;
	}
	ck_assert_uint_gt(nr_missed, 0);
}
END_TEST

/* -- stacks ------------------------------------------------------------------------------------ */

static void run_to_the_body(void)
{
	ck_assert(emu_run(world, EMU_TRACED_OFF + 8));
}

/* Two tasks run on two vCPUs and two kernel stacks, and compete for the only return stack without
 * frames. */
struct rivals {
	unsigned mine, theirs; /* kernel stacks of cat, whose home bucket is `wanted`, and of dd */
	struct hv_stack *wanted;
	struct emu_regs at_body; /* of dd */
};

static const struct emu_case *case_of(const char *name)
{
	for (unsigned i = 0; i < emu_nr_graph_cases; i++)
		if (strcmp(emu_graph_cases[i].name, name) == 0)
			return &emu_graph_cases[i];
	ck_abort_msg("no case '%s'", name);
}

/* KNOWN: the return stack was cat's, and has no frames now. Otherwise it has no owner. */
static void set_up_rivals(const char *name, bool known, struct rivals *r)
{
	begin(case_of(name));
	r->mine = emu_home(world, 0) < emu_home(world, 1);
	r->theirs = !r->mine;
	r->wanted = emu_home(world, r->mine);
	for (unsigned i = 0; i < EMU_NR_STACKS; i++)
		emu_stack(world, i)->word = (0x1000000ull << i) | FRAME;
	r->wanted->word = 0;
	if (known)
		emu_open(world, r->mine, 0);
	emu_tasks(world)->cat.stack = emu_key(r->mine);
	emu_tasks(world)->dd.stack = emu_key(r->theirs);
	emu_tasks(world)->dd.cpu_number = 1;
	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, emu_sp(r->mine));
	emu_get(world, &before);
	memcpy(memory_before, world->host, sizeof(memory_before));
}

/* The other vCPU executes dd up to the body of its traced function and stops there. */
static void rival_calls(struct rivals *r)
{
	struct emu_regs regs;

	emu_get(world, &regs);
	emu_set_current(world, &emu_tasks(world)->dd);
	emu_enter(world, EMU_TRACED_OTHER_OFF, EMU_CALLER_OTHER_OFF, emu_sp(r->theirs));
	ck_assert(emu_run(world, EMU_TRACED_OTHER_OFF + 8));
	emu_get(world, &r->at_body);
	emu_set_current(world, &emu_tasks(world)->cat);
	emu_set(world, &regs);
}

static void rival_returns(struct rivals *r)
{
	struct emu_regs regs;

	emu_get(world, &regs);
	emu_set_current(world, &emu_tasks(world)->dd);
	emu_set(world, &r->at_body);
	ck_assert(emu_run(world, EMU_CALLER_OTHER_OFF));
	emu_set_current(world, &emu_tasks(world)->cat);
	emu_set(world, &regs);
}

static void check_rivals(const struct rivals *r, const char *name)
{
	const struct emu_case *c = case_of(name);
	struct found found = read_rings();
	uint64_t nr_missed = emu_state(world, 0)->nr_no_stack + emu_state(world, 1)->nr_no_stack;

	check_registers();
	check_stacks(c);
	ck_assert_uint_eq(r->wanted->word & HV_STACK_NR_MASK, 0);
	ck_assert_uint_eq(found.outer.entries, found.outer.exits);
	ck_assert_uint_eq(found.inner.entries, found.inner.exits);
	if (c->nr_entries)
		ck_assert_uint_eq(found.outer.entries + found.inner.entries + nr_missed, 2);
}

/* dd calls before each instruction of cat's call and stays in its function while cat continues. _i
 * selects the case and the task that returns first. */
static const char *const first_calls[] = {
	"call and return, first frame of a stack",
	"call and return, of a stack seen first",
	"profile, first frame of a stack",
	"profile, of a stack seen first",
};
#define NR_FIRST_CALLS (2 * (int)HV_ARRAY_LEN(first_calls))

START_TEST(two_vcpus_compete_for_a_return_stack)
{
	const char *name = first_calls[_i / 2];
	static struct emu_moment start;
	struct rivals r;
	unsigned nr_mine = 0, nr_theirs = 0;
	uint64_t nr;

	set_up_rivals(name, _i / 2 % 2 == 0, &r);
	emu_save(world, &start);
	nr = world->nr_done;
	run_to_the_body();
	nr = world->nr_done - nr;
	for (uint64_t n = 0; n <= nr; n++) {
		emu_come_back(world, &start);
		ck_assert(emu_step(world, n));
		rival_calls(&r);
		if (n < nr)
			run_to_the_body();
		ck_assert_uint_eq(r.wanted->word & HV_STACK_NR_MASK, FRAME);
		nr_mine += r.wanted->frames[0].retp_gva == emu_sp(r.mine);
		nr_theirs += r.wanted->frames[0].retp_gva == emu_sp(r.theirs);
		if (_i % 2)
			rival_returns(&r);
		ck_assert(emu_run(world, EMU_CALLER_OFF));
		if (_i % 2 == 0)
			rival_returns(&r);
		check_rivals(&r, name);
	}
	ck_assert_uint_eq(nr_mine + nr_theirs, nr + 1);
	ck_assert_uint_gt(nr_mine, 0);
	ck_assert_uint_gt(nr_theirs, 0);
}
END_TEST

/* Some frames were left without a return. The trampoline finds the returning frame below them and
 * stops tracing the stack. */
START_TEST(frames_left_without_return)
{
	struct hv_stack *stack = emu_home(world, 0);

	begin(&emu_graph_cases[0]);
	run_to_the_body();
	ck_assert_uint_eq(stack->word & HV_STACK_NR_MASK, 3 * FRAME);
	stack->frames[3] = stack->frames[2];
	stack->frames[3].retp_gva -= 64;
	stack->frames[3].caller_gva = 0x1234;
	stack->frames[4] = stack->frames[3];
	stack->frames[4].retp_gva -= 16;
	stack->word += 2 * FRAME;
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	check_registers();
	ck_assert_uint_eq(stack->word, emu_key(0) | HV_STACK_SLOW | 2 * FRAME);
	ck_assert_uint_eq(stack->stopped, 1);
}
END_TEST

/* The mode changes while a call is open. Its return is not recorded. */
START_TEST(a_return_in_a_pause)
{
	static const uint32_t modes[] = {HV_MODE_PAUSED, HV_MODE_OFF, HV_MODE_SILENT};
	struct found found;

	begin(&emu_graph_cases[0]);
	run_to_the_body();
	emu_control(world)->mode = modes[_i];
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	check_registers();
	found = read_rings();
	ck_assert_uint_eq(found.outer.entries, 1);
	ck_assert_uint_eq(found.outer.exits, 0);
	check_stacks(&emu_graph_cases[0]);
}
END_TEST

/* A function called on the interrupt's own stack is one level deeper than the interrupted
 * function. */
START_TEST(an_interrupt_continues_the_depth)
{
	struct found found;

	begin(&emu_graph_cases[0]);
	run_to_the_body();
	ck_assert(emu_interrupt_elsewhere(world));
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	found = read_rings();
	ck_assert_uint_eq(found.outer.entry_depth, 2);
	ck_assert_uint_eq(found.inner.entry_depth, 3);
	ck_assert_uint_eq(found.inner.exit_depth, 3);
	check_stacks(&emu_graph_cases[0]);
}
END_TEST

/* The square of the duration of a very long call exceeds 64 bits. */
START_TEST(a_long_call)
{
	unsigned __int128 square;
	const struct hv_count *count = NULL;

	begin(case_of("profile"));
	run_to_the_body();
	emu_home(world, 0)->frames[2].tsc = 0;
	for (unsigned i = 0; i < EMU_NR_COUNTS; i++)
		if (emu_counts(world, 0)[i].hits)
			count = &emu_counts(world, 0)[i];
	ck_assert_ptr_nonnull(count);
	emu_counts(world, 0)[count - emu_counts(world, 0)].squares = UINT64_MAX;
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	square = (unsigned __int128)count->ticks * count->ticks + UINT64_MAX;
	ck_assert_uint_eq(count->squares, (uint64_t)square);
	ck_assert_uint_eq(count->squares_high, (uint64_t)(square >> 64));
}
END_TEST

static void add_tests(TCase *tc)
{
	int nr = (int)emu_nr_graph_cases;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_call, 0, nr);
	tcase_add_loop_test(tc, arguments_arrive, 0, nr);
	tcase_add_loop_test(tc, overruns_of_interrupts_are_kept, 0, 2);
	tcase_add_loop_test(tc, two_vcpus_compete_for_a_return_stack, 0, NR_FIRST_CALLS);
	tcase_add_test(tc, frames_left_without_return);
	tcase_add_loop_test(tc, a_return_in_a_pause, 0, 3);
	tcase_add_test(tc, an_interrupt_continues_the_depth);
	tcase_add_test(tc, a_long_call);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0, nr * (int)NR_DISTURBANCES);
}

int main(void)
{
	return run_suite("trampoline_" EMU_NAME "_graph", add_tests);
}
