/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's trace clock, computed from parameters in a fake kernel. */
#include <check.h>

#include "kernel/clock/clock.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"

#define NATIVE (FK_BASE + 0x300)
#define KVM    (FK_BASE + 0x400)

static struct ft t;
static struct hv_clock *c;

static void setup(void)
{
	ft_init(&t);
	fk_u64(&t.f, t.pv_sched_clock, NATIVE);
	fk_u32(&t.f, t.use_tsc, 1);
	c = NULL;
}

static void teardown(void)
{
	hv_clock_free(c);
	ft_deinit(&t);
}

static void open_clock(enum hv_clock_kind kind)
{
	struct hv_err *err = hv_clock_new(&t.f.k, &c);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_int_eq(hv_clock_kind(c), kind);
}

static void refresh(void)
{
	struct hv_err *err = hv_clock_refresh(c);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* Fills copy WHICH of CPU's struct cyc2ns and makes it the current one. */
static void cyc2ns(unsigned cpu, unsigned which, uint32_t mul, uint32_t shift, uint64_t offset)
{
	uint64_t at = t.f.areas[cpu] + FK_PERCPU(FT_CYC2NS);

	fk_u32(&t.f, at + 16 * which, mul);
	fk_u32(&t.f, at + 16 * which + 4, shift);
	fk_u64(&t.f, at + 16 * which + 8, offset);
	fk_u32(&t.f, at + 32, 10 + which);
}

START_TEST(each_cpu_has_separate_clock_parameters)
{
	uint64_t times[] = {2000, 500};

	cyc2ns(0, 0, 1 << 10, 11, 1000);
	cyc2ns(1, 1, 3 << 10, 10, 7);
	open_clock(HV_CLOCK_TSC);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 2000), 2000);
	ck_assert_uint_eq(hv_clock_ns(c, 1, 2000), 6007);
	hv_clock_all_ns(c, 1, times, 2);
	ck_assert_uint_eq(times[0], 6007);
	ck_assert_uint_eq(times[1], hv_clock_ns(c, 1, 500));
	ck_assert_uint_eq(hv_clock_ns(c, 4000000000u, 2000), 2000);
}
END_TEST

START_TEST(refresh_takes_the_copy_in_use)
{
	cyc2ns(0, 0, 1, 0, 0);
	open_clock(HV_CLOCK_TSC);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 500), 500);
	cyc2ns(0, 1, 2, 0, 0);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 500), 500);
	refresh();
	ck_assert_uint_eq(hv_clock_ns(c, 0, 500), 1000);
}
END_TEST

START_TEST(products_of_96_bits_are_whole)
{
	cyc2ns(0, 0, 0x80000000, 31, 5);
	open_clock(HV_CLOCK_TSC);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 1ull << 62), (1ull << 62) + 5);
}
END_TEST

START_TEST(any_parameters_give_some_number)
{
	cyc2ns(0, 0, 0xffffffff, 0xffffffff, ~0ull);
	cyc2ns(1, 0, 0xffffffff, 127, 0);
	open_clock(HV_CLOCK_TSC);
	ck_assert_uint_eq(hv_clock_ns(c, 0, ~0ull), ~0ull);
	hv_clock_ns(c, 1, ~0ull);
}
END_TEST

START_TEST(no_tsc_no_clock)
{
	fk_u32(&t.f, t.use_tsc, 0);
	open_clock(HV_CLOCK_RAW);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 12345), 12345);
	refresh();
}
END_TEST

START_TEST(other_functions_are_not_guessed)
{
	fk_u64(&t.f, t.pv_sched_clock, FK_BASE + 0x500);
	open_clock(HV_CLOCK_RAW);
}
END_TEST

START_TEST(without_btf_no_clock)
{
	hv_btf_free(t.f.k.core.btf);
	t.f.k.core.btf = NULL;
	open_clock(HV_CLOCK_RAW);
}
END_TEST

static uint64_t pvclock(unsigned cpu, uint64_t tsc, uint64_t ns, uint32_t mul, int8_t shift)
{
	uint64_t at = fk_alloc(&t.f, 32);

	fk_u64(&t.f, t.pv_sched_clock, KVM);
	ft_percpu(&t, FT_PVCLOCK, cpu, at);
	fk_u64(&t.f, at + 8, tsc);
	fk_u64(&t.f, at + 16, ns);
	fk_u32(&t.f, at + 24, mul);
	*fk_host(&t.f, at + 28) = (uint8_t)shift;
	return at;
}

