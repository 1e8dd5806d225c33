/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's own ftrace and hvtrace's sites: the trampoline through which ftrace reads them, sites
 * that ftrace takes over, and undoing. */
#include <check.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_traced.h"
#include "tracer/hooks/guest_ftrace.h"

#define NR_SITES 4u
#define READER	 (FK_BASE + 0x20000)
#define VERIFY	 (FK_BASE + 0x30000)
#define PLACE	 (VERIFY + 0x32)
#define NOW_NS	 (100 * HV_NS_PER_S)

static const uint8_t nop[FR_SITE_BYTES] = {0x66, 0x66, 0x66, 0x66, 0x90};
static uint8_t before[FR_SITE_BYTES]; /* at PLACE */

static struct fr r;
static struct traced t;

static void call(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(&r.t.f, at)));
}

static void symbols(void)
{
	fk_symbol(&r.t.f, "somebody", FR_SITE(0));
	fk_symbol(&r.t.f, "copy_from_kernel_nofault", READER);
	fk_symbol(&r.t.f, "ftrace_verify_code.isra.0", VERIFY);
	fk_symbol(&r.t.f, "somebody_else", VERIFY + 0x100);
	hv_symbols_index(&r.t.f.k.core.symbols);
}

static void setup(void)
{
	traced_init(&t, &r, NR_SITES, nop);
	symbols();
	call(PLACE, READER);
	call(PLACE + 0x20, READER + 1);		  /* a call of another function */
	call(VERIFY + 0x110, READER);		  /* a call by another function */
	call(VERIFY + 0x60, FR_RANGE + 0x200000); /* bytes that look like one of hvtrace's calls */
	memcpy(before, fk_host(&r.t.f, PLACE), FR_SITE_BYTES);
}

static void teardown(void)
{
	traced_deinit(&t);
}

static struct hv_gva target_of(uint64_t at)
{
	struct hv_gva target = {0};

	hv_arch_x86_64.classify_site(fk_host(&r.t.f, at), hv_gva(at), &target);
	return target;
}

START_TEST(ftrace_reads_through_the_trampoline_while_traced)
{
	const struct hv_params *params = hv_region_params(&r.tracee.region);

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(target_of(PLACE).v, hv_trampolines_ftrace_reader(&r.tracee, 0).v);
	ck_assert_uint_eq(target_of(PLACE + 0x20).v, READER + 1);
	ck_assert_uint_eq(target_of(VERIFY + 0x110).v, READER);
	ck_assert_uint_eq(params->ftrace_reader_gva, READER);
	ck_assert_mem_eq(params->ftrace_nop, nop, FR_SITE_BYTES);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), NR_SITES);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_mem_eq(fk_host(&r.t.f, PLACE), before, FR_SITE_BYTES);
	ck_assert(!hv_guest_ftrace_is_patched(t.guest_ftrace));
}
END_TEST

/* Records of the trampoline's calls show the reading function as the caller. The decoder finds it
 * by the entry. */
START_TEST(each_read_call_uses_a_separate_entry)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	const struct hv_decode *d = &t.decode;
	uint64_t second = VERIFY + 0x90;

	call(second, READER);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(d->ftrace_readers.v, hv_trampolines_ftrace_reader(&r.tracee, 0).v);
	ck_assert_uint_eq(target_of(PLACE).v, d->ftrace_readers.v);
	ck_assert_uint_eq(target_of(second).v,
			  d->ftrace_readers.v + trampolines->ftrace_reader_len_bytes);
	ck_assert_uint_eq(d->ftrace_reader_callers[0].v, PLACE + FR_SITE_BYTES);
	ck_assert_uint_eq(d->ftrace_reader_callers[1].v, second + FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(target_of(second).v, READER);
}
END_TEST

/* The read call is changed first and undone last, so ftrace never sees one of hvtrace's sites. */
static unsigned nr_seen;

