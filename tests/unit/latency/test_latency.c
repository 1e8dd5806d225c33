/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's clock and tasks, as seen by the latency format, also in a hostile guest. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "latency/latency.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/latency/planted.h"

/* Returns the view if the clocks were APART_NS apart at the first event of each second, and LAST_NS
 * at the last. */
static enum hv_host_view view(int64_t apart_ns, int64_t last_ns)
{
	struct hv_latency l = {.sees_host = true, .nr_seconds = 2 * HV_LATENCY_SECONDS};

	for (unsigned i = 0; i < HV_LATENCY_SECONDS; i++) {
		l.first_ones_ns[i] = apart_ns;
		l.last_ones_ns[i] = last_ns;
	}
	return hv_latency_view(&l);
}

START_TEST(a_jumping_clock_hides_the_host)
{
	ck_assert_int_eq(view(5, 6), HV_HOST_SEEN);
	ck_assert_int_eq(view(0, INT64_MAX), HV_HOST_UNSEEN);
	ck_assert_int_eq(view(INT64_MIN, 0), HV_HOST_UNSEEN);
	ck_assert_int_eq(view(INT64_MIN, INT64_MAX), HV_HOST_UNSEEN);
	ck_assert_int_eq(view(INT64_MAX, INT64_MIN), HV_HOST_UNSEEN);
}
END_TEST

/* While such a guest is idle, its clock runs as fast as the host's. */
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

/* The pid that marks free entries never gets a name. */
START_TEST(the_largest_pid_has_no_name)
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
	ck_assert_uint_lt(d.nr_buckets, 2000000);
	hv_page_decode_deinit(&d);
}
END_TEST

/* A vCPU's first event is years ahead of the other vCPUs' events, which continue to arrive. */
START_TEST(an_event_years_ahead_delays_nothing)
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

/* The scheduler's own functions, in which every task sleeps, are left out. An address may be the
 * first one after its function. */
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
	hv_latency_begin(hv_latency_of(x), 10000000);
	hv_latency_begin_on_hosts_clock(hv_latency_of(x));
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

#define SAMPLE_ID 300

/* The first word of a program's stack is where it is. A stack that is not in the event has none. */
START_TEST(samples_of_programs)
{
	static const char format[] =
		"name: sample\nID: 300\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:__data_loc u64[] stack;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: "
		"\"\"\n";
	const struct hv_export_event event = {(char *)"hvtrace", {format, sizeof(format) - 1}};
	const struct hv_export_head head = {.events = &event, .nr_events = 1};
	struct {
		uint16_t type, unused;
		uint32_t pid;
		uint16_t off, len_bytes;
		uint32_t padding;
		uint64_t words[2];
	} entry = {SAMPLE_ID, 0, 7, 16, 16, 0, {0x401234, 0x402345}};
	struct hv_event e = {.kind = HV_EVENT_GUESTS,
			     .id = SAMPLE_ID,
			     .pid = 7,
			     .comm = "hog",
			     .entry = {(const uint8_t *)&entry, sizeof(entry)}};
	struct hv_page_decode d;
	struct hv_moments m;
	struct hv_moment moment;

	hv_page_decode_init(&d, &head);
	hv_moments_init(&m, &d);
	ck_assert(hv_moments_decode(&m, &e, &moment));
	ck_assert_int_eq(moment.kind, HV_MOMENT_SAMPLE);
	ck_assert_uint_eq(moment.pid, 7);
	ck_assert_uint_eq(moment.address, 0x401234);
	entry.len_bytes = 0; /* a kernel thread */
	ck_assert(hv_moments_decode(&m, &e, &moment));
	ck_assert_uint_eq(moment.address, 0);
	entry.len_bytes = 4;
	ck_assert(hv_moments_decode(&m, &e, &moment));
	ck_assert_uint_eq(moment.address, 0);
	entry.off = 1000;
	ck_assert(!hv_moments_decode(&m, &e, &moment));
	hv_moments_deinit(&m);
	hv_page_decode_deinit(&d);
}
END_TEST

static struct hv_export *open_for(unsigned nr_cpus)
{
	const struct hv_export_head head = {.nr_cpus = nr_cpus, .page_bytes = 4096};
	const struct hv_export_config config = {.path = "none", .fd = -1};
	struct hv_export *x;

	ck_assert_ptr_null(hv_latency_format.open(&config, &head, &x));
	hv_latency_begin(hv_latency_of(x), 10 * MS);
	hv_latency_begin_on_hosts_clock(hv_latency_of(x));
	return x;
}

static void see(struct hv_latency *l, const struct hv_moment *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		hv_finders_see(&l->finders, &list[i]);
	l->newest_ns = list[nr - 1].time_ns;
}

#define SEE(L, ...)                                                                                \
	do {                                                                                       \
		const struct hv_moment moments[] = {__VA_ARGS__};                                  \
		see(L, moments, HV_ARRAY_LEN(moments));                                            \
	} while (0)

/* Returns a 20 ms section of PID on vCPU 0. Its stack never arrives. The section is placed when the
 * wait for the stack times out; other tasks run until then. */
