/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of tasks from pages of the scheduler's events: blocked, waiting, running; stacks and wakers;
 * losses, tasks that begin and end, too many tasks. Times are in us after the first event. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "profile/offcpu.h"
#include "tests/lib/run_suite.h"

#define PAGE  4096
#define START UINT64_C(1000000000)
#define US    UINT64_C(1000)
#define LOST  (UINT64_C(1) << 31)

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define WOKEN                                                                                      \
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                                 \
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"                                     \
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"                                      \
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"

enum { STACK = 4, SWITCH = 300, WAKING = 301, NEW = 302, PROGRAM = 303, SAMPLE = 304 };

static const char switch_format[] =
	"name: sched_switch\nID: 300\n" COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
static const char waking_format[] = "name: sched_waking\nID: 301\n" COMMON WOKEN;
static const char new_format[] = "name: sched_wakeup_new\nID: 302\n" COMMON WOKEN;
static const char program_format[] =
	"name: block\nID: 303\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc u64[] stack;\toffset:16;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char sample_format[] =
	"name: sample\nID: 304\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:s32 user;\toffset:16;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
static const char stack_format[] =
	"name: kernel_stack\nID: 4\n" COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char kallsyms[] = "ffffffff81000000 T __schedule\n"
			       "ffffffff81000100 T schedule\n"
			       "ffffffff81000200 T pipe_read\n"
			       "ffffffff81000300 T pipe_write\n"
			       "ffffffff81000400 T try_to_wake_up\n"
			       "ffffffff81000500 T tick\n"
			       "ffffffff81000600 T asm_interrupt\n"
			       "ffffffff81000700 T vfs_write\n";

#define AT(number) (0xffffffff81000010u + (number)*0x100u)

enum { SCHEDULE_IN, SCHEDULE, READ, PIPE_WRITE, WAKE, TICK, ENTRY, WRITE };

static const uint64_t reads[] = {AT(SCHEDULE_IN), AT(SCHEDULE), AT(READ)};
static const uint64_t writes[] = {AT(WAKE), AT(PIPE_WRITE), AT(WRITE)};
static const uint64_t interrupts[] = {AT(WAKE), AT(TICK), AT(ENTRY), AT(WRITE)};

enum { RUNNABLE = 0, SLEEPS = 1, ZOMBIE = 0x20, PREEMPTED = 0x100 };

static struct hv_export *x;
static struct hv_offcpu *o;

static struct {
	uint8_t bytes[PAGE];
	size_t used;
	uint64_t time_ns;
	bool has_lost;
} pages[2];

static void begin(void)
{
	static const struct hv_export_event events[] = {
		{"sched", {switch_format, sizeof(switch_format) - 1}},
		{"sched", {waking_format, sizeof(waking_format) - 1}},
		{"sched", {new_format, sizeof(new_format) - 1}},
		{"hvtrace", {program_format, sizeof(program_format) - 1}},
		{"hvtrace", {sample_format, sizeof(sample_format) - 1}},
		{"ftrace", {stack_format, sizeof(stack_format) - 1}},
	};
	static const struct hv_export_head head = {.nr_cpus = 2,
						   .page_bytes = PAGE,
						   .events = events,
						   .nr_events = HV_ARRAY_LEN(events),
						   .kallsyms = {kallsyms, sizeof(kallsyms) - 1}};
	static const struct hv_export_config config = {.path = "none", .fd = -1};

	ck_assert_ptr_null(hv_export_open(&hv_offcpu_format, &config, &head, &x));
	o = hv_offcpu_of(x);
	o->has_stacks = true;
	memset(pages, 0, sizeof(pages));
}

static void end(void)
{
	hv_export_free(x);
}

static void add_page(unsigned cpu)
{
	uint64_t commit = pages[cpu].used | (pages[cpu].has_lost ? LOST : 0);

	if (!pages[cpu].used)
		return;
	memcpy(pages[cpu].bytes + 8, &commit, sizeof(commit));
	ck_assert_ptr_null(hv_export_add(x, cpu, (struct hv_span){pages[cpu].bytes, PAGE}));
	memset(&pages[cpu], 0, sizeof(pages[cpu]));
}

