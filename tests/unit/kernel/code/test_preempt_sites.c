/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the instructions of a kernel's text that change the preempt count, and which of them are
 * covered. The kernel has a few functions, written here byte by byte. */
#include <check.h>

#include <errno.h>

#include "kernel/core/function_code.h"
#include "kernel/code/section_sites.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define COUNT	    0x1fb88ull /* __preempt_count, from the per-CPU base */
#define LOCK	    (FK_BASE + 0x1000)
#define LOCK_BH	    (LOCK + 0x40)
#define FUNCTION    (FK_BASE + 0x2000)
#define NEXT	    (FK_BASE + 0x3000)
#define ENTRY	    (FK_BASE + 0x4000)
#define ENTRY_END   (FK_BASE + 0x5000)
#define COUNT_ADD   (FK_BASE + 0x6000)
#define COUNT_SUB   (FK_BASE + 0x6100)
#define IRQ_ENTER   (FK_BASE + 0x6200)
#define MODULE_TEXT FK_MODULES

static struct fk f;
static struct hv_preempt_sites sites;

/* Writes CODE at AT, the displacement from the next instruction to the counter, and IMM. Returns
 * the end. */
static uint64_t put_count(uint64_t at, const char *code, size_t len, const char *imm,
			  size_t imm_len)
{
	int32_t disp = (int32_t)(COUNT - (at + len + 4 + imm_len));

	memcpy(fk_host(&f, at), code, len);
	memcpy(fk_host(&f, at + len), &disp, 4);
	memcpy(fk_host(&f, at + len + 4), imm, imm_len);
	return at + len + 4 + imm_len;
}

static uint64_t put_inc(uint64_t at)
{
	return put_count(at, "\x65\xff\x05", 3, "", 0);
}

static uint64_t put_dec(uint64_t at)
{
	return put_count(at, "\x65\xff\x0d", 3, "", 0);
}

static uint64_t put(uint64_t at, const char *code, size_t len)
{
	memcpy(fk_host(&f, at), code, len);
	return at + len;
}
#define PUT(at, code) put(at, code, sizeof(code) - 1)

static void set_up(void)
{
	fk_init(&f);
	f.k.layout.preempt_count_percpu = COUNT;
	memset(fk_host(&f, FK_BASE), 0xc3, FK_DATA - FK_BASE); /* ret */
	fk_symbol(&f, "_stext", FK_BASE);
	fk_symbol(&f, "_raw_spin_lock", LOCK);
	fk_symbol(&f, "_raw_spin_lock_bh", LOCK_BH);
	fk_symbol(&f, "function", FUNCTION);
	fk_symbol(&f, "next", NEXT);
	fk_symbol(&f, "__entry_text_start", ENTRY);
	fk_symbol(&f, "__entry_text_end", ENTRY_END);
	fk_symbol(&f, "preempt_count_add", COUNT_ADD);
	fk_symbol(&f, "preempt_count_sub", COUNT_SUB);
	fk_symbol(&f, "irq_enter_rcu", IRQ_ENTER);
	fk_symbol(&f, "_etext", FK_DATA);
	fk_done(&f);
	put_inc(LOCK);
}

static void tear_down(void)
{
	hv_preempt_sites_deinit(&sites);
	fk_deinit(&f);
}

