/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flag that makes tasks use the tracepoints of system calls. */
#include "tracer/tracepoints/event_tracer.h"

#include "kernel/events/tracepoint_state.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"

#define FLAG   0x10u
#define OTHERS 0x41u
#define NR     3u

static struct fr r;
static struct hv_tracepoint_layout layout;
static uint64_t tasks[NR]; /* the last one is a thread */
static uint64_t lock;

static uint8_t *flags_of(uint64_t task)
{
	return fk_host(&r.t.f, task + layout.syscalls.flag_off);
}

/* Links the list of one process: its head is in its signal_struct, FIRST is the leader, LAST the
 * last thread. */
static void link_back(uint64_t first, uint64_t last)
{
	uint64_t head = fr_word(&r, first + FT_SIGNAL) + 16;

	fk_u64(&r.t.f, first + FT_THREAD_NODE + 8, head);
	if (last != first)
		fk_u64(&r.t.f, last + FT_THREAD_NODE + 8, first + FT_THREAD_NODE);
}

static void set_up(void)
{
	uint64_t count;

	fr_init(&r);
	tasks[0] = r.task;
	tasks[1] = ft_process(&r.t, 80, "sh", FR_SLEEP_FROM);
	tasks[2] = ft_thread(&r.t, tasks[1], 81, "sh", FR_SLEEP_FROM);
	link_back(tasks[0], tasks[0]);
	link_back(tasks[1], tasks[2]);
	count = fk_alloc(&r.t.f, 16);
	lock = count + 8;
	layout = (struct hv_tracepoint_layout){.has_syscalls = true};
	for (unsigned i = 0; i < HV_TRACEPOINT_LOCKS; i++)
		layout.locks[i].owner = hv_gva(lock);
	layout.locks[0].name = "tracepoints_mutex";
	layout.nr_locks = HV_TRACEPOINT_LOCKS;
	layout.syscalls = (struct hv_syscall_work){.count = hv_gva(count),
						   .flag_off = 11,
						   .flag = FLAG,
						   .node_off = FT_THREAD_NODE,
						   .next_off = 0,
						   .prev_off = 8};
	for (unsigned i = 0; i < NR; i++)
		*flags_of(tasks[i]) = OTHERS;
}

static void tear_down(void)
{
	fr_deinit(&r);
}

static void set(uint32_t count)
{
	struct hv_err *err;

	fk_u32(&r.t.f, layout.syscalls.count.v, count);
	err = hv_syscall_tasks_set(&r.tracee, &layout);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TASK), 0);
}

START_TEST(all_tasks_get_and_lose_the_flag)
{
	set(1);
	for (unsigned i = 0; i < NR; i++)
		ck_assert_uint_eq(*flags_of(tasks[i]), OTHERS | FLAG);
	ck_assert_uint_eq(*flags_of(r.t.init_task), 0); /* idle */
	*flags_of(tasks[1]) &= ~FLAG;			/* created since */
	set(2);
	ck_assert_uint_eq(*flags_of(tasks[1]), OTHERS | FLAG);
	set(0);
	for (unsigned i = 0; i < NR; i++)
		ck_assert_uint_eq(*flags_of(tasks[i]), OTHERS);
	layout.has_syscalls = false;
	set(1);
	ck_assert_uint_eq(*flags_of(tasks[0]), OTHERS);
}
END_TEST

static void change_flags(struct fr *fr)
{
	*flags_of(tasks[0]) ^= 0x80;
	fr->when_held = NULL;
}

/* The task changes its other flags between the plan and the hold. */
START_TEST(a_task_that_changes_is_retried)
{
	r.when_held = change_flags;
	set(1);
	ck_assert_uint_eq(*flags_of(tasks[0]), OTHERS | FLAG | 0x80);
}
END_TEST

/* The memory of a task that has ended may contain anything. */
START_TEST(ended_tasks_are_left_alone)
{
	fk_u64(&r.t.f, tasks[0] + FT_THREAD_NODE + 8, 0xdead000000000122); /* LIST_POISON2 */
	fk_u64(&r.t.f, tasks[2] + FT_THREAD_NODE + 8, tasks[2] + FT_COMM);
	set(1);
	ck_assert_uint_eq(*flags_of(tasks[0]), OTHERS);
	ck_assert_uint_eq(*flags_of(tasks[1]), OTHERS | FLAG);
	ck_assert_uint_eq(*flags_of(tasks[2]), OTHERS);
}
END_TEST

START_TEST(not_while_the_guest_changes_tracepoints)
{
	struct hv_err *err;

	fk_u64(&r.t.f, lock, 1);
	fk_u32(&r.t.f, layout.syscalls.count.v, 1);
	err = hv_syscall_tasks_set(&r.tracee, &layout);
	ck_assert(err && err->code == EBUSY && strstr(err->message, "tracepoints_mutex"));
	hv_err_free(err);
	ck_assert_uint_eq(*flags_of(tasks[0]), OTHERS);
}
END_TEST

static void toggle(struct fr *fr, struct hv_gpa at)
{
	if (at.v != fr->t.init_task + FT_TASKS - FK_BASE + FK_GPA)
		return;
	fk_u64(&fr->t.f, layout.syscalls.count.v, !fr_word(fr, layout.syscalls.count.v));
	fr->when_read = NULL;
}

/* The guest enables or disables system call tracepoints while hvtrace reads the tasks. */
START_TEST(not_while_the_guest_switches_them)
{
	static const char *const texts[] = {"the guest switches system calls on",
					    "the guest switches system calls off"};

	fk_u64(&r.t.f, layout.syscalls.count.v, (uint64_t)_i);
	*flags_of(tasks[0]) ^= _i ? 0 : FLAG;
	r.when_read = toggle;
	expect_error(hv_syscall_tasks_set(&r.tracee, &layout), EBUSY, texts[_i]);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, all_tasks_get_and_lose_the_flag);
	tcase_add_test(tc, a_task_that_changes_is_retried);
	tcase_add_test(tc, ended_tasks_are_left_alone);
	tcase_add_loop_test(tc, not_while_the_guest_switches_them, 0, 2);
	tcase_add_test(tc, not_while_the_guest_changes_tracepoints);
}

int main(void)
{
	return run_suite("syscall_tasks", add_tests);
}
