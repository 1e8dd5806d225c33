/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites whose call is a pair of instructions, in a kernel with two nops at unused sites: the order
 * of the writes, and tasks that may be between the two instructions. The page tables of the fake
 * kernel are x86-64's. */
#include <check.h>

#include "arch/riscv64/riscv64.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_traced.h"
#include "tracer/sites/site_pairs.h"

#define NR_SITES   300u /* more than a first batch */
#define SITE(n)	   (FK_BASE + 0x10002 + 16ull * (n))
#define SECOND(n)  (SITE(n) + SITE_HALF)
#define SITE_HALF  4u
#define SITE_BYTES 8u
#define TRAMPOLINE (FR_RANGE + 0x1678)
#define EXCEPTIONS (FK_BASE + 0x700)

/* nop; nop. The kernel's own auipc t0; nop. */
static const uint8_t free_site[SITE_BYTES] = {0x13, 0, 0, 0, 0x13, 0, 0, 0};
static const uint8_t kept_site[SITE_BYTES] = {0x97, 0x12, 0, 0, 0x13, 0, 0, 0};

static struct fr r;
static struct hv_arch arch;
static struct hv_guest *guest;
static struct hv_change changes[NR_SITES];
static struct hv_site_pairs pairs;
static unsigned nr_holds, nr_seconds; /* holds; writes of second instructions */
static unsigned fail_at;	      /* this write of a second instruction fails; 0: none */

static uint8_t *site(unsigned n)
{
	return fk_host(&r.t.f, SITE(n));
}

static bool has(unsigned n, const uint8_t *bytes, unsigned from, unsigned len)
{
	return memcmp(site(n) + from, bytes + from, len) == 0;
}

static struct hv_err *write_site(void *self, const struct hv_hold_write *writes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		bool is_call = memcmp(writes[i].bytes + SITE_HALF, free_site, SITE_HALF) != 0;

		nr_seconds += is_call;
		if (is_call && nr_seconds == fail_at)
			return hv_err_new(EIO, "the trampoline did not answer");
	}
	return fr_hold_write(self, writes, nr);
}

static void declare(struct fk *f)
{
	fk_symbol(f, "handle_exception", EXCEPTIONS);
	fk_symbol(f, "ret_from_exception_end", EXCEPTIONS + 0x80);
}

static void plan(void)
{
	for (unsigned i = 0; i < NR_SITES; i++) {
		struct hv_change *c = &changes[NR_SITES - 1 - i];

		*c = (struct hv_change){.gva = hv_gva(SITE(i)),
					.gpa = hv_gpa(FK_GPA + SITE(i) - FK_BASE),
					.kind = HV_CHANGE_TEXT,
					.len_bytes = SITE_BYTES};
		memcpy(c->from, site(i), SITE_BYTES);
		ck_assert(arch.encode_call(c->gva, hv_gva(TRAMPOLINE), c->to));
	}
}

/* x86-64 except for the sites. */
static void make_arch(void)
{
	arch = hv_arch_x86_64;
	arch.name = hv_arch_riscv64.name;
	arch.frame_register = hv_arch_riscv64.frame_register;
	arch.site_len_bytes = hv_arch_riscv64.site_len_bytes;
	arch.site_first_bytes = hv_arch_riscv64.site_first_bytes;
	arch.classify_site = hv_arch_riscv64.classify_site;
	arch.encode_call = hv_arch_riscv64.encode_call;
	arch.trampolines = hv_arch_riscv64.trampolines;
	r.t.f.k.core.as.arch = &arch;
}

static void setup(void)
{
	static struct hv_guest_ops ops = {.read = fr_read,
					  .hold_begin = fr_hold_begin,
					  .hold_registers = fr_hold_registers,
					  .sleeps = fr_sleeps,
					  .hold_write = write_site};
	struct hv_tracee *t = &r.tracee;

	fr_init_with(&r, declare);
	make_arch();
	guest = part_guest_new(&ops, &r, hv_guest_info(r.t.f.machine.guest));
	r.t.f.k.core.as.guest = t->guest = guest;
	hv_patcher_free(t->patcher);
	t->patcher = hv_patcher_new(&r.t.f.k.core.as, r.t.f.k.core.image.all, &t->region);
	pairs = (struct hv_site_pairs){0};
	nr_holds = nr_seconds = fail_at = 0;
	for (unsigned i = 0; i < NR_SITES; i++)
		memcpy(site(i), free_site, SITE_BYTES);
	plan();
}

static void teardown(void)
{
	hv_site_pairs_deinit(&pairs);
	hv_guest_free(guest);
	fr_deinit(&r);
}

static void check(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* The changes are in the order of the addresses now. */
static void check_all(unsigned from, unsigned len)
{
	for (unsigned i = 0; i < NR_SITES; i++) {
		uint8_t call[SITE_BYTES];

		ck_assert(arch.encode_call(hv_gva(SITE(i)), hv_gva(TRAMPOLINE), call));
		ck_assert(has(i, call, from, len));
	}
}

static void check_free(void)
{
	for (unsigned i = 0; i < NR_SITES; i++)
		ck_assert_mem_eq(site(i), free_site, SITE_BYTES);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), 0);
}