static void read_sites(void)
{
	struct hv_err *err = hv_preempt_sites_read(&f.k, &sites);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static const struct hv_preempt_site *site_at(uint64_t at)
{
	for (size_t i = 0; i < sites.nr; i++)
		if (sites.list[i].at.v == at)
			return &sites.list[i];
	return NULL;
}

static void check_cover(uint64_t at, enum hv_preempt_cover cover)
{
	const struct hv_preempt_site *site = site_at(at);

	ck_assert_ptr_nonnull(site);
	ck_assert_uint_eq(site->cover, cover);
}

static void check_count(uint64_t at, size_t len, uint32_t amount, bool subtracts)
{
	const struct hv_preempt_site *site = site_at(at);

	ck_assert_ptr_nonnull(site);
	ck_assert_uint_eq(site->count.len_bytes, len);
	ck_assert_uint_eq(site->count.amount, amount);
	ck_assert_uint_eq(site->count.subtracts, subtracts);
	ck_assert_mem_eq(site->insn, fk_host(&f, at), len);
	ck_assert_uint_eq(site->cover, HV_PREEMPT_COVERED);
}

START_TEST(every_form_is_found)
{
	uint64_t inc = FUNCTION, dec = put_inc(inc), add = put_dec(dec);
	uint64_t sub = put_count(add, "\x65\x81\x05", 3, "\x00\x02\x00\x00", 4);
	uint64_t minus = put_count(sub, "\x65\x83\x2d", 3, "\x02", 1);
	uint64_t absolute = put_count(minus, "\x65\x81\x05", 3, "\x00\xff\xff\xff", 4);
	uint64_t end = PUT(absolute, "\x65\xff\x04\x25\x88\xfb\x01\x00");

	read_sites();
	ck_assert_uint_eq(sites.nr, 7);
	ck_assert_uint_eq(sites.nr_of[HV_PREEMPT_COVERED], 7);
	check_count(inc, 7, 1, false);
	check_count(dec, 7, 1, true);
	check_count(add, 11, 0x200, false);
	check_count(sub, 8, 2, true);
	check_count(minus, 11, 0x100, true);
	check_count(absolute, 8, 1, false);
	ck_assert_uint_eq(end, absolute + 8);
}
END_TEST

/* 64-bit forms have a REX prefix. No kernel has the form of 13 bytes. */
START_TEST(every_form_of_64_bits_is_found)
{
	uint64_t inc = FUNCTION, dec = put_count(inc, "\x65\x48\xff\x05", 4, "", 0);
	uint64_t add = put_count(dec, "\x65\x48\xff\x0d", 4, "", 0);
	uint64_t sub = put_count(add, "\x65\x48\x81\x05", 4, "\x00\x02\x00\x00", 4);
	uint64_t absolute = put_count(sub, "\x65\x48\x83\x2d", 4, "\x02", 1);
	uint64_t longest = PUT(absolute, "\x65\x48\xff\x04\x25\x88\xfb\x01\x00");

	PUT(longest, "\x65\x48\x81\x04\x25\x88\xfb\x01\x00\x00\x02\x00\x00");
	read_sites();
	ck_assert_uint_eq(sites.nr, 6);
	check_count(inc, 8, 1, false);
	check_count(dec, 8, 1, true);
	check_count(add, 12, 0x200, false);
	check_count(sub, 9, 2, true);
	check_count(absolute, 9, 1, false);
	ck_assert(site_at(inc)->count.is_wide);
	ck_assert(!site_at(LOCK)->count.is_wide);
}
END_TEST

START_TEST(code_shows_the_width_of_the_count)
{
	ck_assert(!hv_preempt_count_is_wide(&f.k.core, COUNT));
	ck_assert_uint_eq(hv_preempt_count_shift(&f.k.core, COUNT), 0);
	put_count(LOCK, "\x65\x48\xff\x05", 4, "", 0);
	ck_assert(hv_preempt_count_is_wide(&f.k.core, COUNT));
	/* the function adds 1 first, then the value of an interrupt */
	put_count(put_inc(IRQ_ENTER), "\x65\x81\x05", 3, "\x00\x00\x01\x00", 4);
	ck_assert_uint_eq(hv_preempt_count_shift(&f.k.core, COUNT), 0);
	put_count(put_inc(IRQ_ENTER), "\x65\x81\x05", 3, "\x00\x00\x00\x01", 4);
	ck_assert_uint_eq(hv_preempt_count_shift(&f.k.core, COUNT), 8);
}
END_TEST

/* Counting code in the next function does not count for this one. */
START_TEST(a_kernel_that_does_not_count)
{
	memset(fk_host(&f, LOCK), 0xc3, 16);
	put_inc(LOCK_BH);
	ck_assert(!hv_preempt_is_counted(&f.k));
	put_inc(COUNT_ADD);
	ck_assert(hv_preempt_is_counted(&f.k));
}
END_TEST

/* Other functions add a register only where the count stays above 0. */
START_TEST(register_operands_count_in_two_functions)
{
	uint64_t add = PUT(COUNT_ADD, "\x90"), sub = PUT(COUNT_SUB, "\x53\x89\xfb");

	memset(fk_host(&f, LOCK), 0xc3, 16);
	put_count(add, "\x65\x01\x3d", 3, "", 0);
	put_count(PUT(put_count(sub, "\x65\x29\x1d", 3, "", 0), "\xf7\xdb"), "\x65\x01\x1d", 3, "",
		  0);
	put_count(FUNCTION, "\x65\x29\x1d", 3, "", 0);
	read_sites();
	ck_assert_uint_eq(sites.nr, 3);
	check_count(add, 7, 0, false);
	check_count(sub, 7, 0, true);
	check_count(sub + 9, 7, 0, true); /* after negl %ebx */
	ck_assert(hv_preempt_is_in_counter(&f.k, hv_gva(add)));
	ck_assert(hv_preempt_is_in_counter(&f.k, hv_gva(sub)));
	ck_assert(!hv_preempt_is_in_counter(&f.k, hv_gva(FUNCTION)));
	ck_assert(!hv_preempt_is_in_counter(&f.k, hv_gva(COUNT_ADD - 1)));
}
END_TEST

START_TEST(other_counters_and_operations_are_ignored)
{
	uint64_t at = FUNCTION;

	at = put_count(at, "\x65\xff\x05", 3, "\x90", 1);	      /* incl of COUNT - 1 */
	at = put_count(at, "\x64\xff\x05", 3, "", 0);		      /* %fs */
	at = put_count(at, "\x65\xff\x35", 3, "", 0);		      /* push */
	at = put_count(at, "\x65\x81\x25", 3, "\xff\xff\xff\x7f", 4); /* and */
	put_count(at, "\x65\x83\x05", 3, "\x00", 1);		      /* add $0 */
	read_sites();
	ck_assert_uint_eq(sites.nr, 1);
}
END_TEST

START_TEST(bytes_inside_another_instruction_are_not_covered)
{
	uint64_t at = PUT(FUNCTION, "\x48\xb8"); /* movabs: seven of its eight bytes */

	PUT(put_inc(at), "\x00");
	read_sites();
	check_cover(at, HV_PREEMPT_NO_INSN);
	/* With another prefix before it, the instruction is longer. */
	tear_down();
	set_up();
	PUT(FUNCTION, "\x3e");
	put_inc(FUNCTION + 1);
	read_sites();
	check_cover(FUNCTION + 1, HV_PREEMPT_NO_INSN);
}
END_TEST

START_TEST(a_jump_into_it_is_seen)
{
	put_inc(PUT(FUNCTION, "\xeb\x03")); /* jmp to its fourth byte */
	put_inc(PUT(NEXT, "\xeb\x00"));	    /* to its first one */
	read_sites();
	check_cover(FUNCTION + 2, HV_PREEMPT_JUMPED_INTO);
	check_cover(NEXT + 2, HV_PREEMPT_COVERED);
}
END_TEST

START_TEST(flags_that_are_used_are_seen)
{
	static const struct {
		const char *code;
		size_t len;
		enum hv_preempt_cover cover;
	} cases[] = {
#define CASE(code, cover) {code, sizeof(code) - 1, cover}
		CASE("\x74\x00", HV_PREEMPT_FLAGS_USED),		      /* je */
		CASE("\x0f\x92\xc0", HV_PREEMPT_FLAGS_USED),		      /* setb */
		CASE("\x48\x0f\x44\xc1", HV_PREEMPT_FLAGS_USED),	      /* cmove */
		CASE("\x48\x11\xc8", HV_PREEMPT_FLAGS_USED),		      /* adc */
		CASE("\x48\x89\xc8\x74\x00", HV_PREEMPT_FLAGS_USED),	      /* mov, je */
		CASE("\x48\x85\xc0\x74\x00", HV_PREEMPT_COVERED),	      /* test, je */
		CASE("\xff\xc0\x72\x00", HV_PREEMPT_FLAGS_USED),	      /* inc keeps CF: jb */
		CASE("\xf0\x48\x0f\xba\x28\x03\x72\x00", HV_PREEMPT_COVERED), /* lock bts, jb */
		CASE("\x9c\x58\xfa", HV_PREEMPT_COVERED),		      /* pushf, pop, cli */
		CASE("\xf3\x48\xab\x48\x85\xc0", HV_PREEMPT_COVERED),	      /* rep stos, test */
		CASE("\xf3\x48\xab\x74\x00", HV_PREEMPT_FLAGS_USED),	      /* rep stos, je */
		CASE("\xe8\x00\x00\x00\x00\x74\x00", HV_PREEMPT_COVERED),     /* call, je */
#undef CASE
	};

	put(put_inc(FUNCTION), cases[_i].code, cases[_i].len);
	put(put_dec(NEXT), cases[_i].code, cases[_i].len);
	read_sites();
	check_cover(FUNCTION, cases[_i].cover);
	check_cover(NEXT, HV_PREEMPT_COVERED); /* dec itself sets the flags */
}
END_TEST

START_TEST(excluded_sites_are_not_patched)
{
	uint64_t nmi = PUT(FUNCTION, "\x90"), page = NEXT + 0x1000 - 4;

	put_count(nmi, "\x65\x81\x05", 3, "\x00\x00\x11\x00", 4);
	memset(fk_host(&f, NEXT), 0x90, 0x1000);
	put_inc(page);
	put_inc(ENTRY + 0x100);
	read_sites();
	check_cover(nmi, HV_PREEMPT_OF_NMIS);
	check_cover(page, HV_PREEMPT_IN_TWO_PAGES);
	check_cover(ENTRY + 0x100, HV_PREEMPT_IN_ENTRY);
	ck_assert_uint_eq(sites.nr_of[HV_PREEMPT_COVERED], 1);
}
END_TEST

START_TEST(code_after_an_unknown_instruction_is_skipped)
{
	uint64_t at = put_inc(FUNCTION);

	put_dec(PUT(at, "\x0f\xff\xff\xff"));
	read_sites();
	check_cover(FUNCTION, HV_PREEMPT_COVERED);
	check_cover(at + 4, HV_PREEMPT_NOT_UNDERSTOOD);
}
END_TEST

/* One function has an uncovered beginning of a section; another has only covered ones. */
START_TEST(ends_with_an_uncovered_beginning)
{
	uint64_t covered = put_inc(FUNCTION), page = NEXT + 0x1000 - 3, end;

	put_dec(covered);
	memset(fk_host(&f, NEXT), 0x90, 0x1000);
	end = put_inc(NEXT);
	put_dec(end);
	put_inc(page);
	read_sites();
	check_cover(page, HV_PREEMPT_IN_TWO_PAGES);
	check_cover(covered, HV_PREEMPT_COVERED);
	check_cover(end, HV_PREEMPT_COVERED);
	for (size_t i = 0; i < sites.nr; i++)
		ck_assert_int_eq(sites.list[i].misses_beginning, sites.list[i].at.v == end);
}
END_TEST

/* invlpgb and tlbsync, and both with a prefix that turns them into other instructions. */
START_TEST(invlpgb_and_tlbsync_are_decoded)
{
	uint64_t first = put_inc(FUNCTION), second = PUT(first, "\x0f\x01\xfe");
	uint64_t behind = put_dec(second), last = PUT(behind, "\x0f\x01\xff");
	uint64_t unknown = put_dec(last);

	put_inc(PUT(unknown, "\xf2\x0f\x01\xff"));
	read_sites();
	check_cover(second, HV_PREEMPT_COVERED);
	check_cover(last, HV_PREEMPT_COVERED);
	check_cover(unknown + 4, HV_PREEMPT_NOT_UNDERSTOOD);
}
END_TEST

START_TEST(a_kernel_that_does_not_count_is_refused)
{
	struct hv_err *err;

	memset(fk_host(&f, LOCK), 0xc3, 16);
	put_inc(FUNCTION);
	err = hv_preempt_sites_read(&f.k, &sites);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EOPNOTSUPP);
	ck_assert_str_eq(err->message, "the kernel does not count where preemption is off "
				       "(CONFIG_PREEMPT_COUNT)");
	hv_err_free(err);
	f.k.is_starting = true;
	err = hv_preempt_sites_read(&f.k, &sites);
	ck_assert_ptr_nonnull(err);
	ck_assert_str_eq(err->message, "the kernel is still starting");
	hv_err_free(err);
	f.k.is_starting = false;
	f.k.core.as.arch = &hv_arch_riscv64;
	err = hv_preempt_sites_read(&f.k, &sites);
	ck_assert_ptr_nonnull(err);
	ck_assert_str_eq(err->message, "not supported yet on riscv64");
	hv_err_free(err);
}
END_TEST

