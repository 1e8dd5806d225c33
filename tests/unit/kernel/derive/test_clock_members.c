/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structures of the kernel's clocks, derived from tk_fast_mono, tk_core, a clocksource and the
 * functions that read them. */
#include <check.h>
#include <string.h>

#include "kernel/derive/clock_members.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/derive/expected.h"
#include "tests/unit/kernel/fake_kernel.h"

#define M HV_PROVED_BY_MEMORY
#define C HV_PROVED_BY_CODE

enum {
	NAME_OFF = 56,
	OFFS_OFF = 152, /* offs_real in tk_core */
	START = 8	/* struct timekeeper in tk_core */
};

#define REAL_NS UINT64_C(1795000000000000000)

static struct fk fk;
static uint64_t fast, keeper, source, code;
static struct hv_deriving d;

static void set_base(uint64_t base)
{
	fk_u64(&fk, base, source);
	fk_u64(&fk, base + 8, UINT64_MAX);
	fk_u64(&fk, base + 16, 0x1234567);
	fk_u32(&fk, base + 24, 0x6f4de7);
	fk_u32(&fk, base + 28, 24);
	fk_u64(&fk, base + 32, 0x89abc);
	fk_u64(&fk, base + 40, 104000000000);
	fk_u64(&fk, base + 48, 104000000000 + REAL_NS);
}

static void set_source(void)
{
	const uint64_t other = source + 0x200, links = source + NAME_OFF + 8;

	fk_u64(&fk, source, FK_BASE);
	fk_u64(&fk, source + 8, UINT64_MAX);
	fk_u32(&fk, source + 16, 0x6f4d00);
	fk_u32(&fk, source + 20, 24);
	fk_str(&fk, source + 0x400, "tsc");
	fk_u64(&fk, source + NAME_OFF, source + 0x400);
	fk_u64(&fk, links, other);
	fk_u64(&fk, links + 8, other);
	fk_u64(&fk, other, links);
	fk_u64(&fk, other + 8, links);
}

static void set_code(unsigned function, const char *bytes, size_t len)
{
	memset(fk_host(&fk, code + 64 * function), 0xcc, 64);
	memcpy(fk_host(&fk, code + 64 * function), bytes, len);
}
#define CODE(function, bytes) set_code(function, bytes, sizeof(bytes) - 1)

static void set_functions(void)
{
	const uint64_t boot = code + 128;

	CODE(0, "\x49\x8b\x6d\x28"	       /* mov 0x28(%r13),%rbp */
		"\x49\x2b\x4d\x10"	       /* sub 0x10(%r13),%rcx */
		"\x49\x03\x45\x20"	       /* add 0x20(%r13),%rax */
		"\xc3");		       /* ret */
	CODE(1, "\x49\x8b\x6d\x30"	       /* mov 0x30(%r13),%rbp */
		"\x48\x39\x4a\x28"	       /* cmp %rcx,0x28(%rdx) */
		"\x49\x2b\x4d\x10"	       /* sub 0x10(%r13),%rcx */
		"\x49\x03\x45\x20"	       /* add 0x20(%r13),%rax */
		"\xc3");		       /* ret */
	CODE(2, "\x48\x03\x05\x00\x00\x00\x00" /* add offs_boot(%rip),%rax */
		"\xc3");		       /* ret */
	CODE(3, "\x48\x89\x45\x08"	       /* mov %rax,8(%rbp) */
		"\x48\x89\x83\x00\x10\x00\x00" /* mov %rax,0x1000(%rbx) */
		"\xf0\x48\x0f\xb1\x55\x00"     /* lock cmpxchg %rdx,(%rbp) */
		"\xc3");		       /* ret */
	fk_u32(&fk, boot + 3, (uint32_t)(keeper + OFFS_OFF + 8 - (boot + 7)));
}

static void setup(void)
{
	fk_init(&fk);
	fk_symbol(&fk, "sched_clock_data", FK_PERCPU(1));
	code = FK_BASE;
	fast = fk_alloc(&fk, 4096);
	keeper = fk_alloc(&fk, 4096);
	source = fk_alloc(&fk, 4096);
	fk_symbol(&fk, "ktime_get_mono_fast_ns", code);
	fk_symbol(&fk, "ktime_get_real_fast_ns", code + 64);
	fk_symbol(&fk, "ktime_get_boot_fast_ns", code + 128);
	fk_symbol(&fk, "sched_clock_tick", code + 192);
	fk_symbol(&fk, "after_it", code + 256);
	fk_symbol(&fk, "tk_fast_mono", fast);
	fk_symbol(&fk, "tk_core", keeper);
	fk_u32(&fk, fast, 6);
	set_base(fast + 8);
	set_base(fast + 64);
	set_base(keeper + START);
	fk_u64(&fk, keeper + OFFS_OFF, REAL_NS);
	fk_u64(&fk, keeper + OFFS_OFF + 8, 5000);
	fk_u64(&fk, keeper + OFFS_OFF + 16, REAL_NS + UINT64_C(37000000000));
	set_source();
	set_functions();
	fk_done(&fk);
	d = (struct hv_deriving){.core = &fk.k.core};
}

static void teardown(void)
{
	hv_facts_deinit(&d.facts);
	fk_deinit(&fk);
}

static void check_unknown(const char *type, const char *member)
{
	hv_facts_deinit(&d.facts);
	hv_clock_members_derive(&d);
	ck_assert_msg(!hv_facts_find(&d.facts, type, member), "%s of %s is known", member, type);
}