START_TEST(pvclock_scales_both_ways)
{
	fk_u64(&t.f, t.clock_offset, 100);
	pvclock(0, 1000, 5000, 0x80000000, 1);
	pvclock(1, 1000, 5000, 0x80000000, -2);
	open_clock(HV_CLOCK_PVCLOCK);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 1800), 5000 - 100 + 800);
	ck_assert_uint_eq(hv_clock_ns(c, 1, 1800), 5000 - 100 + 100);
}
END_TEST

START_TEST(a_record_older_than_the_parameters_goes_backwards)
{
	pvclock(0, 1000, 5000, 0x80000000, 1);
	open_clock(HV_CLOCK_PVCLOCK);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 900), 4900);
}
END_TEST

START_TEST(a_cpu_without_pvclock_uses_that_of_another)
{
	pvclock(1, 1000, 5000, 0x80000000, 1);
	open_clock(HV_CLOCK_PVCLOCK);
	ck_assert_uint_eq(hv_clock_ns(c, 0, 1100), 5100);
}
END_TEST

/* The kernel assigns a pvclock to a CPU before the CPU starts and the hypervisor writes it. */
START_TEST(an_unwritten_pvclock_is_not_used)
{
	uint64_t at;

	fk_u64(&t.f, t.clock_offset, 100);
	pvclock(0, 1000, 5000, 0x80000000, 1);
	at = pvclock(1, 0, 0, 0, 0);
	open_clock(HV_CLOCK_PVCLOCK);
	ck_assert_uint_eq(hv_clock_ns(c, 1, 1800), 5000 - 100 + 800);
	fk_u64(&t.f, at + 16, 7000);
	fk_u32(&t.f, at + 24, 0x80000000);
	ck_assert_ptr_null(hv_clock_refresh(c));
	ck_assert_uint_eq(hv_clock_ns(c, 1, 1800), 7000 - 100 + 900);
}
END_TEST

START_TEST(any_pvclock_gives_some_number)
{
	uint64_t at = pvclock(0, ~0ull, ~0ull, 0xffffffff, -128);

	pvclock(1, 0, 0, 0xffffffff, 127);
	fk_u32(&t.f, at, 1); /* never complete */
	open_clock(HV_CLOCK_PVCLOCK);
	hv_clock_ns(c, 0, 0);
	hv_clock_ns(c, 1, ~0ull);
	ft_percpu(&t, FT_PVCLOCK, 0, 8);
	{
		struct hv_err *err = hv_clock_refresh(c);

		ck_assert(err && strstr(err->message, "clock: "));
		hv_err_free(err);
	}
}
END_TEST

/* Fills copy WHICH of the fast timekeeper: the time at CYCLES is REAL_NS + 3 ns. */
static void timekeeper(unsigned which, const char *clocksource, uint64_t cycles, uint64_t real_ns)
{
	uint64_t base = t.tk_fast + 8 + which * FT_TK_BASE_BYTES;
	uint64_t clock = fk_alloc(&t.f, 24), name = fk_alloc(&t.f, 64);

	fk_str(&t.f, name, clocksource);
	fk_u64(&t.f, clock + 16, name);
	fk_u64(&t.f, base, clock);
	fk_u64(&t.f, base + 16, cycles);
	fk_u32(&t.f, base + 28, 8);
	fk_u64(&t.f, base + 32, 3 << 8);
	fk_u64(&t.f, base + 48, real_ns);
	fk_u32(&t.f, t.tk_fast, 10 + which);
}

static void expect_epoch(uint64_t wanted)
{
	uint64_t ns = 0;

	ck_assert(hv_clock_epoch_ns(c, &ns));
	ck_assert_uint_eq(ns, wanted);
}

START_TEST(the_time_of_day_by_the_copy_in_use)
{
	cyc2ns(0, 0, 1 << 10, 10, 1000);
	open_clock(HV_CLOCK_TSC);
	timekeeper(1, "tsc", 7000, 90000000);
	expect_epoch(90000000 + 3 - 8000);
	timekeeper(0, "tsc", 500, 80000000);
	expect_epoch(80000000 + 3 - 1500);
}
END_TEST

