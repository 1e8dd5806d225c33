/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples from pages of events: a sample and its stack, lost events, and formats that lie. */
#include <check.h>
#include <string.h>

#include "base/guard.h"
#include "profile/profile.h"
#include "tests/lib/run_suite.h"

#define PAGE  4096
#define START 1000000

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

enum { SAMPLE = 300, COPY_SAMPLE = 301, REST = 302, STACK = 4, FUNCTION = 1 };

static const char sample_format[] =
	"name: sample\nID: 300\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:s32 user;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc u64[] stack;\toffset:20;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char copy_format[] =
	"name: sample_copy\nID: 301\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:s32 user;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc u64[] stack;\toffset:20;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char rest_format[] =
	"name: sample_rest\nID: 302\n" COMMON
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc u64[] stack;\toffset:20;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char stack_format[] =
	"name: kernel_stack\nID: 4\n" COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char function_format[] =
	"name: function\nID: 1\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char kallsyms[] = "ffffffff81000000 T update_process_times\n"
			       "ffffffff81000100 T asm_sysvec_apic_timer_interrupt\n"
			       "ffffffff81000200 T copy_page\n"
			       "ffffffff81000300 T vfs_read\n";

#define TICK  0xffffffff81000000u
#define ENTRY 0xffffffff81000108u
#define COPY  0xffffffff81000200u /* interrupted at its first instruction */
#define READ  0xffffffff81000310u

static struct hv_export *x;
static uint8_t page[PAGE];
static size_t used;

static void begin_page(void)
{
	uint64_t time_ns = START;

	memset(page, 0, sizeof(page));
	memcpy(page, &time_ns, sizeof(time_ns));
	used = 0;
}

static void begin(void)
{
	static const struct hv_export_event events[] = {
		{"hvtrace", {sample_format, sizeof(sample_format) - 1}},
		{"hvtrace", {copy_format, sizeof(copy_format) - 1}},
		{"hvtrace", {rest_format, sizeof(rest_format) - 1}},
		{"ftrace", {stack_format, sizeof(stack_format) - 1}},
		{"ftrace", {function_format, sizeof(function_format) - 1}},
	};
	static const struct hv_export_head head = {.nr_cpus = 2,
						   .page_bytes = PAGE,
						   .events = events,
						   .nr_events = 5,
						   .kallsyms = {kallsyms, sizeof(kallsyms) - 1}};
	static const struct hv_export_config config = {.path = "none", .fd = -1};
	static const char names[] = "7 cat\n8 dd\n";

	ck_assert_ptr_null(hv_export_open(&hv_profile_format, &config, &head, &x));
	ck_assert_ptr_null(
		hv_export_name_tasks(x, (struct hv_export_text){names, sizeof(names) - 1}));
	begin_page();
}

static void end(void)
{
	hv_export_free(x);
}

/* Adds an entry of LEN bytes, a multiple of 4, with its header filled in. */
static void add(uint16_t type, uint32_t pid, uint8_t *entry, size_t len)
{
	uint32_t head = (uint32_t)len / 4 | 1000u << 5;

	memcpy(entry, &type, sizeof(type));
	memcpy(entry + 4, &pid, sizeof(pid));
	memcpy(page + 16 + used, &head, sizeof(head));
	memcpy(page + 20 + used, entry, len);
	used += sizeof(head) + len;
}

static void sample_of(uint16_t type, uint32_t pid, uint32_t is_user, const uint64_t *user,
		      size_t nr)
{
	uint8_t entry[24 + 8 * 4] = {0};
	uint32_t loc = (uint32_t)(8 * nr) << 16 | 24;

	memcpy(entry + 16, &is_user, 4);
	memcpy(entry + 20, &loc, 4);
	memcpy(entry + 24, user, 8 * nr);
	add(type, pid, entry, 24 + 8 * nr);
}

static void sample(uint32_t pid, uint32_t is_user, const uint64_t *user, size_t nr)
{
	sample_of(SAMPLE, pid, is_user, user, nr);
}

static void stack(uint32_t pid, const uint64_t *callers, uint32_t nr)
{
	uint8_t entry[16 + 8 * 4] = {0};

	memcpy(entry + 8, &nr, 4);
	memcpy(entry + 16, callers, 8 * nr);
	add(STACK, pid, entry, 16 + 8 * nr);
}

static void add_page(unsigned cpu)
{
	uint64_t commit = used;

	memcpy(page + 8, &commit, sizeof(commit));
	ck_assert_ptr_null(hv_export_add(x, cpu, (struct hv_span){page, PAGE}));
	begin_page();
}