/* The next event of CPU comes after a loss. */
static void lose(unsigned cpu)
{
	add_page(cpu);
	pages[cpu].has_lost = true;
}

/* Adds an entry of LEN bytes, a multiple of 4. */
static void add(unsigned cpu, unsigned at_us, uint16_t type, uint32_t pid, uint8_t *entry,
		size_t len)
{
	uint64_t time_ns = START + at_us * US;
	uint32_t head;

	if (pages[cpu].used + 4 + len > PAGE - 16 || (time_ns - pages[cpu].time_ns) >> 27)
		add_page(cpu);
	if (!pages[cpu].used) {
		memcpy(pages[cpu].bytes, &time_ns, sizeof(time_ns));
		pages[cpu].time_ns = time_ns;
	}
	head = (uint32_t)len / 4 | (uint32_t)(time_ns - pages[cpu].time_ns) << 5;
	pages[cpu].time_ns = time_ns;
	memcpy(entry, &type, sizeof(type));
	memcpy(entry + 4, &pid, sizeof(pid));
	memcpy(pages[cpu].bytes + 16 + pages[cpu].used, &head, sizeof(head));
	memcpy(pages[cpu].bytes + 20 + pages[cpu].used, entry, len);
	pages[cpu].used += sizeof(head) + len;
}

static void put_name(uint8_t *to, uint32_t pid)
{
	snprintf((char *)to, 16, "t%u", pid);
}

static void switches(unsigned cpu, unsigned at_us, uint32_t prev, uint64_t state, uint32_t next)
{
	uint8_t entry[64] = {0};

	put_name(entry + 8, prev);
	memcpy(entry + 24, &prev, 4);
	memcpy(entry + 32, &state, 8);
	put_name(entry + 40, next);
	memcpy(entry + 56, &next, 4);
	add(cpu, at_us, SWITCH, prev, entry, sizeof(entry));
}

static void wakes(unsigned cpu, unsigned at_us, uint16_t type, uint32_t waker, uint8_t flags,
		  uint32_t pid)
{
	uint8_t entry[36] = {0};

	entry[2] = flags;
	put_name(entry + 8, pid);
	memcpy(entry + 24, &pid, 4);
	add(cpu, at_us, type, waker, entry, sizeof(entry));
}

static void stack(unsigned cpu, unsigned at_us, uint32_t pid, const uint64_t *callers, uint32_t nr)
{
	uint8_t entry[16 + 8 * 4] = {0};

	memcpy(entry + 8, &nr, 4);
	memcpy(entry + 16, callers, 8 * nr);
	add(cpu, at_us, STACK, pid, entry, 16 + 8 * nr);
}

static void program(unsigned cpu, unsigned at_us, uint32_t pid, uint64_t address)
{
	uint8_t entry[20 + 8] = {0};
	uint32_t loc = 8u << 16 | 20;

	memcpy(entry + 16, &loc, 4);
	memcpy(entry + 20, &address, 8);
	add(cpu, at_us, PROGRAM, pid, entry, sizeof(entry));
}

static void sample(unsigned cpu, unsigned at_us, uint32_t pid, uint32_t is_user)
{
	uint8_t entry[20] = {0};

	memcpy(entry + 16, &is_user, 4);
	add(cpu, at_us, SAMPLE, pid, entry, sizeof(entry));
}

static void finish(void)
{
	add_page(0);
	add_page(1);
	ck_assert_ptr_null(hv_export_turn(x));
	ck_assert_ptr_null(hv_export_end(x));
	hv_profile_name_rest(&o->profile);
}

static void check_folded(const char *wanted)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_flame_make(&o->profile.chains, &f);
	hv_flame_folded(&f, SIZE_MAX, &out);
	hv_text_add(&out, "");
	ck_assert_str_eq(out.data, wanted);
}

/* Compares the times of the task tPID. */
static void check_times(uint32_t pid, unsigned running, unsigned waiting, unsigned blocked,
			unsigned uncounted)
{
	const struct hv_chains *c = &o->profile.chains;
	const unsigned wanted[HV_OFFCPU_NR] = {running, waiting, blocked, uncounted};
	uint8_t name[16];

	put_name(name, pid);
	for (size_t i = 1; i < o->nr_groups; i++) {
		const char *group = c->frames[c->nodes[o->groups[i].node].frame].name;

		if (strcmp(group, (const char *)name) != 0)
			continue;
		for (unsigned kind = 0; kind < HV_OFFCPU_NR; kind++)
			ck_assert_msg(o->groups[i].ns[kind] == wanted[kind] * US,
				      "%s: kind %u: %lu ns, wanted %u us", group, kind,
				      (unsigned long)o->groups[i].ns[kind], wanted[kind]);
		return;
	}
	ck_abort_msg("no task %s", (const char *)name);
}

