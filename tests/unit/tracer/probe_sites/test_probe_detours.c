/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours of probe sites: runs of instructions that lead to one detour, and reuse of detours. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/probe_sites/detours_guest.h"

#define SITE	   (FK_BASE + 0x40800) /* two instructions */
#define SITE_FIRST (HV_REGION_NR_DETOURS - HV_REGION_PROBE_SITES)

static const struct hv_detour_want site = {
	.kind = HV_DETOUR_PROBE_SITE,
	.at = {SITE},
	.len_bytes = 6,
	.insn = {0x48, 0x83, 0xf9, 0x05, 0x75, 0x05}, /* cmpq $5, %rcx; jne */
	.nr_insns = 2,
	.probes = {{0, 3}},
	.nr_probes = 1,
};

static struct hv_detours *set_up_sites(void)
{
	memcpy(fk_host(&r.t.f, SITE), site.insn, site.len_bytes);
	return hv_detours_new(&r.tracee, HV_CHANGE_PROBE_SITE);
}

static void patch_site(struct hv_detours *sites, unsigned group, uint64_t detour)
{
	struct hv_detour_want want = site;
	struct hv_gva target = {0};
	size_t nr_refused;

	want.probes[0].group = group;
	must(hv_detours_patch(sites, &want, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	ck_assert_int_eq(hv_arch_x86_64.classify_site(fk_host(&r.t.f, SITE), site.at, &target),
			 HV_SITE_JUMP);
	ck_assert_uint_eq(target.v, DETOUR(SITE_FIRST + detour));
}

static bool keeps_all(void *ctx, struct hv_gva at)
{
	(void)ctx;
	ck_assert_uint_eq(at.v, SITE);
	return true;
}

/* For another action group a probe site gets another detour; for its first action group it gets the
 * first detour again. */
START_TEST(a_probe_site_leads_to_the_detour_of_its_group)
{
	struct hv_detours *sites = set_up_sites();
	size_t nr;

	patch_site(sites, 3, 0);
	patch_site(sites, 3, 0);
	patch_site(sites, 4, 1);
	patch_site(sites, 3, 0);
	patch(0); /* detours of sections do not matter */
	put_back(NR);
	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PROBE_SITE, keeps_all, NULL, &nr));
	ck_assert_uint_eq(nr, 0);
	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PROBE_SITE, NULL, NULL, &nr));
	ck_assert_uint_eq(nr, 1);
	ck_assert_mem_eq(fk_host(&r.t.f, SITE), site.insn, site.len_bytes);
	hv_detours_free(sites);
}
END_TEST

START_TEST(a_task_inside_a_probe_site_blocks)
{
	struct hv_detours *sites = set_up_sites();
	struct hv_detour_want want = site;
	struct hv_err *err;
	size_t nr;

	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, SITE + 4);
	err = hv_detours_patch(sites, &want, 1, &nr);
	ck_assert(err && err->code == EBUSY);
	ck_assert_ptr_nonnull(strstr(err->message,
				     "a task was interrupted inside an instruction that "
				     "is to be replaced with its nops"));
	hv_err_free(err);
	ck_assert_mem_eq(fk_host(&r.t.f, SITE), site.insn, site.len_bytes);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, SITE);
	patch_site(sites, 3, 0);
	hv_detours_free(sites);
}
END_TEST

/* In these bytes, two runs replace one at +1: one at 0, which covers +1, and one at +5. */
static const uint8_t function[] = {
	0x53,					  /* +0 pushq %rbx */
	0x48, 0x83, 0xf9, 0x05,			  /* +1 cmpq $5, %rcx */
	0x51,					  /* +5 pushq %rcx */
	0xb8, 0x44, 0x33, 0x22, 0x11,		  /* +6 movl $0x11223344, %eax */
	0x48, 0x8d, 0x15, 0x00, 0x01, 0x00, 0x00, /* +11 leaq 0x100(%rip), %rdx */
};

static struct hv_detour_want run_at(unsigned off, size_t len, unsigned nr_insns)
{
	struct hv_detour_want want = {
		.kind = HV_DETOUR_PROBE_SITE,
		.at = {SITE + off},
		.len_bytes = len,
		.nr_insns = nr_insns,
		.probes = {{0, 3}},
		.nr_probes = 1,
	};

	memcpy(want.insn, function + off, len);
	return want;
}

static void check_run(unsigned off)
{
	struct hv_gva target = {0};
	const uint8_t *now = fk_host(&r.t.f, SITE + off);

	ck_assert_int_eq(hv_arch_x86_64.classify_site(now, hv_gva(SITE + off), &target),
			 HV_SITE_JUMP);
	ck_assert(hv_gva_in(target, r.tracee.range));
}

