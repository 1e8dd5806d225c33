/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jumps to detours replace instructions of a guest: which bytes are written and restored, which
 * changes the guest's kprobes forbid, and which journal entries recover accepts. */
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/probe_sites/detours_guest.h"

START_TEST(instructions_are_replaced_and_restored)
{
	const uint8_t *code = r.t.f.machine.ram + REGION + HV_REGION_DETOURS_OFF;
	struct hv_gva at;

	for (unsigned turn = 0; turn < 2; turn++) { /* the second time to the same detours */
		patch(0);
		check_leads(0, HV_SITE_JUMP, DETOUR(0));
		check_leads(1, HV_SITE_JUMP, DETOUR(1));
		check_leads(2, HV_SITE_CALL, DETOUR(2));
		check_leads(3, HV_SITE_JUMP, DETOUR(3));
		check_leads(4, HV_SITE_JUMP, DETOUR(4));
		ck_assert_mem_eq(fk_host(&r.t.f, ADD) + 8, before[1] + 8, 8);
		ck_assert_uint_eq(code[0], 0x65);
		for (unsigned i = 0; i < NR; i++) {
			ck_assert(hv_detours_find(detours, (uint32_t)DETOUR(i) + 50, &at));
			ck_assert_uint_eq(at.v, wants[i].at.v);
		}
		ck_assert(!hv_detours_find(detours, (uint32_t)DETOUR(NR), &at));
		ck_assert(!hv_detours_find(detours, (uint32_t)DETOUR(0) - 1, &at));
		put_back(NR);
		for (unsigned i = 0; i < NR; i++)
			check_back(i);
	}
	put_back(0);
}
END_TEST

/* Two modules, with replaced instructions in the first one, and a third module. */
START_TEST(only_a_new_module_needs_changes)
{
	struct hv_module list[] = {
		{.at = {FK_BASE + 0x10}, .text = {{INC}, {IDLE}}},
		{.at = {FK_BASE + 0x20}, .text = {{CLI + 0x100}, {CLI + 0x200}}},
		{.at = {FK_BASE + 0x30}, .text = {{CLI + 0x300}, {CLI + 0x400}}},
	};
	const struct hv_modules all = {list, 3}, two = {list, 2}, last = {list + 1, 1};
	struct hv_modules *modules = &r.t.f.k.modules, none = *modules;
	struct hv_section_modules noted = {0};

	patch(0);
	*modules = two;
	hv_section_modules_note(&noted, &r.tracee);
	ck_assert_uint_eq(noted.list[0].nr_replaced, 2);
	ck_assert_uint_eq(noted.list[1].nr_replaced, 0);
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	*modules = last;
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	*modules = none;
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	*modules = all;
	ck_assert(hv_section_modules_have_come(&noted, &r.tracee));
	*modules = two;
	list[1].at = hv_gva(FK_BASE + 0x40); /* another one, at the same address */
	ck_assert(hv_section_modules_have_come(&noted, &r.tracee));
	list[1].at = hv_gva(FK_BASE + 0x20);
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	put_back(NR); /* as if the first one was unloaded and loaded again at its address */
	ck_assert(hv_section_modules_have_come(&noted, &r.tracee));
	*modules = none;
	hv_section_modules_deinit(&noted);
}
END_TEST

START_TEST(instructions_changed_by_the_guest_are_refused)
{
	*fk_host(&r.t.f, INC) = 0xcc;
	patch(1);
	ck_assert_uint_eq(*fk_host(&r.t.f, INC), 0xcc);
	ck_assert_mem_eq(fk_host(&r.t.f, INC) + 1, before[0] + 1, 15);
	put_back(NR - 1);
}
END_TEST

START_TEST(a_breakpoint_of_the_guest_keeps_its_detour)
{
	size_t nr;

	patch(0);
	*fk_host(&r.t.f, INC) = 0xcc; /* the guest's kprobe keeps a copy of the jump */
	expect_error(hv_detours_put_back(&r.tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr), EBUSY,
		     "0xffffffff81040000: the guest has its own kprobe, on or off, on an "
		     "instruction that leads to a detour");
	ck_assert_uint_eq(nr, NR - 1);
	check_back(1);
	check_back(2);
	*fk_host(&r.t.f, INC) = 0xe9; /* the kprobe was removed */
	put_back(1);
	check_back(0);
}
END_TEST

START_TEST(an_error_restores_the_text)
{
	size_t refused;
	struct hv_err *err;

	r.fail_after = 1; /* the first write that is not eight bytes long */
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_DETOUR), 0);
	patch(0);
	put_back(NR);
}
END_TEST

START_TEST(a_function_that_no_instruction_reaches)
{
	wants[2].calls = hv_gva(1ull << 40);
	patch(1);
	check_back(2);
	put_back(NR - 1);
}
END_TEST

/* A task that was interrupted between cli and its nop would continue inside the jump. One that was
 * interrupted before cli would not. */
START_TEST(a_task_between_instruction_and_nop_blocks)
{
	struct hv_err *err;
	size_t refused;

	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, CLI + 1);
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	hv_err_free(err);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_DETOUR), 0);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, CLI);
	r.regs[1].ip = hv_gva(CLI + 1);
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	r.regs[1].ip = hv_gva(CLI);
	patch(0);
	put_back(NR);
	check_back(4);
}
END_TEST

