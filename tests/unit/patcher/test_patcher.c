/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The patcher's writes, their order, and its state after an error. test_tries.c covers holds that
 * time out. */
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/patcher/patched_machine.h"

static struct hv_err *apply_held(struct hv_hold *hold, void *ctx)
{
	return hv_patcher_apply_held(patcher, hold, ctx, 3);
}

/* The changes are given in any order and written in the order of their addresses, which
 * hold_write() checks. */
START_TEST(changes_of_one_hold_in_any_order)
{
	struct hv_change changes[] = {patch(3), patch(1), patch(2)};

	ck_assert_ptr_null(hv_patcher_held(patcher, apply_held, changes));
	ck_assert_uint_eq(changes[0].gpa.v, TEXT_GPA + 48);
	for (unsigned i = 0; i < 3; i++)
		check_bytes(&changes[i], changes[i].to);
	undo_all();
}
END_TEST

START_TEST(apply_and_undo)
{
	struct hv_change changes[] = {patch(3), patch(1)};
	uint8_t old_bytes[8];

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert_uint_eq(machine.held, 0);
	ck_assert_uint_eq(changes[0].gpa.v, TEXT_GPA + 16); /* sorted */
	check_bytes(&changes[0], changes[0].to);
	check_bytes(&changes[1], changes[1].to);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
	ck_assert(hv_patcher_old_bytes(patcher, changes[0].gpa, old_bytes));
	ck_assert_mem_eq(old_bytes, nop, sizeof(nop));
	ck_assert(!hv_patcher_old_bytes(patcher, hv_gpa(TEXT_GPA), old_bytes));

	undo_all();
	check_bytes(&changes[0], nop);
	check_bytes(&changes[1], nop);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
	for (unsigned i = 0; i < hv_region_header(&region)->nr_entries; i++)
		ck_assert_uint_eq(hv_region_journal(&region)[i].state, HV_JOURNAL_FREE);
}
END_TEST

START_TEST(a_changed_site_is_refused_alone)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	machine.mem[TEXT_GPA] = 0xcc;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert(changes[0].refused && !changes[1].refused);
	ck_assert_uint_eq(machine.mem[TEXT_GPA], 0xcc);
	check_bytes(&changes[1], changes[1].to);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

START_TEST(a_site_with_a_vcpu_inside_is_refused)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	machine.vcpu.ip = hv_gva(TEXT_GVA + 16 + (unsigned)_i);
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert(!changes[0].refused);
	ck_assert_uint_eq(changes[1].refused, _i > 0 && _i < 5);
}
END_TEST

START_TEST(an_error_restores_every_byte)
{
	struct hv_change changes[1000];
	struct hv_err *err;
	uint8_t before[TEXT_LEN];

	memcpy(before, machine.mem + TEXT_GPA, TEXT_LEN);
	for (unsigned i = 0; i < 1000; i++)
		changes[i] = patch(i);
	machine.fail_after = 700; /* in a later batch than the first */
	err = hv_patcher_apply(patcher, changes, 1000);
	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_nonnull(strstr(err->message, "nothing was changed"));
	hv_err_free(err);
	ck_assert_uint_gt(machine.nr_holds, 2);
	ck_assert_uint_eq(machine.held, 0);
	ck_assert_mem_eq(before, machine.mem + TEXT_GPA, TEXT_LEN);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(writes_are_read_back)
{
	struct hv_change change = patch(0);

	machine.loses_writes = true;
	expect_error(hv_patcher_apply(patcher, &change, 1), EIO,
		     "0xffffffff81000000: 5 bytes read back differ from those written");
	check_bytes(&change, nop);
}
END_TEST

static struct hv_err *exchange(struct hv_hold *hold, void *ctx)
{
	struct hv_change *undo = ctx;
	bool is_refused;

	return hv_patcher_exchange_held(patcher, hold, undo, 1, undo + 1, 1, &is_refused);
}

START_TEST(a_site_that_changes_during_an_exchange)
{
	struct hv_change changes[] = {patch(0), patch(1)};
	HV_AUTO_FREE struct hv_change *undo = NULL;

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 1));
	ck_assert_uint_eq(hv_patcher_undo_plan(patcher, HV_CHANGE_TEXT, &undo), 1);
	changes[0] = undo[0];
	machine.breakpoint = TEXT_GPA + 16;
	expect_error(hv_patcher_held(patcher, exchange, changes), EBUSY,
		     "0xffffffff81000010: the guest modified these instructions");
	ck_assert_uint_eq(machine.mem[TEXT_GPA + 16], 0xcc);
}
END_TEST