static void look(struct fr *f)
{
	const struct hv_arch *arch = &hv_arch_x86_64;
	bool hidden = hv_gva_in(target_of(PLACE), f->tracee.range);

	for (unsigned i = 0; i < NR_SITES; i++) {
		struct hv_gva target;

		if (arch->classify_site(fk_host(&f->t.f, FR_SITE(i)), hv_gva(FR_SITE(i)),
					&target) == HV_SITE_CALL &&
		    !hidden)
			nr_seen++;
	}
}

START_TEST(no_site_is_patched_while_ftrace_reads_directly)
{
	nr_seen = 0;
	r.when_held = look;
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_ptr_null(hv_guest_ftrace_begin(t.guest_ftrace)); /* again */
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(nr_seen, 0);
}
END_TEST

START_TEST(sites_taken_by_the_guest_are_released)
{
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert(!hv_guest_ftrace_has_read(t.guest_ftrace, NOW_NS));
	hv_region_control(&r.tracee.region)->looks++;
	call(FR_SITE(1), FK_BASE + 0x500);
	fk_host(&r.t.f, FR_SITE(2))[0] = 0xcc; /* being changed */
	ck_assert(hv_guest_ftrace_has_read(t.guest_ftrace, NOW_NS));
	ck_assert(!hv_guest_ftrace_has_read(t.guest_ftrace, NOW_NS));
	ck_assert(hv_guest_ftrace_has_read(t.guest_ftrace, NOW_NS + HV_NS_PER_S));
	ck_assert(!hv_guest_ftrace_has_read(t.guest_ftrace, NOW_NS + 6 * HV_NS_PER_S));
	ck_assert_uint_eq(hv_guest_ftrace_forget_taken(t.guest_ftrace), 2);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), NR_SITES - 2);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, FK_BASE + 0x500);
	ck_assert_uint_eq(hv_site_trampolines_refused(t.trampolines)->nr, 2);

	memcpy(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES); /* the guest is done with it */
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert(hv_gva_in(target_of(FR_SITE(1)), r.tracee.range));
	ck_assert_uint_eq(hv_site_trampolines_refused(t.trampolines)->nr, 1);
}
END_TEST

/* A journal entry as recover finds it. The guest's root can write the journal. */
START_TEST(only_consistent_journal_entries_are_used)
{
	struct hv_journal_entry good, e;
	struct hv_err *busy;
	bool ours;

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	e = (struct hv_journal_entry){.gva = PLACE,
				      .gpa = FK_GPA + (PLACE - FK_BASE),
				      .kind = HV_CHANGE_FTRACE_READER,
				      .len_bytes = FR_SITE_BYTES};
	memcpy(e.old_bytes, before, FR_SITE_BYTES);
	good = e;
	ck_assert_ptr_null(hv_guest_ftrace_is_ours(t.guest_ftrace, &e, &ours));
	ck_assert(ours);
	ck_assert_mem_eq(e.new_bytes, fk_host(&r.t.f, PLACE), FR_SITE_BYTES);
	busy = hv_guest_ftrace_check_gone(t.guest_ftrace);
	ck_assert(busy && busy->code == EBUSY);
	ck_assert_ptr_nonnull(strstr(busy->message, " still calls a trampoline"));
	ck_assert_ptr_nonnull(strstr(busy->message, "ftrace's call at 0x"));
	hv_err_free(busy);

	e = good;
	e.old_bytes[1]++; /* another function would be called */
	ck_assert_ptr_null(hv_guest_ftrace_is_ours(t.guest_ftrace, &e, &ours));
	ck_assert(!ours);
	e = good;
	e.gpa += 8;
	ck_assert_ptr_null(hv_guest_ftrace_is_ours(t.guest_ftrace, &e, &ours));
	ck_assert(!ours);
	e = good;
	e.gva = e.gva + (FK_DATA - FK_BASE); /* not text */
	e.gpa = e.gpa + (FK_DATA - FK_BASE);
	ck_assert_ptr_null(hv_guest_ftrace_is_ours(t.guest_ftrace, &e, &ours));
	ck_assert(!ours);

	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	e = good; /* the call is the original one */
	ck_assert_ptr_null(hv_guest_ftrace_is_ours(t.guest_ftrace, &e, &ours));
	ck_assert(!ours);
	ck_assert_ptr_null(hv_guest_ftrace_check_gone(t.guest_ftrace));
}
END_TEST

