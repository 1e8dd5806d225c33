/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the instructions of a kernel's text that switch interrupts, and those that enter and leave
 * the kernel, and which of them are covered. The kernel has a few functions, written here byte by
 * byte. */
#include <check.h>

#include <errno.h>

#include "kernel/code/section_sites.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_orc.h"

#define REGS 1 /* as FO_END has them */
#define CALL 0

#define FUNCTION   (FK_BASE + 0x2000)
#define NEXT	   (FK_BASE + 0x3000)
#define FORK	   (FK_BASE + 0x4000) /* ret_from_fork */
#define SYSCALL	   (FK_BASE + 0x5000) /* C code */
#define HANDLER	   (FK_BASE + 0x5100)
#define NMI	   (FK_BASE + 0x5200)
#define ENTRY	   (FK_BASE + 0x6000)
#define ENTER_SYS  (ENTRY + 0x10)
#define ENTER_IRQ  (ENTRY + 0x40)
#define ENTER_OWN  (ENTRY + 0x80)
#define ENTER_NMI  (ENTRY + 0xc0)
#define RETURN	   (ENTRY + 0x100)
#define USER	   (ENTRY + 0x140)
#define OWN_STACKS (ENTRY + 0x180)
#define ENTRY_END  (FK_BASE + 0x7000)

static struct fo o;
static struct hv_irq_sites sites;
static bool is_paravirt = true;
static bool has_fred;

static void add_more(struct fk *f)
{
	uint32_t ops;

	if (is_paravirt) {
		ops = FK_STRUCT("pv_irq_ops", 16, {"irq_disable", 0, 8}, {"irq_enable", 8, 8});
		FK_STRUCT("paravirt_patch_template", 32, {"irq", 16, 16, ops});
	}
	fk_symbol(f, "function", FUNCTION);
	fk_symbol(f, "next", NEXT);
	fk_symbol(f, "ret_from_fork", FORK);
	fk_symbol(f, "do_syscall_64", SYSCALL);
	fk_symbol(f, "handler", HANDLER);
	fk_symbol(f, "exc_nmi", NMI);
	fk_symbol(f, "__entry_text_start", ENTRY);
	fk_symbol(f, "entry_syscall", ENTER_SYS);
	fk_symbol(f, "entry_irq", ENTER_IRQ);
	fk_symbol(f, "entry_own", ENTER_OWN);
	fk_symbol(f, "entry_nmi", ENTER_NMI);
	fk_symbol(f, "error_return", RETURN);
	fk_symbol(f, "swapgs_restore_regs_and_return_to_usermode", USER);
	fk_symbol(f, "paranoid_exit", OWN_STACKS);
	fk_symbol(f, "__entry_text_end", ENTRY_END);
	if (has_fred)
		fk_symbol(f, "asm_fred_entrypoint_user", ENTRY_END + 16);
}

static uint64_t put(uint64_t at, const char *code, size_t len)
{
	memcpy(fk_host(&o.f, at), code, len);
	return at + len;
}
#define PUT(at, code) put(at, code, sizeof(code) - 1)

/* Writes a call (e8), jump (e9) or branch to TARGET. */
static uint64_t put_to(uint64_t at, const char *code, size_t len, uint64_t target)
{
	int32_t distance = (int32_t)(target - (at + len + 4));

	put(at, code, len);
	return put(at + len, (const char *)&distance, 4);
}
#define PUT_TO(at, code, target) put_to(at, code, sizeof(code) - 1, target)

#define NOP5 "\x0f\x1f\x44\x00\x00"
#define CLI  "\xfa" NOP5
#define STI  "\xfb" NOP5