START_TEST(an_error_of_an_undo_can_be_undone)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	struct hv_change changes[1000];
	struct hv_err *err;
	size_t nr;

	for (unsigned i = 0; i < 1000; i++)
		changes[i] = patch(i);
	machine.slow_us = 20000;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 1000));
	machine.slow_us = 0;
	nr = hv_patcher_undo_plan(patcher, HV_CHANGE_TEXT, &undo);
	machine.fail_after = machine.nr_text_writes + 700; /* in a later batch than the first */
	err = hv_patcher_apply(patcher, undo, nr);
	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_nonnull(strstr(err->message, "nothing was changed"));
	hv_err_free(err);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1000);
	undo_all();
}
END_TEST

/* Holds are long because stops are slow, so more and smaller batches would not make them
 * shorter. */
START_TEST(slow_stops_do_not_make_small_batches)
{
	struct hv_change changes[3000];

	for (unsigned i = 0; i < 3000; i++)
		changes[i] = patch(i);
	machine.held_ns = 15 * 1000 * 1000;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 3000));
	ck_assert_uint_le(machine.nr_holds, 20); /* 46 with the smallest batches; 4 if idle */
}
END_TEST

/* On a busy host, the length of one hold hardly predicts the next one's. */
START_TEST(one_slow_hold_does_not_make_small_batches)
{
	struct hv_change changes[600];
	const size_t *made = machine.made;

	for (unsigned i = 0; i < 600; i++)
		changes[i] = patch(i);
	machine.slow_us = 20000;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 600));
	ck_assert_uint_eq(made[0], 256);
	ck_assert_uint_ge(made[1], 128);
}
END_TEST

/* A vCPU cannot be inside a site. For changes of other instructions, the vCPUs' positions must be
 * known. */
START_TEST(sites_are_changed_while_vcpus_are_hidden)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert_uint_eq(machine.nr_holds, 1);
	ck_assert_uint_eq(machine.nr_anywhere, 1);
	undo_all();
	ck_assert_uint_eq(machine.nr_anywhere, 2);
	changes[0] = patch(0);
	changes[1] = patch(1);
	changes[1].kind = HV_CHANGE_PROBE_SITE;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	changes[0] = patch(2);
	changes[0].len_bytes = 4;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 1));
	ck_assert_uint_eq(machine.nr_holds, 4);
	ck_assert_uint_eq(machine.nr_anywhere, 2);
}
END_TEST