START_TEST(the_time_of_day_by_pvclock)
{
	fk_u64(&t.f, t.clock_offset, 100);
	pvclock(0, 1000, 5000, 0x80000000, 1);
	open_clock(HV_CLOCK_PVCLOCK);
	timekeeper(0, "kvm-clock", 6000, 90000000);
	expect_epoch(90000000 + 3 - 5900);
	timekeeper(1, "tsc", 1800, 90000000);
	expect_epoch(90000000 + 3 - 5700);
}
END_TEST

/* The timekeeper follows a seqcount of unknown length. It is found by its clocksource. */
START_TEST(the_timekeepers_clocks_are_read)
{
	struct hv_timekeeper_moment m;
	struct hv_cycles cycles;
	uint64_t fast = t.tk_fast + 8, core = t.tk_core + 8, clock;

	cyc2ns(0, 0, 1 << 10, 10, 1000);
	timekeeper(0, "tsc", 7000, 90000000);
	memcpy(&clock, fk_host(&t.f, fast), sizeof(clock));
	fk_u32(&t.f, fast + 24, 512); /* two cycles per ns */
	fk_u32(&t.f, fast + 28, 10);
	fk_u64(&t.f, fast + 32, 3 << 10);
	fk_u64(&t.f, fast + 40, 4000);
	fk_u64(&t.f, core, clock);
	fk_u64(&t.f, core + FT_TK_BASE_BYTES, 100);
	fk_u64(&t.f, core + FT_TK_BASE_BYTES + 8, 37);
	open_clock(HV_CLOCK_TSC);
	ck_assert_ptr_null(hv_clock_read_keeper(c, &m, &cycles));
	ck_assert(!cycles.are_ns);
	ck_assert_uint_eq(hv_clock_cycles(c, &cycles, 0, 1234), 1234);
	ck_assert_uint_eq(m.cycles, 7000);
	ck_assert_uint_eq(hv_moment_mono_ns(&m, 0), 4003);
	ck_assert_uint_eq(hv_moment_mono_ns(&m, 2000), 5003);
	ck_assert_uint_eq(m.boot_ns, 100);
	ck_assert_uint_eq(m.tai_ns, 37);
}
END_TEST

START_TEST(a_timekeeper_by_pvclock_has_its_ns_as_cycles)
{
	struct hv_timekeeper_moment m;
	struct hv_cycles cycles;

	fk_u64(&t.f, t.clock_offset, 100);
	pvclock(0, 1000, 5000, 0x80000000, 1);
	open_clock(HV_CLOCK_PVCLOCK);
	timekeeper(0, "kvm-clock", 6000, 90000000);
	ck_assert_ptr_null(hv_clock_read_keeper(c, &m, &cycles));
	ck_assert_uint_eq(hv_clock_cycles(c, &cycles, 0, 2000), 6000);
}
END_TEST

START_TEST(unknown_clocksources_give_no_time_of_day)
{
	uint64_t ns = 4;

	cyc2ns(0, 0, 1 << 10, 10, 0);
	open_clock(HV_CLOCK_TSC);
	ck_assert(!hv_clock_epoch_ns(c, &ns)); /* no clocksource: NULL */
	timekeeper(0, "hpet", 7000, 90000000);
	ck_assert(!hv_clock_epoch_ns(c, &ns));
	timekeeper(0, "kvm-clock", 7000, 90000000); /* the trace clock does not use it */
	ck_assert(!hv_clock_epoch_ns(c, &ns));
	timekeeper(0, "tsc", 7000, 6000); /* the clock began before 1970 */
	ck_assert(!hv_clock_epoch_ns(c, &ns));
	timekeeper(0, "tsc", 7000, ~0ull - 10);
	ck_assert(!hv_clock_epoch_ns(c, &ns));
	timekeeper(0, "tsc, and a name that is longer than any that a kernel has", 7000, 90000000);
	ck_assert(!hv_clock_epoch_ns(c, &ns));
	ck_assert_uint_eq(ns, 4);
}
END_TEST

static void no_keeper(int code, const char *message)
{
	struct hv_timekeeper_moment m;
	struct hv_cycles cycles;

	expect_error(hv_clock_read_keeper(c, &m, &cycles), code, message);
}

static void write_seq(struct xm *m hv_unused, struct hv_gpa gpa)
{
	if (fk_is_at(gpa, t.tk_fast))
		++*fk_host(&t.f, t.tk_fast);
}