START_TEST(first_instructions_come_first)
{
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	ck_assert_uint_eq(pairs.nr, NR_SITES);
	ck_assert_uint_eq(nr_seconds, 0);
	check_all(0, SITE_HALF);
	for (unsigned i = 0; i < NR_SITES; i++) {
		ck_assert_mem_eq(site(i) + SITE_HALF, free_site, SITE_HALF);
		ck_assert_mem_eq(changes[i].from, site(i), SITE_BYTES);
	}
	check(hv_patcher_apply(r.tracee.patcher, changes, NR_SITES));
	check_all(0, SITE_BYTES);
	ck_assert_uint_eq(nr_seconds, NR_SITES);
}
END_TEST

/* Kernels since 6.16 keep their own first instruction. */
START_TEST(a_kept_first_instruction_stays)
{
	for (unsigned i = 0; i < NR_SITES; i++)
		memcpy(site(i), kept_site, SITE_BYTES);
	plan();
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	ck_assert_uint_eq(pairs.nr, 0);
	ck_assert_uint_eq(r.nr_writes, 0);
	ck_assert_mem_eq(site(7), kept_site, SITE_BYTES);
}
END_TEST

/* A call that is changed into another keeps its second instruction. A first instruction that
 * hvtrace left does not count as a call. */
START_TEST(calls_and_leftover_instructions)
{
	uint8_t left[SITE_BYTES];

	memcpy(left, changes[0].to, SITE_BYTES);
	memcpy(left + SITE_HALF, free_site, SITE_HALF);
	memcpy(site(NR_SITES - 1), left, SITE_BYTES);
	ck_assert(arch.encode_call(hv_gva(SITE(0)), hv_gva(TRAMPOLINE + 0x1000), site(0)));
	plan();
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	ck_assert_uint_eq(pairs.nr, NR_SITES - 1);
	ck_assert_uint_eq(pairs.list[NR_SITES - 2].gva.v, SITE(NR_SITES - 1));
}
END_TEST

/* From the sixth read of registers on, nothing is between the two instructions of a site. */
static void go_on(struct fr *fr)
{
	if (++nr_holds < 6)
		return;
	fr->regs[0].ip = hv_gva(0x401000);
	fk_u64(&fr->t.f, fr_retp(fr, 0), 0);
}

START_TEST(a_vcpu_between_instructions_is_awaited)
{
	r.regs[0].ip = hv_gva(SECOND(7));
	r.when_held = go_on;
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	ck_assert_uint_ge(nr_holds, 6);
	ck_assert_uint_eq(nr_seconds, 0);
	check(hv_patcher_apply(r.tracee.patcher, changes, NR_SITES));
	check_all(0, SITE_BYTES);
}
END_TEST

START_TEST(a_task_between_instructions_is_awaited)
{
	fk_u64(&r.t.f, fr_retp(&r, 0), SECOND(NR_SITES - 1));
	r.when_held = go_on;
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	ck_assert_uint_ge(nr_holds, 6);
	check(hv_patcher_apply(r.tracee.patcher, changes, NR_SITES));
	check_all(0, SITE_BYTES);
}
END_TEST

/* Only the site where the task is stays refused and unchanged. */
START_TEST(a_task_that_stays_refuses_one_site)
{
	fk_u64(&r.t.f, fr_retp(&r, 0), SECOND(7));
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	for (unsigned i = 0; i < NR_SITES; i++)
		ck_assert_uint_eq(changes[i].refused, i == 7);
	ck_assert_mem_eq(site(7), free_site, SITE_BYTES);
	check(hv_patcher_apply(r.tracee.patcher, changes, NR_SITES));
	ck_assert_mem_eq(site(7), free_site, SITE_BYTES);
	ck_assert_mem_eq(site(8), changes[8].to, SITE_BYTES);
	ck_assert_uint_eq(nr_seconds, NR_SITES - 1);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), NR_SITES - 1);
}
END_TEST

/* A kprobe that was removed has executed the first instruction elsewhere. */
START_TEST(a_copy_of_an_instruction)
{
	r.regs[0].ip = hv_gva(FK_MODULES + 0x100);
	r.when_held = go_on;
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	ck_assert_uint_ge(nr_holds, 6);
}
END_TEST

/* A vCPU that enters or leaves the kernel at every look. */
START_TEST(a_vcpu_that_hides_its_interrupted_code)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	r.regs[1].ip = hv_gva(EXCEPTIONS + 0x20);
	err = hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	ck_assert_ptr_nonnull(strstr(err->message,
				     "vCPU 1, which enters or leaves the kernel, may continue "
				     "between the two instructions of a site"));
	ck_assert_uint_eq(nr_seconds, 0);
	ck_assert_ptr_null(pairs.list);
	check_free();
}
END_TEST