START_TEST(an_undo_leaves_what_the_guest_changed)
{
	struct hv_change change = patch(0);
	struct hv_change *undo;

	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	machine.mem[TEXT_GPA] = 0xcc;
	ck_assert_uint_eq(hv_patcher_undo_plan(patcher, HV_CHANGE_TEXT, &undo), 1);
	ck_assert_ptr_null(hv_patcher_apply(patcher, undo, 1));
	ck_assert(undo[0].refused);
	free(undo);
	ck_assert_uint_eq(machine.mem[TEXT_GPA], 0xcc);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

START_TEST(module_text_is_translated_again)
{
	struct hv_change change = patch(0);

	change.gva = hv_gva(MODULE_GVA);
	change.gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	ck_assert(!change.refused);
	undo_all();

	change = patch(0);
	change.gva = hv_gva(MODULE_GVA);
	change.gpa = hv_gpa(MODULE_GPA);
	put_entry(0x4000, 1, MODULE_GVA, 0x50000); /* unloaded, and another module was loaded */
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	ck_assert(change.refused);
	ck_assert_mem_eq(machine.mem + MODULE_GPA, nop, sizeof(nop));
}
END_TEST

/* Ways in which a module can be removed: it is unmapped, its memory is reused, or it was loaded
 * again into its old memory. */
static const struct {
	uint64_t entry_to;
	bool old_bytes;
	size_t left;
} gone[] = {
	{0, false, 0},
	{0x50000, false, 0},
	{MODULE_GPA, true, 0},
	{MODULE_GPA, false, 1}, /* the module was not removed */
};

START_TEST(unmapped_changes_are_dropped)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	changes[1].gva = hv_gva(MODULE_GVA);
	changes[1].gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	if (gone[_i].entry_to)
		put_entry(0x4000, 1, MODULE_GVA, gone[_i].entry_to);
	else
		memset(machine.mem + 0x4000, 0, 4096);
	if (gone[_i].old_bytes)
		memcpy(machine.mem + MODULE_GPA, nop, sizeof(nop));
	hv_patcher_forget_gone(patcher);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1 + gone[_i].left);
}
END_TEST

/* Two modules that are loaded again in the other order get each other's pages. Memory of a journal
 * entry is then mapped at another address, has new contents, and can be text where the entry is for
 * a static key. */
START_TEST(reused_module_memory_is_restored)
{
	const uint64_t other_gva = MODULE_GVA + 0x1000;
	struct hv_change change = patch(0);

	change.kind = _i ? HV_CHANGE_KEY : HV_CHANGE_TEXT;
	change.gva = hv_gva(MODULE_GVA);
	change.gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));

	put_entry(0x4000, 1, MODULE_GVA, 0x50000);
	put_entry(0x4000, 1, other_gva, MODULE_GPA);
	memcpy(machine.mem + MODULE_GPA, nop, sizeof(nop));
	change = patch(0);
	change.gva = hv_gva(other_gva);
	change.gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	ck_assert(!change.refused);

	undo_all();
	ck_assert_mem_eq(machine.mem + MODULE_GPA, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_KEY), 0);
}
END_TEST

START_TEST(a_freed_module_is_forgotten)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	changes[1].gva = hv_gva(MODULE_GVA);
	changes[1].gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	hv_patcher_forget_gone(patcher);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);

	put_entry(0x4000, 1, MODULE_GVA, 0x50000);
	hv_patcher_forget_gone(patcher);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
	undo_all();
	ck_assert_mem_eq(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(text_that_will_be_freed_is_forgotten)
{
	struct hv_change changes[] = {patch(0), patch(1), patch(3)};
	uint8_t poison[8] = {0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 3));
	hv_patcher_forget(patcher, (struct hv_gva_range){changes[1].gva, changes[2].gva});
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
	memcpy(machine.mem + changes[1].gpa.v, poison, sizeof(nop));
	undo_all();
	check_bytes(&changes[0], nop);
	check_bytes(&changes[1], poison);
	check_bytes(&changes[2], nop);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(a_journal_is_adopted)
{
	struct hv_change changes[] = {patch(0), patch(1), patch(2)};
	HV_AUTO_FREE struct hv_journal_entry *copy = hv_alloc(3 * sizeof(*copy));
	uint32_t nr;

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 3));
	nr = hv_region_header(&region)->nr_entries;
	ck_assert_uint_eq(nr, 3);
	memcpy(copy, hv_region_journal(&region), 3 * sizeof(*copy));
	hv_patcher_free(patcher); /* as if the service had died */
	patcher = hv_patcher_new(&as, (struct hv_gva_range){{TEXT_GVA}, {TEXT_GVA + TEXT_LEN}},
				 &region);
	copy[1].state = HV_JOURNAL_FREE; /* invalid, so its change is not taken over */
	hv_patcher_adopt(patcher, copy, nr);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
	undo_all();
	check_bytes(&changes[0], nop);
	check_bytes(&changes[1], changes[1].to);
	check_bytes(&changes[2], nop);
}
END_TEST