START_TEST(the_times_of_a_task)
{
	switches(0, 0, 0, RUNNABLE, 7);
	program(0, 90, 7, 0x401000);
	switches(0, 100, 7, SLEEPS, 0);
	stack(0, 100, 7, reads, 3);
	wakes(0, 400, WAKING, 0, HV_TRACE_HARDIRQ, 7);
	switches(0, 450, 0, RUNNABLE, 7);
	switches(0, 500, 7, RUNNABLE, 8);
	switches(0, 600, 8, SLEEPS, 7);
	switches(0, 650, 7, PREEMPTED, 8);
	switches(0, 680, 8, PREEMPTED, 7);
	switches(0, 700, 7, ZOMBIE, 8);
	switches(0, 800, 8, SLEEPS, 0);
	finish();
	check_times(7, 220, 180, 300, 0);
	check_times(8, 230, 520, 50, 0);
	check_folded("t8;[waiting for a vCPU] 520\n"
		     "t8;[blocked] 50\n"
		     "t7;[blocked];0x401000;pipe_read_[k] 300\n"
		     "t7;[waiting for a vCPU] 180\n");
}
END_TEST

/* The first event of a task shows what it did before. */
START_TEST(tasks_that_existed_before)
{
	switches(0, 0, 0, RUNNABLE, 9);
	switches(1, 100, 7, SLEEPS, 0);
	wakes(0, 300, WAKING, 9, 0, 8);
	switches(1, 400, 0, RUNNABLE, 10);
	wakes(0, 500, NEW, 9, 0, 11);
	switches(0, 1000, 9, SLEEPS, 0);
	finish();
	check_times(7, 100, 0, 900, 0);
	check_times(8, 0, 700, 300, 0);
	check_times(9, 1000, 0, 0, 0);
	check_times(10, 600, 400, 0, 0);
	check_times(11, 0, 500, 0, 0);
}
END_TEST

START_TEST(a_task_that_migrates)
{
	switches(0, 0, 0, RUNNABLE, 7);
	switches(0, 100, 7, SLEEPS, 0);
	wakes(0, 300, WAKING, 0, HV_TRACE_SOFTIRQ, 7);
	switches(1, 350, 0, RUNNABLE, 7);
	switches(1, 400, 7, SLEEPS, 0);
	finish();
	check_times(7, 150, 50, 200, 0);
}
END_TEST

START_TEST(woken_before_it_leaves)
{
	switches(0, 0, 0, RUNNABLE, 7);
	wakes(1, 90, WAKING, 9, 0, 7);
	switches(0, 100, 7, SLEEPS, 0);
	switches(0, 300, 0, RUNNABLE, 7);
	switches(0, 400, 7, SLEEPS, 0);
	wakes(1, 500, WAKING, 9, 0, 7);
	switches(0, 500, 0, RUNNABLE, 7);
	finish();
	check_times(7, 200, 200, 100, 0);
}
END_TEST

/* A task may have run on the vCPU whose events were lost, so only tasks that run on the other vCPU
 * count. */
START_TEST(a_loss)
{
	switches(0, 0, 0, RUNNABLE, 7);
	switches(1, 0, 0, RUNNABLE, 6);
	switches(1, 50, 6, SLEEPS, 8);
	lose(1);
	wakes(0, 100, WAKING, 7, 0, 6);
	switches(0, 200, 7, SLEEPS, 9);
	wakes(0, 300, WAKING, 9, 0, 7);
	switches(1, 500, 0, RUNNABLE, 6);
	switches(0, 600, 9, SLEEPS, 7);
	switches(0, 700, 7, SLEEPS, 8);
	finish();
	check_times(6, 250, 0, 0, 450); /* runs 0-50 and 500-700 */
	check_times(7, 300, 0, 0, 400); /* runs 0-200 and 600-700 */
	check_times(8, 0, 50, 0, 650);
	check_times(9, 400, 0, 100, 200); /* runs 200-600 */
}
END_TEST