/* Ends the input, and compares the folded lines. */
static void check_folded(const char *wanted)
{
	hv_cleanup(hv_flame_deinit) struct hv_flame f = {0};
	HV_AUTO_TEXT struct hv_text out = {0};

	ck_assert_ptr_null(hv_export_turn(x));
	ck_assert_ptr_null(hv_export_end(x));
	hv_profile_name_rest(hv_profile_of(x));
	hv_flame_make(&hv_profile_of(x)->chains, &f);
	hv_flame_folded(&f, SIZE_MAX, &out);
	hv_text_add(&out, "");
	ck_assert_str_eq(out.data, wanted);
}

static const uint64_t user[] = {0x401000, 0x402005, 0x403005};
static const uint64_t in_kernel[] = {TICK, ENTRY, COPY, READ};

START_TEST(the_kernel_is_above_the_program)
{
	sample(7, 0, user, 3);
	stack(7, in_kernel, 4);
	sample(7, 1, user, 2);
	stack(7, in_kernel, 2);
	add_page(1);
	check_folded("cat;0x402004;0x401000 1\n"
		     "cat;0x403004;0x402004;0x401000;vfs_read_[k];copy_page_[k] 1\n");
	ck_assert_uint_eq(hv_profile_of(x)->nr_user, 1);
	ck_assert_uint_eq(hv_profile_of(x)->nr_kernel, 1);
	ck_assert_uint_eq(hv_profile_of(x)->nr_samples, 2);
}
END_TEST

static enum hv_profile_place find(void *ctx hv_unused, uint32_t pid hv_unused,
				  const char *comm hv_unused, uint64_t address, uint32_t *ret_file,
				  uint64_t *ret_off)
{
	*ret_file = 1;
	*ret_off = address & 0xfff;
	return address == 0x402004 ? HV_PROFILE_NO_CODE : HV_PROFILE_FILE;
}

/* The stack ends before an address without code, and before one that is too large. */
START_TEST(invalid_callers_end_the_stack)
{
	static const uint64_t large[] = {0x401000, 0x123456789abcdef0, 0x403005};

	sample(7, 1, large, 3);
	add_page(0);
	hv_profile_of(x)->files.find = find;
	sample(7, 1, user, 3);
	add_page(1);
	check_folded("cat;0x0 2\n");
}
END_TEST

/* A stack of another task, or no stack at all: the sample counts without it. */
START_TEST(a_sample_without_its_stack)
{
	sample(7, 0, user, 1);
	stack(8, in_kernel, 4);
	sample(7, 0, user, 1);
	add_page(0);
	check_folded("cat;0x401000 2\n");
}
END_TEST

START_TEST(idle_tasks_are_not_counted)
{
	sample(0, 0, user, 0);
	stack(0, in_kernel, 4);
	add_page(0);
	check_folded("");
}
END_TEST

START_TEST(only_one_of_n_ticks_counts)
{
	hv_profile_of(x)->one_of = 3;
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		for (unsigned i = 0; i < 9; i++)
			sample(cpu ? 7 : 8, 1, user, 1);
		add_page(cpu);
	}
	check_folded("cat;0x401000 3\ndd;0x401000 3\n");
}
END_TEST

START_TEST(groups)
{
	hv_profile_of(x)->per = _i ? HV_PROFILE_PER_CPU : HV_PROFILE_PER_TASK;
	sample(7, 1, user, 0);
	add_page(1);
	check_folded(_i ? "vCPU 1;cat 1\n" : "cat-7 1\n");
}
END_TEST

/* In guests without probes, the function tracer records ticks as calls, without the sample's
 * fields. */
START_TEST(calls_of_the_tick)
{
	uint8_t entry[24] = {0};
	uint64_t ip = TICK;

	for (unsigned i = 0; i < 2; i++) {
		memcpy(entry + 8, &ip, 8);
		add(FUNCTION, 7, entry, sizeof(entry));
		stack(7, in_kernel, i ? 2 : 4);
	}
	add_page(0);
	hv_profile_of(x)->words.type = hv_profile_of(x)->copies.type = NULL;
	check_folded("cat 1\ncat;vfs_read_[k];copy_page_[k] 1\n");
	ck_assert_uint_eq(hv_profile_of(x)->nr_user, 1);
}
END_TEST

/* The guest chooses the __data_loc of the program's stack. */
START_TEST(stacks_outside_the_entry)
{
	uint8_t entry[24] = {0};
	static const uint32_t locs[] = {16u << 16 | 20, 0xffffffff, 8u << 16 | 0xffff,
					3u << 16 | 21};

	for (unsigned i = 0; i < HV_ARRAY_LEN(locs); i++) {
		memcpy(entry + 20, &locs[i], 4);
		add(SAMPLE, 7, entry, sizeof(entry));
	}
	add_page(0);
	check_folded("cat 4\n");
}
END_TEST