START_TEST(the_journal_in_the_region_is_not_trusted)
{
	struct hv_change change = patch(0);

	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	/* the guest's root writes into the region during the session */
	machine.journal_spoilt = true;
	memset(hv_region_journal(&region), 0xff, 4096);
	hv_region_header(&region)->nr_entries = UINT32_MAX;
	undo_all();
	check_bytes(&change, nop);
}
END_TEST

START_TEST(another_boot_is_not_written)
{
	struct hv_change change = patch(0);
	struct hv_err *err;

	/* the array's module page acts as the region */
	hv_patcher_bind(patcher, hv_gva(MODULE_GVA), hv_gpa(MODULE_GPA));
	machine.vcpu.levels = 4;
	machine.vcpu.root = ROOT_GPA;
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	undo_all();

	/* after a reset: firmware runs, and the old kernel's bytes are still in memory */
	machine.vcpu.levels = 0;
	machine.vcpu.root = 0;
	err = hv_patcher_apply(patcher, &change, 1);
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(
		strstr(err->message, "the guest was rebooted: no vCPU's page tables lead to 0x"),
		"%s", err->message);
	ck_assert_int_eq(err->code, ECONNRESET);
	hv_err_free(err);
	check_bytes(&change, nop);

	/* the vCPU runs a nested guest, whose tables do not map hvtrace's memory */
	change = patch(0);
	machine.vcpu.levels = 4;
	machine.vcpu.root = 0x8000;
	err = hv_patcher_apply(patcher, &change, 1);
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message,
			     "no vCPU is executing the guest's own kernel: they may be "
			     "executing nested guests, or the guest was rebooted; retry"),
		      "%s", err->message);
	ck_assert_int_eq(err->code, EBUSY);
	hv_err_free(err);
	check_bytes(&change, nop);

	/* the next kernel has equal text at that address, but other tables where hvtrace's were */
	change = patch(0);
	put_entry(0x4000, 1, MODULE_GVA, 0x50000);
	err = hv_patcher_apply(patcher, &change, 1);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ECONNRESET);
	hv_err_free(err);
	check_bytes(&change, nop);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, apply_and_undo);
	tcase_add_test(tc, changes_of_one_hold_in_any_order);
	tcase_add_test(tc, a_changed_site_is_refused_alone);
	tcase_add_loop_test(tc, a_site_with_a_vcpu_inside_is_refused, 0, 6);
	tcase_add_test(tc, an_error_restores_every_byte);
	tcase_add_test(tc, writes_are_read_back);
	tcase_add_test(tc, a_site_that_changes_during_an_exchange);
	tcase_add_test(tc, an_error_of_an_undo_can_be_undone);
	tcase_add_test(tc, slow_stops_do_not_make_small_batches);
	tcase_add_test(tc, one_slow_hold_does_not_make_small_batches);
	tcase_add_test(tc, sites_are_changed_while_vcpus_are_hidden);
	tcase_add_test(tc, an_undo_leaves_what_the_guest_changed);
	tcase_add_test(tc, module_text_is_translated_again);
	tcase_add_loop_test(tc, unmapped_changes_are_dropped, 0, HV_ARRAY_LEN(gone));
	tcase_add_loop_test(tc, reused_module_memory_is_restored, 0, 2);
	tcase_add_test(tc, a_freed_module_is_forgotten);
	tcase_add_test(tc, text_that_will_be_freed_is_forgotten);
	tcase_add_test(tc, a_journal_is_adopted);
	tcase_add_test(tc, the_journal_in_the_region_is_not_trusted);
	tcase_add_test(tc, another_boot_is_not_written);
}

int main(void)
{
	return run_suite("patcher", add_tests);
}