START_TEST(text_and_sites_have_limits)
{
	uint64_t at = FK_BASE + 0x200000;

	f.k.text = (struct hv_gva_range){hv_gva(at), hv_gva(FK_END)};
	for (unsigned i = 0; i <= 200000; i++)
		at = put_inc(at);
	expect_error(hv_preempt_sites_read(&f.k, &sites), EINVAL,
		     "more than 200000 places count preemption");
	f.k.text.end = hv_gva(f.k.text.start.v + (256 << 20) + 1);
	expect_error(hv_preempt_sites_read(&f.k, &sites), EINVAL,
		     "268435457 bytes of text are too many to search");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, every_form_is_found);
	tcase_add_test(tc, every_form_of_64_bits_is_found);
	tcase_add_test(tc, code_shows_the_width_of_the_count);
	tcase_add_test(tc, a_kernel_that_does_not_count);
	tcase_add_test(tc, register_operands_count_in_two_functions);
	tcase_add_test(tc, other_counters_and_operations_are_ignored);
	tcase_add_test(tc, bytes_inside_another_instruction_are_not_covered);
	tcase_add_test(tc, a_jump_into_it_is_seen);
	tcase_add_loop_test(tc, flags_that_are_used_are_seen, 0, 12);
	tcase_add_test(tc, excluded_sites_are_not_patched);
	tcase_add_test(tc, code_after_an_unknown_instruction_is_skipped);
	tcase_add_test(tc, invlpgb_and_tlbsync_are_decoded);
	tcase_add_test(tc, ends_with_an_uncovered_beginning);
	tcase_add_test(tc, a_kernel_that_does_not_count_is_refused);
	tcase_add_test(tc, text_and_sites_have_limits);
}

int main(void)
{
	return run_suite("preempt_sites", add_tests);
}
