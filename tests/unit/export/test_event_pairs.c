/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which event ends which, and the durations between them. */
#include <check.h>
#include <string.h>

#include "export/event_pairs.h"
#include "tests/lib/run_suite.h"

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD(name, off) "\tfield:unsigned int " name ";\toffset:" off ";\tsize:4;\tsigned:0;\n"
#define FORMAT(name, id, fields)                                                                   \
	"name: " name "\nID: " id "\nformat:\n" COMMON fields "\nprint fmt: \"\"\n"
#define EVENT(system, name, id, fields)                                                            \
	{                                                                                          \
		system,                                                                            \
		{                                                                                  \
			FORMAT(name, id, fields), sizeof(FORMAT(name, id, fields)) - 1             \
		}                                                                                  \
	}

enum {
	IRQ = 1,
	IRQ_END,
	ISSUE,
	DONE,
	WAKING,
	SWITCH,
	WORK,
	WORK_END,
	INSERT,
	LONE,
	READ,
	READ_END,
	EXIT,
	ENTRY
};

static const struct hv_export_event events[] = {
	EVENT("irq", "irq_handler_entry", "1", FIELD("irq", "8")),
	EVENT("irq", "irq_handler_exit", "2", FIELD("irq", "8")),
	EVENT("block", "block_rq_issue", "3", FIELD("dev", "8") FIELD("sector", "12")),
	EVENT("block", "block_rq_complete", "4", FIELD("dev", "8") FIELD("sector", "12")),
	EVENT("block", "block_rq_insert", "9", FIELD("dev", "8") FIELD("sector", "12")),
	EVENT("sched", "sched_waking", "5", FIELD("pid", "8")),
	EVENT("sched", "sched_switch", "6", FIELD("next_pid", "12")),
	EVENT("workqueue", "workqueue_execute_start", "7", FIELD("work", "8")),
	EVENT("workqueue", "workqueue_execute_end", "8", FIELD("work", "8")),
	EVENT("host", "kvm_exit", "13", FIELD("exit_reason", "8")),
	EVENT("host", "kvm_entry", "14", FIELD("vcpu_id", "8")),
	EVENT("other", "lone_begin", "10", ""),
	EVENT("syscalls", "sys_enter_read", "11", FIELD("__syscall_nr", "8")),
	EVENT("syscalls", "sys_exit_read", "12", FIELD("__syscall_nr", "8")),
};

static struct hv_page_decode decode;
static struct hv_event_pairs pairs;
static struct hv_event_duration ended[HV_EVENT_PAIRS_ENDS_MAX];

static void begin(void)
{
	static const struct hv_export_head head = {.events = events,
						   .nr_events = HV_ARRAY_LEN(events)};

	hv_page_decode_init(&decode, &head);
	hv_event_pairs_init(&pairs, &decode.catalogue);
}

static void end(void)
{
	hv_event_pairs_deinit(&pairs);
	hv_page_decode_deinit(&decode);
}

/* Returns the number of durations that event ID of PID on CPU ends. A and B are its fields. */
static unsigned see(uint16_t id, unsigned cpu, uint64_t time, uint32_t pid, uint32_t a, uint32_t b)
{
	uint32_t entry[4] = {id, pid, a, b};
	struct hv_event e = {
		.kind = HV_EVENT_GUESTS,
		.id = id,
		.cpu = cpu,
		.time_ns = time,
		.pid = pid,
		.entry = {(const uint8_t *)entry, sizeof(entry)},
	};

	return hv_event_pairs_see(&pairs, &e, ended);
}

static void check_end(const char *system, const char *name, const char *wanted)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	ck_assert_msg(hv_event_pair_end(system, name, &text) == (wanted != NULL), "%s", name);
	if (wanted)
		ck_assert_str_eq(text.data, wanted);
}

START_TEST(ends_are_known_by_name)
{
	check_end("irq", "irq_handler_entry", "irq_handler_exit");
	check_end("syscalls", "sys_enter_openat", "sys_exit_openat");
	check_end("syscalls", "sys_enter_*", "sys_exit_*");
	check_end("raw_syscalls", "sys_enter", "sys_exit");
	check_end("block", "block_rq_issue", "block_rq_complete");
	check_end("sched", "sched_waking", "sched_switch");
	check_end("vmscan", "mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end");
	check_end("ext4", "ext4_sync_file_enter", "ext4_sync_file_exit");
	check_end("irq", "*_entry", "*_exit");
	check_end("host", "kvm_exit", "kvm_entry");
	check_end("host", "sched_waking", "sched_switch");
	check_end("sched", "sched_switch", NULL);
	check_end("sched", "kvm_exit", NULL);
	check_end("host", "kvm_entry", NULL);
	check_end("other", "sys_enter_openat", NULL);
	check_end("irq", "_entry", NULL);
	check_end("irq", "irq_handler_exit", NULL);
}
END_TEST

START_TEST(pairs_need_both_events)
{
	ck_assert_uint_eq(pairs.nr, 7);
}
END_TEST

START_TEST(an_interrupt_of_another_number_ends_nothing)
{
	ck_assert_uint_eq(see(IRQ, 0, 100, 7, 11, 0), 0);
	ck_assert_uint_eq(see(IRQ_END, 0, 150, 7, 12, 0), 0);
	ck_assert_uint_eq(see(IRQ_END, 0, 160, 8, 11, 0), 0);
	ck_assert_uint_eq(see(IRQ_END, 0, 170, 7, 11, 0), 1);
	ck_assert_uint_eq(ended[0].passed, 70);
	ck_assert_uint_eq(ended[0].of, 11);
	ck_assert_str_eq(ended[0].pair->of->name, "irq");
	ck_assert_uint_eq(see(IRQ_END, 0, 180, 7, 11, 0), 0);
}
END_TEST