static void put_entries(void)
{
	uint64_t at;

	PUT_TO(PUT_TO(ENTER_SYS, "\xe8", SYSCALL), "\x84\xc0\x0f\x84", USER);
	PUT_TO(PUT_TO(ENTER_IRQ, "\xe8", HANDLER), "\xe9", RETURN);
	PUT_TO(PUT_TO(ENTER_OWN, "\xe8", HANDLER), "\xe9", OWN_STACKS);
	PUT_TO(PUT_TO(ENTER_NMI, "\xe8", NMI), "\xe9", USER);
	at = PUT_TO(FORK, "\xe8", HANDLER);
	PUT_TO(at, "\xe9", USER);
}

static void set_up(void)
{
	struct hv_err *err;

	fo_more = add_more;
	fo_init(&o, FO_END);
	memset(fk_host(&o.f, FUNCTION), 0xc3, FK_DATA - FUNCTION); /* ret */
	fo_rule(&o, 0, (struct fo_rule){FUNCTION, SP_REG, 0x20, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 1, (struct fo_rule){NEXT, BP, 0x10, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 2, (struct fo_rule){FORK, SP_REG, 0, UNDEFINED, 0, REGS, 0});
	fo_rule(&o, 3, (struct fo_rule){SYSCALL, SP_REG, 8, UNDEFINED, 0, CALL, 0});
	fo_rule(&o, 4, (struct fo_rule){ENTRY, SP_REG, 0, UNDEFINED, 0, REGS, 0});
	for (unsigned i = 5; i < FO_ENTRIES; i++)
		fo_rule(&o, i, (struct fo_rule){.ip = FK_DATA - 1});
	put_entries();
	err = fo_derive(&o);
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void tear_down(void)
{
	hv_irq_sites_deinit(&sites);
	fo_deinit(&o);
	is_paravirt = true;
	has_fred = false;
}

static void read_sites(void)
{
	struct hv_err *err;

	hv_irq_sites_deinit(&sites);
	err = hv_irq_sites_read(&o.f.k, &sites);
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static const struct hv_irq_site *site_at(uint64_t at)
{
	for (size_t i = 0; i < sites.nr; i++)
		if (sites.list[i].at.v == at)
			return &sites.list[i];
	return NULL;
}

static void check_site(uint64_t at, enum hv_detour_kind kind, size_t len, enum hv_irq_cover cover)
{
	const struct hv_irq_site *site = site_at(at);

	ck_assert_msg(site != NULL, "nothing at function+0x%x", (unsigned)(at - FUNCTION));
	ck_assert_msg(site->cover == cover, "%s", hv_irq_cover_reason(site->cover));
	ck_assert_uint_eq(site->kind, kind);
	ck_assert_uint_eq(site->len_bytes, len);
	ck_assert_mem_eq(site->insn, fk_host(&o.f, at), len);
}

static void check_cover(uint64_t at, enum hv_irq_cover cover)
{
	const struct hv_irq_site *site = site_at(at);

	ck_assert_ptr_nonnull(site);
	ck_assert_msg(site->cover == cover, "%s", hv_irq_cover_reason(site->cover));
}

#define NR_ENTRY_SITES 6u /* three calls, two returns, one return of a new task */

START_TEST(switches_are_found_with_their_nops)
{
	uint64_t off = FUNCTION, on, two, bare, popf;

	on = PUT(off, CLI);
	two = PUT(on, STI);
	bare = PUT(two, "\xfa\x0f\x1f\x00\x66\x90"); /* two nops, as before 5.13 */
	popf = PUT(bare, "\xfb\x90");
	PUT(popf, "\x9d");
	PUT(NEXT, "\xb8" CLI); /* bytes inside another instruction */
	read_sites();
	ck_assert_uint_eq(sites.nr, NR_ENTRY_SITES + 5);
	check_site(off, HV_DETOUR_IRQS_OFF, 6, HV_IRQ_RELOCATED);
	check_site(on, HV_DETOUR_IRQS_ON, 6, HV_IRQ_RELOCATED);
	check_site(two, HV_DETOUR_IRQS_OFF, 6, HV_IRQ_RELOCATED);
	check_cover(bare, HV_IRQ_NO_NOP);
	check_cover(popf, HV_IRQ_POPS);
	ck_assert(site_at(off)->has_caller);
	ck_assert_uint_eq(site_at(off)->caller_off, 0x18);
	ck_assert_ptr_null(site_at(NEXT + 1));
}
END_TEST

START_TEST(a_site_without_a_known_caller)
{
	PUT(NEXT, CLI);
	read_sites();
	check_site(NEXT, HV_DETOUR_IRQS_OFF, 6, HV_IRQ_RELOCATED);
	ck_assert(!site_at(NEXT)->has_caller);
}
END_TEST

START_TEST(irreplaceable_instructions_are_not_covered)
{
	uint64_t jumped = PUT(FUNCTION, "\xeb\x01"), flags, page = NEXT + 0x1000 - 3;

	flags = PUT(jumped, CLI);
	PUT(flags, STI "\x74\x00"); /* je */
	memset(fk_host(&o.f, NEXT), 0x90, 0x1000);
	PUT(page, CLI);
	read_sites();
	check_cover(jumped, HV_IRQ_JUMPED_INTO);
	check_cover(flags, HV_IRQ_FLAGS_USED);
	check_cover(page, HV_IRQ_IN_TWO_PAGES);
	ck_assert_uint_eq(sites.nr_of[HV_IRQ_RELOCATED], 0);
	/* Covered: a jump to the first byte, and flags that are set before they are used. */
	memset(fk_host(&o.f, FUNCTION), 0xc3, 0x100);
	PUT(FUNCTION, "\xeb\x00" CLI "\x85\xc0\x74\x00");
	read_sites();
	check_cover(jumped, HV_IRQ_RELOCATED);
}
END_TEST

/* One function has an uncovered beginning of a section; another has only covered ones. */
START_TEST(ends_with_an_uncovered_beginning)
{
	uint64_t page = NEXT + 0x1000 - 3, covered = PUT(FUNCTION, CLI);

	PUT(covered, STI);
	memset(fk_host(&o.f, NEXT), 0x90, 0x1000);
	PUT(NEXT, CLI STI);
	PUT(page, CLI);
	read_sites();
	check_cover(page, HV_IRQ_IN_TWO_PAGES);
	check_site(covered, HV_DETOUR_IRQS_ON, 6, HV_IRQ_RELOCATED);
	ck_assert(!site_at(covered)->misses_beginning);
	check_site(NEXT + 6, HV_DETOUR_IRQS_ON, 6, HV_IRQ_RELOCATED);
	ck_assert(site_at(NEXT + 6)->misses_beginning);
	ck_assert(!site_at(NEXT)->misses_beginning && !site_at(page)->misses_beginning);
}
END_TEST

START_TEST(code_after_an_unknown_instruction_is_skipped)
{
	uint64_t unknown = PUT(FUNCTION, STI), behind = PUT(unknown, "\x0f\xff\xff\xff");

	PUT(behind, CLI);
	read_sites();
	check_cover(FUNCTION, HV_IRQ_RELOCATED);
	check_cover(behind, HV_IRQ_NOT_UNDERSTOOD);
}
END_TEST

START_TEST(invlpgb_and_tlbsync_are_decoded)
{
	uint64_t off = PUT(PUT(FUNCTION, STI), "\x0f\x01\xfe"), on = PUT(off, CLI);

	on = PUT(on, "\x0f\x01\xff");
	PUT(on, STI);
	read_sites();
	check_cover(off, HV_IRQ_RELOCATED);
	check_cover(on, HV_IRQ_RELOCATED);
}
END_TEST

START_TEST(entries_and_exits_are_found)
{
	read_sites();
	ck_assert_uint_eq(sites.nr, NR_ENTRY_SITES);
	check_site(ENTER_SYS, HV_DETOUR_ARRIVES, 5, HV_IRQ_RETARGETED);
	ck_assert_uint_eq(site_at(ENTER_SYS)->target.v, SYSCALL);
	check_site(ENTER_SYS + 7, HV_DETOUR_RETURNS, 6, HV_IRQ_RETARGETED);
	ck_assert_uint_eq(site_at(ENTER_SYS + 7)->target.v, USER);
	check_site(ENTER_IRQ, HV_DETOUR_ARRIVES, 5, HV_IRQ_RETARGETED);
	check_site(ENTER_IRQ + 5, HV_DETOUR_RETURNS, 5, HV_IRQ_RETARGETED);
	ck_assert_uint_eq(site_at(ENTER_IRQ + 5)->target.v, RETURN);
	check_cover(ENTER_OWN, HV_IRQ_OWN_STACK);
	ck_assert_ptr_null(site_at(ENTER_NMI));
	check_site(FORK + 5, HV_DETOUR_RETURNS, 5, HV_IRQ_RETARGETED);
	ck_assert_uint_eq(sites.nr_entries_left, 0);
	/* An unused alternative after the call. */
	PUT(ENTER_SYS + 5, NOP5 "\x90\x90\x90");
	read_sites();
	check_site(ENTER_SYS + 5, HV_DETOUR_RETURNS, 5, HV_IRQ_RETARGETED);
	ck_assert_uint_eq(sites.nr_entries_left, 0);
}
END_TEST

/* Only an entry with the interrupted code's registers on top of the stack is understood. */
START_TEST(unsupported_entries_are_counted)
{
	PUT(ENTER_SYS + 5, "\x90\x90\x90\x90\x90\x90\x90\x90"); /* no way back */
	read_sites();
	ck_assert_ptr_null(site_at(ENTER_SYS));
	ck_assert_uint_eq(sites.nr_entries_left, 1);
	put_entries();
	fo_rule(&o, 4, (struct fo_rule){ENTRY, SP_REG, 8, UNDEFINED, 0, REGS, 0});
	read_sites();
	ck_assert_ptr_null(site_at(ENTER_IRQ));
	ck_assert_uint_eq(sites.nr_entries_left, 1);
}
END_TEST

static void check_refused(const char *why)
{
	struct hv_err *err = hv_irq_sites_read(&o.f.k, &sites);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EOPNOTSUPP);
	ck_assert_msg(strstr(err->message, why), "%s", err->message);
	hv_err_free(err);
}

START_TEST(sites_have_a_limit)
{
	memset(fk_host(&o.f, FUNCTION), 0xfa, 100000); /* cli */
	expect_error(hv_irq_sites_read(&o.f.k, &sites), EINVAL,
		     "more than 100000 places switch interrupts");
}
END_TEST

START_TEST(kernels_that_are_refused)
{
	o.f.k.is_starting = true;
	check_refused("the kernel is still starting");
	tear_down();
	is_paravirt = false;
	set_up();
	check_refused("the kernel leaves no room for calls where it switches interrupts "
		      "(CONFIG_PARAVIRT_XXL)");
	tear_down();
	has_fred = true;
	set_up();
	check_refused("interrupts enter this kernel through FRED, which hvtrace does not support");
	o.f.k.core.as.arch = &hv_arch_riscv64;
	check_refused("not supported yet on riscv64");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, switches_are_found_with_their_nops);
	tcase_add_test(tc, a_site_without_a_known_caller);
	tcase_add_test(tc, irreplaceable_instructions_are_not_covered);
	tcase_add_test(tc, ends_with_an_uncovered_beginning);
	tcase_add_test(tc, code_after_an_unknown_instruction_is_skipped);
	tcase_add_test(tc, invlpgb_and_tlbsync_are_decoded);
	tcase_add_test(tc, entries_and_exits_are_found);
	tcase_add_test(tc, unsupported_entries_are_counted);
	tcase_add_test(tc, sites_have_a_limit);
	tcase_add_test(tc, kernels_that_are_refused);
}

int main(void)
{
	return run_suite("irq_sites", add_tests);
}