/* A disabled kprobe leaves no trace in the text, but has a copy of the instruction. */
START_TEST(an_instruction_copied_by_a_kprobe_is_refused)
{
	static const uint64_t near[] = {INC, INC + 6, INC - 20, CLI + 1, IDLE};

	heed();
	probe(near[_i], OFF);
	patch(1);
	check_back(near[_i] == IDLE ? 2 : near[_i] == CLI + 1 ? 4 : 0);
	put_back(NR - 1);
	probe(near[_i], FTRACED);
	patch(0);
	put_back(NR);
}
END_TEST

START_TEST(a_distant_kprobe_does_not_block)
{
	static const uint64_t far[] = {INC - 21, INC + 7, ADD + 11, CLI + 6};

	heed();
	probe(far[_i], 0);
	patch(0);
	put_back(NR);
}
END_TEST

START_TEST(a_detour_copied_by_a_kprobe_stays)
{
	static const uint64_t inside[] = {INC, INC + 5};
	struct hv_err *err;
	size_t nr;

	heed();
	patch(0);
	probe(inside[_i], OFF);
	err = hv_detours_put_back(&r.tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	ck_assert_uint_eq(nr, NR - 1);
	hv_err_free(err);
	check_leads(0, HV_SITE_JUMP, DETOUR(0));
	probe(INC - 1, OFF);
	put_back(1);
	check_back(0);
}
END_TEST

static void unlock(struct fr *guest)
{
	static unsigned nr;

	if (++nr % 3 == 0)
		fk_u64(&guest->t.f, LOCK, 0);
}

/* A kprobe that is being registered has its copy before it is in a list. */
START_TEST(changes_wait_for_a_guest_that_registers_kprobes)
{
	heed();
	r.when_held = unlock;
	fk_u64(&r.t.f, LOCK, FK_BASE);
	patch(0);
	fk_u64(&r.t.f, LOCK, FK_BASE);
	put_back(NR);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
}
END_TEST

/* With such a list, jumps can only be removed. */
START_TEST(a_list_of_kprobes_that_has_no_end)
{
	struct hv_err *err;
	size_t refused;

	heed();
	patch(0);
	probe(INC, OFF);
	fk_u64(&r.t.f, PROBES + 64, PROBES);
	put_back(NR);
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
}
END_TEST

static struct hv_journal_entry entry_of(unsigned i)
{
	const struct hv_journal_entry *journal = hv_region_journal(&r.tracee.region);

	for (uint32_t n = 0; n < hv_region_header(&r.tracee.region)->nr_entries; n++)
		if (journal[n].gva == wants[i].at.v)
			return journal[n];
	ck_abort_msg("no entry");
	return (struct hv_journal_entry){0};
}

START_TEST(recover_uses_only_consistent_entries)
{
	struct hv_journal_entry e;

	patch(0);
	for (unsigned i = 0; i < NR; i++) {
		e = entry_of(i);
		ck_assert_uint_eq(e.kind, HV_CHANGE_DETOUR);
		ck_assert(is_ours(&e));
	}
	*(uint8_t *)fk_host(&r.t.f, wants[0].at.v) = 0xcc; /* a kprobe of the guest */
	e = entry_of(0);
	ck_assert(is_ours(&e));
	*(uint8_t *)fk_host(&r.t.f, wants[0].at.v) = e.new_bytes[0];
	e = entry_of(0);
	e.old_bytes[2] ^= 0x30; /* push */
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	e.old_bytes[3] ^= 1; /* another counter */
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	e.gpa += 16;
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	e.len_bytes = 200;
	ck_assert(!is_ours(&e));
	e = entry_of(2);
	e.old_bytes[1] ^= 1; /* another function */
	ck_assert(!is_ours(&e));
	e = entry_of(3);
	e.old_bytes[2] ^= 0x40; /* outside the entry code */
	ck_assert(!is_ours(&e));
	e = entry_of(4);
	e.old_bytes[0] = 0xf4; /* hlt */
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	put_back(NR);
	ck_assert(!is_ours(&e)); /* it no longer leads to hvtrace's code */
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, instructions_are_replaced_and_restored);
	tcase_add_test(tc, only_a_new_module_needs_changes);
	tcase_add_test(tc, instructions_changed_by_the_guest_are_refused);
	tcase_add_test(tc, a_breakpoint_of_the_guest_keeps_its_detour);
	tcase_add_test(tc, an_error_restores_the_text);
	tcase_add_test(tc, a_function_that_no_instruction_reaches);
	tcase_add_test(tc, a_task_between_instruction_and_nop_blocks);
	tcase_add_loop_test(tc, an_instruction_copied_by_a_kprobe_is_refused, 0, 5);
	tcase_add_loop_test(tc, a_distant_kprobe_does_not_block, 0, 4);
	tcase_add_loop_test(tc, a_detour_copied_by_a_kprobe_stays, 0, 2);
	tcase_add_test(tc, changes_wait_for_a_guest_that_registers_kprobes);
	tcase_add_test(tc, a_list_of_kprobes_that_has_no_end);
	tcase_add_test(tc, recover_uses_only_consistent_entries);
}

int main(void)
{
	return run_suite("detours", add_tests);
}