/* The idle tasks of all vCPUs share a pid. */
START_TEST(idle_tasks_are_paired_per_vcpu)
{
	see(IRQ, 0, 100, 0, 11, 0);
	see(IRQ, 1, 110, 0, 11, 0);
	ck_assert_uint_eq(see(IRQ_END, 0, 130, 0, 11, 0), 1);
	ck_assert_uint_eq(ended[0].passed, 30);
	ck_assert_uint_eq(see(IRQ_END, 1, 150, 0, 11, 0), 1);
	ck_assert_uint_eq(ended[0].passed, 40);
}
END_TEST

START_TEST(a_request_ends_elsewhere)
{
	see(INSERT, 0, 90, 7, 800, 5);
	ck_assert_uint_eq(see(ISSUE, 0, 100, 7, 800, 5), 1);
	ck_assert_uint_eq(ended[0].passed, 10);
	see(ISSUE, 0, 101, 7, 801, 5);
	see(ISSUE, 0, 102, 7, 800, 6);
	ck_assert_uint_eq(see(DONE, 1, 300, 0, 800, 5), 1);
	ck_assert_uint_eq(ended[0].passed, 200);
	ck_assert_uint_eq(ended[0].of, 800);
	ck_assert_uint_eq(see(DONE, 1, 300, 0, 801, 6), 0);
}
END_TEST

START_TEST(a_task_waits_until_it_runs)
{
	see(WAKING, 0, 100, 7, 61, 0);
	ck_assert_uint_eq(see(SWITCH, 1, 140, 0, 0, 62), 0);
	ck_assert_uint_eq(see(SWITCH, 1, 150, 0, 0, 61), 1);
	ck_assert_uint_eq(ended[0].passed, 50);
	ck_assert_ptr_null(ended[0].pair->of);
}
END_TEST

START_TEST(other_events_are_paired_by_task)
{
	see(WORK, 0, 100, 7, 1, 0);
	see(READ, 0, 100, 8, 0, 0);
	ck_assert_uint_eq(see(WORK_END, 1, 140, 8, 1, 0), 0);
	ck_assert_uint_eq(see(WORK_END, 1, 150, 7, 1, 0), 1);
	ck_assert_uint_eq(see(READ_END, 1, 160, 8, 0, 0), 1);
	ck_assert_uint_eq(ended[0].passed, 60);
	ck_assert_uint_eq(see(LONE, 0, 170, 7, 0, 0), 0);
}
END_TEST

/* The tasks are host threads that run one vCPU each. */
START_TEST(exits_end_with_the_entry_of_their_thread)
{
	see(EXIT, 0, 100, 501, 78, 0);
	see(EXIT, 1, 110, 502, 10, 0);
	ck_assert_uint_eq(see(ENTRY, 0, 130, 501, 0, 0), 1);
	ck_assert_uint_eq(ended[0].passed, 30);
	ck_assert_uint_eq(ended[0].of, 78);
	ck_assert_uint_eq(see(ENTRY, 0, 140, 501, 0, 0), 0);
}
END_TEST

START_TEST(backward_clocks_give_zero)
{
	see(WORK, 0, 100, 7, 1, 0);
	ck_assert_uint_eq(see(WORK_END, 0, 90, 7, 1, 0), 1);
	ck_assert_uint_eq(ended[0].passed, 0);
}
END_TEST

START_TEST(losses_drop_open_events)
{
	see(WORK, 0, 100, 7, 1, 0);
	hv_event_pairs_lose(&pairs);
	ck_assert_uint_eq(see(WORK_END, 0, 900, 7, 1, 0), 0);
}
END_TEST

START_TEST(a_truncated_event_is_ignored)
{
	static const uint8_t entry[8];
	const struct hv_event cut = {
		.kind = HV_EVENT_GUESTS, .id = IRQ, .pid = 7, .entry = {entry, sizeof(entry)}};

	ck_assert_uint_eq(hv_event_pairs_see(&pairs, &cut, ended), 0);
	ck_assert_uint_eq(see(IRQ_END, 0, 170, 7, 0, 0), 0);
}
END_TEST

/* The table has room for only some of the open events. */
START_TEST(too_many_open_events)
{
	unsigned nr = 0;

	for (uint32_t pid = 1; pid <= 4 * HV_EVENT_PAIRS_OPEN_MAX; pid++)
		see(WORK, 0, pid, pid, 1, 0);
	for (uint32_t pid = 1; pid <= 4 * HV_EVENT_PAIRS_OPEN_MAX; pid++)
		nr += see(WORK_END, 0, 1000000, pid, 1, 0);
	ck_assert_uint_gt(nr, HV_EVENT_PAIRS_OPEN_MAX / 2);
	ck_assert_uint_le(nr, HV_EVENT_PAIRS_OPEN_MAX);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, ends_are_known_by_name);
	tcase_add_test(tc, pairs_need_both_events);
	tcase_add_test(tc, an_interrupt_of_another_number_ends_nothing);
	tcase_add_test(tc, idle_tasks_are_paired_per_vcpu);
	tcase_add_test(tc, a_request_ends_elsewhere);
	tcase_add_test(tc, a_task_waits_until_it_runs);
	tcase_add_test(tc, other_events_are_paired_by_task);
	tcase_add_test(tc, exits_end_with_the_entry_of_their_thread);
	tcase_add_test(tc, backward_clocks_give_zero);
	tcase_add_test(tc, losses_drop_open_events);
	tcase_add_test(tc, a_truncated_event_is_ignored);
	tcase_add_test(tc, too_many_open_events);
}

int main(void)
{
	return run_suite("event_pairs", add_tests);
}