static const struct expected all[] = {
	{"tk_fast", "seq", 0, M},
	{"tk_fast", "base", 8, M},
	{"tk_read_base", "clock", 0, M},
	{"tk_read_base", "cycle_last", 16, C},
	{"tk_read_base", "mult", 24, M},
	{"tk_read_base", "shift", 28, M},
	{"tk_read_base", "xtime_nsec", 32, C},
	{"tk_read_base", "base", 40, C},
	{"tk_read_base", "base_real", 48, C},
	{"clocksource", "name", NAME_OFF, M},
	{"timekeeper", "tkr_mono", 0, M},
	{"sched_clock_data", "tick_raw", 0, C},
	{"sched_clock_data", "tick_gtod", 8, C},
	{"timekeeper", "offs_boot", OFFS_OFF + 8 - START, M | C},
	{"timekeeper", "offs_tai", OFFS_OFF + 16 - START, M},
};

START_TEST(derives_everything)
{
	hv_clock_members_derive(&d);
	for (size_t i = 0; i < HV_ARRAY_LEN(all); i++)
		check_expected(&d.facts, &all[i]);
	CODE(2, "\xc3");
	hv_facts_deinit(&d.facts);
	hv_clock_members_derive(&d);
	check_expected(&d.facts,
		       &(struct expected){"timekeeper", "offs_boot", OFFS_OFF + 8 - START, M});
}
END_TEST

START_TEST(other_structures)
{
	static const struct {
		uint32_t off; /* in the first tk_read_base */
		uint32_t value;
	} changes[] = {{8, 7}, {24, 0x6f4de7 * 2}, {24, 0}, {28, 23}};

	for (size_t i = 0; i < HV_ARRAY_LEN(changes); i++) {
		for (uint64_t base = fast + 8; base <= fast + 64; base += 56) {
			set_base(base);
			fk_u32(&fk, base + changes[i].off, changes[i].value);
		}
		check_unknown("tk_fast", "seq");
	}
}
END_TEST

/* The kernel is updating one of the copies. */
START_TEST(structures_that_differ)
{
	fk_u64(&fk, fast + 64 + 16, 0x1234568);
	check_unknown("tk_fast", "seq");
}
END_TEST

START_TEST(a_clocksource_that_is_not_mapped)
{
	fk_u64(&fk, fast + 8, 0xffffffff90000000);
	fk_u64(&fk, fast + 64, 0xffffffff90000000);
	check_unknown("tk_fast", "seq");
}
END_TEST

START_TEST(functions_that_use_other_members)
{
	CODE(1, "\xc3");
	check_unknown("tk_read_base", "base");
	set_functions();
	CODE(1, "\x49\x8b\x6d\x30" /* mov 0x30(%r13),%rbp */
		"\x49\x8b\x6d\x18" /* mov 0x18(%r13),%rbp */
		"\xc3");
	check_unknown("tk_read_base", "base");
	set_functions();
	CODE(0, "\x49\x2b\x4d\x10\x49\x03\x45\x20\xc3");
	check_unknown("tk_read_base", "base_real");
}
END_TEST

START_TEST(names_of_clocksources)
{
	fk_str(&fk, source + 0x400, "");
	check_unknown("clocksource", "name");
	fk_str(&fk, source + 0x400, "a name that has spaces");
	check_unknown("clocksource", "name");
	memset(fk_host(&fk, source + 0x400), 'a', 64);
	check_unknown("clocksource", "name");
	set_source();
	fk_u64(&fk, source + 0x208, 0); /* the next clocksource does not lead back */
	check_unknown("clocksource", "name");
	set_source();
	fk_u64(&fk, source + NAME_OFF, 0);
	check_unknown("clocksource", "name");
}
END_TEST

START_TEST(offsets_of_clocks)
{
	fk_u64(&fk, keeper + OFFS_OFF + 16, REAL_NS + 1);
	check_unknown("timekeeper", "offs_boot");
	fk_u64(&fk, keeper + OFFS_OFF + 16, REAL_NS + UINT64_C(101000000000));
	check_unknown("timekeeper", "offs_boot");
	fk_u64(&fk, keeper + OFFS_OFF + 16, REAL_NS);
	fk_u64(&fk, keeper + OFFS_OFF + 24, 0);
	fk_u64(&fk, keeper + OFFS_OFF + 32, REAL_NS); /* two candidates */
	check_unknown("timekeeper", "offs_boot");
	fk_u64(&fk, keeper + OFFS_OFF + 32, 0);
	fk_u64(&fk, keeper + START, 0); /* no clocksource */
	check_unknown("timekeeper", "tkr_mono");
}
END_TEST

START_TEST(ticks)
{
	static const struct {
		const char *bytes;
		size_t len;
	} codes[] = {
		{"\x48\x89\x45\x08\xc3", 5},		     /* mov %rax,8(%rbp) */
		{"\x48\x89\x45\x00\x48\x89\x45\x10\xc3", 9}, /* mov %rax,0 and 0x10(%rbp) */
		{"\x48\x89\x45\x00\x48\x89\x45\x08\x48\x89\x45\x18\xc3", 13}, /* 0, 8 and 0x18 */
		{"\x48\x89\x45\x00\x48\x89\x45\x08\x48\x89\x45\x04\xc3", 13}, /* 0, 8 and 4 */
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(codes); i++) {
		set_code(3, codes[i].bytes, codes[i].len);
		check_unknown("sched_clock_data", "tick_raw");
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, derives_everything);
	tcase_add_test(tests, other_structures);
	tcase_add_test(tests, structures_that_differ);
	tcase_add_test(tests, a_clocksource_that_is_not_mapped);
	tcase_add_test(tests, functions_that_use_other_members);
	tcase_add_test(tests, names_of_clocksources);
	tcase_add_test(tests, offsets_of_clocks);
	tcase_add_test(tests, ticks);
}

int main(void)
{
	return run_suite("clock_members", add_tests);
}