START_TEST(a_call_between_a_sample_and_its_stack)
{
	uint8_t entry[24] = {0};
	uint64_t ip = TICK;

	sample(7, 0, user, 1);
	memcpy(entry + 8, &ip, 8);
	add(FUNCTION, 7, entry, sizeof(entry));
	stack(7, in_kernel, 4);
	add_page(0);
	check_folded("cat;0x401000;vfs_read_[k];copy_page_[k] 1\n");
}
END_TEST

static const uint64_t copied[] = {1, 2, 3};
static size_t rest_bytes[8], nr_unwound;

static size_t unwind(void *ctx, uint32_t pid, const char *comm, struct hv_span copy,
		     struct hv_span rest, uint64_t *ret)
{
	ck_assert_ptr_eq(ctx, &copied);
	ck_assert_uint_eq(pid, 7);
	ck_assert_str_eq(comm, "cat");
	ck_assert_uint_eq(copy.len_bytes, sizeof(copied));
	ck_assert(memcmp(copy.data, copied, sizeof(copied)) == 0);
	rest_bytes[nr_unwound++] = rest.len_bytes;
	memcpy(ret, user, sizeof(user));
	return HV_ARRAY_LEN(user);
}

/* A copy of a stack is unwound by the caller; without a copy, or a caller that unwinds, the sample has no
 * functions of the program. */
START_TEST(copies_of_stacks)
{
	hv_profile_of(x)->files.unwind = _i ? unwind : NULL;
	hv_profile_of(x)->files.unwind_ctx = (void *)(uintptr_t)&copied;
	sample_of(COPY_SAMPLE, 7, 0, copied, 3);
	stack(7, in_kernel, 4);
	sample_of(COPY_SAMPLE, 7, 1, copied, 0);
	sample_of(COPY_SAMPLE, 0, 1, copied, 3); /* the idle task */
	add_page(1);
	check_folded(_i ? "cat 1\ncat;0x403004;0x402004;0x401000;vfs_read_[k];copy_page_[k] 1\n"
			: "cat 1\ncat;vfs_read_[k];copy_page_[k] 1\n");
}
END_TEST

/* The rest of a stack belongs to the next sample of its vCPU, if that is the same task's. */
START_TEST(rests_of_copies)
{
	hv_profile_of(x)->files.unwind = unwind;
	hv_profile_of(x)->files.unwind_ctx = (void *)(uintptr_t)&copied;
	nr_unwound = 0;
	sample_of(REST, 7, 0, copied, 2);
	sample_of(COPY_SAMPLE, 7, 1, copied, 3);
	sample_of(COPY_SAMPLE, 7, 1, copied, 3); /* without its rest */
	sample_of(REST, 8, 0, copied, 2);
	sample_of(COPY_SAMPLE, 7, 1, copied, 3);
	sample_of(REST, 7, 0, copied, 2);
	sample_of(REST, 7, 0, copied, 0);
	sample_of(COPY_SAMPLE, 7, 1, copied, 3);
	sample_of(REST, 7, 0, copied, 1);
	sample_of(REST, 7, 0, copied, 3);
	sample_of(COPY_SAMPLE, 7, 1, copied, 3);
	add_page(1);
	check_folded("cat;0x403004;0x402004;0x401000 5\n");
	ck_assert_uint_eq(nr_unwound, 5);
	ck_assert_uint_eq(rest_bytes[0], 16);
	ck_assert_uint_eq(rest_bytes[1], 0);
	ck_assert_uint_eq(rest_bytes[2], 0);
	ck_assert_uint_eq(rest_bytes[3], 0);
	ck_assert_uint_eq(rest_bytes[4], 24);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, the_kernel_is_above_the_program);
	tcase_add_test(tc, invalid_callers_end_the_stack);
	tcase_add_test(tc, a_sample_without_its_stack);
	tcase_add_test(tc, idle_tasks_are_not_counted);
	tcase_add_test(tc, only_one_of_n_ticks_counts);
	tcase_add_loop_test(tc, groups, 0, 2);
	tcase_add_test(tc, calls_of_the_tick);
	tcase_add_test(tc, a_call_between_a_sample_and_its_stack);
	tcase_add_test(tc, stacks_outside_the_entry);
	tcase_add_loop_test(tc, copies_of_stacks, 0, 2);
	tcase_add_test(tc, rests_of_copies);
}

int main(void)
{
	return run_suite("profile_samples", add_tests);
}