/* The loss is found after these intervals have ended. */
START_TEST(a_loss_that_is_found_late)
{
	switches(1, 0, 0, RUNNABLE, 8);
	switches(0, 0, 7, SLEEPS, 0);
	wakes(0, 20, WAKING, 0, HV_TRACE_HARDIRQ, 7);
	switches(0, 30, 0, RUNNABLE, 7);
	switches(1, 40, 8, RUNNABLE, 8);
	lose(1);
	switches(0, 100, 7, SLEEPS, 0);
	wakes(0, 200, WAKING, 0, HV_TRACE_HARDIRQ, 7);
	switches(0, 210, 0, RUNNABLE, 7);
	switches(1, 300, 8, SLEEPS, 0);
	switches(0, 400, 7, SLEEPS, 0);
	finish();
	check_times(7, 260, 10, 20, 110);
	check_times(8, 40, 0, 100, 260);
}
END_TEST

/* The new task has the pid of a task whose end was not seen. */
START_TEST(a_pid_is_used_again)
{
	switches(0, 0, 0, RUNNABLE, 7);
	switches(0, 100, 7, ZOMBIE, 0);
	wakes(0, 200, NEW, 9, 0, 7);
	switches(0, 250, 0, RUNNABLE, 7);
	wakes(0, 300, NEW, 9, 0, 7);
	switches(0, 400, 0, RUNNABLE, 7);
	finish();
	check_times(7, 100, 150, 0, 50);
}
END_TEST

/* Switches that contradict each other, and entries that are too short. */
START_TEST(contradictory_and_short_events)
{
	uint8_t entry[28] = {0};

	switches(0, 0, 0, RUNNABLE, 7);
	switches(1, 100, 0, RUNNABLE, 7);
	switches(0, 200, 7, SLEEPS, 7);
	add(0, 200, SWITCH, 7, entry, sizeof(entry));
	add(0, 200, WAKING, 7, entry, 8);
	switches(0, 300, 8, UINT64_MAX, 0);
	finish();
	check_times(7, 100, 0, 0, 200);
	check_times(8, 0, 0, 0, 300);
}
END_TEST

START_TEST(wakers)
{
	o->has_stacks = _i;
	o->has_wakers = true;
	switches(0, 0, 0, RUNNABLE, 7);
	switches(0, 100, 7, SLEEPS, 9);
	if (_i)
		stack(0, 100, 7, reads, 3);
	wakes(0, 300, WAKING, 9, 0, 7);
	wakes(0, 310, WAKING, 9, HV_TRACE_HARDIRQ, 8); /* interrupts the first one */
	stack(0, 310, 9, interrupts, 4);
	stack(0, 320, 9, writes, 3);
	switches(0, 400, 9, SLEEPS, 7);
	finish();
	check_times(7, 100, 100, 200, 0);
	check_times(8, 0, 90, 310, 0);
	check_folded(
		_i ? "t8;[blocked];[since before the profile];[interrupt];asm_interrupt_[k];"
		     "tick_[k] 310\n"
		     "t8;[waiting for a vCPU] 90\n"
		     "t7;[blocked];pipe_read_[k];[woken by t9];vfs_write_[k];pipe_write_[k] 200\n"
		     "t7;[waiting for a vCPU] 100\n"
		     "t9;[waiting for a vCPU] 100\n"
		   : "t8;[blocked];[since before the profile];[interrupt];asm_interrupt_[k];"
		     "tick_[k] 310\n"
		     "t8;[waiting for a vCPU] 90\n"
		     "t7;[blocked];[woken by t9];vfs_write_[k];pipe_write_[k] 200\n"
		     "t7;[waiting for a vCPU] 100\n"
		     "t9;[waiting for a vCPU] 100\n");
}
END_TEST

/* A task that still sleeps, and the stack of another task. */
START_TEST(sleeps_until_the_end)
{
	o->has_wakers = true;
	switches(0, 0, 0, RUNNABLE, 7);
	switches(0, 100, 7, SLEEPS, 9);
	stack(0, 100, 9, reads, 3);
	switches(0, 300, 9, ZOMBIE, 0);
	finish();
	check_times(7, 100, 0, 200, 0);
	check_folded("t7;[blocked];[not woken] 200\nt9;[waiting for a vCPU] 100\n");
}
END_TEST

