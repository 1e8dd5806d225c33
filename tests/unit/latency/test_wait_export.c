/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits computed from pages of guest events with host events among them. */
#include <check.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "latency/wait_times.h"
#include "tests/lib/run_suite.h"

#define PAGE  4096
#define START 1000000

#define SWITCH_FORMAT(id)                                                                          \
	"name: sched_switch\nID: " id "\nformat:\n"                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                                 \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                            \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"                                \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"                                 \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"                               \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"                           \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"                                \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"                                 \
	"\nprint fmt: \"\"\n"

enum { GUEST = 300, HOST = 61440 };

static const char guest_format[] = SWITCH_FORMAT("300");
static const char host_format[] = SWITCH_FORMAT("61440");

struct entry {
	uint16_t type;
	uint8_t flags, preempt_count;
	uint32_t pid;
	char prev_comm[16];
	uint32_t prev_pid, prev_prio;
	uint64_t prev_state;
	char next_comm[16];
	uint32_t next_pid, next_prio;
};
_Static_assert(sizeof(struct entry) == 64, "as the formats say");

static struct hv_export *x;
static uint8_t page[PAGE];
static size_t used;
static uint64_t now_us;

static void begin_page(void)
{
	uint64_t time_ns = START;

	memset(page, 0, sizeof(page));
	memcpy(page, &time_ns, sizeof(time_ns));
	used = now_us = 0;
}

static void begin(void)
{
	static const struct hv_export_event events[] = {
		{"sched", {guest_format, sizeof(guest_format) - 1}},
		{"host", {host_format, sizeof(host_format) - 1}},
	};
	static const struct hv_export_head head = {
		.nr_cpus = 1, .page_bytes = PAGE, .events = events, .nr_events = 2};
	static const struct hv_export_config config = {.path = "none", .fd = -1};

	ck_assert_ptr_null(hv_export_open(&hv_wait_format, &config, &head, &x));
	begin_page();
}

static void end(void)
{
	hv_export_free(x);
}

/* At US, which must not decrease, PREV is replaced by NEXT. */
static void sw(uint16_t type, uint64_t us, uint32_t prev, uint64_t state, uint32_t next,
	       const char *next_comm)
{
	struct entry e = {.type = type, .pid = prev, .prev_pid = prev, .prev_state = state};
	uint32_t head = sizeof(e) / 4 | (uint32_t)((us - now_us) * 1000) << 5;

	e.next_pid = next;
	memcpy(e.next_comm, next_comm, strlen(next_comm));
	memcpy(page + 16 + used, &head, sizeof(head));
	memcpy(page + 20 + used, &e, sizeof(e));
	used += sizeof(head) + sizeof(e);
	now_us = us;
}

/* FLAGS are the flags in the page's commit word. */
static const struct hv_wait_export_times *take(uint64_t flags)
{
	uint64_t commit = used | flags;

	memcpy(page + 8, &commit, sizeof(commit));
	ck_assert_ptr_null(hv_export_add(x, 0, (struct hv_span){page, PAGE}));
	begin_page();
	ck_assert_ptr_null(hv_export_turn(x));
	ck_assert_ptr_null(hv_export_turn(x));
	ck_assert_ptr_null(hv_export_end(x));
	return hv_wait_export_times(x);
}

static uint64_t count(const struct hv_wait_times *w)
{
	uint64_t nr = 0;

	for (size_t i = 0; i <= HV_WAIT_TIMES_BOUNDS; i++)
		nr += w->nr[i];
	return nr;
}

START_TEST(guest_and_host_waits_are_separate)
{
	const struct hv_wait_export_times *t;

	sw(HOST, 1, 70, 0, 99, "other");      /* the vCPU's thread loses its CPU */
	sw(GUEST, 2, 7, 0, 8, "b");	      /* a guest task is switched out, too */
	sw(HOST, 41, 99, 1, 70, "CPU 0/KVM"); /* the thread waited for 40 us */
	sw(GUEST, 302, 8, 1, 7, "a");	      /* and the task for 300 us */
	t = take(0);
	ck_assert_uint_eq(count(&t->tasks), 1);
	ck_assert_uint_eq(t->tasks.sum_ns, 300000);
	ck_assert_uint_eq(count(&t->vcpus), 1);
	ck_assert_uint_eq(t->vcpus.sum_ns, 40000);
	ck_assert_uint_eq(t->vcpus.nr[3], 1);
	ck_assert_uint_eq(t->tasks.nr_lost, 0);
}
END_TEST

START_TEST(other_vmm_threads_do_not_count)
{
	const struct hv_wait_export_times *t;

	sw(HOST, 1, 70, 0, 99, "other");
	sw(HOST, 41, 99, 0, 70, "qemu-system-x86");
	t = take(0);
	ck_assert_uint_eq(count(&t->vcpus), 0);
	ck_assert_uint_eq(count(&t->tasks), 0);
}
END_TEST

/* A switch from one vCPU to another is an event of both. */
START_TEST(the_same_switch_twice)
{
	const struct hv_wait_export_times *t;

	sw(HOST, 1, 70, 0, 99, "other");
	for (unsigned i = 0; i < 2; i++)
		sw(HOST, 21, 71, 0, 70, "CPU 0/KVM");
	for (unsigned i = 0; i < 2; i++)
		sw(HOST, 31, 70, 1, 71, "CPU 1/KVM");
	t = take(0);
	ck_assert_uint_eq(count(&t->vcpus), 2);
	ck_assert_uint_eq(t->vcpus.sum_ns, 30000);
}
END_TEST

START_TEST(losses_are_counted)
{
	const struct hv_wait_export_times *t;

	sw(GUEST, 2, 7, 0, 8, "b");
	take(0);
	sw(GUEST, 302, 8, 1, 7, "a");
	t = take(1u << 31);
	ck_assert_uint_eq(count(&t->tasks), 0);
	ck_assert_uint_gt(t->tasks.nr_lost, 0);
	ck_assert_uint_eq(t->vcpus.nr_lost, t->tasks.nr_lost);
}
END_TEST

START_TEST(invalid_pages_are_ignored)
{
	const struct hv_wait_export_times *t;

	ck_assert_ptr_null(hv_export_add(x, 0, (struct hv_span){page, 3}));
	memset(page + 16, 0xff, PAGE - 16);
	used = PAGE - 16;
	t = take(0);
	ck_assert_uint_eq(count(&t->tasks) + count(&t->vcpus), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, guest_and_host_waits_are_separate);
	tcase_add_test(tc, other_vmm_threads_do_not_count);
	tcase_add_test(tc, the_same_switch_twice);
	tcase_add_test(tc, losses_are_counted);
	tcase_add_test(tc, invalid_pages_are_ignored);
}

int main(void)
{
	return run_suite("wait_export", add_tests);
}
