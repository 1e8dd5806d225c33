/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the guest's clock and its tasks, whatever it says. */
#include <check.h>
#include <string.h>

#include "base/guard.h"
#include "latency/latency.h"
#include "tests/lib/run_suite.h"

/* In the first second the clocks were APART_NS apart, and in the last one LAST_NS. */
static enum hv_host_view view(int64_t apart_ns, int64_t last_ns)
{
	struct hv_latency l = {.sees_host = true, .nr_seconds = 2 * HV_LATENCY_SECONDS};

	for (unsigned i = 0; i < HV_LATENCY_SECONDS; i++) {
		l.first_ones_ns[i] = apart_ns;
		l.last_ones_ns[i] = last_ns;
	}
	return hv_latency_view(&l);
}

START_TEST(a_clock_that_jumps_is_not_the_hosts)
{
	ck_assert_int_eq(view(5, 6), HV_HOST_SEEN);
	ck_assert_int_eq(view(0, INT64_MAX), HV_HOST_UNSEEN);
	ck_assert_int_eq(view(INT64_MIN, 0), HV_HOST_UNSEEN);
	ck_assert_int_eq(view(INT64_MIN, INT64_MAX), HV_HOST_UNSEEN);
	ck_assert_int_eq(view(INT64_MAX, INT64_MIN), HV_HOST_UNSEEN);
}
END_TEST

/* So long as such a guest idles, its clock goes as the host's. */
START_TEST(a_clock_that_counts_instructions_is_never_the_hosts)
{
	struct hv_latency l = {.sees_host = true};

	hv_latency_begin_counted(&l);
	ck_assert_int_eq(hv_latency_view(&l), HV_HOST_APART);
	l.nr_seconds = 2 * HV_LATENCY_SECONDS;
	ck_assert_int_eq(hv_latency_view(&l), HV_HOST_APART);
	ck_assert(hv_latency_knows_clock(&l));
}
END_TEST

static const char function_format[] =
	"name: function\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

/* The pid that marks free places is no task that has a name. */
START_TEST(no_task_has_the_largest_pid)
{
	static const uint8_t payload[24] = {[0] = 1, [4] = 0xff, 0xff, 0xff, 0xff};
	const struct hv_export_event event = {(char *)"ftrace",
					      {function_format, sizeof(function_format) - 1}};
	const struct hv_export_head head = {.events = &event, .nr_events = 1};
	const struct hv_merged m = {.event.payload = {payload, sizeof(payload)}};
	struct hv_page_decode d;
	struct hv_event e;

	hv_page_decode_init(&d, &head);
	ck_assert(hv_page_decode_event(&d, &m, &e));
	ck_assert_uint_eq(e.pid, UINT32_MAX);
	ck_assert_ptr_nonnull(memchr(e.comm, '\0', sizeof(e.comm)));
	ck_assert_str_eq(e.comm, HV_COMM_UNKNOWN);
	hv_page_decode_deinit(&d);
}
END_TEST

START_TEST(names_are_bounded)
{
	const struct hv_export_head head = {0};
	struct hv_page_decode d;

	hv_page_decode_init(&d, &head);
	for (uint32_t pid = 1; pid < 1000000; pid++) {
		HV_AUTO_FREE char *line = hv_format("%u a\n", pid);

		hv_page_decode_name_tasks(&d, (struct hv_export_text){line, strlen(line)});
	}
	ck_assert_uint_lt(d.nr_tasks, 300000);
	ck_assert_uint_lt(d.nr_places, 2000000);
	hv_page_decode_deinit(&d);
}
END_TEST

/* The first event of a vCPU is years ahead of the others, which go on to come. */
START_TEST(what_is_years_ahead_keeps_nothing_waiting)
{
	struct {
		uint64_t time_ns, commit;
		uint32_t extend, years, head, payload, padding[8];
	} page = {.commit = 16, .extend = 30, .years = 1u << 30, .head = 1};
	struct hv_page_merge m;
	struct hv_merged next;
	size_t nr = 0;

	hv_page_merge_init(&m, 1, sizeof(page));
	m.max_bytes = 8 * sizeof(page);
	for (page.time_ns = 1; page.time_ns < 100; page.time_ns++) {
		hv_page_merge_add(&m, 0, (struct hv_span){(const uint8_t *)&page, sizeof(page)});
		page.years = 0;
		while (hv_page_merge_next(&m, &next))
			nr++;
		hv_page_merge_turn(&m);
	}
	ck_assert_uint_ge(nr, 80);
	ck_assert_uint_le(m.lanes[0].pages.len_bytes, 40 * sizeof(page));
	hv_page_merge_deinit(&m);
}
END_TEST

/* The scheduler's own functions, by which every task sleeps, are left out; an address may be the
 * first one behind its function. */
START_TEST(stacks_have_names)
{
	static const char kallsyms[] =
		"ffffffff81000000 T __traceiter_sched_switch\nffffffff81000100 T __schedule\n"
		"ffffffff81000200 T schedule_timeout\nffffffff81000300 T wait_for_common\n"
		"ffffffff81000400 T schedule_user\nffffffff81000500 T vfs_read\n";
	const struct hv_export_head head = {
		.nr_cpus = 1, .page_bytes = 4096, .kallsyms = {kallsyms, sizeof(kallsyms) - 1}};
	const struct hv_export_config config = {.path = "none", .fd = -1};
	struct hv_stall s = {
		.kind = HV_STALL_SLEEP,
		.length_ns = 20000000,
		.to_ns = 20000000,
		.stack = {{0xffffffff81000050, 0xffffffff81000150, 0xffffffff81000250,
			   0xffffffff81000400, 0xffffffff81000450, 0xffffffff81000550}},
	};
	struct hv_verdict *verdict = hv_alloc(sizeof(*verdict));
	struct hv_export *x;

	ck_assert_ptr_null(hv_latency_format.open(&config, &head, &x));
	hv_latency_begin(hv_latency_of(x), 10000000, true, false);
	hv_stalls_add(&hv_latency_of(x)->stalls, &s);
	s.stack.callers[0] = 16; /* no symbol */
	s.kind = HV_STALL_LOCK;
	hv_stalls_add(&hv_latency_of(x)->stalls, &s);
	hv_latency_verdict(hv_latency_of(x), verdict);
	ck_assert_uint_eq(verdict->nr, 2);
	ck_assert_str_eq(verdict->list[1].longest.end, "wait_for_common");
	ck_assert_str_eq(verdict->list[1].longest.callers[0], "schedule_user");
	ck_assert_str_eq(verdict->list[1].longest.callers[1], "vfs_read");
	ck_assert_str_eq(verdict->list[1].longest.callers[2], "");
	ck_assert_str_eq(verdict->list[0].longest.end, "");
	hv_latency_format.free(x);
	free(verdict);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, stacks_have_names);
	tcase_add_test(tc, no_task_has_the_largest_pid);
	tcase_add_test(tc, names_are_bounded);
	tcase_add_test(tc, what_is_years_ahead_keeps_nothing_waiting);
	tcase_add_test(tc, a_clock_that_jumps_is_not_the_hosts);
	tcase_add_test(tc, a_clock_that_counts_instructions_is_never_the_hosts);
}

int main(void)
{
	return run_suite("latency", add_tests);
}