/* Replaces the run at +1 by the other two. */
static struct hv_err *make_room(struct hv_detours *sites, bool *ret_refused)
{
	const struct hv_gva gone = hv_gva(SITE + 1);
	struct hv_detour_want next[] = {run_at(0, 5, 2), run_at(5, 6, 2)};

	next[0].probes[1] = (struct hv_detour_probe){1, 4};
	next[0].nr_probes = 2;
	return hv_detours_exchange(sites, next, 2, &gone, 1, ret_refused);
}

static struct hv_detours *set_up_run(void)
{
	struct hv_detours *sites = hv_detours_new(&r.tracee, HV_CHANGE_PROBE_SITE);
	struct hv_detour_want run = run_at(1, 5, 2);
	size_t nr_refused;

	memcpy(fk_host(&r.t.f, SITE), function, sizeof(function));
	must(hv_detours_patch(sites, &run, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	check_run(1);
	return sites;
}

static void check_room(bool made)
{
	check_run(made ? 0 : 1);
	if (made)
		check_run(5);
	else
		ck_assert_uint_eq(*fk_host(&r.t.f, SITE), function[0]);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_PROBE_SITE),
			  made ? 2 : 1);
}

static void put_probe_sites_back(struct hv_detours *sites)
{
	size_t nr;

	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PROBE_SITE, NULL, NULL, &nr));
	ck_assert_mem_eq(fk_host(&r.t.f, SITE), function, sizeof(function));
	hv_detours_free(sites);
}

START_TEST(a_run_is_replaced_by_another)
{
	struct hv_detours *sites = set_up_run();
	bool is_refused = true;

	must(make_room(sites, &is_refused));
	ck_assert(!is_refused);
	check_room(true);
	put_probe_sites_back(sites);
}
END_TEST

/* A task was interrupted at AT and switched out there. */
static void sleep_in(uint64_t at)
{
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x20, FT_PREEMPTING + 8);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, at);
}

/* A task in a detour that returns elsewhere does not matter. */
START_TEST(a_busy_detour_that_returns_elsewhere)
{
	struct hv_detours *sites = set_up_run();
	struct hv_detour_want after = run_at(11, 7, 1);
	bool is_refused = true;
	size_t nr_refused;

	must(hv_detours_patch(sites, &after, 1, &nr_refused));
	sleep_in(DETOUR(SITE_FIRST + 1) + 20);
	must(make_room(sites, &is_refused));
	ck_assert(!is_refused);
	put_probe_sites_back(sites);
}
END_TEST

/* If a task, a vCPU, a changed byte, or a kprobe of the guest is in the way, the old run stays. */
START_TEST(a_run_stays_if_its_replacement_fails)
{
	struct hv_detours *sites = set_up_run();
	bool is_refused = false;

	heed();
	if (_i == 0)
		ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, SITE + 1); /* inside the new run */
	else if (_i == 1)
		r.regs[1].ip = hv_gva(SITE + 1);
	else if (_i == 2)
		*fk_host(&r.t.f, SITE) = 0xcc;
	else if (_i == 3)
		sleep_in(DETOUR(SITE_FIRST) + 20); /* the task will return to +6 */
	else if (_i == 4)
		r.regs[1].ip = hv_gva(DETOUR(SITE_FIRST) + 3);
	else
		probe(SITE - 1, OFF);
	must(make_room(sites, &is_refused));
	ck_assert(is_refused);
	if (_i == 2)
		*fk_host(&r.t.f, SITE) = function[0];
	check_room(false);
	r.regs[1].ip = hv_gva(0);
	put_probe_sites_back(sites);
}
END_TEST