static void check_reasons(const char *expected)
{
	HV_AUTO_TEXT struct hv_text reasons = {0};

	ck_assert_ptr_null(hv_guest_ftrace_look(&r.t.f.k, &reasons));
	ck_assert_str_eq(reasons.data ? reasons.data : "", expected);
}

/* The reasons that check shows before attach. */
START_TEST(reasons_against_the_reader_are_reported_early)
{
	const uint64_t crossing = VERIFY + 0xffd;
	HV_AUTO_TEXT struct hv_text text = {0};

	check_reasons("");
	call(crossing, READER);
	fk_symbol(&r.t.f, "ftrace_of_another_page", crossing - 0x10);
	hv_symbols_index(&r.t.f.k.core.symbols);
	hv_text_printf(&text, "its call of copy_from_kernel_nofault at 0x%llx is in two pages",
		       (unsigned long long)crossing);
	check_reasons(text.data);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION); /* the call in two pages is left alone */
	ck_assert_uint_eq(target_of(crossing).v, READER);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	memset(fk_host(&r.t.f, crossing), 0x90, FR_SITE_BYTES);
	for (unsigned i = 0; i < HV_NR_FTRACE_READERS; i++)
		call(VERIFY + 0x90 + 8 * i, READER);
	check_reasons("it has more than 8 calls of copy_from_kernel_nofault");
	memset(fk_host(&r.t.f, VERIFY), 0x90, 0x100);
	check_reasons("its call of copy_from_kernel_nofault was not found");
	r.t.f.k.core.symbols.nr = 0;
	check_reasons("cannot find the function that reads its sites");
}
END_TEST

START_TEST(a_kernel_without_the_call_can_be_traced)
{
	memset(fk_host(&r.t.f, PLACE), 0x90, FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert(!hv_guest_ftrace_is_patched(t.guest_ftrace));
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), NR_SITES);
}
END_TEST

/* The read call is restored after the last site, also if a change fails, but not while a site
 * cannot be restored. */
START_TEST(the_reader_stays_until_the_last_site_is_restored)
{
	struct hv_err *err;

	r.fail_after = 3; /* the read call is the first */
	err = traced_want(&t, HV_TRAMPOLINE_FUNCTION);
	r.fail_after = 0;
	ck_assert(err && strstr(err->message, "nothing was changed"));
	hv_err_free(err);
	ck_assert(!hv_guest_ftrace_is_patched(t.guest_ftrace));
	ck_assert_uint_eq(target_of(PLACE).v, READER);

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	r.regs[0].ip = hv_gva(FR_SITE(1) + 2);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), 1);
	ck_assert(hv_guest_ftrace_is_patched(t.guest_ftrace));
	r.regs[0].ip = hv_gva(0x401000);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert(!hv_guest_ftrace_is_patched(t.guest_ftrace));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, ftrace_reads_through_the_trampoline_while_traced);
	tcase_add_test(tc, each_read_call_uses_a_separate_entry);
	tcase_add_test(tc, no_site_is_patched_while_ftrace_reads_directly);
	tcase_add_test(tc, sites_taken_by_the_guest_are_released);
	tcase_add_test(tc, only_consistent_journal_entries_are_used);
	tcase_add_test(tc, the_reader_stays_until_the_last_site_is_restored);
	tcase_add_test(tc, reasons_against_the_reader_are_reported_early);
	tcase_add_test(tc, a_kernel_without_the_call_can_be_traced);
}

int main(void)
{
	return run_suite("guest_ftrace", add_tests);
}