/* A sample counts the time that its task ran since the previous one. */
START_TEST(samples_divide_the_time_of_running)
{
	o->has_running = true;
	switches(0, 0, 0, RUNNABLE, 7);
	sample(0, 40, 7, 1);
	stack(0, 40, 7, interrupts + 1, 2);
	switches(0, 60, 7, SLEEPS, 0);
	stack(0, 60, 7, reads, 3);
	wakes(0, 100, WAKING, 0, HV_TRACE_HARDIRQ, 7);
	switches(0, 110, 0, RUNNABLE, 7);
	sample(0, 150, 7, 0);
	stack(0, 150, 7, interrupts + 1, 3);
	switches(0, 170, 7, ZOMBIE, 8);
	sample(0, 180, 9, 1); /* not the running task */
	switches(0, 200, 8, SLEEPS, 0);
	finish();
	check_times(7, 120, 10, 40, 0);
	check_times(8, 30, 170, 0, 0);
	check_folded("t8;[waiting for a vCPU] 170\nt8;[running] 30\n"
		     "t7;[running] 60\nt7;[running];vfs_write_[k] 60\n"
		     "t7;[blocked];pipe_read_[k] 40\nt7;[waiting for a vCPU] 10\n");
}
END_TEST

/* The tick interrupts a waker between its event and the stack of that event. */
START_TEST(a_sample_before_the_stack_of_a_waking)
{
	o->has_running = o->has_wakers = true;
	switches(0, 0, 0, RUNNABLE, 7);
	wakes(0, 100, WAKING, 7, 0, 8);
	sample(0, 110, 7, 0);
	stack(0, 110, 7, interrupts + 1, 3);
	stack(0, 120, 7, writes, 3);
	switches(0, 130, 7, ZOMBIE, 8);
	finish();
	check_folded("t7;[running] 20\nt7;[running];vfs_write_[k] 110\n"
		     "t8;[blocked];[since before the profile];[woken by t7];vfs_write_[k];"
		     "pipe_write_[k] 100\n"
		     "t8;[waiting for a vCPU] 30\n");
}
END_TEST

/* Returns a repeatable random number. */
static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 8) % below;
}

static void add_random(uint32_t *seed, unsigned at_us)
{
	static const uint64_t states[] = {RUNNABLE, SLEEPS, 2, PREEMPTED};
	unsigned cpu = draw(seed, 2), kind = draw(seed, 9);
	uint32_t a = draw(seed, 6), b = draw(seed, 6);

	if (draw(seed, 40) == 0)
		lose(cpu);
	if (kind < 4)
		switches(cpu, at_us, a, states[draw(seed, 4)], b);
	else if (kind < 6)
		wakes(cpu, at_us, WAKING, a, (uint8_t)draw(seed, 32), b);
	else if (kind == 6)
		stack(cpu, at_us, a, draw(seed, 2) ? interrupts : reads, 3);
	else if (kind == 7)
		sample(cpu, at_us, a, draw(seed, 2));
	else
		program(cpu, at_us, a, 0x401000 + b);
}

/* For any events, the times of a task add up to the duration of the input, and the chains to the
 * times of the kinds that they show. */
START_TEST(random_events)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	uint32_t seed = (uint32_t)_i;
	struct hv_offcpu_times sum;

	o->has_stacks = _i % 3 != 0;
	o->has_wakers = _i % 3 != 1;
	o->has_running = _i % 2;
	switches(0, 0, 0, RUNNABLE, 0);
	for (unsigned i = 1; i <= 1000; i++)
		add_random(&seed, i);
	switches(1, 1001, 0, RUNNABLE, 0);
	finish();
	ck_assert_uint_eq(o->nr_groups, 6);
	for (size_t i = 1; i < o->nr_groups; i++) {
		uint64_t ns = 0;

		for (unsigned kind = 0; kind < HV_OFFCPU_NR; kind++)
			ns += o->groups[i].ns[kind];
		ck_assert_uint_eq(ns, 1001 * US);
	}
	sum = hv_offcpu_sum(o);
	hv_flame_make(&o->profile.chains, &f);
	ck_assert_uint_eq(f.nodes[0].total,
			  sum.ns[HV_OFFCPU_BLOCKED] + sum.ns[HV_OFFCPU_WAITING] +
				  (o->has_running ? sum.ns[HV_OFFCPU_RUNNING] : 0));
}
END_TEST