/* A task is in a detour of sections that was put back. It will return to +2. */
START_TEST(a_detour_that_returns_into_the_site_blocks)
{
	struct hv_detour_want off = wants[4];
	struct hv_detours *sites;
	bool is_refused = false;
	size_t nr_refused;

	off.at = hv_gva(SITE - 4);
	memcpy(fk_host(&r.t.f, SITE - 4), off.insn, off.len_bytes);
	must(hv_detours_patch(detours, &off, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	put_back(1);
	sites = set_up_run();
	sleep_in(DETOUR(0) + 3);
	must(make_room(sites, &is_refused));
	ck_assert(is_refused);
	check_room(false);
	put_probe_sites_back(sites);
}
END_TEST

START_TEST(an_error_between_two_runs_writes_none)
{
	struct hv_detours *sites = set_up_run();
	bool is_refused;
	struct hv_err *err;

	r.fail_after = r.nr_text_writes + (size_t)_i + 1;
	err = make_room(sites, &is_refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	r.fail_after = 0;
	put_probe_sites_back(sites);
}
END_TEST

/* Returns the action group of the first probe in the code of a probe site's detour N. */
static uint32_t group_in(uint64_t n)
{
	uint64_t off = HV_REGION_DETOURS_OFF + (SITE_FIRST + n) * HV_DETOUR_LEN;
	uint32_t group;

	memcpy(&group, r.t.f.machine.ram + REGION + off + 7, sizeof(group));
	return group;
}

/* There is room for three detours, and all exist: for action groups 3, 4 and 5. The probe site
 * leads to the one for 5. */
static struct hv_detours *set_up_full(void)
{
	struct hv_detours *sites = set_up_sites();

	sites->max = 3;
	for (unsigned n = 0; n < 3; n++) {
		patch_site(sites, 3 + n, n);
		ck_assert_uint_eq(group_in(n), 3 + n);
	}
	return sites;
}

START_TEST(detours_are_used_again)
{
	struct hv_detours *sites = set_up_full();

	for (unsigned n = 6; n < 30; n++) {
		/* Both unused detours become free, and then one is reused. */
		unsigned to = n % 2 == 0 ? 0 : n % 4 == 3 ? 1 : 2;

		patch_site(sites, n, to);
		ck_assert_uint_eq(group_in(to), n);
		patch_site(sites, n, to);
	}
	hv_detours_free(sites);
}
END_TEST

static void check_full(struct hv_detours *sites)
{
	struct hv_detour_want want = site;
	size_t nr_refused;

	want.probes[0].group = 6;
	must(hv_detours_patch(sites, &want, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1);
	for (unsigned n = 0; n < 3; n++)
		ck_assert_uint_eq(group_in(n), 3 + n);
	patch_site(sites, 5, 2); /* the probe site leads to the same detour as before */
}

/* A task is in an unused detour. In the other one is a task or a vCPU; or a kprobe of the guest may
 * have copied the jump, is being registered, or was removed while a task was in its handler. */
START_TEST(detours_in_use_stay)
{
	struct hv_detours *sites = set_up_full();

	heed();
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, DETOUR(SITE_FIRST) + 16);
	if (_i == 0)
		ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x48, DETOUR(SITE_FIRST + 1));
	else if (_i == 1)
		r.regs[1].ip = hv_gva(DETOUR(SITE_FIRST + 2) - 1);
	else if (_i == 2)
		probe(SITE - 20, OFF);
	else if (_i == 3)
		fk_u64(&r.t.f, LOCK, FK_BASE);
	else
		ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x48, SITE + 1);
	if (_i < 2)
		check_full(sites);
	else
		ck_assert_ptr_null(hv_detours_free_unused(sites));
	ck_assert(!sites->list[0].is_free && !sites->list[1].is_free);
	hv_detours_look_again(sites);
	r.regs[1].ip = hv_gva(0);
	fk_u64(&r.t.f, HEADS + 8 * 7, 0);
	fk_u64(&r.t.f, LOCK, 0);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x48, 0);
	patch_site(sites, 6, 1);
	ck_assert_uint_eq(group_in(0), 3);
	ck_assert_uint_eq(group_in(1), 6);
	hv_detours_free(sites);
}
END_TEST

/* If the search's hold times out, no detour is free. Other failures are errors: the guest may still
 * be stopped. */
START_TEST(a_failed_search_for_users)
{
	static const int codes[] = {ETIMEDOUT, EIO};
	struct hv_detours *sites = set_up_full();
	struct hv_detour_want want = site;
	size_t nr_refused = 0;
	struct hv_err *err;

	want.probes[0].group = 6;
	r.end_code = codes[_i];
	err = hv_detours_patch(sites, &want, 1, &nr_refused);
	ck_assert_int_eq(err ? err->code : 0, _i == 0 ? 0 : EIO);
	ck_assert_uint_eq(nr_refused, _i == 0);
	hv_err_free(err);
	r.end_code = 0;
	hv_detours_free(sites);
}
END_TEST