static const struct hv_stall *placed(struct hv_export *x, uint32_t pid)
{
	const struct hv_stall section = {
		.kind = HV_STALL_SECTION, .to_ns = 20 * MS, .length_ns = 20 * MS, .task.pid = pid};
	struct hv_latency *l = hv_latency_of(x);
	uint64_t ms = l->newest_ns / MS + 1;

	hv_latency_add_section(l, &section);
	ck_assert_ptr_null(hv_latency_format.turn(x));
	for (unsigned i = 0; i < HV_SLICES_MAX; i++, ms += 2)
		SEE(l, sw(0, ms, 50, 0, 51), sw(0, ms + 1, 51, 0, 50));
	while (l->nr_sections)
		ck_assert_ptr_null(hv_latency_format.turn(x));
	for (size_t i = 0; i < l->stalls.nr; i++)
		if (l->stalls.list[i].kind == HV_STALL_SECTION)
			return &l->stalls.list[i];
	ck_abort_msg("the section was not placed");
}

/* The stack is missing, as in a module without ORC tables. The task had the vCPU long enough only
 * once. */
START_TEST(a_section_without_a_stack_is_where_its_task_ran)
{
	struct hv_export *x = open_for(1);
	const struct hv_stall *s;

	SEE(hv_latency_of(x), sw(0, 100, 0, 0, 5), sw(0, 103, 5, 0, 7), sw(0, 104, 7, 0, 5),
	    sw(0, 110, 5, 0, 7), sw(0, 135, 7, 0, 50));
	s = placed(x, 7);
	ck_assert_uint_eq(s->from_ns, 115 * MS);
	ck_assert_uint_eq(s->to_ns, 135 * MS);
	ck_assert_uint_eq(s->slack_ns, 5 * MS);
	ck_assert_uint_eq(s->nr_before, 3);
	ck_assert_uint_eq(s->before[0].task.pid, 5);
	ck_assert_uint_eq(s->before[0].ns, 6 * MS);
	ck_assert_uint_eq(s->before[2].ns, 3 * MS);
	hv_latency_format.free(x);
}
END_TEST

/* The section could be in either run, so its position and the tasks before it are unknown. */
START_TEST(a_section_in_one_of_two_runs_is_not_placed)
{
	struct hv_export *x = open_for(1);
	const struct hv_stall *s;

	SEE(hv_latency_of(x), sw(0, 100, 5, 0, 7), sw(0, 125, 7, 0, 5), sw(0, 126, 5, 0, 7),
	    sw(0, 150, 7, 0, 50));
	s = placed(x, 7);
	ck_assert_uint_ge(s->slack_ns, HV_NS_PER_S);
	ck_assert_uint_eq(s->nr_before, 0);
	hv_latency_format.free(x);
}
END_TEST

/* The section had not ended at the last search for sections. */
START_TEST(a_section_that_ends_after_the_search)
{
	struct hv_export *x = open_for(1);

	SEE(hv_latency_of(x), sw(0, 100, 5, 0, 7), sw(0, 125, 7, 0, 5));
	SEE(hv_latency_of(x), sw(0, 126, 5, 0, 7));
	hv_latency_end_sections(hv_latency_of(x));
	SEE(hv_latency_of(x), sw(0, 150, 7, 0, 50));
	ck_assert_uint_eq(placed(x, 7)->to_ns, 150 * MS);
	hv_latency_format.free(x);
}
END_TEST

/* The host did not run vCPU 0 for 30 ms. This was noticed early and is reported late. */
START_TEST(tasks_before_an_outage_are_kept)
{
	struct hv_export *x = open_for(1);
	struct hv_latency *l = hv_latency_of(x);
	struct hv_verdict *verdict = hv_alloc(sizeof(*verdict));
	const struct hv_outage outage = {
		.from_ns = 115 * MS, .to_ns = 145 * MS, .taken_ns = 30 * MS, .longest_ns = 30 * MS};

	l->sees_host = true;
	SEE(l, sw(0, 100, 0, 0, 5), sw(0, 110, 5, 0, 50));
	hv_latency_add_host(l, 0, &outage);
	hv_latency_verdict(l, verdict);
	for (uint64_t ms = 150; ms < 150 + 2 * HV_SLICES_MAX; ms += 2)
		SEE(l, sw(0, ms, 50, 0, 51), sw(0, ms + 1, 51, 0, 50));
	hv_latency_verdict(l, verdict);
	ck_assert_uint_eq(verdict->nr, 1);
	ck_assert_int_eq(verdict->list[0].longest.kind, HV_STALL_HOST);
	ck_assert_uint_eq(verdict->list[0].longest.nr_before, 2);
	ck_assert_uint_eq(verdict->list[0].longest.before[0].ns, 5 * MS);
	ck_assert_uint_eq(verdict->list[0].longest.before[1].task.pid, 5);
	hv_latency_format.free(x);
	free(verdict);
}
END_TEST

/* -- cgroups ----------------------------------------------------------------------------------- */