#define MANY (HV_OFFCPU_TASKS_MAX + 100)

/* Tasks that end make room. */
START_TEST(too_many_tasks)
{
	for (uint32_t i = 1; i <= MANY; i++) {
		wakes(0, i, NEW, 9, 0, i);
		if (_i) {
			switches(0, i, 0, RUNNABLE, i);
			switches(0, i, i, ZOMBIE, 0);
		}
	}
	finish();
	ck_assert_uint_eq(o->nr_no_room, _i ? 0 : 100);
	ck_assert_uint_le(o->nr_tasks, HV_OFFCPU_TASKS_MAX);
	ck_assert_uint_le(o->nr_groups, HV_OFFCPU_GROUPS_MAX);
}
END_TEST

/* If too many intervals are pending, the oldest are counted. */
START_TEST(many_intervals)
{
	switches(0, 0, 0, RUNNABLE, 9);
	for (uint32_t i = 0; i < 2 * HV_OFFCPU_RECENT_MAX; i++)
		switches(0, i + 1, i % 2 ? 7 : 9, RUNNABLE, i % 2 ? 9 : 7);
	finish();
	check_times(9, HV_OFFCPU_RECENT_MAX, HV_OFFCPU_RECENT_MAX, 0, 0);
	check_times(7, HV_OFFCPU_RECENT_MAX, HV_OFFCPU_RECENT_MAX, 0, 0);
}
END_TEST

static void check_has(const struct hv_text *text, const char *wanted)
{
	ck_assert_msg(strstr(text->data, wanted) != NULL, "no '%s' in: %s", wanted, text->data);
}

START_TEST(units)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	HV_AUTO_TEXT struct hv_text out = {0};

	o->profile.per = HV_PROFILE_PER_CPU;
	switches(1, 0, 0, RUNNABLE, 7);
	switches(1, 100000, 7, SLEEPS, 0);
	wakes(1, 350000, WAKING, 0, HV_TRACE_HARDIRQ, 7);
	finish();
	hv_flame_make(&o->profile.chains, &f);
	hv_flame_jsonl(&f, SIZE_MAX, &out);
	hv_flame_svg(&f, "title", SIZE_MAX, &out);
	hv_flame_text(&f, 1, &out);
	hv_flame_hottest(&f, 1, &out);
	hv_offcpu_table(o, 10, &out);
	hv_text_add(&out, "");
	check_has(&out, "{\"ns\":250000000,\"frames\":[{\"name\":\"vCPU 1\",\"kind\":\"group\"}");
	check_has(&out, "<title>t7: 0.250000 s, 100.00 %</title>");
	check_has(&out, "100.0 %      0.250 s    t7\n");
	check_has(&out, "     0.100 s      0.000 s      0.250 s      0.000 s  vCPU 1, t7\n");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, the_times_of_a_task);
	tcase_add_test(tc, tasks_that_existed_before);
	tcase_add_test(tc, a_task_that_migrates);
	tcase_add_test(tc, woken_before_it_leaves);
	tcase_add_test(tc, a_loss);
	tcase_add_test(tc, a_loss_that_is_found_late);
	tcase_add_test(tc, a_pid_is_used_again);
	tcase_add_test(tc, contradictory_and_short_events);
	tcase_add_loop_test(tc, wakers, 0, 2);
	tcase_add_test(tc, sleeps_until_the_end);
	tcase_add_test(tc, samples_divide_the_time_of_running);
	tcase_add_test(tc, a_sample_before_the_stack_of_a_waking);
	tcase_add_loop_test(tc, random_events, 0, 30);
	tcase_add_loop_test(tc, too_many_tasks, 0, 2);
	tcase_add_test(tc, many_intervals);
	tcase_add_test(tc, units);
}

int main(void)
{
	return run_suite("profile_offcpu", add_tests);
}