START_TEST(a_timekeeper_that_the_guest_keeps_writing)
{
	cyc2ns(0, 0, 1 << 10, 10, 0);
	open_clock(HV_CLOCK_TSC);
	timekeeper(0, "tsc", 7000, 90000000);
	t.f.machine.after_read = write_seq;
	no_keeper(EAGAIN, "tk_fast_mono changed during each read; retry");
}
END_TEST

/* The kernel must have struct tk_fast, with the copies of the timekeeper. */
START_TEST(unknown_timekeeper_layouts)
{
	static const char unknown[] = "the guest's timekeeper has an unknown layout";

	begin();
	FK_STRUCT("clocksource", 24, {"name", 16, 8});
	FK_STRUCT("tk_read_base", FT_TK_BASE_BYTES, {"clock", 0, 8}, {"cycle_last", 16, 8},
		  {"mult", 24, 4}, {"shift", 28, 4}, {"xtime_nsec", 32, 8}, {"base", 40, 8},
		  {"base_real", 48, 8});
	FK_STRUCT("tk_fast", FT_TK_BYTES - 1, {"seq", 0, 4}, {"base", 8, 2 * FT_TK_BASE_BYTES});
	fk_use_types(&t.f);
	open_clock(HV_CLOCK_RAW);
	no_keeper(ENOENT, unknown);
	hv_clock_free(c);
	hv_btf_free(t.f.k.core.btf);
	t.f.k.core.btf = NULL;
	open_clock(HV_CLOCK_RAW);
	no_keeper(ENOENT, unknown);
}
END_TEST

START_TEST(an_unknown_clock)
{
	struct hv_clock_global global;

	fk_u32(&t.f, t.use_tsc, 0);
	open_clock(HV_CLOCK_RAW);
	timekeeper(0, "tsc", 7000, 90000000);
	no_keeper(ENOENT, "cannot find the guest's clock");
	expect_error(hv_clock_read_global(c, &global), ENOENT, "cannot find the guest's clock");
}
END_TEST

START_TEST(an_unstable_clock_ticks)
{
	struct hv_clock_global global;
	uint64_t ticks = t.f.areas[1] + FT_TICKS;

	fk_u32(&t.f, t.clock_stable, 0);
	cyc2ns(0, 0, 1 << 10, 10, 0);
	open_clock(HV_CLOCK_TSC);
	expect_error(hv_clock_read_global(c, &global), ENOENT,
		     "the guest's clock has not ticked yet");
	fk_u64(&t.f, ticks, 5000);
	fk_u64(&t.f, ticks + 8, 7000);
	expect_success(hv_clock_read_global(c, &global));
	ck_assert(!global.is_stable);
	ck_assert_uint_eq(global.tick_ns, 5000);
	ck_assert_uint_eq(global.global_ns, 7000);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_cpu_has_separate_clock_parameters);
	tcase_add_test(tc, refresh_takes_the_copy_in_use);
	tcase_add_test(tc, products_of_96_bits_are_whole);
	tcase_add_test(tc, any_parameters_give_some_number);
	tcase_add_test(tc, no_tsc_no_clock);
	tcase_add_test(tc, other_functions_are_not_guessed);
	tcase_add_test(tc, without_btf_no_clock);
	tcase_add_test(tc, pvclock_scales_both_ways);
	tcase_add_test(tc, a_record_older_than_the_parameters_goes_backwards);
	tcase_add_test(tc, a_cpu_without_pvclock_uses_that_of_another);
	tcase_add_test(tc, an_unwritten_pvclock_is_not_used);
	tcase_add_test(tc, any_pvclock_gives_some_number);
	tcase_add_test(tc, the_time_of_day_by_the_copy_in_use);
	tcase_add_test(tc, the_time_of_day_by_pvclock);
	tcase_add_test(tc, the_timekeepers_clocks_are_read);
	tcase_add_test(tc, a_timekeeper_by_pvclock_has_its_ns_as_cycles);
	tcase_add_test(tc, unknown_clocksources_give_no_time_of_day);
	tcase_add_test(tc, a_timekeeper_that_the_guest_keeps_writing);
	tcase_add_test(tc, unknown_timekeeper_layouts);
	tcase_add_test(tc, an_unknown_clock);
	tcase_add_test(tc, an_unstable_clock_ticks);
}

int main(void)
{
	return run_suite("clock", add_tests);
}