#define ENTRY_BYTES 8192
#define NAMES_AT    64

static const char throttle_format[] =
	"name: throttle\nID: 65534\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:u64 quota;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 period;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] n0;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] n1;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] n2;\toffset:32;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] n3;\toffset:36;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] n4;\toffset:40;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] n5;\toffset:44;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] n6;\toffset:48;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] n7;\toffset:52;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"\"\n";

/* Reads the event of the group NAMES[0], which is nested in the groups NAMES[1..]. */
static bool read_group(const char *const *names, size_t nr, size_t len_bytes,
		       struct hv_limit_group *ret)
{
	const struct hv_export_event event = {(char *)"hvtrace",
					      {throttle_format, sizeof(throttle_format) - 1}};
	const struct hv_export_head head = {.events = &event, .nr_events = 1};
	HV_AUTO_FREE uint8_t *entry = hv_alloc(ENTRY_BYTES);
	struct hv_page_decode d;
	struct hv_limit_fields fields;
	struct hv_event e = {.entry = {entry, len_bytes}};
	uint32_t at = NAMES_AT;
	bool ok;

	memcpy(entry + 8, &(uint64_t){10 * MS}, sizeof(uint64_t));
	memcpy(entry + 16, &(uint64_t){100 * MS}, sizeof(uint64_t));
	for (size_t i = 0; i < nr; i++) {
		uint32_t bytes = (uint32_t)strlen(names[i]) + 1;
		uint32_t loc = bytes << 16 | at;

		memcpy(entry + 24 + 4 * i, &loc, sizeof(loc));
		memcpy(entry + at, names[i], bytes);
		at += bytes;
	}
	hv_page_decode_init(&d, &head);
	hv_limit_fields_init(&fields, &d.catalogue);
	ok = hv_limit_fields_read(&fields, &e, 0x1000, ret);
	hv_page_decode_deinit(&d);
	return ok;
}

static void path_is(const char *const *names, size_t nr, const char *path)
{
	struct hv_limit_group group;

	ck_assert(read_group(names, nr, ENTRY_BYTES, &group));
	ck_assert_str_eq(group.path, path);
	ck_assert_uint_eq(group.key, 0x1000);
	ck_assert_uint_eq(group.quota_ns, 10 * MS);
	ck_assert_uint_eq(group.period_ns, 100 * MS);
}

START_TEST(cgroups_have_paths)
{
	static const char *const whole[] = {"web",     "app.slice", "",	       "(fault)",
					    "(fault)", "(fault)",   "(fault)", "(fault)"};
	static const char *const v1[] = {"web", "/", "(fault)", "(fault)"};
	static const char *const deep[] = {"h", "g", "f", "e", "d", "c", "b", "a"};
	static const char *const root[] = {"", "(fault)"};

	path_is(whole, HV_ARRAY_LEN(whole), "/app.slice/web");
	path_is(v1, HV_ARRAY_LEN(v1), "/web");
	path_is(deep, HV_ARRAY_LEN(deep), ".../a/b/c/d/e/f/g/h");
	path_is(root, HV_ARRAY_LEN(root), "/");
}
END_TEST

/* Names of the maximum length, and truncated entries. */
START_TEST(cgroups_of_a_hostile_guest)
{
	static char name[301];
	const char *const names[] = {name, name, name, name, name, name, name, name};
	struct hv_limit_group group;

	memset(name, 'x', sizeof(name) - 1);
	ck_assert(read_group(names, HV_ARRAY_LEN(names), ENTRY_BYTES, &group));
	ck_assert_uint_eq(strlen(group.path), HV_LIMIT_PATH_LEN - 1);
	ck_assert_str_eq(group.path + HV_LIMIT_PATH_LEN - 4, "xxx");
	ck_assert(strncmp(group.path, "...x", 4) == 0);
	for (size_t len = 0; len < ENTRY_BYTES; len += 3)
		(void)read_group(names, HV_ARRAY_LEN(names), len, &group);
	ck_assert(!read_group(names, HV_ARRAY_LEN(names), 20, &group));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, stacks_have_names);
	tcase_add_test(tc, samples_of_programs);
	tcase_add_test(tc, a_section_without_a_stack_is_where_its_task_ran);
	tcase_add_test(tc, a_section_in_one_of_two_runs_is_not_placed);
	tcase_add_test(tc, a_section_that_ends_after_the_search);
	tcase_add_test(tc, tasks_before_an_outage_are_kept);
	tcase_add_test(tc, the_largest_pid_has_no_name);
	tcase_add_test(tc, names_are_bounded);
	tcase_add_test(tc, an_event_years_ahead_delays_nothing);
	tcase_add_test(tc, cgroups_have_paths);
	tcase_add_test(tc, cgroups_of_a_hostile_guest);
	tcase_add_test(tc, a_jumping_clock_hides_the_host);
	tcase_add_test(tc, a_clock_that_counts_instructions_is_never_the_hosts);
}

int main(void)
{
	return run_suite("latency", add_tests);
}