/* Once the first instruction is there, a vCPU between the two continues correctly with any second
 * one. */
START_TEST(a_vcpu_may_be_between_later)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr;

	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	r.regs[0].ip = hv_gva(SECOND(7));
	r.regs[1].ip = hv_gva(SECOND(8) + 2); /* inside an instruction */
	check(hv_patcher_apply(r.tracee.patcher, changes, NR_SITES));
	ck_assert_uint_eq(changes[7].refused, 0);
	ck_assert_uint_eq(changes[8].refused, 1);
	r.regs[1].ip = hv_gva(0x401000);
	nr = hv_patcher_undo_plan(r.tracee.patcher, HV_CHANGE_TEXT, &undo);
	ck_assert_uint_eq(nr, NR_SITES);
	check(hv_patcher_apply(r.tracee.patcher, undo, nr));
	check_free();
}
END_TEST

START_TEST(calls_that_cannot_be_written)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	fail_at = NR_SITES - 3;
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	err = hv_patcher_apply(r.tracee.patcher, changes, NR_SITES);
	ck_assert_ptr_nonnull(err);
	err = hv_site_pairs_undo(&r.tracee, &pairs, err);
	ck_assert_ptr_nonnull(strstr(err->message, "nothing was changed"));
	ck_assert(!(err->facts & HV_ERR_NEEDS_RECOVERY));
	check_free();
}
END_TEST

static bool stops(void *ctx)
{
	unsigned *left = ctx;

	return !*left || !--*left;
}

START_TEST(an_interrupted_change)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	unsigned left = 2;

	hv_patcher_set_stops(r.tracee.patcher, stops, &left);
	err = hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs);
	ck_assert(err && err->code == EINTR);
	ck_assert_uint_gt(r.nr_writes, 0);
	check_free();
}
END_TEST

/* Killed before the calls are written: the journal lists the changed sites for recover. */
START_TEST(first_instructions_are_found_by_recover)
{
	const struct hv_journal_entry *entries = hv_region_journal(&r.tracee.region);
	unsigned nr = 0;

	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 1,
	       XM_W | XM_X);
	check(hv_site_pairs_begin(&r.tracee, changes, NR_SITES, &pairs));
	for (uint32_t i = 0; i < hv_region_header(&r.tracee.region)->nr_entries; i++) {
		struct hv_journal_entry e = entries[i];
		bool is_ours = false;

		if (e.state != HV_JOURNAL_USED)
			continue;
		check(hv_tracee_is_patched(&r.tracee, &e, &is_ours));
		nr += is_ours && !memcmp(e.old_bytes, free_site, SITE_BYTES);
	}
	ck_assert_uint_eq(nr, NR_SITES);
}
END_TEST

/* Functions begin at any even address. */
START_TEST(sites_in_two_pages)
{
	static const uint64_t at[] = {FK_BASE + 0x10100, FK_BASE + 0x10ffe,
				      FK_BASE + 0x1ffffa}; /* in two leaves */
	static const uint8_t nop[FR_SITE_BYTES];
	static struct traced t;

	teardown();
	traced_init(&t, &r, HV_ARRAY_LEN(at), nop);
	make_arch();
	for (unsigned i = 0; i < HV_ARRAY_LEN(at); i++) {
		r.t.f.k.sites.list[i].ip = hv_gva(at[i]);
		memcpy(fk_host(&r.t.f, at[i]), free_site, SITE_BYTES);
	}
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	for (unsigned i = 0; i < HV_ARRAY_LEN(at); i++)
		ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[i],
				  i < 2 ? HV_TRAMPOLINE_FUNCTION : HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(hv_site_trampolines_refused(t.trampolines)->nr, 1);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	for (unsigned i = 0; i < HV_ARRAY_LEN(at); i++)
		ck_assert_mem_eq(fk_host(&r.t.f, at[i]), free_site, SITE_BYTES);
	traced_deinit(&t);
	setup();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, first_instructions_come_first);
	tcase_add_test(tc, a_kept_first_instruction_stays);
	tcase_add_test(tc, calls_and_leftover_instructions);
	tcase_add_test(tc, a_vcpu_between_instructions_is_awaited);
	tcase_add_test(tc, a_task_between_instructions_is_awaited);
	tcase_add_test(tc, a_task_that_stays_refuses_one_site);
	tcase_add_test(tc, a_copy_of_an_instruction);
	tcase_add_test(tc, a_vcpu_that_hides_its_interrupted_code);
	tcase_add_test(tc, a_vcpu_may_be_between_later);
	tcase_add_test(tc, calls_that_cannot_be_written);
	tcase_add_test(tc, an_interrupted_change);
	tcase_add_test(tc, first_instructions_are_found_by_recover);
	tcase_add_test(tc, sites_in_two_pages);
}

int main(void)
{
	return run_suite("site_pairs", add_tests);
}