/* A detour of several blocks needs adjacent free blocks that no task is in. */
START_TEST(a_detour_of_several_blocks_is_used_again_as_a_whole)
{
	struct hv_detours *sites = hv_detours_new(&r.tracee, HV_CHANGE_PROBE_SITE);
	struct hv_detour_want other = run_at(11, 7, 1),
			      long_one = {
				      .kind = HV_DETOUR_PROBE_SITE,
				      .at = {SITE + 32},
				      .len_bytes = 5,
				      .insn = {0x50, 0xf8, 0x58, 0xf5,
					       0xf9}, /* push, clc, pop, cmc, stc */
				      .nr_insns = 5,
				      .probes = {{0, 3}, {1, 3}, {2, 3}, {3, 3}},
				      .nr_probes = 4,
			      };
	size_t nr_refused, nr;

	memcpy(fk_host(&r.t.f, SITE + 32), long_one.insn, 5);
	memcpy(fk_host(&r.t.f, SITE), function, sizeof(function));
	sites->max = 1;
	must(hv_detours_patch(sites, &long_one, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1);
	sites->max = 2;
	must(hv_detours_patch(sites, &long_one, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	ck_assert_uint_eq(sites->list[0].nr, 2);
	must(hv_detours_patch(sites, &other, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1); /* the probe site uses both blocks */
	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PROBE_SITE, NULL, NULL, &nr));
	hv_detours_look_again(sites);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, DETOUR(SITE_FIRST + 1) + 2);
	must(hv_detours_patch(sites, &other, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1); /* a task is in the second block */
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, 0);
	must(hv_detours_patch(sites, &other, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1); /* the previous search found no free block */
	hv_detours_look_again(sites);
	must(hv_detours_patch(sites, &other, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	check_run(11);
	must(hv_detours_patch(sites, &long_one, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1); /* one block is left */
	put_probe_sites_back(sites);
}
END_TEST

/* A detour stays in use if the text leads to it, whatever was written last; and if the last written
 * jump leads to it, whatever the text is. */
START_TEST(detours_that_are_jump_targets_stay)
{
	struct hv_detours *sites = set_up_full();
	uint8_t jump[5] = {0xe9};
	int32_t to = (int32_t)(DETOUR(SITE_FIRST) - (SITE + sizeof(jump)));

	heed();
	memcpy(jump + 1, &to, sizeof(to));
	if (_i == 0)
		memcpy(fk_host(&r.t.f, SITE), jump, sizeof(jump));
	else
		*(uint8_t *)fk_host(&r.t.f, SITE) = 0xcc;
	ck_assert_ptr_null(hv_detours_free_unused(sites));
	ck_assert(sites->list[0].is_free == (_i == 1));
	ck_assert(!sites->list[2].is_free);
	hv_detours_free(sites);
}
END_TEST

static bool probe_site_is_recognized(void (*change)(struct hv_journal_entry *e))
{
	const struct hv_journal_entry *journal = hv_region_journal(&r.tracee.region);

	for (uint32_t n = 0; n < hv_region_header(&r.tracee.region)->nr_entries; n++) {
		struct hv_journal_entry e = journal[n];

		if (e.gva != SITE)
			continue;
		ck_assert_uint_eq(e.kind, HV_CHANGE_PROBE_SITE);
		change(&e);
		return is_ours(&e);
	}
	return false;
}

static void nothing(struct hv_journal_entry *e)
{
	(void)e;
}

static void other_number(struct hv_journal_entry *e)
{
	e->old_bytes[3] ^= 1;
}

static void other_branch(struct hv_journal_entry *e)
{
	e->old_bytes[5] ^= 1;
}

static void as_a_detour(struct hv_journal_entry *e)
{
	e->kind = HV_CHANGE_DETOUR;
}

START_TEST(recover_believes_what_the_detour_executes)
{
	uint64_t off = HV_REGION_DETOURS_OFF + SITE_FIRST * HV_DETOUR_LEN;
	uint8_t *code = r.tracee.region.host + off;
	struct hv_detours *sites = set_up_sites();

	patch_site(sites, 3, 0);
	memcpy(code, r.t.f.machine.ram + REGION + off, HV_DETOUR_LEN);
	ck_assert(probe_site_is_recognized(nothing));
	ck_assert(!probe_site_is_recognized(other_number));
	ck_assert(!probe_site_is_recognized(other_branch));
	ck_assert(!probe_site_is_recognized(as_a_detour));
	code[HV_DETOUR_LEN - 1] ^= 1;
	ck_assert(!probe_site_is_recognized(nothing));
	code[HV_DETOUR_LEN - 1] ^= 1;
	ck_assert(probe_site_is_recognized(nothing));
	hv_detours_free(sites);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_probe_site_leads_to_the_detour_of_its_group);
	tcase_add_test(tc, detours_are_used_again);
	tcase_add_loop_test(tc, detours_in_use_stay, 0, 5);
	tcase_add_loop_test(tc, a_failed_search_for_users, 0, 2);
	tcase_add_loop_test(tc, detours_that_are_jump_targets_stay, 0, 2);
	tcase_add_test(tc, a_detour_of_several_blocks_is_used_again_as_a_whole);
	tcase_add_test(tc, a_task_inside_a_probe_site_blocks);
	tcase_add_test(tc, recover_believes_what_the_detour_executes);
	tcase_add_test(tc, a_run_is_replaced_by_another);
	tcase_add_test(tc, a_busy_detour_that_returns_elsewhere);
	tcase_add_test(tc, a_detour_that_returns_into_the_site_blocks);
	tcase_add_loop_test(tc, a_run_stays_if_its_replacement_fails, 0, 6);
	tcase_add_loop_test(tc, an_error_between_two_runs_writes_none, 0, 2);
	tcase_add_checked_fixture(tc, set_up, tear_down);
}

int main(void)
{
	return run_suite("probe_detours", add_tests);
}
